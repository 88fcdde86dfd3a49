//! Names, owners and times: what the layer does without touching bytes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::SystemTime;

use nix::errno::Errno;

use crate::change::{Change, Number, Owner, Place, Setting, What};
use crate::layer::{Layer, Result};
use crate::overlay::Overlay;
use crate::tree::{Kind, Node};

const MOST_NAME_BYTES: usize = 255;
/// Directories inherit their group to what is made in them when they carry this bit.
const SET_GROUP: u32 = 0o2000;

impl Layer {
    pub fn find(&self, parent: Number, name: &OsStr) -> Result<Number> {
        self.powered()?;
        require_short(name)?;
        self.tree.find(parent, name)
    }

    /// Also without power: a kernel keeps the objects that it has met, and opens a directory among them without a
    /// disk. An engine that takes one that cannot be opened for synced (SQLite does) would acknowledge after a cut.
    pub fn node(&self, number: Number) -> Result<&Node> {
        self.tree.node(number)
    }

    /// The kernel was told of an object, or has forgotten it that many times.
    pub fn looked_up(&mut self, number: Number) {
        if let Ok(node) = self.tree.node_mut(number) {
            node.lookups += 1;
        }
    }

    pub fn forgotten(&mut self, number: Number, times: u64) {
        if let Ok(node) = self.tree.node_mut(number) {
            node.lookups = node.lookups.saturating_sub(times);
            self.drop_unused(number);
        }
    }

    pub fn make(&mut self, at: Place, what: What, owner: Owner) -> Result<Number> {
        self.powered()?;
        self.require_free(&at)?;
        let parent = self.tree.node(at.parent)?.owner;
        let inherits = parent.mode & SET_GROUP != 0;
        let is_directory = matches!(what, What::Directory);
        let owner = Owner {
            group: if inherits { parent.group } else { owner.group },
            mode: owner.mode | if inherits && is_directory { SET_GROUP } else { 0 },
            ..owner
        };
        let kind = match &what {
            What::File => Kind::File(Overlay::default()),
            What::Directory => Kind::Directory(BTreeMap::new()),
            What::Link(target) => Kind::Link(target.clone()),
        };
        let number = self.tree.add(Node::new(kind, owner, SystemTime::now(), at.clone()))?;
        self.mark_length(number)?;
        let parent = at.parent;
        self.entries_changed(parent)?;
        self.record(Change::Make { number, at, what, owner }, &[number, parent])?;
        Ok(number)
    }

    /// Gives a file another name.
    pub fn name(&mut self, number: Number, at: Place) -> Result<()> {
        self.powered()?;
        self.require_free(&at)?;
        let node = self.tree.node_mut(number)?;
        if !matches!(node.kind, Kind::File(_)) {
            return Err(Errno::EPERM);
        }
        node.names += 1;
        self.tree.set_name(&at, number)?;
        let parent = at.parent;
        self.entries_changed(parent)?;
        self.record(Change::Name { number, at }, &[number, parent])
    }

    pub fn remove(&mut self, at: Place, directory: bool) -> Result<()> {
        self.powered()?;
        let number = self.tree.find(at.parent, &at.name)?;
        match (directory, self.tree.node(number)?.is_directory()) {
            (true, false) => return Err(Errno::ENOTDIR),
            (false, true) => return Err(Errno::EISDIR),
            (true, true) => self.require_empty(number)?,
            (false, false) => {}
        }
        self.tree.clear_name(&at)?;
        self.tree.node_mut(number)?.names -= 1;
        let parent = at.parent;
        self.entries_changed(parent)?;
        self.record(Change::Remove { number, at }, &[number, parent])?;
        self.drop_unused(number);
        Ok(())
    }

    /// `replace`: whether something of the new name may be there, which is then gone.
    pub fn rename(&mut self, from: Place, to: Place, replace: bool) -> Result<()> {
        self.powered()?;
        require_short(&to.name)?;
        let number = self.tree.find(from.parent, &from.name)?;
        let replaced = match self.tree.find(to.parent, &to.name) {
            Ok(_) if !replace => return Err(Errno::EEXIST),
            Ok(other) if other == number => return Ok(()),
            Ok(other) => Some(other),
            Err(Errno::ENOENT) => None,
            Err(error) => return Err(error),
        };
        self.require_renamable(number, to.parent, replaced)?;
        self.tree.clear_name(&from)?;
        self.tree.set_name(&to, number)?;
        let mut touched = vec![number, from.parent, to.parent];
        if let Some(replaced) = replaced {
            self.tree.node_mut(replaced)?.names -= 1;
            touched.push(replaced);
        }
        self.entries_changed(from.parent)?;
        self.entries_changed(to.parent)?;
        self.record(Change::Rename { from, to, replaced }, &touched)?;
        if let Some(replaced) = replaced {
            self.drop_unused(replaced);
        }
        Ok(())
    }

    fn require_renamable(&self, number: Number, parent: Number, replaced: Option<Number>) -> Result<()> {
        let is_directory = self.tree.node(number)?.is_directory();
        if is_directory && self.tree.lies_in(parent, number) {
            return Err(Errno::EINVAL);
        }
        let Some(replaced) = replaced else { return Ok(()) };
        match (is_directory, self.tree.node(replaced)?.is_directory()) {
            (true, false) => Err(Errno::ENOTDIR),
            (false, true) => Err(Errno::EISDIR),
            (true, true) => self.require_empty(replaced),
            (false, false) => Ok(()),
        }
    }

    pub fn set(&mut self, number: Number, setting: Setting) -> Result<()> {
        self.powered()?;
        if setting == Setting::default() {
            return Ok(());
        }
        let node = self.tree.node_mut(number)?;
        node.owner.mode = setting.mode.unwrap_or(node.owner.mode);
        node.owner.user = setting.user.unwrap_or(node.owner.user);
        node.owner.group = setting.group.unwrap_or(node.owner.group);
        node.accessed = setting.accessed.unwrap_or(node.accessed);
        node.modified = setting.modified.unwrap_or(node.modified);
        self.record(Change::Set { number, setting }, &[number])
    }

    fn require_free(&self, at: &Place) -> Result<()> {
        require_short(&at.name)?;
        match self.tree.find(at.parent, &at.name) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn require_empty(&self, directory: Number) -> Result<()> {
        if self.tree.names(directory)?.is_empty() {
            Ok(())
        } else {
            Err(Errno::ENOTEMPTY)
        }
    }

    fn entries_changed(&mut self, directory: Number) -> Result<()> {
        self.tree.node_mut(directory)?.modified = SystemTime::now();
        Ok(())
    }
}

fn require_short(name: &OsStr) -> Result<()> {
    if name.len() > MOST_NAME_BYTES {
        return Err(Errno::ENAMETOOLONG);
    }
    Ok(())
}
