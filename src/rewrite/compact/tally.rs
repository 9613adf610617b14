//! Counts of what was read and what stays.
//!
//! Must not know: why something goes.

use crate::log::Record;

/// Types that are told apart: 0 to 24, and all others together.
pub const TYPES: usize = 26;

/// Records of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfType {
    /// Records with a value.
    pub values: u64,
    /// Records without one.
    pub tombstones: u64,
    /// Bytes of both as framed, uncompressed.
    pub bytes: u64,
}

/// Batches and records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Batches, empty ones too.
    pub batches: u64,
    /// Batches without records.
    pub empty: u64,
    /// Bytes of the batches, as stored.
    pub bytes: u64,
    /// Records, control records too.
    pub records: u64,
    /// By number; the last of them is for all that no release knows, and keys that cannot be read.
    pub types: [OfType; TYPES],
    /// Records without a key.
    pub keyless: u64,
    /// COMMIT markers.
    pub commits: u64,
    /// ABORT markers.
    pub aborts: u64,
    /// Batches whose tombstones or marker have a delete horizon.
    pub horizons: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            batches: 0,
            empty: 0,
            bytes: 0,
            records: 0,
            types: [OfType::default(); TYPES],
            keyless: 0,
            commits: 0,
            aborts: 0,
            horizons: 0,
        }
    }
}

impl Tally {
    /// Counts a data record, and its key's type.
    #[inline(always)]
    pub fn record(&mut self, record: &Record<'_>) {
        self.count(record.key, record.value.is_some(), record.bytes.len());
    }

    /// As [`record`](Tally::record), by its parts; so many bytes as framed.
    #[inline(always)]
    pub fn count(&mut self, key: Option<&[u8]>, has_value: bool, length: usize) {
        self.records += 1;
        let Some(key) = key else {
            self.keyless += 1;
            return;
        };
        if let Some(of_type) = self.types.get_mut(type_of(key)) {
            match has_value {
                true => of_type.values += 1,
                false => of_type.tombstones += 1,
            }
            of_type.bytes += length as u64;
        }
    }

    /// Records of all types.
    pub fn data(&self) -> u64 {
        self.types.iter().map(|it| it.values + it.tombstones).sum::<u64>() + self.keyless
    }

    /// Tombstones of all types.
    pub fn tombstones(&self) -> u64 {
        self.types.iter().map(|it| it.tombstones).sum()
    }
}

/// The place of a key's type in [`Tally::types`].
#[inline(always)]
fn type_of(key: &[u8]) -> usize {
    match key {
        [0, number, ..] => usize::from(*number).min(TYPES - 1),
        _ => TYPES - 1,
    }
}
