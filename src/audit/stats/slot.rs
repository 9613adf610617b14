//! What is counted of one key, beside the record that it has last: on one line of the processor's cache.
//!
//! Must not know: what the key is.

use crate::model::stats::Sum;
use crate::rewrite::compact::slot::{NONE, Slot, Winner};

/// What a record adds to its key's figures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Note {
    pub of: Of,
    /// Its share of the stored bytes.
    pub bytes: u32,
    /// In ms since 1970; below 0 for none.
    pub time: i64,
    /// The offset that is committed.
    pub offset: i64,
}

/// What a record is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Of {
    /// None that is to be counted.
    #[default]
    Nothing,
    /// A committed offset.
    Commit,
    /// One that cannot be read, or whose transaction has not ended.
    Unsettled,
    /// The end of its transaction, which was committed. It was counted.
    Settled,
    /// A record of another type.
    Value,
    /// A record without a value.
    Tombstone,
}

/// The figures of a key.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct KeySum {
    last: Winner,
    counts: Counts,
    bytes: u64,
    /// The time of the earliest commit; above all times without one.
    first_time: u64,
    /// The time of the latest commit; below 0 without one.
    last_time: i64,
    /// The offset that was committed last, if `counts` says that there is one.
    committed: i64,
}

/// Records, tombstones and unchanged commits, and whether an offset is committed: more records of 60 bytes than these 42
/// bits can count are 260 TB.
#[derive(Debug, Clone, Copy, Default)]
struct Counts(u128);

const BITS: u32 = 42;
const RECORD: u128 = 1;
const TOMBSTONE: u128 = RECORD << BITS;
const UNCHANGED: u128 = TOMBSTONE << BITS;
const COMMITTED: u128 = UNCHANGED << BITS;

impl Counts {
    fn get(self, one: u128) -> u64 {
        (self.0 / one) as u64 & ((1 << BITS) - 1)
    }
}

impl Default for KeySum {
    fn default() -> Self {
        let counts = Counts::default();
        KeySum { last: NONE, counts, bytes: 0, first_time: u64::MAX, last_time: -1, committed: 0 }
    }
}

impl Slot for KeySum {
    type Note = Note;
    type Other = OtherSum;
    const DENSE: usize = 16;

    #[inline(always)]
    fn put(&mut self, record: Winner, note: Note) -> bool {
        self.note(note);
        self.last.raise(record)
    }

    #[inline(always)]
    fn last(&self) -> Winner {
        self.last
    }
}

impl KeySum {
    #[inline(always)]
    fn note(&mut self, note: Note) {
        self.bytes += u64::from(note.bytes);
        match note.of {
            Of::Commit => {
                self.counts.0 += RECORD;
                self.at(note.time);
                self.commit(note.offset);
            }
            Of::Tombstone => {
                self.counts.0 += RECORD + TOMBSTONE;
                self.counts.0 &= !COMMITTED;
            }
            Of::Value => self.counts.0 += RECORD,
            Of::Unsettled => {
                self.counts.0 += RECORD;
                self.at(note.time);
            }
            Of::Settled => self.commit(note.offset),
            Of::Nothing => {}
        }
    }

    #[inline(always)]
    fn at(&mut self, time: i64) {
        self.first_time = self.first_time.min(time as u64);
        self.last_time = self.last_time.max(time);
    }

    /// An offset is committed; whether it is the one from before.
    #[inline(always)]
    fn commit(&mut self, offset: i64) {
        let unchanged = self.counts.0 & COMMITTED != 0 && self.committed == offset;
        self.counts.0 += if unchanged { UNCHANGED } else { 0 };
        self.counts.0 |= COMMITTED;
        self.committed = offset;
    }

    /// How many records it has.
    pub(super) fn records(&self) -> u64 {
        self.counts.get(RECORD)
    }

    /// Commits of the offset that was committed before them.
    pub(super) fn unchanged(&self) -> u64 {
        self.counts.get(UNCHANGED)
    }

    /// All of it.
    pub(super) fn sum(&self) -> Sum {
        let (records, tombstones, unchanged) = (self.records(), self.counts.get(TOMBSTONE), self.unchanged());
        let commit_times = times(self.first_time, self.last_time);
        let commits = records - tombstones;
        Sum { records, tombstones, bytes: self.bytes, commits, unchanged, commit_times, ..Sum::default() }
    }
}

/// The figures of a key that is no commit's. There are many of members that are gone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OtherSum {
    last: Winner,
    /// Bytes above records above tombstones: more than these bits can count are 280 TB.
    counts: u128,
}

const OTHER_BITS: u32 = 40;

impl Slot for OtherSum {
    type Note = Note;
    type Other = Self;
    const DENSE: usize = KeySum::DENSE;

    #[inline(always)]
    fn put(&mut self, record: Winner, note: Note) -> bool {
        let (records, tombstones) = match note.of {
            Of::Nothing | Of::Settled => (0, 0),
            Of::Tombstone => (1, 1),
            Of::Commit | Of::Unsettled | Of::Value => (1, 0),
        };
        self.counts += (u128::from(note.bytes) << OTHER_BITS | records) << OTHER_BITS | tombstones;
        self.last.raise(record)
    }

    #[inline(always)]
    fn last(&self) -> Winner {
        self.last
    }
}

impl OtherSum {
    /// All of it.
    pub(super) fn sum(&self) -> Sum {
        let low = |counts: u128| counts as u64 & ((1 << OTHER_BITS) - 1);
        let (records, tombstones) = (low(self.counts >> OTHER_BITS), low(self.counts));
        Sum { records, tombstones, bytes: (self.counts >> (2 * OTHER_BITS)) as u64, ..Sum::default() }
    }
}

/// The times of the earliest and the latest commit, if there is one that has a time.
pub(super) fn times(first: u64, last: i64) -> Option<(i64, i64)> {
    Some((i64::try_from(first).ok()?, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_fits_a_line_and_counts() {
        assert_eq!(size_of::<KeySum>(), 64);
        let mut slot = KeySum::default();
        let note = |of, time, offset| Note { of, bytes: 10, time, offset };
        let at = |offset| Winner { offset, place: 0 };
        assert!(!slot.put(NONE, note(Of::Commit, -1, 5)));
        assert_eq!(slot.sum().commit_times, None);
        assert!(slot.put(at(3), note(Of::Commit, 70, 5)));
        assert!(!slot.put(at(2), note(Of::Commit, 60, 6)));
        assert!(!slot.put(at(4), note(Of::Tombstone, 90, 0)));
        // Behind a tombstone, nothing is unchanged.
        assert!(!slot.put(at(5), note(Of::Commit, 80, 6)));
        assert!(!slot.put(NONE, note(Of::Unsettled, 80, 6)));
        assert!(!slot.put(NONE, Note { bytes: 0, ..note(Of::Settled, 0, 6) }));
        let sum = slot.sum();
        let expected = Sum { records: 6, tombstones: 1, bytes: 60, commits: 5, unchanged: 2, ..Sum::default() };
        assert_eq!(sum, Sum { commit_times: Some((60, 80)), ..expected });
        assert_eq!(slot.last(), at(5));
        let mut other = OtherSum::default();
        assert!(!other.put(NONE, note(Of::Value, 0, 0)) && other.put(at(7), note(Of::Tombstone, 0, 0)));
        assert!(!other.put(at(8), Note { bytes: u32::MAX, ..note(Of::Value, 0, 0) }));
        let bytes = 20 + u64::from(u32::MAX);
        assert_eq!(other.sum(), Sum { records: 3, tombstones: 1, bytes, ..Sum::default() });
        assert_eq!(other.last(), at(8));
    }
}
