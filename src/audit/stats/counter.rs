//! The fold: spans in log order become sums.
//!
//! It counts while a compaction's survey reads the log ([`Onlooker`]), or what it is shown of one. What of that stays is
//! added later. Must not know: which spans it is shown (all, a sample, a window), and what is learned besides.

use super::batches::Batches;
use super::rows::{Rows, type_of};
use super::slot::{KeySum, Note, Of};
use crate::log::batch::HEADER_LENGTH;
use crate::log::plain::{Look, PlainRecord};
use crate::log::{Batch, Codec, Control, Header, Hole, Inflater, Record, Segment};
use crate::model::stats::share::Share;
use crate::model::stats::{Counted, Sum, TYPES};
use crate::rewrite::compact::keys::{self, KeyPlace, Keys};
use crate::rewrite::compact::onlooker::Onlooker;
use crate::rewrite::compact::slot::{NONE, Winner};
use crate::schema::Key;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Bytes in front of the body of a wrapper message, by magic.
const WRAPPER_HEADS: [u64; 2] = [26, 34];

/// Records whose keys are yet to be looked up.
pub(super) type Waiting<'k> = keys::Window<'k, Note>;

/// Only batches in this time are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// In ms since 1970.
    pub from: i64,
    /// The first moment behind, in ms since 1970.
    pub until: i64,
}

/// Counts what it is shown.
pub(super) struct Counter {
    log_start: i64,
    window: Option<Window>,
    pub counted: Counted,
    pub batches: Batches,
    pub rows: Rows,
    /// All keys, as soon as all is counted.
    pub keys: Keys<KeySum>,
    /// Commits that are counted for type 1 and are of type 0.
    of_type_0: Sum,
    /// By producer: commits whose transaction has not ended, as places of keys and offsets.
    pending: HashMap<i64, Vec<(KeyPlace, i64)>, RandomState>,
    last: i64,
    here: Here,
}

/// The batch at hand.
#[derive(Debug, Default)]
pub(super) struct Here {
    base_time: i64,
    /// All ones where records have times of their own.
    own_times: i64,
    producer_id: i64,
    /// Records that can be read.
    pub records: u64,
    pub tombstones: u64,
    pub commits: u64,
    /// The earliest time of its commits of type 1, and the latest: as in [`KeySum`].
    pub first_time: u64,
    pub last_time: i64,
    /// As of type 0.
    pub times_of_type_0: Option<(i64, i64)>,
    /// Where its records are not all of the body.
    share: Option<Share>,
}

impl Here {
    fn new(header: &Header) -> Self {
        let is_append_time = header.attributes & 8 != 0;
        Here {
            base_time: if is_append_time { header.max_timestamp } else { header.base_timestamp },
            own_times: if is_append_time { 0 } else { -1 },
            producer_id: header.producer_id,
            first_time: u64::MAX,
            last_time: -1,
            ..Here::default()
        }
    }
}

/// A record, as far as it is counted.
#[derive(Clone, Copy)]
struct Counting<'r> {
    key: Option<&'r [u8]>,
    value: Option<&'r [u8]>,
    time: i64,
    bytes: u32,
}

/// The bytes in front of a batch's body.
pub(super) fn head_length(header: &Header) -> u64 {
    let head = match (header.magic, header.codec) {
        (2, _) => HEADER_LENGTH as u64,
        // A plain message of magic 0 or 1 is the record, all of it.
        (_, Codec::None) => 0,
        (magic, _) => WRAPPER_HEADS.get(usize::from(magic)).copied().unwrap_or(0),
    };
    head.min(header.length)
}

/// The place of an end marker in [`Counted::markers`].
pub(super) fn marker_room(record: &Record<'_>) -> usize {
    match Control::parse(record) {
        Ok(Control::Commit(_)) => 0,
        Ok(Control::Abort(_)) => 1,
        _ => 2,
    }
}

impl Counter {
    /// Nothing yet.
    pub fn new(log_start: Option<i64>) -> Self {
        Counter {
            log_start: log_start.unwrap_or(i64::MIN),
            window: None,
            counted: Counted { types: vec![Sum::default(); TYPES], ..Counted::default() },
            batches: Batches::default(),
            rows: Rows::default(),
            keys: Keys::default(),
            of_type_0: Sum::default(),
            pending: HashMap::default(),
            last: -1,
            here: Here::default(),
        }
    }

    /// Only what is in a window of time.
    #[must_use]
    pub fn within(self, window: Option<Window>) -> Self {
        Counter { window, ..self }
    }

    /// A segment begins.
    pub fn segment(&mut self, segment: &Segment) {
        let base_offset = segment.base_offset().unwrap_or(self.last.saturating_add(1));
        self.batches.segment(segment, base_offset, &mut self.counted);
        self.last = self.last.max(base_offset.saturating_sub(1));
    }

