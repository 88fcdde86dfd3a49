//! HTTP/1.1 with keep-alive: a POST per operation; more than one in flight is HTTP pipelining.

mod response;

use std::num::NonZeroU16;

use loadgen::{ClientError, Decoded, HandshakeStream, Operation, Protocol};
use serde::de::{Deserializer, Error};
use serde::Deserialize;

use crate::response::Responses;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    #[serde(default = "default_path", deserialize_with = "request_path")]
    pub path: String,
}

fn default_path() -> String {
    "/transfer".to_owned()
}

fn request_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(path)
    } else {
        Err(D::Error::custom(format!("{path:?} is refused; allowed: / and printable ASCII without spaces")))
    }
}

pub struct Http {
    /// The request up to the value of its Content-Length.
    head: Vec<u8>,
    responses: Responses,
}

impl Protocol for Http {
    const NAME: &'static str = "http";
    type Endpoint = Endpoint;

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    /// HTTP has none: a connection that is up can be used.
    fn handshake(endpoint: &Endpoint, _stream: &mut HandshakeStream) -> Result<Self, String> {
        let Endpoint { host, port, path } = endpoint;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: "
        );
        Ok(Self { head: head.into_bytes(), responses: Responses::default() })
    }

    #[inline]
    fn encode(&mut self, _index: u64, operation: Operation, out: &mut Vec<u8>) {
        let mut digits = [itoa::Buffer::new(), itoa::Buffer::new(), itoa::Buffer::new(), itoa::Buffer::new()];
        let [from, to, amount, length] = &mut digits;
        let from = from.format(operation.source);
        let to = to.format(operation.destination);
        let amount = amount.format(operation.amount);
        let [open, middle, last, close] = BODY;
        let fixed = open.len() + middle.len() + last.len() + close.len();
        let length = length.format(fixed + from.len() + to.len() + amount.len());
        out.extend_from_slice(&self.head);
        for part in [length, "\r\n\r\n", open, from, middle, to, last, amount, close] {
            out.extend_from_slice(part.as_bytes());
        }
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        _oldest: Option<u64>,
        _out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        self.responses.decode(input)
    }
}

const BODY: [&str; 4] = [r#"{"from":"#, r#","to":"#, r#","amount":"#, "}"];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_states_the_length_of_its_body() {
        let mut http =
            Http { head: b"POST / HTTP/1.1\r\nContent-Length: ".to_vec(), responses: Responses::default() };
        for (source, destination, amount) in
            [(1, 2, 3), (99_999, 0, 1000), (2_097_151, 2_097_150, 2_147_483_647)]
        {
            let mut out = Vec::new();
            http.encode(0, Operation { source, destination, amount }, &mut out);
            let text = String::from_utf8(out).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert_eq!(body, format!(r#"{{"from":{source},"to":{destination},"amount":{amount}}}"#));
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        }
    }
}
