//! `salvage`: every kind of damage on every magic and codec; what is kept, what is told, what is filled from elsewhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use common::{exhibits, golden};
use grouplog::log::Codec;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wreck::*;

fn outcome_of(damage: Damage, hull: &Hull, mend: bool) -> &'static str {
    let is_wrapper = hull.magic < 2 && hull.codec != Codec::None;
    match damage {
        Damage::Body | Damage::Crc if mend => "mended",
        Damage::Body | Damage::Crc | Damage::TwoBytes => "lost",
        Damage::Length | Damage::NegativeLength => "mended",
        Damage::Magic if hull.magic == 2 => "mended",
        Damage::Magic | Damage::Zeros | Damage::Noise => "lost",
        Damage::Inserted => "nothing-missing",
        // Inside of a wrapper of magic 0 stand the true offsets.
        Damage::FarOffset | Damage::BackOffset if is_wrapper && hull.magic == 0 => "partly-lost",
        // It would begin below zero, which names no place.
        Damage::BackOffset if is_wrapper => "lost",
        Damage::FarOffset | Damage::BackOffset => {
            if mend {
                "mended"
            } else {
                "lost"
            }
        }
        // No CRC covers it, and no broker would start with it.
        Damage::LeaderEpoch => "mended",
        Damage::Twice => "repeated",
    }
}

/// Every damage on every magic and codec, with some options; shows what came of each.
fn each_damage(options: &[&str], mut check: impl FnMut(Damage, &Hull, &Hull, &Salvaged)) {
    for whole in Hull::all() {
        for damage in Damage::ALL.into_iter().filter(|damage| damage.concerns(whole.magic)) {
            let dir = tempfile::tempdir().unwrap();
            let mut hurt = whole.clone();
            damage.hurt(&mut hurt, VICTIM);
            let folder = hurt.write(&dir.path().join("log"));
            let salvaged = salvage(&dir.path().join("new"), options, &[&folder]);
            let name = format!("{damage:?} of {}", whole.name());
            assert_eq!(salvaged.code, 3, "{name}: {}", salvaged.said);
            let expected = outcome_of(damage, &whole, options.contains(&"--mend"));
            assert_eq!(salvaged.outcomes(), [expected], "{name}: {:#?}", salvaged.lines);
            check(damage, &whole, &hurt, &salvaged);
        }
    }
}

#[test]
fn what_is_sound_is_copied_byte_for_byte() {
    for whole in Hull::all() {
        let dir = tempfile::tempdir().unwrap();
        let folder = whole.write(&dir.path().join("log"));
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        assert_eq!((salvaged.code, salvaged.outcomes().len()), (0, 0), "{}: {}", whole.name(), salvaged.said);
        for name in common::names_in(&folder) {
            let new = std::fs::read(salvaged.partition(0).join(&name)).unwrap();
            assert!(new == std::fs::read(folder.join(&name)).unwrap(), "{}: {name}", whole.name());
        }
    }
}

#[test]
fn logs_of_real_brokers_are_copied_byte_for_byte() {
    let mut partitions = 0;
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let dir = tempfile::tempdir().unwrap();
            let log_dir = exhibit.dir.join(log_dir);
            let salvaged = salvage(&dir.path().join("new"), &[], &[&log_dir]);
            if salvaged.code == 1 && salvaged.said.contains("no partition") {
                continue;
            }
            assert_eq!(salvaged.code, 0, "{}: {} {:#?}", exhibit.name, salvaged.said, salvaged.of_kind("stretch"));
            for (number, folder) in partitions_in(&log_dir) {
                let old = sound_batches(&folder);
                assert!(salvaged.batches(number) == old, "{} {number}", exhibit.name);
                let file = |dir: &Path, name: &str| std::fs::read(dir.join(name)).ok();
                for name in ["leader-epoch-checkpoint", "partition.metadata"] {
                    if let Some(old) = file(&folder, name).filter(|old| !old.is_empty()) {
                        let new = file(&salvaged.partition(number), name).unwrap();
                        assert_eq!(String::from_utf8(new), String::from_utf8(old), "{} {number} {name}", exhibit.name);
                    }
                }
                partitions += 1;
            }
        }
    }
    assert!(partitions > 40, "{partitions}");
}

#[test]
fn every_damage_costs_no_more_than_its_batch() {
    each_damage(&[], |damage, whole, _, salvaged| {
        let name = format!("{damage:?} of {}", whole.name());
        let new = salvaged.batches(0);
        let stretch = salvaged.the("stretch");
        let mut expected = whole.bytes.clone();
        match stretch["outcome"].as_str().unwrap() {
            "lost" => {
                expected.remove(VICTIM);
                let (first, last) = whole.offsets(VICTIM);
                assert_eq!((&stretch["firstOffset"], &stretch["lastOffset"]), (&json!(first), &json!(last)), "{name}");
            }
            "partly-lost" => {
                // Compressed anew: the same records at the same offsets.
                let (old, new) = (read_bat(&expected[VICTIM]), read_bat(&new[VICTIM]));
                assert_eq!(old, new, "{name}");
                expected[VICTIM] = salvaged.batches(0)[VICTIM].clone();
            }
            _ => {}
        }
        assert!(new == expected, "{name}");
        let verified = common::grouplog(&salvaged.out, ["verify", "--broker", "4.4", "--format", "jsonl", "."]);
        let found = String::from_utf8(verified.stdout).unwrap();
        // Side files are the broker's to make.
        let bad: Vec<_> = found
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["severity"] != "info")
            .collect();
        assert!(bad.is_empty(), "{name}: {bad:#?}");
        assert_eq!(salvaged.the("summary")["endOffset"], whole.batches.last().unwrap().last_offset + 1);
    });
}

