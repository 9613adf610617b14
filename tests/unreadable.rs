//! What cannot be read takes nothing away from the rest, and no verb says of the rest that it is all.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::*;
use common::{grouplog, names_in};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// A copy of a folder, without what a checkout may have added.
fn copied(from: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for name in names_in(from) {
        match from.join(&name).is_dir() {
            true => drop(copied(&from.join(&name), &to.join(&name))),
            false => drop(std::fs::copy(from.join(&name), to.join(&name)).unwrap()),
        }
    }
    to.to_owned()
}

/// What it printed, and what it said.
fn words(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A log dir in which one partition's folder cannot be listed: a link that leads nowhere. Without permission it is the same,
/// which a test that runs as root cannot see.
#[test]
fn a_partition_that_cannot_be_listed() {
    let dir = tempfile::tempdir().unwrap();
    let log = copied(&fixture("tx/log"), &dir.path().join("log"));
    std::os::unix::fs::symlink("nowhere", log.join("__consumer_offsets-7")).unwrap();
    let run = |words: &[&str]| grouplog(dir.path(), words.iter().copied());
    let all = [
        &["info"][..],
        &["dump"],
        &["dump", "--side-files"],
        &["groups"],
        &["describe", "--all"],
        &["history", "--group", "t-mix"],
        &["stats"],
        &["stats", "--headers-only"],
        &["txns", "--format", "jsonl"],
        &["audit"],
        &["verify"],
        &["verify", "--fast"],
        &["salvage", "--dry-run"],
        &["compact", "--dry-run", "--skip-damage"],
        &["rewrite", "--dry-run", "--skip-damage"],
    ];
    for verb in all {
        let output = run(&[verb, &["log"]].concat());
        let (printed, said) = words(&output);
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {said}");
        assert!(printed.contains("t-mix") || verb[0] != "groups", "{printed}");
        assert!(!printed.is_empty(), "{verb:?}");
        let told = [&printed, &said].map(|it| it.matches("leads nowhere").count() + it.matches("No such file").count());
        assert_eq!(told.iter().sum::<usize>(), 1, "{verb:?}: {printed}\n{said}");
    }
    for verb in ["compact", "rewrite"] {
        let output = run(&[verb, "--dry-run", "log"]);
        assert_eq!(output.status.code(), Some(1), "{verb}");
        assert!(words(&output).1.contains("--skip-damage"), "{verb}: {}", words(&output).1);
    }
    // Alone, it is a failure; and one that is not there is another one.
    for verb in ["info", "dump", "groups", "stats", "txns", "audit", "verify", "salvage", "compact", "rewrite"] {
        let dry = if ["salvage", "compact", "rewrite"].contains(&verb) { &["--dry-run"][..] } else { &[] };
        for (partition, why) in [("7", "leads nowhere"), ("99", "no partition 99")] {
            let output = run(&[&[verb], dry, &["--partition", partition, "log"]].concat());
            let said = words(&output).1;
            assert_eq!(output.status.code(), Some(1), "{verb} {partition}: {said}");
            assert!(said.contains(why), "{verb} {partition}: {said}");
            assert_eq!(said.matches("__consumer_offsets").count(), 1, "{verb} {partition}: {said}");
        }
    }
    let output = run(&["dump", "--side-files", "--partition", "99", "log"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output).1);
}

/// What another copy has is not lost.
#[test]
fn a_partition_that_only_the_replica_has() {
    let dir = tempfile::tempdir().unwrap();
    let log = copied(&fixture("tx/log"), &dir.path().join("log"));
    let whole = copied(&log, &dir.path().join("whole"));
    let lost = log.join("__consumer_offsets-1");
    std::fs::remove_dir_all(&lost).unwrap();
    std::os::unix::fs::symlink("nowhere", &lost).unwrap();
    let output = grouplog(dir.path(), ["salvage", "--out", "without", "log"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!dir.path().join("without/__consumer_offsets-1").exists());
    let lines = std::fs::read_to_string(dir.path().join("without/salvage.jsonl")).unwrap();
    assert!(lines.contains(r#""kind":"unreadable-partition""#), "{lines}");
    let output = grouplog(dir.path(), ["salvage", "--also", "whole", "--out", "with", "log"]);
    assert_eq!(output.status.code(), Some(3));
    let name = "__consumer_offsets-1/00000000000000000000.log";
    assert!(std::fs::read(dir.path().join("with").join(name)).unwrap() == std::fs::read(whole.join(name)).unwrap());
    for out in ["without", "with"] {
        assert_eq!(grouplog(dir.path(), ["verify", out]).status.code(), Some(0), "{out}");
    }
}

/// A broker stops at such a file, so that no new log has it.
#[test]
fn a_broken_topic_id_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let log = copied(&fixture("tx/log"), &dir.path().join("log"));
    std::fs::write(log.join("__consumer_offsets-0/partition.metadata"), "version: 0\ntopic_id: AAAA\n").unwrap();
    let also = fixture("tx/log").display().to_string();
    let verbs = [
        (&["salvage"][..], 3, false),
        (&["salvage", "--also", &also], 3, true),
        (&["compact"], 3, false),
        (&["rewrite", "--codec", "zstd"], 3, false),
        (&["rewrite", "--topic-id", "00YQRhQSSde_UAyBnyxN9g"], 0, true),
    ];
    for (number, (verb, status, has_it)) in verbs.into_iter().enumerate() {
        let out = format!("out-{number}");
        let output = grouplog(dir.path(), [verb, &["--out", &out, "log"]].concat());
        let (printed, said) = words(&output);
        assert_eq!(output.status.code(), Some(status), "{verb:?}: {said}");
        assert_eq!(format!("{printed}{said}").contains("a broker stops at it"), status == 3, "{verb:?}: {said}");
        let folder = dir.path().join(&out).join("__consumer_offsets-0");
        assert_eq!(folder.join("partition.metadata").exists(), has_it, "{verb:?}");
        assert!(dir.path().join(&out).join("__consumer_offsets-3/partition.metadata").exists(), "{verb:?}");
        assert_eq!(grouplog(dir.path(), ["verify", &out]).status.code(), Some(0), "{verb:?}");
    }
}

/// A file beside the log that names a higher offset proves that there was more.
#[test]
fn an_index_that_knows_more_than_the_log() {
    let source = fixture("tx/log/__consumer_offsets-0");
    let batches = read_segment(&source.join("00000000000000000000.log"));
    let dir = tempfile::tempdir().unwrap();
    let aborted = std::fs::read(source.join("00000000000000000000.txnindex")).unwrap();
    // Its last entry ends here.
    let last = i64::from_be_bytes(aborted[aborted.len() - 16..aborted.len() - 8].try_into().unwrap());
    let index = [0, 0, 0, 60, 0, 0, 8, 0];
    for (file, bytes, offset) in [("txnindex", aborted.as_slice(), last), ("index", &index, 60)] {
        for cut in [true, false] {
            let folder = dir.path().join(format!("{file}-{cut}/__consumer_offsets-0"));
            std::fs::create_dir_all(&folder).unwrap();
            let below: Vec<_> = batches.iter().filter(|it| it.last_offset < offset || !cut).cloned().collect();
            let log: Vec<u8> = below.iter().flat_map(Bat::bytes).collect();
            std::fs::write(folder.join("00000000000000000000.log"), log).unwrap();
            if cut || file != "index" {
                std::fs::write(folder.join(format!("00000000000000000000.{file}")), bytes).unwrap();
            }
            let verified = grouplog(&folder, ["verify", "."]).status.code();
            let output = grouplog(dir.path(), ["salvage", "--dry-run", folder.to_str().unwrap()]);
            let printed = words(&output).0;
            assert_eq!(
                (output.status.code(), verified),
                if cut { (Some(3), Some(3)) } else { (Some(0), Some(0)) },
                "{printed}"
            );
            let told = format!("{file} the segment went on to offset {offset} at least");
            assert_eq!((printed.contains(&told), printed.contains("nothing is lost")), (cut, !cut), "{printed}");
        }
    }
}

/// Offsets more than 31 bits above a segment's name: a broker, and salvage, begins a new one there.
#[test]
fn a_segment_that_spans_too_much_is_split_and_told() {
    let dir = tempfile::tempdir().unwrap();
    for (far, count) in [(i64::from(i32::MAX), 1), (i64::from(i32::MAX) + 1, 2)] {
        let log = dir.path().join(format!("log-{far}"));
        let old =
            write_log(&log, 0, &[Bat::of(vec![commit(0, "g", "t", 0, 1)]), Bat::of(vec![commit(far, "g", "t", 0, 2)])]);
        let out = format!("out-{far}");
        let output = grouplog(dir.path(), ["salvage", "--out", &out, old.to_str().unwrap()]);
        let printed = words(&output).0;
        assert_eq!(printed.contains("above the segment's name (offset-range)"), count == 2, "{printed}");
        assert!(output.status.code() == Some(0) && printed.contains("nothing is lost"), "{printed}");
        let segments = names_in(&dir.path().join(&out).join("__consumer_offsets-0"));
        assert_eq!(segments.iter().filter(|it| it.ends_with(".log")).count(), count);
        assert_eq!(grouplog(dir.path(), ["verify", &out]).status.code(), Some(0));
    }
}

/// A name on the way to the log cannot break a line of talk, and `/.` is no name.
#[test]
fn odd_paths() {
    let dir = tempfile::tempdir().unwrap();
    let log = copied(&fixture("tx/log"), &dir.path().join("new\nline"));
    std::os::unix::fs::symlink("nowhere", log.join("__consumer_offsets-7")).unwrap();
    let output = grouplog(dir.path(), ["groups", "new\nline"]);
    let said = words(&output).1;
    assert!(said.lines().all(|line| line.starts_with("grouplog: ")) && said.contains("new\\x0aline/"), "{said}");
    let output = grouplog(dir.path(), ["salvage", "--out", "./out/.", "new\nline"]);
    let (printed, said) = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(dir.path().join("out/salvage.txt").exists(), "{said}");
    assert!(printed.contains("new\\x0aline/"), "{printed}");
}

/// Runs it as somebody who may not read everything; None where that cannot be tried here.
fn as_nobody(dir: &Path, words: &[&str]) -> Option<Output> {
    let mut command = std::process::Command::new("setpriv");
    command.current_dir(dir).args(["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_grouplog")]).args(words);
    let probe = std::process::Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_grouplog"), "--version"])
        .output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("SKIPPED: no other user can be tried here (setpriv, as root)");
        return None;
    }
    Some(command.output().unwrap())
}

/// A folder that may be listed and not entered, a segment, a deleted segment and a checkpoint that may not be read.
#[test]
fn without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    mode(dir.path(), 0o755);
    for (name, file, bits) in [
        ("folder", "__consumer_offsets-1", 0o444),
        ("segment", "__consumer_offsets-1/00000000000000000000.log", 0),
        ("epochs", "__consumer_offsets-1/leader-epoch-checkpoint", 0),
        ("log-dir", "recovery-point-offset-checkpoint", 0),
    ] {
        let log = copied(&fixture("tx/log"), &dir.path().join(name));
        mode(&log.join(file), bits);
        for verb in [&["verify"][..], &["salvage", "--dry-run"]] {
            let Some(output) = as_nobody(dir.path(), &[verb, &[name]].concat()) else { return };
            let (printed, said) = words(&output);
            let is_told = name != "log-dir" || verb[0] == "verify";
            assert_eq!(output.status.code(), Some(if is_told { 3 } else { 0 }), "{name} {verb:?}: {printed}{said}");
            assert_eq!(printed.to_lowercase().contains("permission"), is_told, "{name} {verb:?}: {printed}{said}");
            if name == "segment" && verb[0] == "salvage" {
                assert_eq!(printed.matches("nothing is lost").count(), 3, "{printed}");
                // What is not known is not written as if it were empty.
                mode(dir.path(), 0o777);
                let output = as_nobody(dir.path(), &["salvage", "--out", "new", name]).unwrap();
                assert_eq!(output.status.code(), Some(3), "{}", words(&output).1);
                let written: Vec<_> = names_in(&dir.path().join("new"));
                assert!(!written.contains(&"__consumer_offsets-1".to_owned()) && written.len() == 5, "{written:?}");
            }
        }
        mode(&log.join(file), 0o755);
    }
    let log = copied(&fixture("tx/log"), &dir.path().join("all"));
    std::fs::copy(
        log.join("__consumer_offsets-0/00000000000000000000.log"),
        log.join("__consumer_offsets-0/00000000000000000000.log.deleted"),
    )
    .unwrap();
    mode(&log.join("__consumer_offsets-0/00000000000000000000.log.deleted"), 0);
    let Some(output) = as_nobody(dir.path(), &["salvage", "--dry-run", "all"]) else { return };
    assert!(words(&output).0.contains(".log.deleted: Permission denied"), "{}", words(&output).0);
    assert_eq!(output.status.code(), Some(3));
    // One segment of several takes nothing away from the others.
    let damaged = log.join("__consumer_offsets-0/00000000000000000000.log");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[80] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    std::fs::write(log.join("__consumer_offsets-0/00000000000000009999.log"), "").unwrap();
    mode(&log.join("__consumer_offsets-0/00000000000000009999.log"), 0);
    let printed = words(&as_nobody(dir.path(), &["verify", "all/__consumer_offsets-0"]).unwrap()).0;
    assert!(printed.contains("segment-unreadable") && printed.contains("crc-mismatch"), "{printed}");
}

