//! A disk whose power can be cut: a file system over a folder that forgets what was not fsynced.
//!
//! The folder below holds at every moment what would be left if the power failed then; what is not durable is in
//! memory. However the process ends, the folder is what a machine would find after its power came back.
//!
//! - `overlay`: one file: its durable bytes and, above them, the pages written since
//! - `change`: changes of names, lengths and owners, as a journal has them
//! - `tree`: names and objects as they are seen while the power is on
//! - `durable`: the folder below
//! - `layer`: both together; the model of what is durable when is told there
//! - `names`: what the layer does without touching bytes
//! - `sync`: how what is seen becomes durable
//! - `cut`: the loss, seeded, torn at sectors
//! - `command`: what the layer is told, and its reports
//! - `mount`, `requests`: the kernel's requests (FUSE), translated
//!
//! What a program can do on it: everything that databases do with files, directories and links, shared mappings
//! and locks (the kernel keeps both). What it cannot: extended attributes, devices, pipes and sockets, holes
//! punched into files. `sync` and `syncfs` reach no FUSE file system and make nothing durable; nor does
//! `sync_file_range`, as its manual says. A write through a shared mapping reaches the layer with msync, fsync or
//! close, or when the kernel writes it back; before that a cut loses it.

mod change;
mod command;
mod cut;
mod durable;
mod layer;
mod mount;
mod names;
mod overlay;
mod random;
mod requests;
mod sync;
mod tree;

pub use change::{Number, Owner, Place, Setting, What, ROOT};
pub use command::answer;
pub use cut::{CutReport, Survivors};
pub use layer::Layer;
pub use mount::{mount, unmount};
pub use overlay::{PAGE_BYTES, SECTOR_BYTES};
