//! v1: one `CallReducer` a payload, answered by a `TransactionUpdate`; a failure carries no request id, as in 1.2.0.

use super::{
    first_arguments, frame, split_bytes, AMOUNT_AT, ARGUMENTS_BYTES, BROKEN, COMPRESSION_NONE, INSUFFICIENT,
    NOTHING, NO_ARGUMENTS, OPCODE_BINARY,
};
use crate::Reply;

const CALL_REDUCER: u8 = 0;
const TRANSACTION_UPDATE: u8 = 1;
const FAILED: u8 = 1;

/// IdentityToken: compression, tag, identity, token, connection.
pub const GREETING: &[u8] = b"\0\x03\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x05\0\0\0token\
    \x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02";

/// Answers the call; None ends the connection.
#[inline]
pub fn answer(payload: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Option<()> {
    let (CALL_REDUCER, rest) = payload.split_first().map(|(tag, rest)| (*tag, rest))? else { return None };
    let (_reducer, rest) = split_bytes(rest)?;
    let (arguments, rest) = split_bytes(rest)?;
    let [a, b, c, d, _flags] = *rest else { return None };
    let request_id = u32::from_le_bytes([a, b, c, d]);
    let Some(arguments) = first_arguments(arguments) else {
        failed(NO_ARGUMENTS, &[0; ARGUMENTS_BYTES], out);
        return Some(());
    };
    if arguments[AMOUNT_AT..] == [0; 4] {
        failed(NOTHING, arguments, out);
        return Some(());
    }
    match answer() {
        Reply::Committed => committed(request_id, arguments, out),
        Reply::Insufficient => failed(INSUFFICIENT, arguments, out),
        Reply::Error => failed(BROKEN, arguments, out),
        Reply::Silence => {}
        Reply::HangUp => return None,
        Reply::Twice => {
            committed(request_id, arguments, out);
            committed(request_id, arguments, out);
        }
    }
    Some(())
}

/// TransactionUpdate with the status Committed and no rows: header, compression, tag, status, tables; the rest is
/// time, identity, connection, reducer name and number, arguments, request id, energy, duration.
const COMMITTED: [u8; 125] = {
    let mut bytes = [0; 125];
    bytes[0] = OPCODE_BINARY;
    bytes[1] = 123;
    bytes[3] = TRANSACTION_UPDATE;
    bytes[65] = 8;
    let name = b"transfer";
    let mut at = 0;
    while at < name.len() {
        bytes[69 + at] = name[at];
        at += 1;
    }
    bytes[81] = 12;
    bytes
};
const ARGUMENTS_AT: usize = 85;
const REQUEST_ID_AT: usize = ARGUMENTS_AT + ARGUMENTS_BYTES;
const AFTER_STATUS_AT: usize = 9;

#[inline]
fn committed(request_id: u32, arguments: &[u8; ARGUMENTS_BYTES], out: &mut Vec<u8>) {
    let mut answer = COMMITTED;
    answer[ARGUMENTS_AT..REQUEST_ID_AT].copy_from_slice(arguments);
    answer[REQUEST_ID_AT..REQUEST_ID_AT + 4].copy_from_slice(&request_id.to_le_bytes());
    out.extend_from_slice(&answer);
}

fn failed(text: &str, arguments: &[u8; ARGUMENTS_BYTES], out: &mut Vec<u8>) {
    let mut answer = COMMITTED;
    answer[ARGUMENTS_AT..REQUEST_ID_AT].copy_from_slice(arguments);
    let status = [COMPRESSION_NONE, TRANSACTION_UPDATE, FAILED];
    let length = (text.len() as u32).to_le_bytes();
    frame(&[&status[..], &length, text.as_bytes(), &answer[AFTER_STATUS_AT..]].concat(), out);
}
