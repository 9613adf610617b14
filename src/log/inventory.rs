//! What a partition holds, told from the heads of its batches alone: no CRC is checked, no record is read.
//!
//! Must not know: folders, and what records mean.

use super::batch::{DELETE_HORIZON, Header, LOG_APPEND_TIME, TimestampType};
use super::checkpoint::EpochStart;
use super::codec::{Codec, Inflater};
use super::scan::{Hole, Span};
use super::segment::Segment;
use super::tally::Producers;
pub use super::tally::{Count, Producer, Times};
use crate::fault::FaultKind;
use std::collections::BTreeMap;

/// How many holes are kept one by one; all are counted.
const MOST_HOLES: usize = 100;
/// How many changes of the leader epoch are kept.
const MOST_EPOCHS: usize = 1 << 16;
/// The low seven bits of the attributes, which hold all that is told apart below.
const ATTRIBUTES: usize = 128;
const MAGICS: usize = 3;
/// Attribute bits of magic 2.
const TRANSACTIONAL: usize = 0x10;
const CONTROL: usize = 0x20;

/// A hole, and the segment it lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedHole {
    /// The segment file's name.
    pub segment: String,
    /// The hole.
    pub hole: Hole,
}

/// What one segment holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentSum {
    /// The file's name.
    pub name: String,
    /// From the name, which may say none.
    pub base_offset: Option<i64>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Its batches.
    pub batches: Count,
    /// The first offset of its first batch; None without a batch. Of a magic 0 or 1 wrapper, which only says its last
    /// one, that is found by inflating it.
    pub first_offset: Option<i64>,
    /// The last offset of its last batch.
    pub last_offset: Option<i64>,
    /// What the heads say of times.
    pub times: Times,
    /// Holes, and their bytes.
    pub holes: Count,
}

/// What a partition holds. Segments are added in the order of the log.
#[derive(Debug)]
pub struct Inventory {
    segments: Vec<SegmentSum>,
    /// By magic, then by the low seven bits of the attributes: codecs, control and transactional batches in one go.
    counts: Box<[[Count; ATTRIBUTES]; MAGICS]>,
    records: u64,
    data: u64,
    empty: u64,
    uncounted: u64,
    producers: Producers,
    epochs: Vec<EpochStart>,
    epoch: i32,
    holes: BTreeMap<&'static str, Count>,
    hole_places: Vec<PlacedHole>,
}

impl Default for Inventory {
    fn default() -> Self {
        Inventory::new()
    }
}

impl Inventory {
    /// Of nothing.
    pub fn new() -> Inventory {
        Inventory {
            segments: Vec::new(),
            counts: Box::new([[Count::default(); ATTRIBUTES]; MAGICS]),
            records: 0,
            data: 0,
            empty: 0,
            uncounted: 0,
            producers: Producers::default(),
            epochs: Vec::new(),
            epoch: -1,
            holes: BTreeMap::new(),
            hole_places: Vec::new(),
        }
    }

    /// Adds a segment. `at` is told now and then how many of its bytes are done. The inflater is for at most one
    /// batch: a magic 0 or 1 wrapper that comes first.
    pub fn add(&mut self, segment: &Segment, inflater: &mut Inflater, at: impl Fn(u64)) {
        let mut sum = SegmentSum {
            name: segment.name().to_owned(),
            base_offset: segment.base_offset(),
            bytes: segment.len(),
            batches: Count::default(),
            first_offset: None,
            last_offset: None,
            times: Times::NONE,
            holes: Count::default(),
        };
        for span in segment.spans() {
            match span {
                Span::Batch(batch) => {
                    if sum.last_offset.is_none() {
                        sum.first_offset = Some(batch.first_offset(inflater).unwrap_or(batch.header().base_offset));
                    }
                    self.batch(&batch.header(), &mut sum);
                    if sum.batches.number.is_multiple_of(4096) {
                        at(batch.position());
                    }
                }
                Span::Hole(hole) => {
                    sum.holes.add(hole.length);
                    self.hole(segment, hole);
                }
            }
        }
        self.segments.push(sum);
    }

    #[inline(always)]
    fn batch(&mut self, header: &Header, sum: &mut SegmentSum) {
        sum.last_offset = Some(header.last_offset);
        sum.batches.add(header.length);
        sum.times.add(header);
        let attributes = (header.attributes & 0x7f) as usize;
        let by_attributes = self.counts.get_mut(usize::from(header.magic));
        if let Some(count) = by_attributes.and_then(|counts| counts.get_mut(attributes)) {
            count.add(header.length);
        }
        self.records += u64::try_from(header.count).unwrap_or(0);
        self.empty += u64::from(header.count == 0);
        self.data += u64::from(header.count != 0 && !header.control);
        self.uncounted += u64::from(header.count < 0);
        if header.partition_leader_epoch != self.epoch {
            self.new_epoch(header.partition_leader_epoch, header.base_offset);
        }
        if header.producer_id >= 0 {
            self.producers.add(header.producer_id, header.length);
        }
    }

