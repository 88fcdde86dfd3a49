//! What one thread counted; threads' tallies merge into the trial's.

use hdrhistogram::Histogram;

use crate::flaws::FlawTally;
use crate::schedule::{Nanoseconds, Phases};

pub const HISTOGRAM_LOW_NS: u64 = 1_000;
const HISTOGRAM_HIGH_NS: u64 = 600_000_000_000;
pub const SIGNIFICANT_DIGITS: u8 = 3;
pub const SECOND_NS: u64 = 1_000_000_000;
const BIN_NS: u64 = 100_000_000;
const BINS_PER_SECOND: usize = (SECOND_NS / BIN_NS) as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Acknowledged,
    Insufficient,
    Error,
}

/// When a request was intended, handed to its connection, and answered.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub intended: Nanoseconds,
    pub start: Nanoseconds,
    pub end: Nanoseconds,
}

#[derive(Debug)]
pub struct Tally {
    pub acknowledged: u64,
    pub insufficient: u64,
    pub error: u64,
    pub in_doubt: u64,
    /// How often requests were sent again, by this client or behind it.
    pub retried: u64,
    pub lost_connections: u64,
    /// When the first error came, and its text.
    pub first_error: Option<(Nanoseconds, String)>,
    pub window_acknowledged: u64,
    pub window_completed: u64,
    /// Sum of the requests' overlaps with the window.
    pub window_out_ns: u128,
    /// Sum of the service times of the requests that end inside the window.
    pub window_service_ns: u128,
    /// Acknowledgements by tenth of a second since the clock started.
    pub per_100ms: Vec<u64>,
    pub service_time: Histogram<u64>,
    /// Kept in the open loop only: in the closed loop it is the service time.
    pub response_time: Option<Histogram<u64>>,
    /// What the flaws of the trial count, if it has any.
    pub flaws: Option<Box<FlawTally>>,
    phases: Phases,
}

impl Tally {
    pub fn new(phases: Phases, open_loop: bool) -> Result<Self, hdrhistogram::CreationError> {
        let histogram =
            || Histogram::new_with_bounds(HISTOGRAM_LOW_NS, HISTOGRAM_HIGH_NS, SIGNIFICANT_DIGITS);
        let bins = (phases.window_end / BIN_NS + 2) as usize;
        Ok(Self {
            acknowledged: 0,
            insufficient: 0,
            error: 0,
            in_doubt: 0,
            retried: 0,
            lost_connections: 0,
            first_error: None,
            window_acknowledged: 0,
            window_completed: 0,
            window_out_ns: 0,
            window_service_ns: 0,
            per_100ms: Vec::with_capacity(bins),
            service_time: histogram()?,
            response_time: if open_loop { Some(histogram()?) } else { None },
            flaws: None,
            phases,
        })
    }

    pub fn failed(&self) -> u64 {
        self.insufficient + self.error
    }

    /// Acknowledgements by whole second since the clock started.
    pub fn per_second(&self) -> Vec<u64> {
        self.per_100ms.chunks(BINS_PER_SECOND).map(|bins| bins.iter().sum()).collect()
    }

    #[inline]
    pub fn answered(&mut self, verdict: Verdict, times: Times) {
        if let Some(flaws) = &mut self.flaws {
            flaws.answered(verdict, times);
        }
        self.settled(verdict, times);
    }

    /// A request that has its end, with its answer or without.
    #[inline]
    pub fn settled(&mut self, verdict: Verdict, times: Times) {
        let Times { intended, start, end } = times;
        let service_ns = end.saturating_sub(start);
        let ends_inside = self.phases.contains(end);
        self.window_out_ns += u128::from(self.phases.overlap(start, end));
        if ends_inside {
            self.window_completed += 1;
            self.window_service_ns += u128::from(service_ns);
        }
        match verdict {
            Verdict::Insufficient => self.insufficient += 1,
            Verdict::Error => self.error += 1,
            Verdict::Acknowledged => {
                self.acknowledged += 1;
                count_in(&mut self.per_100ms, BIN_NS, end);
                if ends_inside {
                    self.window_acknowledged += 1;
                    self.service_time.saturating_record(service_ns.max(HISTOGRAM_LOW_NS));
                    if let Some(response_time) = &mut self.response_time {
                        response_time.saturating_record(end.saturating_sub(intended).max(HISTOGRAM_LOW_NS));
                    }
                }
            }
        }
    }

    /// A request that nobody answered until `end`.
    pub fn unanswered(&mut self, start: Nanoseconds, end: Nanoseconds) {
        self.in_doubt += 1;
        self.window_out_ns += u128::from(self.phases.overlap(start, end));
    }

    pub fn keep_first_error(&mut self, at: Nanoseconds, text: &str) {
        if self.first_error.is_none() {
            self.first_error = Some((at, text.to_owned()));
        }
    }

