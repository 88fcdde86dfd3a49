//! The backing folder: it holds what would be left if the power failed now.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, FileTimes, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{fchown, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::{openat, renameat, AtFlags, OFlag};
use nix::sys::stat::{mkdirat, Mode};
use nix::unistd::{linkat, symlinkat, unlinkat, UnlinkatFlags};

use crate::change::{Change, Number, Owner, Place, Setting, What};

enum Object {
    File(Arc<File>),
    Directory(Arc<File>),
    /// Opened by nobody; its owner and times mean nothing.
    Link,
}

struct Entry {
    object: Object,
    names: u32,
    /// Still known to whoever has the file system mounted, be it without a name.
    live: bool,
}

/// Every object that exists in the backing folder, opened once, so that no later rename hides it.
#[derive(Default)]
pub struct Durable {
    entries: HashMap<Number, Entry>,
}

impl Durable {
    pub fn file(&self, number: Number) -> Option<&Arc<File>> {
        match &self.entries.get(&number)?.object {
            Object::File(file) => Some(file),
            _ => None,
        }
    }

    /// What an fsync of this file or directory must reach.
    pub fn handle(&self, number: Number) -> Option<Arc<File>> {
        match &self.entries.get(&number)?.object {
            Object::File(handle) | Object::Directory(handle) => Some(Arc::clone(handle)),
            Object::Link => None,
        }
    }

    /// Takes note of an object that was found in the backing folder.
    pub fn found(&mut self, number: Number, what: &What, path: &Path) -> io::Result<()> {
        let object = match what {
            What::File => Object::File(Arc::new(File::options().read(true).write(true).open(path)?)),
            What::Directory => Object::Directory(Arc::new(File::open(path)?)),
            What::Link(_) => Object::Link,
        };
        self.enter(number, object);
        Ok(())
    }

    /// Takes note of another name of an object that was found.
    pub fn found_again(&mut self, number: Number) {
        self.count_name(number);
    }

    /// The object is unknown to everybody but this folder.
    pub fn release(&mut self, number: Number) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.live = false;
            if entry.names == 0 {
                self.entries.remove(&number);
            }
        }
    }

    pub fn apply(&mut self, change: &Change) -> io::Result<()> {
        match change {
            Change::Make { number, at, what, owner } => self.make(*number, at, what, *owner),
            Change::Name { number, at } => self.name(*number, at),
            Change::Remove { number, at } => self.remove(*number, at),
            Change::Rename { from, to, replaced } => self.rename(from, to, *replaced),
            Change::Resize { number, size } => match self.file(*number) {
                Some(file) => file.set_len(*size),
                // Removed earlier in the journal, and closed by now.
                None => Ok(()),
            },
            Change::Set { number, setting } => self.set(*number, setting),
        }
    }

    fn make(&mut self, number: Number, at: &Place, what: &What, owner: Owner) -> io::Result<()> {
        let (parent, name) = (self.directory(at.parent)?, at.name.as_os_str());
        let object = match what {
            What::File => {
                Object::File(Arc::new(open(&parent, name, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL)?))
            }
            What::Directory => {
                mkdirat(&parent, name, Mode::S_IRWXU)?;
                Object::Directory(Arc::new(open(&parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?))
            }
            What::Link(target) => {
                symlinkat(target.as_path(), &parent, name)?;
                Object::Link
            }
        };
        self.enter(number, object);
        let Owner { mode, user, group } = owner;
        let setting =
            Setting { mode: Some(mode), user: Some(user), group: Some(group), ..Setting::default() };
        self.set(number, &setting)
    }

    fn name(&mut self, number: Number, at: &Place) -> io::Result<()> {
        let (Some(file), parent) = (self.handle(number), self.directory(at.parent)?) else {
            return Err(missing());
        };
        linkat(&file, "", &parent, at.name.as_os_str(), AtFlags::AT_EMPTY_PATH)?;
        self.count_name(number);
        Ok(())
    }

    fn remove(&mut self, number: Number, at: &Place) -> io::Result<()> {
        let flag = match self.entries.get(&number).ok_or_else(missing)?.object {
            Object::Directory(_) => UnlinkatFlags::RemoveDir,
            Object::File(_) | Object::Link => UnlinkatFlags::NoRemoveDir,
        };
        unlinkat(&self.directory(at.parent)?, at.name.as_os_str(), flag)?;
        self.lose_name(number);
        Ok(())
    }

    fn rename(&mut self, from: &Place, to: &Place, replaced: Option<Number>) -> io::Result<()> {
        let (from_parent, to_parent) = (self.directory(from.parent)?, self.directory(to.parent)?);
        renameat(&from_parent, from.name.as_os_str(), &to_parent, to.name.as_os_str())?;
        if let Some(replaced) = replaced {
            self.lose_name(replaced);
        }
        Ok(())
    }

    fn set(&self, number: Number, setting: &Setting) -> io::Result<()> {
        let Some(handle) = self.handle(number) else { return Ok(()) };
        if setting.user.is_some() || setting.group.is_some() {
            fchown(&*handle, setting.user, setting.group)?;
        }
        // After the owner, whose change takes set-id bits away.
        if let Some(mode) = setting.mode {
            handle.set_permissions(Permissions::from_mode(mode))?;
        }
        let mut times = FileTimes::new();
        if let Some(accessed) = setting.accessed {
            times = times.set_accessed(accessed);
        }
        if let Some(modified) = setting.modified {
            times = times.set_modified(modified);
        }
        if setting.accessed.or(setting.modified).is_some() {
            handle.set_times(times)?;
        }
        Ok(())
    }

    fn directory(&self, number: Number) -> io::Result<Arc<File>> {
        match self.entries.get(&number) {
            Some(Entry { object: Object::Directory(directory), .. }) => Ok(Arc::clone(directory)),
            _ => Err(missing()),
        }
    }

    fn enter(&mut self, number: Number, object: Object) {
        self.entries.insert(number, Entry { object, names: 1, live: true });
    }

    fn count_name(&mut self, number: Number) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.names += 1;
        }
    }

    fn lose_name(&mut self, number: Number) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.names -= 1;
            if entry.names == 0 && !entry.live {
                self.entries.remove(&number);
            }
        }
    }
}

fn open(parent: &File, name: &OsStr, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    Ok(openat(parent, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?.into())
}

fn missing() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "the backing folder has lost what a change is about")
}
