//! `dump` of the files beside the segments: what an entry's fields are called, and the formats but Kafka's own.
//!
//! Must not know: which files are shown.

use super::jsonl::Framing;
use super::name::visible;
use super::records::{RowFormat, Rows};
use super::table::{Looks, csv_line};
use crate::cli::time::rfc3339;
use crate::json::{Json, Style};
use crate::log::side_file::{SideContent, SideFault, SideFile, SideKind};
use crate::words::counted;

/// A file, and where it lies.
pub struct Shown {
    /// The partition of `__consumer_offsets`, if it is known.
    pub partition: Option<i32>,
    /// As the user gave it, or as it follows from that.
    pub path: String,
    /// Without its folder.
    pub name: String,
    /// What stands in it.
    pub file: SideFile,
}

/// What a format has to do.
pub trait RenderSide {
    /// Shows a file: all its entries, or the first ones.
    fn file(&mut self, shown: &Shown, limit: u64);
    /// Ends the output.
    fn end(&mut self) {}
    /// Where text that is ready to go out is collected.
    fn buffer(&mut self) -> &mut Json;
}

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// A number.
    Int(i64),
    /// In ms since 1970.
    Time(i64),
    /// Words.
    Text(String),
    /// There is none.
    Null,
}

impl Field {
    fn or_null(n: i64, none: i64) -> Field {
        if n == none { Field::Null } else { Field::Int(n) }
    }

    fn json(&self, json: &mut Json) {
        match self {
            Field::Int(n) | Field::Time(n) => json.int(*n),
            Field::Text(text) => json.string(text.as_bytes()),
            Field::Null => json.raw("null"),
        }
    }

    fn plain(&self) -> String {
        match self {
            Field::Int(n) | Field::Time(n) => n.to_string(),
            Field::Text(text) => text.clone(),
            Field::Null => String::new(),
        }
    }

    fn for_people(&self) -> String {
        match self {
            Field::Int(n) => n.to_string(),
            Field::Time(ms) => rfc3339(*ms),
            Field::Text(text) => visible(text.as_bytes()),
            Field::Null => "-".to_owned(),
        }
    }
}

/// What the entries of a kind of file are called, and their fields: in JSON, and above a table. Kafka's names, where it
/// has any.
struct Kind {
    what: &'static str,
    entry: &'static str,
    fields: &'static [&'static str],
    head: &'static [&'static str],
    /// Under what the fields stand in CSV, where that is not their name.
    csv: &'static [(&'static str, &'static str)],
}

const OFFSET_INDEX: Kind = Kind {
    what: "offset index",
    entry: "index",
    fields: &["offset", "position"],
    head: &["AT", "OFFSET", "POSITION"],
    csv: &[("position", "segmentPosition")],
};
const TIME_INDEX: Kind = Kind {
    what: "time index",
    entry: "timeIndex",
    fields: &["timestamp", "offset"],
    head: &["AT", "TIMESTAMP", "OFFSET"],
    csv: &[],
};
const TXN_INDEX: Kind = Kind {
    what: "transaction index",
    entry: "txnIndex",
    fields: &["version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"],
    head: &["AT", "VERSION", "PRODUCER-ID", "FIRST-OFFSET", "LAST-OFFSET", "LAST-STABLE-OFFSET"],
    csv: &[],
};
const SNAPSHOT: Kind = Kind {
    what: "producer state snapshot",
    entry: "producer",
    fields: &[
        "producerId",
        "producerEpoch",
        "coordinatorEpoch",
        "currentTxnFirstOffset",
        "firstSequence",
        "lastSequence",
        "lastOffset",
        "offsetDelta",
        "timestamp",
    ],
    head: &[
        "AT",
        "PRODUCER-ID",
        "EPOCH",
        "COORDINATOR-EPOCH",
        "TXN-FIRST-OFFSET",
        "FIRST-SEQUENCE",
        "LAST-SEQUENCE",
        "LAST-OFFSET",
        "OFFSET-DELTA",
        "TIMESTAMP",
    ],
    csv: &[],
};
const LEADER_EPOCHS: Kind = Kind {
    what: "leader epochs",
    entry: "leaderEpoch",
    fields: &["epoch", "startOffset"],
    head: &["AT", "EPOCH", "START-OFFSET"],
    csv: &[("epoch", "leaderEpoch")],
};
const OFFSETS: Kind = Kind {
    what: "checkpoint",
    entry: "checkpoint",
    fields: &["topic", "partition", "offset"],
    head: &["AT", "TOPIC", "PARTITION", "OFFSET"],
    csv: &[("partition", "topicPartition")],
};
const METADATA: Kind = Kind {
    what: "partition metadata",
    entry: "partitionMetadata",
    fields: &["version", "topicId"],
    head: &["AT", "VERSION", "TOPIC-ID"],
    csv: &[],
};
const PROPERTIES: Kind = Kind {
    what: "properties",
    entry: "property",
    fields: &["name", "value"],
    head: &["AT", "NAME", "VALUE"],
    csv: &[],
};