    #[cold]
    fn new_epoch(&mut self, epoch: i32, start_offset: i64) {
        self.epoch = epoch;
        if epoch >= 0 && self.epochs.len() < MOST_EPOCHS {
            self.epochs.push(EpochStart { epoch, start_offset });
        }
    }

    #[cold]
    fn hole(&mut self, segment: &Segment, hole: Hole) {
        self.holes.entry(hole.fault.code()).or_default().add(hole.length);
        if self.hole_places.len() < MOST_HOLES {
            self.hole_places.push(PlacedHole { segment: segment.name().to_owned(), hole });
        }
    }

    /// The segments, one by one.
    pub fn segments(&self) -> &[SegmentSum] {
        &self.segments
    }

    /// Bytes of the segments: those of all batches and all holes.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The first offset of the first batch; where there is none, the log end. None if no name tells that either.
    pub fn first_offset(&self) -> Option<i64> {
        self.segments.iter().find_map(|segment| segment.first_offset).or_else(|| self.end_offset())
    }

    /// The log end: the offset that the next record gets. It is behind the last batch, and not below the base offset
    /// of the newest segment (which is above it where a cleaning took the end of the log). None if there is no batch
    /// and no name tells.
    pub fn end_offset(&self) -> Option<i64> {
        let last = self.segments.iter().rev().find_map(|segment| segment.last_offset);
        let newest = self.segments.last().and_then(|segment| segment.base_offset);
        last.map(|last| last.saturating_add(1)).max(newest)
    }

    /// What the heads say of times.
    pub fn times(&self) -> Times {
        let mut times = Times::NONE;
        self.segments.iter().for_each(|segment| times.merge(segment.times));
        times
    }

    /// All batches.
    pub fn batches(&self) -> Count {
        self.sum(|_, _| true)
    }

    /// Batches that hold records, other than control records.
    pub fn data(&self) -> u64 {
        self.data
    }

    /// Batches with a control record (an end marker), or of which the cleaner left nothing but the head of one.
    pub fn control(&self) -> Count {
        self.sum(|magic, attributes| magic == 2 && attributes & CONTROL != 0)
    }

    /// Batches that are part of a transaction, without its end markers.
    pub fn transactional(&self) -> Count {
        self.sum(|magic, attributes| magic == 2 && attributes & (CONTROL | TRANSACTIONAL) == TRANSACTIONAL)
    }

    /// Batches that the cleaner gave a delete horizon (Kafka 3.1).
    pub fn with_horizon(&self) -> Count {
        self.sum(|magic, attributes| magic == 2 && attributes & DELETE_HORIZON as usize != 0)
    }

    /// Batches that hold no record: the cleaner leaves their head for the sake of their producer.
    pub fn empty(&self) -> u64 {
        self.empty
    }

    /// Records by the counts in the heads. Magic 0 and 1 wrappers have none: see [`Inventory::uncounted`].
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Batches whose head does not say how many records they hold.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// What each magic has.
    pub fn magics(&self) -> Vec<(u8, Count)> {
        let all = (0..MAGICS).map(|magic| (magic as u8, self.sum(|each, _| each == magic)));
        all.filter(|(_, count)| count.number > 0).collect()
    }

    /// What each codec has.
    pub fn codecs(&self) -> Vec<(Codec, Count)> {
        let mut codecs = BTreeMap::<Codec, Count>::new();
        self.each(|magic, attributes, count| {
            let codec = match Codec::of_attributes(attributes as i16) {
                // Zstd came with magic 2.
                Codec::Zstd if magic < 2 => Codec::Unknown(4),
                codec => codec,
            };
            codecs.entry(codec).or_default().merge(count);
        });
        codecs.into_iter().collect()
    }

    /// What each kind of timestamp has.
    pub fn timestamp_types(&self) -> Vec<(TimestampType, Count)> {
        let append_time = |attributes: usize| attributes & LOG_APPEND_TIME as usize != 0;
        let all = [
            (TimestampType::None, self.sum(|magic, _| magic == 0)),
            (TimestampType::CreateTime, self.sum(|magic, attributes| magic > 0 && !append_time(attributes))),
            (TimestampType::LogAppendTime, self.sum(|magic, attributes| magic > 0 && append_time(attributes))),
        ];
        all.into_iter().filter(|(_, count)| count.number > 0).collect()
    }

    fn sum(&self, which: impl Fn(usize, usize) -> bool) -> Count {
        let mut sum = Count::default();
        self.each(|magic, attributes, count| {
            if which(magic, attributes) {
                sum.merge(count);
            }
        });
        sum
    }

