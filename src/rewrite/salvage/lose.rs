//! Which records of a batch are lost, where they stood, and how many there may be that nobody can name.
//!
//! Must not know: why the batch, or a part of it, does not stay.

use super::super::look::look;
use super::super::plan::{SourceId, Thin};
use super::super::report::{Incident, Outcome};
use super::super::survey::Part;
use super::super::union::Log;
use crate::log::{Batch, Codec, Inflater};
use crate::model::losses::{Losses, LostAt, LostRecord, believable_count, counts_its_offsets, with_a_count};
use crate::schema::Key;

/// What of a batch is in the new log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stays<'k> {
    Nothing,
    All,
    Some(&'k Thin),
}

impl Stays<'_> {
    /// Whether a record does, by its place in the batch and its offset.
    fn has(&self, place: usize, offset: i64) -> bool {
        match self {
            Stays::Nothing => false,
            Stays::All => true,
            Stays::Some(thin) => thin.within.contains(&offset) && thin.dropped.binary_search(&(place as u32)).is_err(),
        }
    }
}

/// Which stretches of which files are in the new log, to be asked by place.
pub(super) struct Kept<'k>(Vec<(SourceId, u64, u64, Option<&'k Thin>)>);

impl<'k> Kept<'k> {
    pub(super) fn of(log: &'k Log) -> Self {
        let stretch =
            |part: &'k Part| (part.piece.source, part.piece.from, part.piece.to, part.piece.edit.thin.as_ref());
        let mut all: Vec<_> = log.parts.iter().map(stretch).collect();
        all.sort_by_key(|(source, from, ..)| (*source, *from));
        Kept(all)
    }

    pub(super) fn batch(&self, (source, position): (SourceId, u64)) -> Stays<'k> {
        let behind = self.0.partition_point(|(id, from, ..)| (*id, *from) <= (source, position));
        match behind.checked_sub(1).and_then(|at| self.0.get(at)) {
            Some((id, _, to, thin)) if *id == source && *to > position => thin.map_or(Stays::All, Stays::Some),
            _ => Stays::Nothing,
        }
    }
}

/// Records of a lost batch whose keys cannot be read.
pub(super) struct Dark {
    /// So many that can be counted.
    pub(super) records: u64,
    /// Where they stood, as far as records that can be read tell.
    pub(super) at: Vec<(i64, i64)>,
    /// Whether there may be more: it cannot be read to its end, and nothing says how many there were.
    pub(super) may_be_more: bool,
}

/// Where records without a readable key stood: between the offsets of those that can be read, for what damaged records say
/// of their own offsets is not believed.
struct Gaps {
    /// Behind the last record that can be read.
    next: i64,
    last: i64,
    /// Whether there was any behind that.
    is_open: bool,
    found: Vec<(i64, i64)>,
}

impl Gaps {
    fn of(batch: &Batch<'_>) -> Self {
        let header = batch.header();
        Gaps { next: header.base_offset, last: header.last_offset, is_open: false, found: Vec::new() }
    }

    fn dark(&mut self) {
        self.is_open = true;
    }

    fn readable(&mut self, offset: i64) {
        if !(self.next..=self.last).contains(&offset) {
            return;
        }
        self.close(offset.saturating_sub(1));
        self.next = offset.saturating_add(1);
    }

    fn close(&mut self, last: i64) {
        if self.is_open && self.next <= last {
            self.found.push((self.next, last));
        }
        self.is_open = false;
    }

    /// The gaps, moved by so much.
    fn finish(mut self, shift: i64) -> Vec<(i64, i64)> {
        self.close(self.last);
        let moved = |(first, last): (i64, i64)| Some((first.checked_add(shift)?, last.checked_add(shift)?));
        self.found.into_iter().filter_map(moved).collect()
    }
}

/// A batch of which not all records stay.
pub(super) struct Lost<'l> {
    pub(super) incident: &'l Incident,
    pub(super) batch: Batch<'l>,
    pub(super) stays: Stays<'l>,
    /// Where the log ends.
    pub(super) log_end: i64,
}

