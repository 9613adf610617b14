//! `verify` on logs that real brokers wrote: nothing to say of a sound one, whatever its release, running, killed or
//! stopped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::{Bat, codecs, commit, write_log, write_segments};
use common::{exhibits, grouplog};
use grouplog::log::Codec;
use serde_json::Value;
use std::path::Path;

#[test]
fn sound_logs_are_silent() {
    let (mut log_dirs, mut partitions, mut files, mut normal) = (0, 0, 0, 0);
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let path = exhibit.dir.join(&log_dir);
            for format in ["table", "jsonl"] {
                let output = grouplog(&path, ["verify", "--format", format, "."]);
                let said = (output.status.code(), text(&output.stdout), text(&output.stderr));
                assert_eq!(said, (Some(0), String::new(), String::new()), "{} {log_dir}", exhibit.name);
            }
            // What is normal is said when it is asked for, and nothing else.
            let output = grouplog(&path, ["verify", "-v", "--format", "jsonl", "."]);
            assert_eq!(output.status.code(), Some(0));
            for line in text(&output.stdout).lines() {
                let finding: Value = serde_json::from_str(line).unwrap();
                assert_eq!(finding["severity"], "info", "{} {finding}", exhibit.name);
                normal += 1;
            }
            log_dirs += 1;
            for name in common::names_in(&path).into_iter().filter(|name| name.starts_with("__consumer_offsets-")) {
                partitions += 1;
                files += common::names_in(&path.join(name)).len();
            }
        }
    }
    println!(
        "{log_dirs} log dirs, {partitions} partitions, {files} files: silent; {normal} normal things told with -v"
    );
    assert!(log_dirs >= 19 && partitions > 50 && files > 300 && normal > 100);
}

#[test]
fn fast_is_silent_too() {
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let output = grouplog(&exhibit.dir.join(&log_dir), ["verify", "--fast", "-q", "."]);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()), "{}", exhibit.name);
        }
    }
}

/// Code, severity and segment of each finding, in `log` under a folder.
fn findings(dir: &Path, options: &[&str]) -> Vec<(String, String, String)> {
    let output = grouplog(dir, [&["verify", "--format", "jsonl"], options, &["log"]].concat());
    let lines = text(&output.stdout);
    let finding = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let all: Vec<_> = lines.lines().map(finding).collect();
    assert_eq!(output.status.code(), Some(if all.iter().any(|it| it["severity"] != "info") { 3 } else { 0 }));
    all.iter().map(|it| (word(it, "code"), word(it, "severity"), word(it, "segment"))).collect()
}

/// The piece of a record at which the inflating stops is no bad record.
#[test]
fn a_limit_to_inflating_damages_no_record() {
    for magic in [0, 1, 2] {
        for &codec in codecs(magic) {
            let records = (0..20).map(|i| commit(i, "g", "t", i as i32, i)).collect();
            let dir = tempfile::tempdir().unwrap();
            write_log(&dir.path().join("log"), 0, &[Bat { magic, codec, ..Bat::of(records) }]);
            let mut codes: Vec<_> =
                findings(dir.path(), &["--max-inflated", "300"]).into_iter().map(|it| it.0).collect();
            codes.sort();
            let expected: &[&str] = if codec == Codec::None { &[] } else { &["inflated-too-large"] };
            assert_eq!(codes, expected, "magic {magic} {codec:?}");
        }
    }
}

/// A folder under a segment's name is told however deep one looks.
#[test]
fn what_is_no_file_is_no_segment() {
    let dir = tempfile::tempdir().unwrap();
    let folder = write_log(&dir.path().join("log"), 0, &[Bat::of(vec![commit(0, "g", "t", 0, 1)])]);
    let name = "00000000000000000100.log";
    std::fs::create_dir(folder.join(name)).unwrap();
    for options in [&[][..], &["--fast"]] {
        let expected = [("segment-unreadable".to_owned(), "error".to_owned(), name.to_owned())];
        assert_eq!(findings(dir.path(), options), expected, "{options:?}");
    }
}

/// The last segment may lose its end to an unclean stop; one that others follow was on the disk.
#[test]
fn an_index_that_outlives_a_closed_segment_is_an_error() {
    for (cut, severity) in [(0, "error"), (1, "warning")] {
        let dir = tempfile::tempdir().unwrap();
        let batch = |i: i64| Bat::of(vec![commit(i, "g", "t", 0, i)]);
        let folder = write_segments(&dir.path().join("log"), 0, &[vec![batch(0)], vec![batch(1)]]);
        // Offset and position, above the base and behind the end.
        std::fs::write(folder.join(format!("{cut:020}.index")), [0, 0, 0, 1, 0, 0, 16, 0]).unwrap();
        let all = findings(dir.path(), &[]);
        let found = ("index-beyond-end".to_owned(), severity.to_owned(), format!("{cut:020}.index"));
        assert!(all.contains(&found), "{all:?}");
    }
}

/// Two copies of one partition: by its number nobody knows which is meant.
#[test]
fn a_finding_names_its_copy_where_there_are_two() {
    let dir = tempfile::tempdir().unwrap();
    for copy in ["one", "two"] {
        let folder = write_log(&dir.path().join(copy), 7, &[Bat::of(vec![commit(0, "g", "t", 0, 1)])]);
        if copy == "two" {
            let path = folder.join("00000000000000000000.log");
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let printed = |paths: &[&str]| text(&grouplog(dir.path(), [&["verify"], paths].concat()).stdout);
    let (both, alone) = (printed(&["one", "two"]), printed(&["two"]));
    let line = |printed: &str| printed.lines().find(|line| line.contains("crc-mismatch")).unwrap().to_owned();
    assert!(line(&both).contains("two/__consumer_offsets-7, partition 7"), "{both}");
    assert!(line(&alone).contains("crc-mismatch  partition 7"), "{alone}");
}

/// Of bytes that nothing vouches for, the names may be none that were written.
#[test]
fn names_in_damage_are_told_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let folder = write_log(&dir.path().join("log"), 0, &[Bat::of(vec![commit(0, "g", "topic", 0, 1)])]);
    let path = folder.join("00000000000000000000.log");
    let whole = std::fs::read(&path).unwrap();
    let said = |changes: &[usize]| {
        let mut bytes = whole.clone();
        changes.iter().for_each(|at| bytes[whole.len() - at] ^= 1);
        std::fs::write(&path, &bytes).unwrap();
        let output = text(&grouplog(dir.path(), ["verify", "--format", "jsonl", "log"]).stdout);
        let all: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        all.into_iter().find(|it| it["code"] == "latest-record-lost").unwrap()
    };
    // The time of the commit: of one changed byte the CRC tells which.
    let (mended, doubtful) = (said(&[4]), said(&[4, 6]));
    assert_eq!((&mended["group"], &mended["facts"]["doubtful"]), (&"g".into(), &false.into()), "{mended}");
    assert_eq!((&doubtful["group"], &doubtful["facts"]["doubtful"]), (&"g".into(), &true.into()), "{doubtful}");
    assert!(doubtful["message"].as_str().unwrap().contains("by its damaged bytes"), "{doubtful}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
