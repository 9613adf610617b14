//! Several copies of one log made one: what damage took from the first is filled from the others.
//!
//! A copy counts as far as it tells the same story: from the first offset on at which leader epochs differ, that of the
//! higher epoch wins, as a broker would truncate the other (KIP-101). What compaction took is not missing. Must not
//! know: how a copy was read; all come in order (see [`super::order`]).

mod compare;
pub(super) mod filled;
pub(super) mod ranges;

use super::codes::DIVERGED;
use super::contradicted;
use super::interrupt::Interrupt;
use super::lineage::{holes_between, overlapping};
use super::look::look;
use super::missing::missing;
use super::order::incident_of;
use super::plan::{Piece, SourceId, Sources, Thin, frames, push};
use super::report::{Conflict, Incident, Outcome};
use super::survey::{Entry, Part, Survey};
use super::walk::Walk;
use crate::log::{Batch, Inflater};
use ranges::{Range, common, merged, without};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Conflicts beyond so many are counted, not kept.
pub const MOST_CONFLICTS: usize = 1000;

/// A log in order: what stays of it, and what was found.
#[derive(Debug, Default)]
pub struct Log {
    /// Ascending by offset, without overlaps.
    pub parts: Vec<Part>,
    /// What is not simply copied.
    pub incidents: Vec<Incident>,
    /// The first offset, by the name of its first file.
    pub start: i64,
    /// The offset behind its last one, by its last batch or the name of its last file.
    pub end: i64,
    /// The first offset that counts, if the log dir names one: nothing before it is missing.
    pub log_start: Option<i64>,
    /// Parts that were taken from another copy, by first offset.
    pub filled: BTreeMap<i64, SourceId>,
    /// Sound batches in a row that do not belong where they stand, ascending by offset and without overlaps.
    displaced: Vec<Part>,
}

impl Log {
    /// Of what was seen, in order.
    pub fn of(survey: Survey) -> Log {
        let first_base = survey.bases.first().and_then(|(_, base)| *base);
        let parts: Vec<Part> = (survey.entries.into_iter())
            .filter_map(|entry| match entry {
                Entry::Part(part) => Some(part),
                Entry::Gap(_) => None,
            })
            .collect();
        let start = first_base.or(parts.first().map(|part| part.piece.first)).unwrap_or(0);
        let last = parts.last().map_or(start, |part| part.piece.last.saturating_add(1));
        let Survey { incidents, displaced, end_by_name, .. } = survey;
        Log { parts, incidents, start, end: last.max(end_by_name), displaced, ..Log::default() }
    }

    /// The ranges of offsets that damage took, ascending, without overlaps.
    pub(super) fn lost(&self) -> Vec<Range> {
        merged(self.incidents.iter().flat_map(Incident::lacks).collect())
    }

    /// What stays of it, in order.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.parts.iter().map(|part| &part.piece)
    }

    /// Where it has batches. What lies between is damage, or compaction's, or a segment that is gone.
    fn spans(&self) -> Vec<Range> {
        let mut spans: Vec<Range> = Vec::new();
        for piece in self.pieces() {
            match spans.last_mut() {
                Some((_, last)) if piece.first == last.saturating_add(1) => *last = piece.last,
                _ => spans.push((piece.first, piece.last)),
            }
        }
        spans
    }

    /// Of ranges that another copy lacks, what this one tells of and has nothing of.
    pub(super) fn silent_on(&self, ranges: &[Range]) -> Vec<Range> {
        let (lost, spans) = (self.lost(), self.spans());
        let told = ranges.iter().flat_map(|range| self.tells_of(&lost, *range));
        told.flat_map(|range| without(range, &spans)).collect()
    }

    /// What this log tells of below an offset: all but what damage took.
    pub(super) fn told(&self, below: i64) -> Vec<Range> {
        self.tells_of(&self.lost(), (i64::MIN, below.saturating_sub(1)))
    }

    /// All between the batches around a range of which this log has nothing.
    pub(super) fn hole_around(&self, (first, last): Range) -> Range {
        let place = self.parts.partition_point(|part| part.piece.last < first);
        let before = place.checked_sub(1).and_then(|place| self.parts.get(place));
        let behind = self.parts.get(place);
        (
            before.map_or(first, |part| part.piece.last.saturating_add(1)),
            behind.map_or(last, |part| part.piece.first.saturating_sub(1)),
        )
    }

    /// Of a range, what this log tells of: all but what lies outside of it and what damage took, which is `lost`.
    fn tells_of(&self, lost: &[Range], (first, last): Range) -> Vec<Range> {
        let (first, last) = (first.max(self.start), last.min(self.end.saturating_sub(1)));
        if first <= last { without((first, last), lost) } else { Vec::new() }
    }
}

