//! Who fills a log: every byte of it by type, group, topic partition, hour, producer and segment.
//!
//! The bytes of a compressed batch are shared out over its records by their size; heads, holes and what is damaged have
//! sums of their own, so that all sums together are the files' bytes. Must not know: how that is counted, what stands beside
//! the log, and how anything is printed.

pub mod share;

use crate::log::inventory::Count;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Types that are told apart: 0 to 24, and all others together (and keys that cannot be read).
pub const TYPES: usize = 26;
/// In ms.
pub const HOUR: i64 = 3_600_000;
/// The upper bounds of [`Counted::batch_sizes`], in bytes; the last room has no bound.
pub const BATCH_SIZES: [u64; 7] = [128, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20];

/// Records and bytes of something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Batches, where whole batches are counted.
    pub batches: u64,
    /// Records, tombstones too.
    pub records: u64,
    /// Records without a value.
    pub tombstones: u64,
    /// Of the files.
    pub bytes: u64,
    /// Records that stay in a compaction.
    pub live_records: u64,
    /// Of the files: those of records that stay.
    pub live_bytes: u64,
    /// Records of types 0 and 1 with a value.
    pub commits: u64,
    /// Commits of the offset that was committed before them.
    pub unchanged: u64,
    /// The times of the earliest and the latest commit, in ms since 1970; None without one that has a time.
    pub commit_times: Option<(i64, i64)>,
}

/// What stays of something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Live {
    /// Records.
    pub records: u64,
    /// Their bytes, and those of heads where whole batches are counted.
    pub bytes: u64,
}

impl Live {
    /// Adds another.
    #[inline]
    pub fn add(&mut self, more: Live) {
        self.records += more.records;
        self.bytes += more.bytes;
    }
}

impl Sum {
    /// Adds another.
    #[inline]
    pub fn add(&mut self, more: &Sum) {
        self.batches += more.batches;
        self.records += more.records;
        self.tombstones += more.tombstones;
        self.bytes += more.bytes;
        self.live_records += more.live_records;
        self.live_bytes += more.live_bytes;
        self.commits += more.commits;
        self.unchanged += more.unchanged;
        if let Some((first, last)) = more.commit_times {
            self.committed_at(first);
            self.committed_at(last);
        }
    }

    /// Adds records that stay, and their bytes.
    #[inline]
    pub fn add_live(&mut self, more: Live) {
        self.live_records += more.records;
        self.live_bytes += more.bytes;
    }

    /// Takes up the time of a commit.
    #[inline]
    pub fn committed_at(&mut self, time: i64) {
        self.commit_times = match self.commit_times {
            Some((first, last)) => Some((first.min(time), last.max(time))),
            None => Some((time, time)),
        };
    }

    /// Commits a second, from the first to the last of them. None where they are at one time.
    pub fn commits_per_second(&self) -> Option<f64> {
        let (first, last) = self.commit_times?;
        let span = last.saturating_sub(first);
        (span > 0 && self.commits > 1).then(|| (self.commits - 1) as f64 * 1000.0 / span as f64)
    }

    /// Records that go in a compaction.
    pub fn dead_records(&self) -> u64 {
        self.records.saturating_sub(self.live_records)
    }

    /// Bytes of records that go in a compaction.
    pub fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.live_bytes)
    }
}

/// A group and its sum.
pub type NamedSum = (Box<[u8]>, Sum);

/// What was committed for one topic partition by one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Its number in [`Counted::groups`].
    pub group: u32,
    /// The topic's name, which need not be UTF-8.
    pub topic: Arc<[u8]>,
    /// The topic's partition.
    pub partition: i32,
    /// Its records.
    pub sum: Sum,
}

/// A segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SegmentRow {
    /// The file's name.
    pub name: String,
    /// Where it begins: from its name, else from its first batch.
    pub base_offset: i64,
    /// Bytes of the file.
    pub len: u64,
    /// Its batches, damaged ones and those below the log start too.
    pub sum: Sum,
    /// Bytes of it that are no batch.
    pub hole_bytes: u64,
    /// The time of its first batch, in ms since 1970; None for none.
    pub first_time: Option<i64>,
    /// The greatest time in it, in ms since 1970.
    pub last_time: Option<i64>,
}

/// Sums of a partition. `records` of whole batches are those that were read, or those that the heads count where only heads
/// were read.
#[derive(Debug, Default)]
pub struct Counted {
    /// By segment, in order.
    pub segments: Vec<SegmentRow>,
    /// By the hour of the batch's greatest time: hours since 1970; None for batches without a time.
    pub hours: BTreeMap<Option<i64>, Sum>,
    /// By producer id, -1 for none: whole batches.
    pub producers: Vec<(i64, Sum)>,
    /// By type.
    pub types: Vec<Sum>,
    /// End markers: COMMIT, ABORT, other control records.
    pub markers: [Sum; 3],
    /// By group.
    pub groups: Vec<NamedSum>,
    /// By group, topic and partition.
    pub keys: Vec<KeyRow>,
    /// Records of no group that can be told.
    pub ungrouped: Sum,
    /// The heads of batches.
    pub heads: Sum,
    /// Bytes of batches that are no records that could be read.
    pub unreadable: u64,
    /// Batches that are left out because they are damaged.
    pub damaged: Sum,
    /// Batches below the log start.
    pub below_start: Sum,
    /// By their fault.
    pub holes: BTreeMap<&'static str, Count>,
    /// All batches that count.
    pub batches: Sum,
    /// Batches of records by size: see [`BATCH_SIZES`].
    pub batch_sizes: [u64; BATCH_SIZES.len() + 1],
    /// Batches that hold one record.
    pub single: u64,
    /// Batches whose heads do not say how many records they hold (compressed ones of magic 0 and 1), where only heads were
    /// read.
    pub unknown_counts: u64,
    /// Bytes of the largest batch.
    pub largest: u64,
    /// The first offset that was met.
    pub first_offset: Option<i64>,
    /// The offset behind the last.
    pub end_offset: i64,
    /// Bytes that were looked at.
    pub seen: u64,
}

impl Counted {
    /// Bytes that are no batch.
    pub fn hole_bytes(&self) -> u64 {
        self.holes.values().map(|count| count.bytes).sum()
    }

    /// All records that count, without end markers.
    pub fn records(&self) -> Sum {
        let mut all = Sum::default();
        self.types.iter().for_each(|sum| all.add(sum));
        all
    }

    /// All that is counted by type and by group: what its bytes are, together with heads, holes and what is damaged.
    pub fn bytes_by_record(&self) -> u64 {
        let markers: u64 = self.markers.iter().map(|sum| sum.bytes).sum();
        let rest = self.heads.bytes + self.unreadable + self.damaged.bytes + self.below_start.bytes;
        self.records().bytes + markers + rest + self.hole_bytes()
    }
}
