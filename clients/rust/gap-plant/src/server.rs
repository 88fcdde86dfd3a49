//! One thread and one epoll for all connections; each answer is written when it is due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::sync::Arc;

use gap_delay::{now_ns, Nanoseconds, Timer};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::control;
use crate::plant::Plant;
use crate::session::{Session, Step};

const CLIENTS: Token = Token(usize::MAX);
const CONTROL: Token = Token(usize::MAX - 1);
const TIMER: Token = Token(usize::MAX - 2);
const STOP: Token = Token(usize::MAX - 3);
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
    /// Held here too: a wake whose waker is dropped at once would be lost.
    stopper: Arc<Waker>,
    plant: Plant,
    connections: HashMap<usize, Connection>,
    accepted: usize,
    waiting: BinaryHeap<Reverse<Answer>>,
    answered: u64,
    scratch: Vec<u8>,
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
    closing: bool,
}

impl Server {
    /// Listens on two loopback ports: for clients on `port`, 0 for a free one, and for control on a free one.
    pub fn bind(port: u16) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (clients, clients_port) = listen(&poll, CLIENTS, port)?;
        let (control, control_port) = listen(&poll, CONTROL, 0)?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let stopper = Arc::new(Waker::new(poll.registry(), STOP)?);
        Ok(Self {
            poll,
            timer,
            clients,
            control,
            ports: [clients_port, control_port],
            stopper,
            plant: Plant::default(),
            connections: HashMap::new(),
            accepted: 0,
            waiting: BinaryHeap::new(),
            answered: 0,
            scratch: vec![0; READ_BYTES],
        })
    }

    /// Of the clients and of control.
    pub fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// Ends `run` from another thread.
    pub fn stopper(&self) -> Arc<Waker> {
        Arc::clone(&self.stopper)
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
                    STOP => return Ok(()),
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
            while let Some((consumed, due)) = connection.next(at, now_ns()?, &mut self.plant) {
                at += consumed;
                if let Some(due) = due {
                    connection.last_due = connection.last_due.max(due);
                    self.waiting.push(Reverse(Answer {
                        due: connection.last_due,
                        number: self.answered,
                        connection: number,
                        bytes: connection.outbox.len() - connection.answered,
                    }));
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
            if let Some(connection) = self.connections.get_mut(&next.connection) {
                connection.released += next.bytes;
                self.send(next.connection);
            }
        }
        Ok(())
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

fn listen(poll: &Poll, token: Token, port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let mut listener = TcpListener::from_std(listener);
    poll.registry().register(&mut listener, token, Interest::READABLE)?;
    Ok((listener, port))
}
