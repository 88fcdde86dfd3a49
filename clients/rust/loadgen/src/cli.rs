//! The command line that the contract asks of every client.

use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::config::{Config, DrawConfig, CONTRACT_VERSION};
use crate::embedded::{self, Engine};
use crate::error::ClientError;
use crate::protocol::Protocol;
use crate::report::ClientIdentity;
use crate::usage::build_id;
use crate::work::Work;
use crate::{progress, trial};

const LANGUAGE: &str = "rust";

/// The whole of the `main` of a client that calls a server.
pub fn main<P: Protocol>(name: &'static str, version: &'static str) -> ExitCode {
    run(name, version, P::NAME, |input, client| trial::run::<P>(&Config::parse(input, P::NAME)?, client))
}

/// The whole of the `main` of a client that holds its engine.
pub fn main_embedded<E: Engine>(name: &'static str, version: &'static str) -> ExitCode {
    run(name, version, E::NAME, |input, client| embedded::run::<E>(&Config::parse(input, E::NAME)?, client))
}

fn run<R: Serialize>(
    name: &'static str,
    version: &'static str,
    protocol: &str,
    load: impl FnOnce(&[u8], ClientIdentity) -> Result<R, ClientError>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments.as_slice() {
        [] => report(name, version, load),
        ["--describe"] => describe(name, version, protocol),
        ["--draw"] => draw(),
        other => Err(ClientError::Configuration(format!(
            "arguments: {} is refused; allowed: none, --describe or --draw",
            other.join(" ")
        ))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::error(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

fn report<R: Serialize>(
    name: &'static str,
    version: &'static str,
    load: impl FnOnce(&[u8], ClientIdentity) -> Result<R, ClientError>,
) -> Result<(), ClientError> {
    let client = ClientIdentity { name, language: LANGUAGE, version, build_id: build_id() };
    let report = load(&read_input()?, client)?;
    let mut output = BufWriter::new(io::stdout());
    serde_json::to_writer(&mut output, &report)
        .map_err(io::Error::from)
        .and_then(|()| end_line(output))
        .map_err(unwritable)
}

fn describe(name: &str, version: &str, protocol: &str) -> Result<(), ClientError> {
    let description = json!({
        "contract": CONTRACT_VERSION, "name": name, "language": LANGUAGE, "version": version, "protocols": [protocol]
    });
    let mut output = io::stdout();
    write!(output, "{description}").and_then(|()| end_line(output)).map_err(unwritable)
}

fn draw() -> Result<(), ClientError> {
    let DrawConfig { workload, range } = DrawConfig::parse(&read_input()?)?;
    let work = Work::load(&workload)?;
    let mut output = BufWriter::new(io::stdout());
    for index in range.first_index..range.first_index + range.count {
        let drawn = work.draw(range.connection, index);
        writeln!(output, "{index} {} {} {}", drawn.source, drawn.destination, drawn.amount)
            .map_err(unwritable)?;
    }
    output.flush().map_err(unwritable)
}

fn end_line(mut output: impl Write) -> io::Result<()> {
    output.write_all(b"\n")?;
    output.flush()
}

fn unwritable(error: io::Error) -> ClientError {
    ClientError::Integrity(format!("standard output: {error}"))
}

fn read_input() -> Result<Vec<u8>, ClientError> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).map_err(|error| {
        ClientError::Configuration(format!("standard input: {error}; send one JSON object"))
    })?;
    Ok(input)
}
