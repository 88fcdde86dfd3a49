//! One thread and one epoll for all connections; answers are written once per read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::declared::Declared;
use crate::http::Http;
use crate::postgres::Postgres;
use crate::spacetimedb::{Newest, SpacetimeDb};
use crate::{Handled, ProtocolKind, Reply, Session};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;
const READ_BYTES: usize = 256 * 1024;
const BETWEEN_FRAGMENTS: Duration = Duration::from_micros(20);

/// How a server deviates from answering at once and whole.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Bytes per write: answers then arrive in pieces.
    pub fragment_bytes: Option<usize>,
    /// What an HTTP client takes for success; where nothing is declared, `{"ok":true}`.
    pub declared: Declared,
    /// The newest version of SpacetimeDB's protocol that is picked.
    pub newest: Newest,
}

/// A null server on a thread of its own; it ends when dropped.
pub struct Server {
    port: u16,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Listens on a loopback port, 0 for a free one, and asks `answer` about every call.
    pub fn start(
        kind: ProtocolKind,
        port: u16,
        options: Options,
        answer: impl FnMut() -> Reply + Send + 'static,
    ) -> io::Result<Self> {
        let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), STOP)?);
        let listener = TcpListener::from_std(listener);
        let thread = thread::spawn(move || match kind {
            ProtocolKind::Postgres => serve::<Postgres>(listener, poll, &options, answer),
            ProtocolKind::Http => serve::<Http>(listener, poll, &options, answer),
            ProtocolKind::SpacetimeDb => serve::<SpacetimeDb>(listener, poll, &options, answer),
        });
        Ok(Self { port, waker, thread: Some(thread) })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server with all its connections.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.waker.wake()?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the server's thread panicked")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A drop has nobody to tell.
        let _ = self.end();
    }
}

struct Connection<S> {
    stream: TcpStream,
    session: S,
    rest: Vec<u8>,
    out: Vec<u8>,
    written: usize,
}

fn serve<S: Session>(
    mut listener: TcpListener,
    mut poll: Poll,
    options: &Options,
    mut answer: impl FnMut() -> Reply,
) -> io::Result<()> {
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut connections: Vec<Option<Connection<S>>> = Vec::new();
    let mut events = Events::with_capacity(EVENTS);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        for event in &events {
            match event.token() {
                STOP => return Ok(()),
                LISTENER => accept(&listener, &poll, options, &mut connections)?,
                Token(place) => {
                    let Some(connection) = &mut connections[place] else { continue };
                    let stays = connection.receive(&mut buffer, &mut answer) && connection.send(options);
                    if !stays {
                        connections[place] = None;
                    }
                }
            }
        }
    }
}

fn accept<S: Session>(
    listener: &TcpListener,
    poll: &Poll,
    options: &Options,
    connections: &mut Vec<Option<Connection<S>>>,
) -> io::Result<()> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let token = Token(connections.len());
        poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        connections.push(Some(Connection {
            stream,
            session: S::new(options),
            rest: Vec::new(),
            out: Vec::new(),
            written: 0,
        }));
    }
}

impl<S: Session> Connection<S> {
    /// Answers what has come; whether the connection stays.
    fn receive(&mut self, buffer: &mut Vec<u8>, answer: &mut impl FnMut() -> Reply) -> bool {
        loop {
            let kept = self.rest.len();
            if buffer.len() < kept * 2 {
                buffer.resize(kept * 2, 0);
            }
            buffer[..kept].copy_from_slice(&self.rest);
            let read = match self.stream.read(&mut buffer[kept..]) {
                Ok(0) => return false,
                Ok(read) => read,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            };
            let filled = kept + read;
            let mut at = 0;
            while at < filled {
                match self.session.handle(&buffer[at..filled], answer, &mut self.out) {
                    Handled::Incomplete => break,
                    Handled::Consumed(bytes) => at += bytes,
                    Handled::HangUp => return false,
                }
            }
            self.rest.clear();
            self.rest.extend_from_slice(&buffer[at..filled]);
            if filled < buffer.len() {
                return true;
            }
        }
    }

    /// Writes as far as the socket takes it; whether the connection stays.
    fn send(&mut self, options: &Options) -> bool {
        while self.written < self.out.len() {
            let rest = &self.out[self.written..];
            let piece = &rest[..rest.len().min(options.fragment_bytes.unwrap_or(usize::MAX))];
            match self.stream.write(piece) {
                Ok(bytes) => self.written += bytes,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if options.fragment_bytes.is_some() {
                thread::sleep(BETWEEN_FRAGMENTS);
            }
        }
        self.out.clear();
        self.written = 0;
        true
    }
}
