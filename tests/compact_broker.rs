//! Against a real broker: it loads what `compact` made of real logs and of made-up ones, and says what `describe` reads
//! from it and from the log before; its own cleaner goes over it and leaves what a second `compact` leaves, byte for byte.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.
//! `GROUPLOG_EXHIBITS=all` loads every exhibit of the newest brokers, each in a broker of its own: a topic has one id.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/compacted.rs"]
mod compacted;
#[path = "common/wreck.rs"]
mod wreck;

use build::{Bat, T0};
use common::told::{Told, described, load_lines};
use common::{facts, kafka, names_in};
use compacted::*;
use grouplog::log::Codec;
use grouplog::model::partitioner::partition_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use wreck::Hull;

/// The cleaner does not wait for anything.
const CLEANER: [&str; 4] = [
    "log.cleanup.policy=compact",
    "log.cleaner.min.cleanable.ratio=0.0",
    "log.cleaner.backoff.ms=300",
    "log.cleaner.delete.retention.ms=86400000",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Fails unless `describe` says of a log dir what the broker said; gives how much was compared.
fn assert_agree(what: &str, log_dir: &Path, told: &Told) -> facts::Counts {
    let (ours, _) = described(log_dir, told, &[]);
    assert_same(what, told, &told.facts, &ours)
}

fn assert_same(what: &str, told: &Told, theirs: &facts::Facts, ours: &facts::Facts) -> facts::Counts {
    let (differences, counts) = facts::compare(theirs, ours);
    let left: Vec<_> = differences.iter().filter(|it| !told.explains(it)).map(ToString::to_string).collect();
    assert!(left.is_empty(), "{what}: {} differences:\n{}", left.len(), left.join("\n"));
    counts
}

/// Kafka's own tool finds every batch of every segment sound.
fn assert_sound(log_dir: &Path) -> usize {
    let mut files = Vec::new();
    for (_, folder) in build::partitions_in(log_dir) {
        let names = names_in(&folder).into_iter().filter(|name| name.ends_with(".log"));
        files.extend(names.map(|name| folder.join(name).display().to_string()));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker/kafka");
    let mut command = Command::new(script);
    command.args(["run", "4.4.0", "dump-log", "--deep-iteration", "--files", &files.join(",")]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let batches: Vec<_> = said.lines().filter(|line| line.starts_with("baseOffset:")).collect();
    batches.iter().for_each(|line| assert!(line.contains("isvalid: true"), "{line}"));
    batches.len()
}

/// Partitions with something in front of the segment that a broker goes on writing.
fn cleanable(log_dir: &Path) -> BTreeSet<i32> {
    let has_closed = |folder: &PathBuf| {
        let names: Vec<_> = names_in(folder).into_iter().filter(|name| name.ends_with(".log")).collect();
        let (_, closed) = names.split_last().unwrap();
        closed.iter().any(|name| std::fs::metadata(folder.join(name)).unwrap().len() > 0)
    };
    build::partitions_in(log_dir).into_iter().filter(|(_, folder)| has_closed(folder)).map(|it| it.0).collect()
}

/// A broker that loads a log dir while its cleaner goes over it.
struct Trial<'t> {
    new: &'t Path,
    told: Told,
    lines: Vec<(i32, u64, u64)>,
    /// Its own folder, as it left it.
    kept: PathBuf,
}

impl<'t> Trial<'t> {
    fn of(new: &'t Path, room: &Path, options: &[String]) -> Self {
        let kept = room.join("broker");
        let mut all = options.to_vec();
        all.extend(CLEANER.map(str::to_owned));
        all.push(format!("keep={}", kept.display()));
        all.push(format!("wait={}:Swapping in cleaned segment", cleanable(new).len()));
        let back = kafka::load_back("4.4.0", new, &all);
        Trial { new, told: Told::of(&back.truth), lines: back.lines, kept }
    }

    /// It says what `describe` says, of the new log and the old one, and counts what we count, before its cleaner came to
    /// a partition or behind it.
    fn agrees(&self, what: &str, old: &Path) -> facts::Counts {
        let counts = assert_agree(&format!("{what}, compacted"), self.new, &self.told);
        assert_agree(&format!("{what}, as it was"), old, &self.told);
        let lines = [load_lines(self.new), load_lines(&self.kept.join("data"))].concat();
        self.lines.iter().for_each(|line| assert!(lines.contains(line), "{what}: {line:?} is not in {lines:?}"));
        assert_eq!(self.lines.len(), build::partitions_in(self.new).len(), "{what}");
        counts
    }

    /// Its cleaner went over all there was to clean, without complaint, and left what a second compaction leaves.
    fn was_cleaned(&self, what: &str, room: &Path) -> usize {
        let log = std::fs::read_to_string(self.kept.join("broker.log")).unwrap();
        let complaints: Vec<_> = log
            .lines()
            .filter(|line| line.contains("lean") && (line.contains(" WARN ") || line.contains(" ERROR ")))
            .collect();
        assert!(complaints.is_empty() && !log.contains("uncleanable"), "{what}: {complaints:#?}");
        let mut compared = 0;
        for partition in cleanable(self.new) {
            let name = format!("__consumer_offsets-{partition}");
            let swaps = log.lines().filter(|line| line.contains("Swapping in") && line.contains(&format!("/{name},")));
            assert!(swaps.count() > 0, "{what} {name}");
            let theirs = self.kept.join("data").join(&name);
            let again = room.join(format!("again-{partition}"));
            let now = clock(&theirs, DAY).map(|now| now.to_string());
            let options = now.iter().flat_map(|now| ["--now", now]).collect::<Vec<_>>();
            compacted(&again, &options, &[&self.new.join(&name)]);
            let (ours, real) = (frames(&again.join(&name)).0, frames(&theirs).0);
            // From 4.0 on the cleaner writes anew in magic 2 what is older: then only the records are the same.
            if ours.values().any(|bytes| bytes[16] < 2) {
                assert_eq!(records(&again.join(&name)), records(&theirs), "{what} {name}");
                continue;
            }
            assert_eq!(ours.keys().collect::<Vec<_>>(), real.keys().collect::<Vec<_>>(), "{what} {name}");
            real.iter().for_each(|(last, bytes)| assert_eq!(ours[last], *bytes, "{what} {name}: up to {last}"));
            compared += real.len();
        }
        compared
    }
}

/// Offset, key and value of a record.
type Plain = (i64, Option<Vec<u8>>, Option<Vec<u8>>);

fn records(folder: &Path) -> Vec<Plain> {
    let all = build::read_partition(folder).into_iter().flat_map(|batch| batch.records);
    all.map(|it| (it.offset, it.key, it.value)).collect()
}

fn link_all(from: &Path, to: &Path) {
    for (_, folder) in build::partitions_in(from) {
        let new = to.join(folder.file_name().unwrap());
        std::fs::create_dir_all(&new).unwrap();
        names_in(&folder).iter().for_each(|name| {
            std::fs::copy(folder.join(name), new.join(name)).unwrap();
        });
    }
}

fn group_in(partition: i32, of: i32, number: usize) -> String {
    let names = (0..).map(|salt| format!("g{number}-{salt}"));
    names.into_iter().find(|name| partition_of(name.as_bytes(), of) == partition).unwrap()
}

/// Transactions that ended either way, one that is open, tombstones, batches of every codec, in several segments.
fn with_open(log_dir: &Path, partition: i32) {
    let groups: Vec<_> = (0..5).map(|i| group_in(partition, 50, i)).collect();
    let mut segments = Vec::new();
    let mut at = 0;
    for round in 0..6 {
        let mut batches = Vec::new();
        for (i, codec) in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
            let group = &groups[i];
            let commit = |step: i64, topic: &str| build::commit(at + step, group, topic, i as i32, at);
            let plain = Bat {
                codec,
                ..Bat::of(vec![
                    commit(0, "a"),
                    build::forget(at + 1, group, "gone", 1),
                    commit(2, "b"),
                    build::commit(at + 3, group, "once", round, at),
                ])
            };
            let in_transaction = Bat::transactional(100 + i as i64, 0, vec![commit(4, "tx"), commit(5, "a")]);
            let ending = if i % 2 == 0 { build::Ending::Commit } else { build::Ending::Abort };
            batches.extend([plain, in_transaction]);
            // From here on one is never ended.
            if (round, i) < (4, 2) || i != 2 {
                batches.push(Bat::marker(ending, at + 6, T0 + at, 100 + i as i64, 0));
            }
            at += 7;
        }
        segments.push(batches);
    }
    let folder = build::write_segments(log_dir, partition, &segments);
    std::fs::write(folder.join("partition.metadata"), "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw").unwrap();
}

/// One broker: real logs, every magic and codec, open transactions that pin and that were gone past.
#[test]
fn one_broker_loads_and_cleans_all_kinds_of_logs() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    link_all(&fixture("example3/log"), &old);
    let mut free = (0..50).filter(|number| !old.join(format!("__consumer_offsets-{number}")).exists());
    for kind in Hull::all() {
        let partition = free.next().unwrap();
        Hull::in_partition(kind.magic, kind.codec, partition).write_as(&old, partition);
    }
    let (pinned, forced) = (free.next().unwrap(), free.next().unwrap());
    with_open(&old, pinned);
    compacted(&new, &[], &[&old]);
    with_open(&old, forced);
    let name = format!("__consumer_offsets-{forced}");
    let alone = dir.path().join("alone");
    // Segments that stay apart, so that there is something to clean again.
    let options = ["--include-active", "--force-past-open-transactions", "--segment-bytes", "2K"];
    compacted(&alone, &options, &[&old.join(&name)]);
    std::fs::rename(alone.join(&name), new.join(&name)).unwrap();

    let sound = assert_sound(&new);
    let truth = format!("truth={}", fixture("example3/truth.json").display());
    let trial = Trial::of(&new, dir.path(), &[truth, "partitions=50".to_owned()]);
    let counts = trial.agrees("all kinds", &old);
    let cleaned = trial.was_cleaned("all kinds", dir.path());
    let partitions = names_in(&new).len() - 2;
    println!(
        "{partitions} partitions: {counts}; {sound} batches are sound to Kafka's own tool, {cleaned} were cleaned again"
    );
    assert!(counts.groups > 80 && counts.offsets > 150, "too little was compared: {counts}");
    assert!(sound > 150 && cleaned > 100, "{sound} {cleaned}");
}

