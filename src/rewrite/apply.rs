//! Carries out a plan: writes a partition's pieces to a new folder, reads it back, and compares.
//!
//! Must not know: who made the plan, and why.

use super::epochs::Epochs;
use super::interrupt::Interrupt;
use super::out::{PartitionOut, SegmentOut, Written};
use super::plan::{Piece, Reader, Sources, at_path};
use crate::log::{Batch, Inflater, Segment, Span};
use std::io;

/// Segments grow to so many bytes: `segment.bytes` of most topics.
const SEGMENT_BYTES: u64 = 1 << 30;
/// Offsets in a segment are counted from its first with 31 bits.
const MOST_OFFSETS: i64 = i32::MAX as i64;

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
    let mut writer = Writer {
        to: &to,
        segment: None,
        rolls: &plan.rolls,
        epochs: Epochs::new(plan.leader_epochs.clone()),
        inflater: Inflater::with_limit(max_inflated),
        done: Done::default(),
        last: -1,
    };
    let mut reader = Reader::new(max_inflated);
    for piece in &plan.pieces {
        let epoch = (piece.epoch >= 0).then_some(piece.epoch);
        let mut read = piece.from;
        reader.piece(sources, piece, |batch| {
            interrupt.check()?;
            progress(batch.len());
            read += batch.len();
            writer.batch(batch, epoch)
        })?;
    }
    let mut done = writer.finish(plan.end)?;
    if let Some(metadata) = &plan.metadata {
        to.file("partition.metadata", metadata)?;
    }
    done.records = plan.pieces.iter().map(|piece| piece.records).sum();
    to.finish()?;
    read_back(plan, &done, max_inflated, interrupt)?;
    Ok(done)
}

struct Writer<'w> {
    to: &'w PartitionOut,
    segment: Option<SegmentOut>,
    rolls: &'w [i64],
    epochs: Epochs,
    inflater: Inflater,
    done: Done,
    /// The last offset written.
    last: i64,
}

impl Writer<'_> {
    fn batch(&mut self, batch: &Batch<'_>, epoch: Option<i32>) -> io::Result<()> {
        let header = batch.header();
        let first = batch.first_offset(&mut self.inflater).unwrap_or(header.base_offset);
        self.epochs.batch(first, epoch);
        let roll = self.roll_before(first);
        if let Some(base) = roll.or_else(|| self.is_full(batch).then_some(first)) {
            self.close()?;
            self.segment = Some(self.to.segment(base)?);
        }
        if self.segment.is_none() {
            self.segment = Some(self.to.segment(first)?);
        }
        if let Some(segment) = &mut self.segment {
            segment.append(batch.bytes())?;
        }
        self.done.batches += 1;
        self.last = header.last_offset;
        Ok(())
    }

    /// The offset that a new segment is named after before a batch: the last of those that lie at or below it.
    fn roll_before(&mut self, first: i64) -> Option<i64> {
        let passed = self.rolls.partition_point(|roll| *roll <= first);
        let (before, behind) = self.rolls.split_at_checked(passed)?;
        self.rolls = behind;
        before.last().copied()
    }

    fn is_full(&self, batch: &Batch<'_>) -> bool {
        let Some(segment) = &self.segment else { return false };
        let spans = batch.header().last_offset.saturating_sub(segment.base_offset());
        !segment.is_empty() && segment.len() + batch.len() > SEGMENT_BYTES || spans > MOST_OFFSETS
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(segment) = self.segment.take() {
            let written = segment.finish()?;
            self.done.bytes += written.len;
            self.done.segments.push(written);
        }
        Ok(())
    }

    fn finish(mut self, end: i64) -> io::Result<Done> {
        self.close()?;
        // Also for a log without batches: a broker takes it as empty, from here on.
        if end > self.last.saturating_add(1) || self.done.segments.is_empty() {
            self.segment = Some(self.to.segment(end.max(0))?);
            self.close()?;
        }
        let (bytes, kept) = self.epochs.file(end.max(self.last.saturating_add(1)));
        self.to.file("leader-epoch-checkpoint", &bytes)?;
        self.done.kept_epochs = kept;
        Ok(self.done)
    }
}

/// Reads everything again: every byte must belong to a sound batch, offsets must ascend, and there must be as many
/// batches, records and bytes as were planned.
fn read_back(plan: &PartitionPlan, done: &Done, max_inflated: usize, interrupt: &Interrupt) -> io::Result<()> {
    let mut inflater = Inflater::with_limit(max_inflated);
    let (mut batches, mut records, mut last) = (0, 0, -1);
    for written in &done.segments {
        let wrong = |why: &str| at_path(&written.path, io::Error::other(format!("read back: {why}; nothing was kept")));
        let segment = Segment::open(&written.path)?;
        if segment.len() != written.len || sum(&segment) != written.sum {
            return Err(wrong("the bytes are not those that were written"));
        }
        for span in segment.spans() {
            interrupt.check()?;
            let Span::Batch(batch) = span else { return Err(wrong("bytes that are no batch")) };
            batch.check_crc().map_err(|fault| wrong(&fault.to_string()))?;
            let first = batch.first_offset(&mut inflater).unwrap_or(batch.header().base_offset);
            if first <= last {
                return Err(wrong(&format!("offset {first} stands behind {last}")));
            }
            last = batch.header().last_offset;
            batches += 1;
            records += batch.records(&mut inflater).by_ref().filter(Result::is_ok).count() as u64;
        }
    }
    let planned: u64 = plan.pieces.iter().map(|piece| piece.batches).sum();
    if batches != planned || records != done.records {
        return Err(io::Error::other(format!(
            "read back: {batches} batches and {records} records, planned were {planned} and {}; nothing was kept",
            done.records
        )));
    }
    Ok(())
}

/// CRC-32C of a whole file, whose pages need not stay in memory.
fn sum(segment: &Segment) -> u32 {
    const PIECE: usize = 8 << 20;
    let mut sum = 0;
    for (i, piece) in segment.bytes().chunks(PIECE).enumerate() {
        sum = crc32c::crc32c_append(sum, piece);
        segment.release(i * PIECE..i * PIECE + piece.len());
    }
    sum
}
