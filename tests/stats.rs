//! `stats`: every byte is somebody's, live is what `compact` leaves, and why a log was not cleaned.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::{Bat, Commit, Ending, Rec, T0};
use common::grouplog;
use grouplog::log::Codec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wreck::Hull;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;
const DIMENSIONS: [&str; 6] = ["type", "group", "partition", "producer", "hour", "segment"];

/// Status, stdout, stderr.
fn run(verb: &str, args: &[&str], path: &Path) -> (i32, String, String) {
    let path = path.display().to_string();
    let output = grouplog(Path::new("."), [verb].iter().chain(args).chain([&path.as_str()]));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn stats(args: &[&str], path: &Path) -> Value {
    let (_, stdout, said) = run("stats", &[&["--format", "json", "--top", "0"], args].concat(), path);
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout} {said}"))
}

fn partitions(document: &Value) -> &Vec<Value> {
    document["partitions"].as_array().unwrap()
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

/// Bytes of the segments of a partition folder, as the file system says.
fn file_bytes(folder: &Path) -> u64 {
    let names = common::names_in(folder).into_iter().filter(|name| name.ends_with(".log"));
    names.map(|name| std::fs::metadata(folder.join(name)).unwrap().len()).sum()
}

/// Rows add up to the files' bytes, by whatever is counted; and what is counted of records adds up too.
fn assert_adds_up(what: &str, partition: &Value, bytes: u64) {
    assert_eq!(partition["bytes"], bytes, "{what}");
    for by in DIMENSIONS {
        assert_eq!(sum(&partition["by"][by], "bytes"), bytes, "{what} by {by}: {:#}", partition["by"][by]);
    }
    let of: u64 = partition["bytesOf"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(of, bytes, "{what}");
    for by in ["type", "group", "partition"] {
        for field in ["records", "liveRecords", "deadRecords", "tombstones"] {
            let total = partition[field].as_u64().unwrap();
            assert_eq!(sum(&partition["by"][by], field), total, "{what} by {by}: {field}");
        }
        assert_eq!(sum(&partition["by"][by], "unchangedCommits"), partition["unchangedCommits"].as_u64().unwrap());
        assert_eq!(sum(&partition["by"][by], "commits"), partition["commits"].as_u64().unwrap(), "{what} by {by}");
    }
    for by in ["producer", "hour"] {
        for field in ["records", "liveRecords"] {
            assert_eq!(sum(&partition["by"][by], field), partition[field].as_u64().unwrap(), "{what} by {by}: {field}");
        }
        // Batches that are damaged or lie below the log start do not count.
        let rows: Value =
            partition["by"][by].as_array().unwrap().iter().filter(|row| row["rest"].is_null()).cloned().collect();
        assert_eq!(sum(&rows, "batches"), partition["batches"].as_u64().unwrap(), "{what} by {by}: batches");
    }
}

/// What `compact --dry-run` says: the objects of each partition.
fn dry_run(args: &[&str], path: &Path) -> BTreeMap<i64, Vec<Value>> {
    let (code, stdout, said) = run("compact", &[&["--dry-run", "--format", "jsonl"], args].concat(), path);
    assert_eq!(code, 0, "{said}");
    let mut all: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for line in stdout.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        all.entry(object["partition"].as_i64().unwrap()).or_default().push(object);
    }
    all
}

/// Live and dead are what `compact` would keep and drop.
fn assert_is_compacts(what: &str, partition: &Value, objects: &[Value]) {
    let summary = objects.iter().find(|it| it["kind"] == "summary").unwrap();
    let n = |value: &Value| value.as_u64().unwrap();
    let kept = n(&summary["after"]["records"]) + n(&summary["behind"]["records"]);
    assert_eq!(partition["liveRecords"], kept, "{what}: {summary:#}");
    let below_start = n(&summary["dropped"]["beforeLogStart"]);
    let gone = n(&summary["before"]["records"]) - n(&summary["after"]["records"]) - below_start;
    assert_eq!(partition["deadRecords"], gone, "{what}: {summary:#}");
    let after = &partition["afterCompaction"];
    assert_eq!(after["bytes"], n(&summary["after"]["bytes"]) + n(&summary["behind"]["bytes"]), "{what}");
    assert_eq!(after["batches"], n(&summary["after"]["batches"]) + n(&summary["behind"]["batches"]), "{what}");
    assert_eq!((&after["keys"], &after["pinned"]), (&summary["keys"], &summary["pinned"]), "{what}");
    if n(&summary["behind"]["records"]) > 0 {
        return;
    }
    // By type, too, where all of it was compacted.
    for it in objects.iter().filter(|it| it["kind"] == "type" && it["type"].is_i64()) {
        let row = partition["by"]["type"].as_array().unwrap().iter().find(|row| row["type"] == it["type"]).unwrap();
        let live = n(&it["after"]["values"]) + n(&it["after"]["tombstones"]);
        assert_eq!(row["liveRecords"], live, "{what}: {it}");
        if below_start == 0 {
            let all = n(&it["before"]["values"]) + n(&it["before"]["tombstones"]);
            assert_eq!(
                (&row["records"], &row["tombstones"]),
                (&json!(all), &it["before"]["tombstones"]),
                "{what}: {it}"
            );
        }
    }
}

/// Both, of all partitions of a log dir, for a cleaner that leaves the last segment alone and for one that does not.
fn assert_sound(what: &str, log_dir: &Path, now: i64) -> usize {
    let now = now.to_string();
    let mut compared = 0;
    for (ours, theirs) in [(&[][..], &["--include-active"][..]), (&["--closed-only"], &[])] {
        let document = stats(&[ours, &["--now", &now]].concat(), log_dir);
        let compacted = dry_run(&[theirs, &["--now", &now]].concat(), log_dir);
        for partition in partitions(&document) {
            let number = partition["partition"].as_i64().unwrap();
            let what = format!("{what} {number} {ours:?}");
            let folder = PathBuf::from(partition["path"].as_str().unwrap());
            assert_adds_up(&what, partition, file_bytes(&folder));
            assert_is_compacts(&what, partition, &compacted[&number]);
            compared += 1;
        }
        let totals = &document["totals"];
        for field in ["bytes", "records", "liveRecords", "deadRecords", "commits", "unchangedCommits", "tombstones"] {
            assert_eq!(totals[field], sum(&document["partitions"], field), "{what}: {field}");
        }
    }
    compared
}

// Real logs.

#[test]
fn every_byte_of_the_exhibits_is_somebodys_and_live_is_what_compact_leaves() {
    let mut compared = 0;
    for exhibit in common::exhibits() {
        for log in exhibit.log_dirs() {
            // Behind all horizons, and before them.
            compared += assert_sound(&exhibit.name, &exhibit.dir.join(&log), 4_000_000_000_000);
            compared += assert_sound(&exhibit.name, &exhibit.dir.join(&log), 0);
        }
    }
    assert!(compared > 200, "{compared}");
    println!("{compared} partitions compared");
}

#[test]
fn heads_alone_tell_the_same_of_segments_hours_and_producers() {
    for exhibit in common::exhibits() {
        for log in exhibit.log_dirs() {
            let log = exhibit.dir.join(log);
            let all = stats(&["--now", "0"], &log);
            let heads = stats(&["--now", "0", "--headers-only"], &log);
            for (all, heads) in partitions(&all).iter().zip(partitions(&heads)) {
                for by in ["segment", "hour", "producer"] {
                    let rows = |partition: &Value| {
                        let rows = partition["by"][by].as_array().unwrap().iter();
                        let name = ["segment", "hour", "producerId", "rest"];
                        rows.map(|row| {
                            (name.map(|name| row[name].clone()), row["bytes"].clone(), row["batches"].clone())
                        })
                        .collect::<Vec<_>>()
                    };
                    assert_eq!(rows(all), rows(heads), "{} by {by}", exhibit.name);
                }
                for field in ["bytes", "batches", "firstOffset", "endOffset", "largestBatch", "batchSizes"] {
                    assert_eq!(all[field], heads[field], "{}: {field}", exhibit.name);
                }
                assert!(heads["liveRecords"].is_null() && heads.get("commits").is_none());
            }
        }
    }
}

#[test]
fn offsets_and_ends_are_those_of_info() {
    for exhibit in common::exhibits().iter().filter(|it| it.log_dirs() == ["log"]) {
        let log = exhibit.dir.join("log");
        let info: Value = serde_json::from_str(&run("info", &["--format", "json"], &log).1).unwrap();
        for args in [&[][..], &["--headers-only"], &["--sample", "10%"], &["--time", ".."]] {
            for (ours, theirs) in partitions(&stats(args, &log)).iter().zip(info.as_array().unwrap()) {
                for field in ["partition", "bytes", "firstOffset", "endOffset"] {
                    // Only a wrapper's inside tells where it begins.
                    let is_old =
                        exhibit.name.contains("0.8") || exhibit.name.contains("0.9") || exhibit.name.contains("0.10");
                    if field != "firstOffset" || !is_old {
                        assert_eq!(ours[field], theirs[field], "{} {args:?}: {field}", exhibit.name);
                    }
                }
            }
        }
    }
}

// Made-up logs.

/// All magics and codecs, transactions of both ends, tombstones; and some damage to each.
#[test]
fn logs_of_every_magic_and_codec_sound_and_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, hurt) = (dir.path().join("sound"), dir.path().join("hurt"));
    for (number, kind) in Hull::all().into_iter().enumerate() {
        let hull = Hull::of(kind.magic, kind.codec);
        hull.write_as(&sound, number as i32);
        let folder = hurt.join(format!("__consumer_offsets-{number}"));
        hull.write_as(&hurt, number as i32);
        let file = folder.join(common::names_in(&folder).into_iter().find(|name| name.ends_with(".log")).unwrap());
        let mut bytes = std::fs::read(&file).unwrap();
        let (fifth, third) = (bytes.len() / 5, bytes.len() / 3);
        bytes[fifth] ^= 0x10;
        bytes[third..third + 70].fill(0xaa);
        bytes.extend([0; 300]);
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(assert_sound("sound", &sound, T0) >= 2 * Hull::all().len());
    let document = stats(&["--now", "0"], &hurt);
    for partition in partitions(&document) {
        let folder = PathBuf::from(partition["path"].as_str().unwrap());
        assert_adds_up("hurt", partition, file_bytes(&folder));
        assert!(partition["bytesOf"]["holes"].as_u64().unwrap() >= 300, "{partition:#}");
    }
    let (code, _, said) = run("stats", &[], &hurt);
    assert_eq!(code, 3);
    assert!(said.contains("damaged: "), "{said}");
}

