//! Many transfers in one call, which is one transaction and has one commit: three arrays out, an array of statuses in.
//!
//! Each transfer stays a request of its own for the engine: a call is written with its last one, and the answer is
//! given out status by status.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Outcome, Transfer, Transfers, Workload};

use crate::functions::judge;
use crate::message::{
    columns, int4, write_call, Answer, Received, ServerError, Statement, INT4_ARRAY_OID, INT4_OID,
};

const NAME: u8 = b'n';
/// One dimension, no nulls, int4, the number of elements, the lower bound 1.
const ARRAY_HEADER_BYTES: usize = 20;
/// Its length and the value.
const ELEMENT_BYTES: usize = 8;

pub fn statement(function: &str) -> Statement {
    Statement {
        name: NAME,
        sql: format!("SELECT {function}($1::int4[], $2::int4[], $3::int4[])"),
        parameters: vec![INT4_ARRAY_OID; 3],
        columns: &[INT4_ARRAY_OID],
    }
}

pub struct Batch {
    size: usize,
    /// Sources, destinations and amounts of the call that is being filled, as on the wire.
    arrays: [Vec<u8>; 3],
    filled: usize,
    /// Bytes of the answer that is being given out.
    consumed: usize,
    verdict: Verdict,
    given: usize,
}

/// What an answer says about the transfers of its call.
enum Verdict {
    Statuses(Vec<i32>),
    Refused(ServerError),
    Unreadable,
}

impl Batch {
    pub fn new(size: usize) -> Self {
        Self {
            size,
            arrays: [(); 3].map(|()| empty_array(size)),
            filled: 0,
            consumed: 0,
            verdict: Verdict::Statuses(Vec::new()),
            given: size,
        }
    }

    pub fn encode(&mut self, operation: &Transfer, out: &mut Vec<u8>) {
        let at = ARRAY_HEADER_BYTES + self.filled * ELEMENT_BYTES + 4;
        let Transfer { source, destination, amount } = *operation;
        for (array, value) in self.arrays.iter_mut().zip([source, destination, amount]) {
            array[at..at + 4].copy_from_slice(&value.to_be_bytes());
        }
        self.filled += 1;
        if self.filled == self.size {
            let [sources, destinations, amounts] = &self.arrays;
            write_call(NAME, &[sources, destinations, amounts], out);
            self.filled = 0;
        }
    }

    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<Decoded<'a>, ClientError> {
        if self.given == self.size {
            match Answer::receive(input)? {
                Received::Incomplete => return Ok(Decoded::Incomplete),
                Received::Skipped { consumed } => return Ok(Decoded::Skipped { consumed }),
                Received::Closing { reason } => return Ok(Decoded::Closing { reason }),
                Received::Answer(answer) => self.accept(answer),
            }
        }
        let outcome = match &self.verdict {
            Verdict::Statuses(statuses) => judge(statuses.get(self.given).copied(), Transfers::REFUSALS),
            Verdict::Refused(error) => error.outcome(),
            Verdict::Unreadable => {
                Outcome::Error(Cow::Owned(format!("the batch returned no {} statuses", self.size)))
            }
        };
        self.given += 1;
        // The bytes stay until their last status is given out.
        let consumed = if self.given == self.size { self.consumed } else { 0 };
        Ok(Decoded::Reply { consumed, outcome })
    }

    fn accept(&mut self, answer: Answer<'_>) {
        self.consumed = answer.consumed;
        self.given = 0;
        let mut statuses = match std::mem::replace(&mut self.verdict, Verdict::Unreadable) {
            Verdict::Statuses(statuses) => statuses,
            _ => Vec::with_capacity(self.size),
        };
        let array = answer.rows().last().and_then(columns).map(|[array]| array);
        let readable = array.is_some_and(|array| read_array(array, self.size, &mut statuses));
        self.verdict = match answer.refusal {
            Some(error) => Verdict::Refused(error),
            None if readable => Verdict::Statuses(statuses),
            None => Verdict::Unreadable,
        };
    }
}

fn array_header(size: usize) -> [u8; ARRAY_HEADER_BYTES] {
    let mut header = [0; ARRAY_HEADER_BYTES];
    for (field, value) in header.chunks_exact_mut(4).zip([1, 0, INT4_OID, size as u32, 1]) {
        field.copy_from_slice(&value.to_be_bytes());
    }
    header
}

