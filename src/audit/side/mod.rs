//! The files beside the segments against the log: what they say must hold for the batches that are there.
//!
//! A walk over a partition shows its batches in order; nothing is read twice. Each release's own ways (which offset an
//! index names, what the cleaner leaves) are no findings: what is asked of a file is what a broker that believes it needs.
//! Must not know: how findings are printed, and what records mean.

mod epochs;
mod indexes;
mod leftovers;
mod log_dir;
mod no_file;
mod producers;
mod transactions;

pub use log_dir::of_log_dir;

use super::code::Code;
use super::finding::Finding;
use crate::files::is_no_file;
use crate::log::dir::{OtherKind, PartitionDir, SegmentFile, SegmentKind};
use crate::log::log_dir::LogDirFiles;
use crate::log::{Batch, Control, Header, Inflater};
use epochs::EpochRuns;
use indexes::{End, OffsetCheck, TimeCheck};
use producers::Producers;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use transactions::TxnCheck;

/// How far a segment's offsets go, from its base offset on: an index has 31 bits for them.
const FARTHEST: i64 = 1 << 31;

/// What the log says that the files beside it must agree with, gathered while a walk shows its batches.
///
/// In the order of the log: [`segment`](Self::segment) before each segment (and before it is mapped, so that an index is
/// not newer than what is seen of its segment), then [`batch`](Self::batch) for each batch with a right CRC,
/// [`zero_tail`](Self::zero_tail) for zeros to its end and [`damage`](Self::damage) for everything else, then
/// [`finish`](Self::finish).
pub struct SideFacts<'d> {
    dir: &'d PartitionDir,
    findings: Vec<Finding>,
    segment: SegmentChecks,
    /// How many segments were begun.
    segments: usize,
    /// By base offset, where each of those that are done ends.
    ends: BTreeMap<i64, i64>,
    epochs: EpochRuns,
    producers: Producers,
    inflater: Inflater,
    /// The greatest offset seen; -1 for none.
    last_offset: i64,
    /// The greatest time in the segment; -1 for none.
    max_timestamp: i64,
    /// The offset that no batch of the segment may reach.
    to: i64,
    /// A batch that ends at or behind this offset is looked at closely.
    next_offset: i64,
    /// A batch that begins at or behind this position is looked at closely.
    next_position: u64,
}

/// The files of one segment, as far as they are checked.
#[derive(Default)]
struct SegmentChecks {
    path: PathBuf,
    /// The first offset that it may hold.
    base: i64,
    /// The first offset of the next segment; none for the last one.
    next_base: Option<i64>,
    offsets: OffsetCheck,
    times: TimeCheck,
    txns: TxnCheck,
    /// How far the walk is, in bytes.
    end: u64,
    /// How many zeros it met at the end.
    zeros: u64,
    /// Whether something in the segment was no batch with a right CRC.
    damaged: bool,
}

impl SegmentChecks {
    /// Whether the segment is longer now than it was seen: a broker writes to it.
    fn grew(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > self.end + self.zeros)
    }
}

/// Where a batch stands among those before it.
struct Seen<'h> {
    header: &'h Header,
    /// Where it begins, in bytes.
    position: u64,
    /// The greatest offset before it.
    previous: i64,
    /// The greatest time in the segment, with it.
    max_timestamp: i64,
}

impl Seen<'_> {
    /// Whether an offset may be the batch's first, or lies behind that. A wrapper of magic 0 or 1 does not say where it
    /// begins: behind the one before.
    fn begins_at_or_before(&self, offset: i64) -> bool {
        if self.header.magic == 2 { self.header.base_offset <= offset } else { self.previous < offset }
    }
}

impl<'d> SideFacts<'d> {
    /// For a walk over the segments that count of a folder.
    pub fn new(dir: &'d PartitionDir) -> Self {
        let mut facts = SideFacts {
            dir,
            findings: Vec::new(),
            segment: SegmentChecks::default(),
            segments: 0,
            ends: BTreeMap::new(),
            epochs: EpochRuns::default(),
            producers: Producers::new(dir),
            inflater: Inflater::new(),
            last_offset: -1,
            max_timestamp: -1,
            to: i64::MAX,
            next_offset: i64::MAX,
            next_position: u64::MAX,
        };
        facts.watch();
        facts
    }

