//! WebSocket frames (RFC 6455), as far as a client of one server needs them.

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const MASK_BYTES: usize = 4;
const SHORT_BYTES_MAX: usize = 125;
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Masking keys: a different one for every frame, from a generator that the system's randomness seeds.
pub struct Masks {
    state: u64,
}

impl Masks {
    pub fn new() -> Result<Self, String> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| format!("no randomness: {error}"))?;
        Ok(Self { state: u64::from_le_bytes(seed) })
    }

    /// SplitMix64's next number.
    #[inline]
    pub fn next(&mut self) -> [u8; 4] {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 32) as u32).to_le_bytes()
    }
}

/// Appends the header of a whole binary message of `length` bytes, at most 65,535; where the payload then begins,
/// which the caller masks.
#[inline]
pub fn begin_frame(length: usize, [a, b, c, d]: [u8; MASK_BYTES], out: &mut Vec<u8>) -> usize {
    if length > SHORT_BYTES_MAX {
        let [high, low] = (length as u16).to_be_bytes();
        out.extend_from_slice(&[FIN | BINARY, MASKED | 126, high, low, a, b, c, d]);
    } else {
        out.extend_from_slice(&[FIN | BINARY, MASKED | length as u8, a, b, c, d]);
    }
    out.len()
}

/// Header with a length of 16 bits, and mask.
pub const LONG_HEADER_BYTES: usize = 2 + 2 + MASK_BYTES;
const SHORT_HEADER_BYTES: usize = 2 + MASK_BYTES;

/// Makes a whole binary message of what stands from `at` to the end: room for a long header, then a payload of at
/// most 65,535 bytes.
#[inline]
pub fn finish_frame(at: usize, mask: [u8; MASK_BYTES], out: &mut Vec<u8>) {
    let payload_at = at + LONG_HEADER_BYTES;
    apply_mask(&mut out[payload_at..], mask);
    let length = out.len() - payload_at;
    if length > SHORT_BYTES_MAX {
        let [high, low] = (length as u16).to_be_bytes();
        let [a, b, c, d] = mask;
        out[at..payload_at].copy_from_slice(&[FIN | BINARY, MASKED | 126, high, low, a, b, c, d]);
    } else {
        // A short length must be written in one byte.
        out.copy_within(payload_at.., at + SHORT_HEADER_BYTES);
        out.truncate(at + SHORT_HEADER_BYTES + length);
        out[at..at + 2].copy_from_slice(&[FIN | BINARY, MASKED | length as u8]);
        out[at + 2..at + SHORT_HEADER_BYTES].copy_from_slice(&mask);
    }
}

/// Answers a ping; its payload is at most 125 bytes.
pub fn write_pong(payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    out.extend_from_slice(&[FIN | PONG, MASKED | payload.len() as u8]);
    out.extend_from_slice(&mask);
    let payload_at = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[payload_at..], mask);
}

#[inline]
pub fn apply_mask(bytes: &mut [u8], mask: [u8; MASK_BYTES]) {
    // Wide words, which the compiler turns into vectors.
    let [a, b, c, d] = mask;
    let wide = [a, b, c, d, a, b, c, d];
    let mut words = bytes.chunks_exact_mut(8);
    for word in words.by_ref() {
        word.iter_mut().zip(wide).for_each(|(byte, mask)| *byte ^= mask);
    }
    for (at, byte) in words.into_remainder().iter_mut().enumerate() {
        *byte ^= mask[at % MASK_BYTES];
    }
}

/// What the front of a stream of frames is.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Incomplete,
    /// A pong, or a part of a message that is kept.
    Partial {
        consumed: usize,
    },
    /// A whole message: the last `length` bytes of what is consumed.
    Message {
        consumed: usize,
        length: usize,
    },
    /// The last fragment of a message, which is whole in [`Frames::joined`] until the next one is.
    Joined {
        consumed: usize,
    },
    Ping {
        consumed: usize,
        payload: &'a [u8],
    },
    Close {
        reason: String,
    },
}

/// Reads frames and joins fragmented messages.
#[derive(Default)]
pub struct Frames {
    parts: Vec<u8>,
    parts_open: bool,
    joined: Vec<u8>,
}

struct Frame<'a> {
    fin: bool,
    opcode: u8,
    payload: &'a [u8],
    consumed: usize,
}

impl Frames {
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Event<'a>, String> {
        let Some(Frame { fin, opcode, payload, consumed }) = split_frame(input)? else {
            return Ok(Event::Incomplete);
        };
        match opcode {
            BINARY if fin && !self.parts_open => Ok(Event::Message { consumed, length: payload.len() }),
            BINARY | CONTINUATION => self.join(fin, opcode, payload, consumed),
            PING if payload.len() <= SHORT_BYTES_MAX => Ok(Event::Ping { consumed, payload }),
            PONG => Ok(Event::Partial { consumed }),
            CLOSE => Ok(Event::Close { reason: close_reason(payload) }),
            TEXT => Err("a text frame, where BSATN was agreed on".to_owned()),
            other => Err(format!("a frame with opcode {other}")),
        }
    }

    /// The message that was last joined from fragments.
    pub fn joined(&self) -> &[u8] {
        &self.joined
    }

    fn join(
        &mut self,
        fin: bool,
        opcode: u8,
        payload: &[u8],
        consumed: usize,
    ) -> Result<Event<'static>, String> {
        if self.parts_open != (opcode == CONTINUATION) {
            return Err("fragments of a message out of order".to_owned());
        }
        if self.parts.len() + payload.len() > MESSAGE_BYTES_MAX {
            return Err(format!("a message above {MESSAGE_BYTES_MAX} bytes"));
        }
        self.parts.extend_from_slice(payload);
        self.parts_open = !fin;
        if !fin {
            return Ok(Event::Partial { consumed });
        }
        std::mem::swap(&mut self.parts, &mut self.joined);
        self.parts.clear();
        Ok(Event::Joined { consumed })
    }
}

