use std::process::ExitCode;

use gap_spacetimedb::SpacetimeDb;

fn main() -> ExitCode {
    loadgen::main::<SpacetimeDb>(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}
