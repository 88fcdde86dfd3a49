//! The core of the Rust load generators; a binary adds one [`Protocol`] or one [`Engine`].
//!
//! - `config`: what is asked for, checked by name
//! - `philox`, `work`: which transfer is operation *index* of a connection
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
mod work;

pub use cli::{main, main_embedded};
pub use config::{Config, Redraw, WorkloadConfig};
pub use embedded::Engine;
pub use error::ClientError;
pub use handshake::HandshakeStream;
pub use protocol::{Decoded, Outcome, Protocol};
pub use work::{Operation, Work};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
