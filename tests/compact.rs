//! `compact` against the real cleaner, on logs before and after it ran; on every exhibit; and on what it refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::{Bat, T0};
use common::{exhibits, golden, grouplog, names_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Batches of a partition folder as stored, by base offset; and its segments' base offsets.
fn frames(dir: &Path) -> (BTreeMap<i64, Vec<u8>>, Vec<i64>) {
    let (mut all, mut bases) = (BTreeMap::new(), Vec::new());
    for name in names_in(dir).iter().filter(|name| name.ends_with(".log")) {
        bases.push(name[..20].parse().unwrap());
        let segment = grouplog::log::Segment::open(&dir.join(name)).unwrap();
        for span in segment.spans() {
            let grouplog::log::Span::Batch(batch) = span else { panic!("{name}: {span:?}") };
            assert_eq!(batch.check_crc(), Ok(()), "{name}");
            all.insert(batch.header().last_offset, batch.bytes().to_vec());
        }
    }
    (all, bases)
}

fn compact(out: &Path, options: &[&str], paths: &[&Path]) -> Output {
    let mut args = vec!["compact".to_owned(), "--out".to_owned(), out.display().to_string()];
    args.extend(options.iter().map(|&option| option.to_owned()));
    args.extend(paths.iter().map(|path| path.display().to_string()));
    grouplog(Path::new("."), args)
}

fn lines(out: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(out.join("compact.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn summary(out: &Path) -> Value {
    lines(out).into_iter().find(|line| line["kind"] == "summary").unwrap()
}

/// When the cleaner ran: the latest horizon is that long behind it.
fn clock(dir: &Path, retention_ms: i64) -> i64 {
    build::read_partition(dir).iter().filter_map(|batch| batch.delete_horizon_ms).max().unwrap() - retention_ms
}

#[test]
fn the_same_as_the_real_cleaner() {
    let Some(golden) = golden() else { return };
    const DAY: i64 = 86_400_000;
    let passes = [
        ("cleaned/before", "cleaned/after", DAY),
        ("cleaned/before", "cleaned/short-first", 1_000),
        ("cleaned/short-before", "cleaned/short-after", 1_000),
        ("cleaned/third-before", "cleaned/third-after", 1_000),
        ("cleaned-tv1/before", "cleaned-tv1/after", DAY),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (i, (before, after, retention)) in passes.into_iter().enumerate() {
        for (number, theirs) in build::partitions_in(&golden.join(after).join("log")) {
            let out = dir.path().join(format!("{i}-{number}"));
            let old = golden.join(before).join("log").join(theirs.file_name().unwrap());
            let now = clock(&theirs, retention).to_string();
            let span = format!("{retention}ms");
            let output = compact(&out, &["--now", &now, "--delete-retention", &span], &[&old]);
            assert!(output.status.success(), "{output:?}");
            let (ours, our_bases) = frames(&out.join(theirs.file_name().unwrap()));
            let (real, real_bases) = frames(&theirs);
            assert_eq!(ours.keys().collect::<Vec<_>>(), real.keys().collect::<Vec<_>>(), "{after} {number}");
            for (last, bytes) in &ours {
                assert_eq!(*bytes, real[last], "{after} {number}: the batch up to {last}");
            }
            // The cleaner merges segments by their sizes before the pass, we by those behind it: so ours are fewer.
            assert!(our_bases.iter().all(|base| real_bases.contains(base)), "{our_bases:?} {real_bases:?}");
            assert_eq!((our_bases.first(), our_bases.last()), (real_bases.first(), real_bases.last()));
            compared += ours.len();
        }
    }
    println!("{compared} batches, byte for byte");
    assert!(compared > 2_500, "{compared}");
}

/// Every exhibit, closed segments and all: the groups stay, and a second time changes nothing.
#[test]
fn exhibits_keep_their_groups() {
    let dir = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for (i, exhibit) in exhibits().into_iter().enumerate() {
        for log_dir in exhibit.log_dirs() {
            let old = exhibit.dir.join(&log_dir);
            for (j, options) in
                [&[][..], &["--include-active"], &["--include-active", "--force-past-open-transactions"]]
                    .into_iter()
                    .enumerate()
            {
                let what = format!("{} {log_dir} {options:?}", exhibit.name);
                let place = dir.path().join(format!("{i}-{tried}-{j}"));
                std::fs::create_dir(&place).unwrap();
                let options = [options, &["--now", "1796100000000"]].concat();
                let (first, second) = (place.join("first"), place.join("second"));
                let output = compact(&first, &options, &[&old]);
                assert!(output.status.success(), "{what}: {output:?}");
                assert!(compact(&second, &options, &[&first]).status.success(), "{what}");
                let third = place.join("third");
                assert!(compact(&third, &options, &[&second]).status.success(), "{what}");
                for new in [&first, &second] {
                    let args = ["diff", "--format", "json", old.to_str().unwrap(), new.to_str().unwrap()];
                    let diff = grouplog(Path::new("."), args);
                    let said = String::from_utf8_lossy(&diff.stdout);
                    assert_eq!(diff.status.code(), Some(0), "{what}: {said}");
                }
                for (number, folder) in build::partitions_in(&second) {
                    let again = third.join(format!("__consumer_offsets-{number}"));
                    assert_eq!(frames(&folder), frames(&again), "{what}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried >= 19 * 3, "{tried}");
}

// What it does with what it is given.

/// Three segments: a key that is committed again and again, a tombstone, an aborted and a committed transaction.
fn log(log_dir: &Path) -> PathBuf {
    let abort = |offset, producer| Bat::marker(build::Ending::Abort, offset, T0 + offset, producer, 0);
    let commit = |offset, producer| Bat::marker(build::Ending::Commit, offset, T0 + offset, producer, 0);
    let first = vec![
        Bat::of(vec![build::commit(0, "g", "t", 0, 1), build::commit(1, "g", "t", 1, 1)]),
        Bat::transactional(7, 0, vec![build::commit(2, "g", "t", 0, 2)]),
        abort(3, 7),
        Bat::of((4..20).map(|i| build::commit(i, "g", "t", 0, i)).collect()),
    ];
    let second = vec![
        Bat::transactional(8, 0, vec![build::commit(20, "g", "t", 2, 2)]),
        commit(21, 8),
        Bat::of(vec![build::forget(22, "g", "t", 1)]),
    ];
    let third = vec![Bat::of(vec![build::commit(23, "g", "t", 0, 99)])];
    build::write_segments(log_dir, 3, &[first, second, third])
}

#[test]
fn closed_segments_only_unless_asked() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let now = (T0 + 1_000).to_string();
    let out = dir.path().join("closed");
    assert!(compact(&out, &["--now", &now], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 19, 20, 21, 22, 23]);
    assert_eq!(new.iter().find(|it| it.last_offset == 22).unwrap().delete_horizon_ms, Some(T0 + 1_000 + 86_400_000));
    // The last data batch of a producer stays, empty, for its sequence number.
    assert_eq!(new.iter().filter(|it| it.records.is_empty()).map(|it| it.last_offset).collect::<Vec<_>>(), [2]);
    let told = summary(&out);
    assert_eq!(told["dropped"]["aborted"], 1);
    assert_eq!(told["dropped"]["superseded"], 17);
    assert_eq!((&told["compactedUntil"], &told["endOffset"]), (&23.into(), &24.into()));
    assert_eq!(told["checkpoints"][0]["line"], "__consumer_offsets 3 23");

    let out = dir.path().join("all");
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 20, 21, 22, 23]);
    assert_eq!(names_in(&out), ["__consumer_offsets-3", "compact.jsonl", "compact.txt"]);
}

#[test]
fn an_open_transaction_pins_what_is_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = Bat::transactional(9, 0, vec![build::commit(1, "g", "t", 0, 5)]);
    let mut batches = vec![Bat::of(vec![build::commit(0, "g", "t", 0, 0)]), open];
    batches.extend((2..50).map(|i| Bat::of(vec![build::commit(i, "g", "t", 0, i)])));
    let old = build::write_log(dir.path(), 3, &batches);
    let now = (T0 + 1_000).to_string();
    let options = ["--now", now.as_str(), "--include-active"];
    let (pinned, forced) = (dir.path().join("pinned"), dir.path().join("forced"));
    assert!(compact(&pinned, &options, &[&old]).status.success());
    assert_eq!(build::read_partition(&pinned.join("__consumer_offsets-3")), batches);
    let told = lines(&pinned);
    let open = told.iter().find(|line| line["kind"] == "open-transaction").unwrap();
    assert_eq!((&open["firstOffset"], &open["pins"]), (&1.into(), &true.into()));
    assert_eq!(summary(&pinned)["compactedUntil"], 1);
    let options = [&options[..], &["--force-past-open-transactions"]].concat();
    assert!(compact(&forced, &options, &[&old]).status.success());
    let new = build::read_partition(&forced.join("__consumer_offsets-3"));
    assert_eq!(new, [batches[1].clone(), batches[49].clone()]);
}

/// A coordinator always writes sequence 0, by which cleaners once kept a batch of every transaction (KAFKA-8335).
#[test]
fn one_empty_batch_for_a_producer() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = Vec::new();
    for i in 0..100 {
        batches.push(Bat::transactional(5, 0, vec![build::commit(2 * i, "g", "t", 0, i)]));
        batches.push(Bat::marker(build::Ending::Commit, 2 * i + 1, T0, 5, 0));
    }
    batches.push(Bat::of(vec![build::commit(200, "g", "t", 0, 1)]));
    let old = build::write_log(dir.path(), 3, &batches);
    let out = dir.path().join("out");
    let now = (T0 + 1_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let empty: Vec<_> = new.iter().filter(|batch| batch.records.is_empty()).map(|batch| batch.last_offset).collect();
    assert_eq!(empty, [198]);
    // Two days on, nobody remembers the producer.
    let out = dir.path().join("later");
    let now = (T0 + 2 * 86_400_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    assert!(new.iter().all(|batch| !batch.records.is_empty()));
}

/// A tombstone that hides a record with other bytes of the same key stays, whatever its time.
#[test]
fn a_tombstone_stays_while_it_hides_something() {
    let dir = tempfile::tempdir().unwrap();
    let mut old_key = build::commit(0, "g", "t", 0, 1);
    old_key.key.as_mut().unwrap()[1] = 0;
    old_key.value = Some(build::Commit::at(1).value(0));
    let tombs = Bat {
        delete_horizon_ms: Some(T0),
        ..Bat::of(vec![build::forget(1, "g", "t", 0), build::forget(2, "g", "t", 1)])
    };
    let old = build::write_log(dir.path(), 3, &[Bat::of(vec![old_key]), tombs]);
    let out = dir.path().join("out");
    let now = (T0 + 1_000).to_string();
    assert!(compact(&out, &["--now", &now, "--include-active"], &[&old]).status.success());
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [0, 1]);
}

#[test]
fn the_log_start_counts() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [
        Bat::of(vec![build::commit(0, "g", "t", 0, 1)]),
        Bat::of(vec![build::commit(1, "g", "t", 1, 1), build::commit(2, "g", "t", 2, 1)]),
        Bat::of(vec![build::commit(3, "g", "t", 3, 1)]),
    ];
    let log_dir = dir.path().join("kafka");
    let old = build::write_log(&log_dir, 3, &batches);
    std::fs::write(log_dir.join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 3 2\n").unwrap();
    let out = dir.path().join("elsewhere");
    let output = compact(&out, &["--include-active", "--now", &T0.to_string()], &[&old]);
    assert!(output.status.success(), "{output:?}");
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [2, 3]);
    let told = summary(&out);
    assert_eq!(told["dropped"]["beforeLogStart"], 2);
    assert!(told["checkpoints"].to_string().contains("__consumer_offsets 3 2\""));
}

#[test]
fn damage_is_refused_unless_it_may_be_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let path = old.join(build::segment_name(0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[90] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let out = dir.path().join("out");
    let output = compact(&out, &[], &[&old]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("grouplog salvage") && said.contains("--skip-damage") && said.contains("at byte 0"),
        "{said}"
    );
    assert!(!out.exists());
    let output = compact(&out, &["--skip-damage", "--now", &T0.to_string()], &[&old]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = lines(&out);
    assert_eq!(told.iter().find(|line| line["kind"] == "damage").unwrap()["code"], "crc-mismatch");
    let new = build::read_partition(&out.join("__consumer_offsets-3"));
    let offsets: Vec<_> = new.iter().flat_map(|batch| batch.records.iter().map(|it| it.offset)).collect();
    assert_eq!(offsets, [3, 19, 20, 21, 22, 23]);
}

#[test]
fn a_torn_end_is_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(dir.path());
    let path = old.join(build::segment_name(23));
    let mut bytes = std::fs::read(&path).unwrap();
    let torn: Vec<_> = bytes.iter().copied().take(70).collect();
    bytes.extend(torn);
    std::fs::write(&path, bytes).unwrap();
    let out = dir.path().join("out");
    assert!(compact(&out, &["--include-active"], &[&old]).status.success());
    assert_eq!(summary(&out)["tornTail"], true);
    assert_eq!(summary(&out)["endOffset"], 24);
}

#[test]
fn nothing_is_written_over_and_a_dry_run_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let old = log(&dir.path().join("kafka"));
    let before = std::fs::read_dir(dir.path()).unwrap().count();
    let args = ["compact", "--dry-run", "--format", "jsonl", "--now", "1700000001000", old.to_str().unwrap()];
    let output = grouplog(Path::new("."), args);
    let told: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.last().unwrap()["written"], false);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before);
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let output = compact(&out, &[], &[&old]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("exists"));
    assert_eq!(names_in(&out), Vec::<String>::new());
    // Inside of what is read it would change it.
    let output = compact(&old.join("new"), &[], &[&old]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names_in(&old).len(), 3);
    // And the report of a run that writes is the same, but for that.
    let out = dir.path().join("real");
    assert!(compact(&out, &["--now", "1700000001000"], &[&old]).status.success());
    let mut real = summary(&out);
    real["written"] = false.into();
    assert_eq!(real, *told.last().unwrap());
}

#[test]
fn segments_grow_to_a_size_and_keep_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let segments: Vec<Vec<Bat>> = (0..40)
        .map(|i| {
            vec![Bat::of(vec![build::commit(2 * i, "g", "t", i as i32, i), build::commit(2 * i + 1, "g", "t", 99, i)])]
        })
        .collect();
    let old = build::write_segments(dir.path(), 3, &segments);
    let one = segments[0][0].bytes().len();
    let out = dir.path().join("out");
    let size = (one * 5).to_string();
    assert!(compact(&out, &["--segment-bytes", &size, "--now", &T0.to_string()], &[&old]).status.success());
    let folder = out.join("__consumer_offsets-3");
    let names: Vec<_> = names_in(&folder).into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!((4..10).contains(&names.len()), "{names:?}");
    assert_eq!(names.first().map(String::as_str), Some("00000000000000000000.log"));
    assert_eq!(names.last().map(String::as_str), Some("00000000000000000078.log"));
    for name in &names {
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() <= (one * 5) as u64, "{name}");
    }
}

