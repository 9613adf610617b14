//! `dump --format table` and `csv`: a row a record.
//!
//! Must not know: what is selected. A table is laid out a thousand rows at a time, so that a long log needs no memory.

use super::dump::{Piece, Render, Shown, Site, Soundness};
use super::jsonl::RawBytes;
use super::name::{lossless, visible};
use super::table::{Looks, Table, csv_line};
use crate::cli::time::rfc3339;
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Control, Hole};
use crate::model::event::{Content, Subject};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Rows that are laid out together.
const BLOCK: usize = 1000;

/// Text for people or CSV for programs.
#[derive(Debug, Clone, Copy)]
pub enum RowFormat {
    /// A table.
    Text(Looks),
    /// Comma-separated values.
    Csv,
}

/// Rows that go out in blocks.
pub struct Rows {
    json: Json,
    format: RowFormat,
    head: &'static [&'static str],
    table: Table,
}

impl Rows {
    /// No rows yet.
    pub fn new(head: &'static [&'static str], format: RowFormat) -> Self {
        let mut json = Json::new(Style::Lossless);
        if let RowFormat::Csv = format {
            let mut line = String::new();
            csv_line(&mut line, head.iter().copied());
            json.raw(&line);
        }
        Rows { json, format, head, table: Table::new(head) }
    }

    /// Where text that is ready to go out is collected.
    pub fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        if let RowFormat::Csv = self.format {
            let mut line = String::new();
            csv_line(&mut line, cells.iter().map(String::as_str));
            self.json.raw(&line);
            return;
        }
        self.table.row(cells);
        if self.table.len() == BLOCK {
            self.end();
        }
    }

    /// Lays out the rows that wait.
    pub fn end(&mut self) {
        if let RowFormat::Text(looks) = self.format {
            if !self.table.is_empty() {
                self.json.raw(&self.table.text(looks));
            }
            self.table = Table::new(self.head);
        }
    }
}

const HEAD: &[&str] = &["PARTITION", "OFFSET", "TIME", "TYPE", "GROUP", "KEY", "VALUE", "FAULT"];
const CSV_HEAD: &[&str] = &[
    "partition",
    "segment",
    "position",
    "offset",
    "timestamp",
    "type",
    "group",
    "topic",
    "topicPartition",
    "member",
    "version",
    "value",
    "producerId",
    "producerEpoch",
    "fault",
    "keyRaw",
    "valueRaw",
];

/// Records as rows.
pub struct RecordRows {
    rows: Rows,
    raw: RawBytes,
}

impl RecordRows {
    /// No rows yet.
    pub fn new(format: RowFormat, raw: RawBytes) -> Self {
        let head = if let RowFormat::Csv = format { CSV_HEAD } else { HEAD };
        RecordRows { rows: Rows::new(head, format), raw }
    }

    fn is_csv(&self) -> bool {
        matches!(self.rows.format, RowFormat::Csv)
    }

    fn text_row(&mut self, site: &Site, offset: Option<i64>, time: Option<i64>, cells: &Cells, fault: String) {
        self.rows.row(vec![
            number(site.partition),
            number(offset),
            time.map_or("-".to_owned(), rfc3339),
            cells.what.clone(),
            cells.group.as_deref().map_or("-".to_owned(), visible),
            cells.detail.clone(),
            cells.value.clone(),
            fault,
        ]);
    }

    fn csv_row(
        &mut self,
        site: &Site,
        batch: &Batch<'_>,
        place: (Option<i64>, Option<i64>),
        cells: &Cells,
        end: [String; 3],
    ) {
        let plain = |text: &Option<Vec<u8>>| text.as_deref().map_or(String::new(), lossless);
        let header = batch.header();
        let [fault, key, value] = end;
        self.rows.row(vec![
            csv_number(site.partition),
            site.segment.clone(),
            batch.position().to_string(),
            csv_number(place.0),
            csv_number(place.1),
            cells.what.clone(),
            plain(&cells.group),
            plain(&cells.topic),
            csv_number(cells.topic_partition),
            plain(&cells.member),
            csv_number(cells.version),
            cells.value.clone(),
            header.producer_id.to_string(),
            header.producer_epoch.to_string(),
            fault,
            key,
            value,
        ]);
    }
}

fn number(n: Option<impl ToString>) -> String {
    n.map_or("-".to_owned(), |n| n.to_string())
}

fn csv_number(n: Option<impl ToString>) -> String {
    n.map_or(String::new(), |n| n.to_string())
}

fn fault_text(piece: Piece, fault: &Fault) -> String {
    format!("{} in {}", fault.kind.code(), piece.name())
}

/// The cells of a record that both formats show.
#[derive(Default)]
struct Cells {
    what: String,
    group: Option<Vec<u8>>,
    topic: Option<Vec<u8>>,
    topic_partition: Option<i32>,
    member: Option<Vec<u8>>,
    version: Option<i16>,
    detail: String,
    value: String,
}

