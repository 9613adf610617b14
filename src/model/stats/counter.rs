//! The fold: spans in log order become sums.
//!
//! Must not know: which spans it is shown (all, a sample, a window), and why some offsets stay.

use super::keys::{Rows, counted};
use super::share::Share;
use super::window::{Commit, Waiting, Window as Commits};
use super::{BATCH_SIZES, Counted, HOUR, SegmentRow, Sum, TYPES};
use crate::log::batch::HEADER_LENGTH;
use crate::log::{BadRecord, Batch, Codec, Control, Header, Hole, Inflater, Record, Segment};
use crate::schema::Key;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::ops::ControlFlow;

/// Bytes in front of the body of a wrapper message, by magic.
const WRAPPER_HEADS: [u64; 2] = [26, 34];

/// How deep to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// At the heads of batches.
    Heads,
    /// At every record.
    Records,
}

/// What is wrong with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// Nothing of it is believed.
    All,
    /// Some records cannot be read, or there are others than its head says.
    Some,
}

/// What stays in a compaction.
#[derive(Debug, Clone, Copy)]
pub struct Stays<'s> {
    /// Offsets of records that stay below `until`, ascending.
    pub records: &'s [i64],
    /// Last offsets of batches below `until` that stay without records, ascending.
    pub empty: &'s [i64],
    /// From here on everything stays.
    pub until: i64,
}

/// Only batches in this time are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// In ms since 1970.
    pub from: i64,
    /// The first moment behind, in ms since 1970.
    pub until: i64,
}

/// Counts what it is shown.
pub struct Counter<'s> {
    depth: Depth,
    log_start: i64,
    stays: Option<Stays<'s>>,
    window: Option<Window>,
    counted: Counted,
    rows: Rows,
    /// Commits that are yet to be added to their rows.
    commits: Commits,
    producers: HashMap<i64, Sum, RandomState>,
    hour: (Option<i64>, Sum),
    /// Where in `stays.records` the counting is.
    at: usize,
    /// By producer: commits whose transaction has not ended, as rows and offsets.
    pending: HashMap<i64, Vec<(u32, i64)>, RandomState>,
    last: i64,
}

/// The batch at hand.
struct InBatch<'c, 's> {
    counter: &'c mut Counter<'s>,
    share: Share,
    sum: Sum,
    /// Records of one type that follow each other: its place in [`Counted::types`], and their sum.
    run: (usize, Sum),
    producer_id: i64,
}

impl<'s> Counter<'s> {
    /// Nothing yet.
    pub fn new(depth: Depth, log_start: Option<i64>) -> Self {
        Counter {
            depth,
            log_start: log_start.unwrap_or(i64::MIN),
            stays: None,
            window: None,
            counted: Counted { types: vec![Sum::default(); TYPES], ..Counted::default() },
            rows: Rows::default(),
            commits: Commits::default(),
            producers: HashMap::default(),
            hour: (None, Sum::default()),
            at: 0,
            pending: HashMap::default(),
            last: -1,
        }
    }

    /// With what stays in a compaction.
    #[must_use]
    pub fn with_stays(self, stays: Stays<'s>) -> Self {
        Counter { stays: Some(stays), ..self }
    }

    /// Only what is in a window of time.
    #[must_use]
    pub fn within(self, window: Option<Window>) -> Self {
        Counter { window, ..self }
    }

