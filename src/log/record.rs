//! Records: the entries of a batch, one by one, borrowed.
//!
//! Must not know: what keys and values mean. A record that does not parse is an item like any other, and where the
//! outer lengths still agree it costs none of its neighbours.

use super::batch::{Batch, HEADER_LENGTH};
use super::codec::Inflater;
use super::legacy::{self, Set};
use super::map::prefetch;
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'s> {
    /// Its offset in the log.
    pub offset: i64,
    /// In ms since 1970; -1 for none (magic 0). Where the broker set the time, that of the batch.
    pub timestamp: i64,
    /// None for null.
    pub key: Option<&'s [u8]>,
    /// None for null, which is a tombstone; an empty value is none.
    pub value: Option<&'s [u8]>,
    /// Magic 2 only.
    pub headers: Headers<'s>,
    /// The producer's sequence number, which wraps from 2147483647 to 0; -1 for none.
    pub sequence: i32,
    /// Its own attributes: unused in magic 2; codec and timestamp type bits of a magic 0 or 1 message.
    pub attributes: i8,
    /// What only magic 0 and 1 have.
    pub legacy: Option<LegacyFields>,
    /// The record as framed, its length (and in magic 0 and 1 its offset, perhaps relative) included.
    pub bytes: &'s [u8],
}

impl Record<'_> {
    /// Bytes of the record as framed, uncompressed.
    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the message's own CRC-32 is right: computed on each call. None in magic 2, whose records have none.
    pub fn legacy_crc_valid(&self) -> Option<bool> {
        let fields = self.legacy?;
        Some(crc32fast::hash(self.bytes.get(super::batch::MAGIC_AT..).unwrap_or_default()) == fields.crc)
    }
}

/// What a magic 0 or 1 message has and a magic 2 record has not. In a compressed set each message has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyFields {
    /// 0 or 1; inside a wrapper it can differ from the wrapper's.
    pub magic: u8,
    /// The stored CRC-32; [`Record::legacy_crc_valid`] checks it.
    pub crc: u32,
}

/// The headers of a record (KIP-82, Kafka 0.11), parsed when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'s> {
    count: u32,
    bytes: &'s [u8],
}

impl<'s> Headers<'s> {
    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Key and value of each; a null value is None.
    pub fn iter(&self) -> impl Iterator<Item = (&'s [u8], Option<&'s [u8]>)> {
        let mut rest = self.bytes;
        // The record was only handed out because all of this parses.
        (0..self.count).map_while(move |_| header(&mut rest))
    }
}

/// A record that does not parse, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord<'s> {
    /// What is wrong, at a byte of the segment file; at the batch's first byte if the batch is compressed.
    pub fault: Fault,
    /// Its offset, if the damage lies behind it.
    pub offset: Option<i64>,
    /// Its time, if the damage lies behind it.
    pub timestamp: Option<i64>,
    /// Its key, if the damage lies behind it; None also for null.
    pub key: Option<&'s [u8]>,
    /// Its value, if the damage lies behind it; None also for null.
    pub value: Option<&'s [u8]>,
    /// The record as framed; all that is left of the body if its length makes no sense.
    pub raw: &'s [u8],
}

/// The records of one batch.
#[derive(Debug)]
pub struct Records<'s> {
    body: &'s [u8],
    rest: &'s [u8],
    base_offset: i64,
    base_timestamp: i64,
    /// The one time of all records, where the broker set it.
    append_time: Option<i64>,
    base_sequence: i32,
    form: Form,
    /// As the header says; None where it does not.
    count: Option<i32>,
    found: i64,
    /// Go on while fewer than this were found.
    until: i64,
    site: Site,
    fault: Option<Fault>,
    lz4_checksum_wrong: bool,
}

/// How the body is framed.
#[derive(Debug)]
enum Form {
    Magic2,
    Legacy(Set),
}

/// Where faults are said to be.
#[derive(Debug, Clone, Copy)]
enum Site {
    /// The body lies in the file, from this byte on.
    File(u64),
    /// The body was inflated from the batch at this byte.
    Inflated(u64),
}

