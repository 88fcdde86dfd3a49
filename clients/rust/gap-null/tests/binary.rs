//! The null servers as processes.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const SERVER: &str = env!("CARGO_BIN_EXE_gap-null");

#[test]
fn says_its_port_and_ends_when_standard_input_closes() {
    for protocol in ["postgres", "http", "spacetimedb"] {
        let mut child = Command::new(SERVER)
            .args([protocol, "--port", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.strip_prefix(r#"{"event":"ready","port":"#).unwrap().trim_end_matches("}\n");
        TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn refuses_a_protocol_it_does_not_know() {
    let output = Command::new(SERVER).args(["mysql", "--port", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("postgres|http|spacetimedb"));
}
