//! What a copy of the log gives away: hosts, and text that looks like a secret.
//!
//! Must not know: how a secret looks.

use super::OneGroup;
use super::members::shown;
use super::secrets::kind_of;
use crate::audit::{Code, Fact, Finding, List};
use crate::words::counted;
use std::collections::BTreeMap;

/// So many hosts are told apart.
const MOST_HOSTS: usize = 10_000;
/// So many are named.
const NAMED: usize = 20;

/// Hosts that members connect from, and how many members each.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    hosts: BTreeMap<Vec<u8>, u64>,
    members: u64,
}

impl Hosts {
    fn add(&mut self, host: &[u8]) {
        self.members += 1;
        if self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(host) {
            *self.hosts.entry(host.to_vec()).or_default() += 1;
        }
    }

    pub(super) fn finish(self, list: &mut List) {
        if self.hosts.is_empty() {
            return;
        }
        let n = self.hosts.len() as u64;
        let named: Vec<_> = self.hosts.keys().take(3).map(|host| shown(host)).collect();
        let more = if n > 3 { ", …" } else { "" };
        let message =
            format!("{} of {}: {}{more}", counted(n, "host"), counted(self.members, "member"), named.join(", "));
        let hosts = self.hosts.into_keys().take(NAMED).map(Fact::Name).collect();
        let finding = Finding::new(Code::Addresses, message).fact("hosts", n).fact("memberCount", self.members);
        list.push(finding.fact("first", Fact::List(hosts)));
    }
}

pub(super) fn judge(one: &OneGroup<'_>, hosts: &mut Hosts, list: &mut List) {
    for member in one.group.members.iter().filter(|member| !member.client_host.is_empty()) {
        hosts.add(&member.client_host);
    }
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
