//! A partition made by hand, where no real log has the case: transactional commits and tombstones that meet.

use grouplog::model::partitioner::partition_of;
use std::path::Path;

/// Plain records have no producer.
pub const PLAIN: i64 = -1;

/// How a transaction ends.
#[derive(Clone, Copy)]
pub enum Marker {
    Abort = 0,
    Commit = 1,
}

/// A partition that grows batch by batch, each of one record.
pub struct Partition {
    bytes: Vec<u8>,
    next_offset: i64,
    /// The next sequence number by producer.
    sequences: std::collections::BTreeMap<i64, i32>,
}

/// When everything was written.
const TIME: i64 = 1_795_000_000_000;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

impl Partition {
    pub fn new() -> Self {
        Partition { bytes: Vec::new(), next_offset: 0, sequences: Default::default() }
    }

    /// A commit of `orders-0`.
    pub fn commit(&mut self, producer: i64, group: &str, offset: i64) -> &mut Self {
        let mut value = vec![0, 3];
        value.extend(offset.to_be_bytes());
        value.extend((-1_i32).to_be_bytes());
        value.extend([0, 0]);
        value.extend(TIME.to_be_bytes());
        self.data(producer, &key(group), Some(&value))
    }

    /// The tombstone of such a commit.
    pub fn forget(&mut self, producer: i64, group: &str) -> &mut Self {
        self.data(producer, &key(group), None)
    }

    /// The end of a producer's transaction.
    pub fn end(&mut self, producer: i64, marker: Marker) -> &mut Self {
        let key = [0, 0, 0, marker as u8];
        self.batch(TRANSACTIONAL | CONTROL, producer, -1, &key, Some(&[0; 6]))
    }

    fn data(&mut self, producer: i64, key: &[u8], value: Option<&[u8]>) -> &mut Self {
        if producer == PLAIN {
            return self.batch(0, PLAIN, -1, key, value);
        }
        let sequence = self.sequences.entry(producer).or_default();
        *sequence += 1;
        let sequence = *sequence - 1;
        self.batch(TRANSACTIONAL, producer, sequence, key, value)
    }

    fn batch(&mut self, attributes: i16, producer: i64, sequence: i32, key: &[u8], value: Option<&[u8]>) -> &mut Self {
        let mut record = vec![0, 0, 0];
        put_bytes(&mut record, Some(key));
        put_bytes(&mut record, value);
        record.push(0);
        let mut tail = attributes.to_be_bytes().to_vec();
        tail.extend(0_i32.to_be_bytes());
        tail.extend(TIME.to_be_bytes());
        tail.extend(TIME.to_be_bytes());
        tail.extend(producer.to_be_bytes());
        tail.extend(if producer == PLAIN { -1_i16 } else { 0 }.to_be_bytes());
        tail.extend(sequence.to_be_bytes());
        tail.extend(1_i32.to_be_bytes());
        put_varint(&mut tail, record.len() as i64);
        tail.extend(record);
        self.bytes.extend(self.next_offset.to_be_bytes());
        self.bytes.extend((tail.len() as i32 + 9).to_be_bytes());
        self.bytes.extend(0_i32.to_be_bytes());
        self.bytes.push(2);
        self.bytes.extend(crc32c::crc32c(&tail).to_be_bytes());
        self.bytes.extend(tail);
        self.next_offset += 1;
        self
    }

    /// Makes the folder `__consumer_offsets-N` below a log dir.
    pub fn write(&self, log_dir: &Path, partition: i32) {
        let folder = log_dir.join(format!("__consumer_offsets-{partition}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("00000000000000000000.log"), &self.bytes).unwrap();
    }
}

/// A group id that begins with this and hashes to the partition.
pub fn group_in(partition: i32, partitions: i32, name: &str) -> String {
    let mut names = (0..).map(|n| format!("{name}-{n}"));
    names.find(|name| partition_of(name.as_bytes(), partitions) == partition).unwrap()
}

/// Type 1.
fn key(group: &str) -> Vec<u8> {
    let mut key = vec![0, 1];
    for text in [group, "orders"] {
        key.extend((text.len() as u16).to_be_bytes());
        key.extend(text.as_bytes());
    }
    key.extend(0_i32.to_be_bytes());
    key
}

fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_varint(out, bytes.map_or(-1, |bytes| bytes.len() as i64));
    out.extend(bytes.unwrap_or_default());
}

fn put_varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest > 0x7f {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Where releases differ: a tombstone meets commits that wait. Each case is a group.
pub struct Meetings {
    /// Committed 10, waits 20, forgotten by a plain tombstone, then the transaction commits.
    pub plain: String,
    /// The same, but the transaction that waits aborts, and the tombstone is another transaction's.
    pub foreign: String,
    /// Committed 10, waits 20, forgotten within its own transaction, which commits.
    pub own: String,
    /// Committed 10, waits 20, forgotten by a plain tombstone, committed plainly as 30, then the transaction commits.
    pub later: String,
}

impl Meetings {
    /// Names that hash to the partition.
    pub fn in_partition(partition: i32, partitions: i32) -> Self {
        let name = |name| group_in(partition, partitions, name);
        Meetings { plain: name("plain"), foreign: name("foreign"), own: name("own"), later: name("later") }
    }

    /// All cases after one another.
    pub fn partition(&self) -> Partition {
        let mut log = Partition::new();
        let Meetings { plain, foreign, own, later } = self;
        log.commit(PLAIN, plain, 10).commit(101, plain, 20).forget(PLAIN, plain).end(101, Marker::Commit);
        log.commit(PLAIN, foreign, 10).commit(102, foreign, 20).forget(103, foreign);
        log.end(103, Marker::Commit).end(102, Marker::Abort);
        log.commit(PLAIN, own, 10).commit(104, own, 20).forget(104, own).end(104, Marker::Commit);
        log.commit(PLAIN, later, 10).commit(105, later, 20).forget(PLAIN, later);
        log.commit(PLAIN, later, 30).end(105, Marker::Commit);
        log
    }
}
