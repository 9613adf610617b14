//! What `compact`, `rewrite` and `salvage` have in common: what is damage, what is put right, how segments are cut, what is
//! told when an option meets nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/compacted.rs"]
mod compacted;
#[path = "common/rewritten.rs"]
mod rewritten;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use common::{grouplog, names_in};
use compacted::frames;
use std::path::{Path, PathBuf};

/// The new partition 0 of each verb that writes one, with the verb and its exit status.
fn by_every_verb(dir: &Path, options: &[&str], old: &Path) -> Vec<(&'static str, i32, String, PathBuf)> {
    let verbs = [("compact", &["--include-active"][..]), ("rewrite", &[]), ("salvage", &[])];
    let run = |(verb, own): (&'static str, &[&str])| {
        let out = dir.join(format!("by-{verb}"));
        let mut args = vec![verb, "--out", out.to_str().unwrap()];
        args.extend(own);
        args.extend(if verb == "salvage" { &[] } else { options });
        args.push(old.to_str().unwrap());
        let output = grouplog(dir, args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (verb, output.status.code().unwrap(), said, out.join("__consumer_offsets-0"))
    };
    verbs.into_iter().map(run).collect()
}

fn one(at: i64) -> Bat {
    Bat::of(vec![commit(at, &format!("g{at}"), "orders", 0, 100 + at % 1000)])
}

/// Old cleaners merged segments that lie far apart. A broker keeps an offset in its index with 31 bits, counted from the
/// segment's first, and splits what spans more.
#[test]
fn what_spans_more_than_31_bits_is_split() {
    let far = i64::from(i32::MAX);
    for offsets in [
        &[0, 1, far, far + 1, far + 2][..],
        &[0, far + 1],
        &[0, 1, 3_000_000_000, 3_000_000_001],
        &[0, 2_000_000_000, 4_000_000_000, 6_000_000_000],
        &[7, 3_000_000_000, 9_000_000_000, 9_000_000_001, 20_000_000_000],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let batches: Vec<Bat> = offsets.iter().map(|at| one(*at)).collect();
        let old = write_log(dir.path(), 0, &batches);
        for (verb, code, said, new) in by_every_verb(dir.path(), &[], &old) {
            assert_eq!(code, 0, "{verb} {offsets:?}: {said}");
            assert!(read_partition(&new) == batches, "{verb} {offsets:?}");
            for name in names_in(&new).iter().filter(|name| name.ends_with(".log")) {
                let base: i64 = name[..20].parse().unwrap();
                let last = read_segment(&new.join(name)).last().map_or(base, |batch| batch.last_offset);
                assert!((base..=base + far).contains(&last), "{verb} {offsets:?}: {name} {last}");
            }
            assert_eq!(frames(&new).1[0], offsets[0], "{verb}: the log starts where it did");
            let verified = grouplog(&new, ["verify", "--min-severity", "warning", "."]);
            assert_eq!(verified.status.code(), Some(0), "{verb}: {}", String::from_utf8_lossy(&verified.stdout));
        }
    }
}

/// A base offset alone that is damaged is not believed: what follows it goes back.
#[test]
fn a_jump_that_goes_back_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes: Vec<Vec<u8>> = (0..6).map(|at| one(at).bytes()).collect();
    bytes[3][3] ^= 1;
    let old = write_log(dir.path(), 0, &[]);
    std::fs::write(old.join(segment_name(0)), bytes.concat()).unwrap();
    for (verb, code, said, new) in by_every_verb(dir.path(), &["--skip-damage"], &old) {
        assert_eq!(code, 3, "{verb}: {said}");
        let offsets: Vec<_> = read_partition(&new).iter().map(|batch| batch.base_offset).collect();
        assert_eq!(offsets, [0, 1, 2, 4, 5], "{verb}");
    }
}

fn segment_of(log_dir: &Path, bytes: &[Vec<u8>]) -> PathBuf {
    let old = write_log(log_dir, 0, &[]);
    std::fs::write(old.join(segment_name(0)), bytes.concat()).unwrap();
    old
}

