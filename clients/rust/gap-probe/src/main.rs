use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gap_probe::{probe, processors, Reading, Walk};
use serde_json::json;

const USAGE: &str =
    "usage: gap-probe --every-ms N (5 to 1000); when its standard input closes, it prints its readings";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(period) = parse(&arguments) else {
        eprintln!("arguments: {} is refused; {USAGE}", arguments.join(" "));
        return ExitCode::from(2);
    };
    match run(period) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("probe: {error}");
            ExitCode::from(3)
        }
    }
}

fn parse(arguments: &[&str]) -> Option<Duration> {
    let ["--every-ms", every_ms] = arguments else { return None };
    let every_ms: u64 = every_ms.parse().ok()?;
    (5..=1000).contains(&every_ms).then(|| Duration::from_millis(every_ms))
}

fn run(period: Duration) -> io::Result<()> {
    let (walk, stop, processors) = (Walk::new(), AtomicBool::new(false), processors()?);
    writeln!(io::stdout(), "{}", json!({"processors": processors}))?;
    let readings = thread::scope(|scope| {
        let (walk, stop) = (&walk, &stop);
        let probes: Vec<_> = processors
            .iter()
            .map(|&processor| scope.spawn(move || probe(processor, walk, period, stop)))
            .collect();
        let mut input = [0; 4096];
        while io::stdin().read(&mut input).is_ok_and(|read| read > 0) {}
        stop.store(true, Ordering::Relaxed);
        let mut readings: Vec<Reading> = Vec::new();
        for one in probes {
            readings.extend(one.join().map_err(|_| io::Error::other("a probe ended by itself"))??);
        }
        Ok::<_, io::Error>(readings)
    })?;
    writeln!(io::stdout(), "{}", json!({"readings": readings}))
}