/// An open transaction, an aborted one, tombstones past their horizon, empty batches, a log start.
#[test]
fn what_stays_for_odd_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let commit = |at: i64, partition| build::commit(at, "g", "t", partition, at);
    let tombs = Bat { delete_horizon_ms: Some(T0), ..Bat::of(vec![build::forget(8, "g", "t", 1), commit(9, 2)]) };
    let first = vec![
        Bat::of(vec![commit(0, 0), commit(1, 1), commit(2, 0)]),
        Bat::transactional(7, 0, vec![commit(3, 0)]),
        Bat::marker(Ending::Abort, 4, T0, 7, 0),
        Bat::empty(5, 6, 8, 0),
        Bat { codec: Codec::Zstd, ..Bat::of(vec![Rec { key: None, ..commit(7, 0) }]) },
        tombs,
    ];
    let open = Bat::transactional(9, 0, vec![commit(10, 0)]);
    let second = vec![open, Bat::of(vec![commit(11, 0), commit(12, 0)]), Bat::of(vec![commit(13, 0)])];
    let third = vec![Bat::of(vec![commit(14, 0), commit(15, 0)])];
    build::write_segments(dir.path(), 1, &[first.clone(), second.clone(), third.clone()]);
    build::write_segments(dir.path(), 2, &[first, second[1..].to_vec(), third]);
    std::fs::write(dir.path().join("meta.properties"), "node.id=1\n").unwrap();
    for now in [T0, T0 - 1, T0 + 3 * DAY] {
        assert_eq!(assert_sound("odd", dir.path(), now), 4);
    }
    std::fs::write(
        dir.path().join("log-start-offset-checkpoint"),
        "0\n2\n__consumer_offsets 1 3\n__consumer_offsets 2 5\n",
    )
    .unwrap();
    assert_eq!(assert_sound("log start", dir.path(), T0), 4);
    let started = stats(&["--now", "0"], dir.path());
    assert!(partitions(&started)[1]["bytesOf"]["belowLogStart"].as_u64().unwrap() > 0);
    let all = stats(&["--now", "0", "--ignore-log-start"], dir.path());
    assert_eq!(partitions(&all)[1]["bytesOf"]["belowLogStart"], 0);
}

