//! What a copy of the log gives away: hosts, and text that looks like a secret.
//!
//! Must not know: how a secret looks.

use super::OneGroup;
use super::members::shown;
use super::secrets::kind_of;
use crate::audit::{Code, Fact, Finding, List};
use crate::words::counted;
use std::collections::{BTreeMap, BTreeSet};

/// So many hosts are told apart.
const MOST_HOSTS: usize = 10_000;
/// So many are named.
const NAMED: usize = 20;

/// Hosts that members connect from, and in how many partitions.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    hosts: BTreeSet<Vec<u8>>,
    members: u64,
    partitions: u64,
}

impl Hosts {
    /// Adds that of a member; an empty one is none.
    pub(super) fn add(&mut self, host: &[u8]) {
        if host.is_empty() {
            return;
        }
        self.members += 1;
        if self.hosts.len() < MOST_HOSTS && !self.hosts.contains(host) {
            self.hosts.insert(host.to_vec());
        }
    }

    /// How many members there were so far.
    pub(super) fn members(&self) -> u64 {
        self.members
    }

    /// A partition ends, before which there were so many members.
    pub(super) fn end_partition(&mut self, members_before: u64) {
        self.partitions += u64::from(self.members > members_before);
    }
}

/// One finding for all partitions, if there are hosts.
pub(super) fn addresses(hosts: &Hosts) -> Option<Finding> {
    let n = hosts.hosts.len() as u64;
    let named: Vec<_> = hosts.hosts.iter().take(3).map(|host| shown(host)).collect();
    let more = if n > 3 { ", …" } else { "" };
    let message = format!(
        "{} of {} in {}: {}{more}",
        counted(n, "host"),
        counted(hosts.members, "member"),
        counted(hosts.partitions, "partition"),
        named.join(", ")
    );
    let finding = Finding::new(Code::Addresses, message).fact("hosts", n).fact("memberCount", hosts.members);
    let first = hosts.hosts.iter().take(NAMED).cloned().map(Fact::Name).collect();
    (n > 0).then(|| finding.fact("partitions", hosts.partitions).fact("first", Fact::List(first)))
}

pub(super) fn judge(one: &OneGroup<'_>, list: &mut List) {
    for member in &one.group.members {
        let payloads = member.payloads.iter().flat_map(|(subscription, assignment)| [subscription, assignment]);
        let texts = payloads.map(|text| (text.as_bytes(), "what it tells the group"));
        let client = (member.client_id.as_slice(), "its client id");
        let Some((kind, place)) = texts.chain([client]).find_map(|(text, place)| Some((kind_of(text)?, place))) else {
            continue;
        };
        let message = format!("member {}: {place} holds what looks like a {kind}", shown(&member.id));
        let finding = one.finding(Code::Secret, message).offset(member.log_offset).fact("kind", kind);
        list.push(finding.fact("place", place).fact("member", Fact::Name(member.id.clone())));
    }
    if let Some(kind) = kind_of(&one.group.name) {
        list.push(one.finding(Code::Secret, format!("its name holds what looks like a {kind}")).fact("kind", kind));
    }
    in_metadata(one, list);
}

/// Where secrets of one kind stand, of a topic.
struct Places {
    partitions: Vec<i32>,
    /// Of the first one's record, in the log.
    log_offset: i64,
}

/// Of a topic, once for each kind.
fn in_metadata(one: &OneGroup<'_>, list: &mut List) {
    let mut found = BTreeMap::<(&[u8], &str), Places>::new();
    for offset in &one.group.offsets {
        let pending = offset.pending.iter().map(|pending| &pending.commit);
        for commit in offset.committed.iter().chain(pending) {
            if let Some(kind) = kind_of(&commit.metadata) {
                let case = found
                    .entry((&offset.topic, kind))
                    .or_insert_with(|| Places { partitions: Vec::new(), log_offset: commit.log_offset });
                case.partitions.push(offset.partition);
            }
        }
    }
    for ((topic, kind), Places { partitions, log_offset }) in found {
        let n = counted(partitions.len() as u64, "commit");
        let message = format!("the metadata of {n} of {} holds what looks like a {kind}", shown(topic));
        let finding = one.finding(Code::Secret, message).offset(log_offset).fact("kind", kind);
        let partitions = partitions.into_iter().map(Fact::from).collect();
        list.push(finding.fact("topic", Fact::Name(topic.to_vec())).fact("partitions", Fact::List(partitions)));
    }
}
