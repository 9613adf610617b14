//! Embedded payloads against what real clients wrote and what Kafka's own code made and showed.
//!
//! `vectors/` was made with the jars of Kafka 4.4.0: `dump-tool-*.jsonl` holds members put into a segment by hand and
//! what `kafka-dump-log --offsets-decoder` showed of them; `streams-*.txt` was encoded by Kafka Streams' classes.
//! The exhibits of `../shared` (or `$GROUPLOG_SHARED`) are read where they are there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grouplog::json::{Json, Odd};
use grouplog::schema::embedded::consumer::{dump_tool_assignment, dump_tool_subscription};
use grouplog::schema::embedded::streams_commit::commit_metadata;
use grouplog::schema::embedded::{Payload, member_assignment, member_subscription};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn text(write: impl FnOnce(&mut Json)) -> String {
    let mut json = Json::new(Odd::Replace);
    write(&mut json);
    String::from_utf8(json.bytes().to_vec()).unwrap()
}

fn value(payload: &Payload<'_>) -> Value {
    serde_json::from_str(&text(|json| payload.json(json))).unwrap()
}

fn bytes(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

/// A consumer protocol blob of version 0 around user data.
fn around(user_data: &[u8]) -> Vec<u8> {
    let mut blob = vec![0; 6];
    put_blob(&mut blob, Some(user_data));
    blob
}

fn put_blob(out: &mut Vec<u8>, blob: Option<&[u8]>) {
    out.extend(blob.map_or(-1, |blob| blob.len() as i32).to_be_bytes());
    out.extend(blob.unwrap_or_default());
}

#[test]
fn consumer_payloads_are_shown_as_kafkas_dump_tool_shows_them() {
    let lines = include_str!("vectors/dump-tool-4.4.0.jsonl").lines();
    let mut cases = 0;
    for case in lines.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let subscription = text(|json| dump_tool_subscription(&bytes(&case["subscription"]), json));
        assert_eq!(subscription, case["shownSubscription"].as_str().unwrap(), "{}", case["case"]);
        let assignment = text(|json| dump_tool_assignment(&bytes(&case["assignment"]), json));
        assert_eq!(assignment, case["shownAssignment"].as_str().unwrap(), "{}", case["case"]);
        cases += 1;
    }
    assert_eq!(cases, 43);
}

/// The vector of a kind and version.
fn streams_vector(kind: &str, version: i32) -> Vec<u8> {
    let head = format!("{kind} {version} ");
    let line = include_str!("vectors/streams-4.4.0.txt").lines().find_map(|line| line.strip_prefix(&head));
    STANDARD.decode(line.unwrap()).unwrap()
}

#[test]
fn streams_subscriptions_of_every_version() {
    for version in 1..=11 {
        let blob = around(&streams_vector("subscription", version));
        let mut expected = json!({"kind": "streams-subscription", "version": version});
        let mut field = |name: &str, value: Value| expected[name] = value;
        if version >= 3 {
            field("latestSupportedVersion", json!(11));
        }
        field("processId", json!("AQIDBAUGBwgJCgsMDQ4PEA"));
        if version <= 6 {
            field("prevTasks", json!([{"topicGroupId": 0, "partition": 1}]));
            let standbys = json!([{"topicGroupId": 3, "partition": 5}, {"topicGroupId": 3, "partition": 4}]);
            field("standbyTasks", standbys);
        }
        if version >= 2 {
            field("userEndPoint", json!("host:80"));
        }
        let sum = |partition: i32, sum: i64| json!({"partition": partition, "offsetSum": sum});
        if (7..=9).contains(&version) {
            let of = |group: i32, sums: &[Value]| json!({"topicGroupId": group, "partitionToOffsetSum": sums});
            field("taskOffsetSums", json!([of(0, &[sum(1, -2)]), of(3, &[sum(4, 1234567890123), sum(5, 0)])]));
        }
        if version >= 10 {
            let of = |group: i32, partition: i32, sum: i64, name: Option<&str>| json!({"topicGroupId": group, "partition": partition, "offsetSum": sum, "namedTopology": name});
            let sums = json!([of(0, 1, -2, Some("nt")), of(3, 4, 1234567890123, None), of(3, 5, 0, None)]);
            field("taskOffsetSums", sums);
        }
        if version >= 8 {
            field("uniqueField", json!(7));
        }
        if version >= 9 {
            field("errorCode", json!(5));
        }
        if version >= 11 {
            field("clientTags", json!([{"key": "zone", "value": "z1"}]));
        }
        assert_eq!(value(&member_subscription(b"consumer", Some(b"stream"), &blob))["userData"], expected);
    }
}

