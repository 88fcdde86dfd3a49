//! The versions of the protocol: what a client offers, and what the server picks.

use loadgen::Outcome;
use serde::Deserialize;

use crate::{v1, v2};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    V1,
    V2,
    #[default]
    V3,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// The server's first message.
    Greeting,
    /// `id` is absent where the server gives none.
    Answer { id: Option<u32>, outcome: Outcome<'static> },
}

impl Version {
    /// The newest first, as servers pick the first that they know.
    const ALL: [Self; 3] = [Self::V3, Self::V2, Self::V1];

    /// As in the endpoint and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }

    fn subprotocol(self) -> &'static str {
        match self {
            Self::V1 => "v1.bsatn.spacetimedb",
            Self::V2 => "v2.bsatn.spacetimedb",
            Self::V3 => "v3.bsatn.spacetimedb",
        }
    }

    /// This version and all older ones, as a header lists them.
    pub fn offer(self) -> String {
        let offered: Vec<&str> =
            Self::ALL.into_iter().filter(|version| *version <= self).map(Self::subprotocol).collect();
        offered.join(", ")
    }

    /// The version that the server picked; None where it was not offered.
    pub fn picked(self, subprotocol: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| *version <= self && version.subprotocol() == subprotocol)
    }

    /// Reads the message at the front of a payload, and what follows it. `refusals` are those of the workload.
    #[inline]
    pub fn read<'a>(self, payload: &'a [u8], refusals: &[&str]) -> Result<(Message, &'a [u8]), String> {
        match self {
            Self::V3 => v2::read(payload, refusals),
            Self::V2 => match v2::read(payload, refusals)? {
                (message, []) => Ok((message, &[])),
                _ => Err("more than one message in a payload of v2".to_owned()),
            },
            Self::V1 => Ok((v1::read(payload, refusals)?, &[])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_offered_first_and_only_what_was_offered_is_taken() {
        assert_eq!(Version::V3.offer(), "v3.bsatn.spacetimedb, v2.bsatn.spacetimedb, v1.bsatn.spacetimedb");
        assert_eq!(Version::V1.offer(), "v1.bsatn.spacetimedb");
        assert_eq!(Version::V3.picked("v1.bsatn.spacetimedb"), Some(Version::V1));
        assert_eq!(Version::V2.picked("v3.bsatn.spacetimedb"), None);
        assert_eq!(Version::V3.picked("v1.json.spacetimedb"), None);
    }

    #[test]
    fn only_v3_puts_several_messages_into_a_payload() {
        let answer = [&[6][..], &[0; 12], &[1]].concat();
        let two = [&answer[..], &answer].concat();
        assert!(Version::V2.read(&answer, &[]).is_ok() && Version::V3.read(&two, &[]).is_ok());
        assert!(Version::V2.read(&two, &[]).is_err());
    }
}
