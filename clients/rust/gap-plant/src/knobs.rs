//! `plant service_us=100 round_trip_us=400`: the name of the database says what to simulate, over HTTP a header of
//! that name.

/// Longest time of a knob.
const TIME_MAX_US: f64 = 60e6;
const LANES_MAX: f64 = 4096.0;
const SEED_MAX: f64 = 9_007_199_254_740_992.0;
const DEVIATION_MAX: f64 = 1.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Knobs {
    /// Time of an operation on one of the lanes.
    pub service_us: f64,
    pub lanes: usize,
    /// Of the service time, how much a processor computes: with it the machine competes for processors.
    pub compute_us: f64,
    /// Added to every answer.
    pub round_trip_us: f64,
    /// Commits end at multiples of it; 0 for at once.
    pub commit_timer_us: f64,
    /// Time under the lock, of an operation that needs it.
    pub lock_us: f64,
    /// Share of the operations that need the lock, evenly spread; without it those that touch account or counter 0.
    pub hot: Option<f64>,
    /// The machine stands still for `stall_us` at the end of every `stall_every_us`.
    pub stall_us: f64,
    pub stall_every_us: f64,
    pub noise_seed: u64,
    /// Standard deviation of the logarithm of a trial's times.
    pub noise_sd: f64,
    /// Standard deviation of a step of the random walk that this logarithm takes from trial to trial.
    pub drift_sd: f64,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            service_us: 0.0,
            lanes: 1,
            compute_us: 0.0,
            round_trip_us: 0.0,
            commit_timer_us: 0.0,
            lock_us: 0.0,
            hot: None,
            stall_us: 0.0,
            stall_every_us: 0.0,
            noise_seed: 0,
            noise_sd: 0.0,
            drift_sd: 0.0,
        }
    }
}

impl Knobs {
    pub fn parse(database: &str) -> Result<Self, String> {
        let mut words = database.split_ascii_whitespace();
        if words.next() != Some("plant") {
            return Err(format!(
                "database {database:?} is no plant; say `plant`, then knobs such as service_us=100"
            ));
        }
        let mut knobs = Self::default();
        for word in words {
            knobs.set(word)?;
        }
        if knobs.stall_us > 0.0 && knobs.stall_us >= knobs.stall_every_us {
            return Err(format!(
                "stall_us: {} is not below stall_every_us, {}",
                knobs.stall_us, knobs.stall_every_us
            ));
        }
        if knobs.compute_us > knobs.service_us {
            return Err(format!(
                "compute_us: {} is above service_us, {}",
                knobs.compute_us, knobs.service_us
            ));
        }
        Ok(knobs)
    }

    fn set(&mut self, word: &str) -> Result<(), String> {
        let (name, text) = word.split_once('=').ok_or_else(|| format!("{word:?}: say NAME=NUMBER"))?;
        let within = |least: f64, most: f64| {
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("{name}: {text:?} is refused; allowed: {least} to {most}"))
        };
        let whole = |least: f64, most: f64| {
            let number = within(least, most)?;
            let refusal = || format!("{name}: {text:?} is refused; allowed: whole numbers {least} to {most}");
            (number.fract() == 0.0).then_some(number as u64).ok_or_else(refusal)
        };
        match name {
            "service_us" => self.service_us = within(0.0, TIME_MAX_US)?,
            "lanes" => self.lanes = whole(1.0, LANES_MAX)? as usize,
            "compute_us" => self.compute_us = within(0.0, TIME_MAX_US)?,
            "round_trip_us" => self.round_trip_us = within(0.0, TIME_MAX_US)?,
            "commit_timer_us" => self.commit_timer_us = within(0.0, TIME_MAX_US)?,
            "lock_us" => self.lock_us = within(0.0, TIME_MAX_US)?,
            "hot" => self.hot = Some(within(0.0, 1.0)?),
            "stall_us" => self.stall_us = within(0.0, TIME_MAX_US)?,
            "stall_every_us" => self.stall_every_us = within(0.0, TIME_MAX_US)?,
            "noise_seed" => self.noise_seed = whole(0.0, SEED_MAX)?,
            "noise_sd" => self.noise_sd = within(0.0, DEVIATION_MAX)?,
            "drift_sd" => self.drift_sd = within(0.0, DEVIATION_MAX)?,
            _ => {
                return Err(format!(
                    "knob {name:?} is unknown; allowed: service_us, lanes, compute_us, round_trip_us, \
                     commit_timer_us, lock_us, hot, stall_us, stall_every_us, noise_seed, noise_sd, drift_sd"
                ))
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_said_and_leaves_the_rest() {
        let knobs = Knobs::parse("plant service_us=110.5 lanes=2 hot=0.3").unwrap();
        assert_eq!(knobs, Knobs { service_us: 110.5, lanes: 2, hot: Some(0.3), ..Knobs::default() });
        assert_eq!(Knobs::parse("plant").unwrap(), Knobs::default());
    }

    #[test]
    fn refuses_by_name_what_it_cannot_be() {
        for (database, words) in [
            ("bank", "\"bank\" is no plant"),
            ("", "is no plant"),
            ("plant fast", "\"fast\": say NAME=NUMBER"),
            ("plant speed=1", "knob \"speed\" is unknown"),
            ("plant service_us=-1", "service_us: \"-1\" is refused; allowed: 0 to"),
            ("plant service_us=NaN", "service_us: \"NaN\""),
            ("plant lanes=0", "lanes: \"0\" is refused; allowed: 1 to 4096"),
            ("plant lanes=1.5", "allowed: whole numbers 1 to 4096"),
            ("plant hot=2", "hot: \"2\" is refused; allowed: 0 to 1"),
            ("plant service_us=5 compute_us=6", "compute_us: 6 is above service_us, 5"),
            ("plant stall_us=5", "stall_us: 5 is not below stall_every_us, 0"),
        ] {
            let refusal = Knobs::parse(database).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
