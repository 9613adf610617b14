//! What misled whoever acted on an audit: commands that select other groups, findings that are cut off before they are
//! looked for, names that play with the terminal, files that are not there.

use crate::build::{Bat, Commit, Rec, T0, commit, offset_key, segment_name, write_segments};
use crate::group_records::*;
use crate::setup::{DAY, Said, Setup};
use crate::{codes, of};
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
    let script = command.replace("grouplog groups", &format!("{} groups", env!("CARGO_BIN_EXE_grouplog")));
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
    assert_eq!(selected.lines().count(), 20, "{list}");

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
}
