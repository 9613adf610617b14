//! Batches in ascending order of offsets, as they are put in order: what is behind all others is at the top.
//!
//! Only the top changes, so that whatever is asked for takes no more than a logarithm of what stands there. Must not know:
//! why something is put there or taken away.

use super::survey::{Entry, Part};

/// What is in order so far.
#[derive(Debug, Default)]
pub(super) struct Tower {
    /// None where something was taken away; its room can be taken by another.
    entries: Vec<Option<Entry>>,
    /// Where in `entries` the parts are, ascending.
    parts: Vec<usize>,
    /// At i, the greatest leader epoch of the parts at (i + 1) - lowbit(i + 1) to i: a Fenwick tree, of which the end can
    /// be cut off.
    greatest: Vec<i32>,
}

impl Tower {
    /// Everything, in order.
    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries.into_iter().flatten().collect()
    }

    /// The place behind everything.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Puts something on top.
    pub(super) fn push(&mut self, entry: Entry) {
        self.put(self.entries.len(), entry);
    }

    /// Puts something at a place above every part.
    pub(super) fn put(&mut self, place: usize, entry: Entry) {
        let place = place.min(self.entries.len());
        let is_part = matches!(entry, Entry::Part(_));
        match self.entries.get_mut(place) {
            Some(room @ None) => *room = Some(entry),
            _ => self.entries.insert(place, Some(entry)),
        }
        if is_part {
            self.raised(place);
        }
    }

    fn raised(&mut self, place: usize) {
        self.parts.push(place);
        let number = self.parts.len();
        let mut greatest = self.part(number - 1).map_or(-1, |part| part.piece.epoch);
        let mut below = number - 1;
        let from = number - lowbit(number);
        while below > from {
            greatest = greatest.max(self.greatest.get(below - 1).copied().unwrap_or(-1));
            below -= lowbit(below);
        }
        self.greatest.push(greatest);
    }

    fn part(&self, number: usize) -> Option<&Part> {
        match self.entries.get(*self.parts.get(number)?)? {
            Some(Entry::Part(part)) => Some(part),
            _ => None,
        }
    }

    /// The topmost part.
    pub(super) fn top(&self) -> Option<&Part> {
        self.part(self.parts.len().checked_sub(1)?)
    }

    /// Whether the topmost part has nothing above it.
    pub(super) fn ends_in_part(&self) -> bool {
        let top = self.parts.last().copied();
        let above = top.and_then(|top| self.entries.get(top + 1..)).unwrap_or_default();
        top.is_some() && above.iter().all(Option::is_none)
    }

    /// The parts, the topmost first.
    pub(super) fn downwards(&self) -> impl Iterator<Item = &Part> {
        (0..self.parts.len()).rev().filter_map(|number| self.part(number))
    }

    /// The parts that have offsets of a range, ascending.
    pub(super) fn overlapping(&self, (first, last): (i64, i64)) -> impl Iterator<Item = &Part> {
        let from = self.behind(first);
        (from..self.parts.len()).map_while(move |number| self.part(number).filter(|part| part.piece.first <= last))
    }

    /// How many parts end before an offset.
    fn behind(&self, first: i64) -> usize {
        self.parts.partition_point(|place| match self.entries.get(*place) {
            Some(Some(Entry::Part(part))) => part.piece.last < first,
            _ => false,
        })
    }

    /// Takes the topmost part away, and says where it stood.
    pub(super) fn take_top(&mut self) -> usize {
        self.greatest.pop();
        let Some(place) = self.parts.pop() else { return self.entries.len() };
        if let Some(room) = self.entries.get_mut(place) {
            *room = None;
        }
        place
    }

    /// Puts parts in the place of the topmost one.
    pub(super) fn replace_top(&mut self, parts: Vec<Part>) {
        let place = self.take_top();
        let (from, number) = (place.min(self.entries.len()), parts.len());
        let to = (from + 1).min(self.entries.len());
        self.entries.splice(from..to, parts.into_iter().map(|part| Some(Entry::Part(part))));
        (from..from + number).for_each(|place| self.raised(place));
    }

    /// The greatest leader epoch of the parts at or behind an offset.
    pub(super) fn greatest_epoch_from(&self, first: i64) -> Option<i32> {
        let from = self.behind(first);
        let mut number = self.parts.len();
        let mut greatest = None;
        while number > from {
            let whole = number - lowbit(number);
            let (epoch, next) = if whole >= from {
                (self.greatest.get(number - 1).copied(), whole)
            } else {
                (self.part(number - 1).map(|part| part.piece.epoch), number - 1)
            };
            greatest = greatest.max(epoch);
            number = next;
        }
        greatest
    }
}

fn lowbit(number: usize) -> usize {
    number & number.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::plan::{Edit, Piece};

    fn part(first: i64, epoch: i32) -> Part {
        let piece = Piece {
            source: 0,
            from: 0,
            to: 1,
            first,
            last: first,
            epoch,
            batches: 1,
            records: 1,
            edit: Edit::default(),
        };
        Part { piece, incident: None }
    }

    #[test]
    fn the_greatest_epoch_is_that_of_all_above() {
        let mut tower = Tower::default();
        let mut plain: Vec<i32> = Vec::new();
        for step in 0..400_i64 {
            if step % 7 == 3 {
                tower.take_top();
                plain.pop();
            } else {
                let epoch = (step * 31 % 23) as i32;
                tower.push(Entry::Part(part(plain.len() as i64 * 2, epoch)));
                plain.push(epoch);
            }
            if step % 5 == 0 {
                tower.push(Entry::Gap(0));
            }
            for from in 0..=plain.len() {
                let expected = plain[from..].iter().max().copied();
                assert_eq!(tower.greatest_epoch_from(from as i64 * 2), expected, "{step} {from}");
            }
        }
        assert_eq!(tower.overlapping((3, 8)).map(|part| part.piece.first).collect::<Vec<_>>(), [4, 6, 8]);
    }
}
