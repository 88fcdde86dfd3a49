//! A plant: a bank behind Postgres' protocol, or counters and messages behind HTTP, on a machine that exists as a
//! schedule only.
//!
//! What it holds and its count of commits are real; its times are arithmetic, so that what a measurement should
//! find is known beforehand.
//!
//! - `knobs`: what a plant is told to be, in the name of the database
//! - `machine`: when an answer is due
//! - `compute`: threads that compute for an answer, where a plant is told to need processors as a real server does
//! - `noise`: by how much all times of one trial differ from what the knobs say
//! - `bank`: accounts and transfers
//! - `board`: counters and messages
//! - `tables`: what is held, as it is seeded and read back
//! - `session`: a client's connection: `postgres` for the bank, `http` for counters and messages
//! - `control`: what the harness asks, one line each
//! - `server`: the event loop

mod bank;
mod board;
mod compute;
mod control;
mod http;
mod knobs;
mod machine;
mod noise;
mod plant;
mod postgres;
mod server;
mod session;
mod tables;

pub use server::Server;
