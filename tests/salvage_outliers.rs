//! `salvage`: batches that stand where they cannot, heads that lie, ends that are gone, and copies that are none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wreck::*;

fn one(at: i64) -> Bat {
    Bat::of(vec![commit(at, &format!("g{}", at % 3), "orders", 0, 100 + at)])
}

fn ten() -> Vec<Bat> {
    (0..10).map(one).collect()
}

fn bytes_of(batches: &[Bat]) -> Vec<Vec<u8>> {
    batches.iter().map(Bat::bytes).collect()
}

fn folder(log_dir: &Path, number: i32, segments: &[(i64, Vec<Vec<u8>>)]) -> PathBuf {
    let dir = log_dir.join(format!("__consumer_offsets-{number}"));
    std::fs::create_dir_all(&dir).unwrap();
    for (base, batches) in segments {
        std::fs::write(dir.join(segment_name(*base)), batches.concat()).unwrap();
    }
    std::fs::write(dir.join("partition.metadata"), "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw").unwrap();
    dir
}

fn salvaged_from(batches: Vec<Vec<u8>>, options: &[&str]) -> (tempfile::TempDir, Salvaged) {
    let dir = tempfile::tempdir().unwrap();
    let folder = folder(&dir.path().join("log"), 0, &[(0, batches)]);
    let salvaged = salvage(&dir.path().join("new"), options, &[&folder]);
    verifies(&salvaged);
    (dir, salvaged)
}

fn verifies(salvaged: &Salvaged) {
    let verified = common::grouplog(&salvaged.out, ["verify", "--format", "jsonl", "."]);
    let found = String::from_utf8(verified.stdout).unwrap();
    assert_eq!(verified.status.code(), Some(0), "{found}");
}

/// The lost value of a group, and the one it goes back to.
fn fall(salvaged: &Salvaged, group: &str) -> (Value, Value) {
    let lines = salvaged.of_kind("lost-key");
    let line = lines.iter().find(|line| line["group"] == group).unwrap();
    assert_eq!(line["superseded"], false, "{line:#}");
    (line["lostValue"]["data"]["offset"].clone(), line["fallback"]["value"]["data"]["offset"].clone())
}

