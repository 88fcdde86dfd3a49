//! How what is seen becomes durable.

use std::fs::File;
use std::io;
use std::sync::Arc;

use nix::errno::Errno;

use crate::change::{Change, Number};
use crate::layer::{Layer, Result, State};
use crate::tree::Kind;

impl Layer {
    /// Makes a file or directory durable, up to the disk under the backing folder: that takes time, so it is left
    /// to the caller, who gets what is to be synced.
    pub fn sync(&mut self, number: Number, data_only: bool) -> Result<Option<Arc<File>>> {
        self.powered()?;
        self.count_sync(number)?;
        if self.fails(number) {
            self.tree.node_mut(number)?.overlay()?.take_for_clean();
            return Err(Errno::EIO);
        }
        let node = self.tree.node_mut(number)?;
        let epoch = if data_only { node.length_epoch } else { node.metadata_epoch };
        let grown = node.overlay().is_ok_and(|overlay| overlay.has_grown());
        if grown || epoch == Some(self.epoch) {
            self.commit()?;
        }
        self.flush(number)?;
        Ok(self.durable.handle(number))
    }

    fn count_sync(&mut self, number: Number) -> Result<()> {
        let node = self.tree.node_mut(number)?;
        node.counts.fsyncs += 1;
        if node.is_directory() {
            self.totals.directory_fsyncs += 1;
        } else {
            self.totals.files.fsyncs += 1;
        }
        Ok(())
    }

    /// Whether this fsync is one that was asked to fail.
    fn fails(&mut self, number: Number) -> bool {
        if self.failing.is_empty() {
            return false;
        }
        let is_file = self.tree.node(number).is_ok_and(|node| matches!(node.kind, Kind::File(_)));
        let path = self.tree.path(number).to_string_lossy().into_owned();
        let asked = self.failing.iter_mut().find(|failing| is_file && path.contains(&failing.contains));
        let Some(failing) = asked else { return false };
        failing.count -= 1;
        self.failing.retain(|failing| failing.count > 0);
        true
    }

    /// Makes everything durable, as an orderly unmount does.
    pub fn sync_all(&mut self) -> Result<()> {
        self.powered()?;
        self.commit()?;
        self.tree.numbers().into_iter().try_for_each(|number| self.flush(number))
    }

    /// Makes all of the journal durable.
    fn commit(&mut self) -> Result<()> {
        let journal = std::mem::take(&mut self.journal);
        for (_, change) in &journal {
            if let Err(error) = self.durable.apply(change) {
                self.state = State::Broken(format!("the backing folder does not take {change:?}: {error}"));
                return Err(Errno::EIO);
            }
        }
        self.epoch += 1;
        for (_, change) in journal {
            let (Change::Remove { number, .. } | Change::Rename { replaced: Some(number), .. }) = change
            else {
                continue;
            };
            if !self.tree.contains(number) {
                self.durable.release(number);
            }
        }
        Ok(())
    }

    fn flush(&mut self, number: Number) -> Result<()> {
        if self.tree.node_mut(number)?.overlay().is_err() {
            return Ok(());
        }
        let flushed = self.with_overlay(number, |overlay, backing| match backing {
            Some(backing) => overlay.flush(backing),
            None if overlay.pages() == 0 => Ok(0),
            None => Err(io::Error::other("a file without a place in the backing folder")),
        })?;
        self.totals.bytes_made_durable += flushed;
        Ok(())
    }
}
