//! Records: the entries of a batch, one by one, borrowed.
//!
//! Must not know: what keys and values mean. A record that does not parse is an item like any other, and where the
//! outer lengths still agree it costs none of its neighbours.

use super::batch::{Batch, HEADER_LENGTH};
use super::codec::Inflater;
use super::fields::{are_records, nullable, outer, varint, varlong};
use super::headers::{Headers, headers};
use super::legacy;
use super::plain::{PlainRecord, quick};
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use std::ops::ControlFlow;

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

/// A record that does not parse, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord<'s> {
    /// What is wrong, at a byte of the segment file; at the batch's first byte if the batch is compressed.
    /// [`FaultKind::InflatedTooLarge`] where it only was not inflated far enough to know its offset.
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

impl<'s> BadRecord<'s> {
    pub(super) fn new(fault: Fault, raw: &'s [u8]) -> Self {
        BadRecord { fault, offset: None, timestamp: None, key: None, value: None, raw }
    }
}

/// The records of one batch.
#[derive(Debug)]
pub struct Records<'s> {
    body: &'s [u8],
    rest: &'s [u8],
    form: Form,
    /// What to add to a record's own offset or offset delta.
    base_offset: i64,
    base_timestamp: i64,
    /// The one time of all records, where the broker set it.
    append_time: Option<i64>,
    base_sequence: i32,
    /// As the header says; None where it does not.
    count: Option<i32>,
    found: i64,
    /// Go on while fewer than this were found.
    until: i64,
    site: Site,
    fault: Option<Box<Fault>>,
    lz4_checksum_wrong: bool,
}

/// How the body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As records of magic 2.
    Magic2,
    /// As messages of magic 0 or 1.
    Messages,
    /// As messages whose offsets count from one that cannot be known.
    MessagesWithoutPlace,
}

