//! Events as JSON: one object each, with a stable `event` and all the facts.
//!
//! Must not know: which events are shown.

use super::group_json::{assignment, text};
use crate::model::history::event::{
    CommitStep, Commits, Event, Facts, Flag, Forgotten, MemberStep, Piece, Role, Span, Storm, Turn, Unfinished, What,
};
use crate::model::view::{GroupType, Member};
use serde_json::{Map, Value, json};

/// The stable name of a kind of event.
pub fn name(what: &What) -> &'static str {
    match what {
        What::Turn(turn) => match (&turn.before, &turn.after) {
            (_, None) => "group-deleted",
            (Some(before), Some(after)) if before.kind != after.kind => "group-converted",
            (_, Some(after)) if after.kind == GroupType::Classic => "generation",
            (before, Some(after)) if before.as_ref().and_then(|it| it.group_epoch) != after.group_epoch => "epoch",
            _ => "members",
        },
        What::Storm(_) => "storm",
        What::Commits(_) => "commits",
        What::Commit(commits) => match commits.flag() {
            Flag::Rewind => "rewind",
            Flag::Jump => "jump",
            _ => "commit",
        },
        What::Transaction(it) if it.aborted => "transaction-aborted",
        What::Transaction(_) => "transaction-open",
        What::Forgotten(_) => "offsets-removed",
        What::Gap(_) => "gap",
        What::Damage(_) => "damage",
    }
}

/// An event of a group.
pub fn event(partition: Option<i32>, group: &[u8], event: &Event) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("partition", json!(partition));
    put("group", text(group));
    put("event", json!(name(&event.what)));
    put("offset", json!(event.offset));
    put("lastOffset", json!(event.last_offset));
    put("timestamp", json!(event.timestamp));
    put("lastTimestamp", json!(event.last_timestamp));
    let facts = match &event.what {
        What::Turn(turn) => of_turn(turn),
        What::Storm(storm) => of_storm(storm, event),
        What::Commits(span) => of_span(span),
        What::Commit(commits) => of_commits(commits),
        What::Transaction(unfinished) => of_unfinished(unfinished),
        What::Forgotten(forgotten) => of_forgotten(forgotten),
        What::Gap(gap) => json!({ "begins": gap.begins, "missing": gap.missing, "completeFrom": gap.before }),
        What::Damage(damage) => json!({
            "code": damage.fault.code(),
            "message": damage.fault.to_string(),
            "segment": damage.segment,
            "position": damage.position,
            "more": damage.more,
            "ofThisGroup": damage.own,
        }),
    };
    if let Value::Object(facts) = facts {
        object.extend(facts);
    }
    Value::Object(object)
}

fn maybe(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, text)
}

fn facts(facts: Option<&Facts>) -> Value {
    let Some(it) = facts else { return Value::Null };
    let mut object = json!({
        "type": it.kind.name(),
        "state": it.state.name(),
        "members": it.members,
    });
    let Some(map) = object.as_object_mut() else { return object };
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    if it.kind == GroupType::Classic {
        put("generation", json!(it.generation));
        put("protocolType", text(&it.protocol_type));
        put("protocol", maybe(it.protocol.as_deref()));
        put("leader", maybe(it.leader.as_deref()));
    } else {
        put("groupEpoch", json!(it.group_epoch));
        put("assignmentEpoch", json!(it.assignment_epoch));
        put("metadataHash", json!(it.metadata_hash));
    }
    if it.kind == GroupType::Streams {
        put("topologyEpoch", json!(it.topology_epoch));
    }
    object
}

fn of_turn(turn: &Turn) -> Value {
    let mut object = json!({
        "before": facts(turn.before.as_ref()),
        "after": facts(turn.after.as_ref()),
        "members": turn.members.iter().map(member).collect::<Value>(),
        "unchangedMembers": turn.unchanged,
    });
    if !turn.regexes.is_empty() {
        let each = |(expression, topics): &(Vec<u8>, Option<Vec<Vec<u8>>>)| {
            let topics = topics.as_ref().map(|topics| topics.iter().map(|it| text(it)).collect::<Value>());
            json!({ "expression": text(expression), "topics": topics })
        };
        object["regularExpressions"] = turn.regexes.iter().map(each).collect();
    }
    if let Some(topics) = &turn.share_topics {
        let each = |it: &crate::model::view::ShareTopic| {
            json!({
                "topic": maybe(it.topic.topic.as_deref()),
                "topicId": it.topic.topic_id.map(super::group_json::uuid),
                "partitions": it.topic.partitions,
                "state": it.state,
            })
        };
        object["sharePartitions"] = topics.iter().map(each).collect();
    }
    if let Some(topics) = &turn.reads {
        let each = |(name, partitions): &(Vec<u8>, i32)| json!({ "topic": text(name), "numPartitions": partitions });
        object["topics"] = topics.iter().map(each).collect();
    }
    object
}

