//! The names and objects as they are seen while the power is on.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::errno::Errno;
use serde::Serialize;

use crate::change::{Number, Owner, Place, What, ROOT};
use crate::durable::Durable;
use crate::overlay::Overlay;

/// What was asked of a file.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Counts {
    /// Pieces in which the kernel handed over what was written; it splits some calls.
    pub writes: u64,
    pub bytes_written: u64,
    /// fsync and fdatasync calls, also those that failed.
    pub fsyncs: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.writes += other.writes;
        self.bytes_written += other.bytes_written;
        self.fsyncs += other.fsyncs;
    }
}

pub enum Kind {
    File(Overlay),
    Directory(BTreeMap<OsString, Number>),
    Link(PathBuf),
}

pub struct Node {
    pub kind: Kind,
    pub owner: Owner,
    pub accessed: SystemTime,
    pub modified: SystemTime,
    pub changed: SystemTime,
    pub names: u32,
    /// How often the kernel was told of it and has not forgotten it.
    pub lookups: u64,
    /// One of its names, the last one it had.
    pub place: Place,
    pub counts: Counts,
    /// The commit of the journal that was to come when its metadata changed last.
    pub metadata_epoch: Option<u64>,
    /// The same for what an fdatasync needs: that it exists, and its length.
    pub length_epoch: Option<u64>,
}

impl Node {
    fn found(kind: Kind, metadata: &Metadata, place: Place) -> io::Result<Self> {
        let owner = Owner { mode: metadata.mode() & 0o7777, user: metadata.uid(), group: metadata.gid() };
        let mut node = Self::new(kind, owner, metadata.modified()?, place);
        node.accessed = metadata.accessed()?;
        Ok(node)
    }

    pub fn new(kind: Kind, owner: Owner, now: SystemTime, place: Place) -> Self {
        Self {
            kind,
            owner,
            accessed: now,
            modified: now,
            changed: now,
            names: 1,
            lookups: 0,
            place,
            counts: Counts::default(),
            metadata_epoch: None,
            length_epoch: None,
        }
    }

    pub fn overlay(&mut self) -> Result<&mut Overlay, Errno> {
        match &mut self.kind {
            Kind::File(overlay) => Ok(overlay),
            Kind::Directory(_) => Err(Errno::EISDIR),
            Kind::Link(_) => Err(Errno::EINVAL),
        }
    }

    pub fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }
}

pub struct Tree {
    nodes: HashMap<Number, Node>,
    next: Number,
}

impl Tree {
    /// Reads a folder: everything in it is durable. Names are numbered in their order, so that the same folder has
    /// the same numbers each time.
    pub fn load(folder: &Path) -> io::Result<(Self, Durable)> {
        let mut loading = Loading {
            tree: Self { nodes: HashMap::new(), next: ROOT },
            durable: Durable::default(),
            directories: Vec::new(),
            named_again: HashMap::new(),
        };
        loading.object(folder, Place { parent: ROOT, name: OsString::new() })?;
        while let Some((number, directory)) = loading.directories.pop() {
            loading.directory(number, &directory)?;
        }
        Ok((loading.tree, loading.durable))
    }

    pub fn node(&self, number: Number) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(Errno::ESTALE)
    }

    pub fn node_mut(&mut self, number: Number) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(Errno::ESTALE)
    }

    pub fn contains(&self, number: Number) -> bool {
        self.nodes.contains_key(&number)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Number, &Node)> {
        self.nodes.iter().map(|(number, node)| (*number, node))
    }

    pub fn numbers(&self) -> Vec<Number> {
        let mut numbers: Vec<Number> = self.nodes.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    pub fn names(&self, directory: Number) -> Result<&BTreeMap<OsString, Number>, Errno> {
        match &self.node(directory)?.kind {
            Kind::Directory(names) => Ok(names),
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub fn find(&self, directory: Number, name: &OsStr) -> Result<Number, Errno> {
        self.names(directory)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub fn add(&mut self, node: Node) -> Result<Number, Errno> {
        let (number, place) = (self.next, node.place.clone());
        self.next += 1;
        self.nodes.insert(number, node);
        self.set_name(&place, number)?;
        Ok(number)
    }

    pub fn set_name(&mut self, at: &Place, number: Number) -> Result<(), Errno> {
        self.names_mut(at.parent)?.insert(at.name.clone(), number);
        self.node_mut(number)?.place = at.clone();
        Ok(())
    }

    pub fn clear_name(&mut self, at: &Place) -> Result<(), Errno> {
        self.names_mut(at.parent)?.remove(&at.name);
        Ok(())
    }

    fn names_mut(&mut self, directory: Number) -> Result<&mut BTreeMap<OsString, Number>, Errno> {
        match &mut self.node_mut(directory)?.kind {
            Kind::Directory(names) => Ok(names),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Removes a node that has no name and that nobody looks at; returns it when that is so.
    pub fn drop_unused(&mut self, number: Number) -> Option<Node> {
        let node = self.nodes.get(&number)?;
        let unused = node.names == 0 && node.lookups == 0;
        unused.then(|| self.nodes.remove(&number)).flatten()
    }

    /// Whether a directory is another one, or lies in it.
    pub fn lies_in(&self, mut directory: Number, other: Number) -> bool {
        while directory != other && directory != ROOT {
            match self.nodes.get(&directory) {
                Some(node) => directory = node.place.parent,
                None => return false,
            }
        }
        directory == other
    }

    /// The path in the file system by which an object was known last.
    pub fn path(&self, number: Number) -> PathBuf {
        let mut names = Vec::new();
        let mut at = number;
        while let (true, Some(node)) = (at != ROOT, self.nodes.get(&at)) {
            names.push(node.place.name.as_os_str());
            at = node.place.parent;
        }
        names.iter().rev().collect()
    }
}

struct Loading {
    tree: Tree,
    durable: Durable,
    directories: Vec<(Number, PathBuf)>,
    /// Files with several names, by their number on the backing disk.
    named_again: HashMap<u64, Number>,
}

impl Loading {
    fn directory(&mut self, number: Number, path: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            self.object(&entry.path(), Place { parent: number, name: entry.file_name() }).map_err(
                |error| io::Error::new(error.kind(), format!("{}: {error}", entry.path().display())),
            )?;
        }
        Ok(())
    }

    fn object(&mut self, path: &Path, place: Place) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        if let Some(number) = self.named_again.get(&metadata.ino()).copied() {
            self.durable.found_again(number);
            self.tree.node_mut(number)?.names += 1;
            return Ok(self.tree.set_name(&place, number)?);
        }
        let (what, kind) = if metadata.is_file() {
            (What::File, Kind::File(Overlay::durable(metadata.len())))
        } else if metadata.is_dir() {
            (What::Directory, Kind::Directory(BTreeMap::new()))
        } else if metadata.is_symlink() {
            let target = fs::read_link(path)?;
            (What::Link(target.clone()), Kind::Link(target))
        } else {
            return Err(io::Error::other("neither file, directory nor link"));
        };
        let number = self.tree.next;
        self.tree.next += 1;
        self.durable.found(number, &what, path)?;
        self.tree.nodes.insert(number, Node::found(kind, &metadata, place.clone())?);
        if number != ROOT {
            self.tree.set_name(&place, number)?;
        }
        match what {
            What::Directory => self.directories.push((number, path.to_owned())),
            What::File if metadata.nlink() > 1 => drop(self.named_again.insert(metadata.ino(), number)),
            _ => {}
        }
        Ok(())
    }
}
