//! `audit` and `explain`: every code is raised by a smallest log and not by its near miss; logs of real brokers are clean
//! but for what was put in on purpose; and what can be asked for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "audit/attacks.rs"]
mod attacks;
#[path = "audit/beside.rs"]
mod beside;
#[path = "audit/cases.rs"]
mod cases;
mod common;
#[path = "audit/contents.rs"]
mod contents;
#[path = "audit/frames.rs"]
mod frames;
#[path = "audit/setup.rs"]
mod setup;

// What the cases build with.
#[path = "common/build.rs"]
mod build;
#[path = "common/group_records.rs"]
mod group_records;

use build::{Bat, T0};
use grouplog::audit::verify::{Depth, Verifying, verify};
use grouplog::audit::{Area, Code};
use grouplog::model::replay::Helper;
use serde_json::Value;
use setup::{DAY, Setup};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Findings of the code at hand.
fn of<'f>(findings: &'f [Value], code: &str) -> Vec<&'f Value> {
    findings.iter().filter(|finding| finding["code"] == code).collect()
}

/// Prints the table of code, test and case.
#[test]
fn every_code_is_raised_and_not_by_its_near_miss() {
    let mut tested: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let all = [frames::all(), contents::all(), beside::all(), cases::all()].concat();
    for case in &all {
        let raised = case.raised.findings();
        let found = of(&raised, case.code);
        if found.is_empty() {
            wrong.push(format!("{} ({}): not raised: {raised:?}", case.code, case.name));
        }
        wrong.extend(found.into_iter().filter_map(|finding| against_contract(finding, case)));
        let missed = case.missed.findings();
        if let Some(finding) = of(&missed, case.code).first() {
            wrong.push(format!("{} ({}): raised by its near miss: {finding}", case.code, case.name));
        }
        let code = Code::of_name(case.code).unwrap();
        if case.raised.verb() == setup::Verb::Audit && !grouplog::audit::judge::raises(code) {
            wrong.push(format!("{}: --only refuses what an audit raises", case.code));
        }
        tested.entry(case.code).or_default().push(format!("{:<7} {}", case.raised.verb().name(), case.name));
    }
    // The one that no log raises by itself.
    a_file_that_is_cut_meanwhile(&mut wrong);
    tested.entry("file-cut").or_default().push("verify  cut at the first batch, against afterwards".to_owned());
    for code in Code::ALL {
        for row in tested.get(code.name()).into_iter().flatten() {
            println!("{:<28} {:<30} {row}", code.name(), code.area().title());
        }
    }
    println!("{} codes, {} cases", Code::ALL.len(), all.len() + 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let untested: Vec<_> = Code::ALL.iter().map(|code| code.name()).filter(|code| !tested.contains_key(code)).collect();
    assert!(untested.is_empty(), "without a case: {untested:?}");
}

/// A file that ends before its last page when the first batch of it was read, and one that is cut behind the last.
fn a_file_that_is_cut_meanwhile(wrong: &mut Vec<String>) {
    let metadata = "x".repeat(8192);
    let batch = |at| {
        let value = build::Commit { metadata: &metadata, ..build::Commit::at(1) }.value(3);
        Bat::of(vec![build::Rec { value: Some(value), ..build::commit(at, "g", "orders", 0, 1) }])
    };
    for (length, cuts) in [(4096, true), (2 * batch(0).bytes().len() as u64, false)] {
        let setup = Setup::batches(vec![batch(0), batch(1)]);
        let path = setup.folder().join(build::segment_name(0));
        let mut progress = |_| std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let how = Verifying {
            partition: Some(12),
            dir: None,
            log_dir: None,
            depth: Depth::Records,
            max_inflated: 1 << 20,
            helper: Helper::None,
        };
        let verified = verify(std::slice::from_ref(&path), &how, &mut progress).unwrap();
        if verified.findings.iter().any(|finding| finding.code == Code::FileCut) != cuts {
            wrong.push(format!("file-cut: {cuts}: {:?}", verified.findings));
        }
    }
}

/// What a finding lacks of what every one must have, or of what the case says.
fn against_contract(finding: &Value, case: &cases::Case) -> Option<String> {
    let code = Code::of_name(case.code).unwrap();
    let fields = ["code", "severity", "partition", "segment", "position", "offset", "group", "message", "facts"];
    // A text file has no positions, and of a marker that is lost nobody knows where it stood.
    let nowhere = code.area() == Area::Side || code == Code::MarkerLost;
    let placed = finding["segment"].is_string() && finding["position"].is_u64();
    let whole = fields.iter().all(|field| finding.get(field).is_some())
        && finding["facts"].is_object()
        && finding["message"].as_str().is_some_and(|message| !message.is_empty())
        && (finding["offset"].is_null() || placed || nowhere);
    let severity = case.severity.unwrap_or(code.severity().name());
    let command = case.command.is_none_or(|command| finding["facts"]["command"] == command);
    let sound = whole && finding["severity"] == severity && command;
    (!sound).then(|| format!("{} ({}): {severity}, {:?}: {finding}", case.code, case.name, case.command))
}

/// C01, C05, C07, C20, C33: what the field cases ask for, with their numbers.
#[test]
fn field_cases() {
    let stuck = &of(&cases::forty_segments().findings(), "cleaner-stuck")[0]["facts"].clone();
    assert_eq!(
        (&stuck["records"], &stuck["liveKeys"], &stuck["reason"]),
        (&20_000.into(), &1.into(), &"checkpoint-behind".into())
    );
    assert_eq!((&stuck["dirtySegments"], &stuck["firstDirtyOffset"]), (&39.into(), &0.into()));

    let pinned = cases::pinned();
    let findings = pinned.findings();
    assert!(of(&findings, "cleaner-pinned").is_empty(), "told with the transaction, which hangs");
    let hangs = &of(&findings, "hanging-transaction")[0]["facts"];
    assert_eq!(hangs["lastStableOffset"], 3);
    let segment = std::fs::metadata(pinned.folder().join(build::segment_name(0))).unwrap().len();
    let before = cases::plain_until(0, 3).bytes().len() as u64;
    assert_eq!(hangs["pinnedClosedBytes"], segment - before);
    assert_eq!((&hangs["producerId"], &hangs["producerEpoch"], &hangs["keys"]), (&1000.into(), &3.into(), &1.into()));
    assert!(hangs["command"].as_str().unwrap().ends_with("--partition 12 --start-offset 3"));

    let active = cases::active_only().findings();
    assert_eq!(of(&active, "active-segment-only").len(), 1);
    assert!(of(&active, "cleaner-stuck").is_empty(), "C07: nothing is broken");

    let storm = cases::storm().findings();
    let facts = &of(&storm, "rebalance-storm")[0]["facts"];
    assert_eq!(
        (&facts["rebalances"], &facts["fewestMembers"], &facts["mostMembers"]),
        (&500.into(), &3.into(), &4.into())
    );
    assert_eq!(facts["perHour"], 3000);
}

/// A log without sense: no panic, an answer, whatever is in it.
#[test]
fn hostile_logs_are_answered() {
    for setup in cases::hostile() {
        let said = setup.run(&["audit", "--retention", "7d", "--format", "jsonl"]);
        assert!([0, 3].contains(&said.status), "{}", said.stderr);
        assert_eq!(setup.run(&["audit", "-v"]).status, said.status);
    }
}

#[test]
fn infos_alone_are_not_status_3() {
    let setup = Setup::records(vec![(T0, group_records::k2("g", &[("m1", None, &group_records::subscription())]))]);
    let said = setup.run(&["audit", "--format", "jsonl"]);
    assert!(said.findings().iter().any(|finding| finding["severity"] == "info"));
    assert_eq!(said.status, 0);
    let stale = setup.now(T0 + 31 * DAY);
    assert_eq!(stale.run(&["audit"]).status, 0, "members that never committed are not silent");
}

#[test]
fn what_is_asked_for() {
    let setup = cases::several();
    let all = codes(&setup.run(&["audit", "--format", "jsonl"]).findings());
    assert!(all.contains("negative-offset") && all.contains("secret-in-metadata") && all.contains("client-addresses"));
    let only = setup.run(&["audit", "--format", "jsonl", "--only", "negative-offset,client-addresses"]);
    assert_eq!(codes(&only.findings()), ["client-addresses", "negative-offset"].map(str::to_owned).into());
    let infos = setup.run(&["audit", "--format", "jsonl", "--only", "client-addresses"]);
    assert_eq!(infos.status, 0);
    let rest =
        setup.run(&["audit", "--format", "jsonl", "--ignore", "negative-offset", "--ignore", "client-addresses"]);
    assert!(!codes(&rest.findings()).contains("negative-offset") && rest.status == 3);
    let least = setup.run(&["audit", "--format", "jsonl", "--min-severity", "warning"]);
    assert!(least.findings().iter().all(|finding| finding["severity"] == "warning"));
    let none = setup.run(&["audit", "--format", "jsonl", "--min-severity", "error"]);
    assert_eq!((none.findings().len(), none.status), (0, 0));
    let of_group = setup.run(&["audit", "--format", "jsonl", "--group", "n*"]);
    assert!(of_group.findings().iter().all(|finding| finding["group"] == "negative"));
    assert!(!of_group.findings().is_empty());
    assert_eq!(setup.run(&["audit", "--only", "no-such-code"]).status, 2);
}

#[test]
fn a_baseline_leaves_what_is_new() {
    let setup = cases::several();
    let first = setup.run(&["audit", "--format", "jsonl"]);
    assert_eq!(first.status, 3);
    let file = setup.path().join("last.jsonl");
    std::fs::write(&file, &first.stdout).unwrap();
    let later = setup.now(T0 + 2 * DAY);
    let again = later.run(&["audit", "--format", "jsonl", "--baseline", file.to_str().unwrap()]);
    assert_eq!((again.findings().len(), again.status), (0, 0), "{}", again.stdout);
    let more = later.run(&["audit", "--format", "jsonl", "--retention", "1d", "--baseline", file.to_str().unwrap()]);
    assert_eq!(codes(&more.findings()), ["expired-offsets".to_owned()].into());
    assert_eq!(more.status, 3);
    std::fs::write(&file, "no json\n").unwrap();
    assert_eq!(later.run(&["audit", "--baseline", file.to_str().unwrap()]).status, 1);
}

#[test]
fn every_format_says_the_same() {
    let setup = cases::several();
    let jsonl = setup.run(&["audit", "--format", "jsonl"]).findings();
    let json: Vec<Value> = serde_json::from_str(&setup.run(&["audit", "--format", "json"]).stdout).unwrap();
    assert_eq!(json, jsonl);
    let csv = setup.run(&["audit", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), jsonl.len() + 1);
    let sarif: Value = serde_json::from_str(&setup.run(&["audit", "--format", "sarif"]).stdout).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), jsonl.len());
    let rules: BTreeSet<_> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["id"])
        .map(Value::to_string)
        .collect();
    for (result, finding) in results.iter().zip(&jsonl) {
        assert_eq!(result["ruleId"], finding["code"]);
        assert!(rules.contains(&finding["code"].to_string()));
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
    }
    let table = setup.run(&["audit"]).stdout;
    let again = setup.run(&["audit"]).stdout;
    assert_eq!(table, again, "the clock is given: the output repeats");
    for code in codes(&jsonl) {
        assert!(table.contains(&code), "{code} in {table}");
    }
    let severities: Vec<_> = jsonl.iter().map(|finding| finding["severity"].as_str().unwrap()).collect();
    assert!(severities.is_sorted_by_key(|it| ["error", "warning", "info"].iter().position(|known| known == it)));
    assert!(table.lines().next().unwrap().contains("warnings"), "totals first: {table}");
}

