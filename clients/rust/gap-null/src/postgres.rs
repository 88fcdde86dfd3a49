//! Postgres without a password, a planner or a table.

use crate::{Handled, Reply, Session};

const HEADER_BYTES: usize = 5;
const SSL_REQUEST: u32 = 80_877_103;

/// AuthenticationOk and ReadyForQuery.
const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
/// ParameterDescription of three int4, RowDescription of one.
const DESCRIPTION: &[u8] = b"t\0\0\0\x12\0\x03\0\0\0\x17\0\0\0\x17\0\0\0\x17\
    T\0\0\0\x21\0\x01transfer\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

const TRANSFERRED: &[u8] = b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x01C\0\0\0\x0dSELECT 1\0";
const INSUFFICIENT: &[u8] = b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\0C\0\0\0\x0dSELECT 1\0";
const DEADLOCK: &[u8] = b"2\0\0\0\x04E\0\0\0\x2dSERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0";

#[derive(Default)]
pub struct Postgres {
    started: bool,
}

impl Session for Postgres {
    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        if !self.started {
            return self.start(input, out);
        }
        let Some(length) = message_bytes(input) else { return Handled::Incomplete };
        match input[0] {
            b'P' => out.extend_from_slice(PARSE_COMPLETE),
            b'D' => out.extend_from_slice(DESCRIPTION),
            b'S' => out.extend_from_slice(READY),
            b'E' => return call(input, length, answer, out),
            b'X' => return Handled::HangUp,
            _ => {}
        }
        Handled::Consumed(length)
    }
}

impl Postgres {
    fn start(&mut self, input: &[u8], out: &mut Vec<u8>) -> Handled {
        let [a, b, c, d, v, w, x, y, ..] = input else { return Handled::Incomplete };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if input.len() < length {
            return Handled::Incomplete;
        }
        if u32::from_be_bytes([*v, *w, *x, *y]) == SSL_REQUEST {
            out.push(b'N');
        } else {
            self.started = true;
            out.extend_from_slice(LOGGED_IN);
        }
        Handled::Consumed(length)
    }
}

/// Execute, whose Sync follows at once.
#[inline]
fn call(input: &[u8], length: usize, answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
    let consumed = length + HEADER_BYTES;
    if input.len() < consumed {
        return Handled::Incomplete;
    }
    let message = match answer() {
        Reply::Committed => TRANSFERRED,
        Reply::Insufficient => INSUFFICIENT,
        Reply::Error => DEADLOCK,
        Reply::Silence => return Handled::Consumed(consumed),
        Reply::HangUp => return Handled::HangUp,
        Reply::Twice => {
            out.extend_from_slice(TRANSFERRED);
            out.extend_from_slice(READY);
            TRANSFERRED
        }
    };
    out.extend_from_slice(message);
    out.extend_from_slice(READY);
    Handled::Consumed(consumed)
}

/// Length of the message at the front, if it is whole.
#[inline]
fn message_bytes(input: &[u8]) -> Option<usize> {
    let [_, a, b, c, d, ..] = input else { return None };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize + 1;
    (input.len() >= length).then_some(length)
}