impl<'s> Records<'s> {
    /// Of an uncompressed magic 2 batch.
    #[inline]
    pub(super) fn plain(batch: &Batch<'s>) -> Records<'s> {
        Records::magic2(batch, batch.body(), Site::File(batch.position() + HEADER_LENGTH as u64))
    }

    /// Of a compressed magic 2 batch.
    pub(super) fn inflated(batch: &Batch<'_>, inflater: &'s mut Inflater) -> Records<'s> {
        let site = Site::Inflated(batch.position());
        if batch.header().count == 0 {
            return Records::magic2(batch, &[], site);
        }
        let inflated = inflater.inflate(batch.header().codec, batch.body());
        let mut records = Records::magic2(batch, inflated.bytes, site);
        records.fault = inflated.fault.map(|kind| kind.at(batch.position()));
        records.lz4_checksum_wrong = inflated.lz4_checksum_wrong;
        records
    }

    #[inline]
    fn magic2(batch: &Batch<'_>, body: &'s [u8], site: Site) -> Records<'s> {
        let header = batch.header();
        // A batch of no records is empty, whatever follows its head: so every broker reads it.
        let body = if header.count == 0 { &[] } else { body };
        Records {
            body,
            rest: body,
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp,
            append_time: (header.attributes & 8 != 0).then_some(header.max_timestamp),
            base_sequence: header.base_sequence,
            form: Form::Magic2,
            count: Some(header.count),
            found: 0,
            until: i64::from(header.count),
            site,
            fault: None,
            lz4_checksum_wrong: false,
        }
    }

    /// Of one plain magic 0 or 1 message, which lies in the file.
    pub(super) fn message(batch: &Batch<'s>) -> Records<'s> {
        Records { site: Site::File(batch.position()), ..Records::set(batch, batch.bytes(), Set::Plain) }
    }

    /// Of an inflated set of magic 0 or 1 messages.
    pub(super) fn set(batch: &Batch<'_>, body: &'s [u8], set: Set) -> Records<'s> {
        Records {
            body,
            rest: body,
            base_offset: batch.header().base_offset,
            base_timestamp: -1,
            append_time: None,
            base_sequence: -1,
            form: Form::Legacy(set),
            count: None,
            found: 0,
            until: i64::MAX,
            site: Site::Inflated(batch.position()),
            fault: None,
            lz4_checksum_wrong: false,
        }
    }

    pub(super) fn with_fault(self, fault: Option<Fault>) -> Records<'s> {
        Records { fault, ..self }
    }

    pub(super) fn with_wrong_lz4_checksum(self) -> Records<'s> {
        Records { lz4_checksum_wrong: true, ..self }
    }

    /// What is wrong with the body as a whole: it does not inflate, its codec is unknown, bytes are left over, the
    /// header's count is not what was found. Complete only after the last record.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether an lz4 frame carries the header checksum of the wrong bytes: as every broker writes it in magic 0, and
    /// as no broker reads it from magic 1 on.
    pub fn lz4_checksum_wrong(&self) -> bool {
        self.lz4_checksum_wrong
    }

    /// Bytes of all the records, uncompressed.
    pub fn body_length(&self) -> usize {
        self.body.len()
    }

    #[inline(always)]
    fn next_magic2(&mut self) -> Option<Result<Record<'s>, BadRecord<'s>>> {
        if (self.rest.is_empty() || self.found >= self.until) && self.is_over() {
            return None;
        }
        let whole = self.rest;
        let mut after = whole;
        let length = varint(&mut after);
        let Some((fields, next)) = length.and_then(|n| usize::try_from(n).ok()).and_then(|n| after.split_at_checked(n))
        else {
            return Some(Err(self.bad_length(length)));
        };
        self.found += 1;
        self.rest = next;
        let bytes = whole.get(..whole.len() - next.len()).unwrap_or_default();
        match self.parse(fields, bytes) {
            Some(record) => Some(Ok(record)),
            None => Some(Err(self.diagnose(fields, bytes))),
        }
    }

    #[inline(always)]
    fn parse(&self, fields: &'s [u8], bytes: &'s [u8]) -> Option<Record<'s>> {
        let (&attributes, mut rest) = fields.split_first()?;
        let timestamp_delta = varlong(&mut rest)?;
        let offset_delta = varint(&mut rest)?;
        let key = nullable(&mut rest)?;
        let value = nullable(&mut rest)?;
        let headers = match rest {
            [0] => Headers::default(),
            _ => headers(rest)?,
        };
        Some(Record {
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp: match self.append_time {
                None => self.base_timestamp.wrapping_add(timestamp_delta),
                Some(time) => time,
            },
            key,
            value,
            headers,
            sequence: sequence(self.base_sequence, offset_delta),
            attributes: attributes as i8,
            legacy: None,
            bytes,
        })
    }

    /// Whether no record follows. Settles what is wrong with the body as a whole.
    #[inline]
    fn is_over(&mut self) -> bool {
        let Some(count) = self.count else { return self.rest.is_empty() };
        if self.rest.is_empty() && self.found == i64::from(count) {
            return true;
        }
        self.is_over_at_odds(count)
    }

    #[cold]
    fn is_over_at_odds(&mut self, count: i32) -> bool {
        if !self.rest.is_empty() && self.until != i64::MAX && are_records(self.rest) {
            // More records than the header says: they are shown, and the count is the fault.
            self.until = i64::MAX;
            return false;
        }
        let site = self.site(self.body.len() - self.rest.len());
        let left = self.rest.len() as u64;
        self.rest = &[];
        if self.fault.is_none() {
            let kind = match self.found == i64::from(count) {
                true => FaultKind::TrailingBytes(left),
                false => FaultKind::CountMismatch { header: i64::from(count), found: self.found },
            };
            self.fault = Some(kind.at(site));
            // Said once: a second call finds nothing at odds.
            self.count = None;
        }
        true
    }

    fn site(&self, at: usize) -> u64 {
        match self.site {
            Site::File(start) => start + at as u64,
            Site::Inflated(position) => position,
        }
    }

    /// The record's length makes no sense, so that nothing says where the next one begins: the rest is one bad record.
    #[cold]
    fn bad_length(&mut self, length: Option<i32>) -> BadRecord<'s> {
        let raw = self.rest;
        let kind = match length {
            None => FaultKind::BadVarint,
            Some(n) if n < 0 => FaultKind::BadLength(i64::from(n)),
            Some(n) => FaultKind::ShortBuffer { need: n as u64, have: raw.len() as u64 },
        };
        let mut bad = match length {
            Some(n) if n > 0 => {
                let mut fields = raw;
                varint(&mut fields);
                self.diagnose(fields, raw)
            }
            _ => BadRecord { fault: kind.clone().at(0), offset: None, timestamp: None, key: None, value: None, raw },
        };
        bad.fault = kind.at(self.site(self.body.len() - raw.len()));
        self.found += 1;
        self.rest = &[];
        bad
    }

    /// Reads a record that does not parse again, slowly, to say what is known of it and where it goes wrong.
    #[cold]
    fn diagnose(&self, fields: &'s [u8], raw: &'s [u8]) -> BadRecord<'s> {
        let mut bad =
            BadRecord { fault: FaultKind::BadVarint.at(0), offset: None, timestamp: None, key: None, value: None, raw };
        let mut cursor = Cursor::new(fields);
        let fault = self.diagnose_fields(&mut cursor, &mut bad).err();
        let start = raw.as_ptr().addr() - self.body.as_ptr().addr() + raw.len().saturating_sub(fields.len());
        bad.fault = match fault {
            Some(fault) => fault.kind.at(self.site(start + fault.at as usize)),
            None => FaultKind::BadRecord("its fields do not fit its length".into()).at(self.site(start)),
        };
        bad
    }

    fn diagnose_fields(&self, cursor: &mut Cursor<'s>, bad: &mut BadRecord<'s>) -> Result<(), Fault> {
        cursor.i8()?;
        let delta = cursor.varlong()?;
        bad.timestamp = Some(self.append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(delta)));
        bad.offset = Some(self.base_offset.wrapping_add(i64::from(cursor.varint()?)));
        bad.key = slow_nullable(cursor)?;
        bad.value = slow_nullable(cursor)?;
        let count = cursor.varint()?;
        if count < 0 {
            return Err(cursor.fault(FaultKind::BadLength(i64::from(count))));
        }
        for _ in 0..count {
            if slow_nullable(cursor)?.is_none() {
                return Err(cursor.fault(FaultKind::UnexpectedNull));
            }
            slow_nullable(cursor)?;
        }
        match cursor.remaining() {
            0 => Ok(()),
            left => Err(cursor.fault(FaultKind::TrailingBytes(left as u64))),
        }
    }

    fn next_legacy(&mut self, set: Set) -> Option<Result<Record<'s>, BadRecord<'s>>> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.body.len() - self.rest.len();
        self.found += 1;
        let outcome = legacy::next(&mut self.rest, set, self.base_offset);
        Some(outcome.map_err(|mut bad| {
            bad.fault.at = self.site(at);
            if self.fault.is_none() && bad.fault.kind == FaultKind::NestedWrapper {
                self.fault = Some(bad.fault.clone());
            }
            bad
        }))
    }
}

