//! Whether every byte of a partition is sound: each batch's frame, CRC, offsets and counts, each record's key and value.
//!
//! What is odd is a finding; what compaction, preallocation and a stop in the middle of a write leave behind is normal,
//! and said to be so. Must not know: what other files beside the segments say, and what any broker makes of it.

mod batches;
pub mod brokers;
mod lost;
mod records;
mod swaps;
mod walk;

use super::Finding;
use crate::log::dir::{PartitionDir, Variant};
use crate::log::log_dir::{CheckpointKind, LogDirFiles};
use crate::log::{Inflater, Segment};
use crate::model::ahead::{AskAhead, CheckNow, Checked};
use crate::model::replay::Helper;
use crate::model::walk::walk_segment;
use std::io;
use std::path::PathBuf;
use walk::Walk;

/// How deep to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Frames, CRCs and headers of batches.
    Batches,
    /// Every field of every record too: bodies are inflated.
    Records,
}

/// How to verify.
#[derive(Debug, Clone, Copy)]
pub struct Verifying<'v> {
    /// The partition of `__consumer_offsets`, if it is known.
    pub partition: Option<i32>,
    /// The folder, whose other files are checked too if it is given, unless only batches are looked at.
    pub dir: Option<&'v PartitionDir>,
    /// The log dir around it, whose checkpoints are checked too. Read before the segments.
    pub log_dir: Option<&'v LogDirFiles>,
    /// How deep.
    pub depth: Depth,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
    /// Whether a second thread helps.
    pub helper: Helper,
}

impl Verifying<'_> {
    /// The first offset that counts, as far as a log dir tells.
    fn log_start(&self) -> i64 {
        let of_dir = self.log_dir.zip(self.dir).filter(|(_, dir)| dir.variant == Variant::Normal);
        let offset = of_dir.and_then(|(files, dir)| files.offset(CheckpointKind::LogStart, dir.partition?));
        offset.unwrap_or(0)
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segment files.
    pub segments: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Batches whose frame holds.
    pub batches: u64,
    /// Records in batches whose CRC is right; 0 unless records were looked at.
    pub records: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.segments += more.segments;
        self.bytes += more.bytes;
        self.batches += more.batches;
        self.records += more.records;
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Verified {
    /// In the order of the log.
    pub findings: Vec<Finding>,
    /// What was looked at.
    pub counts: Counts,
}

/// Verifies the segments of a partition, which must be in order. `progress` is told of bytes read.
///
/// # Errors
/// If a file cannot be read.
pub fn verify(segments: &[PathBuf], how: &Verifying<'_>, progress: &mut dyn FnMut(u64)) -> io::Result<Verified> {
    let mut inflater = Inflater::with_limit(how.max_inflated);
    let mut walk = Walk::new(how, progress);
    if segments.is_empty() {
        walk.no_segments();
    }
    let mut opened = Vec::with_capacity(segments.len());
    for (i, path) in segments.iter().enumerate() {
        walk.before(i);
        let segment = match Segment::open(path) {
            Ok(segment) => segment,
            // One that cannot be opened takes nothing away from the others.
            Err(error) if segments.len() > 1 => {
                walk.unreadable(path, &error);
                continue;
            }
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        };
        walk.begin(&segment, opened.len(), segments.get(i + 1).map(PathBuf::as_path));
        opened.push(path.clone());
        let spans = segment.spans();
        match how.helper {
            Helper::None => walk_segment(&segment, spans, &mut inflater, &mut CheckNow, &mut walk)?,
            Helper::ChecksCrcs => {
                let checked = Checked::default();
                std::thread::scope(|scope| {
                    scope.spawn(|| checked.run(&segment));
                    let step = walk_segment(&segment, spans, &mut inflater, &mut AskAhead::new(&checked), &mut walk);
                    checked.end();
                    step
                })?
            }
        };
        walk.end(&segment);
    }
    walk.finish(&opened, how)
}
