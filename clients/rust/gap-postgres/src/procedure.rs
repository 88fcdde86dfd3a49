//! One call of a function that is the whole transfer: Bind, Execute and Sync out; BindComplete, DataRow,
//! CommandComplete and ReadyForQuery in.
//!
//! A call commits at its Sync, so only ReadyForQuery acknowledges: an error may still follow the row.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Operation, Outcome};

use crate::message::{columns, int4, Answer, Received, Statement, INT4_OID};

const TRANSFERRED: i32 = 1;
const INSUFFICIENT: i32 = 0;
const NAME: u8 = b't';

pub fn statement(function: &str) -> Statement {
    Statement {
        name: NAME,
        sql: format!("SELECT {function}($1::int4, $2::int4, $3::int4)"),
        parameters: &[INT4_OID; 3],
        columns: &[INT4_OID],
    }
}

/// Bind of three binary `int4` with a binary result, Execute without a row limit, Sync.
#[rustfmt::skip]
const CALL: [u8; 57] = [
    b'B', 0, 0, 0, 41,
    0, NAME, 0,
    0, 1, 0, 1,
    0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0,
    0, 1, 0, 1,
    b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0,
    b'S', 0, 0, 0, 4,
];
const SOURCE_AT: usize = 18;
const DESTINATION_AT: usize = 26;
const AMOUNT_AT: usize = 34;

#[inline]
pub fn encode(operation: Operation, out: &mut Vec<u8>) {
    let mut call = CALL;
    put(&mut call, SOURCE_AT, operation.source);
    put(&mut call, DESTINATION_AT, operation.destination);
    put(&mut call, AMOUNT_AT, operation.amount);
    out.extend_from_slice(&call);
}

#[inline]
fn put(call: &mut [u8], at: usize, value: u32) {
    call[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The answer of a successful call around its four bytes of result.
const BEFORE_RESULT: [u8; 16] = *b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04";
const AFTER_RESULT: [u8; 20] = *b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const RESULT_AT: usize = BEFORE_RESULT.len();
const RESULT_END: usize = RESULT_AT + 4;
const ANSWER_BYTES: usize = RESULT_END + AFTER_RESULT.len();

#[inline]
pub fn decode(input: &[u8]) -> Result<Decoded<'_>, ClientError> {
    if input.len() >= ANSWER_BYTES
        && input[..RESULT_AT] == BEFORE_RESULT
        && input[RESULT_END..ANSWER_BYTES] == AFTER_RESULT
    {
        let result = i32::from_be_bytes([input[16], input[17], input[18], input[19]]);
        return Ok(Decoded::Reply { consumed: ANSWER_BYTES, outcome: judge(Some(result)) });
    }
    decode_messages(input)
}

/// What a status says about its transfer.
pub fn judge(result: Option<i32>) -> Outcome<'static> {
    match result {
        Some(TRANSFERRED) => Outcome::Acknowledged,
        Some(INSUFFICIENT) => Outcome::Insufficient,
        Some(other) => Outcome::Error(Cow::Owned(format!(
            "transfer returned {other}, neither {TRANSFERRED} (transferred) nor {INSUFFICIENT} (insufficient)"
        ))),
        None => Outcome::Error(Cow::Borrowed("transfer returned no int4")),
    }
}

/// The same, message by message: partial answers, errors, notices.
fn decode_messages(input: &[u8]) -> Result<Decoded<'_>, ClientError> {
    let answer = match Answer::receive(input)? {
        Received::Incomplete => return Ok(Decoded::Incomplete),
        Received::Skipped { consumed } => return Ok(Decoded::Skipped { consumed }),
        Received::Closing { reason } => return Ok(Decoded::Closing { reason }),
        Received::Answer(answer) => answer,
    };
    let outcome = match &answer.refusal {
        Some(error) => error.outcome(),
        None => judge(answer.rows().last().and_then(columns).and_then(|[result]| int4(result))),
    };
    Ok(Decoded::Reply { consumed: answer.consumed, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::refusal;

    fn answer(result: i32) -> Vec<u8> {
        [&BEFORE_RESULT[..], &result.to_be_bytes(), &AFTER_RESULT].concat()
    }

    #[test]
    fn a_result_is_the_same_on_both_paths() {
        for result in [-1, 0, 1, 2] {
            let bytes = answer(result);
            assert_eq!(decode_messages(&bytes).ok(), decode(&bytes).ok());
        }
        assert!(matches!(
            decode(&answer(1)),
            Ok(Decoded::Reply { consumed: 40, outcome: Outcome::Acknowledged })
        ));
        assert!(matches!(decode(&answer(0)), Ok(Decoded::Reply { outcome: Outcome::Insufficient, .. })));
        assert!(matches!(decode(&answer(2)), Ok(Decoded::Reply { outcome: Outcome::Error(_), .. })));
    }

    #[test]
    fn every_prefix_of_an_answer_is_incomplete() {
        let bytes = answer(1);
        for length in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..length]), Ok(Decoded::Incomplete)), "{length} bytes");
        }
    }

    #[test]
    fn an_error_after_the_row_is_an_error() {
        let bytes = answer(1);
        let (row, ready) = bytes.split_at(20);
        let late = [row, &refusal("ERROR", "23514"), &ready[14..]].concat();
        match decode(&late) {
            Ok(Decoded::Reply { consumed, outcome: Outcome::Error(text) }) => {
                assert_eq!(consumed, late.len());
                assert_eq!(text, "23514 refused");
            }
            other => panic!("{other:?}"),
        }
    }
}
