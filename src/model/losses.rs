//! What damage took: the keys of records that are lost, whether a later record of the same key survives, and the value
//! that takes the lost one's place.
//!
//! Collected first ([`Losses::lost`], [`Losses::lost_batch`]), then everything that survives is shown to it in log order
//! ([`Losses::resolve`] for sound files; [`Losses::survivor`] and [`Losses::end_transaction`] for other walks), then
//! [`Losses::finish`] tells. Memory grows with the number of lost keys, within limits, not with the log.
//! Must not know: why a record was lost, and what anyone does about it.

use crate::log::{Batch, Codec, Control, Header, Inflater, Record, Segment, Span};
use crate::schema::{Key, KeyFields};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// Keys beyond so many are counted, and not kept.
const MOST_KEYS: usize = 1_000_000;
/// Values (lost ones and those that take their place) beyond so many bytes are not kept; their records are.
const MOST_VALUE_BYTES: usize = 256 << 20;
/// Of one producer, so many commits wait for the end of a transaction; those beyond count as committed at once.
const MOST_WAITING: usize = 1_000_000;

/// Where a record stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostAt {
    /// The number of the segment, as whoever collects counts them.
    pub segment: u32,
    /// Of the batch, in bytes from the segment's start.
    pub position: u64,
}

/// A record that is lost.
#[derive(Debug, Clone, Copy)]
pub struct LostRecord<'r> {
    /// Where it stood.
    pub at: LostAt,
    /// Its log offset, as far as that can be believed.
    pub offset: i64,
    /// Its log offset by its own bytes: if it stands there all the same, it is not lost. None if that is no matter.
    pub said: Option<i64>,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    /// -1 for none; else the record was part of that producer's transaction.
    pub producer_id: i64,
    /// As it could be read; None for null.
    pub key: Option<&'r [u8]>,
    /// As it could be read; None if it could not, Some(None) for null, a tombstone.
    pub value: Option<Option<&'r [u8]>>,
}

/// A value, as far as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Null: whatever the key names is gone.
    Tombstone,
    /// Its bytes.
    Value(Box<[u8]>),
    /// It could not be read, or was not kept because there are too many bytes in all.
    Unknown,
}

impl Kept {
    /// The bytes; None for a tombstone, and where they were not kept.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Kept::Value(bytes) => Some(bytes),
            Kept::Tombstone | Kept::Unknown => None,
        }
    }
}

/// The last value of a key before the loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Its log offset.
    pub offset: i64,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    /// What it says.
    pub value: Kept,
}

/// A key of which a record was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostKey {
    /// Its bytes. Empty for a record without a key.
    pub key: Box<[u8]>,
    /// The group it names; None if the key cannot be decoded.
    pub group: Option<Box<[u8]>>,
    /// How many records of the key were lost.
    pub records: u64,
    /// Where the last of them stood.
    pub at: LostAt,
    /// Its log offset, as far as that can be believed.
    pub offset: i64,
    /// Its log offset by its own bytes. Another than `offset` where that cannot be right: then `offset` is the first that
    /// can.
    pub said: Option<i64>,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    /// Its producer, if it was part of a transaction; -1 for none.
    pub producer_id: i64,
    /// What it said.
    pub value: Kept,
    /// Offset of the first later record of the key that survives: then no state is lost.
    pub superseded_by: Option<i64>,
    /// Offset of the ABORT that ended the transaction it was part of: then it never counted. Only told if no other record
    /// of the key was lost.
    pub aborted_by: Option<i64>,
    /// What vouches for its bytes.
    pub word: Word,
    /// The last record of the key before it: what a coordinator goes back to if nothing supersedes it.
    pub fallback: Option<Fallback>,
}

impl LostKey {
    /// Whether it was a copy of a record. Damaged bytes may say another value.
    fn is(&self, record: &Record<'_>) -> bool {
        self.said == Some(record.offset)
            && match &self.value {
                Kept::Tombstone => record.value.is_none(),
                Kept::Value(bytes) => record.value == Some(bytes) || self.word == Word::Doubtful,
                Kept::Unknown => true,
            }
    }
}

