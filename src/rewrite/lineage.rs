//! Two logs side by side: where they overlap, and where they part.
//!
//! Must not know: what is taken from which.

use super::survey::Part;

/// Where two logs part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Divergence {
    pub(super) offset: i64,
    /// Whether the other log is of the higher epoch.
    pub(super) theirs_win: bool,
}

/// Where two parts of logs differ in their leader epoch, if they do.
pub(super) fn divergence(ours: &Part, theirs: &Part) -> Option<Divergence> {
    let (a, b) = (ours.piece.epoch, theirs.piece.epoch);
    let differ = a >= 0 && b >= 0 && a != b;
    differ.then(|| Divergence { offset: ours.piece.first.max(theirs.piece.first), theirs_win: b > a })
}

/// Parts of two logs that share offsets, pair by pair, ascending.
pub(super) fn overlaps<'p>(ours: &'p [Part], theirs: &'p [Part]) -> impl Iterator<Item = (&'p Part, &'p Part)> {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        loop {
            let (a, b) = (ours.get(i)?, theirs.get(j)?);
            if a.piece.last < b.piece.last {
                i += 1
            } else {
                j += 1
            }
            if a.piece.first.max(b.piece.first) <= a.piece.last.min(b.piece.last) {
                return Some((a, b));
            }
        }
    })
}

pub(super) fn overlapping(parts: &[Part], (first, last): (i64, i64)) -> impl Iterator<Item = &Part> {
    let from = parts.partition_point(|part| part.piece.last < first);
    parts.get(from..).unwrap_or_default().iter().take_while(move |part| part.piece.first <= last)
}

/// The offsets between parts. Within a part compaction left gaps too, which nothing can be put into without taking it
/// apart; so that only what lies between is offered.
pub(super) fn holes_between(parts: &[Part], start: i64, end: i64) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    let mut from = start;
    for part in parts {
        if part.piece.first > from {
            out.push((from, part.piece.first - 1));
        }
        from = part.piece.last.saturating_add(1);
    }
    if end > from {
        out.push((from, end - 1));
    }
    out
}
