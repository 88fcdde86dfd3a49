//! From a TCP connection to a WebSocket on which the reducer is known to exist.

use base64::prelude::{Engine, BASE64_STANDARD};
use loadgen::{HandshakeStream, Outcome};
use memchr::memmem;
use sha1::{Digest, Sha1};

use crate::inbox::{Inbound, Inbox};
use crate::outbox::Outbox;
use crate::version::Version;
use crate::Endpoint;

/// RFC 6455, section 1.3.
const ACCEPT_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const UNKNOWN_REDUCER: &str = "no such reducer";
const SHOWN_CHARACTERS: usize = 300;

/// Opens the WebSocket; the version that the server picked.
pub fn upgrade(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<Version, String> {
    let key = random_key()?;
    stream.send(request(endpoint, &key).as_bytes())?;
    let end = loop {
        if let Some(end) = memmem::find(stream.unread(), b"\r\n\r\n") {
            break end;
        }
        stream.fill()?;
    };
    let head = String::from_utf8_lossy(&stream.unread()[..end]).into_owned();
    if !head.starts_with("HTTP/1.1 101") {
        return Err(format!(
            "database {:?}: no WebSocket: {}",
            endpoint.database,
            refusal(&head, stream, end + 4)
        ));
    }
    let expected = accept_for(&key);
    if header(&head, "sec-websocket-accept") != Some(&expected) {
        return Err("the server's Sec-WebSocket-Accept does not fit the key".to_owned());
    }
    let picked = header(&head, "sec-websocket-protocol").unwrap_or("none");
    let version = endpoint.newest.picked(picked).ok_or_else(|| {
        format!("the server picked the subprotocol {picked:?}; offered: {}", endpoint.newest.offer())
    })?;
    stream.consume(end + 4);
    Ok(version)
}

/// Calls the reducer without arguments: the refusal says whether there is one, and nothing is run.
pub fn check_reducer(
    probe: &[u8],
    reducer: &str,
    inbox: &mut Inbox,
    outbox: &mut Outbox,
    stream: &mut HandshakeStream,
) -> Result<(), String> {
    let mut out = Vec::new();
    outbox.message(probe, &mut out);
    loop {
        stream.send(&out)?;
        out.clear();
        let consumed = match inbox.next(stream.unread())? {
            Inbound::Incomplete => {
                stream.fill()?;
                continue;
            }
            Inbound::Skipped { consumed } => consumed,
            Inbound::Ping { consumed, payload } => {
                outbox.pong(payload, &mut out);
                consumed
            }
            Inbound::Close { reason } => return Err(reason),
            Inbound::Answer { consumed, outcome: Outcome::Error(text), .. }
                if !text.contains(UNKNOWN_REDUCER) =>
            {
                stream.consume(consumed);
                return Ok(());
            }
            Inbound::Answer { .. } => {
                return Err(format!("the database has no reducer {reducer}; publish the module"))
            }
        };
        stream.consume(consumed);
    }
}

/// Status line and body. Other headers stay out of the message: the server returns a token in them.
fn refusal(head: &str, stream: &HandshakeStream, body_at: usize) -> String {
    let status = head.lines().next().unwrap_or_default();
    let body = String::from_utf8_lossy(&stream.unread()[body_at..]);
    let shown: String = body.trim().chars().take(SHOWN_CHARACTERS).collect();
    format!("{status} {shown}").trim_end().to_owned()
}

fn request(endpoint: &Endpoint, key: &str) -> String {
    let Endpoint { host, port, database, token, confirmed, newest, .. } = endpoint;
    let offer = newest.offer();
    format!(
        "GET /v1/database/{database}/subscribe?compression=None&confirmed={confirmed} HTTP/1.1\r\n\
         Host: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {offer}\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    )
}

fn random_key() -> Result<String, String> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| format!("no randomness: {error}"))?;
    Ok(BASE64_STANDARD.encode(nonce))
}

fn accept_for(key: &str) -> String {
    BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(ACCEPT_GUID).finalize())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_of_the_standards_own_example() {
        assert_eq!(accept_for("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
