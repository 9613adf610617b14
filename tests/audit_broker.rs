//! Against Kafka's own tools and a real broker: every option of every command that `audit` prints exists, and the commands
//! do what the finding promises.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::kafka::{self, Broker};
use grouplog::audit::Code;
use grouplog::audit::commands::Commands;
use grouplog::model::view::GroupType;
use serde_json::Value;
use std::path::Path;

/// The tools by their short names, and the releases to ask; groups of the newer kinds have tools of their own since 4.1.
const TOOLS: [(&str, &str, &[&str]); 6] = [
    ("kafka-consumer-groups.sh", "consumer-groups", &["4.4.0", "3.9.2", "2.8.2"]),
    ("kafka-share-groups.sh", "share-groups", &["4.4.0"]),
    ("kafka-streams-groups.sh", "streams-groups", &["4.4.0"]),
    ("kafka-transactions.sh", "transactions", &["4.4.0", "3.9.2"]),
    ("kafka-topics.sh", "topics", &["4.4.0", "3.9.2", "2.8.2"]),
    ("kafka-configs.sh", "configs", &["4.4.0", "3.9.2"]),
];

/// Every command that can be printed, but for its names.
fn printed() -> Vec<String> {
    let commands = Commands::default();
    let kinds = [GroupType::Classic, GroupType::Consumer, GroupType::Share, GroupType::Streams];
    let mut all: Vec<_> = kinds.iter().filter_map(|kind| commands.delete(*kind, b"g")).collect();
    for kind in kinds.into_iter().filter(|kind| *kind != GroupType::Share) {
        all.push(commands.delete_offsets(kind, b"g", b"t", &[0]));
        all.extend(commands.commit_anew(kind, b"g", b"t", &[(0, 1)]));
        all.extend(["--to-earliest", "--to-latest"].map(|to| commands.reset(kind, b"g", b"t", &[0], to)));
    }
    all.push(commands.forget_topic(b"t", 1));
    all.push(commands.abort(0, 0));
    all.push(commands.abort_of_producer(0, 0, 0, 0));
    all.push(commands.delete_family("a", 1));
    // Those in the catalogue.
    all.extend(Code::ALL.iter().map(|code| code.next_step().to_owned()));
    all
}

/// Tool, word behind it that is no option (as `abort`), and options, of each call of a tool in a text.
fn calls(text: &str) -> Vec<(&'static str, Option<String>, Vec<String>)> {
    let mut calls: Vec<(&'static str, Option<String>, Vec<String>)> = Vec::new();
    let mut is_call = false;
    for word in text.split_whitespace() {
        let word = word.trim_matches(['\'', '.', ',', ':']);
        if let Some((tool, ..)) = TOOLS.iter().find(|(tool, ..)| *tool == word) {
            calls.push((tool, None, Vec::new()));
            is_call = true;
        } else if word == "grouplog" {
            is_call = false;
        } else if let Some((tool, verb, options)) = calls.last_mut().filter(|_| is_call) {
            match word {
                "abort" if *tool == "kafka-transactions.sh" => *verb = Some(word.to_owned()),
                word if word.starts_with("--") => options.push(word.to_owned()),
                _ => {}
            }
        }
    }
    calls
}

#[test]
fn every_option_exists() {
    let calls: Vec<_> = printed().iter().flat_map(|text| calls(text)).collect();
    for (tool, short, releases) in TOOLS {
        let mut verbs: Vec<_> = calls.iter().filter(|call| call.0 == tool).map(|call| call.1.as_deref()).collect();
        assert!(!verbs.is_empty(), "{tool} is in no command");
        verbs.sort_unstable();
        verbs.dedup();
        for release in releases {
            if !kafka::ready(&[release]) {
                continue;
            }
            for verb in &verbs {
                let of_verb: Vec<_> = verb.map(|verb| vec!["--bootstrap-server", "x:1", verb]).unwrap_or_default();
                let help = kafka::help(release, short, &of_verb);
                let known: Vec<_> = help.split(|c: char| c.is_whitespace() || "[],".contains(c)).collect();
                let mut asked = 0;
                for option in calls.iter().filter(|it| it.0 == tool && it.1.as_deref() == *verb).flat_map(|it| &it.2) {
                    assert!(known.contains(&option.as_str()), "{tool} {verb:?} of {release} has no {option}:\n{help}");
                    asked += 1;
                }
                println!("{tool} {} of {release}: {asked} options", verb.unwrap_or_default());
            }
        }
    }
}

/// What `audit` says of a copy of the log.
struct Audit<'b> {
    broker: &'b Broker,
    dir: tempfile::TempDir,
}

