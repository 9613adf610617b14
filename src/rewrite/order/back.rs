//! Sound batches that were taken away from where they stand, and whose own place is free: they are put back there.
//!
//! No CRC covers a base offset, so that one that does not fit its place may be what is damaged. It is not where there is no
//! room for the batch at all, or where two batches stand each in the other's place: then the batches were moved. Must not
//! know: pieces of other logs.

use super::super::look::look;
use super::super::plan::{Piece, Sources, frames};
use super::super::report::{Incident, Outcome};
use super::super::survey::{Entry, Part};
use super::chain::part_at;
use crate::log::Inflater;
use std::collections::{HashMap, HashSet};
use std::io;

/// For so many a place is looked for, for which the log is read again each time.
const MOST: usize = 1000;

/// What was taken away, as it stands, and what was said of it.
#[derive(Debug, Clone)]
pub(super) struct Stray {
    pub(super) part: Part,
    /// By its place among the incidents.
    pub(super) incident: usize,
    /// What it may be.
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Batches of another place.
    Displaced,
    /// A batch that would have to begin at this offset to fit where it stands.
    Fits(i64),
    /// A batch that stands between these offsets, where there is room for more than it.
    Loose(i64, i64),
}

impl Stray {
    /// Whether it cannot belong where it stands.
    fn is_displaced(&self, entries: &[Entry]) -> bool {
        let is_within = |entry: &Entry, (before, next): (i64, i64)| match entry {
            Entry::Part(part) => part.piece.first > before && part.piece.last < next,
            Entry::Gap(_) => false,
        };
        match self.kind {
            Kind::Displaced => true,
            Kind::Fits(_) => false,
            Kind::Loose(before, next) => entries.iter().any(|entry| is_within(entry, (before, next))),
        }
    }
}

/// Says of strays that they were put back.
pub(super) fn tell(incidents: &mut [Incident], put: &[Stray]) {
    for Stray { part, incident, .. } in put {
        let Some(incident) = incidents.get_mut(*incident) else { continue };
        let piece = &part.piece;
        (incident.first, incident.last, incident.stands) = (Some(piece.first), Some(piece.last), None);
        incident.message = "sound, but not where it belongs: it is put back there".to_owned();
        (incident.outcome, incident.would_mend, incident.is_batches) =
            (Outcome::Filled(vec![piece.source]), None, true);
    }
}

/// Puts batches that stand each in the other's place where they belong. Gives those, and the others.
pub(super) fn exchange(entries: &mut [Entry], strays: Vec<Stray>) -> (Vec<Stray>, Vec<Stray>) {
    let mut put = HashSet::new();
    let by_first: HashMap<i64, &Stray> = strays.iter().map(|stray| (stray.part.piece.first, stray)).collect();
    let by_incident: HashMap<usize, &Stray> = strays.iter().map(|stray| (stray.incident, stray)).collect();
    let span = |stray: &Stray| stray.part.piece.last - stray.part.piece.first;
    for entry in entries {
        let (Entry::Part(Part { incident: Some(incident), .. }) | Entry::Gap(incident)) = entry else { continue };
        let Some(here) = by_incident.get(incident) else { continue };
        let Kind::Fits(right) = here.kind else { continue };
        let Some(other) = by_first.get(&right).filter(|other| other.kind == Kind::Fits(here.part.piece.first)) else {
            continue;
        };
        if span(here) == span(other) {
            put.insert(here.incident);
            *entry = Entry::Part(other.part.clone());
        }
    }
    strays.into_iter().partition(|stray| put.contains(&stray.incident))
}

/// Puts what fills a hole in the order exactly into it. Gives what was put, and what was not.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn put_back(
    entries: &mut Vec<Entry>,
    strays: Vec<Stray>,
    sources: &mut Sources,
    inflater: &mut Inflater,
) -> io::Result<(Vec<Stray>, Vec<Stray>)> {
    let (mut back, mut left) = (Vec::new(), Vec::new());
    let incidents: HashSet<usize> = strays.iter().map(|stray| stray.incident).collect();
    // What is put back takes the room that others stand in.
    let (loose, displaced): (Vec<_>, Vec<_>) = strays.into_iter().partition(|it| matches!(it.kind, Kind::Loose(..)));
    for (number, stray) in displaced.into_iter().chain(loose).enumerate() {
        let may_be = number < MOST && stray.is_displaced(entries);
        let is_put = may_be && put(entries, &stray.part, &incidents, sources, inflater)?;
        if is_put { &mut back } else { &mut left }.push(stray);
    }
    Ok((back, left))
}

