//! An increment or a message as one SQL statement, which is its own transaction.

use loadgen::{CounterAndMessages, CounterOrMessage, Outcome};
use rusqlite::{Connection, Error, Statement};

use crate::Statements;

pub struct CounterStatements {
    increment: Statement<'static>,
    message: Statement<'static>,
    body: Vec<u8>,
}

impl Statements<CounterAndMessages> for CounterStatements {
    const SPREADS: bool = true;

    /// A counter has its database, and so has a connection for its messages.
    #[inline]
    fn place(operation: &CounterOrMessage) -> usize {
        match *operation {
            CounterOrMessage::Increment { counter, .. } => counter as usize,
            CounterOrMessage::Message { connection, .. } => connection as usize,
        }
    }

    fn prepare(connection: &'static Connection) -> Result<Self, Error> {
        Ok(Self {
            increment: connection.prepare("UPDATE counters SET value = value + ?2 WHERE id = ?1")?,
            message: connection.prepare("INSERT INTO messages VALUES (?1, ?2, ?3)")?,
            body: Vec::new(),
        })
    }

    fn run(&mut self, operation: &CounterOrMessage) -> Outcome<'static> {
        let written = match *operation {
            CounterOrMessage::Increment { counter, amount } => self.increment.execute((counter, amount)),
            CounterOrMessage::Message { connection, index, body } => {
                self.body.clear();
                body.write(&mut self.body);
                self.message.execute((connection, index as i64, String::from_utf8_lossy(&self.body)))
            }
        };
        match (written, operation) {
            (Ok(1), _) => Outcome::Acknowledged,
            (Ok(_), CounterOrMessage::Increment { counter, .. }) => {
                Outcome::Error(format!("counter {counter} does not exist").into())
            }
            (Ok(rows), CounterOrMessage::Message { .. }) => {
                Outcome::Error(format!("{rows} rows were written for one message").into())
            }
            (Err(error), _) => Outcome::Error(error.to_string().into()),
        }
    }
}
