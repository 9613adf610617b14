//! Embedded payloads of the exhibits: what real clients wrote, and what Kafka's own tools showed of it.
//!
//! The exhibits of `../shared` (or `$GROUPLOG_SHARED`) are read where they are there; `embedded_vectors.rs` needs none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grouplog::json::{Json, Style};
use grouplog::schema::embedded::consumer::{dump_tool_assignment, dump_tool_subscription};
use grouplog::schema::embedded::streams_commit::commit_metadata;
use grouplog::schema::embedded::{Payload, member_assignment, member_subscription};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn text(write: impl FnOnce(&mut Json)) -> String {
    let mut json = Json::new(Style::Kafka);
    write(&mut json);
    String::from_utf8(json.bytes().to_vec()).unwrap()
}

fn value(payload: &Payload<'_>) -> Value {
    serde_json::from_str(&text(|json| payload.json(json))).unwrap()
}

fn bytes(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

fn golden() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("GROUPLOG_SHARED").map_or(beside, PathBuf::from);
    let golden = shared.join("golden");
    if !golden.is_dir() {
        eprintln!(
            "SKIPPED: no exhibits in {} (set GROUPLOG_SHARED); only copied vectors were tested",
            golden.display()
        );
        return None;
    }
    Some(golden)
}

fn files(dir: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, name, found);
        } else if entry.file_name().is_some_and(|n| n == name) {
            found.push(entry);
        }
    }
}

