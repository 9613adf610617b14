//! From the latest values to groups: which keys belong to which group, and what they say together.
//!
//! Must not know: how the values came to be the latest ones ([`super::replay`]), and how groups are printed.

use super::assemble_classic;
use super::assemble_modern;
use super::replay::State;
use super::store::{OffsetKey, Slot};
use super::topics::Topics;
use super::view::{Commit, Group, GroupState, GroupType, Offset, Pending};
use crate::schema::wire::Uuid;
use crate::schema::{Key, RecordType, Value};
use std::collections::BTreeMap;

/// A commit that waits: its producer and epoch, and where it lies.
type Waiting = (i64, i16, Slot);

/// The keys of one group.
#[derive(Debug, Default)]
pub struct Parts<'s> {
    /// Group and topic prefixes with committed offsets or pending ones.
    prefixes: Vec<u32>,
    /// Pending commits by key: whose, and where.
    pending: BTreeMap<(Vec<u8>, i32), Vec<Waiting>>,
    /// All other keys.
    keys: Vec<(Key<'s>, Slot)>,
}

/// All groups of a partition, by name.
#[derive(Debug)]
pub struct Groups<'s> {
    state: &'s State,
    parts: BTreeMap<&'s [u8], Parts<'s>>,
}

/// A key with its decoded value.
pub(super) struct Entry<'s> {
    pub key: &'s Key<'s>,
    pub slot: Slot,
    pub value: Value<'s>,
}

impl<'s> Groups<'s> {
    /// Sorts the keys of a state by group.
    pub fn of(state: &'s State) -> Self {
        let mut parts: BTreeMap<&[u8], Parts<'_>> = BTreeMap::new();
        for (number, group, _) in state.offsets.prefixes() {
            parts.entry(group).or_default().prefixes.push(number);
        }
        for (producer_id, open) in &state.open {
            for (key, slot) in &open.commits {
                let Some((group, topic)) = state.offsets.names(key.prefix) else { continue };
                let pending = &mut parts.entry(group).or_default().pending;
                let waiting = (*producer_id, open.producer_epoch, *slot);
                pending.entry((topic.to_vec(), key.partition)).or_default().push(waiting);
            }
        }
        for (bytes, slot) in state.others.iter() {
            if let Ok(key) = Key::decode(bytes) {
                parts.entry(key.group()).or_default().keys.push((key, slot));
            }
        }
        for part in parts.values_mut() {
            part.keys.sort_by_key(|(key, slot)| (key.record_type, slot.log_offset));
            part.pending.values_mut().for_each(|waiting| waiting.sort_by_key(|(.., slot)| slot.log_offset));
        }
        Groups { state, parts }
    }

    /// The names of all groups, ascending by bytes.
    pub fn names(&self) -> impl Iterator<Item = &'s [u8]> {
        self.parts.keys().copied()
    }

    /// Whether there is a group of this name.
    pub fn has(&self, name: &[u8]) -> bool {
        self.parts.contains_key(name)
    }

    /// Learns the names of topics from records that carry both name and id.
    pub fn learn_topics(&self, topics: &mut Topics) {
        for part in self.parts.values() {
            for (key, slot) in part.keys.iter().filter(|(key, _)| names_topics(key.record_type)) {
                let Some(value) = self.value(key.record_type, *slot) else { continue };
                learn(topics, &value);
            }
            for prefix in &part.prefixes {
                let Some((_, topic)) = self.state.offsets.names(*prefix) else { continue };
                // All of them: where a topic was made anew, partitions may still have the old id.
                for (_, slot) in self.state.offsets.slots(*prefix) {
                    self.topic_id(slot).into_iter().for_each(|id| topics.learn(id, topic));
                }
            }
        }
    }

    /// The records of a group but for its offsets, by type and log offset: the key and the bytes of the value.
    pub fn records(&self, name: &[u8]) -> impl Iterator<Item = (&Key<'s>, &'s [u8])> {
        let keys = self.parts.get(name).map(|parts| parts.keys.as_slice()).unwrap_or_default();
        keys.iter().filter_map(|(key, slot)| Some((key, self.state.values.get(slot.place)?)))
    }

    fn topic_id(&self, slot: Slot) -> Option<Uuid> {
        let value = self.state.values.get(slot.place)?;
        // Versions before 4 have none, which most are.
        if *value.first_chunk()? < 4i16.to_be_bytes() { None } else { commit_of(value, slot.log_offset)?.topic_id }
    }

    fn value(&self, record_type: RecordType, slot: Slot) -> Option<Value<'s>> {
        Some(record_type.decode_value(self.state.values.get(slot.place)?).ok()?.data)
    }

    /// Makes a group of its keys.
    pub fn group(&self, name: &[u8], topics: &Topics) -> Option<Group> {
        let parts = self.parts.get(name)?;
        let entries: Vec<_> = parts
            .keys
            .iter()
            .filter_map(|(key, slot)| Some(Entry { key, slot: *slot, value: self.value(key.record_type, *slot)? }))
            .collect();
        let mut group = match kind_of(&entries) {
            Some(GroupType::Classic) => assemble_classic::group(name, &entries),
            Some(kind) => assemble_modern::group(name, kind, &entries, topics),
            None => simple(name),
        };
        group.offsets = self.offsets(parts);
        let committed = group.offsets.iter().filter_map(|offset| offset.committed.as_ref());
        let pending = group.offsets.iter().flat_map(|offset| offset.pending.iter().map(|pending| &pending.commit));
        let offsets = committed.chain(pending).map(|commit| commit.log_offset);
        let offsets = offsets.chain(entries.iter().map(|entry| entry.slot.log_offset));
        group.log_offsets = offsets.fold((i64::MAX, i64::MIN), |(least, most), at| (least.min(at), most.max(at)));
        group.uncertain = self.state.doubts.of_group(name, group.log_offsets.0);
        Some(group)
    }

    fn offsets(&self, parts: &Parts<'_>) -> Vec<Offset> {
        let mut offsets: BTreeMap<(Vec<u8>, i32), Offset> = BTreeMap::new();
        for prefix in &parts.prefixes {
            let Some((_, topic)) = self.state.offsets.names(*prefix) else { continue };
            for (partition, slot) in self.state.offsets.slots(*prefix) {
                let committed = self.commit(slot);
                let offset = Offset { topic: topic.to_vec(), partition, committed, pending: Vec::new() };
                offsets.insert((topic.to_vec(), partition), offset);
            }
        }
        for ((topic, partition), waiting) in &parts.pending {
            let offset = offsets.entry((topic.clone(), *partition)).or_insert_with(|| Offset {
                topic: topic.clone(),
                partition: *partition,
                committed: None,
                pending: Vec::new(),
            });
            offset.pending = waiting
                .iter()
                .filter_map(|(producer_id, producer_epoch, slot)| {
                    let commit = self.commit(*slot)?;
                    Some(Pending { producer_id: *producer_id, producer_epoch: *producer_epoch, commit })
                })
                .collect();
        }
        offsets.into_values().collect()
    }

    fn commit(&self, slot: Slot) -> Option<Commit> {
        let bytes = self.state.values.get(slot.place)?;
        commit_of(bytes, slot.log_offset)
    }

    /// The committed slot of a key, for whoever compares states.
    pub fn slot(&self, key: OffsetKey) -> Option<Slot> {
        self.state.offsets.get(key)
    }
}

