//! Accounts and transfers between them, as the module of a real system keeps them.

use std::fmt::{self, Display};

#[derive(Default)]
pub struct Bank {
    balances: Vec<i64>,
    committed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Transferred,
    Insufficient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NoAccount(i32),
    OneAccount(i32),
    Amount(i32),
}

impl Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount(account) => write!(formatter, "account {account} does not exist"),
            Self::OneAccount(account) => {
                write!(formatter, "source and destination must be two accounts, not {account} twice")
            }
            Self::Amount(amount) => write!(formatter, "amount {amount} is below 1"),
        }
    }
}

impl Bank {
    pub fn seeded(balances: Vec<i64>) -> Self {
        Self { balances, committed: 0 }
    }

    pub fn transfer(&mut self, source: i32, destination: i32, amount: i32) -> Result<Outcome, Refusal> {
        if amount < 1 {
            return Err(Refusal::Amount(amount));
        }
        if source == destination {
            return Err(Refusal::OneAccount(source));
        }
        let (from, to) = (self.place(source)?, self.place(destination)?);
        if self.balances[from] < i64::from(amount) {
            return Ok(Outcome::Insufficient);
        }
        self.balances[from] -= i64::from(amount);
        self.balances[to] += i64::from(amount);
        self.committed += 1;
        Ok(Outcome::Transferred)
    }

    fn place(&self, account: i32) -> Result<usize, Refusal> {
        let place = usize::try_from(account).ok().filter(|place| *place < self.balances.len());
        place.ok_or(Refusal::NoAccount(account))
    }

    pub fn balances(&self) -> &[i64] {
        &self.balances
    }

    pub fn committed(&self) -> u64 {
        self.committed
    }
}
