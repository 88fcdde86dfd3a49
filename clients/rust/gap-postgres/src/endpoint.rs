//! Where the server is, and how a transfer is expressed to it.

use std::num::NonZeroU16;

use loadgen::ClientError;
use serde::de::{Deserializer, Error};
use serde::Deserialize;

const BATCH_SIZES: std::ops::RangeInclusive<u16> = 2..=1024;
/// Longer names are cut by the server.
const IDENTIFIER_BYTES_MAX: usize = 63;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    pub user: String,
    pub password: String,
    pub database: String,
    #[serde(default)]
    pub mode: Mode,
    #[serde(default, deserialize_with = "identifier")]
    function: Option<String>,
    pub batch_size: Option<u16>,
}

/// How a transfer is expressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Procedure,
    Sql,
    Batch,
}

fn identifier<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if (1..=IDENTIFIER_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(Some(name))
    } else {
        Err(D::Error::custom(format!(
            "{name:?} is refused; allowed: 1 to {IDENTIFIER_BYTES_MAX} of the characters a to z and _"
        )))
    }
}

impl Endpoint {
    pub fn function(&self) -> &str {
        let default = if self.mode == Mode::Batch { "transfer_batch" } else { "transfer" };
        self.function.as_deref().unwrap_or(default)
    }

    /// Refuses keys that the mode does not have, and depths that it cannot carry.
    pub fn check(&self, in_flight: usize) -> Result<(), ClientError> {
        match (self.mode, self.batch_size) {
            (Mode::Batch, None) => Err(ClientError::Configuration(format!(
                "endpoint.batch_size: missing; mode \"batch\" needs the transfers in one call, {} to {}",
                BATCH_SIZES.start(),
                BATCH_SIZES.end()
            ))),
            (Mode::Batch, Some(size)) if !BATCH_SIZES.contains(&size) => Err(ClientError::refused(
                "endpoint.batch_size",
                size,
                &format!("{} to {}", BATCH_SIZES.start(), BATCH_SIZES.end()),
            )),
            (Mode::Batch, Some(size)) if in_flight % usize::from(size) != 0 => Err(ClientError::refused(
                "in_flight",
                in_flight,
                &format!("a multiple of endpoint.batch_size, {size}, at least that"),
            )),
            (Mode::Procedure | Mode::Sql, Some(size)) => {
                Err(ClientError::refused("endpoint.batch_size", size, "no batch size outside mode \"batch\""))
            }
            (Mode::Sql, None) if in_flight != 1 => Err(ClientError::refused(
                "in_flight",
                in_flight,
                "1 in mode \"sql\", where a statement waits for the answer to the one before",
            )),
            (Mode::Sql, None) => match &self.function {
                Some(function) => Err(ClientError::refused(
                    "endpoint.function",
                    function,
                    "no function in mode \"sql\", which calls none",
                )),
                None => Ok(()),
            },
            (Mode::Procedure, None) | (Mode::Batch, Some(_)) => Ok(()),
        }
    }
}
