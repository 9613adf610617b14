//! The checkpoints of a log dir: whether they can be read, and whether they lie within each partition's log.
//!
//! A checkpoint that lags is normal: a broker writes them now and then, and when it stops in order.
//! Must not know: batches.

use super::{no_file, unreadable};
use crate::audit::code::Code;
use crate::audit::finding::{Finding, Severity};
use crate::log::checkpoint::Oddity;
use crate::log::dir::{PartitionDir, Variant};
use crate::log::log_dir::{CheckpointFile, CheckpointKind, LogDirFiles};

/// Findings on the checkpoint files as such: once a log dir, not once a partition.
pub fn of_log_dir(files: &LogDirFiles) -> Vec<Finding> {
    let unread = files.unreadable.iter().map(|(name, why)| match no_file::of_log_dir(&files.path, name) {
        Some(finding) => finding.path(&files.path),
        None => unreadable(name, why).path(&files.path),
    });
    unread.chain(files.checkpoints.iter().flat_map(of_file)).collect()
}

fn of_file(file: &CheckpointFile) -> Vec<Finding> {
    let repeated = |oddity: &&Oddity| matches!(oddity, Oddity::Repeated(_));
    let oddities = &file.content.oddities;
    let mut findings = Vec::new();
    if let Some(worst) = worst(oddities) {
        let severity = if worst.stops_a_broker() { Severity::Error } else { Severity::Warning };
        let finding = Finding::new(Code::CheckpointMalformed, format!("{}: {worst}", file.name));
        findings.push(finding.severity(severity).file(file.name).fact("why", worst.to_string()));
    }
    if let Some(Oddity::Repeated(line)) = oddities.iter().find(repeated) {
        let times = oddities.iter().filter(repeated).count() as u64;
        let text = format!("{}: line {line} names a partition that stands there before", file.name);
        let finding = Finding::new(Code::CheckpointRepeated, text).file(file.name);
        findings.push(finding.fact("line", *line as u64).fact("lines", times));
    }
    findings
}

/// What keeps a checkpoint from being read, if anything does.
pub(super) fn worst(oddities: &[Oddity]) -> Option<&Oddity> {
    let stops = oddities.iter().find(|oddity| oddity.stops_a_broker());
    stops.or_else(|| oddities.iter().find(|oddity| **oddity == Oddity::NoLineEnd))
}

/// What the checkpoints say of one partition, against where its log begins and ends.
pub(super) fn of_partition(files: &LogDirFiles, dir: &PartitionDir, start: i64, end: i64, findings: &mut Vec<Finding>) {
    let Some(partition) = dir.partition.filter(|_| dir.variant == Variant::Normal) else { return };
    for file in &files.checkpoints {
        let Some(offset) = files.offset(file.kind, partition) else { continue };
        let (code, says) = if offset > end {
            (Code::CheckpointBeyondEnd, format!("the log ends at {end}"))
        } else if offset < start && file.kind == CheckpointKind::Cleaner {
            (Code::CheckpointBelowStart, format!("the log begins at {start}"))
        } else {
            continue;
        };
        let text = format!("{} says offset {offset}: {says}", file.name);
        let finding = Finding::new(code, text).file(file.name).offset(offset);
        findings.push(finding.fact("checkpoint", offset).fact("logStart", start).fact("logEnd", end));
    }
}
