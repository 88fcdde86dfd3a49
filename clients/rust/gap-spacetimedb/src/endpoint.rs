//! What a client is told of the server: see `clients/CONTRACT.md`.

use std::num::NonZeroU16;

use serde::de::{Deserializer, Error};
use serde::Deserialize;

use crate::version::Version;

/// A call stays short enough for the shortest WebSocket header.
const REDUCER_BYTES_MAX: usize = 64;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    #[serde(deserialize_with = "header_word")]
    pub database: String,
    #[serde(deserialize_with = "header_word")]
    pub token: String,
    #[serde(default = "transfer", deserialize_with = "reducer_name")]
    pub reducer: String,
    /// The type of the reducer's last argument.
    #[serde(default)]
    pub amount: Amount,
    /// Answer only after the transaction is durable. It is always said, as servers' defaults differ by protocol.
    #[serde(default)]
    pub confirmed: bool,
    /// The newest protocol version that is offered.
    #[serde(default)]
    pub newest: Version,
    /// Whether all calls that are ready go into one payload, where the protocol can.
    #[serde(default = "yes")]
    pub coalesce: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Amount {
    #[default]
    U32,
    I64,
}

impl Amount {
    pub fn bytes(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::I64 => 8,
        }
    }
}

fn transfer() -> String {
    "transfer".to_owned()
}

fn reducer_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if (1..=REDUCER_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(name)
    } else {
        Err(D::Error::custom(format!("refused; allowed: 1 to {REDUCER_BYTES_MAX} of a to z and _")))
    }
}

fn yes() -> bool {
    true
}

fn header_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let word = String::deserialize(deserializer)?;
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"/?#".contains(&byte);
    if !word.is_empty() && word.bytes().all(allowed) {
        Ok(word)
    } else {
        Err(D::Error::custom("refused; allowed: printable ASCII without spaces, /, ? and #"))
    }
}
