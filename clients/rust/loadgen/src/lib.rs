//! The core of the Rust load generators; a binary adds one [`Protocol`] or one [`Engine`], and says for which
//! workloads.
//!
//! - `config`: what is asked for
//! - `philox`, `workload`: which operation is number *index* of a connection
//! - `schedule`: when it is intended, and where the phases lie
//! - `protocol`, `handshake`: what a protocol brings
//! - `engine`, `connection`, `timer`: the event loop
//! - `embedded`: the load of an engine inside the client
//! - `flaws`: defects of published benchmarks, to be switched on
//! - `tally`, `usage`, `report`, `progress`: what was seen
//! - `trial`, `cli`: from configuration to report

mod cli;
mod config;
mod connection;
mod embedded;
mod engine;
mod error;
mod flaws;
mod handshake;
mod philox;
mod progress;
mod protocol;
mod report;
mod schedule;
mod tally;
mod timer;
mod trial;
mod usage;
mod workload;

pub use cli::Client;
pub use config::{Config, WorkloadConfig};
pub use embedded::Engine;
pub use error::ClientError;
pub use handshake::HandshakeStream;
pub use protocol::{names_of_kinds, Decoded, Oldest, Outcome, Protocol};
pub use workload::{
    Chat, Compute, CounterAndMessages, CounterOrMessage, Fibonacci, Field, FieldType, Fields, Kind,
    KindFacts, KindOf, Letters, OneKind, Operation, Pair, PostOrRead, Transfer, Transfers, Workload,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
