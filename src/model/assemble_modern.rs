//! Consumer, share and streams groups: a record for the group, and up to three for every member.
//!
//! Must not know: offsets, and how groups are printed.

use super::assemble::{Entry, empty, kind_of_type};
use super::topics::Topics;
use super::view::{
    Assignment, Group, GroupState, GroupType, Member, Regex, ShareTopic, Tasks, TopicPartitions, by_id, sorted,
};
use crate::schema::consumer::{ConsumerGroupMemberMetadataValue, CurrentTopicPartitions};
use crate::schema::embedded::{Payload, member_subscription};
use crate::schema::share::{ShareTopicInfo, TopicPartitionsInfo};
use crate::schema::streams::{
    CurrentTaskIds, StreamsGroupMemberMetadataValue, StreamsGroupTopologyValue, TargetTaskIds,
};
use crate::schema::wire::{Text, Uuid};
use crate::schema::{Key, KeyFields, Value};
use std::collections::BTreeMap;

/// The epoch that a group and its target assignment have before their first record (seen with 4.4; the first group record
/// has epoch 2 since 4.3, and 1 before).
const FIRST_EPOCH: i32 = 1;

/// What a streams group's record says of the topology that was checked against the topics that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Validated {
    /// There is no such record, or it is one of 4.1, which keeps this in memory.
    #[default]
    Untold,
    /// The epoch; -1 for none.
    Epoch(i32),
}

/// Which of a member's three records there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub member: Member,
    pub metadata: bool,
    pub target: bool,
    pub current: bool,
}

/// Makes it.
pub(super) fn group(name: &[u8], kind: GroupType, entries: &[Entry<'_>], topics: &Topics) -> Group {
    let mut group = Group { protocol_type: kind.name().into(), ..empty(name, kind) };
    let mut members: BTreeMap<&[u8], Seen> = BTreeMap::new();
    let mut validated = Validated::Untold;
    for entry in entries {
        if kind_of_type(entry.key.record_type) != Some(kind) {
            let (what, at) = (entry.key.record_type.name(), entry.slot.log_offset);
            group.oddities.push(format!("a record of another protocol at offset {at}: {what}"));
            continue;
        }
        match entry.key.member() {
            Some(id) => {
                let seen = members.entry(id).or_default();
                seen.member.id = id.to_vec();
                seen.member.log_offset = seen.member.log_offset.max(entry.slot.log_offset);
                of_member(seen, &entry.value, topics);
            }
            None => of_group(&mut group, entry.key, &entry.value, &mut validated),
        }
    }
    settle(&mut group, members);
    group.state = state(&group, validated, group.members.iter());
    group
}

/// What concerns the whole group.
pub(super) fn of_group(group: &mut Group, key: &Key<'_>, value: &Value<'_>, validated: &mut Validated) {
    match value {
        Value::ConsumerGroupMetadata(value) => group.group_epoch = Some(value.epoch),
        Value::ShareGroupMetadata(value) => group.group_epoch = Some(value.epoch),
        Value::ShareGroupMetadata40(value) => group.group_epoch = Some(value.epoch),
        Value::StreamsGroupMetadata(value) => {
            group.group_epoch = Some(value.epoch);
            // From 4.2 on the configs stand in every value, so that without them none of it was written.
            let told = value.last_assignment_configs.is_some() || value.validated_topology_epoch != -1;
            *validated = if told { Validated::Epoch(value.validated_topology_epoch) } else { Validated::Untold };
        }
        Value::ConsumerGroupTargetAssignmentMetadata(value) => group.assignment_epoch = Some(value.assignment_epoch),
        Value::ShareGroupTargetAssignmentMetadata(value) => group.assignment_epoch = Some(value.assignment_epoch),
        Value::StreamsGroupTargetAssignmentMetadata(value) => group.assignment_epoch = Some(value.assignment_epoch),
        Value::StreamsGroupTopology(value) => topology(group, value),
        Value::StreamsGroupTopologyNumbered18(value) => topology(group, value),
        Value::ConsumerGroupRegularExpression(value) => {
            if let KeyFields::RegularExpression(key) = &key.fields {
                group.regexes.push(Regex {
                    expression: key.regular_expression.0.to_vec(),
                    topics: value.topics.iter().map(|topic| topic.0.to_vec()).collect(),
                    timestamp: value.timestamp,
                });
            }
        }
        Value::ShareGroupStatePartitionMetadata(value) => {
            share_topics(group, "initializing", &value.initializing_topics);
            share_topics(group, "initialized", &value.initialized_topics);
            deleting_topics(group, &value.deleting_topics);
        }
        Value::ShareGroupStatePartitionMetadata40(value) => {
            share_topics(group, "initialized", &value.initialized_topics);
            deleting_topics(group, &value.deleting_topics);
        }
        _ => {}
    }
}

fn topology(group: &mut Group, value: &StreamsGroupTopologyValue<'_>) {
    group.topology_epoch = Some(value.epoch);
    let mut topics = Vec::new();
    for part in &value.subtopologies {
        topics.extend(texts(&part.source_topics));
        topics.extend(part.repartition_source_topics.iter().map(|topic| owned(topic.name)));
    }
    group.topology_topics = Some(topics);
}

fn share_topics(group: &mut Group, state: &'static str, topics: &[TopicPartitionsInfo<'_>]) {
    group.share_topics.extend(
        topics
            .iter()
            .map(|topic| ShareTopic { topic: by_name(topic.topic_id, topic.topic_name, &topic.partitions), state }),
    );
}

