use std::process::ExitCode;

use gap_http::Http;
use loadgen::{Chat, Client, CounterAndMessages, Fibonacci, Transfers};

fn main() -> ExitCode {
    Client::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .serves::<Transfers, Http>()
        .serves::<CounterAndMessages, Http>()
        .serves::<Chat, Http>()
        .serves::<Fibonacci, Http>()
        .main()
}
