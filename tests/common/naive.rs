//! The naive model: what a log says, told a second time in the plainest way, to hold the program's own against it.
//!
//! Events are a list, state is maps of JSON values, every record is decoded as it comes, nothing is shared with
//! `src/model`. It takes from the program only the schema's JSON (which other tests hold against Kafka's own tools).

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use grouplog::json::{Json, Style};
use grouplog::schema::{Key, RecordType};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A record of the log.
#[derive(Debug, Clone)]
pub struct Event {
    pub offset: i64,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    pub what: What,
}

#[derive(Debug, Clone)]
pub enum What {
    /// A plain record has producer -1.
    Data {
        key: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
        producer: i64,
        epoch: i16,
    },
    Marker {
        producer: i64,
        epoch: i16,
        commit: bool,
    },
}

/// A record of the log, decoded.
#[derive(Debug, Clone)]
pub struct Told {
    pub offset: i64,
    what: Saying,
}

#[derive(Debug, Clone)]
enum Saying {
    Record(ToldRecord),
    Marker {
        producer: i64,
        commit: bool,
    },
    /// Of a type that no release knows, or without a key.
    Nothing,
}

#[derive(Debug, Clone)]
struct ToldRecord {
    number: i16,
    key: Value,
    group: String,
    /// None is a tombstone; what cannot be read is an error.
    value: Result<Option<Value>, ()>,
    /// Whose transaction, with the producer's epoch; -1 is none.
    producer: (i64, i16),
}

impl Told {
    /// Decodes a record.
    pub fn of(event: &Event) -> Told {
        let what = match &event.what {
            What::Marker { producer, commit, .. } => Saying::Marker { producer: *producer, commit: *commit },
            What::Data { key, value, producer, epoch } => match key.as_ref().map(|key| Key::decode(key)) {
                Some(Ok(key)) => {
                    let read = |bytes: &Vec<u8>| value_json(key.record_type, bytes).ok_or(());
                    let json = key_json(&key);
                    Saying::Record(ToldRecord {
                        number: key.record_type.number(),
                        group: text(&json, &["group", "groupId"]),
                        key: json,
                        value: value.as_ref().map(read).transpose(),
                        producer: (*producer, *epoch),
                    })
                }
                _ => Saying::Nothing,
            },
        };
        Told { offset: event.offset, what }
    }
}

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordinator {
    New,
    /// Of 3.9 and before: types 0 to 2, and other rules for tombstones that meet pending commits.
    Old,
}

/// What the coordinator of a group would do with a record that its rules forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Keys come and go as they please, as in a log that compaction or damage left.
    AnyOrder,
    /// The group's rules are played out, and a record that breaks one is a fault of the history.
    ByTheRules,
}

/// The name of a topic by its id, as Kafka prints ids.
pub type NameOf<'n> = &'n dyn Fn(&str) -> Option<String>;

/// A decoded commit: the offset of its record, and what it says.
type Commit = (i64, Value);

/// A key of an offset: group, topic, partition.
type OffsetKey = (String, String, i64);

/// A key of another record: its type, and its JSON.
type OtherKey = (i16, String);

#[derive(Debug, Default)]
pub struct Naive {
    offsets: BTreeMap<OffsetKey, Commit>,
    /// By producer: its epoch, and its commits in the order in which they came.
    pending: BTreeMap<i64, (i16, BTreeMap<OffsetKey, Commit>)>,
    /// By group.
    others: BTreeMap<String, BTreeMap<OtherKey, (i64, Value)>>,
    /// Groups that lost a record because it cannot be read.
    pub lost: BTreeSet<String>,
}