/// Of every kind of damage, all three leave out the same, and two refuse it without leave; what `verify` finds sound or
/// only warns of, none refuses.
#[test]
fn all_verbs_agree_on_what_is_damage() {
    let several = |offsets: &[i64]| {
        let records: Vec<Rec> = offsets.iter().map(|at| commit(*at, &format!("g{at}"), "orders", 0, 7)).collect();
        let (first, last) = (*offsets.iter().min().unwrap(), *offsets.iter().max().unwrap());
        Bat { base_offset: first, last_offset: last, ..Bat::of(records) }.bytes()
    };
    let sound = || -> Vec<Vec<u8>> { (0..8).map(|at| one(at).bytes()).collect() };
    let with = |at: usize, batch: Vec<u8>| {
        let mut all = sound();
        all[at] = batch;
        all
    };
    let marker = |key: [u8; 4]| {
        let mut marker = Bat::marker(Ending::Commit, 3, T0, 9, 0);
        marker.records[0].key = Some(key.to_vec());
        marker.bytes()
    };
    let changed = |at: usize, byte: usize, to: u8| {
        let mut all = sound();
        all[at][byte] = to;
        all
    };
    let resealed = |at: usize, byte: usize, to: u8| {
        let mut all = changed(at, byte, to);
        seal(&mut all[at]);
        all
    };
    let back_inside = [&sound()[..3], &[several(&[3, 5, 4, 6])], &[one(7).bytes()]].concat();
    let mut cut = sound();
    cut[7].truncate(30);
    let mut junk = sound();
    junk.push(vec![0x5a; 40]);
    // What it is, the log, and whether it is damage.
    let cases = [
        ("sound", sound(), false),
        ("a torn end", cut, false),
        ("junk at the end", junk, true),
        ("offsets that go back in a batch", back_inside, true),
        ("a wrong CRC", changed(3, 80, 0x99), true),
        ("an offset too high", changed(3, 3, 1), true),
        ("an offset too low", changed(3, 7, 1), true),
        ("a wrong length", changed(3, 11, 200), true),
        ("a wrong count", resealed(3, 60, 3), true),
        ("an odd marker of a producer", with(3, marker([0, 0, 0, 9])), true),
        ("a leader epoch between others", changed(3, 15, 9), false),
        ("a wrong greatest time", resealed(3, 40, 1), false),
    ];
    for (what, bytes, is_damage) in cases {
        let dir = tempfile::tempdir().unwrap();
        let old = segment_of(dir.path(), &bytes);
        let verified = grouplog(&old, ["verify", "--min-severity", "error", "."]);
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert_eq!(verified.status.code(), Some(if is_damage { 3 } else { 0 }), "verify: {what}: {said}");
        std::fs::create_dir(dir.path().join("strict")).unwrap();
        for (verb, code, said, new) in by_every_verb(&dir.path().join("strict"), &[], &old) {
            assert_eq!(code == 1, is_damage && verb != "salvage", "{verb}: {what}: {code} {said}");
            assert_eq!(new.exists(), code != 1, "{verb}: {what}");
        }
        let mut kept: Vec<Vec<i64>> = Vec::new();
        for (verb, code, said, new) in by_every_verb(dir.path(), &["--skip-damage"], &old) {
            assert!(is_damage && code == 3 || !is_damage && matches!(code, 0 | 3), "{verb}: {what}: {code} {said}");
            let batches = read_partition(&new);
            kept.push(batches.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect());
            let verified = grouplog(&new, ["verify", "--min-severity", "error", "."]);
            assert_eq!(verified.status.code(), Some(0), "{verb}: {what}");
        }
        assert_eq!(kept[0], kept[1], "{what}");
        assert_eq!(kept[1], kept[2], "{what}");
    }
}