    fn each(&self, mut visit: impl FnMut(usize, usize, Count)) {
        for (magic, counts) in self.counts.iter().enumerate() {
            for (attributes, count) in counts.iter().enumerate().filter(|(_, count)| count.number > 0) {
                visit(magic, attributes, *count);
            }
        }
    }

    /// The producers, the one with the most bytes first.
    pub fn producers(&self) -> Vec<Producer> {
        let mut producers = self.producers.list.clone();
        producers.sort_by_key(|producer| (std::cmp::Reverse(producer.count.bytes), producer.id));
        producers
    }

    /// Batches of producers beyond the 262144 that are told apart.
    pub fn more_producers(&self) -> Count {
        self.producers.more
    }

    /// Where the leader epoch changes: the epoch and the first offset of the first batch in it, in the order of the
    /// log; at most 65536. A healthy log has them ascending.
    pub fn leader_epochs(&self) -> &[EpochStart] {
        &self.epochs
    }

    /// Holes by code.
    pub fn holes(&self) -> &BTreeMap<&'static str, Count> {
        &self.holes
    }

    /// The first 100 holes.
    pub fn hole_places(&self) -> &[PlacedHole] {
        &self.hole_places
    }

    /// Holes other than zeros to the end of a file, which is what preallocation leaves.
    pub fn damage(&self) -> Count {
        let mut sum = Count::default();
        let zeros = FaultKind::ZeroTail.code();
        self.holes.iter().filter(|(code, _)| **code != zeros).for_each(|(_, count)| sum.merge(*count));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GV7, GV8, GV9, GV10, GV11, GV12, hex};
    use super::*;

    fn taken(files: &[(&str, &[u8])]) -> Inventory {
        let dir = tempfile::tempdir().unwrap();
        let mut inventory = Inventory::new();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            inventory.add(&Segment::open(&path).unwrap(), &mut Inflater::new(), |_| {});
        }
        inventory
    }

    const LOG_0: &str = "00000000000000000000.log";
    const LOG_20: &str = "00000000000000000020.log";

    #[test]
    fn kinds_are_told_apart() {
        let bytes = [GV11, GV12, GV7, GV8, GV9, GV10].map(hex).concat();
        let inventory = taken(&[(LOG_0, &bytes)]);
        assert_eq!(inventory.batches(), Count { number: 6, bytes: bytes.len() as u64 });
        assert_eq!(
            inventory.magics().iter().map(|(m, c)| (*m, c.number)).collect::<Vec<_>>(),
            [(0, 1), (1, 1), (2, 4)]
        );
        assert_eq!((inventory.control().number, inventory.transactional().number), (1, 1));
        assert_eq!((inventory.empty(), inventory.with_horizon().number), (1, 1));
        assert_eq!((inventory.records(), inventory.uncounted()), (5, 0));
        assert_eq!(inventory.producers(), [Producer { id: 1000, count: Count { number: 3, bytes: 250 } }]);
        assert_eq!((inventory.first_offset(), inventory.end_offset()), (Some(0), Some(11)));
        // The horizon of GV10 is no time of a record.
        assert_eq!(
            (inventory.times().first(), inventory.times().last()),
            (Some(1_700_000_000_000), Some(1_700_000_000_000))
        );
        assert_eq!(inventory.timestamp_types().len(), 2);
        assert_eq!(inventory.leader_epochs(), [EpochStart { epoch: 0, start_offset: 3 }]);
    }

    #[test]
    fn the_log_end_is_not_below_the_newest_name() {
        let inventory = taken(&[(LOG_0, &hex(GV9)), (LOG_20, b"")]);
        assert_eq!((inventory.first_offset(), inventory.end_offset()), (Some(5), Some(20)));
        let inventory = taken(&[(LOG_20, b"")]);
        assert_eq!((inventory.first_offset(), inventory.end_offset()), (Some(20), Some(20)));
        assert_eq!((inventory.times().first(), inventory.times().last()), (None, None));
    }

    #[test]
    fn a_file_of_nothing_but_holes() {
        let inventory = taken(&[(LOG_20, &[0; 5000])]);
        assert_eq!((inventory.first_offset(), inventory.end_offset()), (Some(20), Some(20)));
        assert_eq!(inventory.holes().get("zero-tail"), Some(&Count { number: 1, bytes: 5000 }));
        assert_eq!(inventory.damage(), Count::default());
        let text = b"this is no batch at all, and too long to be the tail of one...........";
        let inventory = taken(&[("copy", text)]);
        assert_eq!((inventory.first_offset(), inventory.end_offset()), (None, None));
        assert_eq!(inventory.damage(), Count { number: 1, bytes: text.len() as u64 });
    }
}
