//! HTTP/1.1 as the module of a plant declares it: `POST /increment` and `POST /message`, with the knobs in the header
//! `Database`.

use gap_delay::Nanoseconds;
use memchr::memmem;
use serde::Deserialize;

use crate::plant::{Operation, Plant};
use crate::session::Step;

const HEAD_MAX_BYTES: usize = 16 * 1024;
const BODY_MAX_BYTES: usize = 64 * 1024;
const BLANK_LINE: &[u8] = b"\r\n\r\n";

const OK: &str = "200 OK";
const BAD_REQUEST: &str = "400 Bad Request";
const NOT_FOUND: &str = "404 Not Found";
const DONE: &str = r#"{"ok":true}"#;

#[derive(Default)]
pub struct Session {
    /// The database that this connection has asked for.
    joined: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Increment {
    counter: u32,
    amount: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    connection: u32,
    index: u64,
    body: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Head<'a> {
    path: &'a str,
    database: &'a str,
    body_bytes: usize,
}

/// A status line and the words for people.
struct Refusal(&'static str, String);

impl Session {
    /// Reads one request from the front of `input`.
    pub fn handle(&mut self, input: &[u8], now: Nanoseconds, plant: &mut Plant, out: &mut Vec<u8>) -> Step {
        let Some(head_bytes) = memmem::find(input, BLANK_LINE) else {
            return if input.len() > HEAD_MAX_BYTES {
                close(out, &format!("the head is longer than {HEAD_MAX_BYTES} bytes"))
            } else {
                Step::Incomplete
            };
        };
        let head = match Head::parse(&input[..head_bytes]) {
            Ok(head) => head,
            Err(refusal) => return close(out, &refusal),
        };
        let body_at = head_bytes + BLANK_LINE.len();
        let consumed = body_at + head.body_bytes;
        let Some(body) = input.get(body_at..consumed) else { return Step::Incomplete };
        match self.run(&head, body, now, plant) {
            Ok(due) => {
                write(out, OK, DONE);
                Step::Answered { consumed, due }
            }
            Err((Refusal(status, words), due)) => {
                refuse(out, status, &words);
                Step::Answered { consumed, due }
            }
        }
    }

    /// When the answer is due; what was refused before it reached the machine takes no time.
    fn run(
        &mut self,
        head: &Head<'_>,
        body: &[u8],
        now: Nanoseconds,
        plant: &mut Plant,
    ) -> Result<Nanoseconds, (Refusal, Nanoseconds)> {
        let operation = read_operation(head.path, body).map_err(|refusal| (refusal, now))?;
        self.join(head.database, now, plant).map_err(|words| (Refusal(BAD_REQUEST, words), now))?;
        let (done, due) = plant.run(operation, now);
        done.map(|()| due).map_err(|words| (Refusal(BAD_REQUEST, words), due))
    }

    fn join(&mut self, database: &str, now: Nanoseconds, plant: &mut Plant) -> Result<(), String> {
        if self.joined.as_deref() != Some(database) {
            plant.join(database, now)?;
            self.joined = Some(database.to_owned());
        }
        Ok(())
    }
}

impl<'a> Head<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the head is no text")?;
        let mut lines = text.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let ["POST", path, "HTTP/1.1"] = words[..] else {
            return Err("a plant knows POST and HTTP/1.1 only".to_owned());
        };
        let mut head = Self { path, ..Self::default() };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let length = value.parse().ok().filter(|length| *length <= BODY_MAX_BYTES);
                let allowed =
                    || format!("content-length: {value:?} is refused; allowed: 0 to {BODY_MAX_BYTES}");
                head.body_bytes = length.ok_or_else(allowed)?;
            } else if name.eq_ignore_ascii_case("database") {
                head.database = value;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err("a plant reads bodies with a Content-Length only".to_owned());
            }
        }
        Ok(head)
    }
}

fn read_operation(path: &str, body: &[u8]) -> Result<Operation, Refusal> {
    let unread = |error: serde_json::Error| Refusal(BAD_REQUEST, format!("{path}: {error}"));
    match path {
        "/increment" => {
            let Increment { counter, amount } = serde_json::from_slice(body).map_err(unread)?;
            Ok(Operation::Increment { counter, amount })
        }
        "/message" => {
            let Message { connection, index, body } = serde_json::from_slice(body).map_err(unread)?;
            Ok(Operation::Message { connection, index, body })
        }
        _ => Err(Refusal(NOT_FOUND, format!("{path} is not served; there are POST /increment and /message"))),
    }
}

