//! A batch: the unit that is appended, replicated, compressed and checked. In magic 0 and 1 a top-level message is
//! one.
//!
//! Must not know: where batches begin ([`super::scan`] does), and what records mean.

use super::codec::{Codec, Inflater};
use super::legacy;
use super::record::Records;
use crate::fault::{Fault, FaultKind};

/// Bytes of a magic 2 header, from the base offset to the record count.
pub const HEADER_LENGTH: usize = 61;
/// Bytes of the base offset and the length field, which the length does not count.
pub const PREFIX_LENGTH: usize = 12;
/// Where the magic byte stands, in all magics.
pub const MAGIC_AT: usize = 16;
/// The first byte that the CRC of magic 2 covers: what stands before (base offset, length, leader epoch, magic) can
/// change without touching it.
pub const CRC_FROM: usize = 21;

/// The bit of the attributes (from magic 1 on) that says that the broker set the time.
pub const LOG_APPEND_TIME: i16 = 0x08;
/// The bit of the attributes that says that the first time is a delete horizon (KIP-534, Kafka 3.1).
pub const DELETE_HORIZON: i16 = 0x40;

/// What a batch's records have as their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// Magic 0: no time at all.
    None,
    /// The time the producer gave each record.
    CreateTime,
    /// The time the broker appended the batch: one for all records.
    LogAppendTime,
}

impl TimestampType {
    /// Kafka's name for it.
    pub fn name(self) -> &'static str {
        match self {
            TimestampType::None => "NoTimestampType",
            TimestampType::CreateTime => "CreateTime",
            TimestampType::LogAppendTime => "LogAppendTime",
        }
    }
}

/// What the head of a batch says, as it says it: nothing here is checked beyond the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// 0, 1 or 2.
    pub magic: u8,
    /// The first offset. Of a magic 0 or 1 message, its only offset; of a wrapper, the last one inside
    /// ([`Batch::first_offset`] finds the first). Not covered by the CRC of magic 2.
    pub base_offset: i64,
    /// The last offset that the batch spans. After compaction no record need be there.
    pub last_offset: i64,
    /// The whole batch in bytes, the 12-byte prefix included.
    pub length: u64,
    /// Not covered by the CRC. -1 in magic 0 and 1.
    pub partition_leader_epoch: i32,
    /// The stored CRC: CRC-32C in magic 2, CRC-32 before.
    pub crc: u32,
    /// As stored; the bits are spelled out below. One byte wide in magic 0 and 1.
    pub attributes: i16,
    /// Of the records.
    pub codec: Codec,
    /// What the timestamps are.
    pub timestamp_type: TimestampType,
    /// In ms since 1970, -1 for none: what the records' deltas count from, also where the cleaner put the delete
    /// horizon here (KIP-534, Kafka 3.1).
    pub base_timestamp: i64,
    /// In ms since 1970, -1 for none.
    pub max_timestamp: i64,
    /// When tombstones and end markers may go, in ms since 1970: set by a first cleaning (attributes bit 6).
    pub delete_horizon_ms: Option<i64>,
    /// -1 for none.
    pub producer_id: i64,
    /// -1 for none.
    pub producer_epoch: i16,
    /// -1 for none.
    pub base_sequence: i32,
    /// Records, as the header says. 1 for a plain magic 0 or 1 message; -1 for a wrapper, which does not say.
    pub count: i32,
    /// Part of a transaction.
    pub transactional: bool,
    /// Holds a control record (magic 2, attributes bit 5).
    pub control: bool,
}

impl Header {
    #[inline(always)]
    fn magic2(head: &[u8; HEADER_LENGTH], length: u64) -> Header {
        let base_offset = be_i64(head, 0);
        let attributes = i16::from_be_bytes([head[21], head[22]]);
        let base_timestamp = be_i64(head, 27);
        Header {
            magic: 2,
            base_offset,
            last_offset: base_offset.wrapping_add(i64::from(be_i32(head, 23))),
            length,
            partition_leader_epoch: be_i32(head, 12),
            crc: be_i32(head, 17) as u32,
            attributes,
            codec: Codec::of_attributes(attributes),
            timestamp_type: match attributes & LOG_APPEND_TIME {
                0 => TimestampType::CreateTime,
                _ => TimestampType::LogAppendTime,
            },
            base_timestamp,
            max_timestamp: be_i64(head, 35),
            delete_horizon_ms: (attributes & DELETE_HORIZON != 0).then_some(base_timestamp),
            producer_id: be_i64(head, 43),
            producer_epoch: i16::from_be_bytes([head[51], head[52]]),
            base_sequence: be_i32(head, 53),
            count: be_i32(head, 57),
            transactional: attributes & 0x10 != 0,
            control: attributes & 0x20 != 0,
        }
    }
}

#[inline(always)]
fn be_i64(head: &[u8; HEADER_LENGTH], at: usize) -> i64 {
    head.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i64::from_be_bytes(*chunk))
}

#[inline(always)]
fn be_i32(head: &[u8; HEADER_LENGTH], at: usize) -> i32 {
    head.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i32::from_be_bytes(*chunk))
}

/// A batch whose frame holds. Its CRC and its records are looked at when asked for.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    position: u64,
    header: Header,
}

