//! `diff`: two copies of a log, two points of one, and digests of state; on logs of real brokers, and on made ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::*;
use common::{golden, grouplog};
use grouplog::log::{Codec, DEFAULT_MAX_INFLATED};
use grouplog::model::digest::Digests;
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::replay::Helper;
use grouplog::model::rules::Rules;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Runs `diff --format json`: the exit status and the document.
fn diff(args: &[&str]) -> (i32, Value) {
    let output = grouplog(Path::new("."), ["diff", "--format", "json"].iter().chain(args));
    let code = output.status.code().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (code, serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{args:?}: {why}: {said}")))
}

fn diff_paths(a: &Path, b: &Path) -> (i32, Value) {
    diff(&[a.to_str().unwrap(), b.to_str().unwrap()])
}

/// All differences of a kind.
fn of_kind<'d>(document: &'d Value, kind: &str) -> Vec<&'d Value> {
    let partitions = document["partitions"].as_array().unwrap();
    let all = partitions.iter().flat_map(|partition| partition["differences"].as_array().unwrap());
    all.filter(|difference| difference["difference"] == kind).collect()
}

/// The only difference of a kind.
fn the<'d>(document: &'d Value, kind: &str) -> &'d Value {
    let found = of_kind(document, kind);
    assert_eq!(found.len(), 1, "{kind}: {document:#}");
    found[0]
}

