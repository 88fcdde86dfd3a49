//! The command line that the contract asks of every client.

use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use serde_json::json;

use crate::config::{Config, DrawConfig, DrawRange, RawConfig, WorkloadConfig, CONTRACT_VERSION};
use crate::embedded::{self, Engine};
use crate::error::ClientError;
use crate::protocol::Protocol;
use crate::report::{ClientIdentity, Report};
use crate::usage::build_id;
use crate::workload::{Fields, Kind, Letters, Operation, Workload};
use crate::{progress, trial};

const LANGUAGE: &str = "rust";

/// A client: its name, and the workloads that it can load, each with what carries it.
pub struct Client {
    name: &'static str,
    version: &'static str,
    serves: Vec<Service>,
}

/// A load that was compiled for one workload over one protocol.
struct Service {
    protocol: &'static str,
    workload: &'static str,
    load: fn(RawConfig, ClientIdentity) -> Result<Report, ClientError>,
    draw: fn(&WorkloadConfig, DrawRange, &mut dyn Write) -> Result<(), ClientError>,
}

impl Client {
    pub fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version, serves: Vec::new() }
    }

    /// Loads a server with a workload over a protocol.
    pub fn serves<W: Workload, P: Protocol<W>>(mut self) -> Self {
        self.serves.push(Service {
            protocol: P::NAME,
            workload: W::NAME,
            load: |raw, client| trial::run::<W, P>(&Config::new(raw, P::NAME)?, client),
            draw: draw_lines::<W>,
        });
        self
    }

    /// Loads an engine inside the client with a workload.
    pub fn serves_embedded<W: Workload, E: Engine<W>>(mut self) -> Self {
        self.serves.push(Service {
            protocol: E::NAME,
            workload: W::NAME,
            load: |raw, client| embedded::run::<W, E>(&Config::new(raw, E::NAME)?, client),
            draw: draw_lines::<W>,
        });
        self
    }

    /// The whole of the `main` of a client.
    pub fn main(self) -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = match arguments.as_slice() {
            [] => self.report(),
            ["--describe"] => self.describe(),
            ["--draw"] => self.draw(),
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

    fn report(&self) -> Result<(), ClientError> {
        let raw = RawConfig::parse(&read_input()?)?;
        let service = self.service(&raw.workload.name)?;
        let client = ClientIdentity {
            name: self.name,
            language: LANGUAGE,
            version: self.version,
            build_id: build_id(),
        };
        let report = (service.load)(raw, client)?;
        let mut output = BufWriter::new(io::stdout());
        serde_json::to_writer(&mut output, &report)
            .map_err(io::Error::from)
            .and_then(|()| end_line(output))
            .map_err(unwritable)
    }

    fn describe(&self) -> Result<(), ClientError> {
        let mut protocols: Vec<&str> = self.serves.iter().map(|service| service.protocol).collect();
        protocols.dedup();
        let workloads: Vec<&str> = self.serves.iter().map(|service| service.workload).collect();
        let description = json!({
            "contract": CONTRACT_VERSION, "name": self.name, "language": LANGUAGE, "version": self.version,
            "protocols": protocols, "workloads": workloads, "reports": "indices"
        });
        let mut output = io::stdout();
        write!(output, "{description}").and_then(|()| end_line(output)).map_err(unwritable)
    }

    fn draw(&self) -> Result<(), ClientError> {
        let DrawConfig { workload, draw: range, .. } = DrawConfig::parse(&read_input()?)?;
        let mut output = BufWriter::new(io::stdout());
        (self.service(&workload.name)?.draw)(&workload, range, &mut output)?;
        output.flush().map_err(unwritable)
    }

    fn service(&self, workload: &str) -> Result<&Service, ClientError> {
        self.serves.iter().find(|service| service.workload == workload).ok_or_else(|| {
            let allowed: Vec<String> =
                self.serves.iter().map(|service| format!("{:?}", service.workload)).collect();
            ClientError::refused("workload.name", format!("{workload:?}"), &allowed.join(", "))
        })
    }
}

/// One line for each operation: its index, its kind and its fields.
fn draw_lines<W: Workload>(
    config: &WorkloadConfig,
    range: DrawRange,
    output: &mut dyn Write,
) -> Result<(), ClientError> {
    let work = W::load(config)?;
    let mut line = Words::default();
    for index in (range.first_index..).take(range.count as usize) {
        let drawn = work.draw(range.connection, index);
        line.0.clear();
        line.0.extend_from_slice(format!("{index} {}", W::KINDS[drawn.kind().place()].name).as_bytes());
        drawn.write(&mut line);
        line.0.push(b'\n');
        output.write_all(&line.0).map_err(unwritable)?;
    }
    Ok(())
}

/// Fields as text, each behind a space.
#[derive(Default)]
struct Words(Vec<u8>);

impl Fields for Words {
    fn u32(&mut self, value: u32) {
        self.u64(value.into());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(format!(" {value}").as_bytes());
    }

    fn text(&mut self, text: Letters) {
        self.0.push(b' ');
        text.write(&mut self.0);
    }
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