impl Naive {
    /// Replays events literally.
    pub fn of<'e>(events: impl Iterator<Item = &'e Told>, coordinator: Coordinator, strictness: Strictness) -> Naive {
        let mut state = Naive::default();
        for event in events {
            match &event.what {
                Saying::Nothing => {}
                Saying::Marker { producer, commit } => state.marker(*producer, *commit),
                Saying::Record(record) if coordinator == Coordinator::Old && record.number > 2 => {}
                Saying::Record(record) => state.record(event.offset, record, coordinator, strictness),
            }
        }
        state.others.retain(|_, keys| !keys.is_empty());
        state
    }

    fn record(&mut self, at: i64, record: &ToldRecord, coordinator: Coordinator, strictness: Strictness) {
        let ToldRecord { number, key, group, value, .. } = record;
        let value = match value {
            Ok(value) => value.clone(),
            Err(()) => {
                self.lost.insert(group.clone());
                return;
            }
        };
        if *number <= 1 {
            let key = (group.clone(), text(key, &["topic"]), key["partition"].as_i64().unwrap());
            return self.offset(key, value.map(|value| (at, value)), record.producer, coordinator);
        }
        if strictness == Strictness::ByTheRules {
            self.obey(group, *number, key, value.as_ref());
        }
        let key = (*number, key.to_string());
        let group = self.others.entry(group.clone()).or_default();
        match value {
            Some(value) => group.insert(key, (at, value)),
            None => group.remove(&key),
        };
    }

    fn offset(&mut self, key: OffsetKey, commit: Option<Commit>, (producer, epoch): (i64, i16), whose: Coordinator) {
        match (commit, producer, whose) {
            (Some(commit), -1, _) => {
                self.offsets.insert(key, commit);
            }
            (Some(commit), ..) => {
                let (last_epoch, commits) = self.pending.entry(producer).or_default();
                *last_epoch = epoch;
                commits.insert(key, commit);
            }
            (None, _, Coordinator::New) => {
                self.offsets.remove(&key);
                self.pending.values_mut().for_each(|(_, commits)| drop(commits.remove(&key)));
            }
            (None, -1, Coordinator::Old) => {
                self.offsets.remove(&key);
            }
            (None, _, Coordinator::Old) => {
                if let Some((_, commits)) = self.pending.get_mut(&producer) {
                    commits.remove(&key);
                }
            }
        }
    }

    fn marker(&mut self, producer: i64, commit: bool) {
        let Some((_, commits)) = self.pending.remove(&producer) else { return };
        for (key, (at, value)) in commits.into_iter().filter(|_| commit) {
            if self.offsets.get(&key).is_none_or(|(stored, _)| at > *stored) {
                self.offsets.insert(key, (at, value));
            }
        }
    }

    /// The rules of groups that are more than offsets, as far as one record can break them.
    fn obey(&self, group: &str, number: i16, key: &Value, value: Option<&Value>) {
        let none = BTreeMap::new();
        let keys = self.others.get(group).unwrap_or(&none);
        let of_type = |wanted: i16| keys.iter().filter(move |((number, _), _)| *number == wanted);
        let of_member = |wanted: i16| keys.contains_key(&(wanted, key.to_string()));
        let kinds: BTreeSet<_> = keys.keys().map(|(number, _)| kind(*number)).collect();
        if value.is_some() {
            assert!(kinds.iter().all(|it| *it == kind(number)), "type {number} for group {group:?} of {kinds:?}");
            return;
        }
        let (target, current, group_epoch) = match kind(number) {
            "consumer" => (7, 8, 6),
            "share" => (13, 14, 12),
            "streams" => (21, 22, 20),
            _ => return,
        };
        match number {
            3 | 11 | 17 => {
                let member = if number == 3 { 5 } else { number - 1 + 3 * i16::from(number == 17) };
                assert_eq!(of_type(member).count(), 0, "group {group:?} goes with members");
                assert_eq!(of_type(target).count(), 0, "group {group:?} goes with targets");
                assert_eq!(of_type(group_epoch).count(), 0, "group {group:?} goes with an assignment epoch");
            }
            5 | 10 | 19 => {
                assert!(!of_member(current), "a member goes before its assignment");
                assert!(!of_member(target), "a member goes before its target");
            }
            6 | 12 | 20 => assert_eq!(of_type(target).count(), 0, "the assignment epoch goes before targets"),
            _ => {}
        }
    }

    /// Every group as `describe --format json` shows it, by name, without what other tests look at. `topics` names those
    /// whose id alone is in a record.
    pub fn groups(&self, retention: i64, topics: NameOf<'_>) -> BTreeMap<String, Value> {
        let mut names: BTreeSet<&String> = self.offsets.keys().map(|(group, ..)| group).collect();
        names.extend(self.pending.values().flat_map(|(_, commits)| commits.keys().map(|(group, ..)| group)));
        names.extend(self.others.keys());
        names.into_iter().map(|name| (name.clone(), self.group(name, topics, retention))).collect()
    }

    /// Names of topics by id, wherever both stand together.
    pub fn topic_names(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for ((_, topic, _), (_, commit)) in &self.offsets {
            if let Some(id) = commit.get("topicId").filter(|id| *id != ZERO_ID) {
                names.entry(id.as_str().unwrap().to_owned()).or_default().insert(topic.clone());
            }
        }
        for (_, value) in self.others.values().flat_map(BTreeMap::values) {
            let lists = ["topics", "initializingTopics", "initializedTopics", "deletingTopics"];
            let named = lists.iter().filter_map(|list| value.get(list)?.as_array()).flatten();
            for topic in named.filter(|topic| topic.get("topicName").is_some() && topic["topicId"] != ZERO_ID) {
                let id = topic["topicId"].as_str().unwrap().to_owned();
                names.entry(id).or_default().insert(text(topic, &["topicName"]));
            }
        }
        names
    }

    fn group(&self, name: &str, topics: NameOf<'_>, retention: i64) -> Value {
        let none = BTreeMap::new();
        let records: Vec<Record<'_>> = (self.others.get(name).unwrap_or(&none).iter())
            .map(|((number, key), (at, value))| Record {
                number: *number,
                key: serde_json::from_str(key).unwrap(),
                at: *at,
                value,
            })
            .collect();
        let latest = records.iter().max_by_key(|record| record.at);
        let kind = latest.map_or("classic", |record| kind(record.number));
        let records: Vec<_> = records.iter().filter(|record| self::kind(record.number) == kind).collect();
        let mut group = json!({ "partition": null, "group": name, "type": kind });
        match kind {
            "classic" => classic(&mut group, records.first().map(|record| (record.at, record.value))),
            _ => modern(&mut group, kind, &records, topics),
        }
        group["uncertain"] = json!(self.lost.contains(name));
        self.offsets_of(name, &mut group, &records, retention);
        group
    }

    fn offsets_of(&self, name: &str, group: &mut Value, records: &[&Record<'_>], retention: i64) {
        let mut keys: BTreeSet<&OffsetKey> = self.offsets.keys().filter(|(group, ..)| group == name).collect();
        keys.extend(self.pending.values().flat_map(|(_, commits)| commits.keys().filter(|(group, ..)| group == name)));
        let mut offsets = Vec::new();
        let mut last_commit = None;
        for key in keys {
            let committed = self.offsets.get(key);
            let field = |name: &str, absent: Value| match committed {
                Some((_, commit)) => commit.get(name).cloned().unwrap_or(absent),
                None => Value::Null,
            };
            let mut waiting: Vec<_> = (self.pending.iter())
                .filter_map(|(producer, (epoch, commits))| Some((producer, epoch, commits.get(key)?)))
                .collect();
            waiting.sort_by_key(|(.., (at, _))| *at);
            let pending = waiting.iter().map(|(producer, epoch, (at, commit))| {
                json!({
                    "producerId": producer, "producerEpoch": epoch, "logOffset": at, "offset": commit["offset"],
                    "leaderEpoch": commit.get("leaderEpoch").cloned().unwrap_or(json!(-1)),
                    "metadata": commit["metadata"], "commitTimestamp": commit["commitTimestamp"],
                })
            });
            let expire = field("expireTimestamp", Value::Null);
            let id = field("topicId", Value::Null);
            let mut offset = json!({
                "topic": key.1, "partition": key.2,
                "offset": field("offset", Value::Null), "leaderEpoch": field("leaderEpoch", json!(-1)),
                "metadata": field("metadata", Value::Null), "commitTimestamp": field("commitTimestamp", Value::Null),
                "expireTimestamp": if expire == -1 { Value::Null } else { expire },
                "topicId": if id == ZERO_ID { Value::Null } else { id },
                "logOffset": committed.map(|(at, _)| at), "pending": pending.collect::<Value>(),
            });
            if let Some((_, commit)) = committed {
                last_commit = last_commit.max(commit["commitTimestamp"].as_i64());
                let (at, rule) = expiry(group, records, &offset, retention);
                offset["expiresAt"] = json!(at);
                offset["expiryRule"] = json!(rule);
            }
            offsets.push(offset);
        }
        group["lastCommitTimestamp"] = json!(last_commit);
        group["offsets"] = json!(offsets);
    }
}

