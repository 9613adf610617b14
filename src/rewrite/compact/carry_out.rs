//! Writes a compaction to a new folder, and holds what it reads back against what was surveyed.
//!
//! Must not know: how it was decided what stays.

use super::Aim;
use super::clean::{Cleaned, Sink, clean};
use super::survey::Survey;
use crate::log::{Batch, Segment};
use crate::rewrite::apply::{Done, MOST_OFFSETS, ReadBack, Writing};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::PartitionOut;
use std::io;

/// The files of a partition that are carried over.
#[derive(Debug, Clone, Default)]
pub struct SideFiles {
    /// `partition.metadata`, as it is.
    pub metadata: Option<Vec<u8>>,
    /// The old `leader-epoch-checkpoint`.
    pub leader_epochs: Option<Vec<u8>>,
}

/// Goes nowhere: for those who only want to know.
#[derive(Debug, Default)]
pub struct Nowhere {
    /// Segments there would be.
    pub segments: u64,
    base_offset: i64,
    len: u64,
    limit: u64,
}

impl Sink for Nowhere {
    fn segment(&mut self, base_offset: i64, limit: u64) -> io::Result<()> {
        self.segments += 1;
        (self.base_offset, self.len, self.limit) = (base_offset, 0, limit);
        Ok(())
    }

    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let header = batch.header();
        let spans = header.last_offset.saturating_sub(self.base_offset);
        if self.len > 0 && self.len.saturating_add(batch.len()) > self.limit || spans > MOST_OFFSETS {
            self.segment(header.base_offset, self.limit)?;
        }
        self.len += batch.len();
        Ok(())
    }
}

impl Sink for Writing<'_> {
    fn segment(&mut self, base_offset: i64, limit: u64) -> io::Result<()> {
        self.roll(base_offset, limit)
    }

    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let epoch = batch.header().partition_leader_epoch;
        Writing::batch(self, batch, (epoch >= 0).then_some(epoch))
    }
}

/// Writes a partition, and reads it back.
///
/// # Errors
/// If a file cannot be read or written, the work is interrupted, or what was written does not hold what was surveyed.
pub fn carry_out(
    segments: &[Segment],
    survey: &Survey,
    aim: &Aim,
    side_files: &SideFiles,
    to: PartitionOut,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<(Cleaned, Done)> {
    let mut writing = Writing::begin(&to, side_files.leader_epochs.clone(), aim.max_inflated);
    let cleaned = clean(segments, survey, aim, interrupt, &mut writing, progress)?;
    if let Some(segment) = segments.iter().find(|segment| segment.was_cut()) {
        let path = segment.path().display();
        return Err(io::Error::other(format!("{path}: it was cut while it was read; nothing was kept")));
    }
    let mut done = writing.finish(survey.end)?;
    done.records = cleaned.after.records + cleaned.behind.records;
    if let Some(metadata) = &side_files.metadata {
        to.file("partition.metadata", metadata)?;
    }
    to.finish()?;
    let mut promise = Promise { survey, waiting: Vec::new(), keys: Vec::new(), winners: 0, strange: 0 };
    let batches = cleaned.after.batches + cleaned.behind.batches;
    let read_back =
        ReadBack { batches, records: done.records, copies_from: survey.until, max_inflated: aim.max_inflated };
    read_back.check(&done, interrupt, &mut |batch, offset, key| promise.record(batch, offset, key))?;
    promise.is_kept(&cleaned)?;
    Ok((cleaned, done))
}

/// That the new log says of every key what the old one did: each has its last record, and nothing else.
struct Promise<'p> {
    survey: &'p Survey,
    /// Records that are yet to be looked at, so that what their keys are compared with is in the cache by then.
    waiting: Vec<Kept>,
    /// Their keys, one behind the other.
    keys: Vec<u8>,
    winners: u64,
    strange: u64,
}

/// A record of the new log.
struct Kept {
    offset: i64,
    /// Where its key ends in [`Promise::keys`], which begins where the one before ends; None if it has none.
    key_end: Option<usize>,
    open: bool,
}

/// So many records wait.
const WAIT: usize = 64;

impl Promise<'_> {
    fn record(&mut self, batch: &Batch<'_>, offset: i64, key: Option<&[u8]>) {
        let header = batch.header();
        if header.control || header.base_offset >= self.survey.until {
            return;
        }
        let key_end = key.map(|key| {
            self.keys.extend_from_slice(key);
            self.keys.len()
        });
        self.waiting.push(Kept { offset, key_end, open: self.survey.is_open(&header) });
        if self.waiting.len() >= WAIT {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut from = 0;
        let with_keys = self.waiting.iter().map(|kept| {
            let key = kept.key_end.and_then(|end| self.keys.get(std::mem::replace(&mut from, end)..end));
            (kept, key)
        });
        let with_keys: Vec<_> = with_keys.collect();
        self.survey.keys.call_ahead(with_keys.iter().filter_map(|(_, key)| *key));
        for (kept, key) in with_keys {
            match key.and_then(|key| self.survey.keys.get(key)) {
                Some(last) if last == kept.offset => self.winners += 1,
                _ if kept.open || self.hides(kept.offset) => {}
                _ => self.strange += 1,
            }
        }
        self.waiting.clear();
        self.keys.clear();
    }

    fn hides(&self, offset: i64) -> bool {
        self.survey.hiding.binary_search_by_key(&offset, |it| it.offset).is_ok()
    }

    fn is_kept(&mut self, cleaned: &Cleaned) -> io::Result<()> {
        self.settle();
        let promised = self.survey.keys.len() as u64 - cleaned.expired_tombstones;
        if self.winners == promised && self.strange == 0 {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "read back: {} keys have their last record, promised were {promised}, and {} records should not be there; \
             nothing was kept",
            self.winners, self.strange
        )))
    }
}
