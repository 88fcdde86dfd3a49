//! A timer of the event loop: a file descriptor, because the poll's own timeout is rounded to milliseconds.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::schedule::Nanoseconds;

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

    /// Wakes the poll at `deadline`; a system call only when the deadline is a new one.
    #[inline]
    pub fn arm(&mut self, deadline: Nanoseconds, now: Nanoseconds) -> io::Result<()> {
        if self.armed_for == Some(deadline) {
            return Ok(());
        }
        let wait = Duration::from_nanos(deadline.saturating_sub(now).max(1));
        self.descriptor
            .set(Expiration::OneShot(TimeSpec::from_duration(wait)), TimerSetTimeFlags::empty())?;
        self.armed_for = Some(deadline);
        Ok(())
    }

    /// Forgets the deadline that woke the poll, so that arming for it again sets the timer again.
    pub fn expired(&mut self) {
        self.armed_for = None;
    }
}
