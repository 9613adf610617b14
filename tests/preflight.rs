//! Our verdicts on partitions (`model::preflight`) are those that real brokers gave.
//!
//! fixtures/verdicts holds 28 crafted partitions of the shared recordings, fixtures/verdicts-own those of
//! tests/common/cases.rs, which tests/broker.rs asks live brokers about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/group_records.rs"]
mod group_records;
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

fn recording(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(name).join("verdicts.json")).unwrap()).unwrap()
}

/// Words of what a broker logs, by what we refuse for.
const WORDS: &[(&str, &[&str])] = &[
    ("null-key", &["key should not be null", "because \"buffer\" is null", "no key"]),
    ("key-too-short", &["Could not read version from key"]),
    ("key-unreadable", &["Error reading", "serialized as null", "from key's"]),
    ("unknown-type", &["Unknown group metadata message version", "Unknown version"]),
    ("type-not-replayed", &["unknown record type"]),
    ("value-too-short", &["Could not read version from value"]),
    (
        "unknown-version",
        &["unknown record version", "Unknown offset message version", "Unknown group metadata message"],
    ),
    (
        "value-unreadable",
        &["Error reading", "serialized as null", "Tried to allocate", "invalid length", "arint", "from value's"],
    ),
    (
        "subscription-unreadable",
        &["Error reading", "serialized as null", "Tried to allocate", "IllegalArgumentException", "newLimit"],
    ),
    ("instance-twice", &["Static member with groupInstanceId"]),
    ("no-common-protocol", &["protocols can be supported", "assertion failed"]),
    ("no-group", &["not found"]),
    ("no-member", &["is not a member"]),
    ("wrong-group-kind", &["is not a consumer group", "is not a share group", "is not a streams group"]),
    ("members-left", &["the group still has"]),
    ("targets-left", &["assignment still has"]),
    ("assignment-epoch-left", &["TargetAssignmentMetadataValue tombstone", "target assignment epoch"]),
    ("member-epoch-left", &["CurrentMemberAssignmentValue tombstone", "leave group epoch", "intValue()"]),
    ("target-left", &["TargetAssignmentMetadataValue tombstone", "exists in target assignment"]),
    ("owned-twice", &["still owned at"]),
    ("task-owner", &["process ID", "processId"]),
    ("twice", &["Duplicate key"]),
    ("bad-topic", &["Topic id cannot", "Topic name cannot", "Number of partitions cannot"]),
    ("epoch-count", &["Assignment epochs must"]),
];

/// What a broker says of bytes that end too early. Its words are known to stray: two threads write them.
const STRAY: &str = "java.nio.BufferUnderflowException";

/// Whether a broker's words are those of our first reason.
fn same_cause(ours: &Verdict, theirs: &Value) -> bool {
    let (Some(first), Some(why)) = (ours.refusals.first(), theirs["why"].as_str()) else { return true };
    let words = WORDS.iter().find(|(code, _)| *code == first.reason.code()).map_or(&[][..], |(_, words)| words);
    why == STRAY || words.iter().any(|words| why.contains(words))
}