    /// Adds what another thread of the same trial counted.
    pub fn merge(&mut self, other: Self) -> Result<(), hdrhistogram::AdditionError> {
        self.acknowledged += other.acknowledged;
        self.insufficient += other.insufficient;
        self.error += other.error;
        self.in_doubt += other.in_doubt;
        self.retried += other.retried;
        self.lost_connections += other.lost_connections;
        self.window_acknowledged += other.window_acknowledged;
        self.window_completed += other.window_completed;
        self.window_out_ns += other.window_out_ns;
        self.window_service_ns += other.window_service_ns;
        self.first_error = match (self.first_error.take(), other.first_error) {
            (Some(mine), Some(theirs)) => Some(if theirs.0 < mine.0 { theirs } else { mine }),
            (mine, theirs) => mine.or(theirs),
        };
        add_series(&mut self.per_100ms, &other.per_100ms);
        if let (Some(mine), Some(theirs)) = (&mut self.flaws, other.flaws) {
            mine.merge(*theirs)?;
        }
        self.service_time.add(&other.service_time)?;
        match (&mut self.response_time, &other.response_time) {
            (Some(mine), Some(theirs)) => mine.add(theirs),
            _ => Ok(()),
        }
    }
}

/// Counts one at `end` in a series of bins of `width` since the clock started.
#[inline]
pub fn count_in(series: &mut Vec<u64>, width: Nanoseconds, end: Nanoseconds) {
    let bin = (end / width) as usize;
    if bin >= series.len() {
        series.resize(bin + 1, 0);
    }
    series[bin] += 1;
}

/// Adds one series of counts to another, bin by bin.
pub fn add_series(mine: &mut Vec<u64>, theirs: &[u64]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), 0);
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECOND: u64 = SECOND_NS;

    fn tally() -> Tally {
        let phases = Phases { window_start: SECOND, window_end: 2 * SECOND, drain_end: 3 * SECOND };
        Tally::new(phases, true).unwrap()
    }

    fn times(start: u64, end: u64) -> Times {
        Times { intended: start, start, end }
    }

    #[test]
    fn goodput_is_what_is_acknowledged_inside_the_window() {
        let mut tally = tally();
        for (start, end) in [
            (0, SECOND / 2),
            (SECOND / 2, SECOND * 3 / 2),
            (SECOND, SECOND * 2),
            (SECOND * 3 / 2, SECOND * 5 / 2),
        ] {
            tally.answered(Verdict::Acknowledged, times(start, end));
        }
        tally.answered(Verdict::Insufficient, times(SECOND, SECOND * 3 / 2));
        assert_eq!(tally.acknowledged, 4);
        assert_eq!(tally.window_acknowledged, 2);
        assert_eq!(tally.service_time.len(), 2);
        assert_eq!(tally.window_completed, 3);
        assert_eq!(tally.window_out_ns, u128::from(SECOND / 2 + SECOND + SECOND / 2 + SECOND / 2));
        assert_eq!(tally.per_second(), [1, 1, 2]);
        assert_eq!(
            (tally.per_100ms[5], tally.per_100ms[15], tally.per_100ms[20], tally.per_100ms[25]),
            (1, 1, 1, 1)
        );
    }

    #[test]
    fn merging_adds_everything_and_keeps_the_earliest_error() {
        let mut first = tally();
        first.answered(Verdict::Acknowledged, times(SECOND, SECOND + 5_000));
        first.answered(Verdict::Error, times(SECOND, SECOND + 7_000));
        first.keep_first_error(SECOND + 7_000, "later");
        let mut second = tally();
        second.answered(Verdict::Acknowledged, times(SECOND * 3 / 2, SECOND * 2));
        second.answered(Verdict::Acknowledged, times(SECOND * 3 / 2, SECOND * 5 / 2));
        second.answered(Verdict::Insufficient, times(0, 10));
        second.keep_first_error(SECOND + 6_000, "earlier");
        second.unanswered(SECOND, 3 * SECOND);
        (first.retried, second.retried) = (2, 5);
        second.lost_connections = 1;
        first.merge(second).unwrap();

        assert_eq!((first.acknowledged, first.insufficient, first.error, first.in_doubt), (3, 1, 1, 1));
        assert_eq!((first.lost_connections, first.retried), (1, 7));
        assert_eq!((first.window_acknowledged, first.window_completed), (2, 3));
        assert_eq!(first.window_service_ns, u128::from(12_000 + SECOND / 2));
        assert_eq!(first.window_out_ns, u128::from(12_000 + SECOND + SECOND));
        assert_eq!(first.per_second(), [0, 1, 2]);
        assert_eq!((first.service_time.len(), first.response_time.as_ref().unwrap().len()), (2, 2));
        assert_eq!(first.first_error.unwrap().1, "earlier");
    }
}