#[test]
fn a_secret_is_never_shown() {
    let setup = cases::several();
    for format in ["table", "json", "csv", "sarif"] {
        let said = setup.run(&["audit", "-v", "--format", format]);
        assert!(said.stdout.contains("secret-in-metadata") && !said.stdout.contains("hunter22"), "{}", said.stdout);
    }
}

#[test]
fn many_groups_are_one_family_and_fit_on_a_screen() {
    let setup = cases::fifty_thousand();
    let said = setup.run(&["audit"]);
    assert_eq!(said.status, 3);
    assert!(said.stdout.lines().count() < 24, "{}", said.stdout);
    let findings = setup.run(&["audit", "--format", "jsonl"]).findings();
    let family = of(&findings, "group-family");
    assert_eq!(family.len(), 1);
    assert_eq!(family[0]["facts"]["groups"], 50_000);
    assert_eq!(family[0]["facts"]["silent"], 50_000);
    assert_eq!(of(&findings, "long-empty-group").len(), 10, "those of no family are told one by one");
    // The command takes from the finding what it deletes.
    assert_eq!(family[0]["facts"]["deletable"].as_array().unwrap().len(), 50_000);
    let command = family[0]["facts"]["command"].as_str().unwrap();
    assert!(command.contains("audit --only group-family --stale-after 30d --now "), "{command}");
}

