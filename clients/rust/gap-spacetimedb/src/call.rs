//! A call of the reducer, encoded once: only its request id and its arguments are written anew.

use std::ops::Range;

use loadgen::Operation;

use crate::endpoint::Amount;
use crate::version::Version;
use crate::{v1, v2};

#[derive(Debug, Clone)]
pub struct Call {
    bytes: Vec<u8>,
    request_id: Range<usize>,
    /// Source, destination and the lower half of the amount or all of it.
    arguments: Range<usize>,
}

const WRITTEN_ARGUMENTS_BYTES: usize = 12;

impl Call {
    pub fn new(version: Version, reducer: &str, amount: Amount) -> Self {
        let arguments = vec![0; WRITTEN_ARGUMENTS_BYTES + amount.bytes() - Amount::U32.bytes()];
        let (bytes, request_id_at, arguments_at) = match version {
            Version::V1 => v1::encode(reducer, &arguments),
            Version::V2 | Version::V3 => v2::encode(reducer, &arguments),
        };
        Self {
            bytes,
            request_id: request_id_at..request_id_at + 4,
            arguments: arguments_at..arguments_at + WRITTEN_ARGUMENTS_BYTES,
        }
    }

    /// The same call without arguments, and with request id 0: the server refuses it before it runs anything, and
    /// says so if there is no such reducer.
    pub fn probe(version: Version, reducer: &str) -> Vec<u8> {
        match version {
            Version::V1 => v1::encode(reducer, &[]).0,
            Version::V2 | Version::V3 => v2::encode(reducer, &[]).0,
        }
    }

    #[inline]
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn write(&self, request_id: u32, operation: Operation, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&self.bytes);
        let call = &mut out[at..];
        call[self.request_id.clone()].copy_from_slice(&request_id.to_le_bytes());
        let mut arguments = [0; WRITTEN_ARGUMENTS_BYTES];
        arguments[0..4].copy_from_slice(&operation.source.to_le_bytes());
        arguments[4..8].copy_from_slice(&operation.destination.to_le_bytes());
        arguments[8..12].copy_from_slice(&operation.amount.to_le_bytes());
        call[self.arguments.clone()].copy_from_slice(&arguments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, reducer: &str, amount: Amount) -> Vec<u8> {
        let mut out = vec![9];
        let operation = Operation { source: 5, destination: 6, amount: 7 };
        Call::new(version, reducer, amount).write(0x0102_0304, operation, &mut out);
        out.split_off(1)
    }

    #[test]
    fn a_call_is_these_bytes() {
        let v1 = b"\0\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x04\x03\x02\x01\0";
        assert_eq!(written(Version::V1, "transfer", Amount::U32), v1);
        let v2 = b"\x03\x04\x03\x02\x01\0\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0";
        assert_eq!(written(Version::V2, "transfer", Amount::U32), v2);
        assert_eq!(written(Version::V3, "transfer", Amount::U32), v2);
    }

    #[test]
    fn another_reducer_and_a_longer_amount_are_these_bytes() {
        let v1 = b"\0\x04\0\0\0move\x10\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\0\0\0\0\x04\x03\x02\x01\0";
        assert_eq!(written(Version::V1, "move", Amount::I64), v1);
        let v3 = b"\x03\x04\x03\x02\x01\0\x04\0\0\0move\x10\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\0\0\0\0";
        assert_eq!(written(Version::V3, "move", Amount::I64), v3);
    }

    #[test]
    fn a_probe_has_no_arguments() {
        assert_eq!(Call::probe(Version::V1, "transfer"), b"\0\x08\0\0\0transfer\0\0\0\0\0\0\0\0\0");
        assert_eq!(Call::probe(Version::V3, "transfer"), b"\x03\0\0\0\0\0\x08\0\0\0transfer\0\0\0\0");
    }
}
