//! The command line that the contract asks of every client.

use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use serde_json::json;

use crate::config::{Config, DrawConfig, CONTRACT_VERSION};
use crate::error::ClientError;
use crate::protocol::Protocol;
use crate::report::ClientIdentity;
use crate::usage::build_id;
use crate::work::Work;
use crate::{progress, trial};

const LANGUAGE: &str = "rust";

/// The whole of a client's `main`.
pub fn main<P: Protocol>(name: &'static str, version: &'static str) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments.as_slice() {
        [] => load::<P>(name, version),
        ["--describe"] => describe::<P>(name, version),
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

fn load<P: Protocol>(name: &'static str, version: &'static str) -> Result<(), ClientError> {
    let config: Config<P::Endpoint> = Config::parse(&read_input()?, P::NAME)?;
    let client = ClientIdentity { name, language: LANGUAGE, version, build_id: build_id() };
    let report = trial::run::<P>(&config, client)?;
    let mut output = BufWriter::new(io::stdout());
    serde_json::to_writer(&mut output, &report)
        .map_err(io::Error::from)
        .and_then(|()| end_line(output))
        .map_err(unwritable)
}

fn describe<P: Protocol>(name: &str, version: &str) -> Result<(), ClientError> {
    let description = json!({
        "contract": CONTRACT_VERSION, "name": name, "language": LANGUAGE, "version": version, "protocols": [P::NAME]
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
