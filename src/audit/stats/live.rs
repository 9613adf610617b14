//! What stays in a compaction, and whose it is: a cleaning that writes nothing down.
//!
//! The bytes of what stays are shared out as they were when all was counted: by the batch as it stands in the log. Must not
//! know: why something stays.

use super::counter::{Counter, head_length, marker_room};
use super::rows::{Owner, type_of};
use crate::log::build::Entry;
use crate::log::plain::{Look, PlainRecord};
use crate::log::{Batch, Codec, Inflater, Records, Segment};
use crate::model::stats::Live;
use crate::model::stats::share::Share;
use crate::rewrite::compact::Aim;
use crate::rewrite::compact::clean::{Cleaned, Sink, Stays, Takes, clean};
use crate::rewrite::compact::slot::Winner;
use crate::rewrite::compact::survey::{Place, Survey};
use crate::rewrite::interrupt::Interrupt;
use crate::schema::Key;
use std::io;

/// Counts what is handed on.
struct Handed<'l> {
    owned: Owned<'l>,
    inflater: Inflater,
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

    fn original(&mut self, batch: &Batch<'_>, (number, _): Place, stays: Stays<'_>) {
        let header = batch.header();
        let head = head_length(&header);
        self.owned.live = Live { records: 0, bytes: head };
        let stored = header.length - head;
        let Handed { owned, inflater } = self;
        match stays {
            Stays::Head => {}
            // Where nothing is compressed, a record's share is itself.
            Stays::Records(entries) if header.magic == 2 && header.codec == Codec::None => {
                entries.iter().for_each(|entry| owned.entry(entry));
            }
            Stays::Records(entries) => owned.some(entries, batch.records(inflater), stored),
            Stays::All if header.control => owned.markers(batch.records(inflater), stored),
            Stays::All => {
                let mut whole = Whole { owned, base_offset: header.base_offset, passed: 0 };
                if !batch.all_plain(&mut whole) {
                    whole.slowly(batch.records(inflater), stored);
                }
            }
        }
        let Counter { batches, counted, .. } = &mut *self.owned.counter;
        counted.heads.live_bytes += head;
        batches.add_live(&header, number as usize, self.owned.live, counted);
    }

    fn batch(&mut self, _: &Batch<'_>) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> Takes {
        Takes::Nothing
    }
}

/// A batch of records, all of which stay.
struct Whole<'w, 'l> {
    owned: &'w mut Owned<'l>,
    base_offset: i64,
    /// How many were met.
    passed: usize,
}

impl Whole<'_, '_> {
    /// Goes on where the short way ended.
    fn slowly(&mut self, mut records: Records<'_>, stored: u64) {
        let mut share = Share::new(stored, records.body_length() as u64);
        for (number, record) in records.by_ref().flatten().enumerate() {
            let bytes = share.of(record.bytes.len());
            if number >= self.passed {
                self.owned.record(record.key.unwrap_or_default(), record.offset, bytes);
            }
        }
    }
}

impl<'b> Look<'b> for Whole<'_, '_> {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'b>) -> bool {
        self.passed += 1;
        let offset = self.base_offset.wrapping_add(i64::from(record.offset_delta));
        self.owned.record(record.key.unwrap_or_default(), offset, record.length as u64);
        true
    }
}

impl Owned<'_> {
    /// A record of a batch that is not compressed.
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        let bytes = entry.framed.map_or(0, <[u8]>::len) as u64;
        self.record(entry.key.unwrap_or_default(), entry.offset, bytes);
    }

    /// The records of any other batch, of which these stay, in their order.
    fn some(&mut self, entries: &[Entry<'_>], mut records: Records<'_>, stored: u64) {
        let mut share = Share::new(stored, records.body_length() as u64);
        let mut entries = entries.iter().peekable();
        for record in records.by_ref().flatten() {
            let bytes = share.of(record.bytes.len());
            if entries.next_if(|it| it.offset == record.offset && it.key == record.key).is_some() {
                self.record(record.key.unwrap_or_default(), record.offset, bytes);
            }
        }
    }

    /// End markers, all of which stay.
    fn markers(&mut self, mut records: Records<'_>, stored: u64) {
        let mut share = Share::new(stored, records.body_length() as u64);
        for record in records.by_ref().flatten() {
            let live = Live { records: 1, bytes: share.of(record.bytes.len()) };
            self.live.add(live);
            if let Some(marker) = self.counter.counted.markers.get_mut(marker_room(&record)) {
                marker.add_live(live);
            }
        }
    }

    /// A record that stays, and its share of the stored bytes.
    #[inline]
    fn record(&mut self, key: &[u8], offset: i64, bytes: u64) {
        let live = Live { records: 1, bytes };
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
        owned: Owned { counter, winners, passed: 0, live: Live::default() },
        inflater: Inflater::with_limit(aim.max_inflated),
    };
    clean(segments, survey, aim, interrupt, &mut handed, &mut |_| {})
}