fn named(golden: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(golden, name, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no {name}");
    found
}

/// Key and payload of the records that a dump shows with JSON keys of one type.
fn dumped(file: &Path, key_type: &str) -> Vec<(Value, Value)> {
    let head = format!(" key: {{\"type\":\"{key_type}\"");
    let bytes = fs::read(file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let records = text.lines().filter_map(|line| {
        let (_, record) = line.split_once(" key: ").filter(|_| line.contains(&head))?;
        let (key, payload) = record.split_once(" payload: {")?;
        Some((serde_json::from_str(key).ok()?, serde_json::from_str(&format!("{{{payload}")).ok()?))
    });
    records.collect()
}

fn dumps(golden: &Path) -> Vec<PathBuf> {
    let mut all = named(golden, "dump-log-offsets.txt");
    all.extend(named(golden, "dump-log-4.4.0.txt"));
    all
}

/// The two ways of Kafka to show a group, against each other, by way of ours.
#[test]
fn golden_groups_are_shown_as_the_dump_tool_shows_them() {
    let Some(golden) = golden() else { return };
    let mut compared = 0;
    for file in named(&golden, "group-metadata.jsonl") {
        let dumped = dumped(&file.with_file_name("dump-log-offsets.txt"), "2");
        let lines = fs::read_to_string(&file).unwrap();
        let raw: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let raw = raw.iter().filter(|record| !record["value"].is_null());
        for (record, (key, payload)) in raw.zip(&dumped) {
            assert_eq!(record["key"]["data"], key["data"]);
            let (ours, theirs) = (&record["value"]["data"], &payload["data"]);
            for (raw, shown) in ours["members"].as_array().unwrap().iter().zip(theirs["members"].as_array().unwrap()) {
                assert_eq!(raw["memberId"], shown["memberId"]);
                compared += member(ours, raw, shown);
            }
        }
    }
    println!("{compared} blobs compared");
    assert!(compared >= 178);
}

/// One member: strict text against the dump tool's, and the open reading against what is known of the exhibits.
fn member(group: &Value, raw: &Value, shown: &Value) -> usize {
    let (protocol_type, protocol) = (group["protocolType"].as_str().unwrap(), group["protocol"].as_str());
    let (subscription, assignment) = (bytes(&raw["subscription"]), bytes(&raw["assignment"]));
    if protocol_type == "consumer" {
        assert_eq!(text(|json| dump_tool_subscription(&subscription, json)), shown["subscription"].to_string());
        assert_eq!(text(|json| dump_tool_assignment(&assignment, json)), shown["assignment"].to_string());
    }
    let protocol = protocol.map(str::as_bytes);
    let read = value(&member_subscription(protocol_type.as_bytes(), protocol, &subscription));
    open_reading(group, &read, subscription.is_empty() || raw["clientId"] == "raw");
    let read = value(&member_assignment(protocol_type.as_bytes(), protocol, &assignment));
    open_reading(group, &read, assignment.is_empty() || raw["clientId"] == "raw");
    2
}

/// Everything that a real client wrote is read to its end. Clients named `raw` wrote nonsense on purpose.
fn open_reading(group: &Value, read: &Value, excused: bool) {
    let kind = read["kind"].as_str().unwrap();
    let family = match group["protocolType"].as_str().unwrap() {
        "consumer" => "consumer-",
        "connect" => "connect-",
        "sr" => "registry-",
        _ => "opaque",
    };
    assert!(kind.starts_with(family) || excused, "{group} {read}");
    assert_eq!(read.get("trailing"), None, "{read}");
    match (group["protocol"].as_str().unwrap(), kind) {
        ("default", _) => assert_eq!(read["version"], 0),
        ("compatible", _) => assert_eq!(read["version"], 1),
        ("sessioned", _) => assert_eq!(read["version"], 2),
        ("stream", "consumer-subscription") => assert_eq!(read["userData"]["kind"], "streams-subscription", "{read}"),
        ("stream", "consumer-assignment") => streams_plan(read),
        ("sticky" | "cooperative-sticky", _) if read["userData"].is_object() => sticky_plan(read),
        ("sticky" | "cooperative-sticky", _) => assert!(matches!(read["userData"].as_str(), None | Some("")), "{read}"),
        _ => {}
    }
}

/// A Streams leader hands out one active task for each assigned partition.
fn streams_plan(read: &Value) {
    let assigned = read["assignedPartitions"].as_array().unwrap();
    let partitions: usize = assigned.iter().map(|topic| topic["partitions"].as_array().unwrap().len()).sum();
    assert_eq!(read["userData"]["kind"], "streams-assignment", "{read}");
    assert_eq!(read["userData"]["activeTasks"].as_array().unwrap().len(), partitions, "{read}");
    assert_eq!(read["userData"].get("trailing"), None);
}

/// sarama's sticky plan is the assignment itself, its topics in any order; franz-go's is what the member owns.
fn sticky_plan(read: &Value) {
    let Some(plan) = read["userData"].get("previousAssignment") else {
        assert_eq!(read["userData"]["kind"], "cooperative-sticky");
        return;
    };
    if read["kind"] == "consumer-assignment" {
        assert_eq!(by_topic(plan), by_topic(&read["assignedPartitions"]));
    } else if read["ownedPartitions"].as_array().is_some_and(|owned| !owned.is_empty()) {
        assert_eq!(by_topic(plan), by_topic(&read["ownedPartitions"]));
    }
}

fn by_topic(topics: &Value) -> Vec<&Value> {
    let mut sorted: Vec<&Value> = topics.as_array().unwrap().iter().collect();
    sorted.sort_by_key(|topic| topic["topic"].as_str());
    sorted
}

/// Every group record that the dump tool shows: its base64 is read, its objects are put back into bytes and read.
#[test]
fn every_group_record_of_the_exhibits_is_read() {
    let Some(golden) = golden() else { return };
    let mut members = 0;
    for (_, payload) in dumps(&golden).iter().flat_map(|file| dumped(file, "2")) {
        let group = &payload["data"];
        for shown in group["members"].as_array().unwrap() {
            let mut raw = shown.clone();
            for field in ["subscription", "assignment"] {
                if shown[field].is_object() {
                    raw[field] = json!(STANDARD.encode(encoded(&shown[field])));
                }
            }
            members += member(group, &raw, shown) / 2;
        }
    }
    println!("{members} members read");
    assert!(members >= 660);
}

/// Puts what the dump tool shows back into bytes, at the version whose fields it has.
fn encoded(shown: &Value) -> Vec<u8> {
    let names = ["rackId", "generationId", "ownedPartitions"];
    let version = names.iter().position(|name| shown.get(name).is_some()).map_or(0, |i| 3 - i as i16);
    let mut out = version.to_be_bytes().to_vec();
    if let Some(topics) = shown["topics"].as_array() {
        out.extend((topics.len() as i32).to_be_bytes());
        topics.iter().for_each(|topic| put_text(&mut out, topic.as_str()));
    } else {
        put_topics(&mut out, &shown["assignedPartitions"]);
    }
    let user_data = (!shown["userData"].is_null()).then(|| bytes(&shown["userData"]));
    put_blob(&mut out, user_data.as_deref());
    if version >= 1 {
        put_topics(&mut out, &shown["ownedPartitions"]);
    }
    if version >= 2 {
        out.extend((shown["generationId"].as_i64().unwrap() as i32).to_be_bytes());
    }
    if version >= 3 {
        put_text(&mut out, shown["rackId"].as_str());
    }
    out
}

fn put_text(out: &mut Vec<u8>, text: Option<&str>) {
    out.extend(text.map_or(-1, |text| text.len() as i16).to_be_bytes());
    out.extend(text.unwrap_or_default().as_bytes());
}

fn put_topics(out: &mut Vec<u8>, topics: &Value) {
    let topics = topics.as_array().unwrap();
    out.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        put_text(out, topic["topic"].as_str());
        let partitions = topic["partitions"].as_array().unwrap();
        out.extend((partitions.len() as i32).to_be_bytes());
        partitions.iter().for_each(|n| out.extend((n.as_i64().unwrap() as i32).to_be_bytes()));
    }
}

/// Commit metadata of Streams applications since 2.4 is known as such, and nobody else's is taken for it.
#[test]
fn commits_of_the_exhibits() {
    let Some(golden) = golden() else { return };
    let (mut streams, mut others) = (0, 0);
    for (key, payload) in dumps(&golden).iter().flat_map(|file| dumped(file, "1")) {
        let group = key["data"]["group"].as_str().unwrap();
        let metadata = payload["data"]["metadata"].as_str().unwrap();
        let Some(read) = commit_metadata(metadata.as_bytes()) else {
            assert!(!group.starts_with("st-") || metadata.is_empty(), "{group} {metadata}");
            others += usize::from(!metadata.is_empty());
            continue;
        };
        let application = ["st-", "streams-", "flow"].iter().any(|name| group.starts_with(name));
        assert!(application, "{group} {metadata}");
        assert!(read.partition_time <= payload["data"]["commitTimestamp"].as_i64().unwrap(), "{group} {metadata}");
        streams += 1;
    }
    println!("{streams} commits of Streams, {others} others with metadata");
    assert!(streams >= 298 && others > 1000);
}

fn put_blob(out: &mut Vec<u8>, blob: Option<&[u8]>) {
    out.extend(blob.map_or(-1, |blob| blob.len() as i32).to_be_bytes());
    out.extend(blob.unwrap_or_default());
}