fn read_bat(bytes: &[u8]) -> Vec<Bat> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read_segment(file.path())
}

#[test]
fn every_readable_lost_key_is_named() {
    each_damage(&[], |damage, whole, hurt, salvaged| {
        let name = format!("{damage:?} of {}", whole.name());
        let lost = salvaged.lost_keys();
        let stretch = salvaged.the("stretch");
        let is_batch = header_holds(&hurt.bytes[VICTIM]);
        if stretch["outcome"] != "lost" || !is_batch {
            assert_eq!(lost, BTreeSet::new(), "{name}");
            return;
        }
        // Damage inside of a compressed body can cost what is behind it, and its keys.
        let keys = keys_of(&whole.batches[VICTIM]);
        let untouched = matches!(damage, Damage::Crc | Damage::FarOffset | Damage::BackOffset);
        if whole.codec == Codec::None || untouched {
            let lost: Vec<_> = lost.iter().filter(|lost| keys.contains(*lost)).collect();
            // The two bytes may lie in a key.
            let least = if damage == Damage::TwoBytes { keys.len() - 1 } else { keys.len() };
            assert!(lost.len() >= least, "{name}: {lost:?}, not {keys:?}");
        }
    });
}

fn header_holds(bytes: &[u8]) -> bool {
    bytes[16] <= 2 && i32::from_be_bytes(bytes[8..12].try_into().unwrap()) as usize + 12 == bytes.len()
}

#[test]
fn what_one_bit_explains_is_mended() {
    each_damage(&["--mend"], |damage, whole, _, salvaged| {
        let mended = salvaged.outcomes() == ["mended"];
        assert!(!mended || salvaged.batches(0) == whole.bytes, "{damage:?} of {}", whole.name());
        assert!(!mended || digests(&salvaged.partition(0)) == digests_of(whole), "{damage:?} of {}", whole.name());
    });
}

fn digests_of(hull: &Hull) -> grouplog::model::digest::Digests {
    let dir = tempfile::tempdir().unwrap();
    digests(&hull.write(dir.path()))
}

#[test]
fn a_replica_fills_every_hole() {
    for whole in Hull::all() {
        let dir = tempfile::tempdir().unwrap();
        let replica = whole.write(&dir.path().join("replica"));
        for damage in Damage::ALL.into_iter().filter(|damage| damage.concerns(whole.magic)) {
            let dir = tempfile::tempdir().unwrap();
            let mut hurt = whole.clone();
            damage.hurt(&mut hurt, VICTIM);
            let folder = hurt.write(&dir.path().join("log"));
            let also = replica.display().to_string();
            let salvaged = salvage(&dir.path().join("new"), &["--also", &also], &[&folder]);
            let name = format!("{damage:?} of {}", whole.name());
            assert_eq!(salvaged.code, 3, "{name}: {}", salvaged.said);
            assert_eq!(salvaged.lost_keys(), BTreeSet::new(), "{name}");
            assert_eq!(digests(&salvaged.partition(0)), digests(&replica), "{name}");
            if outcome_of(damage, &whole, false) == "lost" {
                assert_eq!(salvaged.outcomes(), ["filled"], "{name}: {:#?}", salvaged.lines);
                assert!(salvaged.batches(0) == whole.bytes, "{name}");
            }
        }
    }
}

#[test]
fn doubtful_records_are_kept_on_request() {
    for whole in Hull::all() {
        let dir = tempfile::tempdir().unwrap();
        let mut hurt = whole.clone();
        // Two bytes of the CRC itself: no single change explains them.
        let at = if whole.magic == 2 { 17 } else { 12 };
        hurt.bytes[VICTIM][at..at + 2].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let folder = hurt.write(&dir.path().join("log"));
        let salvaged = salvage(&dir.path().join("new"), &["--keep-doubtful"], &[&folder]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["kept-doubtful"]), "{}", whole.name());
        assert_eq!(salvaged.the("stretch")["recordsKept"], whole.batches[VICTIM].records.len());
        assert_eq!(read_partition(&salvaged.partition(0)), read_partition_of(&whole), "{}", whole.name());
    }
}

fn read_partition_of(hull: &Hull) -> Vec<Bat> {
    let dir = tempfile::tempdir().unwrap();
    read_partition(&hull.write(dir.path()))
}

#[test]
fn a_bad_record_costs_none_of_its_neighbours() {
    for codec in codecs(2) {
        let whole = Hull::of(2, *codec);
        let dir = tempfile::tempdir().unwrap();
        let mut hurt = whole.clone();
        hurt.bytes[VICTIM] = with_bad_record(&whole.batches[VICTIM]);
        let folder = hurt.write(&dir.path().join("log"));
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["partly-lost"]), "{codec:?}");
        let stretch = salvaged.the("stretch");
        assert_eq!((&stretch["recordsKept"], &stretch["recordsLost"]), (&json!(2), &json!(1)), "{codec:?}");
        let mut expected = whole.batches.clone();
        let bad = expected[VICTIM].records.remove(1);
        assert_eq!(read_partition(&salvaged.partition(0)), expected, "{codec:?}");
        let lost = salvaged.the("lost-key");
        assert_eq!((&lost["offset"], &lost["lost"]["partition"]), (&json!(bad.offset), &json!(1)), "{codec:?}");
    }
}

