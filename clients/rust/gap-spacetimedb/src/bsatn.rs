//! What the messages of all protocol versions are made of: BSATN, little-endian, lengths as u32.

use std::borrow::Cow;

use loadgen::Outcome;

/// Appends bytes behind their length.
pub fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// What a reducer's own refusal means: its text is one of the workload's refusals, or an error.
pub fn judge_failure(text: &[u8], refusals: &[&str]) -> Outcome<'static> {
    Outcome::refused(text, refusals)
        .unwrap_or_else(|| Outcome::Error(Cow::Owned(String::from_utf8_lossy(text).into_owned())))
}

#[inline]
pub fn split_u32(input: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = input.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[inline]
pub fn split_bytes(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split_u32(input)?;
    rest.split_at_checked(length as usize)
}
