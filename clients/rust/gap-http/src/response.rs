//! Reading responses without allocation while the server repeats its head.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Outcome};
use memchr::memmem;
use serde::Deserialize;

const OK: &[u8] = br#"{"ok":true}"#;
const HEAD_BYTES_MAX: usize = 64 * 1024;
const SHOWN_BODY_BYTES: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    framing: Framing,
}

/// The content of the body, and how many bytes it takes in the stream.
struct Body<'a> {
    content: Cow<'a, [u8]>,
    consumed: usize,
}

/// What a body says.
#[derive(Deserialize)]
struct Answer {
    ok: bool,
    error: Option<String>,
    /// How often the server sent the transfer to the database again.
    #[serde(default)]
    retries: u16,
}

#[derive(Default)]
pub struct Responses {
    /// The last head as bytes: most answers repeat it, so comparing replaces parsing.
    last_bytes: Vec<u8>,
    last: Option<Head>,
}

impl Responses {
    #[inline]
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<Decoded<'a>, ClientError> {
        let (head, body_at) = match self.last {
            Some(head) if input.starts_with(&self.last_bytes) => (head, self.last_bytes.len()),
            _ => match self.read_head(input)? {
                None => return Ok(Decoded::Incomplete),
                Some((Head { status: 100..=199, .. }, consumed)) => return Ok(Decoded::Skipped { consumed }),
                Some(read) => read,
            },
        };
        let rest = &input[body_at..];
        let body = match head.framing {
            Framing::Length(length) => {
                rest.get(..length).map(|body| Body { content: Cow::Borrowed(body), consumed: length })
            }
            Framing::Chunked => dechunk(rest)?,
        };
        Ok(body.map_or(Decoded::Incomplete, |Body { content, consumed }| {
            judge(head.status, &content, body_at + consumed)
        }))
    }

    /// The head at the front of `input` and its length; it is remembered if it has a body.
    fn read_head(&mut self, input: &[u8]) -> Result<Option<(Head, usize)>, ClientError> {
        let Some(end) = memmem::find(input, b"\r\n\r\n") else {
            return if input.len() > HEAD_BYTES_MAX { Err(broken("a head above 64 KiB")) } else { Ok(None) };
        };
        let head = parse_head(&input[..end])?;
        let consumed = end + 4;
        if head.status >= 200 {
            self.last_bytes.clear();
            self.last_bytes.extend_from_slice(&input[..consumed]);
            self.last = Some(head);
        }
        Ok(Some((head, consumed)))
    }
}

#[inline]
fn judge(status: u16, body: &[u8], consumed: usize) -> Decoded<'static> {
    if status == 200 && body == OK {
        return Decoded::Reply { consumed, outcome: Outcome::Acknowledged };
    }
    let answer = serde_json::from_slice::<Answer>(body);
    let retries = answer.as_ref().map_or(0, |answer| answer.retries);
    let outcome = match (status, answer) {
        (200, Ok(Answer { ok: true, error: None, .. })) => Outcome::Acknowledged,
        (200, Ok(Answer { ok: false, error: Some(error), .. })) if error == "insufficient" => {
            Outcome::Insufficient
        }
        _ => {
            let shown = &body[..body.len().min(SHOWN_BODY_BYTES)];
            Outcome::Error(Cow::Owned(format!("HTTP {status}: {}", String::from_utf8_lossy(shown))))
        }
    };
    match retries {
        0 => Decoded::Reply { consumed, outcome },
        retries => Decoded::ReplyAfterRetries { consumed, outcome, retries },
    }
}

fn parse_head(head: &[u8]) -> Result<Head, ClientError> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = lines.next().and_then(parse_status).ok_or_else(|| broken("no HTTP/1.1 status line"))?;
    let mut framing = None;
    for line in lines {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let length =
                parse_number(value, 10).ok_or_else(|| broken("a Content-Length that is no number"))?;
            framing = framing.or(Some(Framing::Length(length)));
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(broken("a Transfer-Encoding other than chunked"));
            }
            framing = Some(Framing::Chunked);
        }
    }
    match (status, framing) {
        (100..=199 | 204 | 304, _) => Ok(Head { status, framing: Framing::Length(0) }),
        (_, Some(framing)) => Ok(Head { status, framing }),
        (_, None) => Err(broken("neither Content-Length nor chunks, so that its end cannot be known")),
    }
}

fn parse_status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ")?;
    let code = rest.get(..3)?;
    let ended = matches!(rest.get(3), None | Some(b' '));
    parse_number(code, 10).filter(|_| ended).and_then(|code| u16::try_from(code).ok())
}

fn parse_number(digits: &[u8], radix: u32) -> Option<usize> {
    if !digits.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    std::str::from_utf8(digits).ok().and_then(|digits| usize::from_str_radix(digits, radix).ok())
}

/// The body in the chunks of `input`, or nothing if they are not all there.
fn dechunk(input: &[u8]) -> Result<Option<Body<'_>>, ClientError> {
    let mut content: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    let mut at = 0;
    loop {
        let Some((line, after)) = next_line(input, at) else { return Ok(None) };
        let size = line.split(|byte| *byte == b';').next().unwrap_or(line).trim_ascii();
        let size = parse_number(size, 16).ok_or_else(|| broken("a chunk whose size is no number"))?;
        if size == 0 {
            return Ok(end_of_trailers(input, after).map(|consumed| Body { content, consumed }));
        }
        let Some(chunk) = after.checked_add(size).and_then(|end| input.get(after..end)) else {
            return Ok(None);
        };
        if content.is_empty() {
            content = Cow::Borrowed(chunk);
        } else {
            content.to_mut().extend_from_slice(chunk);
        }
        at = match input.get(after + size..after + size + 2) {
            None => return Ok(None),
            Some(b"\r\n") => after + size + 2,
            Some(_) => return Err(broken("a chunk longer than its size")),
        };
    }
}