/// C02: three groups with 1, 100 and 10 000 commits, of which one commits what it has committed again and again.
#[test]
fn who_floods_the_topic() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = Vec::new();
    let mut push = |at: i64, time: i64, group: &str, partition, offset| {
        let record = Rec { timestamp: time, ..build::commit(at, group, "orders", partition, offset) };
        batches.push(Bat::of(vec![record]));
    };
    push(0, T0, "once", 0, 1);
    for i in 0..100 {
        push(1 + i, T0 + 1000 * i, "now-and-then", 0, 42);
    }
    for i in 0..10_000 {
        push(101 + i, T0 + 10 * i, "flood", (i % 3) as i32, i);
    }
    let folder = build::write_log(dir.path(), 3, &batches);
    let document = stats(&["--now", "0"], &folder);
    let partition = &partitions(&document)[0];
    assert_adds_up("flood", partition, file_bytes(&folder));
    let groups = partition["by"]["group"].as_array().unwrap();
    let of = |i: usize| (groups[i]["group"].as_str().unwrap(), groups[i]["commits"].as_u64().unwrap());
    assert_eq!([of(0), of(1), of(2)], [("flood", 10_000), ("now-and-then", 100), ("once", 1)]);
    let rate = |i: usize| groups[i]["commitsPerSecond"].as_f64();
    assert_eq!((rate(0), rate(1), rate(2)), (Some(100.0), Some(1.0), None));
    let unchanged = |i: usize| groups[i]["unchangedCommits"].as_u64().unwrap();
    assert_eq!([unchanged(0), unchanged(1), unchanged(2)], [0, 99, 0]);
    // A record has as many bytes as its key, its value and its frame; the heads are counted apart.
    let one = |group: &str| batches_bytes(&batches, group) - 61;
    assert_eq!(groups[2]["bytes"].as_u64().unwrap(), one("once"));
    let share = groups[0]["bytes"].as_f64().unwrap() / partition["bytes"].as_f64().unwrap();
    assert_eq!(groups[0]["share"].as_f64(), Some(share));
    let keys = partition["by"]["partition"].as_array().unwrap();
    let named = |i: usize| {
        (keys[i]["group"].as_str().unwrap(), keys[i]["topicPartition"].as_i64(), keys[i]["records"].as_u64())
    };
    assert_eq!(named(3), ("now-and-then", Some(0), Some(100)));
    assert!((0..3).all(|i| named(i).0 == "flood" && named(i).2.unwrap() >= 3333));
    // The largest ones, and one row for the others: the sum stays.
    let (_, stdout, _) = run("stats", &["--format", "json", "--top", "1"], &folder);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let partition = &partitions(&document)[0];
    assert_eq!(partition["by"]["group"][1]["others"], 2);
    assert_adds_up("top 1", partition, file_bytes(&folder));
    // As a person sees it.
    let (_, text, _) = run("stats", &["--by", "group", "--top", "2"], &folder);
    let row = text.lines().find(|line| line.starts_with("flood ")).unwrap();
    assert!(row.ends_with(" 100"), "{row}");
    assert!(text.contains("(1 more)"), "{text}");
    let (_, csv, _) = run("stats", &["--by", "group", "--format", "csv"], &folder);
    assert!(csv.starts_with("group,in,records,bytes,share,live,dead"), "{csv}");
}