/// What joining another copy showed.
#[derive(Debug, Default)]
pub struct Joined {
    /// Offsets at which the two say different things: the first so many.
    pub conflicts: Vec<Conflict>,
    /// How many there are in all.
    pub conflicts_in_all: u64,
    /// So many of them in batches right beside damage of their own copy: whose they are is not sure.
    conflicts_beside_damage: u64,
    /// The first offset at which leader epochs differ, and whether the other copy won.
    pub diverged: Option<(i64, bool)>,
    /// Batches or records of which both say the same.
    pub equal: u64,
    /// Whether nothing was taken from it, because what it says differs at most of the offsets that both have.
    pub is_stranger: bool,
    /// Offsets that were added in front, behind, or in place of a segment that is gone.
    pub added: Vec<(i64, i64)>,
}

impl Joined {
    /// Whether what both copies have is mostly not the same, as far as damage has nothing to do with it.
    fn differs_mostly(&self) -> bool {
        self.conflicts_in_all - self.conflicts_beside_damage > self.equal
    }
}

/// Which of a copy's offsets are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Those that damage took.
    Lost,
    /// Those and what lies before the first and behind the last one.
    LostAndEnds,
    /// Wherever there are none.
    Everything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
}

/// How far a piece was walked.
#[derive(Debug, Default)]
struct Cursor {
    /// The piece's file, and the byte it ends at.
    piece: Option<(SourceId, u64)>,
    /// The byte to go on from.
    from: u64,
}

impl Cursor {
    /// Where to go on in a piece: its start, if it is another than before.
    fn within(&mut self, piece: &Piece) -> u64 {
        if self.piece != Some((piece.source, piece.to)) {
            *self = Cursor { piece: Some((piece.source, piece.to)), from: piece.from };
        }
        self.from
    }
}

/// Joins copies into one log.
pub struct Union<'s> {
    sources: &'s mut Sources,
    inflater: Inflater,
    max_inflated: usize,
    interrupt: &'s Interrupt,
}

impl<'s> Union<'s> {
    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn new(sources: &'s mut Sources, max_inflated: usize, interrupt: &'s Interrupt) -> Self {
        Union { sources, inflater: Inflater::with_limit(max_inflated), max_inflated, interrupt }
    }

    /// Takes from a replica what the log lacks.
    ///
    /// # Errors
    /// If a file cannot be read again, or the work is interrupted.
    pub fn replica(&mut self, log: &mut Log, replica: &mut Log) -> io::Result<Joined> {
        let mut joined = Joined::default();
        let divergence = self.divergence(log, replica)?;
        let until = divergence.map_or(i64::MAX, |it| it.offset);
        self.compare(log, replica, until, &mut joined)?;
        if let Some(divergence) = divergence {
            joined.diverged = Some((divergence.offset, divergence.theirs_win));
            self.tell_divergence(log, replica, divergence, &mut joined)?;
            let loser = if divergence.theirs_win { &mut *log } else { &mut *replica };
            self.truncate(loser, divergence.offset)?;
        }
        // Copies of one partition differ nowhere; one that differs mostly is no copy.
        joined.is_stranger = divergence.is_none() && joined.differs_mostly();
        if !joined.is_stranger {
            if joined.equal > 0 {
                let given_up = contradicted::take_out(log, replica, self.sources, self.max_inflated, self.interrupt)?;
                let is_given_up = |at: i64| given_up.iter().any(|(first, last)| (*first..=*last).contains(&at));
                joined.conflicts.iter_mut().for_each(|it| it.theirs_wins |= is_given_up(it.offset));
            }
            let mut walk = Walk::new(self.sources, self.max_inflated, self.interrupt);
            let missing = missing(log, replica, &mut walk)?;
            self.fill(log, replica, Take::LostAndEnds, &missing, &mut joined)?;
        }
        Ok(joined)
    }