/// Compares every verdict of a recording, and says how many there were.
fn compare(name: &str, cause: fn(&Verdict, &Value) -> bool) -> usize {
    let recorded = recording(name);
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
            if ours.loads() != loads || !cause(&ours, theirs) {
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
    // Their words are not all of the partition that they stand beside.
    assert_eq!(compare("verdicts", |_, _| true), 28 * 7);
}

#[test]
fn our_own_recordings() {
    assert_eq!(compare(OWN, same_cause), verdict_cases::cases().len() * (BROKERS.len() + LOADERS.len()));
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
const LOADERS: &[&str] = &["2.8.2", "3.4.0", "3.4.1", "3.8.1"];

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

/// Makes the recording anew, with every broker: `GROUPLOG_RECORD=1 cargo test --test preflight record -- --exact --nocapture`.
/// GROUPLOG_RECORD=4.4.0 asks one broker and leaves what the others said, GROUPLOG_RECORD=table none.
#[test]
fn record() {
    let Some(which) = std::env::var_os("GROUPLOG_RECORD") else { return };
    let dir = fixture(OWN);
    if dir.join("log").exists() {
        std::fs::remove_dir_all(dir.join("log")).unwrap();
    }
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
    let text = compact(&recording);
    std::fs::write(file, text).unwrap();
    let (text, table) = documented();
    std::fs::write(DOCUMENT, text + &table).unwrap();
}

/// A line for each broker's answer.
fn compact(recording: &Map<String, Value>) -> String {
    let cases = recording.iter().map(|(number, case)| {
        let brokers = case["brokers"].as_object().unwrap().iter();
        let brokers: Vec<_> = brokers.map(|(name, answer)| format!("  {}: {answer}", json!(name))).collect();
        format!("{}: {{\"what\": {}, \"brokers\": {{\n{}\n}}}}", json!(number), case["what"], brokers.join(",\n"))
    });
    format!("{{\n{}\n}}\n", cases.collect::<Vec<_>>().join(",\n"))
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verdicts.md");

/// What stands in the document above the table, and the table as the recordings have it.
fn documented() -> (String, String) {
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let end = text.find("-->\n").expect("the line that the table follows") + 4;
    (text[..end].to_owned(), table())
}

#[test]
fn the_document_holds_the_table() {
    let (text, table) = documented();
    assert!(std::fs::read_to_string(DOCUMENT).unwrap() == text + &table, "make it anew: GROUPLOG_RECORD=table");
}

/// Cases by releases, and what we refuse for.
fn table() -> String {
    let names: Vec<_> =
        LOADERS.iter().map(|it| format!("{it} loader")).chain(BROKERS.iter().map(|it| it.0.to_owned())).collect();
    let mut out = String::new();
    for name in ["verdicts", OWN] {
        let recorded = recording(name);
        let asked: Vec<_> = names.iter().filter(|it| recorded["0"]["brokers"].get(it.as_str()).is_some()).collect();
        let titles: String = asked.iter().map(|it| format!(" {} |", it.trim_end_matches(" loader"))).collect();
        out += &format!("\n## fixtures/{name}\n\n`-` loads, `X` does not; then what we refuse for.\n\n");
        out += &format!("| | case |{titles} reason |\n|--:|---|{}---|\n", ":-:|".repeat(asked.len()));
        let cases = recorded.as_object().unwrap();
        let mut numbers: Vec<u32> = cases.keys().map(|it| it.parse().unwrap()).collect();
        numbers.sort_unstable();
        for number in numbers {
            let case = &recorded[number.to_string()];
            let dir = fixture(name).join(format!("log/__consumer_offsets-{number}"));
            let coordinators: Vec<_> = asked.iter().map(|it| coordinator(it)).collect();
            let mut reasons: Vec<_> = (verdicts(&dir, &coordinators).iter())
                .filter_map(|it| it.refusals.first().map(|first| first.reason.code()))
                .collect();
            reasons.sort_unstable();
            reasons.dedup();
            let sign =
                |name: &&String| if case["brokers"][name.as_str()]["verdict"] == "loads" { " - |" } else { " X |" };
            let signs: String = asked.iter().map(sign).collect();
            out += &format!("| {number} | {} |{signs} {} |\n", case["what"].as_str().unwrap(), reasons.join(", "));
        }
    }
    out
}

/// The cases as they are written today, before real brokers.
#[test]
fn live_brokers_say_what_is_recorded() {
    let recorded = recording(OWN);
    for broker in BROKERS.iter().filter(|it| it.0 == "3.9.2" || it.0 == "4.4.0") {
        // Who makes the recording asks them already.
        if std::env::var_os("GROUPLOG_RECORD").is_some() || !kafka::ready(&[broker.1, "4.4.0"]) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        write_cases(dir.path());
        let refused = ask(*broker, dir.path());
        for (partition, case) in (0..).zip(verdict_cases::cases()) {
            let before = &recorded[partition.to_string()]["brokers"][broker.0]["verdict"];
            let now = verdict(refused.get(&partition));
            assert_eq!(&now["verdict"], before, "{partition} {}, {}: {now}", case.what, broker.0);
        }
    }
}

/// The recording is of the cases as they are written today.
#[test]
fn the_recorded_bytes_are_those_of_the_cases() {
    let dir = tempfile::tempdir().unwrap();
    write_cases(dir.path());
    for (partition, case) in verdict_cases::cases().iter().enumerate() {
        let file = format!("__consumer_offsets-{partition}/00000000000000000000.log");
        let [now, then] =
            [dir.path().join(&file), fixture(OWN).join("log").join(&file)].map(|it| std::fs::read(it).unwrap());
        assert!(now == then, "{partition} {}", case.what);
    }
}