/// The second record has bytes behind its headers.
fn with_bad_record(batch: &Bat) -> Vec<u8> {
    let mut plain = Bat { codec: Codec::None, ..batch.clone() }.bytes();
    let body = plain.split_off(61);
    let first_len = usize::from(body[0] >> 1) + 1;
    assert!(body[0] & 0x80 == 0, "a record of one length byte");
    let (first, rest) = body.split_at(first_len);
    let second_len = usize::from(rest[0] >> 1) + 1;
    let (second, third) = rest.split_at(second_len);
    let mut second = second.to_vec();
    second[0] += 2 * 2;
    second.extend_from_slice(&[7, 7]);
    let body = [first, &second, third].concat();
    let squeezed = compressed(batch.codec, &body);
    plain[22] = plain[22] & !7 | number(batch.codec);
    plain[8..12].copy_from_slice(&(49 + squeezed.len() as i32).to_be_bytes());
    plain.extend_from_slice(&squeezed);
    resealed(plain)
}

#[test]
fn a_count_that_is_wrong_is_put_right() {
    for (says, lost) in [(2, 0), (5, 2)] {
        let whole = Hull::of(2, Codec::None);
        let dir = tempfile::tempdir().unwrap();
        let mut hurt = whole.clone();
        hurt.bytes[VICTIM][57..61].copy_from_slice(&i32::to_be_bytes(says));
        hurt.bytes[VICTIM] = resealed(hurt.bytes[VICTIM].clone());
        let folder = hurt.write(&dir.path().join("log"));
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        let stretch = salvaged.the("stretch");
        assert_eq!((stretch["code"].as_str(), &stretch["recordsLost"]), (Some("count-mismatch"), &json!(lost)));
        assert!(salvaged.batches(0) == whole.bytes);
    }
}

#[test]
fn an_lz4_header_that_no_broker_reads_is_put_right() {
    for magic in [1, 2] {
        let whole = Hull::of(magic, Codec::Lz4);
        let mut hurt = whole.clone();
        let bytes = &mut hurt.bytes[VICTIM];
        let frame = bytes.windows(4).position(|it| it == [0x04, 0x22, 0x4d, 0x18]).unwrap();
        // As magic 0 has it: over the frame's magic too.
        let sum = (twox_hash::XxHash32::oneshot(0, &bytes[frame..frame + 6]) >> 8) as u8;
        assert_ne!(bytes[frame + 6], sum);
        bytes[frame + 6] = sum;
        hurt.bytes[VICTIM] = resealed(hurt.bytes[VICTIM].clone());
        let dir = tempfile::tempdir().unwrap();
        let folder = hurt.write(&dir.path().join("log"));
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        let stretch = salvaged.the("stretch");
        assert_eq!(
            (salvaged.code, stretch["code"].as_str()),
            (3, Some("lz4-header-checksum")),
            "{:#?}",
            salvaged.lines
        );
        assert_eq!((&stretch["recordsKept"], &stretch["recordsLost"]), (&json!(3), &json!(0)));
        assert_eq!(read_partition(&salvaged.partition(0)), whole.batches);
        assert_eq!(salvaged.lost_keys(), BTreeSet::new());
    }
}

#[test]
fn of_a_body_that_breaks_off_the_records_before_stay() {
    let whole = Hull::of(2, Codec::Gzip);
    let mut hurt = whole.clone();
    // The deflate stream goes on as one stored block that is cut short.
    let batch = &whole.batches[VICTIM];
    let plain = Bat { codec: Codec::None, ..batch.clone() }.bytes();
    let body = &plain[61..];
    let cut = body.len() - 20;
    let mut squeezed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    squeezed.extend_from_slice(&(body.len() as u16).to_le_bytes());
    squeezed.extend_from_slice(&(!(body.len() as u16)).to_le_bytes());
    squeezed.extend_from_slice(&body[..cut]);
    let mut bytes = plain[..61].to_vec();
    bytes[22] |= 1;
    bytes[8..12].copy_from_slice(&(49 + squeezed.len() as i32).to_be_bytes());
    bytes.extend_from_slice(&squeezed);
    hurt.bytes[VICTIM] = resealed(bytes);
    let dir = tempfile::tempdir().unwrap();
    let folder = hurt.write(&dir.path().join("log"));
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    let stretch = salvaged.the("stretch");
    assert_eq!((&stretch["recordsKept"], &stretch["recordsLost"]), (&json!(2), &json!(1)), "{stretch:#}");
    let mut expected = whole.batches.clone();
    expected[VICTIM].records.pop();
    assert_eq!(read_partition(&salvaged.partition(0)), expected);
}

