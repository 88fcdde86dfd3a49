//! A timer as a file descriptor: the poll's own timeout is rounded to milliseconds, and its slack adds 50 us.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;

/// Of the machine's monotonic clock, which all processes share.
pub type Nanoseconds = u64;

pub fn now_ns() -> io::Result<Nanoseconds> {
    let now = clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(Duration::from(now).as_nanos() as Nanoseconds)
}

/// The processor time that the calling thread has had.
pub fn thread_cpu_ns() -> io::Result<Nanoseconds> {
    let had = clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(Duration::from(had).as_nanos() as Nanoseconds)
}

pub struct Timer {
    descriptor: TimerFd,
    armed_for: Option<Nanoseconds>,
}

impl Timer {
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let descriptor = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let raw = descriptor.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&raw), token, Interest::READABLE)?;
        Ok(Self { descriptor, armed_for: None })
    }

    /// Wakes the poll at `deadline`, at once if it has passed; a system call only when the deadline is a new one.
    pub fn arm(&mut self, deadline: Nanoseconds) -> io::Result<()> {
        if self.armed_for == Some(deadline) {
            return Ok(());
        }
        // A timer set to zero would be disarmed.
        let at = TimeSpec::from_duration(Duration::from_nanos(deadline.max(1)));
        self.descriptor.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        self.armed_for = Some(deadline);
        Ok(())
    }

    /// Forgets the deadline that woke the poll, so that arming for it again sets the timer again.
    pub fn expired(&mut self) {
        self.armed_for = None;
    }
}