    /// Takes from leftover files what the log lacks.
    ///
    /// # Errors
    /// As [`Union::replica`].
    pub fn leftovers(&mut self, log: &mut Log, leftovers: &Log, take: Take) -> io::Result<Joined> {
        let mut joined = Joined::default();
        // What replaced it holds fewer records, but never other ones.
        self.compare(log, leftovers, i64::MAX, &mut joined)?;
        joined.is_stranger = joined.differs_mostly();
        if !joined.is_stranger {
            self.fill(log, leftovers, take, &[], &mut joined)?;
        }
        Ok(joined)
    }

    /// Puts pieces that stand elsewhere in the log where they belong: those that are at least half of what damage took
    /// there. A piece of another log hardly is.
    ///
    /// # Errors
    /// As [`Union::replica`].
    pub fn put_back_displaced(&mut self, log: &mut Log) -> io::Result<()> {
        let lost: Vec<Range> = log.lost().into_iter().filter(|(_, last)| *last < i64::MAX).collect();
        let mut displaced = std::mem::take(&mut log.displaced);
        let ranges: Vec<Range> = displaced.iter().map(|part| (part.piece.first, part.piece.last)).collect();
        let size = |ranges: &[Range]| ranges.iter().map(|(a, b)| i128::from(*b) - i128::from(*a) + 1).sum::<i128>();
        let fit: Vec<Range> =
            (lost.into_iter()).filter(|lost| 2 * size(&common(&[*lost], &ranges)) > size(&[*lost])).collect();
        displaced.retain(|part| fit.iter().any(|(first, last)| *first <= part.piece.first && part.piece.last <= *last));
        let Some((first, last)) = displaced.first().zip(displaced.last()) else { return Ok(()) };
        let (start, end) = (first.piece.first, last.piece.last.saturating_add(1));
        let pieces = Log { parts: displaced, start, end, ..Log::default() };
        self.fill(log, &pieces, Take::Lost, &[], &mut Joined::default())
    }

    /// Cuts a log off at an offset, and says what is lost by that.
    fn truncate(&mut self, log: &mut Log, at: i64) -> io::Result<()> {
        let parts = std::mem::take(&mut log.parts);
        for part in parts {
            if part.piece.last < at {
                log.parts.push(part);
                continue;
            }
            for piece in self.slice(&part.piece, (at, i64::MAX))? {
                let mut incident = incident_of(&piece, DIVERGED, Outcome::Overruled);
                incident.message = "another copy went on from here in a higher leader epoch".to_owned();
                log.incidents.push(incident);
            }
            if part.piece.first < at {
                for piece in self.slice(&part.piece, (i64::MIN, at - 1))? {
                    log.parts.push(Part { piece, incident: part.incident });
                }
            }
        }
        for incident in &mut log.incidents {
            let behind = incident.first.is_some_and(|first| first >= at);
            if behind && !incident.lacks().is_empty() {
                // What was lost here does not count any more.
                incident.outcome = Outcome::Overruled;
            }
        }
        log.end = at;
        Ok(())
    }

