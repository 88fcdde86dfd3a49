use std::process::ExitCode;

use gap_sqlite::{CounterStatements, Sqlite, TransferStatements};
use loadgen::{Client, CounterAndMessages, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves_embedded::<Transfers, Sqlite<TransferStatements>>()
        .serves_embedded::<CounterAndMessages, Sqlite<CounterStatements>>()
        .main()
}
