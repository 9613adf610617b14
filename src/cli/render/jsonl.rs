//! `dump --format jsonl` and `json`: one object a record, hole or damaged batch. The contract is in README.md.
//!
//! Must not know: what is selected. This is the hot path: JSON by hand into one buffer.

use super::dump::{Piece, Render, Shown, Site, Soundness, trailing};
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Control, Headers, Hole, Record};
use crate::model::event::Subject;
use crate::schema::{Key, KeyFields, RecordType, Transcoded, embedded};

/// How objects are set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Lines,
    /// In one array.
    Array,
}

/// Whether the bytes of key and value are shown beside what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawBytes {
    /// As `keyRaw` and `valueRaw`, base64.
    Shown,
    /// Only where nothing else can be shown.
    Hidden,
}

/// Records as JSON.
pub struct JsonRecords {
    json: Json,
    framing: Framing,
    raw: RawBytes,
    /// `{"partition":…,"segment":"…","position":`, the same for a whole segment.
    segment_head: Json,
    /// The same, and `<position>,"offset":`: the same for a whole batch.
    batch_head: Json,
    offset_keys: OffsetKeyMemo,
}

/// Texts of offset commit keys shown before, up to the partition: most records share group and topic with one of them.
struct OffsetKeyMemo {
    slots: Vec<OffsetKeyText>,
}

/// The text of an offset commit key. Keys of the same length that differ in their last four bytes alone, the partition,
/// differ in nothing else.
#[derive(Default)]
struct OffsetKeyText {
    /// The key's bytes without the partition, and behind them `,"key":{…,"partition":`.
    bytes: Vec<u8>,
    /// How many are the key's; 0 for none.
    prefix: usize,
    /// 0 or 1; None if something is to be said of the key.
    sound: Option<RecordType>,
}

impl OffsetKeyMemo {
    const SLOTS: usize = 1024;

    fn new() -> Self {
        OffsetKeyMemo { slots: (0..Self::SLOTS).map(|_| OffsetKeyText::default()).collect() }
    }

    /// Where a key's text would stand: group and topic differ in their ends mostly.
    #[inline]
    fn slot(&mut self, prefix: &[u8]) -> Option<&mut OffsetKeyText> {
        let half = prefix.get(..prefix.len() / 2).and_then(|half| half.last_chunk::<8>()).copied().unwrap_or_default();
        let end = prefix.last_chunk::<8>().copied().unwrap_or_default();
        let mixed =
            (u64::from_le_bytes(half).rotate_left(23) ^ u64::from_le_bytes(end)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.slots.get_mut((mixed >> 48) as usize % Self::SLOTS)
    }

    /// The type and text of a key that was remembered, and is sound.
    #[inline]
    fn find(&mut self, prefix: &[u8]) -> Option<(RecordType, &[u8])> {
        let slot = self.slot(prefix)?;
        let record_type = slot.sound?;
        let (known, text) = slot.bytes.split_at_checked(slot.prefix)?;
        (known == prefix).then_some((record_type, text))
    }

    /// Remembers a key that has nothing behind its partition, and its text as [`key_head`] wrote it.
    fn remember(&mut self, key: &Key<'_>, prefix: &[u8], text: &[u8]) {
        let Some(slot) = self.slot(prefix) else { return };
        // The partition is the key's last field: cut off what stands behind its colon.
        let end = text.iter().rposition(|&byte| byte == b':').map_or(0, |colon| colon + 1);
        slot.bytes.clear();
        slot.bytes.extend_from_slice(prefix);
        slot.bytes.extend_from_slice(text.get(..end).unwrap_or_default());
        slot.prefix = prefix.len();
        slot.sound = (prefix.is_ascii() || key.is_utf8()).then_some(key.record_type);
    }
}

impl JsonRecords {
    /// An empty output.
    pub fn new(framing: Framing, raw: RawBytes) -> Self {
        let mut json = Json::new(Style::Lossless);
        if framing == Framing::Array {
            json.raw("[");
        }
        JsonRecords {
            json,
            framing,
            raw,
            segment_head: Json::new(Style::Lossless),
            batch_head: Json::new(Style::Lossless),
            offset_keys: OffsetKeyMemo::new(),
        }
    }

    #[inline]
    fn close_object(&mut self) {
        // A piece each, so that its length is known when the program is compiled.
        match self.framing {
            Framing::Lines => self.json.raw("}\n"),
            Framing::Array => self.json.raw("},\n"),
        }
    }

