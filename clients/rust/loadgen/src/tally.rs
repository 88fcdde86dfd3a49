//! What one thread counted; threads' tallies merge into the trial's.

use hdrhistogram::Histogram;

use crate::error::ClientError;
use crate::flaws::FlawTally;
use crate::schedule::{Nanoseconds, Phases};
use crate::workload::{Kind, Workload};

pub const HISTOGRAM_LOW_NS: u64 = 1_000;
const HISTOGRAM_HIGH_NS: u64 = 600_000_000_000;
pub const SIGNIFICANT_DIGITS: u8 = 3;
pub const SECOND_NS: u64 = 1_000_000_000;
const BIN_NS: u64 = 100_000_000;
const BINS_PER_SECOND: usize = (SECOND_NS / BIN_NS) as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Acknowledged,
    /// By the place of the name in the workload's refusals; a byte, for every refusal is kept.
    Refused(u8),
    Error,
}

impl Verdict {
    /// [`Tally::new`] holds that every place fits.
    #[inline]
    pub fn refused(place: usize) -> Self {
        Self::Refused(place as u8)
    }
}

/// When a request was intended, handed to its connection, and answered.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub intended: Nanoseconds,
    pub start: Nanoseconds,
    pub end: Nanoseconds,
}

/// What became of the operations of one kind.
#[derive(Debug, Clone)]
pub struct KindTally {
    pub acknowledged: u64,
    /// By the place of the name in the workload's refusals.
    pub refused: Vec<u64>,
    pub error: u64,
    pub in_doubt: u64,
    pub window_acknowledged: u64,
    pub window_completed: u64,
    pub service_time: Histogram<u64>,
    /// Kept in the open loop only: in the closed loop it is the service time.
    pub response_time: Option<Histogram<u64>>,
}

impl KindTally {
    fn new(refusals: usize, open_loop: bool) -> Result<Self, hdrhistogram::CreationError> {
        let histogram =
            || Histogram::new_with_bounds(HISTOGRAM_LOW_NS, HISTOGRAM_HIGH_NS, SIGNIFICANT_DIGITS);
        Ok(Self {
            acknowledged: 0,
            refused: vec![0; refusals],
            error: 0,
            in_doubt: 0,
            window_acknowledged: 0,
            window_completed: 0,
            service_time: histogram()?,
            response_time: if open_loop { Some(histogram()?) } else { None },
        })
    }

    pub fn failed(&self) -> u64 {
        self.refused.iter().sum::<u64>() + self.error
    }

    fn add(&mut self, other: &Self) -> Result<(), hdrhistogram::AdditionError> {
        self.acknowledged += other.acknowledged;
        self.error += other.error;
        self.in_doubt += other.in_doubt;
        self.window_acknowledged += other.window_acknowledged;
        self.window_completed += other.window_completed;
        for (mine, theirs) in self.refused.iter_mut().zip(&other.refused) {
            *mine += theirs;
        }
        self.service_time.add(&other.service_time)?;
        match (&mut self.response_time, &other.response_time) {
            (Some(mine), Some(theirs)) => mine.add(theirs),
            _ => Ok(()),
        }
    }
}

/// What counts of all operations are those of their kinds, added up where they are asked for.
#[derive(Debug)]
pub struct Tally {
    /// In the order of the workload's kinds, of which there is at least one.
    pub kinds: Vec<KindTally>,
    /// How often requests were sent again, by this client or behind it.
    pub retried: u64,
    pub lost_connections: u64,
    /// When the first error came, and its text.
    pub first_error: Option<(Nanoseconds, String)>,
    /// Sum of the requests' overlaps with the window.
    pub window_out_ns: u128,
    /// Sum of the service times of the requests that end inside the window.
    pub window_service_ns: u128,
    /// Acknowledgements by tenth of a second since the clock started.
    pub per_100ms: Vec<u64>,
    /// What the flaws of the trial count, if it has any.
    pub flaws: Option<Box<FlawTally>>,
    phases: Phases,
}

