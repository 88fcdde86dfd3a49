//! A closed loop of `transfer` calls through the official SDK, each connection on the SDK's own thread.
//!
//! Reads a client's configuration on standard input (the closed loop only), draws the same work as the clients do,
//! and prints what was called inside the window and what it cost this process.

mod module_bindings;

use std::error::Error;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gap_spacetimedb::Endpoint;
use loadgen::{Config, Work};
use module_bindings::{DbConnection, RemoteReducers};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;
use serde_json::json;
use spacetimedb_sdk::{Compression, Status};

#[derive(Default)]
struct Counts {
    committed: AtomicU64,
    failed: AtomicU64,
}

/// Counters and CPU time at one moment.
struct Moment {
    at: Instant,
    committed: u64,
    failed: u64,
    cpu_user_s: f64,
    cpu_system_s: f64,
}

impl Moment {
    fn now(counts: &Counts) -> Result<Self, nix::Error> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok(Self {
            at: Instant::now(),
            committed: counts.committed.load(Ordering::Relaxed),
            failed: counts.failed.load(Ordering::Relaxed),
            cpu_user_s: usage.user_time().num_microseconds() as f64 / 1e6,
            cpu_system_s: usage.system_time().num_microseconds() as f64 / 1e6,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let config: Config<Endpoint> = Config::parse(&input, "spacetimedb")?;
    let work = Arc::new(Work::load(&config.workload)?);
    let counts = Arc::new(Counts::default());
    let mut connections = Vec::new();
    for number in 0..config.connections {
        connections.push(connect(&config, number, Arc::clone(&work), Arc::clone(&counts))?);
    }
    for connection in &connections {
        connection.run_threaded();
    }
    thread::sleep(Duration::from_secs_f64(config.warmup_s));
    let start = Moment::now(&counts)?;
    thread::sleep(Duration::from_secs_f64(config.window_s));
    let end = Moment::now(&counts)?;

    let window_s = end.at.duration_since(start.at).as_secs_f64();
    let committed = end.committed - start.committed;
    let calls = committed + end.failed - start.failed;
    let (user_s, system_s) = (end.cpu_user_s - start.cpu_user_s, end.cpu_system_s - start.cpu_system_s);
    let report = json!({
        "peer": "spacetimedb-sdk 1.2.0", "connections": config.connections, "in_flight": config.in_flight,
        "window_s": window_s, "calls": calls, "committed": committed, "goodput_per_s": committed as f64 / window_s,
        "cpu_user_s": user_s, "cpu_system_s": system_s,
        "cpu_per_call_s": if calls > 0 { Some((user_s + system_s) / calls as f64) } else { None },
    });
    println!("{report}");
    Ok(())
}

/// A connection that keeps `in_flight` calls out: each answer's callback makes the next call.
fn connect(
    config: &Config<Endpoint>,
    number: u32,
    work: Arc<Work>,
    counts: Arc<Counts>,
) -> Result<DbConnection, Box<dyn Error>> {
    let endpoint = &config.endpoint;
    let in_flight = config.in_flight as u64;
    let caller = Arc::new(Caller { number, work, next: AtomicU64::new(0) });
    let first = Arc::clone(&caller);
    let connection = DbConnection::builder()
        .with_uri(format!("http://{}:{}", endpoint.host, endpoint.port))
        .with_module_name(endpoint.database.as_str())
        .with_token(Some(endpoint.token.as_str()))
        .with_compression(Compression::None)
        .on_connect(move |connection, _, _| (0..in_flight).for_each(|_| first.call(&connection.reducers)))
        .on_connect_error(|context, _| eprintln!("connect: {:?}", context.event))
        .build()?;
    connection.reducers.on_transfer(move |context| {
        let count = match context.event.status {
            Status::Committed => &counts.committed,
            _ => &counts.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        caller.call(&context.reducers);
    });
    Ok(connection)
}

struct Caller {
    number: u32,
    work: Arc<Work>,
    next: AtomicU64,
}

impl Caller {
    fn call(&self, reducers: &RemoteReducers) {
        let drawn = self.work.draw(self.number, self.next.fetch_add(1, Ordering::Relaxed));
        if let Err(error) = reducers.transfer(drawn.source, drawn.destination, drawn.amount) {
            eprintln!("connection {}: {error}", self.number);
        }
    }
}
