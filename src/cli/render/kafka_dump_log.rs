//! `dump --format kafka-dump-log`: the text of Kafka 4.4's `kafka-dump-log.sh --deep-iteration --print-data-log
//! --offsets-decoder`, so that what was written for that text works on ours. With `--batches` the records are left out,
//! as the tool does without `--deep-iteration`.
//!
//! It differs where the tool shows less: what only early releases wrote is decoded, the reason why a key or value cannot
//! be read is ours behind the tool's first words, and where the tool ends with an exception (a record without a key, bytes
//! that are no batch, a body that does not inflate) a line says what is wrong, and it goes on.
//! Must not know: what is selected.

use super::dump::{Render, Shown, Site, Soundness};
use crate::fault::{Fault, FaultKind};
use crate::json::{Int, Json, Style};
use crate::log::{BadRecord, Batch, Codec, Control, Header, Headers, Hole, Record};
use crate::model::event::{Content, Subject};
use crate::schema::embedded::dump_tool;
use crate::schema::{Key, RecordType};

/// Batches and records as Kafka's dump tool prints them.
pub struct DumpLogText {
    json: Json,
}

impl DumpLogText {
    /// An empty output.
    pub fn new() -> Self {
        DumpLogText { json: Json::new(Style::Kafka) }
    }

    fn name_int(&mut self, name: &str, number: impl Into<Int>) {
        self.json.raw(name);
        self.json.int(number);
    }

    fn name_bool(&mut self, name: &str, truth: bool) {
        self.json.raw(name);
        self.json.bool(truth);
    }

    fn time(&mut self, header: &Header, timestamp: i64) {
        self.json.raw(" ");
        self.json.raw(header.timestamp_type.name());
        self.name_int(": ", timestamp);
    }

    /// What only batches of magic 2 say, from the first word of the line on.
    fn batch_head(&mut self, header: &Header) {
        self.name_int("baseOffset: ", header.base_offset);
        self.name_int(" lastOffset: ", header.last_offset);
        self.name_int(" count: ", header.count);
        self.name_int(" baseSequence: ", header.base_sequence);
        self.name_int(" lastSequence: ", header.last_sequence());
        self.name_int(" producerId: ", header.producer_id);
        self.name_int(" producerEpoch: ", header.producer_epoch);
        self.name_int(" partitionLeaderEpoch: ", header.partition_leader_epoch);
        self.name_bool(" isTransactional: ", header.transactional);
        self.name_bool(" isControl: ", header.control);
        match header.delete_horizon_ms {
            Some(horizon) => {
                self.name_int(" deleteHorizonMs: OptionalLong[", horizon);
                self.json.raw("]");
            }
            None => self.json.raw(" deleteHorizonMs: OptionalLong.empty"),
        }
    }

    fn codec(&mut self, codec: Codec) {
        self.json.raw(" compresscodec: ");
        self.json.raw(codec.name());
        if let Codec::Unknown(number) = codec {
            self.name_int("(", number);
            self.json.raw(")");
        }
    }

    /// All but the key and the value, up to the last bracket.
    fn record_head(&mut self, header: &Header, record: &Record<'_>) {
        self.name_int("| offset: ", record.offset);
        self.time(header, record.timestamp);
        self.size(" keySize: ", record.key);
        self.size(" valueSize: ", record.value);
        match record.legacy {
            Some(fields) => {
                self.name_bool(" isValid: ", record.legacy_crc_valid() == Some(true));
                self.name_int(" crc: ", fields.crc);
            }
            None => {
                self.name_int(" sequence: ", record.sequence);
                self.header_keys(&record.headers);
            }
        }
    }

    fn size(&mut self, name: &str, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.name_int(name, bytes.len()),
            None => self.name_int(name, -1),
        }
    }

    fn header_keys(&mut self, headers: &Headers<'_>) {
        self.json.raw(" headerKeys: [");
        for (i, (key, _)) in headers.iter().enumerate() {
            self.json.raw(if i > 0 { "," } else { "" });
            self.json.raw(&String::from_utf8_lossy(key));
        }
        self.json.raw("]");
    }

    fn control(&mut self, offset: i64, control: &Result<Control, Fault>) {
        match control {
            Ok(control @ (Control::Abort(marker) | Control::Commit(marker))) => {
                self.json.raw(" endTxnMarker: ");
                self.json.raw(control.name());
                self.name_int(" coordinatorEpoch: ", marker.coordinator_epoch);
            }
            // The tool shows what is inside; those that have a name belong to Raft's own log, not to this one.
            Ok(control) => {
                self.json.raw(" controlType: ");
                self.json.raw(control.name());
                self.name_int("(", control.number());
                self.json.raw(")");
            }
            Err(fault) => self.error(Some(offset), &fault.kind.to_string()),
        }
    }

    fn bad_key(&mut self, offset: i64, number: Option<i16>, fault: &Fault) {
        if let FaultKind::UnknownType(number) = fault.kind {
            self.name_int(" key: Unknown record type ", number);
            self.name_int(" at offset ", offset);
            return self.json.raw(", skipping.");
        }
        self.error(Some(offset), &key_error(number, fault));
    }

    fn data(&mut self, offset: i64, key: &Key<'_>, content: &Content<'_>) {
        if let Content::Bad { version, fault } = content {
            return self.error(Some(offset), &value_error(key.record_type, *version, fault));
        }
        self.name_int(" key: {\"type\":\"", key.record_type.number());
        self.json.raw("\",\"data\":");
        key.json(&mut self.json);
        self.json.raw("} payload: ");
        let Content::Value(value) = content else { return self.json.raw("<DELETE>") };
        self.name_int("{\"version\":\"", value.version);
        self.json.raw("\",\"data\":");
        dump_tool::json(&mut self.json, &value.data, value.version);
        self.json.raw("}");
    }

    /// In place of a key, as the tool does it.
    fn error(&mut self, offset: Option<i64>, why: &str) {
        self.json.raw(" key: Error");
        if let Some(offset) = offset {
            self.name_int(" at offset ", offset);
        }
        self.json.raw(", skipping. ");
        self.json.raw(why);
    }
}

