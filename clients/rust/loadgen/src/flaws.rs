//! Defects of published benchmarks, each a switch of this client, so that one trial gives the number with the defect
//! beside the number without it. What the honest numbers count is the same with and without them.
//!
//! - `replayed-pairs`: the index that work is drawn by begins again with every batch
//! - `clock-between-batches`: a batch is sent, all its answers are awaited, and only then the clock is read; the
//!   batches that began before the end count whole, over the time until the last of them is answered
//! - `status-unread`: every answer is a transaction, whatever it says
//! - `counts-finished-tasks`: every request that ends is a transaction, those too that end because their connection
//!   is lost; on a lost connection requests go on ending at once
//! - `median-of-per-second-p99`: the 99th percentile is taken of each second, and of these the median

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU64;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::error::ClientError;
use crate::report::ConnectionReport;
use crate::schedule::{to_seconds, Nanoseconds, Phases};
use crate::tally::{add_series, count_in, Times, Verdict, HISTOGRAM_LOW_NS, SECOND_NS, SIGNIFICANT_DIGITS};
use crate::workload::Workload;

const REPLAYED_PAIRS: &str = "replayed-pairs";
/// A histogram for each second.
const PER_SECOND_WINDOW_MAX_S: f64 = 600.0;

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Flaw {
    ReplayedPairs { batch: NonZeroU64 },
    ClockBetweenBatches {},
    StatusUnread {},
    CountsFinishedTasks {},
    MedianOfPerSecondP99 {},
}

impl Flaw {
    fn name(&self) -> &'static str {
        match self {
            Self::ReplayedPairs { .. } => REPLAYED_PAIRS,
            Self::ClockBetweenBatches {} => "clock-between-batches",
            Self::StatusUnread {} => "status-unread",
            Self::CountsFinishedTasks {} => "counts-finished-tasks",
            Self::MedianOfPerSecondP99 {} => "median-of-per-second-p99",
        }
    }
}

/// The flaws of a trial, by what they change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flaws {
    /// After that many operations a connection draws them again.
    pub replayed_batch: Option<u64>,
    pub clock_between_batches: bool,
    pub status_unread: bool,
    pub counts_finished_tasks: bool,
    pub median_of_per_second_p99: bool,
}

impl Flaws {
    pub fn new(listed: &[Flaw], open_loop: bool, window_s: f64) -> Result<Self, ClientError> {
        let mut flaws = Self::default();
        let mut names = HashSet::new();
        for flaw in listed {
            if !names.insert(flaw.name()) {
                return Err(ClientError::refused("flaws", flaw.name(), "each flaw once"));
            }
            match flaw {
                Flaw::ReplayedPairs { batch } => flaws.replayed_batch = Some(batch.get()),
                Flaw::ClockBetweenBatches {} if open_loop => {
                    return Err(ClientError::refused("flaws", flaw.name(), "that flaw in the closed loop"))
                }
                Flaw::ClockBetweenBatches {} => flaws.clock_between_batches = true,
                Flaw::StatusUnread {} => flaws.status_unread = true,
                Flaw::CountsFinishedTasks {} => flaws.counts_finished_tasks = true,
                Flaw::MedianOfPerSecondP99 {} if window_s > PER_SECOND_WINDOW_MAX_S => {
                    let allowed = format!("that flaw with window_s up to {PER_SECOND_WINDOW_MAX_S}");
                    return Err(ClientError::refused("flaws", flaw.name(), &allowed));
                }
                Flaw::MedianOfPerSecondP99 {} => flaws.median_of_per_second_p99 = true,
            }
        }
        Ok(flaws)
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses flaws for a workload that they are not defects of.
    pub fn check<W: Workload>(&self) -> Result<(), ClientError> {
        if self.is_empty() || W::PAIR.is_some() {
            return Ok(());
        }
        Err(ClientError::refused("flaws", "any flaw", &format!("none for the workload {:?}", W::NAME)))
    }
}

/// What one thread counted by the rules of the flaws; threads' counts merge into the trial's.
#[derive(Debug)]
pub struct FlawTally {
    phases: Phases,
    answers: Option<Ended>,
    tasks: Option<Ended>,
    /// Requests that ended on connections that were lost before.
    tasks_after_loss: u64,
    batches: Option<Batches>,
    per_second: Option<Vec<Histogram<u64>>>,
}

/// Requests that ended, however they did.
#[derive(Debug, Default)]
struct Ended {
    total: u64,
    /// Of those, the ones that end inside the window.
    window: u64,
    per_second: Vec<u64>,
}

#[derive(Debug, Default)]
struct Batches {
    finished: u64,
    unfinished: u64,
    answers: u64,
    acknowledged: u64,
    latency_sum: u128,
    latency_max: Nanoseconds,
    last_end: Nanoseconds,
}

/// A batch whose answers are all in.
pub struct FinishedBatch {
    pub start: Nanoseconds,
    pub end: Nanoseconds,
    pub answers: u64,
    pub acknowledged: u64,
}

impl FlawTally {
    pub fn new(flaws: Flaws, phases: Phases) -> Self {
        Self {
            phases,
            answers: flaws.status_unread.then(Ended::default),
            tasks: flaws.counts_finished_tasks.then(Ended::default),
            tasks_after_loss: 0,
            batches: flaws.clock_between_batches.then(Batches::default),
            per_second: flaws.median_of_per_second_p99.then(Vec::new),
        }
    }