    /// Bytes that are no batch.
    pub fn hole(&mut self, hole: &Hole) {
        self.counted.seen += hole.length;
        let count = self.counted.holes.entry(hole.fault.code()).or_default();
        count.number += 1;
        count.bytes += hole.length;
        if let Some(row) = self.counted.segments.last_mut() {
            row.hole_bytes += hole.length;
        }
    }

    /// A batch of which nothing is believed.
    pub fn left_out(&mut self, header: &Header) {
        self.counted.seen += header.length;
        let sum = Sum { batches: 1, bytes: header.length, ..Sum::default() };
        self.counted.damaged.add(&sum);
        if let Some(row) = self.counted.segments.last_mut() {
            row.sum.add(&sum);
        }
    }

    #[cold]
    fn below_start(&mut self, header: &Header) {
        let sum = Sum { batches: 1, bytes: header.length, ..Sum::default() };
        self.counted.below_start.add(&sum);
        if let Some(row) = self.counted.segments.last_mut() {
            row.sum.add(&sum);
        }
    }

    /// The head of a batch, of which only that is looked at.
    pub fn head(&mut self, header: &Header) {
        if self.is_counted(header) {
            self.counted.unknown_counts += u64::from(header.count < 0);
            self.here = Here { records: u64::try_from(header.count).unwrap_or(0), ..Here::new(header) };
            self.batches.add(header, &self.here, &mut self.counted);
        }
    }