impl<'a> Batch<'a> {
    /// Reads the head of a batch from all its bytes. None if they are shorter than the head of their magic, or the
    /// magic is none. That the length field agrees with the number of bytes is not checked.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], position: u64) -> Option<Batch<'a>> {
        Batch::magic2(bytes, position).or_else(|| Batch::legacy(bytes, position))
    }

    /// As [`Batch::new`], of magic 2 only.
    #[inline(always)]
    pub(super) fn magic2(bytes: &'a [u8], position: u64) -> Option<Batch<'a>> {
        match bytes.first_chunk::<HEADER_LENGTH>() {
            Some(head) if head[MAGIC_AT] == 2 => {
                Some(Batch { bytes, position, header: Header::magic2(head, bytes.len() as u64) })
            }
            _ => None,
        }
    }

    #[cold]
    fn legacy(bytes: &'a [u8], position: u64) -> Option<Batch<'a>> {
        Some(Batch { bytes, position, header: legacy::header(bytes)? })
    }

    /// Where the batch begins in its segment file, in bytes.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The whole batch in bytes, the 12-byte prefix included.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty of bytes; `count` tells of records")]
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The whole batch, as stored.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What its head says.
    #[inline]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The records as stored, perhaps compressed: what follows the head. For a magic 0 or 1 message, the message
    /// itself with its offset.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        match self.header.magic {
            2 => self.bytes.get(HEADER_LENGTH..).unwrap_or_default(),
            _ => self.bytes,
        }
    }

    /// The CRC of the bytes: CRC-32C from byte 21 on in magic 2, CRC-32 from byte 16 on before.
    #[inline]
    pub fn crc_computed(&self) -> u32 {
        match self.header.magic {
            2 => crc32c::crc32c(self.bytes.get(CRC_FROM..).unwrap_or_default()),
            _ => crc32fast::hash(self.bytes.get(MAGIC_AT..).unwrap_or_default()),
        }
    }

    /// Compares the stored CRC with that of the bytes.
    ///
    /// # Errors
    /// [`FaultKind::CrcMismatch`].
    #[inline]
    pub fn check_crc(&self) -> Result<(), FaultKind> {
        let (stored, computed) = (self.header.crc, self.crc_computed());
        if stored == computed { Ok(()) } else { Err(FaultKind::CrcMismatch { stored, computed }) }
    }

    /// The records. Borrowed from the segment, or from the inflater's scratch if they are compressed.
    #[inline]
    pub fn records<'s>(&self, inflater: &'s mut Inflater) -> Records<'s>
    where
        'a: 's,
    {
        match (self.header.magic, self.header.codec) {
            (2, Codec::None) => Records::plain(self),
            (2, _) => Records::inflated(self, inflater),
            _ => legacy::records(self, inflater),
        }
    }

    /// The first offset. Inflates a magic 0 or 1 wrapper, which does not say; otherwise the base offset.
    ///
    /// # Errors
    /// If such a wrapper does not inflate to messages.
    pub fn first_offset(&self, inflater: &mut Inflater) -> Result<i64, Fault> {
        if self.header.magic == 2 || self.header.codec == Codec::None {
            return Ok(self.header.base_offset);
        }
        let mut records = self.records(inflater);
        match records.next() {
            Some(Ok(record)) => Ok(record.offset),
            Some(Err(bad)) => bad.offset.ok_or(bad.fault),
            None => match records.fault() {
                Some(fault) => Err(fault.clone()),
                None => Ok(self.header.base_offset),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL, GV7, GV9, GV10, GV11, GV12, hex};
    use super::*;

    #[test]
    fn every_vector_is_one_sound_batch() {
        for text in ALL {
            let bytes = hex(text);
            let batch = Batch::new(&bytes, 0).unwrap();
            assert_eq!(batch.check_crc(), Ok(()), "{text}");
            assert!(batch.records(&mut Inflater::new()).all(|record| record.is_ok()), "{text}");
        }
    }

    #[test]
    fn a_transactional_batch() {
        let bytes = hex(GV7);
        let batch = Batch::new(&bytes, 5).unwrap();
        let header = batch.header();
        assert_eq!(batch.check_crc(), Ok(()));
        assert_eq!((batch.position(), batch.len()), (5, 111));
        assert_eq!((header.magic, header.base_offset, header.last_offset, header.count), (2, 3, 3, 1));
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (1000, 3, 0));
        assert!(header.transactional && !header.control);
        assert_eq!(header.delete_horizon_ms, None);
    }

    #[test]
    fn an_empty_batch_spans_offsets() {
        let bytes = hex(GV9);
        let batch = Batch::new(&bytes, 0).unwrap();
        assert_eq!((batch.header().base_offset, batch.header().last_offset, batch.header().count), (5, 9, 0));
        assert_eq!(batch.check_crc(), Ok(()));
        assert!(batch.records(&mut Inflater::new()).next().is_none());
    }

    #[test]
    fn a_delete_horizon() {
        let bytes = hex(GV10);
        let batch = Batch::new(&bytes, 0).unwrap();
        assert_eq!(batch.header().delete_horizon_ms, Some(1_700_086_400_000));
        assert_eq!(batch.header().max_timestamp, 1_700_000_000_000);
    }

    #[test]
    fn legacy_messages() {
        for (text, magic, timestamp) in [(GV11, 0, -1), (GV12, 1, 1_700_000_000_000)] {
            let bytes = hex(text);
            let batch = Batch::new(&bytes, 0).unwrap();
            assert_eq!((batch.header().magic, batch.header().count), (magic, 1));
            assert_eq!(batch.header().max_timestamp, timestamp);
            assert_eq!(batch.check_crc(), Ok(()));
            assert_eq!(batch.first_offset(&mut Inflater::new()), Ok(i64::from(magic)));
        }
    }

    #[test]
    fn too_few_bytes_are_no_batch() {
        let bytes = hex(GV7);
        for n in 0..HEADER_LENGTH {
            assert!(Batch::new(&bytes[..n], 0).is_none(), "{n}");
        }
    }
}
