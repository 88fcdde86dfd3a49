//! One bank on one machine, shared by all connections of a trial.

use gap_delay::Nanoseconds;

use crate::bank::{Bank, Outcome, Refusal};
use crate::knobs::Knobs;
use crate::machine::Machine;
use crate::noise::time_factor;

const HOT_ACCOUNT: i32 = 0;

#[derive(Default)]
pub struct Plant {
    pub bank: Bank,
    trial: u64,
    committed_before: u64,
    running: Option<Running>,
}

struct Running {
    knobs: Knobs,
    time_factor: f64,
    machine: Machine,
}

impl Plant {
    /// Starts trial number `trial`; the first connection after it says what the machine is.
    pub fn seed(&mut self, accounts: usize, initial_balance: i64, trial: u64) {
        self.committed_before = self.committed();
        self.bank = Bank::seeded(accounts, initial_balance);
        self.trial = trial;
        self.running = None;
    }

    /// Commits since the plant started.
    pub fn committed(&self) -> u64 {
        self.committed_before + self.bank.committed()
    }

    pub fn time_factor(&self) -> Option<f64> {
        self.running.as_ref().map(|running| running.time_factor)
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
                self.running = Some(Running { knobs, time_factor: factor, machine });
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
        let touches_hot_account = source == HOT_ACCOUNT || destination == HOT_ACCOUNT;
        let due = match &mut self.running {
            Some(running) => running.machine.admit(now, touches_hot_account),
            // Seeded under its feet: what it sends belongs to no trial.
            None => now,
        };
        (self.bank.transfer(source, destination, amount), due)
    }
}
