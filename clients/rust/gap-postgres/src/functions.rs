//! One call of a function is one operation: Bind, Execute and Sync out; BindComplete, DataRow, CommandComplete and
//! ReadyForQuery in.
//!
//! A call commits at its Sync, so only ReadyForQuery acknowledges: an error may still follow the row.

use std::borrow::Cow;

use loadgen::{
    ClientError, Config, Decoded, FieldType, Fields, HandshakeStream, Kind, KindOf, Letters, Oldest,
    Operation, Outcome, Protocol, Workload,
};

use crate::endpoint::{Endpoint, Mode};
use crate::handshake;
use crate::message::{
    call_header, columns, int4, Answer, Received, Statement, AFTER_CALL, INT4_OID, INT8_OID, TEXT_OID,
};

const DONE: i32 = 1;
/// The workload's first refusal.
const REFUSED: i32 = 0;
const FIRST_REFUSAL: usize = 0;
/// The statement of the first kind; the next ones follow in the alphabet.
const FIRST_NAME: u8 = b'a';

/// A connection on which each kind of a workload is a function.
pub struct Functions;

impl<W: Workload> Protocol<W> for Functions {
    const NAME: &'static str = "postgres";
    type Endpoint = Endpoint;

    fn check(config: &Config<Endpoint>) -> Result<(), ClientError> {
        if config.endpoint.mode != Mode::Procedure {
            let mode = config.endpoint.mode.name();
            let allowed = format!("\"procedure\" with the workload {:?}", W::NAME);
            return Err(ClientError::refused("endpoint.mode", format!("{mode:?}"), &allowed));
        }
        config.endpoint.check(config.in_flight)?;
        config.endpoint.names::<W>().map(|_names| ())
    }

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    fn handshake(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Self, String> {
        handshake::log_in(endpoint, stream)?;
        let names = endpoint.names::<W>().map_err(|error| error.to_string())?;
        for statement in statements::<W>(&names) {
            handshake::prepare(&statement, stream)?;
        }
        Ok(Self)
    }

    #[inline(always)]
    fn encode(&mut self, _index: u64, operation: &W::Operation, out: &mut Vec<u8>) {
        let kind = operation.kind().place();
        let mut values = ValueBytes(0);
        operation.write(&mut values);
        let parameters = W::KINDS[kind].fields.len();
        let mut call = Gathered::new(out);
        call.put(call_header(FIRST_NAME + kind as u8, parameters, values.0));
        operation.write(&mut call);
        call.put(AFTER_CALL);
        call.hand_over();
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        _oldest: Option<Oldest<KindOf<W>>>,
        _out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        decode(input, W::REFUSALS)
    }
}

fn statements<W: Workload>(names: &[String]) -> Vec<Statement> {
    let statement = |(place, name): (usize, &String)| {
        let types: Vec<(&str, u32)> = W::KINDS[place]
            .fields
            .iter()
            .map(|field| match field.holds {
                FieldType::U32 => ("int4", INT4_OID),
                FieldType::U64 => ("int8", INT8_OID),
                FieldType::Text => ("text", TEXT_OID),
            })
            .collect();
        let parameters: Vec<String> =
            types.iter().zip(1..).map(|((name, _), number)| format!("${number}::{name}")).collect();
        Statement {
            name: FIRST_NAME + place as u8,
            sql: format!("SELECT {name}({})", parameters.join(", ")),
            parameters: types.iter().map(|(_, oid)| *oid).collect(),
            columns: &[INT4_OID],
        }
    };
    names.iter().enumerate().map(statement).collect()
}

/// How many bytes fields take as parameters, each with its length.
struct ValueBytes(usize);

impl Fields for ValueBytes {
    #[inline(always)]
    fn u32(&mut self, _value: u32) {
        self.0 += 4 + 4;
    }

    #[inline(always)]
    fn u64(&mut self, _value: u64) {
        self.0 += 4 + 8;
    }