/// A record other than a commit.
struct Record<'n> {
    number: i16,
    key: Value,
    at: i64,
    value: &'n Value,
}

const ZERO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

fn kind(number: i16) -> &'static str {
    match number {
        2 => "classic",
        3..=8 | 16 => "consumer",
        9..=15 => "share",
        17..=24 => "streams",
        other => panic!("type {other} belongs to no group"),
    }
}

fn key_json(key: &Key<'_>) -> Value {
    let mut json = Json::new(Style::Lossless);
    key.json(&mut json);
    serde_json::from_slice(json.bytes()).unwrap()
}

fn value_json(record_type: RecordType, bytes: &[u8]) -> Option<Value> {
    let mut json = Json::new(Style::Lossless);
    record_type.transcode_value(bytes, &mut json).ok()?;
    Some(serde_json::from_slice(json.bytes()).unwrap())
}

fn text(object: &Value, names: &[&str]) -> String {
    let found = names.iter().find_map(|name| object.get(name)).unwrap_or_else(|| panic!("{object} has no {names:?}"));
    found.as_str().unwrap().to_owned()
}

/// None, null and -1 are all none.
fn unless_minus_one(value: Option<&Value>) -> Value {
    value.filter(|value| **value != -1).cloned().unwrap_or(Value::Null)
}

