//! `compact` on made-up logs, one thing at a time: what stays, what goes, what is told, what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/compacted.rs"]
mod compacted;
#[path = "common/wreck.rs"]
mod wreck;

use build::{Bat, T0};
use common::{grouplog, names_in};
use compacted::*;
use grouplog::log::Codec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Three segments: a key that is committed again and again, a tombstone, an aborted and a committed transaction.
fn log(log_dir: &Path) -> PathBuf {
    let abort = |offset, producer| Bat::marker(build::Ending::Abort, offset, T0 + offset, producer, 0);
    let commit = |offset, producer| Bat::marker(build::Ending::Commit, offset, T0 + offset, producer, 0);
    let first = vec![
        Bat::of(vec![build::commit(0, "g", "t", 0, 1), build::commit(1, "g", "t", 1, 1)]),
        Bat::transactional(7, 0, vec![build::commit(2, "g", "t", 0, 2)]),
        abort(3, 7),
        Bat::of((4..20).map(|i| build::commit(i, "g", "t", 0, i)).collect()),
    ];
    let second = vec![
        Bat::transactional(8, 0, vec![build::commit(20, "g", "t", 2, 2)]),
        commit(21, 8),
        Bat::of(vec![build::forget(22, "g", "t", 1)]),
    ];
    let third = vec![Bat::of(vec![build::commit(23, "g", "t", 0, 99)])];
    build::write_segments(log_dir, 3, &[first, second, third])
}

#[test]
fn closed_segments_only_unless_asked() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let now = (T0 + 1_000).to_string();
    let out = dir.path().join("closed");
    assert!(compact(&out, &["--now", &now], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 19, 20, 21, 22, 23]);
    assert_eq!(new.iter().find(|it| it.last_offset == 22).unwrap().delete_horizon_ms, Some(T0 + 1_000 + 86_400_000));
    // The last data batch of a producer stays, empty, for its sequence number.
    assert_eq!(new.iter().filter(|it| it.records.is_empty()).map(|it| it.last_offset).collect::<Vec<_>>(), [2]);
    let told = summary(&out);
    assert_eq!(told["dropped"]["aborted"], 1);
    assert_eq!(told["dropped"]["superseded"], 17);
    assert_eq!((&told["compactedUntil"], &told["endOffset"]), (&23.into(), &24.into()));
    assert_eq!(told["checkpoints"][0]["line"], "__consumer_offsets 3 23");

    let out = dir.path().join("all");
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 20, 21, 22, 23]);
    assert_eq!(names_in(&out), ["__consumer_offsets-3", "compact.jsonl", "compact.txt"]);
}

#[test]
fn an_open_transaction_pins_what_is_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = Bat::transactional(9, 0, vec![build::commit(1, "g", "t", 0, 5)]);
    let mut batches = vec![Bat::of(vec![build::commit(0, "g", "t", 0, 0)]), open];
    batches.extend((2..50).map(|i| Bat::of(vec![build::commit(i, "g", "t", 0, i)])));
    let old = build::write_log(dir.path(), 3, &batches);
    let now = (T0 + 1_000).to_string();
    let options = ["--now", now.as_str(), "--include-active"];
    let (pinned, forced) = (dir.path().join("pinned"), dir.path().join("forced"));
    assert!(compact(&pinned, &options, &[&old]).status.success());
    assert_eq!(build::read_partition(&pinned.join("__consumer_offsets-3")), batches);
    // What is pinned begins a segment, for a cleaner takes segments whole.
    assert_eq!(frames(&pinned.join("__consumer_offsets-3")).1, [0, 1]);
    let told = lines(&pinned);
    let open = told.iter().find(|line| line["kind"] == "open-transaction").unwrap();
    assert_eq!((&open["firstOffset"], &open["pins"]), (&1.into(), &true.into()));
    assert_eq!(summary(&pinned)["compactedUntil"], 1);
    let options = [&options[..], &["--force-past-open-transactions"]].concat();
    assert!(compact(&forced, &options, &[&old]).status.success());
    let new = build::read_partition(&forced.join("__consumer_offsets-3"));
    assert_eq!(new, [batches[1].clone(), batches[49].clone()]);
    assert_eq!(frames(&forced.join("__consumer_offsets-3")).1, [0, 1]);
}

