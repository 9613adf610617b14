//! A log dir in the making, and how the program is asked about it.

#![allow(dead_code, reason = "helpers, of which no test uses all")]

use crate::build::{Bat, Rec, T0, segment_name, write_segments};
use crate::group_records::Kv;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub const HOUR: i64 = 3_600_000;
pub const DAY: i64 = 24 * HOUR;

/// A log dir, and what the program is told beside its path.
#[derive(Clone)]
pub struct Setup {
    dir: Rc<tempfile::TempDir>,
    args: Vec<String>,
    now: i64,
    verb: Verb,
}

/// Which verb is asked for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Audit,
    Verify,
}

impl Verb {
    pub fn name(self) -> &'static str {
        match self {
            Verb::Audit => "audit",
            Verb::Verify => "verify",
        }
    }
}

/// What the program said.
pub struct Said {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// From `--format jsonl`.
    pub fn findings(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} {}", self.stderr));
        assert!([0, 3].contains(&self.status), "{}", self.stderr);
        self.stdout.lines().map(parse).collect()
    }
}

pub fn run<'a>(dir: &Path, args: impl IntoIterator<Item = &'a str>) -> Said {
    let output = crate::common::grouplog(dir, args);
    Said {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Setup {
    /// Segments of partition 12, an hour later.
    pub fn segments(segments: &[Vec<Bat>]) -> Setup {
        Setup::partition(12, segments)
    }

    pub fn partition(partition: i32, segments: &[Vec<Bat>]) -> Setup {
        let dir = tempfile::tempdir().unwrap();
        write_segments(dir.path(), partition, segments);
        Setup { dir: Rc::new(dir), args: Vec::new(), now: T0 + HOUR, verb: Verb::Audit }
    }

    pub fn batches(batches: Vec<Bat>) -> Setup {
        Setup::segments(&[batches])
    }

    /// Plain records and their times, each in a batch of its own, at offsets from 0 on.
    pub fn records(records: Vec<(i64, Kv)>) -> Setup {
        Setup::batches(plain(records))
    }

    pub fn now(&self, now: i64) -> Setup {
        Setup { now, ..self.clone() }
    }

    pub fn given(&self) -> &[String] {
        &self.args
    }

    pub fn args(&self, args: &[&str]) -> Setup {
        Setup { args: args.iter().map(|arg| (*arg).to_owned()).collect(), ..self.clone() }
    }

    /// With a file in the log dir.
    pub fn file(self, name: &str, text: &str) -> Setup {
        std::fs::write(self.path().join(name), text).unwrap();
        self
    }

    /// Whose findings are those of `verify`, the normal ones too.
    pub fn verified(&self) -> Setup {
        Setup { verb: Verb::Verify, ..self.clone() }
    }

    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// With a file in the folder of the partition.
    pub fn beside(self, name: &str, bytes: &[u8]) -> Setup {
        std::fs::write(self.folder().join(name), bytes).unwrap();
        self
    }

    /// With other bytes in the first segment.
    pub fn changed(self, change: impl FnOnce(&mut Vec<u8>)) -> Setup {
        let path = self.folder().join(segment_name(0));
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The folder of partition 12.
    pub fn folder(&self) -> PathBuf {
        self.path().join("__consumer_offsets-12")
    }

    pub fn run(&self, args: &[&str]) -> Said {
        let now = self.now.to_string();
        let own = self.args.iter().map(String::as_str);
        let clock = if args[0] == "verify" { vec![] } else { vec!["--now", &now] };
        run(self.path(), args.iter().copied().chain(clock).chain(own).chain(["."]))
    }

    pub fn findings(&self) -> Vec<Value> {
        match self.verb {
            Verb::Audit => self.run(&["audit", "--format", "jsonl"]).findings(),
            Verb::Verify => self.run(&["verify", "-v", "--format", "jsonl"]).findings(),
        }
    }
}

/// A batch each.
pub fn plain(records: Vec<(i64, Kv)>) -> Vec<Bat> {
    let record = |(offset, (timestamp, (key, value)))| Rec { offset, timestamp, key, value };
    (0..).zip(records).map(record).map(|record| Bat::of(vec![record])).collect()
}
