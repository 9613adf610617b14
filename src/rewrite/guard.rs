//! Keeps the dead from coming back: of what was filled from another copy, records whose successor only that copy has.
//!
//! Where this log was compacted and the copy was not, the copy has values whose tombstones (or later values) are gone
//! here; and commits of transactions whose end markers are gone here, which would stay open for ever. Must not know:
//! where damage was.

use super::plan::{Piece, Role, Thin, frames, push};
use super::survey::Part;
use super::union::Log;
use super::walk::{Aborted, ByKey, MOST_KEYS, Walk};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;

/// What is known of a key of which records were filled in.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// The last offset in the copy.
    in_copy: i64,
    /// The last offset in the new log.
    in_log: i64,
}

/// What is known of a producer of which transactional records were filled in.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    /// The last of its records that was filled in.
    filled: i64,
    /// Its first marker behind it in the copy.
    marker: Option<i64>,
    /// Whether the new log has that marker.
    is_there: bool,
}

/// Takes out of a log what was filled from a copy and would come back from the dead; says how many records.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn guard(log: &mut Log, copy: &Log, role: Role, walk: &mut Walk<'_>) -> io::Result<u64> {
    let is_filled = |log: &Log, walk: &Walk<'_>, piece: &Piece| {
        let from_copy = walk.sources.get(piece.source).is_some_and(|source| source.role == role);
        from_copy && log.filled.range(..=piece.first).next_back().is_some_and(|(_, source)| *source == piece.source)
    };
    let filled: Vec<Piece> =
        log.parts.iter().map(|part| &part.piece).filter(|piece| is_filled(log, walk, piece)).cloned().collect();
    if filled.is_empty() {
        return Ok(0);
    }
    let mut guard = Guard { keys: ByKey::default(), producers: HashMap::default() };
    guard.learn(&filled, walk)?;
    guard.compare(log, copy, walk)?;
    if !guard.keys.values().any(is_dead) && !guard.producers.values().any(hangs) {
        return Ok(0);
    }
    let mut taken_out = 0;
    let mut parts = Vec::new();
    for part in std::mem::take(&mut log.parts) {
        if !is_filled(log, walk, &part.piece) {
            parts.push(part);
            continue;
        }
        let (thinned, gone) = guard.thin(&part.piece, walk)?;
        taken_out += gone;
        parts.extend(thinned.into_iter().map(|piece| Part { piece, incident: part.incident }));
    }
    log.parts = parts;
    Ok(taken_out)
}

fn is_dead(seen: &Seen) -> bool {
    seen.in_log < seen.in_copy
}

fn hangs(ends: &Ends) -> bool {
    ends.marker.is_some() && !ends.is_there
}

struct Guard {
    keys: ByKey<Seen>,
    producers: HashMap<i64, Ends, FixedState>,
}

impl Guard {
    fn learn(&mut self, filled: &[Piece], walk: &mut Walk<'_>) -> io::Result<()> {
        let Guard { keys, producers } = self;
        walk.records(filled, |met| {
            if met.batch.transactional {
                let ends = producers.entry(met.batch.producer_id).or_default();
                ends.filled = ends.filled.max(met.batch.last_offset);
            }
            if keys.len() < MOST_KEYS && !keys.contains_key(met.identity) {
                keys.insert(met.identity.into(), Seen { in_copy: -1, in_log: -1 });
            }
        })
    }

    /// Where keys and producers of what was filled in come last in the copy, and in the log.
    fn compare(&mut self, log: &Log, copy: &Log, walk: &mut Walk<'_>) -> io::Result<()> {
        if !self.producers.is_empty() {
            self.markers(log, copy, walk)?;
        }
        let keys = &mut self.keys;
        // What was aborted supersedes nothing.
        let aborted = Aborted::of(copy, walk)?;
        walk.records(copy.pieces(), |met| {
            if let Some(seen) = keys.get_mut(met.identity).filter(|_| !aborted.has(met.batch)) {
                seen.in_copy = seen.in_copy.max(met.record.offset);
            }
        })?;
        let aborted = Aborted::of(log, walk)?;
        walk.records(log.pieces(), |met| {
            let Some(seen) = keys.get_mut(met.identity) else { return };
            // A copy that ends within a transaction does not know that it was aborted.
            if !aborted.has(met.batch) || met.record.offset == seen.in_copy {
                seen.in_log = seen.in_log.max(met.record.offset);
            }
        })
    }

    fn markers(&mut self, log: &Log, copy: &Log, walk: &mut Walk<'_>) -> io::Result<()> {
        let producers = &mut self.producers;
        walk.heads(copy.pieces(), |header| {
            let ends = producers.get_mut(&header.producer_id).filter(|_| header.control);
            if let Some(ends) = ends.filter(|ends| header.base_offset > ends.filled) {
                ends.marker.get_or_insert(header.base_offset);
            }
        })?;
        walk.heads(log.pieces(), |header| {
            if let Some(ends) = producers.get_mut(&header.producer_id).filter(|_| header.control) {
                ends.is_there |= ends.marker == Some(header.base_offset);
            }
        })
    }

    /// A piece without the dead, and how many those are.
    fn thin(&self, piece: &Piece, walk: &mut Walk<'_>) -> io::Result<(Vec<Piece>, u64)> {
        let mut out = Vec::new();
        let mut gone = 0;
        let Walk { sources, keyed, .. } = walk;
        let segment = sources.open(piece.source)?;
        for batch in frames(segment.bytes(), piece.from, piece.to) {
            let header = batch.header();
            let before = piece.edit.thin.clone().unwrap_or_else(Thin::nothing);
            let hanging =
                header.transactional && !header.control && self.producers.get(&header.producer_id).is_some_and(hangs);
            let mut dropped = before.dropped.to_vec();
            let (mut stays, mut leaves) = (0, 0);
            let (mut first, mut last) = (header.base_offset, header.last_offset);
            keyed.each(&batch, |place, record, identity| {
                (first, last) = (first.min(record.offset), last.max(record.offset));
                if !before.within.contains(&record.offset) || before.dropped.binary_search(&place).is_ok() {
                    return;
                }
                let is_dead = !header.control && self.keys.get(identity).is_some_and(is_dead);
                match is_dead || hanging {
                    true => {
                        dropped.push(place);
                        leaves += 1;
                    }
                    false => stays += 1,
                }
            });
            gone += leaves;
            if stays == 0 && header.count != 0 {
                continue;
            }
            let mut single = Piece {
                from: batch.position(),
                to: batch.position() + batch.len(),
                first: first.max(*before.within.start()),
                last: last.min(*before.within.end()),
                batches: 1,
                records: stays,
                ..piece.clone()
            };
            if leaves > 0 {
                dropped.sort_unstable();
                single.edit.thin = Some(Thin { dropped: dropped.into(), ..before });
            }
            push(&mut out, single);
        }
        Ok((out, gone))
    }
}
