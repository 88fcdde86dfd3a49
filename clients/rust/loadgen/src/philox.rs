//! Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The keys of the rounds, which follow from the one key.
pub type RoundKeys = [[u32; 2]; ROUNDS];

pub fn round_keys([k0, k1]: [u32; 2]) -> RoundKeys {
    std::array::from_fn(|round| {
        let steps = round as u32;
        [k0.wrapping_add(WEYL[0].wrapping_mul(steps)), k1.wrapping_add(WEYL[1].wrapping_mul(steps))]
    })
}

/// The block of random numbers that belongs to `counter`. Left to itself, the compiler inlines it in none of several
/// places, and a drawn operation costs half as much again.
#[inline(always)]
pub fn philox4x32_10(counter: [u32; 4], keys: &RoundKeys) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    for [k0, k1] in keys {
        let (high_0, low_0) = widening_multiply(MULTIPLIERS[0], c0);
        let (high_1, low_1) = widening_multiply(MULTIPLIERS[1], c2);
        (c0, c1, c2, c3) = (high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0);
    }
    [c0, c1, c2, c3]
}

#[inline]
fn widening_multiply(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with Random123 (`kat_vectors`, philox4x32 10).
    #[test]
    fn agrees_with_the_published_known_answers() {
        let ones = u32::MAX;
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox4x32_10(counter, &round_keys(key)), expected);
        }
    }
}
