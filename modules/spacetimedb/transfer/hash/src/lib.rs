//! The bank with what the makers' own benchmark of 2.x has: accounts are found by a hash of their id
//! instead of in a B-tree, the amount is signed, and the bindings are those of 2.x.
//!
//! - A hash index finds one id in one step and knows no order. Nothing here asks for a range.
//! - The bindings of 2.x call a server of 2.x: an older one refuses this program.

#[path = "../../src/bank.rs"]
mod bank;

use spacetimedb::{ReducerContext, reducer, table};

#[table(accessor = accounts, public)]
pub struct Account {
    #[primary_key]
    #[index(hash)]
    id: u32,
    balance: i64,
}

#[reducer]
pub fn seed(ctx: &ReducerContext, accounts: u32, initial_balance: i64) {
    bank::seed(ctx, accounts, initial_balance);
}

#[reducer]
pub fn transfer(ctx: &ReducerContext, from: u32, to: u32, amount: i64) -> Result<(), String> {
    bank::transfer(ctx, from, to, amount)
}
