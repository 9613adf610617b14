//! `.swap` files that a broker would put into the log to its harm: `verify` says so, and `salvage` keeps what they would take.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{grouplog, kafka, names_in};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Records in the log of the fixture.
const ALL: u64 = 136;

fn segment(base: i64) -> String {
    format!("{base:020}.log")
}

fn swap(base: i64) -> String {
    format!("{base:020}.log.swap")
}

/// A log of five segments: 0, 489 (empty), 723, 966 and 1209; it ends at 1301.
struct Log {
    dir: tempfile::TempDir,
    folder: PathBuf,
}

impl Log {
    fn new() -> Log {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("log/__consumer_offsets-1");
        std::fs::create_dir_all(&folder).unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cleaned/short-after/log/__consumer_offsets-1");
        for name in names_in(&from) {
            std::fs::copy(from.join(&name), folder.join(&name)).unwrap();
        }
        Log { dir, folder }
    }

    /// Makes a `.swap` file of the bytes of segments.
    fn swap(&self, base: i64, of: &[i64]) {
        let bytes = of.iter().map(|base| std::fs::read(self.folder.join(segment(*base))).unwrap());
        std::fs::write(self.folder.join(swap(base)), bytes.collect::<Vec<_>>().concat()).unwrap();
    }

    /// The exit status of `verify`, and its findings: severity and code.
    fn verify(&self) -> (i32, Vec<(String, String)>, Vec<Value>) {
        let output = grouplog(self.dir.path(), ["verify", "--format", "jsonl", "log"]);
        let lines = String::from_utf8(output.stdout).unwrap();
        let findings: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        let said = findings.iter().map(|it| (text(it, "severity"), text(it, "code"))).collect();
        (output.status.code().unwrap(), said, findings)
    }

    /// What the reports of `salvage` say of `.swap` files that were set aside: the line for people, and that for programs.
    fn set_aside(&self) -> (Option<String>, Option<Value>) {
        let read = |name: &str| std::fs::read_to_string(self.dir.path().join("new").join(name)).unwrap();
        let lines: Vec<Value> = read("salvage.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let line = read("salvage.txt").lines().find(|line| line.contains("set aside")).map(str::to_owned);
        (line, lines.into_iter().find(|line| line["kind"] == "swap-set-aside"))
    }

    /// The exit status of `salvage`, what it said on stderr, and its summary.
    fn salvage(&self) -> (i32, String, Value) {
        let output = grouplog(self.dir.path(), ["salvage", "--out", "new", "log"]);
        let lines = std::fs::read_to_string(self.dir.path().join("new/salvage.jsonl")).unwrap();
        let summary = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap(), summary)
    }

    /// Records in the new log, and where it ends.
    fn salvaged(&self) -> (u64, i64) {
        let output = grouplog(self.dir.path(), ["info", "--format", "json", "new"]);
        let info: Value = serde_json::from_slice(&output.stdout).unwrap();
        let partition = if info.is_array() { &info[0] } else { &info["partitions"][0] };
        (partition["records"].as_u64().unwrap(), partition["endOffset"].as_i64().unwrap())
    }
}

/// A `.swap` file, and how many records the coordinators of 4.4.0 loaded from the folder with it (after a kill and after a stop
/// in order alike; 3.9.2 left the same files).
struct Case {
    name: i64,
    /// Segments of which it has the bytes.
    of: &'static [i64],
    loaded: u64,
    /// What `verify` says of it, if it is to be moved away.
    harm: Option<&'static str>,
}

const CASES: [Case; 8] = [
    // 0 has nothing but ends of transactions whose records are cleaned away.
    Case { name: 0, of: &[], loaded: 127, harm: None },
    Case { name: 723, of: &[], loaded: 121, harm: Some("error") },
    Case { name: 1209, of: &[], loaded: 44, harm: Some("error") },
    // Nothing of 489 is alive, and the cleaner makes an empty file of it.
    Case { name: 489, of: &[], loaded: ALL, harm: None },
    Case { name: 723, of: &[723], loaded: ALL, harm: None },
    Case { name: 489, of: &[489, 723], loaded: ALL, harm: None },
    // Inside of 723: who reads from the start finds all, who looks for 850 does not. Behind the end: the log ends at 2000.
    Case { name: 800, of: &[], loaded: ALL, harm: Some("warning") },
    Case { name: 2000, of: &[], loaded: ALL, harm: Some("warning") },
];

