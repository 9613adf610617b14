//! Who fills the log, as JSON.
//!
//! Must not know: how anything was counted.

use super::group_json::text;
use super::name::lossless_path;
use super::stats::{Of, Row, Told, View, rate, top};
use super::stats_why;
use crate::audit::stats::{After, Reading};
use crate::cli::args::By;
use crate::model::stats::{BATCH_SIZES, Sum};
use crate::schema::RecordType;
use serde_json::{Value, json};

/// Totals, then partitions, each with its rows.
pub fn document(told: &[Told<'_>], view: &View<'_>) -> String {
    let mut all = Sum::default();
    told.iter().for_each(|it| all.add(&it.total()));
    let sum = |of: fn(&Told<'_>) -> u64| told.iter().map(of).sum::<u64>();
    let bytes = sum(|it| it.stats.bytes);
    let mut totals = json!({
        "partitions": told.len(),
        "segments": sum(|it| it.stats.counted.segments.len() as u64),
        "bytes": bytes,
        "bytesRead": sum(|it| it.stats.read),
    });
    extend(&mut totals, total_fields(&all, view));
    if sum(|it| it.stats.counted.unknown_counts) > 0 {
        totals["records"] = Value::Null;
    }
    if view.knows_live() {
        totals["bytesAfterCompaction"] =
            json!(told.iter().filter_map(|it| it.stats.after.as_ref()).map(|after| after.bytes).sum::<u64>());
    }
    let document = json!({
        "now": view.now,
        "reading": reading(view),
        "estimated": view.is_estimate(),
        "totals": totals,
        "partitions": told.iter().map(|it| partition(it, view)).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// Each row on a line, and each partition's own figures before its rows.
pub fn lines(told: &[Told<'_>], view: &View<'_>) -> String {
    let mut out = String::new();
    for it in told {
        let mut whole = json!({"by": "total"});
        extend(&mut whole, head(it, view));
        out.push_str(&format!("{whole}\n"));
        for by in view.by {
            for row in rows(it, *by, view) {
                let mut line = json!({"partition": it.partition, "by": by.name()});
                extend(&mut line, row_json(&row, it.stats.bytes, view));
                out.push_str(&format!("{line}\n"));
            }
        }
    }
    out
}

fn extend(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}

fn reading(view: &View<'_>) -> Value {
    match view.reading {
        Reading::All => json!({"mode": "all"}),
        Reading::Heads => json!({"mode": "headers"}),
        Reading::Sample(sample) => json!({"mode": "sample", "share": sample.share()}),
        Reading::Window(window) => json!({
            "mode": "time",
            "from": Some(window.from).filter(|from| *from != i64::MIN),
            "until": Some(window.until).filter(|until| *until != i64::MAX),
        }),
    }
}

fn rows<'t>(told: &Told<'t>, by: By, view: &View<'_>) -> Vec<Row<'t>> {
    let mut rows = top(told.rows(by), by, view.most(by));
    rows.extend(told.rest(by));
    rows
}

/// A partition's own figures.
fn head(told: &Told<'_>, view: &View<'_>) -> Value {
    let counted = &told.stats.counted;
    let total = told.total();
    let mut object = json!({
        "partition": told.partition,
        "path": lossless_path(told.path),
        "bytes": told.stats.bytes,
        "firstOffset": counted.first_offset,
        "endOffset": counted.end_offset,
        "segments": counted.segments.len(),
        "bytesRead": told.stats.read,
        "scale": told.scale,
        "estimated": view.is_estimate(),
    });
    extend(&mut object, total_fields(&total, view));
    if counted.unknown_counts > 0 {
        // What the heads say of the others would be taken for all.
        object["records"] = Value::Null;
    }
    object["batchesOfUnknownCount"] = json!(counted.unknown_counts);
    if view.knows_records() {
        let markers: u64 = counted.markers.iter().map(|sum| sum.bytes).sum();
        object["bytesOf"] = json!({
            "records": counted.records().bytes,
            "markers": markers,
            "heads": counted.heads.bytes,
            "unreadable": counted.unreadable,
            "damagedBatches": counted.damaged.bytes,
            "belowLogStart": counted.below_start.bytes,
            "holes": counted.hole_bytes(),
        });
        object["groups"] = json!(counted.groups.len());
        object["groupTopicPartitions"] = json!(counted.keys.len());
        object["markers"] = json!({"commit": counted.markers[0].records, "abort": counted.markers[1].records});
    }
    object["batchSizes"] = batch_sizes(&counted.batch_sizes.map(|n| told.scaled(n)));
    object["largestBatch"] = json!(counted.largest);
    object["singleRecordBatches"] = json!(told.scaled(counted.single));
    object["holes"] = counted
        .holes
        .iter()
        .map(|(code, count)| json!({"code": code, "count": count.number, "bytes": count.bytes}))
        .collect();
    if let Some(after) = &told.stats.after {
        object["afterCompaction"] = after_json(after);
    }
    if let Some(after) = told.cleaner {
        object["afterCleaner"] = after_json(after);
    }
    if let Some(why) = told.why {
        object["whyNotCleaned"] = stats_why::json(told, why, view);
    }
    object
}

fn partition(told: &Told<'_>, view: &View<'_>) -> Value {
    let mut object = head(told, view);
    let by = view.by.iter().map(|by| {
        let rows = rows(told, *by, view);
        (by.name().to_owned(), rows.iter().map(|row| row_json(row, told.stats.bytes, view)).collect())
    });
    object["by"] = Value::Object(by.collect());
    object
}

fn after_json(after: &After) -> Value {
    json!({
        "bytes": after.bytes,
        "batches": after.batches,
        "records": after.records,
        "keys": after.keys,
        "until": after.until,
        "pinned": after.is_pinned,
    })
}

/// By the upper bound of the size in bytes, null for the last.
fn batch_sizes(sizes: &[u64]) -> Value {
    let bounds = BATCH_SIZES.iter().map(|bound| Some(*bound)).chain([None]);
    bounds.zip(sizes).map(|(bound, batches)| json!({"upTo": bound, "batches": batches})).collect()
}

/// The figures of a partition or of all, whose bytes are told apart from these.
fn total_fields(sum: &Sum, view: &View<'_>) -> Value {
    let mut object = fields(sum, view);
    if let Some(object) = object.as_object_mut() {
        object.shift_remove("bytes");
    }
    object
}

fn fields(sum: &Sum, view: &View<'_>) -> Value {
    let mut object = json!({"batches": sum.batches, "records": sum.records, "bytes": sum.bytes});
    if view.knows_records() {
        let (first, last) = sum.commit_times.unzip();
        extend(
            &mut object,
            json!({
                "tombstones": sum.tombstones,
                "commits": sum.commits,
                "unchangedCommits": sum.unchanged,
                "commitsPerSecond": sum.commits_per_second(),
                "firstCommit": first,
                "lastCommit": last,
            }),
        );
    }
    let live = |n: u64| if view.knows_live() { json!(n) } else { Value::Null };
    extend(
        &mut object,
        json!({
            "liveRecords": live(sum.live_records),
            "deadRecords": live(sum.dead_records()),
            "liveBytes": live(sum.live_bytes),
            "deadBytes": live(sum.dead_bytes()),
        }),
    );
    object
}

fn row_json(row: &Row<'_>, whole: u64, view: &View<'_>) -> Value {
    let mut object = match &row.of {
        Of::Type(number) => {
            let name = number.and_then(RecordType::from_number).map_or("unknown", RecordType::name);
            json!({"type": number, "name": name})
        }
        Of::Rest(name) => json!({"rest": name}),
        Of::Group(group) => json!({"group": text(group)}),
        Of::Key(group, topic, partition) => {
            json!({"group": text(group), "topic": text(topic), "topicPartition": partition})
        }
        Of::Hour(hour) => json!({"hour": hour}),
        Of::Producer(id) => json!({"producerId": id}),
        Of::Segment(name, base_offset) => json!({"segment": name, "baseOffset": base_offset}),
        Of::Others(rows) => json!({"others": rows}),
    };
    extend(&mut object, fields(&row.sum, view));
    object["share"] = if whole == 0 { Value::Null } else { json!(row.sum.bytes as f64 / whole as f64) };
    if object.get("commitsPerSecond").is_some() {
        object["commitsPerSecond"] = json!(rate(row));
    }
    object
}
