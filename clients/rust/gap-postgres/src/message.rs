//! Messages of the wire protocol: splitting what comes in, writing a call of a prepared statement.

use loadgen::{ClientError, Outcome};

pub const HEADER_BYTES: usize = 5;
/// ReadyForQuery's status outside a transaction.
pub const IDLE: u8 = b'I';

pub const INT4_OID: u32 = 23;
pub const INT8_OID: u32 = 20;
pub const TEXT_OID: u32 = 25;
pub const INT4_ARRAY_OID: u32 = 1007;

/// SQLSTATE of a serialization failure and of a deadlock.
const CONFLICTS: [&str; 2] = ["40001", "40P01"];

/// A statement that is prepared once per connection under a name of one byte.
pub struct Statement {
    pub name: u8,
    pub sql: String,
    pub parameters: Vec<u32>,
    /// Types of the columns it returns.
    pub columns: &'static [u32],
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

/// Appends Bind with binary parameters and results, Execute without a row limit, and Sync.
pub fn write_call(statement: u8, parameters: &[&[u8]], out: &mut Vec<u8>) {
    let values: usize = parameters.iter().map(|value| 4 + value.len()).sum();
    out.extend_from_slice(&call_header(statement, parameters.len(), values));
    for value in parameters {
        out.extend_from_slice(&(value.len() as u32).to_be_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&AFTER_CALL);
}

/// Bind as far as its parameters, which take `values` bytes with their lengths: the unnamed portal, the statement's
/// name, one format for all parameters (binary), and how many there are.
#[inline]
pub fn call_header(statement: u8, parameters: usize, values: usize) -> [u8; CALL_HEADER_BYTES] {
    let length = CALL_HEADER_BYTES - 1 + values + RESULT_FORMAT_BYTES;
    let [a, b, c, d] = (length as u32).to_be_bytes();
    let [high, low] = (parameters as u16).to_be_bytes();
    [b'B', a, b, c, d, 0, statement, 0, 0, 1, 0, 1, high, low]
}

const CALL_HEADER_BYTES: usize = 14;
const RESULT_FORMAT_BYTES: usize = 4;
/// The end of Bind, one format for all results (binary); Execute; Sync.
pub const AFTER_CALL: [u8; 19] = *b"\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// The whole answer to one Sync.
pub struct Answer<'a> {
    pub consumed: usize,
    /// The DataRows, message after message.
    rows: &'a [u8],
    /// CommandComplete's tag, empty after an error.
    pub command: &'a [u8],
    pub refusal: Option<ServerError>,
    /// The transaction's state: ReadyForQuery.
    pub status: u8,
}

pub enum Received<'a> {
    Incomplete,
    /// A notice, or another message that answers nothing.
    Skipped {
        consumed: usize,
    },
    Closing {
        reason: String,
    },
    Answer(Answer<'a>),
}

impl<'a> Answer<'a> {
    /// Reads from the front of `input` to ReadyForQuery: only that ends an answer, as an error may still follow a row.
    pub fn receive(input: &'a [u8]) -> Result<Received<'a>, ClientError> {
        let mut at = 0;
        let mut rows = 0..0;
        let mut command: &[u8] = &[];
        let mut refusal = None;
        while let Some(message) = split_message(&input[at..])? {
            let begin = at;
            at += HEADER_BYTES + message.body.len();
            match message.tag {
                b'N' | b'S' | b'A' if begin == 0 => return Ok(Received::Skipped { consumed: at }),
                b'2' | b'N' | b'S' | b'A' => {}
                b'C' => command = message.body.strip_suffix(&[0]).unwrap_or(message.body),
                b'D' => rows = if rows.is_empty() { begin..at } else { rows.start..at },
                b'E' => {
                    let error = ServerError::parse(message.body);
                    if error.ends_the_connection() {
                        return Ok(Received::Closing { reason: error.to_string() });
                    }
                    refusal = Some(error);
                }
                b'Z' => {
                    let status = message.body.first().copied().unwrap_or_default();
                    let rows = &input[rows];
                    return Ok(Received::Answer(Self { consumed: at, rows, command, refusal, status }));
                }
                tag => {
                    return Err(ClientError::Integrity(format!(
                        "Postgres sent the message {:?}, which fits no call",
                        char::from(tag)
                    )))
                }
            }
        }
        Ok(Received::Incomplete)
    }

    /// The DataRows' bodies.
    pub fn rows(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.rows;
        std::iter::from_fn(move || {
            let message = split_message(rest).ok()??;
            rest = &rest[HEADER_BYTES + message.body.len()..];
            Some(message)
        })
        .filter(|message| message.tag == b'D')
        .map(|message| message.body)
    }
}

/// The columns of a DataRow, or nothing where it has others than `N` or a null.
pub fn columns<const N: usize>(row: &[u8]) -> Option<[&[u8]; N]> {
    let (count, mut rest) = row.split_first_chunk::<2>()?;
    if usize::from(u16::from_be_bytes(*count)) != N {
        return None;
    }
    let mut columns: [&[u8]; N] = [&[]; N];
    for column in &mut columns {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        (*column, rest) = after.split_at_checked(length)?;
    }
    rest.is_empty().then_some(columns)
}

pub fn int4(value: &[u8]) -> Option<i32> {
    value.try_into().ok().map(i32::from_be_bytes)
}

pub fn int8(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

/// The fields of an ErrorResponse that matter here.
#[derive(Debug, Default, Clone)]
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

    pub fn outcome(&self) -> Outcome<'static> {
        let text = self.to_string().into();
        if CONFLICTS.contains(&self.code.as_str()) {
            Outcome::Conflict(text)
        } else {
            Outcome::Error(text)
        }
    }
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.code, self.message)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;

    pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    pub fn row(columns: &[&[u8]]) -> Vec<u8> {
        let mut body = (columns.len() as u16).to_be_bytes().to_vec();
        for column in columns {
            body.extend_from_slice(&(column.len() as u32).to_be_bytes());
            body.extend_from_slice(column);
        }
        message(b'D', &body)
    }

    pub fn refusal(severity: &str, code: &str) -> Vec<u8> {
        message(b'E', format!("SERROR\0V{severity}\0C{code}\0Mrefused\0\0").as_bytes())
    }

    pub fn ready(status: u8) -> Vec<u8> {
        message(b'Z', &[status])
    }

    #[test]
    fn an_answer_ends_with_ready_for_query() {
        let bytes = [
            &message(b'2', b"")[..],
            &row(&[b"a", b"bc"]),
            &row(&[b"", b"d"]),
            &message(b'C', b"SELECT 2\0"),
            &ready(b'T'),
            b"more",
        ]
        .concat();
        for length in 0..bytes.len() - 4 {
            assert!(matches!(Answer::receive(&bytes[..length]), Ok(Received::Incomplete)), "{length} bytes");
        }
        let Ok(Received::Answer(answer)) = Answer::receive(&bytes) else { panic!("no answer") };
        assert_eq!(
            (answer.consumed, answer.command, answer.status),
            (bytes.len() - 4, &b"SELECT 2"[..], b'T')
        );
        let rows: Vec<_> = answer.rows().map(|row| columns::<2>(row).unwrap()).collect();
        assert_eq!(rows, [[&b"a"[..], b"bc"], [b"", b"d"]]);
        assert!(columns::<1>(answer.rows().next().unwrap()).is_none());
    }

    #[test]
    fn a_call_states_the_length_of_its_bind() {
        let mut out = Vec::new();
        write_call(b'u', &[&5_i64.to_be_bytes(), &[0, 0, 0, 7]], &mut out);
        let bind = split_message(&out).unwrap().unwrap();
        assert_eq!(bind.tag, b'B');
        assert_eq!(
            bind.body,
            b"\0u\0\0\x01\0\x01\0\x02\0\0\0\x08\0\0\0\0\0\0\0\x05\0\0\0\x04\0\0\0\x07\0\x01\0\x01"
        );
        assert_eq!(out[HEADER_BYTES + bind.body.len()..], AFTER_CALL[RESULT_FORMAT_BYTES..]);
    }

    #[test]
    fn only_serialization_failures_and_deadlocks_are_conflicts() {
        for (code, conflict) in [("40001", true), ("40P01", true), ("40002", false), ("23514", false)] {
            let bytes = [refusal("ERROR", code), ready(b'I')].concat();
            let Ok(Received::Answer(answer)) = Answer::receive(&bytes) else { panic!("no answer") };
            let outcome = answer.refusal.unwrap().outcome();
            assert_eq!(matches!(outcome, Outcome::Conflict(_)), conflict, "{code}: {outcome:?}");
        }
    }

    #[test]
    fn a_fatal_error_closes_and_a_notice_is_skipped() {
        let fatal = refusal("FATAL", "57P01");
        assert!(matches!(Answer::receive(&fatal), Ok(Received::Closing { .. })));
        let notice = [message(b'N', b"\0"), ready(b'I')].concat();
        assert!(matches!(Answer::receive(&notice), Ok(Received::Skipped { consumed: 6 })));
    }

    #[test]
    fn a_message_of_another_conversation_breaks_the_client() {
        assert!(matches!(Answer::receive(b"G\0\0\0\x04"), Err(ClientError::Integrity(_))));
        assert!(matches!(Answer::receive(b"D\0\0\0\x03"), Err(ClientError::Integrity(_))));
    }
}
