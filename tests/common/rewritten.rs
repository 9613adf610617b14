//! Runs `rewrite`, and looks at what came of it.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use super::common::{grouplog, names_in};
use grouplog::model::digest::Digests;
use grouplog::model::load::{Loading, Until, load, log_start};
use grouplog::model::replay::Helper;
use grouplog::model::rules::{Release, Rules};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What came of it.
pub struct Rewritten {
    pub code: i32,
    pub said: String,
    /// Of rewrite.jsonl.
    pub lines: Vec<Value>,
    /// Of --log.
    pub edits: Vec<Value>,
    pub out: PathBuf,
    dir: tempfile::TempDir,
}

impl Rewritten {
    pub fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["kind"] == kind).collect()
    }

    pub fn partition(&self, number: i32) -> PathBuf {
        self.out.join(format!("__consumer_offsets-{number}"))
    }

    /// What was left beside it.
    pub fn beside(&self) -> Vec<String> {
        names_in(self.dir.path()).into_iter().filter(|name| name != "new" && name != "edits.jsonl").collect()
    }
}

/// Runs `rewrite OPTIONS --out NEW --log FILE PATHS`.
pub fn rewrite(options: &[&str], paths: &[&Path]) -> Rewritten {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new");
    let log = dir.path().join("edits.jsonl");
    let mut args = vec!["rewrite".to_owned(), "--out".to_owned(), out.display().to_string()];
    if !options.contains(&"--log") {
        args.extend(["--log".to_owned(), log.display().to_string()]);
    }
    args.extend(options.iter().map(|&option| option.to_owned()));
    args.extend(paths.iter().map(|path| path.display().to_string()));
    let output = grouplog(Path::new("."), args);
    let lines = |path: &Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    Rewritten {
        code: output.status.code().unwrap(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
        lines: lines(&out.join("rewrite.jsonl")),
        edits: lines(&log),
        out,
        dir,
    }
}

/// The digests of every partition of a log dir.
pub fn digests(log_dir: &Path) -> BTreeMap<i32, Digests> {
    let mut all = BTreeMap::new();
    for name in names_in(log_dir) {
        let Some(number) = name.strip_prefix("__consumer_offsets-").and_then(|number| number.parse().ok()) else {
            continue;
        };
        let folder = log_dir.join(&name);
        let mut paths: Vec<_> = names_in(&folder).into_iter().filter(|name| name.ends_with(".log")).collect();
        paths.sort();
        let paths: Vec<_> = paths.iter().map(|name| folder.join(name)).collect();
        let how = Loading {
            rules: Rules::of(Release::NEWEST),
            until: Until::End,
            log_start: log_start(&folder, number),
            max_inflated: 1 << 28,
            helper: Helper::None,
            wanted: &|_| true,
        };
        let state = load(&paths, &how, &mut |_| {}).unwrap();
        all.insert(number, Digests::of(&state));
    }
    all
}

/// `describe --all --format json`.
pub fn describe(log_dir: &Path) -> Vec<Value> {
    describe_with(log_dir, &[])
}

/// As [`describe`], with options.
pub fn describe_with(log_dir: &Path, options: &[&str]) -> Vec<Value> {
    let output = grouplog(log_dir, [&["describe", "--all", "--format", "json"], options, &["."]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) && said.contains("no segments") {
        return Vec::new();
    }
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", log_dir.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A group's name as a pattern of itself.
pub fn pattern_of(group: &[u8]) -> String {
    let mut pattern = String::new();
    for chunk in group.utf8_chunks() {
        for character in chunk.valid().chars() {
            if "*?[]{}\\".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        chunk.invalid().iter().for_each(|byte| pattern.push_str(&format!("\\x{byte:02x}")));
    }
    pattern
}
