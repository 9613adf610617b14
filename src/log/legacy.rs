//! Messages of magic 0 and 1 (before Kafka 0.11): plain ones, and wrappers whose value is a compressed set of them.
//!
//! Must not know: where messages begin in a file, and what keys and values mean.

use super::batch::{Batch, Header, MAGIC_AT, PREFIX_LENGTH, TimestampType};
use super::codec::{Codec, Inflater};
use super::headers::Headers;
use super::record::{BadRecord, LegacyFields, Record, Records, Site};
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};

/// The smallest value of the size field: CRC, magic, attributes, two lengths, and in magic 1 a timestamp.
pub(super) fn smallest_size(magic: u8) -> i32 {
    if magic == 0 { 14 } else { 22 }
}

/// A message's fields.
struct Message<'a> {
    offset: i64,
    crc: u32,
    magic: u8,
    attributes: i8,
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl Message<'_> {
    fn codec(&self) -> Codec {
        codec(self.attributes)
    }
}

/// Zstd came with magic 2.
#[inline]
pub(super) fn codec(attributes: i8) -> Codec {
    match Codec::of_attributes(i16::from(attributes)) {
        Codec::Zstd => Codec::Unknown(4),
        codec => codec,
    }
}

/// Whether the fields of a message fill its size field to the byte: as sure a sign as there is without the CRC.
pub(super) fn fills_its_size(bytes: &[u8], magic: u8, size: usize) -> bool {
    let key_at = if magic == 0 { 18 } else { 26 };
    let read = |at: usize| {
        let chunk: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
        usize::try_from(i32::from_be_bytes(*chunk).max(0)).ok()
    };
    let Some(key) = read(key_at) else { return false };
    let Some(value_at) = key.checked_add(key_at + 4) else { return false };
    match read(value_at) {
        Some(value) => value_at.checked_add(value + 4) == Some(size + PREFIX_LENGTH),
        None => false,
    }
}

/// Whether bytes that end too early can be the front of a message: as far as its fields are there, they agree with its
/// size.
pub(super) fn may_be_head(bytes: &[u8], magic: u8) -> bool {
    let word = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|it| i32::from_be_bytes(*it));
    let key_at = if magic == 0 { 18 } else { 26 };
    let (size, key) = (word(8).map_or(0, i64::from), word(key_at).map(i64::from));
    let value_at = key.and_then(|key| usize::try_from(key.max(0)).ok()?.checked_add(key_at + 4));
    let fits = match value_at.and_then(word) {
        Some(_) => usize::try_from(size).is_ok_and(|size| fills_its_size(bytes, magic, size)),
        None => key.is_none_or(|key| (-1..size).contains(&key)),
    };
    fits && bytes.get(MAGIC_AT + 1).is_none_or(|attributes| attributes & 0xf0 == 0)
}

fn parse<'a>(bytes: &'a [u8]) -> Result<Message<'a>, (Fault, Message<'a>)> {
    let mut message = Message { offset: -1, crc: 0, magic: 0, attributes: 0, timestamp: -1, key: None, value: None };
    match parse_into(&mut Cursor::new(bytes), &mut message) {
        Ok(()) => Ok(message),
        Err(fault) => Err((fault, message)),
    }
}

fn parse_into<'a>(cursor: &mut Cursor<'a>, message: &mut Message<'a>) -> Result<(), Fault> {
    message.offset = cursor.i64()?;
    cursor.i32()?;
    message.crc = cursor.u32()?;
    message.magic = cursor.u8()?;
    message.attributes = cursor.i8()?;
    match message.magic {
        0 => {}
        1 => message.timestamp = cursor.i64()?,
        magic => return Err(cursor.fault(FaultKind::BadMagic(magic as i8))),
    }
    message.key = nullable(cursor)?;
    message.value = nullable(cursor)?;
    Ok(())
}

fn nullable<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Fault> {
    let length = cursor.i32()?;
    match usize::try_from(length) {
        Ok(length) => cursor.take(length).map(Some),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(cursor.fault(FaultKind::BadLength(i64::from(length)))),
    }
}

