//! The two messages that matter, in BSATN (little-endian, lengths as u32), as in
//! `spacetimedb-client-api-messages` 1.2.0: `CallReducer` out, `TransactionUpdate` in.

use std::borrow::Cow;

use loadgen::{Operation, Outcome};

const REDUCER: &[u8; 8] = b"transfer";
const INSUFFICIENT: &[u8] = b"insufficient";
const TAG_CALL_REDUCER: u8 = 0;
const NOTIFY_CALLER: u8 = 0;
const COMPRESSION_NONE: u8 = 0;
const TAG_TRANSACTION_UPDATE: u8 = 1;
const TAG_IDENTITY_TOKEN: u8 = 3;
const STATUS_COMMITTED: u8 = 0;
const STATUS_FAILED: u8 = 1;
const STATUS_OUT_OF_ENERGY: u8 = 2;

const ARGUMENTS_BYTES: usize = 12;
/// tag, reducer, arguments, request id, flags
pub const CALL_BYTES: usize = 1 + 4 + REDUCER.len() + 4 + ARGUMENTS_BYTES + 4 + 1;
/// The same call without arguments.
pub const PROBE_BYTES: usize = CALL_BYTES - ARGUMENTS_BYTES;

/// timestamp, caller's identity, caller's connection
const BEFORE_REDUCER_BYTES: usize = 8 + 32 + 16;
/// energy, duration
const AFTER_REQUEST_ID_BYTES: usize = 16 + 8;

#[inline]
pub fn encode(request_id: u32, operation: Operation) -> [u8; CALL_BYTES] {
    let mut call = [0; CALL_BYTES];
    call[0] = TAG_CALL_REDUCER;
    call[1..5].copy_from_slice(&(REDUCER.len() as u32).to_le_bytes());
    call[5..13].copy_from_slice(REDUCER);
    call[13..17].copy_from_slice(&(ARGUMENTS_BYTES as u32).to_le_bytes());
    call[17..21].copy_from_slice(&operation.source.to_le_bytes());
    call[21..25].copy_from_slice(&operation.destination.to_le_bytes());
    call[25..29].copy_from_slice(&operation.amount.to_le_bytes());
    call[29..33].copy_from_slice(&request_id.to_le_bytes());
    call[33] = NOTIFY_CALLER;
    call
}

/// A call without arguments: the server refuses it before it runs anything, and says so if there is no such reducer.
pub fn encode_probe() -> [u8; PROBE_BYTES] {
    let mut call = [0; PROBE_BYTES];
    call[0] = TAG_CALL_REDUCER;
    call[1..5].copy_from_slice(&(REDUCER.len() as u32).to_le_bytes());
    call[5..13].copy_from_slice(REDUCER);
    call
}

#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// The server's first message.
    IdentityToken,
    /// `id` is absent where the server gives none.
    Answer { id: Option<u32>, outcome: Outcome<'static> },
}

/// Reads one message; an error says what does not belong here.
#[inline]
pub fn read(message: &[u8]) -> Result<Message, String> {
    match message {
        [COMPRESSION_NONE, TAG_TRANSACTION_UPDATE, update @ ..] => read_update(update),
        [COMPRESSION_NONE, TAG_IDENTITY_TOKEN, ..] => Ok(Message::IdentityToken),
        [COMPRESSION_NONE, tag, ..] => Err(format!("a message with tag {tag}, which answers no call")),
        [compression, ..] => {
            Err(format!("a message with compression {compression}, where none was asked for"))
        }
        [] => Err("an empty message".to_owned()),
    }
}

#[inline]
fn read_update(update: &[u8]) -> Result<Message, String> {
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
            (judge_failure(text), rest)
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

fn judge_failure(text: &[u8]) -> Outcome<'static> {
    if text == INSUFFICIENT {
        Outcome::Insufficient
    } else {
        Outcome::Error(Cow::Owned(String::from_utf8_lossy(text).into_owned()))
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

#[inline]
fn split_u32(input: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = input.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[inline]
fn split_bytes(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split_u32(input)?;
    rest.split_at_checked(length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(status: &[u8], request_id: u32) -> Vec<u8> {
        let mut message = vec![COMPRESSION_NONE, TAG_TRANSACTION_UPDATE];
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

    #[test]
    fn the_status_decides() {
        for (status, id, expected) in [
            (COMMITTED.to_vec(), 5, Outcome::Acknowledged),
            (failed("insufficient"), 0, Outcome::Insufficient),
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
        assert!(read(&[1, 1]).is_err());
        assert!(read(&[0, 2]).is_err());
    }
}