#[test]
fn a_control_record_that_is_none_is_taken_out() {
    let marker = Bat::marker(Ending::Commit, 3, T0, 9, 0);
    let mut odd = marker.clone();
    odd.records[0].key = Some(vec![0, 0, 0, 9]);
    let (_dir, salvaged) = run(&[commits(0, 2, 1, 0), odd, commits(4, 5, 1, 0)], &[]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost"]));
    assert_eq!(salvaged.the("stretch")["code"], "bad-control-record");
    assert_eq!(record_offsets(&salvaged.partition(0)), [0, 1, 2, 4, 5]);
}

#[test]
fn what_a_broker_refuses_is_taken_out_on_request() {
    let mut junk = commits(3, 5, 1, 0);
    junk.records[1].key = None;
    junk.records[2].value = Some(vec![0, 99, 1]);
    let batches = [commits(0, 2, 1, 0), junk, commits(6, 8, 1, 0)];
    let (_dir, salvaged) = run(&batches, &["--drop-unloadable", "4.4"]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["dropped-unloadable"; 2]), "{}", salvaged.said);
    assert_eq!(record_offsets(&salvaged.partition(0)), [0, 1, 2, 3, 6, 7, 8]);
    assert_eq!(salvaged.of_kind("lost-key").len(), 2);
    assert_eq!(salvaged.the("summary")["broker"]["loads"], true);
    // Without being asked, it is only said.
    let (_dir, salvaged) = run(&batches, &[]);
    assert_eq!((salvaged.code, salvaged.outcomes().len()), (3, 0));
    assert!(salvaged.said.contains("--drop-unloadable 4.4"), "{}", salvaged.said);
    assert_eq!(salvaged.the("summary")["broker"]["loads"], false);
    // What some releases load is of use.
    let mut newer = commits(3, 5, 1, 0);
    newer.records[2].key = Some(b"\0\x03\0\x01g".to_vec());
    newer.records[2].value = Some(vec![0, 99, 1]);
    let (_dir, salvaged) = run(&[commits(0, 2, 1, 0), newer], &[]);
    assert_eq!((salvaged.code, salvaged.outcomes().len()), (0, 0), "{}", salvaged.said);
    assert_eq!(salvaged.the("summary")["broker"]["loads"], false);
}

#[test]
fn partitions_that_no_release_loads_can_be_made_loadable() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/verdicts/log");
    let verdicts = golden().map(|golden| golden.join("verdicts/log")).filter(|path| path.is_dir()).unwrap_or(fixture);
    for release in ["3.9", "4.0", "4.4"] {
        let dir = tempfile::tempdir().unwrap();
        let salvaged = salvage(&dir.path().join("new"), &["--drop-unloadable", release], &[&verdicts]);
        assert!(matches!(salvaged.code, 0 | 3), "{release}: {}", salvaged.said);
        let loads = salvaged.of_kind("summary").iter().all(|line| line["broker"]["loads"] == true);
        assert!(loads, "{release}");
        assert!(salvaged.outcomes().contains(&"dropped-unloadable"), "{release}");
    }
}

#[test]
fn a_single_file_becomes_a_partition() {
    let whole = Hull::of(2, Codec::Zstd);
    let dir = tempfile::tempdir().unwrap();
    let folder = whole.write(dir.path());
    let file = dir.path().join("saved.log");
    std::fs::copy(folder.join(segment_name(0)), &file).unwrap();
    let salvaged = salvage(&dir.path().join("a"), &["--partition", "7"], &[&file]);
    assert_eq!(salvaged.code, 0, "{}", salvaged.said);
    assert!(salvaged.said.contains("no partition.metadata"), "{}", salvaged.said);
    assert!(salvaged.batches(7) == whole.bytes[..IN_FIRST]);
    assert_eq!(salvage(&dir.path().join("b"), &[], &[&file]).code, 2);
}

