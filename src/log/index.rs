//! Offset and time indexes, as hints for where to begin: right without them, never wrong because of them.
//!
//! Must not know: anything that is not in the bytes of a segment and of its two index files.

use super::batch::Batch;
use super::frame::{Shape, shape};
use super::scan::Span;
use super::segment::Segment;

/// Bytes of an offset index entry: relative offset and position.
pub const OFFSET_ENTRY: usize = 8;
/// Bytes of a time index entry: timestamp and relative offset.
pub const TIME_ENTRY: usize = 12;

/// An entry of an offset index: sparse, one per 4096 bytes of log unless set otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetEntry {
    /// An offset of the append that begins at `position`: the last since Kafka 2.0, the first before; under an older
    /// message format one that can lie in a later message of the append.
    pub offset: i64,
    /// Where a batch begins, in bytes.
    pub position: u32,
}

/// An entry of a time index (Kafka 0.10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeEntry {
    /// The greatest timestamp so far, in ms since 1970.
    pub timestamp: i64,
    /// The last offset of the batch with that time, or (Kafka 0.11 to 3.4) that of the record.
    pub offset: i64,
}

/// What an index file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index<T> {
    /// In file order, without the padding.
    pub entries: Vec<T>,
    /// Bytes of zeros behind the entries: preallocated, and not trimmed because the broker runs or was killed.
    pub padding: u64,
    /// Bytes behind the last whole entry: more than 0 in no healthy file.
    pub odd_bytes: u64,
}

/// Reads an offset index. Takes any bytes.
pub fn offset_index(bytes: &[u8], base_offset: i64) -> Index<OffsetEntry> {
    read::<_, OFFSET_ENTRY>(bytes, |[a, b, c, d, e, f, g, h]| {
        let position = u32::from_be_bytes([e, f, g, h]);
        let relative = u32::from_be_bytes([a, b, c, d]);
        OffsetEntry { offset: base_offset.saturating_add(i64::from(relative)), position }
    })
}

/// Reads a time index. Takes any bytes.
pub fn time_index(bytes: &[u8], base_offset: i64) -> Index<TimeEntry> {
    read::<_, TIME_ENTRY>(bytes, |[a, b, c, d, e, f, g, h, i, j, k, l]| {
        let relative = u32::from_be_bytes([i, j, k, l]);
        TimeEntry {
            timestamp: i64::from_be_bytes([a, b, c, d, e, f, g, h]),
            offset: base_offset.saturating_add(i64::from(relative)),
        }
    })
}

fn read<T, const N: usize>(bytes: &[u8], entry: impl Fn([u8; N]) -> T) -> Index<T> {
    let (chunks, odd) = bytes.as_chunks::<N>();
    // An entry of all zeros can only be the first: it names the base offset at position 0.
    let used = chunks.iter().rposition(|chunk| *chunk != [0; N]).map_or(0, |last| last + 1);
    let entries = chunks.iter().take(used).map(|chunk| entry(*chunk)).collect();
    let zeros = odd.iter().all(|&byte| byte == 0);
    Index {
        entries,
        padding: ((chunks.len() - used) * N) as u64 + if zeros { odd.len() as u64 } else { 0 },
        odd_bytes: if zeros && used < chunks.len() { 0 } else { odd.len() as u64 },
    }
}

/// Where to begin a scan that needs the records from `offset` on: a position where a batch begins whose first offset
/// is not above it. 0 unless the index names one that holds. An index that lies costs time, not records, as long as
/// the log's offsets ascend.
pub fn position_for_offset(segment: &Segment, index: &Index<OffsetEntry>, offset: i64) -> u64 {
    if !index.entries.is_sorted_by_key(|entry| (entry.offset, entry.position)) {
        return 0;
    }
    let end = index.entries.partition_point(|entry| entry.offset <= offset);
    let candidates = index.entries.get(..end).unwrap_or_default();
    // The offset may name the end of an append, or lie in a later message: one entry further back is always enough.
    candidates.iter().rev().take(2).find(|entry| holds(segment, entry, offset)).map_or(0, |entry| entry.position.into())
}

/// Where to begin a scan that needs the records from `timestamp` (ms since 1970) on. The time index says up to which
/// offset all records are older, which is believed if the batch with that offset has the time that the entry says.
pub fn position_for_time(
    segment: &Segment,
    times: &Index<TimeEntry>,
    offsets: &Index<OffsetEntry>,
    timestamp: i64,
) -> u64 {
    if !times.entries.is_sorted_by_key(|entry| (entry.timestamp, entry.offset)) {
        return 0;
    }
    let end = times.entries.partition_point(|entry| entry.timestamp < timestamp);
    let Some(entry) = times.entries.get(..end).and_then(|older| older.last()) else { return 0 };
    let position = position_for_offset(segment, offsets, entry.offset);
    let holder = segment.spans_from(position).find_map(|span| match span {
        Span::Batch(batch) if batch.header().last_offset >= entry.offset => Some(batch.header().max_timestamp),
        _ => None,
    });
    if holder == Some(entry.timestamp) { position } else { 0 }
}

