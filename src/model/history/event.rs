//! What can be told of a group: one value for each step of its story, with all its facts.
//!
//! Must not know: how the story is found in the log, and how it is printed.

use crate::fault::FaultKind;
use crate::model::view::{Assignment, GroupState, GroupType, Member, ShareTopic, TopicPartitions};
use std::collections::BTreeSet;

/// The story of one group in one partition, in log order.
#[derive(Debug, Clone)]
pub struct Story {
    /// The group.
    pub group: Vec<u8>,
    /// The protocol it spoke last; none if only offsets are known of it.
    pub kind: Option<GroupType>,
    /// What happened.
    pub events: Vec<Event>,
}

/// Something that happened, and where the log says so.
#[derive(Debug, Clone)]
pub struct Event {
    /// The first log offset that tells of it.
    pub offset: i64,
    /// The last one.
    pub last_offset: i64,
    /// The time of the first record, in milliseconds since 1970; -1 where it has none.
    pub timestamp: i64,
    /// The time of the last one.
    pub last_timestamp: i64,
    /// Whether it lies in the stretch that was asked for.
    pub inside: bool,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum What {
    /// The group, or members of it, took a step.
    Turn(Box<Turn>),
    /// Many steps in a short time.
    Storm(Box<Storm>),
    /// Commits between two other events, summed up.
    Commits(Box<Span>),
    /// Commits that were written together (or became valid together), each told.
    Commit(Box<Commits>),
    /// Commits of a transaction that did not come to be.
    Transaction(Box<Unfinished>),
    /// Offsets that were removed.
    Forgotten(Box<Forgotten>),
    /// Records that are missing in the log.
    Gap(Gap),
    /// Bytes that could not be read.
    Damage(Box<Damage>),
}

/// What is known of a group as a whole, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Its protocol.
    pub kind: GroupType,
    /// Its state.
    pub state: GroupState,
    /// `consumer`, `connect`, …; empty for none.
    pub protocol_type: Vec<u8>,
    /// The assignor that a classic group chose.
    pub protocol: Option<Vec<u8>>,
    /// The member id of a classic group's leader.
    pub leader: Option<Vec<u8>>,
    /// Of a classic group.
    pub generation: Option<i32>,
    /// Of the other groups.
    pub group_epoch: Option<i32>,
    /// Of the target assignment.
    pub assignment_epoch: Option<i32>,
    /// Of a streams group's topology.
    pub topology_epoch: Option<i32>,
    /// The hash over the topics that the group reads (4.1 and later), 0 for none.
    pub metadata_hash: i64,
    /// How many members it has.
    pub members: usize,
}

/// A step of the group: what a record of a classic group, or several records written together, changed.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The group before; none if there was none, or none is known.
    pub before: Option<Facts>,
    /// The group after; none if it is gone.
    pub after: Option<Facts>,
    /// The members that joined, left, changed, or were written again.
    pub members: Vec<MemberStep>,
    /// How many other members there are.
    pub unchanged: usize,
    /// Regular expressions that were resolved (to these topics) or forgotten.
    pub regexes: Vec<Resolved>,
    /// Where the share partitions stand, if that was written.
    pub share_topics: Option<Vec<ShareTopic>>,
    /// The topics that the group reads and their numbers of partitions, if that was written (4.0 and earlier).
    pub reads: Option<Vec<(Vec<u8>, i32)>>,
}

/// A regular expression and the topics it stands for now; none if it was forgotten.
pub type Resolved = (Vec<u8>, Option<Vec<Vec<u8>>>);

/// A member before and after a step.
#[derive(Debug, Clone)]
pub struct MemberStep {
    /// Before; none if it was not there.
    pub before: Option<Member>,
    /// After; none if it is not there any more.
    pub after: Option<Member>,
}

/// What a step meant to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    Joined,
    /// It is gone.
    Left,
    /// A static member left for a while (epoch -2).
    LeftForNow,
    /// It stayed.
    Stayed,
}

impl Fate {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Joined => "joined",
            Fate::Left => "left",
            Fate::LeftForNow => "left-for-now",
            Fate::Stayed => "stayed",
        }
    }
}

/// The epoch of a static member that left for a while.
pub const LEFT_FOR_NOW: i32 = -2;

impl MemberStep {
    /// Its id.
    pub fn id(&self) -> &[u8] {
        self.after.as_ref().or(self.before.as_ref()).map_or(&[], |member| &member.id)
    }

    /// What the step meant to it.
    pub fn fate(&self) -> Fate {
        let away = |member: &Member| member.epoch == Some(LEFT_FOR_NOW);
        match (&self.before, &self.after) {
            (None, _) => Fate::Joined,
            (_, None) => Fate::Left,
            (Some(before), Some(after)) if away(after) && !away(before) => Fate::LeftForNow,
            _ => Fate::Stayed,
        }
    }