#[test]
fn a_last_batch_whose_base_offset_cannot_be_is_the_outlier() {
    let whole = bytes_of(&ten());
    for wrong in [3, 8, 0, -1, i64::MIN, i64::MAX, i64::MAX - 5] {
        let mut hurt = whole.clone();
        hurt[9][..8].copy_from_slice(&wrong.to_be_bytes());
        let (_dir, salvaged) = salvaged_from(hurt.clone(), &[]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost"]), "{wrong}: {:#?}", salvaged.lines);
        assert!(salvaged.batches(0) == whole[..9], "{wrong}");
        assert_eq!(fall(&salvaged, "g0"), (json!(109), json!(106)), "{wrong}");
        if wrong >= 0 {
            assert_eq!(salvaged.the("summary")["endOffset"], 10, "{wrong}");
            let (_dir, mended) = salvaged_from(hurt, &["--mend"]);
            assert_eq!(mended.outcomes(), ["mended"], "{wrong}");
            assert!(mended.batches(0) == whole, "{wrong}");
        }
    }
}

#[test]
fn a_negative_offset_loses_what_stands_there() {
    let whole = bytes_of(&ten());
    for wrong in [-1, i64::MIN, i64::MAX] {
        let mut hurt = whole.clone();
        hurt[8][..8].copy_from_slice(&i64::to_be_bytes(wrong));
        let (_dir, salvaged) = salvaged_from(hurt, &[]);
        assert_eq!(salvaged.outcomes(), ["lost"], "{wrong}");
        assert_eq!(fall(&salvaged, "g2"), (json!(108), json!(105)), "{wrong}");
        assert_eq!(salvaged.the("summary")["endOffset"], 10);
    }
}

#[test]
fn a_higher_epoch_still_writes_anew() {
    let last = Bat { leader_epoch: 4, ..Bat::of(vec![commit(7, "g1", "orders", 0, 900)]) };
    let (_dir, salvaged) = salvaged_from(bytes_of(&[ten(), vec![last.clone()]].concat()), &[]);
    assert_eq!(salvaged.outcomes(), ["overruled"], "{:#?}", salvaged.lines);
    assert_eq!(read_partition(&salvaged.partition(0)), [&ten()[..7], &[last]].concat());
}

#[test]
fn a_log_that_was_cut_is_told_by_what_stands_beside_it() {
    for (file, text) in [("leader-epoch-checkpoint", "0\n2\n0 0\n1 14\n"), ("00000000000000000014.snapshot", "")] {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(&dir.path().join("log"), 0, &[(0, bytes_of(&ten()))]);
        std::fs::write(folder.join(file), text).unwrap();
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        assert_eq!(salvaged.code, 3, "{file}");
        let stretch = salvaged.the("stretch");
        assert_eq!((&stretch["firstOffset"], &stretch["lastOffset"]), (&json!(10), &json!(13)), "{file}");
        assert!(stretch["message"].as_str().unwrap().contains(file), "{stretch:#}");
        verifies(&salvaged);
    }
}

#[test]
fn a_copy_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut hurt = bytes_of(&ten());
    hurt[5][80] ^= 0x13;
    hurt[5][95] ^= 0x31;
    let own = folder(&dir.path().join("log"), 0, &[(0, hurt)]);
    let other = folder(&dir.path().join("other"), 1, &[(0, bytes_of(&ten()))]);
    let refused = salvage(&dir.path().join("a"), &["--also", other.to_str().unwrap()], &[&own]);
    assert_eq!(refused.code, 2, "{}", refused.said);
    assert!(refused.said.contains("it holds partition 1, and partition 0 is salvaged"), "{}", refused.said);
    // The same number, but of another cluster.
    let strange: Vec<Bat> = (0..12).map(|at| Bat::of(vec![commit(at, "strange", "t", 0, at)])).collect();
    let stranger = folder(&dir.path().join("stranger"), 0, &[(0, bytes_of(&strange))]);
    let salvaged = salvage(&dir.path().join("b"), &["--also", stranger.to_str().unwrap()], &[&own]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost"]));
    assert_eq!(salvaged.the("copy")["refused"], true);
    assert_eq!(salvaged.the("summary")["endOffset"], 10);
}

#[test]
fn a_segment_that_is_gone_comes_from_a_replica() {
    let dir = tempfile::tempdir().unwrap();
    let all = bytes_of(&ten());
    let own = folder(&dir.path().join("log"), 0, &[(0, all[..4].to_vec()), (8, all[8..].to_vec())]);
    let replica = folder(&dir.path().join("replica"), 0, &[(0, all.clone())]);
    let salvaged = salvage(&dir.path().join("new"), &["--also", replica.to_str().unwrap()], &[&own]);
    assert_eq!(salvaged.code, 3, "{:#?}", salvaged.lines);
    assert_eq!(salvaged.the("copy")["added"], json!([{"firstOffset": 4, "lastOffset": 7}]));
    assert!(salvaged.batches(0) == all);
    // What compaction may have taken is not missing: each key there has a later record.
    let own = folder(&dir.path().join("compacted"), 0, &[(0, all[..3].to_vec()), (7, all[7..].to_vec())]);
    let salvaged = salvage(&dir.path().join("newer"), &["--also", replica.to_str().unwrap()], &[&own]);
    assert_eq!((salvaged.code, salvaged.the("copy")["added"].clone()), (0, json!([])));
}

#[test]
fn heads_and_records_that_verify_complains_of_are_put_right() {
    // Record offsets that do not ascend: of two at one offset the first stays.
    let mut twice = ten();
    twice[4] = Bat {
        last_offset: 5,
        ..Bat::of(vec![commit(4, "a", "t", 0, 1), commit(4, "b", "t", 0, 2), commit(5, "c", "t", 0, 3)])
    };
    twice.remove(5);
    let (_dir, salvaged) = salvaged_from(bytes_of(&twice), &[]);
    assert_eq!(salvaged.outcomes(), ["partly-lost"]);
    assert_eq!(salvaged.the("lost-key")["group"], "b");
    // A greatest timestamp that no record has.
    let mut hurt = bytes_of(&ten());
    hurt[4][35..43].copy_from_slice(&i64::MAX.to_be_bytes());
    seal(&mut hurt[4]);
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["mended"]));
    assert!(salvaged.batches(0) == bytes_of(&ten()));
    // A last offset before the first.
    let mut hurt = bytes_of(&ten());
    hurt[4][23..27].copy_from_slice(&(-1i32).to_be_bytes());
    seal(&mut hurt[4]);
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert_eq!(salvaged.outcomes(), ["partly-lost"]);
    assert!(salvaged.batches(0) == bytes_of(&ten()));
    // A count that no batch of this size has.
    let mut hurt = bytes_of(&ten());
    hurt[4][57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    seal(&mut hurt[4]);
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert!(salvaged.the("summary")["unreadableRecords"].as_u64() < Some(20), "{:#?}", salvaged.lines);
}

#[test]
fn lost_keys_are_told_as_they_were_written_where_that_is_known() {
    let whole = bytes_of(&ten());
    let at = whole[8].windows(2).position(|pair| pair == b"g2").unwrap();
    let mut hurt = whole.clone();
    hurt[8][at + 1] ^= 1;
    let (_dir, salvaged) = salvaged_from(hurt.clone(), &[]);
    assert_eq!(fall(&salvaged, "g2"), (json!(108), json!(105)));
    assert_eq!(salvaged.the("lost-key")["byMend"], true);
    hurt[8][at + 20] ^= 0x7;
    hurt[8][at + 9] ^= 0x3;
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert_eq!(salvaged.the("lost-key")["doubtful"], true);
}

#[test]
fn a_lost_commit_marker_that_an_abort_follows_loses_its_keys() {
    let data = |at: i64, says: i64| Bat::transactional(9, 1, vec![commit(at, "t", "orders", 0, says)]);
    let marker = |ending, at| Bat::marker(ending, at, T0 + at, 9, 1);
    let batches = [
        data(0, 50),
        marker(Ending::Commit, 1),
        data(2, 60),
        marker(Ending::Commit, 3),
        data(4, 70),
        marker(Ending::Abort, 5),
    ];
    let whole = bytes_of(&batches);
    let mut hurt = whole.clone();
    let last = hurt[3].len() - 2;
    hurt[3][last] ^= 1;
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert_eq!(fall(&salvaged, "t"), (json!(60), json!(50)));
    // What was aborted never counted.
    let mut hurt = whole;
    let last = hurt[4].len() - 2;
    hurt[4][last] ^= 1;
    let (_dir, salvaged) = salvaged_from(hurt, &[]);
    assert_eq!(salvaged.the("lost-key")["abortedBy"], 5);
    assert_eq!(salvaged.the("summary")["lostKeysFallenBack"], 0);
}

#[test]
fn nothing_is_written_into_what_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("log");
    folder(&log_dir, 0, &[(0, bytes_of(&ten()))]);
    let salvaged = salvage(&log_dir.join("new"), &[], &[&log_dir]);
    assert_ne!(salvaged.code, 0);
    assert!(salvaged.said.contains("lies inside of what is read"), "{}", salvaged.said);
}