impl<'s> Iterator for Records<'s> {
    type Item = Result<Record<'s>, BadRecord<'s>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.form {
            Form::Magic2 => {
                prefetch(self.rest, 512);
                self.next_magic2()
            }
            Form::Legacy(set) => self.next_legacy(set),
        }
    }
}

/// As producers count: from 2147483647 on to 0. -1 without a producer.
#[inline(always)]
pub(super) fn sequence(base: i32, delta: i32) -> i32 {
    match base {
        0.. => base.wrapping_add(delta) & i32::MAX,
        _ => -1,
    }
}

#[inline(always)]
fn varint(rest: &mut &[u8]) -> Option<i32> {
    let bits = match **rest {
        [a, ref tail @ ..] if a < 0x80 => {
            *rest = tail;
            u32::from(a)
        }
        [a, b, ref tail @ ..] if b < 0x80 => {
            *rest = tail;
            u32::from(a & 0x7f) | u32::from(b) << 7
        }
        _ => u32::try_from(long_varint::<5>(rest)?).ok()?,
    };
    Some((bits >> 1) as i32 ^ -((bits & 1) as i32))
}

#[inline(always)]
fn varlong(rest: &mut &[u8]) -> Option<i64> {
    let bits = match **rest {
        [a, ref tail @ ..] if a < 0x80 => {
            *rest = tail;
            u64::from(a)
        }
        _ => long_varint::<10>(rest)?,
    };
    Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

#[inline(never)]
fn long_varint<const GREATEST: usize>(rest: &mut &[u8]) -> Option<u64> {
    let mut bits = 0u64;
    for (i, &byte) in rest.iter().take(GREATEST).enumerate() {
        // The tenth byte of 64 bits holds one bit only.
        if i == 9 && byte > 1 {
            return None;
        }
        bits |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *rest = rest.get(i + 1..)?;
            return Some(bits);
        }
    }
    None
}

