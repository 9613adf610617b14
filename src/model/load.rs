//! Loads a partition: its segments replayed up to a point, with the log start that its log dir names.
//!
//! Must not know: what is done with the state.

use super::replay::{Extent, Helper, Replay, State};
use super::rules::Rules;
use super::walk::{Nobody, Step, Visitor};
use crate::log::dir::OFFSETS_TOPIC;
use crate::log::{Inflater, Segment, Span, checkpoint};
use std::io;
use std::path::{Path, PathBuf};

/// Up to where a log is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All of it.
    End,
    /// Up to and with the record at this offset.
    Offset(i64),
    /// Up to the last record in log order whose time is at or before this one, in milliseconds since 1970.
    Time(i64),
}

/// How to load.
pub struct Loading<'l> {
    /// Rules of a release.
    pub rules: Rules,
    /// Up to where.
    pub until: Until,
    /// The first offset that counts; none is all.
    pub log_start: Option<i64>,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
    /// Whether a second thread helps.
    pub helper: Helper,
    /// Which groups are asked for.
    pub wanted: &'l (dyn Fn(&[u8]) -> bool + Sync),
}

/// Loads the segments, which must be in order. `progress` is told of bytes read, from the first segment on.
pub fn load(segments: &[PathBuf], how: &Loading<'_>, progress: &mut dyn FnMut(u64)) -> io::Result<State> {
    load_beside(segments, how, progress, &mut Nobody)
}

/// As [`load`]; what is replayed is shown to another visitor, too, whatever group it concerns: one scan for both.
pub fn load_beside<V: Visitor>(
    segments: &[PathBuf],
    how: &Loading<'_>,
    progress: &mut dyn FnMut(u64),
    beside: &mut V,
) -> io::Result<State> {
    let last = match how.until {
        Until::End => i64::MAX,
        Until::Offset(offset) => offset,
        // A log that is all later than the time holds nothing of it.
        Until::Time(time) => last_offset_at(segments, time, how.max_inflated)?.unwrap_or(i64::MIN),
    };
    let extent = Extent { from: how.log_start.unwrap_or(i64::MIN), last };
    let mut replay = Replay::new(how.rules, extent, how.wanted);
    let mut inflater = Inflater::with_limit(how.max_inflated);
    let mut before = 0;
    for path in segments {
        let segment = Segment::open(path)?;
        let len = segment.len();
        let mut told = |position| progress(before + position);
        if replay.segment_beside(segment, &mut inflater, how.helper, &mut told, beside)? == Step::Stop {
            break;
        }
        before += len;
    }
    Ok(replay.finish())
}

/// The offset of the last record in log order whose time is at or before `time`. Records without a time never count.
pub fn last_offset_at(segments: &[PathBuf], time: i64, max_inflated: usize) -> io::Result<Option<i64>> {
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut last = None;
    for path in segments {
        let segment = Segment::open(path)?;
        for span in segment.spans() {
            let Span::Batch(batch) = span else { continue };
            let header = batch.header();
            let timed = header.max_timestamp >= 0;
            if timed && header.max_timestamp <= time && header.count > 0 {
                last = Some(header.last_offset);
            } else if batch.check_crc().is_ok() {
                let mut records = batch.records(&mut inflater);
                let inside = records.by_ref().flatten().filter(|it| it.timestamp >= 0 && it.timestamp <= time);
                last = inside.map(|it| it.offset).last().or(last);
            }
        }
    }
    Ok(last)
}

/// The log start offset that the log dir around a partition folder names for it, if it names one.
pub fn log_start(partition_dir: &Path, partition: i32) -> Option<i64> {
    checkpoint_offset(partition_dir, "log-start-offset-checkpoint", partition)
}

/// The offset that a checkpoint of the log dir around a partition folder names for it.
pub fn checkpoint_offset(partition_dir: &Path, checkpoint: &str, partition: i32) -> Option<i64> {
    let full = std::path::absolute(partition_dir).ok()?;
    let bytes = crate::files::read(&full.parent()?.join(checkpoint)).ok()?;
    checkpoint::partition_offsets(&bytes).offset(OFFSETS_TOPIC, partition)
}