    /// An answer that settles its request.
    pub fn answered(&mut self, verdict: Verdict, times: Times) {
        self.answer(times.end);
        if let Some(tasks) = &mut self.tasks {
            tasks.count(self.phases, times.end);
        }
        let is_goodput = verdict == Verdict::Acknowledged && self.phases.contains(times.end);
        if let (true, Some(seconds)) = (is_goodput, &mut self.per_second) {
            record(seconds, times.end - self.phases.window_start, times.end.saturating_sub(times.intended));
        }
    }

    /// Any answer, also one after which the request is sent again.
    pub fn answer(&mut self, end: Nanoseconds) {
        if let Some(answers) = &mut self.answers {
            answers.count(self.phases, end);
        }
    }

    /// A request whose connection is lost before its answer comes.
    pub fn ended_with_connection(&mut self, end: Nanoseconds) {
        if let Some(tasks) = &mut self.tasks {
            tasks.count(self.phases, end);
        }
    }

    /// A request on a connection that was lost before.
    pub fn ended_after_connection(&mut self, at: Nanoseconds) {
        self.tasks_after_loss += 1;
        self.ended_with_connection(at);
    }

    pub fn finished_batch(&mut self, batch: &FinishedBatch) {
        let Some(batches) = &mut self.batches else { return };
        let latency = batch.end.saturating_sub(batch.start);
        batches.finished += 1;
        batches.answers += batch.answers;
        batches.acknowledged += batch.acknowledged;
        batches.latency_sum += u128::from(latency);
        batches.latency_max = batches.latency_max.max(latency);
        batches.last_end = batches.last_end.max(batch.end);
    }

    pub fn unfinished_batch(&mut self) {
        if let Some(batches) = &mut self.batches {
            batches.unfinished += 1;
        }
    }

    pub fn merge(&mut self, other: Self) -> Result<(), hdrhistogram::AdditionError> {
        self.tasks_after_loss += other.tasks_after_loss;
        for (mine, theirs) in [(&mut self.answers, other.answers), (&mut self.tasks, other.tasks)] {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.merge(&theirs);
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.batches, other.batches) {
            mine.finished += theirs.finished;
            mine.unfinished += theirs.unfinished;
            mine.answers += theirs.answers;
            mine.acknowledged += theirs.acknowledged;
            mine.latency_sum += theirs.latency_sum;
            mine.latency_max = mine.latency_max.max(theirs.latency_max);
            mine.last_end = mine.last_end.max(theirs.last_end);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.per_second, other.per_second) {
            for (second, histogram) in theirs.into_iter().enumerate() {
                match mine.get_mut(second) {
                    Some(same) => same.add(&histogram)?,
                    None => mine.push(histogram),
                }
            }
        }
        Ok(())
    }
}

impl Ended {
    fn count(&mut self, phases: Phases, end: Nanoseconds) {
        self.total += 1;
        self.window += u64::from(phases.contains(end));
        count_in(&mut self.per_second, SECOND_NS, end);
    }

