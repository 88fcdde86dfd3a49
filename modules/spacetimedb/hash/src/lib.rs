//! The bank with what the makers' own benchmark of 2.x has: accounts are found by a hash of their id
//! instead of in a B-tree, the amount is signed, and the bindings are those of 2.x.
//!
//! - What `../src/lib.rs` says of reading before writing, of reducers one at a time and of `insufficient`
//!   holds here word for word.
//! - A hash index finds one id in one step and knows no order. Nothing here asks for a range.
//! - The bindings of 2.x call a server of 2.x: an older one refuses this program.

use spacetimedb::{ReducerContext, Table, reducer, table};

#[table(accessor = accounts, public)]
pub struct Account {
    #[primary_key]
    #[index(hash)]
    id: u32,
    balance: i64,
}

/// Clears the table, then inserts accounts 0 to `accounts` - 1: seeding twice is seeding once.
#[reducer]
pub fn seed(ctx: &ReducerContext, accounts: u32, initial_balance: i64) {
    let stored: Vec<u32> = ctx.db.accounts().iter().map(|account| account.id).collect();
    for id in stored {
        ctx.db.accounts().id().delete(id);
    }
    for id in 0..accounts {
        ctx.db.accounts().insert(Account {
            id,
            balance: initial_balance,
        });
    }
}

#[reducer]
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
