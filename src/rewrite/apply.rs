//! Carries out a plan: writes a partition's pieces to a new folder, reads it back, and compares.
//!
//! Must not know: who made the plan, and why.

use super::epochs::Epochs;
use super::interrupt::Interrupt;
use super::out::{Heads, PartitionOut, SegmentOut, Written};
use super::plan::{Piece, Reader, Sources, at_path};
use crate::log::{Batch, Inflater, Segment, Span};
use std::io;
use std::ops::ControlFlow;

/// Segments grow to so many bytes: `segment.bytes` of most topics.
pub const SEGMENT_BYTES: u64 = 1 << 30;
/// Offsets in a segment are counted from its first with 31 bits.
pub const MOST_OFFSETS: i64 = i32::MAX as i64;

/// A partition to write.
#[derive(Debug, Clone, Default)]
pub struct PartitionPlan {
    /// What it is made of.
    pub pieces: Vec<Piece>,
    /// Offsets at which a segment begins, if batches stand at or behind it; ascending. The first is that of the log.
    pub rolls: Vec<i64>,
    /// Where the log ends: a last, empty segment says so if the batches do not.
    pub end: i64,
    /// `partition.metadata`, as it is.
    pub metadata: Option<Vec<u8>>,
    /// The old `leader-epoch-checkpoint`.
    pub leader_epochs: Option<Vec<u8>>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// The segments.
    pub segments: Vec<Written>,
    /// Batches in them.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Whether the old `leader-epoch-checkpoint` was kept.
    pub kept_epochs: bool,
}

/// Writes a partition.
///
/// # Errors
/// If a file cannot be read or written, the work is interrupted, or what was written is not what was planned.
pub fn write(
    plan: &PartitionPlan,
    sources: &mut Sources,
    to: PartitionOut,
    max_inflated: usize,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Done> {
    let mut writing = Writing::begin(&to, plan.leader_epochs.clone(), max_inflated);
    let mut rolls = Rolls(&plan.rolls);
    let mut reader = Reader::new(max_inflated);
    for piece in &plan.pieces {
        let epoch = (piece.epoch >= 0).then_some(piece.epoch);
        reader.piece(sources, piece, |batch| {
            interrupt.check()?;
            progress(batch.len());
            if let Some(base) = rolls.before(writing.first_offset(batch)) {
                writing.roll(base, SEGMENT_BYTES)?;
            }
            writing.batch(batch, epoch)
        })?;
    }
    let mut done = writing.finish(plan.end)?;
    if let Some(metadata) = &plan.metadata {
        to.file("partition.metadata", metadata)?;
    }
    done.records = plan.pieces.iter().map(|piece| piece.records).sum();
    to.finish()?;
    let batches = plan.pieces.iter().map(|piece| piece.batches).sum();
    ReadBack { batches, records: done.records, copies_from: i64::MAX, max_inflated }.check(
        &done,
        interrupt,
        &mut |_, _, _| {},
    )?;
    Ok(done)
}

/// Offsets at which a segment begins, those to come.
#[derive(Debug)]
pub struct Rolls<'r>(pub &'r [i64]);

impl Rolls<'_> {
    /// The offset that a new segment is named after before a batch: the last of those that lie at or below it.
    pub fn before(&mut self, first: i64) -> Option<i64> {
        let passed = self.0.partition_point(|roll| *roll <= first);
        let (before, behind) = self.0.split_at_checked(passed)?;
        self.0 = behind;
        before.last().copied()
    }
}

/// A partition's log on its way to disk, batch by batch.
#[derive(Debug)]
pub struct Writing<'w> {
    to: &'w PartitionOut,
    segment: Option<SegmentOut>,
    /// The segment may grow to so many bytes.
    limit: u64,
    epochs: Epochs,
    inflater: Inflater,
    done: Done,
    /// The last offset written.
    last: i64,
}

impl<'w> Writing<'w> {
    /// Nothing yet. Takes the old `leader-epoch-checkpoint`, if there is one.
    pub fn begin(to: &'w PartitionOut, leader_epochs: Option<Vec<u8>>, max_inflated: usize) -> Self {
        Writing {
            to,
            segment: None,
            limit: SEGMENT_BYTES,
            epochs: Epochs::new(leader_epochs),
            inflater: Inflater::with_limit(max_inflated),
            done: Done::default(),
            last: -1,
        }
    }

    /// The first offset of a batch, also of a wrapper.
    pub fn first_offset(&mut self, batch: &Batch<'_>) -> i64 {
        batch.first_offset(&mut self.inflater).unwrap_or(batch.header().base_offset)
    }

