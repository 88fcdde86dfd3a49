//! The load of an engine inside this process: a call returns with its answer, so one is out at a time.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::error::ClientError;
use crate::progress;
use crate::protocol::Outcome;
use crate::report::{ClientIdentity, ConnectionReport, Facts, Failures, Report};
use crate::schedule::{to_seconds, Clock, Nanoseconds, Phases, Schedule};
use crate::tally::{Tally, Times, Verdict};
use crate::usage::{peak_memory_bytes, CpuUsage};
use crate::workload::{KindOf, Operation, Workload};

const TICK_NS: Nanoseconds = 1_000_000_000;
const KEPT_ERROR_CHARACTERS: usize = 500;

/// An engine that runs inside the client, for the operations of a workload; all connections of the load share it.
pub trait Engine<W: Workload>: Sized {
    /// Name in `endpoint.protocol`.
    const NAME: &'static str;
    type Endpoint: DeserializeOwned;

    /// Opens the engine; an error says why the endpoint cannot be used.
    fn open(endpoint: &Self::Endpoint) -> Result<Self, String>;

    /// What the engine says of itself: its version and its settings, read back.
    fn settings(&self) -> BTreeMap<String, String>;

    /// One operation in its own transaction; it is committed when this returns [`Outcome::Acknowledged`].
    fn run(&mut self, operation: &W::Operation) -> Outcome<'static>;
}

/// Opens the engine, loads it and reports.
pub fn run<W: Workload, E: Engine<W>>(
    config: &Config<E::Endpoint>,
    client: ClientIdentity,
) -> Result<Report, ClientError> {
    require_one("in_flight", config.in_flight)?;
    require_one("threads", config.threads)?;
    if !config.flaws.is_empty() {
        return Err(ClientError::refused("flaws", "any flaw", "none for an engine inside the client"));
    }
    let work = W::load(&config.workload)?;
    let mut engine = E::open(&config.endpoint)
        .map_err(|why| ClientError::Endpoint(format!("{} engine: {why}", E::NAME)))?;
    let mut load = Load::new::<W, _>(config)?;
    progress::ready();
    let (clock, started_unix_s) = Clock::start_at(config.start_unix_s)?;
    load.clock = clock;
    let ended_at = load.run(&work, &mut engine);
    let facts = Facts {
        client,
        started_unix_s,
        warmup_s: config.warmup_s,
        window_s: config.window_s,
        drained_s: to_seconds(ended_at.saturating_sub(load.phases.window_end)),
        window_usage: load.window_usage(),
        usage: CpuUsage::now(),
        peak_memory_bytes: peak_memory_bytes(),
        agreed: BTreeMap::new(),
        engine: engine.settings(),
    };
    Report::new::<W>(facts, load.tally, load.connections)
}

/// A call of an engine in this process returns with its answer.
fn require_one(name: &str, given: usize) -> Result<(), ClientError> {
    if given == 1 {
        Ok(())
    } else {
        Err(ClientError::refused(name, given, "1 for an engine inside the client"))
    }
}

struct Load {
    clock: Clock,
    phases: Phases,
    schedule: Schedule,
    tally: Tally,
    connections: Vec<ConnectionReport>,
    usage_at_start: Option<CpuUsage>,
    usage_at_end: Option<CpuUsage>,
    next_tick: Nanoseconds,
}

impl Load {
    fn new<W: Workload, E>(config: &Config<E>) -> Result<Self, ClientError> {
        let (phases, schedule) = (Phases::new(config), Schedule::new(config));
        let tally = Tally::new::<W>(phases, schedule.is_open())?;
        let connections = (0..config.connections)
            .map(|slot| ConnectionReport {
                connection: config.first_connection + slot,
                issued: 0,
                failed: Failures { listed: Vec::new(), names: W::REFUSALS },
                in_doubt: Vec::new(),
                retried: Vec::new(),
            })
            .collect();
        Ok(Self {
            clock: Clock::start(),
            phases,
            schedule,
            tally,
            connections,
            usage_at_start: None,
            usage_at_end: None,
            next_tick: TICK_NS,
        })
    }

    /// Serves the connections in turn until the window is over; when the last answer was in.
    fn run<W: Workload, E: Engine<W>>(&mut self, work: &W, engine: &mut E) -> Nanoseconds {
        let mut slot = 0;
        loop {
            let ConnectionReport { connection, issued, .. } = self.connections[slot];
            let operation = work.draw(connection, issued);
            let intended = self.schedule.intended(slot as u32, issued);
            let start = self.wait_until(intended);
            if start >= self.phases.window_end {
                return start;
            }
            let outcome = engine.run(&operation);
            let end = self.clock.now();
            let intended = if self.schedule.is_open() { intended } else { start };
            self.settle::<W>(slot, operation.kind(), &outcome, Times { intended, start, end });
            slot = (slot + 1) % self.connections.len();
        }
    }

    /// Keeps the time until `intended` or the window's end has come; the time it is then.
    fn wait_until(&mut self, intended: Nanoseconds) -> Nanoseconds {
        loop {
            let now = self.clock.now();
            self.keep_time(now);
            let until = intended.min(self.phases.window_end);
            if now >= until {
                return now;
            }
            let edge = if now < self.phases.window_start { self.phases.window_start } else { until };
            thread::sleep(Duration::from_nanos(until.min(edge).min(self.next_tick) - now));
        }
    }

    #[inline]
    fn keep_time(&mut self, now: Nanoseconds) {
        if self.usage_at_start.is_none() && now >= self.phases.window_start {
            self.usage_at_start = Some(CpuUsage::now());
            progress::window_start();
        }
        if self.usage_at_end.is_none() && now >= self.phases.window_end {
            self.usage_at_end = Some(CpuUsage::now());
            progress::window_end();
        }
        if now >= self.next_tick {
            self.next_tick = (now / TICK_NS + 1) * TICK_NS;
            let (acknowledged, failed) = (self.tally.acknowledged(), self.tally.failed());
            progress::progress(self.phases.name(now), to_seconds(now), acknowledged, failed);
        }
    }

    #[inline]
    fn settle<W: Workload>(&mut self, slot: usize, kind: KindOf<W>, outcome: &Outcome<'_>, times: Times) {
        let verdict = match outcome {
            Outcome::Acknowledged => Verdict::Acknowledged,
            Outcome::Refused(place) => Verdict::refused(*place),
            Outcome::Conflict(text) | Outcome::Error(text) => {
                let kept: String = text.chars().take(KEPT_ERROR_CHARACTERS).collect();
                self.tally.keep_first_error(times.end, &kept);
                Verdict::Error
            }
        };
        let connection = &mut self.connections[slot];
        if verdict != Verdict::Acknowledged {
            connection.failed.listed.push((connection.issued, verdict));
        }
        connection.issued += 1;
        self.tally.answered(kind, verdict, times);
    }

    fn window_usage(&self) -> CpuUsage {
        match (self.usage_at_start, self.usage_at_end) {
            (Some(start), Some(end)) => end.since(start),
            _ => CpuUsage::default(),
        }
    }
}
