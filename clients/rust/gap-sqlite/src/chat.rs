//! A message as one SQL statement that checks and stores it, and a read as one that finds it by its id.

use loadgen::{Chat, Outcome, PostOrRead};
use rusqlite::{Connection, Error, Statement};

use crate::Statements;

/// The place of `forbidden` among the refusals of the workload.
const FORBIDDEN: usize = 0;

pub struct ChatStatements {
    post: Statement<'static>,
    read: Statement<'static>,
    body: Vec<u8>,
}

impl Statements<Chat> for ChatStatements {
    fn prepare(connection: &'static Connection) -> Result<Self, Error> {
        Ok(Self {
            post: connection.prepare(
                "INSERT INTO messages (room, connection, \"index\", body) SELECT ?1, ?2, ?3, ?4 \
                 WHERE EXISTS (SELECT 1 FROM members WHERE room = ?1 AND member = 1)",
            )?,
            read: connection
                .prepare("SELECT room, connection, \"index\", body FROM messages WHERE id = ?1")?,
            body: Vec::new(),
        })
    }

    fn run(&mut self, operation: &PostOrRead) -> Outcome<'static> {
        let ended = match *operation {
            PostOrRead::Post { room, connection, index, body } => {
                self.body.clear();
                body.write(&mut self.body);
                let body = String::from_utf8_lossy(&self.body);
                self.post.execute((room as i64, connection, index as i64, body)).map(|rows| match rows {
                    0 => Outcome::Refused(FORBIDDEN),
                    _ => Outcome::Acknowledged,
                })
            }
            PostOrRead::Read { id } => self.read(id),
        };
        ended.unwrap_or_else(|error| Outcome::Error(error.to_string().into()))
    }
}

impl ChatStatements {
    /// The whole row is fetched, as a server would to send it.
    fn read(&mut self, id: u64) -> Result<Outcome<'static>, Error> {
        let mut rows = self.read.query([id as i64])?;
        let Some(row) = rows.next()? else {
            return Ok(Outcome::Error(format!("message {id} does not exist").into()));
        };
        let (_room, _connection, _index): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let _body: String = row.get(3)?;
        Ok(Outcome::Acknowledged)
    }
}