    /// Also takes what is `missing`, which ascends.
    fn fill(
        &mut self,
        log: &mut Log,
        copy: &Log,
        take: Take,
        missing: &[(i64, i64)],
        joined: &mut Joined,
    ) -> io::Result<()> {
        let lost = log.lost();
        let mut wanted = lost.clone();
        wanted.extend(missing);
        let is_missing = |at: i64| {
            let behind = missing.partition_point(|(_, last)| *last < at);
            missing.get(behind).is_some_and(|(first, _)| *first <= at)
        };
        if take == Take::Everything {
            self.take_apart(log, (copy.start, copy.end))?;
            wanted = holes_between(&log.parts, copy.start.min(log.start), copy.end.max(log.end));
        } else if take == Take::LostAndEnds {
            let in_front = log.log_start.is_none_or(|start| start < log.start);
            if copy.start < log.start && in_front {
                wanted.push((copy.start.max(log.log_start.unwrap_or(i64::MIN)), log.start - 1));
            }
            if copy.end > log.end {
                wanted.push((log.end, copy.end - 1));
            }
        }
        let lost_there = copy.lost();
        let told: Vec<Range> = merged(wanted).into_iter().flat_map(|range| copy.tells_of(&lost_there, range)).collect();
        let spans = copy.spans();
        // What it tells of and has nothing of is settled when all copies have given what they have.
        let taken = common(&told, &spans);
        let is_outside = |range: &Range| range.1 < log.start || range.0 >= log.end || is_missing(range.0);
        let has_any = |range: &&Range| !common(&[**range], &spans).is_empty();
        joined.added.extend(told.iter().filter(has_any).filter(|range| is_outside(range)));
        let pieces = self.take(log, copy, &taken)?;
        let given = merged(pieces.clone());
        if take == Take::Everything {
            joined.added = between(&pieces, &lost);
        } else if take == Take::LostAndEnds {
            filled::lost_beyond(log, copy);
            if !given.is_empty() {
                filled::nothing_between(log, copy);
            }
        }
        for incident in &mut log.incidents {
            filled::gain(incident, &taken, &given, copy);
        }
        if take == Take::Everything {
            put_together(&mut log.parts);
        }
        log.start = log.start.min(taken.first().map_or(i64::MAX, |range| range.0));
        log.end = log.end.max(taken.last().map_or(i64::MIN, |range| range.1.saturating_add(1)));
        Ok(())
    }

