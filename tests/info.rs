//! `info` against an independent count: the batches that `dump --batches` prints, and what brokers said of their logs.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn grouplog(args: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_grouplog")).args(args).arg(path).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn info(path: &Path) -> Value {
    let output = grouplog(&["info", "--format", "json"], path);
    let mut all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all.len(), 1, "{}", path.display());
    all.remove(0)
}

/// The folders that hold exhibits: ours, and beside the checkout or where GROUPLOG_SHARED says.
fn roots() -> Vec<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("GROUPLOG_SHARED").map_or_else(|| ours.join("../shared"), PathBuf::from);
    let golden = shared.join("golden");
    if !golden.is_dir() {
        println!("SKIPPED in part: no recorded logs at {} (set GROUPLOG_SHARED)", golden.display());
    }
    [ours.join("fixtures"), golden].into_iter().filter(|root| root.is_dir()).collect()
}

/// All partition folders below a folder that hold a segment that counts.
fn partitions_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let is_partition = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with("__consumer_offsets-");
    if is_partition(folder) && entries.iter().any(|path| path.extension().is_some_and(|extension| extension == "log")) {
        found.push(folder.to_owned());
    }
    entries.iter().filter(|path| path.is_dir()).for_each(|path| partitions_below(path, found));
}

fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// Batches and bytes by what a batch says of itself.
fn shares(batches: &[Value], name: &str) -> BTreeMap<String, (i64, i64)> {
    let mut shares = BTreeMap::<String, (i64, i64)>::new();
    for batch in batches {
        let share = shares.entry(batch[name].to_string()).or_default();
        share.0 += 1;
        share.1 += number(batch, "length");
    }
    shares
}

fn told_shares(told: &Value, name: &str) -> BTreeMap<String, (i64, i64)> {
    let entry = |each: &Value| (each[name].to_string(), (number(each, "batches"), number(each, "bytes")));
    told.as_array().unwrap().iter().map(entry).collect()
}

fn count(batches: &[Value], which: impl Fn(&Value) -> bool) -> i64 {
    batches.iter().filter(|batch| which(batch)).count() as i64
}

fn assert_agrees(partition: &Path) {
    let what = partition.display().to_string();
    let told = info(partition);
    let spans = lines(&grouplog(&["dump", "--batches", "--format", "jsonl"], partition));
    let (holes, batches): (Vec<_>, Vec<_>) = spans.into_iter().partition(|span| span.get("hole").is_some());
    let is = |batch: &Value, name: &str| batch[name] == json!(true);

    let total: i64 = batches.iter().map(|batch| number(batch, "length")).sum();
    let in_holes: i64 = holes.iter().map(|hole| number(&hole["hole"], "length")).sum();
    let files = std::fs::read_dir(partition).unwrap().map(|entry| entry.unwrap());
    let on_disk: u64 = files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "log"))
        .map(|file| file.metadata().unwrap().len())
        .sum();
    assert_eq!(number(&told, "bytes"), on_disk as i64, "{what}");
    assert_eq!(number(&told, "bytes"), total + in_holes, "{what}");
    assert_eq!((number(&told["holes"], "count"), number(&told["holes"], "bytes")), (holes.len() as i64, in_holes));

    let kinds = &told["batches"];
    assert_eq!(number(kinds, "total"), batches.len() as i64, "{what}");
    assert_eq!(number(kinds, "control"), count(&batches, |batch| is(batch, "control")), "{what}");
    assert_eq!(number(kinds, "empty"), count(&batches, |batch| number(batch, "count") == 0), "{what}");
    let transactional = count(&batches, |batch| is(batch, "transactional") && !is(batch, "control"));
    assert_eq!(number(kinds, "transactional"), transactional, "{what}");
    let data = count(&batches, |batch| number(batch, "count") != 0 && !is(batch, "control"));
    assert_eq!(number(kinds, "data"), data, "{what}");
    let horizons = count(&batches, |batch| !batch["deleteHorizonMs"].is_null());
    assert_eq!(number(kinds, "withDeleteHorizon"), horizons, "{what}");
    assert_eq!(number(kinds, "ofUnknownCount"), count(&batches, |batch| number(batch, "count") < 0), "{what}");
    let records: i64 = batches.iter().map(|batch| number(batch, "count").max(0)).sum();
    assert_eq!(number(&told, "records"), records, "{what}");

    for (list, name) in [("codecs", "codec"), ("magics", "magic"), ("timestampTypes", "timestampType")] {
        assert_eq!(told_shares(&told[list], name), shares(&batches, name), "{what}: {list}");
    }
    assert_times(&told, &batches, &what);
    assert_producers(&told, &batches, &what);
    assert_epochs(&told, &batches, &what);
    assert_offsets(&told, &batches, partition);
}

