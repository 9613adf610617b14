//! What a release needs to read a record: an older version, today's shape, another type. What it refuses all the same
//! goes; what it reads stays as it is.
//!
//! Must not know: what a record does to a group, which is judged on the whole output ([`crate::model::preflight`]).

use super::{Draft, Note};
use crate::model::preflight::{Coordinator, Reason, reads};
use crate::schema::consumer::*;
use crate::schema::preview::*;
use crate::schema::share::{ShareGroupMetadataValue, ShareGroupStatePartitionMetadataValue};
use crate::schema::wire::Uuid;
use crate::schema::{Key, RecordType, Value, VersionedValue};
use std::borrow::Cow;

/// A coordinator that is to load the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target(pub Coordinator);

impl Target {
    /// Why a record without a key goes.
    pub(super) fn keyless(&self) -> Note {
        self.refused(&Reason::NullKey)
    }

    fn refused(&self, reason: &Reason) -> Note {
        let code = if matches!(reason, Reason::UnknownType(_)) { "type-unknown-to-target" } else { "unloadable" };
        Note::saying(code, format!("{} refuses it: {reason}", self.0))
    }

    /// Changes what the coordinator does not read; why the record goes, if nothing helps.
    pub(super) fn apply(&self, draft: &mut Draft<'_>) -> Option<Note> {
        let Err(reason) = reads(self.0, Some(&draft.key), draft.value.as_deref()) else { return None };
        match converted(draft).filter(|new| reads(self.0, Some(&new.key), Some(&new.value)).is_ok()) {
            Some(new) => {
                draft.key = Cow::Owned(new.key);
                draft.value = Some(Cow::Owned(new.value));
                draft.notes.push(new.note);
                None
            }
            None => Some(self.refused(&reason)),
        }
    }
}

struct New {
    key: Vec<u8>,
    value: Vec<u8>,
    note: Note,
}

fn converted(draft: &Draft<'_>) -> Option<New> {
    let key = Key::decode(&draft.key).ok()?;
    let value = key.record_type.decode_value(draft.value.as_deref()?).ok()?;
    match value.data {
        // Newer coordinators read type 0 with version 0 only; type 1 has the same fields, and names the same offset.
        Value::LegacyOffsetCommitOfLaterVersion(_) => {
            let key = Key { record_type: RecordType::OffsetCommit, ..key };
            Some(encoded(&key, &value, Note::saying("type-0-to-1", "the key is given type 1".to_owned())))
        }
        Value::OffsetCommit(_) | Value::GroupMetadata(_) if value.version == 4 => Some(older(&key, value)),
        _ => today(&key, value),
    }
}

fn encoded(key: &Key<'_>, value: &VersionedValue<'_>, note: Note) -> New {
    let (mut key_bytes, mut value_bytes) = (Vec::new(), Vec::new());
    key.encode(&mut key_bytes);
    value.encode(&mut value_bytes);
    New { key: key_bytes, value: value_bytes, note }
}

/// Version 3 of what is in version 4: its tagged fields go.
fn older(key: &Key<'_>, value: VersionedValue<'_>) -> New {
    let mut lost = Vec::new();
    match &value.data {
        Value::OffsetCommit(it) => {
            if it.topic_id != Uuid::default() {
                lost.push("topicId");
            }
            if it.unknown_tags.iter().next().is_some() {
                lost.push("unknownTaggedFields");
            }
        }
        Value::GroupMetadata(it) => {
            let of_members = it.members.iter().any(|member| member.unknown_tags.iter().next().is_some());
            if of_members || it.unknown_tags.iter().next().is_some() {
                lost.push("unknownTaggedFields");
            }
        }
        _ => {}
    }
    if !value.trailing.is_empty() {
        lost.push("trailingBytes");
    }
    let value = VersionedValue { version: 3, trailing: &[], ..value };
    encoded(key, &value, Note { lost, ..Note::saying("version-4-to-3", String::new()) })
}

/// Today's shape of what an early-access release wrote.
fn today(key: &Key<'_>, value: VersionedValue<'_>) -> Option<New> {
    let (data, lost) = todays_data(value.data)?;
    let note = Note { lost, ..Note::saying("early-access-shape", format!("written by {}", value.whose?)) };
    Some(encoded(key, &VersionedValue { whose: None, data, ..value }, note))
}

type Converted<'a> = (Value<'a>, Vec<&'static str>);