impl Audit<'_> {
    fn findings(&self, later_ms: u128, args: &[&str]) -> Vec<Value> {
        let log = self.dir.path().join("log");
        self.broker.snapshot(&log);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + later_ms;
        let (now, address) = (now.to_string(), self.broker.address());
        let fixed = ["audit", "--format", "jsonl", "--now", &now, "--bootstrap-server", &address];
        let words = fixed.iter().chain(args).copied().chain([log.to_str().unwrap()]);
        let output = common::grouplog(self.dir.path(), words);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only finding of a code and group.
    fn the(&self, later_ms: u128, args: &[&str], code: &str, group: &str) -> Value {
        let all = self.findings(later_ms, args);
        let found: Vec<_> = all.iter().filter(|it| it["code"] == code && it["group"] == group).collect();
        assert_eq!(found.len(), 1, "{code} of {group}: {all:#?}");
        found[0].clone()
    }

    /// Runs the command of a finding, and checks that the finding is gone.
    fn mended(&self, later_ms: u128, args: &[&str], code: &str, group: &str) {
        let finding = self.the(later_ms, args, code, group);
        let command = finding["facts"]["command"].as_str().unwrap();
        println!("{code}: {command}");
        for command in command.split(" && ") {
            let words: Vec<_> = command.split(' ').collect();
            let (_, short, _) = TOOLS.iter().find(|(tool, ..)| *tool == words[0]).unwrap();
            self.broker.tool(short, &words[1..]);
        }
        // A topic is deleted, and its offsets forgotten, a little later.
        for _ in 0..20 {
            let left = self.findings(later_ms, args);
            if !left.iter().any(|it| it["code"] == code && it["group"] == group) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        panic!("{code} of {group} is still there after {command}");
    }
}

/// Gives a command to a shell, as it stands, which finds Kafka's tool in its path.
fn run_as_printed(broker: &Broker, command: &str) {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker/kafka");
    let tool = dir.path().join("kafka-consumer-groups.sh");
    let text = format!("#!/bin/sh\nexec '{}' run {} consumer-groups \"$@\"\n", script.display(), broker.version());
    std::fs::write(&tool, text).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let grouplog = Path::new(env!("CARGO_BIN_EXE_grouplog")).parent().unwrap();
    let path = format!("{}:{}:{}", dir.path().display(), grouplog.display(), std::env::var("PATH").unwrap());
    let output = std::process::Command::new("bash").env("PATH", path).args(["-c", command]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

const HOUR: u128 = 3_600_000;

#[test]
fn the_commands_do_what_they_say() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let broker = Broker::start("4.4.0", &["offsets.topic.num.partitions=4"]);
    drop(broker.drive(&["topics", "simple:reader:x:3", "simple:old:x:1"]));
    // Offsets that no broker would accept: of a topic and of a partition that are not there, behind the end.
    broker.restarted(|data| {
        let out = data.with_file_name("edited");
        let sets = ["reader/gone/2=5", "reader/orders/99=5", "reader/orders/1=1000000"];
        let sets = sets.iter().flat_map(|set| ["--set-offset", set]);
        let paths = [data.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let output = common::grouplog(Path::new("."), ["rewrite"].into_iter().chain(sets).chain(paths));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for folder in common::names_in(&out).iter().filter(|name| name.starts_with("__consumer_offsets-")) {
            std::fs::remove_dir_all(data.join(folder)).unwrap();
            std::fs::rename(out.join(folder), data.join(folder)).unwrap();
        }
    });
    let audit = Audit { broker: &broker, dir: tempfile::tempdir().unwrap() };
    let address = broker.address();
    let ends = broker.tool("offsets", &["--bootstrap-server", &address]);
    std::fs::write(audit.dir.path().join("ends.txt"), &ends).unwrap();
    let partitions = ends.lines().filter(|line| line.starts_with("orders:")).count();
    std::fs::write(audit.dir.path().join("topics.csv"), format!("orders,,{partitions}\n")).unwrap();
    let lists = ["--log-ends", "ends.txt", "--topics", "topics.csv"];

    audit.mended(0, &lists, "offset-out-of-range", "reader");
    audit.mended(0, &lists, "topic-gone", "reader");
    // For the other one there is no command, as the broker refuses every one.
    let none = audit.the(0, &lists, "partition-gone", "reader");
    assert!(none["facts"]["command"].is_null(), "{none}");
    let refused = ["--bootstrap-server", &address, "--delete-offsets", "--group", "reader", "--topic", "orders:99"];
    let said = broker.tool("consumer-groups", &refused);
    assert!(said.contains("UnknownTopicOrPartition"), "{said}");

    // A commit anew is not due for removal any more. The clock of the audit is the broker's but for what is asked.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let aged = broker.truth();
    assert!(aged["groups"]["old"].is_object(), "{aged:#}");
    let expired = audit.the(HOUR, &["--retention", "1h"], "expired-offsets", "old");
    let before = expired["facts"]["lastCommit"].as_i64().unwrap();
    run_as_printed(&broker, expired["facts"]["command"].as_str().unwrap());
    let expired = audit.the(HOUR, &["--retention", "1h"], "expired-offsets", "old");
    assert!(expired["facts"]["lastCommit"].as_i64().unwrap() > before, "{expired}");

    // What the broker has removed meanwhile comes back as it was, and not as the end of the partition.
    let committed = broker.truth()["groups"]["old"]["offsets"].clone();
    let again = audit.the(HOUR, &["--retention", "1h"], "expired-offsets", "old");
    let delete = ["--bootstrap-server", &address, "--delete", "--group", "old"];
    broker.tool("consumer-groups", &delete);
    assert!(broker.truth()["groups"]["old"].is_null());
    run_as_printed(&broker, again["facts"]["command"].as_str().unwrap());
    let offset = |offsets: &Value| offsets.to_string().matches("\"offset\":0").count();
    assert!(offset(&committed) > 0, "{committed}");
    assert_eq!(offset(&broker.truth()["groups"]["old"]["offsets"]), offset(&committed));

    // A family: its silent groups are deleted, and no other.
    drop(
        broker.drive(
            &(0..24)
                .map(|i| format!("simple:job-{i}:x:1"))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        ),
    );
    let family = audit.findings(2 * HOUR, &["--stale-after", "1h"]);
    let family = family.iter().find(|it| it["code"] == "group-family").unwrap();
    run_as_printed(&broker, family["facts"]["command"].as_str().unwrap());
    let left = broker.truth();
    let left: Vec<_> = left["groups"].as_object().unwrap().keys().cloned().collect();
    assert!(!left.iter().any(|name| name.starts_with("job-")) && left.contains(&"old".to_owned()), "{left:?}");

    audit.mended(2 * HOUR, &["--stale-after", "1h"], "long-empty-group", "old");
    assert!(broker.truth()["groups"]["old"].is_null());
}