    /// Begins a segment, which may grow to `limit` bytes; the one before it ends, even if it is empty. It is named after
    /// the offset given, or after the one behind all that was written: a batch may span the offset at which a segment was
    /// to begin, and a broker looks for an offset in the last segment that does not begin above it.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn roll(&mut self, base_offset: i64, limit: u64) -> io::Result<()> {
        self.close()?;
        self.segment = Some(self.to.segment(base_offset.max(self.last.saturating_add(1)))?);
        self.limit = limit;
        Ok(())
    }

    /// Appends a batch; its leader epoch is None where it is not to be believed.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn batch(&mut self, batch: &Batch<'_>, epoch: Option<i32>) -> io::Result<()> {
        let first = self.first_offset(batch);
        self.epochs.batch(first, epoch);
        if self.segment.is_none() || self.is_full(batch) {
            self.roll(first, self.limit)?;
        }
        if let Some(segment) = &mut self.segment {
            segment.append(batch.bytes())?;
        }
        self.done.batches += 1;
        self.last = batch.header().last_offset;
        Ok(())
    }

    fn is_full(&self, batch: &Batch<'_>) -> bool {
        let Some(segment) = &self.segment else { return false };
        let spans = batch.header().last_offset.saturating_sub(segment.base_offset());
        !segment.is_empty() && segment.len().saturating_add(batch.len()) > self.limit || spans > MOST_OFFSETS
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(segment) = self.segment.take() {
            let written = segment.finish()?;
            self.done.bytes += written.len;
            self.done.segments.push(written);
        }
        Ok(())
    }

    /// Ends the log, at an offset that a last, empty segment says if the batches do not.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self, end: i64) -> io::Result<Done> {
        let open = self.segment.as_ref().map_or(-1, SegmentOut::base_offset);
        self.close()?;
        // Also for a log without batches: a broker takes it as empty, from here on.
        if end > self.last.saturating_add(1).max(open) || self.done.segments.is_empty() {
            self.roll(end.max(0), SEGMENT_BYTES)?;
            self.close()?;
        }
        let (bytes, kept) = self.epochs.file(end.max(self.last.saturating_add(1)));
        self.to.file("leader-epoch-checkpoint", &bytes)?;
        self.done.kept_epochs = kept;
        Ok(self.done)
    }
}

/// Is shown every record that is read back: its batch, its offset, its key.
pub type EachRecord<'e> = dyn FnMut(&Batch<'_>, i64, Option<&[u8]>) + 'e;

/// What must be found when everything is read again.
#[derive(Debug, Clone, Copy)]
pub struct ReadBack {
    /// So many batches.
    pub batches: u64,
    /// So many records.
    pub records: u64,
    /// From this offset on all are copies of batches that were read: the CRC vouches for what is in them.
    pub copies_from: i64,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
}

impl ReadBack {
    /// Reads everything again: every byte must belong to a sound batch, offsets must ascend, and there must be as many
    /// batches, records and bytes as were planned. Every record below `copies_from` is shown to `each`, by its batch, offset
    /// and key.
    ///
    /// # Errors
    /// If that is not so, a file cannot be read, or the work is interrupted.
    pub fn check(&self, done: &Done, interrupt: &Interrupt, each: &mut EachRecord<'_>) -> io::Result<()> {
        let mut inflater = Inflater::with_limit(self.max_inflated);
        let (mut batches, mut records, mut last) = (0, 0, -1);
        for written in &done.segments {
            let wrong =
                |why: &str| at_path(&written.path, io::Error::other(format!("read back: {why}; nothing was kept")));
            let segment = Segment::open(&written.path)?;
            let mut heads = Heads::default();
            for span in segment.spans() {
                interrupt.check()?;
                let Span::Batch(batch) = span else { return Err(wrong("bytes that are no batch")) };
                batch.check_crc().map_err(|fault| wrong(&fault.to_string()))?;
                let first = batch.first_offset(&mut inflater).unwrap_or(batch.header().base_offset);
                if first <= last {
                    return Err(wrong(&format!("offset {first} stands behind {last}")));
                }
                let header = batch.header();
                last = header.last_offset;
                heads.add(batch.bytes());
                batches += 1;
                records += match u64::try_from(header.count) {
                    Ok(count) if header.base_offset >= self.copies_from => count,
                    _ => records_of(&batch, &mut inflater, each),
                };
            }
            if segment.len() != written.len || heads != written.heads {
                return Err(wrong("the bytes are not those that were written"));
            }
        }
        if batches != self.batches || records != self.records {
            return Err(io::Error::other(format!(
                "read back: {batches} batches and {records} records, planned were {} and {}; nothing was kept",
                self.batches, self.records
            )));
        }
        Ok(())
    }
}

/// Shows the records of a batch; how many there are that can be read.
fn records_of(batch: &Batch<'_>, inflater: &mut Inflater, each: &mut EachRecord<'_>) -> u64 {
    let mut records = 0;
    let _: ControlFlow<()> = batch.records(inflater).each(
        &mut records,
        |records, record| {
            *records += 1;
            each(batch, record.offset, record.key);
            ControlFlow::Continue(())
        },
        |_, _| ControlFlow::Continue(()),
    );
    records
}
