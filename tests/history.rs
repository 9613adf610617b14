//! `history`: the stories of recorded groups, to the letter for two of them, and of crafted logs for what no recorded
//! one shows.

#![allow(clippy::unwrap_used)]

mod common;

use common::batches::{Batch, Craft};
use common::grouplog;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const T: i64 = 1_700_000_000_000;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs it, and gives what it prints and how it ends.
fn run(args: &[&str]) -> (String, i32) {
    let output = grouplog(root(), args);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

fn table(args: &[&str]) -> String {
    let (text, status) = run(args);
    assert_eq!(status, 0, "{args:?}");
    text
}

fn events(args: &[&str]) -> Vec<Json> {
    let (text, _) = run(&[&["history", "--format", "jsonl"], args].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'e>(events: &'e [Json], kind: &str) -> Vec<&'e Json> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// The tables of docs/history-example.md are those that the program prints now.
#[test]
fn the_two_stories_of_the_example() {
    let document = std::fs::read_to_string(root().join("docs/history-example.md")).unwrap();
    let mut shown = document.split("```\n").skip(1).step_by(2);
    for group in ["g-classic", "g-consumer"] {
        let text = table(&["history", group, "--", "fixtures/example3/log"]);
        let block = shown.next().unwrap();
        let (command, block) = block.split_once('\n').unwrap();
        assert_eq!(command, format!("$ grouplog history {group} -- fixtures/example3/log"));
        assert_eq!(block, text, "docs/history-example.md is stale: {group}");
    }
}

#[test]
fn a_narrow_terminal() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_grouplog"))
        .current_dir(root())
        .env("COLUMNS", "60")
        .args(["history", "g-consumer", "--", "fixtures/example3/log"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    let expected = "
21:44:46.403  30      A is giving up orders:3-5, keeps
                        orders:0-2 (UNREVOKED_PARTITIONS
                        at epoch 2)
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn facts_of_the_example() {
    let events = events(&["g-consumer", "--", "fixtures/example3/log"]);
    let epochs: Vec<_> = of(&events, "epoch").iter().map(|it| it["after"]["groupEpoch"].as_i64().unwrap()).collect();
    assert_eq!(epochs, [2, 3, 4, 5]);
    let joined = &of(&events, "epoch")[1]["members"];
    assert_eq!(joined.as_array().unwrap().len(), 2);
    let b = joined.as_array().unwrap().iter().find(|it| it["change"] == "joined").unwrap();
    assert_eq!(b["memberId"], "TRIDt8jdRleqfOXcU3AtXg");
    assert_eq!(b["state"], "UNRELEASED_PARTITIONS");
    assert_eq!(b["targetGained"], serde_json::json!([{ "topic": "orders", "partitions": [3, 4, 5] }]));
    // Every commit is counted once.
    let commits: i64 = of(&events, "commits").iter().map(|it| it["commits"].as_i64().unwrap()).sum();
    let dumped = grouplog(root(), ["dump", "--group", "g-consumer", "--type", "1", "fixtures/example3/log"]);
    assert_eq!(commits, String::from_utf8(dumped.stdout).unwrap().lines().count() as i64);
}

/// Whatever is recorded, every record of a group stands in one event, and the events are in order.
#[test]
fn every_record_is_told() {
    for exhibit in ["example3", "migrate", "consumer", "share", "streams", "classic"] {
        let log = format!("fixtures/{exhibit}/log");
        let events = events(&["--all", "-v", &log]);
        let dumped = grouplog(root(), ["dump", &log]);
        let mut last = ("".to_owned(), -1);
        for event in &events {
            let here = (format!("{}/{}", event["partition"], event["group"]), event["offset"].as_i64().unwrap());
            assert!(here.0 != last.0 || here.1 >= last.1, "{exhibit}: {event}");
            last = here;
        }
        let mut told = 0;
        for line in String::from_utf8(dumped.stdout).unwrap().lines() {
            let record: Json = serde_json::from_str(line).unwrap();
            let data = &record["key"]["data"];
            let group = data.get("group").or_else(|| data.get("groupId"));
            let (Some(group), None) = (group, record.get("producerId")) else { continue };
            let offset = record["offset"].as_i64().unwrap();
            let holds = |event: &&Json| {
                event["partition"] == record["partition"]
                    && event["group"] == *group
                    && event["event"] != "gap"
                    && (event["offset"].as_i64().unwrap()..=event["lastOffset"].as_i64().unwrap()).contains(&offset)
            };
            assert_eq!(events.iter().filter(holds).count(), 1, "{exhibit}: {line}");
            told += 1;
        }
        assert!(told > 50, "{exhibit}: {told}");
    }
}

#[test]
fn a_group_that_changed_its_protocol_and_came_back() {
    let text = table(&["history", "m-there-and-back", "--", "fixtures/migrate/log"]);
    assert!(
        text.contains("CONVERTED from the classic to the consumer protocol: generation 2 becomes epoch 2"),
        "{text}"
    );
    assert!(text.contains("CONVERTED from the consumer to the classic protocol"), "{text}");
    let events = events(&["m-there-and-back", "--", "fixtures/migrate/log"]);
    let converted = of(&events, "group-converted");
    let types = |it: &Json| (it["before"]["type"].clone(), it["after"]["type"].clone());
    assert_eq!(types(converted[0]), ("classic".into(), "consumer".into()));
    assert_eq!(types(converted[1]), ("consumer".into(), "classic".into()));
    // Its members neither came nor went when it was converted.
    assert!(converted[0]["members"].as_array().unwrap().iter().all(|it| it["change"] == "stayed"));
}

#[test]
fn static_members_regular_expressions_and_deletions() {
    let consumer = events(&["--all", "fixtures/consumer/log"]);
    let changes = |group: &str, change: &str| {
        let of_group = consumer.iter().filter(|it| it["group"] == group);
        let members = of_group.filter_map(|it| it["members"].as_array()).flatten();
        members.filter(|it| it["change"] == change).cloned().collect::<Vec<_>>()
    };
    let away = changes("c-static", "left-for-now");
    assert_eq!((away.len(), &away[0]["instanceId"], &away[0]["memberEpoch"]), (1, &"st-0".into(), &(-2).into()));
    let regexes: Vec<_> = consumer.iter().filter_map(|it| it["regularExpressions"].as_array()).flatten().collect();
    let forgotten: Vec<_> = regexes.iter().filter(|it| it["topics"].is_null()).collect();
    assert_eq!(forgotten.len(), 1);
    assert_eq!(forgotten[0]["expression"], "pay.*|größe");
    assert!(regexes.iter().any(|it| it["topics"] == serde_json::json!(["metrics-eu", "metrics-us"])));
    let deleted: Vec<_> = of(&consumer, "group-deleted");
    assert_eq!((deleted.len(), &deleted[0]["group"]), (1, &"c-deleted".into()));
    let removed = of(&consumer, "offsets-removed");
    assert_eq!((removed.len(), &removed[0]["reason"]), (1, &"group-deleted".into()));
    assert_eq!(removed[0]["partitions"].as_array().unwrap().len(), 6);
}

#[test]
fn transactions() {
    let tx = events(&["--all", "fixtures/tx/log"]);
    let kinds = |group: &str, kind: &str| of(&tx, kind).iter().filter(|it| it["group"] == group).count();
    assert_eq!(kinds("t-fenced", "transaction-aborted"), 1);
    assert_eq!(kinds("t-one", "transaction-aborted"), 3);
    assert_eq!(kinds("t-open", "transaction-open"), 1);
    assert_eq!(kinds("t-open-only", "transaction-open"), 1);
    let open = of(&tx, "transaction-open");
    assert_eq!((&open[0]["producerId"], &open[0]["partitions"][0]["offset"]), (&11.into(), &99.into()));
    // A plain commit came between the transactional one and its marker.
    let mix = tx.iter().find(|it| it["group"] == "t-mix" && it["event"] == "commit").unwrap();
    assert_eq!(mix["partitions"][0]["flag"], "superseded");
    // The tombstone took the commit of an open transaction with it.
    let removed = of(&tx, "offsets-removed");
    assert_eq!(
        (&removed[0]["group"], &removed[0]["partitions"][0]["pendingRemoved"]),
        (&"t-deleted".into(), &1.into())
    );
}

#[test]
fn share_and_streams_groups() {
    let share = events(&["sh-deleted", "--", "fixtures/share/log"]);
    let kinds: Vec<_> = share.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["epoch", "members", "epoch", "members", "epoch", "members", "group-deleted"]);
    assert_eq!(share[0]["sharePartitions"][0]["state"], "initializing");
    let streams = events(&["st-live", "--", "fixtures/streams/log"]);
    let third = of(&streams, "epoch")[3];
    let c = third["members"].as_array().unwrap().iter().find(|it| it["change"] == "joined").unwrap();
    assert_eq!(c["state"], "UNRELEASED_TASKS");
    assert_eq!(
        c["gained"][0],
        serde_json::json!({ "role": "standby", "subtopologyId": "1", "partitions": [0, 1, 2, 3] })
    );
}

#[test]
fn a_cleaned_log_says_what_is_missing() {
    let events = events(&["k-2", "--", "fixtures/cleaned/short-after/log"]);
    assert_eq!(of(&events, "gap").len(), 1);
    let gap = &events[0];
    assert_eq!(gap["event"], "gap");
    // By what the dump shows: the first record, and the last offset in front of which one is missing.
    let dumped = grouplog(root(), ["dump", "--partition", "0", "fixtures/cleaned/short-after/log"]);
    let offsets: Vec<i64> = String::from_utf8(dumped.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["offset"].as_i64().unwrap())
        .collect();
    let before = offsets.windows(2).filter(|pair| pair[1] > pair[0] + 1).map(|pair| pair[1]).max().unwrap();
    let span = offsets.last().unwrap() - offsets[0] + 1;
    assert_eq!(gap["begins"], offsets[0]);
    assert_eq!(gap["completeFrom"], before);
    assert_eq!(gap["missing"], span - offsets.len() as i64);
}

#[test]
fn ranges_and_filters() {
    let log = "fixtures/example3/log";
    let whole = events(&["g-consumer", "--", log]);
    let cut = events(&["g-consumer", "--at-offset", "53", "--", log]);
    assert_eq!(cut.len(), 12);
    let left = cut.last().unwrap();
    assert_eq!((&left["offset"], &left["lastOffset"]), (&51.into(), &53.into()));
    // A range begins with what was known before.
    let range = events(&["g-consumer", "--offset", "30..52", "--", log]);
    assert_eq!(range[0], whole.iter().find(|it| it["offset"] == 30).cloned().unwrap());
    assert_eq!(range.last().unwrap()["lastOffset"], 53 - 2);
    let time = events(&["g-consumer", "--time", "2026-11-29T21:44:50Z..", "--", log]);
    assert_eq!(time.len(), 1);
    assert_eq!(time[0]["members"][0]["change"], "left");
    let member = events(&["g-consumer", "--member", "TRIDt8jdRleqfOXcU3AtXg", "--", log]);
    assert_eq!(member.len(), 4);
    assert!(events(&["g-consumer", "--topic", "nothing", "--", log]).iter().all(|it| it["event"] != "commits"));
    assert_eq!(run(&["history", "nobody", "--", log]).1, 1);
    assert_eq!(run(&["history", "g-consumer"]).1, 2);
}

/// Commits a to z of one partition, a second apart.
fn commits(craft: &mut Craft, offsets: &[i64], from: i64) {
    for (i, offset) in offsets.iter().enumerate() {
        craft.batch(Batch::at(from + i as i64 * 1000).commit("g", "t", 0, *offset));
    }
}

fn told(craft: Craft, args: &[&str]) -> (Vec<Json>, String, i32) {
    let (_keep, path): (tempfile::TempDir, PathBuf) = craft.write();
    let path = path.to_str().unwrap();
    let (json, status) = run(&[&["history", "--group", "g", "--format", "jsonl", path], args].concat());
    let (text, _) = run(&[&["history", "--group", "g", path], args].concat());
    (json.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), text, status)
}

/// C19: 10, 20, 30, back to 5, 40.
#[test]
fn a_rewind() {
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).classic("g", 1, &["a", "b"]));
    commits(&mut craft, &[10, 20, 30], T + 1000);
    craft.batch(Batch::at(T + 10_000).classic("g", 2, &[]));
    commits(&mut craft, &[5], T + 20_000);
    craft.batch(Batch::at(T + 30_000).classic("g", 3, &["a"]));
    commits(&mut craft, &[40], T + 40_000);
    let (events, text, status) = told(craft, &[]);
    assert_eq!(status, 0);
    let kinds: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["generation", "commits", "generation", "rewind", "generation", "commits"]);
    assert_eq!(events[3]["partitions"][0]["step"], -25);
    assert_eq!(events[3]["presence"], "no-members");
    assert!(text.contains("REWIND: t:0 30 -> 5 (-25) (no members: an admin reset or a tool)"), "{text}");
}