#[test]
fn work_grows_no_faster_than_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let count: i64 = 40_000;
    let sample = one(0).bytes();
    let at = |offset: i64| [&offset.to_be_bytes()[..], &sample[8..]].concat();
    let whole: Vec<Vec<u8>> = (0..count).map(at).collect();
    let mut hurt = whole.clone();
    for bytes in hurt.iter_mut().step_by(2) {
        bytes[70] ^= 0x77;
        bytes[80] ^= 0x77;
    }
    let replica = folder(&dir.path().join("replica"), 0, &[(0, whole.clone())]);
    let own = folder(&dir.path().join("own"), 0, &[(0, hurt)]);
    let begun = Instant::now();
    let filled = salvage(&dir.path().join("a"), &["--also", replica.to_str().unwrap()], &[&own]);
    assert!(filled.batches(0) == whole);
    let twice = folder(&dir.path().join("twice"), 0, &[(0, whole.clone()), (count, whole.clone())]);
    let once = salvage(&dir.path().join("b"), &[], &[&twice]);
    assert!(once.batches(0) == whole);
    // Quadratic it took minutes.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

/// Batches of one, two and three records.
fn uneven() -> Vec<Vec<u8>> {
    let mut at = 0;
    let batch = |n: i64| {
        let records: Vec<_> = (at..at + n).map(|i| commit(i, &format!("g{}", i % 3), "orders", 0, 100 + i)).collect();
        at += n;
        Bat::of(records)
    };
    bytes_of(&[2, 3, 1, 2, 2, 3, 1, 1, 3, 2, 2].map(batch))
}

