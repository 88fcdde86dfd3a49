//! The work that every client is held to: `workloads/NAME/golden`.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use loadgen::{
    Chat, ClientError, CounterAndMessages, Fibonacci, Fields, Kind, Letters, Operation, Transfers, Workload,
    WorkloadConfig,
};
use serde_json::{json, Value};
use test_support::{golden_vectors, number, workload_of};

/// An operation as a golden vector has it: its kind, then its fields.
struct Row(Vec<Value>);

impl Fields for Row {
    fn u32(&mut self, value: u32) {
        self.0.push(json!(value));
    }

    fn u64(&mut self, value: u64) {
        self.0.push(json!(value));
    }

    fn text(&mut self, text: Letters) {
        let mut letters = Vec::new();
        text.write(&mut letters);
        self.0.push(json!(String::from_utf8(letters).unwrap()));
    }
}

fn load<W: Workload>(workload: Value) -> Result<W, ClientError> {
    W::load(&serde_json::from_value::<WorkloadConfig>(workload).unwrap())
}

fn draws_every_golden_operation<W: Workload>() {
    let vectors = golden_vectors(W::NAME);
    assert!(vectors.len() >= 4, "only {} golden vectors of {}", vectors.len(), W::NAME);
    for (path, golden) in &vectors {
        let work: W = load(workload_of(path, golden)).unwrap();
        let operations = golden["operations"].as_array().unwrap();
        assert!(operations.len() >= 1000);
        let connection = number(&golden["connection"]) as u32;
        for (operation, index) in operations.iter().zip(number(&golden["first_index"])..) {
            let drawn = work.draw(connection, index);
            let mut row = Row(vec![json!(W::KINDS[drawn.kind().place()].name)]);
            drawn.write(&mut row);
            assert_eq!(json!(row.0), *operation, "{} index {index}", path.display());
        }
    }
}

#[test]
fn draws_every_golden_transfer() {
    draws_every_golden_operation::<Transfers>();
}

#[test]
fn draws_every_golden_increment_and_message() {
    draws_every_golden_operation::<CounterAndMessages>();
}

#[test]
fn draws_every_golden_post_and_read() {
    draws_every_golden_operation::<Chat>();
}

#[test]
fn draws_every_golden_number_of_fibonacci() {
    draws_every_golden_operation::<Fibonacci>();
}

#[test]
fn refuses_an_alias_table_that_is_not_the_promised_one() {
    let vectors: Vec<(PathBuf, Value)> = golden_vectors(Transfers::NAME);
    let (path, golden) = &vectors[0];
    let changed = |pointer: &str, value: Value| {
        let mut changed = workload_of(path, golden);
        *changed.pointer_mut(pointer).unwrap() = value;
        load::<Transfers>(changed).unwrap_err()
    };
    let other_hash = changed("/files/alias_table/sha256", json!("0".repeat(64)));
    assert!(matches!(other_hash, ClientError::Integrity(message) if message.contains("sha256")));
    let other_accounts = changed("/parameters/accounts", json!(1001));
    assert!(matches!(other_accounts, ClientError::Integrity(message) if message.contains("accounts")));
    for (pointer, value) in [("/files/alias_table/path", json!("/nowhere/alias.bin")), ("/files", json!({}))]
    {
        let no_file = changed(pointer, value);
        assert!(matches!(no_file, ClientError::Configuration(message) if message.contains("alias_table")));
    }
}