fn member(step: &MemberStep) -> Value {
    let holdings = step.holdings();
    let known = step.after.as_ref().or(step.before.as_ref());
    let mut object = json!({
        "memberId": text(step.id()),
        "change": step.fate().name(),
        "instanceId": known.map_or(Value::Null, |it| maybe(it.instance_id.as_deref())),
        "clientId": known.map_or(Value::Null, |it| text(&it.client_id)),
        "clientHost": known.map_or(Value::Null, |it| text(&it.client_host)),
        "rackId": known.map_or(Value::Null, |it| maybe(it.rack_id.as_deref())),
        "assignment": step.after.as_ref().map_or(Value::Null, |it| assignment(&it.assignment)),
        "gained": pieces(&holdings.gained),
        "lost": pieces(&holdings.lost),
        "kept": pieces(&holdings.kept),
    });
    let Some(map) = object.as_object_mut() else { return object };
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    let subscribed = known.and_then(|it| it.subscribed_topics.as_ref());
    put("subscribedTopics", subscribed.map_or(Value::Null, |topics| topics.iter().map(|it| text(it)).collect()));
    if let Some(target) = step.target() {
        let after = step.after.as_ref().and_then(|it| it.target.as_ref());
        put("target", after.map_or(Value::Null, assignment));
        put("targetGained", pieces(&target.gained));
        put("targetLost", pieces(&target.lost));
    }
    let epochs = |member: &Option<Member>| member.as_ref().and_then(|it| it.epoch);
    if epochs(&step.before).is_some() || epochs(&step.after).is_some() {
        let after = step.after.as_ref();
        put("memberEpoch", json!(after.and_then(|it| it.epoch)));
        put("previousMemberEpoch", json!(after.and_then(|it| it.previous_epoch)));
        put("state", json!(after.and_then(|it| it.state.as_deref())));
        put("previousState", json!(step.before.as_ref().and_then(|it| it.state.as_deref())));
        let pending = after.and_then(|it| it.pending_revocation.as_ref());
        put("pendingRevocation", pending.map_or(Value::Null, assignment));
    }
    object
}

/// Partitions by topic, or tasks by role and subtopology.
fn pieces(pieces: &[Piece]) -> Value {
    let mut groups: Vec<(Role, &[u8], Vec<i32>)> = Vec::new();
    for (role, name, partition) in pieces {
        match groups.last_mut() {
            Some((last_role, last, partitions)) if last_role == role && *last == name.as_slice() => {
                partitions.push(*partition);
            }
            _ => groups.push((*role, name, vec![*partition])),
        }
    }
    let each = |(role, name, partitions): (Role, &[u8], Vec<i32>)| match role {
        Role::Partition => json!({ "topic": text(name), "partitions": partitions }),
        Role::Active => json!({ "role": "active", "subtopologyId": text(name), "partitions": partitions }),
        Role::Standby => json!({ "role": "standby", "subtopologyId": text(name), "partitions": partitions }),
        Role::Warmup => json!({ "role": "warmup", "subtopologyId": text(name), "partitions": partitions }),
    };
    groups.into_iter().map(each).collect()
}

fn of_storm(storm: &Storm, event: &Event) -> Value {
    let millis = event.last_timestamp.saturating_sub(event.timestamp).max(1);
    let clients = storm.clients.iter().map(|(client, moves)| json!({ "client": text(client), "moves": moves }));
    json!({
        "steps": storm.turns,
        "perMinute": storm.turns as f64 * 60_000.0 / millis as f64,
        "before": facts(storm.before.as_ref()),
        "after": facts(storm.after.as_ref()),
        "leastMembers": storm.members.0,
        "mostMembers": storm.members.1,
        "joined": storm.joined,
        "left": storm.left,
        "clients": clients.collect::<Value>(),
        "commits": storm.commits,
    })
}

fn of_span(span: &Span) -> Value {
    let moves = span.moves.iter().map(|it| {
        json!({
            "topic": text(&it.topic),
            "partition": it.partition,
            "previous": it.before,
            "first": it.first,
            "last": it.last,
            "commits": it.commits,
            "firstTimestamp": it.first_timestamp,
            "lastTimestamp": it.last_timestamp,
            "logOffset": it.log_offset,
        })
    });
    let producers = span.producers.iter().map(
        |(id, epoch, transactions)| json!({ "producerId": id, "producerEpoch": epoch, "transactions": transactions }),
    );
    json!({
        "commits": span.commits,
        "batches": span.batches,
        "presence": span.presence.name(),
        "partitions": moves.collect::<Value>(),
        "producers": producers.collect::<Value>(),
    })
}

fn steps(steps: &[CommitStep]) -> Value {
    let each = |it: &CommitStep| {
        json!({
            "topic": text(&it.topic),
            "partition": it.partition,
            "previous": it.before,
            "offset": it.offset,
            "step": it.step(),
            "flag": it.flag.name(),
            "leaderEpoch": it.leader_epoch,
            "metadata": text(&it.metadata),
            "commitTimestamp": it.commit_timestamp,
            "expireTimestamp": it.expire_timestamp,
            "logOffset": it.log_offset,
        })
    };
    steps.iter().map(each).collect()
}

fn of_commits(commits: &Commits) -> Value {
    json!({
        "presence": commits.presence.name(),
        "producerId": commits.producer.map(|(id, _)| id),
        "producerEpoch": commits.producer.map(|(_, epoch)| epoch),
        "partitions": steps(&commits.steps),
    })
}

fn of_unfinished(it: &Unfinished) -> Value {
    json!({
        "producerId": it.producer_id,
        "producerEpoch": it.producer_epoch,
        "partitions": steps(&it.steps),
    })
}

fn of_forgotten(it: &Forgotten) -> Value {
    let offsets = it.offsets.iter().map(|removed| {
        json!({
            "topic": text(&removed.topic),
            "partition": removed.partition,
            "offset": removed.offset,
            "commitTimestamp": removed.commit_timestamp,
            "logOffset": removed.log_offset,
            "pendingRemoved": removed.pending,
        })
    });
    json!({ "reason": it.why.code(), "partitions": offsets.collect::<Value>() })
}