/// Whether a sound batch begins at an entry's position whose offsets agree with the entry, and whose CRC is right.
fn holds(segment: &Segment, entry: &OffsetEntry, wanted: i64) -> bool {
    let rest = segment.bytes().get(entry.position as usize..).unwrap_or_default();
    if rest.is_empty() {
        return false;
    }
    let Shape::Sound(length) = shape(rest) else { return false };
    let Some(batch) = rest.get(..length).and_then(|whole| Batch::new(whole, entry.position.into())) else {
        return false;
    };
    let first = batch.header().base_offset;
    first <= entry.offset && first <= wanted && batch.check_crc().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batch, record};
    use super::*;
    use std::io::Write;

    /// A segment of batches with one record each, offsets 100 to 199, all of the same length.
    fn segment() -> (tempfile::TempDir, Segment, u32) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("00000000000000000100.log");
        let mut file = std::fs::File::create(&path).unwrap();
        let batches: Vec<_> = (100..200).map(|offset| batch(offset, 0, 1, &record(0, b"key", b"value"))).collect();
        file.write_all(&batches.concat()).unwrap();
        let length = batches[0].len() as u32;
        (dir, Segment::open(&path).unwrap(), length)
    }

    fn entries(entries: &[(u32, u32)]) -> Index<OffsetEntry> {
        let bytes: Vec<u8> = entries.iter().flat_map(|(a, b)| [a.to_be_bytes(), b.to_be_bytes()].concat()).collect();
        offset_index(&bytes, 100)
    }

    #[test]
    fn a_good_hint_is_taken() {
        let (_dir, segment, length) = segment();
        let index = entries(&[(20, 20 * length), (40, 40 * length)]);
        assert_eq!(position_for_offset(&segment, &index, 150), u64::from(40 * length));
        assert_eq!(position_for_offset(&segment, &index, 140), u64::from(40 * length));
        assert_eq!(position_for_offset(&segment, &index, 139), u64::from(20 * length));
        assert_eq!(position_for_offset(&segment, &index, 110), 0);
    }

    #[test]
    fn a_bad_hint_is_not() {
        let (_dir, segment, length) = segment();
        for bad in [(40, 40 * length + 1), (40, u32::MAX), (40, 60 * length), (40, 100 * length)] {
            assert_eq!(position_for_offset(&segment, &entries(&[bad]), 150), 0, "{bad:?}");
            // The one before still helps.
            let index = entries(&[(20, 20 * length), bad]);
            assert_eq!(position_for_offset(&segment, &index, 150), u64::from(20 * length));
        }
        assert_eq!(position_for_offset(&segment, &entries(&[]), 150), 0);
    }

    #[test]
    fn times_lead_to_offsets() {
        const TIME: i64 = 1_700_000_000_000;
        let (_dir, segment, length) = segment();
        let index = entries(&[(20, 20 * length), (40, 40 * length)]);
        let times = |entries: &[(i64, u32)]| {
            let bytes: Vec<u8> =
                entries.iter().flat_map(|(time, n)| [&time.to_be_bytes()[..], &n.to_be_bytes()].concat()).collect();
            time_index(&bytes, 100)
        };
        let from = |times, time| position_for_time(&segment, &times, &index, time);
        assert_eq!(from(times(&[(TIME, 60)]), TIME), 0);
        assert_eq!(from(times(&[(TIME, 60)]), TIME + 1), u64::from(40 * length));
        assert_eq!(from(times(&[(TIME, 30)]), TIME + 1), u64::from(20 * length));
        // All batches have the same time: these entries lie.
        assert_eq!(from(times(&[(TIME - 5, 60)]), TIME), 0);
        assert_eq!(from(times(&[(TIME, 60), (TIME - 5, 30)]), TIME + 1), 0);
    }

    #[test]
    fn padding_is_not_entries() {
        let mut bytes = entry_bytes();
        bytes.extend([0; 4096]);
        let index = offset_index(&bytes, 0);
        assert_eq!((index.entries.len(), index.padding, index.odd_bytes), (2, 4096, 0));
        bytes.extend([0; 3]);
        let index = offset_index(&bytes, 0);
        assert_eq!((index.entries.len(), index.padding, index.odd_bytes), (2, 4099, 0));
        let cut = offset_index(&entry_bytes()[..13], 0);
        assert_eq!((cut.entries.len(), cut.odd_bytes), (1, 5));
        assert_eq!(offset_index(&[], 0).entries, []);
    }

    fn entry_bytes() -> Vec<u8> {
        [20u32, 500, 40, 900].iter().flat_map(|n| n.to_be_bytes()).collect()
    }
}
