//! Findings of an earlier run, so that only what is new need be told.
//!
//! Two findings are the same if they have one code and concern the same thing: partition, group, and what the facts name of
//! topic, member, producer and the like. Numbers and places may have changed. Must not know: what any code means.

use crate::audit::Code;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// Facts that say what a finding is about.
const NAMES: [&str; 14] = [
    "topic",
    "topicPartition",
    "partitions",
    "side",
    "member",
    "instanceId",
    "producerId",
    "pattern",
    "type",
    "shape",
    "kind",
    "rule",
    "live",
    "of",
];

/// What an earlier run found.
#[derive(Debug, Default)]
pub struct Baseline {
    known: HashSet<String>,
}

impl Baseline {
    /// Reads what `--format jsonl` wrote.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is no finding.
    pub fn read(path: &Path) -> Result<Baseline> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut known = HashSet::new();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(finding) if finding["code"].is_string() => drop(known.insert(identity(&finding))),
                _ => bail!("{}: line {} is no finding: give what --format jsonl wrote", path.display(), i + 1),
            }
        }
        Ok(Baseline { known })
    }

    /// Whether a finding was there.
    pub fn knows(&self, finding: &Value) -> bool {
        self.known.contains(&identity(finding))
    }
}

fn identity(finding: &Value) -> String {
    let facts = NAMES.iter().map(|name| &finding["facts"][*name]);
    // What counts those that are not listed stands for other ones when it counts more.
    let more = &finding["facts"][if finding["code"] == Code::More.name() { "count" } else { "" }];
    // A producer's next transaction is another one.
    let begun = &finding["facts"][if finding["facts"]["producerId"].is_null() { "" } else { "firstOffset" }];
    let parts = [&finding["code"], &finding["partition"], &finding["group"], more, begun].into_iter().chain(facts);
    parts.map(Value::to_string).collect::<Vec<_>>().join("\u{1f}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_places_do_not_count() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let old = json!({"code": "c", "partition": 1, "group": "g", "offset": 4, "facts": {"topic": "t", "ageMs": 5}});
        std::fs::write(file.path(), format!("{old}\n\n")).unwrap();
        let baseline = Baseline::read(file.path()).unwrap();
        let new = |path: &str, value: Value| {
            let mut finding = old.clone();
            *finding.pointer_mut(path).unwrap() = value;
            !baseline.knows(&finding)
        };
        assert!(!new("/offset", json!(5)) && !new("/facts/ageMs", json!(6)));
        assert!(new("/partition", json!(2)) && new("/group", json!("h")) && new("/facts/topic", json!("u")));
        let more = |count| json!({"code": Code::More.name(), "partition": 1, "group": null, "facts": {"of": "c", "count": count}});
        std::fs::write(file.path(), more(5).to_string()).unwrap();
        let baseline = Baseline::read(file.path()).unwrap();
        assert!(baseline.knows(&more(5)) && !baseline.knows(&more(6)));
        std::fs::write(file.path(), "{}\n").unwrap();
        assert!(Baseline::read(file.path()).is_err());
    }
}
