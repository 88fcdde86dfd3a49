//! A transfer that the server refuses for a deadlock is sent again, and stays one request.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, histogram, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-postgres");

fn serve(mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    let answer = move || {
        calls += 1;
        answer(calls - 1)
    };
    Server::start(ProtocolKind::Postgres, 0, Options::default(), answer).unwrap()
}

fn load(server: &Server, endpoint: Value, changes: Value) -> Value {
    let address = json!({
        "protocol": "postgres", "host": "127.0.0.1", "port": server.port(), "user": "bank", "password": "x",
        "database": "bank"
    });
    with(configuration(with(address, endpoint)), changes)
}

#[test]
fn a_refused_transfer_is_sent_again_until_it_is_acknowledged() {
    for (endpoint, in_flight) in [(json!({}), 1), (json!({}), 16), (json!({"mode": "sql"}), 1)] {
        let given: Arc<[AtomicU64; 2]> = Arc::default();
        let counted = Arc::clone(&given);
        let server = serve(move |call| {
            let refused = call % 3 == 0;
            counted[usize::from(refused)].fetch_add(1, Ordering::Relaxed);
            if refused {
                Reply::Error
            } else {
                Reply::Committed
            }
        });
        let changes = json!({"in_flight": in_flight, "max_retries": 1000});
        let report = run(CLIENT, &load(&server, endpoint, changes)).report();
        let [committed, refused] = [0, 1].map(|class| given[class].load(Ordering::Relaxed));
        assert!(refused > 10);
        assert_eq!(number(&report["acknowledged"]), committed);
        assert_eq!(number(&report["retried"]), refused);
        assert_eq!(number(&report["attempted"]), committed);
        assert_eq!(report["first_error"], Value::Null);
        let mean_in_flight = report["window"]["mean_in_flight"].as_f64().unwrap();
        assert!(mean_in_flight <= 2.0 * f64::from(in_flight), "{mean_in_flight}");
    }
}

#[test]
fn a_refused_batch_is_sent_again_with_all_its_transfers() {
    let server = serve(|transfer| if transfer == 20 { Reply::Error } else { Reply::Committed });
    let changes = json!({"in_flight": 24, "max_retries": 1});
    let report = run(CLIENT, &load(&server, json!({"mode": "batch", "batch_size": 8}), changes)).report();
    assert_eq!(number(&report["retried"]), 8);
    assert_eq!(report["acknowledged"], report["attempted"]);
    let lists: Vec<Vec<u64>> = report["connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["retried"].as_array().unwrap().iter().map(number).collect())
        .collect();
    let retried = lists.concat();
    assert_eq!(retried, (retried[0]..retried[0] + 8).collect::<Vec<_>>());
    assert_eq!(retried[0] % 8, 0);
}

#[test]
fn a_transfer_fails_when_its_retries_are_used_up() {
    for (endpoint, in_flight) in [(json!({}), 1), (json!({}), 8), (json!({"mode": "sql"}), 1)] {
        let server = serve(|call| if call < 100 { Reply::Committed } else { Reply::Error });
        let report =
            run(CLIENT, &load(&server, endpoint, json!({"in_flight": in_flight, "max_retries": 2}))).report();
        assert_eq!(number(&report["acknowledged"]), 100);
        let failed = number(&report["failed"]["error"]);
        assert!(failed > 0);
        assert_eq!(number(&report["retried"]), 2 * failed);
        assert_eq!(report["first_error"], "40P01 deadlock detected");
    }
}

#[test]
fn a_transfer_is_timed_from_its_first_attempt() {
    let server = serve(|call| {
        thread::sleep(Duration::from_millis(20));
        if call == 0 {
            Reply::Error
        } else {
            Reply::Committed
        }
    });
    let changes = json!({"connections": 1, "warmup_s": 0.0, "max_retries": 1});
    let report = run(CLIENT, &load(&server, json!({}), changes)).report();
    let times = histogram(&report["service_time_ns"]);
    assert_eq!(number(&report["retried"]), 1);
    assert!(times.max() >= 40_000_000, "{} ns", times.max());
    assert!(times.value_at_quantile(0.5) < 40_000_000);
}

/// A refusal shows that the server lives: only the last attempt may be late.
#[test]
fn the_timeout_runs_from_the_last_attempt() {
    let server = serve(|call| {
        thread::sleep(Duration::from_millis(60));
        if call < 4 {
            Reply::Error
        } else {
            Reply::Committed
        }
    });
    let changes = json!({"connections": 1, "warmup_s": 0.0, "request_timeout_s": 0.2, "max_retries": 10});
    let report = run(CLIENT, &load(&server, json!({}), changes)).report();
    assert_eq!(number(&report["lost_connections"]), 0);
    assert!(number(&report["acknowledged"]) > 0);
}