/// Bytes behind a length, of which -1 is null.
#[inline(always)]
fn nullable<'s>(rest: &mut &'s [u8]) -> Option<Option<&'s [u8]>> {
    let length = varint(rest)?;
    if length == -1 {
        return Some(None);
    }
    let (piece, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(piece))
}

fn slow_nullable<'s>(cursor: &mut Cursor<'s>) -> Result<Option<&'s [u8]>, Fault> {
    let length = cursor.varint()?;
    match usize::try_from(length) {
        Ok(length) => cursor.take(length).map(Some),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(cursor.fault(FaultKind::BadLength(i64::from(length)))),
    }
}

/// The headers, which must be all that is left of their record.
#[inline(never)]
fn headers(mut rest: &[u8]) -> Option<Headers<'_>> {
    let count = u32::try_from(varint(&mut rest)?).ok()?;
    let bytes = rest;
    for _ in 0..count {
        header(&mut rest)?;
    }
    rest.is_empty().then_some(Headers { count, bytes })
}

fn header<'s>(rest: &mut &'s [u8]) -> Option<(&'s [u8], Option<&'s [u8]>)> {
    Some((nullable(rest)??, nullable(rest)?))
}

/// Whether bytes are records to the last one, by their lengths.
fn are_records(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let length = varint(&mut rest).and_then(|n| usize::try_from(n).ok());
        // The shortest record has an attributes byte and five varints.
        match length.and_then(|n| rest.get(n..)) {
            Some(after) if length >= Some(6) => rest = after,
            _ => return false,
        }
    }
    true
}
