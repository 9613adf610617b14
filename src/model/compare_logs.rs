//! Two logs side by side, record by record: where they part, where one ends, what only one of them holds and why.
//!
//! Batches that are alike byte for byte are passed over; the others are opened, and their records met by offset. A
//! record that one log lacks within its range was compacted away if the cleaner may have taken it: it is a tombstone, an
//! end marker, part of an aborted transaction, or a later record has its key. Else it is missing.
//! Must not know: what the records mean to a group.

use super::replay::Extent;
use super::side::{Pair, Side};
use crate::log::Segment;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;

mod missing;
mod stream;

use missing::{Lone, Missing};
use stream::{Opened, Stream};

/// What is known of one log as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSum {
    /// Batches, those without records included.
    pub batches: u64,
    /// Records, those of control batches included.
    pub records: u64,
    /// Bytes of the batches.
    pub bytes: u64,
    /// Where it begins: the log start offset, or the base offset of its first segment.
    pub start: i64,
    /// The offset behind the last batch; the start if there is none.
    pub end: i64,
    /// The leader epoch of the last batch that has one.
    pub last_epoch: Option<i32>,
    /// Batches by magic and codec.
    pub framing: BTreeMap<(u8, &'static str), u64>,
    /// Stretches, batches and records that cannot be read.
    pub unreadable: u64,
    /// Records whose offset is not above the one before: they are left out.
    pub repeated: u64,
}

/// A batch, for who wants to look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchSite {
    /// The file's name.
    pub segment: String,
    /// In bytes.
    pub position: u64,
    /// The batch's first offset.
    pub base_offset: i64,
    /// Its leader epoch; none in magic 0 and 1.
    pub leader_epoch: Option<i32>,
    /// Its stored CRC.
    pub crc: u32,
}

/// What differs between two records at the same offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// They were written under different leaders.
    LeaderEpoch,
    /// The producer's id or epoch.
    Producer,
    /// One is a control record, or part of a transaction, and the other is not.
    Kind,
    /// The key.
    Key,
    /// The value.
    Value,
}

impl Part {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Part::LeaderEpoch => "leaderEpoch",
            Part::Producer => "producer",
            Part::Kind => "kind",
            Part::Key => "key",
            Part::Value => "value",
        }
    }
}

/// Where two logs part: the first offset that both have and that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The offset.
    pub offset: i64,
    /// What differs there.
    pub parts: Vec<Part>,
    /// The two batches.
    pub at: Pair<BatchSite>,
    /// How many offsets both have and that differ, this one included.
    pub count: u64,
}

/// What one log lacks behind its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The log that ends first.
    pub lacking: Side,
    /// Its end: the first offset it lacks.
    pub from: i64,
    /// The end of the other.
    pub until: i64,
    /// Records of the other from there on.
    pub records: u64,
}

/// Records that only one log holds, by where they would be in the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlyIn {
    /// The other's cleaner may have taken them.
    pub compacted: u64,
    /// The other begins behind them.
    pub before_start: u64,
    /// The other has bytes there that cannot be read.
    pub unreadable: u64,
    /// Nothing explains why the other lacks them.
    pub missing: u64,
    /// The offsets of the first few of these.
    pub missing_offsets: Vec<i64>,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogComparison {
    /// The two logs.
    pub sums: Pair<LogSum>,
    /// Records that both hold, alike.
    pub common: u64,
    /// Where they part, if they do.
    pub divergence: Option<Divergence>,
    /// What one lacks at its end, if they end apart and the other has records there.
    pub tail: Option<Tail>,
    /// Records that only one holds, behind neither's end nor where the logs have parted.
    pub only_in: Pair<OnlyIn>,
    /// Records alike but for their time.
    pub other_times: u64,
}

impl LogComparison {
    /// Whether either log holds what the other lost, or differs from it: not if compaction or framing explains it all.
    pub fn differs(&self) -> bool {
        let missing = self.only_in.a.missing + self.only_in.b.missing;
        self.divergence.is_some() || self.tail.is_some() || missing > 0
    }

    /// The log that goes further, if one does.
    pub fn ahead(&self) -> Option<Side> {
        self.sums.greater(|sum| sum.end)
    }

    /// The log that a broker would keep: that of the later leader epoch, and of these the longer one.
    pub fn safer(&self) -> Option<Side> {
        self.sums.greater(|sum| (sum.last_epoch.unwrap_or(-1), sum.end))
    }
}

/// A log to compare: its segments, in order, and what of it counts.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    /// The segments.
    pub segments: &'a [Segment],
    /// What of them.
    pub extent: Extent,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
}

/// Compares two logs.
pub fn compare_logs(logs: Pair<Log<'_>>) -> LogComparison {
    let mut merge = Merge {
        streams: logs.map(Stream::new),
        common: 0,
        other_times: 0,
        divergence: None,
        tails: Pair::default(),
        only_in: Pair::default(),
        missing: Missing::default(),
    };
    while merge.step() {}
    merge.finish()
}

/// Two streams on their way.
struct Merge<'a> {
    streams: Pair<Stream<'a>>,
    common: u64,
    other_times: u64,
    divergence: Option<Divergence>,
    /// Records behind the other's end.
    tails: Pair<u64>,
    only_in: Pair<OnlyIn>,
    missing: Missing,
}

