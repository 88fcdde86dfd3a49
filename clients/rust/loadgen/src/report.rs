//! The report on standard output.

use std::collections::BTreeMap;

use base64::prelude::{Engine, BASE64_STANDARD};
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

use crate::config::CONTRACT_VERSION;
use crate::error::ClientError;
use crate::flaws::FlawReport;
use crate::tally::{KindTally, Tally, Verdict};
use crate::usage::CpuUsage;
use crate::workload::Workload;

#[derive(Debug, Serialize)]
pub struct Report {
    contract: u32,
    client: ClientIdentity,
    started_unix_s: f64,
    warmup_s: f64,
    window_s: f64,
    drained_s: f64,
    attempted: u64,
    acknowledged: u64,
    retried: u64,
    in_doubt: u64,
    failed: Failed,
    first_error: Option<String>,
    lost_connections: u64,
    window: WindowReport,
    kinds: BTreeMap<&'static str, KindReport>,
    connections: Vec<ConnectionReport>,
    per_second: Vec<u64>,
    per_100ms: Vec<u64>,
    service_time_ns: String,
    response_time_ns: String,
    cpu_user_s: f64,
    cpu_system_s: f64,
    peak_memory_bytes: Option<u64>,
    /// What the connections agreed on with the server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    agreed: BTreeMap<&'static str, String>,
    /// What an engine inside the client says of itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    engine: BTreeMap<String, String>,
    /// By name of the flaw; absent in a trial without flaws.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    flawed: BTreeMap<&'static str, FlawReport>,
}

#[derive(Debug, Serialize)]
pub struct ClientIdentity {
    pub name: &'static str,
    pub language: &'static str,
    pub version: &'static str,
    pub build_id: Option<String>,
}

/// Counts by name: the workload's refusals, `error` and `timeout`.
type Failed = BTreeMap<&'static str, u64>;

fn failed<W: Workload>(kind: &KindTally) -> Failed {
    // Nobody answers a request that times out, so it is in doubt.
    let others = [("error", kind.error), ("timeout", 0)];
    W::REFUSALS.iter().copied().zip(kind.refused.iter().copied()).chain(others).collect()
}

#[derive(Debug, Serialize)]
struct KindReport {
    attempted: u64,
    acknowledged: u64,
    failed: Failed,
    in_doubt: u64,
    window: KindWindow,
    service_time_ns: String,
    response_time_ns: String,
}

#[derive(Debug, Serialize)]
struct KindWindow {
    acknowledged: u64,
    completed: u64,
}

impl KindReport {
    fn new<W: Workload>(kind: &KindTally) -> Result<Self, ClientError> {
        let service_time_ns = encode(&kind.service_time)?;
        let response_time_ns = match &kind.response_time {
            Some(histogram) => encode(histogram)?,
            None => service_time_ns.clone(),
        };
        Ok(Self {
            attempted: kind.acknowledged + kind.failed() + kind.in_doubt,
            acknowledged: kind.acknowledged,
            failed: failed::<W>(kind),
            in_doubt: kind.in_doubt,
            window: KindWindow { acknowledged: kind.window_acknowledged, completed: kind.window_completed },
            service_time_ns,
            response_time_ns,
        })
    }
}

#[derive(Debug, Serialize)]
struct WindowReport {
    acknowledged: u64,
    goodput_per_s: f64,
    completed: u64,
    mean_in_flight: f64,
    mean_service_time_s: Option<f64>,
    cpu_user_s: f64,
    cpu_system_s: f64,
}

#[derive(Debug, Serialize)]
pub struct ConnectionReport {
    pub connection: u32,
    pub issued: u64,
    pub failed: Failures,
    pub in_doubt: Vec<u64>,
    /// What was sent again at least once.
    pub retried: Vec<u64>,
}

/// The operations of a connection that were refused, by index.
#[derive(Debug)]
pub struct Failures {
    pub listed: Vec<(u64, Verdict)>,
    /// What the workload's refusals are called.
    pub names: &'static [&'static str],
}

impl Serialize for Failures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |verdict: &Verdict| match verdict {
            Verdict::Refused(place) => self.names[usize::from(*place)],
            Verdict::Acknowledged | Verdict::Error => "error",
        };
        serializer.collect_seq(self.listed.iter().map(|(index, verdict)| (index, name(verdict))))
    }
}

/// What the report says beside the tally.
pub struct Facts {
    pub client: ClientIdentity,
    pub started_unix_s: f64,
    pub warmup_s: f64,
    pub window_s: f64,
    pub drained_s: f64,
    pub window_usage: CpuUsage,
    pub usage: CpuUsage,
    pub peak_memory_bytes: Option<u64>,
    pub agreed: BTreeMap<&'static str, String>,
    pub engine: BTreeMap<String, String>,
}

impl Report {
    pub fn new<W: Workload>(
        facts: Facts,
        tally: Tally,
        connections: Vec<ConnectionReport>,
    ) -> Result<Self, ClientError> {
        let total = tally.total()?;
        let KindReport {
            attempted, acknowledged, failed, in_doubt, service_time_ns, response_time_ns, ..
        } = KindReport::new::<W>(&total)?;
        let kinds = W::KINDS.iter().zip(&tally.kinds);
        Ok(Self {
            contract: CONTRACT_VERSION,
            attempted,
            acknowledged,
            retried: tally.retried,
            in_doubt,
            failed,
            lost_connections: tally.lost_connections,
            window: WindowReport::new(&facts, &tally, &total),
            kinds: kinds
                .map(|(kind, tally)| Ok((kind.name, KindReport::new::<W>(tally)?)))
                .collect::<Result<_, ClientError>>()?,
            per_second: tally.per_second(),
            first_error: tally.first_error.map(|(_, text)| text),
            connections,
            per_100ms: tally.per_100ms,
            service_time_ns,
            response_time_ns,
            client: facts.client,
            started_unix_s: facts.started_unix_s,
            warmup_s: facts.warmup_s,
            window_s: facts.window_s,
            drained_s: facts.drained_s,
            cpu_user_s: facts.usage.user_s,
            cpu_system_s: facts.usage.system_s,
            peak_memory_bytes: facts.peak_memory_bytes,
            agreed: facts.agreed,
            engine: facts.engine,
            flawed: BTreeMap::new(),
        })
    }

    pub fn with_flawed(self, flawed: BTreeMap<&'static str, FlawReport>) -> Self {
        Self { flawed, ..self }
    }
}

impl WindowReport {
    fn new(facts: &Facts, tally: &Tally, total: &KindTally) -> Self {
        let completed = total.window_completed;
        Self {
            acknowledged: total.window_acknowledged,
            goodput_per_s: total.window_acknowledged as f64 / facts.window_s,
            completed,
            mean_in_flight: tally.window_out_ns as f64 / 1e9 / facts.window_s,
            mean_service_time_s: (completed > 0)
                .then(|| tally.window_service_ns as f64 / 1e9 / completed as f64),
            cpu_user_s: facts.window_usage.user_s,
            cpu_system_s: facts.window_usage.system_s,
        }
    }
}

fn encode(histogram: &Histogram<u64>) -> Result<String, ClientError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| ClientError::Integrity(format!("histogram: {error:?}")))?;
    Ok(BASE64_STANDARD.encode(bytes))
}
