//! Batches written anew: from the head of an old one and the records that stay.
//!
//! Codec, times, producer, leader epoch, last offset and delete horizon stay as the head has them; a record's own bytes
//! stay wherever the head that they count from does.
//! Must not know: which records stay, and why.

use super::batch::{Batch, CRC_FROM, HEADER_LENGTH, Header, LOG_APPEND_TIME, MAGIC_AT, PREFIX_LENGTH};
use super::codec::{Codec, Inflater};
use super::headers::Headers;
use super::record::{Record, sequence};
use super::squeeze::squeeze;
use crate::bytes::{put_varlong, varlong_length};
use crate::machine::crc::crc32c;
use std::io;
use std::ops::RangeInclusive;

/// The bits of the attributes that name the codec.
const CODEC_BITS: i16 = 0x07;

/// A record on its way into a batch.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'r> {
    /// Its log offset.
    pub offset: i64,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    /// None for null.
    pub key: Option<&'r [u8]>,
    /// None for null.
    pub value: Option<&'r [u8]>,
    /// Magic 2 only.
    pub headers: Headers<'r>,
    /// As it was framed in a batch with the same base offset and base timestamp (or in the same wrapper): taken as it
    /// is. None if it must be framed anew.
    pub framed: Option<&'r [u8]>,
}