    fn head(&mut self, position: u64) {
        self.json.append(&self.segment_head);
        self.json.int(position);
    }

    #[cold]
    fn fault(&mut self, piece: Piece, fault: &Fault) {
        self.json.raw(",\"fault\":{\"code\":\"");
        self.json.raw(fault.kind.code());
        self.json.raw("\",\"in\":\"");
        self.json.raw(piece.name());
        self.json.raw("\",\"at\":");
        self.json.int(fault.at);
        self.json.raw(",\"message\":");
        self.json.string(fault.kind.to_string().as_bytes());
        self.json.raw("}");
    }

    fn control(&mut self, batch: &Batch<'_>, control: &Result<Control, Fault>, value: Option<&[u8]>) {
        let header = batch.header();
        self.json.raw(",\"control\":{\"type\":\"");
        self.json.raw(control.as_ref().map_or("UNKNOWN", Control::name));
        self.json.raw("\",\"producerId\":");
        self.json.int(header.producer_id);
        self.json.raw(",\"producerEpoch\":");
        self.json.int(header.producer_epoch);
        match control {
            Ok(Control::Abort(marker) | Control::Commit(marker)) => {
                self.json.raw(",\"coordinatorEpoch\":");
                self.json.int(marker.coordinator_epoch);
            }
            Ok(Control::Unknown(number)) => {
                self.json.raw(",\"number\":");
                self.json.int(*number);
                self.raw_bytes(",\"raw\":", value);
            }
            _ => self.raw_bytes(",\"raw\":", value),
        }
        self.json.raw("}");
    }

    fn raw_bytes(&mut self, name: &str, bytes: Option<&[u8]>) {
        self.json.raw(name);
        match bytes {
            Some(bytes) => self.json.base64(bytes),
            None => self.json.raw("null"),
        }
    }

    /// `{"version":9,"raw":"…"}`, or null.
    fn raw_value(&mut self, version: Option<i16>, value: Option<&[u8]>) {
        self.json.raw(",\"value\":");
        let Some(bytes) = value else {
            self.json.raw("null");
            return;
        };
        self.json.raw("{");
        if let Some(version) = version {
            self.json.raw("\"version\":");
            self.json.int(version);
            self.json.raw(",");
        }
        self.json.raw("\"raw\":");
        self.json.base64(bytes);
        self.json.raw("}");
    }

    /// `{"type":99,"raw":"…"}`, or null.
    fn raw_key(&mut self, number: Option<i16>, key: Option<&[u8]>) {
        self.json.raw(",\"key\":");
        let Some(bytes) = key else {
            self.json.raw("null");
            return;
        };
        self.json.raw("{");
        if let Some(number) = number {
            self.json.raw("\"type\":");
            self.json.int(number);
            self.json.raw(",");
        }
        self.json.raw("\"raw\":");
        self.json.base64(bytes);
        self.json.raw("}");
    }

    /// A record whose key could be decoded: key and value. Says what is wrong with the value.
    fn keyed(&mut self, key: &Key<'_>, key_bytes: &[u8], value: Option<&[u8]>) -> Option<Fault> {
        let start = self.json.bytes().len();
        key_head(&mut self.json, key);
        let partition = key_bytes.split_last_chunk::<4>();
        if let (KeyFields::Offset(_), [], Some((prefix, _))) = (&key.fields, key.trailing, partition) {
            self.offset_keys.remember(key, prefix, self.json.bytes().get(start..).unwrap_or_default());
        }
        self.trailing(key.trailing);
        self.json.raw("}");
        self.value(key.record_type, value)
    }

    fn unkeyed(&mut self, number: Option<i16>, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.raw_key(number, key);
        self.raw_value(version_of(value), value);
    }

    #[inline]
    fn value(&mut self, record_type: RecordType, value: Option<&[u8]>) -> Option<Fault> {
        let Some(bytes) = value else {
            self.json.raw(",\"value\":null");
            return None;
        };
        let start = self.json.bytes().len();
        self.value_head(version_of(value).unwrap_or_default());
        let mut left_over = None;
        match record_type.transcode_value(bytes, &mut self.json) {
            Ok(Transcoded { whose: None, trailing: [], .. }) => self.json.raw("}"),
            Ok(shown) => {
                self.odd_value_end(&shown);
                left_over = (!shown.trailing.is_empty()).then(|| trailing(bytes, shown.trailing));
            }
            Err(fault) => return Some(self.bad_value(start, bytes, fault)),
        }
        if matches!(record_type, RecordType::GroupMetadata | RecordType::ConsumerGroupMemberMetadata) {
            embedded_payloads(&mut self.json, record_type, bytes);
        }
        left_over
    }