fn batches_bytes(batches: &[Bat], group: &str) -> u64 {
    let is =
        |batch: &&Bat| batch.records[0].key.as_deref().unwrap().windows(group.len()).any(|it| it == group.as_bytes());
    batches.iter().filter(is).map(|batch| batch.bytes().len() as u64).sum()
}

/// Only what was committed counts as committed before; a tombstone ends it; metadata makes no other offset.
#[test]
fn commits_of_the_same_offset() {
    let dir = tempfile::tempdir().unwrap();
    let commit = |at: i64, offset| build::commit(at, "g", "t", 0, offset);
    let with_metadata = Rec { value: Some(Commit { metadata: "m", ..Commit::at(5) }.value(3)), ..commit(2, 5) };
    let batches = [
        Bat::of(vec![commit(0, 5), commit(1, 5), with_metadata]),
        Bat::of(vec![build::forget(3, "g", "t", 0), commit(4, 5)]),
        Bat::transactional(7, 0, vec![commit(5, 9)]),
        Bat::marker(Ending::Abort, 6, T0, 7, 0),
        Bat::transactional(7, 0, vec![commit(7, 9)]),
        Bat::marker(Ending::Commit, 8, T0, 7, 0),
        Bat::transactional(7, 0, vec![commit(9, 9)]),
        Bat::marker(Ending::Commit, 10, T0, 7, 0),
        Bat::transactional(7, 0, vec![commit(11, 9)]),
    ];
    let folder = build::write_log(dir.path(), 3, &batches);
    let document = stats(&["--now", "0"], &folder);
    let partition = &partitions(&document)[0];
    // The second, the third, and that of the third transaction; what is still open is not committed.
    assert_eq!((&partition["commits"], &partition["unchangedCommits"]), (&json!(8), &json!(3)));
}

// Why it is not cleaned.

/// A commit of one of some keys, in a batch of its own.
fn one(at: i64, keys: i64) -> Bat {
    Bat::of(vec![build::commit(at, "g", "t", (at % keys) as i32, at)])
}

fn segment(from: i64, n: i64, keys: i64) -> Vec<Bat> {
    (from..from + n).map(|at| one(at, keys)).collect()
}

fn checkpoint(log_dir: &Path, offset: i64) {
    std::fs::write(log_dir.join("cleaner-offset-checkpoint"), format!("0\n1\n__consumer_offsets 3 {offset}\n"))
        .unwrap();
}

/// The verdict on partition 3, and what is printed about it.
fn why(args: &[&str], log_dir: &Path) -> (String, Value, String) {
    let folder = log_dir.join("__consumer_offsets-3");
    let document = stats(&[&["--why-not-cleaned"], args].concat(), &folder);
    let why = partitions(&document)[0]["whyNotCleaned"].clone();
    let text = run("stats", &[&["--why-not-cleaned"], args].concat(), &folder).1;
    (why["code"].as_str().unwrap().to_owned(), why, text)
}

