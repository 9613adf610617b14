//! The proof against real brokers: exhibit × policy × release. Each policy's output is put under a broker as it is, and
//! the broker's answers must be what `describe` says of it; and where the policy changes no meaning, what a broker of
//! that release says of the input.
//!
//! One broker answers for all exhibits, which are made one log before: [`prepare`]. A row of the printed table is an
//! exhibit, a column a policy: how many groups were the same, or how many facts were not.
//!
//!     GROUPLOG_PROOF=all cargo test --test proof -- --nocapture
//!
//! prints it for all releases, policies and exhibits, in half an hour (of 2.8, a broker with its ZooKeeper), and
//! GROUPLOG_PROOF=4.0.0 for one release; without the variable it is the newest release, every policy at once, and the
//! exhibits of fixtures/. Needs a JDK, jq, python3 and Kafka's jars
//! (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "proof/policy.rs"]
mod policy;
#[path = "proof/prepare.rs"]
mod prepare;
#[path = "common/rewritten.rs"]
mod rewritten;

use common::facts::{self, Difference, Facts};
use common::told::{Told, described, load_lines};
use common::{grouplog, kafka};
use policy::{Applied, Policy};
use prepare::{All, Prepared, merged};
use rewritten::describe_with;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A release that is asked.
struct Release {
    /// The broker that is started.
    version: &'static str,
    /// As `--target` and `verify` name it.
    coordinator: &'static str,
    /// As `describe` wants it.
    options: &'static [&'static str],
    policies: &'static [Policy],
    /// Left out of the logs.
    without: &'static [&'static str],
}

/// Share groups were a preview in 4.0, whose coordinator does not load what its own cleaner leaves of one that was deleted:
/// tombstones, when what they are about is gone ("Share group not found").
const SHARE_GROUPS: &[&str] = &[
    "--drop-type",
    "9",
    "--drop-type",
    "10",
    "--drop-type",
    "11",
    "--drop-type",
    "12",
    "--drop-type",
    "13",
    "--drop-type",
    "14",
    "--drop-type",
    "15",
];

const RELEASES: &[Release] = &[
    Release { version: "4.4.0", coordinator: "4.4", options: &[], policies: Policy::ALL, without: &[] },
    Release {
        version: "4.0.0",
        coordinator: "4.0.0",
        options: &["--as-broker", "4.0"],
        policies: Policy::ALL,
        without: SHARE_GROUPS,
    },
    Release {
        version: "3.9.2",
        coordinator: "3.9",
        options: &["--as-broker", "3.9"],
        policies: Policy::ALL,
        without: &[],
    },
    Release {
        version: "2.8.2",
        coordinator: "2.8",
        options: &["--as-broker", "2.8"],
        policies: &[Policy::Target],
        without: &[],
    },
];

const SHORT: &Release =
    &Release { version: "4.4.0", coordinator: "4.4", options: &[], policies: &[Policy::Together], without: &[] };

/// What a broker says of a log dir, and what is not as it should be.
struct Answer {
    facts: Facts,
    /// What the newest rules make of the input.
    newest: Facts,
    told: Told,
    /// Where `describe` says something else.
    wrong: Vec<Difference>,
}

/// The broker has the topics that the input names, under the names that they are given.
fn ask(release: &Release, input: &Path, applied: &Applied) -> Answer {
    let topics = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(topics.path(), topics_of(&describe_with(input, release.options), applied).to_string()).unwrap();
    let settings = [format!("partitions={}", applied.partitions), format!("truth={}", topics.path().display())];
    let log_dir = applied.log_dir();
    let back = kafka::load_back(release.version, log_dir, &settings);
    // Releases up to 3.9 count nothing, and 4.0 does not count records of types that it does not know.
    if release.options.is_empty() {
        assert_eq!(back.lines, load_lines(log_dir), "{}", log_dir.display());
    }
    let told = Told::of(&back.truth);
    let (ours, _) = described(log_dir, &told, release.options);
    let (differences, _) = facts::compare(&told.facts, &ours);
    // A broker has an empty list where the log has no record of it.
    let is_told = |it: &Difference| (it.truth.as_str(), it.ours.as_str()) != ("", "(not told)");
    let is_right = |it: &Difference| told.explains(it) || !is_told(it) || lacks_topics(it) || is_hidden(it, log_dir);
    let wrong = differences.into_iter().filter(|it| !is_right(it)).collect();
    let newest = facts::of_describe(&Value::Array(describe_with(input, &[])));
    Answer { facts: told.facts.clone(), newest, told, wrong }
}

