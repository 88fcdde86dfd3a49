//! What the peers share: a closed loop of `transfer` calls, counted inside a window beside the CPU it costs.
//!
//! A peer brings the connections of one SDK. It calls what [`Caller::draw`] gives, says each answer to
//! [`Caller::answered`] and makes the next call then. Configuration and work are those of the clients.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use gap_spacetimedb::Endpoint;
use loadgen::Work;
pub use loadgen::{Config, Operation};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;
use serde_json::{json, Value};

#[derive(Default)]
struct Counts {
    committed: AtomicU64,
    failed: AtomicU64,
    /// Why the first connection that ended did so.
    lost: Mutex<Option<String>>,
}

/// What one connection calls, and what became of it.
pub struct Caller {
    number: u32,
    work: Arc<Work>,
    next: AtomicU64,
    counts: Arc<Counts>,
}

impl Caller {
    /// The connection's next transfer, which is never given again.
    pub fn draw(&self) -> Operation {
        self.work.draw(self.number, self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub fn answered(&self, committed: bool) {
        let count = if committed { &self.counts.committed } else { &self.counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// The connection cannot go on: the measurement is void.
    pub fn lost(&self, why: impl Display) {
        let mut lost = self.counts.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| format!("connection {}: {why}", self.number));
    }
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

/// Reads a client's configuration on standard input (closed loop only) and prints what the window held.
///
/// `connect` opens one connection a caller, sets all of them going and returns what keeps them alive.
pub fn main<C>(
    sdk: &str,
    connect: impl FnOnce(&Config<Endpoint>, Vec<Arc<Caller>>) -> Result<C, Box<dyn Error>>,
) -> ExitCode {
    match measure(sdk, connect) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{sdk}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure<C>(
    sdk: &str,
    connect: impl FnOnce(&Config<Endpoint>, Vec<Arc<Caller>>) -> Result<C, Box<dyn Error>>,
) -> Result<Value, Box<dyn Error>> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let config: Config<Endpoint> = Config::parse(&input, "spacetimedb")?;
    let counts = Arc::new(Counts::default());
    let _connections = connect(&config, callers(&config, &counts)?)?;
    thread::sleep(Duration::from_secs_f64(config.warmup_s));
    let start = Moment::now(&counts)?;
    thread::sleep(Duration::from_secs_f64(config.window_s));
    let end = Moment::now(&counts)?;
    let lost = counts.lost.lock().unwrap_or_else(PoisonError::into_inner).take();
    match lost {
        Some(why) => Err(why.into()),
        None => report(sdk, &config, &start, &end),
    }
}

fn callers(config: &Config<Endpoint>, counts: &Arc<Counts>) -> Result<Vec<Arc<Caller>>, Box<dyn Error>> {
    let work = Arc::new(Work::load(&config.workload)?);
    let caller = |number| Caller {
        number,
        work: Arc::clone(&work),
        next: AtomicU64::new(0),
        counts: Arc::clone(counts),
    };
    Ok((0..config.connections).map(|number| Arc::new(caller(number))).collect())
}

fn report(
    sdk: &str,
    config: &Config<Endpoint>,
    start: &Moment,
    end: &Moment,
) -> Result<Value, Box<dyn Error>> {
    let window_s = end.at.duration_since(start.at).as_secs_f64();
    let committed = end.committed - start.committed;
    let calls = committed + end.failed - start.failed;
    if calls == 0 {
        return Err("no call was answered inside the window".into());
    }
    let (user_s, system_s) = (end.cpu_user_s - start.cpu_user_s, end.cpu_system_s - start.cpu_system_s);
    Ok(json!({
        "peer": sdk, "connections": config.connections, "in_flight": config.in_flight,
        "confirmed": config.endpoint.confirmed, "window_s": window_s, "calls": calls, "committed": committed,
        "goodput_per_s": committed as f64 / window_s, "cpu_user_s": user_s, "cpu_system_s": system_s,
        "cpu_per_call_s": (user_s + system_s) / calls as f64,
    }))
}
