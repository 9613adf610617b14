//! Against a real broker, which runs here: the command that `txns` prints ends a hanging transaction, in both of its forms,
//! and until then the broker's own tool finds the same ones.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::kafka::{self, Broker};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn open(log: &Path, address: &str) -> Vec<Value> {
    // As if everything had been there for an hour.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + 3_600_000;
    let args = ["txns", "--hanging", "--format", "jsonl", "--now", &now.to_string(), "--bootstrap-server", address];
    let output = common::grouplog(Path::new("."), args.into_iter().chain([log.to_str().unwrap()]));
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(if found.is_empty() { 0 } else { 3 }));
    found
}

/// Partition, producer, and where the transaction begins.
fn places(found: &[Value]) -> BTreeSet<(i64, i64, i64)> {
    let number = |it: &Value, name: &str| it[name].as_i64().unwrap();
    found.iter().map(|it| (number(it, "partition"), number(it, "producerId"), number(it, "firstOffset"))).collect()
}

/// What `find-hanging` or `describe-producers` say are open in the partitions of `__consumer_offsets`.
fn told(truth: &Value) -> BTreeSet<(i64, i64, i64)> {
    let mut all = BTreeSet::new();
    for (partition, said) in truth["offsetsPartitions"].as_object().unwrap() {
        for producer in said["producers"].as_array().into_iter().flatten() {
            if let Some(start) = producer["currentTransactionStartOffset"].as_i64().filter(|start| *start >= 0) {
                all.insert((partition.parse().unwrap(), producer["producerId"].as_i64().unwrap(), start));
            }
        }
    }
    all
}

#[test]
fn the_command_ends_a_hanging_transaction() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let broker = Broker::start("4.4.0", &["offsets.topic.num.partitions=4"]);
    let driver = broker.drive(&["topics", "tx-open"]);
    let address = broker.address();
    let log = dir.path().join("before");
    let truth = broker.snapshot(&log);
    let hanging = open(&log, &address);
    assert_eq!(hanging.len(), 2, "{hanging:#?}");
    assert_eq!(places(&hanging), told(&truth));
    // One by each form of the command.
    for (it, form) in hanging.iter().zip(["abortCommand", "abortCommandBefore30"]) {
        let command = it[form].as_str().unwrap();
        let mut words = command.split(' ');
        assert_eq!(words.next(), Some("kafka-transactions.sh"));
        broker.tool("transactions", &words.collect::<Vec<_>>());
    }
    let log = dir.path().join("after");
    let truth = broker.snapshot(&log);
    assert!(told(&truth).is_empty(), "{truth:#}");
    assert_eq!(open(&log, &address), Vec::<Value>::new());
    let output = common::grouplog(Path::new("."), ["txns", "--format", "json", log.to_str().unwrap()]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["totals"]["aborted"], 2, "{document:#}");
    for partition in document["partitions"].as_array().unwrap() {
        let said = &truth["offsetsPartitions"][partition["partition"].to_string()];
        assert_eq!(partition["lastStableOffset"], said["lastStable"], "{partition:#}");
        assert_eq!(partition["lastStableOffset"], partition["endOffset"]);
    }
    drop(driver);
}
