//! Answers over HTTP, counted by their status and body.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use gap_null::{Declared, Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-http");

fn serve(options: Options, mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    let answer = move || {
        calls += 1;
        answer(calls - 1)
    };
    Server::start(ProtocolKind::Http, 0, options, answer).unwrap()
}

fn endpoint(port: u16) -> Value {
    let transfer = json!({
        "method": "POST", "path": "/rpc/transfer", "body": r#"{{"from":{from},"to":{to},"amount":{amount}}"#,
        "success": {"json": {"ok": true}},
        "refusals": {"insufficient": {"json": {"ok": false, "error": "insufficient"}}},
        "retries": "retries",
    });
    json!({"protocol": "http", "host": "127.0.0.1", "port": port, "requests": {"transfer": transfer}})
}

fn against(server: &Server, changes: Value) -> Value {
    with(configuration(endpoint(server.port())), changes)
}

#[test]
fn every_class_of_answer_is_counted_at_any_depth_and_in_any_pieces() {
    for (in_flight, fragment_bytes) in [(1, None), (8, None), (1, Some(5)), (8, Some(5))] {
        let server = serve(Options { fragment_bytes, ..Options::default() }, |call| match call {
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

/// One kind is sent to a path of its own and answered otherwise.
#[test]
fn each_kind_has_its_own_request_and_answer() {
    let requests = json!({
        "increment": {
            "method": "PUT", "path": "/counters/{counter}", "body": "{amount}", "success": {"status": [202]},
        },
        "message": {
            "method": "POST", "path": "/messages", "body": r#"{{"id":[{connection},{index}],"body":{body}}"#,
            "success": {"json": {"stored": {"rows": 1}}},
        },
    });
    let declared = Declared::parse(&requests.to_string()).unwrap();
    let server = serve(Options { declared, ..Options::default() }, |_| Reply::Committed);
    let endpoint =
        json!({"protocol": "http", "host": "127.0.0.1", "port": server.port(), "requests": requests});
    for in_flight in [1, 8] {
        let changes = json!({"workload": counter_and_messages(), "in_flight": in_flight});
        let report = run(CLIENT, &with(configuration(endpoint.clone()), changes)).report();
        assert_eq!(report["acknowledged"], report["attempted"]);
        for kind in ["increment", "message"] {
            assert!(number(&report["kinds"][kind]["acknowledged"]) > 5, "{kind}");
        }
    }
}

#[test]
fn what_the_workload_does_not_have_is_refused_by_name() {
    let good = configuration(endpoint(1));
    for (pointer, value, named) in [
        ("/endpoint/requests/transfer/body", json!("{colour}"), "endpoint.requests.transfer.body: {colour}"),
        ("/endpoint/requests/transfer/path", json!("/{to"), "endpoint.requests.transfer.path: "),
        (
            "/endpoint/requests/transfer/refusals",
            json!({"asleep": {}}),
            "endpoint.requests.transfer.refusals: asleep",
        ),
        (
            "/endpoint/requests/increment",
            json!({"method": "GET", "path": "/", "success": {}}),
            "endpoint.requests: increment",
        ),
        ("/endpoint/requests", json!({}), "endpoint.requests.transfer: missing"),
        ("/workload", counter_and_messages(), "endpoint.requests: transfer"),
    ] {
        let mut bad = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[key] = value;
        let message = run(CLIENT, &bad).refusal(2);
        assert!(message.starts_with(named), "{pointer}: {message}");
    }
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
    let report = run(CLIENT, &with(configuration(endpoint(port)), json!({"connections": 1}))).report();
    server.join().unwrap();
    assert!(number(&report["acknowledged"]) > 0);
    assert_eq!(number(&report["retried"]), 2 * number(&report["acknowledged"]));
    assert_eq!(report["acknowledged"], report["attempted"]);
    let listed = report["connections"][0]["retried"].as_array().unwrap().len() as u64;
    assert_eq!(listed, number(&report["acknowledged"]));
}
