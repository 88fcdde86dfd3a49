//! SpacetimeDB's WebSocket in the newest version of its protocol that both sides speak: reducer calls in BSATN.
//!
//! In v1 and v2 a payload is one call or one answer; in v3 it is one or more, and all calls that are ready go into
//! one. The server runs a connection's calls one after the other and sends every outcome of a reducer through one
//! queue, so answers come in the order of the calls. An answer's request id is checked; in 1.2.0 a failed call
//! returns 0. `light=true` would not make answers lighter: in v1 the caller always gets the full update.

mod bsatn;
mod call;
mod endpoint;
mod inbox;
mod outbox;
mod upgrade;
mod v1;
mod v2;
mod version;
mod websocket;

use std::collections::BTreeMap;

use loadgen::{ClientError, Decoded, HandshakeStream, Operation, Protocol};

use crate::call::Call;
pub use crate::endpoint::Endpoint;
use crate::inbox::{Inbound, Inbox};
use crate::outbox::Outbox;
use crate::version::Version;

pub struct SpacetimeDb {
    inbox: Inbox,
    outbox: Outbox,
    /// What the report says of the connection.
    facts: BTreeMap<&'static str, String>,
}

impl SpacetimeDb {
    fn new(version: Version, endpoint: &Endpoint) -> Result<Self, String> {
        let coalesce = endpoint.coalesce && version == Version::V3;
        let facts = BTreeMap::from([
            ("protocol", version.name().to_owned()),
            ("calls in a payload", if coalesce { "all that are ready" } else { "one" }.to_owned()),
            ("confirmed", endpoint.confirmed.to_string()),
        ]);
        let call = Call::new(version, &endpoint.reducer, endpoint.amount);
        Ok(Self { inbox: Inbox::new(version), outbox: Outbox::new(call, coalesce)?, facts })
    }
}

impl Protocol for SpacetimeDb {
    const NAME: &'static str = "spacetimedb";
    type Endpoint = Endpoint;

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        let version = upgrade::upgrade(endpoint, stream)?;
        let mut session = Self::new(version, endpoint)?;
        upgrade::check_reducer(version, endpoint, &mut session.inbox, &mut session.outbox, stream)?;
        Ok(session)
    }

    fn agreed(&self) -> BTreeMap<&'static str, String> {
        self.facts.clone()
    }

    #[inline]
    fn encode(&mut self, index: u64, operation: Operation, out: &mut Vec<u8>) {
        self.outbox.call(request_id(index), operation, out);
    }

    #[inline]
    fn seal(&mut self, out: &mut Vec<u8>) {
        self.outbox.seal(out);
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        match self.inbox.next(input).map_err(broken)? {
            Inbound::Answer { consumed, id, outcome } => {
                let expected = oldest.map(request_id);
                if id.is_some() && expected.is_some() && id != expected {
                    return Err(broken(format!(
                        "an answer with request id {} where {} was due",
                        id.unwrap_or_default(),
                        expected.unwrap_or_default()
                    )));
                }
                Ok(Decoded::Reply { consumed, outcome })
            }
            Inbound::Incomplete => Ok(Decoded::Incomplete),
            Inbound::Skipped { consumed } => Ok(Decoded::Skipped { consumed }),
            Inbound::Ping { consumed, payload } => {
                self.outbox.pong(payload, out);
                Ok(Decoded::Skipped { consumed })
            }
            Inbound::Close { reason } => Ok(Decoded::Closing { reason }),
        }
    }
}

/// Never 0, which answers use for "no id".
#[inline]
fn request_id(index: u64) -> u32 {
    (index % u64::from(u32::MAX)) as u32 + 1
}

fn broken(what: String) -> ClientError {
    ClientError::Integrity(format!("SpacetimeDB sent {what}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn session(version: Version) -> SpacetimeDb {
        let endpoint = r#"{"host": "127.0.0.1", "port": 3000, "database": "bank", "token": "secret"}"#;
        SpacetimeDb::new(version, &serde_json::from_str(endpoint).unwrap()).unwrap()
    }

    #[test]
    fn a_ping_under_load_is_answered_and_counts_as_nothing() {
        let mut session = session(Version::V1);
        let mut out = Vec::new();
        let decoded = session.decode(&[0x89, 2, b'h', b'i'], Some(0), &mut out).unwrap();
        assert_eq!(decoded, Decoded::Skipped { consumed: 4 });
        let unmasked: Vec<u8> = out[6..].iter().zip(&out[2..6]).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!((&out[..2], &unmasked[..]), (&[0x8A, 0x82][..], &b"hi"[..]));
    }

    #[test]
    fn request_ids_are_never_zero() {
        let last = u64::from(u32::MAX);
        assert_eq!([0, 1, last - 1, last, last + 1].map(request_id), [1, 2, u32::MAX, 1, 2]);
    }
}
