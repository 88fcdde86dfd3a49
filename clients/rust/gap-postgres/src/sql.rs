//! The transfer as statements: BEGIN, SELECT ... FOR UPDATE, two UPDATEs, COMMIT, each prepared, each sent when the
//! answer to the one before is read.
//!
//! Both rows are locked in id order before either balance is looked at, so that crossing transfers wait instead of
//! deadlocking. A transfer that cannot be done, or that the server refuses, is rolled back before it is settled.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Outcome, Transfer, Transfers};

use crate::message::{
    columns, int4, int8, write_call, Answer, Received, Statement, IDLE, INT4_OID, INT8_OID,
};

const BEGIN: u8 = b'b';
const LOCK: u8 = b'l';
const SET_BALANCE: u8 = b'u';
const COMMIT: u8 = b'c';
const ROLLBACK: u8 = b'r';

pub fn statements() -> Vec<Statement> {
    let bare =
        |name, sql: &str| Statement { name, sql: sql.to_owned(), parameters: Vec::new(), columns: &[] };
    vec![
        bare(BEGIN, "BEGIN"),
        Statement {
            name: LOCK,
            sql: "SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE".to_owned(),
            parameters: vec![INT4_OID; 2],
            columns: &[INT4_OID, INT8_OID],
        },
        Statement {
            name: SET_BALANCE,
            sql: "UPDATE accounts SET balance = $1 WHERE id = $2".to_owned(),
            parameters: vec![INT8_OID, INT4_OID],
            columns: &[],
        },
        bare(COMMIT, "COMMIT"),
        bare(ROLLBACK, "ROLLBACK"),
    ]
}

/// The statement whose answer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Lock,
    Debit,
    Credit,
    Commit,
    Rollback,
}

impl Step {
    /// How the tag of its CommandComplete begins.
    fn command(self) -> &'static [u8] {
        match self {
            Self::Begin => b"BEGIN",
            Self::Lock => b"SELECT ",
            Self::Debit | Self::Credit => b"UPDATE ",
            Self::Commit => b"COMMIT",
            Self::Rollback => b"ROLLBACK",
        }
    }
}

/// The one transfer that a connection has under way.
pub struct Sql {
    transfer: Transfer,
    step: Step,
    destination_balance: i64,
    /// Why the transfer is being rolled back.
    outcome: Outcome<'static>,
}

impl Sql {
    pub fn new() -> Self {
        Self {
            transfer: Transfer { source: 0, destination: 0, amount: 0 },
            step: Step::Begin,
            destination_balance: 0,
            outcome: Outcome::Acknowledged,
        }
    }

    pub fn encode(&mut self, transfer: &Transfer, out: &mut Vec<u8>) {
        self.transfer = *transfer;
        self.step = Step::Begin;
        write_call(BEGIN, &[], out);
    }