fn kind(kind: SideKind) -> &'static Kind {
    match kind {
        SideKind::OffsetIndex(_) => &OFFSET_INDEX,
        SideKind::TimeIndex(_) => &TIME_INDEX,
        SideKind::TxnIndex(_) => &TXN_INDEX,
        SideKind::Snapshot(_) => &SNAPSHOT,
        SideKind::LeaderEpochs => &LEADER_EPOCHS,
        SideKind::Offsets => &OFFSETS,
        SideKind::PartitionMetadata => &METADATA,
        SideKind::Properties => &PROPERTIES,
    }
}

/// The fields of an entry, in the order of its kind's.
fn fields(file: &SideFile, i: usize) -> Vec<Field> {
    let int = |n: i32| Field::Int(i64::from(n));
    let found = match &file.content {
        SideContent::OffsetIndex(index) => {
            index.entries.get(i).map(|it| vec![Field::Int(it.offset), Field::Int(it.position.into())])
        }
        SideContent::TimeIndex(index) => {
            index.entries.get(i).map(|it| vec![Field::Time(it.timestamp), Field::Int(it.offset)])
        }
        SideContent::TxnIndex(index) => index.entries.get(i).map(|it| {
            let offsets = [it.producer_id, it.first_offset, it.last_offset, it.last_stable_offset];
            std::iter::once(int(it.version.into())).chain(offsets.map(Field::Int)).collect()
        }),
        SideContent::Snapshot(snapshot) => snapshot.entries.get(i).map(|it| {
            vec![
                Field::Int(it.producer_id),
                int(it.producer_epoch.into()),
                int(it.coordinator_epoch),
                Field::or_null(it.current_txn_first_offset, -1),
                Field::or_null(it.first_sequence().into(), -1),
                Field::or_null(it.last_sequence.into(), -1),
                Field::or_null(it.last_offset, -1),
                int(it.offset_delta),
                Field::Time(it.timestamp),
            ]
        }),
        SideContent::LeaderEpochs(epochs) => {
            epochs.entries.get(i).map(|it| vec![int(it.epoch), Field::Int(it.start_offset)])
        }
        SideContent::Offsets(offsets) => offsets
            .entries
            .get(i)
            .map(|it| vec![Field::Text(it.topic.clone()), int(it.partition), Field::Int(it.offset)]),
        SideContent::PartitionMetadata(metadata) => {
            let id = metadata.topic_id.map_or(Field::Null, |id| Field::Text(uuid(&id)));
            Some(vec![metadata.version.map_or(Field::Null, int), id])
        }
        SideContent::Properties(properties) => {
            properties.get(i).map(|(name, value)| vec![Field::Text(name.clone()), Field::Text(value.clone())])
        }
    };
    found.unwrap_or_default()
}

fn uuid(id: &[u8; 16]) -> String {
    let mut json = Json::new(Style::Lossless);
    json.uuid(id);
    String::from_utf8_lossy(json.bytes()).trim_matches('"').to_owned()
}

fn shown_entries(file: &SideFile, limit: u64) -> impl Iterator<Item = (u64, Vec<Field>)> {
    let count = file.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
    (0..count).map(|i| (file.position(i), fields(file, i)))
}

/// One object an entry, a stretch of padding, or a fault.
pub struct SideJson {
    json: Json,
    framing: Framing,
    /// What stands in front of the next object: pieces go out as they are, and take no comma back.
    before: &'static str,
}

impl SideJson {
    /// An empty output.
    pub fn new(framing: Framing) -> Self {
        let mut json = Json::new(Style::Lossless);
        if framing == Framing::Array {
            json.raw("[");
        }
        SideJson { json, framing, before: "" }
    }

    fn head(&mut self, shown: &Shown, position: u64) {
        self.json.raw(self.before);
        self.json.raw("{\"partition\":");
        match shown.partition {
            Some(partition) => self.json.int(partition),
            None => self.json.raw("null"),
        }
        self.json.raw(",\"file\":");
        self.json.string(shown.name.as_bytes());
        self.json.raw(",\"position\":");
        self.json.int(position);
        self.json.raw(",\"");
    }

    fn close(&mut self) {
        self.json.raw(if self.framing == Framing::Lines { "}}\n" } else { "}}" });
        self.before = if self.framing == Framing::Lines { "" } else { ",\n" };
    }

    fn entry(&mut self, shown: &Shown, position: u64, fields: &[Field]) {
        let kind = kind(shown.file.kind);
        self.head(shown, position);
        self.json.raw(kind.entry);
        self.json.raw("\":{");
        for (i, (name, field)) in kind.fields.iter().zip(fields).enumerate() {
            self.json.raw(if i == 0 { "\"" } else { ",\"" });
            self.json.raw(name);
            self.json.raw("\":");
            field.json(&mut self.json);
        }
        self.close();
    }

    fn padding(&mut self, shown: &Shown) {
        self.head(shown, shown.file.position(shown.file.len()));
        self.json.raw_int("padding\":{\"length\":", shown.file.padding());
        self.close();
    }