    /// A batch, records and all. Its CRC is for others to check.
    pub fn batch<'b>(
        &mut self,
        batch: &Batch<'b>,
        keys: &mut Keys<KeySum>,
        waiting: &mut Waiting<'b>,
        inflater: &mut Inflater,
    ) {
        let header = batch.header();
        if !self.begin_batch(&header) {
            return;
        }
        let mut passed = 0;
        if !header.control {
            let mut plainly = Plainly { counter: self, keys, waiting, passed: 0 };
            if batch.all_plain(&mut plainly) {
                return self.end_batch(&header);
            }
            passed = plainly.passed;
        }
        self.slowly(batch, &header, keys, waiting, passed, inflater);
        self.end_batch(&header);
    }

    /// Counts the records of a batch, of which so many were counted already.
    fn slowly(
        &mut self,
        batch: &Batch<'_>,
        header: &Header,
        keys: &mut Keys<KeySum>,
        waiting: &mut Waiting<'_>,
        passed: u64,
        inflater: &mut Inflater,
    ) {
        let mut records = batch.records(inflater);
        self.share_out(header, records.body_length() as u64);
        let mut left = passed;
        for record in records.by_ref().flatten() {
            if left > 0 {
                left -= 1;
                self.share(&record);
            } else if header.control {
                self.control(&record, keys, waiting);
            } else {
                let note = self.record(&record, keys, waiting);
                if let (Some(key), true) = (record.key, note.of != Of::Nothing) {
                    keys.settle(waiting);
                    keys.put(key, NONE, note);
                }
            }
        }
    }

    /// Whether a batch counts.
    #[inline(always)]
    fn is_counted(&mut self, header: &Header) -> bool {
        self.counted.seen += header.length;
        self.counted.first_offset.get_or_insert(header.base_offset);
        self.last = self.last.max(header.last_offset);
        if header.last_offset < self.log_start {
            self.below_start(header);
            return false;
        }
        let outside = |window: Window| header.max_timestamp < window.from || header.max_timestamp >= window.until;
        !self.window.is_some_and(outside)
    }

    #[inline(always)]
    fn begin_batch(&mut self, header: &Header) -> bool {
        self.here = Here::new(header);
        self.is_counted(header)
    }

    #[inline(always)]
    fn end_batch(&mut self, header: &Header) {
        let counted = &mut self.counted;
        if let Some(share) = &self.here.share {
            counted.unreadable += share.rest();
        }
        counted.heads.batches += 1;
        counted.heads.bytes += head_length(header);
        self.batches.add(header, &self.here, counted);
    }

    /// The records of the batch have to share what is stored of it.
    fn share_out(&mut self, header: &Header, inflated: u64) {
        self.here.share = Some(Share::new(header.length - head_length(header), inflated));
    }

    fn share(&mut self, record: &Record<'_>) -> u64 {
        self.here.share.as_mut().map_or(0, |share| share.of(record.bytes.len()))
    }

    #[inline(always)]
    fn plain_record<'b>(
        &mut self,
        record: &PlainRecord<'b>,
        keys: &mut Keys<KeySum>,
        waiting: &mut Waiting<'b>,
    ) -> Note {
        let time = self.here.base_time.wrapping_add(record.timestamp_delta & self.here.own_times);
        let it = Counting { key: record.key, value: record.value, time, bytes: record.length as u32 };
        match record.key {
            Some(key @ [0, 1, ..]) if Key::type_of_whole(key).is_some() => self.here.commit(it),
            _ => self.other(it, keys, waiting),
        }
    }

    fn record(&mut self, record: &Record<'_>, keys: &mut Keys<KeySum>, waiting: &mut Waiting<'_>) -> Note {
        let bytes = self.share(record) as u32;
        let it = Counting { key: record.key, value: record.value, time: record.timestamp, bytes };
        match record.key {
            Some(key @ [0, 1, ..]) if Key::type_of_whole(key).is_some() => {
                let note = self.here.commit(it);
                if self.here.producer_id == -1 { note } else { self.wait(key, note, keys) }
            }
            _ => self.other(it, keys, waiting),
        }
    }

    /// Notes a commit of a transaction. That it commits its offset counts from its end on.
    fn wait(&mut self, key: &[u8], note: Note, keys: &mut Keys<KeySum>) -> Note {
        if note.of != Of::Commit {
            return note;
        }
        let Some(place) = keys.place(key) else { return note };
        keys.note(place, Note { of: Of::Unsettled, ..note });
        self.pending.entry(self.here.producer_id).or_default().push((place, note.offset));
        Note::default()
    }

    /// A record that is no commit, or one whose key is not as it usually is.
    #[inline(never)]
    fn other(&mut self, it: Counting<'_>, keys: &mut Keys<KeySum>, waiting: &mut Waiting<'_>) -> Note {
        let key = it.key.unwrap_or_default();
        if let [0, number @ (0 | 1), ..] = key
            && let Ok(read) = Key::decode(key)
        {
            let meant = [&[0, 1], key.get(2..key.len() - read.trailing.len()).unwrap_or_default()].concat();
            keys.settle(waiting);
            self.odd_commit(it, *number, &meant, keys);
            return Note::default();
        }
        self.here.records += 1;
        self.here.tombstones += u64::from(it.value.is_none());
        if it.key.is_some() && !matches!(key, [0, 0 | 1, ..]) {
            let of = if it.value.is_some() { Of::Value } else { Of::Tombstone };
            return Note { of, bytes: it.bytes, ..Note::default() };
        }
        let tombstones = u64::from(it.value.is_none());
        let sum = Sum { records: 1, tombstones, bytes: it.bytes.into(), ..Sum::default() };
        self.counted.ungrouped.add(&sum);
        if let Some(of_type) = self.counted.types.get_mut(type_of(key)) {
            of_type.add(&sum);
        }
        Note::default()
    }

    /// A commit of type 0, or with bytes behind the fields of its key: counted for the key that is meant.
    #[cold]
    fn odd_commit(&mut self, it: Counting<'_>, number: u8, meant: &[u8], keys: &mut Keys<KeySum>) {
        let (first, last) = (self.here.first_time, self.here.last_time);
        let note = self.here.commit(it);
        let Some(place) = keys.place(meant) else { return };
        let unchanged = |keys: &Keys<KeySum>| keys.slot(place).map_or(0, KeySum::unchanged);
        let before = unchanged(keys);
        let note = if self.here.producer_id == -1 { note } else { self.wait(meant, note, keys) };
        keys.note(place, note);
        if number == 0 {
            (self.here.first_time, self.here.last_time) = (first, last);
            let mut sum = Sum {
                records: 1,
                tombstones: u64::from(it.value.is_none()),
                bytes: it.bytes.into(),
                commits: u64::from(it.value.is_some()),
                unchanged: unchanged(keys) - before,
                ..Sum::default()
            };
            if it.value.is_some() && it.time >= 0 {
                sum.committed_at(it.time);
                let mut times = Sum { commit_times: self.here.times_of_type_0, ..Sum::default() };
                times.committed_at(it.time);
                self.here.times_of_type_0 = times.commit_times;
            }
            self.of_type_0.add(&sum);
        }
    }

    fn control(&mut self, record: &Record<'_>, keys: &mut Keys<KeySum>, waiting: &mut Waiting<'_>) {
        let tombstones = u64::from(record.value.is_none());
        let sum = Sum { records: 1, tombstones, bytes: self.share(record), ..Sum::default() };
        self.here.records += 1;
        self.here.tombstones += tombstones;
        let room = marker_room(record);
        if let Some(marker) = self.counted.markers.get_mut(room) {
            marker.add(&sum);
        }
        let pending = if room == 2 { None } else { self.pending.remove(&self.here.producer_id) };
        if let (Some(pending), 0) = (pending, room) {
            keys.settle(waiting);
            let settled = |offset| Note { of: Of::Settled, offset, ..Note::default() };
            pending.into_iter().for_each(|(place, offset)| keys.note(place, settled(offset)));
        }
    }

    /// No record follows. The last records of keys, by offset.
    pub fn end_log(&mut self, keys: Keys<KeySum>) -> Vec<Winner> {
        self.batches.end_run(&mut self.counted);
        self.keys = keys;
        self.rows.number(&self.keys, &mut self.counted)
    }

    /// What was counted.
    pub fn finish(self) -> Counted {
        let Counter { mut counted, mut batches, rows, keys, of_type_0, .. } = self;
        batches.finish(&mut counted);
        let mut commits = rows.finish(&keys, &mut counted);
        let times = batches.times_of_type_1();
        if let [types_0, types_1, ..] = counted.types.as_mut_slice() {
            commits.records -= of_type_0.records;
            commits.tombstones -= of_type_0.tombstones;
            commits.bytes -= of_type_0.bytes;
            commits.commits -= of_type_0.commits;
            commits.unchanged -= of_type_0.unchanged;
            // What stays was counted by type already.
            types_1.add(&Sum { commit_times: times, live_records: 0, live_bytes: 0, ..commits });
            types_0.add(&of_type_0);
        }
        counted.end_offset = self.last.saturating_add(1);
        counted
    }
}

