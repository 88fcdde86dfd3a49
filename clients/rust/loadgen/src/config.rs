//! The configuration on standard input, refused by name where it is wrong.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::Deserialize;
use serde_json::Value;

use crate::error::ClientError;
use crate::flaws::{Flaw, Flaws};

pub const CONTRACT_VERSION: u32 = 1;
const WORKLOAD_NAME: &str = "transfer";
const SEED_MAX: u64 = (1 << 53) - 1;
const ACCOUNTS_MAX: u32 = 1 << 21;
const CONNECTIONS_MAX: u32 = 65_536;
const IN_FLIGHT_MAX: usize = 65_536;
const THREADS_MAX: usize = 256;
const MAX_RETRIES_MAX: u32 = 1_000_000;
const DURATION_MAX_S: f64 = 86_400.0;
const RATE_MAX_PER_S: f64 = 1e9;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    contract: u32,
    endpoint: Value,
    workload: WorkloadConfig,
    connections: u32,
    #[serde(default)]
    first_connection: u32,
    in_flight: usize,
    #[serde(rename = "loop")]
    loop_: LoopConfig,
    warmup_s: f64,
    window_s: f64,
    drain_s: f64,
    request_timeout_s: f64,
    #[serde(default = "one")]
    threads: usize,
    #[serde(default)]
    max_retries: u32,
    #[serde(default)]
    flaws: Vec<Flaw>,
}

fn one() -> usize {
    1
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    pub name: String,
    pub seed: u64,
    pub accounts: u32,
    pub alpha: f64,
    pub amount_max: u32,
    #[serde(default)]
    pub redraw: Redraw,
    pub alias_table: String,
    pub alias_table_sha256: String,
}

/// What is drawn again when source and destination are the same account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redraw {
    #[default]
    Both,
    Destination,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopConfig {
    kind: LoopKind,
    rate_per_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LoopKind {
    Closed,
    Open,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDrawConfig {
    contract: u32,
    workload: WorkloadConfig,
    draw: DrawRange,
    #[serde(rename = "endpoint")]
    _endpoint: Option<IgnoredAny>,
    #[serde(rename = "connections")]
    _connections: Option<IgnoredAny>,
    #[serde(rename = "first_connection")]
    _first_connection: Option<IgnoredAny>,
    #[serde(rename = "in_flight")]
    _in_flight: Option<IgnoredAny>,
    #[serde(rename = "loop")]
    _loop: Option<IgnoredAny>,
    #[serde(rename = "warmup_s")]
    _warmup_s: Option<IgnoredAny>,
    #[serde(rename = "window_s")]
    _window_s: Option<IgnoredAny>,
    #[serde(rename = "drain_s")]
    _drain_s: Option<IgnoredAny>,
    #[serde(rename = "request_timeout_s")]
    _request_timeout_s: Option<IgnoredAny>,
    #[serde(rename = "threads")]
    _threads: Option<IgnoredAny>,
    #[serde(rename = "max_retries")]
    _max_retries: Option<IgnoredAny>,
    #[serde(rename = "flaws")]
    _flaws: Option<IgnoredAny>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRange {
    pub connection: u32,
    pub first_index: u64,
    pub count: u64,
}

/// A checked configuration; `E` is the endpoint of the client's protocol.
#[derive(Debug, Clone)]
pub struct Config<E> {
    pub endpoint: E,
    pub workload: WorkloadConfig,
    pub connections: u32,
    pub first_connection: u32,
    pub in_flight: usize,
    /// `None` is the closed loop.
    pub rate_per_s: Option<f64>,
    pub warmup_s: f64,
    pub window_s: f64,
    pub drain_s: f64,
    pub request_timeout_s: f64,
    pub threads: usize,
    /// How often a request that was refused in a conflict is sent again.
    pub max_retries: u32,
    pub flaws: Flaws,
}

/// The part of a configuration that `--draw` needs.
#[derive(Debug)]
pub struct DrawConfig {
    pub workload: WorkloadConfig,
    pub range: DrawRange,
}

impl<E: DeserializeOwned> Config<E> {
    /// Parses and checks a configuration whose endpoint speaks `protocol`.
    pub fn parse(json: &[u8], protocol: &str) -> Result<Self, ClientError> {
        let raw: RawConfig = parse_at("", &mut serde_json::Deserializer::from_slice(json))?;
        check_contract(raw.contract)?;
        check_workload(&raw.workload)?;
        check(
            raw.connections >= 1 && raw.connections <= CONNECTIONS_MAX,
            "connections",
            raw.connections,
            || format!("1 to {CONNECTIONS_MAX}"),
        )?;
        let first_connection_max = u32::MAX - CONNECTIONS_MAX;
        check(
            raw.first_connection <= first_connection_max,
            "first_connection",
            raw.first_connection,
            || format!("0 to {first_connection_max}"),
        )?;
        check(raw.in_flight >= 1 && raw.in_flight <= IN_FLIGHT_MAX, "in_flight", raw.in_flight, || {
            format!("1 to {IN_FLIGHT_MAX}")
        })?;
        let threads_max = THREADS_MAX.min(raw.connections as usize);
        check(raw.threads >= 1 && raw.threads <= threads_max, "threads", raw.threads, || {
            format!("1 to {threads_max}, no more than connections")
        })?;
        check(raw.max_retries <= MAX_RETRIES_MAX, "max_retries", raw.max_retries, || {
            format!("0 to {MAX_RETRIES_MAX}")
        })?;
        check_seconds("warmup_s", raw.warmup_s, 0.0)?;
        check_seconds("window_s", raw.window_s, 0.001)?;
        check_seconds("drain_s", raw.drain_s, 0.0)?;
        check_seconds("request_timeout_s", raw.request_timeout_s, 0.001)?;
        let rate_per_s = check_loop(&raw.loop_)?;
        Ok(Self {
            endpoint: parse_endpoint(raw.endpoint, protocol)?,
            workload: raw.workload,
            connections: raw.connections,
            first_connection: raw.first_connection,
            in_flight: raw.in_flight,
            rate_per_s,
            warmup_s: raw.warmup_s,
            window_s: raw.window_s,
            drain_s: raw.drain_s,
            request_timeout_s: raw.request_timeout_s,
            threads: raw.threads,
            max_retries: raw.max_retries,
            flaws: Flaws::new(&raw.flaws, rate_per_s.is_some(), raw.window_s)?,
        })
    }
}

impl DrawConfig {
    pub fn parse(json: &[u8]) -> Result<Self, ClientError> {
        let raw: RawDrawConfig = parse_at("", &mut serde_json::Deserializer::from_slice(json))?;
        check_contract(raw.contract)?;
        check_workload(&raw.workload)?;
        if raw.draw.first_index.checked_add(raw.draw.count).is_none() {
            return Err(ClientError::refused("draw.count", raw.draw.count, "first_index + count below 2^64"));
        }
        Ok(Self { workload: raw.workload, range: raw.draw })
    }
}

fn parse_endpoint<E: DeserializeOwned>(mut endpoint: Value, protocol: &str) -> Result<E, ClientError> {
    let named = endpoint.as_object_mut().and_then(|object| object.remove("protocol"));
    match named {
        Some(Value::String(name)) if name == protocol => parse_at("endpoint", endpoint),
        Some(other) => {
            Err(ClientError::refused("endpoint.protocol", other, &format!("\"{protocol}\" for this client")))
        }
        None => Err(ClientError::Configuration(format!(
            "endpoint: must be an object with the key protocol; allowed for this client: \"{protocol}\""
        ))),
    }
}

fn parse_at<'de, T, D>(root: &str, deserializer: D) -> Result<T, ClientError>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let place = match (root, path.as_str()) {
            ("", "." | "?") => "configuration".to_owned(),
            ("", path) => path.to_owned(),
            (root, ".") => root.to_owned(),
            (root, path) => format!("{root}.{path}"),
        };
        ClientError::Configuration(format!("{place}: {}", error.inner()))
    })
}

