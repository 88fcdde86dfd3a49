//! What every program of the bank does: the table differs in its index, the reducer in the type of its amount.
//!
//! - Both balances are read, and every refusal is decided, before the first write. A reducer that
//!   returns `Err` is rolled back, so the other order would be as safe; this one leaves nothing to undo.
//! - The reducers of a database run one at a time, each as one serializable transaction. So there is
//!   no lock order to choose, and a balance cannot change between its reading and its writing.
//! - Two rows are found by primary key and two rows are written, as by the Postgres procedure. There
//!   is no transfer log, and no text is made on the way to success.
//! - `insufficient` is the one refusal that the workload expects, so it is a bare word that clients
//!   compare; the others are sentences, because they mean that the load generator is wrong.

use spacetimedb::{ReducerContext, Table};

use crate::{Account, accounts};

/// Clears the table, then inserts accounts 0 to `count` - 1: seeding twice is seeding once.
pub fn seed(ctx: &ReducerContext, count: u32, initial_balance: i64) {
    let stored: Vec<u32> = ctx.db.accounts().iter().map(|account| account.id).collect();
    for id in stored {
        ctx.db.accounts().id().delete(id);
    }
    for id in 0..count {
        ctx.db.accounts().insert(Account {
            id,
            balance: initial_balance,
        });
    }
}

pub fn transfer(ctx: &ReducerContext, from: u32, to: u32, amount: i64) -> Result<(), String> {
    if amount <= 0 {
        return Err(format!("amount is {amount}: transfer at least 1"));
    }
    if from == to {
        return Err(format!(
            "account {from} is both source and destination: name two accounts"
        ));
    }
    let account = ctx.db.accounts().id();
    let source = account.find(from).ok_or_else(|| missing(from))?;
    let destination = account.find(to).ok_or_else(|| missing(to))?;

    if source.balance < amount {
        return Err("insufficient".to_owned());
    }
    let credited = destination
        .balance
        .checked_add(amount)
        .ok_or_else(|| overflow(to))?;

    account.update(Account {
        balance: source.balance - amount,
        ..source
    });
    account.update(Account {
        balance: credited,
        ..destination
    });
    Ok(())
}

fn missing(id: u32) -> String {
    format!("account {id} does not exist: seed first, or name a seeded account")
}

fn overflow(id: u32) -> String {
    format!("account {id} would exceed the largest 64-bit balance")
}