/// What vouches for the bytes of a lost record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Word {
    /// They are as they were written.
    #[default]
    Sound,
    /// They are put right by the one change that makes the CRC right.
    Mended,
    /// Nothing does: even the key may be another's.
    Doubtful,
}

/// A survivor that waits for the end of its transaction.
#[derive(Debug)]
struct Waiting {
    slot: usize,
    offset: i64,
    timestamp: i64,
    value: Kept,
}

/// Collects lost records, and looks for what survives of their keys.
#[derive(Debug, Default)]
pub struct Losses {
    keys: HashMap<Box<[u8]>, usize, FixedState>,
    lost: Vec<LostKey>,
    waiting: HashMap<i64, Vec<Waiting>, FixedState>,
    /// Lost records that count only if their transaction is committed: producer, offset, place among the lost.
    unended: BTreeSet<(i64, i64, usize)>,
    value_bytes: usize,
    beyond: u64,
    /// Of what is taken up next.
    word: Word,
    /// Room for a key.
    scratch: Vec<u8>,
}

impl Losses {
    /// None yet.
    pub fn new() -> Self {
        Losses::default()
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.beyond == 0
    }

    /// Records that were lost with keys that are not kept, because there are too many.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Says what vouches for the records that are taken up from now on.
    pub fn vouched_by(&mut self, word: Word) {
        self.word = word;
    }

    /// Takes up a lost record. Of a key, the one with the greatest offset is kept.
    pub fn lost(&mut self, record: &LostRecord<'_>) {
        let key = record.key.unwrap_or_default();
        if let Some(slot) = self.slot(key) {
            return self.lost_again(slot, record);
        }
        if self.lost.len() >= MOST_KEYS {
            self.beyond += 1;
            return;
        }
        let value = self.keep_readable(record.value);
        self.keys.insert(self.scratch.as_slice().into(), self.lost.len());
        self.lost.push(LostKey {
            key: key.into(),
            group: Key::decode(key).ok().map(|key| key.group().into()),
            records: 1,
            at: record.at,
            offset: record.offset,
            said: record.said,
            timestamp: record.timestamp,
            producer_id: record.producer_id,
            value,
            superseded_by: None,
            aborted_by: None,
            word: self.word,
            fallback: None,
        });
        self.await_end(self.lost.len() - 1);
    }

    /// Remembers that it counts only if the transaction it was part of is committed.
    fn await_end(&mut self, slot: usize) {
        let Some(lost) = self.lost.get(slot) else { return };
        if lost.producer_id != -1 && is_commit(&lost.key) {
            self.unended.insert((lost.producer_id, lost.offset, slot));
        }
    }

    fn lost_again(&mut self, slot: usize, record: &LostRecord<'_>) {
        let value = self.keep_readable(record.value);
        let Some(lost) = self.lost.get_mut(slot) else { return };
        lost.records += 1;
        let unused = if record.offset < lost.offset {
            value
        } else {
            lost.at = record.at;
            lost.offset = record.offset;
            lost.said = record.said;
            lost.timestamp = record.timestamp;
            lost.producer_id = record.producer_id;
            lost.word = self.word;
            std::mem::replace(&mut lost.value, value)
        };
        self.await_end(slot);
        self.give_back(&unused);
    }

    /// Takes up every readable record of a batch that is lost; says how many, and how many cannot be read. Control
    /// records have no key of this topic and are passed over. How many records it has, its damaged head cannot be asked.
    pub fn lost_batch(&mut self, segment: u32, batch: &Batch<'_>, inflater: &mut Inflater) -> (u64, u64) {
        let mut room = Vec::new();
        let batch = &with_a_count(batch, &mut room);
        if is_marker(batch, inflater) {
            return (0, 0);
        }
        let header = batch.header();
        let at = LostAt { segment, position: batch.position() };
        let (mut readable, mut unreadable) = (0, 0);
        let mut records = batch.records(inflater);
        for item in records.by_ref() {
            let (offset, timestamp, key, value) = match &item {
                Ok(record) => (record.offset, record.timestamp, record.key, Some(record.value)),
                Err(bad) => match bad.key {
                    Some(_) => (
                        bad.offset.unwrap_or(header.last_offset),
                        bad.timestamp.unwrap_or(-1),
                        bad.key,
                        bad.value.map(Some),
                    ),
                    None => {
                        unreadable += 1;
                        continue;
                    }
                },
            };
            readable += 1;
            let producer_id = header.producer_id;
            self.lost(&LostRecord { at, offset, said: Some(offset), timestamp, producer_id, key, value });
        }
        if counts_its_offsets(&header) {
            unreadable += believable_count(batch).saturating_sub((readable + unreadable) as i64).max(0) as u64;
        }
        (readable, unreadable)
    }

