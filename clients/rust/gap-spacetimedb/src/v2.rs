//! The messages of v2.bsatn, which v3.bsatn shares: `CallReducer` out, `ReducerResult` in.
//!
//! A v2 payload is one message; a v3 payload is one or more, one after the other, in either direction.

use std::borrow::Cow;

use loadgen::Outcome;

use crate::bsatn::{judge_failure, push_bytes, split_bytes, split_u32};
use crate::call::RequestId;
use crate::version::Message;

const TAG_CALL_REDUCER: u8 = 3;
const FLAGS: u8 = 0;
const TAG_INITIAL_CONNECTION: u8 = 0;
const TAG_REDUCER_RESULT: u8 = 6;
const OUTCOME_OK: u8 = 0;
const OUTCOME_OK_EMPTY: u8 = 1;
const OUTCOME_ERROR: u8 = 2;
const OUTCOME_INTERNAL_ERROR: u8 = 3;
/// identity, connection
const BEFORE_TOKEN_BYTES: usize = 32 + 16;
const TIMESTAMP_BYTES: usize = 8;

/// tag, request id, flags, reducer; arguments.
pub fn around_arguments(reducer: &str) -> (Vec<u8>, Vec<u8>, RequestId) {
    let mut before = vec![TAG_CALL_REDUCER, 0, 0, 0, 0, FLAGS];
    push_bytes(reducer.as_bytes(), &mut before);
    (before, Vec::new(), RequestId::Before(1))
}

/// Reads the message at the front of a payload, and what follows it; an error says what does not belong here.
#[inline]
pub fn read<'a>(payload: &'a [u8], refusals: &[&str]) -> Result<(Message, &'a [u8]), String> {
    match payload {
        [TAG_REDUCER_RESULT, result @ ..] => read_result(result, refusals),
        [TAG_INITIAL_CONNECTION, greeting @ ..] => {
            let token = greeting.get(BEFORE_TOKEN_BYTES..).and_then(split_bytes);
            let (_token, rest) = token.ok_or_else(|| "a greeting shorter than its parts".to_owned())?;
            Ok((Message::Greeting, rest))
        }
        [tag, ..] => Err(format!("a message with tag {tag}, which answers no call")),
        [] => Err("an empty message".to_owned()),
    }
}

#[inline]
fn read_result<'a>(result: &'a [u8], refusals: &[&str]) -> Result<(Message, &'a [u8]), String> {
    let short = || "a reducer's result shorter than its parts".to_owned();
    let (id, rest) = split_u32(result).ok_or_else(short)?;
    let (kind, rest) = rest.get(TIMESTAMP_BYTES..).and_then(<[u8]>::split_first).ok_or_else(short)?;
    let (outcome, rest) = match *kind {
        OUTCOME_OK_EMPTY => (Outcome::Acknowledged, rest),
        OUTCOME_OK => (Outcome::Acknowledged, read_ok(rest)?),
        OUTCOME_ERROR => {
            // The reducer's error value, in BSATN: of `Result<(), String>` a text with its own length.
            let (value, rest) = split_bytes(rest).ok_or_else(short)?;
            let (text, more) = split_bytes(value).ok_or_else(short)?;
            if !more.is_empty() {
                return Err("a refusal that is not a text".to_owned());
            }
            (judge_failure(text, refusals), rest)
        }
        OUTCOME_INTERNAL_ERROR => {
            let (text, rest) = split_bytes(rest).ok_or_else(short)?;
            (Outcome::Error(Cow::Owned(String::from_utf8_lossy(text).into_owned())), rest)
        }
        other => return Err(format!("a reducer's result with outcome {other}")),
    };
    Ok((Message::Answer { id: Some(id), outcome }, rest))
}

/// A returned value and the rows of what is subscribed to, which is nothing.
fn read_ok(result: &[u8]) -> Result<&[u8], String> {
    let parts = split_bytes(result).and_then(|(_returned, rest)| split_u32(rest));
    match parts {
        Some((0, rest)) => Ok(rest),
        Some((sets, _)) => Err(format!("rows of {sets} query sets, though nothing is subscribed to")),
        None => Err("a reducer's result shorter than its parts".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(payload: &[u8]) -> Result<(Message, &[u8]), String> {
        super::read(payload, &["insufficient"])
    }

    fn result(id: u32, outcome: &[u8]) -> Vec<u8> {
        [&[TAG_REDUCER_RESULT][..], &id.to_le_bytes(), &[7; TIMESTAMP_BYTES], outcome].concat()
    }

    fn text(words: &str) -> Vec<u8> {
        [&(words.len() as u32).to_le_bytes(), words.as_bytes()].concat()
    }

    fn refused(words: &str) -> Vec<u8> {
        let value = text(words);
        [&[OUTCOME_ERROR][..], &(value.len() as u32).to_le_bytes(), &value].concat()
    }

    #[test]
    fn the_outcome_decides() {
        let internal = [&[OUTCOME_INTERNAL_ERROR][..], &text("insufficient")].concat();
        for (outcome, expected) in [
            (vec![OUTCOME_OK_EMPTY], Outcome::Acknowledged),
            (vec![OUTCOME_OK, 0, 0, 0, 0, 0, 0, 0, 0], Outcome::Acknowledged),
            (refused("insufficient"), Outcome::Refused(0)),
            (refused("no account 9"), Outcome::Error(Cow::Borrowed("no account 9"))),
            (internal, Outcome::Error(Cow::Borrowed("insufficient"))),
        ] {
            let message = Message::Answer { id: Some(5), outcome: expected };
            assert_eq!(read(&result(5, &outcome)), Ok((message, &[][..])));
        }
    }

    #[test]
    fn messages_stand_one_after_the_other() {
        let greeting = [&[TAG_INITIAL_CONNECTION][..], &[1; BEFORE_TOKEN_BYTES], &text("token")].concat();
        let payload =
            [greeting, result(1, &refused("insufficient")), result(2, &[OUTCOME_OK_EMPTY])].concat();
        let (first, rest) = read(&payload).unwrap();
        let (second, rest) = read(rest).unwrap();
        let (third, rest) = read(rest).unwrap();
        assert_eq!(first, Message::Greeting);
        assert_eq!(second, Message::Answer { id: Some(1), outcome: Outcome::Refused(0) });
        assert_eq!(third, Message::Answer { id: Some(2), outcome: Outcome::Acknowledged });
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let whole = result(5, &refused("insufficient"));
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&result(5, &[4])).is_err());
        assert!(read(&result(5, &[OUTCOME_OK, 0, 0, 0, 0, 1, 0, 0, 0])).is_err());
        assert!(read(&result(5, &[OUTCOME_ERROR, 5, 0, 0, 0, 0, 0, 0, 0, 9])).is_err());
        assert!(read(&[4, 0, 0, 0, 0]).is_err());
    }
}