/// C01: 40 segments of 500 commits of one key, of which nothing was ever cleaned.
#[test]
fn a_cleaner_that_died() {
    let dir = tempfile::tempdir().unwrap();
    let segments: Vec<_> = (0..40).map(|i| segment(i * 500, 500, 1)).collect();
    let folder = build::write_segments(dir.path(), 3, &segments);
    checkpoint(dir.path(), 0);
    let now = (T0 + 30 * DAY + MINUTE).to_string();
    let (code, why, text) = why(&["--now", &now], dir.path());
    assert_eq!(code, "cleaner-stuck", "{text}");
    assert_eq!((&why["firstDirtyOffset"], &why["firstUncleanableOffset"]), (&json!(0), &json!(19_500)));
    assert_eq!((&why["dirtyRatio"], &why["cleanBytes"]), (&json!(1.0), &json!(0)));
    let document = stats(&["--now", &now], &folder);
    let partition = &partitions(&document)[0];
    assert_eq!((&partition["deadRecords"], &partition["liveRecords"]), (&json!(19_999), &json!(1)));
    let left = partition["afterCompaction"]["bytes"].as_f64().unwrap() / partition["bytes"].as_f64().unwrap();
    assert!(left < 0.001, "{left}");
    for words in ["cleaner-stuck", "live: 1 record, dead: 19999 (> 99.9 %)", "uncleanable", "grouplog compact", "30 d"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    // It had not had the time yet.
    let (code, ..) = self::why(&["--now", &(T0 + MINUTE).to_string()], dir.path());
    assert_eq!(code, "due");
}

/// C07: one segment of 2 MB, 99 % of it dead.
#[test]
fn only_the_active_segment() {
    let dir = tempfile::tempdir().unwrap();
    let batches = segment(0, 20_000, 200);
    let folder = build::write_log(dir.path(), 3, &batches);
    assert!(file_bytes(&folder) > 2_000_000);
    let (code, why, text) = why(&["--now", &(T0 + 400 * DAY).to_string()], dir.path());
    assert_eq!(code, "active-only", "{text}");
    let dead = why["activeSegmentDeadBytes"].as_f64().unwrap() / why["activeSegmentBytes"].as_f64().unwrap();
    assert!((dead - 0.99).abs() < 0.0001, "{dead}");
    assert!(
        text.contains("healthy") && text.contains("99.0 % of them dead") && !text.contains("uncleanable"),
        "{text}"
    );
}

/// C85: 0.49 and 0.51 of it dirty at a threshold of 0.5; and at 0.5 exactly a broker waits.
#[test]
fn the_dirty_ratio_is_the_brokers() {
    let now = (T0 + 30 * DAY).to_string();
    for (clean, dirty, options, expected) in [
        (51, 49, &[][..], "below-ratio"),
        (49, 51, &[], "cleaner-stuck"),
        (50, 50, &[], "below-ratio"),
        (50, 50, &["--min-cleanable-dirty-ratio", "0.49"], "cleaner-stuck"),
        (99, 1, &["--max-compaction-lag", "29d"], "cleaner-stuck"),
        (99, 1, &["--max-compaction-lag", "31d"], "below-ratio"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        // Offsets of the same width, so that the bytes are as the numbers.
        let at = 100_000;
        let segments = [segment(at, clean, 1), segment(at + clean, dirty, 1), segment(at + clean + dirty, 5, 1)];
        build::write_segments(dir.path(), 3, &segments);
        checkpoint(dir.path(), at + clean);
        let (code, why, text) = why(&[&["--now", &now], options].concat(), dir.path());
        assert_eq!(code, expected, "{clean} {dirty} {options:?}: {text}");
        assert_eq!(why["dirtyRatio"].as_f64().unwrap(), dirty as f64 / 100.0);
        assert!(text.contains(&format!("{:.3}", dirty as f64 / 100.0)), "{text}");
    }
}

/// Where the checkpoint lies inside of a segment, a broker counts that segment as clean and as dirty.
#[test]
fn a_checkpoint_in_the_middle_of_a_segment() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_segments(
        dir.path(),
        3,
        &[segment(100_000, 50, 1), segment(100_050, 50, 1), segment(100_100, 5, 1)],
    );
    let len = |name: &str| std::fs::metadata(folder.join(name)).unwrap().len();
    let half = len(&build::segment_name(100_000));
    checkpoint(dir.path(), 100_010);
    let (_, found, _) = why(&["--now", "0"], dir.path());
    assert_eq!((&found["cleanBytes"], &found["cleanableBytes"]), (&json!(half), &json!(2 * half)));
    checkpoint(dir.path(), 100_100);
    let (code, found, text) = why(&["--now", "0"], dir.path());
    assert_eq!(code, "up-to-date", "{text}");
    assert_eq!((&found["cleanBytes"], &found["cleanableBytes"]), (&json!(2 * half), &json!(0)));
    // Nothing waits, however long it would have to.
    let lag = ["--now", "0", "--min-compaction-lag", "1000d"];
    let (code, found, text) = why(&lag, dir.path());
    assert_eq!((code.as_str(), &found["oldestDirtyMs"]), ("up-to-date", &Value::Null), "{text}");
}

/// Where nothing can be said on stderr, the answer and the exit status are what they were.
#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_takes_nothing_is_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 3, &segment(0, 3, 1));
    std::fs::create_dir(dir.path().join("__consumer_offsets-4")).unwrap();
    let missing = dir.path().join("missing");
    for (path, status) in [(dir.path(), 0), (&folder, 0), (&missing, 1)] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_grouplog"));
        let output = command.arg("stats").arg(path).stderr(full).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(status), status == 1), "{}", path.display());
    }
}

/// A segment is not passed over for the time of its first batch: a clock stepped back behind it, or a bit of it is damaged.
#[test]
fn the_first_batch_alone_does_not_date_a_segment() {
    let dir = tempfile::tempdir().unwrap();
    let at = |at: i64, time: i64| Bat::of(vec![Rec { timestamp: time, ..build::commit(at, "g", "t", 0, at) }]);
    let skewed: Vec<_> = (0..100).map(|i| at(i, if i == 0 { T0 + 120 * MINUTE } else { T0 + i })).collect();
    let folder = build::write_segments(dir.path(), 3, &[skewed, vec![at(100, T0 + 200 * MINUTE)]]);
    let window = format!("{T0}..{}", T0 + 60 * MINUTE);
    let batches = |document: &Value| partitions(document)[0]["batches"].clone();
    assert_eq!(batches(&stats(&["--now", "0", "--time", &window], &folder)), json!(99));
    let path = folder.join(build::segment_name(0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[35] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let (status, text, _) = run("stats", &["--now", "0", "--time", &window, "--format", "json"], &folder);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, batches(&document)), (3, json!(99)), "{text}");
}

