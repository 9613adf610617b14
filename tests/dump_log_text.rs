//! `dump --format kafka-dump-log` against the dump tool of Kafka 4.4.0 on what no broker writes: odd records, odd
//! payloads, odd names, damage. `vectors/make/dump_log.py` made the segments and ran the tool.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{grouplog, names_in};
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/dump-log").join(name)
}

fn ours(case: &Path) -> String {
    let output = grouplog(case, ["dump", "--format", "kafka-dump-log", "__consumer_offsets-0"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn theirs(case: &Path) -> String {
    std::fs::read_to_string(case.join("dump-log.txt")).unwrap()
}

const EXACT: &[&str] = &["payloads", "names", "batches", "messages", "cut", "stray", "junk", "empty"];

#[test]
fn the_same_text() {
    for name in EXACT {
        let case = case(name);
        assert_eq!(ours(&case), theirs(&case), "{name}");
    }
}

/// In which way a record's line may differ.
#[derive(Debug, Clone, Copy)]
enum Difference {
    /// The tool cannot read it, and we can.
    Decoded,
    /// Both cannot; the words behind `due to:` are each its own.
    Reason,
    /// The tool reads tagged fields out of order, or longer than what they hold; we say what is wrong with them.
    Stricter,
}

/// The offsets in `records`.
const DIFFERENCES: &[(Difference, &[i64])] = &[
    (Difference::Decoded, &[5, 6, 7, 8, 21]),
    (Difference::Reason, &[9, 10, 15, 16, 17, 25, 26, 27, 28, 36, 38]),
    (Difference::Stricter, &[34, 35, 37]),
];

#[test]
fn the_same_text_but_for_records_that_cannot_be_read() {
    let case = case("records");
    let (ours, theirs) = (ours(&case), theirs(&case));
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        let offset = |line: &str| line.strip_prefix("| offset: ")?.split(' ').next()?.parse::<i64>().ok();
        let offset = offset(theirs).unwrap_or(-1);
        match DIFFERENCES.iter().find(|(_, offsets)| offsets.contains(&offset)) {
            None => assert_eq!(ours, theirs),
            Some((difference, _)) => assert_differs(*difference, ours, theirs),
        }
    }
}

fn assert_differs(difference: Difference, ours: &str, theirs: &str) {
    let ((our_head, our_data), (their_head, their_data)) =
        (ours.split_once(" key: ").unwrap(), theirs.split_once(" key: ").unwrap());
    assert_eq!(our_head, their_head);
    match difference {
        Difference::Decoded => {
            assert!(our_data.starts_with("{\"type\":\"") && our_data.contains("} payload: "), "{ours}");
            assert!(!their_data.starts_with('{'), "{theirs}");
        }
        Difference::Reason => {
            let up_to_reason = |text: &str| text.split_once(" due to: ").unwrap().0.to_owned();
            assert_eq!(up_to_reason(our_data), up_to_reason(their_data));
            assert_ne!(our_data, their_data);
        }
        Difference::Stricter => {
            assert!(our_data.starts_with("Error at offset ") && their_data.starts_with('{'), "{ours}\n{theirs}");
        }
    }
}

/// Where the tool ends with an exception: how our text goes on, and whether the batch behind it is shown.
const GOES_ON: &[(&str, &str, bool)] = &[
    ("zeros", "Found 100 invalid bytes at the end of 00000000000000000000.log\n", false),
    ("hole", "Found 64 invalid bytes at position 104 of 00000000000000000000.log\n", true),
    ("null-key", " key: Error at offset 1, skipping. The record has no key.\n", true),
    ("null-key-magic-1", " key: Error at offset 1, skipping. The record has no key.\n", false),
    ("no-gzip", "| key: Error, skipping. does not inflate: ", true),
    ("no-codec", " position: 104 CreateTime: 1000 size: 104 magic: 2 compresscodec: unknown(7) ", true),
    ("no-record", "| key: Error, skipping. ends too early: ", true),
    ("count-above", "| key: Error, skipping. header says 2 records, found 1", true),
    ("count-below", "| offset: 1 CreateTime: 1000 keySize: 12 ", true),
    ("no-control-key", " key: Error at offset 1, skipping. control batch without a control record\n", true),
    ("short-control-key", " key: Error at offset 1, skipping. control batch without a control record\n", true),
    ("short-marker", " key: Error at offset 1, skipping. control batch without a control record\n", true),
];

#[test]
fn the_same_text_up_to_where_the_tool_ends() {
    for (name, next, has_more) in GOES_ON {
        let case = case(name);
        let ours = ours(&case);
        let rest = ours.strip_prefix(&theirs(&case)).unwrap_or_else(|| panic!("{name}: {ours}"));
        assert!(rest.starts_with(next), "{name}: {rest}");
        let last = rest.lines().last().unwrap();
        assert_eq!(last.starts_with("| offset: 3 ") && last.ends_with('}'), *has_more, "{name}: {rest}");
    }
}

#[test]
fn every_case_is_tested() {
    let mut cases = names_in(&case(""));
    cases.retain(|name| name != "README.md");
    for name in &cases {
        let tested = EXACT.contains(&name.as_str()) || GOES_ON.iter().any(|(case, ..)| case == name);
        assert!(tested || name == "records", "{name}");
    }
    assert_eq!(cases.len(), EXACT.len() + GOES_ON.len() + 1);
}

#[test]
fn only_what_is_selected_is_shown() {
    let case = case("batches");
    let dump = |more: &[&str]| {
        let args = ["dump", "--format", "kafka-dump-log", "__consumer_offsets-0"].iter().chain(more);
        String::from_utf8(grouplog(&case, args).stdout).unwrap()
    };
    let theirs = theirs(&case);
    let lines = |wanted: &dyn Fn(&str) -> bool| {
        theirs.lines().filter(|line| wanted(line)).map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(dump(&["--batches"]), lines(&|line| !line.starts_with('|')));
    let of_one = |line: &str| {
        line.starts_with("Dumping ")
            || line.starts_with("Log ")
            || line.contains("baseOffset: 1 ")
            || line.starts_with("| offset: 2 ")
    };
    assert_eq!(dump(&["--offset", "2..3"]), lines(&of_one));
}
