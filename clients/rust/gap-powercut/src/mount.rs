//! The kernel's requests, translated. Its caches stay on: nobody but the kernel changes what is mounted, and shared
//! mappings need them. What a process wrote by `write` is here before the call returns.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{
    BackgroundSession, Config, Errno as ReplyErrno, FileAttr, FileType, INodeNo, MountOption, Request,
    SessionACL,
};
use nix::errno::Errno;
use nix::mount::{umount2, MntFlags};

use crate::change::{Number, Owner, Place, What};
use crate::layer::{Layer, Result};
use crate::overlay::PAGE_BYTES;
use crate::tree::{Kind, Node};

/// An fsync keeps one busy until the disk under the backing folder is done.
const THREADS: usize = 8;
const BLOCK_BYTES: u64 = 512;
const PERMISSION_BITS: u32 = 0o7777;

/// Mounts a layer; the session must be kept. The owner of the folder below must be able to mount.
pub fn mount(layer: Arc<Mutex<Layer>>, backing: &Path, at: &Path) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("gap-powercut".to_owned()),
        MountOption::Subtype("gap-powercut".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    // A server may run as another user than the one that mounts.
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    let mounted = Mounted {
        layer,
        backing: backing.to_owned(),
        listings: Mutex::new(HashMap::new()),
        next_listing: AtomicU64::new(1),
    };
    fuser::spawn_mount(mounted, at, &config)
}

/// Takes away whatever is mounted there, be its process alive or dead, in use or not; does nothing where nothing is.
pub fn unmount(at: &Path) -> io::Result<()> {
    loop {
        match umount2(at, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A name in a directory with what it stands for.
pub(crate) struct Listed {
    pub name: OsString,
    pub number: Number,
    pub kind: FileType,
}

pub(crate) struct Mounted {
    layer: Arc<Mutex<Layer>>,
    pub backing: PathBuf,
    /// Directories as they were when they were opened: what is removed while they are read hides nothing.
    listings: Mutex<HashMap<u64, Vec<Listed>>>,
    pub next_listing: AtomicU64,
}

impl Mounted {
    pub fn layer(&self) -> MutexGuard<'_, Layer> {
        self.layer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listings(&self) -> MutexGuard<'_, HashMap<u64, Vec<Listed>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks an object up for the kernel, which will forget it once.
    pub fn enter(&self, found: impl FnOnce(&mut Layer) -> Result<Number>) -> Result<FileAttr> {
        let mut layer = self.layer();
        let number = found(&mut layer)?;
        let attributes = attributes(number, layer.node(number)?);
        layer.looked_up(number);
        Ok(attributes)
    }

    pub fn make(&self, request: &Request, at: Place, what: What, mode: u32) -> Result<FileAttr> {
        let owner = Owner { mode: mode & PERMISSION_BITS, user: request.uid(), group: request.gid() };
        self.enter(|layer| layer.make(at, what, owner))
    }

    /// Makes a file or directory durable, down to the disk. A cut meanwhile leaves open whether it was in time.
    pub fn sync(&self, number: Number, data_only: bool) -> Result<()> {
        let handle = self.layer().sync(number, data_only)?;
        if let Some(handle) = handle {
            let synced = if data_only { handle.sync_data() } else { handle.sync_all() };
            synced.map_err(|_| Errno::EIO)?;
        }
        self.layer().powered()
    }

    pub fn list(&self, directory: Number) -> Result<Vec<Listed>> {
        let layer = self.layer();
        let entry = |name: &OsStr, number| -> Result<Listed> {
            Ok(Listed { name: name.to_owned(), number, kind: file_type(layer.node(number)?) })
        };
        let above = layer.node(directory)?.place.parent;
        let mut listed = vec![entry(OsStr::new("."), directory)?, entry(OsStr::new(".."), above)?];
        for (name, number) in layer.tree.names(directory)? {
            listed.push(entry(name, *number)?);
        }
        Ok(listed)
    }
}

pub(crate) fn attributes(number: Number, node: &Node) -> FileAttr {
    let size = match &node.kind {
        Kind::File(overlay) => overlay.size(),
        Kind::Directory(_) => PAGE_BYTES,
        Kind::Link(target) => target.as_os_str().len() as u64,
    };
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(BLOCK_BYTES),
        atime: node.accessed,
        mtime: node.modified,
        ctime: node.changed,
        crtime: node.changed,
        kind: file_type(node),
        perm: node.owner.mode as u16,
        nlink: node.names,
        uid: node.owner.user,
        gid: node.owner.group,
        rdev: 0,
        blksize: PAGE_BYTES as u32,
        flags: 0,
    }
}

fn file_type(node: &Node) -> FileType {
    match node.kind {
        Kind::File(_) => FileType::RegularFile,
        Kind::Directory(_) => FileType::Directory,
        Kind::Link(_) => FileType::Symlink,
    }
}

pub(crate) fn place(parent: INodeNo, name: &OsStr) -> Place {
    Place { parent: parent.0, name: name.to_owned() }
}

pub(crate) fn error(errno: Errno) -> ReplyErrno {
    ReplyErrno::from_i32(errno as i32)
}
