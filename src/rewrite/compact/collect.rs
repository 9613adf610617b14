//! Takes up the keys of a batch: which of its records can be the last of their key.
//!
//! Must not know: where the batch stands in the order of the log, and what is damaged elsewhere.

use super::keys::{Keys, Window};
use super::onlooker::{NoteOf, Onlooker};
use super::slot::{NONE, Winner};
use super::tally::Tally;
use crate::fault::FaultKind;
use crate::log::plain::{Look, PlainRecord};
use crate::log::{BadRecord, Batch, Inflater, Record};
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
pub struct Collector<'c, 's, O: Onlooker<'s>> {
    /// Who is shown its records, if they are to be shown.
    pub onlooker: Option<&'c mut O>,
    /// What is known of keys.
    pub keys: &'c mut Keys<O::Slot>,
    /// Records whose keys are yet to be looked up.
    pub window: &'c mut Window<'s, NoteOf<'s, O>>,
    /// Where the batch begins, counted through all segments.
    pub at: u64,
    /// Its base offset.
    pub base_offset: i64,
    /// What was read, unless somebody looks on, who counts himself.
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
    /// How many of its records were taken up.
    pub taken: u64,
    /// What is wrong with the batch, if anything.
    pub bad: Option<FaultKind>,
}

impl<'s, O: Onlooker<'s>> Collector<'_, 's, O> {
    /// Takes up the records of a batch, which is in the order that the log has it; what is wrong with it, if anything.
    #[inline(always)]
    pub fn collect(mut self, batch: &Batch<'s>, inflater: &mut Inflater) -> Option<FaultKind> {
        if batch.all_plain(&mut self) {
            return self.bad;
        }
        self.collect_slowly(batch, inflater)
    }

    /// It is compressed, of an old magic, or not in order. What was taken up of it is not taken up again.
    #[inline(never)]
    fn collect_slowly(mut self, batch: &Batch<'s>, inflater: &mut Inflater) -> Option<FaultKind> {
        let mut taken = std::mem::take(&mut self.taken);
        let mut records = batch.records(inflater);
        self.settle();
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.again(&batch.header(), records.body_length() as u64);
        }
        let _: ControlFlow<()> = records.each(
            &mut self,
            |collector, record| {
                match taken {
                    0 => collector.record(record),
                    _ => {
                        taken -= 1;
                        if let Some(onlooker) = &mut collector.onlooker {
                            onlooker.shown(record);
                        }
                    }
                }
                ControlFlow::Continue(())
            },
            Collector::bad,
        );
        let fault = records.fault().map(|fault| fault.kind.clone());
        self.bad.or(fault)
    }

    /// Looks up what waits, where the order makes a difference: what is put at once would come before it.
    #[inline]
    fn settle(&mut self) {
        if O::NOTES {
            self.keys.settle(self.window);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if !O::NOTES {
            self.before.record(record);
        }
        let note = match &mut self.onlooker {
            Some(onlooker) => onlooker.record(record, self.keys, self.window),
            None => NoteOf::<O>::default(),
        };
        if let Some(key) = self.counted(record.key, record.offset) {
            match self.ended {
                // It may have been inflated, and will not be there later.
                Waiting::Committed => self.keys.put(key, Winner { offset: record.offset, place: self.at }, note),
                _ => self.waiting(key, record.offset, record.value.is_some()),
            }
        } else if let (true, Some(key)) = (O::NOTES, record.key) {
            self.keys.put(key, NONE, note);
        }
    }

    /// The key of a record that counts.
    #[inline(always)]
    fn counted<'k>(&mut self, key: Option<&'k [u8]>, offset: i64) -> Option<&'k [u8]> {
        if offset < self.first || offset > self.last {
            self.outside(offset);
            return None;
        }
        // The next one must lie above it.
        self.first = offset.wrapping_add(1);
        key
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
        self.settle();
        let waits = has_value && matches!(key, [0, 0 | 1, ..]);
        match self.ended {
            Waiting::Open => self.keys.pin(key),
            _ if waits => *self.aborted += 1,
            _ => self.keys.put(key, Winner { offset, place: self.at }, NoteOf::<O>::default()),
        }
    }

    /// A record that cannot be read.
    #[cold]
    pub fn bad(&mut self, record: &BadRecord<'_>) -> ControlFlow<()> {
        self.bad = Some(record.fault.kind.clone());
        ControlFlow::Continue(())
    }
}

impl<'s, O: Onlooker<'s>> Look<'s> for Collector<'_, 's, O> {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'s>) -> bool {
        self.taken += 1;
        let offset = self.base_offset.wrapping_add(i64::from(record.offset_delta));
        if !O::NOTES {
            self.before.count(record.key, record.value.is_some(), record.length);
        }
        let note = match &mut self.onlooker {
            Some(onlooker) => onlooker.plain(&record, self.keys, self.window),
            None => NoteOf::<O>::default(),
        };
        if let Some(key) = self.counted(record.key, offset) {
            match self.ended {
                Waiting::Committed => self.keys.put_soon(key, Winner { offset, place: self.at }, note, self.window),
                _ => self.waiting(key, offset, record.value.is_some()),
            }
        } else if let (true, Some(key)) = (O::NOTES, record.key) {
            self.keys.put_soon(key, NONE, note, self.window);
        }
        true
    }
}
