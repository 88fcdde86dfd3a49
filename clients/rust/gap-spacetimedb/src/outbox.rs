//! Calls on their way out: each in a frame of its own, or all that are ready in one.

use loadgen::{Kind, Operation};

use crate::call::Call;
use crate::websocket::{self, Masks};

/// What is left for a header, whose length depends on the payload's.
const HEADER_BYTES: usize = websocket::LONG_HEADER_BYTES;
/// A payload's length stays within 16 bits.
const PAYLOAD_BYTES_MAX: usize = 65_535;

pub struct Outbox {
    /// One for each kind of the workload.
    calls: Vec<Call>,
    masks: Masks,
    coalesce: bool,
    /// Where the frame begins to which calls are still added.
    open_at: Option<usize>,
}

impl Outbox {
    /// `coalesce`: whether a payload may hold several calls.
    pub fn new(calls: Vec<Call>, coalesce: bool) -> Result<Self, String> {
        Ok(Self { calls, masks: Masks::new()?, coalesce, open_at: None })
    }

    #[inline]
    pub fn call(&mut self, request_id: u32, operation: &impl Operation, out: &mut Vec<u8>) {
        let kind = operation.kind().place();
        let length = self.calls[kind].length(operation);
        if !self.coalesce {
            let mask = self.masks.next();
            let payload_at = websocket::begin_frame(length, mask, out);
            self.calls[kind].write(request_id, operation, out);
            websocket::apply_mask(&mut out[payload_at..], mask);
            return;
        }
        let full = |at| out.len() + length - at > HEADER_BYTES + PAYLOAD_BYTES_MAX;
        if self.open_at.is_some_and(full) {
            self.seal(out);
        }
        if self.open_at.is_none() {
            self.open_at = Some(out.len());
            out.extend_from_slice(&[0; HEADER_BYTES]);
        }
        self.calls[kind].write(request_id, operation, out);
    }

    /// Ends the frame to which calls are added, if there is one.
    #[inline]
    pub fn seal(&mut self, out: &mut Vec<u8>) {
        if let Some(at) = self.open_at.take() {
            websocket::finish_frame(at, self.masks.next(), out);
        }
    }

    pub fn message(&mut self, message: &[u8], out: &mut Vec<u8>) {
        self.seal(out);
        let at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        out.extend_from_slice(message);
        websocket::finish_frame(at, self.masks.next(), out);
    }

    pub fn pong(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.seal(out);
        websocket::write_pong(payload, self.masks.next(), out);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::endpoint::Amount;
    use crate::version::Version;
    use loadgen::{CounterAndMessages, CounterOrMessage, Letters, Transfer, Transfers, Workload};

    const TRANSFER: Transfer = Transfer { source: 1, destination: 2, amount: 3 };

    fn transfer_call() -> Call {
        Call::new(Version::V3, "transfer", Transfers::KINDS[0].fields, Amount::U32)
    }

    /// Payloads of the frames, unmasked.
    fn payloads(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        while let [0x82, second, rest @ ..] = bytes {
            let (length, rest) = match second & 0x7f {
                126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
                short => (usize::from(short), rest),
            };
            let (mask, rest) = rest.split_at(4);
            let (masked, rest) = rest.split_at(length);
            found.push(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect());
            bytes = rest;
        }
        assert!(bytes.is_empty());
        found
    }

    fn outbox(coalesce: bool) -> Outbox {
        Outbox::new(vec![transfer_call()], coalesce).unwrap()
    }

    /// Calls with request ids from 0, as they are sent and as they are written alone.
    fn send(outbox: &mut Outbox, count: u32, out: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let alone = |request_id| {
            let mut call = Vec::new();
            transfer_call().write(request_id, &TRANSFER, &mut call);
            call
        };
        (0..count).for_each(|request_id| outbox.call(request_id, &TRANSFER, out));
        (0..count).map(alone).collect()
    }

    #[test]
    fn what_is_ready_goes_into_one_payload() {
        for count in [1, 2, 3, 4, 40] {
            let (mut outbox, mut out) = (outbox(true), b"\x82\x80abcd".to_vec());
            let sent = send(&mut outbox, count, &mut out);
            outbox.seal(&mut out);
            outbox.seal(&mut out);
            assert_eq!(payloads(&out), [vec![], sent.concat()], "{count} calls");
        }
    }

    #[test]
    fn a_payload_is_ended_before_its_length_needs_more_than_16_bits() {
        let (mut outbox, mut out) = (outbox(true), Vec::new());
        let call_bytes = transfer_call().length(&TRANSFER);
        let sent = send(&mut outbox, (2 * PAYLOAD_BYTES_MAX / call_bytes + 1) as u32, &mut out);
        outbox.seal(&mut out);
        let found = payloads(&out);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|payload| payload.len() % call_bytes == 0));
        assert_eq!(found.concat(), sent.concat());
    }

    #[test]
    fn without_coalescing_each_call_has_its_own_frame() {
        let (mut outbox, mut out) = (outbox(false), Vec::new());
        let sent = send(&mut outbox, 3, &mut out);
        outbox.seal(&mut out);
        assert_eq!(payloads(&out), sent);
    }

    #[test]
    fn a_call_of_any_length_has_a_frame() {
        let calls = || {
            let call = |kind: usize| {
                let facts = &CounterAndMessages::KINDS[kind];
                Call::new(Version::V2, facts.name, facts.fields, Amount::U32)
            };
            vec![call(0), call(1)]
        };
        for length in [1, 90, 100, 1000, 32_768] {
            let body = Letters { start: 1, step: 3, length };
            let said = CounterOrMessage::Message { connection: 5, index: 6, body };
            let mut alone = Vec::new();
            calls()[1].write(9, &said, &mut alone);
            for coalesce in [false, true] {
                let (mut outbox, mut out) = (Outbox::new(calls(), coalesce).unwrap(), Vec::new());
                outbox.call(9, &said, &mut out);
                outbox.seal(&mut out);
                assert_eq!(payloads(&out), [alone.clone()], "{length} letters");
            }
        }
    }

    #[test]
    fn a_pong_stands_between_frames() {
        let (mut outbox, mut out) = (outbox(true), Vec::new());
        let sent = send(&mut outbox, 1, &mut out);
        outbox.pong(b"", &mut out);
        let pong_at = out.len() - 6;
        assert_eq!(payloads(&out[..pong_at]), sent);
        assert_eq!(out[pong_at..pong_at + 2], [0x8A, 0x80]);
    }
}
