//! What `stats` counts in one go is what a naive count of made-up logs is: by type, group, key, hour, producer and
//! segment, live and dead.
//!
//! `GROUPLOG_HISTORIES=10000 cargo test --test stats_laws` tries more logs than every run does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;

use build::{Bat, Commit, Ending, Rec, T0};
use grouplog::audit::stats::{Reading, Stats, stats};
use grouplog::bytes::put_varlong;
use grouplog::log::{Batch, Codec, Inflater, Segment};
use grouplog::model::stats::{HOUR, Sum, TYPES};
use grouplog::rewrite::compact::clean::{Sink, clean};
use grouplog::rewrite::compact::survey::survey;
use grouplog::rewrite::compact::{Aim, BeyondOpen, Extent};
use grouplog::rewrite::interrupt::Interrupt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const HISTORIES: u64 = 1_500;
/// Where a compressed transaction once came between a key's commits that waited to be looked up; and one that was the
/// first to name a key that waited.
const ONCE_WRONG: [u64; 2] = [5_735, 18_228];
const MAX_INFLATED: usize = 1 << 20;

/// A generator of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }
}

/// What a key is.
#[derive(Debug, Clone, PartialEq)]
enum Meaning {
    Commit(String, String, i32),
    Of(String),
    Nobody,
}

type Keys = BTreeMap<Vec<u8>, Meaning>;

/// Group, topic and partition.
type Row = (Vec<u8>, Vec<u8>, i32);

/// Keys of every kind, all of which are met again and again.
fn keys() -> Keys {
    let mut keys = Keys::new();
    for (group, topic) in [("a", "t"), ("a", "u"), ("bb", "t"), ("", "t")] {
        for partition in [0, 1, 15, 16, 70, -1, i32::MAX] {
            let meaning = Meaning::Commit(group.into(), topic.into(), partition);
            let key = build::offset_key(group, topic, partition);
            let mut old = key.clone();
            old[1] = 0;
            if partition < 2 {
                keys.insert([&old[..], b"!"].concat(), meaning.clone());
                keys.insert([&key[..], b"more"].concat(), meaning.clone());
            }
            if partition < 16 {
                keys.insert(old, meaning.clone());
            }
            keys.insert(key, meaning);
        }
    }
    for (group, number) in [("a", 2), ("bb", 3), ("c", 2), ("", 2)] {
        let key = [&[0, number, 0, group.len() as u8][..], group.as_bytes()].concat();
        keys.insert([&key[..], b"!"].concat(), Meaning::Of(group.into()));
        keys.insert(key, Meaning::Of(group.into()));
    }
    let odd: [&[u8]; 8] = [
        b"",
        b"\0",
        b"\0\x01",
        b"\0\x01\0\x09abcdefgh",
        b"\0\0\0",
        b"\0\x63\0\x01a",
        b"\x01\0\0\x01a",
        b"\0\x02\0\x09a",
    ];
    odd.iter().for_each(|key| drop(keys.insert(key.to_vec(), Meaning::Nobody)));
    keys
}

fn value(dice: &mut Dice) -> Option<Vec<u8>> {
    match dice.below(8) {
        0 | 1 => None,
        2 => Some(vec![0; dice.below(12)]),
        _ => Some(Commit::at(dice.below(3) as i64).value(*dice.pick(&[0, 1, 3]))),
    }
}

/// Offsets at which the last transaction of a producer began, if it is open.
type Open = BTreeSet<i64>;

fn batch(dice: &mut Dice, keys: &[Vec<u8>], at: i64, open: &mut Open) -> Bat {
    let producer = 7 + dice.below(2) as i64;
    let time = |dice: &mut Dice| T0 + dice.below(9) as i64 * HOUR / 3;
    if dice.one_in(5) && (open.remove(&producer) || dice.one_in(4)) {
        let ending = *dice.pick(&[Ending::Commit, Ending::Commit, Ending::Abort]);
        return Bat::marker(ending, at, time(dice), producer, 0);
    }
    if dice.one_in(20) {
        return Bat::empty(at, at + 2, 9, 0);
    }
    let mut offset = at;
    let base_time = time(dice);
    let mut record = |dice: &mut Dice| {
        let key = Some(dice.pick(keys).clone()).filter(|_| !dice.one_in(20));
        let timestamp = if dice.one_in(30) { -1 } else { base_time + dice.below(2000) as i64 - 1000 };
        let record = Rec { offset, timestamp, key, value: value(dice) };
        offset += 1 + dice.below(2) as i64;
        record
    };
    let count = 1 + dice.below(6);
    let records: Vec<Rec> = (0..count).map(|_| record(dice)).collect();
    if dice.one_in(5) {
        open.insert(producer);
        let codec = if dice.one_in(3) { Codec::Gzip } else { Codec::None };
        return Bat { codec, ..Bat::transactional(producer, 0, records) };
    }
    let magic = if dice.one_in(6) { dice.below(2) as u8 } else { 2 };
    let codec = if dice.one_in(3) { *dice.pick(build::codecs(magic)) } else { Codec::None };
    let append_time = (magic > 0 && dice.one_in(6)).then_some(base_time);
    let delete_horizon_ms = (magic == 2 && dice.one_in(9)).then_some(base_time);
    let records = if magic < 2 && codec == Codec::None { records[..1].to_vec() } else { records };
    Bat { magic, codec, append_time, delete_horizon_ms, ..Bat::of(records) }
}

