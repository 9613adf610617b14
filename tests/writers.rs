//! What `compact`, `rewrite` and `salvage` have in common: what is damage, what is put right, how segments are cut, what is
//! told when an option meets nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/compacted.rs"]
mod compacted;
#[path = "common/group_records.rs"]
mod group_records;
#[path = "common/rewritten.rs"]
mod rewritten;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use common::{grouplog, names_in};
use compacted::frames;
use group_records::{key, v};
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
        let told = grouplog(&old, ["rewrite", "--dry-run", "--codec", "gzip", "."]).stdout;
        let told = String::from_utf8_lossy(&told);
        assert!(!told.contains("left out"), "{told}");
        let is_split = offsets.last().is_some_and(|last| *last > far);
        assert_eq!(told.contains("put into a new segment, as a broker would"), is_split, "{told}");
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

fn report(out: &Path, kind: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(out.join("rewrite.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

/// Of a group that stands in a partition that it does not hash to, it is told where, and which copy of a key holds.
#[test]
fn groups_that_stand_where_they_do_not_hash_to_are_told() {
    use grouplog::model::partitioner::partition_of;
    let dir = tempfile::tempdir().unwrap();
    let home = partition_of(b"twice", 4);
    let (other, third) = ((home + 1) % 4, (home + 2) % 4);
    for number in 0..4 {
        let mut records = Vec::new();
        let mut add = |group: &str, partition: i32, says: i64| {
            let at = records.len() as i64 + 10 * i64::from(number == other);
            let at = if number == home { at + 5 } else { at };
            records.push(Rec { offset: records.len() as i64, ..commit(at, group, "t", partition, says) });
        };
        (0..20)
            .map(|i| format!("g{i}"))
            .filter(|it| partition_of(it.as_bytes(), 4) == number)
            .for_each(|it| add(&it, 0, 1));
        if number == home || number == other {
            add("twice", 0, i64::from(number));
            add("twice", 1 + number, 7);
        }
        if number == third {
            add("twice", 0, 99);
        }
        let mut batches = vec![Bat::of(records)];
        if number == third {
            // What never was committed overrules nothing.
            let at = batches[0].last_offset + 1;
            batches.push(Bat::transactional(5, 0, vec![commit(at + 90, "twice", "t", 0, 98)]));
            batches[1] = Bat {
                base_offset: at,
                last_offset: at,
                records: batches[1].records.iter().map(|it| Rec { offset: at, ..it.clone() }).collect(),
                ..batches[1].clone()
            };
            batches.push(Bat::marker(Ending::Abort, at + 1, T0 + 95, 5, 0));
        }
        write_log(dir.path(), number, &batches);
    }
    let lost = (0..).map(|i| format!("lost-{i}")).find(|it| partition_of(it.as_bytes(), 4) != 0).unwrap();
    let folder = dir.path().join("__consumer_offsets-0");
    let mut all = read_partition(&folder);
    let at = all.last().unwrap().last_offset + 1;
    all.push(Bat::of(vec![commit(at, &lost, "t", 0, 3)]));
    write_log(dir.path(), 0, &all);

    let new = rewritten::rewrite(&["--partitions", "6"], &[dir.path()]);
    assert_eq!(new.code, 3, "{}", new.said);
    assert!(new.said.contains("stood in partition"), "{}", new.said);
    let told = report(&new.out, "misplaced-group");
    assert_eq!(told.len(), 2, "{told:#?}");
    let twice = told.iter().find(|it| it["group"] == "twice").unwrap();
    assert_eq!(twice["hashesTo"], home);
    let won = |number: i32| {
        let copies = twice["copies"].as_array().unwrap();
        copies.iter().find(|it| it["partition"] == number).unwrap()["keysWon"].as_u64().unwrap()
    };
    let offsets = rewritten::describe(&new.out);
    let offsets = offsets.iter().find(|it| it["group"] == "twice").unwrap()["offsets"].as_array().unwrap();
    let zero = offsets.iter().find(|it| it["partition"] == 0).unwrap()["offset"].as_i64().unwrap() as i32;
    assert_eq!(zero, other, "the latest by time");
    assert_eq!((won(home), won(other), won(third)), (1, 2, 0), "{twice:#}");
    let stray = told.iter().find(|it| it["group"] == lost.as_str()).unwrap();
    assert_eq!(
        (&stray["hashesTo"], stray["copies"].as_array().unwrap().len()),
        (&partition_of(lost.as_bytes(), 4).into(), 1)
    );
    // Who redacts does not tell.
    let redacted = rewritten::rewrite(&["--partitions", "6", "--redact"], &[dir.path()]);
    let text = std::fs::read_to_string(redacted.out.join("rewrite.jsonl")).unwrap() + &redacted.said;
    assert!(text.contains("misplaced-group") && !text.contains("twice") && !text.contains("lost-"), "{text}");
    // In the right places there is nothing to tell.
    let again = rewritten::rewrite(&["--partitions", "4"], &[&new.out]);
    assert_eq!((again.code, report(&again.out, "misplaced-group").len()), (0, 0), "{}", again.said);
}

/// A name that is shown can be given to every option, and two names are never shown alike.
#[test]
fn odd_names_are_understood_as_they_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    // The bytes are put in afterwards, for a text cannot hold them.
    let names: [&[u8]; 6] = [b"g\xff", b"g\\xff", b"g\\\\", b" g", b"CORP\\team", b"a\nb"];
    let stand_in = |i: usize| -> String { format!("{}", char::from(b'A' + i as u8)).repeat(names[i].len()) };
    let records: Vec<Rec> = (0..names.len()).map(|i| commit(i as i64, &stand_in(i), "orders", 0, 10)).collect();
    let records = records.into_iter().enumerate().map(|(i, mut record)| {
        let key = record.key.as_mut().unwrap();
        key[4..4 + names[i].len()].copy_from_slice(names[i]);
        record
    });
    let old = write_log(dir.path(), 0, &[Bat::of(records.collect())]);
    let listed = grouplog(&old, ["groups", "--format", "csv", "."]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains("CORP\\team"), "{text}");
    for name in names {
        let shown = grouplog::escape::visible(name);
        assert!(text.contains(&shown.replace('"', "\"\"")), "{shown}: {text}");
        for options in [
            &["--set-offset", &format!("{shown}/orders/0=42")][..],
            &["--keep-group", &shown],
            &["--drop-group", &shown],
            &["--rename-group", &format!("{shown}=new")],
        ] {
            let new = rewritten::rewrite(options, &[&old]);
            assert_eq!(new.code, 0, "{options:?}: {}", new.said);
            let edited: Vec<_> = new.edits.iter().map(|it| it["from"]["offset"].as_i64().unwrap()).collect();
            let at = names.iter().position(|it| *it == name).unwrap() as i64;
            let others: Vec<i64> = (0..names.len() as i64).filter(|it| *it != at).collect();
            assert_eq!(edited, if options[0] == "--keep-group" { others } else { vec![at] }, "{options:?}");
        }
        let described = grouplog(&old, ["describe", "--format", "json", "--group", &shown, "."]);
        let described: serde_json::Value = serde_json::from_slice(&described.stdout).unwrap();
        assert_eq!(described.as_array().unwrap().len(), 1, "{shown}");
    }
}

/// What names nothing in the log is told; where nothing would be left, refused; what wants two things at once, too.
#[test]
fn options_that_meet_nothing_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let batch = Bat::of(vec![commit(0, "g", "orders", 0, 1), commit(1, "h", "paid", 0, 1)]);
    let old = write_log(dir.path(), 12, &[batch]);
    let file = dir.path().join("offsets.csv");
    std::fs::write(&file, "nobody,orders,0,1\nnobody,orders,1,2\n").unwrap();
    let file = file.to_str().unwrap();
    for (options, unmet) in [
        (&["--drop-group", "nope"][..], &["--drop-group"][..]),
        (&["--drop-group", "no*", "--drop-group", "g"], &["--drop-group"]),
        (&["--keep-group", "g*", "--keep-group", "nope"], &["--keep-group"]),
        (&["--drop-topic", "ord*"], &["--drop-topic"]),
        (&["--drop-type", "3"], &["--drop-type"]),
        (&["--rename-group", "g*=x", "--rename-topic", "nope=y"], &["--rename-group", "--rename-topic"]),
        (&["--set-offset", "my-group/orders/0=5"], &["--set-offset"]),
        (&["--offsets-from", file, "--partitions", "50"], &["--set-offset"]),
        // All of these name something.
        (&["--drop-group", "g", "--drop-group", "?"], &[]),
        (&["--drop-group", "g", "--drop-type", "1"], &[]),
        (&["--drop-group", "h", "--set-offset", "h/paid/0=5"], &[]),
        (&["--rename-group", "g=x", "--set-offset", "x/orders/0=5", "--drop-topic", "paid"], &[]),
        (&["--set-offset", "g/orders/0=5", "--set-offset", "g/orders/0=5"], &[]),
    ] {
        let new = rewritten::rewrite(options, &[&old]);
        let told = report(&new.out, "unmatched");
        let told: Vec<_> = told.iter().map(|it| it["option"].as_str().unwrap()).collect();
        assert_eq!((new.code, &told[..]), (if unmet.is_empty() { 0 } else { 3 }, unmet), "{options:?}: {}", new.said);
        assert!(unmet.iter().all(|option| option == &"--set-offset" || new.said.contains(option)), "{}", new.said);
    }
    let none = rewritten::rewrite(&["--keep-group", "nope", "--keep-group", "no*"], &[&old]);
    assert_eq!(none.code, 2, "{}", none.said);
    assert!(!none.out.exists() && none.beside().is_empty(), "{:?}", none.beside());
    for options in [
        &["--drop-group", "g", "--keep-group", "g"][..],
        &["--drop-group", "g", "--rename-group", "g=x"],
        &["--drop-topic", "orders", "--rename-topic", "orders=x"],
        &["--set-offset", "g/orders/0=5", "--set-offset", "g/orders/0=6"],
        &["--segment-bytes", "3G"],
        &["--segment-bytes", "0"],
    ] {
        let refused = rewritten::rewrite(options, &[&old]);
        assert_eq!((refused.code, refused.out.exists()), (2, false), "{options:?}: {}", refused.said);
    }
    let within = ["rewrite", "--codec", "none", "--out", "new", "--log", "new/changes.jsonl", old.to_str().unwrap()];
    let refused = grouplog(dir.path(), within);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("put it beside"), "{said}");
    std::fs::write(file, "g,orders,0,1\ng,orders,0,2\n").unwrap();
    assert_eq!(rewritten::rewrite(&["--offsets-from", file], &[&old]).code, 1);
    // Who redacts does not tell the names.
    let hidden = rewritten::rewrite(&["--redact", "--drop-group", "a-secret"], &[&old]);
    assert!(!std::fs::read_to_string(hidden.out.join("rewrite.jsonl")).unwrap().contains("a-secret"));
}