    /// Shows a record that survives. They come in log order; of a transaction they count from its COMMIT on.
    #[inline]
    pub fn survivor(&mut self, producer_id: i64, record: &Record<'_>) {
        let Some(bytes) = record.key else { return };
        let Some(slot) = self.slot(bytes) else { return };
        if self.lost.get(slot).is_some_and(|lost| lost.is(record)) {
            return self.stands(slot);
        }
        let waits = producer_id != -1 && is_commit(bytes);
        let value = self.keep(record.value);
        let (offset, timestamp) = (record.offset, record.timestamp);
        if waits {
            let waiting = self.waiting.entry(producer_id).or_default();
            if waiting.len() < MOST_WAITING {
                return waiting.push(Waiting { slot, offset, timestamp, value });
            }
        }
        self.settle(Waiting { slot, offset, timestamp, value });
    }

    /// What is lost was a copy: the record stands where it says it does.
    fn stands(&mut self, slot: usize) {
        let Some(lost) = self.lost.get_mut(slot) else { return };
        lost.records = lost.records.saturating_sub(1);
        // Others of its key that are lost stood before it.
        lost.superseded_by = lost.said;
    }

    /// The transaction of a producer ends here.
    pub fn end_transaction(&mut self, producer_id: i64, end: Ended) {
        let Some(waiting) = self.waiting.remove(&producer_id) else { return };
        for it in waiting {
            match end {
                Ended::Committed => self.settle(it),
                Ended::Aborted => self.give_back(&it.value),
            }
        }
    }

    fn settle(&mut self, it: Waiting) {
        let Some(lost) = self.lost.get_mut(it.slot) else { return };
        let unused = if it.offset > lost.offset {
            lost.superseded_by.get_or_insert(it.offset);
            Some(it.value)
        } else if lost.fallback.as_ref().is_none_or(|before| before.offset <= it.offset) {
            let fallback = Fallback { offset: it.offset, timestamp: it.timestamp, value: it.value };
            lost.fallback.replace(fallback).map(|before| before.value)
        } else {
            Some(it.value)
        };
        if let Some(unused) = unused {
            self.give_back(&unused);
        }
    }

    /// Shows every record of the sound batches of these files, which must be in order.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub fn resolve(&mut self, segments: &[PathBuf], max_inflated: usize) -> io::Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let mut inflater = Inflater::with_limit(max_inflated);
        for path in segments {
            let segment = Segment::open(path)?;
            for span in segment.spans() {
                if let Span::Batch(batch) = span
                    && batch.check_crc().is_ok()
                {
                    self.survivors(&batch, &mut inflater);
                }
            }
        }
        Ok(())
    }

    /// Shows every good record of a batch, or the end of a transaction if it is a marker.
    pub fn survivors(&mut self, batch: &Batch<'_>, inflater: &mut Inflater) {
        let header = batch.header();
        for record in batch.records(inflater).by_ref().flatten() {
            if !header.control {
                self.survivor(header.producer_id, &record);
                continue;
            }
            let ended = match Control::parse(&record) {
                Ok(Control::Commit(_)) => Ended::Committed,
                Ok(Control::Abort(_)) => Ended::Aborted,
                _ => continue,
            };
            self.end_transaction(header.producer_id, ended);
            self.end_lost(header.producer_id, record.offset, ended);
        }
    }

    /// What was lost of a producer's transaction counts or not, by the marker at an offset.
    fn end_lost(&mut self, producer_id: i64, marker: i64, ended: Ended) {
        let before = (producer_id, i64::MIN, 0)..(producer_id, marker, 0);
        let of_it: Vec<_> = self.unended.range(before).copied().collect();
        for key @ (_, offset, slot) in of_it {
            self.unended.remove(&key);
            if let Some(lost) = self.lost.get_mut(slot)
                && ended == Ended::Aborted
                && lost.records == 1
                && lost.offset == offset
            {
                lost.aborted_by = Some(marker);
            }
        }
    }

    /// Every lost key, in the order of their places.
    pub fn finish(self) -> Vec<LostKey> {
        let mut lost = self.lost;
        lost.retain(|lost| lost.records > 0);
        lost.sort_by_key(|lost| (lost.at, lost.offset));
        lost
    }

    /// The place of a key, whose identity is left in the scratch.
    fn slot(&mut self, key: &[u8]) -> Option<usize> {
        identity(key, &mut self.scratch);
        self.keys.get(self.scratch.as_slice()).copied()
    }

    fn keep_readable(&mut self, value: Option<Option<&[u8]>>) -> Kept {
        value.map_or(Kept::Unknown, |value| self.keep(value))
    }

    fn keep(&mut self, value: Option<&[u8]>) -> Kept {
        let Some(bytes) = value else { return Kept::Tombstone };
        if self.value_bytes.saturating_add(bytes.len()) > MOST_VALUE_BYTES {
            return Kept::Unknown;
        }
        self.value_bytes += bytes.len();
        Kept::Value(bytes.into())
    }

    fn give_back(&mut self, value: &Kept) {
        self.value_bytes -= value.bytes().map_or(0, <[u8]>::len);
    }
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its commits count.
    Committed,
    /// They do not.
    Aborted,
}

