//! Which records and empty batches stay in a compaction: a cleaning that writes nothing down but offsets.
//!
//! Must not know: whose records they are.

use crate::log::{Batch, Inflater, Segment};
use crate::rewrite::compact::Aim;
use crate::rewrite::compact::clean::{Cleaned, Sink, clean};
use crate::rewrite::compact::survey::Survey;
use crate::rewrite::interrupt::Interrupt;
use std::io;

/// What stays below the end of what is cleaned.
pub(super) struct Kept {
    /// Offsets of records, ascending.
    pub records: Vec<i64>,
    /// Last offsets of batches without records, ascending.
    pub empty: Vec<i64>,
    /// The counts.
    pub cleaned: Cleaned,
}

struct Offsets {
    until: i64,
    inflater: Inflater,
    records: Vec<i64>,
    empty: Vec<i64>,
}

impl Sink for Offsets {
    fn segment(&mut self, _: i64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let header = batch.header();
        if header.base_offset >= self.until {
            return Ok(());
        }
        let before = self.records.len();
        let mut records = batch.records(&mut self.inflater);
        self.records.extend(records.by_ref().flatten().map(|record| record.offset));
        if self.records.len() == before {
            self.empty.push(header.last_offset);
        }
        Ok(())
    }
}

/// Goes through a log that was surveyed.
///
/// # Errors
/// If a batch cannot be made anew.
pub(super) fn keep(segments: &[Segment], survey: &Survey, aim: &Aim, interrupt: &Interrupt) -> io::Result<Kept> {
    let inflater = Inflater::with_limit(aim.max_inflated);
    let mut sink = Offsets { until: survey.until, inflater, records: Vec::new(), empty: Vec::new() };
    let cleaned = clean(segments, survey, aim, interrupt, &mut sink, &mut |_| {})?;
    let Offsets { mut records, mut empty, .. } = sink;
    // They ascend, but for those of damaged batches.
    records.sort_unstable();
    empty.sort_unstable();
    Ok(Kept { records, empty, cleaned })
}
