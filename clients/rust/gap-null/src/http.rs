//! An HTTP server that reads a request's length and nothing else.

use memchr::memmem;

use crate::declared::Declared;
use crate::server::Options;
use crate::{Handled, Reply, Session};

const COMMITTED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}";
const INSUFFICIENT: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n\
    {\"ok\":false,\"error\":\"insufficient\"}";
const ERROR: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nbroken";
/// The header's name, of which clients write two letters in either case.
const LENGTH: &[u8] = b"content-length:";
const LENGTH_ENDS: &[u8] = b"ength:";

pub struct Http {
    declared: Declared,
}

impl Session for Http {
    fn new(options: &Options) -> Self {
        Self { declared: options.declared.clone() }
    }

    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        let Some(head) = memmem::find(input, b"\r\n\r\n") else { return Handled::Incomplete };
        let consumed = head + 4 + body_bytes(&input[..head]);
        if input.len() < consumed {
            return Handled::Incomplete;
        }
        match answer() {
            Reply::Committed => out.extend_from_slice(self.declared.answer(input, COMMITTED)),
            Reply::Insufficient => out.extend_from_slice(INSUFFICIENT),
            Reply::Error => out.extend_from_slice(ERROR),
            Reply::Silence => {}
            Reply::HangUp => return Handled::HangUp,
            Reply::Twice => {
                let committed = self.declared.answer(input, COMMITTED);
                out.extend_from_slice(committed);
                out.extend_from_slice(committed);
            }
        }
        Handled::Consumed(consumed)
    }
}

#[inline]
fn body_bytes(head: &[u8]) -> usize {
    let is_length = |end: &usize| {
        head[..*end].last_chunk::<{ LENGTH.len() }>().is_some_and(|name| name.eq_ignore_ascii_case(LENGTH))
    };
    let Some(end) = memmem::find_iter(head, LENGTH_ENDS).map(|at| at + LENGTH_ENDS.len()).find(is_length)
    else {
        return 0;
    };
    head[end..]
        .iter()
        .skip_while(|byte| **byte == b' ')
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_however_its_name_is_written() {
        for head in ["Content-Length: 31", "content-length: 31", "content-length:31\r\nX-Length: 7"] {
            assert_eq!(body_bytes(format!("POST / HTTP/1.1\r\n{head}").as_bytes()), 31, "{head}");
        }
        assert_eq!(body_bytes(b"GET / HTTP/1.1\r\nX-Length: 7"), 0);
    }
}