fn assert_times(told: &Value, batches: &[Value], what: &str) {
    let first = |batch: &Value| {
        let own = batch["deleteHorizonMs"].is_null() && batch["timestampType"] != "LogAppendTime";
        number(batch, if own { "baseTimestamp" } else { "maxTimestamp" })
    };
    let known = |time: &i64| *time >= 0;
    let first = batches.iter().map(first).filter(known).min();
    let last = batches.iter().map(|batch| number(batch, "maxTimestamp")).filter(known).max();
    assert_eq!((told["firstTimestamp"].as_i64(), told["lastTimestamp"].as_i64()), (first, last), "{what}");
}

fn assert_producers(told: &Value, batches: &[Value], what: &str) {
    let mut shares = shares(batches, "producerId");
    shares.remove("-1");
    let producers = &told["producers"];
    assert_eq!(number(producers, "count"), shares.len() as i64, "{what}");
    let top = told_shares(&producers["top"], "producerId");
    assert_eq!(top.len(), shares.len().min(10), "{what}");
    assert!(top.iter().all(|(id, share)| shares.get(id) == Some(share)), "{what}");
    let least = top.values().map(|share| share.1).min().unwrap_or(0);
    let left_out = shares.iter().filter(|(id, _)| !top.contains_key(*id));
    assert!(left_out.into_iter().all(|(_, share)| share.1 <= least), "{what}");
}

fn assert_epochs(told: &Value, batches: &[Value], what: &str) {
    let mut epochs: Vec<(i64, i64)> = Vec::new();
    for batch in batches {
        let epoch = number(batch, "partitionLeaderEpoch");
        if epoch >= 0 && epochs.last().is_none_or(|last| last.0 != epoch) {
            epochs.push((epoch, number(batch, "baseOffset")));
        }
    }
    let told = told["leaderEpochs"].as_array().unwrap().iter();
    let told: Vec<_> = told.map(|epoch| (number(epoch, "epoch"), number(epoch, "startOffset"))).collect();
    assert_eq!(told, epochs, "{what}");
}

fn assert_offsets(told: &Value, batches: &[Value], partition: &Path) {
    let what = partition.display().to_string();
    let names = std::fs::read_dir(partition).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let newest: i64 = names.filter_map(|name| name.strip_suffix(".log")?.parse::<i64>().ok()).max().unwrap();
    let end = batches.last().map_or(newest, |batch| newest.max(number(batch, "lastOffset") + 1));
    assert_eq!(number(told, "endOffset"), end, "{what}");
    let first = match batches.first() {
        None => end,
        Some(batch) if number(batch, "magic") == 2 => number(batch, "baseOffset"),
        // A wrapper says its last offset; its first record is what counts.
        Some(_) => number(&lines(&grouplog(&["dump", "--limit", "1"], partition))[0], "offset"),
    };
    assert_eq!(number(told, "firstOffset"), first, "{what}");
}

#[test]
fn agrees_with_the_batches_that_dump_shows() {
    let mut found = Vec::new();
    roots().iter().for_each(|root| partitions_below(root, &mut found));
    assert!(found.len() >= 50, "{}", found.len());
    found.iter().for_each(|partition| assert_agrees(partition));
}

/// Log dirs with the truth.json that tells their log ends.
fn told_by_brokers(folder: &Path, found: &mut Vec<(PathBuf, Value)>) {
    let truth = std::fs::read(folder.join("truth.json")).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    if let Some(truth) = truth {
        let truth: Value = truth;
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let log = folder.join("log");
        // Of replicas, those that had what the asked leader had.
        let brokers: &[&str] = match name.as_str() {
            _ if !log.join("broker-1").is_dir() => &["."],
            "in-sync" => &["broker-1", "broker-2", "broker-3"],
            "lagging" => &["broker-1", "broker-3"],
            _ => &["broker-2"],
        };
        if truth.get("offsetsPartitions").is_some() {
            found.extend(brokers.iter().map(|broker| (log.join(broker), truth.clone())));
        }
        return;
    }
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).for_each(|path| told_by_brokers(&path, found));
}

#[test]
fn log_ends_are_those_that_brokers_answered() {
    let mut found = Vec::new();
    roots().iter().for_each(|root| told_by_brokers(root, &mut found));
    assert!(found.len() >= 10, "{}", found.len());
    for (log_dir, truth) in found {
        let output = grouplog(&["info", "--format", "jsonl"], &log_dir);
        assert_eq!(output.status.code(), Some(0), "{}", log_dir.display());
        let offsets_topic = &truth["topics"]["__consumer_offsets"]["id"];
        for told in lines(&output) {
            let what = format!("{}: {}", log_dir.display(), told["partition"]);
            let truth = &truth["offsetsPartitions"][told["partition"].to_string()];
            if !truth.is_null() {
                assert_eq!(told["endOffset"], truth["end"], "{what}");
                assert!(number(&told, "firstOffset") >= number(truth, "start"), "{what}");
                let ids: BTreeSet<_> =
                    truth["producers"].as_array().unwrap().iter().map(|p| number(p, "producerId")).collect();
                assert!(number(&told["producers"], "count") as usize >= ids.len(), "{what}");
            }
            assert_eq!(&told["topicId"], offsets_topic, "{what}");
        }
    }
}

