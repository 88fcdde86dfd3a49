//! A real store: the layer must catch the unsafe setting, and never the safe one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod disk;

use disk::{reason_to_skip, Disk, Folder};
use rusqlite::Connection;

const ROWS: i64 = 60;

fn open(disk: &Disk, journal: &str, synchronous: &str) -> Connection {
    let connection = Connection::open(disk.path("bank.sqlite")).unwrap();
    connection
        .execute_batch(&format!("PRAGMA journal_mode = {journal}; PRAGMA synchronous = {synchronous};"))
        .unwrap();
    connection
}

/// Commits rows one by one, cuts the power, and counts those left; None when the store cannot be read any more.
fn rows_left(journal: &str, synchronous: &str, survive: &str, seed: u64) -> Option<i64> {
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    let connection = open(&disk, journal, synchronous);
    connection.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, filler TEXT)").unwrap();
    disk.tell(serde_json::json!({ "command": "sync" }));
    for id in 0..ROWS {
        connection.execute("INSERT INTO rows VALUES (?1, hex(zeroblob(300)))", [id]).unwrap();
    }
    disk.cut(survive, seed);
    drop(connection);
    assert!(disk.end().success());
    let disk = Disk::mount(&folder);
    let connection = Connection::open(disk.path("bank.sqlite")).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).ok()?;
    let left = connection.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).ok()?;
    (sound == "ok").then_some(left)
}

#[test]
fn what_syncs_at_commit_never_loses_an_acknowledged_one() {
    if reason_to_skip().is_some() {
        return;
    }
    for (journal, synchronous) in
        [("WAL", "FULL"), ("TRUNCATE", "FULL"), ("PERSIST", "FULL"), ("DELETE", "EXTRA")]
    {
        for (survive, seeds) in [("none", 1), ("prefix", 4), ("pages", 4)] {
            for seed in 0..seeds {
                let left = rows_left(journal, synchronous, survive, seed);
                assert_eq!(left, Some(ROWS), "{journal} {synchronous} {survive} {seed}");
            }
        }
    }
}

/// SQLite commits by removing its journal, and FULL does not wait for that to be durable; EXTRA does (see its manual).
#[test]
fn full_with_a_removed_journal_can_lose_the_last_commit_and_no_other() {
    if reason_to_skip().is_some() {
        return;
    }
    assert_eq!(rows_left("DELETE", "FULL", "none", 0), Some(ROWS - 1));
}

#[test]
fn off_loses_acknowledged_commits() {
    if reason_to_skip().is_some() {
        return;
    }
    for journal in ["WAL", "DELETE"] {
        assert_eq!(rows_left(journal, "OFF", "none", 0), Some(0), "{journal}");
    }
}

#[test]
fn off_is_broken_by_some_cut() {
    if reason_to_skip().is_some() {
        return;
    }
    let lefts: Vec<Option<i64>> = (0..20).map(|seed| rows_left("DELETE", "OFF", "pages", seed)).collect();
    assert!(lefts.contains(&None), "{lefts:?}");
}

#[test]
fn normal_in_a_log_loses_commits_and_stays_sound() {
    if reason_to_skip().is_some() {
        return;
    }
    let mut lost = 0;
    for (survive, seed) in [("none", 0), ("prefix", 1), ("prefix", 2), ("pages", 3), ("pages", 4)] {
        let left = rows_left("WAL", "NORMAL", survive, seed).expect("sound");
        lost += ROWS - left;
    }
    assert!(lost > 0);
}
