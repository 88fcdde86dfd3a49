//! The layer: what is seen while the power is on, what is durable, and how one becomes the other.
//!
//! The model is that of ext4 with its default settings, at its most forgetful:
//! - Changes of names, lengths and owners form one journal. An fsync of a file or directory that was changed since
//!   the last commit makes all of the journal durable, in its order: so does `ext4_sync_file` (fs/ext4/fsync.c),
//!   which commits the transaction that holds the inode's last change. An fdatasync does so only where the file
//!   is new or its length changed. What nobody fsyncs stays in the journal.
//! - Bytes become durable by an fsync or fdatasync of their file alone.
//! - Nothing is written back by age, as Linux does after 5 s (names) and 30 s (bytes).
//! - A failed fsync takes what it should have written for clean.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use nix::errno::Errno;
use serde::Serialize;

use crate::change::{Change, Journal, Number};
use crate::durable::Durable;
use crate::overlay::{Moment, Overlay, PAGE_BYTES};
use crate::tree::{Counts, Kind, Node, Tree};

pub type Result<T> = std::result::Result<T, Errno>;

/// A journal is finite: one that is full is written, and all bytes with it.
const MOST_CHANGES: usize = 1_000_000;

pub(crate) enum State {
    On,
    Off,
    /// The backing folder could not take what was to be durable.
    Broken(String),
}

/// The next fsyncs of files whose path contains `contains` fail.
pub struct Failing {
    pub count: u64,
    pub contains: String,
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub files: Counts,
    pub directory_fsyncs: u64,
    pub bytes_made_durable: u64,
    /// How often everything was made durable because the layer's memory was full: none of it can be lost then.
    pub written_back: u64,
}

pub struct Layer {
    pub(crate) tree: Tree,
    pub(crate) durable: Durable,
    pub(crate) journal: Journal,
    pub(crate) failing: Vec<Failing>,
    /// Bytes that files may still grow by; None as many as the backing disk has.
    pub(crate) room_bytes: Option<u64>,
    pub(crate) totals: Totals,
    /// Counts of files that are gone.
    pub(crate) removed: Counts,
    /// Commits of the journal so far.
    pub(crate) epoch: u64,
    pub(crate) state: State,
    now: Moment,
    /// In memory.
    pages: usize,
    most_pages: usize,
}

impl Layer {
    /// A layer over a folder, with this much memory for what is not durable.
    pub fn over(folder: &Path, memory_bytes: u64) -> io::Result<Self> {
        let (tree, durable) = Tree::load(folder)?;
        Ok(Self {
            tree,
            durable,
            journal: Journal::new(),
            failing: Vec::new(),
            room_bytes: None,
            totals: Totals::default(),
            removed: Counts::default(),
            epoch: 0,
            state: State::On,
            now: 0,
            pages: 0,
            most_pages: (memory_bytes / PAGE_BYTES) as usize,
        })
    }

    /// EIO once the power is off.
    pub fn powered(&self) -> Result<()> {
        match self.state {
            State::On => Ok(()),
            State::Off | State::Broken(_) => Err(Errno::EIO),
        }
    }

    pub fn is_cut(&self) -> bool {
        matches!(self.state, State::Off)
    }

    /// Why nothing works, in words.
    pub fn trouble(&self) -> Option<&str> {
        match &self.state {
            State::On => None,
            State::Off => Some("the power is off"),
            State::Broken(why) => Some(why),
        }
    }

