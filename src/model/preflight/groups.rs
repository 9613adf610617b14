//! The groups of a partition as one line's coordinator holds them while it replays, as far as its rules ask.
//!
//! Must not know: bytes, and where a record stands.

use super::coordinator::Line;
use super::read::Body;
use super::reason::{GroupKind, Reason};
use super::tasks::{Processes, Task};
use crate::schema::RecordType;
use crate::schema::wire::Uuid;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::cell::Cell;

/// A group, or its place where there is none.
#[derive(Debug, Default)]
pub(super) enum Slot {
    /// There is none.
    #[default]
    Absent,
    /// Made by commits alone.
    Simple,
    /// Of the classic protocol.
    Classic,
    /// Of another.
    Modern(Box<Modern>),
}

impl Slot {
    fn kind(&self) -> Option<GroupKind> {
        match self {
            Slot::Absent => None,
            Slot::Simple => Some(GroupKind::Simple),
            Slot::Classic => Some(GroupKind::Classic),
            Slot::Modern(group) => Some(group.kind),
        }
    }
}

/// A consumer, share or streams group.
#[derive(Debug)]
pub(super) struct Modern {
    kind: GroupKind,
    /// Whether its target assignment was deleted, and not made since.
    assignment_deleted: bool,
    members: HashMap<Box<[u8]>, Member, FixedState>,
    /// Members with a target.
    targets: HashSet<Box<[u8]>, FixedState>,
    /// At which epoch a partition is owned (consumer groups).
    owned: HashMap<(Uuid, i32), i32, FixedState>,
    /// Who runs a task (streams groups, where somebody asks).
    processes: Processes,
}

#[derive(Debug, Default)]
struct Member {
    epoch: i32,
    assigned: Vec<(Uuid, i32)>,
    pending: Vec<(Uuid, i32)>,
    tasks: Vec<Task>,
    process: Option<Box<[u8]>>,
}

/// What a record of a modern group is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Group,
    /// Of the whole group, and nothing that the rules ask for.
    Other,
    Member,
    TargetEpoch,
    Target,
    Current,
}

/// A record whose key and value were read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'c> {
    pub record_type: RecordType,
    /// As the broker reads it: with U+FFFD for what is no UTF-8.
    pub member: &'c [u8],
    pub body: &'c Body,
}

/// Applies a record to its group. What is refused is told, and the record applied as far as makes sense, so that the
/// next refusal is another one.
pub(super) fn apply(line: Line, slot: &mut Slot, change: Change<'_>, refuse: &mut impl FnMut(Reason)) {
    let (kind, part) = match change.record_type {
        RecordType::LegacyOffsetCommit | RecordType::OffsetCommit => {
            if matches!((change.body, &*slot), (Body::Present, Slot::Absent)) {
                *slot = Slot::Simple;
            }
            return;
        }
        RecordType::GroupMetadata => {
            *slot = match change.body {
                Body::Classic { simple: true } => Slot::Simple,
                Body::Classic { simple: false } => Slot::Classic,
                _ => Slot::Absent,
            };
            return;
        }
        other => place(other),
    };
    if line < Line::V41 && change.record_type == RecordType::ShareGroupStatePartitionMetadata {
        return refuse(Reason::TypeNotReplayed(change.record_type.number()));
    }
    let tombstone = *change.body == Body::Tombstone;
    let sound = Cell::new(true);
    let mut refuse = |reason| {
        sound.set(false);
        refuse(reason);
    };
    let Some(group) = group(line, slot, (kind, part), tombstone, &mut refuse) else { return };
    match change.body {
        Body::Tombstone if part == Part::Group => {
            group.delete(&mut refuse);
            *slot = Slot::Absent;
        }
        // One reason a record.
        Body::Odd(_) if !sound.get() => {}
        Body::Odd(_) if part == Part::Current && group.lacks(line, change.member) => refuse(Reason::NoMember),
        Body::Odd(reason) => refuse(reason.clone()),
        _ => group.apply(line, part, change, &mut refuse),
    }
}

/// The kind of group and the part of it that a type is about.
fn place(record_type: RecordType) -> (GroupKind, Part) {
    use RecordType as T;
    let kind = match record_type.number() {
        3..=8 | 16 => GroupKind::Consumer,
        9..=15 => GroupKind::Share,
        _ => GroupKind::Streams,
    };
    let part = match record_type {
        T::ConsumerGroupMetadata | T::ShareGroupMetadata | T::StreamsGroupMetadata => Part::Group,
        T::ConsumerGroupMemberMetadata | T::ShareGroupMemberMetadata | T::StreamsGroupMemberMetadata => Part::Member,
        T::ConsumerGroupTargetAssignmentMetadata
        | T::ShareGroupTargetAssignmentMetadata
        | T::StreamsGroupTargetAssignmentMetadata => Part::TargetEpoch,
        T::ConsumerGroupTargetAssignmentMember
        | T::ShareGroupTargetAssignmentMember
        | T::StreamsGroupTargetAssignmentMember => Part::Target,
        T::ConsumerGroupCurrentMemberAssignment
        | T::ShareGroupCurrentMemberAssignment
        | T::StreamsGroupCurrentMemberAssignment => Part::Current,
        _ => Part::Other,
    };
    (kind, part)
}

