//! Our verdicts on partitions (`model::preflight`) are those that real brokers gave.
//!
//! fixtures/verdicts holds 28 crafted partitions of the shared recordings, fixtures/verdicts-own those of
//! tests/common/cases.rs, which tests/broker.rs asks live brokers about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use grouplog::log::DEFAULT_MAX_INFLATED;
use grouplog::model::preflight::{Coordinator, Verdict, preflight};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "log"));
    paths.sort();
    paths
}

fn verdicts(dir: &Path, coordinators: &[Coordinator]) -> Vec<Verdict> {
    preflight(&segments(dir), coordinators, None, DEFAULT_MAX_INFLATED, &mut |_| {}).unwrap()
}

/// `3.9.2 new` of the recordings is `3.9.2-new` here.
fn coordinator(broker: &str) -> Coordinator {
    broker.replace(' ', "-").parse().unwrap()
}

/// Compares every verdict of a recording, and says how many there were.
fn compare(name: &str) -> usize {
    let recorded: Value = serde_json::from_slice(&std::fs::read(fixture(name).join("verdicts.json")).unwrap()).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (partition, case) in recorded.as_object().unwrap() {
        let brokers = case["brokers"].as_object().unwrap();
        let coordinators: Vec<_> = brokers.keys().map(|broker| coordinator(broker)).collect();
        let ours = verdicts(&fixture(name).join(format!("log/__consumer_offsets-{partition}")), &coordinators);
        assert_eq!(ours.len(), brokers.len());
        for ((broker, theirs), ours) in brokers.iter().zip(ours) {
            compared += 1;
            let loads = match theirs["verdict"].as_str().unwrap() {
                "loads" => true,
                "fails" => false,
                other => panic!("{other}"),
            };
            if ours.loads() != loads {
                let what = &case["what"];
                wrong.push(format!("{partition} {what}, {broker}: {theirs}, ours: {:?}", ours.refusals));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} verdicts differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{name}: {compared} verdicts agree");
    compared
}

#[test]
fn the_shared_recordings() {
    assert_eq!(compare("verdicts"), 28 * 7);
}
