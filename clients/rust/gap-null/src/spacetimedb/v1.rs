//! v1: one `CallReducer` a payload, answered by a `TransactionUpdate`; a failure carries no request id, as in 1.2.0.

use super::{begin_frame, split_bytes, BROKEN, COMPRESSION_NONE, INSUFFICIENT, NO_ARGUMENTS};
use crate::Reply;

const CALL_REDUCER: u8 = 0;
const TRANSACTION_UPDATE: u8 = 1;
const COMMITTED: u8 = 0;
const FAILED: u8 = 1;

/// IdentityToken: compression, tag, identity, token, connection.
pub const GREETING: &[u8] = b"\0\x03\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\
    \x05\0\0\0token\
    \x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02";

/// Time, identity, connection; energy, duration.
const BEFORE_REDUCER: [u8; 8 + 32 + 16] = [0; 8 + 32 + 16];
const AFTER_REQUEST_ID: [u8; 16 + 8] = [0; 16 + 8];
const REDUCER_ID: [u8; 4] = [0; 4];

/// A call as it came, to be said again in its answer.
struct Call<'a> {
    /// Behind its length, as are the arguments.
    reducer: &'a [u8],
    arguments: &'a [u8],
    request_id: [u8; 4],
}

/// Answers the call; None ends the connection.
#[inline]
pub fn answer(payload: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Option<()> {
    let (CALL_REDUCER, start) = payload.split_first().map(|(tag, rest)| (*tag, rest))? else { return None };
    let (_name, rest) = split_bytes(start)?;
    let (arguments, end) = split_bytes(rest)?;
    let [a, b, c, d, _flags] = *end else { return None };
    let call = Call {
        reducer: &start[..start.len() - rest.len()],
        arguments: &rest[..rest.len() - end.len()],
        request_id: [a, b, c, d],
    };
    if arguments.is_empty() {
        failed(NO_ARGUMENTS, &call, out);
        return Some(());
    }
    match answer() {
        Reply::Committed => committed(&call, out),
        Reply::Insufficient => failed(INSUFFICIENT, &call, out),
        Reply::Error => failed(BROKEN, &call, out),
        Reply::Silence => {}
        Reply::HangUp => return None,
        Reply::Twice => {
            committed(&call, out);
            committed(&call, out);
        }
    }
    Some(())
}

/// TransactionUpdate with the status Committed and no rows of any table.
#[inline]
fn committed(call: &Call<'_>, out: &mut Vec<u8>) {
    update(&[COMMITTED, 0, 0, 0, 0], call, call.request_id, out);
}

/// A failure carries no request id.
fn failed(text: &str, call: &Call<'_>, out: &mut Vec<u8>) {
    let status = [&[FAILED][..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    update(&status, call, [0; 4], out);
}

#[inline]
fn update(status: &[u8], call: &Call<'_>, request_id: [u8; 4], out: &mut Vec<u8>) {
    let Call { reducer, arguments, .. } = call;
    let parts = [
        &[COMPRESSION_NONE, TRANSACTION_UPDATE][..],
        status,
        &BEFORE_REDUCER,
        reducer,
        &REDUCER_ID,
        arguments,
        &request_id,
        &AFTER_REQUEST_ID,
    ];
    begin_frame(parts.iter().map(|part| part.len()).sum(), out);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
