//! The fold: batches in log order become transactions.
//!
//! Memory grows with the transactions in flight and their keys, and with those that are kept once they ended. Must not know:
//! what is asked for.

use super::{Counts, Doubt, Ending, Producers, Transaction, Transactions};
use crate::fault::{Fault, FaultKind};
use crate::log::control::EndMarker;
use crate::log::{BadRecord, Batch, Control, Header, Hole, Record, Segment};
use crate::model::walk::{Step, Visitor};
use crate::schema::Key;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::io;

/// A transaction that has not ended.
#[derive(Debug)]
struct InFlight {
    so_far: Transaction,
    keys: HashSet<Box<[u8]>, RandomState>,
}

/// Gathers the transactions of a partition while a walk shows it.
#[derive(Debug)]
pub struct Fold {
    log_start: i64,
    /// How many that ended are kept.
    most_ended: usize,
    ended: VecDeque<Transaction>,
    /// Those of which nobody saw the end.
    unended: Vec<Transaction>,
    in_flight: HashMap<i64, InFlight, RandomState>,
    counts: Counts,
    names: HashMap<Box<[u8]>, u32, RandomState>,
    groups: Vec<Box<[u8]>>,
    producers: Producers,
    first: Option<i64>,
    /// The last offset so far.
    last: i64,
    /// Bytes before the present segment.
    start: u64,
    /// Bytes of the present one.
    len: u64,
    damaged: u64,
    /// Whether the last thing that was met is what a broker cuts off when it starts: only at the end that is no damage.
    torn: Option<i64>,
}

impl Fold {
    /// Nothing yet. What lies below `log_start` does not count. `now`, in ms since 1970, bounds the clock by which producers
    /// are forgotten.
    pub fn new(log_start: Option<i64>, most_ended: usize, now: i64) -> Self {
        Fold {
            log_start: log_start.unwrap_or(i64::MIN),
            most_ended,
            ended: VecDeque::new(),
            unended: Vec::new(),
            in_flight: HashMap::default(),
            counts: Counts::default(),
            names: HashMap::default(),
            groups: Vec::new(),
            producers: Producers::new(now),
            first: None,
            last: -1,
            start: 0,
            len: 0,
            damaged: 0,
            torn: None,
        }
    }

    /// What came of it. `end_by_name` is where the last segment begins by its name: the log does not end before that.
    pub fn finish(mut self, end_by_name: Option<i64>) -> Transactions {
        for flight in std::mem::take(&mut self.in_flight).into_values() {
            self.left_over(flight);
        }
        let end_offset = self.last.saturating_add(1).max(end_by_name.unwrap_or(0)).max(self.log_start);
        let mut all: Vec<_> = self.ended.into();
        all.append(&mut self.unended);
        all.sort_by_key(|it| (it.begin(), it.marker_offset));
        let earliest = all.iter().find(|it| it.pins);
        let bytes = self.start + self.len;
        Transactions {
            last_stable_offset: earliest.and_then(|it| it.first_offset).unwrap_or(end_offset),
            pinned_bytes: earliest.map_or(0, |it| bytes.saturating_sub(it.place)),
            all,
            counts: self.counts,
            groups: self.groups,
            producers: self.producers.finish(),
            first_offset: self.first,
            end_offset,
            bytes,
            damaged: self.damaged,
        }
    }

    /// The log ends, and it did not.
    fn left_over(&mut self, flight: InFlight) {
        let InFlight { mut so_far, keys } = flight;
        so_far.keys = keys.len() as u64;
        so_far.touched = keys.into_iter().collect();
        so_far.touched.sort_unstable();
        so_far.coordinator_epoch = self.producers.coordinator_epoch(so_far.producer_id);
        so_far.ending = match so_far.doubt {
            Some(doubt) if doubt.is_of_end() => Ending::Unknown,
            _ => Ending::Open,
        };
        so_far.pins = !matches!(so_far.doubt, Some(Doubt::MarkerDamaged(_)));
        match so_far.ending {
            Ending::Open => self.counts.open += 1,
            _ => self.counts.unknown += 1,
        }
        self.unended.push(so_far);
    }

    /// It ended, whoever knows how.
    fn end(&mut self, transaction: Transaction) {
        match transaction.ending {
            Ending::Committed => self.counts.committed += 1,
            Ending::Aborted => self.counts.aborted += 1,
            Ending::Open | Ending::Unknown => {
                self.counts.unknown += 1;
                return self.unended.push(transaction);
            }
        }
        self.counts.only_marker += u64::from(transaction.first_offset.is_none());
        self.ended.push_back(transaction);
        if self.ended.len() > self.most_ended {
            self.ended.pop_front();
        }
    }