fn classic(group: &mut Value, record: Option<(i64, &Value)>) {
    group["simple"] = json!(record.is_none());
    let Some((at, value)) = record else {
        group["protocolType"] = json!("");
        for name in ["protocol", "generation", "leader", "stateTimestamp"] {
            group[name] = Value::Null;
        }
        group["state"] = json!("Empty");
        group["members"] = json!([]);
        return;
    };
    for name in ["protocolType", "protocol", "generation", "leader"] {
        group[name] = value[name].clone();
    }
    group["stateTimestamp"] = unless_minus_one(value.get("currentStateTimestamp"));
    let mut members: Vec<_> = value["members"].as_array().unwrap().iter().collect();
    members.sort_by_key(|member| member["memberId"].as_str().unwrap());
    group["state"] = json!(if members.is_empty() { "Empty" } else { "Stable" });
    let is_consumer = value["protocolType"] == "consumer";
    group["members"] = members
        .into_iter()
        .map(|member| {
            let session = &member["sessionTimeout"];
            let rebalance = member.get("rebalanceTimeout").filter(|timeout| **timeout != -1).unwrap_or(session);
            let subscription = blob(&member["subscription"]);
            let assignment = blob(&member["assignment"]);
            let (topics, rack) = match subscription.is_empty() || !is_consumer {
                true => (Value::Null, Value::Null),
                false => subscribed(&subscription),
            };
            json!({
                "memberId": member["memberId"],
                "instanceId": member.get("groupInstanceId").cloned().unwrap_or(Value::Null),
                "clientId": member["clientId"], "clientHost": member["clientHost"],
                "rackId": rack, "subscribedTopics": topics,
                "assignment": if assignment.is_empty() || !is_consumer { json!([]) } else { assigned(&assignment) },
                "rebalanceTimeoutMs": rebalance, "sessionTimeoutMs": session, "logOffset": at,
            })
        })
        .collect();
}

