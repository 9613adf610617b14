//! What a broker remembers of producers beside the log: `.snapshot` (their state at an offset) and `.txnindex` (aborted
//! transactions).
//!
//! Must not know: whether what they say agrees with a log. Reads what can be read, and says what is wrong with the rest.

use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};

/// Bytes of an entry of a transaction index.
pub const ABORTED_ENTRY: usize = 34;
/// Bytes of an entry of a snapshot.
pub const PRODUCER_ENTRY: usize = 46;
/// The version of snapshots that is known, the only one so far (Kafka 0.11 to 4.4).
pub const SNAPSHOT_VERSION: i16 = 1;
/// The version of transaction index entries that is known, the only one so far (Kafka 0.11 to 4.4).
pub const ABORTED_VERSION: i16 = 0;

/// Bytes of a snapshot in front of what its CRC covers.
const CRC_COVERS_FROM: usize = 6;
/// Bytes of a snapshot in front of its entries.
const SNAPSHOT_HEAD: usize = 10;

/// An entry of a snapshot: a producer's state (KIP-98, Kafka 0.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Whose.
    pub producer_id: i64,
    /// The greatest epoch seen.
    pub producer_epoch: i16,
    /// Of the last batch with records, in this epoch; -1 if there was none.
    pub last_sequence: i32,
    /// Of the last batch with records, in this epoch; -1 if there was none.
    pub last_offset: i64,
    /// From the first to the last offset of that batch.
    pub offset_delta: i32,
    /// Of the last batch or end marker, in ms since 1970.
    pub timestamp: i64,
    /// Of the last end marker; -1 if there was none.
    pub coordinator_epoch: i32,
    /// Where the open transaction began; -1 for none.
    pub current_txn_first_offset: i64,
}

impl ProducerEntry {
    /// Of the last batch: the sequence number of its first record. -1 for none. Wraps from 0 to 2147483647.
    pub fn first_sequence(&self) -> i32 {
        match self.last_sequence {
            -1 => -1,
            last if last >= self.offset_delta => last.wrapping_sub(self.offset_delta),
            last => i32::MAX.wrapping_sub(self.offset_delta.wrapping_sub(last)).wrapping_add(1),
        }
    }
}

/// A producer state snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Of the file; None if it is too short for one.
    pub version: Option<i16>,
    /// In file order. None are read from a file of an unknown version.
    pub entries: Vec<ProducerEntry>,
    /// What is wrong, at bytes of the file.
    pub faults: Vec<Fault>,
}

impl Snapshot {
    /// Where an entry stands in the file, in bytes.
    pub fn position(index: usize) -> u64 {
        (SNAPSHOT_HEAD + index * PRODUCER_ENTRY) as u64
    }
}

/// Reads a snapshot. Takes any bytes.
pub fn snapshot(bytes: &[u8]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    if let Err(fault) = read_snapshot(bytes, &mut snapshot) {
        snapshot.faults.push(fault);
    }
    snapshot
}

fn read_snapshot(bytes: &[u8], snapshot: &mut Snapshot) -> Result<(), Fault> {
    let mut cursor = Cursor::new(bytes);
    let version = cursor.i16()?;
    snapshot.version = Some(version);
    if version != SNAPSHOT_VERSION {
        return Err(FaultKind::UnknownVersion(version).at(0));
    }
    let stored = cursor.i32()? as u32;
    let computed = crc32c::crc32c(bytes.get(CRC_COVERS_FROM..).unwrap_or_default());
    if stored != computed {
        snapshot.faults.push(FaultKind::CrcMismatch { stored, computed }.at(2));
    }
    let count = cursor.i32()?;
    while snapshot.entries.len() as i64 != i64::from(count) && cursor.remaining() > 0 {
        snapshot.entries.push(producer(&mut cursor)?);
    }
    if i64::from(count) != snapshot.entries.len() as i64 {
        let found = snapshot.entries.len() as i64;
        return Err(FaultKind::CountMismatch { header: i64::from(count), found }.at(CRC_COVERS_FROM as u64));
    }
    match cursor.remaining() {
        0 => Ok(()),
        more => Err(cursor.fault(FaultKind::TrailingBytes(more as u64))),
    }
}

