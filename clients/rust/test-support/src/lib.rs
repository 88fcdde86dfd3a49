//! Runs a client as the harness does: configuration on standard input, report and progress read back.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use base64::prelude::{Engine, BASE64_STANDARD};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::Histogram;
use serde_json::{json, Value};

/// A short closed loop over a golden alias table: two connections, warm-up 0.1 s, window 0.3 s.
pub fn configuration(endpoint: Value) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/transfer/golden");
    let golden: Value = serde_json::from_slice(&fs::read(folder.join("alpha-0.5.json")).unwrap()).unwrap();
    let (parameters, table) = (&golden["parameters"], &golden["files"]["alias_table"]);
    json!({
        "contract": 1,
        "endpoint": endpoint,
        "workload": {
            "name": "transfer", "seed": golden["seed"], "accounts": parameters["accounts"],
            "alpha": parameters["alpha"], "amount_max": parameters["amount_max"],
            "alias_table": folder.join(table["path"].as_str().unwrap()),
            "alias_table_sha256": table["sha256"],
        },
        "connections": 2, "first_connection": 0, "in_flight": 1, "loop": {"kind": "closed"},
        "warmup_s": 0.1, "window_s": 0.3, "drain_s": 5.0, "request_timeout_s": 30.0, "threads": 1,
    })
}

/// Sets top-level keys of a configuration.
pub fn with(mut configuration: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().expect("changes are an object") {
        configuration[key] = value.clone();
    }
    configuration
}

pub fn start(client: &str, configuration: &Value) -> Child {
    let mut child = Command::new(client)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(configuration.to_string().as_bytes()).unwrap();
    child
}

/// A client's run, ended by itself.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub events: Vec<Value>,
}

pub fn run(client: &str, configuration: &Value) -> Run {
    Run::from(start(client, configuration).wait_with_output().unwrap())
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let lines = String::from_utf8(output.stderr).unwrap();
        let events = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        Self { code: output.status.code(), stdout: output.stdout, events }
    }
}

impl Run {
    /// The report of a run that must have ended with code 0; its sums are checked.
    pub fn report(&self) -> Value {
        assert_eq!(self.code, Some(0), "{:?}", self.events);
        let report: Value = serde_json::from_slice(&self.stdout).unwrap();
        check_sums(&report);
        report
    }

    /// The message of a run that must have been refused with `code` and no report.
    pub fn refusal(&self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{:?}", self.events);
        assert!(self.stdout.is_empty());
        let last = self.events.last().expect("an error event");
        assert_eq!(last["event"], "error");
        last["message"].as_str().unwrap().to_owned()
    }

    /// Names of the events, in order, without repetitions in a row.
    pub fn event_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        names.dedup();
        names
    }
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

pub fn histogram(encoded: &Value) -> Histogram<u64> {
    let bytes = BASE64_STANDARD.decode(encoded.as_str().unwrap()).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

/// What holds in every report: each request has one end, and every total is the sum of its parts.
fn check_sums(report: &Value) {
    let failed = &report["failed"];
    let count = |class: &str| number(&failed[class]);
    let attempted = number(&report["attempted"]);
    let (acknowledged, in_doubt) = (number(&report["acknowledged"]), number(&report["in_doubt"]));
    assert_eq!(
        attempted,
        acknowledged + in_doubt + count("insufficient") + count("error") + count("timeout")
    );

    let mut issued = 0;
    let mut classes = [("insufficient", 0), ("error", 0)];
    let mut doubts = 0;
    let mut retried = 0;
    for connection in report["connections"].as_array().unwrap() {
        issued += number(&connection["issued"]);
        for failure in connection["failed"].as_array().unwrap() {
            assert!(number(&failure[0]) < number(&connection["issued"]));
            for (class, count) in &mut classes {
                *count += u64::from(failure[1] == *class);
            }
        }
        doubts += connection["in_doubt"].as_array().unwrap().len() as u64;
        let again: HashSet<u64> = connection["retried"].as_array().unwrap().iter().map(number).collect();
        assert_eq!(again.len(), connection["retried"].as_array().unwrap().len());
        assert!(again.iter().all(|index| *index < number(&connection["issued"])));
        retried += again.len() as u64;
    }
    assert!(retried <= number(&report["retried"]));
    assert_eq!(retried == 0, number(&report["retried"]) == 0);
    assert_eq!(issued, attempted);
    assert_eq!(doubts, in_doubt);
    for (class, listed) in classes {
        assert_eq!(listed, count(class), "{class}");
    }

    let seconds: u64 = report["per_second"].as_array().unwrap().iter().map(number).sum();
    assert_eq!(seconds, acknowledged);
    let tenths: Vec<u64> = report["per_100ms"].as_array().unwrap().iter().map(number).collect();
    let summed: Vec<u64> = tenths.chunks(10).map(|bins| bins.iter().sum()).collect();
    assert_eq!(json!(summed), report["per_second"]);
    let goodput = number(&report["window"]["acknowledged"]);
    assert!(goodput <= acknowledged && goodput <= number(&report["window"]["completed"]));
    assert_eq!(histogram(&report["service_time_ns"]).len(), goodput);
    assert_eq!(histogram(&report["response_time_ns"]).len(), goodput);
}