/// Segments of batches; of which batches a byte is to be changed.
fn log(dice: &mut Dice, keys: &[Vec<u8>]) -> (Vec<Vec<Bat>>, BTreeSet<i64>) {
    let (mut at, mut open, mut hurt) = (dice.below(3) as i64, Open::new(), BTreeSet::new());
    let is_hurt = dice.one_in(3);
    let mut segments = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let mut batches = Vec::new();
        for _ in 0..1 + dice.below(20) {
            let batch = batch(dice, keys, at, &mut open);
            at = batch.last_offset + 1 + dice.below(2) as i64;
            if is_hurt && batch.magic == 2 && dice.one_in(12) {
                hurt.insert(batch.last_offset);
            }
            batches.push(batch);
        }
        segments.push(batches);
    }
    // Most logs have no open transaction.
    if !dice.one_in(4) {
        for producer in open {
            segments.last_mut().unwrap().push(Bat::marker(Ending::Abort, at, T0, producer, 0));
            at += 1;
        }
    }
    (segments, hurt)
}

fn write(dir: &std::path::Path, segments: &[Vec<Bat>], hurt: &BTreeSet<i64>) -> Vec<PathBuf> {
    let write = |batches: &Vec<Bat>| {
        let path = dir.join(build::segment_name(batches[0].base_offset));
        let bytes = batches.iter().flat_map(|batch| {
            let mut bytes = batch.bytes();
            if hurt.contains(&batch.last_offset) {
                *bytes.last_mut().unwrap() ^= 1;
            }
            bytes
        });
        std::fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
        path
    };
    segments.iter().map(write).collect()
}

/// What a compaction leaves: offsets of records, and last offsets of batches.
#[derive(Default)]
struct Left {
    inflater: Inflater,
    records: BTreeSet<i64>,
    batches: BTreeSet<i64>,
}

impl Sink for Left {
    fn segment(&mut self, _: i64, _: u64) -> std::io::Result<()> {
        Ok(())
    }
    fn batch(&mut self, batch: &Batch<'_>) -> std::io::Result<()> {
        self.batches.insert(batch.header().last_offset);
        let records = batch.records(&mut self.inflater).map(|record| record.unwrap().offset);
        self.records.extend(records);
        Ok(())
    }
}

fn left(paths: &[PathBuf], aim: &Aim) -> Left {
    let segments: Vec<_> = paths.iter().map(|path| Segment::open(path).unwrap()).collect();
    let interrupt = Interrupt::default();
    let found = survey(&segments, aim, &interrupt, &mut |_| {}).unwrap();
    let mut left = Left::default();
    clean(&segments, &found, aim, &interrupt, &mut left, &mut |_| {}).unwrap();
    left
}

/// Sums by everything, the plain way.
#[derive(Debug, Default, PartialEq)]
struct Naive {
    types: BTreeMap<usize, Sum>,
    groups: BTreeMap<Vec<u8>, Sum>,
    keys: BTreeMap<Row, Sum>,
    hours: BTreeMap<Option<i64>, Sum>,
    producers: BTreeMap<i64, Sum>,
    segments: Vec<Sum>,
    markers: [Sum; 3],
    ungrouped: Sum,
    heads: Sum,
    batches: Sum,
    damaged: Sum,
    below_start: Sum,
    single: u64,
    largest: u64,
}

impl Naive {
    /// Of what was counted, as far as there is something.
    fn of(stats: Stats) -> Naive {
        let counted = stats.counted;
        assert_eq!(counted.bytes_by_record(), stats.bytes);
        assert_eq!(counted.unreadable, 0);
        let name = |group: u32| counted.groups[group as usize].0.to_vec();
        let key = |row: &grouplog::model::stats::KeyRow| (name(row.group), row.topic.to_vec(), row.partition);
        let is_some = |sum: &Sum| *sum != Sum::default();
        Naive {
            types: counted.types.iter().copied().enumerate().filter(|(_, sum)| is_some(sum)).collect(),
            keys: counted.keys.iter().map(|row| (key(row), row.sum)).collect(),
            groups: counted.groups.iter().map(|(group, sum)| (group.to_vec(), *sum)).collect(),
            hours: counted.hours.iter().map(|(hour, sum)| (*hour, *sum)).collect(),
            producers: counted.producers.iter().copied().collect(),
            segments: counted.segments.iter().map(|row| row.sum).collect(),
            markers: counted.markers,
            ungrouped: counted.ungrouped,
            heads: counted.heads,
            batches: counted.batches,
            damaged: counted.damaged,
            below_start: counted.below_start,
            single: counted.single,
            largest: counted.largest,
        }
    }
}

