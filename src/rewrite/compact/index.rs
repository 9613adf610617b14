//! From hashes to numbers: a table whose places can be called into the processor's cache before they are looked at.
//!
//! Must not know: what the numbers are of; who asks compares.

use crate::machine::cpu::prefetch_item;

/// Numbers by hash, with open addressing: eight bytes a place, at most half of them taken.
#[derive(Debug, Default)]
pub struct Index {
    /// A hash and a number plus one; 0 where nothing is.
    places: Vec<u64>,
    taken: usize,
}

/// How many places there are at first.
const FIRST: usize = 1024;

impl Index {
    #[inline(always)]
    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    /// Calls the place of a hash into the cache.
    #[inline(always)]
    pub fn prefetch(&self, hash: u32) {
        prefetch_item(&self.places, hash as usize & self.mask());
    }

    /// The first number with this hash of which `is` holds.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        loop {
            match *self.places.get(at)? {
                0 => return None,
                place if (place >> 32) as u32 == hash && is(place as u32 - 1) => return Some(place as u32 - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds a number, which must not be the greatest there is.
    pub fn add(&mut self, hash: u32, number: u32) {
        if self.taken * 2 >= self.places.len() {
            let old = std::mem::take(&mut self.places);
            self.places = vec![0; (old.len() * 2).max(FIRST)];
            old.into_iter().filter(|place| *place != 0).for_each(|place| self.put(place));
        }
        self.put((u64::from(hash) << 32) | (u64::from(number) + 1));
        self.taken += 1;
    }

    fn put(&mut self, new: u64) {
        let mask = self.mask();
        let mut at = (new >> 32) as usize & mask;
        while let Some(place) = self.places.get_mut(at) {
            if *place == 0 {
                *place = new;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_was_added() {
        let mut index = Index::default();
        assert_eq!(index.find(7, |_| true), None);
        // Few hashes, so that many meet.
        let hash = |number: u32| number.wrapping_mul(0x9e37_79b9) & 0xff00_0fff;
        for number in 0..5_000 {
            index.prefetch(hash(number));
            index.add(hash(number), number);
        }
        for number in 0..5_000 {
            assert_eq!(index.find(hash(number), |it| it == number), Some(number));
            assert_eq!(index.find(hash(number), |it| it == 5_000), None);
        }
    }
}
