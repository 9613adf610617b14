//! One way through what stays of a log and its copies, record by record, each with what its key means.
//!
//! Must not know: what is asked of them.

use super::interrupt::Interrupt;
use super::plan::{Piece, Reader, Sources};
use super::union::Log;
use super::union::ranges::{Range, has};
use crate::log::batch::Header;
use crate::log::{Batch, Control, Inflater, Record};
use crate::model::losses::identity;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;

/// Of more keys than these, the rest are not looked at.
pub(super) const MOST_KEYS: usize = 2_000_000;

/// Something of every key that was met, by what the key means.
pub(super) type ByKey<T> = HashMap<Box<[u8]>, T, FixedState>;

/// A record with a key, on the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met<'m> {
    /// The head of its batch.
    pub batch: &'m Header,
    /// Itself.
    pub record: &'m Record<'m>,
    /// The bytes of its key.
    pub key: &'m [u8],
    /// What its key means: the same for all bytes by which a coordinator knows it.
    pub identity: &'m [u8],
}

/// Reads the records of batches, each with what its key means.
pub(super) struct Keyed {
    inflater: Inflater,
    identity: Vec<u8>,
}

impl Keyed {
    /// Shows every record that can be read: its place in the batch, itself, and what its key means, which is empty where
    /// it has none.
    pub fn each(&mut self, batch: &Batch<'_>, mut see: impl FnMut(u32, &Record<'_>, &[u8])) {
        for (place, item) in batch.records(&mut self.inflater).enumerate() {
            let Ok(record) = item else { continue };
            identity(record.key.unwrap_or_default(), &mut self.identity);
            see(place as u32, &record, &self.identity);
        }
    }

    /// Whether a control batch ends a transaction with ABORT.
    fn is_abort(&mut self, batch: &Batch<'_>) -> bool {
        let mut records = batch.records(&mut self.inflater);
        records.by_ref().flatten().any(|record| matches!(Control::parse(&record), Ok(Control::Abort(_))))
    }
}

/// Goes through pieces as they will stand in the new log.
pub(super) struct Walk<'w> {
    /// The files.
    pub sources: &'w mut Sources,
    /// For batches as they stand in the old files.
    pub keyed: Keyed,
    interrupt: &'w Interrupt,
    reader: Reader,
}

impl<'w> Walk<'w> {
    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn new(sources: &'w mut Sources, max_inflated: usize, interrupt: &'w Interrupt) -> Self {
        let keyed = Keyed { inflater: Inflater::with_limit(max_inflated), identity: Vec::new() };
        Walk { sources, keyed, interrupt, reader: Reader::new(max_inflated) }
    }

    /// Shows every record that has a key, but for those of control batches.
    ///
    /// # Errors
    /// If a file cannot be read again, or the work is interrupted.
    pub fn records<'p>(
        &mut self,
        pieces: impl IntoIterator<Item = &'p Piece>,
        mut see: impl FnMut(Met<'_>),
    ) -> io::Result<()> {
        let Walk { sources, keyed, interrupt, reader } = self;
        for piece in pieces {
            reader.piece(sources, piece, |batch| {
                interrupt.check()?;
                let header = batch.header();
                if !header.control {
                    keyed.each(batch, |_, record, identity| {
                        if let Some(key) = record.key {
                            see(Met { batch: &header, record, key, identity });
                        }
                    });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The offsets of all records of a piece, ascending.
    ///
    /// # Errors
    /// As [`Walk::records`].
    pub fn offsets(&mut self, piece: &Piece) -> io::Result<Vec<i64>> {
        let mut offsets = Vec::new();
        let Walk { sources, keyed, reader, .. } = self;
        reader.piece(sources, piece, |batch| {
            keyed.each(batch, |_, record, _| offsets.push(record.offset));
            Ok(())
        })?;
        offsets.sort_unstable();
        Ok(offsets)
    }

    /// Shows the head of every batch.
    ///
    /// # Errors
    /// As [`Walk::records`].
    pub fn heads<'p>(
        &mut self,
        pieces: impl IntoIterator<Item = &'p Piece>,
        mut see: impl FnMut(&Header),
    ) -> io::Result<()> {
        let Walk { sources, interrupt, reader, .. } = self;
        for piece in pieces {
            reader.piece(sources, piece, |batch: &Batch<'_>| {
                interrupt.check()?;
                see(&batch.header());
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Transactions of a log that were aborted: their records supersede nothing.
#[derive(Debug, Default)]
pub(super) struct Aborted {
    /// By producer, from the first offset to that of the marker, ascending.
    of_producer: HashMap<i64, Vec<Range>, FixedState>,
}

impl Aborted {
    /// # Errors
    /// If a file cannot be read again, or the work is interrupted.
    pub fn of(log: &Log, walk: &mut Walk<'_>) -> io::Result<Aborted> {
        let mut aborted = Aborted::default();
        let mut open: HashMap<i64, i64, FixedState> = HashMap::default();
        let Walk { sources, keyed, interrupt, reader } = walk;
        for piece in log.pieces() {
            reader.piece(sources, piece, |batch| {
                interrupt.check()?;
                let header = batch.header();
                if header.transactional && !header.control {
                    open.entry(header.producer_id).or_insert(header.base_offset);
                }
                if header.control
                    && let Some(first) = open.remove(&header.producer_id)
                    && keyed.is_abort(batch)
                {
                    let ranges = aborted.of_producer.entry(header.producer_id).or_default();
                    ranges.push((first, header.base_offset));
                }
                Ok(())
            })?;
        }
        Ok(aborted)
    }

    /// Whether a batch is of one.
    pub fn has(&self, batch: &Header) -> bool {
        let ranges = self.of_producer.get(&batch.producer_id).filter(|_| batch.transactional);
        ranges.is_some_and(|ranges| has(ranges, batch.base_offset))
    }
}

/// Forgets keys of which another record stands behind the one that is remembered, in a log. `offset_of` says where that is.
pub(super) fn forget_superseded<T>(
    keys: &mut ByKey<T>,
    walk: &mut Walk<'_>,
    log: &Log,
    offset_of: impl Fn(&T) -> i64,
) -> io::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let aborted = Aborted::of(log, walk)?;
    for piece in log.pieces() {
        if keys.is_empty() {
            break;
        }
        walk.records([piece], |met| {
            let is_known = keys.get(met.identity).is_some_and(|known| offset_of(known) < met.record.offset);
            if is_known && !aborted.has(met.batch) {
                keys.remove(met.identity);
            }
        })?;
    }
    Ok(())
}
