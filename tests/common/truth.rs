//! What Truth.java asked of a broker (tests/broker/Truth.java, `kafka truth`), as facts.
//!
//! Where the broker or its client refused an answer, the facts that it would have given are left out.

use super::facts::{
    Facts, Fields, GroupFacts, array, leader_epoch, partitions, put, tags, tasks, text, topic_partition,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// All groups of a truth.
pub fn facts(truth: &Value) -> Facts {
    let groups = truth["groups"].as_object().expect("groups by id");
    // A listing that failed in part says so under the empty id, beside the groups.
    let groups = groups.iter().filter(|(_, group)| group.get("type").is_some());
    groups.map(|(id, group)| (id.clone(), of_group(group))).collect()
}

/// Lines of `name,id,partitions`, for `--topics`.
pub fn topics(truth: &Value) -> String {
    let topics = truth["topics"].as_object().into_iter().flatten();
    topics.map(|(name, topic)| format!("{name},{},{}\n", text(&topic["id"]), topic["partitions"])).collect()
}

fn of_group(group: &Value) -> GroupFacts {
    let kind = text(&group["type"]).to_lowercase();
    let mut fields = Fields::new();
    put(&mut fields, "protocolType", &group["protocolType"]);
    put(&mut fields, "state", &group["state"]);
    let description = Some(&group["description"]).filter(|it| it.is_object() && it.get("error").is_none());
    if let Some(description) = description {
        for (name, ours) in [
            ("assignor", "assignor"),
            ("groupEpoch", "groupEpoch"),
            ("targetAssignmentEpoch", "assignmentEpoch"),
            ("topologyEpoch", "topologyEpoch"),
        ] {
            if description.get(name).is_some() {
                put(&mut fields, ours, &description[name]);
            }
        }
    }
    let members = description.map(|it| array(&it["members"]).map(|it| (text(&it["memberId"]), of_member(&kind, it))));
    let members = members.map(Iterator::collect);
    let mut offsets = None;
    match &group["offsets"] {
        Value::Array(all) => offsets = Some(all.iter().map(|it| (topic_partition(it), of_offset(it))).collect()),
        Value::Object(shares) if kind == "share" && !shares.contains_key("error") => {
            fields.insert("sharePartitions".to_owned(), share_partitions(shares.keys()));
        }
        _ => {}
    }
    fields.insert("type".to_owned(), kind);
    GroupFacts { absent: false, fields, members, offsets }
}

/// `orders-0`, `orders-1` by topic.
fn share_partitions<'k>(keys: impl Iterator<Item = &'k String>) -> String {
    let mut topics: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (topic, partition) in keys.filter_map(|key| key.rsplit_once('-')) {
        topics.entry(topic.to_owned()).or_default().extend(partition.parse::<i64>());
    }
    let topics: Vec<_> = topics.into_iter().map(|(topic, numbers)| (topic, Value::from(numbers))).collect();
    partitions(topics.iter().map(|(topic, numbers)| (topic.clone(), numbers)))
}

fn of_member(kind: &str, member: &Value) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "clientId", &member["clientId"]);
    put(&mut fields, "host", &member["host"]);
    if kind != "share" {
        put(&mut fields, "instanceId", &member["instanceId"]);
    }
    // A classic group's members are described without these, whatever they have.
    if kind != "classic" {
        put(&mut fields, "rackId", &member["rackId"]);
        put(&mut fields, "memberEpoch", &member["memberEpoch"]);
    }
    if kind == "consumer" {
        put(&mut fields, "upgraded", &member["upgraded"]);
    }
    if kind == "streams" {
        for name in ["topologyEpoch", "processId", "userEndpoint"] {
            put(&mut fields, name, &member[name]);
        }
        fields.insert("clientTags".to_owned(), tags(&member["clientTags"]));
        for (name, ours) in [("assignment", "assignment"), ("targetAssignment", "target")] {
            fields.insert(ours.to_owned(), of_tasks(&member[name]));
        }
    } else {
        fields.insert("assignment".to_owned(), of_topics(&member["assignment"]));
        if kind == "consumer" {
            fields.insert("target".to_owned(), of_topics(&member["targetAssignment"]));
        }
    }
    fields
}

fn of_topics(assignment: &Value) -> String {
    partitions(assignment.as_object().into_iter().flatten().map(|(topic, numbers)| (topic.clone(), numbers)))
}

fn of_tasks(assignment: &Value) -> String {
    tasks(|kind| {
        let tasks = assignment[kind].as_object().into_iter().flatten();
        tasks.map(|(id, numbers)| (id.clone(), numbers.clone())).collect()
    })
}

fn of_offset(offset: &Value) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "offset", &offset["offset"]);
    put(&mut fields, "metadata", &offset["metadata"]);
    fields.insert("leaderEpoch".to_owned(), leader_epoch(&offset["leaderEpoch"]));
    fields
}
