//! What a cut leaves, seen through a mounted disk.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod disk;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::{symlink, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::ptr;

use disk::{eventually, reason_to_skip, write, Disk, Folder};
use gap_powercut::{PAGE_BYTES, SECTOR_BYTES};
use nix::libc::{O_DSYNC, O_SYNC};
use nix::sys::mman::{mmap, msync, MapFlags, MsFlags, ProtFlags};
use serde_json::json;

const WAYS: [&str; 3] = ["none", "prefix", "pages"];
const SEEDS: u64 = 12;
const PAGES: usize = 64;
const PAGE: usize = PAGE_BYTES as usize;

fn sync_folder(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}

#[test]
fn what_was_fsynced_survives_every_cut() {
    if reason_to_skip().is_some() {
        return;
    }
    for way in WAYS {
        for seed in 0..SEEDS {
            let folder = Folder::new();
            let disk = Disk::mount(&folder);
            let data: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
            write(&disk.path("log"), 7, &data).sync_data().unwrap();
            write(&disk.path("log"), 200_000, b"not synced");
            let disk = disk.cut_and_restore(&folder, way, seed);
            let left = fs::read(disk.path("log")).unwrap();
            assert_eq!(left[7..7 + data.len()], data, "{way} {seed}");
        }
    }
}

#[test]
fn what_was_not_fsynced_is_lost_whole() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    write(&disk.path("log"), 0, &[1; 5000]).sync_all().unwrap();
    write(&disk.path("log"), 100, &[2; 9000]);
    write(&disk.path("other"), 0, &[3; 10]);
    assert_eq!(fs::read(disk.path("log")).unwrap().len(), 9100);
    let report = disk.cut("none", 0);
    assert_eq!(report["bytes"], json!({ "unsynced": 9110, "survived": 0 }));
    assert_eq!(report["bytes_dropped"], 9110);
    assert_eq!(report["pages"], json!({ "unsynced": 4, "survived": 0, "torn": 0 }));
    assert_eq!(report["files"][0]["path"], "log");
    disk.end();
    let disk = Disk::mount(&folder);
    assert_eq!(fs::read(disk.path("log")).unwrap(), [1; 5000]);
    assert_eq!(fs::read_dir(&disk.mount).unwrap().count(), 1);
}

#[test]
fn pages_are_torn_at_sectors_and_nowhere_else() {
    if reason_to_skip().is_some() {
        return;
    }
    let (mut torn, mut survived, mut lost) = (0, 0, 0);
    for seed in 0..SEEDS {
        for way in ["prefix", "pages"] {
            let folder = Folder::new();
            let mut disk = Disk::mount(&folder);
            let path = disk.path("heap");
            write(&path, 0, &[1; PAGES * PAGE]).sync_all().unwrap();
            for page in 0..PAGES {
                write(&path, (page * PAGE) as u64, &[2; PAGE]);
            }
            let report = disk.cut(way, seed);
            disk.end();
            let left = fs::read(folder.0.join("backing/heap")).unwrap();
            let mut seen = [0; 3];
            for page in left.chunks(PAGE) {
                let sectors: Vec<u8> = page
                    .chunks(SECTOR_BYTES as usize)
                    .map(|sector| {
                        assert!(
                            sector.iter().all(|byte| *byte == sector[0]),
                            "{way} {seed}: torn inside a sector"
                        );
                        sector[0]
                    })
                    .collect();
                let new = sectors.iter().take_while(|byte| **byte == 2).count();
                assert!(sectors[new..].iter().all(|byte| *byte == 1), "{way} {seed}: {sectors:?}");
                seen[if new == 0 { 0 } else { 1 + usize::from(new == sectors.len()) }] += 1;
            }
            assert_eq!(report["pages"]["unsynced"], PAGES);
            assert_eq!(report["pages"]["torn"], seen[1]);
            assert_eq!(report["pages"]["survived"], seen[2]);
            lost += seen[0];
            torn += seen[1];
            survived += seen[2];
        }
    }
    assert!(torn > 0 && survived > 0 && lost > 0, "{torn} {survived} {lost}");
}