impl Answer {
    /// A tombstone that meets another producer's pending commit: coordinators up to 3.9 let the end of its transaction
    /// bring the offset back, until their own cleaner takes the commit away, which the tombstone overrules. To newer ones
    /// it was gone before.
    fn is_gone_to_newer(&self, difference: &Difference) -> bool {
        let Some(place) = difference.what.strip_prefix("offset ").filter(|_| difference.ours == "none") else {
            return false;
        };
        let group = self.newest.get(&difference.group);
        !group.and_then(|it| it.offsets.as_ref()).is_some_and(|offsets| offsets.contains_key(place))
    }
}

/// A streams group is not ready where topics of its topology are not there, as those that the log does not name with their
/// ids are not.
fn lacks_topics(difference: &Difference) -> bool {
    let Difference { what, truth, ours, .. } = difference;
    (what.as_str(), truth.as_str(), ours.as_str()) == ("state", "NotReady", "Stable")
}

/// A coordinator of 4.x forgets a group whose tombstone stands behind its commits, as 0.9 wrote them, though not the
/// offsets, which `describe` shows: the next commit makes the group again, with all of them.
fn is_hidden(difference: &Difference, log_dir: &Path) -> bool {
    if (difference.what.as_str(), difference.truth.as_str(), difference.ours.as_str()) != ("listed", "not", "listed") {
        return false;
    }
    let output = grouplog(log_dir, ["dump", "--group", &difference.group, "."]);
    let records = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    last["key"]["type"] == json!(2) && last["value"].is_null()
}

/// Names and ids of topics, as `loadback` wants them: each with more partitions than any log names. One that the log holds
/// only as an id gets a name, so that the broker knows it too.
fn topics_of(groups: &[Value], applied: &Applied) -> Value {
    fn collect<'v>(value: &'v Value, names: &mut BTreeMap<&'v str, Option<&'v str>>) {
        if let Some(id) = value["topicId"].as_str() {
            let name = names.entry(id).or_default();
            *name = name.or(value["topic"].as_str());
        }
        match value {
            Value::Object(map) => map.values().for_each(|it| collect(it, names)),
            Value::Array(all) => all.iter().for_each(|it| collect(it, names)),
            _ => {}
        }
    }
    let mut names = BTreeMap::new();
    groups.iter().for_each(|group| collect(group, &mut names));
    let topic = |(id, name): (&str, Option<&str>)| {
        let name = name.map_or(format!("unnamed-{id}"), |name| applied.topic(name).to_owned());
        (name, json!({"id": id, "partitions": 16}))
    };
    json!({"topics": names.into_iter().map(topic).collect::<serde_json::Map<_, _>>()})
}

/// Whose a group is that no exhibit has.
const NOBODY: &str = "nobody's";

/// One cell: an exhibit under a policy.
#[derive(Default)]
struct Cell {
    groups: usize,
    /// Differences, in words.
    wrong: Vec<String>,
}