/// The records of a top-level message: itself, or what its compressed value holds.
pub(super) fn records<'s>(batch: &Batch<'s>, inflater: &'s mut Inflater) -> Records<'s> {
    let header = batch.header();
    let position = batch.position();
    if header.codec == Codec::None {
        return Records::messages(batch.bytes(), Some(0), None, Site::File(position));
    }
    let inside = Site::Inflated(position);
    let empty = |fault: Fault| Records::messages(&[], Some(0), None, inside).with_fault(Some(fault));
    let value = match parse(batch.bytes()) {
        Ok(message) => message.value,
        Err((fault, _)) => return empty(fault.kind.at(position + fault.at)),
    };
    let Some(value) = value else { return empty(FaultKind::UnexpectedNull.at(position)) };
    let inflated = inflater.inflate(header.codec, value);
    let append_time = (header.timestamp_type == TimestampType::LogAppendTime).then_some(header.max_timestamp);
    let shift = shift(&header, inflated.bytes, inflated.fault.is_some());
    Records::messages(inflated.bytes, shift, append_time, inside)
        .with_fault(inflated.fault.map(|kind| kind.at(position)))
        .with_lz4_checksum(header.magic, inflated.lz4_checksum_wrong, position)
}

/// What to add to inner offsets. Those of magic 1 count from 0 at the first record the producer sent, and the wrapper
/// has the offset of the last; those of magic 0 are the log's own. A cleaner of old put messages of the one kind into
/// wrappers of the other: the sum below is right for both, since the last inner offset then is the wrapper's.
fn shift(wrapper: &Header, set: &[u8], is_cut: bool) -> Option<i64> {
    let (mut last, mut rest) = (None, set);
    while let Some(frame) = frame(&mut rest) {
        last = frame.get(..17).and_then(|head| Some((head.first_chunk()?, head.last()?)));
    }
    match last {
        _ if wrapper.magic == 0 && last.is_none_or(|(_, &magic)| magic == 0) => Some(0),
        // Without the end of the set its last offset is not known, and with it none.
        Some((offset, _)) if !is_cut && rest.is_empty() => {
            Some(wrapper.base_offset.wrapping_sub(i64::from_be_bytes(*offset)))
        }
        _ => None,
    }
}

/// The next message of a set by its size field, if that makes sense.
fn frame<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = i32::from_be_bytes(*rest.get(8..)?.first_chunk()?);
    let length = usize::try_from(size).ok()?.checked_add(PREFIX_LENGTH)?;
    let (frame, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(frame)
}

/// The next record of a set, with `shift` added to its offset and perhaps the time of the broker. Faults are at the
/// byte within the message. Leaves `rest` behind the message, or empty where nothing says how long it is.
pub(super) fn next<'s>(
    rest: &mut &'s [u8],
    shift: Option<i64>,
    append_time: Option<i64>,
) -> Result<Record<'s>, Box<BadRecord<'s>>> {
    let raw = *rest;
    let Some(bytes) = frame(rest) else {
        *rest = &[];
        let fault = FaultKind::ShortBuffer { need: declared_length(raw), have: raw.len() as u64 }.at(0);
        return Err(Box::new(BadRecord::new(fault, raw)));
    };
    let (message, fault) = match parse(bytes) {
        Ok(message) if message.codec() != Codec::None => (message, Some(FaultKind::NestedWrapper.at(0))),
        Ok(message) if shift.is_none() => {
            let why = "its offset is lost with the end of the set it is in";
            (message, Some(FaultKind::BadRecord(why.into()).at(0)))
        }
        Ok(message) => (message, None),
        Err((fault, message)) => (message, Some(fault)),
    };
    let offset = shift.map(|shift| message.offset.wrapping_add(shift));
    let timestamp = match append_time {
        Some(time) if message.magic == 1 => time,
        _ => message.timestamp,
    };
    match (fault, offset) {
        (None, Some(offset)) => Ok(Record {
            offset,
            timestamp,
            key: message.key,
            value: message.value,
            headers: Headers::default(),
            sequence: -1,
            attributes: message.attributes,
            legacy: Some(LegacyFields { magic: message.magic, crc: message.crc }),
            bytes,
        }),
        (fault, offset) => Err(Box::new(BadRecord {
            fault: fault.unwrap_or(FaultKind::NotABatch.at(0)),
            offset,
            timestamp: Some(timestamp),
            key: message.key,
            value: message.value,
            raw: bytes,
        })),
    }
}