/// Whatever is done to a log: what comes out is sound, ascends, and holds every batch that was not touched.
#[test]
fn any_damage_at_all() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut roll = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let hulls = Hull::all();
    for round in 0..150 {
        let whole = &hulls[roll(hulls.len())];
        let dir = tempfile::tempdir().unwrap();
        let folder = whole.write(&dir.path().join("log"));
        let path = folder.join(segment_name(0));
        let mut bytes = std::fs::read(&path).unwrap();
        let (from, len) = (roll(bytes.len()), 1 + roll(300));
        let to = (from + len).min(bytes.len());
        // Cut out or put in, bytes move what is behind them.
        let kind = roll(5);
        let moves = matches!(kind, 2 | 3);
        match kind {
            0 => bytes[from..to].iter_mut().for_each(|byte| *byte ^= 1 + roll(255) as u8),
            1 => bytes[from..to].fill(0),
            2 => drop(bytes.drain(from..to)),
            3 => drop(bytes.splice(from..from, std::iter::repeat_n(0x5a, len))),
            _ => {
                let copy = bytes[from..to].to_vec();
                let at = roll(bytes.len() - copy.len());
                bytes[at..at + copy.len()].copy_from_slice(&copy);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        for options in [&[][..], &["--mend"], &["--keep-doubtful"]] {
            let out = dir.path().join(format!("new{}", options.concat()));
            let salvaged = salvage(&out, options, &[&folder]);
            assert!(matches!(salvaged.code, 0 | 3), "{round} {options:?} of {}: {}", whole.name(), salvaged.said);
            let new: BTreeSet<Vec<u8>> = salvaged.batches(0).into_iter().collect();
            for (i, batch) in whole.bytes.iter().enumerate() {
                // Elsewhere than at its own place it is a stray copy, and not a batch that was not touched.
                let start: usize = whole.bytes.iter().take(i).map(Vec::len).sum();
                let there = match moves {
                    true => memchr::memmem::find(&bytes, batch).is_some(),
                    false => bytes.get(start..).is_some_and(|rest| rest.starts_with(batch)),
                } || i >= IN_FIRST;
                assert!(
                    !there || new.contains(batch),
                    "{round} {options:?} of {}: batch {i} at {start}, damage {kind} at {from} to {to}, {:?}: {:#?}",
                    whole.name(),
                    whole.bytes.iter().map(Vec::len).collect::<Vec<_>>(),
                    salvaged.lines
                );
            }
        }
    }
}

/// A partition of magic 2 batches in one segment.
fn one_segment(dir: &Path, batches: &[Bat]) -> PathBuf {
    let folder = write_log(&dir.join("log"), 0, batches);
    std::fs::write(folder.join("partition.metadata"), "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw").unwrap();
    folder
}

fn run(batches: &[Bat], options: &[&str]) -> (tempfile::TempDir, Salvaged) {
    let dir = tempfile::tempdir().unwrap();
    let folder = one_segment(dir.path(), batches);
    let salvaged = salvage(&dir.path().join("new"), options, &[&folder]);
    (dir, salvaged)
}

fn commits(from: i64, to: i64, says: i64, epoch: i32) -> Bat {
    let records = (from..=to).map(|at| commit(at, "g", "t", at as i32 % 3, says + at)).collect();
    Bat { leader_epoch: epoch, ..Bat::of(records) }
}

#[test]
fn of_a_range_written_twice_the_later_stays_and_nothing_before_it_goes() {
    // C56: 0-9, 5-9 with other values, 10-12.
    let (_dir, salvaged) = run(&[commits(0, 9, 100, 0), commits(5, 9, 200, 0), commits(10, 12, 300, 0)], &[]);
    assert_eq!(salvaged.code, 3);
    assert_eq!(salvaged.outcomes(), ["partly-overruled"]);
    let expected = [commits(0, 4, 100, 0), commits(5, 9, 200, 0), commits(10, 12, 300, 0)];
    assert_eq!(read_partition(&salvaged.partition(0)), expected);
    assert_eq!(salvaged.of_kind("lost-key").len(), 3);
    let superseded = salvaged.of_kind("lost-key").iter().all(|lost| lost["superseded"] == true);
    assert!(superseded, "{:#?}", salvaged.lines);
}

#[test]
fn of_a_range_written_twice_the_higher_leader_epoch_stays() {
    let (_dir, salvaged) =
        run(&[commits(0, 4, 1, 0), commits(5, 9, 100, 7), commits(5, 8, 200, 3), commits(10, 12, 300, 7)], &[]);
    assert_eq!(salvaged.outcomes(), ["overruled"]);
    let expected = [commits(0, 4, 1, 0), commits(5, 9, 100, 7), commits(10, 12, 300, 7)];
    assert_eq!(read_partition(&salvaged.partition(0)), expected);
    let epochs = std::fs::read_to_string(salvaged.partition(0).join("leader-epoch-checkpoint")).unwrap();
    assert_eq!(epochs, "0\n2\n0 0\n7 5\n");
}

#[test]
fn of_a_range_written_twice_with_equal_contents_the_first_stays() {
    let run_twice = [commits(0, 4, 1, 0), commits(5, 9, 2, 0), commits(10, 12, 3, 0), commits(5, 9, 2, 0)];
    let (_dir, salvaged) = run(&[&run_twice[..], &[commits(10, 14, 3, 0), commits(15, 16, 4, 0)]].concat(), &[]);
    // The second 10-14 goes beyond the first 10-12.
    let kept = read_partition(&salvaged.partition(0));
    let expected =
        [commits(0, 4, 1, 0), commits(5, 9, 2, 0), commits(10, 12, 3, 0), commits(13, 14, 3, 0), commits(15, 16, 4, 0)];
    assert_eq!(kept, expected, "{:#?}", salvaged.lines);
    assert_eq!(salvaged.of_kind("lost-key").len(), 0);
}

#[test]
fn the_end_offset_survives() {
    // The last batch is damaged: its records are lost, its offsets are not given out again.
    let dir = tempfile::tempdir().unwrap();
    let mut whole = Hull::of(2, Codec::None);
    let last = whole.bytes.len() - 1;
    Damage::Body.hurt(&mut whole, last);
    let folder = whole.write(&dir.path().join("log"));
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    let end = whole.batches[last].last_offset + 1;
    assert_eq!(salvaged.the("summary")["endOffset"], end);
    assert_eq!(std::fs::read(salvaged.partition(0).join(segment_name(end))).unwrap(), b"");

    // C31: an empty last segment says where the log ends.
    let dir = tempfile::tempdir().unwrap();
    let folder = one_segment(dir.path(), &[commits(0, 9, 1, 0)]);
    std::fs::write(folder.join(segment_name(20)), b"").unwrap();
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    assert_eq!((salvaged.code, &salvaged.the("summary")["endOffset"]), (0, &json!(20)));
    assert_eq!(std::fs::read(salvaged.partition(0).join(segment_name(20))).unwrap(), b"");
}

#[test]
fn a_torn_tail_is_normal_on_the_last_segment_only() {
    let whole = Hull::of(2, Codec::None);
    let dir = tempfile::tempdir().unwrap();
    let folder = whole.write(&dir.path().join("log"));
    let cut = |name: String| {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 11]).unwrap();
    };
    cut(segment_name(whole.batches[IN_FIRST].base_offset));
    let salvaged = salvage(&dir.path().join("a"), &[], &[&folder]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (0, vec!["normal"]));
    assert!(salvaged.batches(0) == whole.bytes[..BATCHES - 1]);
    cut(segment_name(0));
    let salvaged = salvage(&dir.path().join("b"), &[], &[&folder]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost", "normal"]));
    let (first, last) = whole.offsets(IN_FIRST - 1);
    let stretch = salvaged.of_kind("stretch")[0];
    assert_eq!((&stretch["firstOffset"], &stretch["lastOffset"]), (&json!(first), &json!(last)));
}

