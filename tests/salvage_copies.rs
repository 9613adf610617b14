//! `salvage` beside other copies: a leader epoch that is damaged says nothing of either, and a leftover file of another log
//! is no copy.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use common::grouplog;
use grouplog::log::Codec;
use std::path::{Path, PathBuf};

fn commits(offsets: std::ops::Range<i64>, group: &str) -> Vec<u8> {
    offsets.flat_map(|at| Bat::of(vec![commit(at, group, "orders", (at % 3) as i32, 100 + at)]).bytes()).collect()
}

/// A partition folder with one segment and what the broker says of its epochs.
fn partition(log_dir: &Path, bytes: &[u8]) -> PathBuf {
    let folder = log_dir.join("__consumer_offsets-0");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(segment_name(0)), bytes).unwrap();
    std::fs::write(folder.join("leader-epoch-checkpoint"), "0\n1\n0 0\n").unwrap();
    folder
}

/// The exit status, and what it printed.
fn salvage(words: &[&str], folder: &Path) -> (i32, String) {
    let output = grouplog(folder, [&["salvage", "--dry-run"], words, &["."]].concat());
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The bytes with the leader epoch of the last of so many batches of the same length raised by 65536.
fn with_flipped_epoch(mut bytes: Vec<u8>, batches: usize) -> Vec<u8> {
    let last = bytes.len() / batches * (batches - 1);
    assert_eq!(bytes[last + 12..last + 16], [0; 4]);
    bytes[last + 13] ^= 1;
    bytes
}

#[test]
fn a_damaged_leader_epoch_cuts_nothing_off() {
    let dir = tempfile::tempdir().unwrap();
    let whole = partition(&dir.path().join("whole"), &commits(0..30, "g"));
    let flipped = partition(&dir.path().join("flipped"), &with_flipped_epoch(commits(0..12, "g"), 12));
    // Neither the one that lags, nor the other one.
    let (code, printed) = salvage(&["--also", flipped.to_str().unwrap()], &whole);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("30 batches, 30 records") && printed.contains("nothing is lost"), "{printed}");
    let (code, printed) = salvage(&["--also", whole.to_str().unwrap()], &flipped);
    assert!(code == 3 && printed.contains("30 batches, 30 records; first offset 0, end offset 30"), "{printed}");
    assert!(printed.contains("offsets 12 to 29 added") && !printed.contains("another story"), "{printed}");
    // Alone it is told, since the file beside it knows better.
    let (code, printed) = salvage(&[], &flipped);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("at offset 11 the batch names leader epoch 65536, and the file 0"), "{printed}");
    // But another batch of another epoch is another story.
    let mut other = [commits(0..11, "g"), commits(11..12, "h")].concat();
    other = with_flipped_epoch(other, 12);
    let other = partition(&dir.path().join("other"), &other);
    let (code, printed) = salvage(&["--also", other.to_str().unwrap()], &whole);
    assert!(code == 3 && printed.contains("tells another story from offset 11 on"), "{printed}");
}

#[test]
fn what_a_leftover_file_adds_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let folder = partition(&dir.path().join("log"), &[commits(0..10, "g"), commits(20..30, "g")].concat());
    std::fs::write(folder.join(format!("{}.deleted", segment_name(0))), commits(0..30, "g")).unwrap();
    let (code, printed) = salvage(&[], &folder);
    assert!(code == 0 && printed.contains("20 batches"), "{printed}");
    let (code, printed) = salvage(&["--include-leftovers"], &folder);
    assert!(code == 3 && printed.contains("30 batches"), "{printed}");
    assert!(printed.contains("offsets 10 to 19 added from a leftover file"), "{printed}");
    assert!(!printed.contains("nothing is lost"), "{printed}");
}

#[test]
fn a_leftover_file_of_another_log_fills_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (name, group, fills) in [("own", "g", true), ("other", "h", false)] {
        let mut bytes = commits(0..30, "g");
        let size = bytes.len() / 30;
        bytes[3 * size + 5..5 * size].fill(0);
        let folder = partition(&dir.path().join(name), &bytes);
        std::fs::write(folder.join(format!("{}.deleted", segment_name(0))), commits(0..30, group)).unwrap();
        for options in [&[][..], &["--include-leftovers"]] {
            let (code, printed) = salvage(options, &folder);
            assert_eq!(code, 3, "{printed}");
            assert_eq!(printed.contains("30 batches, 30 records"), fills, "{name} {options:?}: {printed}");
            assert_eq!(printed.contains("filled from"), fills, "{name} {options:?}: {printed}");
            assert_eq!(printed.contains("it is no copy of this partition"), !fills, "{name} {options:?}: {printed}");
        }
    }
}

