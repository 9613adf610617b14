//! `describe` of logs that end in the middle: every state that a group goes through, not just those that it rests in.
//!
//! `vectors/prefixes/*.json` holds what Kafka 4.4.0 said after it loaded the partitions of an exhibit cut behind so many
//! bytes (tests/broker/loadback), at the end of a batch that concerns a group. `make.py` there makes them again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::facts::{self, Counts, Difference};
use common::told::{Told, described};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn describe_says_what_a_broker_says_of_a_log_that_ends_earlier() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/prefixes");
    let (mut total, mut failures, mut states) = (Counts::default(), Vec::new(), BTreeMap::<String, usize>::new());
    for name in common::names_in(&vectors).into_iter().filter(|name| name.ends_with(".json")) {
        let vector: Value = serde_json::from_slice(&std::fs::read(vectors.join(&name)).unwrap()).unwrap();
        let log = tempfile::tempdir().unwrap();
        cut(&vector, log.path());
        let told = Told::of(&vector);
        for group in told.facts.values() {
            let field = |name: &str| group.fields.get(name).cloned().unwrap_or_default();
            *states.entry(format!("{} {}", field("type"), field("state"))).or_default() += 1;
        }
        let (ours, _) = described(log.path(), &told, &[]);
        let (differences, counts) = facts::compare(&told.facts, &ours);
        total += counts;
        let left = differences.iter().filter(|it| !told.explains(it) && !is_of_a_topic_that_is_gone(it));
        failures.extend(left.map(|it| format!("{name}: {it}")));
    }
    println!("{total}; {states:?}");
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    for state in ["consumer Reconciling", "streams NotReady", "consumer Stable", "streams Stable", "share Stable"] {
        assert!(states.contains_key(state), "no group is {state}: {states:?}");
    }
}

/// A broker leaves out a topic that was deleted since the log ended: it knows its id no more. The log still has the name.
fn is_of_a_topic_that_is_gone(difference: &Difference) -> bool {
    difference.group == "sh-topicgone" && difference.ours.replace(" doomed[0, 1]", "") == difference.truth
}

/// The exhibit's partitions, as far as the vector says.
fn cut(vector: &Value, log_dir: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let log = fixtures.join(vector["exhibit"].as_str().unwrap()).join("log");
    for (partition, end) in vector["cuts"].as_object().unwrap() {
        let folder = format!("__consumer_offsets-{partition}");
        std::fs::create_dir(log_dir.join(&folder)).unwrap();
        let segment = "00000000000000000000.log";
        let bytes = std::fs::read(log.join(&folder).join(segment)).unwrap();
        let end = usize::try_from(end.as_u64().unwrap()).unwrap();
        std::fs::write(log_dir.join(&folder).join(segment), &bytes[..end]).unwrap();
    }
}