#[test]
fn zeros_at_the_end_are_normal() {
    let whole = Hull::of(2, Codec::None);
    let dir = tempfile::tempdir().unwrap();
    let folder = whole.write(&dir.path().join("log"));
    for base in [0, whole.batches[IN_FIRST].base_offset] {
        let path = folder.join(segment_name(base));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(&[0; 5000]);
        std::fs::write(&path, bytes).unwrap();
    }
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (0, vec!["normal", "normal"]));
    assert!(salvaged.batches(0) == whole.bytes);
}

#[test]
fn a_lost_end_marker_is_told_with_what_hangs_on_it() {
    let data = |at: i64| Bat::transactional(9, 1, vec![commit(at, "g", "t", 0, at), commit(at + 1, "h", "t", 1, at)]);
    let marker = |ending, at| Bat::marker(ending, at, T0 + at, 9, 1);
    let dir = tempfile::tempdir().unwrap();
    let log = |rest: &[Bat]| {
        let mut bytes = [data(0).bytes(), marker(Ending::Abort, 2).bytes()];
        bytes[1][70] ^= 1;
        let rest: Vec<u8> = rest.iter().flat_map(Bat::bytes).collect();
        let folder = one_segment(dir.path(), &[data(0)]);
        std::fs::write(folder.join(segment_name(0)), [&bytes.concat()[..], &rest].concat()).unwrap();
        folder
    };
    let folder = log(&[commits(3, 5, 1, 0)]);
    let salvaged = salvage(&dir.path().join("open"), &[], &[&folder]);
    let lost = salvaged.the("marker-lost");
    assert_eq!((&lost["producerId"], &lost["offset"], &lost["endedBy"]), (&json!(9), &json!(2), &Value::Null));
    let groups: Vec<_> = lost["hanging"].as_array().unwrap().iter().map(|key| key["group"].as_str().unwrap()).collect();
    assert_eq!(groups, ["g", "h"]);
    // The producer's next marker ends what the lost one should have ended: an aborted commit becomes a committed one.
    let folder = log(&[data(3), marker(Ending::Commit, 5)]);
    let salvaged = salvage(&dir.path().join("ended"), &[], &[&folder]);
    assert_eq!(salvaged.the("marker-lost")["endedBy"], json!({"offset": 5, "type": "COMMIT"}));
    let (_dir, whole) = run(&[data(0), marker(Ending::Abort, 2), commits(3, 5, 1, 0)], &[]);
    assert_eq!(whole.of_kind("marker-lost").len(), 0);
}

#[test]
fn what_stands_in_place_of_a_lost_value_is_told() {
    let one = |at: i64, group: &str, says: i64| Bat::of(vec![commit(at, group, "t", 0, says)]);
    let batches = [
        one(0, "falls-back", 10),
        one(1, "falls-back", 11),
        one(2, "gone", 20),
        one(3, "superseded", 30),
        one(4, "superseded", 31),
        one(5, "last", 1),
    ];
    let dir = tempfile::tempdir().unwrap();
    let folder = one_segment(dir.path(), &batches);
    let mut bytes: Vec<Vec<u8>> = batches.iter().map(Bat::bytes).collect();
    for hurt in [1, 2, 3] {
        bytes[hurt][18] ^= 3;
        bytes[hurt][19] ^= 3;
    }
    std::fs::write(folder.join(segment_name(0)), bytes.concat()).unwrap();
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    let line = |group: &str| {
        let lines = salvaged.of_kind("lost-key");
        let found: Vec<_> = lines.into_iter().filter(|line| line["lost"]["group"] == group).collect();
        assert_eq!(found.len(), 1, "{group}");
        found[0].clone()
    };
    let (back, gone, superseded) = (line("falls-back"), line("gone"), line("superseded"));
    assert_eq!(
        (&back["superseded"], &back["offset"], &back["lostValue"]["data"]["offset"]),
        (&json!(false), &json!(1), &json!(11))
    );
    assert_eq!((&back["fallback"]["offset"], &back["fallback"]["value"]["data"]["offset"]), (&json!(0), &json!(10)));
    assert_eq!((&gone["superseded"], &gone["fallback"]), (&json!(false), &Value::Null));
    assert_eq!((&superseded["superseded"], &superseded["supersededBy"]), (&json!(true), &json!(4)));
    let summary = salvaged.the("summary");
    // Of the one that nothing else names, its damaged bytes are the only word.
    let names = ["lostKeys", "lostKeysFallenBack", "lostKeysGone", "lostKeysDoubtful", "lostKeysSuperseded"];
    let counts = names.map(|name| summary[name].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(0), Some(1), Some(1)]);
}

