//! The event loop: one thread drives its share of the connections through warm-up, window and drain.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Interest, Poll, Token};

use crate::connection::{Connection, State};
use crate::error::ClientError;
use crate::flaws::Flaws;
use crate::progress;
use crate::protocol::Protocol;
use crate::schedule::{to_seconds, Clock, Nanoseconds, Phases, Schedule};
use crate::tally::Tally;
use crate::timer::Timer;
use crate::usage::CpuUsage;
use crate::workload::Workload;

const TICK_NS: Nanoseconds = 1_000_000_000;
const EVENTS: usize = 1024;
const READ_BYTES: usize = 256 * 1024;
const TIMER: Token = Token(usize::MAX);

/// What every thread of a trial reads.
pub struct Trial<W> {
    pub work: W,
    pub clock: Clock,
    pub phases: Phases,
    pub schedule: Schedule,
    pub in_flight: u64,
    pub requests_per_message: u64,
    pub max_retries: u32,
    pub flaws: Flaws,
    pub request_timeout: Nanoseconds,
    pub shared: Shared,
}

impl<W: Workload> Trial<W> {
    #[inline(always)]
    pub fn draw(&self, connection: u32, index: u64) -> W::Operation {
        let index = self.flaws.replayed_batch.map_or(index, |batch| index % batch);
        self.work.draw(connection, index)
    }
}

/// What the threads of a trial tell each other.
pub struct Shared {
    counts: Vec<Counts>,
    pub aborted: AtomicBool,
}

#[derive(Default)]
struct Counts {
    acknowledged: AtomicU64,
    failed: AtomicU64,
}

impl Shared {
    pub fn new(threads: usize) -> Self {
        Self { counts: (0..threads).map(|_| Counts::default()).collect(), aborted: AtomicBool::new(false) }
    }

    fn publish(&self, thread: usize, tally: &Tally) {
        self.counts[thread].acknowledged.store(tally.acknowledged(), Ordering::Relaxed);
        self.counts[thread].failed.store(tally.failed(), Ordering::Relaxed);
    }

    fn sum(&self, of: impl Fn(&Counts) -> &AtomicU64) -> u64 {
        self.counts.iter().map(|counts| of(counts).load(Ordering::Relaxed)).sum()
    }
}

/// CPU time at the window's edges; read by the first thread, for the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowUsage {
    start: Option<CpuUsage>,
    end: Option<CpuUsage>,
}

impl WindowUsage {
    pub fn spent(&self) -> CpuUsage {
        match (self.start, self.end) {
            (Some(start), Some(end)) => end.since(start),
            _ => CpuUsage::default(),
        }
    }
}

/// One thread's share of a trial, and after [`Worker::run`] its result.
pub struct Worker<W: Workload, P> {
    thread: usize,
    pub connections: Vec<Connection<W, P>>,
    pub tally: Tally,
    pub usage: WindowUsage,
    pub ended_at: Nanoseconds,
    poll: Poll,
    timer: Timer,
    next_tick: Nanoseconds,
    next_timeout_check: Nanoseconds,
    /// Open loop: how many operations of this thread, in the order of their intended starts, are past.
    passed: u64,
    /// Lost connections on which requests go on ending, in turn: the flaw of counting finished tasks.
    ending_at_once: VecDeque<usize>,
}

impl<W: Workload, P: Protocol<W>> Worker<W, P> {
    pub fn new(thread: usize, mut connections: Vec<Connection<W, P>>, tally: Tally) -> io::Result<Self> {
        let poll = Poll::new()?;
        for (place, connection) in connections.iter_mut().enumerate() {
            if let Some(stream) = connection.stream() {
                poll.registry().register(stream, Token(place), Interest::READABLE | Interest::WRITABLE)?;
            }
        }
        let timer = Timer::new(poll.registry(), TIMER)?;
        Ok(Self {
            thread,
            connections,
            tally,
            usage: WindowUsage::default(),
            ended_at: 0,
            poll,
            timer,
            next_tick: TICK_NS,
            next_timeout_check: 0,
            passed: 0,
            ending_at_once: VecDeque::new(),
        })
    }

