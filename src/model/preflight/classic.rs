//! What a value of type 2 can have that a coordinator trips over: its members.
//!
//! Must not know: other groups, and how a value is read.

use super::coordinator::{Instances, OddSubscriptions};
use super::read::odd_subscription;
use super::reason::Reason;
use crate::schema::classic::{GroupMetadataValue, MemberMetadata};
use std::collections::HashSet;

/// Whether it is as a group that commits alone made: without protocol type and members.
pub(super) fn is_simple(group: &GroupMetadataValue<'_>) -> bool {
    group.protocol_type.0.is_empty() && group.members.is_empty()
}

/// Whether the members of a group go together, and (where a release reads them) their subscriptions.
pub(super) fn judge(
    group: &GroupMetadataValue<'_>,
    instances: Instances,
    odd_subscriptions: OddSubscriptions,
) -> Result<(), Reason> {
    if instances == Instances::Once {
        instances_once(&group.members)?;
    }
    common_protocol(&group.members)?;
    match odd_subscriptions {
        OddSubscriptions::Refused => subscriptions(group),
        OddSubscriptions::Forgiven => Ok(()),
    }
}

fn instances_once(members: &[MemberMetadata<'_>]) -> Result<(), Reason> {
    let mut seen = HashSet::new();
    let twice = members.iter().filter_map(|it| it.group_instance_id).any(|id| !seen.insert(id));
    if twice { Err(Reason::InstanceTwice) } else { Ok(()) }
}

/// Every member supports the group's one protocol, which a new one must share with all that are there: counted by
/// entry, while a member that stands twice is there once.
fn common_protocol(members: &[MemberMetadata<'_>]) -> Result<(), Reason> {
    let mut ids = HashSet::new();
    for (supporters, member) in members.iter().enumerate() {
        if ids.len() != supporters {
            return Err(Reason::NoCommonProtocol);
        }
        ids.insert(member.member_id);
    }
    Ok(())
}

fn subscriptions(group: &GroupMetadataValue<'_>) -> Result<(), Reason> {
    if group.protocol_type.0 != b"consumer" || group.protocol.is_none() {
        return Ok(());
    }
    match group.members.iter().find_map(|member| odd_subscription(member.subscription.0)) {
        Some(fault) => Err(Reason::Subscription(fault)),
        None => Ok(()),
    }
}
