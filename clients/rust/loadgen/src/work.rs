//! Which transfer is operation `index` of a connection: a pure function of seed, connection and index.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::config::{Redraw, WorkloadConfig};
use crate::error::ClientError;
use crate::hex;
use crate::philox::{philox4x32_10, round_keys, RoundKeys};

const MAGIC: &[u8; 8] = b"GAPALIAS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const REDRAWS: u32 = 64;
const AMOUNT_BLOCK: u32 = u32::MAX;

/// One transfer between two different accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub source: u32,
    pub destination: u32,
    pub amount: u32,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    threshold: u32,
    alias: u32,
}

/// The workload's generator: the alias table in memory, and the key.
#[derive(Debug)]
pub struct Work {
    columns: Vec<Column>,
    keys: RoundKeys,
    amount_max: u32,
    redraw: Redraw,
    /// The flaw: after that many operations a connection draws them again.
    replayed_batch: Option<u64>,
}

impl Work {
    /// The same work, drawn again from its beginning after each `batch` operations of a connection.
    pub fn replayed(self, batch: Option<u64>) -> Self {
        Self { replayed_batch: batch, ..self }
    }

    /// Reads the alias table; what is read must be what the configuration's hash promises.
    pub fn load(workload: &WorkloadConfig) -> Result<Self, ClientError> {
        let path = Path::new(&workload.alias_table);
        let bytes = fs::read(path).map_err(|error| {
            ClientError::Configuration(format!(
                "workload.alias_table: {} cannot be read ({error}); name a file that the harness wrote",
                path.display()
            ))
        })?;
        let broken = |why: String| {
            ClientError::Integrity(format!(
                "alias table {}: {why}; let the harness write it again",
                path.display()
            ))
        };
        let sha256 = hex(&Sha256::digest(&bytes));
        if sha256 != workload.alias_table_sha256 {
            return Err(broken(format!("its sha256 is {sha256}, not {}", workload.alias_table_sha256)));
        }
        let columns = parse_columns(&bytes, workload.accounts).map_err(broken)?;
        Ok(Self {
            columns,
            keys: round_keys([workload.seed as u32, (workload.seed >> 32) as u32]),
            amount_max: workload.amount_max,
            redraw: workload.redraw,
            replayed_batch: None,
        })
    }

    #[inline(always)]
    pub fn draw(&self, connection: u32, index: u64) -> Operation {
        let index = self.replayed_batch.map_or(index, |batch| index % batch);
        let block = |d| philox4x32_10([index as u32, (index >> 32) as u32, connection, d], &self.keys);
        let (source, destination) = self.draw_accounts(block);
        let [r0, ..] = block(AMOUNT_BLOCK);
        Operation { source, destination, amount: 1 + scale(r0, self.amount_max) }
    }

    /// When the accounts are equal, both or the destination alone are drawn again.
    #[inline(always)]
    fn draw_accounts(&self, block: impl Fn(u32) -> [u32; 4]) -> (u32, u32) {
        let mut source = 0;
        for d in 0..REDRAWS {
            let [r0, r1, r2, r3] = block(d);
            if d == 0 || self.redraw == Redraw::Both {
                source = self.pick(r0, r1);
            }
            let destination = self.pick(r2, r3);
            if source != destination {
                return (source, destination);
            }
        }
        (source, (source + 1) % self.columns.len() as u32)
    }

    #[inline(always)]
    fn pick(&self, u: u32, v: u32) -> u32 {
        let column = scale(u, self.columns.len() as u32);
        let Column { threshold, alias } = self.columns[column as usize];
        if v < threshold {
            column
        } else {
            alias
        }
    }
}

/// floor(u * range / 2^32)
#[inline]
fn scale(u: u32, range: u32) -> u32 {
    ((u64::from(u) * u64::from(range)) >> 32) as u32
}

fn parse_columns(bytes: &[u8], accounts: u32) -> Result<Vec<Column>, String> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is shorter than its header")?;
    let (magic, numbers) = header.split_at(MAGIC.len());
    let [version, stored_accounts] = read_pair(numbers);
    if magic != MAGIC {
        return Err("it does not begin with GAPALIAS".to_owned());
    }
    if version != VERSION {
        return Err(format!("its version is {version}, not {VERSION}"));
    }
    if stored_accounts != accounts {
        return Err(format!("it is for {stored_accounts} accounts, the workload has {accounts}"));
    }
    if body.len() != accounts as usize * 8 {
        return Err(format!("it holds {} bytes of columns, not {}", body.len(), accounts as usize * 8));
    }
    let columns: Vec<Column> =
        body.chunks_exact(8).map(read_pair).map(|[threshold, alias]| Column { threshold, alias }).collect();
    match columns.iter().position(|column| column.alias >= accounts) {
        Some(column) => {
            Err(format!("column {column} has the alias {}, not below {accounts}", columns[column].alias))
        }
        None => Ok(columns),
    }
}

fn read_pair(bytes: &[u8]) -> [u32; 2] {
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [number(0), number(4)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replayed_work_begins_again_with_every_batch() {
        let columns = vec![Column { threshold: u32::MAX, alias: 0 }; 1000];
        let fresh = Work {
            columns: columns.clone(),
            keys: round_keys([7, 0]),
            amount_max: 1000,
            redraw: Redraw::Both,
            replayed_batch: None,
        };
        let replayed = Work { columns, keys: round_keys([7, 0]), ..fresh }.replayed(Some(16));
        for index in [0, 15, 16, 17, 1600, 1 << 40] {
            assert_eq!(replayed.draw(3, index), fresh.draw(3, index % 16), "{index}");
        }
        assert_ne!(fresh.draw(3, 16), fresh.draw(3, 0));
    }
}
