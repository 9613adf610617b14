//! Offsets that are missing between two segments though nothing there looks damaged: a segment file that is gone.
//!
//! Compaction leaves such gaps too, but never takes the last record of a key. So a gap is none of compaction's where a
//! copy holds in it the last value that either log has of a key. Nor is it where the segment before it still has two
//! records of one key: compaction goes from the front (but a follower that was behind may have fetched what its leader had
//! compacted: what a copy has there does no harm). Must not know: what is done about it.

use super::interrupt::Interrupt;
use super::lineage::overlapping;
use super::plan::{Piece, Reader, Sources};
use super::survey::Part;
use crate::log::{Batch, Inflater};
use crate::model::losses::identity;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;
use std::io;

/// Of more keys than these, the rest are not looked at.
const MOST_KEYS: usize = 2_000_000;

/// The last record of a key in any of the gaps.
#[derive(Debug, Clone, Copy)]
struct Last {
    gap: usize,
    offset: i64,
    has_value: bool,
}

/// Which of the gaps between our segments hold, in a copy, the last value of a key.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn missing(
    ours: &[Part],
    theirs: &[Part],
    lost: &[(i64, i64)],
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Vec<(i64, i64)>> {
    let gaps = gaps(ours, theirs, lost);
    let mut keys: HashMap<Box<[u8]>, Last, FixedState> = HashMap::default();
    let mut scratch = Vec::new();
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut reader = Reader::new(max_inflated);
    let mut each = |sources: &mut Sources, piece: &Piece, see: &mut dyn FnMut(&Batch<'_>)| {
        reader.piece(sources, piece, |batch| {
            interrupt.check()?;
            if !batch.header().control {
                see(batch);
            }
            Ok(())
        })
    };
    let mut walked: Option<*const Part> = None;
    for part in gaps.iter().flat_map(|gap| overlapping(theirs, *gap)) {
        // Two gaps may lie in one part.
        if walked.replace(part) == Some(std::ptr::from_ref(part)) {
            continue;
        }
        each(sources, &part.piece, &mut |batch| {
            // Whether a transaction counts is not asked here.
            if batch.header().transactional {
                return;
            }
            for record in batch.records(&mut inflater).by_ref().flatten() {
                let Some(key) = record.key else { continue };
                let gap = gaps.partition_point(|(_, last)| *last < record.offset);
                if gaps.get(gap).is_none_or(|(first, _)| *first > record.offset) || keys.len() >= MOST_KEYS {
                    continue;
                }
                identity(key, &mut scratch);
                let last = Last { gap, offset: record.offset, has_value: record.value.is_some() };
                keys.insert(scratch.as_slice().into(), last);
            }
        })?;
    }
    for part in theirs.iter().chain(ours) {
        if keys.is_empty() {
            break;
        }
        each(sources, &part.piece, &mut |batch| {
            for record in batch.records(&mut inflater).by_ref().flatten() {
                identity(record.key.unwrap_or_default(), &mut scratch);
                if keys.get(scratch.as_slice()).is_some_and(|last| last.offset < record.offset) {
                    keys.remove(scratch.as_slice());
                }
            }
        })?;
    }
    let mut proved: BTreeSet<usize> = keys.values().filter(|last| last.has_value).map(|last| last.gap).collect();
    for (number, gap) in gaps.iter().enumerate() {
        let before = ours.partition_point(|part| part.piece.last < gap.0);
        let Some(source) = before.checked_sub(1).and_then(|place| ours.get(place)).map(|part| part.piece.source) else {
            continue;
        };
        let (mut seen, mut twice) = (HashSet::<Box<[u8]>, FixedState>::default(), false);
        for part in ours.iter().filter(|part| part.piece.source == source && !proved.contains(&number)) {
            each(sources, &part.piece, &mut |batch| {
                if twice || batch.header().transactional || seen.len() >= MOST_KEYS {
                    return;
                }
                for record in batch.records(&mut inflater).by_ref().flatten() {
                    twice |= record.key.is_some_and(|key| !seen.insert(key.into()));
                }
            })?;
        }
        if twice {
            proved.insert(number);
        }
    }
    Ok(proved.into_iter().filter_map(|gap| gaps.get(gap).copied()).collect())
}

/// The gaps between parts of different files of which the copy has something, but for those that damage made.
fn gaps(ours: &[Part], theirs: &[Part], lost: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let between = ours.windows(2).filter_map(|pair| {
        let [a, b] = pair else { return None };
        let range = (a.piece.last.checked_add(1)?, b.piece.first.checked_sub(1)?);
        (a.piece.source != b.piece.source && range.0 <= range.1).then_some(range)
    });
    let is_damage = |(first, last): &(i64, i64)| {
        let behind = lost.partition_point(|(_, end)| end < first);
        lost.get(behind).is_some_and(|(start, _)| start <= last)
    };
    between.filter(|range| !is_damage(range) && overlapping(theirs, *range).next().is_some()).collect()
}
