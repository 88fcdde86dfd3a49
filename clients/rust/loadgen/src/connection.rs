//! One connection of the load: its socket, its buffers and the requests that are out.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{ErrorKind, Read, Write};

use mio::net::TcpStream;

use crate::config::Config;
use crate::engine::Trial;
use crate::error::ClientError;
use crate::flaws::FinishedBatch;
use crate::protocol::{Decoded, Oldest, Outcome, Protocol};
use crate::schedule::Nanoseconds;
use crate::tally::{Tally, Times, Verdict};
use crate::workload::{KindOf, Operation, Workload};

/// Requests are written when this much is encoded, so that a deep pipeline does not wait for its own encoding.
const WRITE_BYTES: usize = 64 * 1024;
const KEPT_ERROR_CHARACTERS: usize = 500;

pub struct Connection<W: Workload, P> {
    pub number: u32,
    slot: u32,
    protocol: P,
    /// `None` once the connection is lost.
    stream: Option<TcpStream>,
    out: Vec<u8>,
    written: usize,
    /// Bytes read that are not yet a whole message.
    rest: Vec<u8>,
    /// Operations handed over; with those handed over again, `sent`.
    pub issued: u64,
    sent: u64,
    answered: u64,
    /// The requests that are out, a ring over the order in which they were sent.
    out_there: Vec<Request<KindOf<W>>>,
    /// Refused in a conflict and not yet sent again.
    refused: VecDeque<Request<KindOf<W>>>,
    /// By index, what was sent again and is not settled.
    resent: HashMap<u64, Resent>,
    pub failed: Vec<(u64, Verdict)>,
    pub in_doubt: Vec<u64>,
    /// What was sent again at least once.
    pub retried: Vec<u64>,
    /// The flaw of reading the clock between batches only.
    batch: Option<Batch>,
}

/// The batch that is out, whole or in part.
#[derive(Debug, Default)]
struct Batch {
    start: Nanoseconds,
    unsent: u64,
    answers: u64,
    acknowledged: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Request<K> {
    index: u64,
    kind: K,
    /// When it was handed over for the first time.
    start: Nanoseconds,
}

#[derive(Debug, Clone, Copy)]
struct Resent {
    times: u32,
    last: Nanoseconds,
}

/// What became of a connection after a step.
pub enum State {
    Open,
    Lost(String),
}

impl<W: Workload, P: Protocol<W>> Connection<W, P> {
    pub fn new<E>(
        number: u32,
        slot: u32,
        protocol: P,
        stream: TcpStream,
        rest: Vec<u8>,
        config: &Config<E>,
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
            sent: 0,
            answered: 0,
            out_there: vec![Request::default(); config.in_flight.next_power_of_two()],
            refused: VecDeque::new(),
            resent: HashMap::new(),
            failed: Vec::new(),
            in_doubt: Vec::new(),
            retried: Vec::new(),
            batch: config.flaws.clock_between_batches.then(Batch::default),
        }
    }

    pub fn stream(&mut self) -> Option<&mut TcpStream> {
        self.stream.as_mut()
    }

