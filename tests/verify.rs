//! `verify` on logs that real brokers wrote: nothing to say of a sound one, whatever its release, running, killed or
//! stopped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{exhibits, grouplog};
use serde_json::Value;

#[test]
fn sound_logs_are_silent() {
    let (mut log_dirs, mut partitions, mut files, mut normal) = (0, 0, 0, 0);
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let path = exhibit.dir.join(&log_dir);
            for format in ["table", "jsonl"] {
                let output = grouplog(&path, ["verify", "--format", format, "."]);
                let said = (output.status.code(), text(&output.stdout), text(&output.stderr));
                assert_eq!(said, (Some(0), String::new(), String::new()), "{} {log_dir}", exhibit.name);
            }
            // What is normal is said when it is asked for, and nothing else.
            let output = grouplog(&path, ["verify", "-v", "--format", "jsonl", "."]);
            assert_eq!(output.status.code(), Some(0));
            for line in text(&output.stdout).lines() {
                let finding: Value = serde_json::from_str(line).unwrap();
                assert_eq!(finding["severity"], "info", "{} {finding}", exhibit.name);
                normal += 1;
            }
            log_dirs += 1;
            for name in common::names_in(&path).into_iter().filter(|name| name.starts_with("__consumer_offsets-")) {
                partitions += 1;
                files += common::names_in(&path.join(name)).len();
            }
        }
    }
    println!(
        "{log_dirs} log dirs, {partitions} partitions, {files} files: silent; {normal} normal things told with -v"
    );
    assert!(log_dirs >= 19 && partitions > 50 && files > 300 && normal > 100);
}

#[test]
fn fast_is_silent_too() {
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs() {
            let output = grouplog(&exhibit.dir.join(&log_dir), ["verify", "--fast", "-q", "."]);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()), "{}", exhibit.name);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