impl Tally {
    pub fn new<W: Workload>(phases: Phases, open_loop: bool) -> Result<Self, ClientError> {
        const { assert!(W::REFUSALS.len() <= 1 << u8::BITS, "a workload has more refusals than a verdict names") };
        let bins = (phases.window_end / BIN_NS + 2) as usize;
        let kind = KindTally::new(W::REFUSALS.len(), open_loop)
            .map_err(|error| ClientError::Integrity(format!("histogram: {error:?}")))?;
        Ok(Self {
            kinds: vec![kind; W::KINDS.len()],
            retried: 0,
            lost_connections: 0,
            first_error: None,
            window_out_ns: 0,
            window_service_ns: 0,
            per_100ms: Vec::with_capacity(bins),
            flaws: None,
            phases,
        })
    }

    pub fn acknowledged(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.acknowledged).sum()
    }

    pub fn failed(&self) -> u64 {
        self.kinds.iter().map(KindTally::failed).sum()
    }

    /// All kinds as one.
    pub fn total(&self) -> Result<KindTally, ClientError> {
        let mut kinds = self.kinds.iter();
        let mut total = kinds
            .next()
            .cloned()
            .ok_or_else(|| ClientError::Integrity("a workload has no kind".to_owned()))?;
        for kind in kinds {
            total.add(kind).map_err(unmergeable)?;
        }
        Ok(total)
    }

    /// Acknowledgements by whole second since the clock started.
    pub fn per_second(&self) -> Vec<u64> {
        self.per_100ms.chunks(BINS_PER_SECOND).map(|bins| bins.iter().sum()).collect()
    }

    #[inline]
    pub fn answered(&mut self, kind: impl Kind, verdict: Verdict, times: Times) {
        if let Some(flaws) = &mut self.flaws {
            flaws.answered(verdict, times);
        }
        self.settled(kind, verdict, times);
    }

    /// A request that has its end, with its answer or without.
    #[inline]
    pub fn settled(&mut self, kind: impl Kind, verdict: Verdict, times: Times) {
        let Times { intended, start, end } = times;
        let service_ns = end.saturating_sub(start);
        let ends_inside = self.phases.contains(end);
        let kind = &mut self.kinds[kind.place()];
        self.window_out_ns += u128::from(self.phases.overlap(start, end));
        if ends_inside {
            kind.window_completed += 1;
            self.window_service_ns += u128::from(service_ns);
        }
        match verdict {
            Verdict::Refused(place) => kind.refused[usize::from(place)] += 1,
            Verdict::Error => kind.error += 1,
            Verdict::Acknowledged => {
                kind.acknowledged += 1;
                count_in(&mut self.per_100ms, BIN_NS, end);
                if ends_inside {
                    kind.window_acknowledged += 1;
                    kind.service_time.saturating_record(service_ns.max(HISTOGRAM_LOW_NS));
                    if let Some(response_time) = &mut kind.response_time {
                        response_time.saturating_record(end.saturating_sub(intended).max(HISTOGRAM_LOW_NS));
                    }
                }
            }
        }
    }

    /// A request that nobody answered until `end`.
    pub fn unanswered(&mut self, kind: impl Kind, start: Nanoseconds, end: Nanoseconds) {
        self.kinds[kind.place()].in_doubt += 1;
        self.window_out_ns += u128::from(self.phases.overlap(start, end));
    }

    pub fn keep_first_error(&mut self, at: Nanoseconds, text: &str) {
        if self.first_error.is_none() {
            self.first_error = Some((at, text.to_owned()));
        }
    }

    /// Adds what another thread of the same trial counted.
    pub fn merge(&mut self, other: Self) -> Result<(), ClientError> {
        self.retried += other.retried;
        self.lost_connections += other.lost_connections;
        self.window_out_ns += other.window_out_ns;
        self.window_service_ns += other.window_service_ns;
        self.first_error = match (self.first_error.take(), other.first_error) {
            (Some(mine), Some(theirs)) => Some(if theirs.0 < mine.0 { theirs } else { mine }),
            (mine, theirs) => mine.or(theirs),
        };
        add_series(&mut self.per_100ms, &other.per_100ms);
        if let (Some(mine), Some(theirs)) = (&mut self.flaws, other.flaws) {
            mine.merge(*theirs).map_err(unmergeable)?;
        }
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.add(theirs).map_err(unmergeable)?;
        }
        Ok(())
    }
}

