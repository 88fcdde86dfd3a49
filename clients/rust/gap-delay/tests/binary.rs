//! The proxy as a process.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

const PROXY: &str = env!("CARGO_BIN_EXE_gap-delay");

#[test]
fn says_its_port_and_ends_when_standard_input_closes() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = target.local_addr().unwrap().to_string();
    let mut child = Command::new(PROXY)
        .args(["--target", &address, "--round-trip-ms", "0.5"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.strip_prefix(r#"{"port":"#).unwrap().trim_end_matches("}\n").parse().unwrap();
    let client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    target.accept().unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(client);
}

#[test]
fn refuses_what_it_cannot_do() {
    for arguments in [
        &["--target", "127.0.0.1:1"][..],
        &["--target", "127.0.0.1", "--round-trip-ms", "1"],
        &["--target", "127.0.0.1:1", "--round-trip-ms", "-1"],
        &["--target", "127.0.0.1:1", "--round-trip-ms", "NaN"],
        &["--target", "127.0.0.1:1", "--round-trip-ms", "60001"],
    ] {
        let output = Command::new(PROXY).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("--round-trip-ms X (0 to 60000)"));
    }
}
