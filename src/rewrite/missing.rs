//! Offsets that a log has nothing of, though nothing there looks damaged: compaction's doing, or a segment that is gone.
//!
//! Compaction leaves such gaps too, but never takes the last record of a key. So a gap is none of compaction's where a
//! copy holds in it the last value that either log has of a key. Nor is it where the segment before it still has two
//! records of one key: compaction goes from the front (but a follower that was behind may have fetched what its leader had
//! compacted: what a copy has there does no harm). Must not know: what is done about it.

use super::interrupt::Interrupt;
use super::lineage::overlapping;
use super::plan::{Piece, Reader, Sources};
use super::survey::Part;
use super::union::Log;
use super::union::ranges::Range;
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
        if !proved.contains(&number) && is_uncompacted_before(ours, gap.0, sources, max_inflated, interrupt)? {
            proved.insert(number);
        }
    }
    Ok(proved.into_iter().filter_map(|gap| gaps.get(gap).copied()).collect())
}

/// Whether the segment that ends before an offset has two records of one key, so that compaction did not get there.
fn is_uncompacted_before(
    parts: &[Part],
    offset: i64,
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<bool> {
    let before = parts.partition_point(|part| part.piece.last < offset);
    let Some(source) = before.checked_sub(1).and_then(|place| parts.get(place)).map(|part| part.piece.source) else {
        return Ok(false);
    };
    let (mut seen, mut twice) = (HashSet::<Box<[u8]>, FixedState>::default(), false);
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut reader = Reader::new(max_inflated);
    for part in parts.iter().filter(|part| part.piece.source == source) {
        reader.piece(sources, &part.piece, |batch| {
            interrupt.check()?;
            if twice || batch.header().transactional || batch.header().control || seen.len() >= MOST_KEYS {
                return Ok(());
            }
            for record in batch.records(&mut inflater).by_ref().flatten() {
                twice |= record.key.is_some_and(|key| !seen.insert(key.into()));
            }
            Ok(())
        })?;
    }
    Ok(twice)
}

/// Of ranges that damage took, what compaction took in a copy, which has nothing there: not where its segment before that
/// was not compacted, nor where another copy has what would have stayed.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn compacted(
    log: &Log,
    copy: &Log,
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Vec<Range>> {
    let mut holes: Vec<Range> = Vec::new();
    for hole in copy.silent_on(&log.lost()) {
        let place = copy.parts.partition_point(|part| part.piece.last < hole.0);
        let before = place.checked_sub(1).and_then(|place| copy.parts.get(place)).map(|part| part.piece.source);
        let is_within = copy.parts.get(place).is_some_and(|next| before == Some(next.piece.source));
        if is_within || !is_uncompacted_before(&copy.parts, hole.0, sources, max_inflated, interrupt)? {
            holes.push(hole);
        }
    }
    let around: Vec<Range> = holes.iter().map(|hole| copy.hole_around(*hole)).collect();
    let mut keys: HashMap<Box<[u8]>, (usize, i64), FixedState> = HashMap::default();
    let mut scratch = Vec::new();
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut reader = Reader::new(max_inflated);
    for (number, hole) in around.iter().enumerate() {
        for part in overlapping(&log.parts, *hole) {
            reader.piece(sources, &part.piece, |batch| {
                interrupt.check()?;
                if batch.header().transactional || batch.header().control {
                    return Ok(());
                }
                for record in batch.records(&mut inflater).by_ref().flatten() {
                    let is_there = (hole.0..=hole.1).contains(&record.offset) && record.value.is_some();
                    if let Some(key) = record.key.filter(|_| is_there && keys.len() < MOST_KEYS) {
                        identity(key, &mut scratch);
                        keys.insert(scratch.as_slice().into(), (number, record.offset));
                    }
                }
                Ok(())
            })?;
        }
    }
    for part in copy.parts.iter().chain(&log.parts) {
        if keys.is_empty() {
            break;
        }
        reader.piece(sources, &part.piece, |batch| {
            interrupt.check()?;
            for record in batch.records(&mut inflater).by_ref().flatten() {
                identity(record.key.unwrap_or_default(), &mut scratch);
                if keys.get(scratch.as_slice()).is_some_and(|(_, offset)| *offset < record.offset) {
                    keys.remove(scratch.as_slice());
                }
            }
            Ok(())
        })?;
    }
    let disproved: BTreeSet<usize> = keys.values().map(|(number, _)| *number).collect();
    Ok((holes.into_iter().enumerate())
        .filter(|(number, _)| !disproved.contains(number))
        .map(|(_, hole)| hole)
        .collect())
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