/// Of replicas, groups are counted once: seven in three copies are no family.
#[test]
fn replicas_are_no_more_groups() {
    let names: Vec<_> = (0..7).map(|i| format!("job-{i}")).collect();
    let records = |partition| {
        let commits = (0..).zip(&names).map(|(at, name)| build::commit(at, name, "orders", 0, 1));
        Setup::partition(partition, &[vec![Bat::of(commits.collect())]])
    };
    let (one, two, three) = (records(12), records(12), records(12));
    let now = (T0 + 100 * DAY).to_string();
    let paths = [&one, &two, &three].map(|it| it.path().to_str().unwrap());
    let said = |paths: &[&str]| {
        let args = ["audit", "--format", "jsonl", "--now", &now].into_iter().chain(paths.iter().copied());
        setup::run(one.path(), args).findings()
    };
    assert_eq!(of(&said(&paths[..1]), "long-empty-group").len(), 7);
    assert_eq!(of(&said(&paths), "long-empty-group").len(), 21);
    assert!(of(&said(&paths), "group-family").is_empty());
}

/// The note on ages, by which nobody takes an old copy for a sick cluster, nor seconds for milliseconds.
#[test]
fn a_clock_that_may_be_wrong_is_told() {
    let setup = Setup::batches(vec![Bat::of(vec![build::commit(0, "g", "orders", 0, 1)])]);
    let path = setup.path().to_str().unwrap();
    let said = |now: &[&str]| setup::run(setup.path(), ["audit", path].into_iter().chain(now.iter().copied())).stderr;
    assert!(said(&[]).contains("give --now 17000"), "{}", said(&[]));
    let later = (T0 + 100 * DAY).to_string();
    assert_eq!(said(&["--now", &later]), "");
    let seconds = said(&["--now", "1700000000"]);
    assert!(seconds.contains("ahead of now") && seconds.contains("milliseconds"), "{seconds}");
    // As far apart as numbers are.
    let record = build::Rec { timestamp: i64::MAX, ..build::commit(0, "g", "orders", 0, 1) };
    let last = Setup::batches(vec![Bat::of(vec![record])]);
    let far = setup::run(last.path(), ["audit", "--now", "0001-01-01T00:00:00Z", last.path().to_str().unwrap()]);
    assert!(far.stderr.contains("ahead of now"), "{}", far.stderr);
}