/// When an open transaction began, and not when it last wrote.
#[test]
fn since_when_the_cleaner_waits() {
    let dir = tempfile::tempdir().unwrap();
    let of_producer = |at: i64, time: i64| {
        let record = Rec { timestamp: time, ..build::commit(at, "g", "t", 0, at) };
        Bat::transactional(7, 0, vec![record])
    };
    let segments = [vec![of_producer(0, T0), of_producer(1, T0 + 5 * MINUTE)], vec![one(2, 1)]];
    build::write_segments(dir.path(), 3, &segments);
    checkpoint(dir.path(), 0);
    let (code, _, text) = why(&["--now", &(T0 + 6 * MINUTE).to_string()], dir.path());
    assert_eq!(code, "open-transaction", "{text}");
    assert!(text.contains("it began at 2023-11-14T22:13:20"), "{text}");
}

/// C65: a checkpoint that is missing, below the start or above the end.
#[test]
fn checkpoints_that_make_no_sense() {
    let dir = tempfile::tempdir().unwrap();
    build::write_segments(dir.path(), 3, &[segment(100, 50, 1), segment(150, 50, 1), segment(200, 5, 1)]);
    let now = (T0 + 30 * DAY).to_string();
    let (code, nothing, text) = why(&["--now", &now], dir.path());
    assert_eq!((code.as_str(), &nothing["checkpointOddity"]), ("cannot-tell", &json!("no-file")), "{text}");
    assert!(text.contains("cannot tell: no cleaner-offset-checkpoint in /"), "{text}");
    let found = |log_dir: &Path| {
        let (code, why, text) = why(&["--now", &now], log_dir);
        assert_eq!(code, "cleaner-stuck", "{text}");
        assert_eq!(why["firstDirtyOffset"], 100);
        why["checkpointOddity"].clone()
    };
    std::fs::write(dir.path().join("cleaner-offset-checkpoint"), "0\n0\n").unwrap();
    assert_eq!(found(dir.path()), "no-line");
    for (offset, oddity) in [(99, "below-log-start"), (206, "above-log-end")] {
        checkpoint(dir.path(), offset);
        assert_eq!(found(dir.path()), oddity);
    }
    checkpoint(dir.path(), 205);
    assert_eq!(why(&["--now", &now], dir.path()).0, "up-to-date");
    // Lines that say other things do not count; the last of two does.
    std::fs::write(
        dir.path().join("cleaner-offset-checkpoint"),
        "0\n9\nrubbish\n__consumer_offsets 3 0\n__consumer_offsets 3 150\n",
    )
    .unwrap();
    let (code, found, _) = why(&["--now", &now], dir.path());
    assert_eq!((code.as_str(), &found["firstDirtyOffset"]), ("below-ratio", &json!(150)));
}

/// C05: the cleaner waits in front of an open transaction.
#[test]
fn an_open_transaction_pins_the_cleaner() {
    let dir = tempfile::tempdir().unwrap();
    let mut second = segment(50, 50, 1);
    second[10] = Bat::transactional(9, 0, vec![build::commit(60, "g", "t", 0, 5)]);
    build::write_segments(dir.path(), 3, &[segment(0, 50, 1), second, segment(100, 50, 1), segment(150, 5, 1)]);
    checkpoint(dir.path(), 50);
    let (code, why, text) = why(&["--now", &(T0 + DAY).to_string()], dir.path());
    assert_eq!(code, "open-transaction", "{text}");
    assert_eq!((&why["openTransactionOffset"], &why["firstUncleanableOffset"]), (&json!(60), &json!(50)));
    assert!(text.contains("grouplog txns --open"), "{text}");
    let folder = dir.path().join("__consumer_offsets-3");
    let closed: u64 =
        [50, 100].iter().map(|base| std::fs::metadata(folder.join(build::segment_name(*base))).unwrap().len()).sum();
    assert_eq!(why["pinnedBytes"], closed);
}

#[test]
fn what_is_too_young_and_what_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_segments(dir.path(), 3, &[segment(0, 50, 1), segment(50, 50, 1), segment(100, 5, 1)]);
    checkpoint(dir.path(), 0);
    let now = (T0 + DAY).to_string();
    let (code, why_young, text) = why(&["--now", &now, "--min-compaction-lag", "31d"], dir.path());
    assert_eq!((code.as_str(), &why_young["firstUncleanableOffset"]), ("min-lag", &json!(0)), "{text}");
    let path = folder.join(build::segment_name(50));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (code, why, text) = why(&["--now", &now], dir.path());
    assert_eq!((code.as_str(), &why["damageBehindOffset"]), ("damaged", &json!(98)), "{text}");
    assert!(text.contains("grouplog verify"), "{text}");
}

// Less than everything.

/// 12 MB: two groups in turn, three records of one for one of the other; an hour every 20 000 batches.
fn large(log_dir: &Path) -> PathBuf {
    let mut segments = Vec::new();
    for i in 0..4i64 {
        let batch = |at: i64| {
            let group = if at % 4 == 0 { "small" } else { "large" };
            let record = build::commit(at, group, "topic", (at % 7) as i32, at);
            Bat::of(vec![Rec { timestamp: T0 + at * 180, ..record }])
        };
        segments.push((i * 25_000..(i + 1) * 25_000).map(batch).collect());
    }
    build::write_segments(log_dir, 3, &segments)
}

