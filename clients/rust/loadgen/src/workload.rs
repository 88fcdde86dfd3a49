//! What a workload brings: kinds of operations with typed fields, and which of them is operation *index* of a
//! connection: a pure function of seed, connection and index.
//!
//! A load is compiled for its workload, so that an operation is no box and no map, and a workload of one kind pays
//! nothing for there being others.

mod chat;
mod counter_and_messages;
mod fibonacci;
mod letters;
mod transfer;

use std::fmt::Debug;

use crate::config::WorkloadConfig;
use crate::error::ClientError;

pub use chat::{Chat, PostOrRead};
pub use counter_and_messages::{CounterAndMessages, CounterOrMessage};
pub use fibonacci::{Compute, Fibonacci};
pub use letters::Letters;
pub use transfer::{Transfer, Transfers};

/// The generator of a workload's operations.
pub trait Workload: Sized + Send + Sync + 'static {
    /// Name in `workload.name`.
    const NAME: &'static str;
    const KINDS: &'static [KindFacts];
    /// What a server may refuse by name.
    const REFUSALS: &'static [&'static str];
    /// How to read the two accounts that an operation moves between. A workload without takes no flaws.
    const PAIR: Option<Pair<Self::Operation>> = None;
    type Operation: Operation;

    /// Reads parameters and files.
    fn load(config: &WorkloadConfig) -> Result<Self, ClientError>;

    fn draw(&self, connection: u32, index: u64) -> Self::Operation;
}

/// Reads the two accounts of an operation.
pub type Pair<O> = fn(&O) -> (u32, u32);

pub type KindOf<W> = <<W as Workload>::Operation as Operation>::Kind;

#[derive(Debug, PartialEq, Eq)]
pub struct KindFacts {
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub holds: FieldType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    U32,
    U64,
    Text,
}

pub trait Operation: Copy + Debug + Send {
    type Kind: Kind;

    fn kind(&self) -> Self::Kind;

    /// Hands its fields over, in the order of the kind's facts.
    fn write(&self, fields: &mut impl Fields);
}

/// The kind of an operation that is out.
pub trait Kind: Copy + Debug + Default + Send {
    /// Its place in [`Workload::KINDS`].
    fn place(self) -> usize;
}

/// The kind of a workload that has one: it takes no room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OneKind;

impl Kind for OneKind {
    #[inline(always)]
    fn place(self) -> usize {
        0
    }
}

/// What is done with each field of an operation.
pub trait Fields {
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn text(&mut self, text: Letters);
}

/// floor(r * range / 2^32)
#[inline]
fn scale(r: u32, range: u32) -> u32 {
    ((u64::from(r) * u64::from(range)) >> 32) as u32
}
