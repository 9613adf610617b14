//! `info`: partitions and what they hold, as a table, a block of lines for one, CSV; [`super::info_json`] has the JSON.
//!
//! Must not know: how it was found.

use super::name::visible_path;
use super::table::{Looks, Table, csv_line};
use crate::cli::input::{Partition, left_out_reason};
use crate::cli::time::rfc3339;
use crate::json::Json;
use crate::log::Inventory;
use crate::log::codec::Codec;
use crate::log::dir::{OtherFile, OtherKind, Variant};
use crate::log::inventory::{Count, Producer, SegmentSum};
use crate::log::log_dir::{CheckpointKind, Lock, LogDirFiles};
use crate::words::counted;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How many producers are named.
const PRODUCERS_NAMED: usize = 10;

/// A partition and what was found in it and around it.
pub struct Found {
    /// Which.
    pub partition: Partition,
    /// What its segments hold.
    pub inventory: Inventory,
    /// What stands around it; None where it lies in no log dir.
    pub log_dir: Option<Rc<LogDirFiles>>,
    /// From `partition.metadata`.
    pub topic_id: Option<[u8; 16]>,
}

impl Found {
    fn number(&self) -> String {
        number_or_dash(self.partition.number)
    }

    /// What a checkpoint of the log dir says; nothing of copies on their way in or out, which it does not mean.
    pub(super) fn checkpoint(&self, kind: CheckpointKind) -> Option<i64> {
        if self.partition.dir.as_ref().is_some_and(|dir| dir.variant != Variant::Normal) {
            return None;
        }
        self.log_dir.as_ref()?.offset(kind, self.partition.number?)
    }

    pub(super) fn producers(&self) -> (Vec<Producer>, u64) {
        let mut producers = self.inventory.producers();
        let count = producers.len() as u64;
        producers.truncate(PRODUCERS_NAMED);
        (producers, count)
    }

    pub(super) fn topic_id(&self) -> Option<String> {
        self.topic_id.map(|id| URL_SAFE_NO_PAD.encode(id))
    }
}

