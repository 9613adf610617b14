//! When a broker would remove a committed offset, and by which rule (KIP-211, KIP-496, KIP-848).
//!
//! Must not know: where groups come from.

use super::view::{Group, GroupState, GroupType, Offset};
use std::collections::BTreeSet;

/// What decides about an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The value itself says when (version 1).
    Explicit,
    /// Retention after a classic group became empty.
    EmptySince,
    /// Retention after the commit: a classic group is empty, and its record does not say since when.
    EmptyCommit,
    /// Retention after the commit: nobody in the group subscribes to the topic.
    Unsubscribed,
    /// Retention after the commit: a simple group, with offsets alone.
    Simple,
    /// Never, while a member subscribes to the topic.
    Subscribed,
    /// Never, while the members' subscriptions cannot be read.
    UnknownSubscription,
    /// Never, while a group of another protocol type than consumer has members.
    OtherProtocol,
    /// Not before the transaction ends that holds a commit of it.
    Pending,
}

impl Rule {
    /// As in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Rule::Explicit => "explicit",
            Rule::EmptySince => "empty-since",
            Rule::EmptyCommit => "empty-commit",
            Rule::Unsubscribed => "unsubscribed",
            Rule::Simple => "simple",
            Rule::Subscribed => "subscribed",
            Rule::UnknownSubscription => "unknown-subscription",
            Rule::OtherProtocol => "other-protocol",
            Rule::Pending => "pending",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Rule::Explicit => "as the commit asked",
            Rule::EmptySince => "retention after the group became empty",
            Rule::EmptyCommit => "retention after the commit (empty group)",
            Rule::Unsubscribed => "retention after the commit (nobody subscribes)",
            Rule::Simple => "retention after the commit (no group)",
            Rule::Subscribed => "never while subscribed",
            Rule::UnknownSubscription => "never while members' subscriptions are unreadable",
            Rule::OtherProtocol => "never while the group has members",
            Rule::Pending => "not while a transaction is open",
        }
    }
}

/// When an offset goes, in milliseconds since 1970 (at that very moment it counts as expired), and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// None is never, as things stand.
    pub at: Option<i64>,
    /// What decides.
    pub rule: Rule,
}

/// Decides about the offsets of one group.
#[derive(Debug)]
pub struct Expiries<'g> {
    group: &'g Group,
    /// In milliseconds.
    retention: i64,
    /// What the members subscribe to, once for all offsets; none if it cannot be known.
    subscribed: Option<BTreeSet<&'g [u8]>>,
}

enum Basis {
    Never(Rule),
    Since(i64, Rule),
    Commit(Rule),
}

impl<'g> Expiries<'g> {
    /// Under a retention in milliseconds (`offsets.retention.minutes`).
    pub fn of(group: &'g Group, retention: i64) -> Self {
        Expiries { group, retention, subscribed: group.subscribed_topics() }
    }

    /// When an offset goes. None where nothing is committed.
    pub fn expiry(&self, offset: &Offset) -> Option<Expiry> {
        let commit = offset.committed.as_ref()?;
        let never = |rule| Some(Expiry { at: None, rule });
        if !offset.pending.is_empty() {
            return never(Rule::Pending);
        }
        let (base, rule) = match self.basis(&offset.topic) {
            Basis::Never(rule) => return never(rule),
            Basis::Since(since, rule) => (since, rule),
            Basis::Commit(rule) => (commit.commit_timestamp, rule),
        };
        Some(match commit.expire_timestamp {
            Some(at) => Expiry { at: Some(at), rule: Rule::Explicit },
            None => Expiry { at: Some(base.saturating_add(self.retention)), rule },
        })
    }

    fn basis(&self, topic: &[u8]) -> Basis {
        let group = self.group;
        if group.kind != GroupType::Classic {
            return self.by_subscription(topic);
        }
        match (group.state, group.protocol_type.as_slice()) {
            (_, b"") => Basis::Commit(Rule::Simple),
            (GroupState::Empty, _) => group
                .state_timestamp
                .map_or(Basis::Commit(Rule::EmptyCommit), |since| Basis::Since(since, Rule::EmptySince)),
            (_, b"consumer") => self.by_subscription(topic),
            _ => Basis::Never(Rule::OtherProtocol),
        }
    }

    fn by_subscription(&self, topic: &[u8]) -> Basis {
        match &self.subscribed {
            None => Basis::Never(Rule::UnknownSubscription),
            Some(topics) if topics.contains(topic) => Basis::Never(Rule::Subscribed),
            Some(_) => Basis::Commit(Rule::Unsubscribed),
        }
    }
}