#[test]
fn deleted_files_fill_what_damage_took_and_bring_nothing_back() {
    let one = |at: i64, group: &str, says: i64| Bat::of(vec![commit(at, group, "t", 0, says)]);
    let gone = |at: i64, group: &str| Bat::of(vec![forget(at, group, "t", 0)]);
    // As it was before a cleaning that took 0, 2 and 5: the tombstone's time had passed.
    let old = [
        one(0, "a", 1),
        one(1, "b", 1),
        one(2, "dead", 1),
        one(3, "c", 1),
        one(4, "e", 1),
        gone(5, "dead"),
        one(6, "a", 2),
    ];
    let new = [one(1, "b", 1), one(3, "c", 1), one(4, "e", 1), one(6, "a", 2), one(7, "d", 1)];
    let dir = tempfile::tempdir().unwrap();
    let folder = one_segment(dir.path(), &new);
    std::fs::remove_file(folder.join(segment_name(1))).unwrap();
    let write = |name: String, batches: &[Vec<u8>]| std::fs::write(folder.join(name), batches.concat()).unwrap();
    let bytes = |batches: &[Bat]| batches.iter().map(Bat::bytes).collect::<Vec<_>>();
    let mut hurt = bytes(&new);
    hurt[1].fill(0xee);
    write(segment_name(0), &hurt);
    write(format!("{}.deleted", segment_name(0)), &bytes(&old));
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["filled"]), "{:#?}", salvaged.lines);
    // Damage took offsets 2 and 3, of which only 3 was there; 2 is dead, and stays so.
    assert_eq!(record_offsets(&salvaged.partition(0)), [1, 3, 4, 6, 7]);
    let live = digests(&salvaged.partition(0));
    let dir2 = tempfile::tempdir().unwrap();
    assert_eq!(live, digests(&one_segment(dir2.path(), &new)));

    let salvaged = salvage(&dir.path().join("all"), &["--include-leftovers"], &[&folder]);
    assert_eq!(record_offsets(&salvaged.partition(0)), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn two_damaged_copies_make_one_whole() {
    for whole in [Hull::of(2, Codec::Snappy), Hull::of(1, Codec::Gzip), Hull::of(0, Codec::None)] {
        let dir = tempfile::tempdir().unwrap();
        let hurt = |name: &str, victims: [usize; 3]| {
            let mut hull = whole.clone();
            let damages = [Damage::Noise, Damage::TwoBytes, Damage::Zeros];
            damages.into_iter().zip(victims).for_each(|(damage, victim)| damage.hurt(&mut hull, victim));
            hull.write(&dir.path().join(name))
        };
        let (ours, theirs) = (hurt("a", [2, 9, 14]), hurt("b", [1, 5, 15]));
        let salvaged = salvage(&dir.path().join("new"), &["--also", &theirs.display().to_string()], &[&ours]);
        assert_eq!(salvaged.outcomes(), ["filled"; 3], "{}: {:#?}", whole.name(), salvaged.lines);
        assert!(salvaged.batches(0) == whole.bytes, "{}", whole.name());
        assert_eq!(salvaged.the("copy")["damagedStretches"], 3);
        // What is lost in both is lost.
        let theirs = hurt("c", [2, 5, 15]);
        let salvaged = salvage(&dir.path().join("newer"), &["--also", &theirs.display().to_string()], &[&ours]);
        assert_eq!(salvaged.outcomes(), ["lost", "filled", "filled"], "{}", whole.name());
        let mut expected = whole.bytes.clone();
        expected.remove(2);
        assert!(salvaged.batches(0) == expected, "{}", whole.name());
    }
}

#[test]
fn a_batch_beyond_the_limit_is_lost_for_nobody_can_look_into_it() {
    let whole = Hull::of(2, Codec::Zstd);
    let dir = tempfile::tempdir().unwrap();
    let folder = whole.write(&dir.path().join("log"));
    let salvaged = salvage(&dir.path().join("new"), &["--max-inflated", "150"], &[&folder]);
    assert_eq!(salvaged.code, 3);
    assert!(salvaged.outcomes().iter().all(|outcome| *outcome == "lost") && !salvaged.outcomes().is_empty());
    let kept = salvaged.batches(0);
    assert_eq!(kept.len() + salvaged.outcomes().len(), whole.bytes.len());
}

#[test]
fn an_offset_that_nothing_vouches_for_does_not_become_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut whole = Hull::of(2, Codec::None);
    let last = whole.bytes.len() - 1;
    Damage::TwoBytes.hurt(&mut whole, last);
    whole.bytes[last][4] ^= 0x40;
    let folder = whole.write(&dir.path().join("log"));
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    assert_eq!(salvaged.the("summary")["endOffset"], whole.batches[last].base_offset);
    assert_eq!(salvaged.the("stretch")["lastOffset"], Value::Null);
    let lost = salvaged.of_kind("lost-key");
    assert!(lost.iter().all(|line| line["offset"].as_i64() < Some(whole.batches[last].last_offset + 1)), "{lost:#?}");
}