/// An offset that a broker would remove again at once is set, and that is told; a time to live of its own counts anew.
#[test]
fn offsets_that_would_expire_at_once_are_told() {
    const DAY: i64 = 86_400_000;
    let dir = tempfile::tempdir().unwrap();
    let of_type_0 = |at: i64, expire_timestamp: i64| {
        let mut record = commit(at, "old", "orders", at as i32, 5);
        record.key.as_mut().unwrap()[1] = 0;
        let value = Commit { commit_timestamp: T0, expire_timestamp, ..Commit::at(5) };
        Rec { value: Some(value.value(1)), ..record }
    };
    let old = write_log(
        dir.path(),
        12,
        &[Bat::of(vec![of_type_0(0, T0 + DAY), of_type_0(1, T0 - 1), commit(2, "g", "t", 0, 1)])],
    );
    let now = (T0 + 100 * DAY).to_string();
    let set = ["--now", now.as_str(), "--set-offset", "old/orders/0=7", "--set-offset", "old/orders/1=7"];
    let new = rewritten::rewrite(&set, &[&old]);
    assert_eq!((new.code, report(&new.out, "expires-at-once").len()), (0, 0), "{}", new.said);
    let described = rewritten::describe(&new.out);
    let offsets = described.iter().find(|it| it["group"] == "old").unwrap()["offsets"].as_array().unwrap();
    assert_eq!(offsets[0]["expireTimestamp"], T0 + 101 * DAY, "{offsets:#?}");
    assert_eq!(offsets[1]["expireTimestamp"], serde_json::Value::Null);
    let notes: Vec<_> = new.edits.iter().map(|it| it["edits"][0]["message"].as_str().unwrap()).collect();
    assert!(notes[0].contains("becomes") && notes[0].contains("expireTimestamp: "), "{notes:?}");
    assert!(notes[1].contains("is dropped"), "{notes:?}");
    // Of a group that has been empty for long, the commit's own time does not count.
    let empty = v(3).text("consumer").i32(1).i16(-1).i16(-1).i64(T0).i32(0);
    let group = Rec { offset: 0, timestamp: T0, key: Some(key(2, &["e"])), value: empty.done() };
    let log_dir = tempfile::tempdir().unwrap();
    let old = write_log(log_dir.path(), 12, &[Bat::of(vec![group, commit(1, "e", "t", 0, 1)])]);
    for (days, told) in [(100, 1), (6, 0)] {
        let now = (T0 + days * DAY).to_string();
        let new = rewritten::rewrite(&["--now", &now, "--set-offset", "e/t/0=7"], &[&old]);
        assert_eq!(report(&new.out, "expires-at-once").len(), told, "{}", new.said);
        assert_eq!((new.code, new.said.contains("at once")), (3 * told as i32, told > 0), "{}", new.said);
    }
}

