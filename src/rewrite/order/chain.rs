//! Which batches bear each other out: of all ways through a log in ascending order of offsets, the one that takes in most
//! batches, of which each has a base offset of its own. What it leaves out is odd.
//!
//! Only what collides with something is taken apart, and there into runs of batches that follow each other without a gap.
//! Must not know: what becomes of what is odd.

use super::super::look::look;
use super::super::plan::{Piece, SourceId, Sources, frames, patched_frames};
use super::super::survey::{Entry, Part};
use super::is_hurt_in_front;
use crate::log::Inflater;
use std::collections::BTreeMap;
use std::io;

/// A piece of another place, such as a sector that was written to a wrong one, has no more batches than this.
pub(super) const MOST_STRAY: u64 = 64;
/// No log is taken apart into more runs.
const MOST_RUNS: usize = 1 << 20;

/// What is odd in a log, by file and first byte.
#[derive(Debug, Default)]
pub(super) struct Chain {
    odd: BTreeMap<(SourceId, u64), Odd>,
}

#[derive(Debug, Clone, Copy)]
struct Odd {
    /// The byte it ends at.
    to: u64,
    /// Whether the way that it collides with is at least twice as heavy.
    is_light: bool,
    /// Of a few batches that are light, and high above what stands before and behind them: the first offset with which the
    /// way goes on there.
    outlier: Option<i64>,
}

/// What a batch weighs.
const BATCH: u64 = 2;
/// What one does that says little of its offset.
const LEAST: u64 = 1;

/// Batches that follow each other without a gap; or a piece that nothing collides with.
#[derive(Debug, Clone, Copy)]
struct Run {
    source: SourceId,
    from: u64,
    to: u64,
    first: i64,
    last: i64,
    batches: u64,
    weight: u64,
}

impl Run {
    fn of(part: &Part) -> Run {
        let Piece { source, from, to, first, last, batches, .. } = part.piece;
        // The base offset of a batch whose head is damaged says little, and nothing vouches for what is kept in doubt.
        let says_little = is_hurt_in_front(part) || part.piece.edit.thin.is_some();
        let weight = if says_little { LEAST } else { batches * BATCH };
        Run { source, from, to, first, last, batches, weight }
    }
}

impl Chain {
    /// Of a log as it was seen.
    ///
    /// # Errors
    /// If a file cannot be read again.
    pub(super) fn of(entries: &[Entry], sources: &mut Sources, inflater: &mut Inflater) -> io::Result<Chain> {
        let parts: Vec<&Part> = (entries.iter())
            .filter_map(|entry| match entry {
                Entry::Part(part) => Some(part),
                Entry::Gap(_) => None,
            })
            .collect();
        if parts.is_sorted_by(|a, b| a.piece.last < b.piece.first) {
            return Ok(Chain::default());
        }
        let runs = runs(&parts, sources, inflater)?;
        let stays = heaviest(&runs);
        Ok(Chain { odd: odd(&runs, &stays) })
    }

    fn find(&self, piece: &Piece) -> Option<Odd> {
        let (at, odd) = self.odd.range(..=(piece.source, piece.from)).next_back()?;
        (at.0 == piece.source && piece.from < odd.to).then_some(*odd)
    }

    /// Whether a piece, or that which it is of, is odd.
    pub(super) fn is_odd(&self, piece: &Piece) -> bool {
        self.find(piece).is_some()
    }

    /// Whether a piece is odd, and there is no doubt that what it collides with is not.
    pub(super) fn is_light(&self, piece: &Piece) -> bool {
        self.find(piece).is_some_and(|odd| odd.is_light)
    }

    /// Whether a piece is of a few batches high above what stands before and behind them.
    pub(super) fn is_outlier(&self, piece: &Piece) -> bool {
        self.goes_on_behind(piece).is_some()
    }

    /// The first offset of what the log goes on with behind an outlier; None if it is none.
    pub(super) fn goes_on_behind(&self, piece: &Piece) -> Option<i64> {
        self.find(piece)?.outlier
    }

    /// The bytes of a piece at which outliers begin and end, ascending.
    pub(super) fn cuts(&self, piece: &Piece) -> Vec<u64> {
        let within = self.odd.range((piece.source, piece.from)..(piece.source, piece.to));
        let ends = within.filter(|(_, odd)| odd.outlier.is_some()).flat_map(|((_, from), odd)| [*from, odd.to]);
        let mut cuts: Vec<u64> = ends.filter(|at| (piece.from + 1..piece.to).contains(at)).collect();
        cuts.dedup();
        cuts
    }
}

fn runs(parts: &[&Part], sources: &mut Sources, inflater: &mut Inflater) -> io::Result<Vec<Run>> {
    // From each part on, the least first offset.
    let mut least: Vec<i64> = parts.iter().map(|part| part.piece.first).collect();
    for place in (1..least.len()).rev() {
        if let [before, next] = least.get_mut(place - 1..=place).unwrap_or_default() {
            *before = (*before).min(*next);
        }
    }
    let mut greatest = i64::MIN;
    let mut runs = Vec::with_capacity(parts.len());
    for (place, part) in parts.iter().enumerate() {
        let piece = &part.piece;
        let collides = piece.first <= greatest || least.get(place + 1).is_some_and(|next| *next <= piece.last);
        greatest = greatest.max(piece.last);
        match collides && piece.batches > 1 && runs.len() < MOST_RUNS {
            true => take_apart(part, sources, inflater, &mut runs)?,
            false => runs.push(Run::of(part)),
        }
    }
    Ok(runs)
}

