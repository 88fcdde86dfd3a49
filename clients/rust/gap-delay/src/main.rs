use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::thread;

use gap_delay::{Nanoseconds, Relay};

const USAGE: &str = "usage: gap-delay --target HOST:PORT --round-trip-ms X (0 to 60000); \
                     it ends with SIGTERM or when its standard input closes";
const ROUND_TRIP_MAX_MS: f64 = 60_000.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some((target, delay)) = parse(&arguments) else {
        eprintln!("arguments: {} is refused; {USAGE}", arguments.join(" "));
        return ExitCode::from(2);
    };
    match run(target, delay) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay to {target}: {error}");
            ExitCode::from(3)
        }
    }
}

fn parse(arguments: &[&str]) -> Option<(SocketAddr, Nanoseconds)> {
    let ["--target", target, "--round-trip-ms", round_trip_ms] = arguments else { return None };
    let round_trip_ms: f64 = round_trip_ms.parse().ok()?;
    let allowed = (0.0..=ROUND_TRIP_MAX_MS).contains(&round_trip_ms);
    let delay = allowed.then_some((round_trip_ms * 1e6 / 2.0).round() as Nanoseconds)?;
    Some((target.to_socket_addrs().ok()?.next()?, delay))
}

fn run(target: SocketAddr, delay: Nanoseconds) -> io::Result<()> {
    let relay = Relay::bind(target, delay)?;
    let stopper = relay.stopper();
    thread::spawn(move || {
        let mut input = [0; 4096];
        while io::stdin().read(&mut input).is_ok_and(|read| read > 0) {}
        // A relay that cannot be woken has ended.
        let _ = stopper.wake();
    });
    writeln!(io::stdout(), r#"{{"port":{}}}"#, relay.port())?;
    relay.run()
}