#[test]
fn verify_says_what_a_broker_would_lose_and_salvage_keeps_it() {
    for Case { name, of, loaded, harm } in CASES {
        let log = Log::new();
        log.swap(name, of);
        let (code, said, findings) = log.verify();
        assert_eq!(code, if harm.is_some() { 3 } else { 0 }, "{name} of {of:?}: {said:?}");
        let harms: Vec<_> =
            said.iter().filter(|(_, code)| code == "harmful-swap").map(|(how, _)| how.as_str()).collect();
        assert_eq!(harms, harm.into_iter().collect::<Vec<_>>(), "{name} of {of:?}");
        if harm == Some("error") {
            assert!(loaded < ALL, "{name} of {of:?}");
            let finding = findings.iter().find(|it| it["code"] == "harmful-swap").unwrap();
            assert_eq!(finding["segment"], segment(name).as_str());
            assert_eq!(finding["facts"]["swaps"][0], swap(name).as_str());
            assert!(finding["facts"]["keys"].as_u64() > Some(0), "{finding}");
            // It is not called harmless as well.
            assert!(!said.iter().any(|(_, code)| code == "leftover-cleaning"), "{said:?}");
        }
        let (code, stderr, summary) = log.salvage();
        // The segment that it would have taken the place of is back: told where it holds anything that is alive.
        let is_back = harm == Some("error");
        assert_eq!(code, if is_back { 3 } else { 0 }, "{name} of {of:?}: {stderr}{summary}");
        let (line, object) = log.set_aside();
        assert_eq!((line.is_some(), object.is_some()), (is_back, is_back), "{name} of {of:?}: {line:?}");
        if let (Some(line), Some(object)) = (line, object) {
            assert!(line.contains(&swap(name)) && line.contains(&segment(name)), "{line}");
            assert_eq!((&object["swaps"][0], &object["instead"][0]), (&json!(swap(name)), &json!(segment(name))));
        }
        assert_eq!(log.salvaged(), (ALL, 1301), "{name} of {of:?}");
        assert_eq!(stderr.contains("set aside"), harm.is_some(), "{stderr}");
        assert_eq!(grouplog(log.dir.path(), ["verify", "new"]).status.code(), Some(0));
    }
}

#[test]
fn a_swap_that_was_cut_takes_what_it_lacks() {
    let log = Log::new();
    log.swap(489, &[489, 723]);
    // Behind its second batch.
    let path = log.folder.join(swap(489));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..506]).unwrap();
    let (code, said, _) = log.verify();
    assert_eq!((code, said), (3, vec![("error".to_owned(), "harmful-swap".to_owned())]));
    assert_eq!(log.salvage().0, 3);
    assert!(log.set_aside().1.is_some());
    assert_eq!(log.salvaged(), (ALL, 1301));
}

#[test]
fn an_empty_swap_stands_for_no_segment_that_is_gone() {
    let log = Log::new();
    std::fs::remove_file(log.folder.join(segment(723))).unwrap();
    // Its indexes tell that it was here.
    assert!(log.verify().1.iter().any(|(_, code)| code == "segment-missing"));
    log.swap(723, &[]);
    let (code, said, _) = log.verify();
    assert_eq!(code, 3);
    assert!(said.iter().any(|(_, code)| code == "segment-missing"), "{said:?}");
    assert_eq!(log.salvage().0, 3);
}

/// The cleaner writes it while the segment is still here, so that it says nothing of one that is not; of a `.deleted` file the
/// segment was renamed to that.
#[test]
fn a_cleaned_file_stands_for_no_segment_that_is_gone() {
    for (suffix, is_told) in [("cleaned", true), ("deleted", false)] {
        let log = Log::new();
        let path = log.folder.join(segment(723));
        std::fs::rename(&path, path.with_extension(format!("log.{suffix}"))).unwrap();
        let said = log.verify().1;
        assert_eq!(said.iter().any(|(_, code)| code == "segment-missing"), is_told, "{suffix}: {said:?}");
        if is_told {
            assert_eq!(log.salvage().0, 3);
        }
    }
    // Nor does one of 0 bytes, of which nothing can be taken.
    let log = Log::new();
    std::fs::remove_file(log.folder.join(segment(723))).unwrap();
    std::fs::write(log.folder.join(format!("{}.cleaned", segment(723))), []).unwrap();
    assert_eq!(log.verify().0, 3);
    assert_eq!(log.salvage().0, 3);
}

/// A broker puts an empty file in the place of the segment, and loads all of what `salvage` made of the folder.
#[test]
fn a_broker_loses_the_segment_and_loads_the_salvaged_log() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let log = Log::new();
    log.swap(723, &[]);
    assert_eq!(log.salvage().0, 3);
    std::fs::rename(log.dir.path().join("new/__consumer_offsets-1"), log.folder.with_file_name("__consumer_offsets-0"))
        .unwrap();
    let back = kafka::load_back("4.4.0", &log.dir.path().join("log"), &["partitions=2".to_owned()]);
    let records: Vec<_> = back.lines.iter().map(|(partition, records, _)| (*partition, *records)).collect();
    assert_eq!(records, [(0, ALL), (1, 121)]);
}
