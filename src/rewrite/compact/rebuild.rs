//! Batches written anew, each of which is read again before it is believed.
//!
//! What is copied is held against its CRC; of what is made there is nothing else to hold it against than what it was made
//! from. Must not know: which records stay, and where batches go to.

use crate::log::batch::Header;
use crate::log::build::{Builder, Entry};
use crate::log::{Batch, Inflater, Record};
use std::io;

/// Makes batches. Keeps its rooms from one to the next.
#[derive(Debug)]
pub struct Rebuild {
    builder: Builder,
    built: Vec<u8>,
    inflater: Inflater,
}

impl Rebuild {
    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn new(max_inflated: usize) -> Self {
        Rebuild { builder: Builder::new(), built: Vec::new(), inflater: Inflater::with_limit(max_inflated) }
    }

    /// Makes a batch, and reads it again: `each` is shown every record as it now stands there.
    ///
    /// # Errors
    /// If it cannot be written, or says something else than it should.
    pub fn batch(&mut self, head: &Header, entries: &[Entry<'_>], each: impl FnMut(&Record<'_>)) -> io::Result<()> {
        self.built.clear();
        self.builder.batch(head, entries, &mut self.built)?;
        match self.says(head, entries, each) {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the batch from offset {} to {}, made anew without the records that go, does not read as it should; \
                 nothing was kept",
                head.base_offset, head.last_offset
            ))),
        }
    }

    fn says(&mut self, head: &Header, entries: &[Entry<'_>], mut each: impl FnMut(&Record<'_>)) -> bool {
        let Some(batch) = Batch::new(&self.built, 0) else { return false };
        let mut records = batch.records(&mut self.inflater);
        let mut wanted = entries.iter();
        let mut is_next = |record: &Record<'_>| {
            each(record);
            wanted.next().is_some_and(|entry| is_same(entry, record))
        };
        let all = records.by_ref().all(|item| item.is_ok_and(|record| is_next(&record)));
        all && wanted.next().is_none() && records.fault().is_none() && keeps(head, &batch.header(), entries)
    }

    /// The batch made last.
    pub fn bytes(&self) -> &[u8] {
        &self.built
    }

    /// The batch made last; its room is to be given back.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.built)
    }

    /// Gives back the room of a batch.
    pub fn give_back(&mut self, room: Vec<u8>) {
        self.built = room;
    }
}

fn is_same(entry: &Entry<'_>, record: &Record<'_>) -> bool {
    entry.offset == record.offset
        && entry.timestamp == record.timestamp
        && entry.key == record.key
        && entry.value == record.value
        && entry.headers == record.headers
}

/// Whether a head is what it was made from.
fn keeps(head: &Header, made: &Header, entries: &[Entry<'_>]) -> bool {
    let codec = if entries.is_empty() { made.codec } else { head.codec };
    if head.magic < 2 {
        let last = entries.last().map_or(head.last_offset, |entry| entry.offset);
        return (made.magic, made.codec, made.last_offset) == (head.magic, codec, last);
    }
    let made_anew = Header {
        length: made.length,
        crc: made.crc,
        codec,
        attributes: made.attributes,
        max_timestamp: made.max_timestamp,
        count: made.count,
        ..*head
    };
    *made == made_anew
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::{batch, record};

    #[test]
    fn what_reads_otherwise_is_an_error() {
        let body: Vec<u8> = (0..3).flat_map(|i| record(i, format!("k{i}").as_bytes(), b"v")).collect();
        let whole = batch(100, 0, 3, &body);
        let old = Batch::new(&whole, 0).unwrap();
        let head = old.header();
        let mut inflater = Inflater::new();
        let entries: Vec<_> =
            old.records(&mut inflater).by_ref().flatten().map(|record| Entry::as_framed(&record)).collect();
        let mut rebuild = Rebuild::new(1 << 20);
        rebuild.batch(&head, &entries, |_| {}).unwrap();
        assert_eq!(rebuild.bytes(), whole);
        rebuild.batch(&head, &entries[1..], |_| {}).unwrap();
        // Frames that count from another head.
        let later = Header { base_timestamp: head.base_timestamp + 5, ..head };
        assert!(rebuild.batch(&later, &entries[1..], |_| {}).is_err());
        let anew: Vec<_> = entries.iter().map(|entry| Entry { framed: None, ..*entry }).collect();
        rebuild.batch(&later, &anew, |_| {}).unwrap();
        assert_ne!(rebuild.bytes(), whole);
        // A frame of another record.
        let swapped = [Entry { framed: entries[1].framed, ..entries[0] }];
        assert!(rebuild.batch(&head, &swapped, |_| {}).is_err());
        rebuild.batch(&head, &[], |_| {}).unwrap();
        assert_eq!(rebuild.bytes().len(), 61);
    }
}
