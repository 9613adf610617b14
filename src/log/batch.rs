//! A batch: the unit that is appended, replicated, compressed and checked. In magic 0 and 1 a top-level message is
//! one.
//!
//! Must not know: where batches begin ([`super::scan`] does), and what records mean.

use super::codec::{Codec, Inflater};
use super::legacy;
use super::record::{Records, sequence};
use crate::fault::{Fault, FaultKind};
use crate::machine::crc::crc32c;

/// Bytes of a magic 2 header, from the base offset to the record count.
pub const HEADER_LENGTH: usize = 61;
/// Bytes of the shortest message of magic 0: offset, size, CRC, magic, attributes, two lengths.
const SMALLEST_MESSAGE_0: usize = 26;
/// Bytes of the shortest message of magic 1: that, and a timestamp.
const SMALLEST_MESSAGE_1: usize = 34;
/// Bytes of the base offset and the length field, which the length does not count.
pub const PREFIX_LENGTH: usize = 12;

/// Bytes of the head of a batch, by its magic: what stands before the records, or before the key of a message.
pub fn head_length(magic: u8) -> usize {
    match magic {
        0 => SMALLEST_MESSAGE_0,
        1 => SMALLEST_MESSAGE_1,
        _ => HEADER_LENGTH,
    }
}
/// Where the magic byte stands, in all magics.
pub const MAGIC_AT: usize = 16;
/// Where the last offset stands in a head of magic 2, counted from the base offset.
pub const LAST_OFFSET_DELTA_AT: usize = 23;
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
    /// The sequence number of the last offset that the batch spans; -1 for none. Wraps from 2147483647 to 0.
    pub fn last_sequence(&self) -> i32 {
        sequence(self.base_sequence, self.last_offset.wrapping_sub(self.base_offset) as i32)
    }

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

    #[inline(always)]
    fn message<const N: usize>(head: &[u8; N], length: u64, timestamp: i64) -> Header {
        let offset = be_i64(head, 0);
        let [.., magic, attributes] = be_i32(head, 14).to_be_bytes();
        let codec = legacy::codec(attributes as i8);
        Header {
            magic,
            base_offset: offset,
            last_offset: offset,
            length,
            partition_leader_epoch: -1,
            crc: be_i32(head, 12) as u32,
            attributes: i16::from(attributes as i8),
            codec,
            timestamp_type: match (magic, attributes & 8) {
                (0, _) => TimestampType::None,
                (_, 0) => TimestampType::CreateTime,
                _ => TimestampType::LogAppendTime,
            },
            base_timestamp: timestamp,
            max_timestamp: timestamp,
            delete_horizon_ms: None,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            count: if codec == Codec::None { 1 } else { -1 },
            transactional: false,
            control: false,
        }
    }
}

#[inline(always)]
fn be_i64<const N: usize>(head: &[u8; N], at: usize) -> i64 {
    head.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i64::from_be_bytes(*chunk))
}

#[inline(always)]
fn be_i32<const N: usize>(head: &[u8; N], at: usize) -> i32 {
    head.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i32::from_be_bytes(*chunk))
}

/// A batch whose frame holds. Its CRC and its records are looked at when asked for.
///
/// Small, so that it is handed on in registers; the header is read where it is asked for. For that to cost nothing
/// where few fields are wanted, no function that reads it may be called out of line with a pointer to it.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    head: Head<'a>,
    position: u64,
}

/// The first bytes of a batch, as many as its magic has in its head.
#[derive(Debug, Clone, Copy)]
enum Head<'a> {
    Magic2(&'a [u8; HEADER_LENGTH]),
    Magic1(&'a [u8; SMALLEST_MESSAGE_1]),
    Magic0(&'a [u8; SMALLEST_MESSAGE_0]),
}

impl<'a> Batch<'a> {
    /// Reads the head of a batch from all its bytes. None if they are shorter than the head of their magic, or the
    /// magic is none. That the length field agrees with the number of bytes is not checked.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], position: u64) -> Option<Batch<'a>> {
        let head = match bytes.first_chunk::<HEADER_LENGTH>() {
            Some(head) if head[MAGIC_AT] == 2 => Head::Magic2(head),
            _ => match bytes.get(MAGIC_AT) {
                Some(1) => Head::Magic1(bytes.first_chunk()?),
                Some(0) => Head::Magic0(bytes.first_chunk()?),
                _ => return None,
            },
        };
        Some(Batch { bytes, head, position })
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

    /// What its head says. What is not looked at is not read.
    #[inline(always)]
    pub fn header(&self) -> Header {
        let length = self.bytes.len() as u64;
        match self.head {
            Head::Magic2(head) => Header::magic2(head, length),
            Head::Magic1(head) => Header::message(head, length, be_i64(head, 18)),
            Head::Magic0(head) => Header::message(head, length, -1),
        }
    }

    /// [`Self::header`] of a batch of magic 2; None for the old ones. Who goes apart from here for both has the fields read
    /// straight from the head where they are wanted, in place of being brought together from three kinds of heads.
    #[inline(always)]
    pub fn header_magic2(&self) -> Option<Header> {
        match self.head {
            Head::Magic2(head) => Some(Header::magic2(head, self.bytes.len() as u64)),
            _ => None,
        }
    }

    /// The records as stored, perhaps compressed: what follows the head. For a magic 0 or 1 message, the message
    /// itself with its offset.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        match self.head {
            Head::Magic2(_) => self.bytes.get(HEADER_LENGTH..).unwrap_or_default(),
            _ => self.bytes,
        }
    }

    /// The CRC of the bytes: CRC-32C from byte 21 on in magic 2, CRC-32 from byte 16 on before.
    #[inline(always)]
    pub fn crc_computed(&self) -> u32 {
        match self.head {
            Head::Magic2(_) => crc32c(self.bytes.get(CRC_FROM..).unwrap_or_default()),
            _ => crc32fast::hash(self.bytes.get(MAGIC_AT..).unwrap_or_default()),
        }
    }

    /// Compares the stored CRC with that of the bytes.
    ///
    /// # Errors
    /// [`FaultKind::CrcMismatch`].
    #[inline(always)]
    pub fn check_crc(&self) -> Result<(), FaultKind> {
        let (stored, computed) = (self.header().crc, self.crc_computed());
        if stored == computed { Ok(()) } else { Err(FaultKind::CrcMismatch { stored, computed }) }
    }

    /// The records. Borrowed from the segment, or from the inflater's scratch if they are compressed.
    #[inline]
    pub fn records<'s>(&self, inflater: &'s mut Inflater) -> Records<'s>
    where
        'a: 's,
    {
        match self.head {
            Head::Magic2(head) if head[22] & 7 == 0 => Records::plain(self),
            Head::Magic2(_) => Records::inflated(self, inflater),
            _ => legacy::records(self, inflater),
        }
    }

    /// The first offset. Inflates a magic 0 or 1 wrapper, which does not say; otherwise the base offset.
    ///
    /// # Errors
    /// If such a wrapper does not inflate to messages.
    pub fn first_offset(&self, inflater: &mut Inflater) -> Result<i64, Fault> {
        let header = self.header();
        if header.magic == 2 || header.codec == Codec::None {
            return Ok(header.base_offset);
        }
        let mut records = self.records(inflater);
        match records.next() {
            Some(Ok(record)) => Ok(record.offset),
            Some(Err(bad)) => bad.offset.ok_or_else(|| bad.fault.clone()),
            None => match records.fault() {
                Some(fault) => Err(fault.clone()),
                None => Ok(header.base_offset),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GV7, GV9, GV10, GV11, GV12, hex};
    use super::*;

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
