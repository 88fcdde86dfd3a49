//! One thread and one epoll for all connections; each answer is written when it is due, and computed where that is asked
//! for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use gap_delay::{now_ns, Nanoseconds, Timer};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::compute::Lanes;
use crate::control;
use crate::plant::Plant;
use crate::session::{Session, Step};

const CLIENTS: Token = Token(usize::MAX);
const CONTROL: Token = Token(usize::MAX - 1);
const TIMER: Token = Token(usize::MAX - 2);
const WOKEN: Token = Token(usize::MAX - 3);
const EVENTS: usize = 1024;
const READ_BYTES: usize = 64 * 1024;
/// Written bytes are cut off an outbox that never runs empty when they are this many.
const WRITTEN_BYTES: usize = 64 * 1024;

pub struct Server {
    poll: Poll,
    timer: Timer,
    clients: TcpListener,
    control: TcpListener,
    ports: [u16; 2],
    stopper: Stopper,
    plant: Plant,
    connections: HashMap<usize, Connection>,
    accepted: usize,
    waiting: BinaryHeap<Reverse<Answer>>,
    answered: u64,
    /// Where operations need processors.
    lanes: Option<Lanes>,
    /// Answers that are not computed yet; and of these, those whose time has passed.
    computing: HashSet<u64>,
    overdue: HashMap<u64, Answer>,
    scratch: Vec<u8>,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    /// Held by the server too: a wake whose waker is dropped at once would be lost.
    waker: Arc<Waker>,
    asked: Arc<AtomicBool>,
}

impl Stopper {
    pub fn stop(&self) -> io::Result<()> {
        self.asked.store(true, Ordering::Release);
        self.waker.wake()
    }
}

/// Ordered by when it is due, then by when it was made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    due: Nanoseconds,
    number: u64,
    connection: usize,
    bytes: usize,
}

enum Talk {
    Client(Session),
    Control,
}

struct Connection {
    stream: TcpStream,
    talk: Talk,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// How far the outbox was answered (has its due time), may be written, and is written.
    answered: usize,
    released: usize,
    written: usize,
    /// Answers on one connection keep their order.
    last_due: Nanoseconds,
    /// Operations that no answer was made for yet.
    unanswered: u64,
    closing: bool,
}