/// Segments that are named one by one are read one by one, and ends of another cluster tell nothing: both are said.
#[test]
fn what_cannot_tell_what_is_asked_is_said() {
    let record = |at: i64| build::commit(at, "g", "orders", 0, 1);
    let open = Bat::transactional(7, 0, vec![record(0)]);
    let setup = Setup::segments(&[vec![open], vec![Bat::marker(build::Ending::Commit, 1, T0, 7, 0)]])
        .file("ends.csv", "other,0,5\n")
        .file("none.csv", "\n");
    let dir = setup.path();
    let said = |args: &[&str]| setup::run(dir, ["audit"].into_iter().chain(args.iter().copied()));
    let names: Vec<_> = [0, 1].map(|at| format!("__consumer_offsets-12/{}", build::segment_name(at))).into();
    let pieces = said(&[&names[0], &names[1]]).stderr;
    assert!(pieces.contains("2 segments, each read as a log of its own"), "{pieces}");
    assert!(!said(&["."]).stderr.contains("each read"));
    let foreign = said(&["--log-ends", "ends.csv", "."]).stderr;
    assert!(foreign.contains("--log-ends: none of the topics"), "{foreign}");
    let empty = said(&["--log-ends", "none.csv", "."]);
    assert!(empty.status == 1 && empty.stderr.contains("did kafka-get-offsets.sh fail?"), "{}", empty.stderr);
}