fn declared_length(raw: &[u8]) -> u64 {
    let size = raw.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| i32::from_be_bytes(*chunk));
    size.max(0) as u64 + PREFIX_LENGTH as u64
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;
    use std::io::Write;

    fn gzip(set: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(set).unwrap();
        encoder.finish().unwrap()
    }

    fn inner(offset: i64, magic: u8) -> Vec<u8> {
        message(offset, magic, 0, Some(b"key"), Some(b"value"))
    }

    type Item = Result<(i64, i64), (&'static str, Option<i64>)>;

    fn read(bytes: &[u8]) -> (Vec<Item>, Option<&'static str>) {
        let mut inflater = Inflater::new();
        let batch = Batch::new(bytes, 0).unwrap();
        let mut records = batch.records(&mut inflater);
        let items = records
            .by_ref()
            .map(|item| match item {
                Ok(record) => Ok((record.offset, record.timestamp)),
                Err(bad) => Err((bad.fault.kind.code(), bad.offset)),
            })
            .collect();
        (items, records.fault().map(|fault| fault.kind.code()))
    }

    const TIME: i64 = 1_700_000_000_000;

    #[test]
    fn inner_offsets_of_magic_1_are_relative() {
        let set = [inner(0, 1), inner(3, 1), inner(4, 1)].concat();
        let wrapper = message(104, 1, 1, None, Some(&gzip(&set)));
        assert_eq!(read(&wrapper), (vec![Ok((100, TIME)), Ok((103, TIME)), Ok((104, TIME))], None));
        let batch = Batch::new(&wrapper, 0).unwrap();
        assert_eq!((batch.header().base_offset, batch.header().count), (104, -1));
        assert_eq!(batch.first_offset(&mut Inflater::new()), Ok(100));
    }

    #[test]
    fn inner_offsets_of_magic_0_are_absolute() {
        let set = [inner(100, 0), inner(103, 0), inner(104, 0)].concat();
        let wrapper = message(104, 0, 1, None, Some(&gzip(&set)));
        assert_eq!(read(&wrapper), (vec![Ok((100, -1)), Ok((103, -1)), Ok((104, -1))], None));
    }

    #[test]
    fn inner_and_outer_magic_can_differ() {
        let set = [inner(100, 0), inner(104, 0)].concat();
        let wrapper = message(104, 1, 1, None, Some(&gzip(&set)));
        assert_eq!(read(&wrapper).0, [Ok((100, -1)), Ok((104, -1))]);
        let set = [inner(0, 1), inner(1, 1)].concat();
        let wrapper = message(104, 0, 1, None, Some(&gzip(&set)));
        assert_eq!(read(&wrapper).0, [Ok((103, TIME)), Ok((104, TIME))]);
    }

    #[test]
    fn the_time_of_the_broker_is_the_wrapper_s() {
        let set = inner(0, 1);
        let mut wrapper = message(7, 1, 1 | 8, None, Some(&gzip(&set)));
        wrapper[18..26].copy_from_slice(&5i64.to_be_bytes());
        assert_eq!(read(&wrapper).0, [Ok((7, 5))]);
    }

    #[test]
    fn nesting_is_a_fault() {
        let nested = message(1, 1, 1, None, Some(&gzip(&inner(0, 1))));
        let wrapper = message(9, 1, 1, None, Some(&gzip(&[inner(0, 1), nested].concat())));
        assert_eq!(read(&wrapper), (vec![Ok((8, TIME)), Err(("nested-wrapper", Some(9)))], Some("nested-wrapper")));
    }

    #[test]
    fn a_cut_set_has_no_offsets_in_magic_1() {
        for (magic, expected) in [(0, Ok((100, -1))), (1, Err(("bad-record", None)))] {
            let set: Vec<u8> = (100..200).flat_map(|offset| inner(offset, magic)).collect();
            let squeezed = gzip(&set);
            let wrapper = message(199, magic, 1, None, Some(&squeezed[..squeezed.len() - 20]));
            let (items, fault) = read(&wrapper);
            assert_eq!(items.first(), Some(&expected));
            assert_eq!(fault, Some("inflate-failed"));
        }
    }

    #[test]
    fn odd_wrappers_are_faults() {
        assert_eq!(read(&message(1, 1, 4, None, Some(b"abc"))), (vec![], Some("unknown-codec")));
        assert_eq!(read(&message(1, 1, 1, None, None)), (vec![], Some("unexpected-null")));
        assert_eq!(read(&message(1, 1, 1, None, Some(b"no gzip"))), (vec![], Some("inflate-failed")));
        let mut long_key = message(1, 1, 0, Some(b"key"), Some(b"value"));
        long_key[29] = 200;
        assert_eq!(read(&long_key), (vec![Err(("short-buffer", Some(1)))], None));
    }

    #[test]
    fn an_inner_crc_is_checked_when_asked_for() {
        let mut set = [inner(0, 1), inner(1, 1)].concat();
        let last = set.len() - 1;
        set[last] ^= 1;
        let wrapper = message(1, 1, 1, None, Some(&gzip(&set)));
        let mut inflater = Inflater::new();
        let valid: Vec<_> =
            Batch::new(&wrapper, 0).unwrap().records(&mut inflater).map(|r| r.unwrap().legacy_crc_valid()).collect();
        assert_eq!(valid, [Some(true), Some(false)]);
    }
}