/// Where faults are said to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Site {
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
        Records::magic2(batch, inflated.bytes, site)
            .with_fault(inflated.fault.map(|kind| kind.at(batch.position())))
            .with_lz4_checksum(2, inflated.lz4_checksum_wrong, batch.position())
    }

    #[inline(always)]
    fn magic2(batch: &Batch<'_>, body: &'s [u8], site: Site) -> Records<'s> {
        let header = batch.header();
        // A batch of no records is empty, whatever follows its head: so every broker reads it.
        let body = if header.count == 0 { &[] } else { body };
        Records {
            body,
            rest: body,
            form: Form::Magic2,
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp,
            append_time: (header.attributes & 8 != 0).then_some(header.max_timestamp),
            base_sequence: header.base_sequence,
            count: Some(header.count),
            found: 0,
            until: i64::from(header.count),
            site,
            fault: None,
            lz4_checksum_wrong: false,
        }
    }

    /// Of messages of magic 0 or 1: to add `shift` to their offsets, or nobody knows what.
    pub(super) fn messages(body: &'s [u8], shift: Option<i64>, append_time: Option<i64>, site: Site) -> Records<'s> {
        Records {
            body,
            rest: body,
            form: if shift.is_some() { Form::Messages } else { Form::MessagesWithoutPlace },
            base_offset: shift.unwrap_or(0),
            base_timestamp: -1,
            append_time,
            base_sequence: -1,
            count: None,
            found: 0,
            until: i64::MAX,
            site,
            fault: None,
            lz4_checksum_wrong: false,
        }
    }

    pub(super) fn with_fault(self, fault: Option<Fault>) -> Records<'s> {
        Records { fault: fault.map(Box::new), ..self }
    }

    /// Tells of an lz4 frame whose header checksum is of the wrong bytes, if nothing else is wrong.
    pub(super) fn with_lz4_checksum(self, magic: u8, is_wrong: bool, position: u64) -> Records<'s> {
        let refused = is_wrong && magic > 0;
        let fault = self.fault.or_else(|| refused.then(|| Box::new(FaultKind::Lz4HeaderChecksum.at(position))));
        Records { lz4_checksum_wrong: is_wrong, fault, ..self }
    }

    /// What is wrong with the body as a whole: it does not inflate, its codec is unknown, bytes are left over, the
    /// header's count is not what was found. Complete only after the last record.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
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

    #[inline]
    fn next_magic2(&mut self) -> Option<Result<Record<'s>, Box<BadRecord<'s>>>> {
        if (self.rest.is_empty() || self.found >= self.until) && self.is_over() {
            return None;
        }
        let whole = self.rest;
        if let Some((record, next)) = self.split(whole) {
            self.found += 1;
            self.rest = next;
            return Some(Ok(record));
        }
        let Some((fields, next)) = outer(whole) else {
            return if self.is_limited() { self.cut_short() } else { Some(Err(self.bad_length())) };
        };
        self.found += 1;
        self.rest = next;
        let bytes = whole.get(..whole.len() - next.len()).unwrap_or_default();
        match self.parse(fields, bytes) {
            Some(record) => Some(Ok(record)),
            None => Some(Err(self.diagnose(fields, bytes))),
        }
    }

    /// Shows what the iterator would give to `record` and `bad`, until one of them breaks: faster, because the place in
    /// the body stays in registers, and a record of an uncompressed batch is handed over in them. Both are given
    /// `context`, and each is called from one place only, so that it can be inlined there.
    #[inline(always)]
    pub fn each<C, B>(
        &mut self,
        context: &mut C,
        mut record: impl FnMut(&mut C, &Record<'s>) -> ControlFlow<B>,
        mut bad: impl FnMut(&mut C, &BadRecord<'s>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (mut rest, mut found, mut until) = (self.rest, self.found, self.until);
        loop {
            let plain = match self.form {
                Form::Magic2 if !rest.is_empty() && found < until => self.split(rest),
                _ => None,
            };
            let item = match plain {
                Some((item, next)) => {
                    (rest, found) = (next, found + 1);
                    item
                }
                None if rest.is_empty() && self.count.is_some_and(|count| found == i64::from(count)) => {
                    (self.rest, self.found) = (rest, found);
                    return ControlFlow::Continue(());
                }
                None => {
                    // Over, at odds with the count, a record that does not parse, or an old message.
                    (self.rest, self.found) = (rest, found);
                    let item = match self.next() {
                        None => return ControlFlow::Continue(()),
                        Some(item) => item,
                    };
                    (rest, found, until) = (self.rest, self.found, self.until);
                    match item {
                        Ok(item) => item,
                        Err(item) => {
                            bad(context, &item)?;
                            continue;
                        }
                    }
                }
            };
            record(context, &item)?;
        }
    }

    /// The record at the start of what is left, and what is behind it.
    #[inline(always)]
    fn split(&self, rest: &'s [u8]) -> Option<(Record<'s>, &'s [u8])> {
        if let Some((record, next)) = quick(rest) {
            let bytes = rest.get(..rest.len() - next.len())?;
            return Some((self.record(record, Headers::default(), bytes), next));
        }
        let (fields, next) = outer(rest)?;
        let bytes = rest.get(..rest.len() - next.len())?;
        Some((self.parse(fields, bytes)?, next))
    }

    #[inline(always)]
    fn parse(&self, fields: &'s [u8], bytes: &'s [u8]) -> Option<Record<'s>> {
        let (&attributes, rest) = fields.split_first()?;
        let (timestamp_delta, rest) = varlong(rest)?;
        let (offset_delta, rest) = varint(rest)?;
        let (key, rest) = nullable(rest)?;
        let (value, rest) = nullable(rest)?;
        let headers = match rest {
            [0] => Headers::default(),
            _ => headers(rest)?,
        };
        let length = bytes.len();
        Some(self.record(PlainRecord { attributes, timestamp_delta, offset_delta, key, value, length }, headers, bytes))
    }

    #[inline(always)]
    fn record(&self, plain: PlainRecord<'s>, headers: Headers<'s>, bytes: &'s [u8]) -> Record<'s> {
        let PlainRecord { attributes, timestamp_delta, offset_delta, key, value, .. } = plain;
        Record {
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
        }
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
            self.fault = Some(Box::new(kind.at(site)));
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

    /// Whether the body was not inflated to its end, because that is too far away.
    fn is_limited(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.kind.is_limit())
    }

    /// Ends before the record that the limit cuts in two: nothing is wrong with it.
    #[cold]
    fn cut_short<T>(&mut self) -> Option<T> {
        self.rest = &[];
        None
    }

    /// The record's length makes no sense, so that nothing says where the next one begins: the rest is one bad record.
    #[cold]
    fn bad_length(&mut self) -> Box<BadRecord<'s>> {
        let raw = self.rest;
        let (kind, fields) = match varint(raw) {
            None => (FaultKind::BadVarint, None),
            Some((n, _)) if n < 0 => (FaultKind::BadLength(i64::from(n)), None),
            Some((n, fields)) => (FaultKind::ShortBuffer { need: n as u64, have: fields.len() as u64 }, Some(fields)),
        };
        let mut bad = match fields {
            Some(fields) => self.diagnose(fields, raw),
            None => Box::new(BadRecord::new(kind.clone().at(0), raw)),
        };
        bad.fault = kind.at(self.site(self.body.len() - raw.len()));
        self.found += 1;
        self.rest = &[];
        bad
    }

    /// Reads a record that does not parse again, slowly, to say what is known of it and where it goes wrong.
    #[cold]
    fn diagnose(&self, fields: &'s [u8], raw: &'s [u8]) -> Box<BadRecord<'s>> {
        let mut bad = Box::new(BadRecord::new(FaultKind::BadVarint.at(0), raw));
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

    /// Boxed, so that the records of magic 2 need not share a place in memory with these and can stay in registers.
    #[cold]
    fn next_message(&mut self) -> Option<Result<Box<Record<'s>>, Box<BadRecord<'s>>>> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.body.len() - self.rest.len();
        self.found += 1;
        let shift = (self.form == Form::Messages).then_some(self.base_offset);
        let outcome = legacy::next(&mut self.rest, shift, self.append_time);
        if outcome.is_err() && self.rest.is_empty() && self.is_limited() {
            return self.cut_short();
        }
        Some(outcome.map(Box::new).map_err(|mut bad| {
            bad.fault.at = self.site(at);
            if let Some(limit) = self.fault.as_ref().filter(|_| bad.offset.is_none() && self.is_limited()) {
                // Its offset lies beyond the limit, and nothing else is wrong.
                bad.fault.kind = limit.kind.clone();
            }
            if self.fault.is_none() && bad.fault.kind == FaultKind::NestedWrapper {
                self.fault = Some(Box::new(bad.fault.clone()));
            }
            bad
        }))
    }
}

