//! What misled whoever acted on an audit: commands that select other groups, findings that are cut off before they are
//! looked for, names that play with the terminal, files that are not there.

use crate::build::{Bat, Commit, Ending, Rec, T0, commit, offset_key, segment_name, write_segments};
use crate::group_records::*;
use crate::setup::{DAY, HOUR, Said, Setup};
use crate::{cases, codes, of};
use serde_json::Value;
use std::path::Path;

fn committed(at: i64, group: &str, topic: &str, partition: i32, what: Commit<'_>) -> Rec {
    let key = Some(offset_key(group, topic, partition));
    Rec { offset: at, timestamp: what.commit_timestamp, key, value: Some(what.value(3)) }
}

/// Groups with one commit each.
fn groups(names: &[(String, i64)]) -> Setup {
    let record = |(at, (name, when)): (i64, &(String, i64))| {
        committed(at, name, "orders", 0, Commit { commit_timestamp: *when, ..Commit::at(1) })
    };
    Setup::batches((0..).zip(names).map(record).map(|record| Bat::of(vec![record])).collect())
}

fn jsonl(setup: &Setup, more: &[&str]) -> Vec<Value> {
    setup.run(&[&["audit", "--format", "jsonl"], more].concat()).findings()
}

fn shell(dir: &Path, command: &str) -> String {
    let script = command.replace("grouplog audit", &format!("{} audit", env!("CARGO_BIN_EXE_grouplog")));
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(dir).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Of 40 groups 20 are silent by the clock of the audit; by the clock of the wall all are.
#[test]
fn the_printed_command_selects_what_the_finding_is_of() {
    let when = |n: i64| if n < 20 { T0 } else { T0 + 40 * DAY };
    let names: Vec<_> = (0..40).map(|n| (format!("o'x $(id)-{n}"), when(n))).collect();
    let setup = groups(&names).now(T0 + 41 * DAY);
    let found = jsonl(&setup, &["--partition", "12", "--include-stray", "--at-offset", "100"]);
    let family = of(&found, "group-family")[0];
    assert_eq!(family["facts"]["silent"], 20);
    let command = family["facts"]["command"].as_str().unwrap();
    let now = format!("--now {} ", T0 + 41 * DAY);
    for option in [now.as_str(), "--partition 12 ", "--at-offset 100 ", "--include-stray "] {
        assert!(command.contains(option), "{option} in {command}");
    }
    let (list, _) = command.split_once(" | ").unwrap();
    let selected = shell(setup.path(), list);
    let selected: Value = serde_json::from_str(&selected).unwrap();
    assert_eq!(selected["facts"]["deletable"].as_array().unwrap().len(), 20, "{list}");

    let lines: Vec<_> = (0..30).map(|n| (format!("two\nlines-{n}"), T0)).collect();
    let found = jsonl(&groups(&lines).now(T0 + 41 * DAY), &[]);
    assert!(of(&found, "group-family")[0]["facts"]["command"].is_null(), "a pipe of lines would split the names");
}

#[test]
fn nothing_is_cut_off_before_it_is_looked_for() {
    let name = |n: u32| n.to_string().bytes().map(|digit| char::from(b'g' + digit - b'0')).collect::<String>();
    let mut names: Vec<_> = (0..1200).map(|n| (name(n), T0)).collect();
    let setup = groups(&names).now(T0 + 40 * DAY);
    let found = jsonl(&setup, &[]);
    assert_eq!(of(&found, "long-empty-group").len(), 1200);
    assert!(!codes(&found).contains("more"));
    let table = setup.run(&["audit"]).stdout;
    for words in ["long-empty-group (1200)", "and 1197 more", "    partition 12, ", "$ kafka-consumer-groups.sh"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    names.push(("zzzz".to_owned(), T0));
    let later = groups(&names).now(T0 + 40 * DAY);
    assert_eq!(jsonl(&later, &["--group", "zzzz"]).len(), 1);
    let file = later.path().join("last.jsonl");
    std::fs::write(&file, setup.run(&["audit", "--format", "jsonl"]).stdout).unwrap();
    for format in ["jsonl", "table"] {
        let said = later.run(&["audit", "--format", format, "--baseline", file.to_str().unwrap()]);
        assert!(said.stdout.contains("zzzz") && said.status == 3, "{}", said.stdout);
        assert!(said.stderr.contains("1200 findings left out that the baseline has"), "{}", said.stderr);
    }
}

#[test]
fn a_code_that_no_audit_raises_is_refused() {
    let setup = groups(&[("g".to_owned(), T0)]);
    let said = setup.run(&["audit", "--only", "crc-mismatch"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("verify"), "{}", said.stderr);
    assert_eq!(setup.run(&["audit", "--only", "segment-unreadable,null-key"]).status, 0);
}

#[test]
fn only_a_latest_commit_that_is_behind_is_to_be_reset() {
    let log = |steps: &[(i32, i64, i32)]| {
        let record = |(at, (partition, offset, leader_epoch)): (i64, &(i32, i64, i32))| {
            committed(at, "g", "orders", *partition, Commit { leader_epoch: *leader_epoch, ..Commit::at(*offset) })
        };
        Setup::batches((0..).zip(steps).map(record).map(|record| Bat::of(vec![record])).collect())
    };
    let overtaken = jsonl(&log(&[(0, 10, 8), (0, 20, 6), (0, 30, 9)]), &[]);
    let finding = of(&overtaken, "leader-epoch-behind")[0];
    assert_eq!((&finding["severity"], &finding["facts"]["command"]), (&"info".into(), &Value::Null));
    let behind = jsonl(&log(&[(0, 10, 8), (1, 5, 7), (0, 20, 6), (1, 6, 4), (0, 30, 6)]), &[]);
    let finding = of(&behind, "leader-epoch-behind")[0];
    assert_eq!(finding["severity"], "warning");
    assert!(finding["facts"]["command"].as_str().unwrap().contains("--topic orders:0,1 --to-earliest"));
    let message = finding["message"].as_str().unwrap();
    for words in ["0 (epoch 6, 8 before), 1 (epoch 4, 7 before)", "leader-epoch-checkpoint"] {
        assert!(message.contains(words), "{message}");
    }
    // Back to where the older epoch was, and on from there.
    let reset = jsonl(&log(&[(0, 100, 9), (0, 50, 5), (0, 60, 4)]), &[]);
    assert_eq!(of(&reset, "leader-epoch-behind")[0]["severity"], "info");
}

/// A folder and a broken link of a segment's name: all three verbs tell, and go on with the rest.
#[cfg(unix)]
#[test]
fn a_segment_that_is_not_there_is_told() {
    let setup = groups(&[("g".to_owned(), T0)]);
    std::fs::create_dir(setup.folder().join(segment_name(50))).unwrap();
    let other = write_segments(setup.path(), 13, &[vec![Bat::of(vec![commit(0, "h", "orders", 0, 1)])]]);
    std::fs::remove_file(other.join(segment_name(0))).unwrap();
    std::os::unix::fs::symlink("nowhere.log", other.join(segment_name(0))).unwrap();
    let said = setup.run(&["audit", "--format", "jsonl"]);
    assert_eq!(said.status, 3);
    let found = said.findings();
    let unreadable = of(&found, "segment-unreadable");
    let places: Vec<_> = unreadable.iter().map(|it| (it["partition"].as_i64().unwrap(), &it["severity"])).collect();
    assert_eq!(places, [(12, &"error".into()), (13, &"error".into())]);
    for verb in ["stats", "txns"] {
        let said = setup.run(&[verb]);
        assert_eq!(said.status, 3, "{verb}: {}", said.stderr);
        for name in [segment_name(50), segment_name(0)] {
            assert!(said.stderr.contains(&format!("{name} is no file that can be read")), "{verb}: {}", said.stderr);
        }
    }
}

#[test]
fn odd_names_stay_names() {
    let odd = "\u{1b}[31mred\u{202e}\n";
    let record = committed(0, odd, odd, 0, Commit::at(1 << 60));
    let family = |n: i64| committed(n, &format!("{odd}{n}"), odd, 0, Commit::at(1));
    let batches = std::iter::once(record).chain((1..40).map(family)).map(|record| Bat::of(vec![record])).collect();
    let setup = Setup::batches(batches).now(T0 + 40 * DAY);
    for format in ["table", "csv"] {
        let said = setup.run(&["audit", "-v", "--format", format]).stdout;
        assert!(said.contains("\\x1b[31mred\\u{202e}\\x0a"), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
        assert!(!said.contains("\\u{1b}"), "Rust's escapes: {said}");
    }
    let empty = jsonl(
        &Setup::records(vec![(T0, k2("", &[("m1", Some(""), &subscription()), ("m2", Some(""), &subscription())]))]),
        &[],
    );
    let message = of(&empty, "duplicate-instance-id")[0]["message"].as_str().unwrap();
    assert!(message.ends_with("the instance id \"\""), "{message}");
}

#[test]
fn whose_copy_a_finding_is_of() {
    let setup = groups(&[("g".to_owned(), T0)]).now(T0 + 40 * DAY);
    let twice = setup.args(&["__consumer_offsets-12", "./__consumer_offsets-12"]);
    assert_eq!(jsonl(&twice, &[]).len(), jsonl(&setup, &[]).len());
    for verb in ["audit", "stats", "txns"] {
        let said = twice.run(&[verb]);
        assert!(said.stdout.contains("1 partition") && said.stderr.contains("read once"), "{}", said.stdout);
    }
    let copy = setup.path().join("copy b");
    std::fs::create_dir_all(copy.join("__consumer_offsets-12")).unwrap();
    std::fs::copy(setup.folder().join(segment_name(0)), copy.join("__consumer_offsets-12").join(segment_name(0)))
        .unwrap();
    let both = setup.args(&["copy b"]);
    let paths = |findings: &[Value]| -> Vec<String> {
        of(findings, "long-empty-group").iter().map(|it| it["path"].as_str().unwrap().to_owned()).collect()
    };
    let here = "__consumer_offsets-12";
    assert_eq!(paths(&jsonl(&both, &[])), [format!("copy b/{here}"), format!("./{here}")]);
    assert!(both.run(&["audit"]).stdout.contains(&format!("copy b/{here}, partition 12")));
    assert!(!setup.run(&["audit"]).stdout.contains(here), "one log dir needs no telling");
    assert!(both.run(&["audit", "--format", "csv"]).stdout.contains(&format!(",copy b/{here},")));
    let sarif = both.run(&["audit", "--format", "sarif"]).stdout;
    assert!(sarif.contains(&format!("\"copy%20b/{here}/{}\"", segment_name(0))), "{sarif}");
}

#[test]
fn a_write_that_a_stop_cut_short_is_no_damage() {
    let torn = |batch: Bat| groups(&[("g".to_owned(), T0)]).changed(|bytes| bytes.extend(&batch.bytes()[..40]));
    let setup = torn(Bat::of(vec![commit(1, "g", "orders", 0, 2)]));
    let said = setup.run(&["audit", "--format", "jsonl"]);
    let found = said.findings();
    assert_eq!((&of(&found, "not-replayed")[0]["severity"], said.status), (&"info".into(), 0), "{}", said.stdout);
    assert_eq!(setup.run(&["verify"]).status, 0);
    let junk = groups(&[("g".to_owned(), T0)]).changed(|bytes| bytes.extend([7; 40]));
    assert_eq!((junk.run(&["audit"]).status, junk.run(&["verify"]).status), (3, 3));
}

#[test]
fn ends_and_topics_that_mislead_are_refused() {
    let member = (T0, k2("g", &[("m1", None, &subscription())]));
    let setup = Setup::records(vec![member, (T0, kv_commit(9))]);
    let file = |name: &str, text: &str| {
        std::fs::write(setup.path().join(name), text).unwrap();
        name.to_owned()
    };
    let ends = file("ends", "orders,0,10,100\norders:1:\n");
    let said = setup.run(&["audit", "--format", "jsonl", "--log-ends", &ends]);
    assert!(said.stderr.contains("--log-ends: 1 partition without an end skipped"), "{}", said.stderr);
    let found = said.findings();
    let message = of(&found, "offset-out-of-range")[0]["message"].as_str().unwrap();
    for words in ["0 (committed 9, log from 10 to 100)", "stop the group first, it has 1 member"] {
        assert!(message.contains(words), "{message}");
    }
    let refused = |said: Said, words: &str| {
        assert_eq!(said.status, 1, "{}", said.stderr);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    };
    refused(setup.run(&["audit", "--log-ends", &file("bad", "orders,0,10,5\n")]), "line 1");
    refused(setup.run(&["audit", "--topics", &file("empty", "\n")]), "no topic in it");
    refused(setup.run(&["audit", "--topics", &file("odd", "orders\nTopic: a b\n")]), "line 2");
    let other = setup.run(&["audit", "--topics", &file("other", "clicks\n")]);
    assert!(other.stderr.contains("none of the topics of the log is in the list"), "{}", other.stderr);
    let known = setup.run(&["audit", "--topics", &file("bom", "\u{feff}orders\n")]);
    assert!(!known.stderr.contains("--topics"), "{}", known.stderr);
}

fn kv_commit(offset: i64) -> Kv {
    (Some(offset_key("g", "orders", 0)), Some(Commit::at(offset).value(3)))
}

#[test]
fn what_is_to_come_is_not_negative() {
    let open = Bat::transactional(7, 0, vec![commit(0, "", "orders", 0, 1)]);
    let setup = Setup::batches(vec![open]).now(T0 - DAY);
    let found = jsonl(&setup, &[]);
    let message = of(&found, "open-transaction")[0]["message"].as_str().unwrap();
    assert!(message.contains("since 1 d in the future") && message.contains("1 key of \"\";"), "{message}");
    let facts = &of(&found, "open-transaction")[0]["facts"];
    assert_eq!((&facts["ageMs"], &facts["aheadMs"]), (&0.into(), &DAY.into()));
    let later = jsonl(&setup.now(T0 + 5), &[]);
    let facts = &of(&later, "open-transaction")[0]["facts"];
    assert_eq!((&facts["ageMs"], &facts["aheadMs"]), (&5.into(), &Value::Null));
}

/// `txns` and `audit` by one fold: the same transactions, with the same numbers, whatever is odd about them.
#[test]
fn audit_and_txns_see_the_same_transactions() {
    let open =
        |at: i64, group, producer, epoch| Bat::transactional(producer, epoch, vec![commit(at, group, "orders", 0, at)]);
    let timed = |at, timestamp, producer| {
        Bat::transactional(producer, 0, vec![Rec { timestamp, ..commit(at, "timed", "orders", 0, at) }])
    };
    let damaged = |batch: Bat| {
        let mut bytes = batch.bytes();
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    };
    let idempotent = Bat { transactional: false, ..open(9, "plain", 5, 1) };
    let mut bytes: Vec<Vec<u8>> = [
        Bat::marker(Ending::Commit, 0, T0, 77, 0),
        open(1, "a", 5, 0),
        open(2, "a", 5, 1),
        open(3, "b", 6, 0),
        Bat::marker(Ending::Abort, 4, T0, 6, 1),
        timed(5, T0 + 400 * DAY, 8),
        timed(6, -1, 9),
        timed(7, 0, 10),
        timed(8, i64::MAX, 11),
        idempotent,
        open(10, "nobody", -1, -1),
        open(11, "ended", 12, 0),
    ]
    .iter()
    .map(Bat::bytes)
    .collect();
    // Its end is damaged: it is not open, but nobody knows how it ended.
    bytes.push(damaged(Bat::marker(Ending::Commit, 12, T0, 12, 0)));
    let setup = Setup::batches(vec![]).changed(|file| *file = bytes.concat());
    let facts = ["producerId", "producerEpoch", "coordinatorEpoch", "firstOffset", "lastOffset", "keys", "pinnedBytes"];
    for now in [T0 + 20, T0 + HOUR] {
        let at = setup.now(now);
        let said = at.run(&["txns", "--open", "--format", "jsonl"]);
        let theirs: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = jsonl(&at, &[]);
        let mut ours: Vec<_> = [of(&found, "hanging-transaction"), of(&found, "open-transaction")].concat();
        ours.sort_by_key(|it| it["facts"]["firstOffset"].as_i64());
        assert_eq!((theirs.len(), ours.len()), (5, 5), "{}", said.stdout);
        for (it, finding) in theirs.iter().zip(&ours) {
            for fact in facts.iter().chain(&["ageMs", "aheadMs", "groups"]) {
                assert_eq!(it[fact], finding["facts"][fact], "{fact}: {it} {finding}");
            }
            assert_eq!(it["hanging"] == true, finding["code"] == "hanging-transaction", "{it}");
            assert!(it["ageMs"].is_null() || it["ageMs"].as_i64() >= Some(0), "{it}");
        }
        let ahead: Vec<_> = theirs.iter().map(|it| it["aheadMs"].as_i64()).collect();
        let by = T0 + 400 * DAY - now;
        assert_eq!(ahead, [None, Some(by), None, None, Some(i64::MAX - now)]);
    }
}

/// Damage that may have held an end: neither of the two says more than it knows.
#[test]
fn an_end_that_may_be_lost_is_told() {
    let open = Bat::transactional(7, 0, vec![commit(0, "g", "orders", 0, 1)]).bytes();
    let plain = Bat::of(vec![commit(5, "h", "orders", 0, 1)]).bytes();
    let setup = Setup::batches(vec![]).changed(|file| *file = [open, vec![0; 500], plain].concat());
    let found = jsonl(&setup, &[]);
    let finding = of(&found, "hanging-transaction")[0];
    assert_eq!(finding["facts"]["doubt"], "marker-may-be-lost");
    let message = finding["message"].as_str().unwrap();
    assert!(
        message.ends_with("it may have ended: the log is damaged behind offset 0: an end marker may have stood there")
    );
}

/// One that hangs in a closed segment keeps the cleaner from it: that is told with it, and once.
#[test]
fn one_transaction_is_one_finding() {
    let checkpoint = "0\n1\n__consumer_offsets 12 0\n";
    let found = jsonl(&cases::pinned().file("cleaner-offset-checkpoint", checkpoint).now(T0 + 2 * HOUR), &[]);
    let codes = codes(&found);
    assert!(codes.contains("hanging-transaction"), "{codes:?}");
    for code in ["open-transaction", "cleaner-pinned", "cleaner-stuck"] {
        assert!(!codes.contains(code), "{code}: {found:?}");
    }
    // A group of which all waits for its end is not told by itself, one with more is.
    let stale = |more: Vec<Bat>| {
        let open = Bat::transactional(1000, 3, vec![commit(0, "g", "orders", 0, 42)]);
        jsonl(&Setup::batches([vec![open], more].concat()).now(T0 + 40 * DAY), &[])
    };
    assert!(of(&stale(vec![]), "long-empty-group").is_empty());
    assert_eq!(of(&stale(vec![Bat::of(vec![commit(1, "g", "orders", 1, 7)])]), "long-empty-group").len(), 1);
    // What lies before it waits for the cleaner all the same.
    let open = Bat::transactional(1000, 3, vec![commit(20, "g", "orders", 0, 42)]);
    let segments = [
        vec![cases::plain_until(0, 10)],
        vec![cases::plain_until(10, 20)],
        vec![open, cases::plain_until(21, 30)],
        vec![cases::plain_until(30, 40)],
    ];
    let found =
        jsonl(&Setup::segments(&segments).file("cleaner-offset-checkpoint", checkpoint).now(T0 + 2 * HOUR), &[]);
    let stuck = &of(&found, "cleaner-stuck")[0]["facts"];
    assert_eq!((&stuck["dirtySegments"], &stuck["reason"]), (&2.into(), &"checkpoint-behind".into()));
    assert_eq!(of(&found, "hanging-transaction").len(), 1);
    // Of two the cleaner stops at the first; the second is no more than open.
    let two = |at, producer| Bat::transactional(producer, 0, vec![commit(at, "g", "orders", 0, at)]);
    let segments = [vec![two(0, 7), two(1, 8), cases::plain_until(2, 5)], vec![cases::plain_until(5, 9)]];
    let found = jsonl(&Setup::segments(&segments).now(T0 + 1000), &[]);
    assert_eq!((of(&found, "cleaner-pinned").len(), of(&found, "open-transaction").len()), (1, 1));
}

/// C47: how many, and whose.
#[test]
fn empty_batches_are_counted_by_producer() {
    let found = jsonl(&cases::emptied(150), &[]);
    let facts = &of(&found, "removable-empty-batches")[0]["facts"];
    assert_eq!((&facts["batches"], &facts["bytes"]), (&149.into(), &(149 * 61).into()));
    assert_eq!(facts["most"], serde_json::json!([{"producerId": 5, "batches": 149, "bytes": 149 * 61}]));
    // As many as a compaction takes.
    let said = cases::emptied(150).run(&["stats", "--format", "json", "--delete-retention", "1000d"]);
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let batches = document["partitions"][0]["batches"].as_u64().unwrap();
    assert_eq!(batches - document["partitions"][0]["afterCompaction"]["batches"].as_u64().unwrap(), 149);
}

#[test]
fn hosts_are_told_once_for_all_partitions() {
    let member = || k2("g", &[("m1", None, &subscription())]);
    let setup = Setup::records(vec![(T0, member())]);
    for partition in [3, 4] {
        let (key, value) = member();
        let record = Rec { offset: 0, timestamp: T0, key, value };
        write_segments(setup.path(), partition, &[vec![Bat::of(vec![record])]]);
    }
    write_segments(setup.path(), 5, &[vec![Bat::of(vec![commit(0, "h", "orders", 0, 1)])]]);
    let found = jsonl(&setup, &[]);
    let addresses = of(&found, "client-addresses");
    assert_eq!(addresses.len(), 1);
    let facts = &addresses[0]["facts"];
    assert_eq!((&facts["hosts"], &facts["memberCount"], &facts["partitions"]), (&1.into(), &3.into(), &3.into()));
    assert_eq!((&addresses[0]["partition"], &addresses[0]["path"]), (&Value::Null, &Value::Null));
    let one = jsonl(&setup, &["--partition", "4"]);
    assert_eq!(of(&one, "client-addresses")[0]["facts"]["partitions"], 1);
    assert!(of(&jsonl(&setup, &["--partition", "5"]), "client-addresses").is_empty());
}

/// Nothing found would look like nothing wrong.
#[test]
fn what_cannot_be_found_is_not_asked_for_alone() {
    let setup = groups(&[("g".to_owned(), T0)]).file("topics.csv", "orders,,6\n").file("ends.csv", "orders,0,0,100\n");
    for (args, status, words) in [
        (&["--only", "topic-gone"][..], 2, "--topics FILE"),
        (&["--only", "null-key,partition-gone"], 2, "--topics FILE"),
        (&["--only", "topic-gone", "--topics", "topics.csv"], 0, ""),
        (&["--only", "offset-out-of-range"], 2, "--log-ends FILE"),
        (&["--only", "offset-out-of-range", "--log-ends", "ends.csv"], 0, ""),
        (&["--only", "null-key", "--ignore", "null-key"], 2, "--ignore"),
        (&["--only", "null-key", "--ignore", "unknown-type"], 0, ""),
        (&["--retention=-7d"], 2, "lies in the past"),
        (&["--stale-after=-7d"], 2, "lies in the past"),
        (&["--stale-after", "0s"], 3, ""),
    ] {
        let said = setup.run(&[&["audit"], args].concat());
        assert!(said.status == status && said.stderr.contains(words), "{args:?}: {} {}", said.status, said.stderr);
    }
}

/// What of partition 13 cannot be read.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    Folder,
    Segment,
    LinkToItself,
}

/// A folder that may not be listed, a segment that may not be read: the other partitions are told of all the same, and the
/// one is named once.
#[cfg(unix)]
#[test]
fn what_may_not_be_read_ends_nothing() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let allow = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for what in [Unreadable::Folder, Unreadable::Segment, Unreadable::LinkToItself] {
        let setup = groups(&[("g".to_owned(), T0)]);
        allow(setup.path(), 0o755);
        let other = write_segments(setup.path(), 13, &[vec![Bat::of(vec![commit(0, "h", "orders", 0, 1)])]]);
        match what {
            Unreadable::Folder => allow(&other, 0o000),
            Unreadable::Segment => allow(&other.join(segment_name(0)), 0o000),
            Unreadable::LinkToItself => {
                std::fs::remove_dir_all(&other).unwrap();
                symlink("__consumer_offsets-13", &other).unwrap();
            }
        }
        for verb in ["audit", "stats", "txns"] {
            let Some((status, stdout, stderr)) = as_nobody(setup.path(), &[verb, "--now", &T0.to_string(), "."]) else {
                println!("no setpriv: {verb} was not asked as another user");
                continue;
            };
            assert_eq!(status, 3, "{what:?} {verb}: {stderr}");
            assert!(stdout.contains("1 partition"), "{what:?} {verb}: {stdout}");
            // An audit tells it in its output, by the number of the partition.
            let told = format!("{stdout}{stderr}");
            let times = told.matches("__consumer_offsets-13").count() + told.matches("partition 13: ").count();
            assert_eq!(times, 1, "{what:?} {verb}: {told}");
            // By itself it is a failure.
            let (status, _, stderr) = as_nobody(setup.path(), &[verb, "__consumer_offsets-13"]).unwrap();
            assert!(status == 1 && stderr.contains("__consumer_offsets-13"), "{what:?} {verb}: {status} {stderr}");
        }
        if what == Unreadable::Folder {
            allow(&other, 0o755);
        }
    }
}

/// What the program says to a user whom permissions bind. None where this one is root and cannot become another.
#[cfg(unix)]
fn as_nobody(dir: &Path, args: &[&str]) -> Option<(i32, String, String)> {
    let program = env!("CARGO_BIN_EXE_grouplog");
    // The owner of the files is who runs the test.
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(dir).unwrap()) == 0;
    let mut command = if is_root {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", program]);
        command
    } else {
        std::process::Command::new(program)
    };
    let output = command.args(args).current_dir(dir).output().ok()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    // From 126 on setpriv says that the other user may not run it.
    let status = output.status.code().filter(|status| *status < 126)?;
    Some((status, text(output.stdout), text(output.stderr)))
}
