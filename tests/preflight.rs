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
use std::collections::BTreeMap;
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

/// `3.9.2 new` of the recordings is `3.9.2-new` here, and `2.8.2 loader` the Scala loader of 2.8.2.
fn coordinator(broker: &str) -> Coordinator {
    broker.trim_end_matches(" loader").replace(' ', "-").parse().unwrap()
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
    ("4.0.2", "4.0.2", &[]),
    ("4.1.1", "4.1.1", &[]),
    ("4.1.2", "4.1.2", &[]),
    ("4.2.0", "4.2.0", &[]),
    ("4.2.1", "4.2.1", &[]),
    ("4.3.1", "4.3.1", &[]),
    ("4.4.0", "4.4.0", &[]),
];

/// Releases whose Scala loader is asked without a broker.
const LOADERS: &[&str] = &["2.4.1", "2.8.2", "3.4.0", "3.4.1", "3.8.1"];

/// By partition, what a broker logged of the cause where it refuses.
type Refused = BTreeMap<i32, String>;

/// What a live broker does with every case.
fn ask((name, version, settings): (&str, &str, &[&str]), log_dir: &Path) -> Refused {
    let mut options: Vec<_> = settings.iter().map(|it| (*it).to_owned()).collect();
    options.push(format!("partitions={}", verdict_cases::cases().len()));
    let refused = kafka::refused(version, log_dir, &options);
    println!("{name} refuses {} of {} cases", refused.len(), verdict_cases::cases().len());
    refused
}

/// What is recorded of an answer.
fn verdict(why: Option<&String>) -> Value {
    match why {
        None => json!({"verdict": "loads"}),
        // The Scala loader ends with this check, when every group is loaded: it logs an error, and serves them all.
        Some(why) if why.contains("Unexpected unload of active group") => json!({"verdict": "loads", "logs": why}),
        Some(why) => json!({"verdict": "fails", "why": why}),
    }
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
    let mut said: BTreeMap<String, Refused> = BTreeMap::new();
    for broker in BROKERS.iter().filter(|it| which == "1" || which == it.0) {
        assert!(kafka::ready(&[broker.1]));
        said.insert(broker.0.to_owned(), ask(*broker, &dir.join("log")));
    }
    for version in LOADERS.iter().filter(|_| which == "1" || which == "loaders") {
        assert!(kafka::ready(&[version]));
        said.insert(format!("{version} loader"), kafka::refused_by_old_loader(version, &dir.join("log")));
    }
    let names = LOADERS.iter().map(|it| format!("{it} loader")).chain(BROKERS.iter().map(|it| it.0.to_owned()));
    let names: Vec<_> = names.collect();
    let mut recording = Map::new();
    for (partition, case) in (0..).zip(verdict_cases::cases()) {
        let old = &before[partition.to_string()]["brokers"];
        let said = |name: &String| {
            let new = said.get(name).map(|refused| verdict(refused.get(&partition)));
            (name.clone(), new.unwrap_or_else(|| old[name].clone()))
        };
        let brokers: Map<_, _> = names.iter().map(said).collect();
        recording.insert(partition.to_string(), json!({"what": case.what, "brokers": brokers}));
    }
    let text = serde_json::to_string_pretty(&Value::Object(recording)).unwrap();
    std::fs::write(file, text + "\n").unwrap();
}
