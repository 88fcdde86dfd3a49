//! SpacetimeDB, protocol version 1: a WebSocket on which each binary frame is one reducer call, in BSATN.
//!
//! The server runs a connection's calls one after the other and sends every outcome of a reducer through one queue,
//! so answers come in the order of the calls. A committed call returns its request id, which is checked; in 1.2.0 a
//! failed one returns 0. `light=true` would not make answers lighter: the caller always gets the full update.

mod call;
mod upgrade;
mod websocket;

use std::num::NonZeroU16;

use loadgen::{ClientError, Decoded, HandshakeStream, Operation, Protocol};
use serde::de::{Deserializer, Error};
use serde::Deserialize;

use crate::call::{Message, CALL_BYTES};
use crate::websocket::{Event, Frames, Masks};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    #[serde(deserialize_with = "header_word")]
    pub database: String,
    #[serde(deserialize_with = "header_word")]
    pub token: String,
    /// 2.x: acknowledge after the transaction is durable.
    pub confirmed: Option<bool>,
}

fn header_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let word = String::deserialize(deserializer)?;
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"/?#".contains(&byte);
    if !word.is_empty() && word.bytes().all(allowed) {
        Ok(word)
    } else {
        Err(D::Error::custom("refused; allowed: printable ASCII without spaces, /, ? and #"))
    }
}

pub struct SpacetimeDb {
    frames: Frames,
    masks: Masks,
}

impl Protocol for SpacetimeDb {
    const NAME: &'static str = "spacetimedb";
    type Endpoint = Endpoint;

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        upgrade::upgrade(endpoint, stream)?;
        let mut session = Self { frames: Frames::default(), masks: Masks::new()? };
        upgrade::check_reducer(&mut session.frames, &mut session.masks, stream)?;
        Ok(session)
    }

    #[inline]
    fn encode(&mut self, index: u64, operation: Operation, out: &mut Vec<u8>) {
        let call: [u8; CALL_BYTES] = call::encode(request_id(index), operation);
        websocket::write_call(&call, self.masks.next(), out);
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        let (consumed, message) = match self.frames.next(input).map_err(broken)? {
            Event::Incomplete => return Ok(Decoded::Incomplete),
            Event::Partial { consumed } => return Ok(Decoded::Skipped { consumed }),
            Event::Ping { consumed, payload } => {
                websocket::write_pong(payload, self.masks.next(), out);
                return Ok(Decoded::Skipped { consumed });
            }
            Event::Close { reason } => return Ok(Decoded::Closing { reason }),
            Event::Message { consumed, message } => (consumed, message),
        };
        match call::read(message).map_err(broken)? {
            Message::IdentityToken => Ok(Decoded::Skipped { consumed }),
            Message::Answer { id, outcome } => {
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

    #[test]
    fn a_ping_under_load_is_answered_and_counts_as_nothing() {
        let mut session = SpacetimeDb { frames: Frames::default(), masks: Masks::new().unwrap() };
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
