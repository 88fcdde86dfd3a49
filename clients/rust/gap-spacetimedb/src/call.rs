//! A call of the reducer of one kind, encoded once as far as its arguments.

use loadgen::{Field, Fields, Letters, Operation};

use crate::endpoint::Amount;
use crate::version::Version;
use crate::{v1, v2};

/// The field whose type the endpoint names.
const AMOUNT: &str = "amount";

#[derive(Debug, Clone)]
pub struct Call {
    /// Up to the length of the arguments.
    before: Vec<u8>,
    /// Behind the arguments.
    after: Vec<u8>,
    /// Where the request id stands: in `before`, or in `after`.
    request_id: RequestId,
    /// A bit for the place of each field that is sent in 64 bits, though it has 32.
    wide: u32,
    /// What those bits add to the arguments.
    wide_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestId {
    Before(usize),
    After(usize),
}

const ID_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;
/// From 32 bits to 64.
const WIDER_BYTES: usize = 4;

impl Call {
    pub fn new(version: Version, reducer: &str, fields: &[Field], amount: Amount) -> Self {
        let (before, after, request_id) = match version {
            Version::V1 => v1::around_arguments(reducer),
            Version::V2 | Version::V3 => v2::around_arguments(reducer),
        };
        let is_wide = |field: &Field| amount == Amount::I64 && field.name == AMOUNT;
        let wide = fields.iter().rev().fold(0, |wide, field| (wide << 1) | u32::from(is_wide(field)));
        Self { before, after, request_id, wide, wide_bytes: wide.count_ones() as usize * WIDER_BYTES }
    }

    /// The call without arguments, and with request id 0: the server refuses it before it runs anything, and says so
    /// if there is no such reducer.
    pub fn probe(&self) -> Vec<u8> {
        [&self.before[..], &[0; LENGTH_BYTES], &self.after].concat()
    }

    /// How many bytes a call with this operation has.
    #[inline]
    pub fn length(&self, operation: &impl Operation) -> usize {
        self.before.len() + LENGTH_BYTES + self.arguments_bytes(operation) + self.after.len()
    }

    #[inline]
    fn arguments_bytes(&self, operation: &impl Operation) -> usize {
        let mut arguments = ArgumentsBytes(self.wide_bytes);
        operation.write(&mut arguments);
        arguments.0
    }

    #[inline]
    pub fn write(&self, request_id: u32, operation: &impl Operation, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&self.before);
        out.extend_from_slice(&(self.arguments_bytes(operation) as u32).to_le_bytes());
        operation.write(&mut Arguments { wide: self.wide, out });
        let after_at = out.len();
        out.extend_from_slice(&self.after);
        let id_at = match self.request_id {
            RequestId::Before(id) => at + id,
            RequestId::After(id) => after_at + id,
        };
        out[id_at..id_at + ID_BYTES].copy_from_slice(&request_id.to_le_bytes());
    }
}

/// How many bytes fields take in BSATN.
struct ArgumentsBytes(usize);

impl Fields for ArgumentsBytes {
    #[inline(always)]
    fn u32(&mut self, _value: u32) {
        self.0 += 4;
    }

    #[inline(always)]
    fn u64(&mut self, _value: u64) {
        self.0 += 8;
    }

    #[inline(always)]
    fn text(&mut self, text: Letters) {
        self.0 += LENGTH_BYTES + text.bytes();
    }
}

/// Appends fields in BSATN.
struct Arguments<'a> {
    /// As in [`Call`], shifted to the field that comes next.
    wide: u32,
    out: &'a mut Vec<u8>,
}

impl Fields for Arguments<'_> {
    #[inline(always)]
    fn u32(&mut self, value: u32) {
        if self.wide & 1 == 1 {
            self.out.extend_from_slice(&u64::from(value).to_le_bytes());
        } else {
            self.out.extend_from_slice(&value.to_le_bytes());
        }
        self.wide >>= 1;
    }

    #[inline(always)]
    fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_le_bytes());
        self.wide >>= 1;
    }

    #[inline(always)]
    fn text(&mut self, text: Letters) {
        self.out.extend_from_slice(&text.length.to_le_bytes());
        text.write(self.out);
        self.wide >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::{CounterAndMessages, CounterOrMessage, Transfer, Transfers, Workload};

    fn written(call: &Call, operation: &impl Operation) -> Vec<u8> {
        let mut out = vec![9];
        call.write(0x0102_0304, operation, &mut out);
        let bytes = out.split_off(1);
        assert_eq!(bytes.len(), call.length(operation));
        bytes
    }

    fn transfer(version: Version, reducer: &str, amount: Amount) -> Vec<u8> {
        let call = Call::new(version, reducer, Transfers::KINDS[0].fields, amount);
        written(&call, &Transfer { source: 5, destination: 6, amount: 7 })
    }

    #[test]
    fn a_call_is_these_bytes() {
        let v1 = b"\0\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x04\x03\x02\x01\0";
        assert_eq!(transfer(Version::V1, "transfer", Amount::U32), v1);
        let v2 = b"\x03\x04\x03\x02\x01\0\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0";
        assert_eq!(transfer(Version::V2, "transfer", Amount::U32), v2);
        assert_eq!(transfer(Version::V3, "transfer", Amount::U32), v2);
    }

    #[test]
    fn another_reducer_and_a_longer_amount_are_these_bytes() {
        let v1 = b"\0\x04\0\0\0move\x10\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\0\0\0\0\x04\x03\x02\x01\0";
        assert_eq!(transfer(Version::V1, "move", Amount::I64), v1);
        let v3 = b"\x03\x04\x03\x02\x01\0\x04\0\0\0move\x10\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\0\0\0\0";
        assert_eq!(transfer(Version::V3, "move", Amount::I64), v3);
    }

    #[test]
    fn fields_of_every_type_are_these_bytes() {
        let call = Call::new(Version::V3, "say", CounterAndMessages::KINDS[1].fields, Amount::U32);
        let body = Letters { start: 0, step: 1, length: 3 };
        let said = CounterOrMessage::Message { connection: 5, index: 1 << 32, body };
        assert_eq!(
            written(&call, &said),
            b"\x03\x04\x03\x02\x01\0\x03\0\0\0say\x13\0\0\0\x05\0\0\0\0\0\0\0\x01\0\0\0\x03\0\0\0abc"
        );
    }

    #[test]
    fn a_probe_has_no_arguments() {
        let probe = |version| Call::new(version, "transfer", Transfers::KINDS[0].fields, Amount::U32).probe();
        assert_eq!(probe(Version::V1), b"\0\x08\0\0\0transfer\0\0\0\0\0\0\0\0\0");
        assert_eq!(probe(Version::V3), b"\x03\0\0\0\0\0\x08\0\0\0transfer\0\0\0\0");
    }
}
