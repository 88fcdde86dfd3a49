//! The messages of v1.bsatn: `CallReducer` out, `TransactionUpdate` in, each in a payload of its own.
//!
//! A failed call comes back without its request id from 1.2.0.

use std::borrow::Cow;

use loadgen::Outcome;

use crate::bsatn::{judge_failure, push_bytes, split_bytes, split_u32};
use crate::call::RequestId;
use crate::version::Message;

const TAG_CALL_REDUCER: u8 = 0;
const NOTIFY_CALLER: u8 = 0;
const TAG_TRANSACTION_UPDATE: u8 = 1;
const TAG_IDENTITY_TOKEN: u8 = 3;
const STATUS_COMMITTED: u8 = 0;
const STATUS_FAILED: u8 = 1;
const STATUS_OUT_OF_ENERGY: u8 = 2;

/// timestamp, caller's identity, caller's connection
const BEFORE_REDUCER_BYTES: usize = 8 + 32 + 16;
/// energy, duration
const AFTER_REQUEST_ID_BYTES: usize = 16 + 8;

/// tag, reducer; arguments; request id, flags.
pub fn around_arguments(reducer: &str) -> (Vec<u8>, Vec<u8>, RequestId) {
    let mut before = vec![TAG_CALL_REDUCER];
    push_bytes(reducer.as_bytes(), &mut before);
    (before, vec![0, 0, 0, 0, NOTIFY_CALLER], RequestId::After(0))
}

/// Reads a payload, which is one message; an error says what does not belong here.
#[inline]
pub fn read(message: &[u8], refusals: &[&str]) -> Result<Message, String> {
    match message {
        [TAG_TRANSACTION_UPDATE, update @ ..] => read_update(update, refusals),
        [TAG_IDENTITY_TOKEN, ..] => Ok(Message::Greeting),
        [tag, ..] => Err(format!("a message with tag {tag}, which answers no call")),
        [] => Err("an empty message".to_owned()),
    }
}

#[inline]
fn read_update(update: &[u8], refusals: &[&str]) -> Result<Message, String> {
    let short = || "a transaction update shorter than its parts".to_owned();
    let (status, rest) = update.split_first().ok_or_else(short)?;
    let (outcome, rest) = match *status {
        STATUS_COMMITTED => {
            let (tables, rest) = split_u32(rest).ok_or_else(short)?;
            if tables != 0 {
                return Err(format!("rows of {tables} tables, though nothing is subscribed to"));
            }
            (Outcome::Acknowledged, rest)
        }
        STATUS_FAILED => {
            let (text, rest) = split_bytes(rest).ok_or_else(short)?;
            (judge_failure(text, refusals), rest)
        }
        STATUS_OUT_OF_ENERGY => (Outcome::Error(Cow::Borrowed("out of energy")), rest),
        other => return Err(format!("a transaction update with status {other}")),
    };
    let id = read_request_id(rest).ok_or_else(short)?;
    match (id, &outcome) {
        (0, Outcome::Acknowledged) => Err("a committed transaction without its request id".to_owned()),
        _ => Ok(Message::Answer { id: (id != 0).then_some(id), outcome }),
    }
}

/// From the timestamp to the end; nothing may be left over.
#[inline]
fn read_request_id(rest: &[u8]) -> Option<u32> {
    let (_reducer, rest) = split_bytes(rest.get(BEFORE_REDUCER_BYTES..)?)?;
    let (_reducer_id, rest) = split_u32(rest)?;
    let (_arguments, rest) = split_bytes(rest)?;
    let (request_id, rest) = split_u32(rest)?;
    (rest.len() == AFTER_REQUEST_ID_BYTES).then_some(request_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(status: &[u8], request_id: u32) -> Vec<u8> {
        let mut message = vec![TAG_TRANSACTION_UPDATE];
        message.extend_from_slice(status);
        message.extend_from_slice(&[7; BEFORE_REDUCER_BYTES]);
        message.extend_from_slice(b"\x08\0\0\0transfer\x02\0\0\0\x03\0\0\0abc");
        message.extend_from_slice(&request_id.to_le_bytes());
        message.extend_from_slice(&[9; AFTER_REQUEST_ID_BYTES]);
        message
    }

    fn failed(text: &str) -> Vec<u8> {
        [&[STATUS_FAILED][..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    }

    const COMMITTED: &[u8] = &[STATUS_COMMITTED, 0, 0, 0, 0];

    fn read(message: &[u8]) -> Result<Message, String> {
        super::read(message, &["insufficient"])
    }

    #[test]
    fn the_status_decides() {
        for (status, id, expected) in [
            (COMMITTED.to_vec(), 5, Outcome::Acknowledged),
            (failed("insufficient"), 0, Outcome::Refused(0)),
            (failed("insufficient funds"), 0, Outcome::Error(Cow::Borrowed("insufficient funds"))),
            (vec![STATUS_OUT_OF_ENERGY], 5, Outcome::Error(Cow::Borrowed("out of energy"))),
        ] {
            let id_given = (id != 0).then_some(id);
            assert_eq!(read(&update(&status, id)), Ok(Message::Answer { id: id_given, outcome: expected }));
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let committed = update(COMMITTED, 5);
        for length in 0..committed.len() {
            assert!(read(&committed[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&[&committed[..], &[0]].concat()).is_err());
        assert!(read(&update(COMMITTED, 0)).is_err());
        assert!(read(&update(&[STATUS_COMMITTED, 1, 0, 0, 0], 5)).is_err());
        assert!(read(&update(&[3], 5)).is_err());
        assert!(read(&[2]).is_err());
    }
}
