use std::process::ExitCode;

use gap_postgres::Postgres;

fn main() -> ExitCode {
    loadgen::main::<Postgres>(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}
