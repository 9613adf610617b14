//! A group as it is now, while its story is told: every record changes it, and says whom it touched.
//!
//! Must not know: commits, and how steps are told.

use super::event::{Facts, MemberStep, Resolved, Turn};
use crate::model::assemble::{empty, kind_of_type};
use crate::model::assemble_classic;
use crate::model::assemble_modern::{self, Seen, Validated};
use crate::model::topics::Topics;
use crate::model::view::{Group, GroupState, GroupType, Member};
use crate::schema::consumer::TopicMetadata;
use crate::schema::{Key, KeyFields, RecordType, Value};
use std::collections::BTreeMap;

/// A group as it is now.
#[derive(Debug)]
pub struct Now {
    /// None: there is no group, or none is known.
    kind: Option<GroupType>,
    group: Group,
    members: BTreeMap<Vec<u8>, Seen>,
    validated: Validated,
    metadata_hash: i64,
}

/// What a step has touched so far, as it was before.
#[derive(Debug)]
pub struct Before {
    facts: Option<Facts>,
    members: BTreeMap<Vec<u8>, Option<Member>>,
    regexes: Vec<Resolved>,
    share_topics_written: bool,
    reads: Option<Vec<(Vec<u8>, i32)>>,
}

impl Now {
    /// Nothing is known yet.
    pub fn new(name: &[u8]) -> Self {
        Now {
            kind: None,
            group: empty(name, GroupType::Classic),
            members: BTreeMap::new(),
            validated: Validated::Untold,
            metadata_hash: 0,
        }
    }

    /// The protocol it speaks, if there is a group.
    pub fn kind(&self) -> Option<GroupType> {
        self.kind
    }

    /// Whether it has members.
    pub fn has_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// Since when a classic group is empty, if it is and says so.
    pub fn empty_since(&self) -> Option<i64> {
        let empty = self.kind == Some(GroupType::Classic) && self.members.is_empty();
        self.group.state_timestamp.filter(|_| empty)
    }

    /// Whether a member subscribes to a topic by name.
    pub fn subscribes(&self, topic: &[u8]) -> bool {
        let mut named = self.members.values().filter_map(|seen| seen.member.subscribed_topics.as_ref());
        named.any(|topics| topics.iter().any(|name| name == topic))
    }

    /// The group as a whole.
    pub fn facts(&self) -> Option<Facts> {
        let kind = self.kind?;
        let group = &self.group;
        Some(Facts {
            kind,
            state: self.state(kind),
            protocol_type: group.protocol_type.clone(),
            protocol: group.protocol.clone(),
            leader: group.leader.clone(),
            generation: group.generation,
            group_epoch: group.group_epoch,
            assignment_epoch: group.assignment_epoch,
            topology_epoch: group.topology_epoch,
            metadata_hash: self.metadata_hash,
            members: self.members.len(),
        })
    }

    fn state(&self, kind: GroupType) -> GroupState {
        match kind {
            GroupType::Classic if self.members.is_empty() => GroupState::Empty,
            GroupType::Classic => GroupState::Stable,
            _ => {
                let members = self.members.values().map(|seen| &seen.member);
                assemble_modern::state(&self.group, self.validated, members)
            }
        }
    }

    /// Begins a step.
    pub fn begin(&self) -> Before {
        Before {
            facts: self.facts(),
            members: BTreeMap::new(),
            regexes: Vec::new(),
            share_topics_written: false,
            reads: None,
        }
    }

    /// Ends a step: what it changed.
    pub fn end(&self, before: Before) -> Turn {
        let after = self.facts();
        let classic = |facts: &Option<Facts>| facts.as_ref().is_none_or(|it| it.kind == GroupType::Classic);
        let all_told = !(classic(&before.facts) && classic(&after));
        let mut members = Vec::new();
        let mut touched = 0;
        for (id, was) in before.members {
            let is = self.members.get(&id).map(|seen| &seen.member);
            let same = is.is_some() && is == was.as_ref();
            if (was.is_some() || is.is_some()) && (all_told || !same) {
                touched += usize::from(is.is_some());
                members.push(MemberStep { before: was, after: is.cloned() });
            }
        }
        Turn {
            before: before.facts,
            after,
            members,
            unchanged: self.members.len().saturating_sub(touched),
            regexes: before.regexes,
            share_topics: before.share_topics_written.then(|| self.group.share_topics.clone()),
            reads: before.reads,
        }
    }

    /// Takes a record of the group; the value of a tombstone is none.
    pub fn apply(&mut self, key: &Key<'_>, value: Option<&Value<'_>>, before: &mut Before) {
        match (key.record_type, value) {
            (RecordType::GroupMetadata, Some(Value::GroupMetadata(value))) => {
                self.clear(GroupType::Classic, before);
                assemble_classic::fill(&mut self.group, value, 0);
                for mut member in std::mem::take(&mut self.group.members) {
                    member.payloads = None;
                    before.touch(&member.id, None);
                    let seen = Seen { member, metadata: true, ..Seen::default() };
                    self.members.insert(seen.member.id.clone(), seen);
                }
            }
            (RecordType::GroupMetadata, _) => self.remove(GroupType::Classic, before),
            (record_type, value) => {
                let Some(kind) = kind_of_type(record_type) else { return };
                match value {
                    Some(value) => self.put(kind, key, value, before),
                    None if self.kind == Some(kind) => self.forget(kind, key, before),
                    None => {}
                }
            }
        }
    }