    /// What it has got and given up.
    pub fn holdings(&self) -> Difference {
        let of = |member: &Option<Member>| member.as_ref().map_or_else(BTreeSet::new, |it| pieces(&it.assignment));
        Difference::between(&of(&self.before), &of(&self.after))
    }

    /// What it is to get and to give up, if it had or has a target.
    pub fn target(&self) -> Option<Difference> {
        let of = |member: &Option<Member>| member.as_ref()?.target.as_ref().map(pieces);
        let (before, after) = (of(&self.before), of(&self.after));
        if before.is_none() && after.is_none() {
            return None;
        }
        Some(Difference::between(&before.unwrap_or_default(), &after.unwrap_or_default()))
    }
}

/// How a member has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A partition of a topic.
    Partition,
    /// A task that it processes.
    Active,
    /// A task that it keeps up to date in reserve.
    Standby,
    /// A task that it restores.
    Warmup,
}

/// A partition or a task: how a member has it, of what (a topic, or a subtopology), and which.
pub type Piece = (Role, Vec<u8>, i32);

/// What changed between two assignments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Only in the later one.
    pub gained: Vec<Piece>,
    /// Only in the earlier one.
    pub lost: Vec<Piece>,
    /// In both.
    pub kept: Vec<Piece>,
}

impl Difference {
    fn between(before: &BTreeSet<Piece>, after: &BTreeSet<Piece>) -> Self {
        Difference {
            gained: after.difference(before).cloned().collect(),
            lost: before.difference(after).cloned().collect(),
            kept: before.intersection(after).cloned().collect(),
        }
    }

    /// Whether nothing changed.
    pub fn is_nothing(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty()
    }
}

/// An assignment, piece by piece, in order.
pub fn pieces(assignment: &Assignment) -> BTreeSet<Piece> {
    match assignment {
        Assignment::Topics(topics) => topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|it| (Role::Partition, name_of(topic), *it)))
            .collect(),
        Assignment::Tasks { active, standby, warmup } => {
            let roles = [(Role::Active, active), (Role::Standby, standby), (Role::Warmup, warmup)];
            let tasks = roles.into_iter().flat_map(|(role, tasks)| tasks.iter().map(move |task| (role, task)));
            tasks
                .flat_map(|(role, task)| task.partitions.iter().map(move |it| (role, task.subtopology_id.clone(), *it)))
                .collect()
        }
        Assignment::Opaque => BTreeSet::new(),
    }
}

/// The name of a topic, or its id as Kafka prints it where the name is unknown.
pub fn name_of(topic: &TopicPartitions) -> Vec<u8> {
    use base64::Engine;
    let id = || topic.topic_id.map(|id| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(id.0).into_bytes());
    topic.topic.clone().or_else(id).unwrap_or_default()
}

/// Many steps in a short time, with the commits between them.
#[derive(Debug, Clone)]
pub struct Storm {
    /// How many generations or epochs.
    pub turns: u64,
    /// The group before the first.
    pub before: Option<Facts>,
    /// The group after the last.
    pub after: Option<Facts>,
    /// The least and greatest number of members.
    pub members: (usize, usize),
    /// How many times a member joined.
    pub joined: u64,
    /// How many times a member left.
    pub left: u64,
    /// How often each client joined or left: by instance id, else client id. At most [`Storm::MOST_CLIENTS`].
    pub clients: Vec<(Vec<u8>, u64)>,
    /// Commits between them.
    pub commits: u64,
}

impl Storm {
    /// Clients that are counted; the moves of others count in `joined` and `left` only.
    pub const MOST_CLIENTS: usize = 1000;
}

/// Whether anyone was in the group when something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It had members.
    Members,
    /// It had none.
    NoMembers,
    /// No record of a group is known, only offsets.
    NoGroup,
}

impl Presence {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Presence::Members => "members",
            Presence::NoMembers => "no-members",
            Presence::NoGroup => "no-group",
        }
    }
}

/// Commits between two other events.
#[derive(Debug, Clone)]
pub struct Span {
    /// How many.
    pub commits: u64,
    /// In how many batches (or transactions).
    pub batches: u64,
    /// Whether anyone was in the group.
    pub presence: Presence,
    /// By topic and partition.
    pub moves: Vec<Move>,
    /// The producers whose committed transactions brought some of them: id, last epoch, how many transactions.
    pub producers: Vec<(i64, i16, u64)>,
}