    /// The end of a value that has an older shape, or bytes behind it.
    #[cold]
    fn odd_value_end(&mut self, shown: &Transcoded<'_>) {
        if let Some(whose) = shown.whose {
            self.json.raw(",\"shape\":\"");
            self.json.raw(whose);
            self.json.raw("\"");
        }
        self.trailing(shown.trailing);
        self.json.raw("}");
    }

    /// Shows a value that cannot be decoded, in place of what was shown of it before that was found.
    #[cold]
    fn bad_value(&mut self, start: usize, bytes: &[u8], fault: Fault) -> Fault {
        self.json.truncate(start);
        self.raw_value(version_of(Some(bytes)), Some(bytes));
        fault
    }

    /// `,"value":{"version":3,"data":`: in one piece where the version has one digit.
    #[inline]
    fn value_head(&mut self, version: i16) {
        if let Some(head) = usize::try_from(version).ok().and_then(|version| VALUE_HEADS.get(version)) {
            return self.json.fixed(head);
        }
        self.json.raw(",\"value\":{\"version\":");
        self.json.int(version);
        self.json.raw(",\"data\":");
    }

    /// The bytes, if they are asked for; what is wrong, if anything is.
    #[inline(always)]
    fn record_end(&mut self, record: &Record<'_>, fault: &Option<(Piece, Fault)>) -> Soundness {
        if self.raw == RawBytes::Shown {
            self.raw_bytes(",\"keyRaw\":", record.key);
            self.raw_bytes(",\"valueRaw\":", record.value);
        }
        if let Some((piece, fault)) = fault {
            self.fault(*piece, fault);
        }
        self.close_object();
        Soundness::of(fault)
    }

    #[inline]
    fn trailing(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.raw_bytes(",\"trailing\":", Some(bytes));
        }
    }
}

/// Where a record stands, its time, its producer and its headers.
#[inline(always)]
fn record_head(json: &mut Json, batch_head: &Json, batch: &Batch<'_>, record: &Record<'_>) {
    json.extend_int(batch_head.bytes(), record.offset);
    json.raw_int(",\"timestamp\":", record.timestamp);
    let header = batch.header();
    if header.transactional && !header.control {
        producer(json, header.producer_id, header.producer_epoch);
    }
    if !record.headers.is_empty() {
        headers(json, &record.headers);
    }
}

#[cold]
fn producer(json: &mut Json, id: i64, epoch: i16) {
    json.raw(",\"producerId\":");
    json.int(id);
    json.raw(",\"producerEpoch\":");
    json.int(epoch);
    json.raw(",\"transactional\":true");
}

#[cold]
fn headers(json: &mut Json, headers: &Headers<'_>) {
    json.raw(",\"headers\":[");
    for (key, value) in headers.iter() {
        json.raw("{\"key\":");
        json.string(key);
        json.raw(",\"value\":");
        match value {
            Some(value) => json.base64(value),
            None => json.raw("null"),
        }
        json.raw("},");
    }
    json.close(b']');
}

/// `,"value":{"version":0,"data":` up to version 9.
static VALUE_HEADS: [[u8; 29]; 10] = {
    let mut heads = [*b",\"value\":{\"version\":0,\"data\":"; 10];
    let mut version = 0;
    while version < 10 {
        heads[version][20] += version as u8;
        version += 1;
    }
    heads
};

/// `,"key":{"type":1,"name":"OffsetCommit","data":{…}`, still open.
fn key_head(json: &mut Json, key: &Key<'_>) {
    json.raw(",\"key\":{\"type\":");
    json.int(key.record_type.number());
    json.raw(",\"name\":\"");
    json.raw(key.record_type.name());
    json.raw("\",\"data\":");
    key.json(json);
}

/// The version in front of a value, if it is as long as that.
fn version_of(value: Option<&[u8]>) -> Option<i16> {
    value?.first_chunk().map(|pair| i16::from_be_bytes(*pair))
}

/// What clients put inside a group's or member's value, decoded, under `embedded`. It stands apart from `value`, which
/// stays as Kafka's own JSON has it.
#[inline(never)]
fn embedded_payloads(json: &mut Json, record_type: RecordType, value: &[u8]) {
    if let Ok(value) = record_type.decode_value(value) {
        embedded::within::json(json, &value.data);
    }
}

