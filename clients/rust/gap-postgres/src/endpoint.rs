//! Where the server is, and how an operation is expressed to it.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroUsize};

use loadgen::{names_of_kinds, ClientError, Workload};
use serde::Deserialize;

const BATCH_FUNCTION: &str = "transfer_batch";

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
    function: Option<String>,
    #[serde(default)]
    functions: BTreeMap<String, String>,
    batch_size: Option<NonZeroUsize>,
}

/// How an operation is expressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Procedure,
    Sql,
    Batch,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Procedure => "procedure",
            Self::Sql => "sql",
            Self::Batch => "batch",
        }
    }
}

impl Endpoint {
    /// The function of each kind of the workload.
    pub fn names<W: Workload>(&self) -> Result<Vec<String>, ClientError> {
        names_of_kinds::<W>(["function", "functions"], self.function.as_deref(), &self.functions)
    }

    pub fn batch_function(&self) -> &str {
        self.function.as_deref().unwrap_or(BATCH_FUNCTION)
    }

    pub fn requests_per_message(&self) -> usize {
        self.batch_size.map_or(1, NonZeroUsize::get)
    }

    /// Refuses keys that the mode does not have, and depths that it cannot carry.
    pub fn check(&self, in_flight: usize) -> Result<(), ClientError> {
        match (self.mode, self.batch_size) {
            (Mode::Batch, None) => Err(ClientError::Configuration(
                "endpoint.batch_size: missing; mode \"batch\" needs the transfers in one call".to_owned(),
            )),
            (Mode::Batch, Some(size)) if in_flight % size != 0 => Err(ClientError::refused(
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
