//! Threads that compute for operations: a machine that is nothing but a schedule needs no processor, a real server does,
//! and then competes for processors with its client.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use gap_delay::{thread_cpu_ns, Nanoseconds};
use mio::Waker;

/// How many threads compute, and how much of a processor's time each operation takes of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computing {
    pub threads: usize,
    pub per_operation: Nanoseconds,
}

/// A lane for each thread; ended, with what is not computed yet, when dropped.
pub struct Lanes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    pub computing: Computing,
}

struct Shared {
    work: Mutex<Work>,
    changed: Condvar,
    waker: Arc<Waker>,
}

#[derive(Default)]
struct Work {
    /// Answers by their numbers, each with its operations.
    waiting: VecDeque<(u64, u64)>,
    done: Vec<u64>,
    ended: bool,
}

impl Lanes {
    /// Starts the threads; `waker` is told of each answer that is computed.
    pub fn start(computing: Computing, waker: Arc<Waker>) -> io::Result<Self> {
        let shared = Arc::new(Shared { work: Mutex::default(), changed: Condvar::new(), waker });
        let threads = (0..computing.threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::Builder::new().spawn(move || shared.compute(computing.per_operation))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { shared, threads, computing })
    }

    /// Lets an answer's operations be computed.
    pub fn take(&self, answer: u64, operations: u64) {
        self.shared.work().waiting.push_back((answer, operations));
        self.shared.changed.notify_one();
    }

    /// The answers computed since this was asked last.
    pub fn done(&self) -> Vec<u64> {
        std::mem::take(&mut self.shared.work().done)
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.shared.work().ended = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// A thread that panicked left nothing half done: work is moved whole.
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute(&self, per_operation: Nanoseconds) {
        while let Some((answer, operations)) = self.next() {
            if let Err(error) = spin(operations * per_operation) {
                eprintln!("an answer is not computed: the processor time of a thread: {error}");
            }
            self.work().done.push(answer);
            // A server that cannot be woken has ended.
            let _ = self.waker.wake();
        }
    }

    fn next(&self) -> Option<(u64, u64)> {
        let mut work = self.work();
        loop {
            if work.ended {
                return None;
            }
            if let Some(first) = work.waiting.pop_front() {
                return Some(first);
            }
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Keeps this thread's processor for so long, by the processor time of the thread: one that is taken off its processor
/// takes longer.
fn spin(time: Nanoseconds) -> io::Result<()> {
    let began = thread_cpu_ns()?;
    while thread_cpu_ns()?.saturating_sub(began) < time {
        std::hint::spin_loop();
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use mio::{Events, Poll, Token};

    #[test]
    fn every_answer_is_computed_once_and_takes_its_processor_time() {
        let mut poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
        let computing = Computing { threads: 2, per_operation: 100_000 };
        let lanes = Lanes::start(computing, waker).unwrap();
        (0..20).for_each(|answer| lanes.take(answer, 2));
        let (mut events, mut done) = (Events::with_capacity(8), Vec::new());
        while done.len() < 20 {
            poll.poll(&mut events, None).unwrap();
            done.extend(lanes.done());
        }
        done.sort_unstable();
        assert_eq!(done, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn spinning_takes_the_threads_own_processor_time() {
        let began = thread_cpu_ns().unwrap();
        spin(2_000_000).unwrap();
        let took = thread_cpu_ns().unwrap() - began;
        assert!((2_000_000..20_000_000).contains(&took), "{took}");
    }

    #[test]
    fn lanes_end_with_work_left() {
        let poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
        let lanes = Lanes::start(Computing { threads: 1, per_operation: 50_000_000 }, waker).unwrap();
        (0..1000).for_each(|answer| lanes.take(answer, 1));
        drop(lanes);
    }
}
