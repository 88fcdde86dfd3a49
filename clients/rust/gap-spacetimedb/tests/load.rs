//! Answers over SpacetimeDB's WebSocket, counted by their status.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use gap_null::{Newest, Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, number, run, with};

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

/// An endpoint of each protocol version, and of v3 with each call in a payload of its own.
fn at_each_version(port: u16, changes: &Value) -> Vec<(&'static str, Value)> {
    [
        ("v1", json!({"newest": "v1"})),
        ("v2", json!({"newest": "v2"})),
        ("v3", json!({})),
        ("v3", json!({"coalesce": false})),
    ]
    .map(|(spoken, keys)| {
        let mut configuration = at_port(port, changes.clone());
        configuration["endpoint"] = with(configuration["endpoint"].take(), keys);
        (spoken, configuration)
    })
    .into()
}

#[test]
fn every_class_of_answer_is_counted_in_any_version_at_any_depth_and_in_any_pieces() {
    for (in_flight, fragment_bytes) in [(1, None), (16, None), (1, Some(5)), (16, Some(5))] {
        for variant in 0..4 {
            let server = serve(Options { fragment_bytes, ..Options::default() }, |call| match call {
                3 => Reply::Insufficient,
                5 => Reply::Error,
                _ => Reply::Committed,
            });
            let changes = json!({"in_flight": in_flight});
            let (spoken, configuration) = at_each_version(server.port(), &changes).swap_remove(variant);
            let report = run(CLIENT, &configuration).report();
            assert!(number(&report["acknowledged"]) > 5);
            assert_eq!(report["failed"], json!({"insufficient": 1, "error": 1, "timeout": 0}));
            assert_eq!(report["first_error"], "the reducer is broken");
            assert_eq!(report["agreed"]["protocol"], spoken);
        }
    }
}

#[test]
fn a_server_that_is_older_than_the_client_is_spoken_to_in_its_newest_version() {
    for spoken in ["v1", "v2", "v3"] {
        let newest = Newest::parse(spoken).unwrap();
        let server = serve(Options { newest, ..Options::default() }, |_| Reply::Committed);
        let report = run(CLIENT, &at_port(server.port(), json!({}))).report();
        assert!(number(&report["acknowledged"]) > 5);
        assert_eq!(report["agreed"]["protocol"], spoken);
    }
}

#[test]
fn kinds_are_reducers_and_counted_apart_in_any_version() {
    for variant in 0..4 {
        let server =
            serve(Options::default(), |call| if call == 9 { Reply::Error } else { Reply::Committed });
        let changes = json!({"workload": counter_and_messages(), "in_flight": 16});
        let (spoken, mut configuration) = at_each_version(server.port(), &changes).swap_remove(variant);
        configuration["endpoint"]["reducers"] = json!({"message": "send_message"});
        let report = run(CLIENT, &configuration).report();
        for kind in ["increment", "message"] {
            assert!(number(&report["kinds"][kind]["acknowledged"]) > 5, "{kind} over {spoken}");
        }
        assert_eq!(report["failed"], json!({"error": 1, "timeout": 0}), "{spoken}");
    }
}

#[test]
fn a_refusal_belongs_to_its_call_in_any_version() {
    for variant in 0..4 {
        let server = serve(Options::default(), |call| match call {
            7 => Reply::Insufficient,
            12 => Reply::Error,
            _ => Reply::Committed,
        });
        let changes = json!({"connections": 1, "in_flight": 16});
        let (_, configuration) = at_each_version(server.port(), &changes).swap_remove(variant);
        let report = run(CLIENT, &configuration).report();
        assert_eq!(report["connections"][0]["failed"], json!([[7, "insufficient"], [12, "error"]]));
    }
}

#[test]
fn the_report_says_what_was_agreed_on() {
    let server = serve(Options::default(), |_| Reply::Committed);
    let told: Vec<Value> = at_each_version(server.port(), &json!({}))
        .into_iter()
        .map(|(_, configuration)| run(CLIENT, &configuration).report()["agreed"].clone())
        .collect();
    let agreed =
        |protocol, calls| json!({"protocol": protocol, "calls in a payload": calls, "confirmed": "false"});
    let all = "all that are ready";
    assert_eq!(told, [agreed("v1", "one"), agreed("v2", "one"), agreed("v3", all), agreed("v3", "one")]);
}

#[test]
fn a_connection_that_dies_is_in_doubt_in_any_version() {
    for variant in 0..4 {
        let server =
            serve(Options::default(), |call| if call == 40 { Reply::HangUp } else { Reply::Committed });
        let (_, configuration) = at_each_version(server.port(), &json!({})).swap_remove(variant);
        let report = run(CLIENT, &configuration).report();
        assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (1, 1));
    }
}

#[test]
fn calls_behind_a_death_in_their_payload_are_in_doubt() {
    let server = serve(Options::default(), |call| if call == 40 { Reply::HangUp } else { Reply::Committed });
    let changes = json!({"connections": 1, "in_flight": 16});
    let report = run(CLIENT, &at_port(server.port(), changes)).report();
    assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (16, 1));
    assert_eq!(number(&report["acknowledged"]), 32);
}

#[test]
fn an_answer_with_the_request_id_of_another_breaks_the_client() {
    for variant in 0..4 {
        let server =
            serve(Options::default(), |call| if call == 20 { Reply::Twice } else { Reply::Committed });
        let changes = json!({"connections": 1, "in_flight": 8});
        let (_, configuration) = at_each_version(server.port(), &changes).swap_remove(variant);
        let message = run(CLIENT, &configuration).refusal(4);
        assert!(message.contains("request id"), "{message}");
    }
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
        request.starts_with("GET /v1/database/bank/subscribe?compression=None&confirmed=false HTTP/1.1\r\n"),
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

#[test]
fn a_subprotocol_that_was_not_offered_is_refused() {
    let (message, request) =
        refused_upgrade("HTTP/1.1 400 Bad Request\r\ncontent-length: 26\r\n\r\nno valid protocol selected");
    assert!(message.contains("400 Bad Request no valid protocol selected"), "{message}");
    let offered =
        "Sec-WebSocket-Protocol: v3.bsatn.spacetimedb, v2.bsatn.spacetimedb, v1.bsatn.spacetimedb\r\n";
    assert!(request.contains(offered), "{request}");
}

#[test]
fn a_key_out_of_range_is_refused_by_name() {
    for (key, value) in [("newest", json!("v4")), ("coalesce", json!(1)), ("confirmed", json!("yes"))] {
        let mut configuration = at_port(1, json!({}));
        configuration["endpoint"][key] = value;
        let message = run(CLIENT, &configuration).refusal(2);
        assert!(message.contains(key), "{message}");
    }
}
