//! The client loads a real file; its report is held against the balances.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::PathBuf;

use loadgen::{Transfers, Workload, WorkloadConfig};
use rusqlite::Connection;
use serde_json::{json, Value};
use test_support::{configuration, counter_and_messages, number, run, start, with};

const CLIENT: &str = env!("CARGO_BIN_EXE_gap-sqlite");

/// A bank in a file of its own, for one test.
struct Bank {
    path: PathBuf,
}

impl Bank {
    fn new(test: &str, accounts: u32, balance: i64) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.sqlite"));
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
        let mut connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        let filling = connection.transaction().unwrap();
        filling
            .execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)", [])
            .unwrap();
        for id in 0..accounts {
            filling.execute("INSERT INTO accounts VALUES (?1, ?2)", (id, balance)).unwrap();
        }
        filling.commit().unwrap();
        Self { path }
    }

    fn endpoint(&self) -> Value {
        json!({"protocol": "sqlite", "path": self.path, "synchronous": "NORMAL"})
    }

    fn loaded_by(&self, changes: Value) -> Value {
        with(configuration(self.endpoint()), changes)
    }

    fn balances(&self) -> Vec<i64> {
        let connection = Connection::open(&self.path).unwrap();
        let mut select = connection.prepare("SELECT balance FROM accounts ORDER BY id").unwrap();
        let balances = select.query_map([], |row| row.get(0)).unwrap();
        balances.map(Result::unwrap).collect()
    }
}

fn accounts() -> u32 {
    number(&configuration(json!({}))["workload"]["parameters"]["accounts"]) as u32
}

/// What the balances must be: every operation that was issued and did not fail.
fn replay(report: &Value, configuration: &Value, balance: i64) -> Vec<i64> {
    let workload: WorkloadConfig = serde_json::from_value(configuration["workload"].clone()).unwrap();
    let mut balances = vec![balance; accounts() as usize];
    let work = Transfers::load(&workload).unwrap();
    for connection in report["connections"].as_array().unwrap() {
        let failed: Vec<u64> =
            connection["failed"].as_array().unwrap().iter().map(|pair| number(&pair[0])).collect();
        for index in (0..number(&connection["issued"])).filter(|index| !failed.contains(index)) {
            let moved = work.draw(number(&connection["connection"]) as u32, index);
            balances[moved.source as usize] -= i64::from(moved.amount);
            balances[moved.destination as usize] += i64::from(moved.amount);
        }
    }
    balances
}

#[test]
fn balances_are_those_of_the_acknowledged_transfers() {
    let bank = Bank::new("balances", accounts(), 1_000_000_000);
    let configuration = bank.loaded_by(json!({"connections": 3, "first_connection": 5}));
    let run = run(CLIENT, &configuration);
    let report = run.report();
    assert_eq!(run.event_names(), ["ready", "window_start", "window_end"]);
    assert!(number(&report["acknowledged"]) > 0);
    assert_eq!(report["acknowledged"], report["attempted"]);
    assert_eq!(bank.balances(), replay(&report, &configuration, 1_000_000_000));
    let issued: Vec<u64> =
        report["connections"].as_array().unwrap().iter().map(|c| number(&c["issued"])).collect();
    assert!(issued.len() == 3 && issued[0] - issued[2] <= 1, "in turn: {issued:?}");
    let in_flight = report["window"]["mean_in_flight"].as_f64().unwrap();
    assert!(in_flight > 0.0 && in_flight <= 1.0, "{in_flight}");
    assert_eq!(report["engine"]["sqlite_version"], rusqlite::version());
    assert_eq!(
        (&report["engine"]["journal_mode"], &report["engine"]["synchronous"]),
        (&json!("wal"), &json!("1"))
    );
}

#[test]
fn a_source_without_funds_is_refused_and_nothing_is_moved() {
    let bank = Bank::new("insufficient", accounts(), 0);
    let report = run(CLIENT, &bank.loaded_by(json!({}))).report();
    assert!(number(&report["attempted"]) > 0);
    assert_eq!(report["failed"]["insufficient"], report["attempted"]);
    assert!(bank.balances().iter().all(|balance| *balance == 0));
}

#[test]
fn an_error_of_the_engine_is_counted_and_leaves_no_transaction_open() {
    let present = accounts() / 2;
    let bank = Bank::new("missing", present, 1_000_000_000);
    let configuration = bank.loaded_by(json!({}));
    let report = run(CLIENT, &configuration).report();
    assert!(number(&report["failed"]["error"]) > 0 && number(&report["acknowledged"]) > 0);
    let first_error = report["first_error"].as_str().unwrap();
    assert!(first_error.starts_with("account ") && first_error.ends_with(" does not exist"), "{first_error}");
    let expected = replay(&report, &configuration, 1_000_000_000);
    assert_eq!(bank.balances(), expected[..present as usize]);
}

#[test]
fn the_open_loop_offers_its_rate() {
    // The last is due long before the window ends. A busy machine can be too late for it, but not each time.
    let in_time = (0..8).any(|_| {
        let bank = Bank::new("open", accounts(), 1_000_000_000);
        let configuration = bank.loaded_by(
            json!({"loop": {"kind": "open", "rate_per_s": 11.0}, "warmup_s": 0.0, "window_s": 0.5}),
        );
        let report = run(CLIENT, &configuration).report();
        assert_eq!(bank.balances(), replay(&report, &configuration, 1_000_000_000));
        let attempted = number(&report["attempted"]);
        assert!(attempted <= 6, "{attempted} attempted, not 6");
        attempted == 6
    });
    assert!(in_time, "never 6 attempted");
}