    #[inline(always)]
    fn text(&mut self, text: Letters) {
        self.0 += 4 + text.bytes();
    }
}

/// Appends a call with fields as binary parameters, each behind its length. What has a known size is gathered: a call
/// of such fields alone is appended at once, as one that was laid out by hand.
struct Gathered<'a> {
    bytes: [u8; GATHERED_BYTES],
    filled: usize,
    out: &'a mut Vec<u8>,
}

const GATHERED_BYTES: usize = 64;

impl<'a> Gathered<'a> {
    #[inline(always)]
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { bytes: [0; GATHERED_BYTES], filled: 0, out }
    }

    #[inline(always)]
    fn put<const SIZE: usize>(&mut self, part: [u8; SIZE]) {
        const { assert!(SIZE <= GATHERED_BYTES) };
        if self.filled + SIZE > GATHERED_BYTES {
            self.hand_over();
        }
        self.bytes[self.filled..self.filled + SIZE].copy_from_slice(&part);
        self.filled += SIZE;
    }

    #[inline(always)]
    fn hand_over(&mut self) {
        self.out.extend_from_slice(&self.bytes[..self.filled]);
        self.filled = 0;
    }
}

impl Fields for Gathered<'_> {
    #[inline(always)]
    fn u32(&mut self, value: u32) {
        self.put(4_u32.to_be_bytes());
        self.put(value.to_be_bytes());
    }

    #[inline(always)]
    fn u64(&mut self, value: u64) {
        self.put(8_u32.to_be_bytes());
        self.put(value.to_be_bytes());
    }

    #[inline(always)]
    fn text(&mut self, text: Letters) {
        self.put(text.length.to_be_bytes());
        self.hand_over();
        text.write(self.out);
    }
}

/// The answer of a successful call around its four bytes of result.
const BEFORE_RESULT: [u8; 16] = *b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04";
const AFTER_RESULT: [u8; 20] = *b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const RESULT_AT: usize = BEFORE_RESULT.len();
const RESULT_END: usize = RESULT_AT + 4;
const ANSWER_BYTES: usize = RESULT_END + AFTER_RESULT.len();

#[inline]
fn decode<'a>(input: &'a [u8], refusals: &[&str]) -> Result<Decoded<'a>, ClientError> {
    if input.len() >= ANSWER_BYTES
        && input[..RESULT_AT] == BEFORE_RESULT
        && input[RESULT_END..ANSWER_BYTES] == AFTER_RESULT
    {
        let result = i32::from_be_bytes([input[16], input[17], input[18], input[19]]);
        return Ok(Decoded::Reply { consumed: ANSWER_BYTES, outcome: judge(Some(result), refusals) });
    }
    decode_messages(input, refusals)
}

/// What a status says about its operation.
#[inline]
pub fn judge(result: Option<i32>, refusals: &[&str]) -> Outcome<'static> {
    match result {
        Some(DONE) => Outcome::Acknowledged,
        Some(REFUSED) if !refusals.is_empty() => Outcome::Refused(FIRST_REFUSAL),
        Some(other) => {
            let refused =
                refusals.first().map(|name| format!(", nor {REFUSED} ({name})")).unwrap_or_default();
            Outcome::Error(Cow::Owned(format!("the function returned {other}, not {DONE} (done){refused}")))
        }
        None => Outcome::Error(Cow::Borrowed("the function returned no int4")),
    }
}

