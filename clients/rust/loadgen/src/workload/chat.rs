//! Messages to rooms, of which the server checks that their sender is a member, and reads of messages by their id.

use std::num::NonZeroU32;

use serde::Deserialize;

use super::{scale, Field, FieldType, Fields, Kind, KindFacts, Letters, Operation, Workload};
use crate::config::WorkloadConfig;
use crate::error::ClientError;
use crate::philox::{philox4x32_10, RoundKeys};

/// The least id of a room, and of a message that is there from the beginning.
const FIRST_ID: u64 = 100_000_000_000_000;
/// 2^32 over the golden ratio: its multiples spread the turns of connections evenly.
const SPREAD: u32 = 2_654_435_769;
/// A call that carries one stays within the shortest lengths that protocols know.
const MESSAGE_BYTES_MAX: u32 = 32_768;

#[derive(Deserialize)]
#[serde(default)]
struct Parameters {
    rooms: NonZeroU32,
    read_share: f64,
    forbidden_every: u32,
    stored: NonZeroU32,
    message_bytes: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            rooms: NonZeroU32::MIN,
            read_share: 0.0,
            forbidden_every: 2_000,
            stored: NonZeroU32::MIN.saturating_add(9_999),
            message_bytes: 16,
        }
    }
}

#[derive(Debug)]
pub struct Chat {
    keys: RoundKeys,
    rooms: u32,
    /// An operation is a read when its first random number is below.
    reads_below: u64,
    /// Of so many operations of a connection one goes to the closed room; 0 is none.
    forbidden_every: u32,
    stored: u32,
    message_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostOrRead {
    Post { room: u64, connection: u32, index: u64, body: Letters },
    Read { id: u64 },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PostOrReadKind {
    #[default]
    Post,
    Read,
}

impl Kind for PostOrReadKind {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Operation for PostOrRead {
    type Kind = PostOrReadKind;

    #[inline(always)]
    fn kind(&self) -> PostOrReadKind {
        match self {
            Self::Post { .. } => PostOrReadKind::Post,
            Self::Read { .. } => PostOrReadKind::Read,
        }
    }

    #[inline(always)]
    fn write(&self, fields: &mut impl Fields) {
        match *self {
            Self::Post { room, connection, index, body } => {
                fields.u64(room);
                fields.u32(connection);
                fields.u64(index);
                fields.text(body);
            }
            Self::Read { id } => fields.u64(id),
        }
    }
}

impl Chat {
    fn room(&self, connection: u32, index: u64, r: u32) -> u64 {
        FIRST_ID
            + u64::from(if self.is_forbidden(connection, index) { self.rooms } else { scale(r, self.rooms) })
    }

    fn is_forbidden(&self, connection: u32, index: u64) -> bool {
        let every = u64::from(self.forbidden_every);
        let ahead = u64::from(scale(connection.wrapping_mul(SPREAD), self.forbidden_every));
        every > 0 && (index % every + ahead) % every == every - 1
    }
}

impl Workload for Chat {
    const NAME: &'static str = "chat";
    const KINDS: &'static [KindFacts] = &[
        KindFacts {
            name: "post",
            fields: &[
                Field { name: "room", holds: FieldType::U64 },
                Field { name: "connection", holds: FieldType::U32 },
                Field { name: "index", holds: FieldType::U64 },
                Field { name: "body", holds: FieldType::Text },
            ],
        },
        KindFacts { name: "read", fields: &[Field { name: "id", holds: FieldType::U64 }] },
    ];
    const REFUSALS: &'static [&'static str] = &["forbidden"];
    type Operation = PostOrRead;

    fn load(config: &WorkloadConfig) -> Result<Self, ClientError> {
        let Parameters { rooms, read_share, forbidden_every, stored, message_bytes } = config.parameters()?;
        if message_bytes > MESSAGE_BYTES_MAX {
            let allowed = format!("at most {MESSAGE_BYTES_MAX}");
            return Err(ClientError::refused("workload.parameters.message_bytes", message_bytes, &allowed));
        }
        Ok(Self {
            keys: config.keys(),
            rooms: rooms.get(),
            reads_below: (read_share * 2_f64.powi(32)).floor() as u64,
            forbidden_every,
            stored: stored.get(),
            message_bytes,
        })
    }

    #[inline(always)]
    fn draw(&self, connection: u32, index: u64) -> PostOrRead {
        let [r0, r1, r2, r3] = philox4x32_10([index as u32, (index >> 32) as u32, connection, 0], &self.keys);
        if u64::from(r0) < self.reads_below {
            PostOrRead::Read { id: FIRST_ID + u64::from(scale(r1, self.stored)) }
        } else {
            let body = Letters { start: r2, step: r3 | 1, length: self.message_bytes };
            PostOrRead::Post { room: self.room(connection, index, r1), connection, index, body }
        }
    }
}
