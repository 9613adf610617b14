//! Segments whose names cannot be right: what they hold goes on elsewhere in the log.
//!
//! A segment's name is as good as the base offset of a batch, and no better: where all that a file holds lies below its
//! name, or at and behind the next one's, and goes between what the other files hold, the name is not believed. Must not
//! know: what is in batches.

use super::look::look;
use super::plan::{Piece, SourceId, Sources, frames};
use super::survey::{Entry, Survey};
use crate::log::Inflater;
use std::collections::HashMap;
use std::io;

/// What a file holds.
#[derive(Debug)]
struct Held {
    source: SourceId,
    base: Option<i64>,
    entries: Vec<Entry>,
    /// Its first and last offset, if all of it ascends.
    range: Option<(i64, i64)>,
    batches: u64,
}

impl Held {
    fn first_piece(&self) -> Option<&Piece> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Part(part) => Some(&part.piece),
            Entry::Gap(_) => None,
        })
    }
}

/// Puts files whose names cannot be right where they belong, and takes the names away.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn doubt_names(survey: &mut Survey, sources: &mut Sources, max_inflated: usize) -> io::Result<()> {
    // Without a name, there is no order to put a file into.
    if survey.bases.iter().any(|(_, base)| base.is_none()) {
        return Ok(());
    }
    let mut files = by_file(survey);
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut doubted = Vec::new();
    for (place, held) in files.iter().enumerate() {
        let is_wrong = lies_outside(&files, place) || begins_below(&files, place, sources, &mut inflater)?;
        doubted.push((is_wrong, held.range.map(|range| range.0).filter(|_| is_wrong).or(held.base)));
    }
    for (held, (is_wrong, _)) in files.iter_mut().zip(&doubted) {
        held.base = held.base.filter(|_| !is_wrong);
    }
    let mut in_order: Vec<(Option<i64>, Held)> = doubted.into_iter().map(|(_, key)| key).zip(files).collect();
    in_order.sort_by_key(|(key, _)| *key);
    survey.bases = in_order.iter().map(|(_, held)| (held.source, held.base)).collect();
    survey.end_by_name = in_order.iter().filter_map(|(_, held)| held.base).max().unwrap_or(0).max(0);
    survey.entries = in_order.into_iter().flat_map(|(_, held)| held.entries).collect();
    Ok(())
}

fn by_file(survey: &mut Survey) -> Vec<Held> {
    let held = |(source, base): &(SourceId, Option<i64>)| Held {
        source: *source,
        base: *base,
        entries: Vec::new(),
        range: None,
        batches: 0,
    };
    let mut files: Vec<Held> = survey.bases.iter().map(held).collect();
    let places: HashMap<SourceId, usize> = files.iter().enumerate().map(|(place, held)| (held.source, place)).collect();
    let mut ascends = vec![true; files.len()];
    for entry in std::mem::take(&mut survey.entries) {
        let source = match &entry {
            Entry::Part(part) => Some(part.piece.source),
            Entry::Gap(incident) => survey.incidents.get(*incident).map(|it| it.source),
        };
        let Some(place) = source.and_then(|source| places.get(&source).copied()) else { continue };
        let (Some(file), Some(ascends)) = (files.get_mut(place), ascends.get_mut(place)) else { continue };
        if let Entry::Part(part) = &entry {
            let piece = &part.piece;
            *ascends &= piece.first >= 0 && file.range.is_none_or(|(_, last)| last < piece.first);
            file.range = Some((file.range.map_or(piece.first, |range| range.0), piece.last));
            file.batches += piece.batches;
        }
        file.entries.push(entry);
    }
    for (file, ascends) in files.iter_mut().zip(ascends) {
        file.range = file.range.filter(|_| ascends);
    }
    files
}

/// Whether nothing that a file holds can stand there by its name, and all of it can elsewhere.
fn lies_outside(files: &[Held], place: usize) -> bool {
    let Some(held) = files.get(place) else { return false };
    let (Some((first, last)), Some(base)) = (held.range, held.base) else { return false };
    let next = files.get(place + 1).and_then(|next| next.base).unwrap_or(i64::MAX);
    if last >= base && first < next {
        return false;
    }
    let mut others = files.iter().filter(|other| other.source != held.source);
    let is_free = others.clone().all(|other| match other.range {
        Some((from, to)) => to < first || last < from,
        None => other.base.is_none_or(|base| base <= first || last < base),
    });
    // The base offset of one batch is no more sure than the name, unless what stands next to it bears it out.
    let touches = |(from, to): (i64, i64)| to.checked_add(1) == Some(first) || last.checked_add(1) == Some(from);
    is_free && (held.batches > 1 || others.any(|other| other.range.is_some_and(touches)))
}

/// Whether a file begins below its name, with what goes on in it, or goes on from the file before.
fn begins_below(files: &[Held], place: usize, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<bool> {
    let Some(held) = files.get(place) else { return Ok(false) };
    let (Some((first, _)), Some(base)) = (held.range, held.base) else { return Ok(false) };
    if first >= base {
        return Ok(false);
    }
    let before = files.get(..place).unwrap_or_default().iter().filter_map(|file| Some(file.range?.1)).max();
    if before.is_some_and(|before| before >= first) {
        return Ok(false);
    }
    if before.and_then(|before| before.checked_add(1)) == Some(first) {
        return Ok(true);
    }
    let Some(piece) = held.first_piece().filter(|piece| piece.batches > 1) else { return Ok(false) };
    let segment = sources.open(piece.source)?;
    let mut batches = frames(segment.bytes(), piece.from, piece.to);
    let (Some(one), Some(two)) = (batches.next(), batches.next()) else { return Ok(false) };
    let (one, two) = (look(&one, inflater), look(&two, inflater));
    Ok(one.last.checked_add(1) == Some(two.first))
}
