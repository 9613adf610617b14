//! Shares the stored bytes of a batch out over its records, by their size: to the byte.
//!
//! Must not know: codecs.

/// What is left to share.
#[derive(Debug)]
pub struct Share {
    /// Stored bytes of the body.
    stored: u64,
    /// Bytes of all its records, inflated.
    inflated: u64,
    /// Bytes of the records so far, inflated.
    met: u64,
    /// Of the stored ones, those that were given out.
    given: u64,
}

impl Share {
    /// So many stored bytes of a body, over so many of its records, inflated.
    pub fn new(stored: u64, inflated: u64) -> Self {
        Share { stored, inflated, met: 0, given: 0 }
    }

    /// The share of the next record.
    #[inline(always)]
    pub fn of(&mut self, size: usize) -> u64 {
        self.met += size as u64;
        let until = if self.stored == self.inflated { self.met } else { self.part() };
        let share = until.min(self.stored).saturating_sub(self.given);
        self.given += share;
        share
    }

    fn part(&self) -> u64 {
        match u128::from(self.inflated) {
            0 => 0,
            inflated => (u128::from(self.stored) * u128::from(self.met) / inflated) as u64,
        }
    }

    /// What no record got.
    pub fn rest(&self) -> u64 {
        self.stored.saturating_sub(self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_and_no_more() {
        for (stored, sizes) in [(100u64, vec![30usize, 30, 40]), (7, vec![100, 1, 1]), (0, vec![5]), (1000, vec![3; 7])]
        {
            let mut share = Share::new(stored, sizes.iter().sum::<usize>() as u64);
            let given: u64 = sizes.iter().map(|size| share.of(*size)).sum();
            assert_eq!((given, share.rest()), (stored, 0));
        }
        // A body that was cut, and one of which less was inflated than it holds.
        let mut share = Share::new(100, 200);
        assert_eq!((share.of(50), share.rest()), (25, 75));
        assert_eq!((share.of(1000), share.rest()), (75, 0));
        assert_eq!(Share::new(9, 0).rest(), 9);
    }
}