fn blob(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

/// A reader of the consumer protocol's payloads: big-endian numbers, counted strings and lists.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take(&mut self, n: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }
    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take(2).try_into().unwrap())
    }
    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }
    fn string(&mut self) -> Option<String> {
        let len = usize::try_from(self.i16()).ok()?;
        Some(String::from_utf8(self.take(len).to_vec()).unwrap())
    }
    fn blob(&mut self) {
        let len = self.i32().max(0) as usize;
        self.take(len);
    }
    fn topics(&mut self) -> BTreeMap<String, Vec<i32>> {
        let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for _ in 0..self.i32() {
            let topic = self.string().unwrap();
            let count = self.i32();
            let partitions: Vec<_> = (0..count).map(|_| self.i32()).collect();
            topics.entry(topic).or_default().extend(partitions);
        }
        topics.values_mut().for_each(|partitions| partitions.sort_unstable());
        topics
    }
}

/// Topics and rack.
fn subscribed(bytes: &[u8]) -> (Value, Value) {
    let mut bytes = Bytes(bytes);
    let version = bytes.i16();
    let count = bytes.i32();
    let topics: Vec<_> = (0..count).map(|_| bytes.string().unwrap()).collect();
    bytes.blob();
    if version >= 1 {
        bytes.topics();
    }
    if version >= 2 {
        bytes.i32();
    }
    (json!(topics), if version >= 3 { json!(bytes.string()) } else { Value::Null })
}

fn assigned(bytes: &[u8]) -> Value {
    let mut bytes = Bytes(bytes);
    bytes.i16();
    let topics = bytes.topics();
    topics
        .into_iter()
        .map(|(topic, partitions)| json!({ "topic": topic, "topicId": null, "partitions": partitions }))
        .collect()
}