    pub fn decode<'a>(
        &mut self,
        input: &'a [u8],
        under_way: bool,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        let answer = match Answer::receive(input)? {
            Received::Incomplete => return Ok(Decoded::Incomplete),
            Received::Skipped { consumed } => return Ok(Decoded::Skipped { consumed }),
            Received::Closing { reason } => return Ok(Decoded::Closing { reason }),
            Received::Answer(answer) => answer,
        };
        let consumed = answer.consumed;
        let settled = if under_way { self.advance(&answer, out)? } else { Some(Outcome::Acknowledged) };
        Ok(match settled {
            Some(outcome) => Decoded::Reply { consumed, outcome },
            None => Decoded::Skipped { consumed },
        })
    }

    /// Sends the next statement, or says what became of the transfer.
    fn advance(
        &mut self,
        answer: &Answer<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome<'static>>, ClientError> {
        if let Some(error) = &answer.refusal {
            // A failed COMMIT has ended its transaction.
            return Ok(if answer.status == IDLE {
                Some(error.outcome())
            } else {
                self.roll_back(error.outcome(), out)
            });
        }
        if self.step == Step::Commit && answer.command == Step::Rollback.command() {
            return Ok(Some(Outcome::Error(Cow::Borrowed("COMMIT rolled the transaction back"))));
        }
        if !answer.command.starts_with(self.step.command()) {
            return Err(ClientError::Integrity(format!(
                "Postgres answered {:?} where {:?} was due",
                String::from_utf8_lossy(answer.command),
                self.step
            )));
        }
        let Transfer { source, destination, amount } = self.transfer;
        Ok(match self.step {
            Step::Begin => {
                self.step = Step::Lock;
                write_call(LOCK, &[&source.to_be_bytes(), &destination.to_be_bytes()], out);
                None
            }
            Step::Lock => match (balance(answer, source), balance(answer, destination)) {
                (Some(held), _) if held < i64::from(amount) => {
                    self.roll_back(Outcome::Refused(Transfers::INSUFFICIENT), out)
                }
                (Some(held), Some(destination_balance)) => {
                    self.destination_balance = destination_balance;
                    self.set_balance(Step::Debit, source, held - i64::from(amount), out)
                }
                (held, _) => {
                    let missing = if held.is_some() { destination } else { source };
                    let text = format!("account {missing} does not exist");
                    self.roll_back(Outcome::Error(Cow::Owned(text)), out)
                }
            },
            Step::Debit | Step::Credit if answer.command != b"UPDATE 1" => {
                let text = format!("{} of one account", String::from_utf8_lossy(answer.command));
                self.roll_back(Outcome::Error(Cow::Owned(text)), out)
            }
            Step::Debit => {
                let balance = self.destination_balance.wrapping_add(i64::from(amount));
                self.set_balance(Step::Credit, destination, balance, out)
            }
            Step::Credit => {
                self.step = Step::Commit;
                write_call(COMMIT, &[], out);
                None
            }
            Step::Commit => Some(Outcome::Acknowledged),
            Step::Rollback => Some(std::mem::replace(&mut self.outcome, Outcome::Acknowledged)),
        })
    }

    fn set_balance(
        &mut self,
        step: Step,
        account: u32,
        balance: i64,
        out: &mut Vec<u8>,
    ) -> Option<Outcome<'static>> {
        self.step = step;
        write_call(SET_BALANCE, &[&balance.to_be_bytes(), &account.to_be_bytes()], out);
        None
    }

    fn roll_back(&mut self, outcome: Outcome<'static>, out: &mut Vec<u8>) -> Option<Outcome<'static>> {
        self.step = Step::Rollback;
        self.outcome = outcome;
        write_call(ROLLBACK, &[], out);
        None
    }
}

