use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread;

use gap_plant::Server;

const USAGE: &str =
    "usage: gap-plant --port N (0 for a free port) or --version; it ends with SIGTERM or when its \
                     standard input closes";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let port = match arguments[..] {
        ["--version"] => {
            println!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        ["--port", port] => port.parse().ok(),
        _ => None,
    };
    let Some(port) = port else {
        eprintln!("arguments: {} is refused; {USAGE}", arguments.join(" "));
        return ExitCode::from(2);
    };
    match run(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port {port}: {error}; choose a free port, or 0");
            ExitCode::from(3)
        }
    }
}

fn run(port: u16) -> io::Result<()> {
    let server = Server::bind(port)?;
    let stopper = server.stopper();
    thread::spawn(move || {
        let mut input = [0; 4096];
        while io::stdin().read(&mut input).is_ok_and(|read| read > 0) {}
        // A server that cannot be woken has ended.
        let _ = stopper.stop();
    });
    let [port, control_port] = server.ports();
    writeln!(io::stdout(), r#"{{"port":{port},"control_port":{control_port}}}"#)?;
    server.run()
}
