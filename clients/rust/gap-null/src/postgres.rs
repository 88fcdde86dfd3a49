//! Postgres without a password, a planner or a table.
//!
//! An operation is a call of a function that returns a status; a transfer is also five statements, or one of many in a
//! batch. Statements are known by how their text begins; parameters and results are binary or text as the client asks.

use crate::server::Options;
use crate::{Handled, Reply, Session};

const HEADER_BYTES: usize = 5;
const SSL_REQUEST: u32 = 80_877_103;

const INT4_OID: u32 = 23;
const INT8_OID: u32 = 20;
const TEXT_OID: u32 = 25;
const INT4_ARRAY_OID: u32 = 1007;
/// The balance of every account, so that no transfer falls short.
const BALANCE: i64 = 1_000_000_000_000;

/// AuthenticationOk and ReadyForQuery.
const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
const NO_DATA: &[u8] = b"n\0\0\0\x04";
const READY: &[u8] = b"Z\0\0\0\x05I";

const DONE: &[u8] = b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x01C\0\0\0\x0dSELECT 1\0";
const INSUFFICIENT: &[u8] = b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\0C\0\0\0\x0dSELECT 1\0";
const DEADLOCK: &[u8] = b"2\0\0\0\x04E\0\0\0\x2dSERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0";

/// What a statement does, told from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    /// A function that is the whole operation.
    #[default]
    Call,
    /// A function that takes arrays of transfers.
    Batch,
    Begin,
    /// Reads and locks the two accounts.
    Lock,
    Update,
    Commit,
    Rollback,
}

impl Kind {
    fn of(sql: &[u8]) -> Self {
        let sql = sql.to_ascii_lowercase();
        match sql.as_slice() {
            [b'b', b'e', b'g', b'i', b'n', ..] => Self::Begin,
            [b'c', b'o', b'm', b'm', b'i', b't', ..] => Self::Commit,
            [b'r', b'o', b'l', b'l', ..] => Self::Rollback,
            [b'u', b'p', b'd', b'a', b't', b'e', ..] => Self::Update,
            sql if memchr::memmem::find(sql, b"_batch(").is_some() => Self::Batch,
            sql if memchr::memmem::find(sql, b"balance").is_some() => Self::Lock,
            _ => Self::Call,
        }
    }

    fn parameters(self, sql: &[u8]) -> Vec<u32> {
        match self {
            Self::Call => (1..).map_while(|number| cast_of(sql, number)).collect(),
            Self::Batch => vec![INT4_ARRAY_OID; 3],
            Self::Lock => vec![INT4_OID; 2],
            Self::Update => vec![INT8_OID, INT4_OID],
            Self::Begin | Self::Commit | Self::Rollback => Vec::new(),
        }
    }

    fn columns(self) -> &'static [(&'static str, u32)] {
        match self {
            Self::Call => &[("transfer", INT4_OID)],
            Self::Batch => &[("transfer_batch", INT4_ARRAY_OID)],
            Self::Lock => &[("id", INT4_OID), ("balance", INT8_OID)],
            Self::Begin | Self::Update | Self::Commit | Self::Rollback => &[],
        }
    }

    /// CommandComplete's tag.
    fn command(self) -> &'static [u8] {
        match self {
            Self::Call | Self::Batch => b"SELECT 1\0",
            Self::Begin => b"BEGIN\0",
            Self::Lock => b"SELECT 2\0",
            Self::Update => b"UPDATE 1\0",
            Self::Commit => b"COMMIT\0",
            Self::Rollback => b"ROLLBACK\0",
        }
    }
}

/// The type of a parameter, as the statement casts it; int4 without a cast. None where there is no such parameter.
fn cast_of(sql: &[u8], number: usize) -> Option<u32> {
    let placeholder = format!("${number}");
    let at = memchr::memmem::find(sql, placeholder.as_bytes())?;
    let rest = &sql[at + placeholder.len()..];
    Some(match rest {
        [b':', b':', b'i', b'n', b't', b'8', ..] => INT8_OID,
        [b':', b':', b't', b'e', b'x', b't', ..] => TEXT_OID,
        _ => INT4_OID,
    })
}

