//! Against real brokers, which run here: what they say about their groups is what `describe` reads from their files.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them each test says what is missing and
//! passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::craft::Meetings;
use common::facts::{self, Counts};
use common::kafka::{self, Broker};
use common::told::{Told, described, load_lines};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Fails unless `describe` says what the broker said.
fn assert_agree(what: &str, log_dir: &Path, truth: &Value, options: &[&str]) -> Counts {
    let told = Told::of(truth);
    let (ours, _) = described(log_dir, &told, options);
    let (differences, counts) = facts::compare(&told.facts, &ours);
    let left: Vec<_> = differences.iter().filter(|it| !told.explains(it)).map(ToString::to_string).collect();
    assert!(left.is_empty(), "{what}: {} differences:\n{}", left.len(), left.join("\n"));
    println!("{what}: {counts}");
    counts
}

#[test]
fn a_live_broker_and_its_files_agree() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    let broker = Broker::start("4.4.0", &["preset=live", "offsets.topic.num.partitions=4"]);
    let driver = broker.drive(&["topics", "classic", "consumer", "share", "tx", "tx-open"]);
    let truth = broker.snapshot(&copy.path().join("log"));
    drop(driver);
    let counts = assert_agree("4.4.0, live", &copy.path().join("log"), &truth, &[]);
    assert!(counts.groups > 40 && counts.members > 15 && counts.offsets > 100, "too little was compared: {counts}");
    let kinds = ["classic", "consumer", "share"];
    let told = Told::of(&truth);
    let has = |kind: &str| told.facts.values().any(|group| group.fields.get("type").is_some_and(|it| it == kind));
    assert!(kinds.into_iter().all(has), "not every type of group is there");
}

/// A broker that finds these files says what `describe` says, and counts what we count.
fn load_back(version: &str, log_dir: &Path, truth: Option<PathBuf>, options: &[&str]) {
    let mut settings = vec!["partitions=50".to_owned()];
    if let Some(truth) = truth {
        settings = vec![format!("truth={}", truth.display())];
    }
    let back = kafka::load_back(version, log_dir, &settings);
    assert_agree(&format!("{version}, {}", log_dir.display()), log_dir, &back.truth, options);
    if version.starts_with('4') {
        assert_eq!(back.lines, load_lines(log_dir), "{}", log_dir.display());
    }
}

#[test]
fn brokers_load_the_exhibits_to_what_we_say() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    // A group caught in a rebalance, which a broker that loads it shows as we do; and tasks of streams groups.
    for name in ["odd", "streams"] {
        load_back("4.4.0", &fixture(name).join("log"), Some(fixture(name).join("truth.json")), &[]);
    }
}

/// Real partitions beside one made by hand, so that one broker answers for both.
fn with_meetings(log_dir: &Path) {
    let example = fixture("example3/log");
    for name in common::names_in(&example).into_iter().filter(|name| name.starts_with("__consumer_offsets-")) {
        std::fs::create_dir_all(log_dir.join(&name)).unwrap();
        for file in common::names_in(&example.join(&name)) {
            std::fs::copy(example.join(&name).join(&file), log_dir.join(&name).join(&file)).unwrap();
        }
    }
    Meetings::in_partition(0, 50).partition().write(log_dir, 0);
}

#[test]
fn the_newest_rules_are_those_of_4_4() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    with_meetings(dir.path());
    load_back("4.4.0", dir.path(), None, &[]);
}

#[test]
fn the_rules_of_3_9_are_those_of_3_9() {
    if !kafka::ready(&["3.9.2", "4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    with_meetings(dir.path());
    // It knows no consumer groups unless told to: what is left of them is offsets.
    load_back("3.9.2", dir.path(), None, &["--as-broker", "3.9"]);
}