/// The offsets of a share group are in another topic.
#[test]
fn an_offset_that_is_set_for_a_share_group_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let of_share = Rec { offset: 0, timestamp: T0, key: Some(key(11, &["s"])), value: v(0).i32(1).i64(0).end().done() };
    let old = write_log(dir.path(), 12, &[Bat::of(vec![of_share, commit(1, "g", "t", 0, 1)])]);
    for (group, code, told) in [("s", 3, 1), ("g", 0, 0)] {
        let new = rewritten::rewrite(&["--set-offset", &format!("{group}/t/0=7")], &[&old]);
        assert_eq!((new.code, report(&new.out, "share-group").len()), (code, told), "{}", new.said);
        assert_eq!(new.said.contains("__share_group_state"), told > 0, "{}", new.said);
    }
}

/// A partition of a log dir that has no segments is one of the new log dir.
#[test]
fn a_folder_without_segments_is_no_partition_less() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("kafka");
    write_log(&log_dir, 0, &[one(0)]);
    std::fs::create_dir(log_dir.join("__consumer_offsets-7")).unwrap();
    std::fs::write(
        log_dir.join("__consumer_offsets-7/partition.metadata"),
        "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
    )
    .unwrap();
    for (verb, code, said, new) in by_every_verb(dir.path(), &[], &log_dir) {
        // As `verify` does, `salvage` tells that what was there is gone.
        assert_eq!(code, if verb == "salvage" { 3 } else { 0 }, "{verb}: {said}");
        let names = names_in(&new.parent().unwrap().join("__consumer_offsets-7"));
        assert!(
            names.contains(&segment_name(0)) && names.contains(&"partition.metadata".to_owned()),
            "{verb}: {names:?}"
        );
    }
}

