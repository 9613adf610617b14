//! `dump` of the files beside the segments, against what Kafka 4.4's tool printed for every recorded one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{Exhibit, exhibits, grouplog, names_in};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What the 4.4.0 tool printed for the files beside the segments, and the folder in which it was run.
fn theirs(exhibit: &Exhibit) -> (String, PathBuf) {
    if let Some(text) = exhibit.text("dump-index.txt") {
        return (String::from_utf8(text).unwrap(), exhibit.dir.clone());
    }
    let text = String::from_utf8_lossy(&exhibit.text("dump-log-4.4.0.txt").unwrap()).into_owned();
    let (_, text) = text.split_once("\n$ dump-log (4.4.0, index and state files)\n").unwrap();
    let text = text.split_once("[stderr]\n").map_or(text, |(stdout, _)| stdout);
    (text.to_owned(), exhibit.dir.join("log"))
}

/// Where the recorded text is not of the recorded bytes: the exhibit, ours, theirs. The text was taken before the broker
/// trimmed the index to nothing; of the file as it is the tool says what we say.
const TAKEN_EARLIER: &[(&str, &str, &str)] =
    &[("segments/clean", "log/__consumer_offsets-1/00000000000000000945.index is empty.", "offset: 945 position: 0")];

#[test]
fn the_text_is_that_of_kafkas_dump_tool() {
    let (mut files, mut compared) = (0, 0);
    for exhibit in exhibits() {
        let (theirs, dir) = theirs(&exhibit);
        let paths: Vec<_> = theirs.lines().filter_map(|line| line.strip_prefix("Dumping ")).collect();
        let output = grouplog(&dir, ["dump", "--format", "kafka-dump-log"].iter().chain(&paths));
        assert_eq!(output.status.code(), Some(0), "{}", exhibit.name);
        let ours = String::from_utf8(output.stdout).unwrap();
        for (i, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            if TAKEN_EARLIER.contains(&(&exhibit.name, ours, theirs)) {
                continue;
            }
            assert_eq!(ours, theirs, "{}: line {}", exhibit.name, i + 1);
        }
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{}", exhibit.name);
        assert_whole(&exhibit, &paths, &dir);
        files += paths.len();
        compared += ours.lines().count();
    }
    println!("{compared} lines of {files} files");
    assert!(compared > 500 && files > 100);
}

