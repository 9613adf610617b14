//! `dump` against what Kafka's own tools printed for every recorded log, line by line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{Exhibit, exhibits, grouplog, names_in};
use serde_json::Value;

/// Where we mean to differ from the text of the 4.4.0 dump tool: the exhibit, how many records, of which types. Each is
/// one that the tool cannot read, as the museum's table counts them, and that we decode. Where the release that wrote
/// it could print it in the same form (`dump-log.txt`), ours must be that release's own line.
const INTENDED: &[(&str, usize, &[i16], &str)] = &[
    ("museum/3.7.2", 21, &[4, 5, 7, 8], PREVIEW_37),
    ("museum/preview-3.7-then-newer", 20, &[4, 5, 7, 8], PREVIEW_37),
    ("museum/4.0.0", 18, &[9, 11], PREVIEW_40),
    ("museum/early-4.0-then-newer", 18, &[9, 11], PREVIEW_40),
];
const PREVIEW_37: &str = "3.7 wrote consumer groups in other shapes under today's version number";
const PREVIEW_40: &str = "4.0 wrote share groups with a type that is gone (9) and a shorter shape (11)";

/// The text of the 4.4.0 dump tool for the segments of an exhibit, and the folder in which it was run.
fn dump_text(exhibit: &Exhibit) -> (String, std::path::PathBuf) {
    match exhibit.text("dump-log-offsets.txt") {
        Some(text) => (String::from_utf8(text).unwrap(), exhibit.dir.clone()),
        None => (museum_text(exhibit, "dump-log-4.4.0.txt").unwrap(), exhibit.dir.join("log")),
    }
}

/// The museum's texts begin with the command, and end with stderr and what was printed for the other files.
fn museum_text(exhibit: &Exhibit, file: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&exhibit.text(file)?).into_owned();
    let (command, rest) = text.split_once('\n').unwrap();
    assert!(command.starts_with("$ dump-log --deep-iteration --print-data-log"), "{}: {command}", exhibit.name);
    let end = ["\n[stderr]\n", "\n$ dump-log "].iter().filter_map(|mark| rest.find(mark)).min().unwrap();
    Some(rest.get(..=end).unwrap().to_owned())
}

/// The segments that a text tells of, in its order.
fn segments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("Dumping ")).collect()
}

fn folders<'t>(segments: &[&'t str]) -> Vec<&'t str> {
    let mut folders: Vec<_> = segments.iter().map(|path| path.rsplit_once('/').unwrap().0).collect();
    folders.dedup();
    folders
}

/// That the text tells of every segment there is.
fn assert_whole(exhibit: &Exhibit, segments: &[&str], from: &std::path::Path) {
    let mut on_disk = Vec::new();
    for log_dir in exhibit.log_dirs() {
        for folder in
            names_in(&exhibit.dir.join(&log_dir)).iter().filter(|name| name.starts_with("__consumer_offsets-"))
        {
            let dir = exhibit.dir.join(&log_dir).join(folder);
            on_disk.extend(names_in(&dir).into_iter().filter(|name| name.ends_with(".log")).map(|name| dir.join(name)));
        }
    }
    let mut told: Vec<_> = segments.iter().map(|path| from.join(path)).collect();
    on_disk.sort();
    told.sort();
    assert_eq!(on_disk, told, "{}", exhibit.name);
}

#[test]
fn the_text_is_that_of_kafkas_dump_tool() {
    let (mut compared, mut differ, mut exhibits_with_reason) = (0, 0, 0);
    for exhibit in exhibits() {
        let (theirs, dir) = dump_text(&exhibit);
        let segments = segments(&theirs);
        assert_whole(&exhibit, &segments, &dir);
        let args = ["dump", "--format", "kafka-dump-log"].into_iter().chain(folders(&segments));
        let output = grouplog(&dir, args);
        assert_eq!(output.status.code(), Some(0), "{}", exhibit.name);
        let ours = String::from_utf8(output.stdout).unwrap();
        let differences = differences(&exhibit.name, &ours, &theirs);
        compared += theirs.lines().count();
        differ += differences.len();
        match INTENDED.iter().find(|(name, ..)| *name == exhibit.name) {
            None => assert_eq!(differences, [], "{}", exhibit.name),
            Some((_, count, types, why)) => {
                assert_eq!(differences.len(), *count, "{}: {why}", exhibit.name);
                differences.iter().for_each(|(ours, theirs)| assert_decoded(&exhibit.name, ours, theirs, types));
                exhibits_with_reason += 1;
                if *why == PREVIEW_40 {
                    assert_eq!(ours, museum_text(&exhibit, "dump-log.txt").unwrap(), "{}", exhibit.name);
                }
            }
        }
    }
    println!("{compared} lines compared, {differ} differ, as intended, in {exhibits_with_reason} exhibits");
    assert!(compared > 5_000 && exhibits_with_reason >= 2);
}

fn differences<'t>(name: &str, ours: &'t str, theirs: &'t str) -> Vec<(&'t str, &'t str)> {
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
    assert!(ours.ends_with('\n') && theirs.ends_with('\n'), "{name}");
    ours.lines().zip(theirs.lines()).filter(|(ours, theirs)| ours != theirs).collect()
}