    fn fault(&mut self, shown: &Shown, fault: &SideFault) {
        self.head(shown, fault.at);
        self.json.raw("fault\":{\"code\":\"");
        self.json.raw(fault.code);
        self.json.raw_int("\",\"at\":", fault.at);
        self.json.raw(",\"message\":");
        self.json.string(fault.message.as_bytes());
        self.close();
    }
}

impl RenderSide for SideJson {
    fn file(&mut self, shown: &Shown, limit: u64) {
        for (position, fields) in shown_entries(&shown.file, limit) {
            self.entry(shown, position, &fields);
        }
        if shown.file.padding() > 0 && limit > shown.file.len() as u64 {
            self.padding(shown);
        }
        for fault in &shown.file.faults {
            self.fault(shown, fault);
        }
    }

    fn end(&mut self) {
        if self.framing == Framing::Array {
            self.json.raw("]\n");
        }
    }

    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }
}

/// A table a file, under a line that says what the file is.
pub struct SideTables {
    json: Json,
    looks: Looks,
    files: usize,
}

impl SideTables {
    /// An empty output.
    pub fn new(looks: Looks) -> Self {
        SideTables { json: Json::new(Style::Lossless), looks, files: 0 }
    }

    fn line(&mut self, text: &str) {
        self.json.raw(text);
        self.json.raw("\n");
    }
}

impl RenderSide for SideTables {
    fn file(&mut self, shown: &Shown, limit: u64) {
        let (file, kind) = (&shown.file, kind(shown.file.kind));
        if self.files > 0 {
            self.line("");
        }
        self.files += 1;
        let count = match file.len() {
            1 => "1 entry".to_owned(),
            n => format!("{n} entries"),
        };
        let zeros = match file.padding() {
            0 => String::new(),
            n => format!(", then {} of zeros, not trimmed", counted(n, "byte")),
        };
        self.line(&format!("{}: {}, {count}{zeros}", visible(shown.path.as_bytes()), kind.what));
        let mut rows = Rows::new(kind.head, RowFormat::Text(self.looks));
        for (position, fields) in shown_entries(file, limit) {
            rows.row(std::iter::once(position.to_string()).chain(fields.iter().map(Field::for_people)).collect());
        }
        rows.end();
        self.json.append(rows.buffer());
        for fault in &file.faults {
            self.line(&format!("FAULT at byte {}: {}", fault.at, fault.message));
        }
    }

    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }
}

/// The fields of all kinds, each where its kind has it.
const CSV_HEAD: &[&str] = &[
    "partition",
    "file",
    "position",
    "entry",
    "offset",
    "segmentPosition",
    "timestamp",
    "version",
    "producerId",
    "producerEpoch",
    "coordinatorEpoch",
    "currentTxnFirstOffset",
    "firstSequence",
    "lastSequence",
    "offsetDelta",
    "firstOffset",
    "lastOffset",
    "lastStableOffset",
    "leaderEpoch",
    "startOffset",
    "topic",
    "topicPartition",
    "topicId",
    "name",
    "value",
    "fault",
];

/// A row an entry, a stretch of padding, or a fault.
pub struct SideCsv {
    json: Json,
}

impl SideCsv {
    /// The header line.
    pub fn new() -> Self {
        let mut csv = SideCsv { json: Json::new(Style::Lossless) };
        csv.line(CSV_HEAD.iter().copied());
        csv
    }

    fn line<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        let mut line = String::new();
        csv_line(&mut line, cells);
        self.json.raw(&line);
    }

    fn row(&mut self, shown: &Shown, position: u64, entry: &str, cells: &[(&str, String)]) {
        let partition = shown.partition.map_or(String::new(), |partition| partition.to_string());
        let position = position.to_string();
        let cell = |name: &str| cells.iter().find(|(column, _)| *column == name).map_or("", |(_, cell)| cell.as_str());
        let row: Vec<_> = CSV_HEAD
            .iter()
            .map(|name| match *name {
                "partition" => partition.as_str(),
                "file" => &shown.name,
                "position" => &position,
                "entry" => entry,
                name => cell(name),
            })
            .collect();
        self.line(row.into_iter());
    }
}

impl Default for SideCsv {
    fn default() -> Self {
        SideCsv::new()
    }
}

impl RenderSide for SideCsv {
    fn file(&mut self, shown: &Shown, limit: u64) {
        let kind = kind(shown.file.kind);
        let column = |name: &'static str| {
            let other = kind.csv.iter().find(|(field, _)| *field == name);
            other.map_or(name, |(_, column)| column)
        };
        for (position, fields) in shown_entries(&shown.file, limit) {
            let cells = kind.fields.iter().zip(&fields).map(|(name, field)| (column(name), field.plain()));
            self.row(shown, position, kind.entry, &cells.collect::<Vec<_>>());
        }
        if shown.file.padding() > 0 && limit > shown.file.len() as u64 {
            let length = shown.file.padding().to_string();
            self.row(shown, shown.file.position(shown.file.len()), "padding", &[("value", length)]);
        }
        for fault in &shown.file.faults {
            self.row(shown, fault.at, "fault", &[("fault", format!("{}: {}", fault.code, fault.message))]);
        }
    }

    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }
}