/// Holds the broker's answer against `describe`, and against its answer before, group by group.
fn cells(applied: &Applied, answer: &Answer, before: Option<&Answer>, all: &[&Prepared]) -> BTreeMap<String, Cell> {
    let exhibit_of = |group: &str| {
        let old = applied.old_name(group);
        all.iter().find(|it| it.groups.contains(old)).map_or(NOBODY, |it| it.name.as_str()).to_owned()
    };
    let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
    for group in answer.facts.keys() {
        cells.entry(exhibit_of(group)).or_default().groups += 1;
    }
    // Shells, of which nothing is left to describe.
    cells.retain(|name, _| name != NOBODY);
    for it in &answer.wrong {
        cells.entry(exhibit_of(&it.group)).or_default().wrong.push(format!("describe: {it}"));
    }
    let Some(before) = before else { return cells };
    let expected = applied.renamed(&before.facts);
    let (differences, _) = facts::compare(&expected, &answer.facts);
    let is_right = |it: &Difference| before.told.explains(it) || applied.is_compacted && before.is_gone_to_newer(it);
    for it in differences.iter().filter(|it| !is_right(it) && applied.is_kept(it)) {
        cells.entry(exhibit_of(&it.group)).or_default().wrong.push(format!("before, it was: {it}"));
    }
    cells
}

/// A table of a release, column by column.
#[derive(Default)]
struct Table {
    columns: Vec<(String, BTreeMap<String, Cell>)>,
}

impl Table {
    fn print(&self, release: &Release, names: &[&str]) {
        let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
        let heads: Vec<_> = self.columns.iter().map(|(head, _)| format!("{head:>12}")).collect();
        println!("\n{:width$} {}", format!("Kafka {}", release.version), heads.join(" "));
        for name in names {
            let cells = self.columns.iter().map(|(_, cells)| match cells.get(*name) {
                None => format!("{:>12}", "-"),
                Some(cell) if cell.wrong.is_empty() => format!("{:>12}", format!("{} same", cell.groups)),
                Some(cell) => format!("{:>12}", format!("{} WRONG", cell.wrong.len())),
            });
            println!("{name:width$} {}", cells.collect::<Vec<_>>().join(" "));
        }
    }

    fn wrong(&self) -> Vec<String> {
        let of = |(head, cells): &(String, BTreeMap<String, Cell>)| {
            let lines = cells.iter().flat_map(|(name, cell)| cell.wrong.iter().map(move |it| format!("{name}: {it}")));
            lines.map(|line| format!("{head}, {line}")).collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(of).collect()
    }
}

fn prove(release: &Release, all: &All) -> Table {
    let everything: Vec<&Prepared> = all.0.iter().collect();
    let fit: Vec<&Prepared> = all.0.iter().filter(|it| it.loads(release.coordinator)).collect();
    let input = merged(&fit, release.without);
    let as_it_is = Applied::nothing(&input.out);
    let before = ask(release, &input.out, &as_it_is);
    let mut table = Table::default();
    table.columns.push(("as it is".to_owned(), cells(&as_it_is, &before, None, &fit)));
    for policy in release.policies {
        let there = if policy.makes_loadable() { &everything } else { &fit };
        let input = merged(there, release.without);
        let applied = policy.apply(&input.out, there, release.coordinator);
        let answer = ask(release, &input.out, &applied);
        table.columns.push((policy.name().to_owned(), cells(&applied, &answer, Some(&before), there)));
    }
    let names: Vec<_> = all.0.iter().map(|it| it.name.as_str()).collect();
    table.print(release, &names);
    table.wrong().iter().for_each(|line| println!("{line}"));
    table
}

#[test]
fn brokers_say_of_the_output_what_we_say() {
    let asked = std::env::var("GROUPLOG_PROOF").ok();
    let is_asked = |release: &&Release| asked.as_ref().is_some_and(|it| it == "all" || it == release.version);
    let releases: Vec<_> = match asked {
        Some(_) => RELEASES.iter().filter(is_asked).collect(),
        None => vec![SHORT],
    };
    assert!(!releases.is_empty(), "GROUPLOG_PROOF is no release that is asked: {asked:?}");
    if !kafka::ready(&releases.iter().map(|it| it.version).collect::<Vec<_>>()) {
        return;
    }
    let all = All::prepare(asked.is_some());
    let wrong: Vec<_> = releases.into_iter().flat_map(|release| prove(release, &all).wrong()).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