impl Here {
    #[inline(always)]
    fn commit(&mut self, it: Counting<'_>) -> Note {
        self.records += 1;
        let Some(value) = it.value else {
            self.tombstones += 1;
            return Note { of: Of::Tombstone, bytes: it.bytes, ..Note::default() };
        };
        self.commits += 1;
        self.first_time = self.first_time.min(it.time as u64);
        self.last_time = self.last_time.max(it.time);
        // The offset stands behind the version, in every version.
        let offset = value.get(2..).and_then(|rest| rest.first_chunk()).map(|it| i64::from_be_bytes(*it));
        let of = if offset.is_some() { Of::Commit } else { Of::Unsettled };
        Note { of, bytes: it.bytes, time: it.time, offset: offset.unwrap_or(0) }
    }
}

/// The short way through a batch.
struct Plainly<'c, 'b> {
    counter: &'c mut Counter,
    keys: &'c mut Keys<KeySum>,
    waiting: &'c mut Waiting<'b>,
    passed: u64,
}

impl<'b> Look<'b> for Plainly<'_, 'b> {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'b>) -> bool {
        self.passed += 1;
        let note = self.counter.plain_record(&record, self.keys, self.waiting);
        let Some(key) = record.key else { return true };
        // What a producer wrote waits for its end.
        let is_alone = self.counter.here.producer_id == -1;
        let note = if is_alone { note } else { self.counter.wait(key, note, self.keys) };
        if note.of != Of::Nothing {
            self.keys.put_soon(key, NONE, note, self.waiting);
        }
        true
    }
}

impl<'s> Onlooker<'s> for Counter {
    type Slot = KeySum;
    const NOTES: bool = true;

    fn segment(&mut self, segment: &Segment) {
        Counter::segment(self, segment);
    }

    fn hole(&mut self, hole: &Hole) {
        Counter::hole(self, hole);
    }

    #[cold]
    fn left_out(&mut self, header: &Header) {
        Counter::left_out(self, header);
    }

    #[inline(never)]
    fn apart(
        &mut self,
        batch: &Batch<'s>,
        keys: &mut Keys<KeySum>,
        waiting: &mut Waiting<'s>,
        inflater: &mut Inflater,
    ) {
        self.batch(batch, keys, waiting, inflater);
    }

    #[inline(always)]
    fn begin(&mut self, header: &Header) -> bool {
        self.begin_batch(header)
    }

    #[inline(always)]
    fn plain(&mut self, record: &PlainRecord<'s>, keys: &mut Keys<KeySum>, waiting: &mut Waiting<'s>) -> Note {
        self.plain_record(record, keys, waiting)
    }

    fn again(&mut self, header: &Header, inflated: u64) {
        self.share_out(header, inflated);
    }

    fn shown(&mut self, record: &Record<'_>) {
        self.share(record);
    }

    fn record(&mut self, record: &Record<'_>, keys: &mut Keys<KeySum>, waiting: &mut Waiting<'s>) -> Note {
        Counter::record(self, record, keys, waiting)
    }

    #[inline(always)]
    fn end(&mut self, header: &Header) {
        self.end_batch(header);
    }

    fn finish(&mut self, keys: Keys<KeySum>) -> Keys {
        let winners = self.end_log(keys);
        self.keys.take_records(winners)
    }
}
