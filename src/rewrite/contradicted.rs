//! Batches right beside damage, or with a head that was put right, that another copy contradicts: what damaged the bytes there brought them along, such as a
//! sector of another log.
//!
//! Where two copies name one leader epoch they tell one story, or one of them is damaged. Must not know: what is filled
//! from the copy.

use super::codes::CONTRADICTED;
use super::edges::{Edges, Place};
use super::interrupt::Interrupt;
use super::lineage::overlapping;
use super::look::look;
use super::order::incident_of;
use super::plan::{Piece, Sources, frames, patched_frames};
use super::report::Outcome;
use super::survey::Part;
use super::union::Log;
use super::union::ranges::Range;
use crate::log::{Batch, Inflater};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Of more batches beside one damaged stretch, none is taken out: then it is the copy that differs.
const MOST_RUN: usize = 64;

/// Takes out of a log what stands beside its damage and what a copy contradicts; says of which offsets that was.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn take_out(
    log: &mut Log,
    copy: &Log,
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Vec<Range>> {
    let edges = Edges::of(&log.incidents);
    let mut judge = Judge {
        copy,
        trusted: Edges::of(&copy.incidents),
        sources,
        inflater: Inflater::with_limit(max_inflated),
        answered: Answered::default(),
    };
    let mut found = Vec::new();
    for (place, part) in log.parts.iter().enumerate().filter(|(_, part)| edges.touch(&part.piece)) {
        interrupt.check()?;
        let singles = judge.ends(&part.piece)?;
        let (piece, mut wrong) = (&part.piece, Vec::new());
        if !piece.edit.is_none() || edges.end_at((piece.source, piece.from)) {
            wrong.extend(judge.wrong(singles.front.iter())?);
        }
        if edges.begin_at((piece.source, piece.to)) && (wrong.len() as u64) < piece.batches {
            wrong.extend(judge.wrong(singles.back.iter().rev())?);
        }
        if (1..=MOST_RUN).contains(&wrong.len()) {
            found.push((place, wrong));
        }
    }
    let given_up = found.iter().flat_map(|(_, wrong)| wrong).map(|single| (single.first, single.last)).collect();
    for (place, wrong) in found.into_iter().rev() {
        replace(log, place, wrong, judge.sources, &mut judge.inflater)?;
    }
    Ok(given_up)
}

/// The batches at both ends of a piece, in order.
struct Ends {
    front: Vec<Piece>,
    back: VecDeque<Piece>,
}

/// Asks the copy.
struct Judge<'j> {
    copy: &'j Log,
    /// What of the copy stands beside damage of its own says nothing.
    trusted: Edges,
    sources: &'j mut Sources,
    inflater: Inflater,
    /// Where the last question was answered: those that follow are mostly of what comes then.
    answered: Answered,
}

/// A place in the copy.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    /// The piece's file, and where it ends.
    piece: Option<Place>,
    /// A batch of it, and its last offset.
    at: u64,
    last: i64,
}

impl Judge<'_> {
    fn ends(&mut self, piece: &Piece) -> io::Result<Ends> {
        let (mut front, mut back) = (Vec::new(), VecDeque::new());
        let segment = self.sources.open(piece.source)?;
        for batch in frames(segment.bytes(), piece.from, piece.to) {
            let (from, to) = (batch.position(), batch.position() + batch.len());
            let single = Piece { from, to, batches: 1, ..piece.clone() };
            if front.len() <= MOST_RUN {
                front.push(single.clone());
            }
            back.push_back(single);
            if back.len() > MOST_RUN + 1 {
                back.pop_front();
            }
        }
        Ok(Ends { front, back })
    }

    /// As many of the batches as the copy contradicts one after the other.
    fn wrong<'p>(&mut self, singles: impl Iterator<Item = &'p Piece>) -> io::Result<Vec<Piece>> {
        let mut wrong = Vec::new();
        for single in singles {
            let single = spanned(single, self.sources, &mut self.inflater)?;
            let ours = contents(&single, self.sources, &mut self.inflater)?;
            let theirs = self.theirs(&single)?;
            if !ours.iter().any(|(offset, said)| theirs.get(offset).is_some_and(|other| other != said)) {
                break;
            }
            wrong.push(single);
        }
        Ok(wrong)
    }

    /// What the copy has at the offsets of a batch, in the same leader epoch.
    fn theirs(&mut self, single: &Piece) -> io::Result<Contents> {
        let mut all = Contents::new();
        for part in overlapping(&self.copy.parts, (single.first, single.last)) {
            let piece = &part.piece;
            // Batches of the old magics have none: copies hold the same bytes, so that only one log can have such there.
            let may_differ = piece.epoch != single.epoch && piece.epoch >= 0 && single.epoch >= 0;
            if may_differ || !piece.edit.is_none() {
                continue;
            }
            let place = (piece.source, piece.to);
            let goes_on = self.answered.piece == Some(place) && self.answered.last <= single.first;
            let from = if goes_on { self.answered.at } else { piece.from };
            let segment = self.sources.open(piece.source)?;
            let mut near = Vec::new();
            for batch in frames(segment.bytes(), from, piece.to) {
                let header = batch.header();
                if header.magic >= 2 && header.base_offset > single.last {
                    break;
                }
                if header.last_offset < single.first {
                    self.answered = Answered { piece: Some(place), at: batch.position(), last: header.last_offset };
                } else {
                    near.push(Piece {
                        from: batch.position(),
                        to: batch.position() + batch.len(),
                        batches: 1,
                        ..piece.clone()
                    });
                }
                // Before magic 2 a batch does not say where it begins.
                if near.len() > MOST_RUN {
                    break;
                }
            }
            for piece in near.into_iter().filter(|near| !self.trusted.touch(near)) {
                all.extend(contents(&piece, self.sources, &mut self.inflater)?);
            }
        }
        Ok(all)
    }
}