fn scratch(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let partition = dir.path().join("__consumer_offsets-7");
    std::fs::create_dir(&partition).unwrap();
    for (name, bytes) in files {
        std::fs::write(partition.join(name), bytes).unwrap();
    }
    (dir, partition)
}

fn real_segment() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/classic/log/__consumer_offsets-2");
    std::fs::read(path.join("00000000000000000000.log")).unwrap()
}

#[test]
fn an_empty_segment_tells_its_offset_by_its_name() {
    let (_dir, partition) = scratch(&[("00000000000000000042.log", b"")]);
    let told = info(&partition);
    assert_eq!((number(&told, "firstOffset"), number(&told, "endOffset"), number(&told, "bytes")), (42, 42, 0));
    assert!(told["firstTimestamp"].is_null() && told["lastTimestamp"].is_null());
    assert_eq!(grouplog(&["info"], &partition).status.code(), Some(0));
}

#[test]
fn the_log_end_is_the_newest_segments_name_where_that_is_above() {
    let (_dir, partition) =
        scratch(&[("00000000000000000000.log", &real_segment()), ("00000000000000001000.log", b"")]);
    assert_eq!(number(&info(&partition), "endOffset"), 1000);
    assert_agrees(&partition);
}

#[test]
fn preallocated_zeros_are_no_damage() {
    let mut bytes = real_segment();
    let (held, zeros) = (bytes.len(), 10_000);
    bytes.resize(held + zeros, 0);
    let (_dir, partition) = scratch(&[("00000000000000000000.log", &bytes)]);
    assert_eq!(grouplog(&["info"], &partition).status.code(), Some(0));
    let told = info(&partition);
    assert_eq!(told["holes"]["byCode"], json!([{"code": "zero-tail", "count": 1, "bytes": zeros}]));
    assert_agrees(&partition);
}

#[test]
fn a_file_of_nothing_but_a_hole() {
    let (_dir, partition) = scratch(&[("00000000000000000042.log", &[0xee; 3000])]);
    let output = grouplog(&["info"], &partition);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at byte 0, 3000 bytes that are no batch"));
    let told = info(&partition);
    assert_eq!((number(&told, "firstOffset"), number(&told, "endOffset")), (42, 42));
    assert_eq!((number(&told["holes"], "count"), number(&told["holes"], "bytes")), (1, 3000));
}

#[test]
fn a_cut_segment_is_a_finding() {
    let bytes = real_segment();
    let (_dir, partition) = scratch(&[("00000000000000000000.log", bytes.get(..bytes.len() - 10).unwrap())]);
    assert_eq!(grouplog(&["info"], &partition).status.code(), Some(3));
    assert_eq!(info(&partition)["holes"]["byCode"][0]["code"], "torn-batch");
    assert_agrees(&partition);
}

#[test]
#[cfg(target_os = "linux")]
fn a_broker_that_runs_is_seen_by_its_lock() {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let (dir, partition) = scratch(&[("00000000000000000000.log", &real_segment())]);
    let lock = std::fs::File::create(dir.path().join(".lock")).unwrap();
    assert_eq!(info(&partition)["logDir"]["inUse"], json!(false));
    // flock(1) takes another kind of lock than a JVM does; Python's lockf is the same kind.
    let script = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()";
    let holder = Command::new("python3")
        .args(["-c", script])
        .arg(dir.path().join(".lock"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut holder) = holder else {
        println!("SKIPPED: no python3");
        return;
    };
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
    assert!(fcntl_getlk(&lock, &Flock::from(FlockType::WriteLock)).unwrap().is_some());
    let told = info(&partition);
    assert_eq!((&told["logDir"]["inUse"], &told["logDir"]["inUseBy"]), (&json!(true), &json!(holder.id())));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(info(&partition)["logDir"]["inUse"], json!(false));
}

#[test]
fn csv_has_as_many_fields_in_every_line() {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/museum/0.9.0.1-compacted/log");
    let output = grouplog(&["info", "--format", "csv"], &log);
    let text = String::from_utf8(output.stdout).unwrap();
    let fields: BTreeSet<_> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!((text.lines().count(), fields.len()), (4, 1), "{text}");
}
