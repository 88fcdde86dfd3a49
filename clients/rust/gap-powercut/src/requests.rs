//! What the kernel asks, each as the layer has it.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno as ReplyErrno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nix::errno::Errno;
use nix::sys::statvfs::statvfs;

use crate::change::{Setting, What};
use crate::mount::{attributes, error, place, Mounted};
use crate::tree::Kind;

/// The kernel may keep what it was told as long as it likes.
const VALID: Duration = Duration::from_secs(3600);
const FORMAT_BITS: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;
const PERMISSION_BITS: u32 = 0o7777;
const LINK_MODE: u32 = 0o777;
const KEEP_SIZE: i32 = 1; // see fallocate(2)
const MOST_NAME_BYTES: u32 = 255;

fn at_time(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}

/// Answers with what was done, or with why not.
macro_rules! answer {
    ($reply:ident, $done:expr) => {{
        // Apart from the match, which would keep the layer locked until the answer is out.
        let done = $done;
        match done {
            Ok(()) => $reply.ok(),
            Err(errno) => $reply.error(error(errno)),
        }
    }};
    ($reply:ident, $done:expr, $found:ident => $sent:expr) => {{
        let done = $done;
        match done {
            Ok($found) => $sent,
            Err(errno) => $reply.error(error(errno)),
        }
    }};
}

/// Answers with an object that the kernel may keep.
fn entry(reply: ReplyEntry, found: Result<FileAttr, Errno>) {
    answer!(reply, found, found => reply.entry(&VALID, &found, Generation(0)));
}

impl Filesystem for Mounted {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.enter(|layer| layer.find(parent.0, name));
        entry(reply, found);
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.layer().forgotten(number.0, times);
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        let found = self.layer().node(number.0).map(|node| attributes(number.0, node));
        answer!(reply, found, found => reply.attr(&VALID, &found));
    }

    fn setattr(
        &self,
        _request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _changed_on_mac: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let setting = Setting {
            mode: mode.map(|mode| mode & PERMISSION_BITS),
            user,
            group,
            accessed: accessed.map(at_time),
            modified: modified.map(at_time),
        };
        let mut layer = self.layer();
        let resized = size.map_or(Ok(()), |size| layer.resize(number.0, size));
        let set = resized.and_then(|()| layer.set(number.0, setting));
        let found = set.and_then(|()| Ok(attributes(number.0, layer.node(number.0)?)));
        answer!(reply, found, found => reply.attr(&VALID, &found));
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        match self.layer().node(number.0).map(|node| &node.kind) {
            Ok(Kind::Link(target)) => reply.data(target.as_os_str().as_encoded_bytes()),
            Ok(_) => reply.error(ReplyErrno::EINVAL),
            Err(errno) => reply.error(error(errno)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        if mode & FORMAT_BITS != REGULAR_FILE {
            return reply.error(ReplyErrno::EPERM);
        }
        let made = self.make(request, place(parent, name), What::File, mode & !umask);
        entry(reply, made);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.make(request, place(parent, name), What::Directory, mode & !umask);
        entry(reply, made);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let made = self.make(request, place(parent, name), What::Link(target.to_owned()), LINK_MODE);
        entry(reply, made);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.make(request, place(parent, name), What::File, mode & !umask);
        answer!(reply, made, made => {
            reply.created(&VALID, &made, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
        });
    }

    fn link(&self, _request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let named = self.enter(|layer| layer.name(number.0, place(parent, name)).map(|()| number.0));
        entry(reply, named);
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.layer().remove(place(parent, name), false));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.layer().remove(place(parent, name), true));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !RenameFlags::RENAME_NOREPLACE.contains(flags) {
            return reply.error(ReplyErrno::EINVAL);
        }
        let (from, to) = (place(parent, name), place(new_parent, new_name));
        answer!(reply, self.layer().rename(from, to, flags.is_empty()));
    }

    fn open(&self, _request: &Request, _number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let powered = self.layer().powered();
        answer!(reply, powered, _on => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE));
    }

    fn read(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.layer().read(number.0, offset, u64::from(size));
        answer!(reply, read, bytes => reply.data(&bytes));
    }

    fn write(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // A file opened with O_SYNC or O_DSYNC: the kernel asks for the fsync itself.
        let written = self.layer().write(number.0, offset, data);
        answer!(reply, written, _done => reply.written(data.len() as u32));
    }

    fn flush(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        // A close makes nothing durable.
        answer!(reply, self.layer().powered());
    }

    fn fsync(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        answer!(reply, self.sync(number.0, data_only));
    }

    fn fsyncdir(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        answer!(reply, self.sync(number.0, false));
    }

    fn fallocate(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer!(
            reply,
            match mode {
                0 => self.layer().grow(number.0, offset.saturating_add(length)),
                KEEP_SIZE => self.layer().powered(),
                _ => Err(Errno::EOPNOTSUPP),
            }
        );
    }

    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.list(number.0), listed => {
            let handle = self.next_listing.fetch_add(1, Ordering::Relaxed);
            self.listings().insert(handle, listed);
            reply.opened(FileHandle(handle), FopenFlags::empty());
        });
    }

    fn readdir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if let Some(listed) = self.listings().get(&handle.0) {
            for (at, entry) in listed.iter().enumerate().skip(offset as usize) {
                if reply.add(INodeNo(entry.number), at as u64 + 1, entry.kind, &entry.name) {
                    break;
                }
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.listings().remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let room_bytes = self.layer().room_bytes;
        match statvfs(&self.backing) {
            Ok(disk) => {
                let unit = disk.fragment_size();
                let free = room_bytes.map_or(disk.blocks_available(), |room| room / unit);
                reply.statfs(
                    disk.blocks(),
                    free,
                    free,
                    disk.files(),
                    disk.files_free(),
                    disk.block_size() as u32,
                    MOST_NAME_BYTES,
                    unit as u32,
                );
            }
            Err(errno) => reply.error(error(errno)),
        }
    }
}
