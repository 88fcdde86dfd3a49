//! From a configuration to a report.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;

use mio::net::TcpStream;

use crate::config::Config;
use crate::connection::Connection;
use crate::engine::{Shared, Trial, Worker};
use crate::error::ClientError;
use crate::flaws::{FlawFacts, FlawTally};
use crate::handshake::HandshakeStream;
use crate::progress;
use crate::protocol::Protocol;
use crate::report::{ClientIdentity, ConnectionReport, Facts, Failures, Report};
use crate::schedule::{to_nanoseconds, to_seconds, Clock, Phases, Schedule};
use crate::tally::Tally;
use crate::usage::{peak_memory_bytes, CpuUsage};
use crate::workload::Workload;

/// Connects, loads the endpoint and reports.
pub fn run<W: Workload, P: Protocol<W>>(
    config: &Config<P::Endpoint>,
    client: ClientIdentity,
) -> Result<Report, ClientError> {
    P::check(config)?;
    config.flaws.check::<W>()?;
    let work = W::load(&config.workload)?;
    let phases = Phases::new(config);
    let schedule = Schedule::new(config);
    let mut workers = prepare_workers::<W, P>(config, phases, schedule)?;
    let agreed = common_agreement(&workers)?;
    progress::ready();
    let (clock, started_unix_s) = Clock::start_at(config.start_unix_s)?;
    let trial = Trial {
        work,
        clock,
        phases,
        schedule,
        in_flight: config.in_flight as u64,
        requests_per_message: P::requests_per_message(&config.endpoint) as u64,
        max_retries: config.max_retries,
        flaws: config.flaws,
        request_timeout: to_nanoseconds(config.request_timeout_s),
        shared: Shared::new(workers.len()),
    };
    run_workers(&mut workers, &trial)?;
    let facts = Facts {
        client,
        started_unix_s,
        warmup_s: config.warmup_s,
        window_s: config.window_s,
        drained_s: workers.iter().map(|worker| drained_s(worker, phases)).fold(0.0, f64::max),
        window_usage: workers[0].usage.spent(),
        usage: CpuUsage::now(),
        peak_memory_bytes: peak_memory_bytes(),
        agreed,
        engine: BTreeMap::new(),
    };
    report(facts, workers, &trial)
}

fn drained_s<W: Workload, P>(worker: &Worker<W, P>, phases: Phases) -> f64 {
    to_seconds(worker.ended_at.saturating_sub(phases.window_end))
}

fn prepare_workers<W: Workload, P: Protocol<W>>(
    config: &Config<P::Endpoint>,
    phases: Phases,
    schedule: Schedule,
) -> Result<Vec<Worker<W, P>>, ClientError> {
    let mut shares: Vec<Vec<Connection<W, P>>> = (0..config.threads).map(|_| Vec::new()).collect();
    for slot in 0..config.connections {
        shares[slot as usize % config.threads].push(connect(config, slot)?);
    }
    shares
        .into_iter()
        .enumerate()
        .map(|(thread, connections)| {
            let mut tally = Tally::new::<W>(phases, schedule.is_open())?;
            if !config.flaws.is_empty() {
                tally.flaws = Some(Box::new(FlawTally::new(config.flaws, phases)));
            }
            Worker::new(thread, connections, tally).map_err(|error| {
                ClientError::Endpoint(format!("event loop: {error}; raise the limit on open files"))
            })
        })
        .collect()
}

/// What all connections agreed on with the server.
fn common_agreement<W: Workload, P: Protocol<W>>(
    workers: &[Worker<W, P>],
) -> Result<BTreeMap<&'static str, String>, ClientError> {
    let mut connections = workers.iter().flat_map(|worker| &worker.connections);
    let agreed = connections.next().map(Connection::agreed).unwrap_or_default();
    match connections.find(|connection| connection.agreed() != agreed) {
        None => Ok(agreed),
        Some(other) => Err(ClientError::Endpoint(format!(
            "connection {} to {}: the server agreed on {:?} here, on {agreed:?} before",
            other.number,
            P::NAME,
            other.agreed()
        ))),
    }
}

fn connect<W: Workload, P: Protocol<W>>(
    config: &Config<P::Endpoint>,
    slot: u32,
) -> Result<Connection<W, P>, ClientError> {
    let number = config.first_connection + slot;
    let (host, port) = P::address(&config.endpoint);
    let unusable = |why: String| {
        ClientError::Endpoint(format!("connection {number} to {} at {host}:{port}: {why}", P::NAME))
    };
    let mut stream = HandshakeStream::connect(host, port).map_err(unusable)?;
    let protocol = P::handshake(&config.endpoint, &mut stream).map_err(unusable)?;
    let (stream, rest) = stream.into_parts().map_err(|error| unusable(error.to_string()))?;
    Ok(Connection::new(number, slot, protocol, TcpStream::from_std(stream), rest, config))
}

/// The first worker runs on this thread.
fn run_workers<W: Workload, P: Protocol<W>>(
    workers: &mut [Worker<W, P>],
    trial: &Trial<W>,
) -> Result<(), ClientError> {
    let run = |worker: &mut Worker<W, P>| {
        let result = worker.run(trial);
        if result.is_err() {
            trial.shared.aborted.store(true, Ordering::Relaxed);
        }
        result
    };
    thread::scope(|scope| {
        let mut workers = workers.iter_mut();
        let first = workers.next();
        let others: Vec<_> = workers.map(|worker| scope.spawn(|| run(worker))).collect();
        let mut result = first.map_or(Ok(()), run);
        for other in others {
            let ended = other.join().unwrap_or_else(|_| {
                Err(ClientError::Integrity("a thread of the load ended early".to_owned()))
            });
            result = result.and(ended);
        }
        result
    })
}

fn report<W: Workload, P: Protocol<W>>(
    facts: Facts,
    workers: Vec<Worker<W, P>>,
    trial: &Trial<W>,
) -> Result<Report, ClientError> {
    let mut connections = Vec::new();
    let mut total: Option<Tally> = None;
    for worker in workers {
        connections.extend(worker.connections.into_iter().map(|connection| ConnectionReport {
            connection: connection.number,
            issued: connection.issued,
            failed: Failures { listed: connection.failed, names: W::REFUSALS },
            in_doubt: connection.in_doubt,
            retried: connection.retried,
        }));
        match &mut total {
            None => total = Some(worker.tally),
            Some(total) => total.merge(worker.tally)?,
        }
    }
    connections.sort_by_key(|connection| connection.connection);
    let mut tally = total.ok_or_else(|| ClientError::Integrity("the load has no thread".to_owned()))?;
    let total = tally.total()?;
    let flawed = tally.flaws.take().map_or_else(BTreeMap::new, |flaws| {
        flaws.report(&FlawFacts {
            flaws: trial.flaws,
            in_flight: trial.in_flight,
            window_s: facts.window_s,
            work: &trial.work,
            connections: &connections,
            response_time: total.response_time.as_ref().unwrap_or(&total.service_time),
        })
    });
    Ok(Report::new::<W>(facts, tally, connections)?.with_flawed(flawed))
}
