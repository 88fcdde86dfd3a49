//! Runs a client as the harness does: configuration on standard input, report and progress read back.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use base64::prelude::{Engine, BASE64_STANDARD};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::Histogram;
use serde_json::{json, Value};

/// The golden vectors of a workload, with where they lie, in the order of their names.
pub fn golden_vectors(workload: &str) -> Vec<(PathBuf, Value)> {
    // Asked for when the test runs: checkouts share what cargo built, and the one that built it may be gone.
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let folder = PathBuf::from(package).join("../../../workloads").join(workload);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder.join("golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path, vector)
    };
    paths.into_iter().map(read).collect()
}

/// The workload of a golden vector, as a configuration has it.
pub fn workload_of(path: &Path, golden: &Value) -> Value {
    let mut files = golden["files"].clone();
    for file in files.as_object_mut().unwrap().values_mut() {
        file["path"] = json!(path.with_file_name(file["path"].as_str().unwrap()));
    }
    json!({
        "name": golden["workload"], "seed": golden["seed"], "parameters": golden["parameters"], "files": files,
    })
}

/// A short closed loop of golden transfers: two connections, warm-up 0.1 s, window 0.3 s.
pub fn configuration(endpoint: Value) -> Value {
    let vectors = golden_vectors("transfer");
    let (path, golden) = vectors.iter().find(|(path, _)| path.ends_with("alpha-0.5.json")).unwrap();
    json!({
        "contract": 2,
        "endpoint": endpoint,
        "workload": workload_of(path, golden),
        "connections": 2, "first_connection": 0, "in_flight": 1, "loop": {"kind": "closed"},
        "warmup_s": 0.1, "window_s": 0.3, "drain_s": 5.0, "request_timeout_s": 30.0, "threads": 1,
    })
}

/// The other workload, with short messages.
pub fn counter_and_messages() -> Value {
    json!({"name": "counter-and-messages", "seed": 42, "parameters": {"message_bytes": 16}, "files": {}})
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

/// What a client prints with `--draw`.
pub fn draw(client: &str, configuration: &Value) -> String {
    let mut child =
        Command::new(client).arg("--draw").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(configuration.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
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

/// The counts of `failed`, by name.
fn failures(counted: &Value) -> BTreeMap<String, u64> {
    let failed = counted["failed"].as_object().unwrap();
    failed.iter().map(|(name, count)| (name.clone(), number(count))).collect()
}

/// What holds in every report: each request has one end, and every total is the sum of its parts.
fn check_sums(report: &Value) {
    let failed = failures(report);
    let attempted = number(&report["attempted"]);
    let (acknowledged, in_doubt) = (number(&report["acknowledged"]), number(&report["in_doubt"]));
    assert_eq!(attempted, acknowledged + in_doubt + failed.values().sum::<u64>());

    let mut issued = 0;
    let mut listed: BTreeMap<String, u64> = failed.keys().map(|name| (name.clone(), 0)).collect();
    let mut doubts = 0;
    let mut retried = 0;
    for connection in report["connections"].as_array().unwrap() {
        issued += number(&connection["issued"]);
        for failure in connection["failed"].as_array().unwrap() {
            assert!(number(&failure[0]) < number(&connection["issued"]));
            *listed.get_mut(failure[1].as_str().unwrap()).unwrap() += 1;
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
    assert_eq!(listed, failed);

    let seconds: u64 = report["per_second"].as_array().unwrap().iter().map(number).sum();
    assert_eq!(seconds, acknowledged);
    let tenths: Vec<u64> = report["per_100ms"].as_array().unwrap().iter().map(number).collect();
    let summed: Vec<u64> = tenths.chunks(10).map(|bins| bins.iter().sum()).collect();
    assert_eq!(json!(summed), report["per_second"]);
    assert!(number(&report["window"]["acknowledged"]) <= acknowledged);
    check_window(report);
    check_kinds(report);
}

fn check_window(counted: &Value) {
    let goodput = number(&counted["window"]["acknowledged"]);
    assert!(goodput <= number(&counted["window"]["completed"]));
    assert_eq!(histogram(&counted["service_time_ns"]).len(), goodput);
    assert_eq!(histogram(&counted["response_time_ns"]).len(), goodput);
}

/// The kinds add up to the totals.
fn check_kinds(report: &Value) {
    let kinds: Vec<&Value> = report["kinds"].as_object().unwrap().values().collect();
    kinds.iter().for_each(|kind| check_window(kind));
    for pointer in ["/attempted", "/acknowledged", "/in_doubt", "/window/acknowledged", "/window/completed"] {
        let sum: u64 = kinds.iter().map(|kind| number(kind.pointer(pointer).unwrap())).sum();
        assert_eq!(sum, number(report.pointer(pointer).unwrap()), "{pointer}");
    }
    for (name, count) in failures(report) {
        assert_eq!(kinds.iter().map(|kind| failures(kind)[&name]).sum::<u64>(), count, "{name}");
    }
}