/// A producer's next transaction, and another side of the log, are other findings.
#[test]
fn a_baseline_knows_one_trouble_from_the_next() {
    let open = |before: Vec<Bat>, at: i64| {
        let last = Bat::transactional(7, 0, vec![build::commit(at, "g", "orders", 0, 1)]);
        Setup::batches(before.into_iter().chain([last]).collect()).now(T0 + DAY)
    };
    let ended = vec![
        Bat::transactional(7, 0, vec![build::commit(0, "g", "orders", 0, 1)]),
        Bat::marker(build::Ending::Abort, 1, T0, 7, 0),
    ];
    let at = |offset: i64| {
        Setup::batches(vec![Bat::of(vec![build::commit(0, "g", "orders", 0, offset)])])
            .file("ends.csv", "orders,0,10,100\n")
            .args(&["--log-ends", "ends.csv"])
    };
    for (code, old, same, new) in [
        ("hanging-transaction", open(vec![], 0), open(vec![], 0).now(T0 + 2 * DAY), open(ended, 2)),
        ("offset-out-of-range", at(5), at(6), at(500)),
    ] {
        let base = old.path().join("base.jsonl");
        let lines: Vec<_> = old.findings().iter().map(Value::to_string).collect();
        std::fs::write(&base, lines.join("\n")).unwrap();
        for (setup, left) in [(same, 0), (new, 1)] {
            let args: Vec<_> =
                setup.given().iter().map(String::as_str).chain(["--baseline", base.to_str().unwrap()]).collect();
            assert_eq!(of(&setup.args(&args).findings(), code).len(), left, "{code}");
        }
    }
}

/// Damage is not left out because it is no group's, nor what is about several groups.
#[test]
fn what_puts_a_group_in_doubt_is_told_with_it() {
    let broken = Setup::batches((0..3).map(|at| Bat::of(vec![build::commit(at, "g", "orders", 0, at)])).collect())
        .changed(|bytes| bytes[80] ^= 1);
    let both = vec![build::commit(0, "a", "orders", 0, 1), build::commit(1, "b", "orders", 0, 1)];
    let open = Setup::batches(vec![Bat::transactional(7, 0, both)]).now(T0 + DAY);
    for (setup, group, code) in [(&broken, "g", "not-replayed"), (&open, "b", "hanging-transaction")] {
        let findings = setup.args(&["--group", group]).findings();
        assert_eq!(of(&findings, code).len(), 1, "{findings:#?}");
    }
    assert!(of(&open.args(&["--group", "c"]).findings(), "hanging-transaction").is_empty());
    let path = open.path().to_str().unwrap();
    let nobody = setup::run(open.path(), ["audit", "--group", "c", path]);
    assert!(nobody.stderr.contains("no such group"), "{}", nobody.stderr);
    let all = setup::run(open.path(), ["audit", "--group", "c", "--only", "group-family", path]);
    assert_eq!(all.status, 2);
}

#[test]
fn a_transaction_that_aborts_is_no_rewind() {
    let (aborted, committed) = cases::rewinds_in_transactions();
    assert!(of(&aborted.findings(), "offset-rewind").is_empty());
    assert_eq!(of(&committed.findings(), "offset-rewind").len(), 1);
}