fn kinds(document: &Value) -> Vec<&str> {
    let partitions = document["partitions"].as_array().unwrap();
    let all = partitions.iter().flat_map(|partition| partition["differences"].as_array().unwrap());
    let mut kinds: Vec<_> = all.map(|difference| difference["difference"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

/// Offsets and leader epochs of every partition folder, as Kafka's own dump tool printed them.
fn epochs_by_offset(exhibit: &Path) -> BTreeMap<String, BTreeMap<i64, i64>> {
    let text = std::fs::read(exhibit.join("dump-log-offsets.txt")).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut found: BTreeMap<String, BTreeMap<i64, i64>> = BTreeMap::new();
    let (mut folder, mut epoch) = (String::new(), -1);
    let number = |line: &str, name: &str| -> i64 {
        line.split(name).nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("Dumping ") {
            folder = path.rsplit_once('/').unwrap().0.to_owned();
        } else if line.starts_with("baseOffset: ") {
            epoch = number(line, "partitionLeaderEpoch: ");
        } else if line.starts_with("| offset: ") {
            found.entry(folder.clone()).or_default().insert(number(line, "offset: "), epoch);
        }
    }
    found
}

fn broker(n: i32) -> String {
    format!("log/broker-{n}")
}

#[test]
fn replicas_in_sync_are_the_same() {
    let Some(golden) = golden() else { return };
    let exhibit = golden.join("replicas/in-sync");
    for (a, b) in [(1, 2), (1, 3), (2, 3)] {
        let (code, document) = diff_paths(&exhibit.join(broker(a)), &exhibit.join(broker(b)));
        assert_eq!((code, &document["sameState"], &document["differs"]), (0, &true.into(), &false.into()));
        assert_eq!(kinds(&document), [""; 0]);
        let statuses: Vec<_> =
            document["partitions"].as_array().unwrap().iter().map(|it| &it["log"]["status"]).collect();
        assert_eq!(statuses, ["same"; 4]);
    }
}

#[test]
fn a_lagging_replica_lacks_what_the_leader_wrote_on() {
    let Some(golden) = golden() else { return };
    let exhibit = golden.join("replicas/lagging");
    let (code, document) = diff_paths(&exhibit.join(broker(1)), &exhibit.join(broker(2)));
    assert_eq!(code, 3);
    let truth: Value = serde_json::from_slice(&std::fs::read(exhibit.join("truth.json")).unwrap()).unwrap();
    let dumped = epochs_by_offset(&exhibit);
    let behind = of_kind(&document, "log-behind");
    assert_eq!(behind.len(), 4);
    for line in behind {
        let partition = line["partition"].as_i64().unwrap();
        let of = |n: i32| &dumped[&format!("{}/__consumer_offsets-{partition}", broker(n))];
        let first_missing = *of(1).keys().find(|offset| !of(2).contains_key(offset)).unwrap();
        assert_eq!(line["firstMissingOffset"], first_missing);
        assert_eq!(line["side"], "b");
        assert_eq!(line["ahead"], "a");
        assert_eq!(line["records"], of(1).len() - of(2).len());
        let end = truth["offsetsPartitions"][partition.to_string()]["end"].as_i64().unwrap();
        assert_eq!(line["lastOffset"], end - 1);
        let log = &document["partitions"][partition as usize]["log"];
        assert_eq!((&log["a"]["highWatermark"], &log["b"]["highWatermark"]), (&end.into(), &first_missing.into()));
    }
    // What the cluster answered is what A holds.
    for line in of_kind(&document, "offset-differs") {
        let offsets = truth["groups"][line["group"].as_str().unwrap()]["offsets"].as_array().unwrap();
        let same = |it: &&Value| it["topic"] == line["topic"] && it["partition"] == line["topicPartition"];
        assert_eq!(offsets.iter().find(same).unwrap()["offset"], line["a"]["offset"]);
        assert_eq!(line["ahead"], "a");
    }
    // The other way round, the same is said of the other side.
    let (code, document) = diff_paths(&exhibit.join(broker(2)), &exhibit.join(broker(1)));
    assert_eq!(code, 3);
    assert!(of_kind(&document, "log-behind").iter().all(|line| line["side"] == "a" && line["ahead"] == "b"));
}

#[test]
fn diverged_replicas_part_where_the_leader_epochs_do() {
    let Some(golden) = golden() else { return };
    let exhibit = golden.join("replicas/diverged");
    let (code, document) = diff_paths(&exhibit.join(broker(1)), &exhibit.join(broker(2)));
    assert_eq!(code, 3);
    let dumped = epochs_by_offset(&exhibit);
    let parted = of_kind(&document, "log-diverged");
    assert_eq!(parted.len(), 4);
    for line in parted {
        let partition = line["partition"].as_i64().unwrap();
        let of = |n: i32| &dumped[&format!("{}/__consumer_offsets-{partition}", broker(n))];
        let differ = |(offset, epoch): (&i64, &i64)| of(2).get(offset).is_some_and(|other| other != epoch);
        let (first, epoch) = of(1).iter().find(|(offset, epoch)| differ((*offset, *epoch))).unwrap();
        assert_eq!(line["offset"], *first);
        assert_eq!(line["a"]["partitionLeaderEpoch"], *epoch);
        assert_eq!(line["b"]["partitionLeaderEpoch"], of(2)[first]);
        assert_eq!(line["safer"], "b", "broker 2 was elected after the others");
        assert_eq!(line["differing"], of(1).iter().filter(|(offset, epoch)| differ((*offset, *epoch))).count());
    }
    assert_eq!(document["partitions"][0]["log"]["ahead"], "a");
    assert_eq!(document["partitions"][0]["log"]["safer"], "b");
}

#[test]
fn cleaning_leaves_the_state_as_it_was() {
    let Some(golden) = golden() else { return };
    for (before, after) in [
        ("cleaned/before", "cleaned/after"),
        ("cleaned/before", "cleaned/short-first"),
        ("cleaned/short-before", "cleaned/short-after"),
        ("cleaned/third-before", "cleaned/third-after"),
        ("cleaned-tv1/before", "cleaned-tv1/after"),
    ] {
        let logs = [before, after].map(|name| golden.join(name).join("log"));
        let (code, document) = diff_paths(&logs[0], &logs[1]);
        assert_eq!((code, &document["sameState"]), (0, &true.into()), "{before}");
        for partition in document["partitions"].as_array().unwrap() {
            let log = &partition["log"];
            assert_eq!(log["status"], "compacted", "{before}");
            let records = |side: &str| log[side]["records"].as_u64().unwrap();
            assert_eq!(log["a"]["onlyHere"]["compacted"], records("a") - records("b"), "{before}");
            assert_eq!(log["common"], records("b"), "{before}");
            assert_eq!((&log["a"]["onlyHere"]["missing"], &log["b"]["onlyHere"]["missing"]), (&0.into(), &0.into()));
            assert!(partition["sameGroups"].as_u64().unwrap() > 0);
        }
        let output = grouplog(&golden, ["diff".as_ref(), logs[0].as_os_str(), logs[1].as_os_str()]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("same state: 4 partitions"));
    }
}

#[test]
fn a_crash_and_a_restart_change_nothing() {
    let Some(golden) = golden() else { return };
    let (code, document) = diff_paths(&golden.join("segments/killed/log"), &golden.join("segments/clean/log"));
    assert_eq!((code, kinds(&document).len()), (0, 0));
}

/// Writes every partition of a log dir again, by way of a function of its batches.
fn rewritten(log_dir: &Path, to: &Path, change: impl Fn(Vec<Bat>) -> Vec<Vec<Bat>>) {
    for (number, dir) in partitions_in(log_dir) {
        write_segments(to, number, &change(read_partition(&dir)));
    }
}

/// Magic 2, uncompressed, a record a batch.
fn plainest(batches: Vec<Bat>) -> Vec<Vec<Bat>> {
    let upgraded = batches.into_iter().map(|batch| Bat { magic: 2, codec: Codec::None, ..batch }).collect::<Vec<_>>();
    vec![one_record_each(&upgraded)]
}

fn digests(path: &Path) -> Value {
    let output = grouplog(path, ["diff", "--digest", "--format", "json", "."]);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn digests_do_not_depend_on_how_a_log_is_framed() {
    let mut logs: Vec<_> = ["codecs/zstd", "tx", "consumer", "classic", "share", "streams", "cleaned/short-after"]
        .iter()
        .map(|name| fixtures().join(name))
        .collect();
    if let Some(golden) = golden() {
        let more = ["codecs/gzip", "codecs/snappy", "codecs/lz4", "codecs/zstd", "connect", "migrate", "museum/3.7.2"];
        logs.extend(more.iter().map(|name| golden.join(name)));
    }
    for exhibit in logs {
        let dir = tempfile::tempdir().unwrap();
        rewritten(&exhibit.join("log"), dir.path(), plainest);
        let ours = digests(&exhibit.join("log"));
        assert!(ours.as_array().unwrap().len() > 1, "{}", exhibit.display());
        assert_eq!(ours, digests(dir.path()), "{}", exhibit.display());
        let (code, document) = diff_paths(&exhibit.join("log"), dir.path());
        assert_eq!((code, &document["sameState"]), (0, &true.into()), "{}: {document:#}", exhibit.display());
        let (with_two, two) = {
            let paths = [exhibit.join("log"), dir.path().to_owned()];
            let args = ["--digest", paths[0].to_str().unwrap(), paths[1].to_str().unwrap()];
            diff(&args)
        };
        assert_eq!(with_two, 0);
        assert!(two.as_array().unwrap().iter().all(|row| row["same"] == true && row["a"] == row["b"]));
    }
}

/// Old message formats, written again in magic 2: the times of the records are gone or changed, the state is not.
#[test]
fn digests_do_not_depend_on_the_magic() {
    for name in ["0.8.2.2", "0.9.0.1-compacted", "0.10.2.2-compacted", "2.3.1-format-0.9"] {
        let log = fixtures().join("museum").join(name).join("log");
        let dir = tempfile::tempdir().unwrap();
        rewritten(&log, dir.path(), plainest);
        let magics = partitions_in(&log).into_iter().flat_map(|(_, dir)| read_partition(&dir));
        assert!(magics.filter(|batch| batch.magic < 2).count() > 0, "{name}");
        assert_eq!(digests(&log), digests(dir.path()), "{name}");
        assert_eq!(diff_paths(&log, dir.path()).0, 0, "{name}");
    }
}

/// A log with a bit of everything: plain commits, group records, committed, aborted and open transactions, tombstones.
fn varied(choices: &[(u8, u8, u8)]) -> Vec<Bat> {
    let mut batches: Vec<Bat> = Vec::new();
    let mut offset = 0;
    for (what, who, how_many) in choices {
        let group = format!("g{}", who % 4);
        let records: Vec<_> = (0..i64::from(how_many % 5) + 1)
            .map(|i| match (what % 8, i % 3) {
                (7, 1) => forget(offset + i, &group, "orders", i as i32),
                _ => commit(offset + i, &group, "orders", (i % 3) as i32, offset * 10 + i),
            })
            .collect();
        let last = records.last().unwrap().offset;
        let producer = i64::from(who % 2) + 1000;
        match what % 8 {
            4 | 5 => batches.push(Bat::transactional(producer, 1, records)),
            6 => {
                let ending = if how_many % 2 == 0 { Ending::Commit } else { Ending::Abort };
                batches.push(Bat::marker(ending, offset, T0 + offset, producer, 1));
                offset += 1;
                continue;
            }
            _ => batches.push(Bat::of(records)),
        }
        offset = last + 1;
    }
    batches
}

/// The same records in other batches, segments and codecs.
fn shuffled(batches: &[Bat], cuts: &[u8]) -> Vec<Vec<Bat>> {
    let mut cuts = cuts.iter().copied().cycle();
    let mut next = move || cuts.next().unwrap_or(0);
    let mut segments: Vec<Vec<Bat>> = vec![Vec::new()];
    let singles = one_record_each(batches);
    let alike = |a: &Bat, b: &Bat| {
        (a.producer_id, a.control, a.transactional) == (b.producer_id, b.control, b.transactional) && !a.control
    };
    for single in singles {
        let join = next() % 3 != 0;
        if next() % 7 == 0 {
            segments.push(Vec::new());
        }
        let segment = segments.last_mut().unwrap();
        match segment.last_mut() {
            Some(before) if join && alike(before, &single) => {
                before.last_offset = single.last_offset;
                before.records.extend(single.records);
            }
            _ => {
                let codec = if single.control { Codec::None } else { codecs(2)[usize::from(next()) % 5] };
                segment.push(Bat { codec, ..single });
            }
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

fn state_digests(dir: &Path) -> Digests {
    let mut segments: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    let how = Loading {
        rules: Rules::default(),
        until: Until::End,
        log_start: None,
        max_inflated: DEFAULT_MAX_INFLATED,
        helper: Helper::None,
        wanted: &|_| true,
    };
    Digests::of(&load(&segments, &how, &mut |_| {}).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_digest_is_that_of_the_records(
        choices in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..30),
        cuts in proptest::collection::vec(any::<u8>(), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let batches = varied(&choices);
        let a = write_log(&dir.path().join("a"), 0, &batches);
        let segments = shuffled(&batches, &cuts);
        let b = write_segments(&dir.path().join("b"), 0, &segments);
        let records = |batches: &[Bat]| batches.iter().flat_map(|batch| batch.records.clone()).collect::<Vec<_>>();
        prop_assert_eq!(records(&batches), records(&segments.concat()));
        prop_assert_eq!(state_digests(&a), state_digests(&b));
    }

    /// One more offset in one commit that counts changes the digest of its group and of no other.
    #[test]
    fn one_offset_changes_one_digest(
        choices in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..30),
        which in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut batches = varied(&choices);
        let end = batches.iter().map(|batch| batch.last_offset + 1).max().unwrap();
        // One commit of each group that stands at the end, so that it counts whatever came before.
        let last: Vec<_> = (0..4).map(|i| commit(end + i, &format!("g{i}"), "last", 0, 7)).collect();
        batches.push(Bat::of(last));
        let before = state_digests(&write_log(&dir.path().join("a"), 0, &batches));
        let group = which.index(4);
        let at = end + group as i64;
        batches.last_mut().unwrap().records[group] = commit(at, &format!("g{group}"), "last", 0, 8);
        let after = state_digests(&write_log(&dir.path().join("b"), 0, &batches));
        prop_assert_ne!(before.whole, after.whole);
        for (name, digest) in &before.groups {
            let changed = name == format!("g{group}").as_bytes();
            prop_assert_eq!(after.groups.get(name) != Some(digest), changed);
        }
    }
}

fn two(a: &[Bat], b: &[Bat]) -> (tempfile::TempDir, i32, Value) {
    let dir = tempfile::tempdir().unwrap();
    let a = write_log(&dir.path().join("a"), 7, a);
    let b = write_log(&dir.path().join("b"), 7, b);
    let (code, document) = diff_paths(&a, &b);
    (dir, code, document)
}

/// A commit whose value is of a version of one's choice.
fn versioned(at: i64, version: i16, commit: Commit<'_>) -> Rec {
    let value = Some(commit.value(version));
    Rec { offset: at, timestamp: T0, key: Some(offset_key("g", "t", 0)), value }
}

#[test]
fn versions_that_say_the_same_have_one_digest_and_every_field_counts() {
    let dir = tempfile::tempdir().unwrap();
    let digest = |name: &str, version, commit| {
        let log = write_log(&dir.path().join(name), 0, &[Bat::of(vec![versioned(0, version, commit)])]);
        state_digests(&log).whole
    };
    let plain = Commit { metadata: "m", ..Commit::at(5) };
    let same = digest("3", 3, plain);
    for version in [0, 1, 2, 4] {
        assert_eq!(digest(&version.to_string(), version, plain), same, "version {version}");
    }
    let others = [
        digest("offset", 3, Commit { offset: 6, ..plain }),
        digest("epoch", 3, Commit { leader_epoch: 0, ..plain }),
        digest("metadata", 3, Commit { metadata: "", ..plain }),
        digest("time", 3, Commit { commit_timestamp: T0 + 1, ..plain }),
        digest("expiry", 1, Commit { expire_timestamp: T0 + 9, ..plain }),
        digest("id", 4, Commit { topic_id: [7; 16], ..plain }),
    ];
    let all: std::collections::BTreeSet<_> = others.iter().chain([&same]).collect();
    assert_eq!(all.len(), 7);
}

/// A simple group whose offsets are all gone is no part of the state.
#[test]
fn shells_are_no_state() {
    let whole = [Bat::of(vec![commit(0, "gone", "t", 0, 1)]), Bat::of(vec![forget(1, "gone", "t", 0)])];
    let rest = [Bat::of(vec![commit(2, "g", "t", 0, 1)])];
    let (_dir, code, document) = two(&[&whole[..], &rest].concat(), &rest);
    assert_eq!((code, &document["sameState"]), (0, &true.into()), "{document:#}");
}

/// C49: the same up to 50, then other leader epochs; the high watermark at 45.
#[test]
fn records_above_the_high_watermark_and_a_parting() {
    let dir = tempfile::tempdir().unwrap();
    let batch =
        |at: i64, epoch: i32, to: i64| Bat { leader_epoch: epoch, ..Bat::of(vec![commit(at, "g", "t", 0, to)]) };
    let common: Vec<_> = (0..50).map(|at| batch(at, 3, at)).collect();
    for (name, epoch, end, hw) in [("a", 4, 60, 45), ("b", 5, 55, 55)] {
        let more = (50..end).map(|at| batch(at, epoch, 1000 * i64::from(epoch) + at));
        write_log(&dir.path().join(name), 7, &common.iter().cloned().chain(more).collect::<Vec<_>>());
        let file = dir.path().join(name).join("replication-offset-checkpoint");
        std::fs::write(file, format!("0\n1\n__consumer_offsets 7 {hw}\n")).unwrap();
    }
    let (code, document) = diff_paths(&dir.path().join("a"), &dir.path().join("b"));
    assert_eq!(code, 3);
    let line = the(&document, "log-diverged");
    assert_eq!((&line["offset"], &line["safer"], &line["differing"]), (&50.into(), &"b".into(), &5.into()));
    assert_eq!(line["parts"], serde_json::json!(["leaderEpoch", "value"]));
    let above = the(&document, "above-high-watermark");
    assert_eq!(
        (&above["side"], &above["highWatermark"], &above["severity"]),
        (&"a".into(), &45.into(), &"info".into())
    );
    let offset = the(&document, "offset-differs");
    assert_eq!((&offset["a"]["offset"], &offset["b"]["offset"]), (&4059.into(), &5054.into()));
    assert_eq!(offset["ahead"], "b");
    assert_eq!(the(&document, "log-behind")["firstMissingOffset"], 55);
}

#[test]
fn what_compaction_explains_and_what_it_does_not() {
    let record = |at, key: i32| commit(at, "g", "t", key, at);
    let each = |offsets: &[(i64, i32)]| -> Vec<Bat> {
        offsets.iter().map(|(at, key)| Bat::of(vec![record(*at, *key)])).collect()
    };
    let whole = each(&[(0, 0), (1, 1), (2, 0), (3, 2)]);
    // Offset 0 has a later record of its key.
    let (_dir, code, document) = two(&whole, &each(&[(1, 1), (2, 0), (3, 2)]));
    assert_eq!((code, kinds(&document)), (0, vec!["log-start"]), "the copy begins at 1");
    let (_dir, code, document) = two(&each(&[(0, 3), (1, 1), (2, 1), (3, 2)]), &each(&[(0, 3), (2, 1), (3, 2)]));
    assert_eq!((code, kinds(&document)), (0, vec!["compacted"]));
    // Offset 1 has none.
    let (_dir, code, document) = two(&whole, &each(&[(0, 0), (2, 0), (3, 2)]));
    assert_eq!(code, 3);
    let missing = the(&document, "record-missing");
    assert_eq!((&missing["side"], &missing["offsets"]), (&"b".into(), &serde_json::json!([1])));
    let only = the(&document, "offset-only");
    assert_eq!((&only["side"], &only["fate"], &only["mayResurrect"]), (&"a".into(), &"gone".into(), &true.into()));
    // The later record is a tombstone that is gone too.
    let mut with_tombstone = each(&[(0, 0), (1, 1)]);
    with_tombstone.push(Bat::of(vec![forget(2, "g", "t", 1)]));
    with_tombstone.extend(each(&[(3, 2)]));
    let (_dir, code, document) = two(&with_tombstone, &each(&[(0, 0), (3, 2)]));
    assert_eq!((code, kinds(&document)), (0, vec!["compacted"]));
}

#[test]
fn aborted_records_explain_nothing_and_need_no_reason() {
    let plain = |at, key: i32| Bat::of(vec![commit(at, "g", "t", key, at)]);
    let in_transaction = |at, key: i32| Bat::transactional(9, 0, vec![commit(at, "g", "t", key, at)]);
    let marker = |ending, at| Bat::marker(ending, at, T0, 9, 0);
    // Aborted data may go.
    let a = [plain(0, 0), in_transaction(1, 1), marker(Ending::Abort, 2), plain(3, 2)];
    let b = [plain(0, 0), marker(Ending::Abort, 2), plain(3, 2)];
    let (_dir, code, document) = two(&a, &b);
    assert_eq!((code, kinds(&document)), (0, vec!["compacted"]));
    // A later record that was aborted does not let an earlier one go; one that was committed does.
    for (ending, expected) in [(Ending::Abort, 3), (Ending::Commit, 0)] {
        let a = [plain(0, 5), plain(1, 1), in_transaction(2, 1), marker(ending, 3), plain(4, 2)];
        let b = [plain(0, 5), in_transaction(2, 1), marker(ending, 3), plain(4, 2)];
        let (_dir, code, document) = two(&a, &b);
        assert_eq!(code, expected, "{ending:?}");
        assert_eq!(of_kind(&document, "record-missing").len(), usize::from(expected == 3));
    }
    // Open transactions are not cleaned.
    let (_dir, code, document) = two(&[plain(0, 0), in_transaction(1, 1), plain(2, 2)], &[plain(0, 0), plain(2, 2)]);
    assert_eq!(code, 3);
    assert_eq!(the(&document, "record-missing")["offsets"], serde_json::json!([1]));
    let pending = the(&document, "pending-differs");
    assert_eq!((&pending["a"][0]["producerId"], &pending["b"]), (&9.into(), &serde_json::json!([])));
}

/// C74: what is live in one copy and deleted in the other may come back.
#[test]
fn deleted_there_is_told_from_not_there_yet() {
    let put = |at, group: &str| Bat::of(vec![commit(at, group, "t", 0, at)]);
    let a = [put(0, "gone"), put(1, "stays")];
    let tombstone = Bat { delete_horizon_ms: Some(T0 + 5), ..Bat::of(vec![forget(2, "gone", "t", 0)]) };
    let (_dir, code, document) = two(&a, &[put(0, "gone"), put(1, "stays"), tombstone]);
    assert_eq!(code, 3);
    let only = the(&document, "group-only");
    assert_eq!((&only["side"], &only["fate"], &only["mayResurrect"]), (&"a".into(), &"deleted".into(), &true.into()));
    assert_eq!(only["tombstone"], serde_json::json!({"offset": 2, "timestamp": T0 + 2, "deleteHorizonMs": T0 + 5}));
    // The tombstone is cleaned away, and something was written behind it.
    let (_dir, code, document) = two(&a, &[Bat { base_offset: 0, ..put(1, "stays") }, put(3, "other")]);
    assert_eq!(code, 3);
    let of_gone = of_kind(&document, "group-only").into_iter().find(|it| it["group"] == "gone").unwrap();
    assert_eq!((&of_gone["fate"], &of_gone["mayResurrect"]), (&"gone".into(), &true.into()));
    let of_other = of_kind(&document, "group-only").into_iter().find(|it| it["group"] == "other").unwrap();
    assert_eq!((&of_other["fate"], &of_other["mayResurrect"]), (&"not-reached".into(), &false.into()));
}

/// C56: a range that was written twice is passed over, and told.
#[test]
fn offsets_that_stand_twice() {
    let at = |at: i64, to: i64| Bat::of(vec![commit(at, "g", "t", 0, to)]);
    let once: Vec<_> = (0..13).map(|n| at(n, n)).collect();
    let twice: Vec<_> =
        (0..10).map(|n| at(n, n)).chain((5..10).map(|n| at(n, 100 + n))).chain((10..13).map(|n| at(n, n))).collect();
    let (_dir, code, document) = two(&once, &twice);
    assert_eq!(code, 3);
    let line = the(&document, "repeated-offsets");
    assert_eq!((&line["a"], &line["b"]), (&0.into(), &5.into()));
    assert_eq!(two(&twice, &twice).1, 0);
}

/// What `describe` shows of a group at a log offset.
fn offsets_at(dir: &Path, at: i64) -> BTreeMap<(String, i64), i64> {
    let at = at.to_string();
    let output = grouplog(dir, ["describe", "--all", "--format", "json", "--at-offset", &at, "."]);
    let groups: Value = serde_json::from_slice(&output.stdout).unwrap();
    let offsets = groups.as_array().unwrap().iter().flat_map(|group| group["offsets"].as_array().unwrap());
    let keyed = |it: &Value| {
        let key = (it["topic"].as_str().unwrap().to_owned(), it["partition"].as_i64().unwrap());
        (key, it["offset"].as_i64().unwrap())
    };
    offsets.map(keyed).collect()
}

#[test]
fn two_points_of_one_log() {
    let dir = fixtures().join("example3/log/__consumer_offsets-18");
    let path = dir.to_str().unwrap();
    let (before, after) = (offsets_at(&dir, 5), offsets_at(&dir, 20));
    let (code, document) = diff(&["--from", "@5", "--to", "@20", path]);
    assert_eq!(code, 3);
    let keyed = |line: &Value| (line["topic"].as_str().unwrap().to_owned(), line["topicPartition"].as_i64().unwrap());
    for line in of_kind(&document, "offset-differs") {
        assert_eq!(line["a"]["offset"], before[&keyed(line)]);
        assert_eq!(line["b"]["offset"], after[&keyed(line)]);
        assert_eq!(line["newer"], "b");
    }
    let new: Vec<_> = of_kind(&document, "offset-only").into_iter().map(keyed).collect();
    let expected: Vec<_> = after.keys().filter(|key| !before.contains_key(*key)).cloned().collect();
    assert_eq!(new, expected);
    assert!(!new.is_empty() && of_kind(&document, "member-only").len() == 1, "{document:#}");
    assert_eq!(the(&document, "member-only")["side"], "b");
    // A moment, the beginning and the end.
    let (code, from_start) = diff(&["--to", "@20", path]);
    assert_eq!((code, &the(&from_start, "group-only")["fate"]), (3, &"not-reached".into()));
    assert_eq!(diff(&["--from", "@20", "--to", "@20", path]).0, 0);
    assert_eq!(diff(&["--from", "2100-01-01T00:00:00Z", path]).0, 0);
    assert_eq!(diff(&["--from", "2100-01-01T00:00:00Z", "--to", "@5", path]).0, 3);
}

#[test]
fn groups_can_be_chosen() {
    let put = |at, group: &str, to| Bat::of(vec![commit(at, group, "t", 0, to)]);
    let dir = tempfile::tempdir().unwrap();
    let a = write_log(&dir.path().join("a"), 7, &[put(0, "x", 1), put(1, "y", 1)]);
    let b = write_log(&dir.path().join("b"), 7, &[put(0, "x", 1), put(1, "y", 2)]);
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let (code, document) = diff(&["--group", "x", a, b]);
    assert_eq!((&document["sameState"], code), (&true.into(), 3), "the logs still diverge");
    assert_eq!(diff(&["--digest", "--group", "x", a, b]).0, 0);
    assert_eq!(diff(&["--digest", "--group-regex", "y|z", a, b]).0, 3);
}

#[test]
fn formats() {
    let Some(golden) = golden() else { return };
    let run = |format: &str, extra: &[&str]| {
        let args = ["diff", "--format", format, "log/broker-1", "log/broker-2"];
        let output = grouplog(&golden.join("replicas/diverged"), args.iter().chain(extra));
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8(output.stdout).unwrap()
    };
    let table = run("table", &[]);
    assert!(table.contains("the logs diverge at offset 12") && table.ends_with("state differs in 4 of 4 partitions\n"));
    let lines = run("jsonl", &[]);
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let document: Value = serde_json::from_str(&run("json", &[])).unwrap();
    let partitions = document["partitions"].as_array().unwrap().iter();
    let in_document: Vec<_> = partitions.flat_map(|it| it["differences"].as_array().unwrap().clone()).collect();
    assert_eq!(all, in_document);
    assert!(all.iter().all(|line| line["difference"].is_string() && line["severity"].is_string()));
    let csv = run("csv", &[]);
    assert!(
        csv.starts_with("difference,severity,partition,group,topic,topic-partition,member,field,a,b,ahead,message\n")
    );
    assert_eq!(csv.lines().count(), all.len() + 1);
    let digests = run("csv", &["--digest"]);
    assert!(digests.starts_with("partition,group,a,b,same\n0,(all),"), "{digests}");
    assert_eq!(digests.lines().nth(1).unwrap().split(',').nth(2).unwrap().len(), 64);
}

#[test]
fn usage() {
    let code = |args: &[&str]| grouplog(&fixtures(), ["diff"].iter().chain(args)).status.code();
    let log = "example3/log";
    assert_eq!(code(&[log]), Some(2));
    assert_eq!(code(&["--from", "@1", log, log]), Some(2));
    assert_eq!(code(&["--from", "@1", "--at-offset", "3", log]), Some(2));
    assert_eq!(code(&["--from", "@x", log]), Some(2));
    assert_eq!(code(&[log, log, log]), Some(2));
    assert_eq!(code(&[log, "nowhere"]), Some(1));
    assert_eq!(code(&[log, log]), Some(0));
    assert_eq!(code(&["--at-offset", "9", log, log]), Some(0));
}

/// Whatever is cut or spoilt in one copy, the other is compared with what is left, and the difference is told.
#[test]
fn damage_is_told_and_harmless() {
    let log = fixtures().join("tx/log/__consumer_offsets-0");
    let dir = partitions_in(&fixtures().join("tx/log")).first().map_or(log, |(_, dir)| dir.clone());
    let segment = dir.join(segment_name(0));
    let bytes = std::fs::read(&segment).unwrap();
    let copies = tempfile::tempdir().unwrap();
    for (i, at) in (0..bytes.len()).step_by(97).enumerate() {
        let copy = copies.path().join(i.to_string()).join("__consumer_offsets-0");
        std::fs::create_dir_all(&copy).unwrap();
        let mut spoilt = bytes.clone();
        match i % 3 {
            0 => spoilt.truncate(at),
            1 => spoilt[at] ^= 0x55,
            _ => drop(spoilt.drain(at..(at + 40).min(bytes.len()))),
        }
        std::fs::write(copy.join(segment_name(0)), spoilt).unwrap();
        let output = grouplog(
            &dir,
            ["diff".as_ref(), "--partition".as_ref(), "0".as_ref(), segment.as_os_str(), copy.as_os_str()],
        );
        let code = output.status.code().unwrap();
        // Base offset and leader epoch are not covered by the CRC, but by the comparison.
        assert!(code == 3, "{i}: {code}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
