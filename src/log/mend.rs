//! Puts a batch right whose CRC says which single bit or byte was changed.
//!
//! CRCs are linear: what stored and computed CRC differ by depends on the change alone. A change of one bit or byte at
//! a place differs from that at any other, so the difference names the place, within limits: a longer change looks like
//! one byte somewhere with a chance of 255 in 2^32 for every byte of the batch, and like one bit with 8 in 2^32. So a
//! change is believed only where that cannot be chance, and the batch reads to the end then. Must not know: what a batch
//! holds.

use crate::log::Batch;
use crate::log::batch::{CRC_FROM, MAGIC_AT};

/// CRC-32C, as magic 2 has it (reflected).
const CASTAGNOLI: u32 = 0x82f6_3b78;
/// CRC-32, as magic 0 and 1 have it (reflected).
const IEEE: u32 = 0xedb8_8320;
/// More places that fit are not looked for.
const MOST_CANDIDATES: usize = 16;

/// A byte that may have been changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Its place in the batch.
    pub at: u32,
    /// As it stands.
    pub old: u8,
    /// As it must have been.
    pub new: u8,
}

impl Change {
    /// Whether it is of one bit.
    pub fn is_one_bit(&self) -> bool {
        (self.old ^ self.new).count_ones() == 1
    }
}

/// The most that may be expected of changes that fit by chance alone, for one of them to be believed.
const MOST_BY_CHANCE: f64 = 1e-5;

/// The one change that makes the CRC right, with which the batch also `reads_whole`, if chance cannot explain that it
/// fits: of one bit in batches of up to 5 KiB, of any other byte only in very short ones.
pub fn likely(batch: &Batch<'_>, mut reads_whole: impl FnMut(&Batch<'_>) -> bool) -> Option<Change> {
    let by_chance = |ways: u32| f64::from(ways) * batch.len() as f64 / 2f64.powi(32);
    let mut reads = |change: &Change| {
        let mut bytes = batch.bytes().to_vec();
        if let Some(byte) = bytes.get_mut(change.at as usize) {
            *byte = change.new;
        }
        Batch::new(&bytes, batch.position()).is_some_and(|mended| reads_whole(&mended))
    };
    let fitting: Vec<_> = candidates(batch).into_iter().filter(|change| reads(change)).collect();
    let mut one_bit = fitting.iter().filter(|change| change.is_one_bit());
    let (change, ways) = match (one_bit.next(), one_bit.next(), fitting.as_slice()) {
        (Some(change), None, _) => (*change, 8),
        (None, _, [change]) => (*change, 255),
        _ => return None,
    };
    (by_chance(ways) < MOST_BY_CHANCE).then_some(change)
}

struct Tables {
    forward: [u32; 256],
    /// By the highest byte of a CRC, the byte that was shifted out to make it.
    backward: [u8; 256],
}

impl Tables {
    fn of(polynomial: u32) -> Tables {
        let mut tables = Tables { forward: [0; 256], backward: [0; 256] };
        for byte in 0..=255u8 {
            let mut crc = u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
            }
            if let Some(room) = tables.forward.get_mut(usize::from(byte)) {
                *room = crc;
            }
            if let Some(room) = tables.backward.get_mut((crc >> 24) as usize) {
                *room = byte;
            }
        }
        tables
    }

    /// The CRC state before a zero byte led to this one, and the byte that would lead here from 0.
    fn back(&self, state: u32) -> (u32, u8) {
        let byte = self.backward.get((state >> 24) as usize).copied().unwrap_or_default();
        let forward = self.forward.get(usize::from(byte)).copied().unwrap_or_default();
        ((state ^ forward) << 8 | u32::from(byte), byte)
    }

    fn one(&self, byte: u8) -> u32 {
        self.forward.get(usize::from(byte)).copied().unwrap_or_default()
    }
}

/// Every change of one byte that makes the CRC right, those of one bit first. The CRC's own bytes count too. Empty for
/// a batch whose CRC is right.
pub fn candidates(batch: &Batch<'_>) -> Vec<Change> {
    let header = batch.header();
    let difference = header.crc ^ batch.crc_computed();
    let (from, crc_at, polynomial) =
        if header.magic == 2 { (CRC_FROM, CRC_FROM - 4, CASTAGNOLI) } else { (MAGIC_AT, MAGIC_AT - 4, IEEE) };
    if difference == 0 {
        return Vec::new();
    }
    let bytes = batch.bytes();
    let change = |at: usize, flipped: u8| {
        let old = bytes.get(at).copied()?;
        Some(Change { at: u32::try_from(at).ok()?, old, new: old ^ flipped })
    };
    let mut found = Vec::new();
    let of_crc = difference.to_be_bytes();
    if of_crc.iter().filter(|byte| **byte != 0).count() == 1 {
        let place = of_crc.iter().position(|byte| *byte != 0).unwrap_or(0);
        found.extend(change(crc_at + place, of_crc.get(place).copied().unwrap_or_default()));
    }
    let tables = Tables::of(polynomial);
    let mut state = difference;
    // Backwards from the last byte: `state` is what the difference was behind the byte at `at`.
    for at in (from..bytes.len()).rev() {
        let (before, byte) = tables.back(state);
        if tables.one(byte) == state && found.len() < MOST_CANDIDATES {
            found.extend(change(at, byte));
        }
        state = before;
    }
    found.sort_by_key(|change| !change.is_one_bit());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::build::seal;

    fn batch(magic: u8, length: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..length).map(|i| (i * 37 + 11) as u8).collect();
        bytes[MAGIC_AT] = magic;
        seal(&mut bytes);
        bytes
    }

    #[test]
    fn a_changed_byte_is_found() {
        for magic in [0, 1, 2] {
            for length in [62, 300, 5000] {
                let right = batch(magic, length);
                let from = if magic == 2 { CRC_FROM - 4 } else { MAGIC_AT - 4 };
                for at in (from..length).filter(|at| *at != MAGIC_AT).step_by(17).chain([length - 1]) {
                    for flipped in [1, 0x80, 0x55] {
                        let mut bytes = right.clone();
                        bytes[at] ^= flipped;
                        let found = candidates(&Batch::new(&bytes, 0).unwrap());
                        let expected = Change { at: at as u32, old: bytes[at], new: right[at] };
                        assert!(found.contains(&expected), "{magic} {length} {at} {flipped}: {found:?}");
                        assert!(found.len() == 1 || flipped == 0x55, "{found:?}");
                    }
                }
                assert_eq!(candidates(&Batch::new(&right, 0).unwrap()), []);
            }
        }
    }
}
