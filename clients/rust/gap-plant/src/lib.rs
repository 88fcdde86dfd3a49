//! A plant: a bank with real accounts behind Postgres' protocol, on a machine that exists as a schedule only.
//!
//! Its balances and its count of commits are real; its times are arithmetic, so that what a measurement should
//! find is known beforehand.
//!
//! - `knobs`: what a plant is told to be, in the name of the database
//! - `machine`: when an answer is due
//! - `noise`: by how much all times of one trial differ from what the knobs say
//! - `bank`: accounts and transfers
//! - `session`: Postgres' protocol, as a client of the bank speaks it
//! - `control`: what the harness asks, one line each
//! - `server`: the event loop

mod bank;
mod control;
mod knobs;
mod machine;
mod noise;
mod plant;
mod server;
mod session;

pub use server::Server;
