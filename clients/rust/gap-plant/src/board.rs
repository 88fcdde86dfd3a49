//! Counters and messages, as the module of a real system keeps them.

use std::collections::btree_map::Entry;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Board {
    values: Vec<i64>,
    /// By connection and index.
    messages: BTreeMap<(u32, u64), String>,
    committed: u64,
}

impl Board {
    pub fn seeded(values: Vec<i64>, messages: BTreeMap<(u32, u64), String>) -> Self {
        Self { values, messages, committed: 0 }
    }

    pub fn increment(&mut self, counter: u32, amount: u32) -> Result<(), String> {
        let value = self.values.get_mut(counter as usize);
        *value.ok_or_else(|| format!("counter {counter} does not exist"))? += i64::from(amount);
        self.committed += 1;
        Ok(())
    }

    pub fn store(&mut self, connection: u32, index: u64, body: String) -> Result<(), String> {
        match self.messages.entry((connection, index)) {
            Entry::Occupied(_) => {
                Err(format!("message {index} of connection {connection} is stored already"))
            }
            Entry::Vacant(place) => {
                place.insert(body);
                self.committed += 1;
                Ok(())
            }
        }
    }

    pub fn values(&self) -> &[i64] {
        &self.values
    }

    pub fn messages(&self) -> &BTreeMap<(u32, u64), String> {
        &self.messages
    }

    pub fn committed(&self) -> u64 {
        self.committed
    }
}