#[derive(Default)]
pub struct Postgres {
    started: bool,
    statements: Vec<Statement>,
    /// Whether all statements are calls of [`Kind::Call`].
    only_calls: bool,
    portal: Portal,
    transaction: Transaction,
}

struct Statement {
    name: Vec<u8>,
    kind: Kind,
    /// Types of its parameters.
    parameters: Vec<u32>,
}

/// What was bound last.
#[derive(Default)]
struct Portal {
    kind: Kind,
    binary_results: bool,
    /// The two accounts of [`Kind::Lock`].
    accounts: [u32; 2],
    /// How many transfers [`Kind::Batch`] carries.
    transfers: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Transaction {
    #[default]
    None,
    Open,
    Failed,
}

impl Session for Postgres {
    fn new(_options: &Options) -> Self {
        Self::default()
    }

    #[inline]
    fn handle(&mut self, input: &[u8], answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
        if !self.started {
            return self.start(input, out);
        }
        let Some(length) = message_bytes(input) else { return Handled::Incomplete };
        let body = &input[HEADER_BYTES..length];
        match input[0] {
            b'P' => {
                self.parse(body);
                out.extend_from_slice(PARSE_COMPLETE);
            }
            b'D' => self.describe(body, out),
            // Nothing to find out where the one thing prepared is a call with a binary result.
            b'B' if self.only_calls && body.ends_with(&[0, 1, 0, 1]) => self.portal.binary_results = true,
            b'B' => {
                let Some(portal) = self.bind(body) else { return Handled::HangUp };
                self.portal = portal;
            }
            b'S' => self.ready(out),
            b'Q' => {
                self.only_calls = false;
                self.portal = Portal { kind: Kind::of(body), ..Portal::default() };
                self.complete(out);
                self.ready(out);
            }
            b'E' => return self.execute(input, length, answer, out),
            b'X' => return Handled::HangUp,
            _ => {}
        }
        Handled::Consumed(length)
    }
}

impl Postgres {
    fn start(&mut self, input: &[u8], out: &mut Vec<u8>) -> Handled {
        let [a, b, c, d, v, w, x, y, ..] = input else { return Handled::Incomplete };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if input.len() < length {
            return Handled::Incomplete;
        }
        if u32::from_be_bytes([*v, *w, *x, *y]) == SSL_REQUEST {
            out.push(b'N');
        } else {
            self.started = true;
            out.extend_from_slice(LOGGED_IN);
        }
        Handled::Consumed(length)
    }

    fn parse(&mut self, body: &[u8]) {
        let Some((name, rest)) = split_text(body) else { return };
        let kind = Kind::of(rest);
        let sql = split_text(rest).map_or(rest, |(sql, _types)| sql);
        let statement = Statement { name: name.to_vec(), kind, parameters: kind.parameters(sql) };
        match self.statements.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = statement,
            None => self.statements.push(statement),
        }
        self.only_calls = self.statements.iter().all(|statement| statement.kind == Kind::Call);
    }

    #[inline]
    fn kind_of(&self, name: &[u8]) -> Kind {
        self.statements.iter().find(|known| known.name == name).map_or(Kind::Call, |known| known.kind)
    }

