//! One file as it is seen while the power is on: its durable bytes, and above them the pages that were written
//! since the last fsync.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

/// What a kernel writes back as one piece.
pub const PAGE_BYTES: u64 = 4096;
/// What a disk writes as one piece.
pub const SECTOR_BYTES: u64 = 512;
pub const SECTORS_PER_PAGE: u64 = PAGE_BYTES / SECTOR_BYTES;

const PAGE: usize = PAGE_BYTES as usize;
/// Neighbouring pages are handed to the backing file together, up to this many.
const PAGES_AT_ONCE: usize = 256;

/// The number of a write or of a change of names, in the order in which they were made.
pub type Moment = u64;

struct Page {
    bytes: Box<[u8; PAGE]>,
    /// False once an fsync of it has failed: Linux then takes the page for clean and never writes it.
    unsynced: bool,
    written_at: Moment,
}

/// A page that a cut would lose.
#[derive(Clone, Copy)]
pub struct Unsynced {
    pub page: u64,
    pub written_at: Moment,
    /// Bytes of the page that lie inside the file.
    pub bytes: u64,
}

#[derive(Default)]
pub struct Overlay {
    size: u64,
    /// How many leading bytes of the backing file still show; a shrunk file hides the rest. Never above `size`.
    shown: u64,
    pages: BTreeMap<u64, Page>,
}

impl Overlay {
    /// A file whose bytes are all durable.
    pub fn durable(size: u64) -> Self {
        Self { size, shown: size, pages: BTreeMap::new() }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Pages in memory.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Whether the file ends beyond what is durable, so that an fdatasync must make its length durable too.
    pub fn has_grown(&self) -> bool {
        self.size > self.shown
    }

    pub fn read(&self, backing: Option<&File>, offset: u64, wanted: u64) -> io::Result<Vec<u8>> {
        let end = offset.saturating_add(wanted).min(self.size);
        if offset >= end {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; (end - offset) as usize];
        let durable_end = end.min(self.shown);
        if let (Some(backing), true) = (backing, offset < durable_end) {
            read_what_is_there(backing, &mut bytes[..(durable_end - offset) as usize], offset)?;
        }
        for (number, page) in self.pages.range(offset / PAGE_BYTES..=(end - 1) / PAGE_BYTES) {
            let start = number * PAGE_BYTES;
            let (from, to) = (offset.max(start), end.min(start + PAGE_BYTES));
            bytes[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&page.bytes[(from - start) as usize..(to - start) as usize]);
        }
        Ok(bytes)
    }

    pub fn write(&mut self, backing: Option<&File>, offset: u64, data: &[u8], now: Moment) -> io::Result<()> {
        let mut at = offset;
        let mut left = data;
        while !left.is_empty() {
            let within = (at % PAGE_BYTES) as usize;
            let (piece, rest) = left.split_at(left.len().min(PAGE - within));
            let page = self.page_for_writing(backing, at / PAGE_BYTES, piece.len() == PAGE)?;
            page.bytes[within..within + piece.len()].copy_from_slice(piece);
            (page.unsynced, page.written_at) = (true, now);
            at += piece.len() as u64;
            self.size = self.size.max(at);
            left = rest;
        }
        Ok(())
    }

    fn page_for_writing(
        &mut self,
        backing: Option<&File>,
        number: u64,
        whole: bool,
    ) -> io::Result<&mut Page> {
        if !self.pages.contains_key(&number) {
            let mut bytes = Box::new([0; PAGE]);
            if !whole {
                let before = self.read(backing, number * PAGE_BYTES, PAGE_BYTES)?;
                bytes[..before.len()].copy_from_slice(&before);
            }
            self.pages.insert(number, Page { bytes, unsynced: true, written_at: 0 });
        }
        self.pages.get_mut(&number).ok_or_else(|| ErrorKind::NotFound.into())
    }

    pub fn resize(&mut self, size: u64) {
        if size < self.size {
            drop(self.pages.split_off(&size.div_ceil(PAGE_BYTES)));
            if let Some(page) = self.pages.get_mut(&(size / PAGE_BYTES)) {
                page.bytes[(size % PAGE_BYTES) as usize..].fill(0);
            }
            self.shown = self.shown.min(size);
        }
        self.size = size;
    }

    /// Writes every unsynced page to the backing file; how many bytes that were. Pending changes of the file's
    /// length must have been made to the backing file before.
    pub fn flush(&mut self, backing: &File) -> io::Result<u64> {
        let pages: Vec<u64> = self.unsynced().map(|page| page.page).collect();
        let mut flushed = 0;
        for run in pages.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(PAGES_AT_ONCE)) {
            let start = run[0] * PAGE_BYTES;
            let mut bytes = Vec::with_capacity(run.len() * PAGE);
            run.iter().for_each(|number| bytes.extend_from_slice(&self.pages[number].bytes[..]));
            bytes.truncate((self.size - start) as usize);
            backing.write_all_at(&bytes, start)?;
            for number in run {
                self.pages.remove(number);
            }
            flushed += bytes.len() as u64;
            self.shown = self.shown.max(start + bytes.len() as u64);
        }
        Ok(flushed)
    }

    /// A failed fsync: what was to be written still shows, and is never written unless it is written again.
    pub fn take_for_clean(&mut self) {
        self.pages.values_mut().for_each(|page| page.unsynced = false);
    }

    pub fn unsynced(&self) -> impl Iterator<Item = Unsynced> + '_ {
        self.pages.iter().filter(|(_, page)| page.unsynced).map(|(number, page)| Unsynced {
            page: *number,
            written_at: page.written_at,
            bytes: (self.size - number * PAGE_BYTES).min(PAGE_BYTES),
        })
    }

    /// Writes the first sectors of a page to the backing file; how many bytes that were.
    pub fn write_sectors(&self, backing: &File, page: Unsynced, sectors: u64) -> io::Result<u64> {
        let bytes = (sectors * SECTOR_BYTES).min(page.bytes);
        backing.write_all_at(&self.pages[&page.page].bytes[..bytes as usize], page.page * PAGE_BYTES)?;
        Ok(bytes)
    }
}

/// Reads up to the end of the backing file; what lies behind it is a hole.
fn read_what_is_there(backing: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match backing.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
