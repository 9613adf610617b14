//! What a truth says, of whichever shape, and what `describe` says about the same log.

use super::facts::{self, Difference, Facts};
use super::{grouplog, museum, truth};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What a broker said.
pub struct Told {
    pub facts: Facts,
    /// Lines for `--topics`.
    topics: String,
    still_committing: Vec<String>,
}

impl Told {
    pub fn of(truth: &Value) -> Self {
        if truth["groups"].is_array() {
            let still_committing = museum::still_committing(truth);
            Told { facts: museum::facts(truth), topics: museum::topics(truth), still_committing }
        } else {
            Told { facts: truth::facts(truth), topics: truth::topics(truth), still_committing: Vec::new() }
        }
    }

    /// Whether a difference must be, whatever the log.
    pub fn explains(&self, difference: &Difference) -> bool {
        self.is_shell(difference) || self.is_later(difference)
    }

    /// A simple group whose offsets are all gone lives on in the broker's memory until it looks for expired ones. There
    /// is nothing to show of it.
    fn is_shell(&self, difference: &Difference) -> bool {
        let Some(group) = self.facts.get(&difference.group) else { return false };
        let is = |name: &str, value: &str| group.fields.get(name).is_some_and(|it| it == value);
        let none = group.offsets.as_ref().is_some_and(BTreeMap::is_empty);
        let missing = difference.what == "listed" && difference.ours == "not";
        missing && none && is("type", "classic") && is("protocolType", "") && is("state", "Empty")
    }

    /// The members of some groups went on committing while the broker was asked: their offsets in the log are the same
    /// or greater, with the metadata of the later commit.
    fn is_later(&self, difference: &Difference) -> bool {
        let offset = |text: &str| text.parse::<i64>().ok();
        let later = match difference.what.strip_prefix("offset ").and_then(|what| what.split_once(": ")) {
            Some((_, "offset")) => offset(&difference.ours) > offset(&difference.truth),
            Some((_, "metadata")) => true,
            _ => false,
        };
        later && self.still_committing.contains(&difference.group)
    }
}

/// Where the names of topics came from that records hold only as ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The log and its neighbours.
    Log,
    /// The truth.
    Truth,
}

/// What `describe` says about a log dir, as facts; with the truth's names of topics where the log has not all of them.
pub fn described(log_dir: &Path, told: &Told, options: &[&str]) -> (Facts, Names) {
    let alone = describe(log_dir, options);
    let pair = |line: &'_ str| Some((line.split(',').nth(1)?.to_owned(), line.split(',').next()?.to_owned()));
    let names: BTreeMap<_, _> = told.topics.lines().filter_map(pair).collect();
    let mut unknown = false;
    each_topic(&alone, &mut |topic| {
        let id = topic["topicId"].as_str().unwrap_or_default();
        match (topic["topic"].as_str(), names.get(id)) {
            (None, _) => unknown = true,
            // What the log taught us is what the broker says.
            (Some(ours), Some(theirs)) => assert_eq!(ours, theirs, "{}: topic {id}", log_dir.display()),
            (Some(_), None) => {}
        }
    });
    if !unknown {
        return (facts::of_describe(&alone), Names::Log);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &told.topics).unwrap();
    let path = file.path().display().to_string();
    (facts::of_describe(&describe(log_dir, &[options, &["--topics", &path]].concat())), Names::Truth)
}

fn each_topic(value: &Value, each: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(map) if map.contains_key("topicId") && map.contains_key("partitions") => each(value),
        Value::Object(map) => map.values().for_each(|it| each_topic(it, each)),
        Value::Array(all) => all.iter().for_each(|it| each_topic(it, each)),
        _ => {}
    }
}

/// `describe --all --format json` of a log dir.
pub fn describe(log_dir: &Path, options: &[&str]) -> Value {
    let output = grouplog(log_dir, [&["describe", "--all", "--format", "json"], options, &["."]].concat());
    let code = output.status.code();
    // 3: damage, which is named; the state is still what could be read.
    assert!(matches!(code, Some(0 | 3)), "{}: {code:?} {}", log_dir.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What `describe --partition-summary` says that a broker would load: partition, records, bytes.
pub fn load_lines(log_dir: &Path) -> Vec<(i32, u64, u64)> {
    let output = grouplog(log_dir, ["describe", "--all", "--partition-summary", "."]);
    let said = String::from_utf8(output.stderr).unwrap();
    let mut lines: Vec<_> = said.lines().filter_map(load_line).collect();
    lines.sort_unstable();
    lines
}

/// `...__consumer_offsets-18: a broker would load 53 records which total to 5637 bytes`.
fn load_line(line: &str) -> Option<(i32, u64, u64)> {
    let (path, loaded) = line.split_once(": a broker would load ")?;
    let (records, bytes) = loaded.split_once(" records which total to ")?;
    let partition = path.rsplit_once("__consumer_offsets-")?.1.parse().ok()?;
    Some((partition, records.parse().ok()?, bytes.strip_suffix(" bytes")?.parse().ok()?))
}
