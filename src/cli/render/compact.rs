//! What `compact` did, as JSON: an object for every place of damage, every open transaction, every record type, and a
//! summary.
//!
//! Must not know: how any of it was found.

use super::damage::Found;
use super::name::lossless_path;
use crate::log::dir::OFFSETS_TOPIC;
use crate::rewrite::compact::clean::Cleaned;
use crate::rewrite::compact::survey::Survey;
use crate::rewrite::compact::tally::{OfType, Tally};
use crate::rewrite::compact::{Aim, BeyondOpen};
use crate::schema::RecordType;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// A compacted partition, to be told.
#[derive(Debug)]
pub struct Told<'t> {
    /// Its number.
    pub partition: i32,
    /// Where it came from.
    pub path: &'t Path,
    /// How many segments it had.
    pub old_segments: u64,
    /// How it was compacted.
    pub aim: &'t Aim,
    /// What it held.
    pub survey: &'t Survey,
    /// What stays.
    pub cleaned: &'t Cleaned,
    /// What was left out or put right before; the counts are of what was left then.
    pub found: &'t Found,
    /// Whether the end of the last segment is torn, which a broker cuts off when it starts.
    pub torn: bool,
    /// Whether it was written.
    pub written: bool,
    /// How many segments it has now, or would have.
    pub new_segments: u64,
}

/// Why records go, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons {
    /// A later record of the same key stands there.
    pub superseded: u64,
    /// Of an aborted transaction.
    pub aborted: u64,
    /// Tombstones whose time is over.
    pub expired_tombstones: u64,
    /// End markers whose records are gone and whose time is over.
    pub expired_markers: u64,
    /// Without a key.
    pub keyless: u64,
    /// Below the log start.
    pub before_log_start: u64,
}

impl Told<'_> {
    /// Why records go.
    pub fn reasons(&self) -> Reasons {
        let (survey, cleaned) = (self.survey, self.cleaned);
        let gone = survey.before.records.saturating_sub(cleaned.after.records);
        let told = survey.aborted
            + cleaned.expired_tombstones.records
            + cleaned.expired_markers
            + survey.before.keyless
            + survey.before_start;
        Reasons {
            superseded: gone.saturating_sub(told),
            aborted: survey.aborted,
            expired_tombstones: cleaned.expired_tombstones.records,
            expired_markers: cleaned.expired_markers,
            keyless: survey.before.keyless,
            before_log_start: survey.before_start,
        }
    }

    /// Record types that are there: name, before, after.
    pub fn types(&self) -> Vec<(String, OfType, OfType)> {
        let (before, after) = (&self.survey.before.types, &self.cleaned.after.types);
        let name = |number: usize| match RecordType::from_number(number as i16) {
            Some(record_type) => format!("{number} {}", record_type.name()),
            None => "unknown".to_owned(),
        };
        let pairs = before.iter().zip(after).enumerate().filter(|(_, (before, _))| **before != OfType::default());
        pairs.map(|(number, (before, after))| (name(number), *before, *after)).collect()
    }

    /// Whether an open transaction keeps what lies behind it from being compacted.
    pub fn is_pinned(&self) -> bool {
        let first = self.survey.open.first().map(|open| open.first_offset);
        self.aim.beyond_open == BeyondOpen::Never && first == Some(self.survey.until)
    }

    /// The lines of the log dir's checkpoints that should change: file, line, and why.
    pub fn checkpoints(&self) -> Vec<(&'static str, String, &'static str)> {
        let line = |offset: i64| format!("{OFFSETS_TOPIC} {} {offset}", self.partition);
        let (until, end) = (self.survey.cleaned_until(), self.survey.end);
        let mut lines = vec![
            ("cleaner-offset-checkpoint", line(until), "compacted up to here"),
            ("recovery-point-offset-checkpoint", line(end), "all of it is flushed to disk"),
            ("replication-offset-checkpoint", line(end), "the high watermark: as it was if it is below"),
        ];
        if let Some(start) = self.aim.log_start {
            lines.push(("log-start-offset-checkpoint", line(start), "as it was"));
        }
        lines
    }
}

/// Shows every object of a partition to `each`, the summary last.
///
/// # Errors
/// Those of `each`.
pub fn objects(told: &Told<'_>, each: &mut dyn FnMut(Value) -> io::Result<()>) -> io::Result<()> {
    told.found.objects(each)?;
    let mut all = Vec::new();
    let at = |kind: &str| json!({"partition": told.partition, "kind": kind});
    let with = |mut object: Value, fields: Value| {
        if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
            object.extend(fields);
        }
        object
    };
    for open in &told.survey.open {
        let fields = json!({
            "producerId": open.producer_id,
            "producerEpoch": open.producer_epoch,
            "firstOffset": open.first_offset,
            "lastOffset": open.last_offset,
            "batches": open.batches,
            "lastTimestamp": open.last_timestamp,
            "pins": told.is_pinned() && open.first_offset == told.survey.until,
        });
        all.push(with(at("open-transaction"), fields));
    }
    for (name, before, after) in told.types() {
        let number = name.split(' ').next().and_then(|number| number.parse::<i16>().ok());
        let fields = json!({
            "type": number,
            "name": name.split_once(' ').map_or(name.as_str(), |(_, name)| name),
            "before": of_type(&before),
            "after": of_type(&after),
        });
        all.push(with(at("type"), fields));
    }
    all.push(with(at("summary"), summary(told)));
    all.into_iter().try_for_each(each)
}

fn of_type(it: &OfType) -> Value {
    json!({"values": it.values, "tombstones": it.tombstones, "bytes": it.bytes})
}

fn tally(it: &Tally) -> Value {
    json!({
        "batches": it.batches,
        "emptyBatches": it.empty,
        "batchesWithHorizon": it.horizons,
        "bytes": it.bytes,
        "records": it.records,
        "tombstones": it.tombstones(),
        "commitMarkers": it.commits,
        "abortMarkers": it.aborts,
    })
}

fn summary(told: &Told<'_>) -> Value {
    let Told { survey, cleaned, aim, .. } = told;
    let reasons = told.reasons();
    let checkpoints = told.checkpoints();
    json!({
        "topic": OFFSETS_TOPIC,
        "path": lossless_path(told.path),
        "written": told.written,
        "now": aim.now,
        "deleteRetentionMs": aim.delete_retention_ms,
        "compactedUntil": survey.cleaned_until(),
        "endOffset": survey.end,
        "pinned": told.is_pinned(),
        "segmentsBefore": told.old_segments,
        "segmentsAfter": told.new_segments,
        "before": tally(&survey.before),
        "after": tally(&cleaned.after),
        "behind": {
            "batches": cleaned.behind.batches,
            "bytes": cleaned.behind.bytes,
            "records": cleaned.behind.records,
        },
        "dropped": {
            "superseded": reasons.superseded,
            "aborted": reasons.aborted,
            "expiredTombstones": reasons.expired_tombstones,
            "expiredMarkers": reasons.expired_markers,
            "withoutKey": reasons.keyless,
            "beforeLogStart": reasons.before_log_start,
        },
        "keys": survey.keys.len(),
        "rewrittenBatches": cleaned.rewritten,
        "newHorizons": cleaned.new_horizons,
        "damage": told.found.damaged(),
        "putRight": told.found.put_right(),
        "tornTail": told.torn,
        "checkpoints": checkpoints.iter().map(|(file, line, _)| json!({"file": file, "line": line})).collect::<Vec<_>>(),
    })
}
