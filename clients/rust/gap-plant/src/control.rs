//! What the harness asks: one line each way, but for `balances`, which are bytes after the line of their count.
//!
//! - `seed ACCOUNTS INITIAL_BALANCE TRIAL` is answered by `ok`
//! - `state` by `{"accounts":...,"committed":...,"time_factor":...,"simulated":true}`; the factor is null until a
//!   client connects
//! - `balances` by the number of bytes, then that many: little-endian i64, in the order of the accounts

use crate::plant::Plant;

const ACCOUNTS_MAX: usize = 1 << 21;

/// Answers one line without its end.
pub fn answer(line: &str, plant: &mut Plant, out: &mut Vec<u8>) {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        ["state"] => {
            let factor = plant.time_factor().map_or("null".to_owned(), |factor| factor.to_string());
            let (accounts, committed) = (plant.bank.balances().len(), plant.committed());
            let state = format!(
                r#"{{"accounts":{accounts},"committed":{committed},"time_factor":{factor},"simulated":true}}"#
            );
            out.extend_from_slice(state.as_bytes());
            out.push(b'\n');
        }
        ["balances"] => {
            let balances = plant.bank.balances();
            out.extend_from_slice(format!("{}\n", size_of_val(balances)).as_bytes());
            out.extend(balances.iter().flat_map(|balance| balance.to_le_bytes()));
        }
        ["seed", accounts, initial_balance, trial] => {
            let seeded = seed(plant, accounts, initial_balance, trial);
            let said = seeded.map_or_else(|refusal| format!("error {refusal}\n"), |()| "ok\n".to_owned());
            out.extend_from_slice(said.as_bytes());
        }
        _ => out.extend_from_slice(b"error say: seed ACCOUNTS INITIAL_BALANCE TRIAL, state or balances\n"),
    }
}

fn seed(plant: &mut Plant, accounts: &str, initial_balance: &str, trial: &str) -> Result<(), String> {
    let accounts = accounts.parse().ok().filter(|count| (2..=ACCOUNTS_MAX).contains(count));
    let initial_balance = initial_balance.parse().ok().filter(|balance| *balance >= 0);
    plant.seed(
        accounts.ok_or_else(|| format!("accounts: 2 to {ACCOUNTS_MAX}"))?,
        initial_balance.ok_or("initial balance: a whole number from 0")?,
        trial.parse().map_err(|_| "trial: a whole number from 0")?,
    );
    Ok(())
}
