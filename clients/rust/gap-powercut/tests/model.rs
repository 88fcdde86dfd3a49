//! The layer without a mount: random work against a plain model of it.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use gap_powercut::{Layer, Number, Owner, Place, Survivors, What, ROOT};

const FILES: usize = 4;
const STEPS: usize = 400;
const MOST_BYTES: u64 = 40_000;

/// Numbers that a seed repeats; the layer's own generator is not the one to test it with.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[derive(Default)]
struct Expected {
    number: Number,
    live: Vec<u8>,
    /// What may be in the backing folder: the bytes at the last sync, then those after each change of length.
    durable: Vec<Vec<u8>>,
}

fn step(layer: &mut Layer, file: &mut Expected, dice: &mut Dice) {
    match dice.below(6) {
        0..=2 => {
            let (offset, length) = (dice.below(MOST_BYTES), 1 + dice.below(9000));
            let data = vec![dice.below(256) as u8; length as usize];
            layer.write(file.number, offset, &data).unwrap();
            let end = (offset + length) as usize;
            file.live.resize(file.live.len().max(end), 0);
            file.live[offset as usize..end].copy_from_slice(&data);
        }
        3 => {
            let size = dice.below(MOST_BYTES) as usize;
            layer.resize(file.number, size as u64).unwrap();
            file.live.resize(size, 0);
            let mut durable = file.durable.last().unwrap().clone();
            durable.resize(size, 0);
            file.durable.push(durable);
        }
        4 => {
            layer.sync(file.number, dice.below(2) == 0).unwrap();
            file.durable = vec![file.live.clone()];
        }
        _ => {
            let (offset, length) = (dice.below(MOST_BYTES), dice.below(20_000));
            let read = layer.read(file.number, offset, length).unwrap();
            let from = file.live.len().min(offset as usize);
            let to = file.live.len().min((offset + length) as usize);
            assert!(read == file.live[from..to], "read of {offset} and {length} bytes more");
        }
    }
}

fn run(folder: &Path, seed: u64) {
    let mut dice = Dice(seed);
    let mut layer = Layer::over(folder, 1 << 30).unwrap();
    let metadata = fs::metadata(folder).unwrap();
    let owner = Owner {
        mode: 0o600,
        user: std::os::unix::fs::MetadataExt::uid(&metadata),
        group: std::os::unix::fs::MetadataExt::gid(&metadata),
    };
    let mut files: Vec<Expected> = (0..FILES)
        .map(|name| {
            let at = Place { parent: ROOT, name: OsString::from(name.to_string()) };
            let number = layer.make(at, What::File, owner).unwrap();
            layer.sync(number, false).unwrap();
            Expected { number, durable: vec![Vec::new()], ..Expected::default() }
        })
        .collect();
    for _ in 0..STEPS {
        let file = &mut files[dice.below(FILES as u64) as usize];
        step(&mut layer, file, &mut dice);
    }
    layer.cut(Survivors::None, 0).unwrap();
    for (name, file) in files.iter().enumerate() {
        let left = fs::read(folder.join(name.to_string())).unwrap();
        assert!(file.durable.contains(&left), "seed {seed}, file {name}: {} bytes are left", left.len());
    }
}

#[test]
fn shows_what_was_written_and_leaves_what_was_synced() {
    for seed in 1..60 {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("model-{}-{seed}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        run(&folder, seed * 0x9E37_79B9);
        fs::remove_dir_all(&folder).unwrap();
    }
}
