//! What a protocol must bring to be driven by the event loop.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::error::ClientError;
use crate::handshake::HandshakeStream;
use crate::workload::{KindOf, Workload};

/// What the server answered, read from its status and not from the kind of its message.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    Acknowledged,
    /// Refused by a name of the workload: its place in [`Workload::REFUSALS`]. As wide as what the other outcomes
    /// hold, so that an outcome is copied by words: with a byte here it is copied in pieces, for each answer.
    Refused(usize),
    /// Refused for what others did meanwhile, a serialization failure or a deadlock: sent again it may succeed.
    Conflict(Cow<'a, str>),
    Error(Cow<'a, str>),
}

impl Outcome<'_> {
    /// The refusal of that name, if `refusals` of the workload hold it.
    pub fn refused(name: &[u8], refusals: &[&str]) -> Option<Self> {
        refusals.iter().position(|refusal| refusal.as_bytes() == name).map(Self::Refused)
    }
}

/// One step of reading what a server sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// More bytes are needed; nothing is consumed.
    Incomplete,
    /// Bytes that settle no request: a notice, a ping, an answer that the protocol continues through `out`.
    Skipped { consumed: usize },
    /// The answer to the oldest request that is out. One message that answers several requests is decoded again
    /// for each of them, and consumed with the last.
    Reply { consumed: usize, outcome: Outcome<'a> },
    /// The same from a server that has tried again by itself.
    ReplyAfterRetries { consumed: usize, outcome: Outcome<'a>, retries: u16 },
    /// The server says that it ends the connection.
    Closing { reason: String },
}

/// The oldest request that is out.
#[derive(Debug, Clone, Copy)]
pub struct Oldest<K> {
    pub index: u64,
    pub kind: K,
}

/// One connection's protocol state, for the operations of a workload. Answers come in the order of the requests.
pub trait Protocol<W: Workload>: Sized + Send {
    /// Name in `endpoint.protocol`.
    const NAME: &'static str;
    type Endpoint: DeserializeOwned + Sync;

    /// Refuses by name what this protocol cannot carry.
    fn check(_config: &Config<Self::Endpoint>) -> Result<(), ClientError> {
        Ok(())
    }

    /// How many requests one message carries: that many are encoded at a time, for as many operations in a row.
    fn requests_per_message(_endpoint: &Self::Endpoint) -> usize {
        1
    }

    fn address(endpoint: &Self::Endpoint) -> (&str, u16);

    /// Logs in on a fresh connection, blocking; an error says why the endpoint cannot be used.
    fn handshake(endpoint: &Self::Endpoint, stream: &mut HandshakeStream) -> Result<Self, String>;

    /// What this connection agreed on with the server, for the report.
    fn agreed(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::new()
    }

    /// Appends the request for operation `index` of this connection.
    fn encode(&mut self, index: u64, operation: &W::Operation, out: &mut Vec<u8>);

    /// Ends what [`encode`](Self::encode) left open for more requests, as `out` is about to be written.
    #[inline]
    fn seal(&mut self, _out: &mut Vec<u8>) {}

    /// Reads one message from the front of `input`. A reply that does not fit the oldest request that is out is
    /// [`ClientError::Integrity`]. What the protocol must send back goes to `out`.
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<Oldest<KindOf<W>>>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError>;
}

/// What the kinds of a workload are called by: by `several`, by `single` where there is one kind, or by their own
/// names. `keys` are the two keys of the endpoint, `single`'s first.
pub fn names_of_kinds<W: Workload>(
    keys: [&str; 2],
    single: Option<&str>,
    several: &BTreeMap<String, String>,
) -> Result<Vec<String>, ClientError> {
    if let Some(unknown) = several.keys().find(|key| W::KINDS.iter().all(|kind| kind.name != **key)) {
        let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
        return Err(ClientError::refused(&format!("endpoint.{}", keys[1]), unknown, &kinds.join(", ")));
    }
    if let Some(name) = single.filter(|_| W::KINDS.len() > 1 || !several.is_empty()) {
        let allowed = format!("{}, with a name for each kind, and no {}", keys[1], keys[0]);
        return Err(ClientError::refused(&format!("endpoint.{}", keys[0]), name, &allowed));
    }
    let name = |kind: &'static str| several.get(kind).map(String::as_str).or(single).unwrap_or(kind);
    Ok(W::KINDS.iter().map(|kind| name(kind.name).to_owned()).collect())
}