fn take_apart(part: &Part, sources: &mut Sources, inflater: &mut Inflater, runs: &mut Vec<Run>) -> io::Result<()> {
    let segment = sources.open(part.piece.source)?;
    let begin = runs.len();
    for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
        let (seen, from, to) = (look(&batch, inflater), batch.position(), batch.position() + batch.len());
        match runs.get_mut(begin..).and_then(<[Run]>::last_mut) {
            Some(run) if run.last.checked_add(1) == Some(seen.first) => {
                (run.to, run.last, run.batches, run.weight) = (to, seen.last, run.batches + 1, run.weight + BATCH);
            }
            _ => {
                let (first, last) = (seen.first, seen.last);
                runs.push(Run { source: part.piece.source, from, to, first, last, batches: 1, weight: BATCH });
            }
        }
    }
    Ok(())
}

/// A way that ends in a run: what it weighs, then in how many places it goes on without a gap, and that run.
type Way = (u64, u64, Option<usize>);

fn is_better(way: Way, than: Way) -> bool {
    (way.0, way.1) > (than.0, than.1)
}

/// Whether each run is on the heaviest way through all of them that ascends.
fn heaviest(runs: &[Run]) -> Vec<bool> {
    let mut ends: Vec<i64> = runs.iter().map(|run| run.last).collect();
    ends.sort_unstable();
    ends.dedup();
    // The best way that ends in each of them; and a Fenwick tree: at i, the best that ends in one of those from
    // (i + 1) - lowbit(i + 1) to i.
    let mut exact: Vec<Way> = vec![(0, 0, None); ends.len()];
    let mut tree = exact.clone();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(runs.len());
    let mut best = (0, 0, None);
    for (number, run) in runs.iter().enumerate() {
        let mut way = (0, 0, None);
        let mut at = ends.partition_point(|end| *end < run.first);
        let touches =
            at.checked_sub(1).filter(|at| ends.get(*at).and_then(|end| end.checked_add(1)) == Some(run.first));
        while let Some(found) = at.checked_sub(1).and_then(|at| tree.get(at)) {
            way = if is_better(*found, way) { *found } else { way };
            at &= at - 1;
        }
        let linked = touches.and_then(|at| exact.get(at)).filter(|it| it.2.is_some()).map(|it| (it.0, it.1 + 1, it.2));
        way = linked.filter(|linked| is_better(*linked, way)).unwrap_or(way);
        before.push(way.2);
        let way = (way.0 + run.weight, way.1, Some(number));
        best = if is_better(way, best) { way } else { best };
        let mut at = ends.partition_point(|end| *end < run.last) + 1;
        if let Some(room) = exact.get_mut(at - 1).filter(|room| is_better(way, **room)) {
            *room = way;
        }
        while let Some(room) = at.checked_sub(1).and_then(|at| tree.get_mut(at)) {
            *room = if is_better(way, *room) { way } else { *room };
            at += at & at.wrapping_neg();
        }
    }
    let mut stays = vec![false; runs.len()];
    let mut next = best.2;
    while let Some(number) = next {
        if let Some(stays) = stays.get_mut(number) {
            *stays = true;
        }
        next = before.get(number).copied().flatten();
    }
    stays
}

fn odd(runs: &[Run], stays: &[bool]) -> BTreeMap<(SourceId, u64), Odd> {
    let way: Vec<&Run> = runs.iter().zip(stays).filter(|(_, stays)| **stays).map(|(run, _)| run).collect();
    // The weight of all of the way before each of its runs.
    let mut sums = vec![0];
    sums.extend(way.iter().scan(0, |sum, run| {
        *sum += run.weight;
        Some(*sum)
    }));
    let weight =
        |from: usize, to: usize| sums.get(to).zip(sums.get(from)).map_or(0, |(to, from)| to.saturating_sub(*from));
    let mut odd = BTreeMap::new();
    // What stands before, but for outliers; and how much of the way.
    let (mut before, mut passed) = (i64::MIN, 0);
    for (run, stays) in runs.iter().zip(stays) {
        if *stays {
            (before, passed) = (run.last, passed + 1);
            continue;
        }
        let above = way.partition_point(|it| it.last < run.first).min(passed);
        let below = way.partition_point(|it| it.first <= run.last).max(passed);
        let is_light = weight(above, below) >= 2 * run.weight;
        let next = way.get(passed).map(|next| next.first).filter(|next| above == passed && *next < run.first);
        let follows = before.checked_add(1) == Some(run.first);
        let outlier = next.filter(|_| is_light && run.batches <= MOST_STRAY && !follows);
        odd.insert((run.source, run.from), Odd { to: run.to, is_light, outlier });
        if outlier.is_none() {
            before = run.last;
        }
    }
    odd
}

/// Parts a part at bytes of its file, which ascend.
///
/// # Errors
/// If the file cannot be read again.
pub(super) fn part_at(
    part: Part,
    cuts: &[u64],
    sources: &mut Sources,
    inflater: &mut Inflater,
) -> io::Result<Vec<Part>> {
    let segment = sources.open(part.piece.source)?;
    let mut out: Vec<Part> = Vec::new();
    let mut room = Vec::new();
    let range = (part.piece.from, part.piece.to);
    for batch in patched_frames(segment.bytes(), range, &part.piece.edit.patch, &mut room) {
        let (seen, from, to) = (look(&batch, inflater), batch.position(), batch.position() + batch.len());
        match out.last_mut().filter(|_| !cuts.contains(&from)) {
            Some(Part { piece, .. }) => {
                (piece.to, piece.last) = (to, seen.last);
                (piece.batches, piece.records) = (piece.batches + 1, piece.records + seen.records);
            }
            None => {
                let (first, last, records) = (seen.first, seen.last, seen.records);
                let piece = Piece { from, to, first, last, batches: 1, records, ..part.piece.clone() };
                out.push(Part { piece, incident: part.incident });
            }
        }
    }
    Ok(out)
}