fn producer(cursor: &mut Cursor<'_>) -> Result<ProducerEntry, Fault> {
    // A cut entry is none: the reading stops where it begins.
    let mut entry = Cursor::new(cursor.take(PRODUCER_ENTRY)?);
    Ok(ProducerEntry {
        producer_id: entry.i64()?,
        producer_epoch: entry.i16()?,
        last_sequence: entry.i32()?,
        last_offset: entry.i64()?,
        offset_delta: entry.i32()?,
        timestamp: entry.i64()?,
        coordinator_epoch: entry.i32()?,
        current_txn_first_offset: entry.i64()?,
    })
}

/// An entry of a transaction index: an aborted transaction (KIP-98, Kafka 0.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTxn {
    /// Of the entry.
    pub version: i16,
    /// Whose.
    pub producer_id: i64,
    /// Of its first record, which may lie in an older segment.
    pub first_offset: i64,
    /// Of its end marker, which lies in this segment.
    pub last_offset: i64,
    /// Where the oldest transaction began that was still open behind the marker; else the offset behind it.
    pub last_stable_offset: i64,
}

/// A transaction index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TxnIndex {
    /// In file order, those of unknown versions too, read as the known one.
    pub entries: Vec<AbortedTxn>,
    /// What is wrong, at bytes of the file.
    pub faults: Vec<Fault>,
}

impl TxnIndex {
    /// Where an entry stands in the file, in bytes.
    pub fn position(index: usize) -> u64 {
        (index * ABORTED_ENTRY) as u64
    }
}

/// Reads a transaction index. Takes any bytes.
pub fn txn_index(bytes: &[u8]) -> TxnIndex {
    let mut index = TxnIndex::default();
    if let Err(fault) = read_txn_index(bytes, &mut index) {
        index.faults.push(fault);
    }
    index
}