#[test]
fn a_prefix_is_one() {
    if reason_to_skip().is_some() {
        return;
    }
    for seed in 0..SEEDS {
        let folder = Folder::new();
        let mut disk = Disk::mount(&folder);
        write(&disk.path("log"), 0, &[1; PAGES * PAGE]).sync_all().unwrap();
        // From the end to the beginning, so that the order of writing is not that of the file.
        for page in (0..PAGES).rev() {
            write(&disk.path("log"), (page * PAGE) as u64, &[2; PAGE]);
        }
        disk.cut("prefix", seed);
        disk.end();
        let left = fs::read(folder.0.join("backing/log")).unwrap();
        let whole = left.chunks(PAGE).rev().take_while(|page| page.iter().all(|byte| *byte == 2)).count();
        let older = &left[..left.len() - whole * PAGE];
        let untouched = older.len().saturating_sub(PAGE);
        assert!(older[..untouched].iter().all(|byte| *byte == 1), "seed {seed}");
    }
}

#[test]
fn the_same_seed_makes_the_same_cut() {
    if reason_to_skip().is_some() {
        return;
    }
    let left = |seed| {
        let folder = Folder::new();
        let mut disk = Disk::mount(&folder);
        write(&disk.path("a"), 0, &[1; PAGES * PAGE]).sync_all().unwrap();
        write(&disk.path("a"), 0, &[2; PAGES * PAGE]);
        disk.cut("pages", seed);
        disk.end();
        fs::read(folder.0.join("backing/a")).unwrap()
    };
    assert_eq!(left(7), left(7));
    assert_ne!(left(7), left(8));
}

#[test]
fn a_rename_needs_an_fsync() {
    if reason_to_skip().is_some() {
        return;
    }
    type Sync = fn(&Disk);
    let synced: [(&str, Sync); 3] = [
        ("old", |_| {}),
        ("new", |disk| sync_folder(&disk.mount)),
        ("new", |disk| File::open(disk.path("current")).unwrap().sync_all().unwrap()),
    ];
    for (expected, sync) in synced {
        let folder = Folder::new();
        let disk = Disk::mount(&folder);
        write(&disk.path("current"), 0, b"old").sync_all().unwrap();
        write(&disk.path("next"), 0, b"new").sync_all().unwrap();
        fs::rename(disk.path("next"), disk.path("current")).unwrap();
        assert_eq!(fs::read(disk.path("current")).unwrap(), b"new");
        sync(&disk);
        let disk = disk.cut_and_restore(&folder, "none", 0);
        assert_eq!(fs::read(disk.path("current")).unwrap(), expected.as_bytes());
        assert_eq!(disk.path("next").exists(), expected == "old");
    }
}

#[test]
fn names_become_durable_in_their_order_with_the_next_fsync() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let disk = Disk::mount(&folder);
    fs::create_dir_all(disk.path("a/b")).unwrap();
    write(&disk.path("a/b/early"), 0, b"unsynced bytes");
    symlink("b/early", disk.path("a/link")).unwrap();
    fs::set_permissions(disk.path("a"), fs::Permissions::from_mode(0o750)).unwrap();
    write(&disk.path("doomed"), 0, b"x");
    fs::remove_file(disk.path("doomed")).unwrap();
    write(&disk.path("a/b/synced"), 0, b"synced").sync_all().unwrap();
    write(&disk.path("late"), 0, b"late");
    let disk = disk.cut_and_restore(&folder, "none", 0);
    assert_eq!(fs::read(disk.path("a/b/synced")).unwrap(), b"synced");
    assert_eq!(fs::read(disk.path("a/b/early")).unwrap(), b"", "its name, not its bytes");
    assert_eq!(fs::read_link(disk.path("a/link")).unwrap(), Path::new("b/early"));
    assert_eq!(fs::metadata(disk.path("a")).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(!disk.path("doomed").exists() && !disk.path("late").exists());
}