fn unmergeable(error: hdrhistogram::AdditionError) -> ClientError {
    ClientError::Integrity(format!("histogram: {error:?}"))
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
    use crate::workload::{CounterAndMessages, OneKind, Transfers};

    const SECOND: u64 = SECOND_NS;
    const INSUFFICIENT: Verdict = Verdict::Refused(Transfers::INSUFFICIENT as u8);

    #[derive(Debug, Clone, Copy, Default)]
    struct Second;

    impl Kind for Second {
        fn place(self) -> usize {
            1
        }
    }

    fn tally_of<W: Workload>() -> Tally {
        let phases = Phases {
            window_start: SECOND,
            window_end: 2 * SECOND,
            drain_end: 3 * SECOND,
            linger_end: 2 * SECOND,
        };
        Tally::new::<W>(phases, true).unwrap()
    }

    fn tally() -> Tally {
        tally_of::<Transfers>()
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
            tally.answered(OneKind, Verdict::Acknowledged, times(start, end));
        }
        tally.answered(OneKind, INSUFFICIENT, times(SECOND, SECOND * 3 / 2));
        assert_eq!((tally.acknowledged(), tally.failed()), (4, 1));
        let total = tally.total().unwrap();
        assert_eq!(total.window_acknowledged, 2);
        assert_eq!(total.service_time.len(), 2);
        assert_eq!(total.window_completed, 3);
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
        first.answered(OneKind, Verdict::Acknowledged, times(SECOND, SECOND + 5_000));
        first.answered(OneKind, Verdict::Error, times(SECOND, SECOND + 7_000));
        first.keep_first_error(SECOND + 7_000, "later");
        let mut second = tally();
        second.answered(OneKind, Verdict::Acknowledged, times(SECOND * 3 / 2, SECOND * 2));
        second.answered(OneKind, Verdict::Acknowledged, times(SECOND * 3 / 2, SECOND * 5 / 2));
        second.answered(OneKind, INSUFFICIENT, times(0, 10));
        second.keep_first_error(SECOND + 6_000, "earlier");
        second.unanswered(OneKind, SECOND, 3 * SECOND);
        (first.retried, second.retried) = (2, 5);
        second.lost_connections = 1;
        first.merge(second).unwrap();

        let total = first.total().unwrap();
        assert_eq!(
            (total.acknowledged, &total.refused[..], total.error, total.in_doubt),
            (3, &[1][..], 1, 1)
        );
        assert_eq!((first.lost_connections, first.retried), (1, 7));
        assert_eq!((total.window_acknowledged, total.window_completed), (2, 3));
        assert_eq!(first.window_service_ns, u128::from(12_000 + SECOND / 2));
        assert_eq!(first.window_out_ns, u128::from(12_000 + SECOND + SECOND));
        assert_eq!(first.per_second(), [0, 1, 2]);
        assert_eq!((total.service_time.len(), total.response_time.unwrap().len()), (2, 2));
        assert_eq!(first.first_error.unwrap().1, "earlier");
    }

    #[test]
    fn kinds_are_counted_apart_and_add_up() {
        let mut tally = tally_of::<CounterAndMessages>();
        for end in [1, 2, 3] {
            tally.answered(OneKind, Verdict::Acknowledged, times(SECOND, SECOND + end * 1_000_000));
        }
        tally.answered(Second, Verdict::Acknowledged, times(SECOND, SECOND + 9_000_000));
        tally.answered(Second, Verdict::Error, times(SECOND, SECOND + 9_000_000));
        tally.unanswered(Second, SECOND, 2 * SECOND);
        let [first, second] = &tally.kinds[..] else { panic!("{:?}", tally.kinds) };
        assert_eq!((first.acknowledged, first.error, first.in_doubt, first.window_completed), (3, 0, 0, 3));
        assert_eq!(
            (second.acknowledged, second.error, second.in_doubt, second.window_completed),
            (1, 1, 1, 2)
        );
        assert!(first.service_time.max() < second.service_time.min());
        let total = tally.total().unwrap();
        assert_eq!((total.acknowledged, total.error, total.in_doubt, total.window_completed), (4, 1, 1, 5));
        assert_eq!(total.service_time.len(), 4);
    }
}
