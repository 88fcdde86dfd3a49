//! Null servers: they shake hands as the real servers do and answer every call at once, doing no work.
//!
//! A client against its null server shows the client's ceiling: of any workload, whatever functions, reducers or
//! requests it calls. With another [`Reply`] than `Committed` they are
//! the servers of the clients' tests: refusing, silent, dying.

mod declared;
mod http;
mod postgres;
mod server;
mod spacetimedb;

pub use declared::Declared;
pub use server::{Options, Server};
pub use spacetimedb::Newest;

/// What a null server does with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Committed,
    Insufficient,
    Error,
    /// The call is never answered.
    Silence,
    /// The connection is closed instead of an answer.
    HangUp,
    /// An answer that no request asked for follows this call's own.
    Twice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolKind {
    Postgres,
    Http,
    SpacetimeDb,
}

/// One connection's protocol state.
trait Session {
    fn new(options: &Options) -> Self;

    /// Reads one message from the front of `input`.
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled;
}

enum Handled {
    Incomplete,
    Consumed(usize),
    HangUp,
}
