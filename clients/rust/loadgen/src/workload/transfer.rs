//! Transfers between accounts that a Zipf law picks, through an alias table that the harness wrote.

use serde::Deserialize;

use super::{scale, Field, FieldType, Fields, KindFacts, OneKind, Operation, Pair, Workload};
use crate::config::WorkloadConfig;
use crate::error::ClientError;
use crate::philox::{philox4x32_10, RoundKeys};

const ALIAS_TABLE: &str = "alias_table";
const MAGIC: &[u8; 8] = b"GAPALIAS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const ACCOUNTS_MIN: u32 = 2;
const REDRAWS: u32 = 64;
const AMOUNT_BLOCK: u32 = u32::MAX;

#[derive(Deserialize)]
struct Parameters {
    accounts: u32,
    amount_max: u32,
    #[serde(default)]
    redraw: Redraw,
}

/// What is drawn again when source and destination are the same account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Redraw {
    #[default]
    Both,
    Destination,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    threshold: u32,
    alias: u32,
}

/// The alias table in memory, and the key.
#[derive(Debug)]
pub struct Transfers {
    columns: Vec<Column>,
    keys: RoundKeys,
    amount_max: u32,
    redraw: Redraw,
}

/// One transfer between two different accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub source: u32,
    pub destination: u32,
    pub amount: u32,
}

impl Operation for Transfer {
    type Kind = OneKind;

    #[inline(always)]
    fn kind(&self) -> OneKind {
        OneKind
    }

    #[inline(always)]
    fn write(&self, fields: &mut impl Fields) {
        fields.u32(self.source);
        fields.u32(self.destination);
        fields.u32(self.amount);
    }
}

impl Workload for Transfers {
    const NAME: &'static str = "transfer";
    const KINDS: &'static [KindFacts] = &[KindFacts {
        name: "transfer",
        fields: &[
            Field { name: "from", holds: FieldType::U32 },
            Field { name: "to", holds: FieldType::U32 },
            Field { name: "amount", holds: FieldType::U32 },
        ],
    }];
    const REFUSALS: &'static [&'static str] = &["insufficient"];
    const PAIR: Option<Pair<Transfer>> = Some(|drawn| (drawn.source, drawn.destination));
    type Operation = Transfer;

    fn load(config: &WorkloadConfig) -> Result<Self, ClientError> {
        let Parameters { accounts, amount_max, redraw } = config.parameters()?;
        let file = config.file(ALIAS_TABLE)?;
        let columns = parse_columns(&file.bytes, accounts).map_err(|why| file.broken(&why))?;
        Ok(Self { columns, keys: config.keys(), amount_max, redraw })
    }

    #[inline(always)]
    fn draw(&self, connection: u32, index: u64) -> Transfer {
        let block = |d| philox4x32_10([index as u32, (index >> 32) as u32, connection, d], &self.keys);
        let (source, destination) = self.draw_accounts(block);
        let [r0, ..] = block(AMOUNT_BLOCK);
        Transfer { source, destination, amount: 1 + scale(r0, self.amount_max) }
    }
}

impl Transfers {
    /// The place of its one refusal: the source has too little.
    pub const INSUFFICIENT: usize = 0;

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
    if accounts < ACCOUNTS_MIN {
        return Err(format!("it is for {accounts} accounts, below {ACCOUNTS_MIN}"));
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
