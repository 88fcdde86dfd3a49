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

use loadgen::{ClientError, Config, Decoded, HandshakeStream, KindOf, Oldest, Protocol, Workload};

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
    fn new<W: Workload>(version: Version, endpoint: &Endpoint, calls: Vec<Call>) -> Result<Self, String> {
        let coalesce = endpoint.coalesce && version == Version::V3;
        let facts = BTreeMap::from([
            ("protocol", version.name().to_owned()),
            ("calls in a payload", if coalesce { "all that are ready" } else { "one" }.to_owned()),
            ("confirmed", endpoint.confirmed.to_string()),
        ]);
        Ok(Self { inbox: Inbox::new(version, W::REFUSALS), outbox: Outbox::new(calls, coalesce)?, facts })
    }
}

impl<W: Workload> Protocol<W> for SpacetimeDb {
    const NAME: &'static str = "spacetimedb";
    type Endpoint = Endpoint;

    fn check(config: &Config<Endpoint>) -> Result<(), ClientError> {
        config.endpoint.names::<W>().map(|_names| ())
    }

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        let names = endpoint.names::<W>().map_err(|error| error.to_string())?;
        let version = upgrade::upgrade(endpoint, stream)?;
        let kinds = names.iter().zip(W::KINDS);
        let calls: Vec<Call> =
            kinds.map(|(name, kind)| Call::new(version, name, kind.fields, endpoint.amount)).collect();
        let probes: Vec<Vec<u8>> = calls.iter().map(Call::probe).collect();
        let mut session = Self::new::<W>(version, endpoint, calls)?;
        for (name, probe) in names.iter().zip(&probes) {
            upgrade::check_reducer(probe, name, &mut session.inbox, &mut session.outbox, stream)?;
        }
        Ok(session)
    }

    fn agreed(&self) -> BTreeMap<&'static str, String> {
        self.facts.clone()
    }

    #[inline]
    fn encode(&mut self, index: u64, operation: &W::Operation, out: &mut Vec<u8>) {
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
        oldest: Option<Oldest<KindOf<W>>>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        match self.inbox.next(input).map_err(broken)? {
            Inbound::Answer { consumed, id, outcome } => {
                let expected = oldest.map(|oldest| request_id(oldest.index));
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
    use loadgen::{OneKind, Transfers};

    fn session(version: Version) -> SpacetimeDb {
        let endpoint = r#"{"host": "127.0.0.1", "port": 3000, "database": "bank", "token": "secret"}"#;
        SpacetimeDb::new::<Transfers>(version, &serde_json::from_str(endpoint).unwrap(), Vec::new()).unwrap()
    }

    #[test]
    fn a_ping_under_load_is_answered_and_counts_as_nothing() {
        let mut session = session(Version::V1);
        let mut out = Vec::new();
        let oldest = Some(Oldest { index: 0, kind: OneKind });
        let ping = [0x89, 2, b'h', b'i'];
        let decoded = Protocol::<Transfers>::decode(&mut session, &ping, oldest, &mut out).unwrap();
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
