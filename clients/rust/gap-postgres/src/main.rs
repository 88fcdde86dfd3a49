use std::process::ExitCode;

use gap_postgres::{Functions, Postgres};
use loadgen::{Client, CounterAndMessages, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves::<Transfers, Postgres>()
        .serves::<CounterAndMessages, Functions>()
        .main()
}