    /// A segment begins: its index files are read.
    pub fn segment(&mut self, file: &SegmentFile) {
        self.end_segment();
        self.segments += 1;
        self.segment = SegmentChecks {
            path: file.path.clone(),
            base: file.base_offset,
            next_base: self
                .dir
                .segments
                .iter()
                .find(|other| other.base_offset > file.base_offset)
                .map(|s| s.base_offset),
            ..SegmentChecks::default()
        };
        self.max_timestamp = -1;
        self.to = self.segment.next_base.unwrap_or(file.base_offset.saturating_add(FARTHEST));
        let twin = |suffix: &str| Twin::of(file, suffix);
        self.segment.offsets = OffsetCheck::new(&twin("index"), file, &mut self.findings);
        self.segment.times = TimeCheck::new(&twin("timeindex"), file, &mut self.findings);
        let txns = twin("txnindex");
        self.segment.txns = match twin("index").is_absent() && txns.is_absent() {
            true => TxnCheck::of_none(),
            false => TxnCheck::new(&txns, &mut self.findings),
        };
        self.watch();
    }

    /// A batch whose CRC is right.
    #[inline(always)]
    pub fn batch(&mut self, batch: &Batch<'_>, header: &Header) {
        let previous = self.last_offset;
        if header.base_offset <= previous || header.last_offset >= self.to {
            return self.misplaced(batch);
        }
        self.last_offset = header.last_offset;
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp);
        self.segment.end = batch.position() + batch.len();
        // Few batches are anything but the next one of the same leader, without a producer.
        if header.producer_id != -1
            || header.partition_leader_epoch != self.epochs.current()
            || header.last_offset >= self.next_offset
            || batch.position() >= self.next_position
        {
            self.look(batch, previous);
        }
    }

    /// Zeros to the end of the segment: an index that points there knew batches.
    pub fn zero_tail(&mut self, length: u64) {
        self.segment.zeros = length;
    }

    /// Other bytes of the segment that are no batch, or one whose CRC is wrong.
    pub fn damage(&mut self, range: Range<u64>) {
        self.segment.end = self.segment.end.max(range.end);
        self.segment.damaged = true;
        self.segment.offsets.damage(&range);
        self.producers.damage();
        self.watch();
    }

    /// A batch whose offsets do not follow those before, or are another segment's: it says nothing about other files.
    #[cold]
    #[inline(never)]
    fn misplaced(&mut self, batch: &Batch<'_>) {
        self.damage(batch.position()..batch.position() + batch.len());
    }

    #[inline(never)]
    fn look(&mut self, batch: &Batch<'_>, previous: i64) {
        let header = batch.header();
        let seen = Seen { header: &header, position: batch.position(), previous, max_timestamp: self.max_timestamp };
        self.epochs.batch(&header, previous);
        self.segment.offsets.batch(&seen);
        self.segment.times.batch(&seen, self.segment.damaged);
        self.producers.reach(header.base_offset, &mut self.findings);
        if header.producer_id != -1 {
            self.producer(batch, &header);
        }
        self.segment.txns.batch(&header);
        self.watch();
    }

    fn producer(&mut self, batch: &Batch<'_>, header: &Header) {
        if !header.control {
            return self.producers.data(header);
        }
        let mut records = batch.records(&mut self.inflater);
        let Some(Ok(record)) = records.next() else { return };
        let Ok(control) = Control::parse(&record) else { return };
        if !matches!(control, Control::Abort(_) | Control::Commit(_)) {
            return;
        }
        let began = self.producers.marker(header);
        match control {
            Control::Abort(_) => self.segment.txns.aborted(header, began),
            _ => self.segment.txns.committed(header),
        }
    }

    /// Says from where on batches have to be looked at.
    fn watch(&mut self) {
        self.next_offset =
            self.segment.times.next_offset().min(self.segment.txns.next_offset()).min(self.producers.next_offset());
        self.next_position = self.segment.offsets.next_position();
    }

    fn end_segment(&mut self) {
        if self.segments == 0 {
            return;
        }
        let segment = std::mem::take(&mut self.segment);
        self.ends.insert(segment.base, self.last_offset.saturating_add(1).max(segment.base));
        // What a broker appended meanwhile is in its index, and was not seen.
        let grew = segment.next_base.is_none() && segment.grew();
        let end = End {
            position: segment.end,
            last_offset: self.last_offset,
            grew,
            damaged: segment.damaged,
            is_followed: segment.next_base.is_some(),
        };
        segment.offsets.end(&segment.path, &end, &mut self.findings);
        segment.times.end(grew, segment.damaged, &mut self.findings);
        let end = segment.next_base.unwrap_or(if grew { i64::MAX } else { self.last_offset.saturating_add(1) });
        segment.txns.end(end, segment.next_base.is_some(), &mut self.findings);
        if segment.next_base.is_none() {
            let SegmentChecks { path, base, end, zeros, .. } = segment;
            self.segment = SegmentChecks { path, base, end, zeros, ..SegmentChecks::default() };
        }
    }

    /// The walk is over: every finding on the files of the folder, and on what the log dir's checkpoints say of it (as
    /// they were read before the walk).
    pub fn finish(mut self, log_dir: Option<&LogDirFiles>) -> Vec<Finding> {
        self.end_segment();
        let start = self.dir.segments.first().map_or(0, |segment| segment.base_offset);
        // Also an empty segment says by its name where the log ends.
        let last_base = self.dir.segments.last().map_or(0, |segment| segment.base_offset);
        let seen_end = self.last_offset.saturating_add(1).max(last_base);
        let grew = self.segments > 0 && self.segment.grew();
        let end = if grew { i64::MAX } else { seen_end };
        self.producers.finish(end, &mut self.findings);
        self.epochs.finish(self.dir, end, self.last_offset, &mut self.findings);
        leftovers::check(self.dir, log_dir, &self.ends, seen_end, &mut self.findings);
        if let Some(log_dir) = log_dir {
            log_dir::of_partition(log_dir, self.dir, start, end, &mut self.findings);
        }
        for finding in &mut self.findings {
            finding.partition = self.dir.partition;
        }
        self.findings
    }
}

