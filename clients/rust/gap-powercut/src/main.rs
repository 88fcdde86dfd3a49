use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use gap_powercut::{answer, mount, unmount, Layer};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::geteuid;
use serde_json::json;

const USAGE: &str = "usage: gap-powercut --backing FOLDER --mount FOLDER [--memory-mib N] (root only; N of 1 to \
                     1048576, 1024 unless said), or gap-powercut --unmount FOLDER; commands come by standard input, \
                     one line of JSON each; it writes everything to the backing folder and ends with SIGTERM or \
                     when its standard input closes";
const MEMORY_MIB: u64 = 1024;
const MOST_MEMORY_MIB: u64 = 1 << 20;
const DEVICE: &str = "/dev/fuse";

enum Task {
    Serve { backing: PathBuf, at: PathBuf, memory_mib: u64 },
    Unmount { at: PathBuf },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(task) = parse(&arguments) else {
        eprintln!("arguments: {} is refused; {USAGE}", arguments.join(" "));
        return ExitCode::from(2);
    };
    let (at, done) = match &task {
        Task::Serve { backing, at, memory_mib } => (at, serve(backing, at, *memory_mib)),
        Task::Unmount { at } => (at, unmount(at).map_err(|error| error.to_string())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("power cuts at {}: {error}", at.display());
            ExitCode::from(3)
        }
    }
}

fn parse(arguments: &[&str]) -> Option<Task> {
    let (backing, at, memory_mib) = match arguments {
        ["--unmount", at] => return Some(Task::Unmount { at: at.into() }),
        ["--backing", backing, "--mount", at] => (backing, at, MEMORY_MIB),
        ["--backing", backing, "--mount", at, "--memory-mib", memory_mib] => {
            (backing, at, memory_mib.parse().ok()?)
        }
        _ => return None,
    };
    let allowed = (1..=MOST_MEMORY_MIB).contains(&memory_mib);
    allowed.then(|| Task::Serve { backing: backing.into(), at: at.into(), memory_mib })
}

fn serve(backing: &Path, at: &Path, memory_mib: u64) -> Result<(), String> {
    require_permission()?;
    let (ender, ended) = channel();
    // Before any other thread is there, so that all have them blocked.
    end_with_signals(ender.clone()).map_err(|error| format!("signals: {error}"))?;
    let layer = Layer::over(backing, memory_mib << 20)
        .map_err(|error| format!("backing folder {}: {error}", backing.display()))?;
    let layer = Arc::new(Mutex::new(layer));
    let session = mount(Arc::clone(&layer), backing, at).map_err(|error| format!("mount: {error}"))?;
    say(&json!({ "mounted": at })).map_err(|error| format!("standard output: {error}"))?;
    obey_standard_input(Arc::clone(&layer), ender);
    let why = ended.recv().unwrap_or(Ok(()));
    let written = write_everything(&layer);
    let unmounted = unmount(at).map_err(|error| format!("unmount: {error}"));
    // What still has a file open on it is told that the connection is gone, when this process is.
    std::mem::forget(session);
    why.and(written).and(unmounted)
}

fn require_permission() -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("only root may mount; run it as root".to_owned());
    }
    let opened = std::fs::File::options().read(true).write(true).open(DEVICE);
    opened.map(drop).map_err(|error| {
        format!("{DEVICE}: {error}; power cuts need a kernel with FUSE, and in a container --device {DEVICE} and CAP_SYS_ADMIN")
    })
}

fn end_with_signals(ender: Sender<Result<(), String>>) -> io::Result<()> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        signals.add(signal);
    }
    signals.thread_block()?;
    thread::spawn(move || {
        let waited = signals.wait().map(drop).map_err(|error| format!("signals: {error}"));
        // Whoever does not listen any more ends already.
        let _ = ender.send(waited);
    });
    Ok(())
}

fn obey_standard_input(layer: Arc<Mutex<Layer>>, ender: Sender<Result<(), String>>) {
    thread::spawn(move || {
        let obeyed = io::stdin().lock().lines().try_for_each(|line| {
            let line = line?;
            let answered = answer(&mut layer.lock().unwrap_or_else(PoisonError::into_inner), &line);
            say(&answered)
        });
        let _ = ender.send(obeyed.map_err(|error| format!("standard input and output: {error}")));
    });
}

fn say(answer: &serde_json::Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{answer}")?;
    output.flush()
}

/// What an orderly unmount does; nothing once the power is off.
fn write_everything(layer: &Mutex<Layer>) -> Result<(), String> {
    let mut layer = layer.lock().unwrap_or_else(PoisonError::into_inner);
    if layer.is_cut() {
        return Ok(());
    }
    layer.sync_all().map_err(|error| layer.trouble().unwrap_or(error.desc()).to_owned())
}
