//! The view: a group as a coordinator would show it, decoded from the latest values of its keys.
//!
//! Owned and plain, so that whatever prints, compares or judges groups stands on it. One group is made at a time.
//! Must not know: how the values came to be the latest ones, and how a group is printed.

use super::topics::Topics;
use crate::schema::wire::Uuid;
use std::collections::BTreeSet;

/// Which protocol a group lives by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// The classic protocol, or no protocol at all: offsets alone.
    Classic,
    /// The consumer protocol (KIP-848).
    Consumer,
    /// Share groups (KIP-932).
    Share,
    /// The streams protocol (KIP-1071).
    Streams,
}

impl GroupType {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            GroupType::Classic => "classic",
            GroupType::Consumer => "consumer",
            GroupType::Share => "share",
            GroupType::Streams => "streams",
        }
    }
}

/// The states that a log can show. PreparingRebalance and CompletingRebalance are never written: a group caught in a
/// rebalance shows its last finished generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupState {
    /// No members.
    Empty,
    /// Every member has what it is to have.
    Stable,
    /// A new target assignment is due.
    Assigning,
    /// Members are on their way to the target assignment.
    Reconciling,
    /// A streams group whose topology is not there, or not validated.
    NotReady,
    /// There is no such group.
    Dead,
}

impl GroupState {
    /// As the broker names it.
    pub fn name(self) -> &'static str {
        match self {
            GroupState::Empty => "Empty",
            GroupState::Stable => "Stable",
            GroupState::Assigning => "Assigning",
            GroupState::Reconciling => "Reconciling",
            GroupState::NotReady => "NotReady",
            GroupState::Dead => "Dead",
        }
    }
}

/// A group.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its id: any bytes, mostly UTF-8.
    pub name: Vec<u8>,
    /// Its protocol.
    pub kind: GroupType,
    /// Its state.
    pub state: GroupState,
    /// No record of its own: it is there because offsets are.
    pub simple: bool,
    /// `consumer`, `connect`, … for a classic group; the type's name for the others; empty for a simple group.
    pub protocol_type: Vec<u8>,
    /// The assignor a classic group chose.
    pub protocol: Option<Vec<u8>>,
    /// The member id of a classic group's leader.
    pub leader: Option<Vec<u8>>,
    /// The generation of a classic group.
    pub generation: Option<i32>,
    /// When a classic group came into its state, in milliseconds since 1970 (2.1 and later).
    pub state_timestamp: Option<i64>,
    /// The epoch of the group, unless it is classic.
    pub group_epoch: Option<i32>,
    /// The epoch of the target assignment, unless it is classic.
    pub assignment_epoch: Option<i32>,
    /// The epoch of a streams group's topology.
    pub topology_epoch: Option<i32>,
    /// Its members, by id.
    pub members: Vec<Member>,
    /// Its offsets, by topic and partition.
    pub offsets: Vec<Offset>,
    /// The regular expressions that its members subscribe with.
    pub regexes: Vec<Regex>,
    /// Where the share partitions stand.
    pub share_topics: Vec<ShareTopic>,
    /// The topics that a streams group's topology reads, by name; none if there is no topology.
    pub topology_topics: Option<Vec<Vec<u8>>>,
    /// The least and greatest log offset of the records that all this comes from.
    pub log_offsets: (i64, i64),
    /// Why it may be older than the log once said, if damage may have cost something.
    pub uncertain: Option<String>,
    /// What is odd about its records, as far as a reader should know: members without group record and the like.
    pub oddities: Vec<String>,
}

/// A member of a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Member {
    /// Its id.
    pub id: Vec<u8>,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<Vec<u8>>,
    /// `client.id`.
    pub client_id: Vec<u8>,
    /// Where it connects from, with a slash in front.
    pub client_host: Vec<u8>,
    /// `client.rack`.
    pub rack_id: Option<Vec<u8>>,
    /// The epoch it has reached; -1 it left, -2 a static member that left for a while. None in a classic group.
    pub epoch: Option<i32>,
    /// The epoch before that.
    pub previous_epoch: Option<i32>,
    /// The broker's constant for where it stands, such as `UNREVOKED_PARTITIONS`.
    pub state: Option<String>,
    /// The topics it subscribes to, by name; none if it cannot be read.
    pub subscribed_topics: Option<Vec<Vec<u8>>>,
    /// The regular expression it subscribes with.
    pub subscribed_regex: Option<Vec<u8>>,
    /// The server-side assignor it asks for.
    pub server_assignor: Option<Vec<u8>>,
    /// In milliseconds.
    pub rebalance_timeout_ms: Option<i32>,
    /// In milliseconds.
    pub session_timeout_ms: Option<i32>,
    /// What it has; in a consumer group also what it is to give up and has not given up yet, as a broker answers.
    pub assignment: Assignment,
    /// What it is to have; none in a classic group.
    pub target: Option<Assignment>,
    /// What it is to give up first.
    pub pending_revocation: Option<Assignment>,
    /// Whether it speaks the group's own protocol, in a consumer group that may hold classic members too.
    pub upgraded: Option<bool>,
    /// The epoch of the topology it runs, in a streams group.
    pub topology_epoch: Option<i32>,
    /// The process it runs in, in a streams group.
    pub process_id: Option<Vec<u8>>,
    /// Where its application answers queries: host and port, in a streams group.
    pub user_endpoint: Option<(Vec<u8>, u16)>,
    /// Its client tags, in a streams group.
    pub client_tags: Vec<(Vec<u8>, Vec<u8>)>,
    /// JSON objects of what a classic member put into subscription and assignment.
    pub payloads: Option<(String, String)>,
    /// The log offset of the last record about it.
    pub log_offset: i64,
}