/// Also where it begins below the log start, and what stays before it has a greater offset.
#[test]
fn segments_do_not_overlap_where_a_transaction_began_below_the_log_start() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [
        Bat::of(vec![build::commit(0, "g", "t", 0, 0)]),
        Bat::transactional(9, 0, vec![build::commit(1, "g", "t", 1, 5)]),
        Bat::of(vec![build::commit(2, "g", "t", 0, 2)]),
        Bat::transactional(9, 0, vec![build::commit(3, "g", "t", 1, 6)]),
    ];
    let log_dir = dir.path().join("kafka");
    let old = build::write_log(&log_dir, 3, &batches);
    std::fs::write(log_dir.join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 3 2\n").unwrap();
    let out = dir.path().join("new");
    let options = ["--include-active", "--force-past-open-transactions"];
    assert!(compact(&out, &options, &[&old]).status.success());
    let (mut next, names) = (0, frames(&out.join("__consumer_offsets-3")).1);
    for name in &names {
        assert!(*name >= next, "{names:?}");
        next = *name + 1;
    }
    let verified = grouplog(dir.path(), ["verify", "--min-severity", "warning", out.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// A coordinator always writes sequence 0, by which cleaners once kept a batch of every transaction (KAFKA-8335).
#[test]
fn one_empty_batch_for_a_producer() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = Vec::new();
    for i in 0..100 {
        batches.push(Bat::transactional(5, 0, vec![build::commit(2 * i, "g", "t", 0, i)]));
        batches.push(Bat::marker(build::Ending::Commit, 2 * i + 1, T0, 5, 0));
    }
    batches.push(Bat::of(vec![build::commit(200, "g", "t", 0, 1)]));
    let old = build::write_log(dir.path(), 3, &batches);
    let out = dir.path().join("out");
    let now = (T0 + 1_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let empty: Vec<_> = new.iter().filter(|batch| batch.records.is_empty()).map(|batch| batch.last_offset).collect();
    assert_eq!(empty, [198]);
    // Two days on, nobody remembers the producer.
    let out = dir.path().join("later");
    let now = (T0 + 2 * 86_400_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    assert!(new.iter().all(|batch| !batch.records.is_empty()));
}

/// A tombstone that hides a record with other bytes of the same key stays, whatever its time.
#[test]
fn a_tombstone_stays_while_it_hides_something() {
    let dir = tempfile::tempdir().unwrap();
    let mut old_key = build::commit(0, "g", "t", 0, 1);
    old_key.key.as_mut().unwrap()[1] = 0;
    old_key.value = Some(build::Commit::at(1).value(0));
    let tombs = Bat {
        delete_horizon_ms: Some(T0),
        ..Bat::of(vec![build::forget(1, "g", "t", 0), build::forget(2, "g", "t", 1)])
    };
    let old = build::write_log(dir.path(), 3, &[Bat::of(vec![old_key]), tombs]);
    let out = dir.path().join("out");
    let now = (T0 + 1_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [0, 1]);
}

#[test]
fn the_log_start_counts() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [
        Bat::of(vec![build::commit(0, "g", "t", 0, 1)]),
        Bat::of(vec![build::commit(1, "g", "t", 1, 1), build::commit(2, "g", "t", 2, 1)]),
        Bat::of(vec![build::commit(3, "g", "t", 3, 1)]),
    ];
    let log_dir = dir.path().join("kafka");
    let old = build::write_log(&log_dir, 3, &batches);
    std::fs::write(log_dir.join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 3 2\n").unwrap();
    let out = dir.path().join("elsewhere");
    let output = compact(&out, &["--include-active", "--now", &T0.to_string()], &[&old]);
    assert!(output.status.success(), "{output:?}");
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [2, 3]);
    let told = summary(&out);
    assert_eq!(told["dropped"]["beforeLogStart"], 2);
    assert!(told["checkpoints"].to_string().contains("__consumer_offsets 3 2\""));
}

#[test]
fn damage_is_refused_unless_it_may_be_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let path = old.join(build::segment_name(0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[90] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let out = dir.path().join("out");
    let output = compact(&out, &[], &[&old]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("grouplog salvage") && said.contains("--skip-damage") && said.contains("at byte 0"),
        "{said}"
    );
    assert!(!out.exists());
    let output = compact(&out, &["--skip-damage", "--now", &T0.to_string()], &[&old]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = lines(&out);
    assert_eq!(told.iter().find(|line| line["kind"] == "damage").unwrap()["code"], "crc-mismatch");
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 19, 20, 21, 22, 23]);
}

#[test]
fn a_torn_end_is_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let path = old.join(build::segment_name(23));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(&Bat::of(vec![build::commit(24, "g", "t", 0, 1)]).bytes()[..70]);
    std::fs::write(&path, bytes).unwrap();
    let out = dir.path().join("out");
    assert!(compact(&out, &["--include-active"], &[&old]).status.success());
    assert_eq!(summary(&out)["tornTail"], true);
    assert_eq!(summary(&out)["endOffset"], 24);
}

#[test]
fn nothing_is_written_over_and_a_dry_run_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(&dir.path().join("kafka"));
    let before = std::fs::read_dir(dir.path()).unwrap().count();
    let args = ["compact", "--dry-run", "--format", "jsonl", "--now", "1700000001000", old.to_str().unwrap()];
    let output = grouplog(Path::new("."), args);
    let told: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.last().unwrap()["written"], false);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before);
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let output = compact(&out, &[], &[&old]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("exists"));
    assert_eq!(names_in(&out), Vec::<String>::new());
    // Inside of what is read it would change it.
    let output = compact(&old.join("new"), &[], &[&old]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names_in(&old).len(), 3);
    // And the report of a run that writes is the same, but for that.
    let out = dir.path().join("real");
    assert!(compact(&out, &["--now", "1700000001000"], &[&old]).status.success());
    let mut real = summary(&out);
    real["written"] = false.into();
    assert_eq!(real, *told.last().unwrap());
}

