//! Logs to wreck, ways to wreck them, and what `salvage` makes of them.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use crate::build::{Bat, Ending, T0, codecs, commit, forget, read_partition, seal, segment_name};
use crate::common::{grouplog, names_in};
use grouplog::log::{Batch, Codec, DEFAULT_MAX_INFLATED, Inflater, Segment, Span};
use grouplog::model::digest::Digests;
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::partitioner::partition_of;
use grouplog::model::replay::Helper;
use grouplog::model::rules::Rules;
use grouplog::schema::Key;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A partition of some batches in two segments, in memory.
#[derive(Debug, Clone)]
pub struct Hull {
    pub magic: u8,
    pub codec: Codec,
    pub batches: Vec<Bat>,
    /// The bytes of each.
    pub bytes: Vec<Vec<u8>>,
}

/// How many batches stand in the first segment.
pub const IN_FIRST: usize = 12;
/// How many batches there are.
pub const BATCHES: usize = 20;
/// The batch that gets hurt: in the middle of the first segment.
pub const VICTIM: usize = 6;

impl Hull {
    /// Commits of a few groups, three in a batch; in magic 2 also two transactions.
    pub fn of(magic: u8, codec: Codec) -> Hull {
        Hull::with_groups(magic, codec, |number| format!("group-{number}"))
    }

    /// The same with groups that hash to a partition of 50.
    pub fn in_partition(magic: u8, codec: Codec, partition: i32) -> Hull {
        Hull::with_groups(magic, codec, |number| {
            let names = (0..).map(|salt| format!("group-{number}-{salt}"));
            names.into_iter().find(|name| partition_of(name.as_bytes(), 50) == partition).unwrap()
        })
    }

    fn with_groups(magic: u8, codec: Codec, name: impl Fn(i64) -> String) -> Hull {
        let mut batches = Vec::new();
        let mut at = 0;
        for i in 0..BATCHES as i64 {
            let group = |n: i64| name((i + n) % 7);
            let plain = Bat {
                magic,
                codec,
                leader_epoch: if magic == 2 { (i / 8) as i32 } else { -1 },
                ..Bat::of(vec![
                    commit(at, &group(0), "orders", 0, 1000 + i),
                    commit(at + 1, &group(0), "orders", 1, 2000 + i),
                    if i % 5 == 4 {
                        forget(at + 2, &group(1), "bills", 0)
                    } else {
                        commit(at + 2, &group(1), "bills", 0, i)
                    },
                ])
            };
            let batch = match i {
                3 | 8 if magic == 2 => {
                    Bat { producer_id: 77, producer_epoch: 0, base_sequence: 0, transactional: true, ..plain }
                }
                4 | 10 if magic == 2 => {
                    let ending = if i == 4 { Ending::Commit } else { Ending::Abort };
                    Bat { leader_epoch: (i / 8) as i32, ..Bat::marker(ending, at, T0 + at, 77, 0) }
                }
                _ => plain,
            };
            at = batch.last_offset + 1;
            // A message of magic 0 or 1 without a codec is a batch of its own.
            if magic < 2 && codec == Codec::None {
                let single = |record: &crate::build::Rec| Bat {
                    base_offset: record.offset,
                    last_offset: record.offset,
                    records: vec![record.clone()],
                    ..batch.clone()
                };
                batches.extend(batch.records.iter().map(single));
            } else {
                batches.push(batch);
            }
        }
        let bytes = batches.iter().map(Bat::bytes).collect();
        Hull { magic, codec, batches, bytes }
    }

    /// One of every magic and codec.
    pub fn all() -> Vec<Hull> {
        let all = (0..=2).flat_map(|magic| codecs(magic).iter().map(move |codec| Hull::of(magic, *codec)));
        all.collect()
    }

    pub fn name(&self) -> String {
        format!("magic {}, {}", self.magic, self.codec.name())
    }

    /// Writes it as partition 0 into a log dir, and gives its folder.
    pub fn write(&self, log_dir: &Path) -> PathBuf {
        self.write_as(log_dir, 0)
    }