impl<'s> Iterator for Records<'s> {
    type Item = Result<Record<'s>, Box<BadRecord<'s>>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.form == Form::Magic2 {
            self.next_magic2()
        } else {
            self.next_message().map(|item| item.map(|record| *record))
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

fn slow_nullable<'s>(cursor: &mut Cursor<'s>) -> Result<Option<&'s [u8]>, Fault> {
    let length = cursor.varint()?;
    match usize::try_from(length) {
        Ok(length) => cursor.take(length).map(Some),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(cursor.fault(FaultKind::BadLength(i64::from(length)))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;

    fn three() -> Vec<Vec<u8>> {
        (0..3).map(|i| record(i, format!("key-{i}").as_bytes(), b"value")).collect()
    }

    /// What came out: offsets of good records, codes of bad ones, the code of the body's fault.
    type Item = Result<i64, (&'static str, Option<i64>)>;

    fn read(bytes: &[u8]) -> (Vec<Item>, Option<&'static str>) {
        let mut inflater = Inflater::new();
        let batch = Batch::new(bytes, 1000).unwrap();
        let mut records = batch.records(&mut inflater);
        let items = records
            .by_ref()
            .map(|item| item.map(|record| record.offset).map_err(|bad| (bad.fault.kind.code(), bad.offset)))
            .collect();
        assert!(records.next().is_none(), "an end stays an end");
        (items, records.fault().map(|fault| fault.kind.code()))
    }

    #[test]
    fn fields_of_the_vectors() {
        for text in ALL {
            let bytes = hex(text);
            let batch = Batch::new(&bytes, 0).unwrap();
            let mut inflater = Inflater::new();
            for record in batch.records(&mut inflater) {
                let record = record.unwrap();
                assert_eq!(record.offset, batch.header().base_offset);
                assert_eq!(record.timestamp, batch.header().base_timestamp);
                assert_eq!(record.sequence, if *text == GV7 { 0 } else { -1 });
                assert_eq!(record.value.is_none(), *text == GV5 || *text == GV10);
                assert_eq!(record.legacy_crc_valid(), (batch.header().magic < 2).then_some(true));
            }
        }
    }

    #[test]
    fn records_in_order_and_nothing_wrong() {
        let bytes = batch(10, 0, 3, &three().concat());
        assert_eq!(read(&bytes), (vec![Ok(10), Ok(11), Ok(12)], None));
    }

    #[test]
    fn one_damaged_record_costs_no_other() {
        let mut records = three();
        records[1][4] = 60 << 1; // the key's length
        let bytes = batch(10, 0, 3, &records.concat());
        assert_eq!(read(&bytes), (vec![Ok(10), Err(("short-buffer", Some(11))), Ok(12)], None));
        let mut records = three();
        *records[1].last_mut().unwrap() = 1; // minus one header
        let bytes = batch(10, 0, 3, &records.concat());
        assert_eq!(read(&bytes), (vec![Ok(10), Err(("bad-length", Some(11))), Ok(12)], None));
        let mut records = three();
        records[1][0] += 2 << 1; // two bytes too long
        records[1].extend([0, 0]);
        let bytes = batch(10, 0, 3, &records.concat());
        assert_eq!(read(&bytes), (vec![Ok(10), Err(("trailing-bytes", Some(11))), Ok(12)], None));
    }

    #[test]
    fn a_damaged_outer_length_ends_the_batch() {
        let mut records = three();
        records[1][0] = 120;
        let bytes = batch(10, 0, 3, &records.concat());
        let (items, fault) = read(&bytes);
        assert_eq!(items, [Ok(10), Err(("short-buffer", Some(11)))]);
        assert_eq!(fault, Some("count-mismatch"));
        records[1][0] = 1;
        let (items, _) = read(&batch(10, 0, 3, &records.concat()));
        assert_eq!(items, [Ok(10), Err(("bad-length", None))]);
    }

    #[test]
    fn the_site_of_a_bad_record_is_a_byte_of_the_file() {
        let mut records = three();
        records[1][4] = 60 << 1;
        let at = records[0].len();
        let bytes = batch(10, 0, 3, &records.concat());
        let mut inflater = Inflater::new();
        let bad = Batch::new(&bytes, 1000).unwrap().records(&mut inflater).nth(1).unwrap().unwrap_err();
        // Behind the length, attributes, two deltas and the key's length.
        assert_eq!(bad.fault.at, 1000 + 61 + at as u64 + 5);
        assert_eq!(bad.timestamp, Some(1_700_000_000_000));
        assert_eq!(bad.raw, records[1]);
    }

    #[test]
    fn counts_that_lie() {
        let body = three().concat();
        assert_eq!(read(&batch(0, 0, 2, &body)), (vec![Ok(0), Ok(1), Ok(2)], Some("count-mismatch")));
        assert_eq!(read(&batch(0, 0, 5, &body)), (vec![Ok(0), Ok(1), Ok(2)], Some("count-mismatch")));
        assert_eq!(read(&batch(0, 0, i32::MAX, &body)).1, Some("count-mismatch"));
        assert_eq!(read(&batch(0, 0, -7, &body)).1, Some("count-mismatch"));
        assert_eq!(read(&batch(0, 0, 0, &body)), (vec![], None), "count 0 is empty, whatever follows");
        assert_eq!(read(&batch(0, 4, 0, b"junk")), (vec![], None));
        assert_eq!(read(&batch(0, 0, 3, &[&body[..], b"xyz"].concat())).1, Some("trailing-bytes"));
    }

    #[test]
    fn headers_are_read_when_asked_for() {
        let mut fields = vec![0, 0, 0, 2, b'k', 1]; // a tombstone
        fields.extend([4, 2, b'a', 1, 2, b'b', 4, b'x', b'y']);
        let body = [vec![(fields.len() as u8) << 1], fields].concat();
        let bytes = batch(0, 0, 1, &body);
        let mut inflater = Inflater::new();
        let record = Batch::new(&bytes, 0).unwrap().records(&mut inflater).next().unwrap().unwrap();
        assert_eq!((record.key, record.value), (Some(&b"k"[..]), None));
        assert_eq!(record.headers.len(), 2);
        let headers: Vec<_> = record.headers.iter().collect();
        assert_eq!(headers, [(&b"a"[..], None), (&b"b"[..], Some(&b"xy"[..]))]);
        assert_eq!(record.size(), body.len());
    }

    #[test]
    fn times_of_64_bits_and_of_the_broker() {
        for (attributes, expected) in [(0, i64::MAX), (8, 1_700_000_000_000)] {
            let mut fields = vec![0];
            crate::bytes::put_varlong(&mut fields, i64::MAX - 1_700_000_000_000);
            fields.extend([0, 1, 1, 0]);
            let body = [vec![(fields.len() as u8) << 1], fields].concat();
            let bytes = batch(0, attributes, 1, &body);
            let mut inflater = Inflater::new();
            let record = Batch::new(&bytes, 0).unwrap().records(&mut inflater).next().unwrap().unwrap();
            assert_eq!(record.timestamp, expected);
            assert_eq!((record.key, record.value), (None, None));
        }
    }

    #[test]
    fn sequences_wrap() {
        assert_eq!(sequence(-1, 5), -1);
        assert_eq!(sequence(5, 2), 7);
        assert_eq!(sequence(i32::MAX, 0), i32::MAX);
        assert_eq!(sequence(i32::MAX, 1), 0);
        assert_eq!(sequence(i32::MAX - 1, 4), 2);
    }

    #[test]
    fn compressed_records_survive_a_damaged_end() {
        let body: Vec<u8> = (0..1000).flat_map(|i| record(i, format!("key-{i}").as_bytes(), b"value")).collect();
        let squeezed = zstd::bulk::compress(&body, 1).unwrap();
        let (items, fault) = read(&batch(0, 4, 1000, &squeezed));
        assert_eq!((items.len(), fault), (1000, None));
        // The inflater hands out whole blocks: use a codec with small ones.
        let blocks: Vec<u8> = body
            .chunks(1000)
            .map(|chunk| snap::raw::Encoder::new().compress_vec(chunk).unwrap())
            .flat_map(|block| [&(block.len() as u32).to_be_bytes()[..], &block].concat())
            .collect();
        let xerial = [b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01", &blocks[..blocks.len() - 3]].concat();
        let (items, fault) = read(&batch(0, 2, 1000, &xerial));
        assert!(items.len() > 900 && items.iter().rev().skip(1).all(Result::is_ok));
        assert_eq!(fault, Some("inflate-failed"));
        assert_eq!(read(&batch(0, 5, 3, &body)), (vec![], Some("unknown-codec")));
    }
}