fn todays_data(data: Value<'_>) -> Option<Converted<'_>> {
    Some(match data {
        Value::ShareGroupMetadata40(it) => {
            let ShareGroupMetadataValue40 { epoch, unknown_tags } = *it;
            // A hash that no topics have: the group takes them in anew at its next heartbeat.
            let new = ShareGroupMetadataValue { epoch, metadata_hash: 0, unknown_tags };
            (Value::ShareGroupMetadata(new.into()), Vec::new())
        }
        Value::ShareGroupStatePartitionMetadata40(it) => {
            let ShareGroupStatePartitionMetadataValue40 { initialized_topics, deleting_topics, unknown_tags } = *it;
            let new = ShareGroupStatePartitionMetadataValue {
                initializing_topics: Vec::new(),
                initialized_topics,
                deleting_topics,
                unknown_tags,
            };
            (Value::ShareGroupStatePartitionMetadata(new.into()), Vec::new())
        }
        Value::ConsumerGroupPartitionMetadata37(it) => {
            let ConsumerGroupPartitionMetadataValue37 { epoch: _, topics, unknown_tags } = *it;
            let new = ConsumerGroupPartitionMetadataValue { topics, unknown_tags };
            (Value::ConsumerGroupPartitionMetadata(new.into()), vec!["epoch"])
        }
        Value::ConsumerGroupMemberMetadata37(it) => member(*it),
        Value::ConsumerGroupTargetAssignmentMember37(it) => {
            let mut lost = Vec::new();
            if it.error != 0 {
                lost.push("error");
            }
            if !it.metadata_bytes.0.is_empty() {
                lost.push("metadataBytes");
            }
            let new = ConsumerGroupTargetAssignmentMemberValue {
                topic_partitions: it.topic_partitions,
                unknown_tags: it.unknown_tags,
            };
            (Value::ConsumerGroupTargetAssignmentMember(new.into()), lost)
        }
        Value::ConsumerGroupCurrentMemberAssignment37(it) => current(*it),
        _ => return None,
    })
}

fn member(it: ConsumerGroupMemberMetadataValue37<'_>) -> Converted<'_> {
    let lost = if it.assignors.is_empty() { Vec::new() } else { vec!["assignors"] };
    let new = ConsumerGroupMemberMetadataValue {
        instance_id: it.instance_id,
        rack_id: it.rack_id,
        client_id: it.client_id,
        client_host: it.client_host,
        subscribed_topic_names: it.subscribed_topic_names,
        subscribed_topic_regex: it.subscribed_topic_regex,
        rebalance_timeout_ms: it.rebalance_timeout_ms,
        server_assignor: it.server_assignor,
        classic_member_metadata: None,
        unknown_tags: it.unknown_tags,
    };
    (Value::ConsumerGroupMemberMetadata(new.into()), lost)
}

const STABLE: i8 = 0;
const UNREVOKED_PARTITIONS: i8 = 1;
const UNRELEASED_PARTITIONS: i8 = 2;

/// The state, which 3.7 did not write, follows from what the member waits for.
fn current(it: ConsumerGroupCurrentMemberAssignmentValue37<'_>) -> Converted<'_> {
    let state = match (it.partitions_pending_revocation.is_empty(), it.partitions_pending_assignment.is_empty()) {
        (false, _) => UNREVOKED_PARTITIONS,
        (true, false) => UNRELEASED_PARTITIONS,
        (true, true) => STABLE,
    };
    let mut lost = vec!["targetMemberEpoch"];
    if !it.partitions_pending_assignment.is_empty() {
        lost.push("partitionsPendingAssignment");
    }
    if it.error != 0 {
        lost.push("error");
    }
    if !it.metadata_bytes.0.is_empty() {
        lost.push("metadataBytes");
    }
    let topics = |list: Vec<CurrentTopicPartitions37<'_>>| {
        list.into_iter()
            .map(|it| CurrentTopicPartitions {
                topic_id: it.topic_id,
                partitions: it.partitions,
                assignment_epochs: None,
                unknown_tags: Default::default(),
            })
            .collect()
    };
    let new = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: it.member_epoch,
        previous_member_epoch: it.previous_member_epoch,
        state,
        assigned_partitions: topics(it.assigned_partitions),
        partitions_pending_revocation: topics(it.partitions_pending_revocation),
        unknown_tags: it.unknown_tags,
    };
    (Value::ConsumerGroupCurrentMemberAssignment(new.into()), lost)
}