/// Also in what `compact` copies as it is, because a broker goes on writing it.
#[test]
fn damage_behind_what_is_compacted_counts() {
    let dir = tempfile::tempdir().unwrap();
    let records = [5, 7, 6, 8].map(|at| commit(at, "g", "t", 0, at)).to_vec();
    let bad = Bat { base_offset: 5, last_offset: 8, ..Bat::of(records) };
    let old = write_segments(dir.path(), 0, &[vec![one(0), one(1)], vec![bad]]);
    let out = dir.path().join("out");
    let refused = compacted::compact(&out, &[], &[&old]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(!out.exists());
    assert_eq!(compacted::compact(&out, &["--skip-damage"], &[&old]).status.code(), Some(3));
    let offsets: Vec<_> = read_partition(&out.join("__consumer_offsets-0"))
        .iter()
        .flat_map(|batch| batch.records.iter().map(|it| it.offset))
        .collect();
    assert_eq!(offsets, [0, 1, 5, 7, 8]);
}

/// A stretch of damage is told with its length, offsets and lost keys, by `compact` as by `rewrite`, also in a dry run.
#[test]
fn damage_is_told_with_all_that_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let records: Vec<Rec> = [3, 5, 4, 6].iter().map(|at| commit(*at, &format!("g{at}"), "orders", 0, 7)).collect();
    let bad = Bat { base_offset: 3, last_offset: 6, ..Bat::of(records) }.bytes();
    let old =
        segment_of(dir.path(), &[vec![one(0).bytes(), one(1).bytes(), one(2).bytes()], vec![bad.clone()]].concat());
    let of_dry_run = |verb: &str| {
        let args = [verb, "--dry-run", "--skip-damage", "--format", "jsonl", old.to_str().unwrap()];
        let output = grouplog(dir.path(), args);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    for verb in ["compact", "rewrite"] {
        let out = dir.path().join(verb);
        let include = if verb == "compact" { "--include-active" } else { "--ignore-log-start" };
        let args = [verb, "--skip-damage", include, "--out", out.to_str().unwrap(), old.to_str().unwrap()];
        assert_eq!(grouplog(dir.path(), args).status.code(), Some(3));
        let written = std::fs::read_to_string(out.join(format!("{verb}.jsonl"))).unwrap();
        let written: Vec<serde_json::Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for lines in [written, of_dry_run(verb)] {
            let damage = lines.iter().find(|line| line["kind"] == "damage").unwrap();
            assert_eq!(damage["length"], bad.len(), "{verb}: {damage}");
            assert_eq!((&damage["firstOffset"], &damage["lastOffset"]), (&3.into(), &6.into()), "{verb}: {damage}");
            assert_eq!((&damage["keptRecords"], &damage["lostRecords"]), (&3.into(), &1.into()), "{verb}: {damage}");
            let lost = lines.iter().find(|line| line["kind"] == "lost-key").unwrap();
            assert_eq!((&lost["group"], &lost["offset"]), (&"g4".into(), &4.into()), "{verb}: {lost}");
        }
        assert!(names_in(&out).iter().all(|name| !name.starts_with("sound")), "{verb}");
    }
    // What others should not see is not told.
    let args = ["rewrite", "--redact", "--dry-run", "--skip-damage", "--format", "jsonl", old.to_str().unwrap()];
    let text = String::from_utf8(grouplog(dir.path(), args).stdout).unwrap();
    assert!(text.contains("\"damage\"") && !text.contains("g4"), "{text}");
    // What was made anew is not told as copied.
    let summary = of_dry_run("rewrite").into_iter().find(|line| line["kind"] == "summary").unwrap();
    assert_eq!((&summary["batches"]["copied"], &summary["batches"]["rebuilt"]), (&3.into(), &1.into()), "{summary}");
}

/// What lies wholly below the log start is not there for a broker, and pins nothing.
#[test]
fn a_transaction_below_the_log_start_pins_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = vec![Bat::transactional(9, 0, vec![commit(0, "g", "t", 0, 5)])];
    batches.extend((1..20).map(|at| Bat::of(vec![commit(at, "g", "t", 0, at)])));
    let log_dir = dir.path().join("kafka");
    let old = write_log(&log_dir, 0, &batches);
    let pinned = dir.path().join("pinned");
    compacted::compacted(&pinned, &["--include-active"], &[&old]);
    assert_eq!(compacted::summary(&pinned)["pinned"], true);
    std::fs::write(log_dir.join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 0 2\n").unwrap();
    let free = dir.path().join("free");
    compacted::compacted(&free, &["--include-active"], &[&old]);
    assert_eq!(compacted::summary(&free)["pinned"], false);
    assert_eq!(read_partition(&free.join("__consumer_offsets-0")).len(), 1);
}
