//! Offsets that a log has nothing of, though nothing there looks damaged: compaction's doing, or a segment that is gone.
//!
//! Compaction leaves such gaps too, but never takes the last record of a key. So a gap is none of compaction's where a
//! copy holds in it the last value that either log has of a key. Nor is it where the segment before it still has two
//! records of one key: compaction goes from the front (but a follower that was behind may have fetched what its leader had
//! compacted: what a copy has there does no harm). Must not know: what is done about it.

use super::lineage::overlapping;
use super::survey::Part;
use super::union::Log;
use super::union::ranges::Range;
use super::walk::{ByKey, MOST_KEYS, Walk, forget_superseded};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::collections::BTreeSet;
use std::io;

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
pub(super) fn missing(log: &Log, copy: &Log, walk: &mut Walk<'_>) -> io::Result<Vec<Range>> {
    let (ours, theirs) = (&log.parts, &copy.parts);
    let gaps = gaps(ours, theirs, &log.lost());
    let mut within: Vec<&Part> = gaps.iter().flat_map(|gap| overlapping(theirs, *gap)).collect();
    // Two gaps may lie in one part.
    within.dedup_by(|a, b| std::ptr::eq(*a, *b));
    let mut keys: ByKey<Last> = ByKey::default();
    walk.records(within.iter().map(|part| &part.piece), |met| {
        // Whether a transaction counts is not asked here.
        if met.batch.transactional || keys.len() >= MOST_KEYS {
            return;
        }
        let (offset, has_value) = (met.record.offset, met.record.value.is_some());
        let gap = gaps.partition_point(|(_, last)| *last < offset);
        if gaps.get(gap).is_some_and(|(first, _)| *first <= offset) {
            keys.insert(met.identity.into(), Last { gap, offset, has_value });
        }
    })?;
    for log in [copy, log] {
        forget_superseded(&mut keys, walk, log, |last| last.offset)?;
    }
    let mut proved: BTreeSet<usize> = keys.values().filter(|last| last.has_value).map(|last| last.gap).collect();
    for (number, gap) in gaps.iter().enumerate() {
        if !proved.contains(&number) && is_uncompacted_before(ours, gap.0, walk)? {
            proved.insert(number);
        }
    }
    Ok(proved.into_iter().filter_map(|gap| gaps.get(gap).copied()).collect())
}

/// Whether the segment that ends before an offset has two records of one key, so that compaction did not get there.
fn is_uncompacted_before(parts: &[Part], offset: i64, walk: &mut Walk<'_>) -> io::Result<bool> {
    let Some(source) = part_before(parts, offset).map(|part| part.piece.source) else { return Ok(false) };
    let (mut seen, mut twice) = (HashSet::<Box<[u8]>, FixedState>::default(), false);
    for part in parts.iter().filter(|part| part.piece.source == source) {
        walk.records([&part.piece], |met| {
            if !twice && !met.batch.transactional && seen.len() < MOST_KEYS {
                twice = !seen.insert(met.key.into());
            }
        })?;
        if twice {
            break;
        }
    }
    Ok(twice)
}

fn part_before(parts: &[Part], offset: i64) -> Option<&Part> {
    parts.partition_point(|part| part.piece.last < offset).checked_sub(1).and_then(|place| parts.get(place))
}

/// Of ranges that damage took, what compaction took in a copy, which has nothing there: not where its segment before that
/// was not compacted, nor where another copy has what would have stayed.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn compacted(log: &Log, copy: &Log, walk: &mut Walk<'_>) -> io::Result<Vec<Range>> {
    let mut holes: Vec<Range> = Vec::new();
    for hole in copy.silent_on(&log.lost()) {
        let before = part_before(&copy.parts, hole.0).map(|part| part.piece.source);
        let place = copy.parts.partition_point(|part| part.piece.last < hole.0);
        let next = copy.parts.get(place).map(|part| part.piece.source);
        let is_within = next.is_some() && before == next;
        if is_within || !is_uncompacted_before(&copy.parts, hole.0, walk)? {
            holes.push(hole);
        }
    }
    // By key, the hole and the offset.
    let mut keys: ByKey<(usize, i64)> = ByKey::default();
    for (number, hole) in holes.iter().enumerate() {
        let (first, last) = copy.hole_around(*hole);
        walk.records(overlapping(&log.parts, (first, last)).map(|part| &part.piece), |met| {
            let offset = met.record.offset;
            let counts = (first..=last).contains(&offset) && met.record.value.is_some() && !met.batch.transactional;
            if counts && keys.len() < MOST_KEYS {
                keys.insert(met.identity.into(), (number, offset));
            }
        })?;
    }
    for log in [copy, log] {
        forget_superseded(&mut keys, walk, log, |(_, offset)| *offset)?;
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
