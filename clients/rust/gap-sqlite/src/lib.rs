//! SQLite inside this process, on one connection for each file, which all connections of the load share: a file has
//! one writer at a time, and a second connection would only empty the page cache of the first with each of its commits.

mod chat;
mod counter_and_messages;
mod transfer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loadgen::{Engine, Outcome, Workload};
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;

pub use chat::ChatStatements;
pub use counter_and_messages::CounterStatements;
pub use transfer::TransferStatements;

/// What the engine must say of itself, for the results to be those of the settings that were asked for.
const READ_BACK: [&str; 5] = ["journal_mode", "synchronous", "page_size", "cache_size", "wal_autocheckpoint"];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub path: PathBuf,
    /// Databases besides the first: each operation goes to the one of its place, modulo how many there are.
    #[serde(default)]
    pub others: Vec<PathBuf>,
    pub synchronous: Synchronous,
    #[serde(default)]
    pub mode: Mode,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

/// How an operation is expressed; this client knows SQL statements only.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Sql,
}

/// The statements of a workload, each prepared once.
pub trait Statements<W: Workload>: Sized {
    /// Whether operations can be spread over several databases, for none touches rows of two.
    const SPREADS: bool = false;

    /// What decides the database of an operation.
    fn place(_operation: &W::Operation) -> usize {
        0
    }

    fn prepare(connection: &'static Connection) -> Result<Self, rusqlite::Error>;

    /// One operation in its own transaction.
    fn run(&mut self, operation: &W::Operation) -> Outcome<'static>;
}

pub struct Sqlite<S> {
    files: Vec<S>,
    settings: BTreeMap<String, String>,
}

impl<W: Workload, S: Statements<W>> Engine<W> for Sqlite<S> {
    const NAME: &'static str = "sqlite";
    type Endpoint = Endpoint;

    fn open(endpoint: &Endpoint) -> Result<Self, String> {
        if !S::SPREADS && !endpoint.others.is_empty() {
            return Err("others: this workload is of one database; leave it out".to_owned());
        }
        let (first, settings) = open::<W, S>(&endpoint.path, endpoint.synchronous)?;
        let mut files = vec![first];
        for path in &endpoint.others {
            let (file, own) = open::<W, S>(path, endpoint.synchronous)?;
            if own != settings {
                return Err(format!("{}: its settings are not those of the first database", path.display()));
            }
            files.push(file);
        }
        Ok(Self { files, settings })
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.settings.clone()
    }

    #[inline]
    fn run(&mut self, operation: &W::Operation) -> Outcome<'static> {
        let place = if self.files.len() == 1 { 0 } else { S::place(operation) % self.files.len() };
        self.files[place].run(operation)
    }
}

fn open<W: Workload, S: Statements<W>>(
    path: &Path,
    synchronous: Synchronous,
) -> Result<(S, BTreeMap<String, String>), String> {
    opened::<W, S>(path, synchronous).map_err(|error| format!("{}: {error}", path.display()))
}

fn opened<W: Workload, S: Statements<W>>(
    path: &Path,
    synchronous: Synchronous,
) -> Result<(S, BTreeMap<String, String>), rusqlite::Error> {
    // Without the flag that creates a file: a wrong path must not become an empty bank.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Kept until the process ends, so that its statements are prepared once.
    let connection: &'static Connection = Box::leak(Box::new(Connection::open_with_flags(path, flags)?));
    connection.pragma_update(None, "synchronous", synchronous as i64)?;
    let mut settings = BTreeMap::from([("sqlite_version".to_owned(), rusqlite::version().to_owned())]);
    for name in READ_BACK {
        settings.insert(name.to_owned(), pragma(connection, name)?);
    }
    Ok((S::prepare(connection)?, settings))
}

fn pragma(connection: &Connection, name: &str) -> Result<String, rusqlite::Error> {
    use rusqlite::types::Value;
    connection.pragma_query_value(None, name, |row| {
        Ok(match row.get(0)? {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    })
}