/// What a batch's records take of it, shared out by their size as framed; and its head.
fn shares(batch: &Bat) -> (u64, Vec<u64>) {
    let whole = batch.bytes().len() as u64;
    let head = match (batch.magic, batch.codec) {
        (2, _) => 61,
        (_, Codec::None) => 0,
        (0, _) => 26,
        _ => 34,
    };
    let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let varlong = |n: i64| {
        let mut out = Vec::new();
        put_varlong(&mut out, n);
        out.len()
    };
    let first_time = batch.delete_horizon_ms.or(batch.records.first().map(|it| it.timestamp)).unwrap_or(0);
    let size = |it: &Rec| match batch.magic {
        2 => {
            let counted = |bytes: &Option<Vec<u8>>| varlong(bytes.as_ref().map_or(-1, |it| it.len() as i64));
            let deltas = varlong(it.timestamp.wrapping_sub(first_time)) + varlong(it.offset - batch.base_offset);
            let body = 2 + deltas + counted(&it.key) + counted(&it.value) + length(&it.key) + length(&it.value);
            varlong(body as i64) + body
        }
        magic => 26 + 8 * usize::from(magic) + length(&it.key) + length(&it.value),
    };
    let sizes: Vec<u64> = batch.records.iter().map(|it| size(it) as u64).collect();
    let (stored, all) = (whole - head, sizes.iter().sum::<u64>().max(1));
    let mut met = 0;
    let share = |size: &u64| {
        let before = stored * met / all;
        met += size;
        stored * met / all - before
    };
    (head, sizes.iter().map(share).collect())
}

/// The naive count.
fn count(segments: &[Vec<Bat>], hurt: &BTreeSet<i64>, start: i64, left: &Left, keys: &Keys) -> Naive {
    let mut naive = Naive::default();
    let mut committed: BTreeMap<Row, i64> = BTreeMap::new();
    let mut pending: BTreeMap<i64, Vec<(Row, i64)>> = BTreeMap::new();
    for batches in segments {
        let mut of_segment = Sum::default();
        for batch in batches {
            let whole = batch.bytes().len() as u64;
            let plain = Sum { batches: 1, bytes: whole, ..Sum::default() };
            if hurt.contains(&batch.last_offset) || batch.last_offset < start {
                let room = if hurt.contains(&batch.last_offset) { &mut naive.damaged } else { &mut naive.below_start };
                room.add(&plain);
                of_segment.add(&plain);
                continue;
            }
            let (head, shares) = shares(batch);
            let mut sum = plain;
            for (record, bytes) in batch.records.iter().zip(&shares) {
                let lives = left.records.contains(&record.offset);
                let one = Sum {
                    records: 1,
                    tombstones: u64::from(record.value.is_none()),
                    bytes: *bytes,
                    live_records: u64::from(lives),
                    live_bytes: if lives { *bytes } else { 0 },
                    ..Sum::default()
                };
                let key = record.key.as_deref().unwrap_or_default();
                if batch.control {
                    naive.markers[usize::from(key[3] == 0)].add(&one);
                    sum.add(&Sum { bytes: 0, ..one });
                    for (key, offset) in pending.remove(&batch.producer_id).unwrap_or_default() {
                        if key_is_same(&mut committed, key.clone(), offset, key_ending(batch)) {
                            naive.keys.get_mut(&key).unwrap().unchanged += 1;
                            naive.groups.get_mut(&key.0).unwrap().unchanged += 1;
                            naive.types.entry(1).or_default().unchanged += 1;
                        }
                    }
                    continue;
                }
                let number = if key.len() > 1 && key[0] == 0 { usize::from(key[1]).min(TYPES - 1) } else { TYPES - 1 };
                let meaning = record.key.as_ref().map_or(&Meaning::Nobody, |key| &keys[key]);
                let Meaning::Commit(group, topic, partition) = meaning else {
                    naive.types.entry(number).or_default().add(&one);
                    match meaning {
                        Meaning::Of(group) => naive.groups.entry(group.clone().into()).or_default().add(&one),
                        _ => naive.ungrouped.add(&one),
                    }
                    sum.add(&Sum { bytes: 0, ..one });
                    continue;
                };
                let key = (group.clone().into_bytes(), topic.clone().into_bytes(), *partition);
                let time = match batch.magic {
                    0 => -1,
                    _ => batch.append_time.unwrap_or(record.timestamp),
                };
                let mut one = one;
                match &record.value {
                    None => drop(committed.remove(&key)),
                    Some(value) => {
                        one.commits = 1;
                        one.commit_times = (time >= 0).then_some((time, time));
                        if let Some(offset) = value.get(2..10) {
                            let offset = i64::from_be_bytes(offset.try_into().unwrap());
                            if batch.producer_id != -1 {
                                pending.entry(batch.producer_id).or_default().push((key.clone(), offset));
                            } else if key_is_same(&mut committed, key.clone(), offset, Ending::Commit) {
                                one.unchanged = 1;
                            }
                        }
                    }
                }
                naive.types.entry(number).or_default().add(&one);
                naive.groups.entry(key.0.clone()).or_default().add(&one);
                naive.keys.entry(key).or_default().add(&one);
                sum.add(&Sum { bytes: 0, unchanged: 0, ..one });
            }
            let stays = sum.live_records > 0 || left.batches.contains(&batch.last_offset);
            let heads = Sum { batches: 1, bytes: head, live_bytes: if stays { head } else { 0 }, ..Sum::default() };
            naive.heads.add(&heads);
            sum.live_bytes += heads.live_bytes;
            let latest = batch.records.iter().map(|it| it.timestamp).max().unwrap_or(-1);
            let time = if batch.magic == 0 { -1 } else { batch.append_time.unwrap_or(latest) };
            naive.hours.entry((time >= 0).then_some(time / HOUR)).or_default().add(&sum);
            let of_producer = naive.producers.entry(batch.producer_id).or_default();
            of_producer.add(&sum);
            if batch.producer_id == -1 {
                of_producer.commit_times = None;
            }
            of_segment.add(&sum);
            naive.batches.add(&sum);
            naive.single += u64::from(batch.records.len() == 1 && !batch.control);
            naive.largest = naive.largest.max(whole);
        }
        naive.segments.push(of_segment);
    }
    naive
}