    /// ParameterDescription of a statement, whose formats are not yet known, and RowDescription or NoData.
    fn describe(&self, body: &[u8], out: &mut Vec<u8>) {
        let (kind, binary) = match split_text(body.get(1..).unwrap_or_default()) {
            Some((name, _)) if body[0] == b'S' => {
                let statement = self.statements.iter().find(|known| known.name == name);
                let kind = statement.map_or(Kind::Call, |known| known.kind);
                let parameters = statement.map(|known| &known.parameters[..]).unwrap_or_default();
                message(b't', out, |out| {
                    out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
                    parameters.iter().for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
                });
                (kind, false)
            }
            _ => (self.portal.kind, self.portal.binary_results),
        };
        let columns = kind.columns();
        if columns.is_empty() {
            out.extend_from_slice(NO_DATA);
            return;
        }
        message(b'T', out, |out| {
            out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
            for (name, oid) in columns {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"\0\0\0\0\0\0\0");
                out.extend_from_slice(&oid.to_be_bytes());
                out.extend_from_slice(b"\0\x04\xff\xff\xff\xff\0");
                out.push(u8::from(binary));
            }
        });
    }

    /// Portal, statement, formats of the parameters, parameters, formats of the results.
    #[inline]
    fn bind(&self, body: &[u8]) -> Option<Portal> {
        let (_portal, rest) = split_text(body)?;
        let (statement, rest) = split_text(rest)?;
        let kind = self.kind_of(statement);
        let (formats, mut rest) = split_count(rest)?;
        let binary = formats > 0 && rest.get(1) == Some(&1);
        rest = rest.get(formats * 2..)?;
        let (parameters, mut rest) = split_count(rest)?;
        let mut portal = Portal { kind, ..Portal::default() };
        for number in 0..parameters {
            let (length, after) = rest.split_first_chunk::<4>()?;
            // -1 is a null, which has no bytes.
            let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
            let (value, after) = after.split_at_checked(length)?;
            rest = after;
            match kind {
                Kind::Lock => *portal.accounts.get_mut(number)? = account(value, binary)?,
                Kind::Batch if number == 0 => portal.transfers = elements(value, binary),
                _ => {}
            }
        }
        let (formats, rest) = split_count(rest)?;
        portal.binary_results = formats > 0 && rest.get(1) == Some(&1);
        portal.accounts.sort_unstable();
        Some(portal)
    }

    /// Execute, whose Sync follows at once.
    #[inline]
    fn execute(
        &mut self,
        input: &[u8],
        length: usize,
        answer: &mut impl FnMut() -> Reply,
        out: &mut Vec<u8>,
    ) -> Handled {
        let consumed = length + HEADER_BYTES;
        if input.len() < consumed {
            return Handled::Incomplete;
        }
        if self.only_calls && self.portal.binary_results {
            return call(consumed, answer, out);
        }
        // A transfer is asked about once: where its statements first need to know.
        let transfers = match self.portal.kind {
            Kind::Call | Kind::Lock => 1,
            Kind::Batch => self.portal.transfers,
            Kind::Begin | Kind::Update | Kind::Commit | Kind::Rollback => 0,
        };
        let mut statuses = Vec::new();
        let mut times = 1;
        for _ in 0..transfers {
            match answer() {
                Reply::Committed => statuses.push(1),
                Reply::Insufficient => statuses.push(0),
                Reply::Twice => {
                    times = 2;
                    statuses.push(1);
                }
                Reply::Error => {
                    out.extend_from_slice(DEADLOCK);
                    if self.transaction == Transaction::Open {
                        self.transaction = Transaction::Failed;
                    }
                    self.ready(out);
                    return Handled::Consumed(consumed);
                }
                Reply::Silence => return Handled::Consumed(consumed),
                Reply::HangUp => return Handled::HangUp,
            }
        }
        for _ in 0..times {
            out.extend_from_slice(BIND_COMPLETE);
            self.rows(&statuses, out);
            self.complete(out);
            self.ready(out);
        }
        Handled::Consumed(consumed)
    }

    fn rows(&self, statuses: &[i32], out: &mut Vec<u8>) {
        let binary = self.portal.binary_results;
        match self.portal.kind {
            Kind::Call if binary => row(out, &[&statuses[0].to_be_bytes()]),
            Kind::Call => row(out, &[statuses[0].to_string().as_bytes()]),
            Kind::Batch if binary => {
                let mut array = Vec::with_capacity(20 + 8 * statuses.len());
                for field in [1, 0, INT4_OID, statuses.len() as u32, 1] {
                    array.extend_from_slice(&field.to_be_bytes());
                }
                for status in statuses {
                    array.extend_from_slice(&[0, 0, 0, 4]);
                    array.extend_from_slice(&status.to_be_bytes());
                }
                row(out, &[&array]);
            }
            Kind::Batch => {
                let texts: Vec<String> = statuses.iter().map(i32::to_string).collect();
                row(out, &[format!("{{{}}}", texts.join(",")).as_bytes()]);
            }
            Kind::Lock => {
                let balance = if statuses == [1] { BALANCE } else { 0 };
                for account in self.portal.accounts {
                    if binary {
                        row(out, &[&account.to_be_bytes(), &balance.to_be_bytes()]);
                    } else {
                        row(out, &[account.to_string().as_bytes(), balance.to_string().as_bytes()]);
                    }
                }
            }
            Kind::Begin | Kind::Update | Kind::Commit | Kind::Rollback => {}
        }
    }

    fn complete(&mut self, out: &mut Vec<u8>) {
        match self.portal.kind {
            Kind::Begin => self.transaction = Transaction::Open,
            Kind::Commit | Kind::Rollback => self.transaction = Transaction::None,
            Kind::Call | Kind::Batch | Kind::Lock | Kind::Update => {}
        }
        let command = self.portal.kind.command();
        message(b'C', out, |out| out.extend_from_slice(command));
    }

    #[inline]
    fn ready(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.transaction {
            Transaction::None => READY,
            Transaction::Open => b"Z\0\0\0\x05T",
            Transaction::Failed => b"Z\0\0\0\x05E",
        });
    }
}

