//! A group as JSON; the contract is in README.md.
//!
//! Must not know: which groups are shown.

use super::name::lossless;
use crate::model::expiry::Expiries;
use crate::model::view::{Assignment, Commit, Group, GroupType, Member, Offset, Tasks, TopicPartitions};
use crate::schema::wire::Uuid;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// A group of a partition; with a retention in milliseconds, also when its offsets expire.
pub fn group(partition: Option<i32>, group: &Group, retention: Option<i64>) -> Value {
    let mut object = head(partition, group);
    object.insert("members".to_owned(), group.members.iter().map(|it| member(group.kind, it)).collect());
    let expiries = retention.map(|retention| Expiries::of(group, retention));
    let offsets = group.offsets.iter().map(|it| offset(it, expiries.as_ref()));
    object.insert("offsets".to_owned(), offsets.collect());
    if !group.regexes.is_empty() {
        let regexes = group.regexes.iter().map(|regex| {
            json!({
                "expression": text(&regex.expression),
                "topics": texts(&regex.topics),
                "timestamp": regex.timestamp,
            })
        });
        object.insert("regularExpressions".to_owned(), regexes.collect());
    }
    if !group.share_topics.is_empty() {
        let topics = group.share_topics.iter().map(|share| {
            let mut topic = topic_json(&share.topic);
            topic["state"] = json!(share.state);
            topic
        });
        object.insert("sharePartitions".to_owned(), topics.collect());
    }
    if !group.oddities.is_empty() {
        object.insert("oddities".to_owned(), json!(group.oddities));
    }
    Value::Object(object)
}

fn head(partition: Option<i32>, group: &Group) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("partition", json!(partition));
    put("group", text(&group.name));
    put("type", json!(group.kind.name()));
    put("state", json!(group.state.name()));
    put("protocolType", text(&group.protocol_type));
    if group.kind == GroupType::Classic {
        put("protocol", maybe(group.protocol.as_deref()));
        put("generation", json!(group.generation));
        put("leader", maybe(group.leader.as_deref()));
        put("stateTimestamp", json!(group.state_timestamp));
        put("simple", json!(group.simple));
    } else {
        put("groupEpoch", json!(group.group_epoch));
        put("assignmentEpoch", json!(group.assignment_epoch));
        if group.kind == GroupType::Streams {
            put("topologyEpoch", json!(group.topology_epoch));
        }
    }
    put("lastCommitTimestamp", json!(group.last_commit()));
    put("uncertain", json!(group.uncertain));
    object
}

fn member(kind: GroupType, member: &Member) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("memberId", text(&member.id));
    put("instanceId", maybe(member.instance_id.as_deref()));
    put("clientId", text(&member.client_id));
    put("clientHost", text(&member.client_host));
    put("rackId", maybe(member.rack_id.as_deref()));
    put("subscribedTopics", member.subscribed_topics.as_deref().map_or(Value::Null, texts));
    if kind != GroupType::Classic {
        put("memberEpoch", json!(member.epoch));
        put("previousMemberEpoch", json!(member.previous_epoch));
        put("state", json!(member.state));
    }
    put("assignment", assignment(&member.assignment));
    if kind != GroupType::Classic {
        put("target", member.target.as_ref().map_or_else(|| empty_like(kind), assignment));
    }
    if let Some(revoking) = &member.pending_revocation {
        put("pendingRevocation", assignment(revoking));
    }
    if kind == GroupType::Consumer {
        put("subscribedTopicRegex", maybe(member.subscribed_regex.as_deref()));
        put("serverAssignor", maybe(member.server_assignor.as_deref()));
        put("upgraded", json!(member.upgraded));
    }
    if kind == GroupType::Streams {
        put("topologyEpoch", json!(member.topology_epoch));
        put("processId", maybe(member.process_id.as_deref()));
        let endpoint = member.user_endpoint.as_ref().map(|(host, port)| json!({ "host": text(host), "port": port }));
        put("userEndpoint", endpoint.unwrap_or(Value::Null));
        put("clientTags", member.client_tags.iter().map(|(key, value)| (lossless(key), text(value))).collect());
    }
    put("rebalanceTimeoutMs", json!(member.rebalance_timeout_ms));
    put("sessionTimeoutMs", json!(member.session_timeout_ms));
    if let Some((subscription, assignment)) = &member.payloads {
        let parse = |payload: &String| serde_json::from_str(payload).unwrap_or(Value::Null);
        put("embedded", json!({ "subscription": parse(subscription), "assignment": parse(assignment) }));
    }
    put("logOffset", json!(member.log_offset));
    Value::Object(object)
}

fn empty_like(kind: GroupType) -> Value {
    match kind {
        GroupType::Streams => json!({ "active": [], "standby": [], "warmup": [] }),
        _ => json!([]),
    }
}

/// Partitions of topics, or tasks; empty where it is something else, which `embedded` shows.
pub fn assignment(it: &Assignment) -> Value {
    match it {
        Assignment::Topics(topics) => topics.iter().map(topic_json).collect(),
        Assignment::Tasks { active, standby, warmup } => {
            json!({ "active": tasks(active), "standby": tasks(standby), "warmup": tasks(warmup) })
        }
        Assignment::Opaque => json!([]),
    }
}

fn tasks(tasks: &[Tasks]) -> Value {
    let each = |it: &Tasks| json!({ "subtopologyId": text(&it.subtopology_id), "partitions": it.partitions });
    tasks.iter().map(each).collect()
}

fn topic_json(topic: &TopicPartitions) -> Value {
    json!({
        "topic": maybe(topic.topic.as_deref()),
        "topicId": topic.topic_id.map(uuid),
        "partitions": topic.partitions,
    })
}

fn offset(offset: &Offset, expiries: Option<&Expiries<'_>>) -> Value {
    let pending = offset.pending.iter().map(|pending| {
        json!({
            "producerId": pending.producer_id,
            "producerEpoch": pending.producer_epoch,
            "offset": pending.commit.offset,
            "leaderEpoch": pending.commit.leader_epoch,
            "metadata": text(&pending.commit.metadata),
            "commitTimestamp": pending.commit.commit_timestamp,
            "logOffset": pending.commit.log_offset,
        })
    });
    let commit = offset.committed.as_ref();
    let of = |get: fn(&Commit) -> Value| commit.map_or(Value::Null, get);
    let mut object = json!({
        "topic": text(&offset.topic),
        "partition": offset.partition,
        "offset": of(|it| json!(it.offset)),
        "leaderEpoch": of(|it| json!(it.leader_epoch)),
        "metadata": of(|it| text(&it.metadata)),
        "commitTimestamp": of(|it| json!(it.commit_timestamp)),
        "expireTimestamp": of(|it| json!(it.expire_timestamp)),
        "topicId": of(|it| json!(it.topic_id.map(uuid))),
        "logOffset": of(|it| json!(it.log_offset)),
        "pending": pending.collect::<Value>(),
    });
    if let Some(expiry) = expiries.and_then(|it| it.expiry(offset)) {
        object["expiresAt"] = json!(expiry.at);
        object["expiryRule"] = json!(expiry.rule.code());
    }
    object
}

/// A topic id as Kafka prints it.
pub fn uuid(id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id.0)
}

/// Text, with `\xNN` for bytes that are not UTF-8.
pub fn text(bytes: &[u8]) -> Value {
    Value::String(lossless(bytes))
}

fn texts(all: &[Vec<u8>]) -> Value {
    all.iter().map(|it| text(it)).collect()
}

fn maybe(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, text)
}
