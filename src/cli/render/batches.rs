//! `dump --batches`: batch headers instead of records, as JSON, table or CSV.
//!
//! Must not know: what is selected.

use super::dump::{Render, Shown, Site, Soundness};
use super::jsonl::Framing;
use super::records::{RowFormat, Rows};
use crate::cli::time::rfc3339;
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Hole};
use serde_json::{Value, json};

/// A batch as the contract has it.
fn batch_json(site: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>) -> Value {
    let header = batch.header();
    json!({
        "partition": site.partition,
        "segment": site.segment,
        "position": batch.position(),
        "length": batch.len(),
        "magic": header.magic,
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.count,
        "codec": header.codec.name(),
        "crc": header.crc,
        "crcValid": crc.is_none(),
        "timestampType": header.timestamp_type.name(),
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "deleteHorizonMs": header.delete_horizon_ms,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "transactional": header.transactional,
        "control": header.control,
    })
}

fn hole_json(site: &Site, hole: &Hole) -> Value {
    json!({
        "partition": site.partition,
        "segment": site.segment,
        "position": hole.position,
        "hole": {
            "code": hole.fault.code(),
            "position": hole.position,
            "length": hole.length,
            "message": hole.fault.to_string(),
        },
    })
}

/// Batches as JSON.
pub struct JsonBatches {
    json: Json,
    framing: Framing,
}

impl JsonBatches {
    /// An empty output.
    pub fn new(framing: Framing) -> Self {
        let mut json = Json::new(Style::Lossless);
        if framing == Framing::Array {
            json.raw("[");
        }
        JsonBatches { json, framing }
    }

    fn object(&mut self, value: &Value) {
        self.json.raw(&value.to_string());
        self.json.raw(if self.framing == Framing::Lines { "\n" } else { "," });
    }
}

impl Render for JsonBatches {
    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }

    fn segment(&mut self, _: &Site) {}

    fn hole(&mut self, site: &Site, hole: &Hole) {
        self.object(&hole_json(site, hole));
    }

    fn batch(&mut self, site: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>) {
        self.object(&batch_json(site, batch, crc));
    }

    fn record(&mut self, _: &Site, _: &Shown<'_, '_>) -> Soundness {
        Soundness::Sound
    }
    fn bad_record(&mut self, _: &Site, _: &Batch<'_>, _: &BadRecord<'_>) {}
    fn batch_fault(&mut self, _: &Site, _: &Batch<'_>, _: &Fault) {}
    fn segment_end(&mut self, _: &Site) {}

    fn where_faults_stand(&self) -> &'static str {
        "in the output, at its place (look for \"crcValid\":false and \"hole\")"
    }

    fn end(&mut self) {
        if self.framing == Framing::Array {
            self.json.close(b']');
            self.json.raw("\n");
        }
    }
}

const CSV_HEAD: &[&str] = &[
    "partition",
    "segment",
    "position",
    "length",
    "magic",
    "baseOffset",
    "lastOffset",
    "count",
    "codec",
    "crc",
    "crcValid",
    "timestampType",
    "baseTimestamp",
    "maxTimestamp",
    "deleteHorizonMs",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "partitionLeaderEpoch",
    "transactional",
    "control",
];
const HEAD: &[&str] = &[
    "PARTITION",
    "POSITION",
    "LENGTH",
    "MAGIC",
    "OFFSETS",
    "COUNT",
    "CODEC",
    "CRC",
    "MAX TIME",
    "HORIZON",
    "PRODUCER",
    "EPOCH",
    "LEADER EPOCH",
    "KIND",
];

/// Batches as rows.
pub struct BatchRows {
    rows: Rows,
    format: RowFormat,
}

impl BatchRows {
    /// No rows yet.
    pub fn new(format: RowFormat) -> Self {
        let head = if let RowFormat::Csv = format { CSV_HEAD } else { HEAD };
        BatchRows { rows: Rows::new(head, format), format }
    }

    fn csv(&mut self, object: &Value) {
        let cells = CSV_HEAD.iter().map(|name| match object.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        self.rows.row(cells.collect());
    }

    fn text(&mut self, site: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>) {
        let header = batch.header();
        let kind = match (header.control, header.transactional, header.count) {
            (true, ..) => "control",
            (_, true, _) => "transactional",
            (_, _, 0) => "empty",
            _ => "plain",
        };
        self.rows.row(vec![
            site.partition.map_or("-".to_owned(), |n| n.to_string()),
            batch.position().to_string(),
            batch.len().to_string(),
            header.magic.to_string(),
            format!("{}..{}", header.base_offset, header.last_offset),
            if header.count < 0 { "-".to_owned() } else { header.count.to_string() },
            header.codec.name().to_owned(),
            crc.map_or("ok", |_| "BAD").to_owned(),
            rfc3339(header.max_timestamp),
            header.delete_horizon_ms.map_or("-".to_owned(), rfc3339),
            header.producer_id.to_string(),
            header.producer_epoch.to_string(),
            header.partition_leader_epoch.to_string(),
            kind.to_owned(),
        ]);
    }
}

impl Render for BatchRows {
    fn buffer(&mut self) -> &mut Json {
        self.rows.buffer()
    }

    fn segment(&mut self, _: &Site) {}

    fn hole(&mut self, site: &Site, hole: &Hole) {
        if let RowFormat::Csv = self.format {
            let mut object = hole_json(site, hole);
            object["length"] = json!(hole.length);
            object["codec"] = json!(hole.fault.code());
            self.csv(&object);
            return;
        }
        let mut cells = vec![String::new(); HEAD.len()];
        let known = [
            (0, site.partition.map_or("-".to_owned(), |n| n.to_string())),
            (1, hole.position.to_string()),
            (2, hole.length.to_string()),
            (13, format!("hole: {}", hole.fault)),
        ];
        for (i, text) in known {
            if let Some(cell) = cells.get_mut(i) {
                *cell = text;
            }
        }
        self.rows.row(cells);
    }

    fn batch(&mut self, site: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>) {
        match self.format {
            RowFormat::Csv => self.csv(&batch_json(site, batch, crc)),
            RowFormat::Text(_) => self.text(site, batch, crc),
        }
    }

    fn record(&mut self, _: &Site, _: &Shown<'_, '_>) -> Soundness {
        Soundness::Sound
    }
    fn bad_record(&mut self, _: &Site, _: &Batch<'_>, _: &BadRecord<'_>) {}
    fn batch_fault(&mut self, _: &Site, _: &Batch<'_>, _: &Fault) {}
    fn segment_end(&mut self, _: &Site) {}

    fn where_faults_stand(&self) -> &'static str {
        match self.format {
            RowFormat::Csv => "in the output, at its place (look for crcValid false, and for lines without a magic)",
            RowFormat::Text(_) => "in the output, at its place (look for BAD under CRC, and for holes)",
        }
    }

    fn end(&mut self) {
        self.rows.end();
    }
}