/// A sector that was written to a wrong place: whatever it holds, no more than what it covers is lost.
#[test]
fn a_sector_of_another_place_costs_only_what_it_covers() {
    let size = commits(0..1, "g").len();
    let whole: Vec<Vec<u8>> = vec![commits(0..40, "g"), commits(40..80, "g"), commits(80..120, "g")];
    for (what, stray, epoch) in [
        ("below", commits(5..7, "h"), 0),
        ("below, of a higher epoch", commits(5..8, "h"), 7),
        ("above", commits(300..302, "h"), 0),
        ("above, of a higher epoch", commits(300..303, "h"), 7),
        ("of the same log", commits(100..102, "g"), 0),
        ("of the same segment", commits(72..75, "g"), 0),
        ("the head of another log", commits(0..9, "h"), 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = whole.clone();
        let mut stray = stray;
        stray.chunks_mut(size).for_each(|batch| batch[15] = epoch);
        // Its ends cut into batches.
        let at = 20 * size - 30;
        segments[1][at..at + 30].fill(7);
        segments[1][at + 30..at + 30 + stray.len()].copy_from_slice(&stray);
        segments[1][at + 30 + stray.len()..][..30].fill(7);
        let folder = dir.path().join("__consumer_offsets-0");
        std::fs::create_dir_all(&folder).unwrap();
        for (segment, base) in segments.iter().zip([0, 40, 80]) {
            std::fs::write(folder.join(segment_name(base)), segment).unwrap();
        }
        let hit = 2 + stray.len() / size;
        let (code, printed) = salvage(&[], &folder);
        let kept = format!("{} batches, {} records; first offset 0, end offset 120", 120 - hit, 120 - hit);
        assert!(code == 3 && printed.contains(&kept), "{what}: {printed}");
        // A sound copy fills all of it, and nothing of the sector stays.
        let copy = dir.path().join("copy/__consumer_offsets-0");
        std::fs::create_dir_all(&copy).unwrap();
        std::fs::write(copy.join(segment_name(0)), whole.concat()).unwrap();
        let (code, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
        assert!(
            code == 3 && printed.contains("120 batches, 120 records; first offset 0, end offset 120"),
            "{what}: {printed}"
        );
        assert!(!printed.contains("another story"), "{what}: {printed}");
    }
}

/// At the end of the log, where nothing behind it tells.
#[test]
fn a_sector_of_another_place_at_the_end_costs_only_what_it_covers() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = commits(0..40, "g");
    let size = bytes.len() / 40;
    bytes.truncate(30 * size);
    bytes.extend(commits(0..9, "h"));
    let folder = partition(dir.path(), &bytes);
    let (code, printed) = salvage(&[], &folder);
    assert!(code == 3 && printed.contains("30 batches, 30 records; first offset 0"), "{printed}");
    let copy = partition(&dir.path().join("copy"), &commits(0..40, "g"));
    let (code, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
    assert!(code == 3 && printed.contains("40 batches, 40 records; first offset 0, end offset 40"), "{printed}");
}

/// A sector of another log, in place of the head or the tail of a segment: nothing in the log itself contradicts it. A copy
/// does, and is believed where it holds beside the damage.
#[test]
fn what_stands_beside_damage_and_a_copy_contradicts_is_taken_from_the_copy() {
    let size = commits(0..1, "g").len();
    let whole: Vec<Vec<u8>> = vec![commits(0..40, "g"), commits(40..80, "g"), commits(80..120, "g")];
    let end = whole[2].len();
    for (what, segment, at, stray, torn) in [
        ("the head of the log", 0, 0, commits(0..5, "h"), 5 * size),
        ("the head of a segment", 1, 0, commits(40..45, "h"), 5 * size),
        ("the tail of the log", 2, end - 5 * size, commits(115..120, "h"), end - 6 * size + 50),
        ("all of a segment", 1, 0, commits(40..79, "h"), 39 * size),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = whole.clone();
        segments[segment][at..at + stray.len()].copy_from_slice(&stray);
        segments[segment][torn..torn + 30].fill(7);
        let write = |name: &str, segments: &[Vec<u8>]| {
            let folder = dir.path().join(name).join("__consumer_offsets-0");
            std::fs::create_dir_all(&folder).unwrap();
            for (segment, base) in segments.iter().zip([0, 40, 80]) {
                std::fs::write(folder.join(segment_name(base)), segment).unwrap();
            }
            folder
        };
        let (folder, copy) = (write("log", &segments), write("copy", &whole));
        let out = dir.path().join("out");
        let options = ["salvage", "--out", out.to_str().unwrap(), "--also", copy.to_str().unwrap(), "."];
        let output = grouplog(&folder, options);
        assert_eq!(output.status.code(), Some(3), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        let salvaged = read_partition(&out.join("__consumer_offsets-0"));
        assert!(salvaged == read_partition(&copy), "{what}: {}", String::from_utf8_lossy(&output.stdout));
        // A copy of another log does not overrule what is right.
        let strange = write("strange", &[commits(0..40, "h"), commits(40..80, "h"), commits(80..120, "h")]);
        let (code, printed) = salvage(&["--also", strange.to_str().unwrap()], &folder);
        assert!(code == 3 && !printed.contains("contradicted"), "{what}: {printed}");
    }
}

/// An index is written behind the batch: it may know of one that a stop cut short, which is no loss, and of no other.
#[test]
fn an_index_that_points_at_a_torn_write_proves_nothing() {
    let whole = commits(0..10, "g");
    let size = whole.len() / 10;
    for (offset, batch, status) in [(9, 9, 0), (9, 8, 3), (12, 12, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let folder = partition(dir.path(), &whole[..whole.len() - 20]);
        let entry = [(offset as u32).to_be_bytes(), ((batch * size) as u32).to_be_bytes()].concat();
        std::fs::write(folder.join("00000000000000000000.index"), entry).unwrap();
        let (code, printed) = salvage(&[], &folder);
        assert_eq!((code, printed.contains("log-cut")), (status, status == 3), "{offset} {batch}: {printed}");
    }
}

/// An index without its segment, which no broker leaves: the segment is gone, and with it any number of keys.
#[test]
fn a_segment_of_which_only_an_index_is_left_is_lost() {
    let base = "00000000000000000010";
    for (what, left, has_end, status) in [
        ("its index", "index", true, 3),
        ("its time index, at the end", "timeindex", false, 3),
        ("an empty index", "empty", true, 0),
        ("one on its way out", "index.deleted", true, 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = partition(dir.path(), &commits(0..10, "g"));
        let copy = partition(&dir.path().join("copy"), &commits(0..30, "g"));
        if has_end {
            std::fs::write(folder.join(segment_name(20)), commits(20..30, "g")).unwrap();
        }
        let bytes: &[u8] = if left == "empty" { &[] } else { &[0, 0, 0, 1, 0, 0, 0, 109] };
        std::fs::write(folder.join(format!("{base}.{}", left.replace("empty", "index"))), bytes).unwrap();
        let (code, printed) = salvage(&[], &folder);
        assert_eq!((code, printed.contains("segment-missing")), (status, status == 3), "{what}: {printed}");
        assert_eq!(printed.contains("keys cannot be read there"), status == 3, "{what}: {printed}");
        let verified = grouplog(&folder, ["verify", "-q", "."]);
        assert_eq!(verified.status.code(), Some(status), "{what}");
        let (_, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
        assert!(printed.contains("30 batches, 30 records") || status == 0, "{what}: {printed}");
    }
}

/// Where the log was not compacted, a copy fills a gap between segments even if nothing of it is the last of its key.
#[test]
fn a_segment_that_is_gone_from_a_log_that_was_not_compacted_comes_back() {
    for (before, filled) in [(0..10, true), (0..3, false)] {
        let dir = tempfile::tempdir().unwrap();
        let folder = partition(dir.path(), &commits(before.clone(), "g"));
        std::fs::write(folder.join(segment_name(20)), commits(20..30, "g")).unwrap();
        let copy = partition(&dir.path().join("copy"), &commits(0..30, "g"));
        let (code, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
        assert_eq!((code, printed.contains("30 batches")), if filled { (3, true) } else { (0, false) }, "{printed}");
    }
}

/// Each batch of a log of one-record batches that is in the list, and zeros in place of the others below an end.
fn some_of(end: i64, kept: impl Fn(i64) -> bool) -> Vec<u8> {
    (0..end)
        .flat_map(|at| {
            let batch = one(at);
            if kept(at) { batch } else { vec![0; batch.len()] }
        })
        .collect()
}

/// A commit of a group of its own.
fn one(at: i64) -> Vec<u8> {
    Bat::of(vec![commit(at, &format!("g{at}"), "orders", 0, at)]).bytes()
}

fn paths(dir: &Path, logs: &[Vec<u8>]) -> Vec<String> {
    let path = |(number, log): (usize, &Vec<u8>)| partition(&dir.join(format!("r{number}")), log).display().to_string();
    logs.iter().enumerate().map(path).collect()
}

/// Whatever their order, several copies give all that any of them has, and what none has is told to the offset.
#[test]
fn several_damaged_copies_give_what_they_have() {
    let dir = tempfile::tempdir().unwrap();
    let folder = partition(dir.path(), &some_of(12, |at| !(1..9).contains(&at)));
    let copies = paths(dir.path(), &[some_of(12, |at| at != 2 && at != 7), some_of(12, |at| at != 4)]);
    let (a, b) = (copies[0].as_str(), copies[1].as_str());
    for order in [["--also", a, "--also", b], ["--also", b, "--also", a]] {
        let (code, printed) = salvage(&order, &folder);
        assert!(code == 3 && printed.contains("12 batches, 12 records") && !printed.contains("LOST"), "{printed}");
    }
    let (_, printed) = salvage(&["--also", a], &folder);
    assert!(printed.contains("10 batches, 10 records"), "{printed}");
    assert!(printed.contains("bytes, offset 2: LOST") && printed.contains("bytes, offset 7: LOST"), "{printed}");
    // What the first lost beyond the end is a loss, unless the next has it.
    let folder = partition(&dir.path().join("short"), &some_of(4, |_| true));
    let copies = paths(&dir.path().join("long"), &[some_of(12, |at| at != 6), some_of(12, |_| true)]);
    let (code, printed) = salvage(&["--also", &copies[0]], &folder);
    assert!(code == 3 && printed.contains("11 batches") && printed.contains("offset 6: LOST"), "{printed}");
    let (_, printed) = salvage(&["--also", &copies[0], "--also", &copies[1]], &folder);
    assert!(printed.contains("12 batches, 12 records") && !printed.contains("LOST"), "{printed}");
}

/// That a copy has nothing of a range is compaction's doing only where nothing that would have stayed was there.
#[test]
fn a_copy_without_a_segment_does_not_hide_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    for (what, hurt, told) in [
        ("its key is read from the damage", 3, "g3 orders-0"),
        ("its neighbour's key is known", 2, "keys cannot be read there"),
    ] {
        let mut bytes = some_of(12, |at| at != 2 || hurt != 2);
        let size = one(0).len();
        if hurt == 3 {
            bytes[3 * size + 20] ^= 0x55;
            bytes[3 * size + 18] ^= 0x55;
        }
        let folder = partition(&dir.path().join(format!("own-{hurt}")), &bytes);
        let copy = partition(&dir.path().join(format!("copy-{hurt}")), &some_of(1, |_| true));
        std::fs::write(copy.join(segment_name(6)), (6..12).flat_map(one).collect::<Vec<_>>()).unwrap();
        let (code, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
        assert!(code == 3 && printed.contains("LOST") && printed.contains(told), "{what}: {printed}");
        assert!(!printed.contains("filled"), "{what}: {printed}");
    }
}

/// What a copy that was compacted gives does not tell what it removed: that is said.
#[test]
fn what_a_compacted_copy_may_bring_back_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let g = |at: i64| Bat::of(vec![commit(at, "g", "orders", 0, 10)]);
    let open = |at: i64| Bat::transactional(7, 0, vec![commit(at, "t", "orders", 0, 1)]);
    let bytes = |batches: &[Bat]| batches.iter().flat_map(Bat::bytes).collect::<Vec<u8>>();
    let folder = partition(dir.path(), &[one(0), bytes(&[g(1), open(2)])].concat());
    // The tombstone of g, and the transaction with its marker, are cleaned away.
    let copy = partition(&dir.path().join("copy"), &[one(0), one(6)].concat());
    let (code, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("1 key may be alive again") && printed.contains("g orders-0 (offset 1)"), "{printed}");
    assert!(printed.contains("offset 2: a transaction of producer 7 has no end in the new log"), "{printed}");
    // Of one that has them nothing is told.
    let copy = partition(&dir.path().join("whole"), &[one(0), bytes(&[g(1)]), one(6)].concat());
    let (_, printed) = salvage(&["--also", copy.to_str().unwrap()], &folder);
    assert!(!printed.contains("alive again"), "{printed}");
}

/// The checkpoints of a log dir name offsets that the log had come to.
#[test]
fn a_checkpoint_beyond_the_end_proves_a_loss() {
    for (name, offset, status) in [
        ("replication-offset-checkpoint", 20, 3),
        ("recovery-point-offset-checkpoint", 20, 3),
        ("replication-offset-checkpoint", 10, 0),
        ("log-start-offset-checkpoint", 5, 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = partition(dir.path(), &commits(0..10, "g"));
        std::fs::write(dir.path().join(name), format!("0\n1\n__consumer_offsets 0 {offset}\n")).unwrap();
        let (code, printed) = salvage(&[], &folder);
        assert_eq!((code, printed.contains("offsets 10 to 19: LOST")), (status, status == 3), "{name}: {printed}");
    }
}

/// What an index of a segment knows of was in it, of whatever segment.
#[test]
fn an_index_proves_what_its_segment_held() {
    for (name, entry, status) in [
        // The greatest time so far, and an offset from the base on.
        ("timeindex", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 14][..], 3),
        ("timeindex", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9], 0),
        ("timeindex", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 20], 0),
        ("index", &[0, 0, 0, 14, 0, 0, 1, 0], 3),
        ("index", &[0, 0, 0, 14, 0, 0, 1], 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = partition(dir.path(), &commits(0..10, "g"));
        std::fs::write(folder.join(segment_name(20)), commits(20..30, "g")).unwrap();
        std::fs::write(folder.join(format!("{:020}.{name}", 0)), entry).unwrap();
        let (code, printed) = salvage(&[], &folder);
        // And what was behind that, up to the next segment, nobody knows.
        assert_eq!((code, printed.contains("offsets 10 to 19: LOST")), (status, status == 3), "{name}: {printed}");
    }
}

/// What a file beside the log proves to have been in a tail of zeros is a loss, of keys that nobody can name.
#[test]
fn zeros_in_place_of_what_a_snapshot_proves() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = commits(0..30, "g");
    let size = bytes.len() / 30;
    bytes[20 * size + 50..].fill(0);
    let folder = partition(dir.path(), &bytes);
    std::fs::write(folder.join("00000000000000000030.snapshot"), [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let (code, printed) = salvage(&[], &folder);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("offsets 21 to 29: LOST: by 00000000000000000030.snapshot"), "{printed}");
    assert!(printed.contains("keys cannot be read there"), "{printed}");
}

/// A wrapper that no longer inflates does not say how many records it had: any group may have lost some.
#[test]
fn what_a_broken_wrapper_held_is_told_to_be_unknown() {
    for magic in [0, 1] {
        for codec in codecs(magic).iter().copied().filter(|codec| *codec != Codec::None) {
            let mut hull = wreck::Hull::of(magic, codec);
            let whole = hull.bytes[wreck::VICTIM].clone();
            let hurt = hull.bytes.get_mut(wreck::VICTIM).unwrap();
            let from = hurt.len() / 2;
            hurt[from..].fill(0x5a);
            assert!(*hurt != whole);
            let dir = tempfile::tempdir().unwrap();
            let folder = hull.write(dir.path());
            let (code, printed) = salvage(&[], &folder);
            assert!(code == 3 && printed.contains("keys cannot be read there"), "{magic} {codec:?}: {printed}");
        }
    }
}
