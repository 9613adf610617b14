//! `rewrite`: each option alone, options together, laws over the logs of real brokers, bad input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/rewritten.rs"]
mod rewritten;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use common::{exhibits, grouplog, names_in};
use grouplog::log::Codec;
use grouplog::model::partitioner::partition_of;
use rewritten::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Log dirs of every exhibit that can be read as they are.
fn log_dirs() -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let dir = exhibit.dir.join(&log_dir);
            if dir.is_dir() && !partitions_in(&dir).is_empty() {
                all.push((format!("{} {log_dir}", exhibit.name), dir));
            }
        }
    }
    assert!(all.len() >= 19, "{}", all.len());
    all
}

fn bytes_of(folder: &Path) -> Vec<u8> {
    let mut names: Vec<_> = names_in(folder).into_iter().filter(|name| name.ends_with(".log")).collect();
    names.sort();
    names.iter().flat_map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
}

#[test]
fn without_edits_it_is_a_copy() {
    for (name, old) in log_dirs() {
        let new = rewrite(&[], &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        let moved = rewrite(&["--topic-id", "00YQRhQSSde_UAyBnyxN9g", "--segment-bytes", "20000"], &[&old]);
        assert_eq!(moved.code, 0, "{name}: {}", moved.said);
        for (number, folder) in partitions_in(&old) {
            let sound = wreck::sound_batches(&folder).concat();
            assert!(bytes_of(&new.partition(number)) == sound, "{name} {number}");
            assert!(bytes_of(&moved.partition(number)) == sound, "{name} {number}");
            let file = |dir: PathBuf, file: &str| std::fs::read_to_string(dir.join(file)).ok();
            let metadata = file(new.partition(number), "partition.metadata");
            assert_eq!(metadata, file(folder, "partition.metadata"), "{name} {number}");
            let metadata = file(moved.partition(number), "partition.metadata").unwrap();
            assert_eq!(metadata, "version: 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9g");
            for file in names_in(&moved.partition(number)).iter().filter(|file| file.ends_with(".log")) {
                let len = std::fs::metadata(moved.partition(number).join(file)).unwrap().len();
                let batches = read_segment(&moved.partition(number).join(file)).len();
                assert!(len <= 20_000 || batches == 1, "{name} {number} {file}: {len}");
            }
        }
        assert_eq!(digests(&new.out), digests(&old), "{name}");
    }
}

#[test]
fn codec_and_magic_change_and_nothing_else() {
    let codecs = [
        ("none", Codec::None),
        ("gzip", Codec::Gzip),
        ("snappy", Codec::Snappy),
        ("lz4", Codec::Lz4),
        ("zstd", Codec::Zstd),
    ];
    for (i, (name, old)) in log_dirs().into_iter().enumerate() {
        let (codec_name, codec) = codecs[i % codecs.len()];
        let upgraded = rewrite(&["--codec", codec_name, "--upgrade"], &[&old]);
        assert_eq!(upgraded.code, 0, "{name}: {}", upgraded.said);
        for (number, folder) in partitions_in(&old) {
            let (old, new) = (read_partition(&folder), read_partition(&upgraded.partition(number)));
            assert!(new.iter().all(|batch| batch.magic == 2), "{name} {number}");
            for batch in new.iter().filter(|batch| !batch.control && !batch.records.is_empty()) {
                assert_eq!(batch.codec, codec, "{name} {number}");
            }
            // Everything else of a batch of magic 2 is as it was.
            let without = |batch: &Bat| Bat { codec: Codec::None, ..batch.clone() };
            let of_2 = |batches: &[Bat]| -> Vec<Bat> { batches.iter().map(without).collect() };
            if old.iter().all(|batch| batch.magic == 2) {
                assert_eq!(of_2(&new), of_2(&old), "{name} {number}");
            }
            let records = |batches: &[Bat]| -> Vec<Rec> { batches.iter().flat_map(|it| it.records.clone()).collect() };
            assert_eq!(records(&new), records(&old), "{name} {number}");
        }
        assert_eq!(digests(&upgraded.out), digests(&old), "{name}");
        let diff = grouplog(Path::new("."), [&"diff".into(), &old, &upgraded.out].map(|it: &PathBuf| it.clone()));
        assert_eq!(diff.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&diff.stdout));
    }
}

#[test]
fn every_codec_and_magic_becomes_every_other() {
    for hull in wreck::Hull::all() {
        let dir = tempfile::tempdir().unwrap();
        hull.write(dir.path());
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            for upgrade in [&[][..], &["--upgrade"]] {
                let new = rewrite(&[&["--codec", codec], upgrade].concat(), &[dir.path()]);
                if hull.magic < 2 && codec == "zstd" && upgrade.is_empty() {
                    assert_eq!(new.code, 1, "{}", hull.name());
                    assert!(new.said.contains("--upgrade"), "{}", new.said);
                    assert!(!new.out.exists());
                    continue;
                }
                assert_eq!(new.code, 0, "{} {codec}: {}", hull.name(), new.said);
                assert_eq!(digests(&new.out), digests(dir.path()), "{} {codec}", hull.name());
                wreck::sound_batches(&new.partition(0));
                let batches = read_partition(&new.partition(0));
                let magic = if upgrade.is_empty() { hull.magic } else { 2 };
                assert!(batches.iter().all(|batch| batch.magic == magic), "{} {codec}", hull.name());
            }
        }
    }
}