fn balance(answer: &Answer<'_>, account: u32) -> Option<i64> {
    answer
        .rows()
        .filter_map(columns)
        .find(|[id, _]| int4(id) == i32::try_from(account).ok())
        .and_then(|[_, balance]| int8(balance))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::split_message;
    use crate::message::tests::{message, ready, refusal, row};

    const TRANSFER: Transfer = Transfer { source: 7, destination: 3, amount: 10 };

    /// The statement that was sent last, and its parameters as in Bind.
    fn sent(out: &mut Vec<u8>) -> u8 {
        let statement = split_message(out).unwrap().unwrap().body[1];
        out.clear();
        statement
    }

    fn answer(parts: &[&[u8]], command: &str, status: u8) -> Vec<u8> {
        [
            &message(b'2', b"")[..],
            &parts.concat(),
            &message(b'C', format!("{command}\0").as_bytes()),
            &ready(status),
        ]
        .concat()
    }

    fn account(id: i32, balance: i64) -> Vec<u8> {
        row(&[&id.to_be_bytes(), &balance.to_be_bytes()])
    }

    fn refused(code: &str, status: u8) -> Vec<u8> {
        [message(b'2', b""), refusal("ERROR", code), ready(status)].concat()
    }

    /// Feeds answers and collects the statements sent; the outcome after the last one.
    fn play(answers: &[Vec<u8>]) -> (String, Option<Outcome<'static>>) {
        let mut sql = Sql::new();
        let mut out = Vec::new();
        sql.encode(&TRANSFER, &mut out);
        let mut statements = String::from(char::from(sent(&mut out)));
        let mut settled = None;
        for bytes in answers {
            assert_eq!(settled, None);
            match sql.decode(bytes, true, &mut out).unwrap() {
                Decoded::Skipped { consumed } => {
                    assert_eq!(consumed, bytes.len());
                    statements.push(char::from(sent(&mut out)));
                }
                Decoded::Reply { outcome: Outcome::Error(text), .. } => {
                    settled = Some(Outcome::Error(Cow::Owned(text.into_owned())));
                }
                Decoded::Reply { outcome: Outcome::Refused(place), .. } => {
                    settled = Some(Outcome::Refused(place));
                }
                Decoded::Reply { .. } => settled = Some(Outcome::Acknowledged),
                other => panic!("{other:?}"),
            }
        }
        (statements, settled)
    }

    #[test]
    fn five_statements_move_the_amount() {
        let mut sql = Sql::new();
        let mut out = Vec::new();
        sql.encode(&TRANSFER, &mut out);
        let mut updates = Vec::new();
        for bytes in [
            answer(&[], "BEGIN", b'T'),
            answer(&[&account(3, 100), &account(7, 50)], "SELECT 2", b'T'),
            answer(&[], "UPDATE 1", b'T'),
            answer(&[], "UPDATE 1", b'T'),
        ] {
            out.clear();
            assert!(matches!(sql.decode(&bytes, true, &mut out), Ok(Decoded::Skipped { .. })));
            updates.push(split_message(&out).unwrap().unwrap().body[13..].to_vec());
        }
        assert_eq!(updates[1][..8], 40_i64.to_be_bytes());
        assert_eq!(updates[1][12..16], 7_i32.to_be_bytes());
        assert_eq!(updates[2][..8], 110_i64.to_be_bytes());
        assert_eq!(updates[2][12..16], 3_i32.to_be_bytes());
        let committed = answer(&[], "COMMIT", b'I');
        assert_eq!(
            sql.decode(&committed, true, &mut out).unwrap(),
            Decoded::Reply { consumed: committed.len(), outcome: Outcome::Acknowledged }
        );
    }

    #[test]
    fn what_cannot_be_done_is_rolled_back_first() {
        let begun = answer(&[], "BEGIN", b'T');
        let locked = answer(&[&account(3, 100), &account(7, 50)], "SELECT 2", b'T');
        let rolled_back = answer(&[], "ROLLBACK", b'I');
        let poor = answer(&[&account(3, 100), &account(7, 9)], "SELECT 2", b'T');
        assert_eq!(
            play(&[begun.clone(), poor, rolled_back.clone()]),
            ("blr".to_owned(), Some(Outcome::Refused(Transfers::INSUFFICIENT)))
        );

        let error = |text: &'static str| Some(Outcome::Error(Cow::Borrowed(text)));
        for (id, other) in [(3, "account 7 does not exist"), (7, "account 3 does not exist")] {
            let one = answer(&[&account(id, 50)], "SELECT 1", b'T');
            assert_eq!(play(&[begun.clone(), one, rolled_back.clone()]), ("blr".to_owned(), error(other)));
        }
        let unchanged = answer(&[], "UPDATE 0", b'T');
        assert_eq!(
            play(&[begun.clone(), locked.clone(), unchanged, rolled_back.clone()]),
            ("blur".to_owned(), error("UPDATE 0 of one account"))
        );
        assert_eq!(
            play(&[begun, locked, refused("23514", b'E'), rolled_back]),
            ("blur".to_owned(), error("23514 refused"))
        );
    }

    #[test]
    fn a_failed_commit_has_nothing_to_roll_back() {
        let before = [
            answer(&[], "BEGIN", b'T'),
            answer(&[&account(3, 100), &account(7, 50)], "SELECT 2", b'T'),
            answer(&[], "UPDATE 1", b'T'),
            answer(&[], "UPDATE 1", b'T'),
        ];
        for last in [refused("23514", b'I'), answer(&[], "ROLLBACK", b'I')] {
            let (statements, outcome) = play(&[&before[..], &[last]].concat());
            assert_eq!(statements, "bluuc");
            assert!(matches!(outcome, Some(Outcome::Error(_))), "{outcome:?}");
        }
    }

    #[test]
    fn an_answer_to_another_statement_breaks_the_client() {
        let mut sql = Sql::new();
        let mut out = Vec::new();
        sql.encode(&TRANSFER, &mut out);
        let other = answer(&[], "UPDATE 1", b'T');
        assert!(matches!(sql.decode(&other, true, &mut out), Err(ClientError::Integrity(_))));
    }
}