/// A script that reads the stretches must not overlook a key because others beside it can be read.
#[test]
fn keys_that_cannot_be_read_are_told_where_they_stood() {
    let dir = tempfile::tempdir().unwrap();
    let folder = copied(&fixture("example3/log/__consumer_offsets-18"), &dir.path().join("log/__consumer_offsets-18"));
    let path = folder.join("00000000000000000000.log");
    let mut bytes = std::fs::read(&path).unwrap();
    // In the batch of offsets 46 to 51, uncompressed, of 511 bytes at 5013.
    bytes[5013 + 221..5013 + 251].fill(0xee);
    std::fs::write(&path, bytes).unwrap();
    grouplog(dir.path(), ["salvage", "--out", "new", "log"]);
    let read = |name: &str| std::fs::read_to_string(dir.path().join("new").join(name)).unwrap();
    let lines: Vec<Value> = read("salvage.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let stretches = of("stretch");
    let [stretch] = stretches.as_slice() else { panic!("{stretches:?}") };
    let told: Vec<i64> = of("lost-key").iter().map(|line| line["offset"].as_i64().unwrap()).collect();
    let dark = stretch["unreadableRecords"].as_u64().unwrap();
    assert!(dark > 0 && !told.is_empty(), "{stretch}");
    assert_eq!(stretch["keysUnreadable"], true);
    assert_eq!(of("summary")[0]["unreadableRecords"], dark);
    let ranges = stretch["unreadableAt"].as_array().unwrap().iter();
    let range = |it: &Value| it["firstOffset"].as_i64().unwrap()..=it["lastOffset"].as_i64().unwrap();
    let offsets: Vec<i64> = ranges.flat_map(range).collect();
    assert_eq!(offsets, (46..=51).filter(|offset| !told.contains(offset)).collect::<Vec<_>>(), "{stretch}");
    let text = read("salvage.txt");
    assert!(text.contains("keys cannot be read at offset"), "{text}");
}