fn modern(group: &mut Value, kind: &str, records: &[&Record<'_>], topics: NameOf<'_>) {
    let (epoch_type, assignment_type) = match kind {
        "consumer" => (3, 6),
        "share" => (11, 12),
        _ => (17, 20),
    };
    let of_type = |number: i16| records.iter().filter(move |record| record.number == number);
    let one = |number: i16, field: &str| of_type(number).next().map_or(Value::Null, |it| it.value[field].clone());
    group["protocolType"] = json!(kind);
    // 1 is where a group begins, before its first record (seen with 4.4).
    let or_first = |epoch: Value| if epoch.is_null() { json!(1) } else { epoch };
    group["groupEpoch"] = or_first(one(epoch_type, "epoch"));
    group["assignmentEpoch"] = or_first(one(assignment_type, "assignmentEpoch"));
    if kind == "streams" {
        // Development builds numbered the topology 18.
        let topology = of_type(18).chain(of_type(23)).filter(|it| it.value.get("subtopologies").is_some());
        group["topologyEpoch"] =
            topology.max_by_key(|it| it.number).map_or(Value::Null, |it| it.value["epoch"].clone());
    }
    let ids: BTreeSet<_> = records.iter().filter_map(|it| it.key.get("memberId")?.as_str()).collect();
    let members: Vec<_> = ids.into_iter().map(|id| member(kind, id, records, topics)).collect();
    group["members"] = json!(members);
    let mut regexes: Vec<_> = of_type(16).collect();
    regexes.sort_by_key(|it| it.at);
    let regexes: Vec<_> = regexes
        .into_iter()
        .map(|it| {
            json!({
                "expression": it.key["regularExpression"], "topics": it.value["topics"],
                "timestamp": it.value["timestamp"],
            })
        })
        .collect();
    if !regexes.is_empty() {
        group["regularExpressions"] = json!(regexes);
    }
    let mut share = Vec::new();
    for it in of_type(15) {
        for (list, state) in [
            ("initializingTopics", "initializing"),
            ("initializedTopics", "initialized"),
            ("deletingTopics", "deleting"),
        ] {
            for topic in it.value.get(list).and_then(Value::as_array).into_iter().flatten() {
                let partitions = topic.get("partitions").map_or(json!([]), in_order);
                share.push(json!({
                    "topic": topic["topicName"], "topicId": topic["topicId"], "partitions": partitions, "state": state,
                }));
            }
        }
    }
    if !share.is_empty() {
        group["sharePartitions"] = json!(share);
    }
    group["state"] = json!(state(kind, group, of_type(17).next().map(|it| it.value)));
}

fn state(kind: &str, group: &Value, streams: Option<&Value>) -> &'static str {
    let members = group["members"].as_array().unwrap();
    let number = |name: &str| group[name].as_i64().unwrap();
    if members.is_empty() {
        return "Empty";
    }
    if kind == "share" {
        return "Stable";
    }
    if kind == "streams" {
        let Some(topology) = group["topologyEpoch"].as_i64() else { return "NotReady" };
        // Releases that keep the checked epoch in the record write the configs, too.
        let checked = streams.and_then(|it| it.get("validatedTopologyEpoch")?.as_i64());
        let told = checked.is_some_and(|it| it != -1)
            || streams.is_some_and(|it| it.get("lastAssignmentConfigs").is_some_and(|it| !it.is_null()));
        if told && checked.unwrap_or(-1) != topology {
            return "NotReady";
        }
    }
    if number("groupEpoch") > number("assignmentEpoch") {
        return "Assigning";
    }
    let there = |member: &Value| {
        member["state"] == "STABLE" && member["memberEpoch"].as_i64() == Some(number("assignmentEpoch"))
    };
    if members.iter().all(there) { "Stable" } else { "Reconciling" }
}

fn in_order(partitions: &Value) -> Value {
    let mut all: Vec<_> = partitions.as_array().unwrap().iter().map(|it| it.as_i64().unwrap()).collect();
    all.sort_unstable();
    json!(all)
}

/// Topics by id, with the names that are known.
fn by_id(list: &Value, topics: NameOf<'_>) -> Value {
    let mut all: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|topic| {
            let id = topic["topicId"].as_str().unwrap();
            let name = topics(id);
            (name, URL_SAFE_NO_PAD.decode(id).unwrap(), in_order(&topic["partitions"]))
        })
        .collect();
    all.sort_by_key(|(name, id, partitions)| (name.clone(), id.clone(), numbers(partitions)));
    all.into_iter()
        .map(|(name, id, partitions)| {
            json!({ "topic": name, "topicId": URL_SAFE_NO_PAD.encode(id), "partitions": partitions })
        })
        .collect()
}

/// Lists of topics by id as one, every id once.
fn together(lists: &[&Value]) -> Value {
    let mut all: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for topic in lists.iter().flat_map(|list| list.as_array().unwrap()) {
        all.entry(topic["topicId"].as_str().unwrap()).or_default().extend(numbers(&topic["partitions"]));
    }
    all.into_iter().map(|(id, partitions)| json!({ "topicId": id, "partitions": partitions })).collect()
}

fn numbers(partitions: &Value) -> Vec<i64> {
    partitions.as_array().unwrap().iter().map(|it| it.as_i64().unwrap()).collect()
}

fn tasks(value: &Value, suffix: &str) -> Value {
    let mut object = Map::new();
    for kind in ["active", "standby", "warmup"] {
        let mut all: Vec<_> = value[format!("{kind}Tasks{suffix}")]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["subtopologyId"].as_str().unwrap().to_owned(), in_order(&it["partitions"])))
            .collect();
        all.sort_by_key(|(id, partitions)| (id.clone(), numbers(partitions)));
        let all = all.into_iter().map(|(id, partitions)| json!({ "subtopologyId": id, "partitions": partitions }));
        object.insert(kind.to_owned(), all.collect());
    }
    Value::Object(object)
}

