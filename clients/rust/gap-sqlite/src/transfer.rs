//! A transfer as five SQL statements, each prepared once.

use loadgen::{Outcome, Transfer, Transfers};
use rusqlite::{Connection, Error, Statement};

use crate::Statements;

pub struct TransferStatements {
    connection: &'static Connection,
    begin: Statement<'static>,
    select: Statement<'static>,
    update: Statement<'static>,
    commit: Statement<'static>,
    rollback: Statement<'static>,
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

impl Statements<Transfers> for TransferStatements {
    fn prepare(connection: &'static Connection) -> Result<Self, Error> {
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

    fn run(&mut self, transfer: &Transfer) -> Outcome<'static> {
        let refusal = match self.commit(transfer) {
            Ok(()) => return Outcome::Acknowledged,
            Err(refusal) => refusal,
        };
        let undone = if self.connection.is_autocommit() { Ok(0) } else { self.rollback.execute([]) };
        match (refusal, undone) {
            (Refusal::Insufficient, Ok(_)) => Outcome::Refused(Transfers::INSUFFICIENT),
            (Refusal::NoAccount(id), Ok(_)) => Outcome::Error(format!("account {id} does not exist").into()),
            (Refusal::Engine(error), _) | (_, Err(error)) => Outcome::Error(error.to_string().into()),
        }
    }
}

impl TransferStatements {
    fn commit(&mut self, &Transfer { source, destination, amount }: &Transfer) -> Result<(), Refusal> {
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
