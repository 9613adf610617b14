//! What stays in a compaction, and whose it is: a cleaning that writes nothing down.
//!
//! What it hands on is held against the batch that it is made of, whose bytes are shared out as they were when all was
//! counted. Must not know: why something stays.

use super::counter::{Counter, head_length, marker_room};
use super::rows::{Owner, type_of};
use crate::log::plain::{Look, PlainRecord};
use crate::log::{Batch, Header, Inflater, Record, Segment};
use crate::model::stats::Live;
use crate::model::stats::share::Share;
use crate::rewrite::compact::Aim;
use crate::rewrite::compact::clean::{Cleaned, Sink, clean};
use crate::rewrite::compact::slot::Winner;
use crate::rewrite::compact::survey::{Place, Survey};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::plan::frames;
use crate::schema::Key;
use std::io;

/// Counts what is handed on.
struct Handed<'l> {
    segments: &'l [Segment],
    owned: Owned<'l>,
    /// Where the batch begins that is looked at.
    place: Place,
    /// The offsets in what is left of it.
    kept: Vec<i64>,
    inflater: Inflater,
    inflater_of_original: Inflater,
}

/// What stays, by whose it is.
struct Owned<'l> {
    counter: &'l mut Counter,
    /// The last records of keys, as far as they tell whose a record is.
    winners: &'l [Winner],
    /// How many of them were passed.
    passed: usize,
    /// Of the batch at hand.
    live: Live,
}

impl Sink for Handed<'_> {
    fn segment(&mut self, _: i64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn original(&mut self, place: Place) {
        self.place = place;
    }

    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let (number, position) = self.place;
        let segment = self.segments.get(number as usize);
        let original = segment.and_then(|it| frames(it.bytes(), position, it.len()).next());
        let Some(original) = original else { return Ok(()) };
        let is_whole = std::ptr::eq(batch.bytes(), original.bytes());
        if !is_whole {
            offsets(batch, &mut self.kept, &mut self.inflater);
        }
        let Handed { owned, kept, inflater_of_original, .. } = self;
        let header = original.header();
        let head = head_length(&header);
        owned.live = Live { records: 0, bytes: head };
        let mut kept = Kept { owned, offsets: (!is_whole).then_some(kept.as_slice()), header: &header, passed: 0 };
        if header.control || !original.all_plain(&mut kept) {
            kept.slowly(&original, header.length - head, inflater_of_original);
        }
        let Counter { batches, counted, .. } = &mut *owned.counter;
        counted.heads.live_bytes += head;
        batches.add_live(&header, number as usize, owned.live, counted);
        Ok(())
    }
}

/// The offsets of a batch's records, ascending.
fn offsets(batch: &Batch<'_>, into: &mut Vec<i64>, inflater: &mut Inflater) {
    into.clear();
    if !batch.all_plain(&mut Offsets { base: batch.header().base_offset, into }) {
        into.clear();
        into.extend(batch.records(inflater).flatten().map(|record| record.offset));
    }
    // They ascend, but for those of damaged batches.
    into.sort_unstable();
}

struct Offsets<'o> {
    base: i64,
    into: &'o mut Vec<i64>,
}

impl<'b> Look<'b> for Offsets<'_> {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'b>) -> bool {
        self.into.push(self.base.wrapping_add(i64::from(record.offset_delta)));
        true
    }
}

/// The records of a batch of which some stay.
struct Kept<'k, 'l> {
    owned: &'k mut Owned<'l>,
    /// Those that stay, ascending; None if all do.
    offsets: Option<&'k [i64]>,
    header: &'k Header,
    /// How many were met.
    passed: usize,
}

impl Kept<'_, '_> {
    #[inline(always)]
    fn stays(&self, offset: i64) -> bool {
        self.offsets.as_ref().is_none_or(|offsets| offsets.binary_search(&offset).is_ok())
    }

    /// Goes on where the short way ended.
    fn slowly(&mut self, batch: &Batch<'_>, stored: u64, inflater: &mut Inflater) {
        let mut records = batch.records(inflater);
        let mut share = Share::new(stored, records.body_length() as u64);
        let mut passed = self.passed;
        for record in records.by_ref().flatten() {
            let live = Live { records: 1, bytes: share.of(record.bytes.len()) };
            if passed > 0 {
                passed -= 1;
            } else if !self.stays(record.offset) {
            } else if self.header.control {
                self.owned.marker(&record, live);
            } else {
                self.owned.record(record.key.unwrap_or_default(), record.offset, live);
            }
        }
    }
}

impl<'b> Look<'b> for Kept<'_, '_> {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'b>) -> bool {
        self.passed += 1;
        let offset = self.header.base_offset.wrapping_add(i64::from(record.offset_delta));
        if self.stays(offset) {
            // Where nothing is compressed, a record's share is itself.
            let live = Live { records: 1, bytes: record.length as u64 };
            self.owned.record(record.key.unwrap_or_default(), offset, live);
        }
        true
    }
}

impl Owned<'_> {
    fn marker(&mut self, record: &Record<'_>, live: Live) {
        self.live.add(live);
        if let Some(marker) = self.counter.counted.markers.get_mut(marker_room(record)) {
            marker.add_live(live);
        }
    }

    #[inline]
    fn record(&mut self, key: &[u8], offset: i64, live: Live) {
        self.live.add(live);
        let owner = self.owner_of_last(offset).or_else(|| self.owner_of(key));
        let Counter { rows, counted, .. } = &mut *self.counter;
        if let Some(of_type) = counted.types.get_mut(type_of(key)) {
            of_type.add_live(live);
        }
        rows.add_live(owner.unwrap_or(Owner::Nobody), live, counted);
    }

    /// Whose the record at an offset is, if it is the last of its key. Offsets ascend.
    fn owner_of_last(&mut self, offset: i64) -> Option<Owner> {
        let ahead = self.winners.get(self.passed..)?;
        self.passed += ahead.iter().take_while(|it| it.offset < offset).count();
        self.winners.get(self.passed).filter(|it| it.offset == offset)?;
        self.counter.rows.owner_of_last(self.passed)
    }

    fn owner_of(&mut self, key: &[u8]) -> Option<Owner> {
        let Counter { rows, keys, .. } = &mut *self.counter;
        match key {
            [0, 0 | 1, ..] => {
                let read = Key::decode(key).ok()?;
                let meant = [&[0, 1], key.get(2..key.len() - read.trailing.len())?].concat();
                rows.owner_of_commit(keys.find_place(&meant)?)
            }
            _ => Some(rows.owner_of_other(key)),
        }
    }
}

/// Goes through a log that was surveyed, and adds what stays to what was counted.
///
/// # Errors
/// If a batch cannot be made anew.
pub(super) fn add_live(
    segments: &[Segment],
    survey: &Survey,
    aim: &Aim,
    interrupt: &Interrupt,
    counter: &mut Counter,
) -> io::Result<Cleaned> {
    // Where something is damaged, offsets may not tell records apart.
    let winners = survey.keys.counted_winners().filter(|_| survey.damage_in_all == 0).unwrap_or_default();
    let mut handed = Handed {
        segments,
        owned: Owned { counter, winners, passed: 0, live: Live::default() },
        place: (0, 0),
        kept: Vec::new(),
        inflater: Inflater::with_limit(aim.max_inflated),
        inflater_of_original: Inflater::with_limit(aim.max_inflated),
    };
    clean(segments, survey, aim, interrupt, &mut handed, &mut |_| {})
}
