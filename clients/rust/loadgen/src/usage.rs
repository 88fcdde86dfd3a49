//! What the client itself costs, and which build it is.

use std::fs;

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::{TimeVal, TimeValLike};
use sha2::{Digest, Sha256};

use crate::hex;

#[derive(Debug, Clone, Copy, Default)]
pub struct CpuUsage {
    pub user_s: f64,
    pub system_s: f64,
}

impl CpuUsage {
    /// The whole process so far.
    pub fn now() -> Self {
        let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_SELF)
            .map(|usage| Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) })
            .unwrap_or_default()
    }

    pub fn since(&self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// Peak resident memory of this program. `ru_maxrss` would include the parent's memory before the exec.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kilobytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The sha256 of the running executable.
pub fn build_id() -> Option<String> {
    fs::read("/proc/self/exe").ok().map(|bytes| hex(&Sha256::digest(bytes)))
}
