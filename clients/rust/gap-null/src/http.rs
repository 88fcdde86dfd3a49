//! An HTTP server that reads a request's length and nothing else.

use memchr::memmem;

use crate::{Handled, Reply, Session};

const COMMITTED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}";
const INSUFFICIENT: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n\
    {\"ok\":false,\"error\":\"insufficient\"}";
const ERROR: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nbroken";
const LENGTH: &[u8] = b"Content-Length: ";

#[derive(Default)]
pub struct Http;

impl Session for Http {
    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        let Some(head) = memmem::find(input, b"\r\n\r\n") else { return Handled::Incomplete };
        let consumed = head + 4 + body_bytes(&input[..head]);
        if input.len() < consumed {
            return Handled::Incomplete;
        }
        match answer() {
            Reply::Committed => out.extend_from_slice(COMMITTED),
            Reply::Insufficient => out.extend_from_slice(INSUFFICIENT),
            Reply::Error => out.extend_from_slice(ERROR),
            Reply::Silence => {}
            Reply::HangUp => return Handled::HangUp,
            Reply::Twice => {
                out.extend_from_slice(COMMITTED);
                out.extend_from_slice(COMMITTED);
            }
        }
        Handled::Consumed(consumed)
    }
}

#[inline]
fn body_bytes(head: &[u8]) -> usize {
    let Some(at) = memmem::find(head, LENGTH) else { return 0 };
    head[at + LENGTH.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
}