/// Whether there was a hole of its length for a part, in which it is now. Strays, by their incidents, stand in the way of
/// nothing.
fn put(
    entries: &mut Vec<Entry>,
    stray: &Part,
    strays: &HashSet<usize>,
    sources: &mut Sources,
    inflater: &mut Inflater,
) -> io::Result<bool> {
    let piece_at = |entries: &[Entry], place: usize| match entries.get(place) {
        Some(Entry::Part(part)) => Some(part.piece.clone()),
        _ => None,
    };
    let begins_before = |entry: &Entry| matches!(entry, Entry::Part(part) if part.piece.first < stray.piece.first);
    let Some(place) = entries.iter().rposition(begins_before) else { return Ok(false) };
    if let Some(around) = piece_at(entries, place).filter(|around| around.last > stray.piece.last)
        && let Some(cut) = cut_of(&around, &stray.piece, sources, inflater)?
        && let Some(Entry::Part(part)) = entries.get(place).cloned()
    {
        let parts = part_at(part, &[cut], sources, inflater)?;
        entries.splice(place..=place, parts.into_iter().map(Entry::Part));
    }
    let is_stray = |entry: &&Entry| matches!(entry, Entry::Gap(incident) if strays.contains(incident));
    let between = entries.iter().skip(place + 1).take_while(is_stray).count();
    let (before, behind) = (piece_at(entries, place), piece_at(entries, place + 1 + between));
    let Some((before, behind)) = before.zip(behind) else { return Ok(false) };
    let is_hole = fills(&before, &stray.piece, &behind) && is_in_time(&before, &stray.piece, &behind, sources)?;
    if is_hole {
        entries.insert(place + 1, Entry::Part(stray.clone()));
    }
    Ok(is_hole)
}

/// Whether a piece was written between two others, by their times: one of another log that has the same offsets hardly was.
fn is_in_time(before: &Piece, piece: &Piece, behind: &Piece, sources: &mut Sources) -> io::Result<bool> {
    let (Some((_, before)), Some((first, last)), Some((behind, _))) =
        (times(before, sources)?, times(piece, sources)?, times(behind, sources)?)
    else {
        return Ok(false);
    };
    // Magic 0 has no times.
    Ok(before <= first && last <= behind || [before, first, last, behind].contains(&-1))
}

/// The greatest timestamps of a piece's first and of its last batch.
fn times(piece: &Piece, sources: &mut Sources) -> io::Result<Option<(i64, i64)>> {
    let segment = sources.open(piece.source)?;
    let mut all = frames(segment.bytes(), piece.from, piece.to).map(|batch| batch.header().max_timestamp);
    let first = all.next();
    Ok(first.map(|first| (first, all.last().unwrap_or(first))))
}

/// Whether a piece is all that is missing between two others.
fn fills(before: &Piece, piece: &Piece, behind: &Piece) -> bool {
    before.last.checked_add(1) == Some(piece.first)
        && piece.last.checked_add(1) == Some(behind.first)
        && (before.epoch..=behind.epoch).contains(&piece.epoch)
}

/// The byte at which a piece goes on behind a hole that another one fills.
fn cut_of(around: &Piece, stray: &Piece, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<Option<u64>> {
    if around.batches < 2 || !around.edit.is_none() {
        return Ok(None);
    }
    let segment = sources.open(around.source)?;
    let mut last = None;
    for batch in frames(segment.bytes(), around.from, around.to) {
        let seen = look(&batch, inflater);
        if seen.first > stray.last {
            let is_hole = last == stray.first.checked_sub(1) && stray.last.checked_add(1) == Some(seen.first);
            return Ok(Some(batch.position()).filter(|_| is_hole));
        }
        last = Some(seen.last);
    }
    Ok(None)
}