    /// Everything goes, and a group of this protocol is there.
    fn clear(&mut self, kind: GroupType, before: &mut Before) {
        for (id, seen) in std::mem::take(&mut self.members) {
            before.touch(&id, Some(seen.member));
        }
        self.group = Group { protocol_type: kind.name().into(), ..empty(&self.group.name, kind) };
        self.kind = Some(kind);
        self.validated = Validated::Untold;
        self.metadata_hash = 0;
    }

    fn remove(&mut self, kind: GroupType, before: &mut Before) {
        if self.kind == Some(kind) {
            self.clear(kind, before);
            self.kind = None;
        }
    }

    fn put(&mut self, kind: GroupType, key: &Key<'_>, value: &Value<'_>, before: &mut Before) {
        if self.kind != Some(kind) {
            self.clear(kind, before);
        }
        if let Some(id) = key.member() {
            before.touch(id, self.members.get(id).map(|seen| seen.member.clone()));
            let seen = self.members.entry(id.to_vec()).or_default();
            seen.member.id = id.to_vec();
            // Names of topics come at the end, when all that the log tells of them is known.
            assemble_modern::of_member(seen, value, &Topics::default());
            return;
        }
        match value {
            Value::ConsumerGroupMetadata(value) => self.metadata_hash = value.metadata_hash,
            Value::ShareGroupMetadata(value) => self.metadata_hash = value.metadata_hash,
            Value::StreamsGroupMetadata(value) => self.metadata_hash = value.metadata_hash,
            Value::ShareGroupStatePartitionMetadata(_) | Value::ShareGroupStatePartitionMetadata40(_) => {
                self.group.share_topics.clear();
                before.share_topics_written = true;
            }
            Value::ConsumerGroupRegularExpression(value) => {
                if let KeyFields::RegularExpression(key) = &key.fields {
                    let expression = key.regular_expression.0;
                    self.group.regexes.retain(|regex| regex.expression != expression);
                    let topics = value.topics.iter().map(|topic| topic.0.to_vec()).collect();
                    before.regexes.push((expression.to_vec(), Some(topics)));
                }
            }
            Value::ConsumerGroupPartitionMetadata(value) => before.reads = Some(reads(&value.topics)),
            Value::ConsumerGroupPartitionMetadata37(value) => before.reads = Some(reads(&value.topics)),
            Value::ShareGroupPartitionMetadata(value) => before.reads = Some(reads(&value.topics)),
            Value::StreamsGroupPartitionMetadata(value) => before.reads = Some(reads(&value.topics)),
            _ => {}
        }
        assemble_modern::of_group(&mut self.group, key, value, &mut self.validated);
    }

    /// A tombstone, of a group of its protocol.
    fn forget(&mut self, kind: GroupType, key: &Key<'_>, before: &mut Before) {
        if let Some(id) = key.member() {
            return self.forget_of_member(id, key.record_type, before);
        }
        match key.record_type {
            RecordType::ConsumerGroupMetadata | RecordType::ShareGroupMetadata | RecordType::StreamsGroupMetadata => {
                self.remove(kind, before);
            }
            RecordType::ConsumerGroupTargetAssignmentMetadata
            | RecordType::ShareGroupTargetAssignmentMetadata
            | RecordType::StreamsGroupTargetAssignmentMetadata => self.group.assignment_epoch = None,
            RecordType::ShareGroupStatePartitionMetadata => {
                self.group.share_topics.clear();
                before.share_topics_written = true;
            }
            RecordType::StreamsGroupTopology => self.group.topology_epoch = None,
            RecordType::ConsumerGroupRegularExpression => {
                if let KeyFields::RegularExpression(key) = &key.fields {
                    let expression = key.regular_expression.0;
                    self.group.regexes.retain(|regex| regex.expression != expression);
                    before.regexes.push((expression.to_vec(), None));
                }
            }
            _ => {}
        }
    }

    fn forget_of_member(&mut self, id: &[u8], record_type: RecordType, before: &mut Before) {
        let Some(seen) = self.members.get_mut(id) else { return };
        before.touch(id, Some(seen.member.clone()));
        match record_type {
            RecordType::ConsumerGroupTargetAssignmentMember
            | RecordType::ShareGroupTargetAssignmentMember
            | RecordType::StreamsGroupTargetAssignmentMember => {
                seen.target = false;
                seen.member.target = None;
            }
            RecordType::ConsumerGroupCurrentMemberAssignment
            | RecordType::ShareGroupCurrentMemberAssignment
            | RecordType::StreamsGroupCurrentMemberAssignment => {
                seen.current = false;
                seen.member.assignment = Default::default();
                seen.member.pending_revocation = None;
                (seen.member.epoch, seen.member.previous_epoch, seen.member.state) = (None, None, None);
            }
            _ => seen.metadata = false,
        }
        if !seen.metadata && (!seen.target && !seen.current || is_metadata(record_type)) {
            self.members.remove(id);
        }
    }
}

fn is_metadata(record_type: RecordType) -> bool {
    use RecordType::{ConsumerGroupMemberMetadata, ShareGroupMemberMetadata, StreamsGroupMemberMetadata};
    matches!(record_type, ConsumerGroupMemberMetadata | ShareGroupMemberMetadata | StreamsGroupMemberMetadata)
}

fn reads(topics: &[TopicMetadata<'_>]) -> Vec<(Vec<u8>, i32)> {
    topics.iter().map(|topic| (topic.topic_name.0.to_vec(), topic.num_partitions)).collect()
}

impl Before {
    /// Remembers a member as it was, unless the step has touched it already.
    fn touch(&mut self, id: &[u8], was: Option<Member>) {
        if !self.members.contains_key(id) {
            self.members.insert(id.to_vec(), was);
        }
    }
}