fn key_ending(marker: &Bat) -> Ending {
    if marker.records[0].key.as_ref().unwrap()[3] == 1 { Ending::Commit } else { Ending::Abort }
}

/// Commits an offset, if that is how the transaction ends; whether it was committed before.
fn key_is_same<K: Ord>(committed: &mut BTreeMap<K, i64>, key: K, offset: i64, ending: Ending) -> bool {
    ending == Ending::Commit && committed.insert(key, offset) == Some(offset)
}

#[test]
fn one_pass_counts_what_a_naive_count_does() {
    let keys = keys();
    let bytes: Vec<_> = keys.keys().cloned().collect();
    let histories = std::env::var("GROUPLOG_HISTORIES").map_or(HISTORIES, |n| n.parse().unwrap());
    let (mut pinned, mut hurts, mut unchanged, mut live) = (0, 0, 0, 0);
    for seed in (0..histories).chain(ONCE_WRONG) {
        let mut dice = Dice(seed);
        let dir = tempfile::tempdir().unwrap();
        // Few keys at a time, so that they are met again.
        let few: Vec<_> = (0..1 + dice.below(30)).map(|_| dice.pick(&bytes).clone()).collect();
        let (segments, hurt) = log(&mut dice, &few);
        let paths = write(dir.path(), &segments, &hurt);
        let end = segments.last().unwrap().last().unwrap().last_offset;
        let log_start = dice.one_in(4).then(|| dice.below(end as usize + 1) as i64);
        let aim = Aim {
            now: *dice.pick(&[0, T0 + HOUR, i64::MAX / 2]),
            delete_retention_ms: 1_000,
            segment_bytes: 1 << 30,
            extent: *dice.pick(&[Extent::All, Extent::All, Extent::Closed]),
            beyond_open: BeyondOpen::Never,
            log_start,
            max_inflated: MAX_INFLATED,
        };
        let found = stats(&paths, Reading::All, &aim, &mut |_| {}).unwrap();
        let after = found.after.clone().unwrap();
        pinned += u32::from(after.is_pinned);
        hurts += u32::from(found.damage.is_some());
        let left = left(&paths, &aim);
        let expected = count(&segments, &hurt, log_start.unwrap_or(i64::MIN), &left, &keys);
        let found = Naive::of(found);
        assert_eq!(found, expected, "{seed} {aim:?} {segments:#?}");
        assert_eq!(after.records, found.batches.live_records, "{seed}");
        unchanged += found.types.values().map(|sum| sum.unchanged).sum::<u64>();
        live += found.batches.live_records;
    }
    println!("{pinned} pinned, {hurts} damaged, {unchanged} unchanged commits, {live} live records");
    assert!(pinned > 20 && hurts > 20 && unchanged > 500 && live > 500);
}