/// Where the next request begins cannot be known.
fn close(out: &mut Vec<u8>, words: &str) -> Step {
    refuse(out, BAD_REQUEST, words);
    Step::Closed
}

fn refuse(out: &mut Vec<u8>, status: &str, words: &str) {
    write(out, status, &serde_json::json!({ "ok": false, "error": words }).to_string());
}

fn write(out: &mut Vec<u8>, status: &str, body: &str) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(path: &str, database: &str, body: &str) -> Vec<u8> {
        format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\ndatabase: {database}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    fn seeded() -> Plant {
        let mut plant = Plant::default();
        let tables =
            r#"{"counters":{"id":[0,1],"value":[0,0]},"messages":{"connection":[],"index":[],"body":[]}}"#;
        plant.seed(1, tables).unwrap();
        plant
    }

    fn answered(plant: &mut Plant, input: &[u8], now: Nanoseconds) -> (String, Option<Nanoseconds>) {
        let mut out = Vec::new();
        let step = Session::default().handle(input, now, plant, &mut out);
        let due = match step {
            Step::Answered { consumed, due } => {
                assert_eq!(consumed, input.len());
                Some(due)
            }
            _ => None,
        };
        (String::from_utf8(out).unwrap(), due)
    }

    #[test]
    fn an_operation_is_done_and_its_answer_due_when_the_machine_says() {
        let mut plant = seeded();
        let increment = request("/increment", "plant service_us=100", r#"{"counter":1,"amount":2}"#);
        for due in [100_000, 200_000] {
            let (answer, at) = answered(&mut plant, &increment, 0);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(DONE), "{answer}");
            assert_eq!(at, Some(due));
        }
        assert_eq!(plant.table("counters").unwrap(), r#"{"id":[0,1],"value":[0,4]}"#);
        assert_eq!(plant.committed(), 2);
    }

    #[test]
    fn every_prefix_of_a_request_is_incomplete_and_what_follows_is_left() {
        let whole = request("/message", "plant", r#"{"connection":1,"index":2,"body":"a\"b"}"#);
        for bytes in 1..whole.len() {
            let step = Session::default().handle(&whole[..bytes], 0, &mut seeded(), &mut Vec::new());
            assert!(matches!(step, Step::Incomplete), "{bytes}");
        }
        let mut plant = seeded();
        let two = [whole.clone(), request("/increment", "plant", r#"{"counter":0,"amount":1}"#)].concat();
        let step = Session::default().handle(&two, 0, &mut plant, &mut Vec::new());
        assert!(matches!(step, Step::Answered { consumed, .. } if consumed == whole.len()));
        let messages = r#"{"connection":[1],"index":[2],"body":["a\"b"]}"#;
        assert_eq!(plant.table("messages").unwrap(), messages);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (path, database, body, words) in [
            ("/transfer", "plant", "{}", "/transfer is not served"),
            ("/increment", "plant", "[1,1]x", "/increment: "),
            ("/increment", "plant", r#"{"counter":-1,"amount":1}"#, "/increment: invalid value"),
            ("/increment", "plant", r#"{"counter":2,"amount":1}"#, "counter 2 does not exist"),
            ("/increment", "", r#"{"counter":0,"amount":1}"#, "is no plant"),
            ("/increment", "plant lanes=0", r#"{"counter":0,"amount":1}"#, "lanes: "),
        ] {
            let (answer, due) = answered(&mut seeded(), &request(path, database, body), 0);
            assert!(answer.starts_with("HTTP/1.1 40") && answer.contains(words), "{answer}");
            assert!(due.is_some());
        }
    }

    #[test]
    fn what_has_no_known_end_closes_the_connection() {
        for (input, words) in [
            ("GET / HTTP/1.1\r\n\r\n", "POST and HTTP/1.1 only"),
            ("POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n", "allowed: 0 to"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "Content-Length only"),
            (&"x".repeat(HEAD_MAX_BYTES + 1), "the head is longer"),
        ] {
            let (answer, due) = answered(&mut seeded(), input.as_bytes(), 0);
            assert!(answer.contains(words), "{answer}");
            assert_eq!(due, None);
        }
    }
}
