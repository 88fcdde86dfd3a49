//! Answers on their way in: frames, payloads, and the messages in a payload, one at a time.

use loadgen::Outcome;

use crate::version::{Message, Version};
use crate::websocket::{Event, Frames};

const COMPRESSION_NONE: u8 = 0;

/// What the front of the input is.
#[derive(Debug, PartialEq, Eq)]
pub enum Inbound<'a> {
    Incomplete,
    /// What answers nothing: a greeting, a pong, a part of a message that is kept.
    Skipped {
        consumed: usize,
    },
    Ping {
        consumed: usize,
        payload: &'a [u8],
    },
    /// Consumed is a frame with the last of its answers only.
    Answer {
        consumed: usize,
        id: Option<u32>,
        outcome: Outcome<'static>,
    },
    Close {
        reason: String,
    },
}

pub struct Inbox {
    version: Version,
    /// Those of the workload.
    refusals: &'static [&'static str],
    frames: Frames,
    payload: Option<Payload>,
}

/// A payload of which messages are still to be read; its frame stays at the front of the input until then.
struct Payload {
    /// Whether it was joined from fragments; otherwise it lies in the input.
    joined: bool,
    at: usize,
    end: usize,
    consumed: usize,
}

impl Inbox {
    pub fn new(version: Version, refusals: &'static [&'static str]) -> Self {
        Self { version, refusals, frames: Frames::default(), payload: None }
    }

    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Inbound<'a>, String> {
        let payload = match self.payload.take() {
            Some(payload) => payload,
            None => match self.frames.next(input)? {
                Event::Incomplete => return Ok(Inbound::Incomplete),
                Event::Partial { consumed } => return Ok(Inbound::Skipped { consumed }),
                Event::Ping { consumed, payload } => return Ok(Inbound::Ping { consumed, payload }),
                Event::Close { reason } => return Ok(Inbound::Close { reason }),
                Event::Message { consumed, length } => {
                    Payload { joined: false, at: consumed - length, end: consumed, consumed }.opened(input)?
                }
                Event::Joined { consumed } => {
                    let end = self.frames.joined().len();
                    Payload { joined: true, at: 0, end, consumed }.opened(self.frames.joined())?
                }
            },
        };
        self.read(payload, input)
    }

    #[inline]
    fn read<'a>(&mut self, mut payload: Payload, input: &[u8]) -> Result<Inbound<'a>, String> {
        let source = if payload.joined { self.frames.joined() } else { input };
        let (message, rest) = self.version.read(&source[payload.at..payload.end], self.refusals)?;
        let consumed = if rest.is_empty() {
            payload.consumed
        } else {
            payload.at = payload.end - rest.len();
            self.payload = Some(payload);
            0
        };
        Ok(match message {
            Message::Greeting => Inbound::Skipped { consumed },
            Message::Answer { id, outcome } => Inbound::Answer { consumed, id, outcome },
        })
    }
}

impl Payload {
    /// Without the byte that says how it is compressed.
    #[inline]
    fn opened(self, source: &[u8]) -> Result<Self, String> {
        match source[self.at..self.end] {
            [COMPRESSION_NONE, ..] => Ok(Self { at: self.at + 1, ..self }),
            [compression, ..] => {
                Err(format!("a message with compression {compression}, where none was asked for"))
            }
            [] => Err("an empty message".to_owned()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const COMMITTED: u8 = 1;

    fn results(ids: &[u8]) -> Vec<u8> {
        ids.iter().flat_map(|id| [&[6, *id, 0, 0, 0][..], &[9; 8], &[COMMITTED]].concat()).collect()
    }

    fn answer(consumed: usize, id: u32) -> Inbound<'static> {
        Inbound::Answer { consumed, id: Some(id), outcome: Outcome::Acknowledged }
    }

    #[test]
    fn the_answers_of_a_payload_come_one_by_one() {
        let payload = [&[COMPRESSION_NONE][..], &results(&[1, 2, 3])].concat();
        let frame = [&[0x82, payload.len() as u8][..], &payload].concat();
        let mut inbox = Inbox::new(Version::V3, &[]);
        assert_eq!(inbox.next(&frame[..frame.len() - 1]).unwrap(), Inbound::Incomplete);
        assert_eq!(inbox.next(&frame).unwrap(), answer(0, 1));
        assert_eq!(inbox.next(&frame).unwrap(), answer(0, 2));
        assert_eq!(inbox.next(&frame).unwrap(), answer(frame.len(), 3));
    }

    #[test]
    fn fragments_of_several_answers_are_joined() {
        let payload = [&[COMPRESSION_NONE][..], &results(&[1, 2])].concat();
        let (head, tail) = payload.split_at(10);
        let first = [&[0x02, head.len() as u8][..], head].concat();
        let second = [&[0x80, tail.len() as u8][..], tail].concat();
        let mut inbox = Inbox::new(Version::V3, &[]);
        assert_eq!(inbox.next(&first).unwrap(), Inbound::Skipped { consumed: first.len() });
        assert_eq!(inbox.next(&second).unwrap(), answer(0, 1));
        assert_eq!(inbox.next(&second).unwrap(), answer(second.len(), 2));
        assert_eq!(inbox.next(&first).unwrap(), Inbound::Skipped { consumed: first.len() });
    }

    #[test]
    fn what_is_compressed_or_empty_is_refused() {
        for payload in [&[1, 6][..], &[]] {
            let frame = [&[0x82, payload.len() as u8][..], payload].concat();
            assert!(Inbox::new(Version::V3, &[]).next(&frame).is_err());
        }
        assert!(Inbox::new(Version::V3, &[]).next(&[0x82, 1, COMPRESSION_NONE]).is_err());
    }
}