#[test]
fn a_jump_and_a_rewind_of_many_partitions() {
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).classic("g", 1, &["a"]));
    commits(&mut craft, &[100, 200, 300, 400, 5400, 6000], T + 1000);
    craft.batch(Batch::at(T + 9000).commit("g", "t", 0, 1).commit("g", "t", 1, 7));
    let (events, text, _) = told(craft, &[]);
    let kinds: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["generation", "commits", "jump", "commits", "rewind"]);
    assert_eq!(events[2]["partitions"][0]["step"], 5000);
    assert_eq!(events[4]["partitions"].as_array().unwrap().len(), 2);
    assert!(text.contains("REWIND: t:0 6000 -> 1 (-5999); t:1 at 7 (first)"), "{text}");
    assert!(text.contains("JUMP: t:0 400 -> 5400 (+5000)"), "{text}");
}

#[test]
fn why_offsets_went() {
    const DAY: i64 = 86_400_000;
    let removed = |craft: Craft, args: &[&str]| {
        let (events, ..) = told(craft, args);
        of(&events, "offsets-removed")[0]["reason"].as_str().unwrap().to_owned()
    };
    let after = |time: i64| {
        let mut craft = Craft::new();
        craft.batch(Batch::at(T).commit("g", "t", 0, 10));
        craft.batch(Batch::at(T + time).forget("g", "t", 0));
        craft
    };
    // Exactly the retention counts as expired.
    assert_eq!(removed(after(7 * DAY), &[]), "expired");
    assert_eq!(removed(after(7 * DAY - 1), &[]), "offsets-deleted");
    assert_eq!(removed(after(DAY), &["--retention", "1d"]), "expired");
    // An emptied group counts from its emptying.
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).commit("g", "t", 0, 10));
    craft.batch(Batch::at(T + 6 * DAY).classic("g", 3, &[]));
    craft.batch(Batch::at(T + 8 * DAY).forget("g", "t", 0));
    assert_eq!(removed(craft, &[]), "offsets-deleted");
    // Another group lost the same topic.
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).commit("g", "t", 0, 10));
    craft.batch(Batch::at(T + DAY).forget("other", "t", 0).forget("g", "t", 0));
    assert_eq!(removed(craft, &[]), "topic-deleted");
    // The group went with them.
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).classic("g", 3, &[]).commit("g", "t", 0, 10));
    craft.batch(Batch::at(T + DAY).forget("g", "t", 0).delete_classic("g"));
    let (events, text, _) = told(craft, &[]);
    assert_eq!(of(&events, "offsets-removed")[0]["reason"], "group-deleted");
    assert_eq!(of(&events, "offsets-removed")[0]["partitions"][0]["offset"], 10);
    assert_eq!(of(&events, "group-deleted")[0]["before"]["generation"], 3);
    assert!(text.contains("group DELETED; it was Empty at generation 3"), "{text}");
    // What was removed is gone from the log.
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).forget("g", "t", 0));
    assert_eq!(removed(craft, &[]), "unknown");
}