/// A file that goes with a segment: its name, and its bytes if it is there.
struct Twin {
    name: String,
    bytes: io::Result<Vec<u8>>,
    base_offset: i64,
}

impl Twin {
    fn of(segment: &SegmentFile, suffix: &str) -> Twin {
        let on_its_way = match segment.kind {
            SegmentKind::Log => "",
            SegmentKind::Deleted => ".deleted",
            SegmentKind::Cleaned => ".cleaned",
            SegmentKind::Swap => ".swap",
        };
        let digits = segment.name.get(..20).unwrap_or_default();
        let name = format!("{digits}.{suffix}{on_its_way}");
        let bytes = crate::files::read(&segment.path.with_file_name(&name));
        Twin { name, bytes, base_offset: segment.base_offset }
    }

    fn is_absent(&self) -> bool {
        self.bytes.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// None if it is not there. One that cannot be read is a finding; [`leftovers`] tells of what is no file.
    fn bytes(&self, findings: &mut Vec<Finding>) -> Option<&[u8]> {
        match &self.bytes {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_file(error) => None,
            Err(error) => {
                findings.push(unreadable(&self.name, error));
                None
            }
        }
    }
}

fn unreadable(name: &str, error: &dyn std::fmt::Display) -> Finding {
    Finding::new(Code::SideUnreadable, format!("{name}: {error}")).file(name)
}

/// The bytes of a file that is there once a folder.
fn read_other(dir: &PartitionDir, kind: OtherKind, findings: &mut Vec<Finding>) -> Option<(String, Vec<u8>)> {
    let file = dir.other(kind)?;
    match crate::files::read(&file.path) {
        Ok(bytes) => Some((file.name.clone(), bytes)),
        Err(error) => {
            // A file that a running broker removed meanwhile is not there; of what is no file others tell.
            if error.kind() != io::ErrorKind::NotFound && !is_no_file(&error) {
                findings.push(unreadable(&file.name, &error));
            }
            None
        }
    }
}

/// The first finding of a code in a file, and how many more entries have it.
#[derive(Default)]
struct First {
    finding: Option<Finding>,
    count: u64,
}

impl First {
    fn add(&mut self, finding: impl FnOnce() -> Finding) {
        self.finding.get_or_insert_with(finding);
        self.count += 1;
    }

    /// The first one, with the number of entries.
    fn into_finding(self) -> Option<Finding> {
        let mut finding = self.finding?;
        if self.count > 1 {
            finding.message.push_str(&format!(" (the first of {} such entries)", self.count));
        }
        Some(finding.fact("entries", self.count))
    }
}
