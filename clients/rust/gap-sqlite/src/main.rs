use std::process::ExitCode;

use gap_sqlite::Sqlite;

fn main() -> ExitCode {
    loadgen::main_embedded::<Sqlite>(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}
