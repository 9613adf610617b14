//! Takes up the keys of a batch: which of its records can be the last of their key.
//!
//! Must not know: where the batch stands in the order of the log, and what is damaged elsewhere.

use super::keys::{Keys, Window, Winner};
use super::tally::Tally;
use crate::fault::FaultKind;
use crate::log::{BadRecord, Record};
use std::ops::ControlFlow;

/// What became of a transaction whose records wait. Plain records count as committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
    /// It has not ended.
    Open,
}

/// Takes up the keys of one batch.
#[derive(Debug)]
pub struct Collector<'c, 's> {
    /// What is known of keys.
    pub keys: &'c mut Keys,
    /// Records whose keys are yet to be looked up.
    pub window: &'c mut Window<'s>,
    /// All of the segment.
    pub bytes: &'s [u8],
    /// Where the batch begins, counted through all segments.
    pub at: u64,
    /// What was read.
    pub before: &'c mut Tally,
    /// Records of aborted transactions.
    pub aborted: &'c mut u64,
    /// Records below the log start.
    pub before_start: &'c mut u64,
    /// The first offset of the log.
    pub log_start: i64,
    /// The first offset that counts, and that the next record can have.
    pub first: i64,
    /// The last offset that the batch spans.
    pub last: i64,
    /// What became of the transaction.
    pub ended: Waiting,
    /// What is wrong with the batch, if anything.
    pub bad: Option<FaultKind>,
}

impl Collector<'_, '_> {
    /// A record of the batch.
    #[inline(always)]
    pub fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        self.before.record(record);
        if record.offset < self.first || record.offset > self.last {
            self.outside(record.offset);
            return ControlFlow::Continue(());
        }
        // The next one must lie above it.
        self.first = record.offset.wrapping_add(1);
        if let Some(key) = record.key {
            match self.ended {
                Waiting::Committed => self.put(key, Winner { offset: record.offset, place: self.at }),
                _ => self.waiting(key, record.offset, record.value.is_some()),
            }
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn put(&mut self, key: &[u8], record: Winner) {
        let position = key.as_ptr().addr().wrapping_sub(self.bytes.as_ptr().addr());
        match self.bytes.get(position..position.saturating_add(key.len())) {
            Some(key) => self.keys.put_soon(key, record, self.window),
            // It was inflated, and will not be there later.
            None => self.keys.put(key, record),
        }
    }

    #[cold]
    fn outside(&mut self, offset: i64) {
        if offset < self.log_start {
            *self.before_start += 1;
        } else {
            self.bad = Some(FaultKind::OffsetOrder { previous: self.first.saturating_sub(1) });
        }
    }

    /// A record of a transaction that was aborted, or is open. Only commits wait for the end of a transaction: a
    /// coordinator takes all else up at once, whatever becomes of the transaction (and writes none of it in one).
    #[inline(never)]
    fn waiting(&mut self, key: &[u8], offset: i64, has_value: bool) {
        let waits = has_value && matches!(key, [0, 0 | 1, ..]);
        match self.ended {
            Waiting::Open => self.keys.pin(key),
            _ if waits => *self.aborted += 1,
            _ => self.keys.put(key, Winner { offset, place: self.at }),
        }
    }

    /// A record that cannot be read.
    #[cold]
    pub fn bad(&mut self, record: &BadRecord<'_>) -> ControlFlow<()> {
        self.bad = Some(record.fault.kind.clone());
        ControlFlow::Continue(())
    }
}
