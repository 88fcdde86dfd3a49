//! The contract of every client, kept against a null server over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gap_null::{Options, ProtocolKind, Reply, Server};
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, draw, histogram, number, run, start, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-postgres");

fn serve(options: Options, answer: impl FnMut() -> Reply + Send + 'static) -> Server {
    Server::start(ProtocolKind::Postgres, 0, options, answer).unwrap()
}

/// Answers by the number of the call, from 0.
fn serve_by_number(mut answer: impl FnMut(u64) -> Reply + Send + 'static) -> Server {
    let mut calls = 0;
    serve(Options::default(), move || {
        calls += 1;
        answer(calls - 1)
    })
}

fn endpoint(port: u16) -> Value {
    json!({"protocol": "postgres", "host": "127.0.0.1", "port": port, "user": "bank", "password": "x", "database": "bank"})
}

fn against(server: &Server, changes: Value) -> Value {
    with(configuration(endpoint(server.port())), changes)
}

#[test]
fn every_class_of_answer_is_counted_as_the_server_gave_it() {
    let given: Arc<[AtomicU64; 3]> = Arc::default();
    let counted = Arc::clone(&given);
    let server = serve_by_number(move |call| {
        let (class, reply) = match call % 7 {
            3 => (1, Reply::Insufficient),
            5 => (2, Reply::Error),
            _ => (0, Reply::Committed),
        };
        counted[class].fetch_add(1, Ordering::Relaxed);
        reply
    });
    let report = run(CLIENT, &against(&server, json!({"connections": 4, "in_flight": 3}))).report();
    let [committed, insufficient, error] = [0, 1, 2].map(|class| given[class].load(Ordering::Relaxed));
    assert!(committed > 0);
    assert_eq!(number(&report["acknowledged"]), committed);
    assert_eq!(number(&report["failed"]["insufficient"]), insufficient);
    assert_eq!(number(&report["failed"]["error"]), error);
    assert_eq!(report["first_error"], "40P01 deadlock detected");
    assert_eq!((number(&report["in_doubt"]), number(&report["lost_connections"])), (0, 0));
    let in_flight = report["window"]["mean_in_flight"].as_f64().unwrap();
    assert!(in_flight > 0.0 && in_flight <= 12.0, "{in_flight}");
}

/// Increments are refused by number, messages never; both are answered in the order of the calls.
#[test]
fn kinds_are_counted_apart() {
    let server = serve_by_number(|call| if call % 4 == 1 { Reply::Error } else { Reply::Committed });
    for endpoint_keys in [json!({}), json!({"functions": {"message": "send_message"}})] {
        for in_flight in [1, 16] {
            let changes = json!({"workload": counter_and_messages(), "in_flight": in_flight});
            let mut configuration = against(&server, changes);
            configuration["endpoint"] = with(configuration["endpoint"].take(), endpoint_keys.clone());
            let report = run(CLIENT, &configuration).report();
            let kinds = report["kinds"].as_object().unwrap();
            assert_eq!(kinds.keys().collect::<Vec<_>>(), ["increment", "message"]);
            for (name, kind) in kinds {
                assert!(number(&kind["acknowledged"]) > 5, "{name}");
                assert!(number(&kind["failed"]["error"]) > 0, "{name}");
            }
            assert_eq!(report["failed"].get("insufficient"), None);
        }
    }
}

/// What was counted of each kind is what was drawn of it.
#[test]
fn the_kinds_of_a_report_are_those_of_the_operations_that_were_issued() {
    let server = serve(Options::default(), || Reply::Committed);
    let configuration = against(&server, json!({"workload": counter_and_messages(), "in_flight": 4}));
    let report = run(CLIENT, &configuration).report();
    let mut drawn = [0, 0];
    for connection in report["connections"].as_array().unwrap() {
        let range = json!({
            "connection": connection["connection"], "first_index": 0, "count": connection["issued"],
        });
        let lines = draw(CLIENT, &with(configuration.clone(), json!({"draw": range})));
        for line in lines.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            match fields[1..] {
                ["increment", "0", "1"] => drawn[0] += 1,
                ["message", number, index, body] => {
                    assert_eq!((number, index), (&connection["connection"].to_string()[..], fields[0]));
                    assert_eq!(body.len(), 16);
                    drawn[1] += 1;
                }
                _ => panic!("{line}"),
            }
        }
    }
    let counted = ["increment", "message"].map(|kind| number(&report["kinds"][kind]["attempted"]));
    assert_eq!(counted, drawn);
}

#[test]
fn phases_are_announced_in_order() {
    let server = serve(Options::default(), || Reply::Committed);
    let run = run(CLIENT, &against(&server, json!({"warmup_s": 0.5, "window_s": 1.0})));
    run.report();
    assert_eq!(run.event_names(), ["ready", "window_start", "progress", "window_end"]);
    let progress = run.events.iter().find(|event| event["event"] == "progress").unwrap();
    assert_eq!(progress["phase"], "window");
    assert!(number(&progress["acknowledged"]) > 0);
}

