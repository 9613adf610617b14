//! What stays in a compaction, and whose it is: a cleaning that writes nothing down.
//!
//! What it hands on is held against the batch that it is made of, whose bytes are shared out as they were when all was
//! counted. Must not know: why something stays.

use super::counter::{Counter, head_length, marker_room};
use super::rows::{Owner, type_of};
use crate::log::{Batch, Header, Inflater, Record, Segment};
use crate::model::stats::Sum;
use crate::model::stats::share::Share;
use crate::rewrite::compact::Aim;
use crate::rewrite::compact::clean::{Cleaned, Sink, clean};
use crate::rewrite::compact::survey::{Place, Survey};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::plan::frames;
use crate::schema::Key;
use std::io;
use std::ops::ControlFlow;

/// Counts what is handed on.
struct Live<'l> {
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
    /// How many last records of keys were passed.
    passed: usize,
}

impl Sink for Live<'_> {
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
        let Live { owned, kept, .. } = self;
        let is_whole = std::ptr::eq(batch.bytes(), original.bytes());
        kept.clear();
        if !is_whole {
            kept.extend(batch.records(&mut self.inflater).flatten().map(|record| record.offset));
            // They ascend, but for those of damaged batches.
            kept.sort_unstable();
        }
        let header = original.header();
        let mut records = original.records(&mut self.inflater_of_original);
        let head = head_length(&header);
        let mut share = Share::new(header.length - head, records.body_length() as u64);
        let mut live = Sum { live_bytes: head, ..Sum::default() };
        let _: ControlFlow<()> = records.each(
            &mut (),
            |(), record| {
                let bytes = share.of(record.bytes.len());
                if is_whole || kept.binary_search(&record.offset).is_ok() {
                    let sum = Sum { live_records: 1, live_bytes: bytes, ..Sum::default() };
                    live.add(&sum);
                    owned.record(record, &header, &sum);
                }
                ControlFlow::Continue(())
            },
            |(), _| ControlFlow::Continue(()),
        );
        let Counter { batches, counted, .. } = &mut *owned.counter;
        counted.heads.live_bytes += head;
        batches.add_live(&header, number as usize, &live, counted);
        Ok(())
    }
}

impl Owned<'_> {
    fn record(&mut self, record: &Record<'_>, header: &Header, sum: &Sum) {
        if header.control {
            if let Some(marker) = self.counter.counted.markers.get_mut(marker_room(record)) {
                marker.add(sum);
            }
            return;
        }
        let key = record.key.unwrap_or_default();
        let owner = self.next_owner(record.offset).or_else(|| self.owner_of(key));
        let Counter { rows, counted, .. } = &mut *self.counter;
        if let Some(of_type) = counted.types.get_mut(type_of(key)) {
            of_type.add(sum);
        }
        rows.add(owner.unwrap_or(Owner::Nobody), sum, counted);
    }

    /// Whose the record at an offset is, if it is the last of its key. Offsets ascend.
    fn next_owner(&mut self, offset: i64) -> Option<Owner> {
        let ahead = self.counter.rows.owners.get(self.passed..)?;
        let passed = ahead.iter().take_while(|(its, _)| its.offset < offset).count();
        self.passed += passed;
        ahead.get(passed).filter(|(its, _)| its.offset == offset)?.1
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
    if survey.damage_in_all > 0 {
        // Offsets may not tell records apart.
        counter.rows.owners.clear();
    }
    let mut live = Live {
        segments,
        owned: Owned { counter, passed: 0 },
        place: (0, 0),
        kept: Vec::new(),
        inflater: Inflater::with_limit(aim.max_inflated),
        inflater_of_original: Inflater::with_limit(aim.max_inflated),
    };
    clean(segments, survey, aim, interrupt, &mut live, &mut |_| {})
}