    pub fn write_as(&self, log_dir: &Path, partition: i32) -> PathBuf {
        let dir = log_dir.join(format!("__consumer_offsets-{partition}"));
        std::fs::create_dir_all(&dir).unwrap();
        let (first, second) = self.bytes.split_at(IN_FIRST);
        std::fs::write(dir.join(segment_name(0)), first.concat()).unwrap();
        let base = self.batches[IN_FIRST].base_offset;
        std::fs::write(dir.join(segment_name(base)), second.concat()).unwrap();
        std::fs::write(dir.join("partition.metadata"), "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw").unwrap();
        dir
    }

    /// The offsets that a batch spans.
    pub fn offsets(&self, at: usize) -> (i64, i64) {
        (self.batches[at].base_offset, self.batches[at].last_offset)
    }
}

/// A way to hurt one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// A bit of the body.
    Body,
    /// Two bytes of the body, far from one another.
    TwoBytes,
    /// A bit of the stored CRC.
    Crc,
    /// A bit of the length that makes it too long.
    Length,
    /// The sign of the length.
    NegativeLength,
    /// The magic.
    Magic,
    /// All of it, and a bit of its neighbours' ends is kept.
    Zeros,
    /// All of it.
    Noise,
    /// Bytes put in front of it.
    Inserted,
    /// A high bit of the base offset.
    FarOffset,
    /// A low bit of the base offset, so that it goes back.
    BackOffset,
    /// The leader epoch.
    LeaderEpoch,
    /// Written twice.
    Twice,
}

impl Damage {
    pub const ALL: [Damage; 13] = [
        Damage::Body,
        Damage::TwoBytes,
        Damage::Crc,
        Damage::Length,
        Damage::NegativeLength,
        Damage::Magic,
        Damage::Zeros,
        Damage::Noise,
        Damage::Inserted,
        Damage::FarOffset,
        Damage::BackOffset,
        Damage::LeaderEpoch,
        Damage::Twice,
    ];

    /// Hurts a batch.
    pub fn hurt(self, hull: &mut Hull, at: usize) {
        let magic = hull.magic;
        let bytes = &mut hull.bytes[at];
        let len = bytes.len();
        match self {
            Damage::Body => bytes[len - 9] ^= 0x04,
            Damage::TwoBytes => {
                bytes[len - 9] ^= 0x04;
                bytes[len - 23] ^= 0x41;
            }
            Damage::Crc => bytes[if magic == 2 { 18 } else { 13 }] ^= 0x20,
            Damage::Length => bytes[9] ^= 0x01,
            Damage::NegativeLength => bytes[8] ^= 0x80,
            Damage::Magic => bytes[16] = 9,
            Damage::Zeros => bytes.fill(0),
            Damage::Noise => {
                let mut state = 12345u32;
                bytes.iter_mut().for_each(|byte| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *byte = (state >> 24) as u8 | 0x80;
                });
            }
            Damage::Inserted => {
                let mut noise = vec![0xee; 300];
                noise.extend_from_slice(bytes);
                *bytes = noise;
            }
            Damage::FarOffset => bytes[2] ^= 0x01,
            Damage::BackOffset => {
                let base = i64::from_be_bytes(bytes[..8].try_into().unwrap());
                bytes[..8].copy_from_slice(&(base & 3).to_be_bytes());
            }
            Damage::LeaderEpoch => bytes[13] ^= 0x10,
            Damage::Twice => {
                let copy = bytes.clone();
                bytes.extend_from_slice(&copy);
            }
        }
    }

    /// Whether it can happen to a batch of this magic: the older ones have no leader epoch, and their magic is under
    /// their CRC.
    pub fn concerns(self, magic: u8) -> bool {
        magic == 2 || self != Damage::LeaderEpoch
    }
}

/// What `salvage` did.
pub struct Salvaged {
    pub code: i32,
    pub said: String,
    /// The lines of salvage.jsonl.
    pub lines: Vec<Value>,
    /// The new log dir.
    pub out: PathBuf,
}

