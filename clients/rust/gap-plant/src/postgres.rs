//! Postgres' protocol without a password or a planner: one statement, `SELECT transfer(...)`, in both formats.

use gap_delay::Nanoseconds;

use crate::bank::Outcome;
use crate::plant::Plant;
use crate::session::Step;

const HEADER_BYTES: usize = 5;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_ENCRYPTION_REQUEST: u32 = 80_877_104;
const PROTOCOL_MAJOR: u32 = 3;
const MESSAGE_MAX_BYTES: usize = 64 * 1024;
const BINARY: u16 = 1;

/// AuthenticationOk and ReadyForQuery.
const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
/// ParameterDescription of three int4, RowDescription of one.
const PARAMETERS: &[u8] = b"t\0\0\0\x12\0\x03\0\0\0\x17\0\0\0\x17\0\0\0\x17";
const COLUMNS: &[u8] = b"T\0\0\0\x21\0\x01transfer\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
const BINARY_ROW: &[u8] = b"D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0";
const TEXT_ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01";
const COMMAND_COMPLETE: &[u8] = b"C\0\0\0\x0dSELECT 1\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

const PROTOCOL_VIOLATION: &str = "08P01";
const INVALID_DATABASE: &str = "3D000";
const SYNTAX_ERROR: &str = "42601";
const RAISED: &str = "P0001";

#[derive(Default)]
pub struct Session {
    started: bool,
    /// An error was said; all messages up to Sync are passed over.
    failed: bool,
    bound: Option<Call>,
    /// When the latest transfer since the last Sync is done.
    due: Nanoseconds,
}

struct Call {
    transfer: [i32; 3],
    binary_result: bool,
}

impl Session {
    /// Reads one message from the front of `input`.
    pub fn handle(&mut self, input: &[u8], now: Nanoseconds, plant: &mut Plant, out: &mut Vec<u8>) -> Step {
        if !self.started {
            return self.start(input, now, plant, out);
        }
        let [tag, a, b, c, d, ..] = input else { return Step::Incomplete };
        let consumed = u32::from_be_bytes([*a, *b, *c, *d]) as usize + 1;
        if !(HEADER_BYTES..=MESSAGE_MAX_BYTES).contains(&consumed) {
            return close(out, PROTOCOL_VIOLATION, "a message's length cannot be");
        }
        let Some(body) = input.get(HEADER_BYTES..consumed) else { return Step::Incomplete };
        match tag {
            b'S' => {
                out.extend_from_slice(READY);
                self.failed = false;
                return Step::Answered { consumed, due: std::mem::take(&mut self.due).max(now) };
            }
            b'Q' => {
                refuse(out, SYNTAX_ERROR, "a plant knows the extended protocol only");
                out.extend_from_slice(READY);
                return Step::Answered { consumed, due: now };
            }
            b'X' => return Step::Closed,
            _ if self.failed => return Step::Consumed(consumed),
            b'P' if !is_the_call(body) => {
                self.fail(out, SYNTAX_ERROR, "a plant knows one statement, SELECT transfer($1, $2, $3)");
            }
            b'P' => out.extend_from_slice(PARSE_COMPLETE),
            b'D' => {
                if body.first() == Some(&b'S') {
                    out.extend_from_slice(PARAMETERS);
                }
                out.extend_from_slice(COLUMNS);
            }
            b'B' => match Call::parse(body) {
                Some(call) => {
                    self.bound = Some(call);
                    out.extend_from_slice(BIND_COMPLETE);
                }
                None => self.fail(out, PROTOCOL_VIOLATION, "Bind holds no three int4"),
            },
            b'E' => match self.bound.take() {
                Some(call) => self.execute(&call, now, plant, out),
                None => self.fail(out, PROTOCOL_VIOLATION, "Execute without Bind"),
            },
            b'C' => out.extend_from_slice(CLOSE_COMPLETE),
            b'H' => {}
            _ => return close(out, PROTOCOL_VIOLATION, "a message is of no kind that a plant knows"),
        }
        Step::Consumed(consumed)
    }

