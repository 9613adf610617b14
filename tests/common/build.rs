//! Writes logs for tests: batches of magic 0, 1 and 2 in every codec, end markers, segments, partition folders; and
//! reads a log back into batches that can be changed and written again.
//!
//! An integration test takes it with `#[path = "common/build.rs"] mod build;`, or through `mod common`.
//! Must not know: what is tested. Nothing here uses the program's own framing to write.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use grouplog::bytes::put_varlong;
use grouplog::log::{Codec, Inflater, Segment, Span};
use grouplog::schema::offsets::{OffsetCommitKey, OffsetCommitValue};
use grouplog::schema::wire::{Field, Text, UnknownTags, Uuid};
use grouplog::schema::{Key, KeyFields, Message, RecordType};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A time that tests may call the first one: 2023-11-14T22:13:20Z.
pub const T0: i64 = 1_700_000_000_000;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rec {
    pub offset: i64,
    /// In ms since 1970; -1 for none, as in magic 0.
    pub timestamp: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
}

/// A batch. Of magic 0 and 1: a wrapper message if it has a codec, else as many messages as records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bat {
    pub magic: u8,
    pub codec: Codec,
    pub base_offset: i64,
    /// The last offset it spans, which compaction may have taken away.
    pub last_offset: i64,
    pub leader_epoch: i32,
    /// -1 for none.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub transactional: bool,
    pub control: bool,
    /// Set by a first cleaning: when tombstones may go.
    pub delete_horizon_ms: Option<i64>,
    /// The broker's own time for every record, in place of theirs.
    pub append_time: Option<i64>,
    pub records: Vec<Rec>,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Commit,
    Abort,
}

impl Bat {
    /// Plain records in an uncompressed batch of magic 2. There must be one at least.
    pub fn of(records: Vec<Rec>) -> Bat {
        Bat {
            magic: 2,
            codec: Codec::None,
            base_offset: records.first().unwrap().offset,
            last_offset: records.last().unwrap().offset,
            leader_epoch: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            transactional: false,
            control: false,
            delete_horizon_ms: None,
            append_time: None,
            records,
        }
    }

    /// Records of a transaction.
    pub fn transactional(producer_id: i64, producer_epoch: i16, records: Vec<Rec>) -> Bat {
        Bat { producer_id, producer_epoch, base_sequence: 0, transactional: true, ..Bat::of(records) }
    }

    /// An end marker.
    pub fn marker(ending: Ending, offset: i64, timestamp: i64, producer_id: i64, producer_epoch: i16) -> Bat {
        let key = vec![0, 0, 0, u8::from(ending == Ending::Commit)];
        let record = Rec { offset, timestamp, key: Some(key), value: Some(vec![0, 0, 0, 0, 0, 0]) };
        Bat { base_sequence: -1, control: true, ..Bat::transactional(producer_id, producer_epoch, vec![record]) }
    }

    /// A batch that the cleaner emptied.
    pub fn empty(base_offset: i64, last_offset: i64, producer_id: i64, producer_epoch: i16) -> Bat {
        let record = Rec { offset: base_offset, timestamp: T0, key: None, value: None };
        let batch = Bat { last_offset, ..Bat::transactional(producer_id, producer_epoch, vec![record]) };
        Bat { records: Vec::new(), ..batch }
    }

    /// As stored.
    pub fn bytes(&self) -> Vec<u8> {
        match (self.magic, self.codec) {
            (2, _) => self.magic2(),
            (_, Codec::None) => {
                self.records.iter().flat_map(|it| message(it.offset, self.magic, 0, self, it)).collect()
            }
            _ => self.wrapper(),
        }
    }

    fn magic2(&self) -> Vec<u8> {
        let first_time = self.records.first().map_or(T0, |record| record.timestamp);
        let base_timestamp = self.delete_horizon_ms.unwrap_or(first_time);
        let latest = self.records.iter().map(|record| record.timestamp).max().unwrap_or(-1);
        let mut body = Vec::new();
        for record in &self.records {
            let mut fields = vec![0];
            put_varlong(&mut fields, record.timestamp.wrapping_sub(base_timestamp));
            put_varlong(&mut fields, record.offset - self.base_offset);
            put_nullable(&mut fields, record.key.as_deref());
            put_nullable(&mut fields, record.value.as_deref());
            fields.push(0);
            put_varlong(&mut body, fields.len() as i64);
            body.extend_from_slice(&fields);
        }
        let (codec, body) =
            if body.is_empty() { (Codec::None, body) } else { (self.codec, compressed(self.codec, &body)) };
        let attributes = i16::from(number(codec))
            | flag(self.append_time.is_some(), 8)
            | flag(self.transactional, 0x10)
            | flag(self.control, 0x20)
            | flag(self.delete_horizon_ms.is_some(), 0x40);
        let mut out = self.base_offset.to_be_bytes().to_vec();
        out.extend_from_slice(&(49 + body.len() as i32).to_be_bytes());
        out.extend_from_slice(&self.leader_epoch.to_be_bytes());
        out.extend_from_slice(&[2, 0, 0, 0, 0]);
        out.extend_from_slice(&attributes.to_be_bytes());
        out.extend_from_slice(&((self.last_offset - self.base_offset) as i32).to_be_bytes());
        out.extend_from_slice(&base_timestamp.to_be_bytes());
        out.extend_from_slice(&self.append_time.unwrap_or(latest).to_be_bytes());
        out.extend_from_slice(&self.producer_id.to_be_bytes());
        out.extend_from_slice(&self.producer_epoch.to_be_bytes());
        out.extend_from_slice(&self.base_sequence.to_be_bytes());
        out.extend_from_slice(&(self.records.len() as i32).to_be_bytes());
        out.extend_from_slice(&body);
        seal(&mut out);
        out
    }

