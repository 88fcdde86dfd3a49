//! Reading responses without allocation while the server repeats its head.

use std::borrow::Cow;

use loadgen::ClientError;
use memchr::memmem;

const HEAD_BYTES_MAX: usize = 64 * 1024;

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Response<'a> {
    Incomplete,
    /// Another response follows to the same request.
    Interim {
        consumed: usize,
    },
    Final {
        status: u16,
        body: Cow<'a, [u8]>,
        consumed: usize,
    },
}

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

#[derive(Default)]
pub struct Responses {
    /// The last head as bytes: most answers repeat it, so comparing replaces parsing.
    last_bytes: Vec<u8>,
    last: Option<Head>,
}

impl Responses {
    #[inline]
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<Response<'a>, ClientError> {
        let (head, body_at) = match self.last {
            Some(head) if input.starts_with(&self.last_bytes) => (head, self.last_bytes.len()),
            _ => match self.read_head(input)? {
                None => return Ok(Response::Incomplete),
                Some((Head { status: 100..=199, .. }, consumed)) => {
                    return Ok(Response::Interim { consumed })
                }
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
        Ok(body.map_or(Response::Incomplete, |Body { content, consumed }| Response::Final {
            status: head.status,
            body: content,
            consumed: body_at + consumed,
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

    fn whole(status: u16, body: &str, consumed: usize) -> Option<Response<'_>> {
        Some(Response::Final { status, body: Cow::Borrowed(body.as_bytes()), consumed })
    }

    #[test]
    fn a_repeated_head_is_read_as_the_first_and_another_head_anew() {
        let ok = response("200 OK", "done");
        let refused = response("409 Conflict", "not done");
        let mut responses = Responses::default();
        for (input, status, body) in
            [(&ok, 200, "done"), (&ok, 200, "done"), (&refused, 409, "not done"), (&ok, 200, "done")]
        {
            let followed = [&input[..], &ok].concat();
            assert_eq!(responses.decode(&followed).ok(), whole(status, body, input.len()));
        }
    }

    #[test]
    fn every_prefix_of_a_response_is_incomplete() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ok\"\r\n6;x=y\r\n:true}\r\n0\r\nT: v\r\n\r\n";
        for bytes in [response("200 OK", r#"{"ok":true}"#), chunked.to_vec()] {
            let mut repeated = Responses::default();
            assert_eq!(repeated.decode(&bytes).ok(), whole(200, r#"{"ok":true}"#, bytes.len()));
            for length in 0..bytes.len() {
                for responses in [&mut Responses::default(), &mut repeated] {
                    let cut = responses.decode(&bytes[..length]).ok();
                    assert_eq!(cut, Some(Response::Incomplete), "{length} bytes");
                }
            }
        }
    }

    #[test]
    fn an_interim_response_answers_nothing() {
        let mut input = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_vec();
        let interim = input.len();
        input.extend(response("200 OK", r#"{"ok":true}"#));
        assert_eq!(Responses::default().decode(&input).ok(), Some(Response::Interim { consumed: interim }));
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
