//! The defects of published benchmarks: the number with each beside the number without it, from one trial.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, draw, number, run, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-postgres");

/// Answers by the number of the call, from 0.
fn serve(mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    let answer = move || {
        calls += 1;
        answer(calls - 1)
    };
    Server::start(ProtocolKind::Postgres, 0, Options::default(), answer).unwrap()
}

fn load(port: u16, flaws: Value, changes: Value) -> Value {
    let endpoint = json!({
        "protocol": "postgres", "host": "127.0.0.1", "port": port, "user": "bank", "password": "x", "database": "bank"
    });
    with(with(configuration(endpoint), changes), json!({"flaws": flaws}))
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum(per_second: &Value) -> u64 {
    per_second.as_array().unwrap().iter().map(number).sum()
}

#[test]
fn a_trial_without_flaws_reports_none() {
    let server = serve(|_| Reply::Committed);
    let report = run(CLIENT, &load(server.port(), json!([]), json!({}))).report();
    assert_eq!(report.get("flawed"), None);
}

#[test]
fn replayed_pairs_are_counted_once() {
    let server = serve(|_| Reply::Committed);
    let flaws = json!([{"name": "replayed-pairs", "batch": 20}]);
    let configuration = load(server.port(), flaws, json!({"first_connection": 5, "in_flight": 4}));
    let report = run(CLIENT, &configuration).report();
    let flawed = &report["flawed"]["replayed-pairs"];
    assert_eq!(number(&flawed["batch"]), 20);
    assert_eq!(flawed["transfers"], report["attempted"]);
    assert!(number(&flawed["transfers"]) > 40);

    let mut pairs = HashSet::new();
    for connection in [5, 6] {
        let range = json!({"connection": connection, "first_index": 0, "count": 20});
        let lines = draw(CLIENT, &with(configuration.clone(), json!({"draw": range})));
        for line in lines.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            pairs.insert((fields[2].to_owned(), fields[3].to_owned()));
        }
    }
    assert_eq!(number(&flawed["distinct_pairs"]), pairs.len() as u64);
}

#[test]
fn an_unread_status_makes_a_transaction_of_every_answer() {
    let server = serve(|call| match call % 7 {
        3 => Reply::Insufficient,
        5 | 6 => Reply::Error,
        _ => Reply::Committed,
    });
    let flaws = json!([{"name": "status-unread"}]);
    for max_retries in [0, 1] {
        let changes = json!({"in_flight": 3, "max_retries": max_retries});
        let report = run(CLIENT, &load(server.port(), flaws.clone(), changes)).report();
        let flawed = &report["flawed"]["status-unread"];
        assert_eq!(
            number(&flawed["transactions"]),
            number(&report["attempted"]) + number(&report["retried"])
        );
        assert_eq!(sum(&flawed["per_second"]), number(&flawed["transactions"]));
        let (window, goodput) =
            (number(&flawed["window_transactions"]), number(&report["window"]["acknowledged"]));
        assert!(window > goodput, "{window} and {goodput}");
        assert!((float(&flawed["transactions_per_s"]) - window as f64 / 0.3).abs() < 1e-6);
        assert!(number(&report["failed"]["error"]) > 0);
    }
}

#[test]
fn finished_tasks_are_the_requests_while_no_connection_is_lost() {
    let server = serve(|call| if call % 5 == 0 { Reply::Error } else { Reply::Committed });
    let flaws = json!([{"name": "counts-finished-tasks"}]);
    let report = run(CLIENT, &load(server.port(), flaws, json!({}))).report();
    let flawed = &report["flawed"]["counts-finished-tasks"];
    assert_eq!(flawed["transactions"], report["attempted"]);
    assert_eq!(number(&flawed["transactions_after_loss"]), 0);
}