/// The group that a record goes to, made if need be; none if it is not there and need not be.
fn group<'s>(
    line: Line,
    slot: &'s mut Slot,
    (kind, part): (GroupKind, Part),
    tombstone: bool,
    refuse: &mut impl FnMut(Reason),
) -> Option<&'s mut Modern> {
    let forgives = forgives(line, kind);
    let replaces = match slot.kind() {
        None if tombstone => {
            if !forgives {
                refuse(Reason::NoGroup(kind));
            }
            return None;
        }
        None => {
            if !forgives && !matches!(part, Part::Group | Part::Member) {
                refuse(Reason::NoGroup(kind));
            }
            true
        }
        Some(is) if is == kind => false,
        Some(GroupKind::Simple) if becomes(line, kind) => true,
        Some(is) => {
            refuse(Reason::WrongKind { is, wanted: kind });
            if tombstone {
                return None;
            }
            true
        }
    };
    if replaces {
        *slot = Slot::Modern(Box::new(Modern::new(kind)));
    }
    match slot {
        Slot::Modern(group) => Some(group),
        _ => None,
    }
}

/// Whether records of what is not there are passed over, or make it.
fn forgives(line: Line, kind: GroupKind) -> bool {
    match kind {
        GroupKind::Consumer => line.forgives_consumers(),
        GroupKind::Share => line.forgives_shares(),
        _ => true,
    }
}

/// Whether a group that commits made may become one of a kind.
fn becomes(line: Line, kind: GroupKind) -> bool {
    match kind {
        GroupKind::Consumer => line.forgives_consumers(),
        GroupKind::Streams => line.makes_streams_of_simple(),
        _ => false,
    }
}

impl Modern {
    /// A new one has an assignment epoch, though not -1: it cannot be deleted before its target assignment is.
    fn new(kind: GroupKind) -> Self {
        Modern {
            kind,
            assignment_deleted: false,
            members: HashMap::default(),
            targets: HashSet::default(),
            owned: HashMap::default(),
            processes: Processes::default(),
        }
    }

    fn delete(&self, refuse: &mut impl FnMut(Reason)) {
        if !self.members.is_empty() {
            refuse(Reason::MembersLeft(self.members.len()));
        } else if !self.targets.is_empty() && self.kind != GroupKind::Streams {
            refuse(Reason::TargetsLeft(self.targets.len()));
        } else if !self.assignment_deleted {
            refuse(Reason::AssignmentEpochLeft);
        }
    }

    fn apply(&mut self, line: Line, part: Part, change: Change<'_>, refuse: &mut impl FnMut(Reason)) {
        let Change { member, body, .. } = change;
        match (part, body) {
            (Part::Group | Part::Other, _) => {}
            (Part::TargetEpoch, Body::Tombstone) => {
                if !self.targets.is_empty() {
                    refuse(Reason::TargetsLeft(self.targets.len()));
                }
                self.assignment_deleted = true;
            }
            (Part::TargetEpoch, _) => self.assignment_deleted = false,
            (Part::Target, Body::Tombstone) => drop(self.targets.remove(member)),
            (Part::Target, _) => drop(self.targets.insert(member.into())),
            (Part::Member, Body::Tombstone) => self.remove_member(line, member, refuse),
            (Part::Member, _) => {
                // Its assignment is as it was, but it gives it up and takes it again.
                let mut again = self.members.remove(member).unwrap_or_default();
                self.release(&again, refuse);
                if let Body::Process(process) = body {
                    again.process = Some(process.clone());
                }
                self.take(line, member, again, refuse);
            }
            (Part::Current, body) => self.current(line, member, body, refuse),
        }
    }

    /// Whether a member would have to be there, and is not.
    fn lacks(&self, line: Line, id: &[u8]) -> bool {
        !forgives(line, self.kind) && !self.members.contains_key(id)
    }

    fn remove_member(&mut self, line: Line, id: &[u8], refuse: &mut impl FnMut(Reason)) {
        let Some(member) = self.members.remove(id) else {
            if !forgives(line, self.kind) {
                refuse(Reason::NoMember);
            }
            return;
        };
        if member.epoch != -1 {
            refuse(Reason::MemberEpochLeft(member.epoch));
        } else if self.targets.contains(id) {
            refuse(Reason::TargetLeft);
        }
        self.release(&member, refuse);
    }

    fn current(&mut self, line: Line, id: &[u8], body: &Body, refuse: &mut impl FnMut(Reason)) {
        let before = self.members.remove(id);
        match &before {
            Some(before) => self.release(before, refuse),
            None if forgives(line, self.kind) => {}
            None => refuse(Reason::NoMember),
        }
        if before.is_none() && *body == Body::Tombstone {
            return;
        }
        let process = before.and_then(|before| before.process);
        let after = match body {
            Body::Current { epoch, assigned, pending, tasks } => Member {
                epoch: *epoch,
                assigned: assigned.clone(),
                pending: pending.clone(),
                tasks: tasks.clone(),
                process,
            },
            _ => Member { epoch: -1, process, ..Member::default() },
        };
        self.take(line, id, after, refuse);
    }

    /// Puts a member in, with all that it owns.
    fn take(&mut self, line: Line, id: &[u8], member: Member, refuse: &mut impl FnMut(Reason)) {
        let epoch = member.epoch;
        for &(topic, partition) in member.assigned.iter().chain(&member.pending) {
            let taken = self.owned.insert((topic, partition), epoch);
            let Some(owned_at) = taken.filter(|at| !line.takes_at_greater_epoch() || *at >= epoch) else { continue };
            refuse(Reason::OwnedTwice { topic: topic.0, partition, epoch, owned_at });
        }
        if self.processes.take(member.process.as_deref(), &member.tasks).is_err() {
            refuse(Reason::TaskOwner);
        }
        self.members.insert(id.into(), member);
    }

    /// A partition that another has taken meanwhile stays with it.
    fn release(&mut self, member: &Member, refuse: &mut impl FnMut(Reason)) {
        for key in member.assigned.iter().chain(&member.pending) {
            if self.owned.get(key) == Some(&member.epoch) {
                self.owned.remove(key);
            }
        }
        if self.processes.release(member.process.as_deref(), &member.tasks).is_err() {
            refuse(Reason::TaskOwner);
        }
    }
}