fn empty_array(size: usize) -> Vec<u8> {
    let mut array = array_header(size).to_vec();
    for _ in 0..size {
        array.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0]);
    }
    array
}

/// Whether `array` holds `size` int4 without nulls; they are then in `values`.
fn read_array(array: &[u8], size: usize, values: &mut Vec<i32>) -> bool {
    let Some(elements) = array.strip_prefix(&array_header(size)) else { return false };
    values.clear();
    let read = elements.chunks_exact(ELEMENT_BYTES).map_while(|element| match element {
        [0, 0, 0, 4, value @ ..] => int4(value),
        _ => None,
    });
    values.extend(read);
    values.len() == size && elements.len() == size * ELEMENT_BYTES
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::split_message;
    use crate::message::tests::{message, ready, refusal, row};

    fn statuses(values: &[i32]) -> Vec<u8> {
        let mut array = array_header(values.len()).to_vec();
        for value in values {
            array.extend_from_slice(&4_u32.to_be_bytes());
            array.extend_from_slice(&value.to_be_bytes());
        }
        let parts = [message(b'2', b""), row(&[&array]), message(b'C', b"SELECT 1\0"), ready(b'I')];
        parts.concat()
    }

    fn outcomes(batch: &mut Batch, input: &[u8]) -> Vec<(usize, &'static str)> {
        let mut at = 0;
        let mut seen = Vec::new();
        while at < input.len() {
            match batch.decode(&input[at..]).unwrap() {
                Decoded::Reply { consumed, outcome } => {
                    at += consumed;
                    seen.push((
                        consumed,
                        match outcome {
                            Outcome::Acknowledged => "acknowledged",
                            Outcome::Refused(Transfers::INSUFFICIENT) => "insufficient",
                            _ => "error",
                        },
                    ));
                }
                other => panic!("{other:?}"),
            }
        }
        seen
    }

    #[test]
    fn a_call_is_written_with_its_last_transfer() {
        let mut batch = Batch::new(2);
        let mut out = Vec::new();
        batch.encode(&Transfer { source: 1, destination: 2, amount: 3 }, &mut out);
        assert!(out.is_empty());
        batch.encode(&Transfer { source: 4, destination: 5, amount: 6 }, &mut out);
        let bind = split_message(&out).unwrap().unwrap().body;
        let sources = &bind[13..13 + ARRAY_HEADER_BYTES + 2 * ELEMENT_BYTES];
        assert_eq!(sources[ARRAY_HEADER_BYTES..], [0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4]);
        let written = out.len();
        batch.encode(&Transfer { source: 7, destination: 8, amount: 9 }, &mut out);
        assert_eq!(out.len(), written);
    }

    #[test]
    fn every_transfer_has_the_status_of_its_place() {
        let mut batch = Batch::new(3);
        let first = statuses(&[1, 0, 1]);
        let refused = [message(b'2', b""), refusal("ERROR", "23514"), ready(b'I')].concat();
        let second = statuses(&[2, 1, 0]);
        let input = [&first[..], &refused, &second].concat();
        assert_eq!(
            outcomes(&mut batch, &input),
            [
                (0, "acknowledged"),
                (0, "insufficient"),
                (first.len(), "acknowledged"),
                (0, "error"),
                (0, "error"),
                (refused.len(), "error"),
                (0, "error"),
                (0, "acknowledged"),
                (second.len(), "insufficient"),
            ]
        );
    }

    #[test]
    fn fewer_statuses_than_transfers_are_errors_of_all() {
        let mut batch = Batch::new(3);
        let short = statuses(&[1, 1]);
        assert_eq!(outcomes(&mut batch, &short), [(0, "error"), (0, "error"), (short.len(), "error")]);
    }

    #[test]
    fn every_prefix_of_an_answer_is_incomplete() {
        let whole = statuses(&[1, 0]);
        for length in 0..whole.len() {
            assert_eq!(
                Batch::new(2).decode(&whole[..length]).ok(),
                Some(Decoded::Incomplete),
                "{length} bytes"
            );
        }
    }
}
