//! Two states of a partition side by side: which groups differ, in what, and which copy is ahead.
//!
//! Whether a group differs is for its digest to say ([`super::digest`]); what differs is then looked up field by field.
//! Must not know: how differences are printed.

use super::assemble::Groups;
pub use super::compare_fields::FieldValue;
use super::compare_fields::{Named, group_fields, member_fields};
use super::digest::{self, Digest, Digests};
use super::fate::{Fate, Graves};
use super::replay::{Extent, State};
use super::side::{Pair, Side};
use super::topics::Topics;
use super::view::{Commit, Group, GroupState, GroupType, Member, Offset, Pending};
use crate::schema::{Key, RecordType};
use std::collections::BTreeMap;

/// One thing that differs in a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Only one copy has the group.
    GroupOnly {
        /// That one.
        side: Side,
        /// Its type.
        kind: GroupType,
        /// Its state.
        state: GroupState,
        /// How many members it has.
        members: usize,
        /// How many offsets, those that are only pending included.
        offsets: usize,
        /// When it last committed, in milliseconds since 1970.
        last_commit: Option<i64>,
        /// What became of it in the other copy.
        fate: Fate,
    },
    /// A field of the group, or of a member.
    Field {
        /// The member's id.
        member: Option<Vec<u8>>,
        /// Its name in JSON.
        field: &'static str,
        /// What stands there.
        values: Pair<FieldValue>,
    },
    /// Only one copy has the member.
    MemberOnly {
        /// That one.
        side: Side,
        /// The member's id.
        member: Vec<u8>,
    },
    /// Only one copy has a committed offset.
    OffsetOnly {
        /// That one.
        side: Side,
        /// The topic.
        topic: Vec<u8>,
        /// Its partition.
        partition: i32,
        /// The commit.
        commit: Commit,
        /// What became of it in the other copy.
        fate: Fate,
    },
    /// Both have one, and they differ.
    Offset {
        /// The topic.
        topic: Vec<u8>,
        /// Its partition.
        partition: i32,
        /// The commits.
        commits: Box<Pair<Commit>>,
    },
    /// Commits that wait for the end of a transaction differ.
    Pending {
        /// The topic.
        topic: Vec<u8>,
        /// Its partition.
        partition: i32,
        /// The commits that wait, by producer id.
        pending: Box<Pair<Vec<Pending>>>,
    },
    /// A record of the group differs in what no field above shows.
    Record {
        /// Its type.
        record_type: RecordType,
        /// The bytes of its key.
        key: Vec<u8>,
        /// Which copies have it.
        held: Pair<bool>,
    },
}

/// What differs in a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupDifferences {
    /// Its id.
    pub group: Vec<u8>,
    /// Its digests; none where there is no such group.
    pub digests: Pair<Option<Digest>>,
    /// One thing at least.
    pub differences: Vec<Difference>,
}

/// What differs in a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct StateComparison {
    /// Digests of all.
    pub digests: Pair<Digests>,
    /// Groups alike in both.
    pub same: usize,
    /// The others.
    pub groups: Vec<GroupDifferences>,
}

impl StateComparison {
    /// Whether anything differs.
    pub fn differs(&self) -> bool {
        !self.groups.is_empty()
    }
}

/// A copy to compare.
#[derive(Debug, Clone, Copy)]
pub struct Copy<'s> {
    /// What it holds.
    pub state: &'s State,
    /// Which part of its log that comes from.
    pub extent: Extent,
    /// The first offset that its log holds or held.
    pub start: i64,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
}

/// Compares two states. `parted` is the first offset at which the logs differ, if they do.
pub fn compare_states(copies: Pair<Copy<'_>>, topics: &Topics, parted: Option<i64>) -> StateComparison {
    let states = Pair { a: copies.a.state, b: copies.b.state };
    let digests = states.map(Digests::of);
    let groups = states.map(Groups::of);
    let same = digests.a.groups.iter().filter(|(name, digest)| digests.b.groups.get(*name) == Some(digest)).count();
    let mut found: Vec<_> = differing(&digests)
        .into_iter()
        .map(|name| {
            let get = |side: Side| digests.of(side).groups.get(name).copied();
            let both = Pair { a: of_side(&groups.a, name, topics), b: of_side(&groups.b, name, topics) };
            GroupDifferences {
                group: name.to_vec(),
                digests: Pair { a: get(Side::A), b: get(Side::B) },
                differences: of_group(&both, &groups, name),
            }
        })
        .collect();
    tell_fates(&mut found, &copies, parted);
    StateComparison { digests, same, groups: found }
}

