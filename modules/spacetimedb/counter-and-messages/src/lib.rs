//! Counters and messages inside SpacetimeDB: two tables, one reducer to fill them, one for each kind of operation,
//! and a second one that increments without the index.
//!
//! - A reducer runs alone and as one serializable transaction, so that no increment is lost between its reading
//!   and its writing.
//! - A message is stored once: its key is its identity, connection and index in one number, because a key is one
//!   column here. The state that is read back has both as they were sent.
//! - Both keys keep the default B-tree index, as Postgres has them.

use spacetimedb::{ReducerContext, Table, reducer, table};

const INDEX_BITS: u32 = 53;
const CONNECTIONS: u32 = 1 << (u64::BITS - INDEX_BITS);

#[table(name = counters, public)]
pub struct Counter {
    #[primary_key]
    id: u32,
    value: i64,
}

#[table(name = messages, public)]
pub struct Message {
    #[primary_key]
    id: u64,
    connection: u32,
    index: u64,
    body: String,
}

/// Clears both tables, then inserts counters 0 to `counters` - 1: seeding twice is seeding once.
#[reducer]
pub fn seed(ctx: &ReducerContext, counters: u32) {
    let counted: Vec<u32> = ctx.db.counters().iter().map(|counter| counter.id).collect();
    for id in counted {
        ctx.db.counters().id().delete(id);
    }
    let stored: Vec<u64> = ctx.db.messages().iter().map(|message| message.id).collect();
    for id in stored {
        ctx.db.messages().id().delete(id);
    }
    for id in 0..counters {
        ctx.db.counters().insert(Counter { id, value: 0 });
    }
}

#[reducer]
pub fn increment_counter(ctx: &ReducerContext, counter: u32, amount: u32) -> Result<(), String> {
    let counters = ctx.db.counters().id();
    let found = counters
        .find(counter)
        .ok_or_else(|| missing(counter))?;
    counters.update(Counter {
        value: found.value + i64::from(amount),
        ..found
    });
    Ok(())
}

/// The same without the index: rows are read from the table's start until the counter is met, and the row is
/// replaced by a deletion and an insertion.
#[reducer]
pub fn increment_counter_by_scan(
    ctx: &ReducerContext,
    counter: u32,
    amount: u32,
) -> Result<(), String> {
    let counters = ctx.db.counters();
    let found = counters
        .iter()
        .find(|row| row.id == counter)
        .ok_or_else(|| missing(counter))?;
    let value = found.value + i64::from(amount);
    counters.delete(found);
    counters.insert(Counter { id: counter, value });
    Ok(())
}

#[reducer]
pub fn send_message(
    ctx: &ReducerContext,
    connection: u32,
    index: u64,
    body: String,
) -> Result<(), String> {
    if connection >= CONNECTIONS || index >> INDEX_BITS != 0 {
        return Err(format!(
            "message {index} of connection {connection} has no key: below {CONNECTIONS} connections and 2^{INDEX_BITS} messages"
        ));
    }
    let id = (u64::from(connection) << INDEX_BITS) | index;
    // A row that is there already, column by column, is inserted again without a word.
    if ctx.db.messages().id().find(id).is_some() {
        return Err(format!(
            "message {index} of connection {connection} is stored already"
        ));
    }
    ctx.db.messages().insert(Message {
        id,
        connection,
        index,
        body,
    });
    Ok(())
}

fn missing(counter: u32) -> String {
    format!("counter {counter} does not exist")
}
