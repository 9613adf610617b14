//! Reads keys and values as a release does, in its own shapes, and keeps what its rules ask for.
//!
//! Must not know: what a record does to a group.

use super::classic;
use super::coordinator::{Instances, Line, OddSubscriptions, OldRules, Rules, UnknownTypes};
use super::reason::Reason;
use super::tasks::{Role, Task};
use crate::bytes::Cursor;
use crate::fault::Fault;
use crate::schema::classic::GroupMetadataValue;
use crate::schema::consumer::*;
use crate::schema::offsets::{LegacyOffsetCommitValue, OffsetCommitValue};
use crate::schema::share::*;
use crate::schema::streams::*;
use crate::schema::wire::Uuid;
use crate::schema::{Key, Message, RecordType, check_as_broker, decode_as_broker};
use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

/// What a value says, as far as the rules go.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    /// Null.
    Tombstone,
    /// A value that only has to be there.
    Present,
    /// Of a classic group, whether commits alone could have made it.
    Classic {
        /// No protocol type and no members.
        simple: bool,
    },
    /// The epoch of a target assignment, which only has to be there or not; types 6, 12 and 20.
    TargetEpoch,
    /// What a member owns; types 8, 14 and 22.
    Current {
        /// The member's epoch.
        epoch: i32,
        /// What it owns (type 8 only).
        assigned: Vec<(Uuid, i32)>,
        /// What it gives up (type 8 only).
        pending: Vec<(Uuid, i32)>,
        /// What it runs or stops running (type 22 only, and only where somebody asks).
        tasks: Vec<Task>,
    },
    /// The process of a streams member, only where somebody asks.
    Process(Box<[u8]>),
    /// It was read, but it cannot be applied, whatever the group is.
    Odd(Reason),
}

/// The first two bytes: the type in a key, the version in a value.
pub(super) fn number(bytes: &[u8]) -> Option<(i16, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (i16::from_be_bytes(*number), rest))
}