#[test]
fn streams_assignments_of_every_version() {
    let partition = |topic: &str, partition: i32| json!({"topic": topic, "partition": partition});
    let host =
        |name: &str, port: i32, partitions: &[Value]| json!({"host": name, "port": port, "partitions": partitions});
    for version in 1..=11 {
        let blob = around(&streams_vector("assignment", version));
        let mut expected = json!({"kind": "streams-assignment", "version": version});
        let mut field = |name: &str, value: Value| expected[name] = value;
        if version >= 3 {
            field("commonlySupportedVersion", json!(11));
        }
        let mut first = json!({"topicGroupId": 0, "partition": 1});
        if version >= 10 {
            first["namedTopology"] = json!("nt€");
        }
        field("activeTasks", json!([first, {"topicGroupId": 3, "partition": 4}]));
        let inputs = [partition("orders", 2), partition("pay", 2)];
        field("standbyTasks", json!([{"task": {"topicGroupId": 1, "partition": 2}, "partitions": inputs}]));
        if version >= 2 {
            let hosts = [host("host-a", 80, &[partition("orders", 1)]), host("host-b", 81, &[])];
            field("partitionsByHost", json!(hosts));
        }
        if version >= 6 {
            field("standbyPartitionsByHost", json!([host("host-b", 81, &[partition("orders", 2)])]));
        }
        if version >= 4 {
            field("errCode", json!(2));
        }
        if version >= 7 {
            field("nextRebalanceMs", json!(1790000000000i64));
        }
        assert_eq!(value(&member_assignment(b"consumer", Some(b"stream"), &blob))["userData"], expected);
    }
}

#[test]
fn every_cut_of_streams_bytes_stays_bytes() {
    for (kind, version) in ["subscription", "assignment"].into_iter().flat_map(|kind| (1..=11).map(move |v| (kind, v)))
    {
        let whole = streams_vector(kind, version);
        for n in 0..whole.len() {
            let blob = around(&whole[..n]);
            let shown = match kind {
                "subscription" => value(&member_subscription(b"consumer", Some(b"stream"), &blob)),
                _ => value(&member_assignment(b"consumer", Some(b"stream"), &blob)),
            };
            assert_eq!(shown["userData"], json!(STANDARD.encode(&whole[..n])), "{kind} {version} cut to {n}");
        }
    }
}

#[test]
fn streams_commits() {
    let line = |head: &str| include_str!("vectors/streams-4.4.0.txt").lines().find_map(|line| line.strip_prefix(head));
    let plain = commit_metadata(line("commit 2 ").unwrap().as_bytes()).unwrap();
    assert_eq!((plain.version, plain.partition_time, plain.processor_metadata.len()), (2, 1790000000000, 0));
    let map = commit_metadata(line("commit-map 2 ").unwrap().as_bytes()).unwrap();
    assert_eq!(map.partition_time, -1);
    assert_eq!(map.processor_metadata, [(b"k1".to_vec(), 7), ("pé".as_bytes().to_vec(), -1)]);
    // Written by Kafka Streams 2.8.2 and 3.4.1.
    assert_eq!(commit_metadata(b"AQAAAaIpY1Z+").map(|it| (it.version, it.partition_time)), Some((1, 1795990902398)));
    assert_eq!(commit_metadata(b"AgAAAaIpYKq9").map(|it| (it.version, it.partition_time)), Some((2, 1795990727357)));
}

/// Blobs that clients of the museum wrote.
#[test]
fn blobs_of_real_clients() {
    let read = |protocol_type: &str, protocol: &str, base64: &str| {
        let blob = STANDARD.decode(base64).unwrap();
        value(&member_subscription(protocol_type.as_bytes(), Some(protocol.as_bytes()), &blob))
    };
    let short = read("consumer", "rack-affinity", "AAEAAAACAAZvcmRlcnMACHBheW1lbnRzAAAACHJhY2stc2Vn");
    let expected = json!({"kind": "consumer-subscription", "version": 1, "topics": ["orders", "payments"],
        "userData": {"kind": "rack-affinity", "rack": "rack-seg"}, "ownedPartitions": [], "missing": ["ownedPartitions"]});
    assert_eq!(short, expected);
    let worker = read("connect", "compatible", "AAEAF2h0dHA6Ly8xMjcuMC4wLjE6MTkwOTYv////////////////");
    let expected = json!({"kind": "connect-worker", "version": 1, "url": "http://127.0.0.1:19096/", "configOffset": -1,
        "allocation": null});
    assert_eq!(worker, expected);
    let cut = read("consumer", "range", "AAEAAAAJAA==");
    assert_eq!(cut["kind"], "opaque");
}

// ---- the exhibits ----

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
    assert!(compared > 200);
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

/// sarama's sticky plan is the assignment itself; franz-go's is what the member owns.
fn sticky_plan(read: &Value) {
    let Some(plan) = read["userData"].get("previousAssignment") else {
        assert_eq!(read["userData"]["kind"], "cooperative-sticky");
        return;
    };
    if read["kind"] == "consumer-assignment" {
        assert_eq!(*plan, read["assignedPartitions"]);
    } else if read["ownedPartitions"].as_array().is_some_and(|owned| !owned.is_empty()) {
        assert_eq!(*plan, read["ownedPartitions"]);
    }
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
    assert!(members > 900);
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
        assert!(group.starts_with("st-") || group.starts_with("streams-"), "{group} {metadata}");
        assert!(read.partition_time <= payload["data"]["commitTimestamp"].as_i64().unwrap(), "{group} {metadata}");
        streams += 1;
    }
    println!("{streams} commits of Streams, {others} others with metadata");
    assert!(streams > 50 && others > 50);
}
