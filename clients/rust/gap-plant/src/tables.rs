//! The tables of a state as they are seeded and read back: JSON, each column an array.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bank::Bank;
use crate::board::Board;

const ROWS_MAX: usize = 1 << 21;
const ACCOUNTS_MIN: usize = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    accounts: Option<Accounts>,
    counters: Option<Counters>,
    messages: Option<Messages>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accounts {
    id: Vec<usize>,
    balance: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counters {
    id: Vec<usize>,
    value: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Messages {
    connection: Vec<u32>,
    index: Vec<u64>,
    body: Vec<String>,
}

impl Tables {
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("tables: {error}"))
    }

    /// What is held at first: nothing of a table that is not there.
    pub fn stored(self) -> Result<(Bank, Board), String> {
        let bank = self.accounts.map(|Accounts { id, balance }| {
            numbered("accounts", &id, balance, ACCOUNTS_MIN).map(Bank::seeded)
        });
        let values = self.counters.map(|Counters { id, value }| numbered("counters", &id, value, 1));
        let messages = self.messages.map(Messages::keyed).transpose()?.unwrap_or_default();
        let board = Board::seeded(values.transpose()?.unwrap_or_default(), messages);
        Ok((bank.transpose()?.unwrap_or_default(), board))
    }
}

impl Messages {
    fn keyed(self) -> Result<BTreeMap<(u32, u64), String>, String> {
        let rows = self.body.len();
        if self.connection.len() != rows || self.index.len() != rows {
            return Err("messages: columns of one length".to_owned());
        }
        let keyed: BTreeMap<_, _> = self.connection.into_iter().zip(self.index).zip(self.body).collect();
        if keyed.len() != rows {
            return Err("messages: no connection and index twice".to_owned());
        }
        Ok(keyed)
    }
}

/// The other column of a table whose rows are numbered from 0.
fn numbered(table: &str, id: &[usize], column: Vec<i64>, least: usize) -> Result<Vec<i64>, String> {
    if !(least..=ROWS_MAX).contains(&column.len()) {
        return Err(format!("{table}: {least} to {ROWS_MAX}"));
    }
    if !id.iter().copied().eq(0..column.len()) {
        return Err(format!("{table}: numbered from 0, in their order"));
    }
    Ok(column)
}

/// One table as it is now; None where there is none of that name.
pub fn table(name: &str, bank: &Bank, board: &Board) -> Option<String> {
    let written = match name {
        "accounts" => {
            let balance = bank.balances().to_vec();
            serde_json::to_string(&Accounts { id: (0..balance.len()).collect(), balance })
        }
        "counters" => {
            let value = board.values().to_vec();
            serde_json::to_string(&Counters { id: (0..value.len()).collect(), value })
        }
        "messages" => {
            let (connection, index) = board.messages().keys().copied().unzip();
            let body = board.messages().values().cloned().collect();
            serde_json::to_string(&Messages { connection, index, body })
        }
        _ => return None,
    };
    written.ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seeded_is_read_back() {
        for (name, rows) in [
            ("accounts", r#"{"id":[0,1,2],"balance":[5,-6,7]}"#),
            ("counters", r#"{"id":[0],"value":[9007199254740993]}"#),
            ("messages", r#"{"connection":[1,1],"index":[0,3],"body":["a","\"é\n"]}"#),
        ] {
            let tables = Tables::parse(&format!(r#"{{"{name}":{rows}}}"#)).unwrap();
            let (bank, board) = tables.stored().unwrap();
            assert_eq!(table(name, &bank, &board).unwrap(), rows);
        }
        assert_eq!(table("letters", &Bank::default(), &Board::default()), None);
    }

    #[test]
    fn what_no_table_can_hold_is_refused_by_name() {
        for (text, words) in [
            (r#"{"letters":{}}"#, "unknown field `letters`"),
            (r#"{"accounts":{"id":[0],"balance":[1]}}"#, "accounts: 2 to"),
            (r#"{"counters":{"id":[],"value":[]}}"#, "counters: 1 to"),
            (r#"{"counters":{"id":[1,0],"value":[0,0]}}"#, "counters: numbered from 0"),
            (r#"{"counters":{"id":[0,1,2],"value":[0,0]}}"#, "counters: numbered from 0"),
            (r#"{"messages":{"connection":[1],"index":[],"body":[]}}"#, "columns of one length"),
            (r#"{"messages":{"connection":[1,1],"index":[2,2],"body":["",""]}}"#, "index twice"),
        ] {
            let refusal = Tables::parse(text).and_then(Tables::stored).err().unwrap();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