#[test]
fn the_clock_starts_at_the_moment_that_was_asked_for_and_never_at_one_that_is_past() {
    let server = serve(Options::default(), || Reply::Committed);
    let moment = |ahead_s: f64| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_secs_f64() + ahead_s
    };
    let asked = moment(0.7);
    let begun = Instant::now();
    let report = run(CLIENT, &against(&server, json!({"start_unix_s": asked}))).report();
    // JSON in between may cost the last bit, a quarter of a microsecond.
    let off_s = report["started_unix_s"].as_f64().unwrap() - asked;
    assert!(off_s.abs() < 1e-6, "{off_s}");
    assert!(begun.elapsed() >= Duration::from_millis(1050), "it did not wait");
    assert!(number(&report["acknowledged"]) > 0);
    let message = run(CLIENT, &against(&server, json!({"start_unix_s": moment(-0.1)}))).refusal(2);
    assert!(message.starts_with("start_unix_s: "), "{message}");
}

#[test]
fn threads_share_the_connections_and_merge_their_counts() {
    let given = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&given);
    let server = serve(Options::default(), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Reply::Committed
    });
    let changes = json!({"connections": 5, "first_connection": 7, "threads": 3, "in_flight": 2});
    let report = run(CLIENT, &against(&server, changes)).report();
    assert_eq!(number(&report["acknowledged"]), given.load(Ordering::Relaxed));
    let numbers: Vec<u64> =
        report["connections"].as_array().unwrap().iter().map(|c| number(&c["connection"])).collect();
    assert_eq!(numbers, [7, 8, 9, 10, 11]);
    assert!(report["connections"].as_array().unwrap().iter().all(|c| number(&c["issued"]) > 0));
}

#[test]
fn answers_in_pieces_are_joined() {
    for bytes in [1, 7, 41] {
        let server =
            serve(Options { fragment_bytes: Some(bytes), ..Options::default() }, || Reply::Committed);
        let report = run(CLIENT, &against(&server, json!({"in_flight": 8}))).report();
        assert!(number(&report["acknowledged"]) > 0);
        assert_eq!(report["acknowledged"], report["attempted"]);
    }
}

#[test]
fn a_connection_that_dies_leaves_the_others_running() {
    let server = serve_by_number(|call| if call == 100 { Reply::HangUp } else { Reply::Committed });
    let run = run(CLIENT, &against(&server, json!({"connections": 3, "in_flight": 4})));
    let report = run.report();
    assert_eq!(number(&report["lost_connections"]), 1);
    assert!(number(&report["in_doubt"]) >= 1);
    let (lost, kept): (Vec<&Value>, Vec<&Value>) = report["connections"]
        .as_array()
        .unwrap()
        .iter()
        .partition(|c| !c["in_doubt"].as_array().unwrap().is_empty());
    assert_eq!((lost.len(), kept.len()), (1, 2));
    let doubts: Vec<u64> = lost[0]["in_doubt"].as_array().unwrap().iter().map(number).collect();
    let issued = number(&lost[0]["issued"]);
    assert_eq!(doubts, (issued - doubts.len() as u64..issued).collect::<Vec<_>>());
    assert!(kept.iter().all(|connection| number(&connection["issued"]) > issued));
    assert!(run.event_names().contains(&"connection_lost"));
}

#[test]
fn a_server_that_dies_in_the_window_leaves_a_report() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let server = serve(Options::default(), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Reply::Committed
    });
    let child = start(CLIENT, &against(&server, json!({"warmup_s": 0.0, "window_s": 2.0, "in_flight": 2})));
    let begun = Instant::now();
    while calls.load(Ordering::Relaxed) < 50 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the load did not begin");
        thread::sleep(Duration::from_millis(5));
    }
    server.stop().unwrap();
    let run = test_support::Run::from(child.wait_with_output().unwrap());
    let report = run.report();
    assert_eq!(number(&report["lost_connections"]), 2);
    let in_doubt = number(&report["in_doubt"]);
    // None, if the server ended when it had just answered everything.
    assert!(in_doubt <= 4, "{in_doubt}");
    assert!(number(&report["acknowledged"]) > 0);
    assert!(run.event_names().contains(&"window_end"));
}

#[test]
fn a_request_that_nobody_answers_times_out_in_doubt() {
    let server = serve_by_number(|call| if call < 50 { Reply::Committed } else { Reply::Silence });
    let begun = Instant::now();
    let changes = json!({"window_s": 0.5, "request_timeout_s": 0.2, "in_flight": 3});
    let report = run(CLIENT, &against(&server, changes)).report();
    assert_eq!(number(&report["acknowledged"]), 50);
    assert_eq!(number(&report["in_doubt"]), 6);
    assert_eq!(number(&report["failed"]["timeout"]), 0);
    assert_eq!(number(&report["lost_connections"]), 2);
    assert!(begun.elapsed() < Duration::from_secs(4), "the drain was waited for");
}

#[test]
fn the_drain_ends_with_what_is_out_in_doubt() {
    let server = serve_by_number(|call| if call < 50 { Reply::Committed } else { Reply::Silence });
    let report = run(CLIENT, &against(&server, json!({"drain_s": 0.2}))).report();
    assert_eq!(number(&report["in_doubt"]), 2);
    assert_eq!(number(&report["lost_connections"]), 0);
    assert!(report["drained_s"].as_f64().unwrap() >= 0.2);
}

