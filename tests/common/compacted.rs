//! What `compact` is asked for, and what it wrote.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use crate::common::{grouplog, names_in};
use grouplog::log::{Inflater, Segment, Span};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

/// A day, in ms: `delete.retention.ms` unless it is set.
pub const DAY: i64 = 86_400_000;

/// Batches of a partition folder as stored, by last offset; and its segments' base offsets. All must be sound.
pub fn frames(dir: &Path) -> (BTreeMap<i64, Vec<u8>>, Vec<i64>) {
    let (mut all, mut bases) = (BTreeMap::new(), Vec::new());
    for name in names_in(dir).iter().filter(|name| name.ends_with(".log")) {
        bases.push(name[..20].parse().unwrap());
        let segment = Segment::open(&dir.join(name)).unwrap();
        for span in segment.spans() {
            let Span::Batch(batch) = span else { panic!("{name}: {span:?}") };
            assert_eq!(batch.check_crc(), Ok(()), "{name}");
            all.insert(batch.header().last_offset, batch.bytes().to_vec());
        }
    }
    (all, bases)
}

pub fn compact(out: &Path, options: &[&str], paths: &[&Path]) -> Output {
    let mut args = vec!["compact".to_owned(), "--out".to_owned(), out.display().to_string()];
    args.extend(options.iter().map(|&option| option.to_owned()));
    args.extend(paths.iter().map(|path| path.display().to_string()));
    grouplog(Path::new("."), args)
}

/// The same, which must succeed.
pub fn compacted(out: &Path, options: &[&str], paths: &[&Path]) {
    let output = compact(out, options, paths);
    assert!(output.status.success(), "{paths:?}: {output:?}");
}

/// The report's objects.
pub fn lines(out: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(out.join("compact.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn summary(out: &Path) -> Value {
    lines(out).into_iter().find(|line| line["kind"] == "summary").unwrap()
}

/// When a cleaner ran: the latest horizon is that long behind it. None if there is no horizon.
pub fn clock(dir: &Path, retention_ms: i64) -> Option<i64> {
    let horizons = frames(dir)
        .0
        .into_values()
        .filter_map(|bytes| grouplog::log::Batch::new(&bytes, 0).unwrap().header().delete_horizon_ms);
    horizons.max().map(|latest| latest - retention_ms)
}

/// What is counted of a partition folder below an offset.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By type, -1 for those that no release knows: records with a value, tombstones, bytes.
    pub types: BTreeMap<i64, (u64, u64, u64)>,
    /// Of plain and control batches.
    pub records: u64,
    pub batches: u64,
    pub bytes: u64,
    pub commits: u64,
    pub aborts: u64,
}

pub fn census(dir: &Path, until: i64) -> Census {
    let mut census = Census::default();
    let mut inflater = Inflater::new();
    for name in names_in(dir).iter().filter(|name| name.ends_with(".log")) {
        let segment = Segment::open(&dir.join(name)).unwrap();
        for span in segment.spans() {
            let Span::Batch(batch) = span else { continue };
            let header = batch.header();
            if header.base_offset >= until {
                continue;
            }
            census.batches += 1;
            census.bytes += batch.len();
            for record in batch.records(&mut inflater).by_ref() {
                let record = record.unwrap();
                census.records += 1;
                if header.control {
                    let commits = record.key.unwrap()[3] == 1;
                    *if commits { &mut census.commits } else { &mut census.aborts } += 1;
                    continue;
                }
                let Some(key) = record.key else { continue };
                let number = key.first_chunk().map_or(-1, |number| i64::from(i16::from_be_bytes(*number)));
                let of_type = census.types.entry(if (0..25).contains(&number) { number } else { -1 }).or_default();
                *if record.value.is_some() { &mut of_type.0 } else { &mut of_type.1 } += 1;
                of_type.2 += record.bytes.len() as u64;
            }
        }
    }
    census
}

/// What a report says was there, `before` or `after`, of a partition.
fn told(lines: &[Value], partition: i32, when: &str) -> Census {
    let number = |value: &Value| value.as_u64().unwrap();
    let of =
        |kind: &'static str| lines.iter().filter(move |line| line["partition"] == partition && line["kind"] == kind);
    let types = of("type").filter_map(|line| {
        let it = &line[when];
        let counts = (number(&it["values"]), number(&it["tombstones"]), number(&it["bytes"]));
        (counts != (0, 0, 0)).then(|| (line["type"].as_i64().unwrap_or(-1), counts))
    });
    let summary = &of("summary").next().unwrap()[when];
    Census {
        types: types.collect(),
        records: number(&summary["records"]),
        batches: number(&summary["batches"]),
        bytes: number(&summary["bytes"]),
        commits: number(&summary["commitMarkers"]),
        aborts: number(&summary["abortMarkers"]),
    }
}

/// The report tells what can be counted in the old log and the new, by type; what went, went for a reason.
pub fn assert_told_right(old: &Path, new: &Path, what: &str) {
    let lines = lines(new);
    for summary in lines.iter().filter(|line| line["kind"] == "summary") {
        let partition = summary["partition"].as_i64().unwrap() as i32;
        let name = format!("__consumer_offsets-{partition}");
        let until = summary["compactedUntil"].as_i64().unwrap();
        let before = told(&lines, partition, "before");
        let after = told(&lines, partition, "after");
        assert_eq!(before, census(&old.join(&name), until), "{what} {partition}: before");
        assert_eq!(after, census(&new.join(&name), until), "{what} {partition}: after");
        let reasons: u64 = summary["dropped"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
        assert_eq!(before.records - after.records, reasons, "{what} {partition}: {summary}");
        let behind = census(&new.join(&name), i64::MAX).records - after.records;
        assert_eq!(summary["behind"]["records"], behind, "{what} {partition}");
    }
}
