//! Postgres: the statement is prepared once per connection, each operation is Bind, Execute and Sync.
//!
//! Every call has its own Sync and so is its own transaction, however many are pipelined.

mod handshake;
mod reply;

use std::num::NonZeroU16;

use loadgen::{ClientError, Decoded, HandshakeStream, Operation, Protocol};
use serde::Deserialize;

const STATEMENT: &str = "t";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    pub user: String,
    pub password: String,
    pub database: String,
}

pub struct Postgres;

impl Protocol for Postgres {
    const NAME: &'static str = "postgres";
    type Endpoint = Endpoint;

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        handshake::log_in(endpoint, stream)?;
        handshake::prepare(stream)?;
        Ok(Self)
    }

    #[inline]
    fn encode(&mut self, _index: u64, operation: Operation, out: &mut Vec<u8>) {
        let mut call = CALL;
        put(&mut call, SOURCE_AT, operation.source);
        put(&mut call, DESTINATION_AT, operation.destination);
        put(&mut call, AMOUNT_AT, operation.amount);
        out.extend_from_slice(&call);
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        _oldest: Option<u64>,
        _out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        reply::decode(input)
    }
}

/// Bind of three binary `int4` with a binary result, Execute without a row limit, Sync.
#[rustfmt::skip]
const CALL: [u8; 57] = [
    b'B', 0, 0, 0, 41,
    0, STATEMENT.as_bytes()[0], 0,
    0, 1, 0, 1,
    0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0,
    0, 1, 0, 1,
    b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0,
    b'S', 0, 0, 0, 4,
];
const SOURCE_AT: usize = 18;
const DESTINATION_AT: usize = 26;
const AMOUNT_AT: usize = 34;

#[inline]
fn put(call: &mut [u8], at: usize, value: u32) {
    call[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