#[test]
fn a_sample_reads_little_and_says_that_it_estimates() {
    let dir = tempfile::tempdir().unwrap();
    let folder = large(dir.path());
    let all = stats(&["--now", "0"], &folder);
    let all = &partitions(&all)[0];
    let document = stats(&["--now", "0", "--sample", "2%"], &folder);
    assert_eq!((&document["estimated"], &document["reading"]["mode"]), (&json!(true), &json!("sample")));
    let sampled = &partitions(&document)[0];
    let read = sampled["bytesRead"].as_f64().unwrap() / sampled["bytes"].as_f64().unwrap();
    assert!((0.015..0.03).contains(&read), "{read}");
    assert!(sampled["liveRecords"].is_null() && sampled.get("afterCompaction").is_none());
    let near = |ours: &Value, theirs: &Value| {
        let ratio = ours.as_f64().unwrap() / theirs.as_f64().unwrap();
        assert!((0.95..1.05).contains(&ratio), "{ours} {theirs}");
    };
    near(&sampled["records"], &all["records"]);
    for i in 0..2 {
        let (ours, theirs) = (&sampled["by"]["group"][i], &all["by"]["group"][i]);
        assert_eq!(ours["group"], theirs["group"]);
        near(&ours["bytes"], &theirs["bytes"]);
        near(&ours["commits"], &theirs["commits"]);
    }
    near(&json!(sum(&sampled["by"]["group"], "bytes")), &all["bytes"]);
    let (_, text, _) = run("stats", &["--sample", "1/50"], &folder);
    assert!(text.starts_with("ESTIMATES from a sample of 2 %: "), "{text}");
    // All of it is no estimate in numbers, however it is asked for.
    let whole = stats(&["--now", "0", "--sample", "100%"], &folder);
    assert_eq!(partitions(&whole)[0]["records"], all["records"]);
    assert_eq!(partitions(&whole)[0]["bytesRead"], all["bytes"]);
}

#[test]
fn a_window_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let folder = large(dir.path());
    // Of the hours, the second: 20 000 batches.
    let window = format!("{}..{}", T0 + 3_600_000, T0 + 2 * 3_600_000);
    let document = stats(&["--now", "0", "--time", &window], &folder);
    assert_eq!(document["reading"]["mode"], "time");
    let partition = &partitions(&document)[0];
    assert_eq!((&partition["records"], &partition["estimated"]), (&json!(20_000), &json!(false)));
    assert!(partition["liveRecords"].is_null());
    // Segments behind it were left alone.
    assert!(partition["bytesRead"].as_u64().unwrap() < partition["bytes"].as_u64().unwrap());
    let groups: Vec<_> =
        partition["by"]["group"].as_array().unwrap().iter().take(2).map(|it| it["commits"].clone()).collect();
    assert_eq!(groups, [15_000, 5_000]);
    assert_eq!(partition["endOffset"], 100_000);
}

#[test]
fn several_log_dirs_totals_first_and_lines() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    build::write_log(&a, 1, &segment(0, 10, 2));
    build::write_log(&b, 2, &segment(0, 30, 2));
    let paths = [a.display().to_string(), b.display().to_string()];
    for threads in ["1", "2"] {
        let args = ["stats", "--now", "0", "--format", "json", "--threads", threads, &paths[0], &paths[1]];
        let document: Value = serde_json::from_slice(&grouplog(Path::new("."), args).stdout).unwrap();
        assert_eq!((&document["totals"]["partitions"], &document["totals"]["records"]), (&json!(2), &json!(40)));
        let numbers: Vec<_> = partitions(&document).iter().map(|it| it["partition"].clone()).collect();
        assert_eq!(numbers, [1, 2]);
    }
    let output = grouplog(Path::new("."), ["stats", "--format", "jsonl", "--by", "group", &paths[0], &paths[1]]);
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> =
        lines.iter().map(|it| (it["partition"].as_i64().unwrap(), it["by"].as_str().unwrap())).collect();
    assert_eq!(kinds, [(1, "total"), (1, "group"), (1, "group"), (2, "total"), (2, "group"), (2, "group")]);
    let output = grouplog(Path::new("."), ["stats", &paths[0], &paths[1]]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("2 partitions, "));
}

#[test]
fn what_cannot_be_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 3, &segment(0, 3, 1));
    for args in [
        &["--headers-only", "--by", "group"][..],
        &["--sample", "0%"],
        &["--sample", "101%"],
        &["--sample", "x"],
        &["--headers-only", "--why-not-cleaned"],
        &["--time", "5..3"],
        &["--format", "csv", "--by", "group", "--by", "type"],
        &["--min-cleanable-dirty-ratio", "2", "--why-not-cleaned"],
        // They would change nothing.
        &["--min-cleanable-dirty-ratio", "0.2"],
        &["--min-compaction-lag", "1h"],
        &["--max-compaction-lag", "1h"],
        &["--why-not-cleaned", "--format", "csv"],
        &["--headers-only", "--closed-only"],
        &["--headers-only", "--segment-bytes", "1M"],
        &["--sample", "1%", "--delete-retention", "1h"],
        &["--time", "..", "--closed-only"],
    ] {
        assert_eq!(run("stats", args, &folder).0, 2, "{args:?}");
    }
    for args in [
        &["--why-not-cleaned", "--min-cleanable-dirty-ratio", "0.2", "--min-compaction-lag", "1h"][..],
        &["--segment-bytes", "1M", "--delete-retention", "1h"],
    ] {
        assert_eq!(run("stats", args, &folder).0, 0, "{args:?}");
    }
}