/// That a line differs only in that the tool could not read the record, and we could.
fn assert_decoded(name: &str, ours: &str, theirs: &str, types: &[i16]) {
    let (our_head, our_data) = ours.split_once(" key: ").unwrap();
    let (their_head, their_data) = theirs.split_once(" key: ").unwrap();
    assert_eq!(our_head, their_head, "{name}");
    assert!(their_data.starts_with("Error at offset ") || their_data.starts_with("Unknown record type 9 "), "{theirs}");
    let (key, payload) = our_data.split_once(" payload: ").unwrap();
    let key: Value = serde_json::from_str(key).unwrap();
    let number = key["type"].as_str().unwrap().parse().unwrap();
    assert!(types.contains(&number), "{name}: {ours}");
    if payload != "<DELETE>" {
        let payload: Value = serde_json::from_str(payload).unwrap();
        assert!(payload["version"] == "0" && payload["data"].is_object(), "{name}: {ours}");
    }
}

/// Kafka's formatters: the recorded file, and the record types it shows.
const FORMATTERS: &[(&str, std::ops::RangeInclusive<i64>)] =
    &[("formatter.jsonl", 0..=1), ("group-metadata.jsonl", 2..=2), ("share-group.jsonl", 10..=15)];

#[test]
fn the_json_is_that_of_kafkas_formatters() {
    let mut compared = 0;
    for exhibit in exhibits().iter().filter(|exhibit| FORMATTERS.iter().any(|(file, _)| exhibit.text(file).is_some())) {
        // Of several brokers the leader was asked: 2 where it alone was left, else 1.
        let leader = if exhibit.name.ends_with("diverged") { "log/broker-2" } else { "log/broker-1" };
        let log_dirs = exhibit.log_dirs();
        let log_dir = log_dirs.iter().find(|dir| *dir == leader).unwrap_or(&log_dirs[0]);
        let output = grouplog(&exhibit.dir, ["dump", "--format", "kafka-formatter", log_dir]);
        assert_eq!(output.status.code(), Some(0), "{}", exhibit.name);
        let ours = String::from_utf8(output.stdout).unwrap();
        let mut shown = 0;
        for (file, types) in FORMATTERS {
            let of_formatter: Vec<_> = ours.lines().filter(|line| types.contains(&type_of(line))).collect();
            shown += of_formatter.len();
            let Some(theirs) = exhibit.text(file) else { continue };
            let theirs = String::from_utf8(theirs).unwrap();
            assert_eq!(of_formatter, theirs.lines().collect::<Vec<_>>(), "{} {file}", exhibit.name);
            compared += of_formatter.len();
        }
        assert_eq!(shown, ours.lines().count(), "{}: lines of no formatter", exhibit.name);
    }
    println!("{compared} lines compared");
    assert!(compared > 500);
}

fn type_of(line: &str) -> i64 {
    let record: Value = serde_json::from_str(line).unwrap();
    record["key"]["type"].as_i64().unwrap()
}

#[test]
fn the_json_lines_hold_every_record_whole() {
    let mut records = 0;
    for exhibit in exhibits() {
        let (theirs, dir) = dump_text(&exhibit);
        let segments = segments(&theirs);
        let output = grouplog(&dir, ["dump"].into_iter().chain(folders(&segments)));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}: {said}", exhibit.name);
        let ours: Vec<Value> =
            output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parsed).collect();
        let places: Vec<_> = ours.iter().map(place_of).collect();
        assert_eq!(places, places_in(&theirs), "{}", exhibit.name);
        let mut faults = Vec::new();
        for record in &ours {
            assert_eq!(paths_to("raw", without(record, "embedded")), [""; 0], "{}: {record}", exhibit.name);
            faults.extend(paths_to("fault", record.clone()));
        }
        assert_eq!(faults, expected_faults(&exhibit.name), "{}", exhibit.name);
        records += ours.len();
    }
    println!("{records} records");
    assert!(records > 4_000);
}

/// One member's payloads were spoilt on purpose; the record around them is sound.
fn expected_faults(exhibit: &str) -> &'static [&'static str] {
    match exhibit {
        "odd" => &["/embedded/members/0/subscription/fault", "/embedded/members/0/assignment/fault"],
        _ => &[],
    }
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(line)))
}

/// Partition, segment and offset of a record.
type PlaceOfRecord = (i64, String, i64);

fn place_of(record: &Value) -> PlaceOfRecord {
    let segment = record["segment"].as_str().unwrap().to_owned();
    (record["partition"].as_i64().unwrap(), segment, record["offset"].as_i64().unwrap())
}

/// The same of every record in the dump tool's text.
fn places_in(text: &str) -> Vec<PlaceOfRecord> {
    let mut places = Vec::new();
    let (mut partition, mut segment) = (-1, "");
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("Dumping ") {
            let (folder, name) = path.rsplit_once('/').unwrap();
            partition = folder.rsplit_once('-').unwrap().1.parse().unwrap();
            segment = name;
        } else if let Some(rest) = line.strip_prefix("| offset: ") {
            places.push((partition, segment.to_owned(), rest.split(' ').next().unwrap().parse().unwrap()));
        }
    }
    places
}

fn without(record: &Value, field: &str) -> Value {
    let mut record = record.clone();
    record.as_object_mut().unwrap().remove(field);
    record
}

/// Where in a document fields of this name stand.
fn paths_to(name: &str, value: Value) -> Vec<String> {
    let below = |step: String, value: Value| {
        let deeper = paths_to(name, value).into_iter().map(|path| format!("/{step}{path}")).collect::<Vec<_>>();
        if step == name { vec![format!("/{step}")] } else { deeper }
    };
    match value {
        Value::Object(fields) => fields.into_iter().flat_map(|(step, value)| below(step, value)).collect(),
        Value::Array(items) => {
            items.into_iter().enumerate().flat_map(|(i, value)| below(i.to_string(), value)).collect()
        }
        _ => Vec::new(),
    }
}