/// What a broker cuts off when it starts is left out, and told.
#[test]
fn a_torn_end_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let old = segment_of(dir.path(), &[one(0).bytes(), one(1).bytes()[..40].to_vec()]);
    for (verb, code, said, new) in by_every_verb(dir.path(), &[], &old) {
        assert_eq!(code, 0, "{verb}: {said}");
        let text = std::fs::read_to_string(new.parent().unwrap().join(format!("{verb}.txt"))).unwrap();
        assert!(text.contains("as a broker does when it starts"), "{verb}: {text}");
        if verb != "salvage" {
            let lines = std::fs::read_to_string(new.parent().unwrap().join(format!("{verb}.jsonl"))).unwrap();
            assert!(lines.contains("\"tornTail\":true"), "{verb}: {lines}");
        }
    }
}

#[test]
fn an_epoch_may_begin_where_an_empty_last_segment_does() {
    let dir = tempfile::tempdir().unwrap();
    let old = write_log(dir.path(), 0, &[one(0), one(1)]);
    std::fs::write(old.join(segment_name(9)), "").unwrap();
    std::fs::write(old.join("leader-epoch-checkpoint"), "0\n2\n0 0\n4 9\n").unwrap();
    let verified = |dir: &Path| grouplog(dir, ["verify", "--format", "jsonl", "."]);
    let sound = verified(&old);
    assert_eq!(sound.status.code(), Some(0), "{}", String::from_utf8_lossy(&sound.stdout));
    std::fs::write(old.join("leader-epoch-checkpoint"), "0\n2\n0 0\n4 10\n").unwrap();
    let beyond = verified(&old);
    assert!(String::from_utf8_lossy(&beyond.stdout).contains("leader-epochs-beyond-end"));
}