fn check_contract(contract: u32) -> Result<(), ClientError> {
    check(contract == CONTRACT_VERSION, "contract", contract, || CONTRACT_VERSION.to_string())
}

fn check_workload(workload: &WorkloadConfig) -> Result<(), ClientError> {
    check(workload.name == WORKLOAD_NAME, "workload.name", format!("{:?}", workload.name), || {
        format!("\"{WORKLOAD_NAME}\"")
    })?;
    check(workload.seed <= SEED_MAX, "workload.seed", workload.seed, || format!("0 to {SEED_MAX}"))?;
    check((2..=ACCOUNTS_MAX).contains(&workload.accounts), "workload.accounts", workload.accounts, || {
        format!("2 to {ACCOUNTS_MAX}")
    })?;
    check(workload.alpha.is_finite() && workload.alpha >= 0.0, "workload.alpha", workload.alpha, || {
        "0 or more".to_owned()
    })?;
    check(
        (1..=i32::MAX as u32).contains(&workload.amount_max),
        "workload.amount_max",
        workload.amount_max,
        || format!("1 to {}", i32::MAX),
    )
}

fn check_loop(raw: &LoopConfig) -> Result<Option<f64>, ClientError> {
    match (&raw.kind, raw.rate_per_s) {
        (LoopKind::Closed, None) => Ok(None),
        (LoopKind::Closed, Some(rate)) => {
            Err(ClientError::refused("loop.rate_per_s", rate, "no rate in the closed loop"))
        }
        (LoopKind::Open, Some(rate)) if rate > 0.0 && rate <= RATE_MAX_PER_S => Ok(Some(rate)),
        (LoopKind::Open, Some(rate)) => {
            Err(ClientError::refused("loop.rate_per_s", rate, &format!("above 0, at most {RATE_MAX_PER_S}")))
        }
        (LoopKind::Open, None) => Err(ClientError::Configuration(
            "loop.rate_per_s: missing; the open loop needs the operations offered per second".to_owned(),
        )),
    }
}

fn check_seconds(name: &str, seconds: f64, minimum: f64) -> Result<(), ClientError> {
    check((minimum..=DURATION_MAX_S).contains(&seconds), name, seconds, || {
        format!("{minimum} to {DURATION_MAX_S} seconds")
    })
}

fn check(
    holds: bool,
    name: &str,
    given: impl std::fmt::Display,
    allowed: impl FnOnce() -> String,
) -> Result<(), ClientError> {
    if holds {
        Ok(())
    } else {
        Err(ClientError::refused(name, given, &allowed()))
    }
}
