use std::process::ExitCode;

use gap_spacetimedb::SpacetimeDb;
use loadgen::{Client, CounterAndMessages, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves::<Transfers, SpacetimeDb>()
        .serves::<CounterAndMessages, SpacetimeDb>()
        .main()
}