    pub fn agreed(&self) -> BTreeMap<&'static str, String> {
        self.protocol.agreed()
    }

    /// Place among all connections of the client, from 0.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    pub fn requests_out(&self) -> u64 {
        self.sent - self.answered + self.refused.len() as u64
    }

    /// When the oldest request that is out was sent, for the last time.
    pub fn oldest_sent(&self) -> Option<Nanoseconds> {
        let request = self.oldest()?;
        Some(self.resent.get(&request.index).map_or(request.start, |resent| resent.last))
    }

    #[inline]
    fn oldest(&self) -> Option<Request<KindOf<W>>> {
        (self.answered < self.sent).then(|| self.out_there[self.place(self.answered)])
    }

    #[inline]
    fn place(&self, sent: u64) -> usize {
        sent as usize & (self.out_there.len() - 1)
    }

    /// Hands over every request that is due and fits in flight, then writes.
    #[inline]
    pub fn issue(&mut self, trial: &Trial<W>) -> State {
        if !self.refused.is_empty() {
            self.send_again(trial);
        }
        let group = trial.requests_per_message;
        while self.requests_out() + group <= trial.in_flight {
            let Some(stream) = &mut self.stream else { return State::Open };
            if self.out.len() >= WRITE_BYTES {
                self.protocol.seal(&mut self.out);
                match write(stream, &mut self.out, &mut self.written) {
                    Ok(true) => {}
                    Ok(false) => return State::Open,
                    Err(reason) => return State::Lost(reason),
                }
            }
            let operation = trial.draw(self.number, self.issued);
            let now = trial.clock.now();
            let last = self.issued + group - 1;
            if !self.is_due(trial, last, now) {
                break;
            }
            self.protocol.encode(self.issued, &operation, &mut self.out);
            self.push(Request { index: self.issued, kind: operation.kind(), start: now });
            if group > 1 {
                self.fill_message(trial, last);
            }
            self.issued += group;
        }
        self.flush()
    }

    /// Whether the operations up to `last` may be handed over now.
    #[inline]
    fn is_due(&mut self, trial: &Trial<W>, last: u64, now: Nanoseconds) -> bool {
        if self.batch.is_some() {
            return self.is_due_in_batch(trial, now);
        }
        now < trial.phases.window_end && trial.schedule.intended(self.slot, last) <= now
    }

    /// A batch begins when the one before is answered and the window is not over; then it is sent whole.
    fn is_due_in_batch(&mut self, trial: &Trial<W>, now: Nanoseconds) -> bool {
        let idle = self.requests_out() == 0;
        let Some(batch) = &mut self.batch else { return false };
        if batch.unsent == 0 && idle && now < trial.phases.window_end {
            *batch = Batch { start: now, unsent: trial.in_flight, ..Batch::default() };
        }
        let due = batch.unsent > 0;
        batch.unsent = batch.unsent.saturating_sub(trial.requests_per_message);
        due
    }

    /// Counts an answer to the batch that is out.
    fn answer_batch(&mut self, tally: &mut Tally, verdict: Verdict, end: Nanoseconds) {
        let out = self.requests_out();
        let (Some(batch), Some(flaws)) = (&mut self.batch, &mut tally.flaws) else { return };
        batch.answers += 1;
        batch.acknowledged += u64::from(verdict == Verdict::Acknowledged);
        if out == 0 && batch.unsent == 0 {
            let Batch { start, answers, acknowledged, .. } = *batch;
            flaws.finished_batch(&FinishedBatch { start, end, answers, acknowledged });
        }
    }

    /// On a lost connection: as many requests as fit in flight, each of which ends as soon as it is handed over.
    pub fn end_at_once(&mut self, trial: &Trial<W>, tally: &mut Tally) {
        for index in self.issued..self.issued + trial.in_flight {
            self.draw_and_encode(trial, index);
            self.protocol.seal(&mut self.out);
            self.out.clear();
            if let Some(flaws) = &mut tally.flaws {
                flaws.ended_after_connection(trial.clock.now());
            }
        }
    }

    #[inline]
    fn push(&mut self, request: Request<KindOf<W>>) {
        let place = self.place(self.sent);
        self.out_there[place] = request;
        self.sent += 1;
    }

    /// Adds the requests up to `last` to the message that the one just pushed began; all start when it is whole.
    fn fill_message(&mut self, trial: &Trial<W>, last: u64) {
        let first = self.sent - 1;
        for index in self.issued + 1..=last {
            let kind = self.draw_and_encode(trial, index);
            self.push(Request { index, kind, start: 0 });
        }
        let start = trial.clock.now();
        for sent in first..self.sent {
            let place = self.place(sent);
            self.out_there[place].start = start;
        }
    }

    /// Out of line, for the places where requests do not come one by one.
    #[inline(never)]
    fn draw_and_encode(&mut self, trial: &Trial<W>, index: u64) -> KindOf<W> {
        let operation = trial.draw(self.number, index);
        self.protocol.encode(index, &operation, &mut self.out);
        operation.kind()
    }

    /// Sends what was refused behind what is out. Messages that carry several requests are refused as a whole.
    fn send_again(&mut self, trial: &Trial<W>) {
        let last = trial.clock.now();
        while let Some(request) = self.refused.pop_front() {
            self.draw_and_encode(trial, request.index);
            self.push(request);
            let resent = self.resent.entry(request.index).or_insert(Resent { times: 0, last });
            *resent = Resent { times: resent.times + 1, last };
            if resent.times == 1 {
                self.retried.push(request.index);
            }
        }
    }

    /// Writes what is encoded, as far as the socket takes it.
    #[inline]
    pub fn flush(&mut self) -> State {
        let Some(stream) = &mut self.stream else { return State::Open };
        self.protocol.seal(&mut self.out);
        match write(stream, &mut self.out, &mut self.written) {
            Ok(_) => State::Open,
            Err(reason) => State::Lost(reason),
        }
    }

    /// Reads and counts the answers that are there. `buffer` is shared by the connections of a thread.
    pub fn receive(
        &mut self,
        trial: &Trial<W>,
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
    fn decode(&mut self, trial: &Trial<W>, tally: &mut Tally, input: &[u8]) -> Result<State, ClientError> {
        let mut at = 0;
        while at < input.len() {
            let oldest = self.oldest();
            let due = oldest.map(|Request { index, kind, .. }| Oldest { index, kind });
            let decoded = self.protocol.decode(&input[at..], due, &mut self.out)?;
            let (consumed, outcome, retries) = match decoded {
                Decoded::Incomplete => break,
                Decoded::Closing { reason } => return Ok(State::Lost(reason)),
                Decoded::Skipped { consumed } => {
                    at += consumed;
                    continue;
                }
                Decoded::Reply { consumed, outcome } => (consumed, outcome, 0),
                Decoded::ReplyAfterRetries { consumed, outcome, retries } => (consumed, outcome, retries),
            };
            at += consumed;
            let Some(request) = oldest else {
                return Err(ClientError::Integrity(format!(
                    "connection {}: a reply that fits no request: {outcome:?}",
                    self.number
                )));
            };
            if retries > 0 {
                tally.retried += u64::from(retries);
                self.retried.push(request.index);
            }
            self.settle(trial, tally, request, &outcome);
        }
        self.rest.clear();
        self.rest.extend_from_slice(&input[at..]);
        Ok(State::Open)
    }

    #[inline]
    fn settle(
        &mut self,
        trial: &Trial<W>,
        tally: &mut Tally,
        request: Request<KindOf<W>>,
        outcome: &Outcome<'_>,
    ) {
        let end = trial.clock.now();
        self.answered += 1;
        let verdict = match outcome {
            Outcome::Acknowledged => Verdict::Acknowledged,
            Outcome::Refused(place) => Verdict::refused(*place),
            Outcome::Conflict(_) if self.times_resent(request) < trial.max_retries => {
                if let Some(flaws) = &mut tally.flaws {
                    flaws.answer(end);
                }
                tally.retried += 1;
                self.refused.push_back(request);
                return;
            }
            Outcome::Conflict(text) | Outcome::Error(text) => {
                if tally.first_error.is_none() {
                    let kept: String = text.chars().take(KEPT_ERROR_CHARACTERS).collect();
                    tally.keep_first_error(end, &kept);
                }
                Verdict::Error
            }
        };
        if !self.resent.is_empty() {
            self.resent.remove(&request.index);
        }
        if verdict != Verdict::Acknowledged {
            self.failed.push((request.index, verdict));
        }
        tally.answered(request.kind, verdict, self.times(trial, request, end));
        if self.batch.is_some() {
            self.answer_batch(tally, verdict, end);
        }
    }

    fn times_resent(&self, request: Request<KindOf<W>>) -> u32 {
        self.resent.get(&request.index).map_or(0, |resent| resent.times)
    }

    #[inline]
    fn times(&self, trial: &Trial<W>, request: Request<KindOf<W>>, end: Nanoseconds) -> Times {
        let Request { index, start, .. } = request;
        let intended =
            if trial.schedule.is_open() { trial.schedule.intended(self.slot, index) } else { start };
        Times { intended, start, end }
    }

    /// What ends with its connection ends for the flaw that counts it.
    pub fn end_with_connection(&self, tally: &mut Tally, now: Nanoseconds) {
        let Some(flaws) = &mut tally.flaws else { return };
        let out = (self.answered..self.sent).count() + self.refused.len();
        for _ in 0..out {
            flaws.ended_with_connection(now);
        }
    }

    /// Gives up the connection: what is out is in doubt. The socket is returned to be deregistered.
    pub fn close(&mut self, trial: &Trial<W>, tally: &mut Tally, now: Nanoseconds) -> Option<TcpStream> {
        if let (Some(batch), Some(flaws)) = (&self.batch, &mut tally.flaws) {
            if batch.unsent > 0 || self.requests_out() > 0 {
                flaws.unfinished_batch();
            }
        }
        while let Some(Request { index, kind, start }) = self.oldest() {
            tally.unanswered(kind, start, now);
            self.in_doubt.push(index);
            self.answered += 1;
        }
        self.in_doubt.sort_unstable();
        while let Some(request) = self.refused.pop_front() {
            tally.retried -= 1;
            tally.keep_first_error(
                now,
                "refused in a conflict, and the connection ended before it was sent again",
            );
            self.failed.push((request.index, Verdict::Error));
            tally.settled(request.kind, Verdict::Error, self.times(trial, request, now));
        }
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
