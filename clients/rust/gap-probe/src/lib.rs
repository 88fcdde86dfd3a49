//! How fast the machine is at this moment, told by fixed pieces of work.
//!
//! Two pieces, for a machine can be slow in two ways: arithmetic whose every step needs the one before, which
//! stays inside a core; and a walk through memory where each place names the next, which no cache holds.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::sys::time::TimeSpec;
use nix::time::{clock_gettime, clock_nanosleep, ClockId, ClockNanosleepFlags};
use nix::unistd::Pid;
use serde::Serialize;

/// About 0.2 ms each at 3 GHz and 100 ns a walk's step.
const ARITHMETIC_STEPS: u32 = 100_000;
const WALK_STEPS: u32 = 2_000;
/// A place is a cache line; 64 MiB are more than a core's share of any last cache.
const PLACES: u32 = 1 << 20;
const WORDS_PER_PLACE: usize = 16;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Ten minutes at 25 ms: a bound for a probe that nobody ends.
const READINGS_MAX: usize = 24_000;

/// One reading: when (monotonic clock), on which processor, and the processor time of each piece. A processor that
/// does other work meanwhile takes none of it; one that the hypervisor takes away may.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Reading {
    pub at_ns: u64,
    pub processor: usize,
    pub arithmetic_ns: u64,
    pub memory_ns: u64,
}

/// Places in memory, each of which names the next: one round through all of them, in random order.
pub struct Walk {
    next: Vec<u32>,
}

impl Walk {
    pub fn new() -> Self {
        let mut order: Vec<u32> = (0..PLACES).collect();
        let mut random = SEED;
        // Sattolo's shuffle: a permutation of one cycle, so that no walk is short.
        for last in (1..order.len()).rev() {
            random = step(random);
            order.swap(last, (random % last as u64) as usize);
        }
        let mut next = vec![0; PLACES as usize * WORDS_PER_PLACE];
        for (place, &after) in order.iter().enumerate() {
            next[place * WORDS_PER_PLACE] = after;
        }
        Self { next }
    }

    /// Where `steps` steps lead from `place`.
    pub fn from(&self, place: u32, steps: u32) -> u32 {
        (0..steps).fold(place, |at, _| self.next[at as usize * WORDS_PER_PLACE])
    }
}

impl Default for Walk {
    fn default() -> Self {
        Self::new()
    }
}

/// The processors on which this process may run.
pub fn processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&one| allowed.is_set(one).unwrap_or(false)).collect())
}

/// Times both pieces on one processor, every `period`, until told to stop or the readings are full.
pub fn probe(processor: usize, walk: &Walk, period: Duration, stop: &AtomicBool) -> io::Result<Vec<Reading>> {
    let mut only = CpuSet::new();
    only.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &only)?;
    let mut readings = Vec::with_capacity(READINGS_MAX);
    let (mut number, mut place) = (SEED, processor as u32 % PLACES);
    let mut due = now(ClockId::CLOCK_MONOTONIC)?;
    while !stop.load(Ordering::Relaxed) && readings.len() < READINGS_MAX {
        let at_ns = now(ClockId::CLOCK_MONOTONIC)?.as_nanos() as u64;
        let begin = now(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        number = black_box((0..ARITHMETIC_STEPS).fold(black_box(number), |at, _| step(at)));
        let between = now(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        place = black_box(walk.from(black_box(place), WALK_STEPS));
        let end = now(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        readings.push(Reading {
            at_ns,
            processor,
            arithmetic_ns: (between - begin).as_nanos() as u64,
            memory_ns: (end - between).as_nanos() as u64,
        });
        // A reading that comes late is not made up for.
        due = (due + period).max(now(ClockId::CLOCK_MONOTONIC)?);
        sleep_until(due)?;
    }
    Ok(readings)
}

fn step(x: u64) -> u64 {
    let x = x ^ (x << 13);
    let x = x ^ (x >> 7);
    x ^ (x << 17)
}

fn now(clock: ClockId) -> io::Result<Duration> {
    Ok(clock_gettime(clock)?.into())
}

fn sleep_until(at: Duration) -> io::Result<()> {
    let at = TimeSpec::from_duration(at);
    match clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at) {
        // A signal that did not end the process: the next reading is early.
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_back_after_all_places_and_not_before() {
        let walk = Walk::new();
        assert_eq!(walk.from(0, PLACES), 0);
        assert!((1..1_000).all(|steps| walk.from(0, steps) != 0));
    }
}