    /// A batch that counts.
    fn sound_batch(&mut self, batch: &Batch<'_>) -> Step {
        let header = batch.header();
        self.first.get_or_insert(header.base_offset);
        self.last = header.last_offset;
        if header.producer_id == -1 && !header.control {
            return Step::Over;
        }
        if header.control {
            // Of an end marker that a cleaner emptied a broker makes nothing when it reads the log anew.
            return if header.count == 0 { Step::Over } else { Step::On };
        }
        self.producers.data(&header);
        if !header.transactional {
            return Step::Over;
        }
        self.data(&header, self.start + batch.position());
        Step::On
    }

    fn data(&mut self, header: &Header, place: u64) {
        let ended_unseen = self.in_flight.get(&header.producer_id).is_some_and(|flight| match flight.so_far.doubt {
            Some(Doubt::MarkerDamaged(_)) => true,
            // A new epoch only comes once the transaction before has ended.
            Some(Doubt::MarkerMayBeLost(_)) => flight.so_far.producer_epoch != header.producer_epoch,
            _ => false,
        });
        if ended_unseen && let Some(flight) = self.in_flight.remove(&header.producer_id) {
            let keys = flight.keys.len() as u64;
            self.end(Transaction { ending: Ending::Unknown, keys, ..flight.so_far });
        }
        let flight = self
            .in_flight
            .entry(header.producer_id)
            .or_insert_with(|| InFlight { so_far: begun(header, place), keys: HashSet::default() });
        let so_far = &mut flight.so_far;
        so_far.producer_epoch = header.producer_epoch;
        so_far.last_offset = Some(header.last_offset);
        so_far.last_timestamp = header.max_timestamp;
        so_far.batches += 1;
    }

    fn data_record(&mut self, producer_id: i64, record: &Record<'_>) {
        let Fold { in_flight, names, groups, .. } = self;
        let Some(flight) = in_flight.get_mut(&producer_id) else { return };
        flight.so_far.records += 1;
        let Some(key) = record.key else { return };
        if flight.keys.contains(key) {
            return;
        }
        flight.keys.insert(key.into());
        let Ok(key) = Key::decode(key) else { return };
        let number = match names.get(key.group()) {
            Some(number) => *number,
            None => {
                let number = groups.len() as u32;
                groups.push(key.group().into());
                names.insert(key.group().into(), number);
                number
            }
        };
        if !flight.so_far.groups.contains(&number) {
            flight.so_far.groups.push(number);
        }
    }

    fn control_record(&mut self, header: &Header, place: u64, record: &Record<'_>) {
        let producer_id = header.producer_id;
        let (ending, marker) = match Control::parse(record) {
            Ok(Control::Commit(marker)) => (Ending::Committed, marker),
            Ok(Control::Abort(marker)) => (Ending::Aborted, marker),
            Ok(other) => return self.unknown_marker(producer_id, Some(other.number()), record.offset),
            Err(_) => return self.unknown_marker(producer_id, None, record.offset),
        };
        self.producers.marker(header, marker.coordinator_epoch);
        let so_far = match self.in_flight.remove(&producer_id) {
            Some(flight) => Transaction { keys: flight.keys.len() as u64, ..flight.so_far },
            None => only_marker(header, place),
        };
        self.end(ended(so_far, ending, marker, header, record.offset));
    }

    /// A control record that does not say how a transaction ended.
    fn unknown_marker(&mut self, producer_id: i64, number: Option<i16>, offset: i64) {
        // Those of a Raft quorum have no producer, and end nothing.
        if let Some(flight) = self.in_flight.get_mut(&producer_id) {
            flight.so_far.doubt = Some(Doubt::MarkerUnknown(number, offset));
            flight.so_far.marker_offset = Some(offset);
        }
    }

    /// A batch that is not believed: what its head says may be what is damaged.
    fn damaged_batch(&mut self, header: &Header) {
        self.damaged += 1;
        let offset = header.base_offset;
        match (header.control, self.in_flight.get_mut(&header.producer_id)) {
            (true, Some(flight)) => {
                flight.so_far.doubt = Some(Doubt::MarkerDamaged(offset));
                flight.so_far.marker_offset = Some(offset);
            }
            (true, None) => self.lost_behind(self.last),
            (false, Some(flight)) => drop(flight.so_far.doubt.get_or_insert(Doubt::RecordsLost(offset))),
            // What says to be plain is so far from an end marker that little damage does not make one of it.
            (false, None) => {}
        }
    }

