//! `rewrite --target` on the logs of early-access releases, which newer brokers refuse to load; and `--redact` on all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/rewritten.rs"]
mod rewritten;

use build::*;
use common::{exhibits, grouplog};
use rewritten::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn what_early_access_releases_wrote_loads_again() {
    let mut seen = 0;
    for exhibit in exhibits() {
        let unloadable =
            ["museum/4.0.0", "museum/early-4.0-then-newer", "museum/preview-3.7-then-newer", "museum/3.7.2"];
        if !unloadable.contains(&exhibit.name.as_str()) {
            continue;
        }
        seen += 1;
        let old = exhibit.dir.join("log");
        let plain = rewrite(&[], &[&old]);
        let refused = |lines: Vec<&Value>| lines.iter().filter(|it| it["loads"]["loads"] == json!(false)).count();
        assert!(refused(plain.of_kind("partition")) > 0, "{}: {}", exhibit.name, plain.said);
        let new = rewrite(&["--target", "4.4"], &[&old]);
        assert_eq!(new.code, 0, "{}: {}", exhibit.name, new.said);
        assert_eq!(refused(new.of_kind("partition")), 0, "{}: {:#?}", exhibit.name, new.lines);
        // Nothing goes; what changes is what was written in an early shape.
        for edit in &new.edits {
            assert_eq!(edit["action"], json!("replace"), "{}: {edit}", exhibit.name);
            let codes: BTreeSet<_> =
                edit["edits"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
            assert_eq!(codes, BTreeSet::from(["early-access-shape"]), "{}: {edit}", exhibit.name);
        }
        // Everything else is intact, to the byte of each record.
        let changed: BTreeSet<(i64, i64)> = new
            .edits
            .iter()
            .map(|it| (it["from"]["partition"].as_i64().unwrap(), it["from"]["offset"].as_i64().unwrap()))
            .collect();
        for (number, folder) in partitions_in(&old) {
            let (old, now) = (read_partition(&folder), read_partition(&new.partition(number)));
            assert_eq!(old.len(), now.len());
            for (a, b) in old.iter().zip(&now) {
                let keep = |batch: &Bat| Bat {
                    records: (batch.records.iter())
                        .filter(|it| !changed.contains(&(i64::from(number), it.offset)))
                        .cloned()
                        .collect(),
                    ..batch.clone()
                };
                assert_eq!(keep(a), keep(b), "{} {number}", exhibit.name);
            }
        }
        // A group that no early shape concerns means the same.
        let (before, after) = (digests(&old), digests(&new.out));
        let concerned: BTreeSet<String> =
            new.edits.iter().map(|it| it["key"]["data"]["groupId"].as_str().unwrap().to_owned()).collect();
        for (number, before) in before {
            assert_eq!(before.groups.keys().collect::<Vec<_>>(), after[&number].groups.keys().collect::<Vec<_>>());
            for (group, digest) in before.groups {
                if !concerned.contains(&String::from_utf8(group.clone()).unwrap()) {
                    assert_eq!(after[&number].groups[&group], digest, "{}: {group:?}", exhibit.name);
                }
            }
        }
    }
    assert!(seen >= 1, "{seen}");
}

#[test]
fn unloadable_records_go_where_that_is_asked_for() {
    for exhibit in
        exhibits().into_iter().filter(|it| it.name == "museum/4.0.0" || it.name == "museum/early-4.0-then-newer")
    {
        let old = exhibit.dir.join("log");
        let new = rewrite(&["--drop-unloadable", "4.4"], &[&old]);
        assert_eq!(new.code, 0, "{}: {}", exhibit.name, new.said);
        assert!(new.of_kind("partition").iter().all(|it| it["loads"]["loads"] == json!(true)));
        assert!(new.edits.iter().all(|it| it["action"] == json!("drop")));
        assert!(new.edits.iter().any(|it| it["key"]["type"] == json!(11)));
        let dropped: u64 = new.of_kind("summary").iter().map(|it| it["records"]["dropped"].as_u64().unwrap()).sum();
        assert_eq!(dropped, new.edits.len() as u64, "edits of rounds that were given up are not listed");
        // A dry run asks the coordinator too.
        let dry = ["rewrite", "--dry-run", "--format", "jsonl", "--drop-unloadable", "4.4", old.to_str().unwrap()];
        let output = grouplog(std::path::Path::new("."), dry);
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let summaries: Vec<_> = lines.iter().filter(|line| line["kind"] == "summary").collect();
        assert_eq!(summaries, new.of_kind("summary"), "{}", exhibit.name);
    }
}

/// Every name that a user gave: groups, topics, members, clients, hosts, metadata.
fn names_of(groups: &[Value]) -> BTreeSet<String> {
    fn collect(value: &Value, field: &str, names: &mut BTreeSet<String>) {
        let told =
            ["group", "topic", "memberId", "leader", "instanceId", "clientId", "clientHost", "metadata", "processId"];
        match value {
            Value::String(text) if told.contains(&field) => drop(names.insert(text.clone())),
            Value::Array(all) => all.iter().for_each(|it| collect(it, field, names)),
            Value::Object(map) => map.iter().for_each(|(name, it)| collect(it, name, names)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    groups.iter().for_each(|group| collect(group, "", &mut names));
    names
}

/// An id whose bytes are all the same as the one before it, which is a length.
#[test]
fn an_id_is_replaced_where_it_stands() {
    let old = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/verdicts-own/log/__consumer_offsets-98");
    let new = rewrite(&["--redact", "--seed", "a"], &[&old]);
    assert_eq!(new.code, 0, "{}", new.said);
    let before = describe(&old);
    let after = describe(&new.out);
    let ids = |groups: &[Value]| groups.iter().map(|group| group.to_string().matches("topicId").count()).sum::<usize>();
    assert!(ids(&before) > 0 && ids(&before) == ids(&after), "{after:?}");
    for (old, new) in read_partition(&old).iter().zip(&read_partition(&new.partition(98))) {
        let lengths = |batch: &Bat| batch.records.iter().map(|it| it.value.as_ref().map(Vec::len)).collect::<Vec<_>>();
        assert_eq!(lengths(old), lengths(new));
    }
    assert!(after.iter().all(|group| group["uncertain"].is_null()), "{after:?}");
}

#[test]
fn no_name_is_left() {
    let mut looked_for = 0;
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let old = exhibit.dir.join(log_dir);
            if partitions_in(&old).is_empty() {
                continue;
            }
            let new = rewrite(&["--redact", "--seed", "s"], &[&old]);
            assert_eq!(new.code, 0, "{}: {}", exhibit.name, new.said);
            let again = rewrite(&["--redact", "--seed", "s"], &[&old]);
            // Longer ones only: a short one can stand anywhere.
            let names: Vec<_> = names_of(&describe(&old))
                .into_iter()
                .filter(|name| name.len() >= 6 && name.bytes().any(|byte| byte.is_ascii_alphabetic()))
                .collect();
            looked_for += names.len();
            for (number, folder) in partitions_in(&old) {
                let inflated = |folder: &std::path::Path| -> Vec<Bat> { read_partition(folder) };
                let (before, after) = (inflated(&folder), inflated(&new.partition(number)));
                assert_eq!(after, inflated(&again.partition(number)), "{}: the seed says it all", exhibit.name);
                assert_eq!(before.len(), after.len(), "{} {number}", exhibit.name);
                for (old, new) in before.iter().zip(&after) {
                    let shape = |batch: &Bat| -> Vec<_> {
                        let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
                        batch.records.iter().map(|it| (it.offset, it.timestamp, len(&it.key), len(&it.value))).collect()
                    };
                    assert_eq!(shape(old), shape(new), "{} {number}", exhibit.name);
                    assert_eq!(Bat { records: Vec::new(), ..old.clone() }, Bat { records: Vec::new(), ..new.clone() });
                    for bytes in new.records.iter().flat_map(|it| [&it.key, &it.value]).flatten() {
                        for name in &names {
                            let found = memchr::memmem::find(bytes, name.as_bytes());
                            assert_eq!(found, None, "{} {number}: {name}", exhibit.name);
                        }
                    }
                }
            }
            // As many groups, offsets and members, which say the same numbers.
            let shape = |groups: Vec<Value>| -> BTreeMap<String, usize> {
                let mut all = BTreeMap::new();
                for group in groups {
                    let offsets: Vec<_> =
                        group["offsets"].as_array().unwrap().iter().map(|it| it["offset"].clone()).collect();
                    let mut offsets: Vec<String> = offsets.iter().map(Value::to_string).collect();
                    offsets.sort();
                    let members = group["members"].as_array().map_or(0, Vec::len);
                    let line = format!("{} {} {members} {offsets:?}", group["type"], group["state"]);
                    *all.entry(line).or_default() += 1;
                }
                all
            };
            assert_eq!(shape(describe(&new.out)), shape(describe(&old)), "{}", exhibit.name);
            let verdicts = |lines: Vec<&Value>| -> Vec<(Value, Value)> {
                lines.iter().map(|it| (it["partition"].clone(), it["loads"]["refused"].clone())).collect()
            };
            let plain = rewrite(&[], &[&old]);
            assert_eq!(verdicts(new.of_kind("partition")), verdicts(plain.of_kind("partition")), "{}", exhibit.name);
        }
    }
    // The fixtures alone have some 380 names.
    assert!(looked_for > 300, "{looked_for}");
}