fn end_of_trailers(input: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let (line, after) = next_line(input, at)?;
        at = after;
        if line.is_empty() {
            return Some(after);
        }
    }
}

/// The line from `at` on without its end, and where the next one begins.
fn next_line(input: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length = memmem::find(&input[at..], b"\r\n")?;
    Some((&input[at..at + length], at + length + 2))
}

fn broken(what: &str) -> ClientError {
    ClientError::Integrity(format!("the server answered with {what}; it must speak HTTP/1.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\nDate: now\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn outcome(input: &[u8]) -> Outcome<'static> {
        match Responses::default().decode(input) {
            Ok(Decoded::Reply { consumed, outcome }) => {
                assert_eq!(consumed, input.len());
                match outcome {
                    Outcome::Acknowledged => Outcome::Acknowledged,
                    Outcome::Insufficient => Outcome::Insufficient,
                    Outcome::Conflict(text) | Outcome::Error(text) => {
                        Outcome::Error(Cow::Owned(text.into_owned()))
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_ok_true_with_status_200_is_acknowledged() {
        assert_eq!(outcome(&response("200 OK", r#"{"ok":true}"#)), Outcome::Acknowledged);
        assert_eq!(outcome(&response("200 OK", r#"{ "ok" : true }"#)), Outcome::Acknowledged);
        assert_eq!(
            outcome(&response("200 OK", r#"{"ok":false,"error":"insufficient"}"#)),
            Outcome::Insufficient
        );
        for (status, body) in [
            ("200 OK", r#"{"ok":false,"error":"no such account"}"#),
            ("200 OK", r#"{"ok":false}"#),
            ("200 OK", ""),
            ("200 OK", "true"),
            ("201 Created", r#"{"ok":true}"#),
            ("500 Internal Server Error", r#"{"ok":true}"#),
            ("500 Internal Server Error", r#"{"ok":false,"error":"insufficient"}"#),
        ] {
            assert!(matches!(outcome(&response(status, body)), Outcome::Error(_)), "{status} {body}");
        }
    }

    #[test]
    fn retries_of_the_server_come_with_any_outcome() {
        for (status, body, expected) in [
            ("200 OK", r#"{"ok":true,"retries":3}"#, Outcome::Acknowledged),
            ("200 OK", r#"{"ok":false,"error":"insufficient","retries":3}"#, Outcome::Insufficient),
            (
                "500 Internal Server Error",
                r#"{"ok":false,"error":"40001","retries":3}"#,
                Outcome::Error(Cow::Borrowed(r#"HTTP 500: {"ok":false,"error":"40001","retries":3}"#)),
            ),
        ] {
            let input = response(status, body);
            assert_eq!(
                Responses::default().decode(&input).ok(),
                Some(Decoded::ReplyAfterRetries { consumed: input.len(), outcome: expected, retries: 3 })
            );
        }
        assert_eq!(outcome(&response("200 OK", r#"{"ok":true,"retries":0}"#)), Outcome::Acknowledged);
    }

    #[test]
    fn a_repeated_head_is_read_as_the_first_and_another_head_anew() {
        let ok = response("200 OK", r#"{"ok":true}"#);
        let refused = response("200 OK", r#"{"ok":false,"error":"insufficient"}"#);
        let both = [&ok[..], &ok, &refused, &ok].concat();
        let mut responses = Responses::default();
        let mut at = 0;
        for expected in
            [Outcome::Acknowledged, Outcome::Acknowledged, Outcome::Insufficient, Outcome::Acknowledged]
        {
            match responses.decode(&both[at..]) {
                Ok(Decoded::Reply { consumed, outcome }) => {
                    assert_eq!(outcome, expected);
                    at += consumed;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(at, both.len());
    }

    #[test]
    fn every_prefix_of_a_response_is_incomplete() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ok\"\r\n6;x=y\r\n:true}\r\n0\r\nT: v\r\n\r\n";
        for whole in [response("200 OK", r#"{"ok":true}"#), chunked.to_vec()] {
            let mut repeated = Responses::default();
            assert!(matches!(repeated.decode(&whole), Ok(Decoded::Reply { .. })));
            for length in 0..whole.len() {
                assert_eq!(
                    Responses::default().decode(&whole[..length]).ok(),
                    Some(Decoded::Incomplete),
                    "{length} bytes"
                );
                assert_eq!(
                    repeated.decode(&whole[..length]).ok(),
                    Some(Decoded::Incomplete),
                    "{length} bytes"
                );
            }
            assert_eq!(outcome(&whole), Outcome::Acknowledged);
        }
    }

    #[test]
    fn an_interim_response_answers_nothing() {
        let mut input = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_vec();
        let interim = input.len();
        input.extend(response("200 OK", r#"{"ok":true}"#));
        assert_eq!(Responses::default().decode(&input).ok(), Some(Decoded::Skipped { consumed: interim }));
    }

    #[test]
    fn what_cannot_be_framed_breaks_the_client() {
        for head in [
            "HTTP/1.1 200 OK\r\nConnection: close",
            "HTTP/1.1 200 OK\r\nContent-Length: -1",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip",
            "SMTP ready",
        ] {
            let input = format!("{head}\r\n\r\n");
            assert!(
                matches!(Responses::default().decode(input.as_bytes()), Err(ClientError::Integrity(_))),
                "{head}"
            );
        }
    }
}