/// Groups whose digests are not alike, by id.
fn differing(digests: &Pair<Digests>) -> Vec<&[u8]> {
    let apart =
        |here: Side, name: &[u8]| digests.of(here).groups.get(name) != digests.of(here.other()).groups.get(name);
    let in_a = digests.a.groups.keys().filter(|name| apart(Side::A, name));
    let only_in_b = digests.b.groups.keys().filter(|name| !digests.a.groups.contains_key(*name));
    let mut names: Vec<_> = in_a.chain(only_in_b).map(Vec::as_slice).collect();
    names.sort_unstable();
    names
}

fn of_side(groups: &Groups<'_>, name: &[u8], topics: &Topics) -> Option<Group> {
    groups.group(name, topics).filter(|group| !group.is_shell())
}

fn of_group(both: &Pair<Option<Group>>, groups: &Pair<Groups<'_>>, name: &[u8]) -> Vec<Difference> {
    let (a, b) = match (&both.a, &both.b) {
        (Some(a), Some(b)) => (a, b),
        (Some(a), None) => return vec![only(Side::A, a)],
        (None, Some(b)) => return vec![only(Side::B, b)],
        (None, None) => return Vec::new(),
    };
    let mut found = fields(None, group_fields(a), group_fields(b));
    members(a, b, &mut found);
    offsets(a, b, &mut found);
    records(groups, name, &mut found);
    found
}

/// The fate is told later.
fn only(side: Side, group: &Group) -> Difference {
    Difference::GroupOnly {
        side,
        kind: group.kind,
        state: group.state,
        members: group.members.len(),
        offsets: group.offsets.len(),
        last_commit: group.last_commit(),
        fate: as_if_at(group.log_offsets.1),
    }
}

/// Holds the place of a fate until it is told: the log offset of what only one copy has.
fn as_if_at(log_offset: i64) -> Fate {
    Fate::Deleted(super::fate::Tombstone { offset: log_offset, timestamp: -1, delete_horizon_ms: None })
}

fn fields(member: Option<&[u8]>, a: Named, b: Named) -> Vec<Difference> {
    let pairs = a.into_iter().zip(b).filter(|((_, a), (_, b))| a != b);
    let member = member.map(<[u8]>::to_vec);
    let differ =
        pairs.map(|((field, a), (_, b))| Difference::Field { member: member.clone(), field, values: Pair { a, b } });
    differ.collect()
}

fn members(a: &Group, b: &Group, found: &mut Vec<Difference>) {
    // A member id stands twice in no sound group; of two, the last is taken.
    let by_id = |group: &'_ Group| -> BTreeMap<Vec<u8>, Member> {
        group.members.iter().map(|member| (member.id.clone(), member.clone())).collect()
    };
    let (a, b) = (by_id(a), by_id(b));
    for (id, here) in &a {
        match b.get(id) {
            Some(there) => {
                let mut differ = fields(Some(id), member_fields(here), member_fields(there));
                // The assignment stands in its payload, and is told once.
                if here.assignment != there.assignment {
                    differ.retain(|it| !matches!(it, Difference::Field { field: "assignmentPayload", .. }));
                }
                found.extend(differ);
            }
            None => found.push(Difference::MemberOnly { side: Side::A, member: id.clone() }),
        }
    }
    let only_in_b = b.keys().filter(|id| !a.contains_key(*id));
    found.extend(only_in_b.map(|id| Difference::MemberOnly { side: Side::B, member: id.clone() }));
}

fn offsets(a: &Group, b: &Group, found: &mut Vec<Difference>) {
    let by_key = |group: &'_ Group| -> BTreeMap<(Vec<u8>, i32), Offset> {
        group.offsets.iter().map(|it| ((it.topic.clone(), it.partition), it.clone())).collect()
    };
    let (mut a, mut b) = (by_key(a), by_key(b));
    let mut keys: Vec<_> = a.keys().chain(b.keys()).cloned().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (here, there) = (a.remove(&key), b.remove(&key));
        let commit = |offset: &Option<Offset>| offset.as_ref().and_then(|it| it.committed.clone());
        committed(&key, Pair { a: commit(&here), b: commit(&there) }, found);
        let waiting = |offset: Option<Offset>| {
            let mut pending = offset.map(|it| it.pending).unwrap_or_default();
            pending.sort_by_key(|it| it.producer_id);
            pending
        };
        let pending = Pair { a: waiting(here), b: waiting(there) };
        let same = |(x, y): (&Pending, &Pending)| {
            (x.producer_id, x.producer_epoch) == (y.producer_id, y.producer_epoch) && same_commit(&x.commit, &y.commit)
        };
        let alike = pending.a.len() == pending.b.len() && pending.a.iter().zip(&pending.b).all(same);
        if !alike {
            let (topic, partition) = key;
            found.push(Difference::Pending { topic, partition, pending: Box::new(pending) });
        }
    }
}

