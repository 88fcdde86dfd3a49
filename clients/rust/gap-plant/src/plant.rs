//! One bank, or counters and messages, on one machine, shared by all connections of a trial.

use gap_delay::Nanoseconds;

use crate::bank::{Bank, Outcome, Refusal};
use crate::board::Board;
use crate::compute::Computing;
use crate::knobs::Knobs;
use crate::machine::Machine;
use crate::noise::time_factor;
use crate::tables::{table, Tables};

const HOT_ACCOUNT: i32 = 0;
const HOT_COUNTER: u32 = 0;

#[derive(Default)]
pub struct Plant {
    bank: Bank,
    board: Board,
    trial: u64,
    committed_before: u64,
    running: Option<Running>,
}

struct Running {
    knobs: Knobs,
    time_factor: f64,
    machine: Machine,
    /// None where operations need no processor.
    computing: Option<Computing>,
    operations: u64,
}

/// What is asked for over HTTP.
pub enum Operation {
    Increment { counter: u32, amount: u32 },
    Message { connection: u32, index: u64, body: String },
}

impl Plant {
    /// Starts trial number `trial` with these tables; the first connection after it says what the machine is.
    pub fn seed(&mut self, trial: u64, tables: &str) -> Result<(), String> {
        let (bank, board) = Tables::parse(tables)?.stored()?;
        self.committed_before = self.committed();
        (self.bank, self.board) = (bank, board);
        self.trial = trial;
        self.running = None;
        Ok(())
    }

    /// One table as it is now, in JSON.
    pub fn table(&self, name: &str) -> Result<String, String> {
        table(name, &self.bank, &self.board).ok_or_else(|| format!("table: {name:?} is none of a plant"))
    }

    /// Commits since the plant started.
    pub fn committed(&self) -> u64 {
        self.committed_before + self.bank.committed() + self.board.committed()
    }

    pub fn time_factor(&self) -> Option<f64> {
        self.running.as_ref().map(|running| running.time_factor)
    }

    /// What threads must compute, and for how many operations of this trial so far; None where they need no processor.
    pub fn computing(&self) -> Option<(Computing, u64)> {
        let running = self.running.as_ref()?;
        running.computing.map(|computing| (computing, running.operations))
    }

    /// Admits a connection by what its database's name asks for, which must be one thing in a trial.
    pub fn join(&mut self, database: &str, now: Nanoseconds) -> Result<(), String> {
        let knobs = Knobs::parse(database)?;
        match &self.running {
            Some(running) if running.knobs == knobs => Ok(()),
            Some(_) => {
                Err("this trial runs on a plant with other knobs; seed before another trial".to_owned())
            }
            None => {
                let factor = time_factor(&knobs, self.trial);
                let machine = Machine::new(&knobs, factor, now);
                let per_operation = (knobs.compute_us * 1000.0 * factor).round() as Nanoseconds;
                let computing =
                    (per_operation > 0).then_some(Computing { threads: knobs.lanes, per_operation });
                self.running =
                    Some(Running { knobs, time_factor: factor, machine, computing, operations: 0 });
                Ok(())
            }
        }
    }

    /// Runs a transfer; with when its answer is due.
    pub fn transfer(
        &mut self,
        [source, destination, amount]: [i32; 3],
        now: Nanoseconds,
    ) -> (Result<Outcome, Refusal>, Nanoseconds) {
        let due = self.admit(now, source == HOT_ACCOUNT || destination == HOT_ACCOUNT);
        (self.bank.transfer(source, destination, amount), due)
    }

    /// Runs an increment or a message; with when its answer is due.
    pub fn run(&mut self, operation: Operation, now: Nanoseconds) -> (Result<(), String>, Nanoseconds) {
        let due = self.admit(now, matches!(operation, Operation::Increment { counter: HOT_COUNTER, .. }));
        let done = match operation {
            Operation::Increment { counter, amount } => self.board.increment(counter, amount),
            Operation::Message { connection, index, body } => self.board.store(connection, index, body),
        };
        (done, due)
    }

    fn admit(&mut self, now: Nanoseconds, touches_hot_row: bool) -> Nanoseconds {
        match &mut self.running {
            Some(running) => {
                running.operations += 1;
                running.machine.admit(now, touches_hot_row)
            }
            // Seeded under its feet: what it sends belongs to no trial.
            None => now,
        }
    }
}
