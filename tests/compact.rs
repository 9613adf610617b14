//! `compact` against the real cleaner, on logs before and after it ran; and on every exhibit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/compacted.rs"]
mod compacted;

use common::{exhibits, golden, grouplog};
use compacted::*;
use std::path::Path;

#[test]
fn the_same_as_the_real_cleaner() {
    let Some(golden) = golden() else { return };
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
            let now = clock(&theirs, retention).unwrap().to_string();
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
                assert_told_right(&old, &first, &what);
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