/// C33: 500 generations in 10 minutes, with 3 and 4 members in turn.
#[test]
fn a_storm() {
    let craft = || {
        let mut craft = Craft::new();
        for generation in 1..=500 {
            let members: &[&str] = if generation % 2 == 0 { &["a", "b", "c", "d"] } else { &["a", "b", "c"] };
            craft.batch(Batch::at(T + i64::from(generation) * 1200).classic("g", generation, members));
            if generation % 100 == 0 {
                craft.batch(Batch::at(T + i64::from(generation) * 1200 + 1).commit("g", "t", 0, generation.into()));
            }
        }
        craft
    };
    let (events, text, _) = told(craft(), &[]);
    let kinds: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["generation", "storm"]);
    let storm = &events[1];
    assert_eq!((&storm["steps"], &storm["leastMembers"], &storm["mostMembers"]), (&499.into(), &3.into(), &4.into()));
    assert_eq!((&storm["joined"], &storm["left"], &storm["commits"]), (&250.into(), &249.into(), &5.into()));
    assert_eq!(storm["clients"][0], serde_json::json!({ "client": "client-d", "moves": 499 }));
    assert_eq!((&storm["before"]["generation"], &storm["after"]["generation"]), (&1.into(), &500.into()));
    assert_eq!((&storm["offset"], &storm["lastOffset"]), (&1.into(), &504.into()));
    assert!(text.contains("STORM: 499 generations (1 -> 500) in 9 min, 50.1 a minute; 3 to 4 members"), "{text}");
    let (each, ..) = told(craft(), &["-v"]);
    assert_eq!(of(&each, "generation").len(), 500);
}