    /// A segment begins.
    pub fn segment(&mut self, segment: &Segment) {
        let base_offset = segment.base_offset().unwrap_or(self.last.saturating_add(1));
        let name = segment.name().to_owned();
        self.counted.segments.push(SegmentRow { name, base_offset, len: segment.len(), ..SegmentRow::default() });
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

    /// A batch. Its CRC is for others to check.
    #[inline]
    pub fn batch(&mut self, batch: &Batch<'_>, bad: Option<Bad>, inflater: &mut Inflater) {
        let header = batch.header();
        self.counted.seen += header.length;
        if bad == Some(Bad::All) {
            return self.left_out(&header, Whose::Damaged);
        }
        self.counted.first_offset.get_or_insert(header.base_offset);
        self.last = self.last.max(header.last_offset);
        if header.last_offset < self.log_start {
            return self.left_out(&header, Whose::BelowStart);
        }
        let outside = |window: Window| header.max_timestamp < window.from || header.max_timestamp >= window.until;
        if self.window.is_some_and(outside) {
            return;
        }
        let mut sum = match self.depth {
            Depth::Heads => {
                self.counted.unknown_counts += u64::from(header.count < 0);
                Sum { records: u64::try_from(header.count).unwrap_or(0), ..Sum::default() }
            }
            Depth::Records => self.records(batch, &header, inflater),
        };
        sum.batches = 1;
        sum.bytes = header.length;
        self.whole(&header, &sum);
    }

    #[cold]
    fn left_out(&mut self, header: &Header, whose: Whose) {
        let sum = Sum { batches: 1, bytes: header.length, ..Sum::default() };
        match whose {
            Whose::Damaged => self.counted.damaged.add(&sum),
            Whose::BelowStart => self.counted.below_start.add(&sum),
        }
        if let Some(row) = self.counted.segments.last_mut() {
            row.sum.add(&sum);
        }
    }

    /// Adds a batch to what whole batches are counted by.
    #[inline]
    fn whole(&mut self, header: &Header, sum: &Sum) {
        let counted = &mut self.counted;
        counted.batches.add(sum);
        counted.largest = counted.largest.max(header.length);
        counted.single += u64::from(sum.records == 1 && !header.control);
        let size = BATCH_SIZES.iter().take_while(|bound| header.length > **bound).count();
        if let Some(room) = counted.batch_sizes.get_mut(size) {
            *room += 1;
        }
        let time = (header.max_timestamp >= 0).then_some(header.max_timestamp);
        if let Some(row) = counted.segments.last_mut() {
            row.sum.add(sum);
            row.first_time = row.first_time.or(time);
            row.last_time = row.last_time.max(time);
        }
        let hour = time.map(|time| time.div_euclid(HOUR));
        if hour != self.hour.0 {
            self.end_hour(hour);
        }
        self.hour.1.add(sum);
        if header.producer_id != -1 {
            self.producers.entry(header.producer_id).or_default().add(sum);
        }
    }

    #[cold]
    fn end_hour(&mut self, next: Option<i64>) {
        let (hour, sum) = std::mem::replace(&mut self.hour, (next, Sum::default()));
        if sum.batches > 0 {
            self.counted.hours.entry(hour).or_default().add(&sum);
        }
    }

    /// Counts the records of a batch, and gives their sum. Its bytes count the records' only.
    fn records(&mut self, batch: &Batch<'_>, header: &Header, inflater: &mut Inflater) -> Sum {
        let head = match (header.magic, header.codec) {
            (2, _) => HEADER_LENGTH as u64,
            // A plain message of magic 0 or 1 is the record, all of it.
            (_, Codec::None) => 0,
            (magic, _) => WRAPPER_HEADS.get(usize::from(magic)).copied().unwrap_or(0),
        };
        let head = head.min(header.length);
        let mut records = batch.records(inflater);
        let share = Share::new(header.length - head, records.body_length() as u64);
        let (sum, run) = (Sum::default(), (0, Sum::default()));
        let mut context = InBatch { counter: self, share, sum, run, producer_id: header.producer_id };
        let _: ControlFlow<()> = match header.control {
            true => records.each(&mut context, InBatch::control, InBatch::bad),
            false => records.each(&mut context, InBatch::record, InBatch::bad),
        };
        context.end_run(0);
        let InBatch { share, mut sum, .. } = context;
        self.counted.unreadable += share.rest();
        let head_stays = self.stays.is_some() && (sum.live_records > 0 || self.stays_empty(header.last_offset));
        let head = Sum { batches: 1, bytes: head, live_bytes: if head_stays { head } else { 0 }, ..Sum::default() };
        self.counted.heads.add(&head);
        sum.live_bytes += head.live_bytes;
        sum
    }

    fn stays_empty(&self, last_offset: i64) -> bool {
        let Some(stays) = self.stays else { return false };
        last_offset >= stays.until || stays.empty.binary_search(&last_offset).is_ok()
    }

    #[inline(always)]
    fn stays(&mut self, offset: i64) -> bool {
        let Some(stays) = self.stays else { return false };
        if offset >= stays.until {
            return true;
        }
        match stays.records.get(self.at) {
            Some(next) if *next == offset => {
                self.at += 1;
                true
            }
            Some(next)
                if *next > offset && self.at.checked_sub(1).is_none_or(|at| stays.records.get(at) < Some(&offset)) =>
            {
                false
            }
            // Offsets that do not ascend, or one that was passed over.
            _ => match stays.records.binary_search(&offset) {
                Ok(at) => {
                    self.at = at + 1;
                    true
                }
                Err(at) => {
                    self.at = at;
                    false
                }
            },
        }
    }

    /// Adds the commits that wait to their rows.
    #[inline(never)]
    fn settle(&mut self) {
        self.rows.find(&mut self.commits);
        let mut commits = std::mem::take(&mut self.commits);
        commits.waiting.iter().for_each(|it| self.commit(it));
        commits.clear();
        // Its room is used again.
        self.commits = commits;
    }

    #[inline(always)]
    fn commit(&mut self, it: &Waiting) {
        let Some(row) = self.rows.row(it.row) else { return };
        // The group's own sum is made of its rows at the end.
        row.sum.add(&it.commit.sum());
        if !it.commit.has_value {
            row.committed = None;
        }
        match it.commit.offset {
            Some(offset) if it.commit.producer_id == -1 => {
                self.committed(it.row, offset, usize::from(it.commit.record_type));
            }
            Some(offset) => self.pending.entry(it.commit.producer_id).or_default().push((it.row, offset)),
            None => {}
        }
    }

    /// Takes up what a transaction committed.
    fn end_transaction(&mut self, producer_id: i64, control: Control) {
        self.settle();
        let Some(pending) = self.pending.remove(&producer_id) else { return };
        if let Control::Commit(_) = control {
            pending.into_iter().for_each(|(row, offset)| self.committed(row, offset, 1));
        }
    }

    /// An offset is committed; whether it is the one from before.
    fn committed(&mut self, number: u32, offset: i64, record_type: usize) {
        let Some(row) = self.rows.row(number) else { return };
        if row.committed.replace(offset) != Some(offset) {
            return;
        }
        row.sum.unchanged += 1;
        if let Some(sum) = self.counted.types.get_mut(record_type) {
            sum.unchanged += 1;
        }
    }

    /// What was counted.
    pub fn finish(mut self) -> Counted {
        self.settle();
        self.end_hour(None);
        let mut counted = self.counted;
        let mut producers: Vec<_> = self.producers.into_iter().collect();
        producers.sort_unstable_by_key(|(id, _)| *id);
        let mut none = counted.batches;
        for (_, sum) in &producers {
            none.batches -= sum.batches;
            none.records -= sum.records;
            none.tombstones -= sum.tombstones;
            none.bytes -= sum.bytes;
            none.live_records -= sum.live_records;
            none.live_bytes -= sum.live_bytes;
            none.commits -= sum.commits;
        }
        if none.batches > 0 {
            // The times of the commits that are left cannot be taken apart; nobody asks for their rate.
            producers.insert(0, (-1, Sum { commit_times: None, ..none }));
        }
        counted.producers = producers;
        (counted.groups, counted.keys) = self.rows.finish();
        counted.end_offset = self.last.saturating_add(1);
        counted
    }
}

/// Where a batch goes that is not counted.
enum Whose {
    Damaged,
    BelowStart,
}

impl Commit {
    #[inline(always)]
    fn sum(&self) -> Sum {
        Sum {
            records: 1,
            tombstones: u64::from(!self.has_value),
            bytes: self.bytes,
            live_records: u64::from(self.live),
            live_bytes: if self.live { self.bytes } else { 0 },
            commits: u64::from(self.has_value),
            commit_times: (self.has_value && self.time >= 0).then_some((self.time, self.time)),
            ..Sum::default()
        }
    }
}

impl InBatch<'_, '_> {
    #[inline(always)]
    fn one(&mut self, record: &Record<'_>) -> Sum {
        let bytes = self.share.of(record.bytes.len());
        let live = self.counter.stays(record.offset);
        Sum {
            records: 1,
            tombstones: u64::from(record.value.is_none()),
            bytes,
            live_records: u64::from(live),
            live_bytes: if live { bytes } else { 0 },
            ..Sum::default()
        }
    }

    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        let key = record.key.unwrap_or_default();
        let number = match key {
            [0, number, ..] => usize::from(*number).min(TYPES - 1),
            _ => TYPES - 1,
        };
        if self.run.0 != number {
            self.end_run(number);
        }
        match if number < 2 { offset_key(key) } else { None } {
            Some((prefix, partition)) => self.commit(record, number, prefix, partition),
            None => {
                let sum = self.one(record);
                self.run.1.add(&sum);
                self.other(key, &sum);
            }
        }
        ControlFlow::Continue(())
    }