/// Of magic 2, in bytes.
const LEAST_RECORD: usize = 7;

/// How many records a batch has by its head, but no more than there are bytes for; in a compressed
/// one, offsets.
pub(crate) fn believable_count(batch: &Batch<'_>) -> i64 {
    let header = batch.header();
    let count = i64::from(header.count);
    if header.magic < 2 {
        return count;
    }
    match header.codec {
        Codec::None => count.min((batch.body().len() / LEAST_RECORD) as i64),
        _ => count.min(header.last_offset.saturating_sub(header.base_offset).saturating_add(1).max(1)),
    }
}

/// Whether a head counts as many records as it has offsets: two fields that agree vouch for each other where the CRC is
/// wrong.
pub(crate) fn counts_its_offsets(header: &Header) -> bool {
    let offsets = header.last_offset.checked_sub(header.base_offset).and_then(|delta| delta.checked_add(1));
    offsets == Some(i64::from(header.count))
}

/// Whether a batch is a control batch. Of one whose CRC is wrong its word is not enough, for the bit that says so may be
/// what is damaged: it must have a producer and look like the one record of a marker, and no key of this topic.
pub fn is_marker(batch: &Batch<'_>, inflater: &mut Inflater) -> bool {
    let header = batch.header();
    if !header.control || batch.check_crc().is_ok() {
        return header.control;
    }
    let is_single = header.count == 1 || header.last_offset == header.base_offset;
    let has_producer = header.transactional || header.producer_id >= 0;
    let is_of_topic = |record: Record<'_>| record.key.is_some_and(|key| Key::decode(key).is_ok());
    is_single && has_producer && !batch.records(inflater).by_ref().flatten().any(is_of_topic)
}

/// A batch that counts no records is read as empty; but if its CRC is wrong, the count may be what is damaged. Any other
/// count does not keep records from being read.
pub(crate) fn with_a_count<'b>(batch: &Batch<'b>, room: &'b mut Vec<u8>) -> Batch<'b> {
    let header = batch.header();
    if header.magic < 2 || header.count != 0 || batch.body().is_empty() {
        return *batch;
    }
    room.extend_from_slice(batch.bytes());
    if let Some(count) = room.get_mut(57..61) {
        count.copy_from_slice(&1i32.to_be_bytes());
    }
    Batch::new(room, batch.position()).unwrap_or(*batch)
}

/// Whether a key is that of a committed offset: types 0 and 1.
fn is_commit(key: &[u8]) -> bool {
    matches!(key.first_chunk(), Some([0, 0 | 1]))
}