/// A span may stand for now; a full stdout and a limit on file sizes are told for what they are.
#[test]
fn what_cannot_be_written_is_told_for_what_it_is() {
    use std::process::{Command, Stdio};
    let dir = tempfile::tempdir().unwrap();
    let old = write_log(dir.path(), 0, &(0..200).map(one).collect::<Vec<_>>());
    let old = old.to_str().unwrap();
    for verb in ["compact", "rewrite"] {
        let output = grouplog(dir.path(), [verb, "--now", "-2h", "--dry-run", old]);
        assert_eq!(output.status.code(), Some(0), "{verb}: {output:?}");
    }
    let grouplog_in = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_grouplog"))
            .current_dir(dir.path())
            .args(args)
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap()
    };
    for verb in ["compact", "rewrite", "salvage"] {
        let out = format!("full-{verb}");
        let stdout = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_grouplog"))
            .current_dir(dir.path())
            .args([verb, "--out", &out, old])
            .stdout(stdout)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
        assert!(said.contains("complete and in its place") && said.contains(&out), "{verb}: {said}");
        assert_eq!(read_partition(&dir.path().join(&out).join("__consumer_offsets-0")).len(), 200, "{verb}");
        // In blocks of 512 or 1024 bytes: more than the report, less than the log.
        let script = format!("ulimit -f 4; exec \"$0\" {verb} --out limited {old}");
        let limited = Command::new("bash")
            .current_dir(dir.path())
            .args(["-c", &script, env!("CARGO_BIN_EXE_grouplog")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&limited.stderr);
        assert_eq!(limited.status.code(), Some(1), "{verb}: {limited:?}");
        assert!(said.contains("ulimit -f"), "{verb}: {said}");
        assert!(
            names_in(dir.path()).iter().all(|name| !name.starts_with("limited")),
            "{verb}: {:?}",
            names_in(dir.path())
        );
    }
    // The right option is named.
    let list = grouplog_in(&["rewrite", "--out", "new", "--log", old, old]);
    let said = String::from_utf8_lossy(&list.stderr);
    assert!(said.contains("pass --log") && !said.contains("--out"), "{said}");
    let twice = grouplog_in(&["compact", "--out", "new", old, old]);
    let said = String::from_utf8_lossy(&twice.stderr);
    assert!(twice.status.code() == Some(2) && said.contains("grouplog salvage --also"), "{said}");
}

/// What somebody wrote for themselves may bear their name; what everybody has tells of nobody.
#[test]
fn redaction_hides_assignors_of_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    let record = |at: i64, protocol_type: &str, protocol: &str| {
        let value = v(3).text(protocol_type).i32(1).text(protocol).text("m").raw(&T0.to_be_bytes()).i32(0);
        Rec { offset: at, timestamp: T0, key: Some(key(2, &[&format!("g{at}")])), value: value.done() }
    };
    let member = |at: i64, assignor: &str| {
        let value = v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(1).ctext(assignor);
        Rec {
            offset: at,
            timestamp: T0,
            key: Some(key(5, &[&format!("g{at}"), "m"])),
            value: value.null().end().done(),
        }
    };
    let records = vec![
        record(0, "consumer", "cooperative-sticky"),
        record(1, "consumer", "acme-rack-aware"),
        record(2, "acme-workers", "acme-v1"),
        record(3, "connect", "sessioned"),
        member(4, "uniform"),
        member(5, "acme-server-side"),
    ];
    let old = write_log(dir.path(), 0, &[Bat::of(records)]);
    let new = rewritten::rewrite(&["--redact", "--seed", "s"], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    let bytes = std::fs::read(new.partition(0).join(segment_name(0))).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!holds("acme"));
    assert!(["cooperative-sticky", "connect", "sessioned", "uniform"].iter().all(|it| holds(it)));
}

/// Files of a cleaned or deleted segment are all there is.
#[test]
fn leftovers_alone_can_be_salvaged() {
    let dir = tempfile::tempdir().unwrap();
    let old = write_log(dir.path(), 0, &[one(0), one(1)]);
    std::fs::rename(old.join(segment_name(0)), old.join(segment_name(0) + ".deleted")).unwrap();
    for given in [&old, &dir.path().to_owned()] {
        let elsewhere = tempfile::tempdir().unwrap();
        let out = elsewhere.path().join("new");
        let salvaged = wreck::salvage(&out, &["--include-leftovers"], &[given]);
        assert_eq!(salvaged.code, 3, "{}", salvaged.said);
        assert_eq!(read_partition(&salvaged.partition(0)).len(), 2);
    }
    let refused = wreck::salvage(&dir.path().join("new"), &[], &[&old]);
    assert_eq!(refused.code, 1, "{}", refused.said);
}

