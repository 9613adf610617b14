//! The fields of groups and members that are compared one by one, under their names in JSON.
//!
//! Must not know: the other copy.

use super::view::{Assignment, Group, Member};

/// What stands in a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// Nothing.
    None,
    /// A number.
    Number(i64),
    /// A moment, in milliseconds since 1970.
    Time(i64),
    /// A word of ours or of the broker's.
    Word(String),
    /// A name: any bytes.
    Name(Vec<u8>),
    /// Names.
    Names(Vec<Vec<u8>>),
    /// Partitions or tasks.
    Assignment(Assignment),
    /// What a client put inside, as JSON.
    Payload(String),
}

/// Fields by name, always in the same order.
pub(super) type Named = Vec<(&'static str, FieldValue)>;

fn number(n: Option<i32>) -> FieldValue {
    n.map_or(FieldValue::None, |n| FieldValue::Number(n.into()))
}

fn name(name: Option<&Vec<u8>>) -> FieldValue {
    name.map_or(FieldValue::None, |name| FieldValue::Name(name.clone()))
}

/// The fields of a group that are compared.
pub(super) fn group_fields(group: &Group) -> Named {
    vec![
        ("type", FieldValue::Word(group.kind.name().to_owned())),
        ("state", FieldValue::Word(group.state.name().to_owned())),
        ("protocolType", FieldValue::Name(group.protocol_type.clone())),
        ("protocol", name(group.protocol.as_ref())),
        ("generation", number(group.generation)),
        ("leader", name(group.leader.as_ref())),
        ("stateTimestamp", group.state_timestamp.map_or(FieldValue::None, FieldValue::Time)),
        ("groupEpoch", number(group.group_epoch)),
        ("assignmentEpoch", number(group.assignment_epoch)),
        ("topologyEpoch", number(group.topology_epoch)),
    ]
}

/// The fields of a member that are compared.
pub(super) fn member_fields(member: &Member) -> Named {
    let assignment = |it: &Option<Assignment>| it.clone().map_or(FieldValue::None, FieldValue::Assignment);
    let payload = |part: fn(&(String, String)) -> &String| {
        member.payloads.as_ref().map_or(FieldValue::None, |both| FieldValue::Payload(part(both).clone()))
    };
    vec![
        ("instanceId", name(member.instance_id.as_ref())),
        ("clientId", FieldValue::Name(member.client_id.clone())),
        ("clientHost", FieldValue::Name(member.client_host.clone())),
        ("rackId", name(member.rack_id.as_ref())),
        ("memberEpoch", number(member.epoch)),
        ("previousMemberEpoch", number(member.previous_epoch)),
        ("state", member.state.clone().map_or(FieldValue::None, FieldValue::Word)),
        ("subscribedTopics", member.subscribed_topics.clone().map_or(FieldValue::None, FieldValue::Names)),
        ("subscribedTopicRegex", name(member.subscribed_regex.as_ref())),
        ("serverAssignor", name(member.server_assignor.as_ref())),
        ("assignment", FieldValue::Assignment(member.assignment.clone())),
        ("target", assignment(&member.target)),
        ("pendingRevocation", assignment(&member.pending_revocation)),
        ("topologyEpoch", number(member.topology_epoch)),
        ("processId", name(member.process_id.as_ref())),
        ("rebalanceTimeoutMs", number(member.rebalance_timeout_ms)),
        ("sessionTimeoutMs", number(member.session_timeout_ms)),
        ("subscription", payload(|(subscription, _)| subscription)),
        ("assignmentPayload", payload(|(_, assignment)| assignment)),
    ]
}