#[test]
fn the_open_loop_offers_its_rate_round_robin() {
    let server = serve(Options::default(), || Reply::Committed);
    let changes = json!({"connections": 4, "loop": {"kind": "open", "rate_per_s": 1000.0}, "window_s": 0.5});
    let report = run(CLIENT, &against(&server, changes)).report();
    // 0.6 s at 1000 per second; the last ones may be intended too close to the window's end, on a busy machine many.
    let attempted = number(&report["attempted"]);
    assert!((400..=600).contains(&attempted), "{attempted}");
    for connection in report["connections"].as_array().unwrap() {
        let issued = number(&connection["issued"]);
        assert!((attempted / 4 - 4..=attempted / 4 + 4).contains(&issued), "{issued} of {attempted}");
    }
}

/// One stall of 0.2 s is one slow request by service time, and every request intended meanwhile by response time.
#[test]
fn response_time_runs_from_the_intended_start() {
    let server = serve_by_number(|call| {
        if call == 300 {
            thread::sleep(Duration::from_millis(200));
        }
        Reply::Committed
    });
    let changes = json!({
        "connections": 1, "loop": {"kind": "open", "rate_per_s": 1000.0}, "warmup_s": 0.0, "window_s": 1.0
    });
    let report = run(CLIENT, &against(&server, changes)).report();
    let slow = |name: &str| {
        let histogram = histogram(&report[name]);
        histogram.len() - histogram.count_between(0, 50_000_000)
    };
    let (service, response) = (slow("service_time_ns"), slow("response_time_ns"));
    assert!(service >= 1, "{service} slow by service time");
    assert!(response >= service + 100, "{response} slow by response time, {service} by service time");
    assert!(number(&report["attempted"]) > 900, "the stall's operations were skipped");
}

#[test]
fn in_the_closed_loop_both_times_are_equal() {
    let server = serve(Options::default(), || Reply::Committed);
    let report = run(CLIENT, &against(&server, json!({}))).report();
    assert_eq!(report["service_time_ns"], report["response_time_ns"]);
}

#[test]
fn what_cannot_be_decoded_or_done_is_refused_by_name() {
    let good = configuration(endpoint(1));
    for (pointer, value, named) in [
        ("/surprise", json!(1), "surprise"),
        ("/endpoint/surprise", json!(1), "endpoint.surprise"),
        ("/workload/surprise", json!(1), "workload.surprise"),
        ("/endpoint/protocol", json!("http"), "endpoint.protocol"),
        ("/endpoint/port", json!("5433"), "endpoint.port"),
        ("/contract", json!(1), "contract"),
        ("/connections", json!(0), "connections"),
        ("/in_flight", json!(1.5), "in_flight"),
        ("/threads", json!(3), "threads"),
        ("/request_timeout_s", json!(null), "request_timeout_s"),
        ("/loop", json!({"kind": "open"}), "loop"),
        ("/workload/name", json!("tpcc"), "workload.name"),
        ("/workload/parameters/redraw", json!("neither"), "workload.parameters.redraw"),
        ("/workload/files", json!({}), "workload.files.alias_table"),
        ("/workload/files/alias_table/path", json!("/nowhere/alias.bin"), "workload.files.alias_table"),
    ] {
        let mut bad = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[key] = value;
        let message = run(CLIENT, &bad).refusal(2);
        assert!(message.starts_with(&format!("{named}: ")), "{pointer}: {message}");
    }
    let mut missing = good;
    missing.as_object_mut().unwrap().remove("window_s");
    assert!(run(CLIENT, &missing).refusal(2).contains("window_s"));
}

#[test]
fn an_endpoint_that_cannot_be_used_ends_with_code_3() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let message = run(CLIENT, &configuration(endpoint(port))).refusal(3);
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
}

#[test]
fn what_cannot_be_believed_ends_with_code_4() {
    let server = serve_by_number(|call| if call == 20 { Reply::Twice } else { Reply::Committed });
    let message = run(CLIENT, &against(&server, json!({"connections": 1}))).refusal(4);
    assert!(message.contains("fits no request"), "{message}");

    let mut other_table = against(&server, json!({}));
    other_table["workload"]["files"]["alias_table"]["sha256"] = json!("00");
    assert!(run(CLIENT, &other_table).refusal(4).contains("sha256"));
}

#[test]
fn sigterm_ends_the_client_at_once() {
    let server = serve(Options::default(), || Reply::Committed);
    let mut child = start(CLIENT, &against(&server, json!({"window_s": 60.0})));
    thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), None);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn describes_itself() {
    let output = Command::new(CLIENT).arg("--describe").output().unwrap();
    let description: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(description["contract"], 2);
    assert_eq!(description["name"], "gap-postgres");
    assert_eq!(description["protocols"], json!(["postgres"]));
    assert_eq!(description["workloads"], json!(["transfer", "counter-and-messages"]));
    assert_eq!(description["reports"], "indices");
    let refused = Command::new(CLIENT).arg("--surprise").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
