//! `leader-epoch-checkpoint` of a new log: the old file where every batch agrees with it, else made from the batches.
//!
//! The old one is better where it holds: compaction may have taken the first batches of an epoch. Must not know: where
//! the file goes.

use crate::log::checkpoint::{EpochStart, leader_epochs};

/// Collects the leader epochs of batches, in log order.
#[derive(Debug, Default)]
pub struct Epochs {
    old: Option<Old>,
    /// As the batches say.
    made: Vec<EpochStart>,
}

#[derive(Debug)]
struct Old {
    bytes: Vec<u8>,
    entries: Vec<EpochStart>,
    agrees: bool,
}

impl Epochs {
    /// With the old file, if there is one.
    pub fn new(old: Option<Vec<u8>>) -> Self {
        let old = old.map(|bytes| {
            let read = leader_epochs(&bytes);
            let ascends = |pair: &[EpochStart]| match pair {
                [a, b] => a.epoch < b.epoch && a.start_offset <= b.start_offset,
                _ => true,
            };
            let agrees = read.oddities.is_empty() && read.entries.windows(2).all(ascends);
            Old { bytes, entries: read.entries, agrees }
        });
        Epochs { old, made: Vec::new() }
    }

    /// Takes up a batch; its epoch is None where it is not to be believed.
    pub fn batch(&mut self, first_offset: i64, epoch: Option<i32>) {
        let Some(epoch) = epoch.filter(|epoch| *epoch >= 0) else { return };
        if let Some(old) = self.old.as_mut().filter(|old| old.agrees) {
            let behind = old.entries.partition_point(|entry| entry.start_offset <= first_offset);
            let stands = behind.checked_sub(1).and_then(|at| old.entries.get(at)).map(|entry| entry.epoch);
            old.agrees = stands == Some(epoch);
        }
        if self.made.last().is_none_or(|last| epoch > last.epoch) {
            self.made.push(EpochStart { epoch, start_offset: first_offset });
        }
    }

    /// The new file for a log that ends at an offset, and whether it is the old one. Of what begins behind the end, a
    /// broker drops the epoch too.
    pub fn file(&self, end: i64) -> (Vec<u8>, bool) {
        let old = self.old.as_ref().filter(|old| old.agrees);
        let entries = old.map_or(&self.made, |old| &old.entries);
        let within = entries.partition_point(|entry| entry.start_offset <= end);
        if let Some(old) = old.filter(|_| within == entries.len()) {
            return (old.bytes.clone(), true);
        }
        let entries = entries.get(..within).unwrap_or_default();
        let mut text = format!("0\n{}\n", entries.len());
        for entry in entries {
            text.push_str(&format!("{} {}\n", entry.epoch, entry.start_offset));
        }
        (text.into_bytes(), false)
    }
}

/// A batch that an old `leader-epoch-checkpoint` does not bear out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOdds {
    /// An offset of it.
    pub offset: i64,
    /// The epoch that it names.
    pub batch: i32,
    /// The epoch that the file has there; None where none has begun.
    pub file: Option<i32>,
}

/// The first of some offsets whose batch names another epoch than the file has there.
pub fn at_odds(entries: &[EpochStart], offsets: impl IntoIterator<Item = (i64, i32)>) -> Option<AtOdds> {
    let check = |(offset, batch): (i64, i32)| {
        let behind = entries.partition_point(|entry| entry.start_offset <= offset);
        let file = behind.checked_sub(1).and_then(|at| entries.get(at)).map(|entry| entry.epoch);
        (batch >= 0 && file != Some(batch)).then_some(AtOdds { offset, batch, file })
    };
    offsets.into_iter().find_map(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: Option<&str>, batches: &[(i64, i32)]) -> (String, bool) {
        up_to(i64::MAX, old, batches)
    }

    fn up_to(end: i64, old: Option<&str>, batches: &[(i64, i32)]) -> (String, bool) {
        let mut epochs = Epochs::new(old.map(|text| text.as_bytes().to_vec()));
        batches.iter().for_each(|(offset, epoch)| epochs.batch(*offset, Some(*epoch)));
        let (bytes, is_old) = epochs.file(end);
        (String::from_utf8(bytes).unwrap(), is_old)
    }

    #[test]
    fn the_old_file_stays_where_it_holds() {
        let old = "0\n2\n0 0\n3 50\n";
        assert_eq!(of(Some(old), &[(7, 0), (60, 3)]), (old.to_owned(), true));
        for old in [Some("0\n2\n0 0\n3 61\n"), Some("0\n1\n0 0\n"), Some("0\n2\n0 0\n3"), None] {
            assert_eq!(of(old, &[(7, 0), (60, 3), (70, 3)]), ("0\n2\n0 7\n3 60\n".to_owned(), false));
        }
    }

    #[test]
    fn epochs_that_begin_behind_the_end_go() {
        let old = "0\n3\n0 0\n3 50\n4 70\n";
        assert_eq!(up_to(70, Some(old), &[(7, 0), (60, 3)]), (old.to_owned(), true));
        assert_eq!(up_to(69, Some(old), &[(7, 0), (60, 3)]), ("0\n2\n0 0\n3 50\n".to_owned(), false));
    }

    #[test]
    fn epochs_never_go_back() {
        assert_eq!(of(None, &[(0, 4), (5, 2), (9, 5)]).0, "0\n2\n4 0\n5 9\n");
        assert_eq!(of(None, &[(0, -1)]).0, "0\n0\n");
    }
}
