//! Writes a compaction to a new folder, and holds what it reads back against what was surveyed.
//!
//! Must not know: how it was decided what stays.

use super::Aim;
use super::clean::{Cleaned, Sink, clean};
use super::keys::hash_of;
use super::roll::Roll;
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
    let mut found = Found { survey, roll: Roll::default(), keyless: 0 };
    let batches = cleaned.after.batches + cleaned.behind.batches;
    let read_back =
        ReadBack { batches, records: done.records, copies_from: survey.until, max_inflated: aim.max_inflated };
    read_back.check(&done, interrupt, &mut |batch, offset, key| found.record(batch, offset, key))?;
    found.is_promised(&cleaned)?;
    Ok((cleaned, done))
}

/// What the new log holds of what was cleaned: of every key its last record, and nothing else.
struct Found<'p> {
    survey: &'p Survey,
    roll: Roll,
    /// Records without a key.
    keyless: u64,
}

impl Found<'_> {
    fn record(&mut self, batch: &Batch<'_>, offset: i64, key: Option<&[u8]>) {
        let header = batch.header();
        if header.control || header.base_offset >= self.survey.until || self.survey.is_open(&header) {
            return;
        }
        match key {
            None => self.keyless += 1,
            Some(key) if self.only_hides(key, offset) => {}
            Some(key) => self.roll.add(hash_of(key), offset),
        }
    }

    /// Whether it stays although a later record of its key may stand there.
    fn only_hides(&self, key: &[u8], offset: i64) -> bool {
        let hides = self.survey.hiding.binary_search_by_key(&offset, |it| it.offset).is_ok();
        hides && self.survey.keys.get(key) != Some(offset)
    }

    fn is_promised(&self, cleaned: &Cleaned) -> io::Result<()> {
        let promised = self.survey.keys.roll().without(cleaned.expired_tombstones);
        if self.roll == promised && self.keyless == 0 {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "read back: {} records that are not the last of the {} keys that were to stay, and {} without a key; nothing \
             was kept",
            self.roll.records, promised.records, self.keyless
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::slot::Winner;
    use super::super::survey::survey;
    use super::super::{BeyondOpen, Extent};
    use super::*;
    use crate::rewrite::out::OutDir;
    use std::path::Path;

    #[test]
    fn a_key_without_its_last_record_is_noticed() {
        let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/example3/log/__consumer_offsets-18");
        let segments = [Segment::open(&log.join("00000000000000000000.log")).unwrap()];
        let aim = Aim {
            now: 0,
            delete_retention_ms: 0,
            segment_bytes: 1 << 20,
            extent: Extent::All,
            beyond_open: BeyondOpen::Never,
            log_start: None,
            max_inflated: 1 << 20,
        };
        let interrupt = Interrupt::default();
        let found = || survey(&segments, &aim, &interrupt, &mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let carried = |survey: &Survey, name: &str| {
            let out = OutDir::create(&folder.path().join(name)).unwrap();
            let to = out.partition(18).unwrap();
            carry_out(&segments, survey, &aim, &SideFiles::default(), to, &interrupt, &mut |_| {})
        };
        assert!(carried(&found(), "sound").is_ok());
        // One more key, whose record the log has not; and one whose record is another's.
        let mut survey = found();
        survey.keys.put(b"\0\x02\0\x05nobody", Winner { offset: 1 << 40, place: 0 }, ());
        let error = carried(&survey, "more").unwrap_err().to_string();
        assert!(error.starts_with("read back: "), "{error}");
        let first = found().keys.winners().first().copied().unwrap();
        let mut survey = found();
        survey.keys.put(b"\0\x02\0\x05nobody", first, ());
        let error = carried(&survey, "other").unwrap_err().to_string();
        assert!(error.starts_with("read back: "), "{error}");
    }
}