#[test]
fn segments_grow_to_a_size_and_keep_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let segments: Vec<Vec<Bat>> = (0..40)
        .map(|i| {
            vec![Bat::of(vec![build::commit(2 * i, "g", "t", i as i32, i), build::commit(2 * i + 1, "g", "t", 99, i)])]
        })
        .collect();
    let old = build::write_segments(dir.path(), 3, &segments);
    let one = segments[0][0].bytes().len();
    let out = dir.path().join("out");
    let size = (one * 5).to_string();
    assert!(compact(&out, &["--segment-bytes", &size, "--now", &T0.to_string()], &[&old]).status.success());
    let folder = out.join("__consumer_offsets-3");
    let names: Vec<_> = names_in(&folder).into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!((4..10).contains(&names.len()), "{names:?}");
    assert_eq!(names.first().map(String::as_str), Some("00000000000000000000.log"));
    assert_eq!(names.last().map(String::as_str), Some("00000000000000000078.log"));
    for name in &names {
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() <= (one * 5) as u64, "{name}");
    }
}

/// Every file below a folder.
fn all_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in names_in(dir) {
        let path = dir.join(name);
        if path.is_dir() {
            all.extend(all_files(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Records of types that no release knows, and keys that are none: one of each stays, byte for byte.
#[test]
fn what_nobody_knows_stays_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let key = |number: i16, rest: &[u8]| [&number.to_be_bytes()[..], rest].concat();
    let strange: Vec<(Vec<u8>, Option<Vec<u8>>)> = vec![
        (key(25, b"\0\x01g"), Some(vec![0, 9, 1, 2, 3])),
        (key(999, b"whatever"), Some(Vec::new())),
        (key(-1, b""), Some(b"minus one".to_vec())),
        (key(32767, b"\xff\xff"), None),
        (Vec::new(), Some(b"of an empty key".to_vec())),
        (vec![0], Some(b"of half a number".to_vec())),
        (key(1, b"\0\x01g"), Some(b"of a commit cut short".to_vec())),
        (key(3, b"\0\x01g"), Some(key(99, b"a version to come"))),
    ];
    let records = |at: i64, tag: u8| -> Vec<build::Rec> {
        let record = |(i, (key, value)): (usize, &(Vec<u8>, Option<Vec<u8>>))| build::Rec {
            offset: at + i as i64,
            timestamp: T0 + at,
            key: Some(key.clone()),
            value: value.as_ref().map(|value| [value, &[tag][..]].concat()),
        };
        strange.iter().enumerate().map(record).collect()
    };
    let nameless = build::Rec { offset: 40, timestamp: T0, key: None, value: Some(b"nameless".to_vec()) };
    let batches = [
        Bat::of(records(0, 1)),
        Bat::of([records(8, 2), vec![build::commit(16, "g", "t", 0, 1)]].concat()),
        Bat::of(vec![build::commit(17, "g", "t", 0, 2), nameless, build::commit(41, "g", "t", 1, 2)]),
    ];
    let old = build::write_log(&dir.path().join("log"), 3, &batches);
    let out = dir.path().join("out");
    let now = (T0 + 1_000).to_string();
    compacted(&out, &["--include-active", "--now", &now], &[&old]);
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let left: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().cloned()).collect();
    let last = |offset| batches[2].records.iter().find(|it| it.offset == offset).cloned().unwrap();
    assert_eq!(left, [records(8, 2), vec![last(17), last(41)]].concat());
    assert_told_right(&dir.path().join("log"), &out, "strange");
    let told = summary(&out);
    assert_eq!((&told["dropped"]["withoutKey"], &told["dropped"]["superseded"]), (&1.into(), &9.into()));
    // With nothing to thin, and no tombstone to date, the bytes are the old ones.
    let out = dir.path().join("again");
    let no_tombstones: Vec<_> = records(0, 1).into_iter().filter(|it| it.value.is_some()).collect();
    let old = build::write_log(&dir.path().join("other"), 3, &[Bat::of(no_tombstones)]);
    compacted(&out, &["--include-active", "--now", &now], &[&old]);
    assert_eq!(frames(&out.join("__consumer_offsets-3")).0, frames(&old).0);
}

/// Logs of every magic and codec: the groups stay, codecs and magics too, and what stays whole is copied.
#[test]
fn every_magic_and_codec_is_thinned() {
    let (mut thinned, mut copied) = (0, 0);
    for hull in wreck::Hull::all() {
        let dir = tempfile::tempdir().unwrap();
        let log_dir = dir.path().join("log");
        let old = hull.write(&log_dir);
        let out = dir.path().join("out");
        compacted(&out, &["--include-active", "--now", &(T0 + 1_000).to_string()], &[&old]);
        let what = hull.name();
        assert_told_right(&log_dir, &out, &what);
        let diff = grouplog(dir.path(), ["diff", "log", "out"]);
        assert_eq!(diff.status.code(), Some(0), "{what}: {diff:?}");
        let folder = out.join("__consumer_offsets-0");
        let (was, now) = (frames(&old).0, frames(&folder).0);
        let before: BTreeMap<_, _> = hull.batches.iter().map(|batch| (batch.last_offset, batch)).collect();
        for batch in build::read_partition(&folder) {
            // A wrapper ends with the last that is left in it.
            let (last, old) = before.range(batch.last_offset..).next().unwrap();
            let codec = if batch.records.is_empty() { Codec::None } else { old.codec };
            assert_eq!((batch.magic, batch.codec), (hull.magic, codec), "{what}: up to {last}");
            if batch.records.len() == old.records.len() && batch.delete_horizon_ms.is_none() {
                assert_eq!(now[last], was[last], "{what}: up to {last}");
                copied += 1;
            } else {
                assert!(batch.records.iter().all(|record| old.records.contains(record)), "{what}: up to {last}");
                thinned += 1;
            }
        }
    }
    println!("{thinned} thinned, {copied} copied");
    assert!(thinned > 10 && copied > 100, "{thinned} {copied}");
}

/// Of a key that waits in an open transaction, one tombstone hides as much as many.
#[test]
fn one_tombstone_hides_what_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = vec![Bat::transactional(9, 0, vec![build::commit(0, "g", "t", 0, 5)])];
    for i in 0..20 {
        batches.push(Bat::of(vec![build::forget(2 * i + 1, "g", "t", 0), build::commit(2 * i + 2, "g", "t", 0, i)]));
    }
    let old = build::write_log(&dir.path().join("log"), 3, &batches);
    let now = (T0 + 1_000).to_string();
    let options = ["--include-active", "--force-past-open-transactions", "--now", now.as_str()];
    let out = dir.path().join("out");
    compacted(&out, &options, &[&old]);
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [0, 39, 40]);
    assert_told_right(&dir.path().join("log"), &out, "hidden");
    let diff = grouplog(dir.path(), ["diff", "log", "out"]);
    assert_eq!(diff.status.code(), Some(0), "{diff:?}");
    // However late: what it hides is there as long.
    let options = ["--include-active", "--force-past-open-transactions", "--now", "1999999999999"];
    let late = dir.path().join("late");
    compacted(&late, &options, &[&out]);
    let new = build::read_partition(&late.join("__consumer_offsets-3"));
    assert_eq!(new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect::<Vec<_>>(), [0, 39, 40]);
}

