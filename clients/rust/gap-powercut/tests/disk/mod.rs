//! The program as the harness runs it: mounted over a folder of the test's own.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{panicking, sleep};
use std::time::Duration;

use serde_json::{json, Value};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gap-powercut");
static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder of the test's own, which is removed when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.0);
        assert!(removed.is_ok() || panicking(), "{removed:?}");
    }
}

/// Why nothing can be mounted here, which a test prints when it is left out.
pub fn reason_to_skip() -> Option<String> {
    let opened = File::options().read(true).write(true).open("/dev/fuse");
    let reason = match opened {
        Err(error) => Some(format!("/dev/fuse: {error}")),
        Ok(_) if !nix::unistd::geteuid().is_root() => Some("only root may mount".to_owned()),
        Ok(_) => None,
    };
    reason.inspect(|reason| eprintln!("left out: {reason}"))
}

pub struct Disk {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub backing: PathBuf,
    pub mount: PathBuf,
}

impl Disk {
    /// Mounts below a folder; what an earlier disk there left durable is there again.
    pub fn mount(folder: &Folder) -> Self {
        Self::mount_with(folder, &[])
    }

    pub fn mount_with(folder: &Folder, more: &[&str]) -> Self {
        let (backing, mount) = (folder.0.join("backing"), folder.0.join("mount"));
        for path in [&backing, &mount] {
            fs::create_dir_all(path).unwrap();
        }
        let mut child = Command::new(PROGRAM)
            .args([Path::new("--backing"), &backing, Path::new("--mount"), &mount])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut disk = Self { child, commands, answers, backing, mount };
        assert_eq!(disk.answer()["mounted"], json!(disk.mount));
        disk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.mount.join(name)
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect(&line)
    }

    pub fn tell_line(&mut self, line: &str) -> Value {
        writeln!(self.commands.as_mut().unwrap(), "{line}").unwrap();
        self.answer()
    }

    pub fn tell(&mut self, command: Value) -> Value {
        let answer = self.tell_line(&command.to_string());
        assert!(answer.get("error").is_none(), "{command}: {answer}");
        answer
    }

    pub fn cut(&mut self, survive: &str, seed: u64) -> Value {
        self.tell(json!({ "command": "cut", "survive": survive, "seed": seed }))
    }

    /// Cuts the power and gives it back: what is mounted then is what survived.
    pub fn cut_and_restore(mut self, folder: &Folder, survive: &str, seed: u64) -> Self {
        self.cut(survive, seed);
        assert!(self.end().success());
        Self::mount(folder)
    }

    /// Ends in order.
    pub fn end(mut self) -> ExitStatus {
        drop(self.commands.take());
        self.child.wait().unwrap()
    }

    pub fn signal(&mut self, signal: nix::sys::signal::Signal) -> ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.commands.take());
        self.child.wait().unwrap();
        assert!(unmount(&self.mount).success() || panicking());
    }
}

pub fn unmount(mount: &Path) -> ExitStatus {
    Command::new(PROGRAM).arg("--unmount").arg(mount).status().unwrap()
}

pub fn is_mounted(mount: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(4) == mount.to_str())
}

/// Writes at an offset of a file, which is made where it is missing; not synced.
pub fn write(path: &Path, offset: u64, data: &[u8]) -> File {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.write_all_at(data, offset).unwrap();
    file
}

/// Waits for what the kernel does in its own time: it forgets a removed file after the call has returned.
pub fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("it never came");
}

pub fn program(arguments: &[&str]) -> std::process::Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}