fn deleting_topics(group: &mut Group, topics: &[ShareTopicInfo<'_>]) {
    let topics = topics.iter().map(|topic| by_name(topic.topic_id, topic.topic_name, &[]));
    group.share_topics.extend(topics.map(|topic| ShareTopic { topic, state: "deleting" }));
}

fn by_name(id: Uuid, name: Text<'_>, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions { topic: Some(name.0.to_vec()), topic_id: Some(id), partitions: sorted(partitions.iter().copied()) }
}

/// What concerns one member.
pub(super) fn of_member(seen: &mut Seen, value: &Value<'_>, topics: &Topics) {
    let member = &mut seen.member;
    match value {
        Value::ConsumerGroupMemberMetadata(value) => {
            seen.metadata = true;
            consumer_member(member, value);
        }
        Value::ConsumerGroupMemberMetadata37(value) => {
            seen.metadata = true;
            let names = (value.instance_id, value.rack_id, value.client_id, value.client_host);
            common(member, names, Some(value.rebalance_timeout_ms));
            member.subscribed_topics = Some(texts(&value.subscribed_topic_names));
            member.subscribed_regex = expression(value.subscribed_topic_regex);
            member.server_assignor = value.server_assignor.map(owned);
            member.upgraded = Some(true);
        }
        Value::ShareGroupMemberMetadata(value) => {
            seen.metadata = true;
            common(member, (None, value.rack_id, value.client_id, value.client_host), None);
            member.subscribed_topics = Some(texts(&value.subscribed_topic_names));
        }
        Value::StreamsGroupMemberMetadata(value) => {
            seen.metadata = true;
            streams_member(member, value);
        }
        Value::ConsumerGroupTargetAssignmentMember(value) => {
            seen.target = true;
            let assigned = value.topic_partitions.iter().map(|topic| by_id(topics, topic.topic_id, &topic.partitions));
            member.target = Some(assignment(assigned));
        }
        Value::ConsumerGroupTargetAssignmentMember37(value) => {
            seen.target = true;
            let assigned = value.topic_partitions.iter().map(|topic| by_id(topics, topic.topic_id, &topic.partitions));
            member.target = Some(assignment(assigned));
        }
        Value::ShareGroupTargetAssignmentMember(value) => {
            seen.target = true;
            let assigned = value.topic_partitions.iter().map(|topic| by_id(topics, topic.topic_id, &topic.partitions));
            member.target = Some(assignment(assigned));
        }
        Value::StreamsGroupTargetAssignmentMember(value) => {
            seen.target = true;
            member.target = Some(Assignment::Tasks {
                active: target_tasks(&value.active_tasks),
                standby: target_tasks(&value.standby_tasks),
                warmup: target_tasks(&value.warmup_tasks),
            });
        }
        current => {
            seen.current = true;
            of_current(member, current, topics);
        }
    }
}

/// What a member has now.
fn of_current(member: &mut Member, value: &Value<'_>, topics: &Topics) {
    match value {
        Value::ConsumerGroupCurrentMemberAssignment(value) => {
            epochs(member, value.member_epoch, value.previous_member_epoch);
            member.state = Some(consumer_member_state(value.state));
            // Until it has given them up, a member has these too: so a broker answers.
            let revoking = &value.partitions_pending_revocation;
            member.assignment = current_topics(value.assigned_partitions.iter().chain(revoking), topics);
            member.pending_revocation = Some(current_topics(revoking.iter(), topics));
        }
        Value::ConsumerGroupCurrentMemberAssignment37(value) => {
            epochs(member, value.member_epoch, value.previous_member_epoch);
            // 3.7 writes no state: a member that has reached its target and waits for nothing is stable.
            let waits =
                !value.partitions_pending_revocation.is_empty() || !value.partitions_pending_assignment.is_empty();
            let stable = value.member_epoch == value.target_member_epoch && !waits;
            member.state = Some(if stable { "STABLE" } else { "UNKNOWN" }.to_owned());
            let assigned =
                value.assigned_partitions.iter().map(|topic| by_id(topics, topic.topic_id, &topic.partitions));
            member.assignment = assignment(assigned);
            let revoking = value.partitions_pending_revocation.iter();
            member.pending_revocation =
                Some(assignment(revoking.map(|topic| by_id(topics, topic.topic_id, &topic.partitions))));
        }
        Value::ShareGroupCurrentMemberAssignment(value) => {
            epochs(member, value.member_epoch, value.previous_member_epoch);
            member.state = Some(consumer_member_state(value.state));
            let assigned =
                value.assigned_partitions.iter().map(|topic| by_id(topics, topic.topic_id, &topic.partitions));
            member.assignment = assignment(assigned);
        }
        Value::StreamsGroupCurrentMemberAssignment(value) => {
            epochs(member, value.member_epoch, value.previous_member_epoch);
            member.state = Some(streams_member_state(value.state));
            member.assignment = current_tasks(&value.active_tasks, &value.standby_tasks, &value.warmup_tasks);
            member.pending_revocation = Some(current_tasks(
                &value.active_tasks_pending_revocation,
                &value.standby_tasks_pending_revocation,
                &value.warmup_tasks_pending_revocation,
            ));
        }
        _ => {}
    }
}

fn consumer_member(member: &mut Member, value: &ConsumerGroupMemberMetadataValue<'_>) {
    let names = (value.instance_id, value.rack_id, value.client_id, value.client_host);
    common(member, names, Some(value.rebalance_timeout_ms));
    member.subscribed_topics = Some(texts(&value.subscribed_topic_names));
    member.subscribed_regex = expression(value.subscribed_topic_regex);
    member.server_assignor = value.server_assignor.map(owned);
    member.upgraded = Some(value.classic_member_metadata.is_none());
    if let Some(classic) = &value.classic_member_metadata {
        member.session_timeout_ms = Some(classic.session_timeout_ms);
        let payloads = classic.supported_protocols.iter();
        let mut payloads = payloads.map(|it| member_subscription(b"consumer", Some(it.name.0), it.metadata.0));
        // A classic member's rack stands in its subscription where the record has none.
        if member.rack_id.is_none() {
            member.rack_id = payloads.find_map(|payload| match payload {
                Payload::ConsumerSubscription(it) => it.rack_id.map(<[u8]>::to_vec),
                _ => None,
            });
        }
    }
}

fn streams_member(member: &mut Member, value: &StreamsGroupMemberMetadataValue<'_>) {
    let names = (value.instance_id, value.rack_id, value.client_id, value.client_host);
    common(member, names, Some(value.rebalance_timeout_ms));
    member.topology_epoch = Some(value.topology_epoch);
    member.process_id = Some(owned(value.process_id));
    member.user_endpoint = value.user_endpoint.as_ref().map(|endpoint| (owned(endpoint.host), endpoint.port));
    member.client_tags = value.client_tags.iter().map(|tag| (owned(tag.key), owned(tag.value))).collect();
    member.client_tags.sort();
}

type Names<'a> = (Option<Text<'a>>, Option<Text<'a>>, Text<'a>, Text<'a>);

fn common(member: &mut Member, (instance, rack, client, host): Names<'_>, rebalance_timeout_ms: Option<i32>) {
    member.instance_id = instance.map(owned);
    member.rack_id = rack.map(owned);
    member.client_id = owned(client);
    member.client_host = owned(host);
    member.rebalance_timeout_ms = rebalance_timeout_ms;
}

fn owned(text: Text<'_>) -> Vec<u8> {
    text.0.to_vec()
}

fn texts(texts: &[Text<'_>]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| owned(*text)).collect()
}

/// An empty expression is none.
fn expression(text: Option<Text<'_>>) -> Option<Vec<u8>> {
    text.map(owned).filter(|text| !text.is_empty())
}

fn epochs(member: &mut Member, epoch: i32, previous: i32) {
    member.epoch = Some(epoch);
    member.previous_epoch = Some(previous);
}

fn assignment(topics: impl Iterator<Item = TopicPartitions>) -> Assignment {
    let mut topics: Vec<_> = topics.collect();
    topics.sort();
    Assignment::Topics(topics)
}

/// A topic may stand among the topics more than once.
fn current_topics<'a>(topics: impl Iterator<Item = &'a CurrentTopicPartitions<'a>>, names: &Topics) -> Assignment {
    let mut partitions: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for topic in topics {
        partitions.entry(topic.topic_id).or_default().extend(&topic.partitions);
    }
    assignment(partitions.into_iter().map(|(id, partitions)| by_id(names, id, &partitions)))
}

fn target_tasks(tasks: &[TargetTaskIds<'_>]) -> Vec<Tasks> {
    in_order(tasks.iter().map(|ids| (ids.subtopology_id, &ids.partitions)))
}

fn current_tasks(
    active: &[CurrentTaskIds<'_>],
    standby: &[CurrentTaskIds<'_>],
    warmup: &[CurrentTaskIds<'_>],
) -> Assignment {
    let tasks = |ids: &[CurrentTaskIds<'_>]| in_order(ids.iter().map(|ids| (ids.subtopology_id, &ids.partitions)));
    Assignment::Tasks { active: tasks(active), standby: tasks(standby), warmup: tasks(warmup) }
}

fn in_order<'a>(tasks: impl Iterator<Item = (Text<'a>, &'a Vec<i32>)>) -> Vec<Tasks> {
    let tasks = tasks
        .map(|(id, partitions)| Tasks { subtopology_id: owned(id), partitions: sorted(partitions.iter().copied()) });
    let mut tasks: Vec<_> = tasks.collect();
    tasks.sort();
    tasks
}

fn consumer_member_state(number: i8) -> String {
    match number {
        0 => "STABLE".to_owned(),
        1 => "UNREVOKED_PARTITIONS".to_owned(),
        2 => "UNRELEASED_PARTITIONS".to_owned(),
        127 => "UNKNOWN".to_owned(),
        other => format!("UNKNOWN({other})"),
    }
}

fn streams_member_state(number: i8) -> String {
    match number {
        1 => "STABLE".to_owned(),
        2 => "UNREVOKED_TASKS".to_owned(),
        3 => "UNRELEASED_TASKS".to_owned(),
        127 => "UNKNOWN".to_owned(),
        other => format!("UNKNOWN({other})"),
    }
}

/// Members that have a record of their own stay; what is left of others is said.
fn settle(group: &mut Group, members: BTreeMap<&[u8], Seen>) {
    if group.group_epoch.is_none() {
        group.oddities.push("no record of the group itself, only of its parts".to_owned());
    }
    group.group_epoch.get_or_insert(FIRST_EPOCH);
    group.assignment_epoch.get_or_insert(FIRST_EPOCH);
    for seen in members.into_values() {
        let id = String::from_utf8_lossy(&seen.member.id).into_owned();
        if !seen.metadata {
            group.oddities.push(format!("member {id} has an assignment but no record of its own"));
        }
        group.members.push(seen.member);
    }
}

/// Where the group stands, by the broker's rules, with these members.
pub(super) fn state<'m>(
    group: &Group,
    validated: Validated,
    mut members: impl ExactSizeIterator<Item = &'m Member>,
) -> GroupState {
    let assigned = group.assignment_epoch;
    let reconciled = |member: &Member| member.state.as_deref() == Some("STABLE") && member.epoch == assigned;
    let ready = || match (group.topology_epoch, validated) {
        (None, _) => false,
        (Some(_), Validated::Untold) => true,
        (Some(topology), Validated::Epoch(epoch)) => epoch == topology,
    };
    match group.kind {
        _ if members.len() == 0 => GroupState::Empty,
        GroupType::Share => GroupState::Stable,
        GroupType::Streams if !ready() => GroupState::NotReady,
        _ if group.group_epoch > assigned => GroupState::Assigning,
        _ if members.all(reconciled) => GroupState::Stable,
        _ => GroupState::Reconciling,
    }
}
