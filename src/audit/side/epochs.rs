//! `leader-epoch-checkpoint` against the leader epochs of the batches.
//!
//! An epoch may be in the file and in no batch: a leader that wrote nothing (up to Kafka 1.1 it was noted all the same),
//! or whose records were cleaned away. Batches of magic 0 and 1 have none.
//! Must not know: folders, beyond the one file.

use super::log_dir::worst;
use super::{First, read_other};
use crate::audit::code::Code;
use crate::audit::finding::{Finding, Severity};
use crate::log::Header;
use crate::log::checkpoint::{Checkpoint, EpochStart, leader_epochs};
use crate::log::dir::{OtherKind, PartitionDir};

/// Changes of epoch that are remembered: a leader that changes this often is none.
const MOST: usize = 1 << 16;

/// A stretch of the log in one epoch.
#[derive(Debug, Clone, Copy)]
struct Run {
    epoch: i32,
    first: i64,
    last: i64,
}

/// The stretches of a log.
pub(super) struct EpochRuns {
    runs: Vec<Run>,
    current: i32,
}

impl Default for EpochRuns {
    fn default() -> Self {
        EpochRuns { runs: Vec::new(), current: -1 }
    }
}

impl EpochRuns {
    /// That of the last batch; -1 for none.
    #[inline]
    pub(super) fn current(&self) -> i32 {
        self.current
    }

    /// A batch, and the greatest offset before it.
    pub(super) fn batch(&mut self, header: &Header, previous: i64) {
        if header.partition_leader_epoch == self.current {
            return;
        }
        self.end_run(previous);
        self.current = header.partition_leader_epoch;
        if self.runs.len() < MOST {
            self.runs.push(Run { epoch: self.current, first: header.base_offset, last: header.base_offset });
        }
    }

    fn end_run(&mut self, last: i64) {
        if let Some(run) = self.runs.last_mut() {
            run.last = run.last.max(last);
        }
    }

    /// The log ends at an offset; the last one seen is another if a broker writes to it.
    pub(super) fn finish(mut self, dir: &PartitionDir, end: i64, last: i64, findings: &mut Vec<Finding>) {
        self.end_run(last);
        self.runs.retain(|run| run.epoch >= 0);
        match read_other(dir, OtherKind::LeaderEpochs, findings) {
            Some((name, bytes)) => self.compare(&name, &bytes, end, findings),
            None if dir.other(OtherKind::LeaderEpochs).is_none() => {
                let text = "no leader-epoch-checkpoint beside the segments";
                findings.push(Finding::new(Code::EpochsMissing, text));
            }
            None => {}
        }
    }

    fn compare(&self, name: &str, bytes: &[u8], end: i64, findings: &mut Vec<Finding>) {
        let file = leader_epochs(bytes);
        if let Some(finding) = malformed(name, &file) {
            let stop = finding.severity == Severity::Error;
            findings.push(finding);
            if stop {
                return;
            }
        }
        let entries = &file.entries;
        let out_of_order = entries
            .windows(2)
            .find(|pair| matches!(pair, [a, b] if a.epoch >= b.epoch || a.start_offset > b.start_offset));
        if let Some([before, entry]) = out_of_order {
            let text = format!(
                "{name}: epoch {} from offset {} stands behind epoch {} from offset {}",
                entry.epoch, entry.start_offset, before.epoch, before.start_offset
            );
            let finding = Finding::new(Code::EpochsOrder, text).file(name).offset(entry.start_offset);
            findings.push(finding.fact("epoch", entry.epoch).fact("previousEpoch", before.epoch));
            return;
        }
        if let Some(entry) = entries.iter().find(|entry| entry.start_offset > end) {
            let text =
                format!("{name}: epoch {} begins at offset {}, the log ends at {end}", entry.epoch, entry.start_offset);
            let finding = Finding::new(Code::EpochsBeyondEnd, text).file(name).offset(entry.start_offset);
            findings.push(finding.fact("epoch", entry.epoch).fact("logEnd", end));
        }
        let mut mismatch = First::default();
        for run in &self.runs {
            if let Some((offset, says)) = disagreement(run, entries) {
                mismatch.add(|| mismatch_finding(name, run, offset, says));
            }
        }
        findings.extend(mismatch.into_finding());
    }
}

/// Where a file's entries say another epoch than a stretch of batches, and which.
fn disagreement(run: &Run, entries: &[EpochStart]) -> Option<(i64, Option<i32>)> {
    let started = entries.partition_point(|entry| entry.start_offset <= run.first);
    let at_first = entries.get(..started).and_then(|before| before.last()).map(|entry| entry.epoch);
    if at_first != Some(run.epoch) {
        return Some((run.first, at_first));
    }
    let inside = entries.get(started).filter(|entry| entry.start_offset <= run.last)?;
    Some((inside.start_offset, Some(inside.epoch)))
}

fn mismatch_finding(name: &str, run: &Run, offset: i64, says: Option<i32>) -> Finding {
    let says_text = says.map_or("no epoch".to_owned(), |epoch| format!("epoch {epoch}"));
    let text = format!("{name} says {says_text} at offset {offset}: the batch there has epoch {}", run.epoch);
    let finding = Finding::new(Code::EpochsMismatch, text).file(name).offset(offset);
    finding.fact("epoch", says).fact("batchEpoch", run.epoch)
}

/// What a broker stops at; or no end of the last line, which it does not mind, though a number may be cut there.
fn malformed(name: &str, file: &Checkpoint<EpochStart>) -> Option<Finding> {
    let oddity = worst(&file.oddities)?;
    let severity = if oddity.stops_a_broker() { Severity::Error } else { Severity::Warning };
    let finding = Finding::new(Code::EpochsMalformed, format!("{name}: {oddity}")).severity(severity).file(name);
    Some(finding.fact("why", oddity.to_string()))
}
