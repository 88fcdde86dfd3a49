use std::process::ExitCode;

use gap_sqlite::{ChatStatements, CounterStatements, Sqlite, TransferStatements};
use loadgen::{Chat, Client, CounterAndMessages, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves_embedded::<Transfers, Sqlite<TransferStatements>>()
        .serves_embedded::<CounterAndMessages, Sqlite<CounterStatements>>()
        .serves_embedded::<Chat, Sqlite<ChatStatements>>()
        .main()
}
