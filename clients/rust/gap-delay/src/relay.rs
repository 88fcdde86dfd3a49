//! One thread and one epoll for all connections.
//!
//! Every chunk waits equally long, so the order of reading is the order of becoming due: one queue serves all.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::pipe::{Chunk, Pipe};
use crate::timer::{now_ns, Nanoseconds, Timer};

const LISTENER: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
const STOP: Token = Token(usize::MAX - 2);
const EVENTS: usize = 1024;
const READ_BYTES: usize = 256 * 1024;
/// The side of the server; the client's is 0.
const TARGET: usize = 1;

pub struct Relay {
    poll: Poll,
    listener: TcpListener,
    timer: Timer,
    target: SocketAddr,
    delay: Nanoseconds,
    port: u16,
    /// Held here too: a wake whose waker is dropped at once would be lost.
    stopper: Arc<Waker>,
    connections: HashMap<usize, Connection>,
    accepted: usize,
    waiting: VecDeque<Waiting>,
    scratch: Vec<u8>,
}

/// Both ends; `pipes[side]` is read from `ends[side]`.
struct Connection {
    ends: [TcpStream; 2],
    pipes: [Pipe; 2],
}

struct Waiting {
    due: Nanoseconds,
    connection: usize,
    side: usize,
    chunk: Chunk,
}

impl Relay {
    /// Listens on a free loopback port for connections to `target`, each way taking `delay` longer.
    pub fn bind(target: SocketAddr, delay: Nanoseconds) -> io::Result<Self> {
        let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let mut listener = TcpListener::from_std(listener);
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let stopper = Arc::new(Waker::new(poll.registry(), STOP)?);
        Ok(Self {
            poll,
            listener,
            timer,
            target,
            delay,
            port,
            stopper,
            connections: HashMap::new(),
            accepted: 0,
            waiting: VecDeque::new(),
            scratch: vec![0; READ_BYTES],
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends `run` from another thread.
    pub fn stopper(&self) -> Arc<Waker> {
        Arc::clone(&self.stopper)
    }

    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            if let Some(next) = self.waiting.front() {
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
                    LISTENER => self.accept()?,
                    Token(token) => self.attend(token / 2, token % 2, event)?,
                }
            }
            self.release()?;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // A client whose target refuses sees its connection closed.
            match TcpStream::connect(self.target) {
                Ok(server) => self.join(client, server)?,
                Err(error) => self.tell_refused(&error),
            }
        }
    }

    fn join(&mut self, client: TcpStream, server: TcpStream) -> io::Result<()> {
        let number = self.accepted;
        self.accepted += 1;
        let mut ends = [client, server];
        for (side, end) in ends.iter_mut().enumerate() {
            end.set_nodelay(true)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(end, Token(number * 2 + side), interest)?;
        }
        self.connections.insert(number, Connection { ends, pipes: Default::default() });
        Ok(())
    }

    fn attend(&mut self, number: usize, side: usize, event: &Event) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        if side == TARGET && event.is_error() {
            if let Some(error) = connection.ends[TARGET].take_error()? {
                self.connections.remove(&number);
                self.tell_refused(&error);
                return Ok(());
            }
        }
        if event.is_readable() {
            connection.pipes[side].wake(event.is_read_closed());
            self.receive(number, side)?;
        }
        if event.is_writable() {
            self.send(number, 1 - side)?;
        }
        Ok(())
    }

    /// Reads what has come from one side; each chunk is due a delay after it was read.
    fn receive(&mut self, number: usize, side: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        while let Some(chunk) = connection.pipes[side].read(&mut connection.ends[side], &mut self.scratch) {
            self.waiting.push_back(Waiting { due: now_ns()? + self.delay, connection: number, side, chunk });
        }
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        while let Some(next) = self.waiting.front() {
            if next.due > now_ns()? {
                break;
            }
            let Some(next) = self.waiting.pop_front() else { break };
            if let Some(connection) = self.connections.get_mut(&next.connection) {
                connection.pipes[next.side].release(&next.chunk);
                self.send(next.connection, next.side)?;
            }
        }
        Ok(())
    }

    /// Writes what is due of one side's bytes, then reads on in case the pipe was full.
    fn send(&mut self, number: usize, side: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        connection.pipes[side].write(&mut connection.ends[1 - side]);
        if connection.pipes.iter().all(Pipe::finished) {
            self.connections.remove(&number);
            return Ok(());
        }
        self.receive(number, side)
    }

    fn tell_refused(&self, error: &io::Error) {
        eprintln!("target {}: {error}; the connection to port {} is closed", self.target, self.port);
    }
}