impl Merge<'_> {
    /// Meets the next batch or record; false at the end of both.
    fn step(&mut self) -> bool {
        self.streams.a.fill();
        self.streams.b.fill();
        if self.skip_alike() || self.skip_tail(Side::A) || self.skip_tail(Side::B) {
            return true;
        }
        let (a, b) = (self.streams.a.next_offset(), self.streams.b.next_offset());
        let (at_a, at_b) = (a.unwrap_or(i64::MAX), b.unwrap_or(i64::MAX));
        match (a, b) {
            (None, None) => return false,
            (Some(_), _) if at_a <= at_b && self.streams.a.is_closed() => self.streams.a.open(),
            (_, Some(_)) if at_b <= at_a && self.streams.b.is_closed() => self.streams.b.open(),
            _ if at_a == at_b => self.both(),
            _ if at_a < at_b => self.lone(Side::A),
            _ => self.lone(Side::B),
        }
        true
    }

    /// Passes over a batch that both have, byte for byte.
    fn skip_alike(&mut self) -> bool {
        let (Some(a), Some(b)) = (self.streams.a.closed(), self.streams.b.closed()) else { return false };
        if a.bytes() != b.bytes() || !self.streams.a.counts_whole(&a) || !self.streams.b.counts_whole(&b) {
            return false;
        }
        if self.missing.is_waiting() {
            // What is missed may be explained by a record in here: look at each.
            self.streams.a.open();
            self.streams.b.open();
        } else {
            let before = self.streams.a.sum().records;
            self.streams.a.pass();
            self.streams.b.pass();
            self.common += self.streams.a.sum().records - before;
        }
        true
    }

    /// Passes over a batch behind the other's end.
    fn skip_tail(&mut self, side: Side) -> bool {
        let other = self.streams.of(side.other());
        if other.next_offset().is_some() || self.missing.is_waiting() {
            return false;
        }
        let end = other.sum().end;
        let stream = self.streams.of_mut(side);
        let Some(batch) = stream.closed() else { return false };
        if batch.header().magic < 2 || batch.header().base_offset < end || !stream.counts_whole(&batch) {
            return false;
        }
        let before = stream.sum().records;
        stream.pass();
        let records = stream.sum().records - before;
        *self.tails.of_mut(side) += records;
        true
    }

    /// The same offset stands in both.
    fn both(&mut self) {
        let (Some(a), Some(b)) = (self.streams.a.take(), self.streams.b.take()) else { return };
        let parts = parts(&a, &b);
        if parts.is_empty() {
            self.common += 1;
            self.other_times += u64::from(a.timestamp != b.timestamp);
            self.missing.common(&a, &mut self.only_in);
            return;
        }
        match &mut self.divergence {
            Some(divergence) => divergence.count += 1,
            None => {
                let at = Pair { a: a.site.site(), b: b.site.site() };
                self.divergence = Some(Divergence { offset: a.offset, parts, at, count: 1 });
            }
        }
    }

    /// The next record stands in one of them only.
    fn lone(&mut self, side: Side) {
        let other = self.streams.of(side.other());
        let (start, end) = (other.sum().start, other.sum().end);
        let (over, unreadable) = (other.next_offset().is_none(), other.gap_is_unreadable());
        let Some(record) = self.streams.of_mut(side).take() else { return };
        let only_in = self.only_in.of_mut(side);
        if self.divergence.is_some() {
            // Behind the parting nothing can be missed; what stands behind the end is told by its number.
            *self.tails.of_mut(side) += u64::from(over && record.offset >= end);
        } else if over && record.offset >= end {
            *self.tails.of_mut(side) += 1;
            self.missing.later(&record, &mut self.only_in);
        } else if record.offset < start {
            only_in.before_start += 1;
        } else if unreadable {
            only_in.unreadable += 1;
        } else {
            self.missing.lone(Lone { side, record }, &mut self.only_in);
        }
    }

    fn finish(mut self) -> LogComparison {
        self.missing.finish(&mut self.only_in);
        let sums = Pair { a: self.streams.a.finish(), b: self.streams.b.finish() };
        let tail = |longer: Side| {
            let (records, shorter) = (*self.tails.of(longer), longer.other());
            let (from, until) = (sums.of(shorter).end, sums.of(longer).end);
            (records > 0).then_some(Tail { lacking: shorter, from, until, records })
        };
        let tail = tail(Side::A).or_else(|| tail(Side::B));
        LogComparison {
            tail,
            sums,
            common: self.common,
            divergence: self.divergence,
            only_in: self.only_in,
            other_times: self.other_times,
        }
    }
}

/// What differs between two records. An epoch of -1 is unknown, as in magic 0 and 1, and differs from none.
fn parts(a: &Opened<'_>, b: &Opened<'_>) -> Vec<Part> {
    let (x, y) = (a.site.header(), b.site.header());
    let epochs = (x.partition_leader_epoch, y.partition_leader_epoch);
    let mut parts = Vec::new();
    let mut differs = |part, differs: bool| {
        if differs {
            parts.push(part);
        }
    };
    differs(Part::LeaderEpoch, epochs.0 >= 0 && epochs.1 >= 0 && epochs.0 != epochs.1);
    differs(Part::Producer, (x.producer_id, x.producer_epoch) != (y.producer_id, y.producer_epoch));
    differs(Part::Kind, (x.control, x.transactional) != (y.control, y.transactional));
    differs(Part::Key, a.key != b.key);
    differs(Part::Value, a.value != b.value);
    parts
}

type Keyed<T> = HashMap<Box<[u8]>, T, FixedState>;
