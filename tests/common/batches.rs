//! Crafted logs: batches of magic 2 with records of our own making.

use grouplog::bytes::put_varlong;
use grouplog::schema::classic::{GroupMetadataKey, GroupMetadataValue, MemberMetadata};
use grouplog::schema::offsets::{OffsetCommitKey, OffsetCommitValue};
use grouplog::schema::wire::{Blob, Text};
use grouplog::schema::{Key, KeyFields, RecordType, Value, VersionedValue};
use std::path::PathBuf;

/// A partition in the making.
#[derive(Default)]
pub struct Craft {
    bytes: Vec<u8>,
    next: i64,
}

/// A batch in the making.
pub struct Batch {
    time: i64,
    records: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    damaged: bool,
}

impl Batch {
    /// Whose records all have this time.
    pub fn at(time: i64) -> Self {
        Batch { time, records: Vec::new(), damaged: false }
    }

    /// Its CRC will be wrong.
    pub fn damaged(mut self) -> Self {
        self.damaged = true;
        self
    }

    fn put(mut self, record_type: RecordType, fields: KeyFields<'_>, value: Option<(i16, Value<'_>)>) -> Self {
        let mut key = Vec::new();
        Key { record_type, fields, trailing: &[] }.encode(&mut key);
        let value = value.map(|(version, data)| {
            let mut bytes = Vec::new();
            VersionedValue { version, whose: None, data, trailing: &[] }.encode(&mut bytes);
            bytes
        });
        self.records.push((key, value));
        self
    }

    /// Commits an offset, at the batch's time.
    pub fn commit(self, group: &str, topic: &str, partition: i32, offset: i64) -> Self {
        let value = OffsetCommitValue {
            offset,
            leader_epoch: -1,
            metadata: Text(b""),
            commit_timestamp: self.time,
            expire_timestamp: -1,
            topic_id: Default::default(),
            unknown_tags: Default::default(),
        };
        self.put(RecordType::OffsetCommit, offset_key(group, topic, partition), Some((3, Value::OffsetCommit(value))))
    }

    /// Removes an offset.
    pub fn forget(self, group: &str, topic: &str, partition: i32) -> Self {
        self.put(RecordType::OffsetCommit, offset_key(group, topic, partition), None)
    }

    /// A classic group with these members, who have nothing.
    pub fn classic(self, group: &str, generation: i32, members: &[&str]) -> Self {
        let clients: Vec<_> = members.iter().map(|id| format!("client-{id}")).collect();
        let members = members.iter().zip(&clients).map(|(id, client)| member(id, None, client)).collect();
        self.classic_of(group, generation, members)
    }

    /// A classic group with one static member.
    pub fn classic_static(self, group: &str, generation: i32, id: &str, instance: &str) -> Self {
        self.classic_of(group, generation, vec![member(id, Some(instance), "client")])
    }

    fn classic_of(self, group: &str, generation: i32, members: Vec<MemberMetadata<'_>>) -> Self {
        let value = GroupMetadataValue {
            protocol_type: Text(b"consumer"),
            generation,
            protocol: (!members.is_empty()).then_some(Text(b"range")),
            leader: members.first().map(|first| first.member_id),
            current_state_timestamp: self.time,
            members,
            unknown_tags: Default::default(),
        };
        self.put(RecordType::GroupMetadata, group_key(group), Some((3, Value::GroupMetadata(Box::new(value)))))
    }

    /// Deletes a classic group.
    pub fn delete_classic(self, group: &str) -> Self {
        self.put(RecordType::GroupMetadata, group_key(group), None)
    }
}

fn member<'a>(id: &'a str, instance: Option<&'a str>, client: &'a str) -> MemberMetadata<'a> {
    MemberMetadata {
        member_id: Text(id.as_bytes()),
        group_instance_id: instance.map(|it| Text(it.as_bytes())),
        client_id: Text(client.as_bytes()),
        client_host: Text(b"/127.0.0.1"),
        rebalance_timeout: 300_000,
        session_timeout: 45_000,
        subscription: Blob(b""),
        assignment: Blob(b""),
        unknown_tags: Default::default(),
    }
}

fn group_key(group: &str) -> KeyFields<'_> {
    KeyFields::Classic(GroupMetadataKey { group: Text(group.as_bytes()), unknown_tags: Default::default() })
}

fn offset_key<'a>(group: &'a str, topic: &'a str, partition: i32) -> KeyFields<'a> {
    let (group, topic) = (Text(group.as_bytes()), Text(topic.as_bytes()));
    KeyFields::Offset(OffsetCommitKey { group, topic, partition, unknown_tags: Default::default() })
}

impl Craft {
    /// Nothing yet.
    pub fn new() -> Self {
        Craft::default()
    }

    /// Appends a batch.
    pub fn batch(&mut self, batch: Batch) {
        let mut body = Vec::new();
        for (i, (key, value)) in batch.records.iter().enumerate() {
            let mut fields = vec![0, 0];
            put_varlong(&mut fields, i as i64);
            put_varlong(&mut fields, key.len() as i64);
            fields.extend_from_slice(key);
            put_varlong(&mut fields, value.as_ref().map_or(-1, |value| value.len() as i64));
            fields.extend_from_slice(value.as_deref().unwrap_or_default());
            fields.push(0);
            put_varlong(&mut body, fields.len() as i64);
            body.extend_from_slice(&fields);
        }
        let count = batch.records.len() as i32;
        let mut out = self.next.to_be_bytes().to_vec();
        out.extend_from_slice(&(49 + body.len() as i32).to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&(count - 1).to_be_bytes());
        out.extend_from_slice(&batch.time.to_be_bytes());
        out.extend_from_slice(&batch.time.to_be_bytes());
        out.extend_from_slice(&[0xff; 14]);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&body);
        let crc = crc32c::crc32c(&out[21..]) ^ u32::from(batch.damaged);
        out[17..21].copy_from_slice(&crc.to_be_bytes());
        self.bytes.extend_from_slice(&out);
        self.next += i64::from(count);
    }

    /// Writes it as partition 0, in a folder that lasts as long as what is given back first.
    pub fn write(self) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let partition = dir.path().join("__consumer_offsets-0");
        std::fs::create_dir(&partition).unwrap();
        std::fs::write(partition.join("00000000000000000000.log"), self.bytes).unwrap();
        (dir, partition)
    }
}