    fn start(&mut self, input: &[u8], now: Nanoseconds, plant: &mut Plant, out: &mut Vec<u8>) -> Step {
        let [a, b, c, d, v, w, x, y, ..] = input else { return Step::Incomplete };
        let consumed = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if !(8..=MESSAGE_MAX_BYTES).contains(&consumed) {
            return close(out, PROTOCOL_VIOLATION, "this is no startup message");
        }
        let Some(body) = input.get(8..consumed) else { return Step::Incomplete };
        match u32::from_be_bytes([*v, *w, *x, *y]) {
            SSL_REQUEST | GSS_ENCRYPTION_REQUEST => out.push(b'N'),
            version if version >> 16 == PROTOCOL_MAJOR => {
                let database = parameter(body, "database").unwrap_or_default();
                if let Err(refusal) = plant.join(&database, now) {
                    return close(out, INVALID_DATABASE, &refusal);
                }
                self.started = true;
                out.extend_from_slice(LOGGED_IN);
            }
            _ => return close(out, PROTOCOL_VIOLATION, "a plant speaks protocol 3 only"),
        }
        Step::Answered { consumed, due: now }
    }

    fn execute(&mut self, call: &Call, now: Nanoseconds, plant: &mut Plant, out: &mut Vec<u8>) {
        let (outcome, due) = plant.transfer(call.transfer, now);
        self.due = self.due.max(due);
        let result = match outcome {
            Ok(Outcome::Transferred) => 1,
            Ok(Outcome::Insufficient) => 0,
            Err(refusal) => return self.fail(out, RAISED, &refusal.to_string()),
        };
        if call.binary_result {
            out.extend_from_slice(BINARY_ROW);
            out.push(result);
        } else {
            out.extend_from_slice(TEXT_ROW);
            out.push(b'0' + result);
        }
        out.extend_from_slice(COMMAND_COMPLETE);
    }

    fn fail(&mut self, out: &mut Vec<u8>, code: &str, text: &str) {
        self.failed = true;
        refuse(out, code, text);
    }
}

impl Call {
    /// The body of Bind: portal, statement, formats, three values, formats of the result.
    fn parse(body: &[u8]) -> Option<Self> {
        let mut rest = Fields(body);
        rest.text()?;
        rest.text()?;
        let formats = rest.formats()?;
        if rest.u16()? != 3 {
            return None;
        }
        let mut transfer = [0; 3];
        for (place, value) in transfer.iter_mut().enumerate() {
            let length = rest.u32()? as usize;
            let bytes = rest.take(length)?;
            // No format means text for all, one format is for all.
            *value = match formats.get(place).or(formats.first()) {
                Some(&BINARY) => i32::from_be_bytes(bytes.try_into().ok()?),
                _ => std::str::from_utf8(bytes).ok()?.parse().ok()?,
            };
        }
        Some(Self { transfer, binary_result: rest.formats()?.first() == Some(&BINARY) })
    }
}

/// Reads a message's fields from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn formats(&mut self) -> Option<Vec<u16>> {
        (0..self.u16()?).map(|_| self.u16()).collect()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        self.take(end + 1).map(|text| &text[..end])
    }
}

/// The body of Parse: the statement's name, then its text.
fn is_the_call(body: &[u8]) -> bool {
    let mut fields = Fields(body);
    let query = fields.text().and_then(|_| fields.text()).unwrap_or_default();
    let words: String = String::from_utf8_lossy(query).split_whitespace().collect();
    words.to_ascii_lowercase().starts_with("selecttransfer($1")
}

/// A parameter of the startup message: names and values by turns, each ended by a zero.
fn parameter(body: &[u8], name: &str) -> Option<String> {
    let mut fields = Fields(body);
    loop {
        let (key, value) = (fields.text()?, fields.text()?);
        if key == name.as_bytes() {
            return Some(String::from_utf8_lossy(value).into_owned());
        }
    }
}

fn refuse(out: &mut Vec<u8>, code: &str, text: &str) {
    error(out, "ERROR", code, text);
}

fn close(out: &mut Vec<u8>, code: &str, text: &str) -> Step {
    error(out, "FATAL", code, text);
    Step::Closed
}

fn error(out: &mut Vec<u8>, severity: &str, code: &str, text: &str) {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0");
    out.push(b'E');
    out.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(fields.as_bytes());
}