fn number_or_dash<T: ToString>(number: Option<T>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn time_or_dash(time: Option<i64>) -> String {
    time.map_or_else(|| "-".to_owned(), rfc3339)
}

fn codec_name(codec: Codec) -> String {
    match codec {
        Codec::Unknown(number) => format!("unknown ({number})"),
        codec => codec.name().to_owned(),
    }
}

/// A single partition in full, several as lines of a table.
pub fn table(found: &[Found], looks: Looks, out: &mut Json) {
    match found {
        [] => {}
        [one] => block(one, looks, out),
        several => rows(several, looks, out),
    }
}

const HEAD: [&str; 13] = [
    "PARTITION",
    "SEGMENTS",
    "BYTES",
    "FIRST",
    "END",
    "BATCHES",
    "RECORDS",
    "FIRST TIME",
    "LAST TIME",
    "CODECS",
    "MAGIC",
    "HOLES",
    "PATH",
];

fn rows(found: &[Found], looks: Looks, out: &mut Json) {
    // Where the number alone does not tell which is meant, the path does.
    let numbers: BTreeSet<_> = found.iter().map(|each| each.partition.number).collect();
    let columns = if numbers.len() == found.len() { HEAD.len() - 1 } else { HEAD.len() };
    let mut table = Table::new(HEAD.get(..columns).unwrap_or(&HEAD));
    let mut row = |mut cells: Vec<String>| {
        cells.truncate(columns);
        table.row(cells);
    };
    let (mut segments, mut bytes, mut batches, mut records, mut uncounted, mut holes) = (0, 0, 0, 0, 0, 0);
    for each in found {
        let inventory = &each.inventory;
        let times = inventory.times();
        let damage = inventory.damage().number;
        segments += inventory.segments().len();
        bytes += inventory.bytes();
        batches += inventory.batches().number;
        records += inventory.records();
        uncounted += inventory.uncounted();
        holes += damage;
        row(vec![
            each.number(),
            inventory.segments().len().to_string(),
            inventory.bytes().to_string(),
            number_or_dash(inventory.first_offset()),
            number_or_dash(inventory.end_offset()),
            inventory.batches().number.to_string(),
            at_least(inventory.records(), inventory.uncounted()),
            time_or_dash(times.first()),
            time_or_dash(times.last()),
            list(inventory.codecs().iter().map(|(codec, _)| codec_name(*codec))),
            list(inventory.magics().iter().map(|(magic, _)| magic.to_string())),
            damage.to_string(),
            visible_path(each.partition.path()),
        ]);
    }
    let firsts = found.iter().filter_map(|each| each.inventory.times().first());
    let lasts = found.iter().filter_map(|each| each.inventory.times().last());
    row(vec![
        format!("all {}", found.len()),
        segments.to_string(),
        bytes.to_string(),
        "-".to_owned(),
        "-".to_owned(),
        batches.to_string(),
        at_least(records, uncounted),
        time_or_dash(firsts.min()),
        time_or_dash(lasts.max()),
        String::new(),
        String::new(),
        holes.to_string(),
        String::new(),
    ]);
    out.raw(&table.text(looks));
    if uncounted > 0 {
        out.raw("\n+  and those in compressed batches of magic 0 or 1, whose heads do not say how many\n");
    }
    for log_dir in log_dirs(found) {
        out.raw(&format!("\nlog dir  {}: {}\n", visible_path(&log_dir.path), log_dir_words(log_dir)));
    }
}

fn log_dirs(found: &[Found]) -> Vec<&Rc<LogDirFiles>> {
    let mut all: Vec<&Rc<LogDirFiles>> = Vec::new();
    for log_dir in found.iter().filter_map(|each| each.log_dir.as_ref()) {
        if !all.iter().any(|known| known.path == log_dir.path) {
            all.push(log_dir);
        }
    }
    all
}

/// A number of records that is the least there can be where some batches do not say how many they hold.
fn at_least(records: u64, uncounted: u64) -> String {
    if uncounted == 0 { records.to_string() } else { format!("{records}+") }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}

/// One partition, a fact a line.
fn block(found: &Found, looks: Looks, out: &mut Json) {
    let inventory = &found.inventory;
    let mut line = |name: &str, text: String| out.raw(&format!("{name:<15}  {text}\n"));
    line("partition", found.number());
    line("path", visible_path(found.partition.path()));
    if let Some(id) = found.topic_id() {
        line("topic id", id);
    }
    line("size", format!("{} in {}", size(inventory.bytes()), counted(inventory.segments().len() as u64, "segment")));
    let offset = |offset: Option<i64>| offset.map_or_else(|| "unknown".to_owned(), |offset| offset.to_string());
    line("offsets", format!("first {}, log end {}", offset(inventory.first_offset()), offset(inventory.end_offset())));
    line("times", times(inventory));
    line("batches", batches(inventory));
    line("records", records(inventory));
    line("codecs", shares(inventory.codecs().into_iter().map(|(codec, count)| (codec_name(codec), count))));
    line("magic", shares(inventory.magics().into_iter().map(|(magic, count)| (magic.to_string(), count))));
    line(
        "timestamps",
        shares(inventory.timestamp_types().into_iter().map(|(kind, count)| (kind.name().to_owned(), count))),
    );
    line("producers", producers(found));
    line("leader epochs", epochs(inventory));
    line("holes", holes(inventory));
    if let Some(log_dir) = &found.log_dir {
        line("checkpoints", checkpoints(found));
        line("log dir", format!("{}: {}", visible_path(&log_dir.path), log_dir_words(log_dir)));
    }
    if let Some(dir) = &found.partition.dir {
        line("other files", other_files(&found.partition));
        for left_out in &dir.left_out {
            let (name, len) = (&left_out.file.name, left_out.file.len);
            line("left out", format!("{name}, {len} bytes: {}", left_out_reason(left_out)));
        }
        for other in dir.others.iter().filter(|other| is_odd(other)) {
            line("unusual file", odd_words(other));
        }
    }
    if inventory.segments().len() > 1 {
        out.raw("\n");
        out.raw(&segments(inventory.segments()).text(looks));
    }
}

fn is_odd(other: &OtherFile) -> bool {
    !other.is_file() || matches!(other.kind, OtherKind::Leftover | OtherKind::Folder | OtherKind::Unknown)
}

fn odd_words(other: &OtherFile) -> String {
    match other.is_file() {
        true => format!("{}, {} bytes", other.name, other.len),
        false => format!("{}: {}", other.name, other.shape.words()),
    }
}

/// Bytes, and what that is in units where it helps.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit.is_empty() { counted(bytes, "byte") } else { format!("{bytes} bytes ({value:.1} {unit})") }
}