/// The way of one committed offset over a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The topic.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// The committed offset before the span, if one is known.
    pub before: Option<i64>,
    /// The first one of the span.
    pub first: i64,
    /// The last one.
    pub last: i64,
    /// How many.
    pub commits: u64,
    /// When the first was committed, in milliseconds since 1970.
    pub first_timestamp: i64,
    /// When the last was committed.
    pub last_timestamp: i64,
    /// The log offset of the last one.
    pub log_offset: i64,
}

/// What is remarkable about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// Nothing.
    Usual,
    /// It goes back.
    Rewind,
    /// It goes much farther than those before.
    Jump,
    /// A later record stood there already when its transaction was committed, so it does not count.
    Superseded,
}

impl Flag {
    /// As in JSON; none for the usual.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Flag::Usual => None,
            Flag::Rewind => Some("rewind"),
            Flag::Jump => Some("jump"),
            Flag::Superseded => Some("superseded"),
        }
    }
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitStep {
    /// The topic.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// The committed offset before, if one is known.
    pub before: Option<i64>,
    /// The committed offset.
    pub offset: i64,
    /// Of the last record read; -1 unknown.
    pub leader_epoch: i32,
    /// Free text of the client.
    pub metadata: Vec<u8>,
    /// When it was committed, in milliseconds since 1970.
    pub commit_timestamp: i64,
    /// When it expires by the value itself.
    pub expire_timestamp: Option<i64>,
    /// The offset of its record.
    pub log_offset: i64,
    /// What is remarkable.
    pub flag: Flag,
}

impl CommitStep {
    /// How far it went, if that is known.
    pub fn step(&self) -> Option<i64> {
        self.before.map(|before| self.offset.saturating_sub(before))
    }
}

/// Commits of one batch, or of one committed transaction.
#[derive(Debug, Clone)]
pub struct Commits {
    /// Each.
    pub steps: Vec<CommitStep>,
    /// Whether anyone was in the group.
    pub presence: Presence,
    /// The producer whose transaction it was: id and epoch.
    pub producer: Option<(i64, i16)>,
}

impl Commits {
    /// The most remarkable of its flags.
    pub fn flag(&self) -> Flag {
        let any = |flag| self.steps.iter().any(|step| step.flag == flag);
        match () {
            () if any(Flag::Rewind) => Flag::Rewind,
            () if any(Flag::Jump) => Flag::Jump,
            () => Flag::Usual,
        }
    }
}

/// Commits of a transaction that was aborted, or has no end.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// The producer.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Whether it was aborted, by the event's last offset; else it is open.
    pub aborted: bool,
    /// What it would have committed.
    pub steps: Vec<CommitStep>,
}

/// Offsets that were removed, by tombstones of one batch.
#[derive(Debug, Clone)]
pub struct Forgotten {
    /// Which.
    pub offsets: Vec<Removed>,
    /// Why, as far as can be told.
    pub why: Why,
}

/// An offset that was removed.
#[derive(Debug, Clone)]
pub struct Removed {
    /// The topic.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// The committed offset it had, if that is known.
    pub offset: Option<i64>,
    /// When that was committed, in milliseconds since 1970.
    pub commit_timestamp: Option<i64>,
    /// The log offset of that commit.
    pub log_offset: Option<i64>,
    /// How many commits of open transactions went with it.
    pub pending: u64,
}

/// Why offsets were removed: a guess, by what stands around the tombstones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The time that the commits themselves gave had come.
    ExpireTimestamp,
    /// They were older than the retention.
    Expired,
    /// The group was deleted with them.
    GroupDeleted,
    /// Other groups lost the same topic in the same batch, or members were subscribed to it.
    TopicDeleted,
    /// They were younger than the retention, and the group stayed.
    OffsetsDeleted,
    /// The removed values are not known.
    Unknown,
}

impl Why {
    /// As in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Why::ExpireTimestamp => "expire-timestamp",
            Why::Expired => "expired",
            Why::GroupDeleted => "group-deleted",
            Why::TopicDeleted => "topic-deleted",
            Why::OffsetsDeleted => "offsets-deleted",
            Why::Unknown => "unknown",
        }
    }
}

/// Offsets that are missing in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first offset that was met.
    pub begins: i64,
    /// How many are missing behind it.
    pub missing: i64,
    /// Behind which offset none is missing any more.
    pub before: i64,
}

/// Bytes that could not be read.
#[derive(Debug, Clone)]
pub struct Damage {
    /// The segment's file name.
    pub segment: String,
    /// Where in it, in bytes: of the batch, or of the bytes that are no batch.
    pub position: u64,
    /// What is wrong.
    pub fault: FaultKind,
    /// How many more like it were met and are not told.
    pub more: u64,
    /// Whether a record of this very group is lost, or any group may have lost one.
    pub own: bool,
}