#[test]
fn what_the_engine_cannot_do_is_refused_by_name() {
    let bank = Bank::new("refused", accounts(), 1);
    let mut drizzle = bank.endpoint();
    drizzle["mode"] = json!("drizzle");
    for (changes, says) in [
        (json!({"in_flight": 2}), "in_flight: 2 is refused; allowed: 1"),
        (json!({"threads": 2}), "threads: 2 is refused; allowed: 1"),
        (
            json!({"flaws": [{"name": "replayed-pairs", "batch": 4}]}),
            "flaws: any flaw is refused; allowed: none",
        ),
        (json!({"endpoint": drizzle}), "endpoint.mode: unknown variant `drizzle`, expected `sql`"),
    ] {
        let message = run(CLIENT, &bank.loaded_by(changes)).refusal(2);
        assert!(message.starts_with(says), "{message}");
    }
}

/// Every increment and every message is in the file, and nothing else is.
#[test]
fn counters_and_messages_are_those_that_were_acknowledged() {
    let bank = Bank::new("messages", 0, 0);
    let connection = Connection::open(&bank.path).unwrap();
    let schema = "CREATE TABLE counters (id INTEGER PRIMARY KEY, value INTEGER NOT NULL);
        CREATE TABLE messages (connection INTEGER, \"index\" INTEGER, body TEXT, PRIMARY KEY (connection, \"index\"));
        INSERT INTO counters VALUES (0, 0)";
    connection.execute_batch(schema).unwrap();
    let report = run(CLIENT, &bank.loaded_by(json!({"workload": counter_and_messages()}))).report();
    assert_eq!(report["acknowledged"], report["attempted"]);
    let stored = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64;
    let kinds = &report["kinds"];
    assert!(number(&kinds["increment"]["acknowledged"]) > 0);
    assert_eq!(stored("SELECT value FROM counters"), number(&kinds["increment"]["acknowledged"]));
    assert_eq!(
        stored("SELECT count(*) FROM messages WHERE length(body) = 16 AND connection IN (0, 1)"),
        number(&kinds["message"]["acknowledged"])
    );
}

#[test]
fn an_operation_that_writes_no_row_is_an_error() {
    let bank = Bank::new("uncounted", 0, 0);
    let connection = Connection::open(&bank.path).unwrap();
    connection.execute_batch("CREATE TABLE counters (id, value); CREATE TABLE messages (c, i, b)").unwrap();
    let report = run(CLIENT, &bank.loaded_by(json!({"workload": counter_and_messages()}))).report();
    assert_eq!(report["failed"]["error"], report["kinds"]["increment"]["attempted"]);
    assert_eq!(report["first_error"], "counter 0 does not exist");
}

#[test]
fn a_file_that_is_not_there_is_not_made() {
    let bank = Bank::new("absent", 0, 0);
    fs::remove_file(&bank.path).unwrap();
    let message = run(CLIENT, &bank.loaded_by(json!({}))).refusal(3);
    assert!(message.contains("absent.sqlite"), "{message}");
    assert!(!bank.path.exists());
}

#[test]
fn a_killed_client_leaves_only_whole_transfers() {
    let bank = Bank::new("killed", accounts(), 1_000_000);
    let mut client = start(CLIENT, &bank.loaded_by(json!({"window_s": 60.0})));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while bank.balances().iter().all(|balance| *balance == 1_000_000) {
        assert!(std::time::Instant::now() < deadline, "nothing was transferred");
    }
    client.kill().unwrap();
    client.wait().unwrap();
    let balances = bank.balances();
    assert_eq!(balances.iter().sum::<i64>(), balances.len() as i64 * 1_000_000);
    let connection = Connection::open(&bank.path).unwrap();
    let check: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn messages_go_to_the_database_of_their_connection() {
    let paths: Vec<PathBuf> = (0..3).map(|place| messages_file(&format!("spread-{place}"))).collect();
    let endpoint = json!({
        "protocol": "sqlite", "path": paths[0], "others": paths[1..], "synchronous": "NORMAL"
    });
    let mut messages = counter_and_messages();
    messages["parameters"] = json!({"increment_share": 0.0, "message_bytes": 8});
    let changes = json!({"connections": 5, "workload": messages});
    let report = run(CLIENT, &with(configuration(endpoint), changes)).report();
    for connection in report["connections"].as_array().unwrap() {
        let (number, issued) = (number(&connection["connection"]), number(&connection["issued"]));
        assert!(issued > 0);
        for (place, path) in paths.iter().enumerate() {
            let stored: i64 = Connection::open(path)
                .unwrap()
                .query_row("SELECT count(*) FROM messages WHERE connection = ?1", [number as i64], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(stored, if number as usize % 3 == place { issued as i64 } else { 0 });
        }
    }
}

#[test]
fn a_bank_is_not_spread() {
    let banks =
        [Bank::new("spread-bank-0", accounts(), 1_000), Bank::new("spread-bank-1", accounts(), 1_000)];
    let endpoint = with(banks[0].endpoint(), json!({"others": [banks[1].path]}));
    let message = run(CLIENT, &configuration(endpoint)).refusal(3);
    assert!(message.contains("others: this workload is of one database"), "{message}");
}

fn messages_file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.sqlite"));
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection
        .execute_batch(
            "CREATE TABLE counters (id INTEGER PRIMARY KEY, value INTEGER NOT NULL);
             CREATE TABLE messages (connection INTEGER NOT NULL, \"index\" INTEGER NOT NULL, body TEXT NOT NULL,
                                    PRIMARY KEY (connection, \"index\"));",
        )
        .unwrap();
    path
}