    /// Takes pieces in a range apart into batches, so that something can be put between them.
    fn take_apart(&mut self, log: &mut Log, range: (i64, i64)) -> io::Result<()> {
        let mut parts = Vec::with_capacity(log.parts.len());
        for part in std::mem::take(&mut log.parts) {
            let outside = part.piece.last < range.0 || part.piece.first > range.1;
            if outside || part.piece.batches <= 1 {
                parts.push(part);
                continue;
            }
            self.interrupt.check()?;
            let segment = self.sources.open(part.piece.source)?;
            for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
                let piece = single(&batch, &part.piece, &mut self.inflater);
                parts.push(Part { piece, incident: part.incident });
            }
        }
        log.parts = parts;
        Ok(())
    }

    /// Puts what a copy has of ranges, which ascend, in place of what the log has of them. Gives the offsets of all that it
    /// has.
    fn take(&mut self, log: &mut Log, copy: &Log, ranges: &[(i64, i64)]) -> io::Result<Vec<(i64, i64)>> {
        let mut taken = Vec::new();
        let mut old = VecDeque::from(std::mem::take(&mut log.parts));
        let mut cursor = Cursor::default();
        for &range in ranges {
            let mut theirs = Vec::new();
            for part in overlapping(&copy.parts, range) {
                self.interrupt.check()?;
                theirs.extend(self.slice_from(&part.piece, range, &mut cursor)?);
            }
            // What is kept in doubt makes way for something only.
            if theirs.is_empty() {
                continue;
            }
            while let Some(part) = next_if(&mut old, |part| part.piece.last < range.0) {
                log.parts.push(part);
            }
            // What stands there was written anew from a damaged batch, of which the copy has all.
            while let Some(part) = next_if(&mut old, |part| part.piece.first <= range.1) {
                for piece in self.outside(&part.piece, range.0, Side::Before)? {
                    log.parts.push(Part { piece, incident: part.incident });
                }
                for piece in self.outside(&part.piece, range.1, Side::Behind)?.into_iter().rev() {
                    old.push_front(Part { piece, incident: part.incident });
                }
            }
            for piece in theirs {
                log.filled.insert(piece.first, piece.source);
                taken.push((piece.first, piece.last));
                log.parts.push(Part { piece, incident: None });
            }
        }
        log.parts.extend(old);
        Ok(taken)
    }

    /// What of a piece lies before or behind an offset.
    fn outside(&mut self, piece: &Piece, offset: i64, side: Side) -> io::Result<Vec<Piece>> {
        let range = match side {
            Side::Before => (piece.first, offset.saturating_sub(1)),
            Side::Behind => (offset.saturating_add(1), piece.last),
        };
        if range.0 <= range.1 { self.slice(piece, range) } else { Ok(Vec::new()) }
    }

    /// Of a piece, what lies in a range: whole batches, and at its ends parts of some.
    fn slice(&mut self, piece: &Piece, range: (i64, i64)) -> io::Result<Vec<Piece>> {
        self.slice_from(piece, range, &mut Cursor::default())
    }

    /// As [`Self::slice`]. Of ranges that ascend, the next one goes on where the cursor stands.
    fn slice_from(&mut self, piece: &Piece, (first, last): (i64, i64), cursor: &mut Cursor) -> io::Result<Vec<Piece>> {
        if piece.first >= first && piece.last <= last {
            return Ok(vec![piece.clone()]);
        }
        if !piece.edit.is_none() {
            return Ok(Vec::from_iter(self.cut(piece, (first, last))?));
        }
        let mut out = Vec::new();
        let mut singles = Vec::new();
        let segment = self.sources.open(piece.source)?;
        for batch in frames(segment.bytes(), cursor.within(piece), piece.to) {
            // Only magic 2 says in its head which offsets it has.
            let header = batch.header();
            let is_before = header.magic >= 2 && header.last_offset < first;
            let single = match is_before {
                true => None,
                false => Some(single(&batch, piece, &mut self.inflater)),
            };
            let Some(single) = single.filter(|single| single.last >= first) else {
                cursor.from = batch.position() + batch.len();
                continue;
            };
            if single.first > last {
                break;
            }
            singles.push(single);
        }
        for single in singles {
            if single.first >= first && single.last <= last {
                push(&mut out, single);
            } else if let Some(cut) = self.cut(&single, (first, last))? {
                out.push(cut);
            }
        }
        Ok(out)
    }

    /// Of a single batch, what lies in a range; None if no record does.
    fn cut(&mut self, piece: &Piece, (first, last): (i64, i64)) -> io::Result<Option<Piece>> {
        let mut piece = piece.clone();
        let thin = piece.edit.thin.take().unwrap_or_else(Thin::nothing);
        let (start, end) = ((*thin.within.start()).max(first), (*thin.within.end()).min(last));
        let segment = self.sources.open(piece.source)?;
        let mut records = 0;
        for batch in frames(segment.bytes(), piece.from, piece.to) {
            for (place, item) in batch.records(&mut self.inflater).enumerate() {
                let stays = thin.dropped.binary_search(&(place as u32)).is_err();
                records += u64::from(stays && item.is_ok_and(|record| (start..=end).contains(&record.offset)));
            }
        }
        piece.edit.thin = Some(Thin { within: start..=end, ..thin });
        (piece.first, piece.last) = (piece.first.max(start), piece.last.min(end));
        piece.records = records;
        Ok((records > 0).then_some(piece))
    }
}

fn next_if(parts: &mut VecDeque<Part>, test: impl Fn(&Part) -> bool) -> Option<Part> {
    parts.front().is_some_and(test).then(|| parts.pop_front()).flatten()
}

/// One batch of a piece that is copied as it is.
fn single(batch: &Batch<'_>, piece: &Piece, inflater: &mut Inflater) -> Piece {
    let look = look(batch, inflater);
    Piece {
        from: batch.position(),
        to: batch.position() + batch.len(),
        first: look.first,
        last: look.last,
        batches: 1,
        records: look.records,
        ..piece.clone()
    }
}

fn put_together(parts: &mut Vec<Part>) {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in std::mem::take(parts) {
        let joins = out
            .last_mut()
            .is_some_and(|last| last.incident.is_none() && part.incident.is_none() && last.piece.join(&part.piece));
        if !joins {
            out.push(part);
        }
    }
    *parts = out;
}

/// Ranges that touch none of others, which ascend; those that follow each other as one.
fn between(ranges: &[(i64, i64)], others: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut out: Vec<(i64, i64)> = Vec::new();
    for &(first, last) in ranges {
        let behind = others.partition_point(|(_, other)| *other < first);
        if others.get(behind).is_some_and(|(other, _)| *other <= last) {
            continue;
        }
        match out.last_mut() {
            Some((_, before)) if first == before.saturating_add(1) => *before = last,
            _ => out.push((first, last)),
        }
    }
    out
}