/// That the text tells of every index, snapshot and transaction index there is; 4.4.0's tool knows no older one.
fn assert_whole(exhibit: &Exhibit, told: &[&str], from: &Path) {
    let mut on_disk = Vec::new();
    for log_dir in exhibit.log_dirs().iter().map(|name| exhibit.dir.join(name)) {
        for folder in names_in(&log_dir).into_iter().filter(|name| name.starts_with("__consumer_offsets-")) {
            let dir = log_dir.join(folder);
            let known = |name: &String| {
                [".index", ".timeindex", ".txnindex", ".snapshot"].iter().any(|suffix| name.ends_with(suffix))
            };
            on_disk.extend(names_in(&dir).into_iter().filter(known).map(|name| dir.join(name)));
        }
    }
    let told: std::collections::BTreeSet<_> = told.iter().map(|path| from.join(path)).collect();
    let missing: Vec<_> = on_disk.iter().filter(|path| !told.contains(*path)).collect();
    assert!(missing.is_empty(), "{}: {missing:?}", exhibit.name);
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn objects(dir: &Path, args: &[&str]) -> Vec<Value> {
    let output = grouplog(dir, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_has_every_entry_of_kafkas_text() {
    for exhibit in exhibits() {
        let (theirs, _) = theirs(&exhibit);
        let zeros = |line: &&str| !(line.starts_with("timestamp: 0 ") || line.ends_with(" position: 0"));
        let entries = theirs.lines().filter(|line| !line.starts_with("Dumping ") && !line.ends_with(" is empty."));
        let entries = entries.filter(zeros).count();
        let mut ours = 0;
        for log_dir in exhibit.log_dirs() {
            let objects = objects(&exhibit.dir, &["dump", "--side-files", &log_dir]);
            let known = ["index", "timeIndex", "txnIndex", "producer"];
            let of_known = |object: &&Value| {
                known.iter().any(|name| object.get(*name).is_some())
                    && !object["file"].as_str().unwrap().ends_with(".deleted")
            };
            ours += objects.iter().filter(of_known).count();
            assert!(objects.iter().all(|object| object.get("fault").is_none()), "{}", exhibit.name);
        }
        assert_eq!(ours, entries, "{}", exhibit.name);
    }
}

#[test]
fn one_object_an_entry() {
    let dir = fixture("tx/log");
    let of = |path: &str| objects(&dir, &["dump", path]);
    let index = of("__consumer_offsets-0/00000000000000000000.index");
    assert_eq!(
        index,
        [
            serde_json::json!({"partition": 0, "file": "00000000000000000000.index", "position": 0, "padding": {"length": 4096}})
        ]
    );
    let txn = of("__consumer_offsets-0/00000000000000000000.txnindex");
    assert_eq!(
        txn[1].to_string(),
        r#"{"partition":0,"file":"00000000000000000000.txnindex","position":34,"txnIndex":{"version":0,"producerId":10,"firstOffset":9,"lastOffset":35,"lastStableOffset":36}}"#
    );
    let epochs = of("__consumer_offsets-0/leader-epoch-checkpoint");
    assert_eq!(
        epochs[0].to_string(),
        r#"{"partition":0,"file":"leader-epoch-checkpoint","position":4,"leaderEpoch":{"epoch":0,"startOffset":0}}"#
    );
    let metadata = of("__consumer_offsets-0/partition.metadata");
    assert_eq!(metadata[0]["partitionMetadata"]["version"], 0);
    assert_eq!(metadata[0]["partitionMetadata"]["topicId"].as_str().unwrap().len(), 22);
    let properties = of("meta.properties");
    assert!(properties.iter().any(|it| it["property"]["name"] == "cluster.id" && it["partition"].is_null()));
    let marks = of("replication-offset-checkpoint");
    assert!(marks.iter().any(|it| it["checkpoint"]["topic"] == "__consumer_offsets"));
}

#[test]
fn snapshots_as_objects_tables_and_csv() {
    let dir = fixture("cleaned/short-after/log/__consumer_offsets-0");
    let name = names_in(&dir).into_iter().rfind(|name| name.ends_with(".snapshot")).unwrap();
    let producers = objects(&dir, &["dump", &name]);
    assert_eq!(producers[0]["partition"], 0);
    assert_eq!(producers[0]["position"], 10);
    assert!(producers[0]["producer"]["producerId"].is_number());
    let text = |format| String::from_utf8(grouplog(&dir, ["dump", "--format", format, &name]).stdout).unwrap();
    let table = text("table");
    assert!(table.starts_with(&format!("{name}: producer state snapshot, {} entries\n", producers.len())), "{table}");
    assert_eq!(table.lines().count(), producers.len() + 2);
    let csv = text("csv");
    assert_eq!(csv.lines().count(), producers.len() + 1);
    let fields = csv.lines().map(|line| line.split(',').count());
    assert!(fields.clone().all(|count| count == 26), "{csv}");
    let json: Vec<Value> = serde_json::from_str(&text("json")).unwrap();
    assert_eq!(json, producers);
}

#[test]
fn a_bad_file_is_shown_with_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let from = fixture("cleaned/short-after/log/__consumer_offsets-0");
    let name = names_in(&from).into_iter().rfind(|name| name.ends_with(".snapshot")).unwrap();
    let mut bytes = std::fs::read(from.join(&name)).unwrap();
    bytes[20] ^= 1;
    std::fs::write(dir.path().join(&name), &bytes).unwrap();
    std::fs::write(dir.path().join("00000000000000000000.index"), [0, 0, 0, 9, 0]).unwrap();
    std::fs::write(dir.path().join("leader-epoch-checkpoint"), "0\n2\n0 0\n1 1").unwrap();
    let show = |file: &str| {
        let output = grouplog(dir.path(), ["dump", file]);
        assert_eq!(output.status.code(), Some(3), "{file}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(show(&name).contains("\"fault\":{\"code\":\"crc-mismatch\",\"at\":2,"));
    assert!(show("00000000000000000000.index").contains("\"fault\":{\"code\":\"short-buffer\",\"at\":0,"));
    assert!(show("leader-epoch-checkpoint").contains("\"fault\":{\"code\":\"no-line-end\",\"at\":11,"));
    let text = grouplog(dir.path(), ["dump", "--format", "kafka-dump-log", &name]);
    assert_eq!(text.status.code(), Some(3));
    assert!(String::from_utf8(text.stdout).unwrap().contains("\nError at byte 2: CRC is "));
}

#[test]
fn what_goes_together_and_what_does_not() {
    let dir = fixture("tx/log/__consumer_offsets-0");
    let code = |args: &[&str]| {
        let output = grouplog(&dir, args);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, said) = code(&["dump", "00000000000000000000.log", "00000000000000000000.index"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("two calls"), "{said}");
    assert_eq!(code(&["dump", "--batches", "00000000000000000000.index"]).0, Some(2));
    assert_eq!(code(&["dump", "--group", "g", "--side-files", "."]).0, Some(2));
    assert_eq!(code(&["dump", "--format", "kafka-formatter", "00000000000000000000.index"]).0, Some(2));
    let (status, said) = code(&["dump", "--side-files", "00000000000000000000.log"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("the folder it lies in"), "{said}");
    let one = objects(&dir, &["dump", "--side-files", "--limit", "1", "."]);
    assert_eq!(one.iter().filter(|object| object.get("padding").is_none()).count(), 1);
}