#[inline]
fn call(consumed: usize, answer: &mut impl FnMut() -> Reply, out: &mut Vec<u8>) -> Handled {
    let message = match answer() {
        Reply::Committed => DONE,
        Reply::Insufficient => INSUFFICIENT,
        Reply::Error => DEADLOCK,
        Reply::Silence => return Handled::Consumed(consumed),
        Reply::HangUp => return Handled::HangUp,
        Reply::Twice => {
            out.extend_from_slice(DONE);
            out.extend_from_slice(READY);
            DONE
        }
    };
    out.extend_from_slice(message);
    out.extend_from_slice(READY);
    Handled::Consumed(consumed)
}

/// Length of the message at the front, if it is whole.
#[inline]
fn message_bytes(input: &[u8]) -> Option<usize> {
    let [_, a, b, c, d, ..] = input else { return None };
    let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize + 1).max(HEADER_BYTES);
    (input.len() >= length).then_some(length)
}

fn message(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn row(out: &mut Vec<u8>, columns: &[&[u8]]) {
    message(b'D', out, |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for column in columns {
            out.extend_from_slice(&(column.len() as u32).to_be_bytes());
            out.extend_from_slice(column);
        }
    });
}

/// Up to a zero byte, and what follows it.
#[inline]
fn split_text(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(0, input)?;
    Some((&input[..end], &input[end + 1..]))
}

#[inline]
fn split_count(input: &[u8]) -> Option<(usize, &[u8])> {
    let (count, rest) = input.split_first_chunk::<2>()?;
    Some((usize::from(u16::from_be_bytes(*count)), rest))
}

fn account(value: &[u8], binary: bool) -> Option<u32> {
    if binary {
        value.try_into().ok().map(u32::from_be_bytes)
    } else {
        std::str::from_utf8(value).ok()?.parse().ok()
    }
}

/// Elements of an array: a field of its header, or one more than its commas.
fn elements(value: &[u8], binary: bool) -> usize {
    if binary {
        value
            .get(12..16)
            .and_then(|count| count.try_into().ok())
            .map_or(0, |count| u32::from_be_bytes(count) as usize)
    } else {
        memchr::memchr_iter(b',', value).count() + 1
    }
}
