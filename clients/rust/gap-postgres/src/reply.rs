//! Reading the answer to one call: BindComplete, DataRow, CommandComplete, ReadyForQuery.
//!
//! A call commits at its Sync, so only ReadyForQuery acknowledges: an error may still follow the row.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Outcome};

const TRANSFERRED: i32 = 1;
const INSUFFICIENT: i32 = 0;
pub const HEADER_BYTES: usize = 5;

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

fn judge(result: Option<i32>) -> Outcome<'static> {
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
    let mut at = 0;
    let mut row = None;
    let mut refusal = None;
    while let Some(message) = split_message(&input[at..])? {
        let first = at == 0;
        at += HEADER_BYTES + message.body.len();
        match message.tag {
            b'N' | b'S' | b'A' if first => return Ok(Decoded::Skipped { consumed: at }),
            b'2' | b'C' | b'N' | b'S' | b'A' => {}
            b'D' => row = int4(message.body),
            b'E' => {
                let error = ServerError::parse(message.body);
                if error.ends_the_connection() {
                    return Ok(Decoded::Closing { reason: error.to_string() });
                }
                refusal = Some(error.to_string());
            }
            b'Z' => {
                let outcome = refusal.map_or_else(|| judge(row), |text| Outcome::Error(Cow::Owned(text)));
                return Ok(Decoded::Reply { consumed: at, outcome });
            }
            tag => {
                return Err(ClientError::Integrity(format!(
                    "Postgres sent the message {:?}, which fits no call",
                    char::from(tag)
                )))
            }
        }
    }
    Ok(Decoded::Incomplete)
}

pub struct Message<'a> {
    pub tag: u8,
    pub body: &'a [u8],
}

pub fn split_message(input: &[u8]) -> Result<Option<Message<'_>>, ClientError> {
    let Some((header, rest)) = input.split_at_checked(HEADER_BYTES) else { return Ok(None) };
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let Some(body_bytes) = length.checked_sub(4) else {
        return Err(ClientError::Integrity(format!("Postgres sent a message of length {length}, below 4")));
    };
    Ok(rest.get(..body_bytes).map(|body| Message { tag: header[0], body }))
}

fn int4(row: &[u8]) -> Option<i32> {
    match row {
        [0, 1, 0, 0, 0, 4, a, b, c, d] => Some(i32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// The fields of an ErrorResponse that matter here.
#[derive(Debug, Default)]
pub struct ServerError {
    severity: String,
    code: String,
    message: String,
}

impl ServerError {
    pub fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, value)) = field.split_first() else { continue };
            let value = String::from_utf8_lossy(value).into_owned();
            match kind {
                b'V' => error.severity = value,
                b'C' => error.code = value,
                b'M' => error.message = value,
                _ => {}
            }
        }
        error
    }

    fn ends_the_connection(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(result: i32) -> Vec<u8> {
        [&BEFORE_RESULT[..], &result.to_be_bytes(), &AFTER_RESULT].concat()
    }

    fn refusal(severity: &str) -> Vec<u8> {
        let fields = format!("SERROR\0V{severity}\0C40001\0Mcould not serialize access\0\0");
        let mut message = vec![b'E'];
        message.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(fields.as_bytes());
        message
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
        let late = [row, &refusal("ERROR"), &ready[14..]].concat();
        match decode(&late) {
            Ok(Decoded::Reply { consumed, outcome: Outcome::Error(text) }) => {
                assert_eq!(consumed, late.len());
                assert_eq!(text, "40001 could not serialize access");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fatal_error_closes_and_a_notice_is_skipped() {
        assert!(matches!(decode(&refusal("FATAL")), Ok(Decoded::Closing { .. })));
        let notice = [&b"N\0\0\0\x05\0"[..], &answer(1)].concat();
        assert!(matches!(decode(&notice), Ok(Decoded::Skipped { consumed: 6 })));
    }

    #[test]
    fn a_message_of_another_conversation_breaks_the_client() {
        assert!(matches!(decode(b"G\0\0\0\x04"), Err(ClientError::Integrity(_))));
        assert!(matches!(decode(b"D\0\0\0\x03"), Err(ClientError::Integrity(_))));
    }
}