impl Render for JsonRecords {
    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }

    fn segment(&mut self, site: &Site) {
        let head = &mut self.segment_head;
        head.clear();
        head.raw("{\"partition\":");
        match site.partition {
            Some(partition) => head.int(partition),
            None => head.raw("null"),
        }
        head.raw(",\"segment\":");
        head.string(site.segment.as_bytes());
        head.raw(",\"position\":");
        self.batch_head.clear();
        self.batch_head.append(&self.segment_head);
    }

    fn hole(&mut self, _: &Site, hole: &Hole) {
        self.head(hole.position);
        self.json.raw(",\"hole\":{\"code\":\"");
        self.json.raw(hole.fault.code());
        self.json.raw("\",\"position\":");
        self.json.int(hole.position);
        self.json.raw(",\"length\":");
        self.json.int(hole.length);
        if let Some(base_offset) = hole.base_offset {
            self.json.raw(",\"baseOffset\":");
            self.json.int(base_offset);
        }
        self.json.raw(",\"message\":");
        self.json.string(hole.fault.to_string().as_bytes());
        self.json.raw("}");
        self.close_object();
    }

    fn batch(&mut self, _: &Site, batch: &Batch<'_>, _: Option<&FaultKind>) {
        self.batch_head.truncate(self.segment_head.bytes().len());
        self.batch_head.int(batch.position());
        self.batch_head.raw(",\"offset\":");
    }

    #[inline]
    fn record_at_sight(&mut self, batch: &Batch<'_>, record: &Record<'_>) -> Option<Soundness> {
        if batch.header().control {
            return None;
        }
        let (prefix, partition) = record.key?.split_last_chunk::<4>()?;
        let (record_type, text) = self.offset_keys.find(prefix)?;
        record_head(&mut self.json, &self.batch_head, batch, record);
        self.json.extend_int(text, i32::from_be_bytes(*partition));
        self.json.raw("}}");
        let in_value = self.value(record_type, record.value).map(|fault| (Piece::Value, fault));
        Some(self.record_end(record, &in_value))
    }

    fn record(&mut self, _: &Site, shown: &Shown<'_, '_>) -> Soundness {
        let record = shown.record;
        record_head(&mut self.json, &self.batch_head, shown.batch, record);
        let in_value = match shown.subject {
            Subject::Key(key) => self.keyed(key, record.key.unwrap_or_default(), record.value),
            Subject::BadKey { number, .. } => {
                self.unkeyed(*number, record.key, record.value);
                None
            }
            Subject::Control(control) => {
                self.control(shown.batch, control, record.value);
                None
            }
        };
        self.record_end(record, &shown.fault(in_value))
    }

    fn bad_record(&mut self, _: &Site, batch: &Batch<'_>, record: &BadRecord<'_>) {
        self.head(batch.position());
        for (name, number) in [(",\"offset\":", record.offset), (",\"timestamp\":", record.timestamp)] {
            self.json.raw(name);
            match number {
                Some(number) => self.json.int(number),
                None => self.json.raw("null"),
            }
        }
        match Subject::of_key(record.key) {
            Subject::Key(key) => {
                self.keyed(&key, record.key.unwrap_or_default(), record.value);
            }
            Subject::BadKey { number, .. } if record.key.is_some() => self.unkeyed(number, record.key, record.value),
            _ => {}
        }
        self.raw_bytes(",\"recordRaw\":", Some(record.raw));
        self.fault(Piece::Batch, &record.fault);
        self.close_object();
    }

    fn batch_fault(&mut self, _: &Site, batch: &Batch<'_>, fault: &Fault) {
        self.head(batch.position());
        self.json.raw(",\"batch\":{\"baseOffset\":");
        self.json.int(batch.header().base_offset);
        self.json.raw(",\"lastOffset\":");
        self.json.int(batch.header().last_offset);
        self.json.raw(",\"length\":");
        self.json.int(batch.len());
        self.json.raw("}");
        self.fault(Piece::Batch, fault);
        self.close_object();
    }

    fn segment_end(&mut self, _: &Site) {}

    fn end(&mut self) {
        if self.framing == Framing::Array {
            // An array whose last object is followed by a comma and a line end, or an empty one.
            let kept = self.json.bytes().strip_suffix(b",\n").map_or(self.json.bytes().len(), <[u8]>::len);
            self.json.truncate(kept);
            self.json.raw("]\n");
        }
    }
}
