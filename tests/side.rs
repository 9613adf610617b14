//! The files beside the segments against the log: silent on what sound brokers leave, and every code at its smallest
//! damage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{exhibits, names_in};
use grouplog::audit::side::{SideFacts, of_log_dir};
use grouplog::audit::{Code, Finding, Severity};
use grouplog::fault::FaultKind;
use grouplog::log::log_dir::LogDirFiles;
use grouplog::log::{PartitionDir, Segment, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the checks say of a partition folder.
fn check(path: &Path) -> Vec<Finding> {
    let log_dir = LogDirFiles::around(path).unwrap();
    let dir = PartitionDir::open(path).unwrap();
    let mut facts = SideFacts::new(&dir);
    for file in &dir.segments {
        facts.segment(file);
        let segment = Segment::open(&file.path).unwrap();
        for span in segment.spans() {
            match span {
                Span::Batch(batch) if batch.check_crc().is_ok() => facts.batch(&batch),
                Span::Batch(batch) => facts.damage(batch.position()..batch.position() + batch.len()),
                Span::Hole(hole) if hole.fault == FaultKind::ZeroTail => facts.zero_tail(hole.length),
                Span::Hole(hole) => facts.damage(hole.position..hole.position + hole.length),
            }
        }
    }
    let mut findings = log_dir.iter().flat_map(of_log_dir).collect::<Vec<_>>();
    findings.extend(facts.finish(log_dir.as_ref()));
    findings
}

/// Findings that sound logs do not have.
fn odd(path: &Path) -> Vec<Finding> {
    check(path).into_iter().filter(|finding| !finding.code.is_normal()).collect()
}

/// Every partition folder of every exhibit, of other topics too.
fn folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs().iter().map(|name| exhibit.dir.join(name)) {
            found.extend(names_in(&log_dir).iter().map(|name| log_dir.join(name)).filter(|path| path.is_dir()));
        }
    }
    found
}

#[test]
fn silent_on_sound_logs() {
    let mut normal: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = 0;
    let mut loud = Vec::new();
    for folder in folders() {
        count += 1;
        for finding in check(&folder) {
            assert_eq!(finding.severity, finding.code.severity());
            if finding.code.is_normal() {
                assert_eq!(finding.severity, Severity::Info);
                *normal.entry(finding.code.name()).or_default() += 1;
            } else {
                loud.push(format!("{}: {} {}", folder.display(), finding.code.name(), finding.message));
            }
        }
    }
    println!("{count} folders; normal: {normal:?}");
    assert!(loud.is_empty(), "{}", loud.join("\n"));
    assert!(count > 40 && normal.contains_key("index-untrimmed"));
}