impl Cells {
    fn of(batch: &Batch<'_>, subject: &Subject<'_>, content: Option<&Content<'_>>) -> Self {
        match subject {
            Subject::Key(key) => {
                let topic = key.topic_partition();
                let detail = match (topic, key.member()) {
                    (Some((topic, partition)), _) => format!("{}-{partition}", visible(topic)),
                    (None, member) => member.map_or(String::new(), visible),
                };
                let (version, value) = content.map(content_cell).unwrap_or_default();
                Cells {
                    what: format!("{} {}", key.record_type.number(), key.record_type.name()),
                    group: Some(key.group().to_vec()),
                    topic: topic.map(|(topic, _)| topic.to_vec()),
                    topic_partition: topic.map(|(_, partition)| partition),
                    member: key.member().map(<[u8]>::to_vec),
                    version,
                    detail,
                    value,
                }
            }
            Subject::BadKey { number, .. } => {
                Cells { what: number.map_or("?".to_owned(), |number| format!("{number} ?")), ..Cells::default() }
            }
            Subject::Control(control) => Cells {
                what: control.as_ref().map_or("CONTROL ?", Control::name).to_owned(),
                value: format!("producer {} epoch {}", batch.header().producer_id, batch.header().producer_epoch),
                ..Cells::default()
            },
        }
    }
}

fn content_cell(content: &Content<'_>) -> (Option<i16>, String) {
    match content {
        Content::Tombstone => (None, "<tombstone>".to_owned()),
        Content::Bad { version, .. } => (*version, "?".to_owned()),
        Content::Value(value) => {
            let mut json = Json::default();
            value.data.json(&mut json, value.version);
            (Some(value.version), String::from_utf8_lossy(json.bytes()).into_owned())
        }
    }
}

impl Render for RecordRows {
    fn buffer(&mut self) -> &mut Json {
        self.rows.buffer()
    }

    fn segment(&mut self, _: &Site) {}

    fn hole(&mut self, site: &Site, hole: &Hole) {
        let fault = format!("{} ({})", hole.fault.code(), hole.fault);
        let mut cells = vec![String::new(); if self.is_csv() { CSV_HEAD.len() } else { HEAD.len() }];
        let what = format!("hole of {} bytes at {}", hole.length, hole.position);
        let places: &[(usize, String)] = &if self.is_csv() {
            vec![
                (0, csv_number(site.partition)),
                (1, site.segment.clone()),
                (2, hole.position.to_string()),
                (5, "hole".to_owned()),
                (11, what),
                (14, fault),
            ]
        } else {
            vec![
                (0, number(site.partition)),
                (1, number(hole.base_offset)),
                (3, "hole".to_owned()),
                (6, what),
                (7, fault),
            ]
        };
        for (i, text) in places {
            if let Some(cell) = cells.get_mut(*i) {
                cell.clone_from(text);
            }
        }
        self.rows.row(cells);
    }

    fn batch(&mut self, _: &Site, _: &Batch<'_>, _: Option<&FaultKind>) {}

    fn record(&mut self, site: &Site, shown: &Shown<'_, '_>) -> Soundness {
        let content = if let Subject::Key(key) = shown.subject { Some(shown.content(key)) } else { None };
        let fault = content.as_ref().map_or_else(|| shown.fault(None), |content| shown.fault_with(content));
        let cells = Cells::of(shown.batch, shown.subject, content.as_ref());
        let record = shown.record;
        let text = fault.as_ref().map_or(String::new(), |(piece, fault)| fault_text(*piece, fault));
        if self.is_csv() {
            let bytes = |bytes: Option<&[u8]>| match self.raw {
                RawBytes::Shown => bytes.map_or(String::new(), |bytes| STANDARD.encode(bytes)),
                RawBytes::Hidden => String::new(),
            };
            let end = [text, bytes(record.key), bytes(record.value)];
            self.csv_row(site, shown.batch, (Some(record.offset), Some(record.timestamp)), &cells, end);
        } else {
            self.text_row(site, Some(record.offset), Some(record.timestamp), &cells, text);
        }
        Soundness::of(&fault)
    }

    fn bad_record(&mut self, site: &Site, batch: &Batch<'_>, record: &BadRecord<'_>) {
        let cells = Cells { what: "bad record".to_owned(), ..Cells::default() };
        let fault = fault_text(Piece::Batch, &record.fault);
        if self.is_csv() {
            let end = [fault, String::new(), String::new()];
            self.csv_row(site, batch, (record.offset, record.timestamp), &cells, end);
        } else {
            self.text_row(site, record.offset, record.timestamp, &cells, fault);
        }
    }

    fn batch_fault(&mut self, site: &Site, batch: &Batch<'_>, fault: &Fault) {
        let header = batch.header();
        let value = format!("offsets {} to {}, {} bytes", header.base_offset, header.last_offset, batch.len());
        let cells = Cells { what: "bad batch".to_owned(), value, ..Cells::default() };
        let text = format!("{} ({})", fault.kind.code(), fault.kind);
        if self.is_csv() {
            self.csv_row(site, batch, (Some(header.base_offset), None), &cells, [text, String::new(), String::new()]);
        } else {
            self.text_row(site, Some(header.base_offset), None, &cells, text);
        }
    }

    fn segment_end(&mut self, _: &Site) {}

    fn end(&mut self) {
        self.rows.end();
    }
}