/// Wherever a batch is moved to, it is put back, whether base offsets are mended or not; but at the ends of the log, what
/// stands first or last may be what is right.
#[test]
fn a_batch_that_was_moved_is_put_back() {
    let whole = uneven();
    let mut moved = 0;
    for from in 1..whole.len() - 1 {
        for to in (1..whole.len() - 1).filter(|to| *to != from) {
            let mut hurt = whole.clone();
            let batch = hurt.remove(from);
            hurt.insert(to, batch);
            for options in [&[][..], &["--mend"]] {
                let (_dir, salvaged) = salvaged_from(hurt.clone(), options);
                assert!(salvaged.batches(0) == whole, "{from} to {to} {options:?}: {:#?}", salvaged.lines);
                assert_eq!(salvaged.code, 3);
                assert!(salvaged.lost_keys().is_empty());
                moved += 1;
            }
        }
    }
    assert_eq!(moved, 144);
}

/// Two batches that change places stand where they stood before.
#[test]
fn batches_that_changed_places_are_changed_back() {
    let whole = uneven();
    for a in 1..whole.len() - 1 {
        for b in a + 1..whole.len() - 1 {
            let mut hurt = whole.clone();
            hurt.swap(a, b);
            for options in [&[][..], &["--mend"]] {
                let (_dir, salvaged) = salvaged_from(hurt.clone(), options);
                assert!(salvaged.batches(0) == whole, "{a} and {b} {options:?}: {:#?}", salvaged.lines);
                assert!(salvaged.lost_keys().is_empty());
            }
        }
    }
}

/// A sound batch of another log whose offsets fill a hole is not of this one: it was written at another time.
#[test]
fn a_batch_of_another_time_fills_no_hole() {
    // What compaction left of ten.
    let here: Vec<_> = uneven().into_iter().enumerate().filter(|(i, _)| *i != 5).map(|(_, batch)| batch).collect();
    let own = uneven().remove(5);
    for (late, is_put) in [(0, true), (86_400_000, false)] {
        let mut stray = own.clone();
        for at in [27, 35] {
            let time = i64::from_be_bytes(*stray[at..].first_chunk().unwrap());
            stray[at..at + 8].copy_from_slice(&(time + late).to_be_bytes());
        }
        let mut hurt = here.clone();
        hurt.insert(2, resealed(stray.clone()));
        let (_dir, salvaged) = salvaged_from(hurt, &[]);
        assert_eq!(salvaged.code, 3);
        let expected = if is_put { uneven() } else { here.clone() };
        assert!(salvaged.batches(0) == expected, "{late}: {:#?}", salvaged.lines);
    }
}
