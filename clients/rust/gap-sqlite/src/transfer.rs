//! A transfer as five SQL statements, each prepared once.

use loadgen::{Operation, Outcome};
use rusqlite::{Connection, Error, Statement};

pub struct Transfer<'connection> {
    connection: &'connection Connection,
    begin: Statement<'connection>,
    select: Statement<'connection>,
    update: Statement<'connection>,
    commit: Statement<'connection>,
    rollback: Statement<'connection>,
}

/// Why a transfer was not committed.
enum Refusal {
    Insufficient,
    NoAccount(u32),
    Engine(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl<'connection> Transfer<'connection> {
    pub fn prepare(connection: &'connection Connection) -> Result<Self, Error> {
        Ok(Self {
            connection,
            // A transaction that began as a reader could be refused when it writes; this one waits for its turn.
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            select: connection.prepare("SELECT id, balance FROM accounts WHERE id IN (?1, ?2)")?,
            update: connection.prepare("UPDATE accounts SET balance = ?1 WHERE id = ?2")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
        })
    }

    pub fn run(&mut self, operation: Operation) -> Outcome<'static> {
        let refusal = match self.commit(operation) {
            Ok(()) => return Outcome::Acknowledged,
            Err(refusal) => refusal,
        };
        let undone = if self.connection.is_autocommit() { Ok(0) } else { self.rollback.execute([]) };
        match (refusal, undone) {
            (Refusal::Insufficient, Ok(_)) => Outcome::Insufficient,
            (Refusal::NoAccount(id), Ok(_)) => Outcome::Error(format!("account {id} does not exist").into()),
            (Refusal::Engine(error), _) | (_, Err(error)) => Outcome::Error(error.to_string().into()),
        }
    }

    fn commit(&mut self, Operation { source, destination, amount }: Operation) -> Result<(), Refusal> {
        self.begin.execute([])?;
        let (mut held, mut receiving) = (None, None);
        let mut rows = self.select.query([source, destination])?;
        while let Some(row) = rows.next()? {
            let (id, balance): (u32, i64) = (row.get(0)?, row.get(1)?);
            if id == source {
                held = Some(balance);
            } else {
                receiving = Some(balance);
            }
        }
        drop(rows);
        let held = held.ok_or(Refusal::NoAccount(source))?;
        let receiving = receiving.ok_or(Refusal::NoAccount(destination))?;
        let amount = i64::from(amount);
        if held < amount {
            return Err(Refusal::Insufficient);
        }
        self.update.execute((held - amount, source))?;
        self.update.execute((receiving + amount, destination))?;
        self.commit.execute([])?;
        Ok(())
    }
}
