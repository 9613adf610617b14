//! What `model::preflight` promises beside the verdicts: names, places, bounds, and no false alarm on real logs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/group_records.rs"]
mod group_records;
#[path = "common/verdict_cases.rs"]
mod verdict_cases;

use build::{Bat, Rec, commit};
use grouplog::log::DEFAULT_MAX_INFLATED;
use grouplog::model::preflight::{Consequence, Coordinator, MAX_REFUSALS, Reason, Verdict, preflight};
use std::path::{Path, PathBuf};

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "log"));
    paths.sort();
    paths
}

fn judged(dir: &Path, coordinators: &[Coordinator], log_start: Option<i64>) -> Vec<Verdict> {
    preflight(&segments(dir), coordinators, log_start, DEFAULT_MAX_INFLATED, &mut |_| {}).unwrap()
}

fn by(name: &str, dir: &Path) -> Verdict {
    judged(dir, &[name.parse().unwrap()], None).remove(0)
}

/// The log dirs below a folder.
fn partitions(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name.starts_with("__consumer_offsets-") {
            found.push(path);
        } else if path.is_dir() && !name.starts_with("verdicts") {
            found.extend(partitions(&path));
        }
    }
    found.sort();
    found
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn keyless(at: i64) -> Rec {
    Rec { key: None, ..commit(at, "g", "t", 0, 1) }
}

/// What no coordinator comes to read: 3.9.2, 4.0.0 and 4.4.0 end when they start on such a segment.
#[test]
fn no_broker_starts_on_a_segment_of_two_gibibytes() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 0, &[Bat::of(vec![commit(0, "g", "t", 0, 1)])]);
    let name = "00000000000000000000.log";
    let file = std::fs::File::options().write(true).open(folder.join(name)).unwrap();
    for (bytes, ends_at, consequence) in [(i32::MAX as u64, None, "served"), (1 << 31, Some(name), "broker-ends")] {
        file.set_len(bytes).unwrap();
        for verdict in judged(&folder, &["3.9".parse().unwrap(), "4.4".parse().unwrap()], None) {
            assert_eq!((verdict.loads(), verdict.ends_at.as_deref()), (ends_at.is_none(), ends_at));
            assert_eq!(verdict.consequence().code(), consequence);
        }
    }
}

#[test]
fn names() {
    for name in ["2.8", "3.4.0", "3.9", "3.9-new", "3.9.2-new", "4.0.0", "4.4"] {
        assert_eq!(name.parse::<Coordinator>().unwrap().to_string(), name);
    }
    for name in ["5.0", "4.5", "2.7", "3.8-new", "4.0-new", "4", "4.x", "", "-new", "4.0.0.0", "99999.0"] {
        let error = name.parse::<Coordinator>().unwrap_err();
        assert!(error.contains("2.8 to 3.9, 3.9-new") && error.contains("4.4"), "{error}");
    }
    let all = Coordinator::all();
    assert_eq!(all.first().unwrap().to_string(), "2.8");
    assert_eq!(all.last().unwrap().to_string(), "4.4");
    assert_eq!(all.len(), 14);
}

/// A record is refused where it stands, and the walk goes on to the next.
#[test]
fn places() {
    let dir = tempfile::tempdir().unwrap();
    let first = vec![Bat::of(vec![commit(0, "g", "t", 0, 1)]), Bat::of(vec![commit(1, "g", "t", 0, 1), keyless(2)])];
    let short = Rec { value: Some(vec![0, 3, 1]), ..commit(11, "h", "t", 0, 1) };
    let second = vec![Bat::of(vec![commit(10, "g", "t", 0, 1)]), Bat::of(vec![short])];
    let position = first[0].bytes().len() as u64;
    let partition = build::write_segments(dir.path(), 0, &[first, second]);
    let [old, new] = ["3.9", "4.4"].map(|name| by(name, &partition));
    for verdict in [&old, &new] {
        assert!(!verdict.loads());
        assert_eq!(verdict.refused, 2);
        let [null, short] = &verdict.refusals[..] else { panic!("{verdict:?}") };
        assert_eq!(
            (null.at.segment.as_str(), null.at.position, null.at.offset),
            (&*build::segment_name(0), position, 2)
        );
        assert_eq!((&null.reason, &null.group), (&Reason::NullKey, &None));
        assert_eq!((short.at.segment.as_str(), short.at.offset), (&*build::segment_name(10), 11));
        assert_eq!((short.reason.code(), short.group.as_deref()), ("value-unreadable", Some(&b"h"[..])));
    }
    assert_eq!(old.consequence(), Consequence::ServedAsEmpty);
    assert_eq!(new.consequence(), Consequence::Unavailable);
    assert_eq!(by("4.0.0", &partition).consequence(), Consequence::UnavailableWithoutError);
}

#[test]
fn what_lies_before_the_log_start_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [Bat::of(vec![keyless(0), keyless(1)]), Bat::of(vec![commit(2, "g", "t", 0, 1)])];
    let partition = build::write_log(dir.path(), 0, &batches);
    let refused = |log_start| judged(&partition, &["4.4".parse().unwrap()], log_start)[0].refused;
    assert_eq!(refused(None), 2);
    // A broker begins with the batch that holds the offset.
    assert_eq!(refused(Some(1)), 2);
    assert_eq!(refused(Some(2)), 0);
    let verdict = &judged(&partition, &["4.4".parse().unwrap()], Some(2))[0];
    assert!(verdict.loads() && verdict.consequence() == Consequence::Served);
}