#[test]
fn numbers_anew() {
    for (name, old) in log_dirs() {
        let new = rewrite(&["--renumber"], &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        for (number, folder) in partitions_in(&old) {
            let records = |folder: &Path| -> Vec<Rec> {
                read_partition(folder).into_iter().flat_map(|batch| batch.records).collect()
            };
            let (old, new) = (records(&folder), records(&new.partition(number)));
            assert!(new.iter().enumerate().all(|(i, record)| record.offset == i as i64), "{name} {number}");
            let without = |records: Vec<Rec>| -> Vec<Rec> {
                records.into_iter().map(|record| Rec { offset: 0, ..record }).collect()
            };
            assert_eq!(without(new), without(old), "{name} {number}");
        }
        assert_eq!(digests(&new.out), digests(&old), "{name}");
    }
}

#[test]
fn shards_and_back() {
    for (name, old) in log_dirs() {
        let back_to = partition_count(&old);
        let n = 7;
        let spread = rewrite(&["--partitions", &n.to_string()], &[&old]);
        assert_eq!(spread.code, 0, "{name}: {}", spread.said);
        assert_eq!(partitions_in(&spread.out).len(), n as usize);
        for (number, digests) in digests(&spread.out) {
            for group in digests.groups.keys() {
                assert_eq!(partition_of(group, n), number, "{name}: {}", String::from_utf8_lossy(group));
            }
        }
        let back = rewrite(&["--partitions", &back_to.to_string()], &[&spread.out]);
        assert_eq!(back.code, 0, "{name}: {}", back.said);
        let all = digests(&back.out);
        for (number, old) in digests(&old) {
            assert_eq!(all.get(&number), Some(&old), "{name} {number}");
        }
        // What was in no partition that is here is in none.
        let groups: usize = all.values().map(|digests| digests.groups.len()).sum();
        assert_eq!(groups, digests(&old).values().map(|it| it.groups.len()).sum::<usize>(), "{name}");
    }
}

/// As many as the groups of a log dir were spread over.
fn partition_count(log_dir: &Path) -> i32 {
    let groups: Vec<_> =
        digests(log_dir).into_iter().flat_map(|(n, it)| it.groups.into_keys().map(move |group| (n, group))).collect();
    let fits = |n: &i32| groups.iter().all(|(number, group)| partition_of(group, *n) == *number);
    [3, 4, 50].into_iter().chain(1..200).find(fits).unwrap_or_else(|| panic!("{}", log_dir.display()))
}

#[test]
fn one_group_at_a_time_goes_or_stays() {
    for (name, old) in log_dirs() {
        let before = digests(&old);
        let names: BTreeSet<_> = before.values().flat_map(|it| it.groups.keys().cloned()).collect();
        let Some(victim) = names.iter().nth(names.len() / 2) else { continue };
        let pattern = pattern_of(victim);
        for (option, stays) in [("--drop-group", false), ("--keep-group", true)] {
            let new = rewrite(&[option, &pattern], &[&old]);
            assert_eq!(new.code, 0, "{name}: {}", new.said);
            for (number, digests) in digests(&new.out) {
                let expected: BTreeMap<_, _> =
                    before[&number].groups.iter().filter(|(group, _)| (*group == victim) == stays).collect();
                assert_eq!(digests.groups.iter().collect::<BTreeMap<_, _>>(), expected, "{name} {number} {option}");
            }
            kept_batches_are_the_old_ones(&old, &new);
        }
    }
}

/// Every new batch with as many records as the old one at its place has its bytes.
fn kept_batches_are_the_old_ones(old: &Path, new: &Rewritten) {
    for (number, folder) in partitions_in(old) {
        let old: BTreeSet<Vec<u8>> = wreck::sound_batches(&folder).into_iter().collect();
        let all = wreck::sound_batches(&new.partition(number));
        let same = all.iter().filter(|batch| old.contains(*batch)).count() as u64;
        let summary = new.of_kind("summary").into_iter().find(|it| it["partition"] == json!(number)).unwrap();
        assert!(same >= summary["batches"]["copied"].as_u64().unwrap(), "{summary}");
        let written = summary["batches"]["copied"].as_u64().unwrap() + summary["batches"]["rebuilt"].as_u64().unwrap();
        assert!(all.len() as u64 >= written, "{summary}");
    }
}

#[test]
fn names_change_wherever_they_stand() {
    let mut topics_renamed = 0;
    for (name, old) in log_dirs() {
        let before = describe(&old);
        let groups: BTreeSet<&str> = before.iter().filter_map(|group| group["group"].as_str()).collect();
        let topics: BTreeSet<&str> = before
            .iter()
            .flat_map(|group| group["offsets"].as_array().unwrap())
            .filter_map(|offset| offset["topic"].as_str())
            .collect();
        let plain = |name: &&&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let (Some(group), Some(topic)) = (groups.iter().find(plain), topics.iter().find(plain)) else { continue };
        let pair = |name: &str| format!("{name}=a-new-name-of-{name}");
        let new = rewrite(&["--rename-group", &pair(group), "--rename-topic", &pair(topic)], &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        let mut expected: Vec<Value> = before.clone();
        rename_all(&mut expected, group, topic);
        let after = describe(&new.out);
        let by_name = |groups: Vec<Value>| -> BTreeMap<String, Value> {
            groups.into_iter().map(|group| (group["group"].as_str().unwrap().to_owned(), group)).collect()
        };
        let (mut after, mut expected) = (by_name(after), by_name(expected));
        // Topics that members own by id only keep the old name, which the id has.
        for groups in [&mut after, &mut expected] {
            groups.values_mut().for_each(forget_ids);
        }
        assert_eq!(after.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        for (group, after) in &after {
            assert_eq!(after, &expected[group], "{name} {group}");
        }
        topics_renamed += 1;
        // And back again.
        let back = |name: &str| format!("a-new-name-of-{name}={name}");
        let again = rewrite(&["--rename-group", &back(group), "--rename-topic", &back(topic)], &[&new.out]);
        let mut again = describe(&again.out);
        let mut before = before;
        for groups in [&mut again, &mut before] {
            groups.iter_mut().for_each(forget_ids);
            groups.sort_by_key(|group| group["group"].as_str().unwrap().to_owned());
        }
        assert_eq!(again, before, "{name}");
    }
    assert!(topics_renamed >= 15, "{topics_renamed}");
}

fn rename_all(groups: &mut [Value], group: &str, topic: &str) {
    for it in groups {
        if it["group"] == json!(group) {
            it["group"] = json!(format!("a-new-name-of-{group}"));
        }
        rename_topic(it, topic);
    }
}

/// For another cluster, topics' ids and leader epochs go; nothing else changes.
#[test]
fn what_only_the_old_cluster_knows_goes() {
    let mut gone = 0;
    for (name, old) in log_dirs() {
        let new = rewrite(&["--new-cluster", "--topic-id", "00YQRhQSSde_UAyBnyxN9g"], &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        assert!(!new.said.contains("--new-cluster"), "{}", new.said);
        let mut before = describe(&old);
        for group in &mut before {
            group["offsets"].as_array_mut().unwrap().iter_mut().for_each(|offset| gone += without_cluster(offset));
        }
        // What is named by its id only has a name where some commit tells it.
        before.iter_mut().for_each(forget_ids_of_members);
        let mut after = describe(&new.out);
        after.iter_mut().for_each(forget_ids_of_members);
        assert_eq!(after, before, "{name}");
        for (_, partition) in partitions_in(&new.out) {
            let batches = read_partition(&partition);
            assert!(batches.iter().all(|batch| batch.leader_epoch <= 0), "{name}");
        }
        if !new.edits.is_empty() {
            let is_of_cluster =
                |edit: &Value| ["topic-id-dropped", "leader-epoch-dropped"].contains(&edit["code"].as_str().unwrap());
            let changes = new.edits.iter().flat_map(|change| change["edits"].as_array().unwrap());
            assert!(changes.into_iter().all(is_of_cluster), "{name}");
            let told = rewrite(&["--topic-id", "00YQRhQSSde_UAyBnyxN9g"], &[&old]);
            assert!(told.said.contains("--new-cluster"), "{}", told.said);
        }
    }
    assert!(gone > 10, "{gone}");
}

/// Leader epochs of batches begin at 0 again, and nothing else in their bytes changes.
#[test]
fn leader_epochs_of_batches_begin_anew() {
    let dir = tempfile::tempdir().unwrap();
    let of_epoch = |leader_epoch: i32, batch: Bat| Bat { leader_epoch, ..batch };
    let plain = |at: i64| Bat::of(vec![commit(at, "g", "orders", 0, at)]);
    let batches = vec![
        of_epoch(0, plain(0)),
        of_epoch(10, plain(1)),
        of_epoch(33, Bat { codec: Codec::Gzip, ..plain(2) }),
        of_epoch(33, Bat { records: vec![], ..plain(3) }),
        of_epoch(57, plain(4)),
    ];
    let old = write_log(dir.path(), 12, &batches);
    std::fs::write(old.join("leader-epoch-checkpoint"), "0\n4\n0 0\n10 1\n33 2\n57 4\n").unwrap();
    let new = rewrite(&["--new-cluster", "--set-offset", "g/orders/1=7"], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    let there = read_partition(&new.partition(12));
    let expected: Vec<_> = batches.iter().map(|batch| of_epoch(0, batch.clone())).collect();
    assert_eq!(there[..5], expected);
    assert_eq!((there.len(), there[5].leader_epoch), (6, 0));
    let epochs = std::fs::read_to_string(new.partition(12).join("leader-epoch-checkpoint")).unwrap();
    assert_eq!(epochs, "0\n1\n0 0\n");
    let summary = &new.of_kind("summary")[0];
    assert_eq!(summary["batches"], json!({"read": 5, "copied": 1, "moved": 4, "rebuilt": 0, "dropped": 0}));
}

/// Takes topic id and leader epoch out of a committed offset, and out of those that wait; how many had any.
fn without_cluster(offset: &mut Value) -> usize {
    let had_epoch = offset.get("leaderEpoch").is_some_and(|epoch| epoch != -1 && !epoch.is_null());
    let had_id = offset.get("topicId").is_some_and(|id| !id.is_null());
    if had_id {
        offset["topicId"] = Value::Null;
    }
    if had_epoch {
        offset["leaderEpoch"] = json!(-1);
    }
    let had = usize::from(had_id || had_epoch);
    let pending = offset.get_mut("pending").and_then(Value::as_array_mut);
    had + pending.into_iter().flatten().map(without_cluster).sum::<usize>()
}

/// Ids, and names that come from them, outside of offsets.
fn forget_ids_of_members(group: &mut Value) {
    let offsets = group["offsets"].take();
    forget_ids(group);
    group["offsets"] = offsets;
}

/// Wherever a topic stands: as `topic`, and in lists of subscribed ones.
fn rename_topic(value: &mut Value, topic: &str) {
    let new = json!(format!("a-new-name-of-{topic}"));
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                if name == "topic" && *value == json!(topic) {
                    *value = new.clone();
                } else if name == "subscribedTopics" || name == "topics" {
                    for it in value.as_array_mut().into_iter().flatten() {
                        if *it == json!(topic) {
                            *it = new.clone();
                        }
                        rename_topic(it, topic);
                    }
                } else {
                    rename_topic(value, topic);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|it| rename_topic(it, topic)),
        _ => {}
    }
}

/// Ids of topics, and names that come from them; and the order of lists that are sorted by name.
fn forget_ids(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("topicId").is_some_and(|id| !id.is_null()) && !map.contains_key("offset") {
                map.insert("topic".to_owned(), Value::Null);
            }
            map.remove("topicId");
            map.values_mut().for_each(forget_ids);
        }
        Value::Array(all) => {
            all.iter_mut().for_each(forget_ids);
            all.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}

/// A log of one partition: commits, a tombstone, a transaction that was committed, one that was not.
fn small_log(dir: &Path) -> PathBuf {
    let in_batch = |records: Vec<Rec>| Bat::of(records);
    let batches = vec![
        in_batch(vec![
            commit(0, "g", "orders", 0, 10),
            commit(1, "g", "orders", 1, 11),
            commit(2, "h", "orders", 0, 5),
        ]),
        in_batch(vec![commit(3, "g", "orders", 0, 20)]),
        in_batch(vec![commit(4, "g", "gone", 0, 7), forget(5, "g", "gone", 0)]),
        Bat::transactional(9, 0, vec![commit(6, "g", "paid", 0, 70)]),
        Bat::marker(Ending::Commit, 7, T0 + 7, 9, 0),
        Bat::transactional(8, 0, vec![commit(8, "g", "orders", 1, 99)]),
    ];
    write_log(dir, 12, &batches);
    dir.to_owned()
}

fn offsets_of(log_dir: &Path, group: &str) -> BTreeMap<String, Value> {
    let groups = describe(log_dir);
    let found = groups.iter().find(|it| it["group"] == json!(group)).unwrap();
    let key = |it: &Value| format!("{}/{}", it["topic"].as_str().unwrap(), it["partition"]);
    found["offsets"].as_array().unwrap().iter().map(|it| (key(it), it.clone())).collect()
}

#[test]
fn offsets_are_set() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(dir.path());
    let set = ["g/orders/0=42", "g/paid/0=71", "g/gone/0=1", "g/new/3=0", "h/orders/0=6"];
    let mut options: Vec<&str> = set.iter().flat_map(|set| ["--set-offset", *set]).collect();
    options.extend(["--now", "1700000005000"]);
    let new = rewrite(&options, &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    let offsets = offsets_of(&new.out, "g");
    let now: i64 = 1_700_000_005_000;
    for (key, offset, log_offset) in
        [("orders/0", 42, 3), ("paid/0", 71, 6), ("gone/0", 1, 9), ("new/3", 0, 10), ("orders/1", 11, 1)]
    {
        let it = &offsets[key];
        assert_eq!((&it["offset"], &it["logOffset"]), (&json!(offset), &json!(log_offset)), "{key}");
        if key != "orders/1" {
            assert_eq!((&it["commitTimestamp"], &it["leaderEpoch"]), (&json!(now), &json!(-1)), "{key}");
            assert_eq!(it["metadata"], json!(""));
        }
    }
    assert_eq!(offsets_of(&new.out, "h")["orders/0"]["offset"], json!(6));
    let listed: Vec<_> = new.edits.iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert_eq!(listed, ["replace", "replace", "replace", "append", "append"]);
    // The batch of which one record changed keeps the others' bytes, and the rest is copied.
    let summary = &new.of_kind("summary")[0];
    assert_eq!(summary["batches"], json!({"read": 6, "copied": 3, "moved": 0, "rebuilt": 3, "dropped": 0}));
    assert_eq!(&new.of_kind("partition")[0]["endOffset"], &json!(11));

    // A file, and the command line, which overrules it; a transaction that may overrule both.
    let file = dir.path().join("offsets.csv");
    std::fs::write(&file, "group,topic,partition,offset\n# what the team wants\n\"g\",orders,0,1\ng,orders,1,2\n\n")
        .unwrap();
    let new = rewrite(&["--offsets-from", file.to_str().unwrap(), "--set-offset", "g/orders/0=5"], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    assert!(new.said.contains("a transaction that has not ended holds a commit"), "{}", new.said);
    assert!(new.said.contains("--set-offset g/orders/0=5 overrules"), "{}", new.said);
    let offsets = offsets_of(&new.out, "g");
    assert_eq!((&offsets["orders/0"]["offset"], &offsets["orders/1"]["offset"]), (&json!(5), &json!(2)));

    std::fs::write(&file, "# none\n{\"group\":\"h\",\"topic\":\"t\",\"partition\":0,\"offset\":9}\n").unwrap();
    let new = rewrite(&["--offsets-from", file.to_str().unwrap()], &[&old]);
    assert_eq!(offsets_of(&new.out, "h")["t/0"]["offset"], json!(9));
}

/// A name may hold whatever a field in quotes may; what is wrong in a file is told with its line.
#[test]
fn lists_of_offsets() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("offsets.csv");
    let odd = "a,b \"c\"\nd";
    let old = write_log(dir.path(), 12, &[Bat::of(vec![commit(0, odd, "orders", 0, 10)])]);
    let rewrite_by = |text: &str| {
        std::fs::write(&file, text).unwrap();
        rewrite(&["--offsets-from", file.to_str().unwrap()], &[&old])
    };
    let new = rewrite_by("\"a,b \"\"c\"\"\nd\",orders,0,3\r\n");
    assert_eq!(new.code, 0, "{}", new.said);
    assert_eq!(offsets_of(&new.out, odd)["orders/0"]["offset"], json!(3));
    for (text, why) in [
        ("g,orders,0,1\ng,orders,x,1\n", "line 2: 'x' is no partition"),
        ("g,orders,0,1\r\n\r\n# more\r\norders,0,1\r\n", "line 4: 3 fields"),
        ("{\"group\":\"g\"}\n", "line 1: no number 'partition'"),
        ("g,orders,0,1\n\"g,orders,0,1\n", "line 2: 1 field "),
    ] {
        let new = rewrite_by(text);
        assert_eq!(new.code, 1, "{text}");
        assert!(new.said.contains(why), "{text}: {}", new.said);
    }
    let new = rewrite_by("# nothing\n");
    assert_eq!(new.code, 3, "{}", new.said);
    assert!(new.said.contains("it lists no offset"), "{}", new.said);
}

#[test]
fn offsets_are_set_by_the_new_names_behind_the_drops() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(dir.path());
    let options = [
        "--rename-group",
        "g=k",
        "--rename-topic",
        "orders=bills",
        "--drop-topic",
        "paid",
        "--set-offset",
        "k/bills/0=1",
        "--set-offset",
        "k/paid/0=2",
    ];
    let new = rewrite(&options, &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    let offsets = offsets_of(&new.out, "k");
    assert_eq!(offsets.keys().collect::<Vec<_>>(), ["bills/0", "bills/1", "paid/0"]);
    assert_eq!((&offsets["bills/0"]["offset"], &offsets["bills/0"]["logOffset"]), (&json!(1), &json!(3)));
    // What was dropped is written anew.
    assert_eq!((&offsets["paid/0"]["offset"], &offsets["paid/0"]["logOffset"]), (&json!(2), &json!(9)));
    assert!(new.said.contains("hashes to partition"), "{}", new.said);
    // A group of which nothing is there goes to its partition, if that was given.
    let nobody = rewrite(&["--set-offset", "my-group/t/0=1"], &[&old]);
    assert_eq!(nobody.code, 3, "{}", nobody.said);
    assert_eq!(offsets_of(&nobody.out, "my-group")["t/0"]["offset"], json!(1));
    let nobody = rewrite(&["--set-offset", "somebody/t/0=1"], &[&old]);
    assert_eq!(nobody.code, 2, "{}", nobody.said);
    assert!(!nobody.out.exists());
}

/// One folder of a log dir is given: how many partitions there are is seen beside it.
#[test]
fn a_new_group_goes_to_the_partition_that_the_log_dir_has_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let folders: Vec<_> =
        (0..4).map(|n| write_log(dir.path(), n, &[Bat::of(vec![commit(0, &format!("g{n}"), "t", 0, 1)])])).collect();
    let home = partition_of(b"somebody", 4) as usize;
    let new = rewrite(&["--set-offset", "somebody/t/0=1"], &[&folders[home]]);
    assert_eq!(new.code, 3, "{}", new.said);
    assert_eq!(offsets_of(&new.out, "somebody")["t/0"]["offset"], json!(1));
    let elsewhere = rewrite(&["--set-offset", "somebody/t/0=1"], &[&folders[(home + 1) % 4]]);
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.said);
    assert!(elsewhere.said.contains("(of 4)"), "{}", elsewhere.said);
}

#[test]
fn magic_1_gets_messages_of_magic_1() {
    let dir = tempfile::tempdir().unwrap();
    let batch = Bat { magic: 1, ..Bat::of(vec![commit(0, "g", "t", 0, 1)]) };
    write_log(dir.path(), 12, &[batch]);
    let new = rewrite(&["--set-offset", "g/new/0=7"], &[dir.path()]);
    assert_eq!(new.code, 0, "{}", new.said);
    assert!(read_partition(&new.partition(12)).iter().all(|batch| batch.magic == 1));
    assert_eq!(offsets_of(&new.out, "g")["new/0"]["offset"], json!(7));
}

#[test]
fn what_has_expired_goes() {
    let mut gone = 0;
    for (name, old) in log_dirs() {
        // A moment at which about half has expired under a retention of nothing much.
        let before = describe(&old);
        let mut times: Vec<i64> = before
            .iter()
            .flat_map(|group| group["offsets"].as_array().unwrap())
            .filter_map(|offset| offset["commitTimestamp"].as_i64())
            .collect();
        times.sort_unstable();
        let Some(middle) = times.get(times.len() / 2) else { continue };
        let now = (middle + 1_000).to_string();
        let options = ["--drop-expired", "--retention", "1s", "--now", &now];
        let new = rewrite(&options, &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        let left = describe_with(&new.out, &["--retention", "1s", "--now", &now]);
        let all = describe_with(&old, &["--retention", "1s", "--now", &now]);
        let key =
            |group: &Value, offset: &Value| format!("{} {} {}", group["group"], offset["topic"], offset["partition"]);
        let stays = |groups: &[Value]| -> BTreeSet<String> {
            let offsets = groups.iter().flat_map(|group| {
                let live = group["offsets"].as_array().unwrap().iter().filter(|offset| {
                    let at = offset["expiresAt"].as_i64();
                    at.is_none_or(|at| at > now.parse().unwrap())
                });
                live.map(move |offset| key(group, offset))
            });
            offsets.collect()
        };
        let everything = |groups: &[Value]| -> BTreeSet<String> {
            groups.iter().flat_map(|g| g["offsets"].as_array().unwrap().iter().map(move |o| key(g, o))).collect()
        };
        assert_eq!(everything(&left), stays(&all), "{name}");
        gone += everything(&all).len() - everything(&left).len();
    }
    assert!(gone > 100, "{gone}");
}

#[test]
fn types_and_topics_go() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(dir.path());
    let new = rewrite(&["--drop-topic", "orders"], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    assert_eq!(offsets_of(&new.out, "g").keys().collect::<Vec<_>>(), ["paid/0"]);
    let new = rewrite(&["--drop-type", "offsetcommit"], &[&old]);
    assert!(describe(&new.out).is_empty());
    assert_eq!(&new.of_kind("partition")[0]["endOffset"], &json!(9));
    let no = rewrite(&["--drop-type", "control"], &[&old]);
    assert_eq!(no.code, 2, "{}", no.said);
}

#[test]
fn markers_follow_their_data() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..6).map(|i| format!("group-{i}")).collect();
    let mut batches = Vec::new();
    let mut at = 0;
    for round in 0..4i64 {
        let records: Vec<_> = names
            .iter()
            .map(|name| {
                at += 1;
                commit(at - 1, name, "t", 0, 100 * round)
            })
            .collect();
        batches.push(Bat::transactional(7, 0, records));
        let ending = if round % 2 == 0 { Ending::Commit } else { Ending::Abort };
        batches.push(Bat::marker(ending, at, T0 + at, 7, 0));
        at += 1;
    }
    // Open for ever.
    batches.push(Bat::transactional(
        3,
        0,
        vec![commit(at, &names[0], "t", 0, 5), commit(at + 1, &names[1], "t", 0, 5)],
    ));
    write_log(dir.path(), 3, &batches);
    let before: BTreeMap<_, _> = digests(dir.path()).into_values().flat_map(|it| it.groups).collect();
    let new = rewrite(&["--partitions", "4"], &[dir.path()]);
    assert_eq!(new.code, 0, "{}", new.said);
    let after: BTreeMap<_, _> = digests(&new.out).into_values().flat_map(|it| it.groups).collect();
    assert_eq!(after, before);
    for name in &names {
        assert_eq!(offsets_of(&new.out, name)["t/0"]["offset"], json!(200));
    }
    for (number, folder) in partitions_in(&new.out) {
        let batches = read_partition(&folder);
        let groups = names.iter().filter(|name| partition_of(name.as_bytes(), 4) == number).count();
        let markers = batches.iter().filter(|batch| batch.control).count();
        assert_eq!(markers, if groups > 0 { 4 } else { 0 }, "{number}");
        let offsets: Vec<_> = batches.iter().flat_map(|batch| &batch.records).map(|record| record.offset).collect();
        assert!(offsets.iter().copied().eq(0..offsets.len() as i64), "{offsets:?}");
    }
}

#[test]
fn transactions_of_two_logs_that_overlap_are_refused() {
    let log = |dir: &Path, number: i32, ending: Ending, start: i64| {
        let batches = [
            Bat::transactional(7, 0, vec![commit(start, "g", "t", number, 1)]),
            Bat::marker(ending, start + 10, T0 + start + 10, 7, 0),
        ];
        write_log(dir, number, &batches);
    };
    // Where it is not refused, it is told that the group stood in two partitions.
    for (second, code) in [(Ending::Commit, 3), (Ending::Abort, 1)] {
        let dir = tempfile::tempdir().unwrap();
        log(dir.path(), 0, Ending::Commit, 0);
        log(dir.path(), 1, second, 5);
        let new = rewrite(&["--partitions", "1"], &[dir.path()]);
        assert_eq!(new.code, code, "{}", new.said);
        assert_eq!(new.out.exists(), code == 3);
    }
}

#[test]
fn a_group_that_stands_in_two_partitions_is_merged_by_time() {
    let dir = tempfile::tempdir().unwrap();
    // After the count of partitions was raised, the group went on elsewhere.
    write_log(dir.path(), 12, &[Bat::of(vec![commit(0, "my-group", "t", 0, 10), commit(1, "my-group", "t", 1, 11)])]);
    write_log(dir.path(), 42, &[Bat::of(vec![commit(100, "my-group", "t", 0, 20)])]);
    let new = rewrite(&["--partitions", "60"], &[dir.path()]);
    // One copy of a key overrules another: that is told.
    assert_eq!(new.code, 3, "{}", new.said);
    assert_eq!(partitions_in(&new.out).len(), 60);
    let offsets = offsets_of(&new.out, "my-group");
    assert_eq!((&offsets["t/0"]["offset"], &offsets["t/1"]["offset"]), (&json!(20), &json!(11)));
    assert_eq!(partition_of(b"my-group", 60), 42);
    assert_eq!(read_partition(&new.partition(42)).len(), 2);
    assert!(read_partition(&new.partition(12)).is_empty());
}

#[test]
fn bad_input() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(&dir.path().join("log"));
    let segment = old.join("__consumer_offsets-12").join(segment_name(0));
    // Names that are taken.
    let taken = rewrite(&["--rename-group", "g=h"], &[&old]);
    assert_eq!(taken.code, 1);
    assert!(taken.said.contains("'h' is in the log already"), "{}", taken.said);
    assert!(!taken.out.exists() && taken.beside().is_empty(), "{:?}", taken.beside());
    assert_eq!(rewrite(&["--rename-group", "g=h", "--drop-group", "h"], &[&old]).code, 0);
    assert_eq!(rewrite(&["--rename-group", "g=h", "--rename-group", "h=g"], &[&old]).code, 0);
    for bad in [
        &["--rename-group", "g"][..],
        &["--rename-group", "g=a", "--rename-group", "h=a"],
        &["--set-offset", "g/0=1"],
        &["--set-offset", "g/t/0=-1"],
        &["--rename-topic", "orders="],
        &["--rename-topic", "orders=.."],
        &["--rename-topic", "orders=x/y"],
        &["--topic-id", "short"],
        &["--topic-id", "AAAAAAAAAAAAAAAAAAAAAA"],
        &["--target", "1.0"],
        &["--partitions", "0"],
        &["--codec", "brotli"],
        &["--retention", "1d"],
        &["--seed", "x"],
        &["--target", "4.4", "--drop-unloadable", "4.4"],
    ] {
        let new = rewrite(bad, &[&old]);
        assert_eq!(new.code, 2, "{bad:?}: {}", new.said);
        assert!(!new.out.exists());
    }
    // Two copies of one partition: merged, what one has deleted would come back.
    let copy = small_log(&dir.path().join("copy"));
    let unsure = rewrite(&["--partitions", "4"], &[&old, &copy]);
    assert_eq!(unsure.code, 0);
    assert!(unsure.said.contains("if they are copies"), "{}", unsure.said);
    let name = |log: &Path, id: &str| {
        let (_, folder) = &partitions_in(log)[0];
        std::fs::write(folder.join("partition.metadata"), format!("version: 0\ntopic_id: {id}")).unwrap();
    };
    name(&old, "00YQRhQSSde_UAyBnyxN9g");
    name(&copy, "00YQRhQSSde_UAyBnyxN9g");
    let twice = rewrite(&["--partitions", "4"], &[&old, &copy]);
    assert_eq!(twice.code, 2);
    assert!(twice.said.contains("was given before") && !twice.out.exists(), "{}", twice.said);
    name(&copy, "AAECAwQFBgcICQoLDA0ODw");
    let others = rewrite(&["--partitions", "4", "--topic-id", "AAECAwQFBgcICQoLDA0ODw"], &[&old, &copy]);
    assert_eq!(others.code, 0);
    assert!(!others.said.contains("was given before"), "{}", others.said);
    let missing = rewrite(&["--offsets-from", "/nowhere"], &[&old]);
    assert_eq!(missing.code, 1);
    // Nothing is written over.
    let existing = dir.path().join("there");
    std::fs::create_dir(&existing).unwrap();
    let output = grouplog(Path::new("."), ["rewrite", "--out", existing.to_str().unwrap(), old.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(names_in(&existing).is_empty());
    let log = dir.path().join("list");
    std::fs::write(&log, "mine").unwrap();
    let new = rewrite(&["--log", log.to_str().unwrap()], &[&old]);
    assert_eq!(new.code, 1);
    assert!(!new.out.exists());
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "mine");
    // A dry run writes nothing.
    let output = grouplog(Path::new("."), ["rewrite", "--dry-run", "--drop-group", "g", old.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("drop-group: 7"), "{output:?}");
    // Damage.
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[80] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let refused = rewrite(&["--drop-group", "h"], &[&old]);
    assert_eq!(refused.code, 1);
    assert!(refused.said.contains("grouplog salvage") && refused.said.contains("byte 0"), "{}", refused.said);
    assert!(!refused.out.exists() && refused.beside().is_empty());
    let skipped = rewrite(&["--drop-group", "h", "--skip-damage"], &[&old]);
    assert_eq!(skipped.code, 3, "{}", skipped.said);
    assert_eq!(skipped.of_kind("damage").len(), 1);
    assert_eq!(offsets_of(&skipped.out, "g").len(), 3);
    // The old file is as it was.
    assert!(std::fs::read(&segment).unwrap() == bytes);
}

#[test]
fn a_torn_end_is_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(dir.path());
    let segment = old.join("__consumer_offsets-12").join(segment_name(0));
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes.truncate(bytes.len() - 3);
    bytes.extend_from_slice(&[0; 40]);
    std::fs::write(&segment, &bytes[..bytes.len() - 40]).unwrap();
    let new = rewrite(&[], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    assert_eq!(new.of_kind("partition")[0]["endOffset"], json!(8));
}

#[test]
fn what_lies_before_the_log_start_goes() {
    let dir = tempfile::tempdir().unwrap();
    let old = small_log(dir.path());
    std::fs::write(old.join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 12 2\n").unwrap();
    let new = rewrite(&[], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    assert_eq!(new.of_kind("summary")[0]["edits"], json!({"before-log-start": 2}));
    assert_eq!(digests(&new.out), digests(&old));
    let all = rewrite(&["--ignore-log-start"], &[&old]);
    assert_eq!(all.of_kind("summary")[0]["records"]["dropped"], json!(0));
}

/// Also where the first batch that stays begins below it: no segment may begin at an offset that an earlier one holds.
#[test]
fn segments_do_not_overlap_at_the_log_start() {
    for start in 1..9 {
        let dir = tempfile::tempdir().unwrap();
        let old = small_log(dir.path());
        let text = format!("0\n1\n__consumer_offsets 12 {start}\n");
        std::fs::write(old.join("log-start-offset-checkpoint"), text).unwrap();
        for options in [&[][..], &["--codec", "zstd"], &["--drop-topic", "gone"]] {
            let new = rewrite(options, &[&old]);
            // The topic's records lie below the log start then: the option met nothing.
            let code = if options.contains(&"gone") && start > 5 { 3 } else { 0 };
            assert_eq!(new.code, code, "{start}: {}", new.said);
            let verified = grouplog(dir.path(), ["verify", "--min-severity", "warning", new.out.to_str().unwrap()]);
            let said = String::from_utf8_lossy(&verified.stdout);
            assert_eq!(verified.status.code(), Some(0), "{start} {options:?}: {said}");
        }
    }
}

#[test]
fn the_list_and_the_counts_agree() {
    for (name, old) in log_dirs() {
        let new = rewrite(&["--target", "2.8", "--codec", "gzip", "--upgrade"], &[&old]);
        assert_eq!(new.code, 0, "{name}: {}", new.said);
        let mut codes: BTreeMap<String, u64> = BTreeMap::new();
        for note in new.edits.iter().flat_map(|it| it["edits"].as_array().unwrap()) {
            *codes.entry(note["code"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let mut told: BTreeMap<String, u64> = BTreeMap::new();
        for summary in new.of_kind("summary") {
            for (code, count) in summary["edits"].as_object().unwrap() {
                *told.entry(code.clone()).or_default() += count.as_u64().unwrap();
            }
        }
        assert_eq!(codes, told, "{name}");
        for partition in new.of_kind("partition") {
            assert_eq!(partition["loads"]["loads"], json!(true), "{name}: {partition}");
            assert_eq!(partition["loads"]["broker"], json!("2.8"));
        }
        // Offsets outlive any target: only their topic ids are lost.
        let offsets = |log_dir: &Path| -> BTreeSet<String> {
            let describe = describe(log_dir);
            let all = describe.iter().flat_map(|group| {
                let offsets = group["offsets"].as_array().unwrap();
                offsets
                    .iter()
                    .map(move |it| format!("{} {} {} {}", group["group"], it["topic"], it["partition"], it["offset"]))
            });
            all.collect()
        };
        assert_eq!(offsets(&new.out), offsets(&old), "{name}");
    }
}
