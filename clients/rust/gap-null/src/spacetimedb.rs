//! SpacetimeDB 1.2.0's WebSocket without a module: BSATN messages, the answer as full as the real server's.

use base64::prelude::{Engine, BASE64_STANDARD};
use memchr::memmem;
use sha1::{Digest, Sha1};

use crate::{Handled, Reply, Session};

const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY: &[u8] = b"sec-websocket-key: ";
const MASK_BYTES: usize = 4;

/// The answer to `POST /v1/identity/websocket-token`, with which the TypeScript SDK begins.
const SHORT_TOKEN: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{\"token\":\"null\"}";

const OPCODE_BINARY: u8 = 0x82;
const OPCODE_CLOSE: u8 = 0x88;
const OPCODE_PING: u8 = 0x89;

const CALL_REDUCER: u8 = 0;
const INSUFFICIENT: &str = "insufficient";
const BROKEN: &str = "the reducer is broken";
/// What the real reducer says to it; the TypeScript SDK cannot call without arguments.
const NOTHING: &str = "amount is 0: transfer at least 1";
const NO_ARGUMENTS: &str = "invalid arguments for reducer transfer: no arguments";

#[derive(Default)]
pub struct SpacetimeDb {
    upgraded: bool,
    payload: Vec<u8>,
}

impl Session for SpacetimeDb {
    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        if !self.upgraded {
            return self.upgrade(input, out);
        }
        let [first, second, ..] = *input else { return Handled::Incomplete };
        let (length, mask_at) = match second & 0x7f {
            126 => match input {
                [_, _, a, b, ..] => (usize::from(u16::from_be_bytes([*a, *b])), 4),
                _ => return Handled::Incomplete,
            },
            // No call is as long as 64 KiB.
            127 => return Handled::HangUp,
            short => (usize::from(short), 2),
        };
        let payload_at = mask_at + MASK_BYTES;
        let Some(masked) = input.get(payload_at..payload_at + length) else { return Handled::Incomplete };
        let mask = &input[mask_at..payload_at];
        self.payload.clear();
        self.payload.extend(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        if second & 0x80 == 0 || first == OPCODE_CLOSE {
            return Handled::HangUp;
        }
        if first == OPCODE_BINARY {
            let Some(call) = Call::parse(&self.payload) else { return Handled::HangUp };
            if !call.answer(answer, out) {
                return Handled::HangUp;
            }
        }
        Handled::Consumed(payload_at + length)
    }
}

impl SpacetimeDb {
    fn upgrade(&mut self, input: &[u8], out: &mut Vec<u8>) -> Handled {
        let Some(end) = memmem::find(input, b"\r\n\r\n") else { return Handled::Incomplete };
        if input.starts_with(b"POST ") {
            out.extend_from_slice(SHORT_TOKEN);
            return Handled::Consumed(end + 4);
        }
        // Names of headers come in any case.
        let Some(key) =
            memmem::find(&input[..end].to_ascii_lowercase(), KEY).map(|at| &input[at + KEY.len()..end])
        else {
            return Handled::HangUp;
        };
        let key = key.split(|byte| *byte == b'\r').next().unwrap_or(key);
        let accept =
            BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(ACCEPT_GUID).finalize());
        out.extend_from_slice(
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                 sec-websocket-accept: {accept}\r\nsec-websocket-protocol: v1.bsatn.spacetimedb\r\n\r\n"
            )
            .as_bytes(),
        );
        // IdentityToken: identity, token, connection id; then the ping that the real server begins with.
        let identity = [&[0, 3][..], &[1; 32], &5_u32.to_le_bytes(), b"token", &[2; 16]].concat();
        frame(&identity, out);
        out.extend_from_slice(&[OPCODE_PING, 0]);
        self.upgraded = true;
        Handled::Consumed(end + 4)
    }
}

struct Call {
    /// Source, destination and amount as they came; absent from a call without arguments.
    arguments: Option<[u8; ARGUMENTS_BYTES]>,
    request_id: u32,
}

impl Call {
    #[inline]
    fn parse(message: &[u8]) -> Option<Self> {
        let (tag, rest) = message.split_first()?;
        let (_reducer, rest) = split_bytes(rest)?;
        let (arguments, rest) = split_bytes(rest)?;
        let [a, b, c, d, _flags] = rest else { return None };
        (*tag == CALL_REDUCER).then(|| Self {
            arguments: arguments.try_into().ok(),
            request_id: u32::from_le_bytes([*a, *b, *c, *d]),
        })
    }

    /// Whether the connection stays.
    #[inline]
    fn answer(&self, answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> bool {
        let Some(arguments) = &self.arguments else {
            failed(NO_ARGUMENTS, &[0; ARGUMENTS_BYTES], out);
            return true;
        };
        if arguments[AMOUNT_AT..] == [0; 4] {
            failed(NOTHING, arguments, out);
            return true;
        }
        match answer() {
            Reply::Committed => committed(self.request_id, arguments, out),
            Reply::Insufficient => failed(INSUFFICIENT, arguments, out),
            Reply::Error => failed(BROKEN, arguments, out),
            Reply::Silence => {}
            Reply::HangUp => return false,
            Reply::Twice => {
                committed(self.request_id, arguments, out);
                committed(self.request_id, arguments, out);
            }
        }
        true
    }
}

#[inline]
fn split_bytes(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_at_checked(4)?;
    rest.split_at_checked(u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize)
}

/// TransactionUpdate with the status Committed and no rows: header, compression, tag, status, tables; the rest is
/// time, identity, connection, reducer name and number, arguments, request id, energy, duration.
const COMMITTED: [u8; 125] = {
    let mut bytes = [0; 125];
    bytes[0] = OPCODE_BINARY;
    bytes[1] = 123;
    bytes[3] = 1;
    bytes[65] = 8;
    let name = b"transfer";
    let mut at = 0;
    while at < name.len() {
        bytes[69 + at] = name[at];
        at += 1;
    }
    bytes[81] = 12;
    bytes
};
const ARGUMENTS_BYTES: usize = 12;
const AMOUNT_AT: usize = 8;
const ARGUMENTS_AT: usize = 85;
const REQUEST_ID_AT: usize = ARGUMENTS_AT + ARGUMENTS_BYTES;

#[inline]
fn committed(request_id: u32, arguments: &[u8; ARGUMENTS_BYTES], out: &mut Vec<u8>) {
    let mut answer = COMMITTED;
    answer[ARGUMENTS_AT..REQUEST_ID_AT].copy_from_slice(arguments);
    answer[REQUEST_ID_AT..REQUEST_ID_AT + 4].copy_from_slice(&request_id.to_le_bytes());
    out.extend_from_slice(&answer);
}

/// As in 1.2.0, a failure carries no request id.
fn failed(text: &str, arguments: &[u8; ARGUMENTS_BYTES], out: &mut Vec<u8>) {
    let mut answer = COMMITTED;
    answer[ARGUMENTS_AT..REQUEST_ID_AT].copy_from_slice(arguments);
    let after_status = &answer[9..];
    let message =
        [&[0, 1, 1][..], &(text.len() as u32).to_le_bytes(), text.as_bytes(), after_status].concat();
    frame(&message, out);
}

fn frame(message: &[u8], out: &mut Vec<u8>) {
    out.push(OPCODE_BINARY);
    if message.len() < 126 {
        out.push(message.len() as u8);
    } else {
        out.push(126);
        out.extend_from_slice(&(message.len() as u16).to_be_bytes());
    }
    out.extend_from_slice(message);
}