/// The report for people: what is left of each type, why the rest goes, and which lines to set.
#[test]
fn the_report_says_what_goes_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(&dir.path().join("log"));
    let args = ["compact", "--dry-run", "--now", "1700000001000", "--delete-retention", "2h", old.to_str().unwrap()];
    let output = grouplog(Path::new("."), args);
    let said = String::from_utf8(output.stdout).unwrap();
    for line in [
        "would be kept: 5 of 23 records, 6 of 7 batches",
        "as it was, from offset 23 to the end 24 (the last segment): 1 record, 1 batch",
        "COMMIT",
        "ABORT",
        "gone: 17 have a later record of their key, 1 are of aborted transactions",
        "cleaner-offset-checkpoint         __consumer_offsets 3 23 ",
        "recovery-point-offset-checkpoint  __consumer_offsets 3 24 ",
        "replication-offset-checkpoint     __consumer_offsets 3 24 ",
    ] {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
    let row = said.lines().find(|line| line.contains("OffsetCommit")).unwrap();
    assert_eq!(row.split_whitespace().take(6).collect::<Vec<_>>(), ["1", "OffsetCommit", "20", "2", "1", "1"]);
    let horizon = "may go from 2023-11-15T00:13:21.000Z on";
    assert!(said.contains(horizon), "{horizon:?} is not in\n{said}");
}