/// A batch with the offsets and the number of its records.
fn spanned(single: &Piece, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<Piece> {
    let mut spanned = single.clone();
    each(single, sources, |batch| {
        let seen = look(batch, inflater);
        (spanned.first, spanned.last, spanned.records) = (seen.first, seen.last, seen.records);
    })?;
    Ok(spanned)
}

/// Key and value of records, by offset.
type Contents = BTreeMap<i64, (Option<Vec<u8>>, Option<Vec<u8>>)>;

fn contents(single: &Piece, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<Contents> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let mut all = Contents::new();
    each(single, sources, |batch| {
        let mut records = batch.records(inflater);
        all.extend(records.by_ref().flatten().map(|it| (it.offset, (owned(it.key), owned(it.value)))));
    })?;
    Ok(all)
}

fn each(piece: &Piece, sources: &mut Sources, mut see: impl FnMut(&Batch<'_>)) -> io::Result<()> {
    let segment = sources.open(piece.source)?;
    let mut room = Vec::new();
    patched_frames(segment.bytes(), (piece.from, piece.to), &piece.edit.patch, &mut room).for_each(|batch| see(&batch));
    Ok(())
}

/// Leaves of a part what is right, and says what is not.
fn replace(
    log: &mut Log,
    place: usize,
    wrong: Vec<Piece>,
    sources: &mut Sources,
    inflater: &mut Inflater,
) -> io::Result<()> {
    let Some(part) = log.parts.get(place).cloned() else { return Ok(()) };
    let before = place.checked_sub(1).and_then(|place| log.parts.get(place)).map(|part| part.piece.last);
    let next = log.parts.get(place + 1).map(|part| part.piece.first);
    let mut rest = part.piece;
    for single in &wrong {
        match single.from == rest.from {
            true => rest.from = single.to,
            false => rest.to = single.from,
        }
        rest.batches -= 1;
        rest.records = rest.records.saturating_sub(single.records);
    }
    let mut stays = None;
    each(&rest, sources, |batch| {
        let seen = look(batch, inflater);
        let (first, _) = stays.unwrap_or((seen.first, seen.last));
        stays = Some((first, seen.last));
    })?;
    for single in wrong {
        let stays = stays.filter(|_| rest.batches > 0);
        let is_below = stays.is_some_and(|(first, _)| single.last < first);
        let (floor, ceiling) = match stays {
            Some((first, _)) if is_below => (before, Some(first)),
            Some((_, last)) => (Some(last), next),
            None => (before, next),
        };
        let mut told = incident_of(&single, CONTRADICTED, Outcome::Lost);
        told.message = "stands beside damage, and another copy has other contents at its offsets".to_owned();
        told.is_batches = false;
        told.first = Some(floor.map_or(log.start, |floor| floor.saturating_add(1)));
        told.last = ceiling.map(|ceiling| ceiling.saturating_sub(1));
        log.incidents.push(told);
    }
    let kept = stays.filter(|_| rest.batches > 0).map(|(first, last)| {
        (rest.first, rest.last) = (first, last);
        Part { piece: rest, incident: part.incident }
    });
    log.parts.splice(place..=place, kept);
    Ok(())
}