fn times(inventory: &Inventory) -> String {
    match (inventory.times().first(), inventory.times().last()) {
        (Some(first), Some(last)) => format!("{} to {}", rfc3339(first), rfc3339(last)),
        (None, Some(last)) | (Some(last), None) => rfc3339(last),
        (None, None) => "none".to_owned(),
    }
}

fn batches(inventory: &Inventory) -> String {
    let kinds = [
        ("transactional", inventory.transactional().number),
        ("control", inventory.control().number),
        ("empty (left by the cleaner)", inventory.empty()),
        ("with a delete horizon", inventory.with_horizon().number),
    ];
    let kinds: Vec<_> =
        kinds.iter().filter(|(_, number)| *number > 0).map(|(kind, number)| format!("{number} {kind}")).collect();
    let of_which = if kinds.is_empty() { String::new() } else { format!(", of these {}", kinds.join(", ")) };
    format!("{}{of_which}", inventory.batches().number)
}

fn records(inventory: &Inventory) -> String {
    let records = inventory.records();
    match inventory.uncounted() {
        0 => records.to_string(),
        n => {
            let batches = counted(n, "compressed batch");
            format!("{records}, and those in {batches} of magic 0 or 1, whose heads do not say how many")
        }
    }
}

fn shares(counts: impl Iterator<Item = (String, Count)>) -> String {
    let words = |(name, count): (String, Count)| {
        format!("{name}: {}, {}", counted(count.number, "batch"), counted(count.bytes, "byte"))
    };
    let all: Vec<_> = counts.map(words).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn producers(found: &Found) -> String {
    let (named, count) = found.producers();
    if count == 0 {
        return "none with an id".to_owned();
    }
    let ids: Vec<_> = named.iter().map(|one| format!("{} ({})", one.id, counted(one.count.bytes, "byte"))).collect();
    let more = if found.inventory.more_producers().number > 0 { "at least " } else { "" };
    let most = if count > named.len() as u64 { "; most bytes: " } else { ": " };
    format!("{more}{count}{most}{}", ids.join(", "))
}

fn epochs(inventory: &Inventory) -> String {
    let epochs = inventory.leader_epochs();
    let shown: Vec<_> =
        epochs.iter().take(10).map(|each| format!("{} from offset {}", each.epoch, each.start_offset)).collect();
    match epochs.len() {
        0 => "none".to_owned(),
        n if n > shown.len() => format!("{}, and {} more changes", shown.join(", "), n - shown.len()),
        _ => shown.join(", "),
    }
}

fn holes(inventory: &Inventory) -> String {
    let words = |(code, count): (&&str, &Count)| format!("{} {code}, {}", count.number, counted(count.bytes, "byte"));
    let all: Vec<_> = inventory.holes().iter().map(words).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn checkpoints(found: &Found) -> String {
    let known = |(name, kind): (&str, CheckpointKind)| Some(format!("{name} {}", found.checkpoint(kind)?));
    let kinds = [
        ("high watermark", CheckpointKind::HighWatermark),
        ("recovery point", CheckpointKind::RecoveryPoint),
        ("log start", CheckpointKind::LogStart),
        ("cleaned up to", CheckpointKind::Cleaner),
    ];
    let all: Vec<_> = kinds.into_iter().filter_map(known).collect();
    if all.is_empty() { "none names this partition".to_owned() } else { all.join(", ") }
}

fn log_dir_words(log_dir: &LogDirFiles) -> String {
    let mut words = Vec::new();
    if let Some(meta) = &log_dir.meta {
        words.extend(meta.node_id.map(|id| format!("broker {id}")));
        words.extend(meta.cluster_id.as_ref().map(|id| format!("cluster {id}")));
    }
    words.push(match (log_dir.lock, log_dir.stopped_cleanly) {
        (Lock::Held { pid: Some(pid) }, _) => format!("a broker is running on it (process {pid})"),
        (Lock::Held { pid: None }, _) => "a broker is running on it".to_owned(),
        (_, true) => "its broker stopped cleanly".to_owned(),
        (Lock::Free | Lock::NoFile, false) => {
            "no broker runs on it here, no mark of a clean stop (killed, or copied while it ran)".to_owned()
        }
        (Lock::Unknown, false) => "no mark of a clean stop; whether a broker runs on it cannot be told".to_owned(),
    });
    let (topics, partitions) = (log_dir.other_topics as u64, log_dir.other_partitions as u64);
    if partitions > 0 {
        words.push(format!("beside {} of {}", counted(partitions, "partition"), counted(topics, "other topic")));
    }
    words.join(", ")
}

pub(super) fn kind_name(kind: OtherKind) -> &'static str {
    match kind {
        OtherKind::OffsetIndex => "index",
        OtherKind::TimeIndex => "timeindex",
        OtherKind::TransactionIndex => "txnindex",
        OtherKind::ProducerSnapshot => "snapshot",
        OtherKind::LeaderEpochs => "leader-epoch-checkpoint",
        OtherKind::PartitionMetadata => "partition.metadata",
        OtherKind::Leftover => "leftover",
        OtherKind::Folder => "folder",
        OtherKind::Unknown => "unknown",
    }
}

fn other_files(partition: &Partition) -> String {
    let mut kinds: BTreeMap<&str, Count> = BTreeMap::new();
    for other in partition.dir.iter().flat_map(|dir| &dir.others) {
        let count = kinds.entry(kind_name(other.kind)).or_default();
        count.number += 1;
        count.bytes += other.len;
    }
    let all: Vec<_> = kinds.iter().map(|(kind, count)| format!("{} {kind}", count.number)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn segments(segments: &[SegmentSum]) -> Table {
    let mut table =
        Table::new(&["SEGMENT", "BYTES", "BATCHES", "FIRST", "LAST", "FIRST TIME", "LAST TIME", "HOLE BYTES"]);
    for segment in segments {
        table.row(vec![
            segment.name.clone(),
            segment.bytes.to_string(),
            segment.batches.number.to_string(),
            number_or_dash(segment.first_offset),
            number_or_dash(segment.last_offset),
            time_or_dash(segment.times.first()),
            time_or_dash(segment.times.last()),
            segment.holes.bytes.to_string(),
        ]);
    }
    table
}

const CSV_HEAD: [&str; 24] = [
    "partition",
    "path",
    "topicId",
    "segments",
    "bytes",
    "firstOffset",
    "endOffset",
    "firstTimestamp",
    "lastTimestamp",
    "batches",
    "dataBatches",
    "controlBatches",
    "emptyBatches",
    "transactionalBatches",
    "records",
    "batchesOfUnknownCount",
    "codecs",
    "magics",
    "producers",
    "holes",
    "holeBytes",
    "highWatermark",
    "logStartOffset",
    "cleanerOffset",
];

/// One line per partition, times in ms since 1970; what is not known is empty.
pub fn csv(found: &[Found], out: &mut Json) {
    let mut text = String::new();
    csv_line(&mut text, CSV_HEAD.iter().copied());
    for each in found {
        let inventory = &each.inventory;
        let or_empty = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
        let holes = all_holes(inventory);
        let names = |items: Vec<String>| items.join(" ");
        let cells: [String; CSV_HEAD.len()] = [
            or_empty(each.partition.number.map(i64::from)),
            visible_path(each.partition.path()),
            each.topic_id().unwrap_or_default(),
            inventory.segments().len().to_string(),
            inventory.bytes().to_string(),
            or_empty(inventory.first_offset()),
            or_empty(inventory.end_offset()),
            or_empty(inventory.times().first()),
            or_empty(inventory.times().last()),
            inventory.batches().number.to_string(),
            inventory.data().to_string(),
            inventory.control().number.to_string(),
            inventory.empty().to_string(),
            inventory.transactional().number.to_string(),
            inventory.records().to_string(),
            inventory.uncounted().to_string(),
            names(inventory.codecs().iter().map(|(codec, _)| codec.name().to_owned()).collect()),
            names(inventory.magics().iter().map(|(magic, _)| magic.to_string()).collect()),
            each.producers().1.to_string(),
            holes.number.to_string(),
            holes.bytes.to_string(),
            or_empty(each.checkpoint(CheckpointKind::HighWatermark)),
            or_empty(each.checkpoint(CheckpointKind::LogStart)),
            or_empty(each.checkpoint(CheckpointKind::Cleaner)),
        ];
        csv_line(&mut text, cells.iter().map(String::as_str));
    }
    out.raw(&text);
}

pub(super) fn all_holes(inventory: &Inventory) -> Count {
    let mut all = Count::default();
    for count in inventory.holes().values() {
        all.number += count.number;
        all.bytes += count.bytes;
    }
    all
}