impl<'r> Entry<'r> {
    /// A record that goes back into a batch with the head it came from.
    pub fn as_framed(record: &Record<'r>) -> Entry<'r> {
        Entry { framed: Some(record.bytes), ..Entry::anew(record) }
    }

    /// A record that goes into a batch with another head.
    pub fn anew(record: &Record<'r>) -> Entry<'r> {
        let Record { offset, timestamp, key, value, headers, .. } = *record;
        Entry { offset, timestamp, key, value, headers, framed: None }
    }
}

/// Writes batches. Keeps its rooms from one to the next.
#[derive(Debug, Default)]
pub struct Builder {
    body: Vec<u8>,
    squeezed: Vec<u8>,
}

impl Builder {
    /// With nothing in it.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Appends a batch to `out`. Of the head, length, CRC, count and greatest time are made anew (the time only where
    /// it is the records' own and there are other records than the head counts), and the codec is dropped if there are no records. A message of magic 0 or 1 without a
    /// codec needs exactly one record; a wrapper takes the offset of its last record.
    ///
    /// # Errors
    /// If the batch cannot be written: too long, a codec that no release knows, no records where some are needed.
    pub fn batch(&mut self, head: &Header, entries: &[Entry<'_>], out: &mut Vec<u8>) -> io::Result<()> {
        match (head.magic, head.codec) {
            (2, _) => self.magic2(head, entries, out),
            (_, Codec::None) => match entries {
                [one] => message(head, one, 0, out),
                _ => Err(invalid("a message of magic 0 or 1 holds one record")),
            },
            _ => self.wrapper(head, entries, out),
        }
    }

    fn magic2(&mut self, head: &Header, entries: &[Entry<'_>], out: &mut Vec<u8>) -> io::Result<()> {
        self.body.clear();
        for entry in entries {
            match entry.framed {
                Some(bytes) => self.body.extend_from_slice(bytes),
                None => put_record(head, entry, &mut self.body)?,
            }
        }
        let mut attributes = head.attributes;
        self.squeezed.clear();
        if entries.is_empty() {
            attributes &= !CODEC_BITS;
        } else {
            squeeze(head.codec, &self.body, &mut self.squeezed)?;
        }
        let start = out.len();
        let length = i32::try_from(HEADER_LENGTH - PREFIX_LENGTH + self.squeezed.len()).map_err(too_long)?;
        let last_offset_delta = i32::try_from(head.last_offset.wrapping_sub(head.base_offset)).map_err(too_long)?;
        out.extend_from_slice(&head.base_offset.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&head.partition_leader_epoch.to_be_bytes());
        out.extend_from_slice(&[2, 0, 0, 0, 0]);
        out.extend_from_slice(&attributes.to_be_bytes());
        out.extend_from_slice(&last_offset_delta.to_be_bytes());
        out.extend_from_slice(&head.base_timestamp.to_be_bytes());
        out.extend_from_slice(&greatest_time(head, entries).to_be_bytes());
        out.extend_from_slice(&head.producer_id.to_be_bytes());
        out.extend_from_slice(&head.producer_epoch.to_be_bytes());
        out.extend_from_slice(&head.base_sequence.to_be_bytes());
        out.extend_from_slice(&i32::try_from(entries.len()).map_err(too_long)?.to_be_bytes());
        out.extend_from_slice(&self.squeezed);
        if let Some(batch) = out.get_mut(start..) {
            seal(batch);
        }
        Ok(())
    }

    /// Messages that keep their frames keep their offsets in it, of which only the last one's distance to the wrapper
    /// counts in magic 1.
    fn wrapper(&mut self, head: &Header, entries: &[Entry<'_>], out: &mut Vec<u8>) -> io::Result<()> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Err(invalid("a compressed message holds one record at least"));
        };
        let framed: Option<Vec<&[u8]>> = entries.iter().map(|entry| entry.framed).collect();
        self.body.clear();
        match framed {
            Some(frames) => frames.iter().for_each(|frame| self.body.extend_from_slice(frame)),
            None => {
                let inner = Header { codec: Codec::None, attributes: head.attributes & !CODEC_BITS, ..*head };
                let shift = if head.magic == 0 { 0 } else { first.offset };
                entries.iter().try_for_each(|entry| message(&inner, entry, shift, &mut self.body))?;
            }
        }
        self.squeezed.clear();
        squeeze(head.codec, &self.body, &mut self.squeezed)?;
        let value = Some(self.squeezed.as_slice());
        let timestamp = greatest_time(head, entries);
        let whole =
            Entry { offset: last.offset, timestamp, key: None, value, headers: Headers::default(), framed: None };
        message(head, &whole, 0, out)
    }
}

/// Writes a batch anew without some of its records: `keep` is asked for each good one, by its place among all records
/// of the batch. With a range of offsets, only what lies in it is kept, and the batch spans no more than it. Returns how
/// many records were kept; where none is, or the batch cannot be written, nothing is appended.
///
/// # Errors
/// See [`Builder::batch`].
pub fn thinned(
    batch: &Batch<'_>,
    within: &RangeInclusive<i64>,
    inflater: &mut Inflater,
    builder: &mut Builder,
    out: &mut Vec<u8>,
    mut keep: impl FnMut(usize, &Record<'_>) -> bool,
) -> io::Result<u64> {
    let mut head = batch.header();
    let old_base = head.base_offset;
    if head.magic == 2 {
        head.base_offset = head.base_offset.max(*within.start());
        head.last_offset = head.last_offset.min(*within.end());
        head.base_sequence = sequence(head.base_sequence, head.base_offset.wrapping_sub(old_base) as i32);
    }
    let same_head = head.magic < 2 || head.base_offset == old_base;
    let mut entries = Vec::new();
    for (place, item) in batch.records(inflater).enumerate() {
        let Ok(record) = item else { continue };
        if within.contains(&record.offset) && keep(place, &record) {
            entries.push(if same_head { Entry::as_framed(&record) } else { Entry::anew(&record) });
        }
    }
    if !entries.is_empty() {
        builder.batch(&head, &entries, out)?;
    }
    Ok(entries.len() as u64)
}

/// Puts the right CRC into a whole batch of any magic.
pub fn seal(batch: &mut [u8]) {
    let (crc, at) = match batch.get(MAGIC_AT) {
        Some(2) => (crc32c(batch.get(CRC_FROM..).unwrap_or_default()), 17),
        _ => (crc32fast::hash(batch.get(MAGIC_AT..).unwrap_or_default()), 12),
    };
    if let Some(room) = batch.get_mut(at..at + 4) {
        room.copy_from_slice(&crc.to_be_bytes());
    }
}

fn greatest_time(head: &Header, entries: &[Entry<'_>]) -> i64 {
    // Where no record leaves, what the head says stays, even if it is odd.
    let stays = head.attributes & LOG_APPEND_TIME != 0 || i32::try_from(entries.len()) == Ok(head.count);
    let of_records = entries.iter().map(|entry| entry.timestamp).max();
    of_records.filter(|_| !stays).unwrap_or(head.max_timestamp)
}

fn put_record(head: &Header, entry: &Entry<'_>, body: &mut Vec<u8>) -> io::Result<()> {
    let delta = entry.offset.wrapping_sub(head.base_offset);
    i32::try_from(delta).map_err(too_long)?;
    let time = entry.timestamp.wrapping_sub(head.base_timestamp);
    put_varlong(body, i64::from(i32::try_from(record_length(head, entry)).map_err(too_long)?));
    // No attribute of a record is defined.
    body.push(0);
    put_varlong(body, time);
    put_varlong(body, delta);
    for field in [entry.key, entry.value] {
        put_nullable(body, field);
    }
    put_varlong(body, entry.headers.len() as i64);
    for (key, value) in entry.headers.iter() {
        put_nullable(body, Some(key));
        put_nullable(body, value);
    }
    Ok(())
}

/// Of a record of magic 2, without the length in front.
fn record_length(head: &Header, entry: &Entry<'_>) -> usize {
    let delta = entry.offset.wrapping_sub(head.base_offset);
    let time = entry.timestamp.wrapping_sub(head.base_timestamp);
    let of_header = |(key, value): (&[u8], Option<&[u8]>)| nullable_length(Some(key)) + nullable_length(value);
    let headers = varlong_length(entry.headers.len() as i64) + entry.headers.iter().map(of_header).sum::<usize>();
    let fields = nullable_length(entry.key) + nullable_length(entry.value) + headers;
    1 + varlong_length(time) + varlong_length(delta) + fields
}

/// How many bytes [`Builder::batch`] puts into a batch of magic 2 for a record, before any compression.
pub fn framed_length(head: &Header, entry: &Entry<'_>) -> usize {
    entry.framed.map_or_else(
        || {
            let length = record_length(head, entry);
            varlong_length(length as i64) + length
        },
        <[u8]>::len,
    )
}

fn nullable_length(bytes: Option<&[u8]>) -> usize {
    let bytes = bytes.map_or((-1, 0), |bytes| (bytes.len() as i64, bytes.len()));
    varlong_length(bytes.0) + bytes.1
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_varlong(out, bytes.map_or(-1, |bytes| bytes.len() as i64));
    out.extend_from_slice(bytes.unwrap_or_default());
}

/// A message of magic 0 or 1, its offset less `shift`.
fn message(head: &Header, entry: &Entry<'_>, shift: i64, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&entry.offset.wrapping_sub(shift).to_be_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&[head.magic, head.attributes as u8]);
    if head.magic == 1 {
        out.extend_from_slice(&entry.timestamp.to_be_bytes());
    }
    for field in [entry.key, entry.value] {
        let length = field.map_or(Ok(-1), |bytes| i32::try_from(bytes.len())).map_err(too_long)?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(field.unwrap_or_default());
    }
    let size = i32::try_from(out.len() - start - PREFIX_LENGTH).map_err(too_long)?;
    if let Some(room) = out.get_mut(start + 8..start + PREFIX_LENGTH) {
        room.copy_from_slice(&size.to_be_bytes());
    }
    if let Some(whole) = out.get_mut(start..) {
        seal(whole);
    }
    Ok(())
}

fn too_long(_: std::num::TryFromIntError) -> io::Error {
    invalid("a batch or record that is too long for its length field")
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL, batch, hex, message, record};
    use super::*;

    fn all() -> RangeInclusive<i64> {
        i64::MIN..=i64::MAX
    }

    fn rebuilt(bytes: &[u8], within: RangeInclusive<i64>, keep: impl FnMut(usize, &Record<'_>) -> bool) -> Vec<u8> {
        let mut out = Vec::new();
        let batch = Batch::new(bytes, 0).unwrap();
        thinned(&batch, &within, &mut Inflater::new(), &mut Builder::new(), &mut out, keep).unwrap();
        out
    }

    fn offsets(bytes: &[u8]) -> Vec<(i64, i64, Vec<u8>)> {
        let batch = Batch::new(bytes, 0).unwrap();
        assert_eq!(batch.check_crc(), Ok(()));
        let mut inflater = Inflater::new();
        let mut records = batch.records(&mut inflater);
        let out = records
            .by_ref()
            .map(Result::unwrap)
            .map(|it| (it.offset, it.timestamp, it.key.unwrap_or_default().to_vec()))
            .collect();
        assert_eq!(records.fault(), None);
        out
    }

    #[test]
    fn what_loses_nothing_comes_back_byte_for_byte() {
        for text in ALL {
            let bytes = hex(text);
            let count = Batch::new(&bytes, 0).unwrap().header().count;
            let again = rebuilt(&bytes, all(), |_, _| true);
            assert_eq!(again, if count == 0 { Vec::new() } else { bytes });
        }
    }

    #[test]
    fn records_leave_and_the_head_stays() {
        let body: Vec<u8> = (0..5).flat_map(|i| record(i, format!("k{i}").as_bytes(), b"v")).collect();
        for codec in 0..5u8 {
            let mut squeezed = Vec::new();
            squeeze(Codec::of_attributes(i16::from(codec)), &body, &mut squeezed).unwrap();
            let whole = batch(100, codec, 5, &squeezed);
            let thin = rebuilt(&whole, all(), |place, _| place % 2 == 1);
            let header = Batch::new(&thin, 0).unwrap().header();
            assert_eq!((header.base_offset, header.last_offset, header.count), (100, 104, 2));
            assert_eq!(header.codec, Codec::of_attributes(i16::from(codec)));
            assert_eq!(offsets(&thin).iter().map(|it| it.0).collect::<Vec<_>>(), [101, 103]);
            // Cut in front and behind: the head moves, and the records are framed anew.
            let cut = rebuilt(&whole, 102..=103, |_, _| true);
            let header = Batch::new(&cut, 0).unwrap().header();
            assert_eq!((header.base_offset, header.last_offset, header.count), (102, 103, 2));
            assert_eq!(offsets(&cut), offsets(&whole)[2..4]);
        }
    }

    #[test]
    fn wrappers_keep_the_places_of_their_messages() {
        for magic in [0, 1] {
            for codec in 1..4u8 {
                let base = if magic == 0 { 100 } else { 0 };
                let set: Vec<u8> = (0..4)
                    .flat_map(|i| message(base + i, magic, 0, Some(format!("k{i}").as_bytes()), Some(b"v")))
                    .collect();
                let mut squeezed = Vec::new();
                squeeze(Codec::of_attributes(i16::from(codec)), &set, &mut squeezed).unwrap();
                let whole = message(103, magic, codec, None, Some(&squeezed));
                let thin = rebuilt(&whole, all(), |place, _| place == 1 || place == 2);
                assert_eq!(offsets(&thin), offsets(&whole)[1..3]);
                assert_eq!(Batch::new(&thin, 0).unwrap().header().base_offset, 102);
                let cut = rebuilt(&whole, 101..=101, |_, _| true);
                assert_eq!(offsets(&cut), offsets(&whole)[1..2]);
            }
        }
    }

    #[test]
    fn an_empty_batch_has_no_codec() {
        let whole = batch(100, 1, 1, &[]);
        let head = Batch::new(&whole, 0).unwrap().header();
        let mut out = Vec::new();
        Builder::new().batch(&head, &[], &mut out).unwrap();
        let empty = Batch::new(&out, 0).unwrap();
        assert_eq!((out.len(), empty.check_crc(), empty.header().codec), (61, Ok(()), Codec::None));
    }
}