    /// Inner offsets count from 0 in magic 1, and are those of the log in magic 0.
    fn wrapper(&self) -> Vec<u8> {
        let last = self.records.last().unwrap();
        let inner: Vec<u8> = (self.records.iter())
            .flat_map(|it| {
                message(if self.magic == 0 { it.offset } else { it.offset - self.base_offset }, self.magic, 0, self, it)
            })
            .collect();
        let value = compressed(self.codec, &inner);
        let latest = self.records.iter().map(|record| record.timestamp).max().unwrap_or(-1);
        let whole = Rec { offset: last.offset, timestamp: latest, key: None, value: Some(value) };
        message(last.offset, self.magic, number(self.codec), self, &whole)
    }
}

fn message(offset: i64, magic: u8, codec: u8, batch: &Bat, record: &Rec) -> Vec<u8> {
    let mut covered = vec![magic, codec | flag(magic == 1 && batch.append_time.is_some(), 8) as u8];
    if magic == 1 {
        covered.extend_from_slice(&batch.append_time.unwrap_or(record.timestamp).to_be_bytes());
    }
    for field in [&record.key, &record.value] {
        covered.extend_from_slice(&field.as_ref().map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
        covered.extend_from_slice(field.as_deref().unwrap_or_default());
    }
    let mut out = offset.to_be_bytes().to_vec();
    out.extend_from_slice(&(covered.len() as i32 + 4).to_be_bytes());
    out.extend_from_slice(&crc32fast::hash(&covered).to_be_bytes());
    out.extend_from_slice(&covered);
    out
}

fn flag(set: bool, bit: i16) -> i16 {
    if set { bit } else { 0 }
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_varlong(out, bytes.map_or(-1, |bytes| bytes.len() as i64));
    out.extend_from_slice(bytes.unwrap_or_default());
}

/// Puts the right CRC into a magic 2 batch whose bytes were changed.
pub fn seal(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// The number of a codec in a batch's attributes.
pub fn number(codec: Codec) -> u8 {
    match codec {
        Codec::None => 0,
        Codec::Gzip => 1,
        Codec::Snappy => 2,
        Codec::Lz4 => 3,
        Codec::Zstd => 4,
        Codec::Unknown(number) => number,
    }
}

/// Compresses as a broker does; snappy in the blocks of xerial's Java library.
pub fn compressed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::None | Codec::Unknown(_) => bytes.to_vec(),
        Codec::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Snappy => {
            let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
            for block in bytes.chunks(32 << 10) {
                let block = snap::raw::Encoder::new().compress_vec(block).unwrap();
                out.extend_from_slice(&(block.len() as u32).to_be_bytes());
                out.extend_from_slice(&block);
            }
            out
        }
        Codec::Lz4 => {
            let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Zstd => zstd::stream::encode_all(bytes, 3).unwrap(),
    }
}

/// The codecs that a magic can have.
pub fn codecs(magic: u8) -> &'static [Codec] {
    let all = &[Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    // Magic 0 wants an lz4 header checksum that is wrong, which the crate does not write; zstd came with magic 2.
    match magic {
        0 => &all[..3],
        1 => &all[..4],
        _ => all,
    }
}

/// The key of a committed offset, type 1.
pub fn offset_key(group: &str, topic: &str, partition: i32) -> Vec<u8> {
    let fields = OffsetCommitKey {
        group: Text(group.as_bytes()),
        topic: Text(topic.as_bytes()),
        partition,
        unknown_tags: UnknownTags::default(),
    };
    let key = Key { record_type: RecordType::OffsetCommit, fields: KeyFields::Offset(fields), trailing: &[] };
    let mut out = Vec::new();
    key.encode(&mut out);
    out
}

/// What a commit says, for [`Commit::value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    pub offset: i64,
    /// Written from version 3 on.
    pub leader_epoch: i32,
    pub metadata: &'a str,
    pub commit_timestamp: i64,
    /// Written in version 1 only.
    pub expire_timestamp: i64,
    /// Written from version 4 on; zeros are none.
    pub topic_id: [u8; 16],
}

