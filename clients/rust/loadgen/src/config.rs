//! The configuration on standard input. Its types and ranges are held by `clients/contract.schema.json`; what is
//! refused here is what cannot be decoded, and what only the client can know.

use std::collections::BTreeMap;
use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::ClientError;
use crate::flaws::{Flaw, Flaws};
use crate::hex;
use crate::philox::{round_keys, RoundKeys};

pub const CONTRACT_VERSION: u32 = 2;

#[derive(Deserialize)]
struct Versioned {
    contract: u32,
}

/// A configuration before it is known which client is to read its endpoint and its workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawConfig {
    #[serde(rename = "contract")]
    _contract: u32,
    endpoint: Value,
    pub workload: WorkloadConfig,
    connections: NonZeroU32,
    #[serde(default)]
    first_connection: u32,
    in_flight: NonZeroUsize,
    #[serde(rename = "loop")]
    loop_: LoopConfig,
    warmup_s: f64,
    window_s: f64,
    drain_s: f64,
    request_timeout_s: f64,
    #[serde(default = "one")]
    threads: NonZeroUsize,
    #[serde(default)]
    max_retries: u32,
    #[serde(default)]
    flaws: Vec<Flaw>,
    start_unix_s: Option<f64>,
    #[serde(default)]
    linger_s: f64,
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    pub name: String,
    seed: u64,
    parameters: Value,
    files: BTreeMap<String, FileConfig>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileConfig {
    path: PathBuf,
    sha256: String,
}

/// A file of the workload, as the configuration's hash promises it.
pub struct File {
    what: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum LoopConfig {
    Closed {},
    Open { rate_per_s: f64 },
}

/// The part of a configuration that `--draw` needs.
#[derive(Debug, Deserialize)]
pub struct DrawConfig {
    pub workload: WorkloadConfig,
    pub draw: DrawRange,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRange {
    pub connection: u32,
    pub first_index: u64,
    pub count: u64,
}

/// A configuration for one client; `E` is the endpoint of its protocol.
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
    /// When the clock starts, by the wall clock; `None` is as soon as the connections are up.
    pub start_unix_s: Option<f64>,
    /// How long after the window connections stay open at least, idle.
    pub linger_s: f64,
}

impl RawConfig {
    pub fn parse(json: &[u8]) -> Result<Self, ClientError> {
        parse_contract(json)
    }
}

impl<E: DeserializeOwned> Config<E> {
    /// Decodes an endpoint that must speak `protocol`.
    pub fn new(raw: RawConfig, protocol: &str) -> Result<Self, ClientError> {
        let connections = raw.connections.get();
        let threads = raw.threads.get();
        if threads > connections as usize {
            return Err(ClientError::refused("threads", threads, "no more than connections"));
        }
        let rate_per_s = match raw.loop_ {
            LoopConfig::Closed {} => None,
            LoopConfig::Open { rate_per_s } => Some(rate_per_s),
        };
        Ok(Self {
            endpoint: parse_endpoint(raw.endpoint, protocol)?,
            workload: raw.workload,
            connections,
            first_connection: raw.first_connection,
            in_flight: raw.in_flight.get(),
            rate_per_s,
            warmup_s: raw.warmup_s,
            window_s: raw.window_s,
            drain_s: raw.drain_s,
            request_timeout_s: raw.request_timeout_s,
            threads,
            max_retries: raw.max_retries,
            flaws: Flaws::new(&raw.flaws, rate_per_s.is_some(), raw.window_s)?,
            start_unix_s: raw.start_unix_s,
            linger_s: raw.linger_s,
        })
    }
}

impl DrawConfig {
    pub fn parse(json: &[u8]) -> Result<Self, ClientError> {
        parse_contract(json)
    }
}

impl WorkloadConfig {
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P, ClientError> {
        parse_at("workload.parameters", self.parameters.clone())
    }

    pub fn keys(&self) -> RoundKeys {
        round_keys([self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Reads a file of the workload; what is read must be what the hash promises.
    pub fn file(&self, name: &str) -> Result<File, ClientError> {
        let place = format!("workload.files.{name}");
        let Some(FileConfig { path, sha256 }) = self.files.get(name) else {
            let needed = format!("{place}: missing; {} needs its path and sha256", self.name);
            return Err(ClientError::Configuration(needed));
        };
        let bytes = fs::read(path).map_err(|error| {
            ClientError::Configuration(format!(
                "{place}: {} cannot be read ({error}); name a file that the harness wrote",
                path.display()
            ))
        })?;
        let file = File { what: format!("{place}: {}", path.display()), bytes };
        let found = hex(&Sha256::digest(&file.bytes));
        if found == *sha256 {
            Ok(file)
        } else {
            Err(file.broken(&format!("its sha256 is {found}, not {sha256}")))
        }
    }
}

impl File {
    /// The file cannot be believed.
    pub fn broken(&self, why: &str) -> ClientError {
        ClientError::Integrity(format!("{}: {why}; let the harness write it again", self.what))
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

/// Parses what is of this version of the contract: of another, everything may be otherwise.
fn parse_contract<T: DeserializeOwned>(json: &[u8]) -> Result<T, ClientError> {
    let Versioned { contract } = parse_at("", &mut serde_json::Deserializer::from_slice(json))?;
    if contract == CONTRACT_VERSION {
        parse_at("", &mut serde_json::Deserializer::from_slice(json))
    } else {
        Err(ClientError::refused("contract", contract, &CONTRACT_VERSION.to_string()))
    }
}
