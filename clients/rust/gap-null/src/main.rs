use std::io::{self, Read, Write};
use std::process::ExitCode;

use gap_null::{Declared, Newest, Options, ProtocolKind, Reply, Server};

const USAGE: &str =
    "usage: gap-null postgres|http|spacetimedb --port N (0 for a free port) [--requests JSON, \
                     the client's endpoint.requests] [--newest v1|v2|v3, of spacetimedb]; it ends with SIGTERM or when its standard input closes";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some((kind, port, requests, newest)) = parse(&arguments) else {
        eprintln!("arguments: {} is refused; {USAGE}", arguments.join(" "));
        return ExitCode::from(2);
    };
    let declared = match Declared::parse(requests) {
        Ok(declared) => declared,
        Err(refusal) => {
            eprintln!("requests: {refusal}; {USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(kind, port, Options { declared, newest, ..Options::default() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port {port}: {error}; choose a free port, or 0");
            ExitCode::from(3)
        }
    }
}

fn parse<'a>(arguments: &[&'a str]) -> Option<(ProtocolKind, u16, &'a str, Newest)> {
    let (kind, port, requests, newest) = match arguments {
        [kind, "--port", port] => (kind, port, "{}", Newest::default()),
        [kind, "--port", port, "--requests", requests] => (kind, port, *requests, Newest::default()),
        [kind @ "spacetimedb", "--port", port, "--newest", newest] => {
            (kind, port, "{}", Newest::parse(newest)?)
        }
        _ => return None,
    };
    let kind = match *kind {
        "postgres" => ProtocolKind::Postgres,
        "http" => ProtocolKind::Http,
        "spacetimedb" => ProtocolKind::SpacetimeDb,
        _ => return None,
    };
    port.parse().ok().map(|port| (kind, port, requests, newest))
}

fn run(kind: ProtocolKind, port: u16, options: Options) -> io::Result<()> {
    let server = Server::start(kind, port, options, || Reply::Committed)?;
    writeln!(io::stdout(), r#"{{"event":"ready","port":{}}}"#, server.port())?;
    let mut input = [0; 4096];
    let mut stdin = io::stdin();
    while stdin.read(&mut input)? > 0 {}
    server.stop()
}
