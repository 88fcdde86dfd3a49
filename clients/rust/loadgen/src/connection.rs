//! One connection of the load: its socket, its buffers and the requests that are out.

use std::io::{ErrorKind, Read, Write};

use mio::net::TcpStream;

use crate::engine::Trial;
use crate::error::ClientError;
use crate::protocol::{Decoded, Outcome, Protocol};
use crate::schedule::Nanoseconds;
use crate::tally::{Tally, Times, Verdict};

/// Requests are written when this much is encoded, so that a deep pipeline does not wait for its own encoding.
const WRITE_BYTES: usize = 64 * 1024;
const KEPT_ERROR_CHARACTERS: usize = 500;

pub struct Connection<P> {
    pub number: u32,
    slot: u32,
    protocol: P,
    /// `None` once the connection is lost.
    stream: Option<TcpStream>,
    out: Vec<u8>,
    written: usize,
    /// Bytes read that are not yet a whole message.
    rest: Vec<u8>,
    pub issued: u64,
    answered: u64,
    /// Starts of the requests that are out, a ring over the index.
    starts: Vec<Nanoseconds>,
    pub failed: Vec<(u64, Verdict)>,
    pub in_doubt: Vec<u64>,
}

/// What became of a connection after a step.
pub enum State {
    Open,
    Lost(String),
}

impl<P: Protocol> Connection<P> {
    pub fn new(
        number: u32,
        slot: u32,
        protocol: P,
        stream: TcpStream,
        rest: Vec<u8>,
        in_flight: usize,
    ) -> Self {
        Self {
            number,
            slot,
            protocol,
            stream: Some(stream),
            out: Vec::new(),
            written: 0,
            rest,
            issued: 0,
            answered: 0,
            starts: vec![0; in_flight.next_power_of_two()],
            failed: Vec::new(),
            in_doubt: Vec::new(),
        }
    }

    pub fn stream(&mut self) -> Option<&mut TcpStream> {
        self.stream.as_mut()
    }

