use std::process::ExitCode;

use gap_http::Http;

fn main() -> ExitCode {
    loadgen::main::<Http>(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}
