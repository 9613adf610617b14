//! A few batches of another place, such as a sector that was written to a wrong one: what stands before them and what comes
//! behind agree with each other, and not with them.
//!
//! Must not know: what becomes of batches whose base offset alone is wrong, and of ranges that were written twice.

use super::super::report::Outcome;
use super::super::survey::{Entry, Part};
use super::{CODE, Sorter, incident_of};

/// A piece of another place, such as a sector that was written to a wrong one, has no more batches than this.
const MOST_STRAY: u64 = 64;

impl Sorter<'_> {
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
        while self.top().is_some_and(|top| top.piece.first >= first) {
            let Some(top) = self.top().cloned() else { break };
            let place = self.out.take_top();
            let told = self.intruder(&top);
            self.out.put(place, Entry::Gap(told));
        }
        true
    }

    /// Whether a batch that goes back, and what goes on from it, is a piece of another place: what comes then goes on from
    /// what stood before all of it, and not from its end. A log that was written anew from there would go on from that.
    pub(super) fn is_intruder(&self, head: &Part) -> bool {
        let floor = self.floor(&head.piece).last;
        let (mut run, mut last) = (1, head.piece.last);
        for entry in &self.input {
            let Entry::Part(part) = entry else { continue };
            let piece = &part.piece;
            if piece.first > floor {
                return run > 1 && last <= floor && last.checked_add(1) != Some(piece.first);
            }
            if piece.first <= last || piece.last > floor || run > MOST_STRAY {
                return false;
            }
            (run, last) = (run + piece.batches, piece.last);
        }
        false
    }

    /// Says of a batch that it does not belong where it stands. What was there is not known.
    pub(super) fn intruder(&mut self, part: &Part) -> usize {
        let mut incident = incident_of(&part.piece, CODE, Outcome::Lost);
        let (first, last) = (part.piece.first, part.piece.last);
        let offsets = if first == last { format!("offset {first}") } else { format!("offsets {first} to {last}") };
        incident.message = format!("a batch of another place, of {offsets}, is in place of what was here");
        (incident.is_batches, incident.first, incident.last) = (false, None, None);
        self.tell(part.incident, incident)
    }
}