    /// Runs the trial to the end of its drain.
    pub fn run(&mut self, trial: &Trial<W>) -> Result<(), ClientError> {
        let lost_poll = |error: io::Error| ClientError::Integrity(format!("event loop: {error}"));
        let mut events = Events::with_capacity(EVENTS);
        let mut buffer = vec![0; READ_BYTES];
        for place in 0..self.connections.len() {
            self.issue(trial, place);
        }
        loop {
            let now = trial.clock.now();
            self.keep_time(trial, now);
            if self.is_over(trial, now) {
                break;
            }
            self.timer.arm(self.deadline(trial, now), now).map_err(lost_poll)?;
            let wait = self.end_at_once(trial, now);
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled.map_err(lost_poll)?,
            }
            for event in &events {
                match event.token() {
                    TIMER => self.timer.expired(),
                    Token(place) => self.serve(trial, place, event, &mut buffer)?,
                }
            }
            trial.shared.publish(self.thread, &self.tally);
        }
        self.ended_at = trial.clock.now();
        trial.clock.sleep_until(trial.phases.linger_end);
        for connection in &mut self.connections {
            connection.close(trial, &mut self.tally, self.ended_at);
        }
        Ok(())
    }

    #[inline]
    fn serve(
        &mut self,
        trial: &Trial<W>,
        place: usize,
        event: &Event,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ClientError> {
        let connection = &mut self.connections[place];
        if event.is_readable() || event.is_read_closed() {
            let state = connection.receive(trial, &mut self.tally, buffer, event.is_read_closed())?;
            if let State::Lost(reason) = state {
                self.lose(trial, place, &reason);
                return Ok(());
            }
        }
        self.issue(trial, place);
        Ok(())
    }

    #[inline]
    fn issue(&mut self, trial: &Trial<W>, place: usize) {
        if let State::Lost(reason) = self.connections[place].issue(trial) {
            self.lose(trial, place, &reason);
        }
    }

    fn lose(&mut self, trial: &Trial<W>, place: usize, reason: &str) {
        let now = trial.clock.now();
        let connection = &mut self.connections[place];
        if trial.flaws.counts_finished_tasks && connection.stream().is_some() {
            connection.end_with_connection(&mut self.tally, now);
            self.ending_at_once.push_back(place);
        }
        if let Some(mut stream) = connection.close(trial, &mut self.tally, now) {
            // Closing the socket would deregister it too; a failure here changes nothing.
            let _ = self.poll.registry().deregister(&mut stream);
            self.tally.lost_connections += 1;
            progress::connection_lost(connection.number, reason);
        }
    }

    /// Ends requests of one lost connection, if the flaw that counts them is on; how long the poll may then wait.
    #[inline]
    fn end_at_once(&mut self, trial: &Trial<W>, now: Nanoseconds) -> Option<Duration> {
        let place = self.ending_at_once.pop_front().filter(|_| now < trial.phases.window_end)?;
        self.connections[place].end_at_once(trial, &mut self.tally);
        self.ending_at_once.push_back(place);
        Some(Duration::ZERO)
    }

    /// Everything that is due by the clock and not by a socket.
    #[inline]
    fn keep_time(&mut self, trial: &Trial<W>, now: Nanoseconds) {
        if self.thread == 0 {
            self.mark_edges(trial, now);
        }
        if now >= self.next_tick {
            self.tick(trial, now);
        }
        if now >= self.next_timeout_check {
            self.check_timeouts(trial, now);
        }
        if trial.schedule.is_open() {
            self.issue_due(trial, now);
        }
    }

    fn mark_edges(&mut self, trial: &Trial<W>, now: Nanoseconds) {
        if self.usage.start.is_none() && now >= trial.phases.window_start {
            self.usage.start = Some(CpuUsage::now());
            progress::window_start();
        }
        if self.usage.end.is_none() && now >= trial.phases.window_end {
            self.usage.end = Some(CpuUsage::now());
            progress::window_end();
        }
    }

    fn tick(&mut self, trial: &Trial<W>, now: Nanoseconds) {
        self.next_tick = (now / TICK_NS + 1) * TICK_NS;
        trial.shared.publish(self.thread, &self.tally);
        if self.thread == 0 {
            let acknowledged = trial.shared.sum(|counts| &counts.acknowledged);
            let failed = trial.shared.sum(|counts| &counts.failed);
            progress::progress(trial.phases.name(now), to_seconds(now), acknowledged, failed);
        }
    }

    /// Answers come in order, so a connection is late when its oldest request is.
    fn check_timeouts(&mut self, trial: &Trial<W>, now: Nanoseconds) {
        let mut next = now + trial.request_timeout;
        for place in 0..self.connections.len() {
            let Some(sent) = self.connections[place].oldest_sent() else { continue };
            let late_at = sent + trial.request_timeout;
            if late_at <= now {
                let reason = format!("no answer within {} s", to_seconds(trial.request_timeout));
                self.lose(trial, place, &reason);
            } else {
                next = next.min(late_at);
            }
        }
        self.next_timeout_check = next;
    }

    /// Operation number `passed` of this thread is the next one to come due.
    fn next_intended(&self, trial: &Trial<W>) -> Option<(usize, Nanoseconds)> {
        let connections = self.connections.len() as u64;
        let place = (self.passed % connections) as usize;
        let intended = trial.schedule.intended(self.connections[place].slot(), self.passed / connections);
        (trial.schedule.is_open() && intended < trial.phases.window_end).then_some((place, intended))
    }

    fn issue_due(&mut self, trial: &Trial<W>, now: Nanoseconds) {
        while let Some((place, intended)) = self.next_intended(trial) {
            if intended > now {
                break;
            }
            self.passed += 1;
            self.issue(trial, place);
        }
    }

    fn deadline(&self, trial: &Trial<W>, now: Nanoseconds) -> Nanoseconds {
        let Phases { window_start, window_end, drain_end, .. } = trial.phases;
        let edge = [window_start, window_end, drain_end].into_iter().find(|edge| *edge > now).unwrap_or(now);
        let due = self.next_intended(trial).map_or(Nanoseconds::MAX, |(_, intended)| intended);
        edge.min(self.next_tick).min(self.next_timeout_check).min(due)
    }

    fn is_over(&self, trial: &Trial<W>, now: Nanoseconds) -> bool {
        trial.shared.aborted.load(Ordering::Relaxed)
            || now >= trial.phases.window_end
                && (now >= trial.phases.drain_end || self.connections.iter().all(|c| c.requests_out() == 0))
    }
}
