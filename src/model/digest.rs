//! Digests of state: what a group or a partition means, in 32 bytes.
//!
//! Equal for logs that mean the same, however they are compacted, framed, compressed or converted from one magic to
//! another. What goes in, exactly (SHA-256 throughout; numbers are big-endian, byte strings have their length in front
//! as 64 bits):
//!
//! - a group: `grouplog group 1`, its id, then
//!   - every offset, by topic bytes and partition: 1, topic, partition, and the commit; for each pending commit of the
//!     key, by producer id: 2, topic, partition, producer id, producer epoch, and the commit;
//!   - a commit is: offset, leader epoch (-1 for none), metadata, commit time, a byte that says whether it has an expire
//!     time of its own, that time (or 0), topic id (zeros for none);
//!   - every other record, by the bytes of its key: 3, the key, the value. A classic group's value is taken as its newest
//!     version would hold it, members by id, and the session timeout where there is no rebalance timeout. A value in the
//!     shape of a preview release has that release's name in front.
//! - a partition: `grouplog partition 1`, then every group by id: the id and the group's digest.
//!
//! Not in it: offsets and times of log records, value versions, which of the key types 0 and 1 a commit has, the order
//! of a classic group's members, simple groups without offsets, what could not be read, the partition's number.
//! Must not know: where the state came from.

use super::assemble::Groups;
use super::replay::State;
use super::topics::Topics;
use super::view::{Commit, Group};
use crate::schema::classic::GroupMetadataValue;
use crate::schema::{Key, Message, RecordType, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// A digest of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    /// 64 hexadecimal digits; with a precision, so many of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        f.pad(&text)
    }
}

/// The digests of a partition's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Of all of it.
    pub whole: Digest,
    /// Of each group, by id.
    pub groups: BTreeMap<Vec<u8>, Digest>,
}

impl Digests {
    /// Of everything that a state holds.
    pub fn of(state: &State) -> Digests {
        // Names of topics do not count: records that hold an id are digested with the id.
        let (topics, all) = (Topics::default(), Groups::of(state));
        let digest = |name: &[u8]| {
            let group = all.group(name, &topics).filter(|group| !group.is_shell())?;
            Some((name.to_vec(), of_group(&group, &records(&all, name))))
        };
        let groups: BTreeMap<_, _> = all.names().filter_map(digest).collect();
        let mut hash = Hash::new("grouplog partition 1");
        for (name, digest) in &groups {
            hash.bytes(name);
            hash.0.update(digest.0);
        }
        Digests { whole: hash.end(), groups }
    }
}

/// The records of a group but for its offsets: by the bytes of the key, the value as it is digested.
pub fn records(groups: &Groups<'_>, name: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let keyed = |(key, value): (&Key<'_>, &[u8])| {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        (bytes, canonical(key.record_type, value))
    };
    groups.records(name).map(keyed).collect()
}

/// The digest of a group and its records.
pub fn of_group(group: &Group, records: &BTreeMap<Vec<u8>, Vec<u8>>) -> Digest {
    let mut hash = Hash::new("grouplog group 1");
    hash.bytes(&group.name);
    for offset in &group.offsets {
        let place = |tag: u8, hash: &mut Hash| {
            hash.0.update([tag]);
            hash.bytes(&offset.topic);
            hash.0.update(offset.partition.to_be_bytes());
        };
        if let Some(commit) = &offset.committed {
            place(1, &mut hash);
            hash.commit(commit);
        }
        let mut pending: Vec<_> = offset.pending.iter().collect();
        pending.sort_by_key(|it| it.producer_id);
        for it in pending {
            place(2, &mut hash);
            hash.0.update(it.producer_id.to_be_bytes());
            hash.0.update(it.producer_epoch.to_be_bytes());
            hash.commit(&it.commit);
        }
    }
    for (key, value) in records {
        hash.0.update([3]);
        hash.bytes(key);
        hash.bytes(value);
    }
    hash.end()
}

/// A value without what does not change its meaning.
fn canonical(record_type: RecordType, bytes: &[u8]) -> Vec<u8> {
    // Values that cannot be read never get into a state.
    let Ok(mut value) = record_type.decode_value(bytes) else { return bytes.to_vec() };
    let mut out = value.whose.unwrap_or_default().as_bytes().to_vec();
    if let Value::GroupMetadata(group) = &mut value.data {
        value.version = GroupMetadataValue::LAST;
        group.members.sort_by_key(|member| member.member_id);
        for member in &mut group.members {
            if member.rebalance_timeout == -1 {
                member.rebalance_timeout = member.session_timeout;
            }
        }
    }
    value.encode(&mut out);
    out
}

struct Hash(Sha256);

impl Hash {
    fn new(what: &str) -> Self {
        let mut hash = Hash(Sha256::new());
        hash.bytes(what.as_bytes());
        hash
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn commit(&mut self, commit: &Commit) {
        self.0.update(commit.offset.to_be_bytes());
        self.0.update(commit.leader_epoch.to_be_bytes());
        self.bytes(&commit.metadata);
        self.0.update(commit.commit_timestamp.to_be_bytes());
        self.0.update([u8::from(commit.expire_timestamp.is_some())]);
        self.0.update(commit.expire_timestamp.unwrap_or(0).to_be_bytes());
        self.0.update(commit.topic_id.unwrap_or_default().0);
    }

    fn end(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