fn committed((topic, partition): &(Vec<u8>, i32), commits: Pair<Option<Commit>>, found: &mut Vec<Difference>) {
    let (topic, partition) = (topic.clone(), *partition);
    let only = |side, commit: Commit, topic| {
        let fate = as_if_at(commit.log_offset);
        Difference::OffsetOnly { side, topic, partition, commit, fate }
    };
    found.extend(match (commits.a, commits.b) {
        (None, None) => None,
        (Some(a), None) => Some(only(Side::A, a, topic)),
        (None, Some(b)) => Some(only(Side::B, b, topic)),
        (Some(a), Some(b)) if same_commit(&a, &b) => None,
        (Some(a), Some(b)) => Some(Difference::Offset { topic, partition, commits: Box::new(Pair { a, b }) }),
    });
}

/// Whether two commits say the same, wherever and in whichever version they were written.
pub fn same_commit(a: &Commit, b: &Commit) -> bool {
    differing_parts(a, b).is_empty()
}

/// The fields in which two commits differ, by their names in JSON.
pub fn differing_parts(a: &Commit, b: &Commit) -> Vec<&'static str> {
    [
        ("offset", a.offset != b.offset),
        ("leaderEpoch", a.leader_epoch != b.leader_epoch),
        ("metadata", a.metadata != b.metadata),
        ("commitTimestamp", a.commit_timestamp != b.commit_timestamp),
        ("expireTimestamp", a.expire_timestamp != b.expire_timestamp),
        ("topicId", a.topic_id != b.topic_id),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}

/// Records that differ and that no difference found so far tells of.
fn records(groups: &Pair<Groups<'_>>, name: &[u8], found: &mut Vec<Difference>) {
    let both = groups.each_ref().map(|groups| digest::records(groups, name));
    let mut keys: Vec<_> = both.a.keys().chain(both.b.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let untold: Vec<_> = keys
        .into_iter()
        .filter(|key| both.a.get(*key) != both.b.get(*key))
        .filter_map(|bytes| Some((bytes, Key::decode(bytes).ok()?)))
        .filter(|(_, key)| !found.iter().any(|difference| tells_of(difference, key)))
        .map(|(bytes, key)| Difference::Record {
            record_type: key.record_type,
            key: bytes.clone(),
            held: Pair { a: both.a.contains_key(bytes), b: both.b.contains_key(bytes) },
        })
        .collect();
    found.extend(untold);
}

/// Whether a difference shows that the record of this key differs.
fn tells_of(difference: &Difference, key: &Key<'_>) -> bool {
    // Types whose fields are all among those compared: the group as a whole, and its members.
    let of_group = matches!(key.record_type.number(), 2 | 3 | 6 | 11 | 12 | 17 | 20);
    match (difference, key.member()) {
        (Difference::Field { member: Some(member), .. } | Difference::MemberOnly { member, .. }, Some(id)) => {
            member == id
        }
        (Difference::Field { member: None, .. }, None) => of_group,
        // A classic group's members stand in its one record.
        (Difference::Field { .. } | Difference::MemberOnly { .. }, None) => key.record_type.number() == 2,
        _ => false,
    }
}

/// Says of all that only one copy has what became of it in the other.
fn tell_fates(found: &mut [GroupDifferences], copies: &Pair<Copy<'_>>, parted: Option<i64>) {
    let mut graves: Pair<Graves> = Pair::default();
    for group in found.iter() {
        for difference in &group.differences {
            match difference {
                Difference::GroupOnly { side, .. } => graves.of_mut(side.other()).ask_group(&group.group),
                Difference::OffsetOnly { side, topic, partition, .. } => {
                    graves.of_mut(side.other()).ask_offset(&group.group, topic, *partition);
                }
                _ => {}
            }
        }
    }
    for side in [Side::A, Side::B] {
        let copy = copies.of(side);
        graves.of_mut(side).search(copy.state.values.segments(), copy.extent, copy.max_inflated);
    }
    for group in found {
        let name = &group.group;
        for difference in &mut group.differences {
            let (lacking, fate, tombstone) = match difference {
                Difference::GroupOnly { side, fate, .. } => (side.other(), fate, graves.of(side.other()).group(name)),
                Difference::OffsetOnly { side, topic, partition, fate, .. } => {
                    (side.other(), fate, graves.of(side.other()).offset(name, topic, *partition))
                }
                _ => continue,
            };
            let Fate::Deleted(place) = *fate else { continue };
            let (log_offset, copy) = (place.offset, copies.of(lacking));
            *fate = match tombstone {
                _ if parted.is_some_and(|parted| log_offset >= parted) => Fate::OtherHistory,
                Some(tombstone) if tombstone.offset > log_offset => Fate::Deleted(tombstone),
                _ if log_offset >= copy.state.end_offset => Fate::NotReached,
                _ if log_offset < copy.start => Fate::BeforeStart,
                _ => Fate::Gone,
            };
        }
    }
}