impl Default for DumpLogText {
    fn default() -> Self {
        Self::new()
    }
}

fn key_error(number: Option<i16>, fault: &Fault) -> String {
    match (number, &fault.kind) {
        (_, FaultKind::NullKey) => "The record has no key.".to_owned(),
        (Some(number), _) => format!("Could not read record with version {number} from key's buffer due to: {fault}."),
        (None, _) => "Could not read version from key's buffer.".to_owned(),
    }
}

fn value_error(record_type: RecordType, version: Option<i16>, fault: &Fault) -> String {
    match (version, &fault.kind) {
        (_, FaultKind::UnknownVersion(version)) => {
            format!("Found an unknown record version {version} for {} type", record_type.number())
        }
        (Some(version), _) => {
            format!("Could not read record with version {version} from value's buffer due to: {fault}.")
        }
        (None, _) => "Could not read version from value's buffer.".to_owned(),
    }
}

/// The first offset of a segment, from its name.
fn log_start(name: &str) -> Option<i64> {
    name.split('.').next().and_then(|digits| digits.parse().ok())
}

impl Render for DumpLogText {
    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }

    fn segment(&mut self, site: &Site) {
        self.json.raw("Dumping ");
        self.json.raw(&site.path);
        self.json.raw("\n");
        if let Some(offset) = log_start(&site.segment) {
            self.name_int("Log starting offset: ", offset);
            self.json.raw("\n");
        }
    }

    /// The tool ends at the first one, or fails there, so that it only ever speaks of the end.
    fn hole(&mut self, site: &Site, hole: &Hole) {
        self.name_int("Found ", hole.length);
        self.json.raw(" invalid bytes at ");
        if hole.position + hole.length >= site.length {
            self.json.raw("the end");
        } else {
            self.name_int("position ", hole.position);
        }
        self.json.raw(" of ");
        self.json.raw(&site.segment);
        self.json.raw("\n");
    }

    fn batch(&mut self, _: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>) {
        let header = batch.header();
        match header.magic {
            2 => self.batch_head(&header),
            _ => self.name_int("offset: ", header.last_offset),
        }
        self.name_int(" position: ", batch.position());
        self.time(&header, header.max_timestamp);
        self.name_int(" size: ", batch.len());
        self.name_int(" magic: ", header.magic);
        self.codec(header.codec);
        self.name_int(" crc: ", header.crc);
        self.name_bool(" isvalid: ", crc.is_none());
        self.json.raw("\n");
    }

    fn record(&mut self, _: &Site, shown: &Shown<'_, '_>) -> Soundness {
        let offset = shown.record.offset;
        self.record_head(&shown.batch.header(), shown.record);
        let fault = match shown.subject {
            Subject::Key(key) => {
                let content = shown.content(key);
                self.data(offset, key, &content);
                shown.fault_with(&content)
            }
            Subject::BadKey { number, fault } => {
                self.bad_key(offset, *number, fault);
                shown.fault(None)
            }
            Subject::Control(control) => {
                self.control(offset, control);
                shown.fault(None)
            }
        };
        self.json.raw("\n");
        Soundness::of(&fault)
    }

    fn bad_record(&mut self, _: &Site, batch: &Batch<'_>, record: &BadRecord<'_>) {
        self.json.raw("|");
        if let Some(offset) = record.offset {
            self.name_int(" offset: ", offset);
        }
        if let Some(timestamp) = record.timestamp {
            self.time(&batch.header(), timestamp);
        }
        self.error(record.offset, &record.fault.to_string());
        self.json.raw("\n");
    }

    /// The CRC stands in the line of the batch.
    fn batch_fault(&mut self, _: &Site, _: &Batch<'_>, fault: &Fault) {
        if let FaultKind::CrcMismatch { .. } = fault.kind {
            return;
        }
        self.json.raw("|");
        self.error(None, &fault.to_string());
        self.json.raw("\n");
    }

    fn segment_end(&mut self, _: &Site) {}

    fn end(&mut self) {}

    fn where_faults_stand(&self) -> &'static str {
        "each stands in the output at its place (look for \"isvalid: false\", \"skipping.\" and \"invalid bytes\"), \
         or, where this format knows no place for it, with --format jsonl"
    }
}
