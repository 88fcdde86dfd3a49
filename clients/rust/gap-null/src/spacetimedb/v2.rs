//! v2 and v3: `CallReducer`, answered by a `ReducerResult`; in v3 a payload holds one or more of either.

use super::{frame, split_bytes, BROKEN, COMPRESSION_NONE, INSUFFICIENT, NO_ARGUMENTS};
use crate::Reply;

const CALL_REDUCER: u8 = 3;
const REDUCER_RESULT: u8 = 6;
const OK_EMPTY: u8 = 1;
const ERROR: u8 = 2;
const INTERNAL_ERROR: u8 = 3;
const TIMESTAMP: [u8; 8] = [7; 8];
/// tag, request id, timestamp, outcome
const COMMITTED_BYTES: usize = 1 + 4 + TIMESTAMP.len() + 1;

/// InitialConnection: compression, tag, identity, connection, token.
pub const GREETING: &[u8] = b"\0\0\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\
    \x05\0\0\0token";

/// Answers that are not yet in a frame.
#[derive(Default)]
pub struct Answers {
    /// Whether a payload may hold several.
    pub coalesce: bool,
    bytes: Vec<u8>,
}

impl Answers {
    #[inline]
    fn push(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        if self.bytes.is_empty() {
            self.bytes.push(COMPRESSION_NONE);
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        if !self.coalesce {
            self.flush(out);
        }
    }

    /// Puts what there is into one frame.
    #[inline]
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.bytes.is_empty() {
            frame(&self.bytes, out);
            self.bytes.clear();
        }
    }
}

/// Answers the call at the front of a payload; what follows it, or None to end the connection.
#[inline]
pub fn answer<'a>(
    payload: &'a [u8],
    answer: &mut impl FnMut() -> Reply,
    answers: &mut Answers,
    out: &mut Vec<u8>,
) -> Option<&'a [u8]> {
    let [CALL_REDUCER, a, b, c, d, _flags, rest @ ..] = payload else { return None };
    let request_id = [*a, *b, *c, *d];
    let (_reducer, rest) = split_bytes(rest)?;
    let (arguments, rest) = split_bytes(rest)?;
    if arguments.is_empty() {
        failed(request_id, INTERNAL_ERROR, &text(NO_ARGUMENTS), answers, out);
        return Some(rest);
    }
    match answer() {
        Reply::Committed => committed(request_id, answers, out),
        Reply::Insufficient => refused(request_id, INSUFFICIENT, answers, out),
        Reply::Error => refused(request_id, BROKEN, answers, out),
        Reply::Silence => {}
        Reply::HangUp => return None,
        Reply::Twice => {
            committed(request_id, answers, out);
            committed(request_id, answers, out);
        }
    }
    Some(rest)
}

#[inline]
fn committed(request_id: [u8; 4], answers: &mut Answers, out: &mut Vec<u8>) {
    let mut result = [REDUCER_RESULT; COMMITTED_BYTES];
    result[1..5].copy_from_slice(&request_id);
    result[5..13].copy_from_slice(&TIMESTAMP);
    result[13] = OK_EMPTY;
    answers.push(&[&result], out);
}

/// The reducer's own error, a text in BSATN within the bytes of a value.
fn refused(request_id: [u8; 4], words: &str, answers: &mut Answers, out: &mut Vec<u8>) {
    let value = text(words);
    let value = [&(value.len() as u32).to_le_bytes()[..], &value].concat();
    failed(request_id, ERROR, &value, answers, out);
}

fn failed(request_id: [u8; 4], outcome: u8, value: &[u8], answers: &mut Answers, out: &mut Vec<u8>) {
    answers.push(&[&[REDUCER_RESULT], &request_id, &TIMESTAMP, &[outcome], value], out);
}

fn text(words: &str) -> Vec<u8> {
    [&(words.len() as u32).to_le_bytes(), words.as_bytes()].concat()
}