#[test]
fn refusals_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let batches: Vec<_> = (0..1500).map(|n| Bat::of(vec![keyless(n)])).collect();
    let partition = build::write_log(dir.path(), 0, &batches);
    let verdict = by("4.4", &partition);
    assert_eq!((verdict.refusals.len(), verdict.refused), (MAX_REFUSALS, 1500));
}

#[test]
fn what_is_passed_over_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let record = |at, number: i16| Rec { key: Some(number.to_be_bytes().to_vec()), ..commit(at, "g", "t", 0, 1) };
    let batches = [Bat::of(vec![record(0, 99), record(1, 18), record(2, 99)])];
    let partition = build::write_log(dir.path(), 0, &batches);
    let verdict = by("4.4", &partition);
    assert!(verdict.loads());
    let skipped: Vec<_> = verdict.skipped.iter().map(|it| (it.record_type, it.count, it.first.offset)).collect();
    assert_eq!(skipped, [(18, 1, 1), (99, 2, 0)]);
    // Before KIP-915 each of them ends the load.
    assert_eq!(by("3.4.0", &partition).refused, 3);
    assert!(by("3.4.1", &partition).loads());
}

/// A batch whose CRC is wrong is read, as a broker reads it, and counted.
#[test]
fn a_wrong_crc_is_no_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let partition = build::write_log(dir.path(), 0, &[Bat::of(vec![commit(0, "g", "t", 0, 1), keyless(1)])]);
    let path = segments(&partition).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[17] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let verdict = by("4.4", &partition);
    assert_eq!((verdict.refused, verdict.unchecked.wrong_crc), (1, 1));
}

/// What brokers of 4.4.0 and earlier wrote is loaded by 4.4, and by the release that wrote it.
#[test]
fn real_logs_are_loaded() {
    let old = "2.8 3.4.0 3.4 3.8 3.9".split(' ').map(|name| name.parse().unwrap()).collect::<Vec<Coordinator>>();
    let mut judged_partitions = 0;
    for partition in partitions(&fixtures()) {
        let path = partition.strip_prefix(fixtures()).unwrap().to_string_lossy().into_owned();
        let expect_loads = |name: &str| {
            let verdict = by(name, &partition);
            assert!(verdict.loads(), "{path}, {name}: {:?}", verdict.refusals.first());
        };
        judged_partitions += 1;
        match path.split('/').nth(1).unwrap() {
            release if path.starts_with("museum/") => match release {
                "3.7.2" => expect_loads("3.9"),
                "4.0.0" => expect_loads("4.0.0"),
                // They hold no more than the Scala loaders know.
                "clients" => expect_loads("3.9"),
                _ => judged(&partition, &old, None).iter().for_each(|it| assert!(it.loads(), "{path}: {it:?}")),
            },
            // One member's subscription there is garbage: tests/preflight.rs has the rule, and 4.3.1 did refuse this log.
            _ if path == "odd/log/__consumer_offsets-1" => {
                expect_loads("4.4");
                for name in ["4.3", "3.9"] {
                    let verdict = by(name, &partition);
                    let reasons: Vec<_> = verdict.refusals.iter().map(|it| it.reason.code()).collect();
                    assert_eq!(reasons, ["subscription-unreadable"], "{name}");
                    assert_eq!(verdict.refusals[0].group.as_deref(), Some(&b"g-bad-blob"[..]));
                }
            }
            _ => ["4.4", "4.3", "3.9"].into_iter().for_each(expect_loads),
        }
    }
    assert!(judged_partitions > 60, "{judged_partitions} partitions");
}

/// The two that the recordings have: groups of a preview, and what the next releases make of them.
#[test]
fn previews_end_later_loads() {
    let refused = |exhibit: &str, name: &str| {
        let verdicts = partitions(&fixtures().join("museum").join(exhibit)).into_iter().map(|it| by(name, &it));
        verdicts.flat_map(|it| it.refusals).next().map(|first| (first.record_type.unwrap(), first.reason))
    };
    for name in ["3.9-new", "4.0", "4.4"] {
        let (record_type, reason) = refused("3.7.2", name).unwrap();
        assert!(matches!(record_type, 4 | 5 | 7 | 8), "{name}: {record_type}");
        assert!(matches!(reason, Reason::Value { whose: Some("3.7"), .. }), "{name}: {reason}");
    }
    let (record_type, reason) = refused("4.0.0", "4.1").unwrap();
    assert_eq!(record_type, 11);
    assert!(matches!(reason, Reason::Value { whose: Some("4.0"), .. }), "{reason}");
    assert_eq!(refused("4.0.0", "4.0.0"), None);
}

/// Bytes that nobody wrote: every answer is an answer.
#[test]
fn damage_is_judged_without_a_panic() {
    let mut state = 1_u64;
    let mut roll = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below.max(1)
    };
    let dir = tempfile::tempdir().unwrap();
    let all = Coordinator::all();
    let mut refused = 0;
    for (partition, case) in (0..).zip(verdict_cases::cases()) {
        let partition = build::write_log(dir.path(), partition, &case.batches);
        let path = segments(&partition).remove(0);
        let sound = std::fs::read(&path).unwrap();
        for _ in 0..8 {
            let mut bytes = sound.clone();
            for _ in 0..=roll(6) {
                let at = roll(bytes.len());
                bytes[at] = roll(256) as u8;
            }
            std::fs::write(&path, &bytes).unwrap();
            let verdicts = judged(&partition, &all, None);
            assert_eq!(verdicts.len(), all.len());
            refused += verdicts.iter().filter(|it| !it.loads()).count();
        }
    }
    assert!(refused > 1000, "{refused} refused");
}
