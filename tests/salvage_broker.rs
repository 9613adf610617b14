//! Against a real broker: it loads what `salvage` made of every kind of damage, and says what `describe` reads from it.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use common::facts;
use common::kafka;
use common::told::{Told, described, load_lines};
use std::path::{Path, PathBuf};
use wreck::*;

/// The id of the topic that a hull's partition.metadata names.
const METADATA: &str = "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw";

/// A damaged partition for every damage, of all magics and codecs in turn, and one whose end of a transaction is lost.
fn wreck_all(log_dir: &Path) -> Vec<(i32, String)> {
    let hulls = Hull::all();
    let mut told = Vec::new();
    let mut partition = 0;
    for (i, damage) in Damage::ALL.into_iter().enumerate() {
        // Two kinds of log for each kind of damage.
        for step in [0, 5] {
            let kinds: Vec<_> = hulls.iter().filter(|hull| damage.concerns(hull.magic)).collect();
            let kind = kinds[(i * 7 + step) % kinds.len()];
            let mut hull = Hull::in_partition(kind.magic, kind.codec, partition);
            damage.hurt(&mut hull, VICTIM);
            hull.write_as(log_dir, partition);
            told.push((partition, format!("{damage:?} of {}", kind.name())));
            partition += 1;
        }
    }
    for marker in [4, 10] {
        let mut hull = Hull::in_partition(2, grouplog::log::Codec::None, partition);
        Damage::TwoBytes.hurt(&mut hull, marker);
        hull.write_as(log_dir, partition);
        told.push((partition, format!("the marker at {marker} lost")));
        partition += 1;
    }
    told
}

/// Partitions of a real log, each hurt somewhere in the middle.
fn wreck_real(log_dir: &Path) -> Vec<(i32, String)> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/example3/log");
    let mut told = Vec::new();
    for (number, folder) in build::partitions_in(&example) {
        let to = log_dir.join(format!("__consumer_offsets-{number}"));
        let _ = std::fs::remove_dir_all(&to);
        std::fs::create_dir_all(&to).unwrap();
        let batches = sound_batches(&folder);
        let mut bytes = batches.clone();
        let victim = bytes.len() / 2;
        let len = bytes[victim].len();
        bytes[victim][len - 5] ^= 0x11;
        bytes[victim][len - 15] ^= 0x11;
        std::fs::write(to.join(build::segment_name(0)), bytes.concat()).unwrap();
        std::fs::write(to.join("partition.metadata"), METADATA).unwrap();
        told.push((number, format!("example3, batch {victim}")));
    }
    told
}

#[test]
fn a_broker_loads_what_was_salvaged_and_says_what_describe_says() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("log");
    let mut wrecks = wreck_all(&log_dir);
    wrecks.extend(wreck_real(&log_dir));
    let salvaged = salvage(&dir.path().join("new"), &["--drop-unloadable", "4.4"], &[&log_dir]);
    assert_eq!(salvaged.code, 3, "{}", salvaged.said);
    assert_eq!(salvaged.of_kind("summary").len(), common::names_in(&log_dir).len());
    let new: PathBuf = salvaged.out.clone();
    let back = kafka::load_back("4.4.0", &new, &["partitions=50".to_owned()]);
    let told = Told::of(&back.truth);
    let (ours, _) = described(&new, &told, &[]);
    let (differences, counts) = facts::compare(&told.facts, &ours);
    let left: Vec<_> = differences.iter().filter(|it| !told.explains(it)).map(ToString::to_string).collect();
    assert!(left.is_empty(), "{} differences:\n{}\n{wrecks:#?}", left.len(), left.join("\n"));
    println!("{} partitions: {counts}", wrecks.len());
    assert!(counts.groups > 150 && counts.offsets > 300, "too little was compared: {counts}");
    assert_eq!(back.lines, load_lines(&new));
}
