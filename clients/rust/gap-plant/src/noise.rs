//! Planted noise: a factor on all times of a trial, a pure function of seed and trial.

use std::f64::consts::TAU;

use crate::knobs::Knobs;

const NOISE: u64 = 0;
const DRIFT: u64 = 1;

/// What all times of trial number `trial` (from 1) are multiplied by.
pub fn time_factor(knobs: &Knobs, trial: u64) -> f64 {
    let mut logarithm = 0.0;
    if knobs.noise_sd > 0.0 {
        logarithm += knobs.noise_sd * normal(knobs.noise_seed, NOISE, trial);
    }
    if knobs.drift_sd > 0.0 {
        let walk: f64 = (1..=trial).map(|step| normal(knobs.noise_seed, DRIFT, step)).sum();
        logarithm += knobs.drift_sd * walk;
    }
    logarithm.exp()
}

/// A draw from N(0, 1) (Box and Muller).
fn normal(seed: u64, stream: u64, trial: u64) -> f64 {
    let key = mix(mix(mix(seed) ^ stream) ^ trial);
    let radius = (-2.0 * (1.0 - unit(mix(key))).ln()).sqrt();
    radius * (TAU * unit(mix(key ^ u64::MAX))).cos()
}

/// SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014).
fn mix(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// In [0, 1), all 53 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_as_asked_and_is_the_same_every_time() {
        let knobs = Knobs { noise_seed: 7, noise_sd: 0.02, ..Knobs::default() };
        let drawn: Vec<f64> = (1..=4000).map(|trial| time_factor(&knobs, trial).ln()).collect();
        let mean = drawn.iter().sum::<f64>() / 4000.0;
        let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 3999.0;
        // Four standard errors of the mean, six of the deviation.
        assert!(mean.abs() < 4.0 * 0.02 / 4000_f64.sqrt(), "{mean}");
        assert!((variance.sqrt() / 0.02 - 1.0).abs() < 0.07, "{}", variance.sqrt());
        assert_eq!(time_factor(&knobs, 3).to_bits(), time_factor(&knobs, 3).to_bits());
        assert_eq!(time_factor(&Knobs::default(), 3), 1.0);
    }

    #[test]
    fn drifts_by_steps() {
        let knobs = Knobs { noise_seed: 7, drift_sd: 0.01, ..Knobs::default() };
        let step = time_factor(&knobs, 101).ln() - time_factor(&knobs, 100).ln();
        assert!((step - 0.01 * normal(7, DRIFT, 101)).abs() < 1e-12);
    }
}