    /// Anything may have been behind an offset, ends too.
    fn lost_behind(&mut self, offset: i64) {
        for flight in self.in_flight.values_mut() {
            let doubt = &mut flight.so_far.doubt;
            if doubt.is_none_or(|doubt| !doubt.is_of_end()) {
                *doubt = Some(Doubt::MarkerMayBeLost(offset));
            }
        }
    }

    /// What looked like a torn end was none: the log goes on.
    fn torn_before_more(&mut self) {
        if let Some(offset) = self.torn.take() {
            self.damaged += 1;
            self.lost_behind(offset);
        }
    }
}

/// One of which a first batch is there.
fn begun(header: &Header, place: u64) -> Transaction {
    Transaction { ending: Ending::Open, first_offset: Some(header.base_offset), ..only_marker(header, place) }
}

/// One of which nothing is there, so far, but what this head says of whose it is and when it was.
fn only_marker(header: &Header, place: u64) -> Transaction {
    Transaction {
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        ending: Ending::Unknown,
        coordinator_epoch: None,
        first_offset: None,
        last_offset: None,
        marker_offset: None,
        marker_epoch: None,
        first_timestamp: header.max_timestamp,
        last_timestamp: header.max_timestamp,
        batches: 0,
        records: 0,
        keys: 0,
        place,
        doubt: None,
        pins: false,
        groups: Vec::new(),
        touched: Vec::new(),
    }
}

fn ended(so_far: Transaction, ending: Ending, marker: EndMarker, header: &Header, offset: i64) -> Transaction {
    Transaction {
        ending,
        coordinator_epoch: Some(marker.coordinator_epoch),
        marker_offset: Some(offset),
        marker_epoch: Some(header.producer_epoch),
        last_timestamp: header.max_timestamp,
        ..so_far
    }
}

impl Visitor for Fold {
    fn segment(&mut self, segment: &Segment) -> io::Result<Step> {
        self.torn_before_more();
        self.start += self.len;
        self.len = segment.len();
        Ok(Step::On)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        self.torn_before_more();
        if matches!(hole.fault, FaultKind::ZeroTail) {
            return Ok(Step::On);
        }
        if matches!(hole.fault, FaultKind::TornBatch { .. }) {
            self.torn = Some(self.last);
            return Ok(Step::On);
        }
        let mended = hole.mended(segment.bytes());
        match mended.as_deref().and_then(|bytes| Batch::new(bytes, hole.position)) {
            Some(batch) => self.damaged_batch(&batch.header()),
            None => {
                self.damaged += 1;
                self.lost_behind(self.last);
            }
        }
        Ok(Step::On)
    }

    #[inline]
    fn batch(&mut self, _: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        if self.torn.is_some() {
            self.torn_before_more();
        }
        let header = batch.header();
        if header.last_offset < self.log_start {
            self.last = self.last.max(header.last_offset);
            return Ok(Step::Over);
        }
        if crc.is_some() || header.base_offset <= self.last || header.last_offset < header.base_offset {
            self.damaged_batch(&header);
            return Ok(Step::Over);
        }
        Ok(self.sound_batch(batch))
    }

    fn record(&mut self, _: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        let header = batch.header();
        match header.control {
            true => self.control_record(&header, self.start + batch.position(), record),
            false => self.data_record(header.producer_id, record),
        }
        Ok(Step::On)
    }

    fn bad_record(&mut self, _: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        let header = batch.header();
        let offset = record.offset.unwrap_or(header.base_offset);
        match (header.control, self.in_flight.get_mut(&header.producer_id)) {
            (true, _) => self.unknown_marker(header.producer_id, None, offset),
            (false, Some(flight)) => drop(flight.so_far.doubt.get_or_insert(Doubt::RecordsLost(offset))),
            (false, None) => {}
        }
        Ok(Step::On)
    }

    fn batch_end(&mut self, _: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        if body.is_some_and(|fault| fault.kind != FaultKind::Lz4HeaderChecksum)
            && let Some(flight) = self.in_flight.get_mut(&batch.header().producer_id)
        {
            flight.so_far.doubt.get_or_insert(Doubt::RecordsLost(batch.header().base_offset));
        }
        Ok(Step::On)
    }
}
