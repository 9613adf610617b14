//! Finds the payloads within a value, and shows them beside it.
//!
//! Must not know: how payloads are read, and where values come from.

use super::pieces::{Object, list};
use super::{member_assignment, member_subscription};
use crate::json::Json;
use crate::schema::Value;
use crate::schema::classic::{GroupMetadataValue, MemberMetadata};
use crate::schema::consumer::ClassicProtocol;

/// Appends `,"embedded":{…}` for a value that holds payloads; nothing for the others.
///
/// A classic group gives `members`, each with `memberId`, `subscription` and `assignment`; a member of a consumer group
/// that speaks the classic protocol gives `supportedProtocols`, each with `name` and `metadata`.
#[inline]
pub fn json(json: &mut Json, value: &Value<'_>) {
    match value {
        Value::GroupMetadata(group) if !group.members.is_empty() => group_json(json, group),
        Value::ConsumerGroupMemberMetadata(member) => {
            if let Some(classic) = &member.classic_member_metadata {
                json.raw(",\"embedded\":");
                let mut object = Object::open(json);
                list(object.name("supportedProtocols"), &classic.supported_protocols, protocol_json);
                object.close();
            }
        }
        _ => {}
    }
}

fn group_json(json: &mut Json, group: &GroupMetadataValue<'_>) {
    json.raw(",\"embedded\":");
    let mut object = Object::open(json);
    list(object.name("members"), &group.members, |json, member| member_json(json, group, member));
    object.close();
}

fn member_json(json: &mut Json, group: &GroupMetadataValue<'_>, member: &MemberMetadata<'_>) {
    let protocol = group.protocol.map(|protocol| protocol.0);
    let mut object = Object::open(json);
    object.key(",\"memberId\":").string(member.member_id.0);
    member_subscription(group.protocol_type.0, protocol, member.subscription.0).json(object.key(",\"subscription\":"));
    member_assignment(group.protocol_type.0, protocol, member.assignment.0).json(object.key(",\"assignment\":"));
    object.close();
}

fn protocol_json(json: &mut Json, protocol: &ClassicProtocol<'_>) {
    let mut object = Object::open(json);
    object.name("name").string(protocol.name.0);
    member_subscription(b"consumer", Some(protocol.name.0), protocol.metadata.0).json(object.name("metadata"));
    object.close();
}
