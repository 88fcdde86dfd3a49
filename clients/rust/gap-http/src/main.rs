use std::process::ExitCode;

use gap_http::Http;
use loadgen::{Client, CounterAndMessages, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves::<Transfers, Http>()
        .serves::<CounterAndMessages, Http>()
        .main()
}