#[inline]
fn split_frame(input: &[u8]) -> Result<Option<Frame<'_>>, String> {
    let [first, second, after @ ..] = input else { return Ok(None) };
    if first & RESERVED != 0 || second & MASKED != 0 {
        return Err("a frame that is masked or uses reserved bits".to_owned());
    }
    let (length, length_bytes) = match (second & !MASKED, after) {
        (126, [a, b, ..]) => (usize::from(u16::from_be_bytes([*a, *b])), 2),
        (127, [a, b, c, d, e, f, g, h, ..]) => {
            let length = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            let length = usize::try_from(length).ok().filter(|length| *length <= MESSAGE_BYTES_MAX);
            (length.ok_or_else(|| format!("a frame above {MESSAGE_BYTES_MAX} bytes"))?, 8)
        }
        (126 | 127, _) => return Ok(None),
        (short, _) => (usize::from(short), 0),
    };
    let Some(payload) = after.get(length_bytes..length_bytes + length) else { return Ok(None) };
    Ok(Some(Frame {
        fin: first & FIN != 0,
        opcode: first & 0x0F,
        payload,
        consumed: 2 + length_bytes + length,
    }))
}

fn close_reason(payload: &[u8]) -> String {
    match payload {
        [a, b, text @ ..] => {
            let code = u16::from_be_bytes([*a, *b]);
            format!("the server closed the WebSocket: {code} {}", String::from_utf8_lossy(text))
                .trim_end()
                .to_owned()
        }
        _ => "the server closed the WebSocket".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            short @ 0..=125 => frame.push(short as u8),
            long @ 126..=65_535 => {
                frame.push(126);
                frame.extend_from_slice(&(long as u16).to_be_bytes());
            }
            huge => {
                frame.push(127);
                frame.extend_from_slice(&(huge as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn messages_of_every_length_are_read_whole_or_not_at_all() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let payload = vec![5; length];
            let bytes = frame(FIN | BINARY, &payload);
            let mut frames = Frames::default();
            let expected = Event::Message { consumed: bytes.len(), length };
            assert_eq!(frames.next(&bytes).unwrap(), expected);
            for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
                assert_eq!(
                    Frames::default().next(&bytes[..cut]).unwrap(),
                    Event::Incomplete,
                    "{cut} of {length}"
                );
            }
        }
    }

    #[test]
    fn fragments_are_joined_around_a_ping() {
        let mut frames = Frames::default();
        assert_eq!(frames.next(&frame(BINARY, b"ab")).unwrap(), Event::Partial { consumed: 4 });
        assert_eq!(
            frames.next(&frame(FIN | PING, b"x")).unwrap(),
            Event::Ping { consumed: 3, payload: b"x" }
        );
        assert_eq!(frames.next(&frame(CONTINUATION, b"c")).unwrap(), Event::Partial { consumed: 3 });
        let last = frame(FIN | CONTINUATION, b"de");
        assert_eq!(frames.next(&last).unwrap(), Event::Joined { consumed: 4 });
        assert_eq!(frames.joined(), b"abcde");
        assert!(frames.next(&frame(FIN | CONTINUATION, b"f")).is_err());
        frames.next(&frame(BINARY, b"a")).unwrap();
        assert!(frames.next(&frame(FIN | BINARY, b"b")).is_err());
    }

    #[test]
    fn what_a_server_must_not_send_is_refused() {
        let masked = [FIN | BINARY, MASKED | 1, 0, 0, 0, 0, 0];
        let huge = [FIN | BINARY, 127, 0xff, 0, 0, 0, 0, 0, 0, 0];
        for bytes in [&masked[..], &huge[..], &frame(FIN | TEXT, b"{}"), &frame(FIN | 0x40 | BINARY, b"")] {
            assert!(Frames::default().next(bytes).is_err());
        }
    }

    #[test]
    fn every_frame_has_a_mask_of_its_own() {
        let mut masks = Masks { state: 1 };
        let keys = [masks.next(), masks.next()];
        assert_ne!(keys[0], keys[1]);
        for (key, length) in
            keys.into_iter().flat_map(|key| [(key, 7), (key, 125), (key, 126), (key, 65_535)])
        {
            let message = vec![0x5A; length];
            let mut out = [&[0; LONG_HEADER_BYTES][..], &message].concat();
            finish_frame(0, key, &mut out);
            let header_bytes = if length > SHORT_BYTES_MAX { LONG_HEADER_BYTES } else { SHORT_HEADER_BYTES };
            assert_eq!(out.len(), header_bytes + length);
            assert_eq!(out[header_bytes - MASK_BYTES..header_bytes], key);
            apply_mask(&mut out[header_bytes..], key);
            assert_eq!(out[header_bytes..], message);
        }
    }
}