impl Server {
    /// Listens on two loopback ports: for clients on `port`, 0 for a free one, and for control on a free one.
    pub fn bind(port: u16) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (clients, clients_port) = listen(&poll, CLIENTS, port)?;
        let (control, control_port) = listen(&poll, CONTROL, 0)?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let waker = Arc::new(Waker::new(poll.registry(), WOKEN)?);
        Ok(Self {
            poll,
            timer,
            clients,
            control,
            ports: [clients_port, control_port],
            stopper: Stopper { waker, asked: Arc::default() },
            plant: Plant::default(),
            connections: HashMap::new(),
            accepted: 0,
            waiting: BinaryHeap::new(),
            answered: 0,
            lanes: None,
            computing: HashSet::new(),
            overdue: HashMap::new(),
            scratch: vec![0; READ_BYTES],
        })
    }

    /// Of the clients and of control.
    pub fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// Ends `run` from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            if let Some(Reverse(next)) = self.waiting.peek() {
                self.timer.arm(next.due)?;
            }
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    WOKEN if self.stopper.asked.load(Ordering::Acquire) => return Ok(()),
                    WOKEN => {}
                    TIMER => self.timer.expired(),
                    CLIENTS | CONTROL => self.accept(event.token())?,
                    Token(number) => {
                        if event.is_readable() {
                            self.receive(number)?;
                        }
                        self.send(number);
                    }
                }
            }
            self.release_computed();
            self.release()?;
        }
    }

    fn accept(&mut self, token: Token) -> io::Result<()> {
        loop {
            let listener = if token == CLIENTS { &self.clients } else { &self.control };
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let number = self.accepted;
            self.accepted += 1;
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, Token(number), interest)?;
            let talk = if token == CLIENTS { Talk::Client(Session::default()) } else { Talk::Control };
            self.connections.insert(number, Connection::new(stream, talk));
        }
    }

    /// Reads all that has come, and sets each answer's time.
    fn receive(&mut self, number: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        loop {
            let read = match connection.stream.read(&mut self.scratch) {
                Ok(read) if read > 0 => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => {
                    self.connections.remove(&number);
                    return Ok(());
                }
            };
            connection.inbox.extend_from_slice(&self.scratch[..read]);
            let mut at = 0;
            loop {
                let before = operations(&self.plant);
                let Some((consumed, due)) = connection.next(at, now_ns()?, &mut self.plant) else { break };
                at += consumed;
                connection.unanswered += operations(&self.plant).saturating_sub(before);
                if let Some(due) = due {
                    connection.last_due = connection.last_due.max(due);
                    self.waiting.push(Reverse(Answer {
                        due: connection.last_due,
                        number: self.answered,
                        connection: number,
                        bytes: connection.outbox.len() - connection.answered,
                    }));
                    let needed = std::mem::take(&mut connection.unanswered);
                    if let (Some((computing, _)), 1..) = (self.plant.computing(), needed) {
                        if self.lanes.as_ref().is_none_or(|lanes| lanes.computing != computing) {
                            self.lanes = Some(Lanes::start(computing, Arc::clone(&self.stopper.waker))?);
                        }
                        self.computing.insert(self.answered);
                        if let Some(lanes) = &self.lanes {
                            lanes.take(self.answered, needed);
                        }
                    }
                    self.answered += 1;
                    connection.answered = connection.outbox.len();
                }
            }
            connection.inbox.drain(..at);
        }
    }

    fn release(&mut self) -> io::Result<()> {
        while let Some(Reverse(next)) = self.waiting.peek() {
            if next.due > now_ns()? {
                break;
            }
            let Some(Reverse(next)) = self.waiting.pop() else { break };
            if self.computing.contains(&next.number) {
                self.overdue.insert(next.number, next);
            } else {
                self.release_answer(&next);
            }
        }
        Ok(())
    }

    /// Lets go what was computed and is overdue; what is not due yet waits for its time.
    fn release_computed(&mut self) {
        for number in self.lanes.as_ref().map(Lanes::done).unwrap_or_default() {
            self.computing.remove(&number);
            if let Some(answer) = self.overdue.remove(&number) {
                self.release_answer(&answer);
            }
        }
    }

    fn release_answer(&mut self, answer: &Answer) {
        if let Some(connection) = self.connections.get_mut(&answer.connection) {
            connection.released += answer.bytes;
            self.send(answer.connection);
        }
    }

    fn send(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(&number) {
            if !connection.write() {
                self.connections.remove(&number);
            }
        }
    }
}

impl Connection {
    fn new(stream: TcpStream, talk: Talk) -> Self {
        Self {
            stream,
            talk,
            inbox: Vec::new(),
            outbox: Vec::new(),
            answered: 0,
            released: 0,
            written: 0,
            last_due: 0,
            unanswered: 0,
            closing: false,
        }
    }

    /// Handles the message at `at` of the inbox: how long it was, and when what is written since the last answer
    /// is due, if it is an answer. None when no message is whole.
    fn next(
        &mut self,
        at: usize,
        now: Nanoseconds,
        plant: &mut Plant,
    ) -> Option<(usize, Option<Nanoseconds>)> {
        let input = &self.inbox[at..];
        if self.closing || input.is_empty() {
            return None;
        }
        match &mut self.talk {
            Talk::Client(session) => match session.handle(input, now, plant, &mut self.outbox) {
                Step::Incomplete => None,
                Step::Consumed(consumed) => Some((consumed, None)),
                Step::Answered { consumed, due } => Some((consumed, Some(due))),
                Step::Closed => {
                    self.closing = true;
                    Some((input.len(), Some(now)))
                }
            },
            Talk::Control => {
                let end = input.iter().position(|byte| *byte == b'\n')?;
                control::answer(&String::from_utf8_lossy(&input[..end]), plant, &mut self.outbox);
                Some((end + 1, Some(now)))
            }
        }
    }

    /// Writes what is released as far as the socket takes it; whether the connection stays.
    fn write(&mut self) -> bool {
        while self.written < self.released {
            match self.stream.write(&self.outbox[self.written..self.released]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        if self.written == self.outbox.len() || self.written > WRITTEN_BYTES {
            self.outbox.drain(..self.written);
            self.answered -= self.written;
            self.released -= self.written;
            self.written = 0;
        }
        !(self.closing && self.outbox.is_empty())
    }
}

/// Operations of the trial that need processors.
fn operations(plant: &Plant) -> u64 {
    plant.computing().map_or(0, |(_, operations)| operations)
}

fn listen(poll: &Poll, token: Token, port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let mut listener = TcpListener::from_std(listener);
    poll.registry().register(&mut listener, token, Interest::READABLE)?;
    Ok((listener, port))
}