impl Lost<'_> {
    /// Takes up the records that do not stay; says which of them have no readable key.
    pub(super) fn lose(&self, losses: &mut Losses, inflater: &mut Inflater) -> Dark {
        let is_doubtful = self.batch.check_crc().is_err();
        let mut room = Vec::new();
        let batch = if is_doubtful { with_a_count(&self.batch, &mut room) } else { self.batch };
        let has_no_count = batch.header().count != self.batch.header().count;
        let at = LostAt { segment: self.incident.source, position: batch.position() };
        let shift = self.believable_shift(inflater);
        let producer_id = batch.header().producer_id;
        let mut unreadable = 0;
        let mut met = 0;
        let mut gaps = Gaps::of(&batch);
        let mut records = batch.records(inflater);
        for (place, item) in records.by_ref().enumerate() {
            met += 1;
            let (said, timestamp, key, value) = match item {
                Ok(record) if self.stays.has(place, record.offset) => {
                    gaps.readable(record.offset);
                    continue;
                }
                Ok(record) => (record.offset, record.timestamp, record.key, Some(record.value)),
                Err(bad) => (
                    bad.offset.unwrap_or(batch.header().last_offset),
                    bad.timestamp.unwrap_or(-1),
                    bad.key,
                    bad.value.map(Some),
                ),
            };
            // What damaged bytes name must make sense at least.
            let is_readable = match value {
                Some(_) if !is_doubtful => true,
                _ => key.is_some_and(|key| !is_doubtful || Key::decode(key).is_ok()),
            };
            if !is_readable {
                unreadable += 1;
                gaps.dark();
                continue;
            }
            gaps.readable(said);
            if self.is_elsewhere(said) {
                continue;
            }
            let offset = said.wrapping_add(shift);
            losses.lost(&LostRecord { at, offset, said: Some(said), timestamp, producer_id, key, value });
        }
        let unmet = believable_count(&batch).saturating_sub(met).max(0) as u64;
        if unmet > 0 {
            gaps.dark();
        }
        // A wrapper names no first offset.
        let knows_offsets = batch.header().magic >= 2;
        Dark {
            records: unreadable + unmet,
            at: if knows_offsets { gaps.finish(shift) } else { Vec::new() },
            // What is inflated of damaged bytes need not be what was put in.
            may_be_more: !self.is_count_vouched_for() && records.fault().is_some()
                || has_no_count
                || is_doubtful && batch.header().codec != Codec::None,
        }
    }

    /// Whether another copy gave what stood at an offset.
    fn is_elsewhere(&self, offset: i64) -> bool {
        let is_compacted = || self.incident.compacted.iter().any(|(first, last)| (*first..=*last).contains(&offset));
        matches!(self.incident.outcome, Outcome::Filled(_)) && !is_compacted()
    }

    /// Whether the number of records that a batch's head names can be believed. A wrapper names none.
    fn is_count_vouched_for(&self) -> bool {
        let header = self.batch.header();
        if header.magic < 2 {
            return header.codec == Codec::None;
        }
        self.batch.check_crc().is_ok() || counts_its_offsets(&header)
    }

    /// What to add to its offsets: where its own cannot be right, they are taken to begin where they can.
    fn believable_shift(&self, inflater: &mut Inflater) -> i64 {
        let (incident, header) = (self.incident, self.batch.header());
        // Where no offset is free, a sound batch is of another place, and taken at its word.
        let is_of_another = incident.first.is_none() && header.base_offset >= 0 && header.last_offset < self.log_end;
        if is_of_another && self.batch.check_crc().is_ok() || incident.outcome != Outcome::Lost {
            return 0;
        }
        // Else it stands behind what stands before it.
        let Some(first) = incident.first.or(incident.stands.map(|behind| behind.saturating_sub(1).max(0))) else {
            return 0;
        };
        // A wrapper names its last offset only.
        let is_wrapper = header.magic < 2 && header.codec != Codec::None;
        let base = if is_wrapper { look(&self.batch, inflater).first } else { header.base_offset };
        let span = header.last_offset.saturating_sub(base);
        let fits = match incident.last {
            // There is one place for it.
            Some(last) if last.checked_sub(first) == Some(span) => base == first,
            Some(last) => (first..=last).contains(&base),
            // Nobody knows how far it went, for its own word is not believed.
            None => base == first,
        };
        if fits || base == i64::MAX { 0 } else { first.wrapping_sub(base) }
    }
}
