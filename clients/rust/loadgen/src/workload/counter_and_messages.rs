//! Increments of counters, which contend, between messages, which do not and are found again by their identity.

use std::num::NonZeroU32;

use serde::Deserialize;

use super::{scale, Field, FieldType, Fields, Kind, KindFacts, Letters, Operation, Workload};
use crate::config::WorkloadConfig;
use crate::error::ClientError;
use crate::philox::{philox4x32_10, RoundKeys};

/// A call that carries one stays within the shortest lengths that protocols know.
const MESSAGE_BYTES_MAX: u32 = 32_768;

#[derive(Deserialize)]
struct Parameters {
    #[serde(default = "one")]
    counters: NonZeroU32,
    #[serde(default = "most")]
    increment_share: f64,
    #[serde(default = "short")]
    message_bytes: u32,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn most() -> f64 {
    0.7
}

fn short() -> u32 {
    64
}

#[derive(Debug)]
pub struct CounterAndMessages {
    keys: RoundKeys,
    counters: u32,
    /// An operation is an increment when its first random number is below.
    increments_below: u64,
    message_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterOrMessage {
    Increment { counter: u32, amount: u32 },
    Message { connection: u32, index: u64, body: Letters },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CounterOrMessageKind {
    #[default]
    Increment,
    Message,
}

impl Kind for CounterOrMessageKind {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Operation for CounterOrMessage {
    type Kind = CounterOrMessageKind;

    #[inline(always)]
    fn kind(&self) -> CounterOrMessageKind {
        match self {
            Self::Increment { .. } => CounterOrMessageKind::Increment,
            Self::Message { .. } => CounterOrMessageKind::Message,
        }
    }

    #[inline(always)]
    fn write(&self, fields: &mut impl Fields) {
        match *self {
            Self::Increment { counter, amount } => {
                fields.u32(counter);
                fields.u32(amount);
            }
            Self::Message { connection, index, body } => {
                fields.u32(connection);
                fields.u64(index);
                fields.text(body);
            }
        }
    }
}

impl Workload for CounterAndMessages {
    const NAME: &'static str = "counter-and-messages";
    const KINDS: &'static [KindFacts] = &[
        KindFacts {
            name: "increment",
            fields: &[
                Field { name: "counter", holds: FieldType::U32 },
                Field { name: "amount", holds: FieldType::U32 },
            ],
        },
        KindFacts {
            name: "message",
            fields: &[
                Field { name: "connection", holds: FieldType::U32 },
                Field { name: "index", holds: FieldType::U64 },
                Field { name: "body", holds: FieldType::Text },
            ],
        },
    ];
    const REFUSALS: &'static [&'static str] = &[];
    type Operation = CounterOrMessage;

    fn load(config: &WorkloadConfig) -> Result<Self, ClientError> {
        let Parameters { counters, increment_share, message_bytes } = config.parameters()?;
        if message_bytes > MESSAGE_BYTES_MAX {
            let allowed = format!("at most {MESSAGE_BYTES_MAX}");
            return Err(ClientError::refused("workload.parameters.message_bytes", message_bytes, &allowed));
        }
        Ok(Self {
            keys: config.keys(),
            counters: counters.get(),
            increments_below: (increment_share * 2_f64.powi(32)).floor() as u64,
            message_bytes,
        })
    }

    #[inline(always)]
    fn draw(&self, connection: u32, index: u64) -> CounterOrMessage {
        let [r0, r1, r2, r3] = philox4x32_10([index as u32, (index >> 32) as u32, connection, 0], &self.keys);
        if u64::from(r0) < self.increments_below {
            CounterOrMessage::Increment { counter: scale(r1, self.counters), amount: 1 }
        } else {
            let body = Letters { start: r2, step: r3 | 1, length: self.message_bytes };
            CounterOrMessage::Message { connection, index, body }
        }
    }
}
