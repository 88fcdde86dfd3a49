//! A connection of a client, in the protocol that its first byte says: Postgres' startup message begins with a length
//! whose first byte is zero, a request over HTTP with a letter.

use gap_delay::Nanoseconds;

use crate::plant::Plant;
use crate::{http, postgres};

/// What reading one message came to.
pub enum Step {
    Incomplete,
    Consumed(usize),
    /// All that is written and not yet answered goes out, not before `due`.
    Answered {
        consumed: usize,
        due: Nanoseconds,
    },
    /// The connection ends; what is written goes out first.
    Closed,
}

#[derive(Default)]
pub enum Session {
    #[default]
    Unknown,
    Postgres(postgres::Session),
    Http(http::Session),
}

impl Session {
    /// Reads one message from the front of `input`, which is not empty.
    pub fn handle(&mut self, input: &[u8], now: Nanoseconds, plant: &mut Plant, out: &mut Vec<u8>) -> Step {
        if matches!(self, Self::Unknown) {
            *self = match input.first() {
                Some(first) if first.is_ascii_alphabetic() => Self::Http(http::Session::default()),
                _ => Self::Postgres(postgres::Session::default()),
            };
        }
        match self {
            Self::Unknown => Step::Incomplete,
            Self::Postgres(session) => session.handle(input, now, plant, out),
            Self::Http(session) => session.handle(input, now, plant, out),
        }
    }
}
