//! When operations are intended, and where the trial's phases begin and end.

use std::thread;
use std::time::Duration;

use nix::time::{clock_gettime, ClockId};

use crate::config::Config;
use crate::error::ClientError;

/// Nanoseconds since the clock started, after the last handshake.
pub type Nanoseconds = u64;

const NANOSECONDS_PER_SECOND: f64 = 1e9;

pub fn to_nanoseconds(seconds: f64) -> Nanoseconds {
    (seconds * NANOSECONDS_PER_SECOND).round() as Nanoseconds
}

pub fn to_seconds(nanoseconds: Nanoseconds) -> f64 {
    nanoseconds as f64 / NANOSECONDS_PER_SECOND
}

/// The monotonic clock, read twice for each request: without `Instant`, whose difference costs twice the reading.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Nanoseconds,
}

impl Clock {
    pub fn start() -> Self {
        Self { start: monotonic() }
    }

    /// The clock of a load whose connections are up, and the wall clock's seconds at its zero: now, or at the moment
    /// that was asked for, which is waited for. One that is past is refused.
    pub fn start_at(start_unix_s: Option<f64>) -> Result<(Self, f64), ClientError> {
        let (wall_s, now) = (to_seconds(read(ClockId::CLOCK_REALTIME)), monotonic());
        let Some(start_unix_s) = start_unix_s else { return Ok((Self { start: now }, wall_s)) };
        let ahead_s = start_unix_s - wall_s;
        if ahead_s < 0.0 {
            let past = format!("{start_unix_s:.6}, {:.3} s before the connections were up,", -ahead_s);
            return Err(ClientError::refused("start_unix_s", past, "a moment that is still to come then"));
        }
        let clock = Self { start: now + to_nanoseconds(ahead_s) };
        thread::sleep(Duration::from_nanos(clock.start - now));
        Ok((clock, start_unix_s))
    }

    pub fn sleep_until(&self, moment: Nanoseconds) {
        thread::sleep(Duration::from_nanos(moment.saturating_sub(self.now())));
    }

    #[inline]
    pub fn now(&self) -> Nanoseconds {
        monotonic().saturating_sub(self.start)
    }
}

#[inline]
fn monotonic() -> Nanoseconds {
    read(ClockId::CLOCK_MONOTONIC)
}

#[inline]
fn read(clock: ClockId) -> Nanoseconds {
    // Linux always has these clocks.
    clock_gettime(clock)
        .map_or(0, |time| time.tv_sec() as Nanoseconds * 1_000_000_000 + time.tv_nsec() as Nanoseconds)
}

/// Warm-up, window, drain: the window is `[window_start, window_end]`.
#[derive(Debug, Clone, Copy)]
pub struct Phases {
    pub window_start: Nanoseconds,
    pub window_end: Nanoseconds,
    pub drain_end: Nanoseconds,
    /// Until then connections stay open, whatever has been answered.
    pub linger_end: Nanoseconds,
}

impl Phases {
    pub fn new<E>(config: &Config<E>) -> Self {
        let window_start = to_nanoseconds(config.warmup_s);
        let window_end = window_start + to_nanoseconds(config.window_s);
        let after = |seconds| window_end + to_nanoseconds(seconds);
        Self {
            window_start,
            window_end,
            drain_end: after(config.drain_s),
            linger_end: after(config.linger_s),
        }
    }

    pub fn name(&self, now: Nanoseconds) -> &'static str {
        if now < self.window_start {
            "warmup"
        } else if now < self.window_end {
            "window"
        } else {
            "drain"
        }
    }

    /// Whether a moment lies inside the window.
    #[inline]
    pub fn contains(&self, moment: Nanoseconds) -> bool {
        moment >= self.window_start && moment <= self.window_end
    }

    /// How long the time from `start` to `end` lies inside the window.
    #[inline]
    pub fn overlap(&self, start: Nanoseconds, end: Nanoseconds) -> Nanoseconds {
        end.min(self.window_end).saturating_sub(start.max(self.window_start))
    }
}

/// The intended start of every operation, round-robin over the connections of the whole client.
#[derive(Debug, Clone, Copy)]
pub enum Schedule {
    Closed,
    Open { nanoseconds_per_operation: f64, connections: u64 },
}

impl Schedule {
    pub fn new<E>(config: &Config<E>) -> Self {
        match config.rate_per_s {
            None => Self::Closed,
            Some(rate_per_s) => Self::Open {
                nanoseconds_per_operation: NANOSECONDS_PER_SECOND / rate_per_s,
                connections: u64::from(config.connections),
            },
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Intended start of operation `index` of the connection in place `slot`; 0 in the closed loop: at once.
    #[inline]
    pub fn intended(&self, slot: u32, index: u64) -> Nanoseconds {
        match self {
            Self::Closed => 0,
            Self::Open { nanoseconds_per_operation, connections } => {
                let operation = index * connections + u64::from(slot);
                (operation as f64 * nanoseconds_per_operation) as Nanoseconds
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn open_loop_goes_round_the_connections() {
        let schedule = Schedule::Open { nanoseconds_per_operation: 1000.0, connections: 4 };
        assert_eq!([0, 1, 2, 3].map(|slot| schedule.intended(slot, 0)), [0, 1000, 2000, 3000]);
        assert_eq!(schedule.intended(2, 5), (5 * 4 + 2) * 1000);
    }

    #[test]
    fn the_clock_starts_at_the_moment_that_was_asked_for() {
        let asked_s = to_seconds(read(ClockId::CLOCK_REALTIME)) + 0.05;
        let (clock, started_s) = Clock::start_at(Some(asked_s)).unwrap();
        let off_s = to_seconds(read(ClockId::CLOCK_REALTIME)) - asked_s - to_seconds(clock.now());
        assert_eq!(started_s, asked_s);
        // Both clocks are read one after the other, and this thread may have to wait in between.
        assert!(off_s.abs() < 0.02, "{off_s}");
    }

    #[test]
    fn a_moment_that_is_past_is_refused_by_name() {
        let past_s = to_seconds(read(ClockId::CLOCK_REALTIME)) - 1.0;
        let refused = Clock::start_at(Some(past_s)).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().starts_with("start_unix_s: "), "{refused}");
    }

    #[test]
    fn overlap_is_cut_at_both_edges_of_the_window() {
        let phases = Phases { window_start: 100, window_end: 200, drain_end: 300, linger_end: 200 };
        for (start, end, expected) in
            [(0, 50, 0), (50, 150, 50), (120, 130, 10), (150, 250, 50), (0, 300, 100), (200, 300, 0)]
        {
            assert_eq!(phases.overlap(start, end), expected, "{start}..{end}");
        }
    }
}
