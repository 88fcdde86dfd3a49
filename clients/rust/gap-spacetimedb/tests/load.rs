//! Answers over SpacetimeDB's WebSocket, counted by their status.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-spacetimedb");

fn serve(options: Options, mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    let answer = move || {
        calls += 1;
        answer(calls - 1)
    };
    Server::start(ProtocolKind::SpacetimeDb, 0, options, answer).unwrap()
}

fn at_port(port: u16, changes: Value) -> Value {
    let endpoint = json!({"protocol": "spacetimedb", "host": "127.0.0.1", "port": port, "database": "bank", "token": "secret"});
    with(configuration(endpoint), changes)
}

#[test]
fn every_class_of_answer_is_counted_at_any_depth_and_in_any_pieces() {
    for (in_flight, fragment_bytes) in [(1, None), (16, None), (1, Some(5)), (16, Some(5))] {
        let server = serve(Options { fragment_bytes }, |call| match call {
            3 => Reply::Insufficient,
            5 => Reply::Error,
            _ => Reply::Committed,
        });
        let report = run(CLIENT, &at_port(server.port(), json!({"in_flight": in_flight}))).report();
        assert!(number(&report["acknowledged"]) > 5);
        assert_eq!(report["failed"], json!({"insufficient": 1, "error": 1, "timeout": 0}));
        assert_eq!(report["first_error"], "the reducer is broken");
    }
}

#[test]
fn a_connection_that_dies_is_in_doubt() {
    let server = serve(Options::default(), |call| if call == 40 { Reply::HangUp } else { Reply::Committed });
    let report = run(CLIENT, &at_port(server.port(), json!({}))).report();
    assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (1, 1));
}

#[test]
fn an_answer_with_the_request_id_of_another_breaks_the_client() {
    let server = serve(Options::default(), |call| if call == 20 { Reply::Twice } else { Reply::Committed });
    let message = run(CLIENT, &at_port(server.port(), json!({"connections": 1, "in_flight": 8}))).refusal(4);
    assert!(message.contains("request id"), "{message}");
}

/// Runs the client against a server that answers the upgrade with `answer`; the refusal and the client's request.
fn refused_upgrade(answer: &'static str) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request[..read].to_vec()).unwrap()
    });
    let message = run(CLIENT, &at_port(port, json!({}))).refusal(3);
    (message, server.join().unwrap())
}

#[test]
fn a_refused_upgrade_is_told_without_the_token() {
    let (message, request) = refused_upgrade(
        "HTTP/1.1 401 Unauthorized\r\nspacetime-identity-token: secret\r\ncontent-length: 5\r\n\r\nstale",
    );
    assert!(message.contains("401 Unauthorized stale") && !message.contains("secret"), "{message}");
    assert!(
        request.starts_with("GET /v1/database/bank/subscribe?compression=None HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("Authorization: Bearer secret\r\n"));
}

#[test]
fn an_accept_for_another_key_is_refused() {
    let (message, _) = refused_upgrade(
        "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
         sec-websocket-protocol: v1.bsatn.spacetimedb\r\n\r\n",
    );
    assert!(message.contains("Sec-WebSocket-Accept"), "{message}");
}