fn read_txn_index(bytes: &[u8], index: &mut TxnIndex) -> Result<(), Fault> {
    let mut cursor = Cursor::new(bytes);
    while cursor.remaining() > 0 {
        let at = cursor.at() as u64;
        let mut entry = Cursor::new(cursor.take(ABORTED_ENTRY)?);
        let aborted = AbortedTxn {
            version: entry.i16()?,
            producer_id: entry.i64()?,
            first_offset: entry.i64()?,
            last_offset: entry.i64()?,
            last_stable_offset: entry.i64()?,
        };
        if aborted.version != ABORTED_VERSION {
            index.faults.push(FaultKind::UnknownVersion(aborted.version).at(at));
        }
        index.entries.push(aborted);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(producer_id: i64, open_from: i64) -> ProducerEntry {
        ProducerEntry {
            producer_id,
            producer_epoch: 3,
            last_sequence: 5,
            last_offset: 40,
            offset_delta: 2,
            timestamp: 1_700_000_000_000,
            coordinator_epoch: 7,
            current_txn_first_offset: open_from,
        }
    }

    fn bytes(entries: &[ProducerEntry]) -> Vec<u8> {
        let mut covered = (entries.len() as i32).to_be_bytes().to_vec();
        for entry in entries {
            covered.extend(entry.producer_id.to_be_bytes());
            covered.extend(entry.producer_epoch.to_be_bytes());
            covered.extend(entry.last_sequence.to_be_bytes());
            covered.extend(entry.last_offset.to_be_bytes());
            covered.extend(entry.offset_delta.to_be_bytes());
            covered.extend(entry.timestamp.to_be_bytes());
            covered.extend(entry.coordinator_epoch.to_be_bytes());
            covered.extend(entry.current_txn_first_offset.to_be_bytes());
        }
        let mut out = 1i16.to_be_bytes().to_vec();
        out.extend(crc32c::crc32c(&covered).to_be_bytes());
        out.extend(covered);
        out
    }

    #[test]
    fn a_sound_snapshot() {
        let entries = [entry(1000, 39), entry(2000, -1)];
        let read = snapshot(&bytes(&entries));
        assert_eq!((read.version, read.entries.as_slice(), read.faults.len()), (Some(1), entries.as_slice(), 0));
        assert_eq!(snapshot(&bytes(&[])).faults, []);
        assert_eq!(Snapshot::position(1), 56);
    }

    #[test]
    fn every_cut_is_seen_and_gives_what_it_can() {
        let whole = bytes(&[entry(1, -1), entry(2, -1)]);
        for length in 0..whole.len() {
            let read = snapshot(&whole[..length]);
            assert!(!read.faults.is_empty(), "{length}");
            assert_eq!(read.entries.len(), length.saturating_sub(10) / 46, "{length}");
        }
    }

    #[test]
    fn every_flip_is_seen() {
        let whole = bytes(&[entry(1, -1)]);
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!snapshot(&flipped).faults.is_empty(), "{bit}");
        }
    }

    #[test]
    fn what_is_wrong_has_a_name() {
        let kinds = |bytes: &[u8]| snapshot(bytes).faults.iter().map(|fault| fault.kind.code()).collect::<Vec<_>>();
        let whole = bytes(&[entry(1, -1)]);
        assert_eq!(kinds(&[0, 2, 0]), ["unknown-version"]);
        assert_eq!(kinds(&[0]), ["short-buffer"]);
        let mut more = whole.clone();
        more.push(0);
        assert_eq!(kinds(&more), ["crc-mismatch", "trailing-bytes"]);
        let mut count = whole;
        count[9] = 2;
        assert_eq!(kinds(&count), ["crc-mismatch", "count-mismatch"]);
        // A count that no file could hold asks for no memory.
        count[6..10].copy_from_slice(&i32::MAX.to_be_bytes());
        assert_eq!(kinds(&count), ["crc-mismatch", "count-mismatch"]);
        count[6..10].copy_from_slice(&(-1i32).to_be_bytes());
        assert_eq!(kinds(&count), ["crc-mismatch", "count-mismatch"]);
    }

    #[test]
    fn sequences_wrap() {
        let of = |last_sequence, offset_delta| {
            ProducerEntry { last_sequence, offset_delta, ..entry(1, -1) }.first_sequence()
        };
        assert_eq!((of(5, 2), of(5, 5), of(-1, 0)), (3, 0, -1));
        assert_eq!(of(0, 1), i32::MAX);
        assert_eq!(of(1, 4), i32::MAX - 2);
    }

    #[test]
    fn transaction_indexes() {
        let aborted = |version: i16, last: i64| {
            let mut out = version.to_be_bytes().to_vec();
            [9, 10, last, last + 1].iter().for_each(|n: &i64| out.extend(n.to_be_bytes()));
            out
        };
        let read = txn_index(&[aborted(0, 12), aborted(0, 20)].concat());
        assert_eq!((read.entries.len(), read.faults.len()), (2, 0));
        assert_eq!(
            read.entries[1],
            AbortedTxn { version: 0, producer_id: 9, first_offset: 10, last_offset: 20, last_stable_offset: 21 }
        );
        let read = txn_index(&[aborted(3, 12), aborted(0, 20)].concat()[..50]);
        assert_eq!(read.entries.len(), 1);
        let faults: Vec<_> = read.faults.iter().map(|fault| (fault.kind.code(), fault.at)).collect();
        assert_eq!(faults, [("unknown-version", 0), ("short-buffer", 34)]);
        assert_eq!(txn_index(&[]), TxnIndex::default());
    }
}
