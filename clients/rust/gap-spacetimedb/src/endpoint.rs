//! What a client is told of the server: see `clients/CONTRACT.md`.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use loadgen::{names_of_kinds, ClientError, Workload};
use serde::Deserialize;

use crate::version::Version;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    pub database: String,
    pub token: String,
    reducer: Option<String>,
    #[serde(default)]
    reducers: BTreeMap<String, String>,
    /// The type in which fields of that name are sent.
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

impl Endpoint {
    /// The reducer of each kind of the workload.
    pub fn names<W: Workload>(&self) -> Result<Vec<String>, ClientError> {
        names_of_kinds::<W>(["reducer", "reducers"], self.reducer.as_deref(), &self.reducers)
    }
}

fn yes() -> bool {
    true
}