#[test]
fn a_killed_server_makes_finished_tasks_rise() {
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let server = serve(move |call| {
        thread::sleep(Duration::from_millis(1));
        seen.store(call > 20, Ordering::Relaxed);
        Reply::Committed
    });
    let flaws = json!([{"name": "counts-finished-tasks"}, {"name": "status-unread"}]);
    let changes = json!({"warmup_s": 0.0, "window_s": 1.0, "in_flight": 8});
    let child = test_support::start(CLIENT, &load(server.port(), flaws, changes));
    let started = Instant::now();
    while !begun.load(Ordering::Relaxed) {
        assert!(started.elapsed() < Duration::from_secs(20), "the load did not begin");
        thread::sleep(Duration::from_millis(5));
    }
    server.stop().unwrap();
    let report = test_support::Run::from(child.wait_with_output().unwrap()).report();
    assert_eq!(number(&report["lost_connections"]), 2);
    let (attempted, in_doubt) = (number(&report["attempted"]), number(&report["in_doubt"]));
    assert!(in_doubt > 0 && attempted < 2_000, "{attempted}");
    let flawed = &report["flawed"]["counts-finished-tasks"];
    let after_loss = number(&flawed["transactions_after_loss"]);
    assert!(after_loss > 10 * attempted, "{after_loss}");
    assert_eq!(number(&flawed["transactions"]), attempted + after_loss);
    assert!(float(&flawed["transactions_per_s"]) > 10.0 * float(&report["window"]["goodput_per_s"]));
    assert_eq!(
        number(&report["flawed"]["status-unread"]["transactions"]),
        number(&report["acknowledged"]),
        "nobody answered the requests that were lost"
    );
}

/// The window of 0.3 s ends in the second batch of 0.2 s, which counts whole, over the time that it took.
#[test]
fn a_clock_read_between_batches_counts_the_batch_that_outlives_the_window() {
    let server = serve(|call| {
        if call % 8 == 0 {
            thread::sleep(Duration::from_millis(200));
        }
        if call == 3 {
            Reply::Error
        } else {
            Reply::Committed
        }
    });
    let flaws = json!([{"name": "clock-between-batches"}]);
    let changes = json!({"connections": 1, "in_flight": 8, "warmup_s": 0.0});
    let report = run(CLIENT, &load(server.port(), flaws, changes)).report();
    let flawed = &report["flawed"]["clock-between-batches"];
    assert_eq!(number(&flawed["batch"]), 8);
    assert_eq!((number(&flawed["batches"]), number(&flawed["unfinished_batches"])), (2, 0));
    assert_eq!((number(&flawed["transactions"]), number(&flawed["answers"])), (15, 16));
    assert_eq!(number(&report["attempted"]), 16);
    let elapsed_s = float(&flawed["elapsed_s"]);
    assert!((0.4..2.0).contains(&elapsed_s), "{elapsed_s}");
    assert!((float(&flawed["transactions_per_s"]) - 15.0 / elapsed_s).abs() < 1e-6);
    let (mean, max) = (float(&flawed["mean_batch_latency_s"]), float(&flawed["max_batch_latency_s"]));
    assert!(mean >= 0.2 && max >= mean && 2.0 * mean <= elapsed_s, "{mean} {max} {elapsed_s}");
    assert_eq!(number(&report["window"]["acknowledged"]), 7);
}

#[test]
fn batches_are_whole_whatever_carries_them() {
    for (endpoint, in_flight, max_retries) in
        [(json!({}), 64, 0), (json!({}), 64, 100), (json!({"mode": "batch", "batch_size": 16}), 32, 0)]
    {
        let server = serve(|call| if call % 100 == 99 { Reply::Error } else { Reply::Committed });
        let flaws = json!([{"name": "clock-between-batches"}]);
        let changes = json!({"in_flight": in_flight, "max_retries": max_retries});
        let mut configuration = load(server.port(), flaws, changes);
        configuration["endpoint"] = with(configuration["endpoint"].clone(), endpoint);
        let report = run(CLIENT, &configuration).report();
        let flawed = &report["flawed"]["clock-between-batches"];
        assert!(number(&flawed["batches"]) > 2);
        assert_eq!(number(&flawed["unfinished_batches"]), 0);
        assert_eq!(number(&flawed["answers"]), number(&flawed["batches"]) * in_flight);
        assert_eq!(flawed["answers"], report["attempted"]);
        assert_eq!(flawed["transactions"], report["acknowledged"]);
    }
}

