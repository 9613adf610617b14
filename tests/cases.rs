//! Field cases: what went wrong for others, each as the smallest log that shows it, and what must be said of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::{Bat, Commit, Ending, Rec, T0, commit, forget, offset_key, seal, write_log};
use grouplog::bytes::put_uvarint;
use serde_json::{Value, json};
use std::path::Path;

const DAY: i64 = 86_400_000;

/// What the program said.
struct Said {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no JSON: {} {}", self.stdout, self.stderr))
    }

    fn groups(&self) -> Vec<Value> {
        self.json().as_array().unwrap().clone()
    }

    fn group(&self, name: &str) -> Value {
        let groups = self.groups();
        let found: Vec<_> = groups.iter().filter(|group| group["group"] == name).collect();
        assert_eq!(found.len(), 1, "{name:?} in {}", self.stdout);
        found[0].clone()
    }

    fn names(&self) -> Vec<String> {
        self.groups().iter().map(|group| group["group"].as_str().unwrap().to_owned()).collect()
    }
}

fn run<S: AsRef<std::ffi::OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Said {
    let output = common::grouplog(dir, args);
    Said {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A log dir with one partition.
struct Log(tempfile::TempDir);

impl Log {
    fn of(batches: &[Bat]) -> Log {
        let dir = tempfile::tempdir().unwrap();
        write_log(dir.path(), 0, batches);
        Log(dir)
    }

    /// Every record in a batch of its own.
    fn records(records: Vec<Rec>) -> Log {
        Log::of(&records.into_iter().map(|record| Bat::of(vec![record])).collect::<Vec<_>>())
    }

    fn bytes(bytes: &[u8]) -> Log {
        let log = Log::of(&[]);
        std::fs::write(log.0.path().join("__consumer_offsets-0/00000000000000000000.log"), bytes).unwrap();
        log
    }

    fn run(&self, args: &[&str]) -> Said {
        run(self.0.path(), args.iter().copied().chain(["."]))
    }

    fn describe(&self, more: &[&str]) -> Said {
        self.run(&[&["describe", "--all", "--format", "json"], more].concat())
    }

    /// Described without complaint.
    fn sound(&self) -> Said {
        let said = self.describe(&[]);
        assert_eq!(said.status, 0, "{}", said.stderr);
        said
    }

    fn dump(&self) -> Vec<Value> {
        let said = self.run(&["dump"]);
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn record(at: i64, key: Option<Vec<u8>>, value: Option<Vec<u8>>) -> Rec {
    Rec { offset: at, timestamp: T0 + at, key, value }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

fn key(number: i16, texts: &[&str]) -> Vec<u8> {
    let mut key = number.to_be_bytes().to_vec();
    texts.iter().for_each(|text| put_text(&mut key, text.as_bytes()));
    key
}

fn odd_key(group: &[u8]) -> Vec<u8> {
    let mut key = vec![0, 1];
    put_text(&mut key, group);
    put_text(&mut key, b"t");
    key.extend_from_slice(&[0; 4]);
    key
}

fn put(at: i64, number: i16, texts: &[&str], value: Vec<u8>) -> Rec {
    record(at, Some(key(number, texts)), Some(value))
}

fn gone(at: i64, number: i16, texts: &[&str]) -> Rec {
    record(at, Some(key(number, texts)), None)
}

/// A member of a classic group: id, instance id, subscription, assignment.
type Member<'a> = (&'a str, Option<&'a str>, Vec<u8>, Vec<u8>);

/// A classic group, value version 3.
fn classic(protocol_type: &str, generation: i32, since: i64, members: &[Member<'_>]) -> Vec<u8> {
    let mut out = vec![0, 3];
    put_text(&mut out, protocol_type.as_bytes());
    out.extend_from_slice(&generation.to_be_bytes());
    put_text(&mut out, b"range");
    put_text(&mut out, b"leader");
    out.extend_from_slice(&since.to_be_bytes());
    out.extend_from_slice(&(members.len() as i32).to_be_bytes());
    for (id, instance, subscription, assignment) in members {
        put_text(&mut out, id.as_bytes());
        match instance {
            Some(instance) => put_text(&mut out, instance.as_bytes()),
            None => out.extend_from_slice(&[0xff, 0xff]),
        }
        put_text(&mut out, b"client");
        put_text(&mut out, b"/127.0.0.1");
        out.extend_from_slice(&60_000i32.to_be_bytes());
        out.extend_from_slice(&45_000i32.to_be_bytes());
        for blob in [subscription, assignment] {
            out.extend_from_slice(&(blob.len() as i32).to_be_bytes());
            out.extend_from_slice(blob);
        }
    }
    out
}

/// A subscription of version 0, without user data.
fn subscription(topics: &[&str]) -> Vec<u8> {
    let mut out = vec![0, 0];
    out.extend_from_slice(&(topics.len() as i32).to_be_bytes());
    topics.iter().for_each(|topic| put_text(&mut out, topic.as_bytes()));
    out.extend_from_slice(&(-1i32).to_be_bytes());
    out
}

fn compact(out: &mut Vec<u8>, text: &str) {
    put_uvarint(out, text.len() as u32 + 1);
    out.extend_from_slice(text.as_bytes());
}

/// Types 3, 6, 12, 20: an epoch, no tags.
fn epoch(epoch: i32) -> Vec<u8> {
    [&[0, 0][..], &epoch.to_be_bytes(), &[0]].concat()
}

/// Types 11 and 17: an epoch and a hash, no tags.
fn epoch_and_hash(epoch: i32) -> Vec<u8> {
    [&[0, 0][..], &epoch.to_be_bytes(), &[0; 8], &[0]].concat()
}

/// Type 5.
fn consumer_member(topics: &[&str], instance: Option<&str>) -> Vec<u8> {
    let mut out = vec![0, 0];
    match instance {
        Some(instance) => compact(&mut out, instance),
        None => out.push(0),
    }
    out.push(0);
    compact(&mut out, "client");
    compact(&mut out, "/127.0.0.1");
    put_uvarint(&mut out, topics.len() as u32 + 1);
    topics.iter().for_each(|topic| compact(&mut out, topic));
    out.extend_from_slice(&[0, 0, 0, 0xea, 0x60, 0, 0]);
    out
}

/// Type 8: epoch, and partitions of the topic whose id is all ones.
fn current(member_epoch: i32, partitions: &[i32]) -> Vec<u8> {
    let mut out = vec![0, 0];
    out.extend_from_slice(&member_epoch.to_be_bytes());
    out.extend_from_slice(&(member_epoch - 1).to_be_bytes());
    out.push(0);
    if partitions.is_empty() {
        out.push(1);
    } else {
        out.push(2);
        out.extend_from_slice(&[1; 16]);
        put_uvarint(&mut out, partitions.len() as u32 + 1);
        partitions.iter().for_each(|partition| out.extend_from_slice(&partition.to_be_bytes()));
        out.push(0);
    }
    out.extend_from_slice(&[1, 0]);
    out
}

fn committed(group: &Value) -> Vec<(String, i64, Value)> {
    let offsets = group["offsets"].as_array().unwrap().iter();
    offsets
        .map(|it| (it["topic"].as_str().unwrap().to_owned(), it["partition"].as_i64().unwrap(), it["offset"].clone()))
        .collect()
}

fn one(topic: &str, partition: i64, offset: i64) -> Vec<(String, i64, Value)> {
    vec![(topic.to_owned(), partition, json!(offset))]
}

/// C04, C42, C52: one offset for each rule, and what "exactly" means.
#[test]
fn c04_when_offsets_expire() {
    let ms = |offset: i64, commit_timestamp| Commit { commit_timestamp, ..Commit::at(offset) };
    let of = |at, group: &str, topic: &str, value: Vec<u8>| record(at, Some(offset_key(group, topic, 0)), Some(value));
    let explicit = Commit { expire_timestamp: T0 + 5, ..Commit::at(1) }.value(1);
    let topics = |topics: &[&str]| vec![("m", None, subscription(topics), Vec::new())];
    let log = Log::records(vec![
        of(0, "explicit", "t", explicit),
        of(1, "minus-one", "t", Commit::at(1).value(1)),
        of(2, "emptied", "t", ms(1, T0 - 9 * DAY).value(3)),
        put(3, 2, &["emptied"], classic("consumer", 3, T0 + 7, &[])),
        of(4, "empty-since-when", "t", ms(1, T0 + 3).value(3)),
        put(5, 2, &["empty-since-when"], classic("consumer", 3, -1, &[])),
        of(6, "simple", "t", ms(1, T0 + 4).value(3)),
        of(7, "live", "a", ms(1, T0).value(3)),
        of(8, "live", "b", ms(1, T0).value(3)),
        put(9, 2, &["live"], classic("consumer", 1, T0, &topics(&["a"]))),
        of(10, "connect", "t", ms(1, T0).value(3)),
        put(11, 2, &["connect"], classic("connect", 1, T0, &topics(&["a"]))),
        of(12, "riddle", "t", ms(1, T0).value(3)),
        put(13, 2, &["riddle"], classic("consumer", 1, T0, &[("m", None, vec![9], Vec::new())])),
        of(14, "modern", "a", ms(1, T0).value(3)),
        of(15, "modern", "b", ms(1, T0).value(3)),
        put(16, 5, &["modern", "m"], consumer_member(&["a"], None)),
        put(17, 3, &["modern"], epoch(1)),
        of(18, "nobody", "a", ms(1, T0).value(3)),
        put(19, 3, &["nobody"], epoch(1)),
    ]);
    let said = log.describe(&["--retention", "7d", "--now", &T0.to_string()]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    let expected = [
        ("explicit", "t", Some(T0 + 5), "explicit"),
        ("minus-one", "t", Some(T0 + 7 * DAY), "simple"),
        ("emptied", "t", Some(T0 + 7 + 7 * DAY), "empty-since"),
        ("empty-since-when", "t", Some(T0 + 3 + 7 * DAY), "empty-commit"),
        ("simple", "t", Some(T0 + 4 + 7 * DAY), "simple"),
        ("live", "a", None, "subscribed"),
        ("live", "b", Some(T0 + 7 * DAY), "unsubscribed"),
        ("connect", "t", None, "other-protocol"),
        ("riddle", "t", None, "unknown-subscription"),
        ("modern", "a", None, "subscribed"),
        ("modern", "b", Some(T0 + 7 * DAY), "unsubscribed"),
        ("nobody", "a", Some(T0 + 7 * DAY), "unsubscribed"),
    ];
    for (group, topic, at, rule) in expected {
        let group_json = said.group(group);
        let offset = group_json["offsets"].as_array().unwrap().iter().find(|it| it["topic"] == topic).unwrap().clone();
        assert_eq!((&offset["expiresAt"], &offset["expiryRule"]), (&json!(at), &json!(rule)), "{group} {topic}");
    }
    assert_eq!(said.group("minus-one")["offsets"][0]["expireTimestamp"], Value::Null);
    assert_eq!(said.group("explicit")["offsets"][0]["expireTimestamp"], json!(T0 + 5));

    let at = |now: i64| {
        let now = now.to_string();
        let args =
            ["describe", "--group", "simple", "--offsets", "--format", "csv", "--retention", "7d", "--now", &now];
        log.run(&args).stdout.contains("(expired)")
    };
    assert!(!at(T0 + 3 + 7 * DAY), "a millisecond before");
    assert!(at(T0 + 4 + 7 * DAY), "exactly the retention counts as expired");
}

/// C05, C23: what is committed, what waits, what was aborted.
#[test]
fn c23_committed_pending_aborted() {
    let mut batches = vec![
        Bat::of(vec![commit(0, "g", "t", 0, 5)]),
        Bat::transactional(7, 1, vec![commit(1, "g", "t", 0, 9)]),
        Bat::marker(Ending::Abort, 2, T0, 7, 1),
        Bat::transactional(7, 1, vec![commit(3, "g", "t", 0, 11)]),
        Bat::transactional(8, 0, vec![commit(4, "only-pending", "t", 1, 1)]),
    ];
    let said = Log::of(&batches).sound();
    let group = said.group("g");
    assert_eq!(committed(&group), one("t", 0, 5));
    let pending = &group["offsets"][0]["pending"];
    assert_eq!(pending.as_array().unwrap().len(), 1);
    for (field, value) in [("producerId", 7), ("producerEpoch", 1), ("offset", 11), ("logOffset", 3)] {
        assert_eq!(pending[0][field], value, "{field}");
    }
    let waiting = said.group("only-pending");
    assert_eq!((&waiting["state"], &waiting["simple"]), (&json!("Empty"), &json!(true)));
    for field in ["offset", "leaderEpoch", "metadata", "commitTimestamp", "logOffset"] {
        assert_eq!(waiting["offsets"][0][field], Value::Null, "{field}");
    }
    // The marker may have a greater epoch than the data (KIP-890).
    batches.push(Bat::marker(Ending::Commit, 5, T0, 7, 2));
    assert_eq!(committed(&Log::of(&batches).sound().group("g")), one("t", 0, 11));
}

/// The commit with the greatest offset wins, whatever order transactions end in.
#[test]
fn the_later_record_wins() {
    let log = Log::of(&[
        Bat::transactional(7, 1, vec![commit(0, "g", "t", 0, 1)]),
        Bat::transactional(8, 1, vec![commit(1, "g", "t", 0, 2)]),
        Bat::marker(Ending::Commit, 2, T0, 8, 1),
        Bat::marker(Ending::Commit, 3, T0, 7, 1),
        Bat::transactional(7, 1, vec![commit(4, "h", "t", 0, 1)]),
        Bat::of(vec![commit(5, "h", "t", 0, 2)]),
        Bat::marker(Ending::Commit, 6, T0, 7, 1),
    ]);
    let said = log.sound();
    assert_eq!(committed(&said.group("g")), one("t", 0, 2));
    assert_eq!(committed(&said.group("h")), one("t", 0, 2));
}

/// A tombstone that meets a pending commit: the old coordinator keeps it.
#[test]
fn tombstones_and_pending_commits() {
    let log = Log::of(&[
        Bat::transactional(7, 1, vec![commit(0, "g", "t", 0, 1)]),
        Bat::of(vec![forget(1, "g", "t", 0)]),
        Bat::marker(Ending::Commit, 2, T0, 7, 1),
    ]);
    assert_eq!(log.sound().names(), [""; 0]);
    let old = log.describe(&["--as-broker", "3.9"]);
    assert_eq!(committed(&old.group("g")), one("t", 0, 1));
}

/// C08, C21: versions 3 and 4, topic ids, unknown tags, ids that change.
#[test]
fn c08_topic_ids() {
    let id = |n| Commit { topic_id: [n; 16], leader_epoch: 3, ..Commit::at(i64::from(n)) };
    let mut tagged = Commit::at(4).value(4);
    assert_eq!(tagged.pop(), Some(0));
    tagged.extend_from_slice(&[1, 7, 0xac, 2]);
    tagged.extend_from_slice(&[0x55; 300]);
    let of = |at, partition, value| record(at, Some(offset_key("g", "t", partition)), Some(value));
    let log = Log::records(vec![
        of(0, 0, id(1).value(4)),
        of(1, 1, id(1).value(4)),
        of(2, 1, id(2).value(4)),
        of(3, 2, tagged),
        of(4, 12, Commit::at(3).value(3)),
    ]);
    let group = log.sound().group("g");
    let ids: Vec<_> = group["offsets"].as_array().unwrap().iter().map(|it| it["topicId"].clone()).collect();
    assert_eq!(ids, [json!("AQEBAQEBAQEBAQEBAQEBAQ"), json!("AgICAgICAgICAgICAgICAg"), Value::Null, Value::Null]);
    assert_eq!(group["offsets"][1]["leaderEpoch"], 3);
    assert_eq!(group["offsets"][3]["partition"], 12);
    assert_eq!(group["offsets"][2]["offset"], 4);
}

/// C09: tombstones remove; an empty value is none.
#[test]
fn c09_tombstones() {
    let log = Log::records(vec![
        commit(0, "g", "t", 0, 1),
        forget(1, "g", "t", 0),
        commit(2, "g", "t", 0, 3),
        put(3, 2, &["h"], classic("consumer", 1, T0, &[])),
        gone(4, 2, &["h"]),
        commit(5, "gone", "t", 0, 3),
        forget(6, "gone", "t", 0),
    ]);
    let said = log.sound();
    assert_eq!(said.names(), ["g"]);
    assert_eq!(committed(&said.group("g")), one("t", 0, 3));
    let empty = Log::records(vec![
        commit(0, "g", "t", 0, 1),
        record(1, Some(offset_key("g", "t", 0)), Some(Vec::new())),
        commit(2, "h", "t", 0, 1),
    ]);
    let said = empty.describe(&[]);
    assert_eq!(said.status, 3, "{}", said.stderr);
    assert_eq!(committed(&said.group("g")), one("t", 0, 1));
    assert!(said.group("g")["uncertain"].as_str().unwrap().contains("empty-value"));
    assert_eq!(said.group("h")["uncertain"], Value::Null);
    assert_eq!(empty.dump()[1]["fault"]["code"], "empty-value");
}

/// C10: groups that are not consumers do not fail, whatever their members say of themselves.
#[test]
fn c10_other_protocols() {
    let member = |bytes: &[u8]| vec![("m", None, bytes.to_vec(), bytes.to_vec())];
    let registry = br#"{"version":1,"host":"h","port":8081,"master_eligibility":true,"scheme":"http"}"#;
    let mut worker = vec![0, 1];
    put_text(&mut worker, b"http://h:8083/");
    worker.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff]);
    let log = Log::records(vec![
        put(0, 2, &["connect"], classic("connect", 1, T0, &member(&worker))),
        put(1, 2, &["sr"], classic("sr", 1, T0, &member(registry))),
        put(2, 2, &["foo"], classic("foo", 1, T0, &member(&[0x7f, 0xff, 0, 1, 2]))),
        put(3, 2, &["none"], classic("", 1, T0, &member(&[0x7f, 0xff, 0, 1, 2]))),
        put(4, 2, &["junk"], classic("consumer", 1, T0, &member(&[0x7f, 0xff, 0, 1, 2]))),
    ]);
    let said = log.sound();
    assert_eq!(said.names(), ["connect", "foo", "junk", "none", "sr"]);
    for group in said.groups() {
        assert_eq!(group["members"].as_array().unwrap().len(), 1, "{group}");
        assert_eq!(group["members"][0]["subscribedTopics"], Value::Null, "{group}");
        assert_eq!(group["members"][0]["assignment"], json!([]), "{group}");
    }
    let kind = |name: &str| said.group(name)["members"][0]["embedded"]["subscription"]["kind"].clone();
    assert_eq!(
        (kind("sr"), kind("foo"), kind("junk")),
        (json!("registry-subscription"), json!("opaque"), json!("opaque"))
    );
    assert_eq!(kind("connect"), "connect-worker");
}

/// C20: static members that left, members without the rest, two of one instance id.
#[test]
fn c20_static_members() {
    let twice = [("m1", Some("i"), subscription(&["t"]), vec![]), ("m2", Some("i"), subscription(&["t"]), vec![])];
    let log = Log::records(vec![
        put(0, 2, &["classic"], classic("consumer", 1, T0 - 90 * DAY, &twice)),
        put(1, 5, &["g", "away"], consumer_member(&["t"], Some("i"))),
        put(2, 3, &["g"], epoch(5)),
        put(3, 6, &["g"], epoch(5)),
        put(4, 8, &["g", "away"], current(-2, &[0])),
        put(5, 5, &["g", "new"], consumer_member(&["t"], None)),
    ]);
    let said = log.sound();
    let classic = said.group("classic");
    assert_eq!(classic["members"][0]["instanceId"], "i");
    assert_eq!(classic["members"][1]["instanceId"], "i");
    assert_eq!(classic["state"], "Stable");
    let group = said.group("g");
    assert_eq!((&group["members"][0]["memberEpoch"], &group["members"][0]["instanceId"]), (&json!(-2), &json!("i")));
    assert_eq!(group["members"][1]["memberEpoch"], Value::Null);
    assert_eq!(group["state"], "Reconciling");
}

/// C22, C37, C38, C45, C50: names may be anything, in every format and on the command line.
#[test]
fn c22_odd_names_round_trip() {
    let names: &[(&[u8], &str, &str)] = &[
        (b"", "", ""),
        (b" ", " ", " "),
        (b"a#b", "a#b", "a#b"),
        (b"a::b@c/d", "a::b@c/d", "a::b@c/d"),
        (b"../x", "../x", "../x"),
        (b"$(id) `id`", "$(id) `id`", "$(id) `id`"),
        (b"a'b\"c", "a'b\"c", "a'b\"c"),
        (b"a,b", "a,b", "a,b"),
        (b"line1\nline2\r\t\0", "line1\nline2\r\t\0", "line1\nline2\r\t*"),
        (b"a*b", "a*b", r"a\*b"),
        (b"a[b]{c}?", "a[b]{c}?", r"a\[b\]\{c\}\?"),
        (b"--all", "--all", "--all"),
        ("größe-группа-消费组-🚀".as_bytes(), "größe-группа-消费组-🚀", "größe-группа-消费组-🚀"),
        (b"bad\xff", r"bad\xff", r"bad\xff"),
        (b"bad\xfe", r"bad\xfe", r"bad\xfe"),
    ];
    let value = Commit { metadata: "m,\"\n\t\0", ..Commit::at(1) }.value(3);
    let records = names.iter().enumerate();
    let records: Vec<_> =
        records.map(|(i, (name, ..))| record(i as i64, Some(odd_key(name)), Some(value.clone()))).collect();
    let log = Log::records(records);
    let all = log.sound();
    assert_eq!(all.groups().len(), names.len());
    for (_, shown, pattern) in names {
        let said = log.run(&["describe", "--group", pattern, "--format", "json"]);
        assert_eq!((said.status, said.names()), (0, vec![(*shown).to_owned()]), "{pattern} {}", said.stderr);
        assert_eq!(said.groups()[0]["offsets"][0]["metadata"], "m,\"\n\t\0");
        let dumped = log.run(&["dump", "--group", pattern]);
        let line: Value = serde_json::from_str(&dumped.stdout).unwrap();
        assert_eq!(line["key"]["data"]["group"], *shown);
        let listed = log.run(&["groups", "--group", pattern, "--format", "jsonl"]);
        assert_eq!(listed.stdout.lines().count(), 1, "{pattern}");
    }
    assert_eq!(log.run(&["describe", "--group", "*", "--format", "json"]).groups().len(), names.len());
    let csv = log.run(&["groups", "--format", "csv"]).stdout;
    let rows = csv_rows(&csv);
    assert_eq!(rows.len(), names.len() + 1, "{csv}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    assert!(rows.iter().any(|row| row[1] == "a'b\"c"), "{csv}");
    let table = log.run(&["groups"]).stdout;
    assert_eq!(table.lines().count(), names.len() + 1, "{table}");
    let missing = log.run(&["describe", "--group", "a?c", "--format", "json"]);
    assert_eq!(missing.status, 1, "{}", missing.stdout);
}

/// Reads CSV as RFC 4180 has it.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}

/// C38, C73: keys that are none.
#[test]
fn c73_bad_keys() {
    let length_minus_one = vec![0, 1, 0xff, 0xff, 0, 1, b't', 0, 0, 0, 0];
    let keys = [None, Some(Vec::new()), Some(vec![1]), Some(length_minus_one), Some(b"{\"a\":1}".to_vec())];
    let mut records: Vec<_> =
        keys.into_iter().enumerate().map(|(i, key)| record(i as i64, key, Some(vec![0, 3]))).collect();
    records.push(commit(9, "g", "t", 0, 1));
    let log = Log::records(records);
    let said = log.describe(&[]);
    assert_eq!(said.status, 3);
    assert_eq!(said.names(), ["g"]);
    assert!(said.stderr.contains("records with an unreadable key"), "{}", said.stderr);
    let codes: Vec<_> = log.dump().iter().map(|line| line["fault"]["code"].clone()).collect();
    // The first two bytes of JSON are a type that nobody knows.
    let expected = ["null-key", "key-too-short", "key-too-short", "unexpected-null", "unknown-type"];
    assert_eq!(codes[..5], expected.map(Value::from));
    assert_eq!(codes[5], Value::Null);
}

/// C25: types and versions of a newer release.
#[test]
fn c25_from_a_newer_broker() {
    let mut newer = Commit::at(7).value(3);
    newer[1] = 9;
    let log = Log::records(vec![
        put(0, 99, &["g"], vec![0, 0, 1]),
        commit(1, "g", "t", 0, 1),
        record(2, Some(offset_key("g", "t", 0)), Some(newer)),
        commit(3, "h", "t", 0, 1),
    ]);
    let said = log.describe(&[]);
    assert_eq!(said.status, 3);
    assert_eq!(committed(&said.group("g")), one("t", 0, 1), "the older value is not hidden");
    assert!(said.group("g")["uncertain"].as_str().unwrap().contains("unknown-version"));
    assert_eq!(said.group("h")["uncertain"], Value::Null);
    assert!(said.stderr.contains("1 records of unknown types"), "{}", said.stderr);
    // An unknown type alone is skipped by brokers, and is no finding.
    assert_eq!(Log::records(vec![put(0, 99, &["g"], vec![0, 0, 1]), commit(1, "g", "t", 0, 1)]).sound().names(), ["g"]);
    // Type 18 with what became type 23: an epoch and no subtopologies.
    let topology = [&[0, 0][..], &[0, 0, 0, 4], &[1, 0]].concat();
    let streams = Log::records(vec![put(0, 17, &["s"], epoch_and_hash(1)), put(1, 18, &["s"], topology)]);
    assert_eq!(streams.sound().group("s")["topologyEpoch"], 4);
}

/// C26: tombstones for what is not there.
#[test]
fn c26_only_tombstones() {
    let member = |at, number| gone(at, number, &["g", "m"]);
    let group = |at, number| gone(at, number, &["g"]);
    let log = Log::records(vec![
        member(0, 8),
        member(1, 7),
        member(2, 5),
        group(3, 6),
        group(4, 4),
        group(5, 3),
        group(6, 2),
    ]);
    assert_eq!(log.sound().names(), [""; 0]);
    let log = Log::records(vec![group(0, 3), member(1, 5), group(2, 6), member(3, 8), group(4, 4), member(5, 7)]);
    assert_eq!(log.sound().names(), [""; 0]);
}

/// C27: a commit before the group's own records.
#[test]
fn c27_commits_before_the_group() {
    let streams_member = {
        let mut out = vec![0, 0, 0, 0];
        compact(&mut out, "client");
        compact(&mut out, "/127.0.0.1");
        out.extend_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0, 1]);
        compact(&mut out, "process");
        out.extend_from_slice(&[0xff, 1, 0]);
        out
    };
    let share_member = {
        let mut out = vec![0, 0, 0];
        compact(&mut out, "client");
        compact(&mut out, "/127.0.0.1");
        out.push(2);
        compact(&mut out, "t");
        out.push(0);
        out
    };
    for (kind, member_type, member, group_type, group) in [
        ("consumer", 5, consumer_member(&["t"], None), 3, epoch(1)),
        ("share", 10, share_member, 11, epoch_and_hash(1)),
        ("streams", 19, streams_member, 17, epoch_and_hash(1)),
    ] {
        let log = Log::records(vec![
            commit(0, "g", "t", 0, 5),
            put(1, member_type, &["g", "m"], member),
            put(2, group_type, &["g"], group),
        ]);
        let said = log.sound();
        assert_eq!(said.names(), ["g"], "{kind}");
        let group = said.group("g");
        assert_eq!((&group["type"], &group["groupEpoch"]), (&json!(kind), &json!(1)));
        assert_eq!(group["members"].as_array().unwrap().len(), 1, "{kind}");
        assert_eq!(group["members"][0]["clientId"], "client", "{kind}");
        assert_eq!(committed(&group), one("t", 0, 5), "{kind}");
    }
}

/// C40: blobs of no bytes, and none inside them.
#[test]
fn c40_empty_blobs() {
    let nothing_assigned = [&[0, 0][..], &[0; 4], &[0xff; 4]].concat();
    let members = [("bare", None, vec![], vec![]), ("idle", None, subscription(&["t"]), nothing_assigned.clone())];
    let log = Log::records(vec![put(0, 2, &["g"], classic("consumer", 1, T0, &members))]);
    let group = log.sound().group("g");
    let embedded = |i: usize, what: &str| group["members"][i]["embedded"][what].clone();
    assert_eq!(embedded(0, "subscription")["kind"], "empty");
    assert_eq!(embedded(0, "assignment")["kind"], "empty");
    assert_eq!(group["members"][0]["subscribedTopics"], Value::Null);
    assert_eq!(group["members"][1]["subscribedTopics"], json!(["t"]));
    assert_eq!(embedded(1, "assignment")["kind"], "consumer-assignment");
    assert_eq!(group["members"][1]["assignment"], json!([]));
}

/// C45: any offset that fits 64 bits.
#[test]
fn c45_odd_offsets() {
    let odd = [-1, -1001, 0, i64::MAX, i64::MIN];
    let records = odd.iter().enumerate().map(|(i, offset)| commit(i as i64, "g", "t", i as i32, *offset));
    let group = Log::records(records.collect()).sound().group("g");
    let found: Vec<_> = committed(&group).into_iter().map(|(.., offset)| offset.as_i64().unwrap()).collect();
    assert_eq!(found, odd);
}

/// C48: two copies of a group, in the partition where it was and in the one where it is.
#[test]
fn c48_two_copies() {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path(), 12, &[Bat::of(vec![commit(0, "my-group", "t", 0, 1)])]);
    write_log(dir.path(), 42, &[Bat::of(vec![commit(0, "my-group", "t", 0, 2)])]);
    let said = run(dir.path(), ["groups", "--format", "json", "."]);
    let found: Vec<_> =
        said.groups().iter().map(|group| (group["partition"].clone(), committed(group)[0].2.clone())).collect();
    assert_eq!(found, [(json!(12), json!(1)), (json!(42), json!(2))]);
}

/// C50: ids hash as Java hashes them, by UTF-16 units.
#[test]
fn c50_partitions_of_groups() {
    let dir = tempfile::tempdir().unwrap();
    let said = run(dir.path(), ["partition-of", "größe", "группа", "消费组", "grp-🚀", "--format", "json"]);
    let numbers: Vec<_> = said.groups().iter().map(|it| it["partition"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [7, 8, 35, 35]);
}

/// C54: two members own one partition, as a load that races with compaction sees it.
#[test]
fn c54_double_ownership() {
    let log = Log::records(vec![
        put(0, 5, &["g", "a"], consumer_member(&["t"], None)),
        put(1, 5, &["g", "b"], consumer_member(&["t"], None)),
        put(2, 3, &["g"], epoch(3)),
        put(3, 6, &["g"], epoch(3)),
        put(4, 8, &["g", "a"], current(2, &[0])),
        put(5, 8, &["g", "b"], current(3, &[0])),
        put(6, 8, &["g", "a"], current(3, &[])),
    ]);
    let group = log.sound().group("g");
    let owned = |i: usize| group["members"][i]["assignment"].clone();
    assert_eq!(owned(0), json!([]));
    assert_eq!(owned(1), json!([{ "topic": null, "topicId": "AQEBAQEBAQEBAQEBAQEBAQ", "partitions": [0] }]));
    assert_eq!(group["state"], "Stable");
}

/// C55: back to the classic protocol.
#[test]
fn c55_downgrade() {
    let log = Log::records(vec![
        put(0, 2, &["g"], classic("consumer", 4, T0, &[])),
        put(1, 5, &["g", "m"], consumer_member(&["t"], None)),
        put(2, 3, &["g"], epoch(1)),
        gone(3, 8, &["g", "m"]),
        gone(4, 7, &["g", "m"]),
        gone(5, 5, &["g", "m"]),
        gone(6, 6, &["g"]),
        gone(7, 4, &["g"]),
        gone(8, 3, &["g"]),
    ]);
    let group = log.sound().group("g");
    assert_eq!(
        (&group["type"], &group["generation"], &group["state"]),
        (&json!("classic"), &json!(4), &json!("Empty"))
    );
    assert_eq!(group["oddities"], Value::Null);
}

/// C56: offsets that go back; what stands later in the file counts.
#[test]
fn c56_offsets_go_back() {
    let run_of = |from: i64, to: i64, add: i64| {
        Bat::of((from..=to).map(|at| commit(at, "g", "t", at as i32, at + add)).collect())
    };
    let log = Log::of(&[run_of(0, 9, 0), run_of(5, 9, 100), run_of(10, 12, 0)]);
    let group = log.describe(&[]).group("g");
    let expected: Vec<_> = (0..13).map(|at| if (5..10).contains(&at) { at + 100 } else { at }).collect();
    let found: Vec<_> = committed(&group).into_iter().map(|(.., offset)| offset.as_i64().unwrap()).collect();
    assert_eq!(found, expected);
}

/// C58: folders that look like partitions and do not count; two copies that do.
#[test]
fn c58_variants_of_folders() {
    let dir = tempfile::tempdir().unwrap();
    let uuid = "0123456789abcdef0123456789abcdef";
    write_log(dir.path(), 7, &[Bat::of(vec![commit(0, "normal", "t", 0, 1)])]);
    for variant in ["delete", "future", "stray"] {
        let made = write_log(dir.path(), 8, &[Bat::of(vec![commit(0, variant, "t", 0, 1)])]);
        std::fs::rename(made, dir.path().join(format!("__consumer_offsets-7.{uuid}-{variant}"))).unwrap();
    }
    let said = run(dir.path(), ["groups", "--format", "json", "."]);
    assert_eq!((said.status, said.names()), (0, vec!["normal".to_owned()]));
    assert_eq!(said.stderr.matches("left out").count(), 3, "{}", said.stderr);
    let said = run(dir.path(), ["groups", "--include-stray", "--format", "json", "."]);
    let mut names = said.names();
    names.sort();
    assert_eq!(names, ["delete", "future", "normal", "stray"]);
    // The same partition on two disks.
    let other = tempfile::tempdir().unwrap();
    write_log(other.path(), 7, &[Bat::of(vec![commit(0, "normal", "t", 0, 1), commit(1, "normal", "t", 0, 2)])]);
    let args = ["groups", "--format", "json", ".", other.path().to_str().unwrap()];
    let said = run(dir.path(), args);
    assert_eq!(said.groups().len(), 2);
    assert!(said.stderr.contains("stands here 2 times"), "{}", said.stderr);
}

/// C72: the group goes, its offsets stay; the last group record counts.
#[test]
fn c72_offsets_without_group() {
    let log = Log::records(vec![
        commit(0, "g", "before", 0, 1),
        put(1, 2, &["g"], classic("consumer", 1, T0, &[])),
        gone(2, 2, &["g"]),
        commit(3, "g", "after", 0, 2),
        put(4, 2, &["h"], classic("consumer", 1, T0, &[])),
        put(5, 2, &["h"], classic("consumer", 2, T0, &[])),
    ]);
    let said = log.sound();
    let group = said.group("g");
    assert_eq!((&group["simple"], &group["generation"]), (&json!(true), &Value::Null));
    assert_eq!(committed(&group), [one("after", 0, 2), one("before", 0, 1)].concat());
    assert_eq!(said.group("h")["generation"], 2);
}

/// C78: type 0 with later value versions.
#[test]
fn c78_type_0_with_later_values() {
    let key = |partition: i32| {
        let mut key = offset_key("g", "t", partition);
        key[1] = 0;
        Some(key)
    };
    let records = [0, 1, 2, 3].map(|version| {
        record(i64::from(version), key(version.into()), Some(Commit::at(i64::from(version)).value(version)))
    });
    let group = Log::records(records.to_vec()).sound().group("g");
    let found: Vec<_> = committed(&group).into_iter().map(|(.., offset)| offset.as_i64().unwrap()).collect();
    assert_eq!(found, [0, 1, 2, 3]);
    // Both types name the same offset.
    let log = Log::records(vec![
        record(0, key(0), Some(Commit::at(1).value(1))),
        commit(1, "g", "t", 0, 2),
        record(2, key(0), Some(Commit::at(3).value(1))),
    ]);
    assert_eq!(committed(&log.sound().group("g")), one("t", 0, 3));
}

/// C79: a value of a preview build costs its own record only.
#[test]
fn c79_preview_values() {
    let odd = [&[0, 0][..], &[9, 9, 9, 9], &[1, 0, 0, 0, 1]].concat();
    let log = Log::records(vec![
        put(0, 3, &["g"], epoch(2)),
        put(1, 4, &["g"], odd),
        commit(2, "g", "t", 0, 1),
        put(3, 3, &["h"], epoch(2)),
    ]);
    let said = log.describe(&[]);
    assert_eq!((said.names(), &said.group("g")["groupEpoch"]), (vec!["g".to_owned(), "h".to_owned()], &json!(2)));
    assert_eq!(committed(&said.group("g")), one("t", 0, 1));
    assert_eq!(said.group("h")["uncertain"], Value::Null);
    let line = &log.dump()[1];
    assert!(line["value"]["raw"].is_string() || line["value"]["data"].is_object(), "{line}");
}

/// A batch whose CRC is wrong: who lost something is said, and nobody else is in doubt.
#[test]
fn a_wrong_crc_names_the_group() {
    let good = Bat::of(vec![commit(0, "g", "t", 0, 1), commit(1, "h", "t", 0, 1)]).bytes();
    let mut bad = Bat::of(vec![commit(2, "g", "t", 0, 2)]).bytes();
    bad[17] ^= 1;
    let said = Log::bytes(&[good, bad].concat()).describe(&[]);
    assert_eq!(said.status, 3);
    let group = said.group("g");
    assert_eq!(committed(&group), one("t", 0, 1));
    let why = group["uncertain"].as_str().unwrap();
    assert!(why.contains("CRC") && why.contains("offset 2"), "{why}");
    assert_eq!(said.group("h")["uncertain"], Value::Null);
    assert!(said.stderr.contains("1 batches with a wrong CRC"), "{}", said.stderr);
}

/// A hole may have held anything older groups had next; what stands behind it whole is not in doubt.
#[test]
fn a_hole_in_the_middle() {
    let batch = |at, group| Bat::of(vec![commit(at, group, "t", 0, at)]).bytes();
    let bytes = [batch(0, "before"), batch(1, "both"), vec![0; 200], batch(5, "both"), batch(6, "behind")].concat();
    let said = Log::bytes(&bytes).describe(&[]);
    assert_eq!(said.status, 3);
    assert!(said.group("before")["uncertain"].is_string());
    assert_eq!(said.group("both")["uncertain"], Value::Null);
    assert_eq!(said.group("behind")["uncertain"], Value::Null);
    assert!(said.stderr.contains("1 unreadable stretches"), "{}", said.stderr);
}

/// A marker in a damaged batch: how the transaction ended is not known.
#[test]
fn a_lost_marker() {
    let mut marker = Bat::marker(Ending::Commit, 2, T0, 7, 1).bytes();
    marker[17] ^= 1;
    let mut bytes = Bat::of(vec![commit(0, "other", "t", 0, 1)]).bytes();
    bytes.extend(Bat::transactional(7, 1, vec![commit(1, "g", "t", 0, 9)]).bytes());
    bytes.extend(marker);
    let said = Log::bytes(&bytes).describe(&[]);
    assert_eq!(said.status, 3);
    assert!(said.group("g")["uncertain"].is_string());
    assert_eq!(said.group("other")["uncertain"], Value::Null);
    // The next transaction of the producer ends, and with it what was left of the last.
    bytes.extend(Bat::transactional(7, 1, vec![commit(3, "h", "t", 0, 9)]).bytes());
    bytes.extend(Bat::marker(Ending::Abort, 4, T0, 7, 1).bytes());
    let said = Log::bytes(&bytes).describe(&[]);
    assert_eq!(said.names(), ["other"], "g's commit may have been committed or not");
    assert!(said.stderr.contains("wrong CRC"), "{}", said.stderr);
    assert!(said.stderr.contains("1 groups (g)"), "{}", said.stderr);
}

/// An unreadable value does not hide the one before it.
#[test]
fn an_unreadable_value() {
    let mut cut = Commit::at(2).value(3);
    cut.truncate(9);
    let log = Log::records(vec![
        commit(0, "g", "t", 0, 1),
        record(1, Some(offset_key("g", "t", 0)), Some(cut)),
        put(2, 2, &["h"], classic("consumer", 1, T0, &[])),
        put(3, 2, &["h"], vec![0, 3, 0, 200]),
    ]);
    let said = log.describe(&[]);
    assert_eq!(said.status, 3);
    assert_eq!(committed(&said.group("g")), one("t", 0, 1));
    assert_eq!(said.group("h")["generation"], 1);
    for name in ["g", "h"] {
        assert!(said.group(name)["uncertain"].as_str().unwrap().contains("cannot be read"), "{name}");
    }
}

/// The golden vectors in a row: commits, a tombstone, an empty group, a transaction.
#[test]
fn golden_vectors() {
    let hex = |text: &str| -> Vec<u8> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap() as u8;
        text.as_bytes().chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
    };
    let gv7 = hex(
        "00000000000000030000006300000000020578bec50010000000000000018bcfe568000000018bcfe5680000000000000003e8000300000000000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000018bcfe5680000",
    );
    let gv8 = hex(
        "00000000000000040000004200000000024a3ea0080030000000000000018bcfe568000000018bcfe5680000000000000003e80004ffffffff000000012000000008000000010c00000000000500",
    );
    let gv2 = hex(
        "00000000000000000000006700000000028f6115570000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016a00000026000100086d792d67726f757000017400000000380001000000000000002a00000000018bcfe568000000018bd50bc40000",
    );
    // C05: the transaction hangs.
    let mut log = gv7.clone();
    log.extend((4..1004).flat_map(|at| Bat::of(vec![commit(at, "plain", "t", 0, at)]).bytes()));
    let said = Log::bytes(&log).sound();
    assert_eq!(said.group("my-group")["offsets"][0]["pending"][0]["producerEpoch"], 3);
    let said = Log::bytes(&[gv7, gv8].concat()).sound();
    assert_eq!(committed(&said.group("my-group")), one("t", 0, 42));
    // C52.
    let said = Log::bytes(&gv2).describe(&["--retention", "7d", "--now", "1700000000000"]);
    let offset = &said.group("my-group")["offsets"][0];
    assert_eq!((&offset["expiresAt"], &offset["expiryRule"]), (&json!(0x18b_d50b_c400i64), &json!("explicit")));
    let mut sealed = gv2.clone();
    seal(&mut sealed);
    assert_eq!(sealed, gv2);
}
