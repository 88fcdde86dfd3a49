//! Connecting and logging in: blocking, bounded in time, before the clock starts.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 4096;

/// A blocking stream that keeps what was read and not yet consumed.
pub struct HandshakeStream {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl HandshakeStream {
    pub fn connect(host: &str, port: u16) -> Result<Self, String> {
        let addresses =
            (host, port).to_socket_addrs().map_err(|error| format!("{host} is no known host ({error})"))?;
        let mut refusal = format!("{host} has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => return Self::over(stream).map_err(|error| error.to_string()),
                Err(error) => refusal = error.to_string(),
            }
        }
        Err(refusal)
    }

    fn over(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, unread: Vec::new() })
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|error| format!("sending in the handshake: {error}"))
    }

    pub fn unread(&self) -> &[u8] {
        &self.unread
    }

    pub fn consume(&mut self, bytes: usize) {
        self.unread.drain(..bytes);
    }

    /// Waits for more bytes.
    pub fn fill(&mut self) -> Result<(), String> {
        let before = self.unread.len();
        self.unread.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.unread[before..]);
        self.unread.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err("the server closed the connection in the handshake".to_owned()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Err(format!("no answer to the handshake within {} s", TIMEOUT.as_secs()))
            }
            Err(error) => Err(format!("reading in the handshake: {error}")),
        }
    }

    /// The stream, now non-blocking, and the bytes that belong to what follows.
    pub fn into_parts(self) -> std::io::Result<(TcpStream, Vec<u8>)> {
        self.stream.set_nonblocking(true)?;
        Ok((self.stream, self.unread))
    }
}