    /// Place among all connections of the client, from 0.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    pub fn requests_out(&self) -> u64 {
        self.issued - self.answered
    }

    /// When the oldest request that is out was handed over.
    pub fn oldest_start(&self) -> Option<Nanoseconds> {
        (self.requests_out() > 0).then(|| self.starts[self.place(self.answered)])
    }

    #[inline]
    fn place(&self, index: u64) -> usize {
        index as usize & (self.starts.len() - 1)
    }

    /// Hands over every request that is due and fits in flight, then writes.
    #[inline]
    pub fn issue(&mut self, trial: &Trial) -> State {
        let Some(stream) = &mut self.stream else { return State::Open };
        let group = trial.requests_per_message;
        while self.issued - self.answered + group <= trial.in_flight {
            if self.out.len() >= WRITE_BYTES {
                match write(stream, &mut self.out, &mut self.written) {
                    Ok(true) => {}
                    Ok(false) => return State::Open,
                    Err(reason) => return State::Lost(reason),
                }
            }
            let operation = trial.work.draw(self.number, self.issued);
            let mut now = trial.clock.now();
            let last = self.issued + group - 1;
            if now >= trial.phases.window_end || trial.schedule.intended(self.slot, last) > now {
                break;
            }
            self.protocol.encode(self.issued, operation, &mut self.out);
            if group > 1 {
                for index in self.issued + 1..=last {
                    self.protocol.encode(index, trial.work.draw(self.number, index), &mut self.out);
                }
                now = trial.clock.now();
            }
            for index in self.issued..=last {
                let place = index as usize & (self.starts.len() - 1);
                self.starts[place] = now;
            }
            self.issued += group;
        }
        self.flush()
    }

    /// Writes what is encoded, as far as the socket takes it.
    #[inline]
    pub fn flush(&mut self) -> State {
        let Some(stream) = &mut self.stream else { return State::Open };
        match write(stream, &mut self.out, &mut self.written) {
            Ok(_) => State::Open,
            Err(reason) => State::Lost(reason),
        }
    }

    /// Reads and counts the answers that are there. `buffer` is shared by the connections of a thread.
    pub fn receive(
        &mut self,
        trial: &Trial,
        tally: &mut Tally,
        buffer: &mut Vec<u8>,
        until_closed: bool,
    ) -> Result<State, ClientError> {
        loop {
            let Some(stream) = &mut self.stream else { return Ok(State::Open) };
            let kept = self.rest.len();
            if buffer.len() < kept * 2 {
                buffer.resize(kept * 2, 0);
            }
            buffer[..kept].copy_from_slice(&self.rest);
            let read = match stream.read(&mut buffer[kept..]) {
                Ok(0) => return Ok(State::Lost("the server closed the connection".to_owned())),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(State::Open),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Ok(State::Lost(error.to_string())),
            };
            let filled = kept + read;
            if let State::Lost(reason) = self.decode(trial, tally, &buffer[..filled])? {
                return Ok(State::Lost(reason));
            }
            // A short read has emptied an edge-triggered socket, unless the peer's end still waits behind it.
            if filled < buffer.len() && !until_closed {
                return Ok(State::Open);
            }
        }
    }

    /// Counts the whole messages of `input` and keeps the rest.
    #[inline]
    fn decode(&mut self, trial: &Trial, tally: &mut Tally, input: &[u8]) -> Result<State, ClientError> {
        let mut at = 0;
        while at < input.len() {
            let oldest = (self.answered < self.issued).then_some(self.answered);
            match self.protocol.decode(&input[at..], oldest, &mut self.out)? {
                Decoded::Incomplete => break,
                Decoded::Skipped { consumed } => at += consumed,
                Decoded::Closing { reason } => return Ok(State::Lost(reason)),
                Decoded::Reply { consumed, outcome } => {
                    at += consumed;
                    if oldest.is_none() {
                        return Err(ClientError::Integrity(format!(
                            "connection {}: a reply that fits no request: {outcome:?}",
                            self.number
                        )));
                    }
                    self.settle(trial, tally, &outcome);
                }
            }
        }
        self.rest.clear();
        self.rest.extend_from_slice(&input[at..]);
        Ok(State::Open)
    }

    #[inline]
    fn settle(&mut self, trial: &Trial, tally: &mut Tally, outcome: &Outcome<'_>) {
        let index = self.answered;
        let end = trial.clock.now();
        let start = self.starts[self.place(index)];
        let intended =
            if trial.schedule.is_open() { trial.schedule.intended(self.slot, index) } else { start };
        self.answered += 1;
        let verdict = match outcome {
            Outcome::Acknowledged => Verdict::Acknowledged,
            Outcome::Insufficient => Verdict::Insufficient,
            Outcome::Error(text) => {
                if tally.first_error.is_none() {
                    let kept: String = text.chars().take(KEPT_ERROR_CHARACTERS).collect();
                    tally.keep_first_error(end, &kept);
                }
                Verdict::Error
            }
        };
        if verdict != Verdict::Acknowledged {
            self.failed.push((index, verdict));
        }
        tally.answered(verdict, Times { intended, start, end });
    }

    /// Gives up the connection: what is out is in doubt. The socket is returned to be deregistered.
    pub fn close(&mut self, tally: &mut Tally, now: Nanoseconds) -> Option<TcpStream> {
        for index in self.answered..self.issued {
            tally.unanswered(self.starts[self.place(index)], now);
            self.in_doubt.push(index);
        }
        self.answered = self.issued;
        self.stream.take()
    }
}

/// Whether everything was taken.
#[inline]
fn write(stream: &mut TcpStream, out: &mut Vec<u8>, written: &mut usize) -> Result<bool, String> {
    while *written < out.len() {
        match stream.write(&out[*written..]) {
            Ok(0) => return Err("the connection takes no more bytes".to_owned()),
            Ok(bytes) => *written += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    out.clear();
    *written = 0;
    Ok(true)
}
