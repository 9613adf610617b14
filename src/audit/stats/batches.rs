//! What is counted of whole batches: by segment, hour and producer.
//!
//! Batches that follow each other in one hour are added up first. Must not know: keys.

use super::counter::Here;
use super::slot::times;
use crate::log::{Header, Segment};
use crate::model::stats::{BATCH_SIZES, Counted, HOUR, Live, SegmentRow, Sum};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The sums that are not in [`Counted`] yet.
#[derive(Debug)]
pub(super) struct Batches {
    producers: HashMap<i64, Sum, RandomState>,
    run: Run,
    /// The time of the segment's first batch that has one, and the greatest; below 0 for none.
    first_time: i64,
    last_time: i64,
    times_of_type_1: Option<(i64, i64)>,
}

/// Batches of one segment and hour that follow each other.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// From this time up to and without that one, in ms since 1970.
    from: i64,
    until: i64,
    sum: Sum,
    /// The times of commits of type 1, as in a [`Here`].
    first_time: u64,
    last_time: i64,
}

impl Run {
    fn new(time: i64) -> Self {
        let (from, until) = match hour(time) {
            None => (i64::MIN, 0),
            Some(hour) => (hour * HOUR, (hour * HOUR).saturating_add(HOUR)),
        };
        Run { from, until, sum: Sum::default(), first_time: u64::MAX, last_time: -1 }
    }
}

impl Default for Batches {
    fn default() -> Self {
        let (first_time, last_time) = (-1, -1);
        Batches { producers: HashMap::default(), run: Run::new(0), first_time, last_time, times_of_type_1: None }
    }
}

/// The hour of a time in ms since 1970; None below 0.
fn hour(time: i64) -> Option<i64> {
    (time >= 0).then_some(time / HOUR)
}

impl Batches {
    /// A segment begins.
    pub(super) fn segment(&mut self, segment: &Segment, base_offset: i64, counted: &mut Counted) {
        self.end_run(counted);
        (self.first_time, self.last_time) = (-1, -1);
        let name = segment.name().to_owned();
        counted.segments.push(SegmentRow { name, base_offset, len: segment.len(), ..SegmentRow::default() });
    }

    /// Adds a batch.
    #[inline(always)]
    pub(super) fn add(&mut self, header: &Header, here: &Here, counted: &mut Counted) {
        counted.largest = counted.largest.max(header.length);
        counted.single += u64::from(here.records == 1 && !header.control);
        let size: usize = BATCH_SIZES.iter().map(|bound| usize::from(header.length > *bound)).sum();
        if let Some(room) = counted.batch_sizes.get_mut(size) {
            *room += 1;
        }
        let time = header.max_timestamp;
        if self.first_time < 0 {
            self.first_time = time;
        }
        self.last_time = self.last_time.max(time);
        let run = &self.run;
        if time < run.from || time >= run.until {
            self.end_run(counted);
            self.run = Run::new(time);
        }
        let run = &mut self.run;
        run.sum.batches += 1;
        run.sum.bytes += header.length;
        run.sum.records += here.records;
        run.sum.tombstones += here.tombstones;
        run.sum.commits += here.commits;
        run.first_time = run.first_time.min(here.first_time);
        run.last_time = run.last_time.max(here.last_time);
        if here.times_of_type_0.is_some() {
            run.sum.add(&Sum { commit_times: here.times_of_type_0, ..Sum::default() });
        }
        if header.producer_id != -1 {
            self.add_of_producer(header, here);
        }
    }

    #[inline(never)]
    fn add_of_producer(&mut self, header: &Header, here: &Here) {
        let of_producer = self.producers.entry(header.producer_id).or_default();
        of_producer.add(&Sum {
            batches: 1,
            records: here.records,
            tombstones: here.tombstones,
            bytes: header.length,
            commits: here.commits,
            commit_times: times(here.first_time, here.last_time),
            ..Sum::default()
        });
        of_producer.add(&Sum { commit_times: here.times_of_type_0, ..Sum::default() });
    }

    /// Adds what stays of a batch, which was added when it was read.
    pub(super) fn add_live(&mut self, header: &Header, segment: usize, live: Live, counted: &mut Counted) {
        counted.batches.add_live(live);
        if let Some(row) = counted.segments.get_mut(segment) {
            row.sum.add_live(live);
        }
        counted.hours.entry(hour(header.max_timestamp)).or_default().add_live(live);
        if header.producer_id != -1 {
            self.producers.entry(header.producer_id).or_default().add_live(live);
        }
    }

    /// Adds what was added up.
    #[inline(never)]
    pub(super) fn end_run(&mut self, counted: &mut Counted) {
        let Run { from, mut sum, first_time, last_time, .. } = self.run;
        self.run = Run { sum: Sum::default(), first_time: u64::MAX, last_time: -1, ..self.run };
        if let Some(row) = counted.segments.last_mut() {
            row.first_time = Some(self.first_time).filter(|time| *time >= 0);
            row.last_time = Some(self.last_time).filter(|time| *time >= 0);
        }
        if sum.batches == 0 {
            return;
        }
        let of_type_1 = Sum { commit_times: times(first_time, last_time), ..Sum::default() };
        sum.add(&of_type_1);
        let mut times = Sum { commit_times: self.times_of_type_1, ..Sum::default() };
        times.add(&of_type_1);
        self.times_of_type_1 = times.commit_times;
        counted.batches.add(&sum);
        if let Some(row) = counted.segments.last_mut() {
            row.sum.add(&sum);
        }
        counted.hours.entry(hour(from)).or_default().add(&sum);
    }

    /// The times of the earliest and the latest commit of type 1.
    pub(super) fn times_of_type_1(&self) -> Option<(i64, i64)> {
        self.times_of_type_1
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self, counted: &mut Counted) {
        self.end_run(counted);
        let mut producers: Vec<_> = std::mem::take(&mut self.producers).into_iter().collect();
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
    }
}