#[test]
fn replicas_of_a_real_cluster() {
    let Some(golden) = golden() else { return };
    let broker = |scenario: &str, number: i32| golden.join(format!("replicas/{scenario}/log/broker-{number}"));
    for scenario in ["in-sync", "lagging", "diverged"] {
        let brokers = common::names_in(&golden.join("replicas").join(scenario).join("log"));
        assert_eq!(brokers.len(), 3, "{brokers:?}");
        let numbers: Vec<i32> = brokers.iter().map(|name| name.rsplit('-').next().unwrap().parse().unwrap()).collect();
        let (ours, theirs) = (broker(scenario, numbers[0]), broker(scenario, numbers[1]));
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (
            salvage(&dir.path().join("a"), &["--also", &theirs.display().to_string()], &[&ours]),
            salvage(&dir.path().join("b"), &["--also", &ours.display().to_string()], &[&theirs]),
        );
        for (number, _) in partitions_in(&ours) {
            // Whichever comes first, the union is the same.
            assert!(a.batches(number) == b.batches(number), "{scenario} {number}");
            let lens =
                [&ours, &theirs].map(|log| record_offsets(&log.join(format!("__consumer_offsets-{number}"))).len());
            let union = record_offsets(&a.partition(number)).len();
            match scenario {
                "in-sync" => assert_eq!(union, lens[0]),
                "lagging" => assert_eq!(union, *lens.iter().max().unwrap()),
                _ => {}
            }
        }
        println!("{scenario}: {:?} {:?}", a.outcomes().len(), a.of_kind("diverged").len());
        if scenario == "in-sync" {
            assert_eq!(a.code, 0, "{}", a.said);
        }
    }
}

#[test]
fn where_replicas_diverge_the_higher_epoch_wins() {
    let shared = [commits(0, 4, 1, 0), commits(5, 9, 1, 1)];
    let ours = [&shared[..], &[commits(10, 14, 100, 1)]].concat();
    let theirs = [&shared[..], &[commits(10, 11, 200, 2), commits(12, 12, 200, 2)]].concat();
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (write_log(&dir.path().join("a"), 0, &ours), write_log(&dir.path().join("b"), 0, &theirs));
    for (first, second, taken) in [(&a, &b, "theirs"), (&b, &a, "ours")] {
        let out = dir.path().join(taken);
        let salvaged = salvage(&out, &["--also", &second.display().to_string()], &[first]);
        assert_eq!(salvaged.code, 3);
        assert_eq!(read_partition(&salvaged.partition(0)), theirs, "{taken}");
        let diverged = salvaged.the("diverged");
        assert_eq!((&diverged["offset"], &diverged["taken"]), (&json!(10), &json!(taken)));
        let conflicts = salvaged.of_kind("conflict");
        let offsets: Vec<_> = conflicts.iter().map(|conflict| conflict["offset"].as_i64().unwrap()).collect();
        assert_eq!(offsets, [10, 11, 12]);
        let values =
            [&conflicts[0]["ours"], &conflicts[0]["theirs"]].map(|side| side["value"]["data"]["offset"].clone());
        let expected = if taken == "theirs" { [json!(110), json!(210)] } else { [json!(210), json!(110)] };
        assert_eq!(values, expected);
    }
}

#[test]
fn a_compacted_copy_is_no_conflict() {
    // Ours is whole and damaged; theirs was compacted: in the damaged stretch only one record is left there.
    let dir = tempfile::tempdir().unwrap();
    let ours = [commits(0, 2, 1, 0), commits(3, 5, 1, 0), commits(6, 8, 1, 0)];
    let mut thinned = ours.to_vec();
    thinned[0].records.drain(..2);
    thinned[1].records.drain(..1);
    let theirs = write_log(&dir.path().join("b"), 0, &thinned);
    let folder = one_segment(dir.path(), &ours);
    let mut bytes: Vec<Vec<u8>> = ours.iter().map(Bat::bytes).collect();
    bytes[1].fill(0xaa);
    std::fs::write(folder.join(segment_name(0)), bytes.concat()).unwrap();
    let salvaged = salvage(&dir.path().join("new"), &["--also", &theirs.display().to_string()], &[&folder]);
    assert_eq!(salvaged.outcomes(), ["filled"]);
    assert_eq!(salvaged.of_kind("conflict").len(), 0);
    assert_eq!(record_offsets(&salvaged.partition(0)), [0, 1, 2, 4, 5, 6, 7, 8]);
    // Of all of it, nothing may be left: then it is told whose word that is.
    thinned.remove(1);
    let theirs = write_log(&dir.path().join("c"), 0, &thinned);
    let salvaged = salvage(&dir.path().join("newer"), &["--also", &theirs.display().to_string()], &[&folder]);
    let stretch = salvaged.the("stretch");
    assert_eq!(stretch["outcome"], "filled");
    assert!(stretch["filledFrom"][0].as_str().unwrap().starts_with(theirs.to_str().unwrap()), "{stretch:#}");
    assert_eq!(record_offsets(&salvaged.partition(0)), [0, 1, 2, 6, 7, 8]);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut hurt = Hull::of(2, Codec::Lz4);
    Damage::Crc.hurt(&mut hurt, VICTIM);
    let folder = hurt.write(&dir.path().join("log"));
    let output = common::grouplog(dir.path(), ["salvage", "--dry-run", "--format", "jsonl", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
    let dry: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (dry, wet) = (&dry[..dry.len() - 1], &salvaged.lines[..salvaged.lines.len() - 1]);
    assert_eq!(dry, wet);
    assert_eq!(common::names_in(dir.path()), ["log", "new"]);
}
