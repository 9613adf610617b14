//! A roll of records: how many, and a digest of which keys at which offsets, in any order. Two rolls that agree are of the
//! same records, but for one chance in 2^64 for each time they are compared.
//!
//! Must not know: where records come from.

/// Counts records and sums up what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roll {
    /// How many.
    pub records: u64,
    sum: u64,
}

impl Roll {
    /// Takes in a record: its offset, and a hash of its key.
    #[inline(always)]
    pub fn add(&mut self, key: u64, offset: i64) {
        self.records += 1;
        self.sum = self.sum.wrapping_add(mix(key, offset as u64));
    }

    /// What is left without others, which must be in it.
    pub fn without(self, others: Roll) -> Roll {
        Roll { records: self.records.wrapping_sub(others.records), sum: self.sum.wrapping_sub(others.sum) }
    }
}

/// A hash of two numbers, the first of which is one already.
#[inline(always)]
pub fn mix(hash: u64, number: u64) -> u64 {
    // Odd numbers with their bits well spread; both halves of the product, so that every bit comes to matter.
    let product =
        u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(number.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0x2545_f491);
    (product >> 64) as u64 ^ product as u64 ^ hash.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn another_record_makes_another_roll() {
        let of = |records: &[(u64, i64)]| {
            let mut roll = Roll::default();
            records.iter().for_each(|(key, offset)| roll.add(*key, *offset));
            roll
        };
        let all = [(1 << 40, 5), (7, 6), (u64::MAX, 7)];
        assert_eq!(of(&all), of(&[all[2], all[0], all[1]]));
        assert_eq!(of(&all).without(of(&all[..1])), of(&all[1..]));
        // Keys that changed places, another key, another offset.
        assert_ne!(of(&all), of(&[(7, 5), (1 << 40, 6), all[2]]));
        assert_ne!(of(&all), of(&[all[0], (8, 6), all[2]]));
        assert_ne!(of(&all), of(&[all[0], (7, 8), all[2]]));
    }

    #[test]
    fn it_spreads() {
        let all = (0..1000u64).flat_map(|hash| (0..100).map(move |number| mix(hash << 20, number)));
        assert_eq!(all.collect::<HashSet<_>>().len(), 100_000);
    }
}
