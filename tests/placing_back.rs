//! docs/placing-back.md, followed word for word: its blocks of commands are run one after the other, against a real broker.
//!
//! Only the first block, which says what is where, is the test's own; `systemctl` and Kafka's scripts are short scripts
//! that do the same to a broker of ours. Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them
//! it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::kafka::{self, Broker};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The blocks of commands of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, "```sh") => {
                inside = true;
                blocks.push(String::new());
            }
            (true, "```") => inside = false,
            (true, line) => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            (false, _) => {}
        }
    }
    blocks
}

/// The names that a block gives values.
fn variables(block: &str) -> Vec<&str> {
    block.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect()
}

/// Commands as the page calls them.
fn commands(to: &Path, broker: &Broker) {
    let kafka = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker/kafka");
    let kafka = kafka.display();
    let (dir, version) = (broker.path(), broker.version());
    let dir = dir.display();
    let tool = |name: &str| format!("exec '{kafka}' run {version} {name} \"$@\"");
    let all = [
        ("kafka-topics.sh", tool("topics")),
        ("kafka-consumer-groups.sh", tool("consumer-groups")),
        ("kafka-get-offsets.sh", tool("offsets")),
        (
            "systemctl",
            format!(
                "case $1 in stop) exec '{kafka}' stop '{dir}' ;; start) exec '{kafka}' start {version} '{dir}' ;; *) exit 2 ;; esac"
            ),
        ),
        ("grouplog", format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_grouplog"))),
    ];
    for (name, body) in all {
        let path = to.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// What a group's description says is committed, by topic and partition.
fn committed(text: &str, topic: &str, partition: &str) -> Option<String> {
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let found = text.lines().map(fields).find(|it| it.get(1..3).is_some_and(|it| it == [topic, partition]));
    found?.get(3).cloned()
}

/// Where transactions begin that are open, by partition and producer.
fn open_transactions(truth: &serde_json::Value) -> BTreeSet<(String, i64, i64)> {
    let partitions = truth["offsetsPartitions"].as_object().unwrap();
    let producers = partitions.iter().flat_map(|(partition, said)| {
        said["producers"].as_array().into_iter().flatten().map(move |producer| (partition.clone(), producer))
    });
    let number = |producer: &serde_json::Value, name: &str| producer[name].as_i64().unwrap_or(-1);
    producers
        .map(|(partition, it)| (partition, number(it, "producerId"), number(it, "currentTransactionStartOffset")))
        .filter(|(.., start)| *start >= 0)
        .collect()
}

#[test]
fn the_page_does_what_it_says() {
    for version in ["4.4.0", "3.9.2"] {
        if kafka::ready(&[version, "4.4.0"]) {
            follow(version);
        }
    }
}

fn follow(version: &'static str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/placing-back.md");
    let blocks = blocks(&std::fs::read_to_string(page).unwrap());
    let (first, others) = blocks.split_first().unwrap();
    let (back, others) = others.split_last().unwrap();
    assert!(others.len() >= 10, "{}", others.len());

    let broker = Broker::start(version, &["preset=live", "offsets.topic.num.partitions=4"]);
    // A group with an open transaction in its partition, which outlives its producer.
    drop(broker.drive(&["topics", "tx-open"]));
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    commands(&bin, &broker);
    let own = [
        ("BOOTSTRAP", broker.address()),
        ("LOG_DIR", broker.path().join("data").display().to_string()),
        ("SERVER_LOG", broker.path().join("broker.log").display().to_string()),
        ("WORK", dir.path().join("work").display().to_string()),
        ("GROUP", "t-open".to_owned()),
        ("SET_OFFSET", "t-open/orders/0=42".to_owned()),
    ];
    assert_eq!(variables(first), own.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let settings: String = own.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect();

    // A group that has committed offsets, and the whole page but for the way back.
    let commit = "kafka-consumer-groups.sh --bootstrap-server \"$BOOTSTRAP\" --group t-open --reset-offsets --to-earliest \
                  --topic orders --execute\n";
    let script = |parts: &[&str]| {
        let text = format!("set -eu\nset -o pipefail\n{settings}{}", parts.concat());
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let output = Command::new("bash").env("PATH", path).arg("-xc").arg(&text).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    };
    script(&[commit]);
    let open = open_transactions(&broker.truth());
    assert_eq!(open.len(), 2, "{open:?}");
    let others = others.concat();
    script(&[&others]);
    assert_eq!(open_transactions(&broker.truth()), open);
    let text = |name: &str| std::fs::read_to_string(dir.path().join("work").join(name)).unwrap();
    assert_eq!(committed(&text("before.txt"), "orders", "0").as_deref(), Some("0"));
    assert_eq!(committed(&text("after.txt"), "orders", "0").as_deref(), Some("42"));
    // Nothing else became other than it was.
    assert_eq!(committed(&text("before.txt"), "orders", "1"), committed(&text("after.txt"), "orders", "1"));
    assert_eq!(text("edits.jsonl").lines().count(), 1);

    let number = "PARTITION=$(basename \"$WORK\"/new/__consumer_offsets-* | grep -oE '[0-9]+')\n\
                  OLD=$LOG_DIR/__consumer_offsets-$PARTITION\n";
    let ask =
        "kafka-consumer-groups.sh --bootstrap-server \"$BOOTSTRAP\" --describe --group t-open > \"$WORK/again.txt\"\n";
    script(&[number, back, ask]);
    assert_eq!(committed(&text("again.txt"), "orders", "0").as_deref(), Some("0"));
}
