//! The truth of the museum, as facts: what old brokers answered over the wire, and to their own Admin client.
//!
//! `groups` is DescribeGroups and OffsetFetch of the wire, which know classic groups alone: they call every other group
//! Dead. `admin` fills in the others, and the instance ids of classic members.

use super::facts::{
    Facts, Fields, GroupFacts, array, leader_epoch, partitions, put, tags, tasks, text, topic_partition,
};
use base64::Engine;
use serde_json::Value;
use std::collections::BTreeMap;

/// All groups of a truth, those that are not there included.
pub fn facts(truth: &Value) -> Facts {
    let groups = truth["groups"].as_array().expect("an array of groups");
    groups.iter().map(|group| (text(&group["groupId"]), of_group(group, &truth["admin"]))).collect()
}

/// Lines of `name,id`, for `--topics`.
pub fn topics(truth: &Value) -> String {
    let topics = truth["topicIds"].as_object().into_iter().flatten();
    topics.map(|(name, id)| format!("{name},{}\n", text(id))).collect()
}

/// Groups whose members went on committing after the question.
pub fn still_committing(truth: &Value) -> Vec<String> {
    array(&truth["askedWhileCommitting"]).map(text).collect()
}

fn of_group(group: &Value, admin: &Value) -> GroupFacts {
    let id = text(&group["groupId"]);
    let offsets: BTreeMap<_, _> = array(&group["offsets"]).map(|it| (topic_partition(it), of_offset(it))).collect();
    // Brokers up to 0.9 list no group without members, but answer its offsets.
    let absent = offsets.is_empty() && group["listed"] != true;
    let mut facts = GroupFacts { absent, offsets: Some(offsets), ..GroupFacts::default() };
    if group.get("state").is_some_and(|state| state != "Dead") {
        classic(&mut facts, group, &admin["describeConsumerGroups"][&id]);
    }
    if let Some(listed) = array(&admin["listGroups"]).find(|it| it["groupId"] == *id) {
        let kind = text(&listed["type"]).to_lowercase();
        put(&mut facts.fields, "state", &listed["groupState"]);
        put(&mut facts.fields, "protocolType", &listed["protocol"]);
        match kind.as_str() {
            "consumer" => modern(&mut facts, &kind, &admin["describeConsumerGroups"][&id]),
            "share" => modern(&mut facts, &kind, &admin["describeShareGroups"][&id]),
            "streams" => modern(&mut facts, &kind, &admin["describeStreamsGroups"][&id]),
            _ => {}
        }
        facts.fields.insert("type".to_owned(), kind);
    }
    facts
}

fn classic(facts: &mut GroupFacts, group: &Value, described: &Value) {
    facts.fields.insert("type".to_owned(), "classic".to_owned());
    put(&mut facts.fields, "state", &group["state"]);
    put(&mut facts.fields, "protocolType", &group["protocolType"]);
    put(&mut facts.fields, "assignor", &group["protocol"]);
    let members = array(&group["members"]).map(|member| {
        let id = text(&member["memberId"]);
        let described = array(&described["members"]).find(|it| it["consumerId"] == *id).unwrap_or(&Value::Null);
        (id, classic_member(member, &group["protocolType"], described))
    });
    facts.members = Some(members.collect());
}

fn classic_member(member: &Value, protocol_type: &Value, described: &Value) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "clientId", &member["clientId"]);
    put(&mut fields, "host", &member["clientHost"]);
    if described.get("groupInstanceId").is_some() {
        put(&mut fields, "instanceId", &described["groupInstanceId"]);
    }
    if protocol_type == "consumer" {
        let bytes = |name: &str| base64::engine::general_purpose::STANDARD.decode(text(&member[name])).expect("base64");
        let (subscription, assignment) = (bytes("subscription"), bytes("assignment"));
        // 2.3 gives the assignment in both places.
        let topics = if subscription == assignment { None } else { subscribed(&subscription) };
        for (name, topics) in [("subscribedTopics", topics), ("assignment", assigned(&assignment))] {
            if let Some(topics) = topics {
                fields.insert(name.to_owned(), topics);
            }
        }
    }
    fields
}

/// The topics of a consumer protocol subscription: a version, then counted names.
fn subscribed(bytes: &[u8]) -> Option<String> {
    let mut wire = Wire(bytes.get(2..)?);
    let count = wire.int32()?;
    let mut topics: Vec<_> = (0..count).map(|_| wire.string()).collect::<Option<_>>()?;
    topics.sort();
    Some(topics.join(" "))
}