/// Every file below a folder.
fn all_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in names_in(dir) {
        let path = dir.join(name);
        if path.is_dir() {
            all.extend(all_files(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn a_limit_on_file_sizes_leaves_nothing_and_the_source_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let many = (0..40_000).map(|i| Bat::of(vec![build::commit(i, "g", &format!("t{i}"), 0, i)])).collect::<Vec<_>>();
    build::write_log(&dir.path().join("log"), 3, &many);
    let before = all_files(dir.path());
    let command = format!(
        "trap '' XFSZ; ulimit -f 1024; exec {} compact --include-active --out new log",
        env!("CARGO_BIN_EXE_grouplog")
    );
    let output = std::process::Command::new("bash").args(["-c", &command]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was kept"));
    assert_eq!(all_files(dir.path()), before);
    let out = dir.path().join("new");
    assert!(compact(&out, &["--include-active"], &[&dir.path().join("log")]).status.success());
    assert_eq!(frames(&out.join("__consumer_offsets-3")).0.len(), many.len());
}

/// Batches of all codecs are thinned and squeezed again; those of which all stays are copied.
#[test]
fn compressed_batches_keep_their_codec() {
    use grouplog::log::Codec;
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let dir = tempfile::tempdir().unwrap();
        let commits = |from: i64, to: i64| (from..to).map(|i| build::commit(i, "g", "t", (i % 50) as i32, i)).collect();
        let batches: Vec<Bat> =
            [(0, 75), (75, 100), (100, 101)].map(|(from, to)| Bat { codec, ..Bat::of(commits(from, to)) }).into();
        let old = build::write_log(dir.path(), 3, &batches);
        let out = dir.path().join("out");
        let now = (T0 + 1_000).to_string();
        assert!(compact(&out, &["--include-active", "--now", &now], &[&old]).status.success());
        let new = build::read_partition(&out.join("__consumer_offsets-3"));
        assert_eq!(new.iter().map(|batch| batch.records.len()).collect::<Vec<_>>(), [24, 25, 1]);
        assert!(new.iter().all(|batch| batch.codec == codec));
        assert_eq!(frames(&out.join("__consumer_offsets-3")).0[&99], batches[1].bytes());
    }
}

#[test]
fn the_active_segment_of_a_running_broker_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("kafka");
    let old = log(&log_dir);
    std::fs::write(log_dir.join("meta.properties"), "version=1\nnode.id=1\n").unwrap();
    std::fs::write(log_dir.join(".lock"), "").unwrap();
    let lock = std::fs::OpenOptions::new().write(true).open(log_dir.join(".lock")).unwrap();
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let output = compact(&dir.path().join("all"), &["--include-active"], &[&old]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("a broker is running on it"));
    assert!(compact(&dir.path().join("closed"), &[], &[&old]).status.success());
}

/// Every kind of damage, in logs of every magic and codec: refused, or left out and told; what is written is sound.
#[test]
fn every_damage_is_refused_or_left_out() {
    let (mut refused, mut left_out) = (0, 0);
    for hull in wreck::Hull::all() {
        for damage in wreck::Damage::ALL.into_iter().filter(|damage| damage.concerns(hull.magic)) {
            let dir = tempfile::tempdir().unwrap();
            let what = format!("{damage:?} of {}", hull.name());
            let mut hull = wreck::Hull::of(hull.magic, hull.codec);
            damage.hurt(&mut hull, wreck::VICTIM);
            let old = hull.write(&dir.path().join("log"));
            let before = all_files(&old);
            let output = compact(&dir.path().join("strict"), &["--include-active"], &[&old]);
            match output.status.code() {
                Some(0) => continue,
                code => assert_eq!(code, Some(1), "{what}: {output:?}"),
            }
            refused += 1;
            let out = dir.path().join("out");
            let output = compact(&out, &["--include-active", "--skip-damage"], &[&old]);
            assert_eq!(output.status.code(), Some(3), "{what}: {output:?}");
            for (_, folder) in build::partitions_in(&out) {
                left_out += wreck::sound_batches(&folder).len();
            }
            assert_eq!(all_files(&old), before, "{what}");
        }
    }
    println!("{refused} refused; {left_out} sound batches without the damaged ones");
    assert!(refused > 100, "{refused}");
}