/// A segment whose name does not agree with what it holds is no loss, but damage; the new log has the right names.
#[test]
fn segments_get_the_names_that_they_should_have() {
    for (names, renamed) in [([0, 4], 0), ([0, 3], 1), ([0, 6], 1), ([2, 4], 1)] {
        let dir = tempfile::tempdir().unwrap();
        let old = write_log(dir.path(), 0, &[]);
        std::fs::remove_file(old.join(segment_name(0))).unwrap();
        let halves = [(0..4).map(one).collect::<Vec<_>>(), (4..8).map(one).collect()];
        for (name, batches) in names.iter().zip(&halves) {
            std::fs::write(old.join(segment_name(*name)), batches.iter().flat_map(Bat::bytes).collect::<Vec<_>>())
                .unwrap();
        }
        let verified = grouplog(&old, ["verify", "--min-severity", "error", "."]);
        assert_eq!(verified.status.code(), Some(if renamed > 0 { 3 } else { 0 }), "{names:?}");
        for (verb, code, said, _) in by_every_verb(&dir.path().join("."), &[], &old) {
            let expected = if renamed == 0 {
                0
            } else if verb == "salvage" {
                3
            } else {
                1
            };
            assert_eq!(code, expected, "{verb} {names:?}: {said}");
        }
        let again = tempfile::tempdir().unwrap();
        for (verb, code, said, new) in by_every_verb(again.path(), &["--skip-damage"], &old) {
            assert_eq!(code, if renamed == 0 { 0 } else { 3 }, "{verb} {names:?}: {said}");
            assert_eq!(read_partition(&new), halves.concat(), "{verb} {names:?}");
            let verified = grouplog(&new, ["verify", "--min-severity", "warning", "."]);
            assert_eq!(
                verified.status.code(),
                Some(0),
                "{verb} {names:?}: {}",
                String::from_utf8_lossy(&verified.stdout)
            );
            let lines = std::fs::read_to_string(new.parent().unwrap().join(format!("{verb}.jsonl"))).unwrap();
            assert_eq!(lines.matches("\"outcome\":\"renamed\"").count(), renamed, "{verb} {names:?}: {lines}");
        }
    }
}

/// A broken link or a folder that has a segment's name: no verb says of what is left that it is all.
#[test]
#[cfg(unix)]
fn a_segment_that_is_no_file_is_told_by_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/example3/log/__consumer_offsets-18");
    for (kind, at) in [("link", 0), ("folder", 1)] {
        let old = dir.path().join(format!("{kind}/__consumer_offsets-18"));
        std::fs::create_dir_all(&old).unwrap();
        for file in std::fs::read_dir(&source).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), old.join(file.file_name())).unwrap();
        }
        let odd = old.join("00000000000000000053.log");
        match at {
            0 => std::os::unix::fs::symlink("/nowhere/at/all", odd).unwrap(),
            _ => std::fs::create_dir(odd).unwrap(),
        }
        let path = old.to_str().unwrap();
        for verb in ["dump", "groups", "stats", "txns", "audit", "verify"] {
            let output = grouplog(dir.path(), [verb, path]);
            assert_eq!(output.status.code(), Some(3), "{kind} {verb}");
        }
        for verb in ["compact", "rewrite"] {
            let output = grouplog(dir.path(), [verb, "--dry-run", path]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{kind} {verb}: {said}");
            assert!(said.contains("00000000000000000053.log") && said.contains("--skip-damage"), "{said}");
            assert_eq!(grouplog(dir.path(), [verb, "--dry-run", "--skip-damage", path]).status.code(), Some(3));
        }
        let output = grouplog(dir.path(), ["salvage", "--dry-run", path]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("00000000000000000053.log") && !said.contains("nothing is lost"), "{said}");
        // Without the odd one, all of it is there.
        let whole = grouplog(dir.path(), ["salvage", "--dry-run", source.to_str().unwrap()]);
        assert_eq!(whole.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&whole.stdout).contains("nothing is lost"));
    }
}
