//! `dump --format jsonl` and `json`: one object a record, hole or damaged batch. The contract is in README.md.
//!
//! Must not know: what is selected. This is the hot path: JSON by hand into one buffer.

use super::dump::{Piece, Render, Shown, Site, Soundness, trailing};
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Control, Hole};
use crate::model::event::Subject;
use crate::schema::{Key, KeyFields, RecordType, embedded};

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
    /// `<position>,"offset":`, the same for a whole batch.
    batch_head: Json,
    offset_keys: OffsetKeyMemo,
}

/// Texts of offset commit keys shown before, up to the partition: most records share group and topic with one of them.
struct OffsetKeyMemo {
    slots: Vec<OffsetKeyText>,
}

/// The text of one offset commit key.
#[derive(Default)]
struct OffsetKeyText {
    /// The key's bytes without the partition, its last four.
    prefix: Vec<u8>,
    text: Json,
}

impl OffsetKeyMemo {
    const SLOTS: usize = 256;

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
        self.slots.get_mut((mixed >> 56) as usize % Self::SLOTS)
    }
}

impl OffsetKeyText {
    #[cold]
    fn remember(&mut self, key: &Key<'_>, prefix: &[u8]) {
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        self.text.clear();
        key_head(&mut self.text, key);
        // The partition is the key's last field: cut off what stands behind its colon.
        let end = self.text.bytes().iter().rposition(|&byte| byte == b':').map_or(0, |colon| colon + 1);
        self.text.truncate(end);
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
        self.json.raw(match self.framing {
            Framing::Lines => "}\n",
            Framing::Array => "},\n",
        });
    }

    fn head(&mut self, position: u64) {
        self.json.append(&self.segment_head);
        self.json.int(position);
    }

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
    #[inline]
    fn keyed(&mut self, key: &Key<'_>, key_bytes: &[u8], value: Option<&[u8]>) -> Option<Fault> {
        match &key.fields {
            KeyFields::Offset(fields) if key.trailing.is_empty() => self.offset_key(key, fields.partition, key_bytes),
            _ => self.key(key),
        }
        self.value(key.record_type, value)
    }

    fn unkeyed(&mut self, number: Option<i16>, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.raw_key(number, key);
        self.raw_value(version_of(value), value);
    }

    fn key(&mut self, key: &Key<'_>) {
        key_head(&mut self.json, key);
        self.trailing(key.trailing);
        self.json.raw("}");
    }

    #[inline]
    fn offset_key(&mut self, key: &Key<'_>, partition: i32, bytes: &[u8]) {
        let prefix = bytes.split_last_chunk::<4>().map_or(bytes, |(prefix, _)| prefix);
        if let Some(slot) = self.offset_keys.slot(prefix) {
            if slot.prefix != prefix {
                slot.remember(key, prefix);
            }
            self.json.append(&slot.text);
        }
        self.json.int(partition);
        self.json.raw("}}");
    }

    #[inline]
    fn value(&mut self, record_type: RecordType, value: Option<&[u8]>) -> Option<Fault> {
        let Some(bytes) = value else {
            self.json.raw(",\"value\":null");
            return None;
        };
        let start = self.json.bytes().len();
        self.json.raw(",\"value\":{\"version\":");
        self.json.int(version_of(value).unwrap_or_default());
        self.json.raw(",\"data\":");
        let shown = match record_type.transcode_value(bytes, &mut self.json) {
            Ok(shown) => shown,
            Err(fault) => {
                self.json.truncate(start);
                self.raw_value(version_of(value), value);
                return Some(fault);
            }
        };
        if let Some(whose) = shown.whose {
            self.json.raw(",\"shape\":\"");
            self.json.raw(whose);
            self.json.raw("\"");
        }
        self.trailing(shown.trailing);
        self.json.raw("}");
        embedded_payloads(&mut self.json, record_type, bytes);
        (!shown.trailing.is_empty()).then(|| trailing(bytes, shown.trailing))
    }

    #[inline]
    fn trailing(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.raw_bytes(",\"trailing\":", Some(bytes));
        }
    }

    fn headers(&mut self, headers: &crate::log::Headers<'_>) {
        self.json.raw(",\"headers\":[");
        for (key, value) in headers.iter() {
            self.json.raw("{\"key\":");
            self.json.string(key);
            self.raw_bytes(",\"value\":", value);
            self.json.raw("},");
        }
        self.json.close(b']');
    }
}

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
#[inline]
fn embedded_payloads(json: &mut Json, record_type: RecordType, value: &[u8]) {
    if !matches!(record_type, RecordType::GroupMetadata | RecordType::ConsumerGroupMemberMetadata) {
        return;
    }
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
        self.batch_head.clear();
        self.batch_head.int(batch.position());
        self.batch_head.raw(",\"offset\":");
    }

    #[inline]
    fn record(&mut self, _: &Site, shown: &Shown<'_, '_>) -> Soundness {
        let (record, header) = (shown.record, shown.batch.header());
        self.json.append(&self.segment_head);
        self.json.append(&self.batch_head);
        self.json.int(record.offset);
        self.json.raw(",\"timestamp\":");
        self.json.int(record.timestamp);
        if header.transactional && !header.control {
            self.json.raw(",\"producerId\":");
            self.json.int(header.producer_id);
            self.json.raw(",\"producerEpoch\":");
            self.json.int(header.producer_epoch);
            self.json.raw(",\"transactional\":true");
        }
        if !record.headers.is_empty() {
            self.headers(&record.headers);
        }
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
        if self.raw == RawBytes::Shown {
            self.raw_bytes(",\"keyRaw\":", record.key);
            self.raw_bytes(",\"valueRaw\":", record.value);
        }
        let fault = shown.fault(in_value);
        if let Some((piece, fault)) = &fault {
            self.fault(*piece, fault);
        }
        self.close_object();
        Soundness::of(&fault)
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