/// What is said to be read is what was looked at: of heads no records, of a window no segment behind it.
#[test]
fn bytes_that_were_read() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_segments(dir.path(), 3, &[segment(0, 500, 1), segment(500, 500, 1)]);
    let read = |args: &[&str]| {
        let document = stats(&[&["--now", "0"], args].concat(), &folder);
        assert_eq!(document["totals"]["bytesRead"], partitions(&document)[0]["bytesRead"]);
        partitions(&document)[0]["bytesRead"].as_u64().unwrap()
    };
    let bytes = file_bytes(&folder);
    assert_eq!(read(&[]), bytes);
    assert_eq!(read(&["--headers-only"]), 1000 * 61);
    assert_eq!(read(&["--time", ".."]), bytes);
    // Of the second segment the end is looked at, to say where the log ends.
    let last = std::fs::metadata(folder.join(build::segment_name(500))).unwrap().len();
    assert_eq!(read(&["--time", &format!("..{}", T0 + 500)]), bytes - last + last.min(64 << 10));
    // Of messages of the old magics the heads are shorter.
    let old = |magic| Bat { magic, ..one(0, 1) };
    for (magic, head) in [(0, 26), (1, 34)] {
        let folder = build::write_log(&dir.path().join(magic.to_string()), 3, &[old(magic)]);
        let document = stats(&["--now", "0", "--headers-only"], &folder);
        assert_eq!(partitions(&document)[0]["bytesRead"], head);
    }
}

/// By types, too, if it is asked for; and a table for programs has plain numbers.
#[test]
fn the_largest_rows_and_their_figures() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = segment(0, 9, 3);
    batches.push(Bat::of(vec![Rec {
        key: Some(vec![0, 2, 0, 1, b'g']),
        value: None,
        ..build::commit(9, "g", "t", 0, 1)
    }]));
    let folder = build::write_log(dir.path(), 3, &batches);
    let types = |args: &[&str]| {
        let text = run("stats", &[&["--by", "type", "--format", "csv", "--now", "0"], args].concat(), &folder).1;
        text.lines().filter(|line| !line.starts_with('(') && !line.starts_with("type,")).count()
    };
    assert_eq!((types(&[]), types(&["--top", "1"]), types(&["--top", "2"])), (2, 1, 2));
    let (_, csv, _) = run("stats", &["--by", "group", "--format", "csv", "--now", "0"], &folder);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|it| *it == name).unwrap();
    let shares: f64 = rows[1..].iter().map(|row| row[column("share")].parse::<f64>().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{csv}");
    assert!(rows[1][column("commits/s")].parse::<f64>().unwrap() > 0.0, "{csv}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    // Asked for twice, told once.
    let (_, text, _) = run("stats", &["--by", "group", "--by", "type", "--by", "group"], &folder);
    assert_eq!(text.matches("by group:").count(), 1, "{text}");
}

/// However little is asked for, a batch is read, and what is counted of it stands for all alike.
#[test]
fn a_sample_of_next_to_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_segments(dir.path(), 3, &[segment(0, 5000, 1)]);
    for share in ["0.0000001%", "20%"] {
        let document = stats(&["--now", "0", "--sample", share], &folder);
        let partition = &partitions(&document)[0];
        let batches = partition["batches"].as_u64().unwrap();
        assert!(partition["bytesRead"].as_u64().unwrap() > 0 && batches.abs_diff(5000) < 100, "{partition}");
        assert_eq!(partition["singleRecordBatches"], batches);
        let sizes = partition["batchSizes"].as_array().unwrap().iter();
        assert_eq!(sizes.map(|it| it["batches"].as_u64().unwrap()).sum::<u64>(), batches, "{partition}");
    }
}

/// A compressed batch of magic 1 does not say in its head how many records it holds.
#[test]
fn heads_that_do_not_tell() {
    let dir = tempfile::tempdir().unwrap();
    let records = (0..5).map(|at| build::commit(at, "g", "orders", 0, at)).collect();
    let packed = Bat { magic: 1, codec: Codec::Gzip, ..Bat::of(records) };
    let folder = build::write_log(dir.path(), 3, &[packed, Bat::of(vec![build::commit(5, "g", "orders", 0, 5)])]);
    let document = stats(&["--now", "0", "--headers-only"], &folder);
    let partition = &partitions(&document)[0];
    assert_eq!((&partition["records"], &partition["batchesOfUnknownCount"]), (&Value::Null, &json!(1)));
    assert_eq!(document["totals"]["records"], Value::Null);
    assert!(run("stats", &["--headers-only"], &folder).1.contains("records unknown in 1 batch"));
    let whole = stats(&["--now", "0"], &folder);
    assert_eq!(
        (&partitions(&whole)[0]["records"], &partitions(&whole)[0]["batchesOfUnknownCount"]),
        (&json!(6), &json!(0))
    );
}
