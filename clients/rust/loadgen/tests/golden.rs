//! The work that every client is held to: `workloads/transfer/golden`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use loadgen::{ClientError, Operation, Redraw, Work, WorkloadConfig};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    parameters: Parameters,
    files: Files,
    seed: u64,
    connection: u32,
    first_index: u64,
    operations: Vec<(String, u32, u32, u32)>,
}

#[derive(Deserialize)]
struct Parameters {
    alpha: f64,
    accounts: u32,
    amount_max: u32,
    redraw: Redraw,
}

#[derive(Deserialize)]
struct Files {
    alias_table: File,
}

#[derive(Deserialize)]
struct File {
    path: String,
    sha256: String,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/transfer/golden")
}

fn vectors() -> Vec<Golden> {
    let mut vectors: Vec<Golden> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
        .collect();
    vectors.sort_by(|a, b| a.parameters.alpha.total_cmp(&b.parameters.alpha));
    vectors
}

fn workload(golden: &Golden) -> WorkloadConfig {
    let (parameters, table) = (&golden.parameters, &golden.files.alias_table);
    WorkloadConfig {
        name: "transfer".to_owned(),
        seed: golden.seed,
        accounts: parameters.accounts,
        alpha: parameters.alpha,
        amount_max: parameters.amount_max,
        redraw: parameters.redraw,
        alias_table: folder().join(&table.path).to_str().unwrap().to_owned(),
        alias_table_sha256: table.sha256.clone(),
    }
}

#[test]
fn draws_every_golden_operation() {
    let vectors = vectors();
    assert!(vectors.len() >= 4, "only {} golden vectors", vectors.len());
    for golden in &vectors {
        let work = Work::load(&workload(golden)).unwrap();
        assert!(golden.operations.len() >= 1000);
        for (&(_, source, destination, amount), index) in golden.operations.iter().zip(golden.first_index..) {
            let expected = Operation { source, destination, amount };
            let drawn = work.draw(golden.connection, index);
            assert_eq!(drawn, expected, "alpha {} index {index}", golden.parameters.alpha);
        }
    }
}

#[test]
fn refuses_an_alias_table_that_is_not_the_promised_one() {
    let vectors = vectors();
    let mut other_hash = workload(&vectors[0]);
    other_hash.alias_table_sha256 = "0".repeat(64);
    assert!(
        matches!(Work::load(&other_hash), Err(ClientError::Integrity(message)) if message.contains("sha256"))
    );
    let mut other_accounts = workload(&vectors[0]);
    other_accounts.accounts += 1;
    assert!(
        matches!(Work::load(&other_accounts), Err(ClientError::Integrity(message)) if message.contains("accounts"))
    );
    let mut no_file = workload(&vectors[0]);
    no_file.alias_table = "/nowhere/alias.bin".to_owned();
    assert!(
        matches!(Work::load(&no_file), Err(ClientError::Configuration(message)) if message.contains("alias_table"))
    );
}