#[test]
fn a_removal_without_an_fsync_is_undone_by_a_cut() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let disk = Disk::mount(&folder);
    write(&disk.path("file"), 0, b"kept").sync_all().unwrap();
    let open = File::open(disk.path("file")).unwrap();
    fs::remove_file(disk.path("file")).unwrap();
    let mut bytes = [0; 4];
    open.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"kept");
    let disk = disk.cut_and_restore(&folder, "none", 0);
    assert_eq!(fs::read(disk.path("file")).unwrap(), b"kept");
}

#[test]
fn a_truncation_is_a_change_of_the_journal() {
    if reason_to_skip().is_some() {
        return;
    }
    for sync_other in [false, true] {
        let folder = Folder::new();
        let disk = Disk::mount(&folder);
        let file = write(&disk.path("log"), 0, &[1; 10_000]);
        file.sync_all().unwrap();
        file.set_len(3000).unwrap();
        file.write_all_at(&[2; 100], 6000).unwrap();
        let mut expected = vec![0; 6100];
        expected[..3000].fill(1);
        expected[6000..].fill(2);
        assert_eq!(fs::read(disk.path("log")).unwrap(), expected);
        if sync_other {
            write(&disk.path("other"), 0, b"x").sync_all().unwrap();
            assert_eq!(fs::read(disk.path("log")).unwrap(), expected);
        }
        let disk = disk.cut_and_restore(&folder, "none", 0);
        let left = fs::read(disk.path("log")).unwrap();
        assert_eq!(left, vec![1; if sync_other { 3000 } else { 10_000 }]);
    }
}

#[test]
fn synchronous_writes_need_no_fsync() {
    if reason_to_skip().is_some() {
        return;
    }
    for flag in [O_SYNC, O_DSYNC] {
        let folder = Folder::new();
        let disk = Disk::mount(&folder);
        let path = disk.path("log");
        let mut file = File::options().create(true).append(true).custom_flags(flag).open(path).unwrap();
        file.write_all(b"first").unwrap();
        file.write_all(b", second").unwrap();
        let disk = disk.cut_and_restore(&folder, "none", 0);
        assert_eq!(fs::read(disk.path("log")).unwrap(), b"first, second");
    }
}

#[test]
fn a_shared_mapping_is_durable_after_msync_and_seen_by_others_at_once() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let disk = Disk::mount(&folder);
    let file = write(&disk.path("shared"), 0, &[0; 2 * PAGE]);
    file.sync_all().unwrap();
    let length = NonZeroUsize::new(2 * PAGE).unwrap();
    let map = || unsafe {
        let both = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let file = File::options().read(true).write(true).open(disk.path("shared")).unwrap();
        mmap(None, length, both, MapFlags::MAP_SHARED, &file, 0).unwrap().cast::<u8>()
    };
    let (one, other) = (map(), map());
    unsafe {
        ptr::write_volatile(one.as_ptr(), 7);
        assert_eq!(ptr::read_volatile(other.as_ptr()), 7);
        msync(one.cast(), PAGE, MsFlags::MS_SYNC).unwrap();
        ptr::write_volatile(one.add(PAGE).as_ptr(), 8);
    }
    let disk = disk.cut_and_restore(&folder, "none", 0);
    let left = fs::read(disk.path("shared")).unwrap();
    assert_eq!((left[0], left[PAGE]), (7, 0));
}