/// Batches of all codecs are thinned and squeezed again; those of which all stays are copied.
#[test]
fn compressed_batches_keep_their_codec() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let dir = tempfile::tempdir().unwrap();
        let commits = |from: i64, to: i64| (from..to).map(|i| build::commit(i, "g", "t", (i % 50) as i32, i)).collect();
        let batches: Vec<Bat> =
            [(0, 75), (75, 100), (100, 101)].map(|(from, to)| Bat { codec, ..Bat::of(commits(from, to)) }).into();
        let old = build::write_log(dir.path(), 3, &batches);
        let out = dir.path().join("out");
        let now = (T0 + 1_000).to_string();
        assert!(compact(&out, &["--include-active", "--now", &now], &[&old]).status.success());
        let new = build::read_partition(&out.join("__consumer_offsets-3"));
        assert_eq!(new.iter().map(|batch| batch.records.len()).collect::<Vec<_>>(), [24, 25, 1]);
        assert!(new.iter().all(|batch| batch.codec == codec));
        assert_eq!(frames(&out.join("__consumer_offsets-3")).0[&99], batches[1].bytes());
    }
}

#[test]
fn the_active_segment_of_a_running_broker_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("kafka");
    let old = log(&log_dir);
    std::fs::write(log_dir.join("meta.properties"), "version=1\nnode.id=1\n").unwrap();
    std::fs::write(log_dir.join(".lock"), "").unwrap();
    let lock = std::fs::OpenOptions::new().write(true).open(log_dir.join(".lock")).unwrap();
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let output = compact(&dir.path().join("all"), &["--include-active"], &[&old]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("a broker is running on it"));
    assert!(compact(&dir.path().join("closed"), &[], &[&old]).status.success());
}

/// Every kind of damage, in logs of every magic and codec: refused, or left out and told; what is written is sound.
#[test]
fn every_damage_is_refused_or_left_out() {
    let (mut refused, mut left_out) = (0, 0);
    for hull in wreck::Hull::all() {
        for damage in wreck::Damage::ALL.into_iter().filter(|damage| damage.concerns(hull.magic)) {
            let dir = tempfile::tempdir().unwrap();
            let what = format!("{damage:?} of {}", hull.name());
            let mut hull = wreck::Hull::of(hull.magic, hull.codec);
            damage.hurt(&mut hull, wreck::VICTIM);
            let old = hull.write(&dir.path().join("log"));
            let before = all_files(&old);
            let output = compact(&dir.path().join("strict"), &["--include-active"], &[&old]);
            match output.status.code() {
                Some(0) => continue,
                code => assert_eq!(code, Some(1), "{what}: {output:?}"),
            }
            refused += 1;
            let out = dir.path().join("out");
            let output = compact(&out, &["--include-active", "--skip-damage"], &[&old]);
            assert_eq!(output.status.code(), Some(3), "{what}: {output:?}");
            for (_, folder) in build::partitions_in(&out) {
                left_out += wreck::sound_batches(&folder).len();
            }
            assert_eq!(all_files(&old), before, "{what}");
        }
    }
    println!("{refused} refused; {left_out} sound batches without the damaged ones");
    assert!(refused > 100, "{refused}");
}
