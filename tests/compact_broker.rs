//! Against a real broker: it loads what `compact` made of real logs, and says what `describe` reads from it, and from the
//! log before.
//!
//! Needs a JDK, jq, python3 and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::kafka;
use common::told::{Told, described, load_lines};
use common::{facts, grouplog, names_in};
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Fails unless `describe` says of a log dir what the broker said; gives how much was compared.
fn assert_agree(what: &str, log_dir: &Path, told: &Told) -> facts::Counts {
    let (ours, _) = described(log_dir, told, &[]);
    let (differences, counts) = facts::compare(&told.facts, &ours);
    let left: Vec<_> = differences.iter().filter(|it| !told.explains(it)).map(ToString::to_string).collect();
    assert!(left.is_empty(), "{what}: {} differences:\n{}", left.len(), left.join("\n"));
    counts
}

/// Kafka's own tool finds every batch of every segment sound.
fn assert_sound(log_dir: &Path) -> usize {
    let mut files = Vec::new();
    for folder in names_in(log_dir).iter().filter(|name| name.starts_with("__consumer_offsets-")) {
        let folder = log_dir.join(folder);
        files.extend(names_in(&folder).iter().filter(|name| name.ends_with(".log")).map(|name| folder.join(name)));
    }
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker/kafka");
    let mut command = Command::new(script);
    command.args(["run", "4.4.0", "dump-log", "--deep-iteration", "--files", &files.join(",")]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let batches: Vec<_> = said.lines().filter(|line| line.starts_with("baseOffset:")).collect();
    batches.iter().for_each(|line| assert!(line.contains("isvalid: true"), "{line}"));
    batches.len()
}

#[test]
fn a_broker_loads_what_was_compacted_and_says_what_it_said_before() {
    if !kafka::ready(&["4.4.0"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut sound = 0;
    for name in ["tx", "classic", "consumer", "share", "streams", "cleaned/short-after"] {
        let old = fixture(name).join("log");
        let new = dir.path().join(name.replace('/', "-"));
        let mut args = vec!["compact", "--include-active", "--force-past-open-transactions", "--out"];
        let (out, from) = (new.display().to_string(), old.display().to_string());
        args.extend([out.as_str(), from.as_str()]);
        let output = grouplog(Path::new("."), args);
        assert!(output.status.success(), "{name}: {output:?}");
        sound += assert_sound(&new);
        let truth = fixture(name).join("truth.json");
        let back = kafka::load_back("4.4.0", &new, &[format!("truth={}", truth.display())]);
        let told = Told::of(&back.truth);
        let counts = assert_agree(&format!("{name}, compacted"), &new, &told);
        assert_agree(&format!("{name}, as it was"), &old, &told);
        assert_eq!(back.lines, load_lines(&new), "{name}");
        println!("{name}: {counts}");
    }
    println!("{sound} batches are sound to Kafka's own tool");
    assert!(sound > 250, "{sound}");
}
