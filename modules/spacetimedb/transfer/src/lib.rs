//! The bank workload inside SpacetimeDB: one table, one reducer to fill it, one to move money (`bank.rs`).
//!
//! The primary key keeps the default B-tree index, as Postgres has one; the denser `direct` index
//! would be a change of engine settings hidden in the module.

mod bank;

use spacetimedb::{ReducerContext, reducer, table};

#[table(name = accounts, public)]
pub struct Account {
    #[primary_key]
    id: u32,
    balance: i64,
}

#[reducer]
pub fn seed(ctx: &ReducerContext, accounts: u32, initial_balance: i64) {
    bank::seed(ctx, accounts, initial_balance);
}

#[reducer]
pub fn transfer(ctx: &ReducerContext, from: u32, to: u32, amount: u32) -> Result<(), String> {
    bank::transfer(ctx, from, to, i64::from(amount))
}
