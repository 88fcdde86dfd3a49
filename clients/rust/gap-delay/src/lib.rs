//! A proxy that adds a round trip to a connection, so that distance becomes a factor on one machine.
//!
//! - `timer`: the clock and the timer of an event loop, in nanoseconds
//! - `pipe`: one direction of a connection; its bytes carry their due times
//! - `relay`: the event loop over all connections
//!
//! What is delayed is what an application sends. The TCP handshake is not, for a load connects before its clock
//! starts.

mod pipe;
mod relay;
mod timer;

pub use relay::Relay;
pub use timer::{now_ns, thread_cpu_ns, Nanoseconds, Timer};