#[test]
fn nothing_works_without_power() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    let mut file = write(&disk.path("log"), 0, b"one");
    let before = disk.tell(json!({ "command": "stats" }));
    disk.cut("none", 0);
    let broken = |done: std::io::Result<()>| assert_eq!(done.unwrap_err().raw_os_error(), Some(5));
    broken(file.write_all(b"two"));
    broken(file.sync_all());
    broken(File::create(disk.path("new")).map(drop));
    broken(fs::rename(disk.path("log"), disk.path("moved")));
    broken(fs::create_dir(disk.path("folder")));
    // The kernel knows the directory, so that only making it durable fails.
    let directory = File::open(&disk.mount).unwrap();
    broken(directory.sync_all());
    assert_eq!(disk.tell(json!({ "command": "stats" }))["totals"], before["totals"]);
    assert_eq!(disk.tell_line(r#"{"command":"cut"}"#), json!({ "error": "the power is off" }));
}

#[test]
fn a_failed_fsync_loses_what_it_should_have_written() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    fs::create_dir(disk.path("wal")).unwrap();
    let file = write(&disk.path("wal/log"), 0, &[1; 100]);
    file.sync_all().unwrap();
    file.write_all_at(&[2; 100], 0).unwrap();
    disk.tell(json!({ "command": "fail-fsync", "count": 1, "contains": "wal/" }));
    write(&disk.path("other"), 0, b"x").sync_all().unwrap();
    assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(5));
    // As on Linux: the next one succeeds, the bytes still show, and are on no disk.
    file.sync_all().unwrap();
    assert_eq!(fs::read(disk.path("wal/log")).unwrap(), [2; 100]);
    let disk = disk.cut_and_restore(&folder, "pages", 1);
    assert_eq!(fs::read(disk.path("wal/log")).unwrap(), [1; 100]);
}

#[test]
fn a_full_disk_takes_what_fits_and_room_comes_back() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    write(&disk.path("old"), 0, &[1; 5000]);
    disk.tell(json!({ "command": "full", "bytes": 8192 }));
    let file = write(&disk.path("new"), 0, &[1; 8000]);
    write(&disk.path("old"), 0, &[2; 5000]);
    assert_eq!(file.write_all_at(&[1; 200], 8000).unwrap_err().kind(), ErrorKind::StorageFull);
    fs::remove_file(disk.path("old")).unwrap();
    eventually(|| file.write_all_at(&[1; 200], 8000).is_ok());
    file.sync_all().unwrap();
}

#[test]
fn counts_what_was_written_and_synced() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount(&folder);
    let file = write(&disk.path("log"), 0, &[1; 100]);
    file.write_all_at(&[1; 50], 0).unwrap();
    file.sync_data().unwrap();
    sync_folder(&disk.mount);
    write(&disk.path("gone"), 0, &[1; 10]).sync_all().unwrap();
    fs::remove_file(disk.path("gone")).unwrap();
    write(&disk.path("log"), 4000, &[1; 90]);
    let removed = json!({ "writes": 1, "bytes_written": 10, "fsyncs": 1 });
    let mut stats = json!({});
    eventually(|| {
        stats = disk.tell(json!({ "command": "stats" }));
        stats["removed_files"] == removed
    });
    assert_eq!(stats["totals"]["writes"], 4);
    assert_eq!(stats["totals"]["bytes_written"], 250);
    assert_eq!(stats["totals"]["fsyncs"], 2);
    assert_eq!(stats["totals"]["directory_fsyncs"], 1);
    assert_eq!(stats["totals"]["bytes_made_durable"], 110);
    let of_log = json!({ "path": "log", "writes": 3, "bytes_written": 240, "fsyncs": 1 });
    assert!(stats["files"].as_array().unwrap().contains(&of_log), "{stats}");
    assert_eq!(stats["unsynced_bytes"], 4090);
}

#[test]
fn memory_that_is_full_is_written_back_and_said() {
    if reason_to_skip().is_some() {
        return;
    }
    let folder = Folder::new();
    let mut disk = Disk::mount_with(&folder, &["--memory-mib", "1"]);
    write(&disk.path("big"), 0, &vec![1; 3 << 20]);
    let report = disk.cut("none", 0);
    assert!(report["written_back"].as_u64().unwrap() > 0, "{report}");
    disk.end();
    let left = fs::metadata(folder.0.join("backing/big")).unwrap().len();
    assert!(left > 1 << 20, "{left}");
}
