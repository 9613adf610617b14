//! A few batches of another place, such as a sector that was written to a wrong one: what stands before them and what comes
//! behind agree with each other, and not with them.
//!
//! Must not know: what becomes of batches whose base offset alone is wrong, and of ranges that were written twice.

use super::super::plan::Piece;
use super::super::report::Outcome;
use super::super::survey::{Entry, Part};
use super::back::{Kind, Stray};
use super::chain::MOST_STRAY;
use super::{CODE, Sorter, incident_of};

impl Sorter<'_> {
    /// Takes away what stands high above what comes before and behind it: one batch has a base offset that is damaged, as
    /// far as it goes between those around it, which go on at `next`; more are a piece of another place.
    pub(super) fn outlier(&mut self, part: Part, next: i64) {
        let (floor, place) = (self.floor(&part.piece).last, self.out.len());
        let span = part.piece.last.saturating_sub(part.piece.first).saturating_add(1);
        let room = next.saturating_sub(floor).saturating_sub(1);
        if part.piece.batches == 1 && room >= span {
            let true_first = (room == span).then_some(floor.saturating_add(1));
            return self.misplaced(part, true_first, place);
        }
        let told = self.intruder(&part);
        self.out.push(Entry::Gap(told));
    }

    /// Takes away the few batches on top that stand high above what is below them, where a batch goes on from there: a piece
    /// of another place. Whether there were any.
    pub(super) fn run_on_top(&mut self, head: &Part, next: Option<i64>) -> bool {
        let mut parts = self.out.downwards();
        let Some(top) = parts.next().filter(|top| top.piece.batches == 1 && top.piece.source == head.piece.source)
        else {
            return false;
        };
        let (mut run, mut first, mut below) = (1, top.piece.first, None);
        for part in parts {
            if part.piece.last.checked_add(1) != Some(first) || run > MOST_STRAY {
                below = Some(part.piece.last);
                break;
            }
            (run, first) = (run + part.piece.batches, part.piece.first);
        }
        let floor = below.unwrap_or(-1).max(self.base(&head.piece).map_or(-1, |base| base.saturating_sub(1)));
        let goes_on = next.is_some_and(|next| next > head.piece.last && next < first);
        let fits = floor < head.piece.first && head.piece.last < first;
        if !(2..=MOST_STRAY).contains(&run) || !fits || !goes_on {
            return false;
        }
        let mut strays: Vec<Part> = Vec::new();
        let mut place = self.out.len();
        while let Some(top) = self.top().filter(|top| top.piece.first >= first).cloned() {
            place = self.out.take_top();
            match strays.last_mut() {
                Some(above) if is_followed(&top, above) => {
                    above.piece = joined(&top.piece, &above.piece);
                }
                _ => strays.push(top),
            }
        }
        for stray in strays.iter().rev() {
            let told = self.intruder(stray);
            self.out.put(place, Entry::Gap(told));
            place += 1;
        }
        true
    }

    /// Takes away a batch that goes back, with what goes on from it, if that is a piece of another place: what comes then
    /// goes on from what stood before all of it, and not from its end. A log that was written anew from there would go on
    /// from that. Whether it was one.
    pub(super) fn run_from(&mut self, head: &Part) -> bool {
        let Some(entries) = self.strays_behind(head) else { return false };
        let mut stray = head.clone();
        for entry in self.input.drain(..entries).collect::<Vec<_>>() {
            match entry {
                Entry::Part(part) if is_followed(&stray, &part) => {
                    stray.piece = joined(&stray.piece, &part.piece);
                }
                Entry::Part(part) => {
                    let told = self.intruder(&std::mem::replace(&mut stray, part));
                    self.out.push(Entry::Gap(told));
                }
                gap => self.out.push(gap),
            }
        }
        let told = self.intruder(&stray);
        self.out.push(Entry::Gap(told));
        true
    }

    /// How much of what is to come belongs to the run of a batch, if that is a piece of another place.
    fn strays_behind(&self, head: &Part) -> Option<usize> {
        let floor = self.floor(&head.piece).last;
        let (mut run, mut last, mut entries) = (1, head.piece.last, 0);
        for (place, entry) in self.input.iter().enumerate() {
            let Entry::Part(part) = entry else { continue };
            let piece = &part.piece;
            if piece.first > floor {
                let is_one = run > 1 && last <= floor && last.checked_add(1) != Some(piece.first);
                return is_one.then_some(entries);
            }
            if piece.first <= last || piece.last > floor || run > MOST_STRAY {
                return None;
            }
            (run, last, entries) = (run + piece.batches, piece.last, place + 1);
        }
        // At the end of the log: it would have gone back for good, which takes a new leader.
        let is_newer = self.out.greatest_epoch_from(head.piece.first).is_some_and(|it| it < head.piece.epoch);
        (run > 1 && last <= floor && !is_newer).then_some(entries)
    }

    /// Says of batches that they do not belong where they stand. What was there is not known.
    pub(super) fn intruder(&mut self, part: &Part) -> usize {
        let mut incident = incident_of(&part.piece, CODE, Outcome::Lost);
        let (first, last) = (part.piece.first, part.piece.last);
        let offsets = if first == last { format!("offset {first}") } else { format!("offsets {first} to {last}") };
        incident.message = format!("what stands here belongs elsewhere: {offsets}");
        (incident.is_batches, incident.first, incident.last) = (false, None, None);
        let told = self.tell(part.incident, incident);
        if part.incident.is_none() && part.piece.edit.is_none() {
            self.strays.push(Stray { part: part.clone(), incident: told, kind: Kind::Displaced });
        }
        told
    }
}

/// Batches of another place, ascending by offset. Of what overlaps, nothing.
pub(super) fn in_order(strays: Vec<Stray>) -> Vec<Part> {
    let displaced = strays.into_iter().filter(|stray| stray.kind == Kind::Displaced);
    let mut parts: Vec<Part> = displaced.map(|stray| stray.part).collect();
    parts.sort_by_key(|part| (part.piece.first, part.piece.last));
    let mut greatest = i64::MIN;
    let starts_free: Vec<bool> = (parts.iter())
        .map(|part| {
            let is_free = part.piece.first > greatest;
            greatest = greatest.max(part.piece.last);
            is_free
        })
        .collect();
    let is_free = |place: usize| starts_free.get(place) == Some(&true) && starts_free.get(place + 1) != Some(&false);
    parts.into_iter().enumerate().filter(|(place, _)| is_free(*place)).map(|(_, part)| part).collect()
}

/// A piece and what follows it, as one.
fn joined(piece: &Piece, next: &Piece) -> Piece {
    Piece {
        to: next.to,
        last: next.last,
        batches: piece.batches + next.batches,
        records: piece.records + next.records,
        ..piece.clone()
    }
}

/// Whether a part is followed by another, in its file and by its offsets, with nothing to say of either.
fn is_followed(part: &Part, next: &Part) -> bool {
    part.incident.is_none()
        && next.incident.is_none()
        && part.piece.source == next.piece.source
        && part.piece.epoch == next.piece.epoch
        && part.piece.to == next.piece.from
        && part.piece.last < next.piece.first
}
