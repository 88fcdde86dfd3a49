//! The probe as a process.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const PROBE: &str = env!("CARGO_BIN_EXE_gap-probe");

#[test]
fn reads_every_processor_until_standard_input_closes() {
    let mut child = Command::new(PROBE)
        .args(["--every-ms", "5"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let processors = ready["processors"].as_array().unwrap().clone();
    assert!(!processors.is_empty());
    sleep(Duration::from_millis(200));
    drop(child.stdin.take());
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let readings = told["readings"].as_array().unwrap();
    for processor in &processors {
        let of_it: Vec<&Value> = readings.iter().filter(|one| &one["processor"] == processor).collect();
        assert!(!of_it.is_empty());
        assert!(of_it.windows(2).all(|pair| pair[0]["at_ns"].as_u64() < pair[1]["at_ns"].as_u64()));
        assert!(of_it.iter().all(|one| one["arithmetic_ns"].as_u64() > Some(0)));
        assert!(of_it.iter().all(|one| one["memory_ns"].as_u64() > Some(0)));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn refuses_what_it_cannot_do() {
    for arguments in
        [&[][..], &["--every-ms"], &["--every-ms", "4"], &["--every-ms", "1001"], &["--every-ms", "x"]]
    {
        let output = Command::new(PROBE).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("--every-ms N (5 to 1000)"));
    }
}
