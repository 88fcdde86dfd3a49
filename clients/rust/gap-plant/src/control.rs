//! What the harness asks: one line each way, but for `table`, which is bytes after the line of their count.
//!
//! - `seed TRIAL TABLES` is answered by `ok`; the tables are JSON, as `tables.rs` reads them
//! - `state` by `{"committed":...,"time_factor":...,"simulated":true}`; the factor is null until a client connects
//! - `table NAME` by the number of bytes, then that many: JSON, each column an array

use crate::plant::Plant;

const KNOWN: &str = "say: seed TRIAL TABLES, state, or table NAME";

/// Answers one line without its end.
pub fn answer(line: &str, plant: &mut Plant, out: &mut Vec<u8>) {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    let said = match words[..] {
        ["state"] => Ok(state(plant)),
        ["table", name] => plant.table(name).map(|rows| format!("{}\n{rows}", rows.len())),
        ["seed", trial, tables] => seed(plant, trial, tables),
        _ => Err(KNOWN.to_owned()),
    };
    out.extend_from_slice(said.unwrap_or_else(|refusal| format!("error {refusal}\n")).as_bytes());
}

fn state(plant: &Plant) -> String {
    let factor = plant.time_factor().map_or("null".to_owned(), |factor| factor.to_string());
    let committed = plant.committed();
    format!("{{\"committed\":{committed},\"time_factor\":{factor},\"simulated\":true}}\n")
}

fn seed(plant: &mut Plant, trial: &str, tables: &str) -> Result<String, String> {
    let trial = trial.parse().map_err(|_| "trial: a whole number from 0")?;
    plant.seed(trial, tables).map(|()| "ok\n".to_owned())
}