    fn merge(&mut self, other: &Self) {
        self.total += other.total;
        self.window += other.window;
        add_series(&mut self.per_second, &other.per_second);
    }
}

fn record(seconds: &mut Vec<Histogram<u64>>, since_window_start: Nanoseconds, latency: Nanoseconds) {
    let second = (since_window_start / SECOND_NS) as usize;
    while seconds.len() <= second {
        // Small until a long latency comes. The bounds are constants that the library allows.
        let Ok(mut histogram) =
            Histogram::new_with_bounds(HISTOGRAM_LOW_NS, 2 * HISTOGRAM_LOW_NS, SIGNIFICANT_DIGITS)
        else {
            return;
        };
        histogram.auto(true);
        seconds.push(histogram);
    }
    // It grows as far as any latency, so there is none that it refuses.
    let _ = seconds[second].record(latency.max(HISTOGRAM_LOW_NS));
}

/// The numbers of one flaw in the report.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum FlawReport {
    ReplayedPairs {
        batch: u64,
        transfers: u64,
        distinct_pairs: u64,
    },
    ClockBetweenBatches {
        batch: u64,
        batches: u64,
        unfinished_batches: u64,
        answers: u64,
        transactions: u64,
        elapsed_s: f64,
        transactions_per_s: Option<f64>,
        mean_batch_latency_s: Option<f64>,
        max_batch_latency_s: f64,
    },
    StatusUnread {
        transactions: u64,
        window_transactions: u64,
        transactions_per_s: f64,
        per_second: Vec<u64>,
    },
    CountsFinishedTasks {
        transactions: u64,
        window_transactions: u64,
        transactions_per_s: f64,
        transactions_after_loss: u64,
        per_second: Vec<u64>,
    },
    MedianOfPerSecondP99 {
        p99_ns: Option<u64>,
        median_of_per_second_p99_ns: Option<u64>,
        per_second_p99_ns: Vec<Option<u64>>,
    },
}

/// What the flaws' numbers need beside their own counts.
pub struct FlawFacts<'a, W> {
    pub flaws: Flaws,
    pub in_flight: u64,
    pub window_s: f64,
    pub work: &'a W,
    pub connections: &'a [ConnectionReport],
    /// Response times of the goodput.
    pub response_time: &'a Histogram<u64>,
}