/// Reads the value of an offset commit, of type 0 or 1: both have the same versions 0 to 3.
pub fn commit_of(value: &[u8], log_offset: i64) -> Option<Commit> {
    let decoded = RecordType::OffsetCommit.decode_value(value).ok()?;
    let Value::OffsetCommit(commit) = decoded.data else { return None };
    Some(Commit {
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: commit.metadata.0.to_vec(),
        commit_timestamp: commit.commit_timestamp,
        // -1 stands for none (KAFKA-8069).
        expire_timestamp: Some(commit.expire_timestamp).filter(|at| *at != -1),
        topic_id: Some(commit.topic_id).filter(|id| *id != Uuid::default()),
        version: decoded.version,
        log_offset,
    })
}

/// Which protocol the keys of a group speak. Where two do, which a broker would refuse, the one that wrote last counts.
fn kind_of(entries: &[Entry<'_>]) -> Option<GroupType> {
    entries
        .iter()
        .filter_map(|entry| Some((entry.slot.log_offset, kind_of_type(entry.key.record_type)?)))
        .max()
        .map(|(_, kind)| kind)
}

/// Which protocol a record type belongs to; none for commits.
pub fn kind_of_type(record_type: RecordType) -> Option<GroupType> {
    match record_type.number() {
        0 | 1 => None,
        2 => Some(GroupType::Classic),
        3..=8 | 16 => Some(GroupType::Consumer),
        9..=15 => Some(GroupType::Share),
        _ => Some(GroupType::Streams),
    }
}

/// Whether values of a type carry names and ids of topics.
fn names_topics(record_type: RecordType) -> bool {
    use RecordType::*;
    matches!(
        record_type,
        ConsumerGroupPartitionMetadata
            | ShareGroupPartitionMetadata
            | ShareGroupStatePartitionMetadata
            | StreamsGroupPartitionMetadata
    )
}

/// Learns the names of topics from a value that carries both name and id.
pub(super) fn learn(topics: &mut Topics, value: &Value<'_>) {
    match value {
        Value::ConsumerGroupPartitionMetadata(value) => {
            value.topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::ConsumerGroupPartitionMetadata37(value) => {
            value.topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::ShareGroupPartitionMetadata(value) => {
            value.topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::ShareGroupPartitionMetadata39(value) => {
            value.initialized_topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
            value.deleting_topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::StreamsGroupPartitionMetadata(value) => {
            value.topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::ShareGroupStatePartitionMetadata(value) => {
            let known = value.initializing_topics.iter().chain(&value.initialized_topics);
            known.for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
            value.deleting_topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        Value::ShareGroupStatePartitionMetadata40(value) => {
            value.initialized_topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
            value.deleting_topics.iter().for_each(|topic| topics.learn(topic.topic_id, topic.topic_name.0));
        }
        _ => {}
    }
}

/// A group of which there are only offsets.
fn simple(name: &[u8]) -> Group {
    Group { simple: true, ..empty(name, GroupType::Classic) }
}

/// A group without anything.
pub(super) fn empty(name: &[u8], kind: GroupType) -> Group {
    Group {
        name: name.to_vec(),
        kind,
        state: GroupState::Empty,
        simple: false,
        protocol_type: Vec::new(),
        protocol: None,
        leader: None,
        generation: None,
        state_timestamp: None,
        group_epoch: None,
        assignment_epoch: None,
        topology_epoch: None,
        members: Vec::new(),
        offsets: Vec::new(),
        regexes: Vec::new(),
        share_topics: Vec::new(),
        topology_topics: None,
        log_offsets: (i64::MAX, i64::MIN),
        uncertain: None,
        oddities: Vec::new(),
    }
}
