//! Answers over HTTP, counted by their status and body.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-http");

fn serve(options: Options, mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    let answer = move || {
        calls += 1;
        answer(calls - 1)
    };
    Server::start(ProtocolKind::Http, 0, options, answer).unwrap()
}

fn against(server: &Server, changes: Value) -> Value {
    let endpoint =
        json!({"protocol": "http", "host": "127.0.0.1", "port": server.port(), "path": "/rpc/transfer"});
    with(configuration(endpoint), changes)
}

#[test]
fn every_class_of_answer_is_counted_at_any_depth_and_in_any_pieces() {
    for (in_flight, fragment_bytes) in [(1, None), (8, None), (1, Some(5)), (8, Some(5))] {
        let server = serve(Options { fragment_bytes }, |call| match call {
            3 => Reply::Insufficient,
            5 => Reply::Error,
            _ => Reply::Committed,
        });
        let report = run(CLIENT, &against(&server, json!({"in_flight": in_flight}))).report();
        assert!(number(&report["acknowledged"]) > 5);
        assert_eq!(report["failed"], json!({"insufficient": 1, "error": 1, "timeout": 0}));
        assert_eq!(report["first_error"], "HTTP 500: broken");
    }
}

#[test]
fn a_connection_that_dies_is_in_doubt() {
    let server = serve(Options::default(), |call| if call == 40 { Reply::HangUp } else { Reply::Committed });
    let report = run(CLIENT, &against(&server, json!({}))).report();
    assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (1, 1));
}

#[test]
fn an_answer_too_many_breaks_the_client() {
    let server = serve(Options::default(), |call| if call == 20 { Reply::Twice } else { Reply::Committed });
    let message = run(CLIENT, &against(&server, json!({"connections": 1}))).refusal(4);
    assert!(message.contains("fits no request"), "{message}");
}

#[test]
fn a_path_that_would_break_the_request_is_refused() {
    let server = serve(Options::default(), |_| Reply::Committed);
    let mut bad = against(&server, json!({}));
    bad["endpoint"]["path"] = json!("/a b");
    assert!(run(CLIENT, &bad).refusal(2).starts_with("endpoint.path: "));
}

#[test]
fn retries_that_the_server_tells_of_are_counted() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"ok\":true,\"retries\":2}";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        while stream.read(&mut request).unwrap_or(0) > 0 {
            stream.write_all(ANSWER).unwrap();
        }
    });
    let endpoint = json!({"protocol": "http", "host": "127.0.0.1", "port": port});
    let report = run(CLIENT, &with(configuration(endpoint), json!({"connections": 1}))).report();
    server.join().unwrap();
    assert!(number(&report["acknowledged"]) > 0);
    assert_eq!(number(&report["retried"]), 2 * number(&report["acknowledged"]));
    assert_eq!(report["acknowledged"], report["attempted"]);
    let listed = report["connections"][0]["retried"].as_array().unwrap().len() as u64;
    assert_eq!(listed, number(&report["acknowledged"]));
}
