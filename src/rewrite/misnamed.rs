//! Segments whose names do not agree with what they hold: the new log's segments are named after what they hold, and that
//! is told.
//!
//! Must not know: where segments begin in the new log.

use super::apply::MOST_OFFSETS;
use super::order::incident_of;
use super::plan::{Piece, SourceId, Sources, frames};
use super::report::Outcome;
use super::union::Log;
use crate::log::Inflater;
use std::collections::BTreeMap;
use std::io;

/// The offsets that a segment can hold by its name and the next one's, and by what indexes can say of it: from the first up
/// to but not including the second.
type Range = (i64, i64);

/// Tells of each of a log's own segments that holds offsets that it cannot by its name.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn tell(log: &mut Log, sources: &mut Sources, ids: &[SourceId], max_inflated: usize) -> io::Result<()> {
    let bases: Vec<_> = ids.iter().filter_map(|id| Some((*id, sources.get(*id)?.base_offset?))).collect();
    let next =
        |base: i64| bases.iter().map(|(_, other)| *other).filter(|other| *other > base).min().unwrap_or(i64::MAX);
    let range = |base: i64| (base, next(base).min(base.saturating_add(MOST_OFFSETS + 1)));
    let mut ranges: BTreeMap<SourceId, Range> = bases.iter().map(|(id, base)| (*id, range(*base))).collect();
    let mut inflater = Inflater::with_limit(max_inflated);
    for part in &log.parts {
        let piece = &part.piece;
        let Some(&(from, to)) = ranges.get(&piece.source) else { continue };
        if piece.first >= from && piece.last < to {
            continue;
        }
        let outside = first_outside(piece, (from, to), sources, &mut inflater)?;
        let (first, last) = (outside.first, outside.last);
        let (outcome, message) = if first < from {
            (Outcome::Renamed, format!("offset {first} lies below the segment's name"))
        } else if last.saturating_sub(from) > MOST_OFFSETS {
            (Outcome::Split, format!("offset {last} lies more than {MOST_OFFSETS} above the segment's name"))
        } else {
            (Outcome::Renamed, format!("offset {last} is not below the next segment's name, {to}"))
        };
        let mut incident = incident_of(&outside, "offset-range", outcome);
        incident.message = message;
        log.incidents.push(incident);
        // One batch of a segment tells.
        ranges.remove(&piece.source);
    }
    Ok(())
}

fn first_outside(
    piece: &Piece,
    (from, to): Range,
    sources: &mut Sources,
    inflater: &mut Inflater,
) -> io::Result<Piece> {
    if piece.batches <= 1 {
        return Ok(piece.clone());
    }
    let segment = sources.open(piece.source)?;
    for batch in frames(segment.bytes(), piece.from, piece.to) {
        let first = batch.first_offset(inflater).unwrap_or(batch.header().base_offset);
        let last = batch.header().last_offset;
        if first < from || last >= to {
            let end = batch.position() + batch.len();
            return Ok(Piece { from: batch.position(), to: end, first, last, ..piece.clone() });
        }
    }
    Ok(piece.clone())
}
