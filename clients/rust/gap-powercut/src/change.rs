//! Changes of names, lengths and owners: the metadata that a file system keeps in its journal.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::overlay::Moment;

/// A file, directory or symbolic link, whatever it is named at the moment.
pub type Number = u64;

pub const ROOT: Number = 1;

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub parent: Number,
    pub name: OsString,
}

#[derive(Clone, Debug)]
pub enum What {
    File,
    Directory,
    Link(PathBuf),
}

#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub mode: u32,
    pub user: u32,
    pub group: u32,
}

/// What chmod, chown and utimensat set; None leaves a thing as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    pub mode: Option<u32>,
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub accessed: Option<SystemTime>,
    pub modified: Option<SystemTime>,
}

#[derive(Clone, Debug)]
pub enum Change {
    Make { number: Number, at: Place, what: What, owner: Owner },
    Name { number: Number, at: Place },
    Remove { number: Number, at: Place },
    Rename { from: Place, to: Place, replaced: Option<Number> },
    Resize { number: Number, size: u64 },
    Set { number: Number, setting: Setting },
}

/// Changes that are not durable yet, in the order in which they were made.
pub type Journal = Vec<(Moment, Change)>;