#[test]
fn a_batch_whose_connection_is_lost_never_counts() {
    let server = serve(|call| if call == 20 { Reply::HangUp } else { Reply::Committed });
    let flaws = json!([{"name": "clock-between-batches"}]);
    let changes = json!({"connections": 1, "in_flight": 8});
    let report = run(CLIENT, &load(server.port(), flaws, changes)).report();
    let flawed = &report["flawed"]["clock-between-batches"];
    assert_eq!((number(&flawed["batches"]), number(&flawed["unfinished_batches"])), (2, 1));
    assert_eq!(number(&flawed["transactions"]), 16);
}

/// One second of three is slow: the p99 of all knows it, the median of the seconds' does not.
#[test]
fn a_slow_second_does_not_show_in_the_median_of_the_seconds() {
    let mut first_call = None;
    let server = serve(move |_| {
        let since = first_call.get_or_insert_with(Instant::now).elapsed();
        let slow = (Duration::from_millis(1100)..Duration::from_millis(1800)).contains(&since);
        thread::sleep(Duration::from_millis(if slow { 30 } else { 2 }));
        Reply::Committed
    });
    let flaws = json!([{"name": "median-of-per-second-p99"}]);
    let changes = json!({"connections": 1, "warmup_s": 0.0, "window_s": 3.0});
    let report = run(CLIENT, &load(server.port(), flaws, changes)).report();
    let flawed = &report["flawed"]["median-of-per-second-p99"];
    let (all, median) = (number(&flawed["p99_ns"]), number(&flawed["median_of_per_second_p99_ns"]));
    assert!(all >= 30_000_000, "{all}");
    let mut seconds: Vec<u64> = flawed["per_second_p99_ns"].as_array().unwrap().iter().map(number).collect();
    seconds.sort_unstable();
    assert_eq!(seconds.len(), 3);
    assert!(seconds[2] >= 30_000_000, "{seconds:?}");
    assert_eq!(median, seconds[1]);
    let honest = test_support::histogram(&report["service_time_ns"]).value_at_quantile(0.99);
    assert_eq!(all, honest);
}

#[test]
fn what_is_no_flaw_is_refused_by_name() {
    for (flaws, changes, named, told) in [
        (json!([{"name": "typos"}]), json!({}), "flaws[0].name", "median-of-per-second-p99"),
        (json!([{"name": "replayed-pairs"}]), json!({}), "flaws[0]", "batch"),
        (json!([{"name": "status-unread", "batch": 5}]), json!({}), "flaws[0]", "batch"),
        (json!([{"name": "replayed-pairs", "batch": 0}]), json!({}), "flaws[0]", "nonzero"),
        (
            json!([{"name": "status-unread"}]),
            json!({"workload": counter_and_messages()}),
            "flaws",
            "none for the workload",
        ),
        (json!([{"name": "status-unread"}, {"name": "status-unread"}]), json!({}), "flaws", "once"),
        (
            json!([{"name": "clock-between-batches"}]),
            json!({"loop": {"kind": "open", "rate_per_s": 10.0}}),
            "flaws",
            "closed loop",
        ),
        (json!([{"name": "median-of-per-second-p99"}]), json!({"window_s": 601.0}), "flaws", "window_s"),
        (json!("status-unread"), json!({}), "flaws", "sequence"),
    ] {
        let message = run(CLIENT, &load(1, flaws.clone(), changes)).refusal(2);
        assert!(message.starts_with(&format!("{named}: ")), "{flaws}: {message}");
        assert!(message.contains(told), "{flaws}: {message}");
    }
}