/// Whether a record can be read, whatever it does.
pub(super) fn record(rules: Rules, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Reason> {
    let bytes = key.ok_or(Reason::NullKey)?;
    let (type_number, _) = number(bytes).ok_or(Reason::KeyTooShort)?;
    let knows = match rules {
        Rules::Old(_) => (0..=2).contains(&type_number),
        Rules::New(line) => line.knows(type_number),
    };
    match rules {
        Rules::Old(old) if !knows && old.unknown_types == UnknownTypes::Refused => {
            return Err(Reason::UnknownType(type_number));
        }
        _ if !knows => return Ok(()),
        _ => {}
    }
    let key = Key::decode(bytes).map_err(|bad| Reason::Key(bad.fault))?;
    let Some(value) = value else { return Ok(()) };
    let body = match rules {
        Rules::Old(old) => read_old(old, key.record_type, value)?,
        Rules::New(line) => read_new(line, key.record_type, value)?,
    };
    match body {
        Body::Odd(reason) => Err(reason),
        _ => Ok(()),
    }
}

/// Reads a value as the Scala loaders do.
pub(super) fn read_old(rules: OldRules, record_type: RecordType, value: &[u8]) -> Result<Body, Reason> {
    let (version, fields) = number(value).ok_or(Reason::ValueTooShort)?;
    let offset = record_type != RecordType::GroupMetadata;
    let greatest = if offset { rules.offset_versions } else { rules.group_versions };
    if !(0..=greatest).contains(&version) {
        return Err(Reason::UnknownVersion { version, greatest });
    }
    let fault = |fault: Fault| unreadable(record_type, value, fault);
    if offset {
        check_as_broker::<OffsetCommitValue<'_>>(fields, version, 0).map_err(fault)?;
        return Ok(Body::Present);
    }
    let group = decode_as_broker::<GroupMetadataValue<'_>>(fields, version, 0).map_err(fault)?;
    classic::judge(&group, rules.instances, OddSubscriptions::Refused)?;
    Ok(Body::Classic { simple: classic::is_simple(&group) })
}

/// Reads a value as a new coordinator does. What stands twice and the like shows only when it is applied.
pub(super) fn read_new(line: Line, record_type: RecordType, value: &[u8]) -> Result<Body, Reason> {
    match read_fields(line, record_type, value) {
        Err(odd @ (Reason::Twice(_) | Reason::BadTopic | Reason::EpochCount { .. })) => Ok(Body::Odd(odd)),
        read => read,
    }
}

fn read_fields(line: Line, record_type: RecordType, value: &[u8]) -> Result<Body, Reason> {
    let (version, fields) = number(value).ok_or(Reason::ValueTooShort)?;
    let value = Value { line, record_type, version, whole: value, fields };
    use RecordType as T;
    match record_type {
        T::LegacyOffsetCommit if !line.reads_new_values_under_type_0() => {
            value.present::<LegacyOffsetCommitValue<'_>>()
        }
        T::LegacyOffsetCommit | T::OffsetCommit => value.present::<OffsetCommitValue<'_>>(),
        T::GroupMetadata => {
            let group: GroupMetadataValue<'_> = value.decode()?;
            classic::judge(&group, Instances::Once, line.odd_subscriptions())?;
            Ok(Body::Classic { simple: classic::is_simple(&group) })
        }
        T::ConsumerGroupMetadata => value.present::<ConsumerGroupMetadataValue<'_>>(),
        T::ConsumerGroupPartitionMetadata => {
            value.topics(value.decode::<ConsumerGroupPartitionMetadataValue<'_>>()?.topics)
        }
        T::ShareGroupPartitionMetadata => value.topics(value.decode::<ShareGroupPartitionMetadataValue<'_>>()?.topics),
        T::ConsumerGroupMemberMetadata => value.present::<ConsumerGroupMemberMetadataValue<'_>>(),
        T::ConsumerGroupTargetAssignmentMetadata => value.target::<ConsumerGroupTargetAssignmentMetadataValue<'_>>(),
        T::ShareGroupTargetAssignmentMetadata => value.target::<ShareGroupTargetAssignmentMetadataValue<'_>>(),
        T::StreamsGroupTargetAssignmentMetadata => value.target::<StreamsGroupTargetAssignmentMetadataValue<'_>>(),
        T::ConsumerGroupTargetAssignmentMember => {
            let target: ConsumerGroupTargetAssignmentMemberValue<'_> = value.decode()?;
            once(TOPIC, target.topic_partitions.iter().map(|it| it.topic_id))
        }
        T::ShareGroupTargetAssignmentMember => {
            let target: ShareGroupTargetAssignmentMemberValue<'_> = value.decode()?;
            once(TOPIC, target.topic_partitions.iter().map(|it| it.topic_id))
        }
        T::StreamsGroupTargetAssignmentMember => {
            let target: StreamsGroupTargetAssignmentMemberValue<'_> = value.decode()?;
            for tasks in [&target.active_tasks, &target.standby_tasks, &target.warmup_tasks] {
                once(SUBTOPOLOGY, tasks.iter().map(|it| it.subtopology_id))?;
            }
            Ok(Body::Present)
        }
        T::ConsumerGroupCurrentMemberAssignment => value.consumer_assignment(),
        T::ShareGroupCurrentMemberAssignment => {
            let current: ShareGroupCurrentMemberAssignmentValue<'_> = value.decode()?;
            once(TOPIC, current.assigned_partitions.iter().map(|it| it.topic_id))?;
            Ok(Body::Current {
                epoch: current.member_epoch,
                assigned: Vec::new(),
                pending: Vec::new(),
                tasks: Vec::new(),
            })
        }
        T::StreamsGroupCurrentMemberAssignment => value.streams_assignment(),
        T::ConsumerGroupRegularExpression => value.present::<ConsumerGroupRegularExpressionValue<'_>>(),
        T::ShareGroupMemberMetadata => value.present::<ShareGroupMemberMetadataValue<'_>>(),
        T::ShareGroupMetadata if line < Line::V41 => {
            value.present::<crate::schema::preview::ShareGroupMetadataValue40<'_>>()
        }
        T::ShareGroupMetadata => value.present::<ShareGroupMetadataValue<'_>>(),
        T::ShareGroupStatePartitionMetadata if line < Line::V41 => {
            value.present::<crate::schema::preview::ShareGroupStatePartitionMetadataValue40<'_>>()
        }
        T::ShareGroupStatePartitionMetadata => {
            let state: ShareGroupStatePartitionMetadataValue<'_> = value.decode()?;
            once(TOPIC, state.initializing_topics.iter().map(|it| it.topic_id))?;
            once(TOPIC, state.initialized_topics.iter().map(|it| it.topic_id))
        }
        T::StreamsGroupMetadata => {
            let group: StreamsGroupMetadataValue<'_> = value.decode()?;
            once("a setting", group.last_assignment_configs.iter().flatten().map(|it| it.key))
        }
        T::StreamsGroupMemberMetadata => {
            let member: StreamsGroupMemberMetadataValue<'_> = value.decode()?;
            once("a client tag", member.client_tags.iter().map(|it| it.key))?;
            Ok(if line.asks_who_runs() { Body::Process(member.process_id.0.into()) } else { Body::Present })
        }
        T::StreamsGroupTopology => {
            let topology: StreamsGroupTopologyValue<'_> = value.decode()?;
            once(SUBTOPOLOGY, topology.subtopologies.iter().map(|it| it.subtopology_id))
        }
        // No release that is known here reads them.
        T::StreamsGroupPartitionMetadata | T::StreamsGroupTargetAssignmentResolvedTopicIds => Ok(Body::Present),
    }
}

const TOPIC: &str = "a topic id";
const SUBTOPOLOGY: &str = "a subtopology";

/// A value, and who reads it.
#[derive(Clone, Copy)]
struct Value<'v> {
    line: Line,
    record_type: RecordType,
    version: i16,
    whole: &'v [u8],
    fields: &'v [u8],
}

impl<'v> Value<'v> {
    /// Checks that it can be read.
    fn present<M: Message<'v>>(self) -> Result<Body, Reason> {
        let version = self.version_for::<M>()?;
        check_as_broker::<M>(self.fields, version, self.line.known_tags(self.record_type.number()))
            .map_err(|fault| self.unreadable(fault))?;
        Ok(Body::Present)
    }

    fn target<M: Message<'v>>(self) -> Result<Body, Reason> {
        self.present::<M>().map(|_| Body::TargetEpoch)
    }

    fn decode<M: Message<'v>>(self) -> Result<M, Reason> {
        let version = self.version_for::<M>()?;
        decode_as_broker::<M>(self.fields, version, self.line.known_tags(self.record_type.number()))
            .map_err(|fault| self.unreadable(fault))
    }

    /// The version to read it as.
    fn version_for<M: Message<'v>>(self) -> Result<i16, Reason> {
        if (M::FIRST..=M::LAST).contains(&self.version) {
            Ok(self.version)
        } else if self.line.checks_versions() {
            Err(Reason::UnknownVersion { version: self.version, greatest: M::LAST })
        } else {
            Ok(self.version.clamp(M::FIRST, M::LAST))
        }
    }

    fn unreadable(self, fault: Fault) -> Reason {
        unreadable(self.record_type, self.whole, fault)
    }

    /// Of types 4 and 9.
    fn topics(self, topics: Vec<TopicMetadata<'_>>) -> Result<Body, Reason> {
        let bad = |it: &TopicMetadata<'_>| {
            it.topic_id == Uuid::default() || it.topic_name.0.is_empty() || it.num_partitions < 0
        };
        if self.line.checks_topics() && topics.iter().any(bad) { Err(Reason::BadTopic) } else { Ok(Body::Present) }
    }

    fn consumer_assignment(self) -> Result<Body, Reason> {
        let current: ConsumerGroupCurrentMemberAssignmentValue<'_> = self.decode()?;
        Ok(Body::Current {
            epoch: current.member_epoch,
            assigned: self.partitions(&current.assigned_partitions)?,
            pending: self.partitions(&current.partitions_pending_revocation)?,
            tasks: Vec::new(),
        })
    }

    /// Each partition once. Of a topic that stands twice, the last entry counts where the release allows it.
    fn partitions(self, topics: &[CurrentTopicPartitions<'_>]) -> Result<Vec<(Uuid, i32)>, Reason> {
        if self.line.refuses_topic_twice() {
            once(TOPIC, topics.iter().map(|it| it.topic_id))?;
        }
        let mut seen = HashSet::new();
        let last = topics.iter().rev().filter(|it| seen.insert(it.topic_id));
        let mut all: Vec<_> =
            last.flat_map(|it| it.partitions.iter().map(|partition| (it.topic_id, *partition))).collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn streams_assignment(self) -> Result<Body, Reason> {
        let current: StreamsGroupCurrentMemberAssignmentValue<'_> = self.decode()?;
        let lists = [
            (Role::Active, &current.active_tasks),
            (Role::Standby, &current.standby_tasks),
            (Role::Warmup, &current.warmup_tasks),
            (Role::Active, &current.active_tasks_pending_revocation),
            (Role::Standby, &current.standby_tasks_pending_revocation),
            (Role::Warmup, &current.warmup_tasks_pending_revocation),
        ];
        let mut all = Vec::new();
        for (role, list) in lists {
            if self.line.refuses_tasks_twice() {
                once(SUBTOPOLOGY, list.iter().map(|it| it.subtopology_id))?;
            }
            if role == Role::Active && self.line.counts_task_epochs() {
                list.iter().try_for_each(counted)?;
            }
            if self.line.asks_who_runs() {
                all.extend(list.iter().flat_map(|ids| tasks(role, ids)));
            }
        }
        Ok(Body::Current { epoch: current.member_epoch, assigned: Vec::new(), pending: Vec::new(), tasks: all })
    }
}

/// Each task once.
fn tasks<'t>(role: Role, ids: &'t CurrentTaskIds<'_>) -> impl Iterator<Item = Task> + 't {
    let partitions: BTreeSet<_> = ids.partitions.iter().copied().collect();
    let task = move |partition| Task { role, subtopology: ids.subtopology_id.0.into(), partition };
    partitions.into_iter().map(task)
}

/// Checks that there are no assignment epochs, or as many as partitions.
fn counted(tasks: &CurrentTaskIds<'_>) -> Result<(), Reason> {
    let (partitions, epochs) = (tasks.partitions.len(), tasks.assignment_epochs.as_ref().map_or(0, Vec::len));
    if epochs == 0 || epochs == partitions { Ok(()) } else { Err(Reason::EpochCount { partitions, epochs }) }
}

/// Checks that nothing stands twice.
fn once<T: Eq + Hash>(what: &'static str, items: impl Iterator<Item = T>) -> Result<Body, Reason> {
    let mut seen = HashSet::new();
    for item in items {
        if !seen.insert(item) {
            return Err(Reason::Twice(what));
        }
    }
    Ok(Body::Present)
}

/// Names the shape that does fit a value, and counts the fault's byte from the value's first.
#[cold]
fn unreadable(record_type: RecordType, value: &[u8], fault: Fault) -> Reason {
    let fits = record_type.decode_value(value).ok().filter(|it| it.trailing.is_empty());
    let whose = fits.map(|it| it.whose.unwrap_or("today"));
    Reason::Value { fault: fault.kind.at(fault.at + 2), whose }
}

/// Whether a subscription stops a reader of [`OddSubscriptions::Refused`]: of the prefix that version 0 has, what
/// is too short is forgiven, and a length that makes no sense is not.
pub(super) fn odd_subscription(subscription: &[u8]) -> Option<Fault> {
    let mut cursor = Cursor::new(subscription);
    // The version, whatever it is.
    cursor.i16().ok()?;
    let at = |cursor: &Cursor<'_>, n: i64| Some(cursor.fault(crate::fault::FaultKind::BadLength(n)));
    let topics = cursor.i32().ok()?;
    if topics < 0 || topics as usize > cursor.remaining() {
        return at(&cursor, i64::from(topics));
    }
    for _ in 0..topics {
        let length = cursor.i16().ok()?;
        if length < 0 || cursor.take(length as usize).is_err() {
            return at(&cursor, i64::from(length));
        }
    }
    let user_data = cursor.i32().ok()?;
    if user_data >= 0 && cursor.take(user_data as usize).is_err() {
        return at(&cursor, i64::from(user_data));
    }
    None
}
