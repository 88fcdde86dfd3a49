//! Postgres over its own wire protocol, all statements prepared once per connection.
//!
//! - `procedure`: one call of a function is one operation, of any workload; each has its own Sync, so it is its own
//!   transaction however many are pipelined
//! - `sql`: one transfer is five statements, each waiting for the answer to the one before
//! - `batch`: one call carries many transfers and commits them together

mod batch;
mod endpoint;
mod functions;
mod handshake;
mod message;
mod sql;

use loadgen::{
    ClientError, Config, Decoded, HandshakeStream, Oldest, OneKind, Protocol, Transfer, Transfers,
};

use crate::batch::Batch;
pub use crate::endpoint::{Endpoint, Mode};
pub use crate::functions::Functions;
use crate::sql::Sql;

/// A connection that carries transfers in any mode.
pub enum Postgres {
    Procedure(Functions),
    Sql(Sql),
    Batch(Batch),
}

impl Protocol<Transfers> for Postgres {
    const NAME: &'static str = "postgres";
    type Endpoint = Endpoint;

    fn check(config: &Config<Endpoint>) -> Result<(), ClientError> {
        config.endpoint.check(config.in_flight)?;
        config.endpoint.names::<Transfers>().map(|_names| ())
    }

    fn requests_per_message(endpoint: &Endpoint) -> usize {
        endpoint.requests_per_message()
    }

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        let (statements, session) = match endpoint.mode {
            Mode::Procedure => {
                return <Functions as Protocol<Transfers>>::handshake(endpoint, stream).map(Self::Procedure)
            }
            Mode::Sql => (sql::statements(), Self::Sql(Sql::new())),
            Mode::Batch => (
                vec![batch::statement(endpoint.batch_function())],
                Self::Batch(Batch::new(endpoint.requests_per_message())),
            ),
        };
        handshake::log_in(endpoint, stream)?;
        for statement in &statements {
            handshake::prepare(statement, stream)?;
        }
        Ok(session)
    }

    /// Left to itself, the compiler makes it a call of its own for each operation.
    #[inline(always)]
    fn encode(&mut self, index: u64, transfer: &Transfer, out: &mut Vec<u8>) {
        match self {
            Self::Procedure(functions) => Protocol::<Transfers>::encode(functions, index, transfer, out),
            Self::Sql(sql) => sql.encode(transfer, out),
            Self::Batch(batch) => batch.encode(transfer, out),
        }
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<Oldest<OneKind>>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        match self {
            Self::Procedure(functions) => Protocol::<Transfers>::decode(functions, input, oldest, out),
            Self::Sql(sql) => sql.decode(input, oldest.is_some(), out),
            Self::Batch(batch) => batch.decode(input),
        }
    }
}