/// A table shows one command of a code, and says that there are others.
#[test]
fn several_commands_are_told() {
    let of = |producer: i64, at: i64| Bat::transactional(producer, 0, vec![build::commit(at, "g", "orders", 0, at)]);
    for (producers, told) in [(1, false), (2, true)] {
        let setup = Setup::batches((0..producers).map(|i| of(i, i)).collect());
        let path = setup.path().to_str().unwrap();
        let now = (T0 + DAY).to_string();
        let said = setup::run(setup.path(), ["audit", "--now", &now, path]).stdout;
        assert_eq!(said.contains("    and 1 command more: -v\n"), told, "{said}");
        assert_eq!(said.matches(" abort ").count(), 1, "{said}");
        let all = setup::run(setup.path(), ["audit", "-v", "--now", &now, path]).stdout;
        assert_eq!(all.matches(" abort ").count() as i64, producers, "{all}");
    }
}

#[test]
fn explain_tells_every_code() {
    let list = setup::run(Path::new("."), ["explain"]);
    assert_eq!(list.status, 0);
    for code in Code::ALL {
        assert!(list.stdout.contains(code.name()), "{}", code.name());
        let one = setup::run(Path::new("."), ["explain", code.name()]);
        assert_eq!(one.status, 0);
        for section in ["What it means", "How it comes about", "What to do", "Where it applies", code.severity().name()]
        {
            assert!(one.stdout.contains(section), "{section} in {}", one.stdout);
        }
    }
    let json: Vec<Value> =
        serde_json::from_str(&setup::run(Path::new("."), ["explain", "--format", "json"]).stdout).unwrap();
    assert_eq!(json.len(), Code::ALL.len());
    assert_eq!(setup::run(Path::new("."), ["explain", "no-such-code"]).status, 2);
}

#[test]
fn explain_names_the_codes_that_only_salvage_has() {
    for code in ["log-cut", "diverged", "contradicted"] {
        let output = common::grouplog(Path::new("."), ["explain", code]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("'{code}' is a code of 'salvage'")), "{said}");
    }
}

fn codes(findings: &[Value]) -> BTreeSet<String> {
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// What was put into the recorded logs on purpose: exhibit (a part of its name, or any), code, group (or any), why.
const ON_PURPOSE: &[(&str, &str, Option<&str>, &str)] = &[
    ("classic", "absurd-offset", Some("meta"), "a commit of Long.MAX_VALUE, as its README says"),
    ("", "absurd-offset", Some("simple"), "the museum commits Long.MAX_VALUE in its group 'simple'"),
    ("3.7", "preview-schema", None, "consumer groups of the preview"),
    ("4.0", "preview-schema", None, "share groups of the early access"),
];

#[test]
fn sound_exhibits_are_clean() {
    let mut used = BTreeSet::new();
    let mut log_dirs = 0;
    for exhibit in common::exhibits() {
        for log_dir in exhibit.log_dirs() {
            let path = exhibit.dir.join(&log_dir);
            let info = setup::run(&path, ["info", "--format", "json", "."]);
            let info: Vec<Value> = serde_json::from_str(&info.stdout).unwrap();
            // A log of magic 0 has no times; then now is a day after the broker of the museum ran.
            let now =
                info.iter().filter_map(|partition| partition["lastTimestamp"].as_i64()).max().unwrap_or(-1).max(0);
            let now = now.to_string();
            let said = setup::run(&path, ["audit", "--now", &now, "--retention", "7d", "--format", "jsonl", "."]);
            for finding in said.findings().iter().filter(|finding| finding["severity"] != "info") {
                let allowed = ON_PURPOSE.iter().position(|(name, code, group, _)| {
                    exhibit.name.contains(name)
                        && finding["code"] == *code
                        && group.is_none_or(|it| finding["group"] == it)
                });
                let Some(allowed) = allowed else { panic!("{} {log_dir}: {finding}", exhibit.name) };
                used.insert(allowed);
            }
            assert!([0, 3].contains(&said.status), "{}", said.stderr);
            log_dirs += 1;
        }
    }
    println!("{log_dirs} log dirs are clean but for:");
    for (name, code, group, why) in ON_PURPOSE {
        println!("  {:<10} {code:<16} {:<8} {why}", if name.is_empty() { "*" } else { name }, group.unwrap_or("*"));
    }
    assert!(log_dirs >= 19);
    if common::golden().is_some() {
        assert_eq!(used.len(), ON_PURPOSE.len(), "something is allowed that does not occur: {used:?}");
    }
}
