//! SpacetimeDB's WebSocket without a module, in every version of its protocol: BSATN messages, the answers as full as
//! the real server's.

mod v1;
mod v2;

use base64::prelude::{Engine, BASE64_STANDARD};
use memchr::memmem;
use sha1::{Digest, Sha1};

use crate::server::Options;
use crate::{Handled, Reply, Session};

const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY: &str = "sec-websocket-key";
const PROTOCOLS: &str = "sec-websocket-protocol";
const MASK_BYTES: usize = 4;

/// The answer to `POST /v1/identity/websocket-token`, with which the TypeScript SDK begins.
const SHORT_TOKEN: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{\"token\":\"null\"}";
const NO_PROTOCOL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-length: 26\r\n\r\nno valid protocol selected";

const OPCODE_BINARY: u8 = 0x82;
const OPCODE_CLOSE: u8 = 0x88;
const OPCODE_PING: u8 = 0x89;
const COMPRESSION_NONE: u8 = 0;

const INSUFFICIENT: &str = "insufficient";
const BROKEN: &str = "the reducer is broken";
const NO_ARGUMENTS: &str = "invalid arguments for reducer: no arguments";

/// The newest first, as the real server picks.
const VERSIONS: [(&str, Version); 3] = [
    ("v3.bsatn.spacetimedb", Version::V3),
    ("v2.bsatn.spacetimedb", Version::V2),
    ("v1.bsatn.spacetimedb", Version::V1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    V1,
    V2,
    V3,
}

/// The newest version that a server picks: an SDK may offer versions that the real server, being older, does not know.
#[derive(Debug, Clone, Copy)]
pub struct Newest(Version);

impl Newest {
    pub fn parse(name: &str) -> Option<Self> {
        let subprotocol = format!("{name}.bsatn.spacetimedb");
        VERSIONS.into_iter().find(|(known, _)| *known == subprotocol).map(|(_, version)| Self(version))
    }
}

impl Default for Newest {
    fn default() -> Self {
        Self(Version::V3)
    }
}

#[derive(Default)]
pub struct SpacetimeDb {
    newest: Newest,
    /// None before the upgrade.
    version: Option<Version>,
    payload: Vec<u8>,
    answers: v2::Answers,
}

impl Session for SpacetimeDb {
    fn new(options: &Options) -> Self {
        Self { newest: options.newest, ..Self::default() }
    }

    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        let Some(version) = self.version else { return self.upgrade(input, out) };
        let [first, second, ..] = *input else { return Handled::Incomplete };
        let (length, mask_at) = match (second & 0x7f, input) {
            (126, [_, _, a, b, ..]) => (usize::from(u16::from_be_bytes([*a, *b])), 4),
            (127, [_, _, 0, 0, 0, 0, a, b, c, d, ..]) => (u32::from_be_bytes([*a, *b, *c, *d]) as usize, 10),
            (126 | 127, _) if input.len() < 10 => return Handled::Incomplete,
            (126 | 127, _) => return Handled::HangUp,
            (short, _) => (usize::from(short), 2),
        };
        let payload_at = mask_at + MASK_BYTES;
        let Some(masked) = input.get(payload_at..payload_at + length) else { return Handled::Incomplete };
        if second & 0x80 == 0 || first == OPCODE_CLOSE {
            return Handled::HangUp;
        }
        if first == OPCODE_BINARY {
            let mask = &input[mask_at..payload_at];
            self.payload.clear();
            self.payload.extend(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            if !self.answer(version, answer, out) {
                return Handled::HangUp;
            }
        }
        Handled::Consumed(payload_at + length)
    }
}

impl SpacetimeDb {
    /// Answers the calls of a payload; whether the connection stays.
    #[inline]
    fn answer(&mut self, version: Version, answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> bool {
        if version == Version::V1 {
            return v1::answer(&self.payload, answer, out).is_some();
        }
        let mut rest = &self.payload[..];
        loop {
            match v2::answer(rest, answer, &mut self.answers, out) {
                None => return false,
                Some([]) => break,
                // A v2 payload is one message.
                Some(_) if version == Version::V2 => return false,
                Some(after) => rest = after,
            }
        }
        self.answers.flush(out);
        true
    }

    fn upgrade(&mut self, input: &[u8], out: &mut Vec<u8>) -> Handled {
        let Some(end) = memmem::find(input, b"\r\n\r\n") else { return Handled::Incomplete };
        if input.starts_with(b"POST ") {
            out.extend_from_slice(SHORT_TOKEN);
            return Handled::Consumed(end + 4);
        }
        let head = String::from_utf8_lossy(&input[..end]);
        let Some(key) = header(&head, KEY) else { return Handled::HangUp };
        let offered = header(&head, PROTOCOLS).unwrap_or_default();
        let offers = |name: &str| offered.split(',').any(|offer| offer.trim() == name);
        let picked = VERSIONS.into_iter().find(|(name, version)| *version <= self.newest.0 && offers(name));
        let Some((name, version)) = picked else {
            out.extend_from_slice(NO_PROTOCOL);
            return Handled::Consumed(end + 4);
        };
        let accept =
            BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(ACCEPT_GUID).finalize());
        out.extend_from_slice(
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                 sec-websocket-accept: {accept}\r\nsec-websocket-protocol: {name}\r\n\r\n"
            )
            .as_bytes(),
        );
        frame(if version == Version::V1 { v1::GREETING } else { v2::GREETING }, out);
        // The real server begins with a ping.
        out.extend_from_slice(&[OPCODE_PING, 0]);
        self.answers.coalesce = version == Version::V3;
        self.version = Some(version);
        Handled::Consumed(end + 4)
    }
}

/// Names of headers come in any case.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[inline]
fn split_bytes(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn frame(message: &[u8], out: &mut Vec<u8>) {
    begin_frame(message.len(), out);
    out.extend_from_slice(message);
}

/// The header of a frame for a message of that length.
#[inline]
fn begin_frame(length: usize, out: &mut Vec<u8>) {
    out.push(OPCODE_BINARY);
    match length {
        short @ 0..=125 => out.push(short as u8),
        long @ 126..=65_535 => {
            out.push(126);
            out.extend_from_slice(&(long as u16).to_be_bytes());
        }
        huge => {
            out.push(127);
            out.extend_from_slice(&(huge as u64).to_be_bytes());
        }
    }
}
