//! The program's life: how it ends, and what it leaves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod disk;

use std::fs::{self, File};

use disk::{is_mounted, program, reason_to_skip, unmount, write, Disk, Folder};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn an_orderly_end_writes_everything_and_leaves_nothing_mounted() {
    if reason_to_skip().is_some() {
        return;
    }
    for signal in [None, Some(Signal::SIGTERM), Some(Signal::SIGQUIT)] {
        let folder = Folder::new();
        let mut disk = Disk::mount(&folder);
        let open = write(&disk.path("file"), 0, b"never synced");
        assert!(is_mounted(&disk.mount));
        let status = match signal {
            Some(signal) => disk.signal(signal),
            None => disk.end(),
        };
        assert!(status.success(), "{signal:?}: {status}");
        assert!(!is_mounted(&folder.0.join("mount")));
        assert_eq!(fs::read(folder.0.join("backing/file")).unwrap(), b"never synced");
        drop(open);
    }
}

#[test]
fn a_killed_process_is_a_cut_and_its_dead_mount_can_be_taken_away() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    let open = write(&disk.path("file"), 0, b"synced");
    open.sync_all().unwrap();
    write(&disk.path("file"), 0, b"unsynced");
    disk.signal(Signal::SIGKILL);
    let mount = folder.0.join("mount");
    assert!(is_mounted(&mount));
    assert!(fs::read_dir(&mount).is_err());
    assert!(unmount(&mount).success());
    assert!(!is_mounted(&mount));
    assert!(unmount(&mount).success(), "a second time");
    assert_eq!(fs::read(folder.0.join("backing/file")).unwrap(), b"synced");
}

#[test]
fn a_mount_in_use_goes_away_too() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    let open = File::create(disk.path("held")).unwrap();
    disk.cut("none", 0);
    assert!(disk.end().success());
    assert!(!is_mounted(&folder.0.join("mount")));
    assert!(open.sync_all().is_err());
    Disk::mount(&folder);
}

#[test]
fn what_is_no_command_is_refused_in_one_line_and_changes_nothing() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    for line in [
        "",
        "cut",
        "{}",
        r#"{"command":"explode"}"#,
        r#"{"command":"cut","survive":"half"}"#,
        r#"{"command":"cut","sed":1}"#,
        r#"{"command":"full","bytes":-1}"#,
        r#"{"command":"fail-fsync","count":0}"#,
    ] {
        let answer = disk.tell_line(line);
        assert!(answer["error"].as_str().is_some_and(|error| !error.contains('\n')), "{line}: {answer}");
    }
    write(&disk.path("file"), 0, b"x").sync_all().unwrap();
    assert_eq!(disk.tell(json!({ "command": "sync" })), json!({}));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [
        &[][..],
        &["--mount", "/tmp"],
        &["--backing", "/tmp", "--mount", "/tmp", "--memory-mib", "0"],
        &["--backing", "/tmp", "--mount", "/tmp", "--memory-mib", "x"],
    ] {
        let output = program(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: gap-powercut"));
    }
}

#[test]
fn a_folder_that_is_not_there_is_said_in_one_line() {
    if reason_to_skip().is_some() {
        return;
    }
    let output = program(&["--backing", "/nonexistent", "--mount", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("backing folder /nonexistent") && said.lines().count() == 1, "{said}");
}