impl FlawTally {
    pub fn report<W: Workload>(self, facts: &FlawFacts<'_, W>) -> BTreeMap<&'static str, FlawReport> {
        let mut reports = BTreeMap::new();
        let per_s = |count: u64| count as f64 / facts.window_s;
        if let Some(batch) = facts.flaws.replayed_batch {
            let (transfers, distinct_pairs) = count_pairs(facts, batch);
            let report = FlawReport::ReplayedPairs { batch, transfers, distinct_pairs };
            reports.insert(REPLAYED_PAIRS, report);
        }
        if let Some(batches) = self.batches {
            let report = batches.report(facts.in_flight);
            reports.insert(Flaw::ClockBetweenBatches {}.name(), report);
        }
        if let Some(Ended { total, window, per_second }) = self.answers {
            let report = FlawReport::StatusUnread {
                transactions: total,
                window_transactions: window,
                transactions_per_s: per_s(window),
                per_second,
            };
            reports.insert(Flaw::StatusUnread {}.name(), report);
        }
        if let Some(Ended { total, window, per_second }) = self.tasks {
            let report = FlawReport::CountsFinishedTasks {
                transactions: total,
                window_transactions: window,
                transactions_per_s: per_s(window),
                transactions_after_loss: self.tasks_after_loss,
                per_second,
            };
            reports.insert(Flaw::CountsFinishedTasks {}.name(), report);
        }
        if let Some(seconds) = self.per_second {
            let per_second_p99_ns: Vec<Option<u64>> = seconds.iter().map(p99).collect();
            let report = FlawReport::MedianOfPerSecondP99 {
                p99_ns: p99(facts.response_time),
                median_of_per_second_p99_ns: median(per_second_p99_ns.iter().flatten().copied().collect()),
                per_second_p99_ns,
            };
            reports.insert(Flaw::MedianOfPerSecondP99 {}.name(), report);
        }
        reports
    }
}

impl Batches {
    fn report(self, batch: u64) -> FlawReport {
        let elapsed_s = to_seconds(self.last_end);
        let some = self.finished > 0;
        FlawReport::ClockBetweenBatches {
            batch,
            batches: self.finished,
            unfinished_batches: self.unfinished,
            answers: self.answers,
            transactions: self.acknowledged,
            elapsed_s,
            transactions_per_s: some.then(|| self.acknowledged as f64 / elapsed_s),
            mean_batch_latency_s: some.then(|| self.latency_sum as f64 / 1e9 / self.finished as f64),
            max_batch_latency_s: to_seconds(self.latency_max),
        }
    }
}

/// Transfers handed over, and among them the different pairs of source and destination.
fn count_pairs<W: Workload>(facts: &FlawFacts<'_, W>, batch: u64) -> (u64, u64) {
    let mut pairs = HashSet::new();
    for connection in facts.connections {
        for index in 0..connection.issued.min(batch) {
            let drawn = facts.work.draw(connection.connection, index);
            pairs.extend(W::PAIR.map(|pair| pair(&drawn)));
        }
    }
    (facts.connections.iter().map(|connection| connection.issued).sum(), pairs.len() as u64)
}

fn p99(histogram: &Histogram<u64>) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(0.99))
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower + (upper - lower) / 2)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECOND: u64 = SECOND_NS;
    const MILLISECOND: u64 = 1_000_000;

    fn all() -> Flaws {
        Flaws {
            replayed_batch: None,
            clock_between_batches: true,
            status_unread: true,
            counts_finished_tasks: true,
            median_of_per_second_p99: true,
        }
    }

    /// A window of four seconds after one of warm-up.
    fn tally() -> FlawTally {
        let phases = Phases {
            window_start: SECOND,
            window_end: 5 * SECOND,
            drain_end: 9 * SECOND,
            linger_end: 5 * SECOND,
        };
        FlawTally::new(all(), phases)
    }

    fn times(start: u64, end: u64) -> Times {
        Times { intended: start, start, end }
    }

    #[test]
    fn each_flaw_counts_by_its_own_rule() {
        let mut tally = tally();
        tally.answered(Verdict::Acknowledged, times(0, SECOND / 2));
        tally.answered(Verdict::Error, times(SECOND, 2 * SECOND));
        tally.answered(Verdict::Refused(0), times(SECOND, 3 * SECOND));
        tally.answer(2 * SECOND);
        tally.ended_with_connection(3 * SECOND);
        tally.ended_after_connection(3 * SECOND);
        let answers = tally.answers.unwrap();
        assert_eq!((answers.total, answers.window, answers.per_second), (4, 3, vec![1, 0, 2, 1]));
        let tasks = tally.tasks.unwrap();
        assert_eq!((tasks.total, tasks.window, tasks.per_second), (5, 4, vec![1, 0, 1, 3]));
        assert_eq!(tally.tasks_after_loss, 1);
    }

    #[test]
    fn a_second_of_slow_answers_is_lost_in_the_median() {
        let mut first = tally();
        let mut second = tally();
        for (place, latency) in [10, 20, 900].into_iter().enumerate() {
            let start = SECOND + place as u64 * SECOND;
            let answered = times(start, start + latency * MILLISECOND);
            let tally = if place == 1 { &mut second } else { &mut first };
            tally.answered(Verdict::Acknowledged, answered);
            tally.answered(Verdict::Error, times(start, start + 950 * MILLISECOND));
        }
        first.merge(second).unwrap();
        let seconds: Vec<u64> =
            first.per_second.unwrap().iter().map(|second| p99(second).unwrap() / MILLISECOND).collect();
        assert_eq!(seconds, [10, 20, 900]);
        assert_eq!(median(seconds), Some(20));
    }

    #[test]
    fn an_even_number_of_seconds_has_the_median_between_its_middle_two() {
        assert_eq!(median(vec![40, 10, 20, 30]), Some(25));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn batches_count_whole_over_the_time_to_the_last_answer() {
        let mut first = tally();
        let mut second = tally();
        let batch = |start, end, acknowledged| FinishedBatch { start, end, answers: 10, acknowledged };
        first.finished_batch(&batch(0, 4 * SECOND, 10));
        first.finished_batch(&batch(4 * SECOND, 8 * SECOND, 8));
        second.finished_batch(&batch(0, 6 * SECOND, 10));
        second.unfinished_batch();
        first.merge(second).unwrap();
        match first.batches.unwrap().report(10) {
            FlawReport::ClockBetweenBatches {
                batches,
                unfinished_batches,
                answers,
                transactions,
                elapsed_s,
                transactions_per_s,
                mean_batch_latency_s,
                max_batch_latency_s,
                ..
            } => {
                assert_eq!((batches, unfinished_batches, answers, transactions), (3, 1, 30, 28));
                assert_eq!((elapsed_s, transactions_per_s), (8.0, Some(3.5)));
                assert_eq!((mean_batch_latency_s, max_batch_latency_s), (Some(14.0 / 3.0), 6.0));
            }
            other => panic!("{other:?}"),
        }
    }
}