/// The partitions of a consumer protocol assignment: a version, then counted topics with counted partitions.
fn assigned(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return Some(String::new());
    }
    let mut wire = Wire(bytes.get(2..)?);
    let mut topics = Vec::new();
    for _ in 0..wire.int32()? {
        let topic = wire.string()?;
        let count = wire.int32()?;
        topics.push((topic, Value::from((0..count).map(|_| wire.int32()).collect::<Option<Vec<_>>>()?)));
    }
    Some(partitions(topics.iter().map(|(topic, numbers)| (topic.clone(), numbers))))
}

/// Big-endian, what is left of it.
struct Wire<'b>(&'b [u8]);

impl Wire<'_> {
    fn int32(&mut self) -> Option<i32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*bytes))
    }

    fn string(&mut self) -> Option<String> {
        let (len, rest) = self.0.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_be_bytes(*len));
        self.0 = rest.get(len..)?;
        String::from_utf8(rest.get(..len)?.to_vec()).ok()
    }
}

fn modern(facts: &mut GroupFacts, kind: &str, described: &Value) {
    if described.get("members").is_none() {
        return;
    }
    for (name, ours) in [
        ("partitionAssignor", "assignor"),
        ("groupEpoch", "groupEpoch"),
        ("targetAssignmentEpoch", "assignmentEpoch"),
        ("topologyEpoch", "topologyEpoch"),
    ] {
        // Older clients do not have all of them, or leave them null.
        if described.get(name).is_some_and(|value| !value.is_null()) {
            put(&mut facts.fields, ours, &described[name]);
        }
    }
    let id = |member: &Value| text(member.get("consumerId").unwrap_or(&member["memberId"]));
    facts.members = Some(array(&described["members"]).map(|it| (id(it), modern_member(kind, it))).collect());
}

fn modern_member(kind: &str, member: &Value) -> Fields {
    let mut fields = Fields::new();
    for (name, ours) in [
        ("clientId", "clientId"),
        ("host", "host"),
        ("clientHost", "host"),
        ("groupInstanceId", "instanceId"),
        ("instanceId", "instanceId"),
        ("rackId", "rackId"),
        ("memberEpoch", "memberEpoch"),
        ("upgraded", "upgraded"),
        ("topologyEpoch", "topologyEpoch"),
        ("processId", "processId"),
    ] {
        if let Some(value) = member.get(name) {
            put(&mut fields, ours, value);
        }
    }
    for (name, ours) in [("assignment", "assignment"), ("targetAssignment", "target")] {
        if let Some(value) = member.get(name) {
            fields.insert(ours.to_owned(), if kind == "streams" { of_tasks(value) } else { of_topics(value) });
        }
    }
    if kind == "streams" {
        let endpoint = &member["userEndpoint"];
        let endpoint = endpoint.is_object().then(|| format!("{}:{}", text(&endpoint["host"]), endpoint["port"]));
        fields.insert("userEndpoint".to_owned(), endpoint.unwrap_or_default());
        fields.insert("clientTags".to_owned(), tags(&member["clientTags"]));
    }
    fields
}

/// `{"topicPartitions": ["orders-0", ...]}`.
fn of_topics(assignment: &Value) -> String {
    let mut topics: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for name in array(&assignment["topicPartitions"]).map(text) {
        let (topic, partition) = name.rsplit_once('-').expect("topic-partition");
        topics.entry(topic.to_owned()).or_default().push(partition.parse().expect("a partition"));
    }
    let topics: Vec<_> = topics.into_iter().map(|(topic, numbers)| (topic, Value::from(numbers))).collect();
    partitions(topics.iter().map(|(topic, numbers)| (topic.clone(), numbers)))
}

/// `{"activeTasks": [{"subtopologyId": "0", "partitions": [...]}], ...}`.
fn of_tasks(assignment: &Value) -> String {
    tasks(|kind| {
        let ids = array(&assignment[format!("{kind}Tasks")]);
        ids.map(|it| (text(&it["subtopologyId"]), it["partitions"].clone())).collect()
    })
}

/// OffsetFetch tells the leader epoch from version 5 on.
fn of_offset(offset: &Value) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "offset", &offset["offset"]);
    put(&mut fields, "metadata", &offset["metadata"]);
    if let Some(epoch) = offset.get("leaderEpoch") {
        fields.insert("leaderEpoch".to_owned(), leader_epoch(epoch));
    }
    fields
}
