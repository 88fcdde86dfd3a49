//! One direction of a connection: bytes read from one end, kept until they are due, written to the other.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;

/// Most bytes kept in one direction before its sender has to wait: far above any window of requests in flight.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// What a read brought.
pub enum Chunk {
    Bytes(usize),
    End,
}

#[derive(Default)]
pub struct Pipe {
    kept: VecDeque<u8>,
    /// How many of the kept bytes may be written.
    due_bytes: usize,
    /// The source may have more than was read.
    readable: bool,
    /// The source has closed its side, so that a read must reach the end whatever a short one suggests.
    closing: bool,
    ended: bool,
    end_due: bool,
    finished: bool,
}

impl Pipe {
    /// Takes note of a readiness event of the source.
    pub fn wake(&mut self, closing: bool) {
        self.readable = true;
        self.closing |= closing;
    }

    /// Reads once from the source; None when it has nothing now, or the pipe is full.
    pub fn read(&mut self, source: &mut TcpStream, scratch: &mut [u8]) -> Option<Chunk> {
        while self.readable && !self.ended && !self.finished && self.kept.len() < KEPT_BYTES {
            match source.read(scratch) {
                Ok(read) if read > 0 => {
                    self.readable = self.closing || read == scratch.len();
                    self.kept.extend(&scratch[..read]);
                    return Some(Chunk::Bytes(read));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.ended = true;
                    return Some(Chunk::End);
                }
            }
        }
        None
    }

    pub fn release(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Bytes(bytes) => self.due_bytes += bytes,
            Chunk::End => self.end_due = true,
        }
    }

    /// Writes what is due as far as the sink takes it. For a sink that is gone the pipe is finished; what was
    /// read from that end before is still on its way in the other pipe.
    pub fn write(&mut self, sink: &mut TcpStream) {
        while self.due_bytes > 0 && !self.finished {
            let (front, _) = self.kept.as_slices();
            match sink.write(&front[..front.len().min(self.due_bytes)]) {
                Ok(written) => {
                    self.kept.drain(..written);
                    self.due_bytes -= written;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.finished = true,
            }
        }
        if self.end_due && !self.finished {
            self.finished = true;
            // A sink that is gone needs no end of stream.
            let _ = sink.shutdown(Shutdown::Write);
        }
    }

    /// The end of the stream has been passed on, or nobody is there to take it.
    pub fn finished(&self) -> bool {
        self.finished
    }
}
