//! Why a coordinator refuses a partition.
//!
//! Must not know: how it is found out.

use crate::fault::Fault;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;

/// The kinds of groups that clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// Made by a committed offset alone.
    Simple,
    /// Of the classic protocol.
    Classic,
    /// Of the consumer protocol (KIP-848).
    Consumer,
    /// KIP-932.
    Share,
    /// KIP-1071.
    Streams,
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupKind::Simple => "a group that only commits made",
            GroupKind::Classic => "a classic group",
            GroupKind::Consumer => "a consumer group",
            GroupKind::Share => "a share group",
            GroupKind::Streams => "a streams group",
        })
    }
}

/// Why a coordinator refuses a record, and the partition with it. [`Reason::code`] is the stable name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A record without a key.
    NullKey,
    /// A key of fewer than two bytes, which name its type.
    KeyTooShort,
    /// A key whose fields cannot be read; the fault's byte counts from the first of the key.
    Key(Fault),
    /// A type that this release refuses to pass over (before KIP-915).
    UnknownType(i16),
    /// A type that this release reads and then knows nothing to do with.
    TypeNotReplayed(i16),
    /// A value of fewer than two bytes, which name its version.
    ValueTooShort,
    /// A value version that this release does not know.
    UnknownVersion {
        /// As it stands.
        version: i16,
        /// The greatest that it knows.
        greatest: i16,
    },
    /// A value whose fields cannot be read.
    Value {
        /// Where the release stops; the byte counts from the first of the value.
        fault: Fault,
        /// Whose shape fits the value, if any does: a release, or `today`.
        whose: Option<&'static str>,
    },
    /// Two members of a classic group with one instance id.
    InstanceTwice,
    /// Members of a classic group that have no protocol in common: one member stands twice.
    NoCommonProtocol,
    /// A member's subscription that the release's reader trips over.
    Subscription(Fault),
    /// A record of a group that is not there.
    NoGroup(GroupKind),
    /// A record of a member that is not there.
    NoMember,
    /// The group is of another kind.
    WrongKind {
        /// What it is.
        is: GroupKind,
        /// What the record belongs to.
        wanted: GroupKind,
    },
    /// A group is deleted that has members.
    MembersLeft(usize),
    /// A group or its target assignment is deleted while members have targets.
    TargetsLeft(usize),
    /// A group is deleted whose target assignment was not deleted.
    AssignmentEpochLeft,
    /// A member is deleted whose current assignment was not deleted.
    MemberEpochLeft(i32),
    /// A member is deleted whose target was not deleted.
    TargetLeft,
    /// A partition is taken that another member, or the same one in its other list, owns.
    OwnedTwice {
        /// The topic's id.
        topic: [u8; 16],
        /// The partition.
        partition: i32,
        /// At which it is taken.
        epoch: i32,
        /// At which it is owned.
        owned_at: i32,
    },
    /// A task is taken that another process runs, or given up that its process does not run.
    TaskOwner,
    /// Something stands twice that is a key to the release: a topic id, a subtopology, a tag.
    Twice(&'static str),
    /// A topic without an id or a name, or with fewer than no partitions.
    BadTopic,
    /// As many assignment epochs as partitions are wanted.
    EpochCount {
        /// Partitions.
        partitions: usize,
        /// Epochs.
        epochs: usize,
    },
    /// A control record whose key is none.
    ControlKey,
    /// A record, or the body of a batch, that cannot be read; the fault's byte is one of the segment.
    BadRecord(Fault),
}

impl Reason {
    /// The stable name, which scripts may depend on.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::NullKey => "null-key",
            Reason::KeyTooShort => "key-too-short",
            Reason::Key(_) => "key-unreadable",
            Reason::UnknownType(_) => "unknown-type",
            Reason::TypeNotReplayed(_) => "type-not-replayed",
            Reason::ValueTooShort => "value-too-short",
            Reason::UnknownVersion { .. } => "unknown-version",
            Reason::Value { .. } => "value-unreadable",
            Reason::InstanceTwice => "instance-twice",
            Reason::NoCommonProtocol => "no-common-protocol",
            Reason::Subscription(_) => "subscription-unreadable",
            Reason::NoGroup(_) => "no-group",
            Reason::NoMember => "no-member",
            Reason::WrongKind { .. } => "wrong-group-kind",
            Reason::MembersLeft(_) => "members-left",
            Reason::TargetsLeft(_) => "targets-left",
            Reason::AssignmentEpochLeft => "assignment-epoch-left",
            Reason::MemberEpochLeft(_) => "member-epoch-left",
            Reason::TargetLeft => "target-left",
            Reason::OwnedTwice { .. } => "owned-twice",
            Reason::TaskOwner => "task-owner",
            Reason::Twice(_) => "twice",
            Reason::BadTopic => "bad-topic",
            Reason::EpochCount { .. } => "epoch-count",
            Reason::ControlKey => "control-key",
            Reason::BadRecord(_) => "bad-record",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NullKey => write!(f, "a record without a key"),
            Reason::KeyTooShort => write!(f, "a key too short to name a type"),
            Reason::Key(fault) => write!(f, "its key: {fault}"),
            Reason::UnknownType(number) => write!(f, "record type {number}, which this release does not pass over"),
            Reason::TypeNotReplayed(number) => {
                write!(f, "record type {number}, which this release reads but cannot replay")
            }
            Reason::ValueTooShort => write!(f, "a value too short to name a version"),
            Reason::UnknownVersion { version, greatest } => {
                write!(f, "value version {version}, and this release knows 0 to {greatest}")
            }
            Reason::Value { fault, whose: None } => write!(f, "its value: {fault}"),
            Reason::Value { fault, whose: Some(whose) } => {
                write!(f, "its value, which has the shape of {whose}: {fault}")
            }
            Reason::InstanceTwice => write!(f, "two members with one group.instance.id"),
            Reason::NoCommonProtocol => write!(f, "a member that stands twice, with others behind it"),
            Reason::Subscription(fault) => write!(f, "a member's subscription: {fault}"),
            Reason::NoGroup(kind) => write!(f, "a record of {kind} that is not there"),
            Reason::NoMember => write!(f, "a record of a member that is not there"),
            Reason::WrongKind { is, wanted } => write!(f, "a record of {wanted}, and the group is {is}"),
            Reason::MembersLeft(n) => write!(f, "the group is deleted with {n} members left"),
            Reason::TargetsLeft(n) => write!(f, "deleted with the targets of {n} members left"),
            Reason::AssignmentEpochLeft => {
                write!(f, "the group is deleted, and its target assignment was not deleted before")
            }
            Reason::MemberEpochLeft(epoch) => {
                write!(f, "a member is deleted whose current assignment was not deleted before (epoch {epoch})")
            }
            Reason::TargetLeft => write!(f, "a member is deleted whose target was not deleted before"),
            Reason::OwnedTwice { topic, partition, epoch, owned_at } => write!(
                f,
                "partition {partition} of topic id {} is taken at epoch {epoch} and owned at {owned_at}",
                URL_SAFE_NO_PAD.encode(topic)
            ),
            Reason::TaskOwner => write!(f, "a task that another process runs"),
            Reason::Twice(what) => write!(f, "{what} that stands twice"),
            Reason::BadTopic => write!(f, "a topic without an id or a name, or with fewer than no partitions"),
            Reason::EpochCount { partitions, epochs } => {
                write!(f, "{epochs} assignment epochs for {partitions} partitions")
            }
            Reason::ControlKey => write!(f, "a control record without a sound key"),
            Reason::BadRecord(fault) => write!(f, "{fault}"),
        }
    }
}