/// Twenty in a row are no storm, nor are many that are far apart.
#[test]
fn no_storm() {
    let generations = |count: i32, apart: i64| {
        let mut craft = Craft::new();
        for generation in 0..=count {
            craft.batch(Batch::at(T + i64::from(generation) * apart).classic("g", generation, &["a"]));
        }
        told(craft, &[]).0.iter().filter(|it| it["event"] == "storm").count()
    };
    assert_eq!(generations(20, 1000), 0);
    assert_eq!(generations(21, 1000), 1);
    assert_eq!(generations(21, 60_000), 1);
    assert_eq!(generations(40, 60_001), 0);
}

#[test]
fn damage_stands_at_its_place() {
    let mut craft = Craft::new();
    commits(&mut craft, &[10, 20], T);
    craft.batch(Batch::at(T + 5000).commit("g", "t", 0, 30).commit("g", "t", 1, 30).damaged());
    commits(&mut craft, &[40], T + 6000);
    let (events, text, status) = told(craft, &[]);
    assert_eq!(status, 3);
    let kinds: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["commits", "damage", "commits"]);
    assert_eq!(
        (&events[1]["code"], &events[1]["offset"], &events[1]["ofThisGroup"]),
        (&"crc-mismatch".into(), &2.into(), &true.into())
    );
    assert_eq!(events[2]["partitions"][0]["previous"], 20);
    assert!(text.contains("DAMAGE in 00000000000000000000.log at byte "), "{text}");
}

/// Two members with one instance id after another: the second takes the place of the first.
#[test]
fn a_static_member_comes_back() {
    let mut craft = Craft::new();
    craft.batch(Batch::at(T).classic_static("g", 1, "m-1", "instance"));
    craft.batch(Batch::at(T + 1000).classic_static("g", 1, "m-2", "instance"));
    let (events, text, _) = told(craft, &[]);
    let changes: Vec<_> = events[1]["members"].as_array().unwrap().iter().map(|it| it["change"].clone()).collect();
    assert_eq!(changes, ["left", "joined"]);
    assert!(text.contains("generation 1 again: m-2 takes the place of m-1"), "{text}");
}