    /// Records of another type follow.
    #[inline]
    fn end_run(&mut self, next: usize) {
        let (number, sum) = std::mem::replace(&mut self.run, (next, Sum::default()));
        self.sum.add(&sum);
        if let Some(of_type) = self.counter.counted.types.get_mut(number) {
            of_type.add(&sum);
        }
    }

    #[inline(always)]
    fn commit(&mut self, record: &Record<'_>, number: usize, prefix: &[u8], partition: i32) {
        // The offset stands behind the version, in every version.
        let offset = record.value.and_then(|value| value.get(2..)?.first_chunk()).map(|it| i64::from_be_bytes(*it));
        let commit = Commit {
            bytes: self.share.of(record.bytes.len()),
            live: self.counter.stays(record.offset),
            time: record.timestamp,
            has_value: record.value.is_some(),
            offset,
            record_type: number as u8,
            producer_id: self.producer_id,
        };
        self.run.1.add(&commit.sum());
        let Counter { rows, commits, .. } = &mut *self.counter;
        if commits.push(prefix, partition, commit, |prefix| rows.call(prefix)) {
            self.counter.settle();
        }
    }

    fn other(&mut self, key: &[u8], sum: &Sum) {
        let Counter { rows, counted: all, .. } = &mut *self.counter;
        // Every key that can be read begins with its group, behind the type.
        let name = Key::decode(key).ok().and_then(|_| counted(key.get(2..)?)).map(|(group, _)| group);
        match name.map(|name| rows.group(name)).and_then(|number| rows.group_sum(number)) {
            Some(of_group) => of_group.add(sum),
            None => all.ungrouped.add(sum),
        }
    }

    fn control(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        let sum = self.one(record);
        self.sum.add(&sum);
        let control = Control::parse(record);
        let room = match control {
            Ok(Control::Commit(_)) => 0,
            Ok(Control::Abort(_)) => 1,
            _ => 2,
        };
        if let Some(marker) = self.counter.counted.markers.get_mut(room) {
            marker.add(&sum);
        }
        if let Ok(control @ (Control::Commit(_) | Control::Abort(_))) = control {
            self.counter.end_transaction(self.producer_id, control);
        }
        ControlFlow::Continue(())
    }

    /// Its bytes stay with what no record got.
    #[cold]
    fn bad(&mut self, _: &BadRecord<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The two counted strings of a committed offset's key, and its partition.
#[inline(always)]
fn offset_key(key: &[u8]) -> Option<(&[u8], i32)> {
    if Key::type_of_whole(key).is_none() && Key::decode(key).is_err() {
        return None;
    }
    let (_, behind_group) = counted(key.get(2..)?)?;
    let (_, rest) = counted(behind_group)?;
    let prefix = key.get(2..key.len() - rest.len())?;
    Some((prefix, i32::from_be_bytes(*rest.first_chunk()?)))
}
