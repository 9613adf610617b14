//! Our verdicts on partitions (`model::preflight`) are those that real brokers gave.
//!
//! fixtures/verdicts holds 28 crafted partitions of the shared recordings, fixtures/verdicts-own those of
//! tests/common/cases.rs, which tests/broker.rs asks live brokers about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/kafka.rs"]
#[allow(dead_code, reason = "helpers, of which no test uses all")]
mod kafka;
#[path = "common/verdict_cases.rs"]
mod verdict_cases;

use grouplog::log::DEFAULT_MAX_INFLATED;
use grouplog::model::preflight::{Coordinator, Verdict, preflight};
use serde_json::{Map, Value, json};
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

#[test]
fn our_own_recordings() {
    assert!(compare(OWN) >= 7 * 150);
}

const OWN: &str = "verdicts-own";

/// The brokers of the recordings: how they are called there, their version, their settings.
const BROKERS: &[(&str, &str, &[&str])] = &[
    ("3.9.2", "3.9.2", &[]),
    ("3.9.2 new", "3.9.2", &["group.coordinator.rebalance.protocols=classic,consumer"]),
    ("4.0.0", "4.0.0", &[]),
    ("4.1.2", "4.1.2", &[]),
    ("4.2.1", "4.2.1", &[]),
    ("4.3.1", "4.3.1", &[]),
    ("4.4.0", "4.4.0", &[]),
];

/// What a live broker does with every case: by partition, what it logged of the cause where it refuses.
fn ask((name, version, settings): (&str, &str, &[&str]), log_dir: &Path) -> std::collections::BTreeMap<i32, String> {
    let mut options: Vec<_> = settings.iter().map(|it| (*it).to_owned()).collect();
    options.push(format!("partitions={}", verdict_cases::cases().len()));
    let refused = kafka::refused(version, log_dir, &options);
    println!("{name} refuses {} of {} cases", refused.len(), verdict_cases::cases().len());
    refused
}

fn write_cases(log_dir: &Path) {
    for (partition, case) in (0..).zip(verdict_cases::cases()) {
        build::write_log(log_dir, partition, &case.batches);
    }
}

/// Makes the recording anew, with every broker: `GROUPLOG_RECORD=1 cargo test --test preflight record -- --nocapture`.
/// GROUPLOG_RECORD=4.4.0 asks one broker and leaves what the others said.
#[test]
fn record() {
    let Some(which) = std::env::var_os("GROUPLOG_RECORD") else { return };
    let dir = fixture(OWN);
    let _ = std::fs::remove_dir_all(dir.join("log"));
    write_cases(&dir.join("log"));
    let file = dir.join("verdicts.json");
    let before: Value = std::fs::read(&file).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
    let mut said = Vec::new();
    for broker in BROKERS.iter().filter(|it| which == "1" || which == it.0) {
        assert!(kafka::ready(&[broker.1]));
        said.push((broker.0, ask(*broker, &dir.join("log"))));
    }
    let mut recording = Map::new();
    for (partition, case) in (0..).zip(verdict_cases::cases()) {
        let mut brokers = Map::new();
        for (name, ..) in BROKERS {
            let old = &before[partition.to_string()]["brokers"][*name];
            let new =
                said.iter().find(|(broker, _)| broker == name).map(|(_, refused)| match refused.get(&partition) {
                    Some(why) => json!({"verdict": "fails", "why": why}),
                    None => json!({"verdict": "loads"}),
                });
            brokers.insert((*name).to_owned(), new.unwrap_or_else(|| old.clone()));
        }
        recording.insert(partition.to_string(), json!({"what": case.what, "brokers": brokers}));
    }
    let text = serde_json::to_string_pretty(&Value::Object(recording)).unwrap();
    std::fs::write(file, text + "\n").unwrap();
}