/// The same, message by message: partial answers, errors, notices.
fn decode_messages<'a>(input: &'a [u8], refusals: &[&str]) -> Result<Decoded<'a>, ClientError> {
    let answer = match Answer::receive(input)? {
        Received::Incomplete => return Ok(Decoded::Incomplete),
        Received::Skipped { consumed } => return Ok(Decoded::Skipped { consumed }),
        Received::Closing { reason } => return Ok(Decoded::Closing { reason }),
        Received::Answer(answer) => answer,
    };
    let outcome = match &answer.refusal {
        Some(error) => error.outcome(),
        None => judge(answer.rows().last().and_then(columns).and_then(|[result]| int4(result)), refusals),
    };
    Ok(Decoded::Reply { consumed: answer.consumed, outcome })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::split_message;
    use crate::message::tests::refusal;
    use loadgen::{CounterAndMessages, CounterOrMessage, Transfer, Transfers};

    const REFUSALS: &[&str] = Transfers::REFUSALS;

    fn answer(result: i32) -> Vec<u8> {
        [&BEFORE_RESULT[..], &result.to_be_bytes(), &AFTER_RESULT].concat()
    }

    fn encoded<W: Workload>(operation: &W::Operation) -> Vec<u8> {
        let mut out = Vec::new();
        Protocol::<W>::encode(&mut Functions, 0, operation, &mut out);
        out
    }

    #[test]
    fn a_call_is_these_bytes() {
        let call = encoded::<Transfers>(&Transfer { source: 5, destination: 6, amount: 7 });
        assert_eq!(
            call,
            b"B\0\0\0\x29\0a\0\0\x01\0\x01\0\x03\
              \0\0\0\x04\0\0\0\x05\0\0\0\x04\0\0\0\x06\0\0\0\x04\0\0\0\x07\0\x01\0\x01\
              E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
        );
    }

    #[test]
    fn each_kind_is_a_statement_with_the_types_of_its_fields() {
        let names = ["bump".to_owned(), "say".to_owned()];
        let statements = statements::<CounterAndMessages>(&names);
        let [increment, message] = &statements[..] else { panic!("not two") };
        assert_eq!((increment.name, &increment.sql[..]), (b'a', "SELECT bump($1::int4, $2::int4)"));
        assert_eq!((message.name, &message.sql[..]), (b'b', "SELECT say($1::int4, $2::int8, $3::text)"));
        assert_eq!(message.parameters, [INT4_OID, INT8_OID, TEXT_OID]);

        let body = Letters { start: 0, step: 1, length: 3 };
        let said = CounterOrMessage::Message { connection: 5, index: 1 << 32, body };
        let call = encoded::<CounterAndMessages>(&said);
        let bind = split_message(&call).unwrap().unwrap().body;
        assert_eq!(bind[..3], [0, b'b', 0]);
        assert_eq!(
            bind[9..bind.len() - 4],
            *b"\0\0\0\x04\0\0\0\x05\0\0\0\x08\0\0\0\x01\0\0\0\0\0\0\0\x03abc"
        );
    }

    #[test]
    fn a_result_is_the_same_on_both_paths() {
        for result in [-1, 0, 1, 2] {
            let bytes = answer(result);
            assert_eq!(decode_messages(&bytes, REFUSALS).ok(), decode(&bytes, REFUSALS).ok());
        }
        assert!(matches!(
            decode(&answer(1), REFUSALS),
            Ok(Decoded::Reply { consumed: 40, outcome: Outcome::Acknowledged })
        ));
        assert_eq!(judge(Some(0), REFUSALS), Outcome::Refused(Transfers::INSUFFICIENT));
        assert!(matches!(judge(Some(2), REFUSALS), Outcome::Error(_)));
        assert!(matches!(judge(Some(0), CounterAndMessages::REFUSALS), Outcome::Error(_)));
    }

    #[test]
    fn every_prefix_of_an_answer_is_incomplete() {
        let bytes = answer(1);
        for length in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..length], REFUSALS), Ok(Decoded::Incomplete)), "{length} bytes");
        }
    }

    #[test]
    fn an_error_after_the_row_is_an_error() {
        let bytes = answer(1);
        let (row, ready) = bytes.split_at(20);
        let late = [row, &refusal("ERROR", "23514"), &ready[14..]].concat();
        match decode(&late, REFUSALS) {
            Ok(Decoded::Reply { consumed, outcome: Outcome::Error(text) }) => {
                assert_eq!(consumed, late.len());
                assert_eq!(text, "23514 refused");
            }
            other => panic!("{other:?}"),
        }
    }
}