    pub(crate) fn next_moment(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    // --- bytes --------------------------------------------------------------------------------
    pub fn read(&mut self, number: Number, offset: u64, wanted: u64) -> Result<Vec<u8>> {
        self.powered()?;
        self.with_overlay(number, |overlay, backing| overlay.read(backing, offset, wanted))
    }

    pub fn write(&mut self, number: Number, offset: u64, data: &[u8]) -> Result<()> {
        self.powered()?;
        let size = self.tree.node_mut(number)?.overlay()?.size();
        let end = offset.checked_add(data.len() as u64).ok_or(Errno::EFBIG)?;
        self.take_room(end.saturating_sub(size))?;
        let now = self.next_moment();
        self.with_overlay(number, |overlay, backing| overlay.write(backing, offset, data, now))?;
        let counts = Counts { writes: 1, bytes_written: data.len() as u64, fsyncs: 0 };
        let epoch = self.epoch;
        let node = self.tree.node_mut(number)?;
        node.modified = SystemTime::now();
        node.changed = node.modified;
        node.metadata_epoch = Some(epoch);
        node.counts.add(counts);
        self.totals.files.add(counts);
        self.write_back_if_full()
    }

    pub fn resize(&mut self, number: Number, size: u64) -> Result<()> {
        self.powered()?;
        let before = self.tree.node_mut(number)?.overlay()?.size();
        if size > before {
            self.take_room(size - before)?;
        } else {
            self.give_room(before - size);
        }
        self.with_overlay(number, |overlay, _| {
            overlay.resize(size);
            Ok(())
        })?;
        self.tree.node_mut(number)?.modified = SystemTime::now();
        self.mark_length(number)?;
        self.record(Change::Resize { number, size }, &[number])
    }

    /// Makes a file at least that long.
    pub fn grow(&mut self, number: Number, size: u64) -> Result<()> {
        self.powered()?;
        if size <= self.tree.node_mut(number)?.overlay()?.size() {
            return Ok(());
        }
        self.resize(number, size)
    }

    fn take_room(&mut self, bytes: u64) -> Result<()> {
        if let Some(room) = &mut self.room_bytes {
            *room = room.checked_sub(bytes).ok_or(Errno::ENOSPC)?;
        }
        Ok(())
    }

    fn give_room(&mut self, bytes: u64) {
        if let Some(room) = &mut self.room_bytes {
            *room += bytes;
        }
    }

    // --- for all of them ----------------------------------------------------------------------
    /// Lets something be done with a file's bytes, and keeps count of the pages in memory.
    pub(crate) fn with_overlay<T>(
        &mut self,
        number: Number,
        act: impl FnOnce(&mut Overlay, Option<&File>) -> io::Result<T>,
    ) -> Result<T> {
        let overlay = self.tree.node_mut(number)?.overlay()?;
        let before = overlay.pages();
        let done = act(overlay, self.durable.file(number).map(|file| &**file));
        self.pages = self.pages + overlay.pages() - before;
        done.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(Errno::EIO as i32)))
    }

    /// Room for more, be it by making everything durable.
    fn write_back_if_full(&mut self) -> Result<()> {
        if self.pages <= self.most_pages && self.journal.len() <= MOST_CHANGES {
            return Ok(());
        }
        self.totals.written_back += 1;
        self.sync_all()
    }

    /// Enters a change into the journal; `touched` are the objects whose metadata it changes.
    pub(crate) fn record(&mut self, change: Change, touched: &[Number]) -> Result<()> {
        let moment = self.next_moment();
        self.journal.push((moment, change));
        for number in touched {
            let epoch = self.epoch;
            let node = self.tree.node_mut(*number)?;
            node.changed = SystemTime::now();
            node.metadata_epoch = Some(epoch);
        }
        self.write_back_if_full()
    }

    pub(crate) fn mark_length(&mut self, number: Number) -> Result<()> {
        let epoch = self.epoch;
        self.tree.node_mut(number)?.length_epoch = Some(epoch);
        Ok(())
    }

    /// Forgets an object that has no name and that nobody looks at.
    pub(crate) fn drop_unused(&mut self, number: Number) {
        let Some(Node { kind, counts, .. }) = self.tree.drop_unused(number) else { return };
        if let Kind::File(overlay) = kind {
            self.pages -= overlay.pages();
            self.give_room(overlay.size());
        }
        self.removed.add(counts);
        self.durable.release(number);
    }
}