fn member(kind: &str, id: &str, records: &[&Record<'_>], topics: NameOf<'_>) -> Value {
    let mine: Vec<_> = records.iter().filter(|it| it.key.get("memberId").is_some_and(|it| it == id)).collect();
    let of = |numbers: [i16; 3]| mine.iter().find(|it| numbers.contains(&it.number)).map(|it| it.value);
    let (metadata, target, current) = (of([5, 10, 19]), of([7, 13, 21]), of([8, 14, 22]));
    let get = |field: &str| metadata.and_then(|it| it.get(field)).cloned().unwrap_or(Value::Null);
    let text = |field: &str| metadata.map_or(json!(""), |it| it[field].clone());
    let empty = if kind == "streams" { json!({ "active": [], "standby": [], "warmup": [] }) } else { json!([]) };
    let of_value = |it: &Value| if kind == "streams" { tasks(it, "") } else { by_id(&it["topicPartitions"], topics) };
    let mut member = json!({
        "memberId": id, "instanceId": get("instanceId"), "clientId": text("clientId"), "clientHost": text("clientHost"),
        "rackId": get("rackId"), "subscribedTopics": get("subscribedTopicNames"),
        "memberEpoch": current.map_or(Value::Null, |it| it["memberEpoch"].clone()),
        "previousMemberEpoch": current.map_or(Value::Null, |it| it["previousMemberEpoch"].clone()),
        "state": current.map_or(Value::Null, |it| json!(member_state(kind, it))),
        "target": target.map_or(empty, of_value),
        "rebalanceTimeoutMs": get("rebalanceTimeoutMs"), "sessionTimeoutMs": null,
        "logOffset": mine.iter().map(|it| it.at).max(),
    });
    member["assignment"] = match (kind, current) {
        (_, None) => json!([]),
        ("streams", Some(it)) => tasks(it, ""),
        // Until it has given them up, a member of a consumer group has these too.
        ("consumer", Some(it)) if it.get("targetMemberEpoch").is_none() => {
            by_id(&together(&[&it["assignedPartitions"], &it["partitionsPendingRevocation"]]), topics)
        }
        (_, Some(it)) => by_id(&it["assignedPartitions"], topics),
    };
    if let Some(current) = current {
        match kind {
            "streams" => member["pendingRevocation"] = tasks(current, "PendingRevocation"),
            "consumer" => {
                let revoking = &current["partitionsPendingRevocation"];
                let today = current.get("targetMemberEpoch").is_none();
                member["pendingRevocation"] =
                    by_id(&if today { together(&[revoking]) } else { revoking.clone() }, topics);
            }
            _ => {}
        }
    }
    if kind == "consumer" {
        let expression = get("subscribedTopicRegex");
        member["subscribedTopicRegex"] = if expression == "" { Value::Null } else { expression };
        member["serverAssignor"] = get("serverAssignor");
        // Kafka's JSON leaves out what is at its default, and that is not null here: it is a struct of defaults.
        let classic = metadata.map_or(Value::Null, |it| match it.get("classicMemberMetadata") {
            Some(classic) => classic.clone(),
            // 3.7 had assignors in its place.
            None if it.get("assignors").is_some() => Value::Null,
            None => json!({ "sessionTimeoutMs": 0, "supportedProtocols": [] }),
        });
        member["upgraded"] = metadata.map_or(Value::Null, |_| json!(classic.is_null()));
        if let Some(session) = classic.get("sessionTimeoutMs") {
            member["sessionTimeoutMs"] = session.clone();
        }
    }
    if kind == "streams" {
        let tags = get("clientTags");
        let tags = tags.as_array().into_iter().flatten();
        let mut tags: Vec<_> = tags
            .map(|tag| (tag["key"].as_str().unwrap().to_owned(), tag["value"].as_str().unwrap().to_owned()))
            .collect();
        tags.sort();
        let tags: Map<_, _> = tags.into_iter().map(|(key, value)| (key, json!(value))).collect();
        member["topologyEpoch"] = get("topologyEpoch");
        member["processId"] = get("processId");
        let endpoint = get("userEndpoint");
        member["userEndpoint"] = match endpoint.is_null() {
            true => Value::Null,
            false => json!({ "host": endpoint["host"], "port": endpoint["port"] }),
        };
        member["clientTags"] = Value::Object(tags);
    }
    member
}

fn member_state(kind: &str, current: &Value) -> String {
    if let Some(target) = current.get("targetMemberEpoch") {
        let waits = |list: &str| !current[list].as_array().unwrap().is_empty();
        let stable = *target == current["memberEpoch"]
            && !waits("partitionsPendingRevocation")
            && !waits("partitionsPendingAssignment");
        return if stable { "STABLE" } else { "UNKNOWN" }.to_owned();
    }
    let names: &[(i64, &str)] = match kind {
        "streams" => &[(1, "STABLE"), (2, "UNREVOKED_TASKS"), (3, "UNRELEASED_TASKS"), (127, "UNKNOWN")],
        _ => &[(0, "STABLE"), (1, "UNREVOKED_PARTITIONS"), (2, "UNRELEASED_PARTITIONS"), (127, "UNKNOWN")],
    };
    let number = current["state"].as_i64().unwrap();
    let found = names.iter().find(|(it, _)| *it == number);
    found.map_or_else(|| format!("UNKNOWN({number})"), |(_, name)| (*name).to_owned())
}

/// When, and by which rule.
fn expiry(group: &Value, records: &[&Record<'_>], offset: &Value, retention: i64) -> (Option<i64>, &'static str) {
    if offset["pending"] != json!([]) {
        return (None, "pending");
    }
    let classic = group["type"] == "classic";
    let commit = offset["commitTimestamp"].as_i64().unwrap();
    let empty = group["state"] == "Empty";
    let (base, rule) = if classic && group["protocolType"] == "" {
        (commit, "simple")
    } else if classic && empty {
        match group["stateTimestamp"].as_i64() {
            Some(since) => (since, "empty-since"),
            None => (commit, "empty-commit"),
        }
    } else if classic && group["protocolType"] != "consumer" {
        return (None, "other-protocol");
    } else {
        let mut topics = BTreeSet::new();
        let streams = group["type"] == "streams" && !empty;
        if streams {
            let topology = records.iter().filter(|it| it.value.get("subtopologies").is_some());
            let Some(topology) = topology.max_by_key(|it| it.number) else { return (None, "unknown-subscription") };
            for part in topology.value["subtopologies"].as_array().unwrap() {
                topics.extend(part["sourceTopics"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
                let repartition = part["repartitionSourceTopics"].as_array().unwrap().iter();
                topics.extend(repartition.map(|it| it["name"].as_str().unwrap()));
            }
        }
        for member in group["members"].as_array().unwrap().iter().filter(|_| !streams) {
            let Some(names) = member["subscribedTopics"].as_array() else {
                return (None, "unknown-subscription");
            };
            topics.extend(names.iter().map(|it| it.as_str().unwrap()));
            for it in records.iter().filter(|it| it.number == 16) {
                if it.key["regularExpression"] == member["subscribedTopicRegex"] {
                    topics.extend(it.value["topics"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
                }
            }
        }
        if topics.contains(offset["topic"].as_str().unwrap()) {
            return (None, "subscribed");
        }
        (commit, "unsubscribed")
    };
    match offset["expireTimestamp"].as_i64() {
        Some(at) => (Some(at), "explicit"),
        None => (Some(base.saturating_add(retention)), rule),
    }
}
