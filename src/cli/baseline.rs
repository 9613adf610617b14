//! Findings of an earlier run, so that only what is new need be told.
//!
//! Two findings are the same if they have one code and concern the same thing: partition, group, and what the facts name of
//! topic, member, producer and the like. Numbers and places may have changed, but one that has become worse is new, and so is
//! one more that concerns the same, as of a replica. Must not know: what any code means.

use crate::audit::{Code, Severity};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
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
    /// By what they concern, how bad they were. Each stands for one finding only.
    known: RefCell<HashMap<String, Vec<Severity>>>,
}

impl Baseline {
    /// Reads what `--format jsonl` wrote.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is no finding.
    pub fn read(path: &Path) -> Result<Baseline> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut known: HashMap<_, Vec<_>> = HashMap::new();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(finding) if finding["code"].is_string() => {
                    known.entry(identity(&finding)).or_default().push(severity(&finding));
                }
                _ => bail!("{}: line {} is no finding: give what --format jsonl wrote", path.display(), i + 1),
            }
        }
        Ok(Baseline { known: RefCell::new(known) })
    }

    /// Whether a finding was there, and no better: then it is taken out.
    pub fn takes(&self, finding: &Value) -> bool {
        let mut known = self.known.borrow_mut();
        let Some(alike) = known.get_mut(&identity(finding)) else { return false };
        let bad_enough = (0..alike.len()).filter(|i| alike.get(*i) >= Some(&severity(finding)));
        match bad_enough.min_by_key(|i| alike.get(*i)) {
            Some(i) => {
                alike.swap_remove(i);
                true
            }
            None => false,
        }
    }
}

/// What is not known counts as the least.
fn severity(finding: &Value) -> Severity {
    let all = [Severity::Info, Severity::Warning, Severity::Error];
    all.into_iter().find(|it| finding["severity"] == it.name()).unwrap_or(Severity::Info)
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
        let old = json!({"code": "c", "severity": "warning", "partition": 1, "group": "g", "offset": 4, "facts": {"topic": "t", "ageMs": 5}});
        std::fs::write(file.path(), format!("{old}\n\n")).unwrap();
        let knows = |finding: &Value| Baseline::read(file.path()).unwrap().takes(finding);
        let new = |path: &str, value: Value| {
            let mut finding = old.clone();
            *finding.pointer_mut(path).unwrap() = value;
            !knows(&finding)
        };
        assert!(!new("/offset", json!(5)) && !new("/facts/ageMs", json!(6)));
        assert!(new("/partition", json!(2)) && new("/group", json!("h")) && new("/facts/topic", json!("u")));
        // Worse is new, better is not; and one more of the same is.
        assert!(new("/severity", json!("error")) && !new("/severity", json!("info")));
        let baseline = Baseline::read(file.path()).unwrap();
        assert!(baseline.takes(&old) && !baseline.takes(&old));
        let more = |count| json!({"code": Code::More.name(), "partition": 1, "group": null, "facts": {"of": "c", "count": count}});
        std::fs::write(file.path(), more(5).to_string()).unwrap();
        assert!(knows(&more(5)) && !knows(&more(6)));
        std::fs::write(file.path(), "{}\n").unwrap();
        assert!(Baseline::read(file.path()).is_err());
    }
}