impl Salvaged {
    pub fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["kind"] == kind).collect()
    }

    pub fn the(&self, kind: &str) -> &Value {
        let found = self.of_kind(kind);
        assert_eq!(found.len(), 1, "{kind}: {:#?}", self.lines);
        found[0]
    }

    /// `group topic partition` of every lost key.
    pub fn lost_keys(&self) -> BTreeSet<String> {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let name = |line: &Value| {
            let lost = &line["lost"];
            format!("{} {} {}", text(&lost["group"]), text(&lost["topic"]), lost["partition"])
        };
        self.of_kind("lost-key").into_iter().map(name).collect()
    }

    pub fn outcomes(&self) -> Vec<&str> {
        self.of_kind("stretch").iter().map(|line| line["outcome"].as_str().unwrap()).collect()
    }

    pub fn partition(&self, number: i32) -> PathBuf {
        self.out.join(format!("__consumer_offsets-{number}"))
    }

    /// Every batch of a partition, as bytes; checks that all is sound and ascends.
    pub fn batches(&self, number: i32) -> Vec<Vec<u8>> {
        sound_batches(&self.partition(number))
    }
}

/// Runs `salvage OPTIONS --out NEW PATHS`.
pub fn salvage(out: &Path, options: &[&str], paths: &[&Path]) -> Salvaged {
    let mut args = vec!["salvage".to_owned(), "--out".to_owned(), out.display().to_string()];
    args.extend(options.iter().map(|&option| option.to_owned()));
    args.extend(paths.iter().map(|path| path.display().to_string()));
    let output = grouplog(Path::new("."), args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(out.join("salvage.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Salvaged { code: output.status.code().unwrap(), said, lines, out: out.to_owned() }
}

/// Every batch of a partition folder; fails unless all bytes are sound batches in ascending order.
pub fn sound_batches(dir: &Path) -> Vec<Vec<u8>> {
    let mut inflater = Inflater::new();
    let mut names: Vec<_> = names_in(dir).into_iter().filter(|name| name.ends_with(".log")).collect();
    names.sort();
    let mut last = -1;
    let mut all = Vec::new();
    for name in names {
        let segment = Segment::open(&dir.join(&name)).unwrap();
        for span in segment.spans() {
            let Span::Batch(batch) = span else { panic!("{name}: {span:?}") };
            assert_eq!(batch.check_crc(), Ok(()), "{name}");
            let first = batch.first_offset(&mut inflater).unwrap();
            assert!(first > last, "{name}: {first} stands behind {last}");
            assert!(first >= segment.base_offset().unwrap(), "{name}: {first}");
            last = batch.header().last_offset;
            let mut records = batch.records(&mut inflater);
            assert!(records.by_ref().all(|record| record.is_ok()));
            assert_eq!(records.fault(), None);
            all.push(batch.bytes().to_vec());
        }
    }
    all
}

/// `group topic partition` of a batch's records.
pub fn keys_of(batch: &Bat) -> BTreeSet<String> {
    let name = |bytes: &Vec<u8>| {
        let key = Key::decode(bytes).unwrap();
        let (topic, partition) = key.topic_partition().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        format!("{} {} {partition}", text(key.group()), text(topic))
    };
    batch.records.iter().filter(|_| !batch.control).filter_map(|record| record.key.as_ref()).map(name).collect()
}

/// The digests of a partition folder's state.
pub fn digests(dir: &Path) -> Digests {
    let mut paths: Vec<_> =
        names_in(dir).into_iter().filter(|name| name.ends_with(".log")).map(|name| dir.join(name)).collect();
    paths.sort();
    let how = Loading {
        rules: Rules::default(),
        until: Until::End,
        log_start: None,
        max_inflated: DEFAULT_MAX_INFLATED,
        helper: Helper::None,
        wanted: &|_| true,
    };
    Digests::of(&load(&paths, &how, &mut |_| {}).unwrap())
}

/// Makes a batch's CRC right again, so that what was done to it is no damage of a disk.
pub fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes[16] == 2 {
        seal(&mut bytes);
    } else {
        let crc = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    }
    bytes
}

/// The offsets of all records of a partition folder.
pub fn record_offsets(dir: &Path) -> Vec<i64> {
    read_partition(dir).iter().flat_map(|batch| &batch.records).map(|record| record.offset).collect()
}

/// A header, as it stands.
pub fn header(bytes: &[u8]) -> grouplog::log::Header {
    Batch::new(bytes, 0).unwrap().header()
}
