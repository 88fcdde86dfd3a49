//! A transfer as five statements, and as one of many in a call.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, histogram, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-postgres");

/// Answers by the number of the transfer, from 0.
fn serve(options: Options, mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut transfers = 0;
    let answer = move || {
        transfers += 1;
        answer(transfers - 1)
    };
    Server::start(ProtocolKind::Postgres, 0, options, answer).unwrap()
}

fn load(port: u16, endpoint: Value, changes: Value) -> Value {
    let address = json!({
        "protocol": "postgres", "host": "127.0.0.1", "port": port, "user": "bank", "password": "x", "database": "bank"
    });
    with(configuration(with(address, endpoint)), changes)
}

fn sql() -> Value {
    json!({"mode": "sql"})
}

fn batch(size: usize) -> Value {
    json!({"mode": "batch", "batch_size": size})
}

#[test]
fn each_transfer_of_either_mode_is_one_request_of_its_own_class() {
    for (endpoint, in_flight, fragment_bytes) in [
        (sql(), 1, None),
        (sql(), 1, Some(7)),
        (batch(4), 4, None),
        (batch(4), 12, None),
        (batch(64), 128, Some(97)),
    ] {
        let committed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&committed);
        let server =
            serve(Options { fragment_bytes, ..Options::default() }, move |transfer| match transfer {
                3 | 6 => Reply::Insufficient,
                _ => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Reply::Committed
                }
            });
        let report =
            run(CLIENT, &load(server.port(), endpoint.clone(), json!({"in_flight": in_flight}))).report();
        assert_eq!(number(&report["acknowledged"]), committed.load(Ordering::Relaxed), "{endpoint}");
        assert!(number(&report["acknowledged"]) > 10, "{endpoint}");
        assert_eq!(report["failed"], json!({"insufficient": 2, "error": 0, "timeout": 0}), "{endpoint}");
    }
}

#[test]
fn an_error_is_one_transfer_of_statements_and_all_transfers_of_a_batch() {
    for (endpoint, in_flight, errors) in [(sql(), 1, 1), (batch(4), 8, 4)] {
        let server =
            serve(Options::default(), |transfer| if transfer == 9 { Reply::Error } else { Reply::Committed });
        let report = run(CLIENT, &load(server.port(), endpoint, json!({"in_flight": in_flight}))).report();
        assert_eq!(report["failed"], json!({"insufficient": 0, "error": errors, "timeout": 0}));
        assert_eq!(report["first_error"], "40P01 deadlock detected");
        // The transaction was rolled back: the connection goes on.
        assert!(report["connections"].as_array().unwrap().iter().all(|c| number(&c["issued"]) > 20));
    }
}

#[test]
fn the_transfers_of_a_batch_share_their_time() {
    let server = serve(Options::default(), |transfer| {
        if transfer % 8 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Reply::Committed
    });
    let changes = json!({"connections": 1, "in_flight": 8, "warmup_s": 0.0});
    let report = run(CLIENT, &load(server.port(), batch(8), changes)).report();
    let times = histogram(&report["service_time_ns"]);
    let attempted = number(&report["attempted"]);
    assert!(times.min() >= 10_000_000, "{} ns", times.min());
    assert_eq!(attempted % 8, 0);
    // All have their time but the last batch, or what of it was given out after the window's end.
    assert!((attempted - 8..=attempted).contains(&times.len()), "{} of {attempted}", times.len());
}

#[test]
fn the_open_loop_hands_over_a_batch_when_its_last_transfer_is_due() {
    let server = serve(Options::default(), |_| Reply::Committed);
    let changes = json!({
        "connections": 2, "in_flight": 20, "loop": {"kind": "open", "rate_per_s": 1000.0},
        "warmup_s": 0.0, "window_s": 0.5
    });
    let report = run(CLIENT, &load(server.port(), batch(10), changes)).report();
    let attempted = number(&report["attempted"]);
    // 0.5 s at 1000 per second, less at most one unfinished batch of each connection.
    assert!((460..=500).contains(&attempted), "{attempted}");
    // The first of ten is intended 18 ms before the last on two connections at this rate.
    assert!(histogram(&report["response_time_ns"]).max() >= 17_000_000);
}

#[test]
fn a_connection_that_dies_leaves_its_transfers_in_doubt() {
    for (endpoint, in_flight, doubts) in [(sql(), 1, 1), (batch(4), 4, 4)] {
        let server = serve(
            Options::default(),
            |transfer| if transfer == 40 { Reply::HangUp } else { Reply::Committed },
        );
        let report = run(CLIENT, &load(server.port(), endpoint, json!({"in_flight": in_flight}))).report();
        assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (doubts, 1));
    }
}

#[test]
fn an_answer_too_many_breaks_the_client() {
    for (endpoint, in_flight) in [(sql(), 1), (batch(4), 4)] {
        let server = serve(
            Options::default(),
            |transfer| if transfer == 20 { Reply::Twice } else { Reply::Committed },
        );
        let changes = json!({"connections": 1, "in_flight": in_flight});
        run(CLIENT, &load(server.port(), endpoint, changes)).refusal(4);
    }
}

#[test]
fn a_function_of_another_name_is_called() {
    let server = serve(Options::default(), |_| Reply::Committed);
    let descending = json!({"function": "transfer_descending"});
    let report = run(CLIENT, &load(server.port(), descending, json!({"in_flight": 8}))).report();
    assert!(number(&report["acknowledged"]) > 10);
}

#[test]
fn what_a_mode_does_not_have_is_refused_by_name() {
    for (endpoint, in_flight, named) in [
        (json!({"mode": "drizzle"}), 1, "endpoint.mode"),
        (json!({"functions": {"increment": "transfer"}}), 1, "endpoint.functions"),
        (json!({"function": "move", "functions": {"transfer": "move"}}), 1, "endpoint.function"),
        (json!({"mode": "sql", "function": "transfer"}), 1, "endpoint.function"),
        (sql(), 2, "in_flight"),
        (json!({"mode": "sql", "batch_size": 2}), 1, "endpoint.batch_size"),
        (json!({"batch_size": 2}), 2, "endpoint.batch_size"),
        (json!({"mode": "batch"}), 2, "endpoint.batch_size"),
        (batch(4), 6, "in_flight"),
        (batch(4), 1, "in_flight"),
    ] {
        let message = run(CLIENT, &load(1, endpoint.clone(), json!({"in_flight": in_flight}))).refusal(2);
        assert!(message.starts_with(&format!("{named}: ")), "{endpoint}: {message}");
    }
}

#[test]
fn another_workload_is_called_by_functions_only() {
    for (endpoint, named) in [
        (sql(), "endpoint.mode"),
        (batch(4), "endpoint.mode"),
        (json!({"function": "increment"}), "endpoint.function"),
        (json!({"functions": {"transfer": "move"}}), "endpoint.functions"),
    ] {
        let changes = json!({"workload": counter_and_messages(), "in_flight": 4});
        let message = run(CLIENT, &load(1, endpoint.clone(), changes)).refusal(2);
        assert!(message.starts_with(&format!("{named}: ")), "{endpoint}: {message}");
    }
}
