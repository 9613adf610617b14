//! Against real brokers: they load what `rewrite` made of many logs at once, and say what `describe` reads from it.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/rewritten.rs"]
mod rewritten;

use common::kafka;
use common::told::{Told, described, load_lines};
use common::{exhibits, facts};
use rewritten::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const TOPIC_ID: &str = "AAECAwQFBgcICQoLDA0ODw";

/// Of these no two have transactions of one producer.
const MERGED: &[&str] =
    &["tx", "classic", "consumer", "share", "streams", "codecs/zstd", "museum/clients", "museum/2.3.1-format-0.9"];

/// Logs of different clusters, made loadable by a release, with names that do not meet, spread over fifty partitions.
fn merged(target: &str, more: &[&str]) -> Rewritten {
    let all = exhibits();
    let parts: Vec<_> = MERGED
        .iter()
        .chain(more)
        .map(|name| {
            let exhibit = all.iter().find(|it| it.name == *name).unwrap();
            let log_dir = exhibit.dir.join(&exhibit.log_dirs()[0]);
            let part = rewrite(&["--redact", "--seed", name, "--target", target], &[&log_dir]);
            assert_eq!(part.code, 0, "{name}: {}", part.said);
            part
        })
        .collect();
    let paths: Vec<&Path> = parts.iter().map(|part| part.out.as_path()).collect();
    let options = ["--partitions", "50", "--topic-id", TOPIC_ID, "--target", target, "--codec", "lz4", "--upgrade"];
    let merged = rewrite(&options, &paths);
    assert_eq!(merged.code, 0, "{}", merged.said);
    // Nothing more is dropped for the company it is in.
    let groups = |log_dir: &Path| digests(log_dir).into_values().flat_map(|it| it.groups).collect::<Vec<_>>();
    let mut before: Vec<_> = parts.iter().flat_map(|part| groups(&part.out)).collect();
    let mut after = groups(&merged.out);
    before.sort();
    after.sort();
    assert!(before == after, "{} groups became {}", before.len(), after.len());
    merged
}

/// Names and ids of topics, as `loadback` wants them: each with more partitions than any log names.
fn topics_of(groups: &[Value]) -> Value {
    fn collect(value: &Value, topics: &mut serde_json::Map<String, Value>) {
        if let (Some(topic), Some(id)) = (value["topic"].as_str(), value["topicId"].as_str()) {
            topics.insert(topic.to_owned(), json!({"id": id, "partitions": 16}));
        }
        match value {
            Value::Object(map) => map.values().for_each(|it| collect(it, topics)),
            Value::Array(all) => all.iter().for_each(|it| collect(it, topics)),
            _ => {}
        }
    }
    let mut topics = serde_json::Map::new();
    groups.iter().for_each(|group| collect(group, &mut topics));
    json!({"topics": topics})
}

fn loads_and_says_the_same(version: &str, target: &str, more: &[&str], options: &[&str], least: usize) {
    if !kafka::ready(&[version]) {
        return;
    }
    let merged = merged(target, more);
    let new: PathBuf = merged.out.clone();
    let topics = merged.out.join("topics.json");
    std::fs::write(&topics, topics_of(&describe_with(&new, options)).to_string()).unwrap();
    let back = kafka::load_back(version, &new, &["partitions=50".to_owned(), format!("truth={}", topics.display())]);
    let told = Told::of(&back.truth);
    let (ours, _) = described(&new, &told, options);
    let (differences, counts) = facts::compare(&told.facts, &ours);
    // A broker has an empty list where the log has no record of it.
    let is_told = |it: &&facts::Difference| (it.truth.as_str(), it.ours.as_str()) != ("", "(not told)");
    let left: Vec<_> =
        differences.iter().filter(|it| !told.explains(it)).filter(is_told).map(ToString::to_string).collect();
    assert!(left.is_empty(), "{version}: {} differences:\n{}", left.len(), left.join("\n"));
    println!("{version}: {counts}");
    assert!(counts.groups >= least, "too little was compared: {counts}");
    // Releases up to 3.9 count nothing, and 4.0 does not count records of types that it does not know.
    if !back.lines.is_empty() {
        let bytes = |lines: &[(i32, u64, u64)]| lines.iter().map(|(n, _, bytes)| (*n, *bytes)).collect::<Vec<_>>();
        let expected = load_lines(&new);
        assert_eq!(bytes(&back.lines), bytes(&expected));
        if options.is_empty() {
            assert_eq!(back.lines, expected);
        }
    }
}

#[test]
fn kafka_4_4_loads_it() {
    loads_and_says_the_same("4.4.0", "4.4", &["museum/3.7.2", "museum/4.0.0"], &[], 60);
}

#[test]
fn kafka_4_0_loads_it() {
    loads_and_says_the_same("4.0.0", "4.0.0", &["museum/3.7.2"], &["--as-broker", "4.0"], 40);
}

#[test]
fn kafka_3_9_loads_it() {
    loads_and_says_the_same("3.9.2", "3.9", &[], &["--as-broker", "3.9"], 30);
}

#[test]
fn the_old_loader_reads_every_log_made_for_2_8() {
    if !kafka::ready(&["2.8.2"]) {
        return;
    }
    for exhibit in exhibits() {
        let log_dir = exhibit.dir.join(&exhibit.log_dirs()[0]);
        let new = rewrite(&["--target", "2.8"], &[&log_dir]);
        assert_eq!(new.code, 0, "{}: {}", exhibit.name, new.said);
        let refused = kafka::refused_by_old_loader("2.8.2", &new.out);
        assert!(refused.is_empty(), "{}: {refused:?}", exhibit.name);
    }
}
