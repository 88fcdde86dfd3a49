//! When operations are intended, and where the trial's phases begin and end.

use nix::time::{clock_gettime, ClockId};

use crate::config::Config;

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

    #[inline]
    pub fn now(&self) -> Nanoseconds {
        monotonic().saturating_sub(self.start)
    }
}

#[inline]
fn monotonic() -> Nanoseconds {
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| time.tv_sec() as Nanoseconds * 1_000_000_000 + time.tv_nsec() as Nanoseconds)
}

/// Warm-up, window, drain: the window is `[window_start, window_end]`.
#[derive(Debug, Clone, Copy)]
pub struct Phases {
    pub window_start: Nanoseconds,
    pub window_end: Nanoseconds,
    pub drain_end: Nanoseconds,
}

impl Phases {
    pub fn new<E>(config: &Config<E>) -> Self {
        let window_start = to_nanoseconds(config.warmup_s);
        let window_end = window_start + to_nanoseconds(config.window_s);
        Self { window_start, window_end, drain_end: window_end + to_nanoseconds(config.drain_s) }
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
mod tests {
    use super::*;

    #[test]
    fn open_loop_goes_round_the_connections() {
        let schedule = Schedule::Open { nanoseconds_per_operation: 1000.0, connections: 4 };
        assert_eq!([0, 1, 2, 3].map(|slot| schedule.intended(slot, 0)), [0, 1000, 2000, 3000]);
        assert_eq!(schedule.intended(2, 5), (5 * 4 + 2) * 1000);
    }

    #[test]
    fn overlap_is_cut_at_both_edges_of_the_window() {
        let phases = Phases { window_start: 100, window_end: 200, drain_end: 300 };
        for (start, end, expected) in
            [(0, 50, 0), (50, 150, 50), (120, 130, 10), (150, 250, 50), (0, 300, 100), (200, 300, 0)]
        {
            assert_eq!(phases.overlap(start, end), expected, "{start}..{end}");
        }
    }
}
