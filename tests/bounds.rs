//! Hostile and huge logs: time grows with their size, not with its square. Each is of a size at which the square would
//! take minutes, and is given far more time than it needs, so that a busy machine does not fail it.
//!
//! Memory is not measured here (a process's peak is not steady between machines): it grows with live keys, because
//! values stay in the mapped segments, wild partition numbers stand in a tree of their own, and what a tombstone takes
//! away is given back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::{Bat, Commit, Rec, T0, commit, forget, offset_key, write_log};
use grouplog::bytes::put_uvarint;
use std::time::{Duration, Instant};

const PLENTY: Duration = Duration::from_secs(30);

/// Records in batches of a thousand.
fn batches(records: Vec<Rec>) -> Vec<Bat> {
    records.chunks(1000).map(|chunk| Bat::of(chunk.to_vec())).collect()
}

/// What the program prints about a log, in good time.
fn in_time(batches: &[Bat], args: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path(), 0, batches);
    let begin = Instant::now();
    let output = common::grouplog(dir.path(), args.iter().copied().chain(["."]));
    let took = begin.elapsed();
    println!("{args:?}: {took:?}");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(took < PLENTY, "{args:?} took {took:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn key(number: i16, texts: &[&str]) -> Vec<u8> {
    let mut key = number.to_be_bytes().to_vec();
    for text in texts {
        key.extend_from_slice(&(text.len() as u16).to_be_bytes());
        key.extend_from_slice(text.as_bytes());
    }
    key
}

fn record(at: i64, key: Vec<u8>, value: Option<Vec<u8>>) -> Rec {
    Rec { offset: at, timestamp: T0, key: Some(key), value }
}

/// A member that subscribes to topic `t`.
fn member() -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0, 2, b'c', 2, b'h', 2, 2, b't', 0];
    out.extend_from_slice(&[0, 0, 0xea, 0x60, 0, 0]);
    out
}

/// A member that owns ten partitions of the topic whose id is all ones.
fn owns(first: i32) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2];
    out.extend_from_slice(&[1; 16]);
    put_uvarint(&mut out, 11);
    (first..first + 10).for_each(|partition| out.extend_from_slice(&partition.to_be_bytes()));
    out.extend_from_slice(&[0, 1, 0]);
    out
}

#[test]
fn a_group_of_many_members_and_offsets() {
    let (members, offsets) = (5_000, 50_000);
    let id = Commit { topic_id: [1; 16], ..Commit::at(1) }.value(4);
    let mut records = Vec::new();
    for i in 0..members {
        let name = format!("m{i:05}");
        records.push(record(records.len() as i64, key(5, &["g", &name]), Some(member())));
        records.push(record(records.len() as i64, key(8, &["g", &name]), Some(owns(i * 10))));
    }
    for partition in 0..offsets {
        records.push(record(records.len() as i64, offset_key("g", "t", partition), Some(id.clone())));
    }
    let log = batches(records);
    let args = ["describe", "--group", "g", "--retention", "7d"];
    let csv = in_time(&log, &[&args[..], &["--offsets", "--format", "csv"]].concat());
    assert_eq!(csv.lines().count(), 1 + offsets as usize);
    assert!(csv.contains("g,t,49999,1,") && csv.contains(",m04999,"), "{}", &csv[csv.len() - 200..]);
    in_time(&log, &[&args[..], &["--format", "json"]].concat());
}

#[test]
fn tombstones_under_many_open_transactions() {
    let producers = 30_000;
    let mut log: Vec<_> = (0..producers)
        .map(|producer| Bat::transactional(producer, 0, vec![commit(producer, "g", "t", producer as i32, 1)]))
        .collect();
    let forgotten = (0..producers).map(|i| forget(producers + i, "g", "t", i as i32)).collect();
    log.extend(batches(forgotten));
    // All of them have pending commits of one key, and end one by one.
    let at = 2 * producers;
    log.extend((0..producers).map(|producer| {
        let one = vec![commit(at + producer, "h", "t", 0, producer)];
        Bat::transactional(producer, 0, one)
    }));
    let at = 3 * producers;
    log.extend((0..producers).map(|i| Bat::marker(build::Ending::Commit, at + i, T0, i, 0)));
    let said = in_time(&log, &["groups", "--format", "jsonl"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(&format!("\"offset\":{}", producers - 1)), "{said}");
}

#[test]
fn wild_partition_numbers_of_many_groups() {
    let records = (0..100_000).map(|i| {
        let partition = [i32::MAX, -1, 1000, i32::MIN][i as usize % 4];
        commit(i, &format!("g{i}"), "t", partition, 1)
    });
    let said = in_time(&batches(records.collect()), &["groups", "--format", "csv"]);
    assert_eq!(said.lines().count(), 100_001);
    // Many of them in one group.
    let records = (0..100_000).map(|i| commit(i, "g", "t", i32::MAX - i as i32 * 7, 1));
    let said = in_time(&batches(records.collect()), &["describe", "--group", "g", "--offsets", "--format", "csv"]);
    assert_eq!(said.lines().count(), 100_001);
}

#[test]
fn members_that_come_and_go() {
    let members = 100_000;
    let names = || (0..members).map(|i| format!("member-{i}"));
    let mut records = Vec::new();
    for name in names() {
        records.push(record(records.len() as i64, key(5, &["g", &name]), Some(member())));
    }
    for name in names() {
        records.push(record(records.len() as i64, key(5, &["g", &name]), None));
    }
    records.push(commit(records.len() as i64, "h", "t", 0, 1));
    let said = in_time(&batches(records), &["groups", "--format", "csv"]);
    assert_eq!(said.lines().count(), 2, "{said}");
}
