//! The cut: what was not durable is lost, all of it or a random part.

use std::collections::BTreeMap;
use std::io;

use nix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};

use crate::change::Number;
use crate::layer::{Layer, State};
use crate::overlay::{Unsynced, SECTORS_PER_PAGE};
use crate::random::Random;
use crate::tree::Kind;

/// What survives of that which was not durable. Of a page that was written several times it is the last version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survivors {
    /// Nothing.
    #[default]
    None,
    /// Everything up to a random page, in the order in which things were written last; that page is torn.
    Prefix,
    /// Every page or not, by the toss of a coin, and a random beginning of the journal; the last page of each file
    /// that survives is torn.
    Pages,
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct Shares {
    pub unsynced: u64,
    pub survived: u64,
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct PagesCut {
    pub unsynced: u64,
    /// Whole ones.
    pub survived: u64,
    /// Those of which the first sectors survived.
    pub torn: u64,
}

impl PagesCut {
    fn add(&mut self, other: PagesCut) {
        self.unsynced += other.unsynced;
        self.survived += other.survived;
        self.torn += other.torn;
    }
}

#[derive(Serialize)]
pub struct FileCut {
    pub path: String,
    pub pages: PagesCut,
    pub bytes_dropped: u64,
}

#[derive(Serialize)]
pub struct CutReport {
    pub survive: Survivors,
    pub seed: u64,
    /// When it happened, by CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Of names, lengths and owners.
    pub changes: Shares,
    pub pages: PagesCut,
    pub bytes: Shares,
    pub bytes_dropped: u64,
    /// Those that had unsynced pages; what lost most comes first.
    pub files: Vec<FileCut>,
    pub files_left_out: usize,
    pub written_back: u64,
}

const MOST_FILES_REPORTED: usize = 50;

/// A page with the number of its first sectors that survive.
struct Fate {
    file: Number,
    page: Unsynced,
    sectors: u64,
}

impl Layer {
    /// Switches the power off, writes to the backing folder what survives, and says what did not.
    pub fn cut(&mut self, survive: Survivors, seed: u64) -> io::Result<CutReport> {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
        let at_ns = now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64;
        let written_back = self.totals.written_back;
        self.state = State::Off;
        let mut random = Random::new(seed);
        let (changes, fates) = self.draw(survive, &mut random);
        let change_shares = Shares { unsynced: self.journal.len() as u64, survived: changes as u64 };
        for (_, change) in &self.journal[..changes] {
            self.durable.apply(change)?;
        }
        let mut files: BTreeMap<Number, (PagesCut, Shares)> = BTreeMap::new();
        for fate in &fates {
            let (pages, bytes) = files.entry(fate.file).or_default();
            let survived = self.carry_out(fate)?;
            pages.unsynced += 1;
            pages.survived += u64::from(survived == fate.page.bytes);
            pages.torn += u64::from(survived > 0 && survived < fate.page.bytes);
            bytes.unsynced += fate.page.bytes;
            bytes.survived += survived;
        }
        Ok(self.report(
            &files,
            CutReport {
                survive,
                seed,
                at_ns,
                changes: change_shares,
                pages: PagesCut::default(),
                bytes: Shares::default(),
                bytes_dropped: 0,
                files: Vec::new(),
                files_left_out: 0,
                written_back,
            },
        ))
    }

    /// How many changes of the journal survive, and how much of each page.
    fn draw(&self, survive: Survivors, random: &mut Random) -> (usize, Vec<Fate>) {
        let mut fates = self.unsynced();
        match survive {
            Survivors::None => (0, fates),
            Survivors::Prefix => {
                fates.sort_by_key(|fate| fate.page.written_at);
                let at = random.below(fates.len() as u64 + 1) as usize;
                fates[..at].iter_mut().for_each(|fate| fate.sectors = SECTORS_PER_PAGE);
                let Some(torn) = fates.get_mut(at) else { return (self.journal.len(), fates) };
                torn.sectors = some_sectors(random);
                let moment = torn.page.written_at;
                (self.journal.partition_point(|(made_at, _)| *made_at < moment), fates)
            }
            Survivors::Pages => {
                fates.iter_mut().filter(|_| random.coin()).for_each(|fate| fate.sectors = SECTORS_PER_PAGE);
                for of_one_file in fates.chunk_by_mut(|a, b| a.file == b.file) {
                    if let Some(last) = of_one_file.iter_mut().rfind(|fate| fate.sectors > 0) {
                        last.sectors = some_sectors(random);
                    }
                }
                (random.below(self.journal.len() as u64 + 1) as usize, fates)
            }
        }
    }

    /// Every page that could be lost, as if it were, by file and place.
    fn unsynced(&self) -> Vec<Fate> {
        let mut fates = Vec::new();
        for file in self.tree.numbers() {
            if let Ok(Kind::File(overlay)) = self.tree.node(file).map(|node| &node.kind) {
                fates.extend(overlay.unsynced().map(|page| Fate { file, page, sectors: 0 }));
            }
        }
        fates
    }

    /// Bytes of the page that survive. A file whose making did not survive has no place for them.
    fn carry_out(&self, fate: &Fate) -> io::Result<u64> {
        match (self.tree.node(fate.file).map(|node| &node.kind), self.durable.file(fate.file)) {
            (Ok(Kind::File(overlay)), Some(backing)) if fate.sectors > 0 => {
                overlay.write_sectors(backing, fate.page, fate.sectors)
            }
            _ => Ok(0),
        }
    }

    fn report(&self, files: &BTreeMap<Number, (PagesCut, Shares)>, mut report: CutReport) -> CutReport {
        for (number, (pages, bytes)) in files {
            report.pages.add(*pages);
            report.bytes.unsynced += bytes.unsynced;
            report.bytes.survived += bytes.survived;
            let path = self.tree.path(*number).to_string_lossy().into_owned();
            report.files.push(FileCut {
                path,
                pages: *pages,
                bytes_dropped: bytes.unsynced - bytes.survived,
            });
        }
        report.files.sort_by_key(|file| std::cmp::Reverse(file.bytes_dropped));
        report.files_left_out = report.files.len().saturating_sub(MOST_FILES_REPORTED);
        report.files.truncate(MOST_FILES_REPORTED);
        report.bytes_dropped = report.bytes.unsynced - report.bytes.survived;
        report
    }
}

/// Of a torn page: neither none nor all of its sectors.
fn some_sectors(random: &mut Random) -> u64 {
    1 + random.below(SECTORS_PER_PAGE - 1)
}
