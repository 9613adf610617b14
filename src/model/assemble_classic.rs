//! A classic group: all of it stands in one record.
//!
//! Must not know: offsets, and how groups are printed.

use super::assemble::{Entry, empty};
use super::view::{Assignment, Group, GroupState, GroupType, Member, TopicPartitions, sorted};
use crate::json::{Json, Style};
use crate::schema::Value;
use crate::schema::classic::{GroupMetadataValue, MemberMetadata};
use crate::schema::embedded::{Payload, member_assignment, member_subscription};
use crate::schema::wire::Text;
use std::collections::BTreeMap;

/// Makes it.
pub(super) fn group(name: &[u8], entries: &[Entry<'_>]) -> Group {
    let mut group = empty(name, GroupType::Classic);
    for entry in entries {
        match &entry.value {
            Value::GroupMetadata(value) => fill(&mut group, value, entry.slot.log_offset),
            _ => group.oddities.push(format!(
                "a record of another protocol at offset {}: {}",
                entry.slot.log_offset,
                entry.key.record_type.name()
            )),
        }
    }
    group
}

/// Puts what the record says in place of what was there.
pub(super) fn fill(group: &mut Group, value: &GroupMetadataValue<'_>, log_offset: i64) {
    let owned = |text: Option<Text<'_>>| text.map(|text| text.0.to_vec());
    group.protocol_type = value.protocol_type.0.to_vec();
    group.protocol = owned(value.protocol);
    group.leader = owned(value.leader);
    group.generation = Some(value.generation);
    group.state_timestamp = Some(value.current_state_timestamp).filter(|at| *at != -1);
    group.members = value.members.iter().map(|member| self::member(value, member, log_offset)).collect();
    group.members.sort_by(|a, b| a.id.cmp(&b.id));
    group.state = if group.members.is_empty() { GroupState::Empty } else { GroupState::Stable };
}

fn member(group: &GroupMetadataValue<'_>, member: &MemberMetadata<'_>, log_offset: i64) -> Member {
    let protocol = group.protocol.map(|protocol| protocol.0);
    let subscription = member_subscription(group.protocol_type.0, protocol, member.subscription.0);
    let assignment = member_assignment(group.protocol_type.0, protocol, member.assignment.0);
    // Values before version 1 have no rebalance timeout; the session timeout stands in for it.
    let rebalance = if member.rebalance_timeout == -1 { member.session_timeout } else { member.rebalance_timeout };
    Member {
        id: member.member_id.0.to_vec(),
        instance_id: member.group_instance_id.map(|id| id.0.to_vec()),
        client_id: member.client_id.0.to_vec(),
        client_host: member.client_host.0.to_vec(),
        rack_id: match &subscription {
            Payload::ConsumerSubscription(it) => it.rack_id.map(<[u8]>::to_vec),
            _ => None,
        },
        rebalance_timeout_ms: Some(rebalance),
        session_timeout_ms: Some(member.session_timeout),
        subscribed_topics: match &subscription {
            Payload::ConsumerSubscription(it) => Some(it.topics.iter().map(|topic| topic.to_vec()).collect()),
            _ => None,
        },
        assignment: assigned(&assignment),
        payloads: Some((shown(&subscription), shown(&assignment))),
        log_offset,
        ..Member::default()
    }
}

/// A topic may stand in an assignment more than once.
fn assigned(payload: &Payload<'_>) -> Assignment {
    match payload {
        Payload::Empty => Assignment::default(),
        Payload::ConsumerAssignment(it) => {
            let mut topics: BTreeMap<&[u8], Vec<i32>> = BTreeMap::new();
            for topic in &it.assigned_partitions {
                topics.entry(topic.topic).or_default().extend(topic.partitions.iter());
            }
            let topics = topics.into_iter().map(|(topic, partitions)| TopicPartitions {
                topic: Some(topic.to_vec()),
                topic_id: None,
                partitions: sorted(partitions.into_iter()),
            });
            Assignment::Topics(topics.collect())
        }
        _ => Assignment::Opaque,
    }
}

fn shown(payload: &Payload<'_>) -> String {
    let mut json = Json::new(Style::Lossless);
    payload.json(&mut json);
    String::from_utf8_lossy(json.bytes()).into_owned()
}