impl Commit<'_> {
    /// An offset committed at [`T0`].
    pub fn at(offset: i64) -> Commit<'static> {
        Commit { offset, leader_epoch: -1, metadata: "", commit_timestamp: T0, expire_timestamp: -1, topic_id: [0; 16] }
    }

    /// The value in one of the versions 0 to 4.
    pub fn value(&self, version: i16) -> Vec<u8> {
        let mut out = version.to_be_bytes().to_vec();
        let value = OffsetCommitValue {
            offset: self.offset,
            leader_epoch: self.leader_epoch,
            metadata: Text(self.metadata.as_bytes()),
            commit_timestamp: self.commit_timestamp,
            expire_timestamp: self.expire_timestamp,
            topic_id: Uuid(self.topic_id),
            unknown_tags: UnknownTags::default(),
        };
        value.encode(&mut out, OffsetCommitValue::layout(version));
        out
    }
}

/// A record that commits an offset, value version 3, at [`T0`] plus the log offset in ms.
pub fn commit(at: i64, group: &str, topic: &str, partition: i32, offset: i64) -> Rec {
    let value = Commit { commit_timestamp: T0 + at, ..Commit::at(offset) }.value(3);
    Rec { offset: at, timestamp: T0 + at, key: Some(offset_key(group, topic, partition)), value: Some(value) }
}

/// A record that takes a committed offset away.
pub fn forget(at: i64, group: &str, topic: &str, partition: i32) -> Rec {
    Rec { offset: at, timestamp: T0 + at, key: Some(offset_key(group, topic, partition)), value: None }
}

/// A segment's name.
pub fn segment_name(base_offset: i64) -> String {
    format!("{base_offset:020}.log")
}

/// Writes segments, each of some batches, into a new folder `__consumer_offsets-N`, and gives its path. A segment is
/// named after its first batch.
pub fn write_segments(log_dir: &Path, partition: i32, segments: &[Vec<Bat>]) -> PathBuf {
    let dir = log_dir.join(format!("__consumer_offsets-{partition}"));
    std::fs::create_dir_all(&dir).unwrap();
    for batches in segments {
        let base_offset = batches.first().map_or(0, |batch| batch.base_offset);
        let bytes: Vec<u8> = batches.iter().flat_map(Bat::bytes).collect();
        std::fs::write(dir.join(segment_name(base_offset)), bytes).unwrap();
    }
    dir
}

/// As [`write_segments`], with one segment.
pub fn write_log(log_dir: &Path, partition: i32, batches: &[Bat]) -> PathBuf {
    write_segments(log_dir, partition, &[batches.to_vec()])
}

/// The batches of a segment, records and all. Every byte must be sound, and no record may have headers.
pub fn read_segment(path: &Path) -> Vec<Bat> {
    let segment = Segment::open(path).unwrap();
    let mut inflater = Inflater::new();
    segment
        .spans()
        .map(|span| {
            let Span::Batch(batch) = span else { panic!("{}: {span:?}", path.display()) };
            assert_eq!(batch.check_crc(), Ok(()), "{}", path.display());
            let header = batch.header();
            let records: Vec<_> = (batch.records(&mut inflater))
                .map(|record| {
                    let record = record.unwrap();
                    assert!(record.headers.is_empty());
                    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
                    Rec {
                        offset: record.offset,
                        timestamp: record.timestamp,
                        key: owned(record.key),
                        value: owned(record.value),
                    }
                })
                .collect();
            let append_time = header.timestamp_type == grouplog::log::TimestampType::LogAppendTime;
            Bat {
                magic: header.magic,
                codec: header.codec,
                // A wrapper's own offset is that of its last record.
                base_offset: if header.magic < 2 { records[0].offset } else { header.base_offset },
                last_offset: header.last_offset,
                leader_epoch: header.partition_leader_epoch,
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                base_sequence: header.base_sequence,
                transactional: header.transactional,
                control: header.control,
                delete_horizon_ms: header.delete_horizon_ms,
                append_time: append_time.then_some(header.max_timestamp),
                records,
            }
        })
        .collect()
}

/// The batches of a partition folder, segment by segment.
pub fn read_partition(dir: &Path) -> Vec<Bat> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".log"))
        .collect();
    names.sort();
    names.iter().flat_map(|name| read_segment(&dir.join(name))).collect()
}

/// The partition folders of a log dir: number and path, ascending.
pub fn partitions_in(log_dir: &Path) -> Vec<(i32, PathBuf)> {
    let mut found: Vec<_> = std::fs::read_dir(log_dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let number = path.file_name()?.to_str()?.strip_prefix("__consumer_offsets-")?.parse().ok()?;
            Some((number, path))
        })
        .collect();
    found.sort();
    found
}

/// A batch for every record, in the same order, at the same offsets. Empty batches stay.
pub fn one_record_each(batches: &[Bat]) -> Vec<Bat> {
    batches
        .iter()
        .flat_map(|batch| {
            let single = |record: &Rec| Bat {
                base_offset: record.offset,
                last_offset: record.offset,
                records: vec![record.clone()],
                ..batch.clone()
            };
            if batch.records.is_empty() { vec![batch.clone()] } else { batch.records.iter().map(single).collect() }
        })
        .collect()
}
