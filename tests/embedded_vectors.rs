//! Embedded payloads against what Kafka's own code made and showed, and a few blobs of real clients.
//!
//! `vectors/` was made with the jars of Kafka 4.4.0: `dump-tool-*.jsonl` holds members put into a segment by hand and
//! what `kafka-dump-log --offsets-decoder` showed of them; `streams-*.txt` was encoded by Kafka Streams' classes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grouplog::json::{Json, Style};
use grouplog::schema::embedded::consumer::{dump_tool_assignment, dump_tool_subscription};
use grouplog::schema::embedded::streams_commit::commit_metadata;
use grouplog::schema::embedded::{Payload, member_assignment, member_subscription};
use serde_json::{Value, json};

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
    assert_eq!(commit_metadata(b"AQAAAaIpY1Z+").map(|it| (it.version, it.partition_time)), Some((1, 1795990705790)));
    assert_eq!(commit_metadata(b"AgAAAaIpYKq9").map(|it| (it.version, it.partition_time)), Some((2, 1795990530749)));
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