/// Real logs of the newest brokers, whole: what it says of the new log is what the broker said that wrote the old one.
#[test]
fn a_broker_says_what_the_one_before_said() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let all = ["tx", "classic", "consumer", "share", "streams", "migrate", "codecs/zstd", "cleaned/short-after"];
    let names = match std::env::var("GROUPLOG_EXHIBITS") {
        Ok(_) => &all[..],
        Err(_) => &["tx", "cleaned/short-after"],
    };
    let mut kinds = BTreeMap::new();
    for name in names {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (fixture(name).join("log"), dir.path().join("new"));
        // A log of one segment is compacted as a whole; of others the last is the broker's, and its cleaner has work.
        let options: &[&str] = match *name {
            "cleaned/short-after" => &[],
            _ => &["--include-active", "--force-past-open-transactions"],
        };
        compacted(&new, options, &[&old]);
        let sound = assert_sound(&new);
        let truth = fixture(name).join("truth.json");
        let trial = Trial::of(&new, dir.path(), &[format!("truth={}", truth.display())]);
        let counts = trial.agrees(name, &old);
        let recorded = Told::of(&serde_json::from_slice(&std::fs::read(truth).unwrap()).unwrap());
        assert_same(&format!("{name}, the broker before"), &recorded, &recorded.facts, &trial.told.facts);
        let cleaned = trial.was_cleaned(name, dir.path());
        println!("{name}: {counts}; {sound} batches are sound to Kafka's own tool, {cleaned} were cleaned again");
        kinds.insert(*name, cleaned);
        assert!(counts.facts > 30, "{name}: too little was compared: {counts}");
    }
    assert!(kinds["cleaned/short-after"] > 100, "{kinds:?}");
}