/// What makes two keys one to a coordinator: their fields. Types 0 and 1 name the same thing; what follows the last
/// field names nothing.
pub(crate) fn identity(bytes: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(bytes);
    if let Ok(key) = Key::decode(bytes) {
        out.truncate(bytes.len() - key.trailing.len());
        if let (KeyFields::Offset(_), Some(number)) = (&key.fields, out.get_mut(..2)) {
            number.copy_from_slice(&[0, 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY_OLD: &[u8] = b"\0\0\0\x01g\0\x01t\0\0\0\0";
    const KEY: &[u8] = b"\0\x01\0\x01g\0\x01t\0\0\0\0";
    const OTHER: &[u8] = b"\0\x01\0\x01h\0\x01t\0\0\0\0";

    fn record<'r>(offset: i64, key: &'r [u8], value: Option<&'r [u8]>) -> Record<'r> {
        Record {
            offset,
            timestamp: 1000 + offset,
            key: Some(key),
            value,
            headers: Default::default(),
            sequence: -1,
            attributes: 0,
            legacy: None,
            bytes: &[],
        }
    }

    fn lose(losses: &mut Losses, offset: i64, key: &[u8]) {
        let at = LostAt { segment: 0, position: offset as u64 * 100 };
        losses.lost(&LostRecord {
            at,
            offset,
            said: Some(offset),
            timestamp: 7,
            producer_id: -1,
            key: Some(key),
            value: Some(Some(b"lost")),
        });
    }

    #[test]
    fn what_survives_before_and_behind() {
        let mut losses = Losses::new();
        lose(&mut losses, 5, KEY);
        lose(&mut losses, 6, OTHER);
        losses.survivor(-1, &record(1, KEY_OLD, Some(b"one")));
        losses.survivor(-1, &record(3, KEY, Some(b"three")));
        losses.survivor(-1, &record(9, OTHER, None));
        losses.survivor(-1, &record(11, OTHER, Some(b"eleven")));
        let lost = losses.finish();
        assert_eq!(lost.iter().map(|it| it.offset).collect::<Vec<_>>(), [5, 6]);
        let fallback = lost[0].fallback.as_ref().unwrap();
        assert_eq!((fallback.offset, &fallback.value), (3, &Kept::Value((*b"three").into())));
        assert_eq!((lost[0].superseded_by, lost[1].superseded_by), (None, Some(9)));
        assert_eq!(lost[1].group.as_deref(), Some(&b"h"[..]));
        assert_eq!(lost[1].fallback, None);
    }

    #[test]
    fn a_transaction_counts_when_it_is_committed() {
        for (end, superseded) in [(Some(Ended::Committed), Some(8)), (Some(Ended::Aborted), None), (None, None)] {
            let mut losses = Losses::new();
            lose(&mut losses, 5, KEY);
            losses.survivor(77, &record(8, KEY, Some(b"eight")));
            if let Some(end) = end {
                losses.end_transaction(77, end);
            }
            assert_eq!(losses.finish()[0].superseded_by, superseded);
        }
    }

    #[test]
    fn what_stands_where_it_says_is_not_lost() {
        let mut losses = Losses::new();
        lose(&mut losses, 5, KEY);
        lose(&mut losses, 6, OTHER);
        lose(&mut losses, 9, OTHER);
        losses.survivor(-1, &record(5, KEY, Some(b"lost")));
        losses.survivor(-1, &record(9, OTHER, Some(b"lost")));
        let lost = losses.finish();
        assert_eq!((lost.len(), lost[0].records, lost[0].superseded_by), (1, 1, Some(9)));
        // Another value is no copy.
        let mut losses = Losses::new();
        lose(&mut losses, 5, KEY);
        losses.survivor(-1, &record(5, KEY, Some(b"five")));
        assert_eq!(losses.finish().len(), 1);
    }

    #[test]
    fn the_last_lost_record_of_a_key_is_kept() {
        let mut losses = Losses::new();
        lose(&mut losses, 5, KEY);
        lose(&mut losses, 9, KEY_OLD);
        lose(&mut losses, 7, KEY);
        losses.survivor(-1, &record(8, KEY, Some(b"eight")));
        let lost = losses.finish();
        assert_eq!((lost.len(), lost[0].records, lost[0].offset), (1, 3, 9));
        assert_eq!(lost[0].fallback.as_ref().map(|it| it.offset), Some(8));
    }
}
