//! Postgres over its own wire protocol, all statements prepared once per connection.
//!
//! - `procedure`: one call of a function is one transfer; each has its own Sync, so it is its own transaction however
//!   many are pipelined
//! - `sql`: one transfer is five statements, each waiting for the answer to the one before
//! - `batch`: one call carries many transfers and commits them together

mod batch;
mod endpoint;
mod handshake;
mod message;
mod procedure;
mod sql;

use loadgen::{ClientError, Config, Decoded, HandshakeStream, Operation, Protocol};

use crate::batch::Batch;
pub use crate::endpoint::{Endpoint, Mode};
use crate::sql::Sql;

pub enum Postgres {
    Procedure,
    Sql(Sql),
    Batch(Batch),
}

impl Protocol for Postgres {
    const NAME: &'static str = "postgres";
    type Endpoint = Endpoint;

    fn check(config: &Config<Endpoint>) -> Result<(), ClientError> {
        config.endpoint.check(config.in_flight)
    }

    fn requests_per_message(endpoint: &Endpoint) -> usize {
        endpoint.batch_size.map_or(1, usize::from)
    }

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        handshake::log_in(endpoint, stream)?;
        let (statements, session) = match endpoint.mode {
            Mode::Procedure => (vec![procedure::statement(endpoint.function())], Self::Procedure),
            Mode::Sql => (sql::statements(), Self::Sql(Sql::new())),
            Mode::Batch => (
                vec![batch::statement(endpoint.function())],
                Self::Batch(Batch::new(Self::requests_per_message(endpoint))),
            ),
        };
        for statement in &statements {
            handshake::prepare(statement, stream)?;
        }
        Ok(session)
    }

    #[inline]
    fn encode(&mut self, _index: u64, operation: Operation, out: &mut Vec<u8>) {
        match self {
            Self::Procedure => procedure::encode(operation, out),
            Self::Sql(sql) => sql.encode(operation, out),
            Self::Batch(batch) => batch.encode(operation, out),
        }
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        match self {
            Self::Procedure => procedure::decode(input),
            Self::Sql(sql) => sql.decode(input, oldest.is_some(), out),
            Self::Batch(batch) => batch.decode(input),
        }
    }
}