/// What a member has or is to have.
#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// Partitions of topics.
    Topics(Vec<TopicPartitions>),
    /// Tasks of a streams group.
    Tasks {
        /// Processed.
        active: Vec<Tasks>,
        /// Kept up to date in reserve.
        standby: Vec<Tasks>,
        /// Being restored.
        warmup: Vec<Tasks>,
    },
    /// Something else, or something that cannot be read.
    Opaque,
}

impl Default for Assignment {
    fn default() -> Self {
        Assignment::Topics(Vec::new())
    }
}

impl Assignment {
    /// How many partitions or tasks it has.
    pub fn len(&self) -> usize {
        match self {
            Assignment::Topics(topics) => topics.iter().map(|topic| topic.partitions.len()).sum(),
            Assignment::Tasks { active, standby, warmup } => {
                [active, standby, warmup].into_iter().flatten().map(|tasks| tasks.partitions.len()).sum()
            }
            Assignment::Opaque => 0,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopicPartitions {
    /// Its name, if it is known.
    pub topic: Option<Vec<u8>>,
    /// Its id, if the record gives one.
    pub topic_id: Option<Uuid>,
    /// The partitions, ascending.
    pub partitions: Vec<i32>,
}

/// Tasks of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tasks {
    /// The subtopology.
    pub subtopology_id: Vec<u8>,
    /// The partitions, ascending.
    pub partitions: Vec<i32>,
}

/// An offset of a group: what is committed, and what waits for the end of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Offset {
    /// The topic.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// What is committed, if anything is.
    pub committed: Option<Commit>,
    /// What waits, by log offset.
    pub pending: Vec<Pending>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The committed offset: where the group goes on reading.
    pub offset: i64,
    /// Of the last record read; -1 unknown.
    pub leader_epoch: i32,
    /// Free text of the client.
    pub metadata: Vec<u8>,
    /// When it was committed, in milliseconds since 1970.
    pub commit_timestamp: i64,
    /// When it expires by the value itself (version 1), in milliseconds since 1970.
    pub expire_timestamp: Option<i64>,
    /// The topic's id, if the value has one (4.2 and later clients).
    pub topic_id: Option<Uuid>,
    /// Version of the value.
    pub version: i16,
    /// The offset of its record.
    pub log_offset: i64,
}

/// A commit that waits for the end of its transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Whose transaction.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// What it would commit.
    pub commit: Commit,
}

/// A regular expression, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Regex {
    /// The expression.
    pub expression: Vec<u8>,
    /// The topics it stood for.
    pub topics: Vec<Vec<u8>>,
    /// When it was resolved, in milliseconds since 1970.
    pub timestamp: i64,
}

/// Where the share partitions of a topic stand.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareTopic {
    /// The topic and its partitions; none while it is deleted.
    pub topic: TopicPartitions,
    /// `initializing`, `initialized` or `deleting`.
    pub state: &'static str,
}

impl Group {
    /// When the group last committed, in milliseconds since 1970.
    pub fn last_commit(&self) -> Option<i64> {
        self.offsets.iter().filter_map(|offset| Some(offset.committed.as_ref()?.commit_timestamp)).max()
    }

    /// The topics that its members subscribe to; none if they cannot be known: a classic member's subscription that
    /// cannot be read, a streams group without topology.
    pub fn subscribed_topics(&self) -> Option<BTreeSet<&[u8]>> {
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        if self.kind == GroupType::Streams {
            return Some(self.topology_topics.as_ref()?.iter().map(Vec::as_slice).collect());
        }
        let mut topics = BTreeSet::new();
        let mut expressions = BTreeSet::new();
        for member in &self.members {
            topics.extend(member.subscribed_topics.as_ref()?.iter().map(Vec::as_slice));
            expressions.extend(member.subscribed_regex.as_deref());
        }
        let resolved = self.regexes.iter().filter(|regex| expressions.contains(regex.expression.as_slice()));
        topics.extend(resolved.flat_map(|regex| regex.topics.iter().map(Vec::as_slice)));
        Some(topics)
    }

    /// Whether nothing would be lost if it were not shown: a simple group whose offsets are all gone.
    pub fn is_shell(&self) -> bool {
        self.simple && self.offsets.is_empty()
    }
}

/// Partitions of a topic that a record names by id.
pub(super) fn by_id(topics: &Topics, id: Uuid, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions {
        topic: topics.name(id).map(<[u8]>::to_vec),
        topic_id: Some(id),
        partitions: sorted(partitions.iter().copied()),
    }
}

/// Partitions, ascending.
pub(super) fn sorted(partitions: impl Iterator<Item = i32>) -> Vec<i32> {
    let mut partitions: Vec<_> = partitions.collect();
    partitions.sort_unstable();
    partitions
}
