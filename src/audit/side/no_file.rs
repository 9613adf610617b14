//! What has the name of a file that a broker reads or writes, and is no file: a folder, a dead link, a pipe.
//!
//! What a broker makes of each was seen with 4.4.0 and 3.9.2, after a stop in order and after a kill.
//! Must not know: what would stand in the file.

use super::leftovers::base_offset;
use crate::audit::code::Code;
use crate::audit::finding::{Finding, Severity};
use crate::log::dir::{OtherFile, OtherKind, Shape};
use std::collections::HashSet;
use std::path::Path;

const GIVES_UP: &str = "a broker that starts gives up the whole log dir over it";
const SET_ASIDE: &str = "a broker with KRaft sets the partition aside as stray, and deletes it";
const EMPTIES: &str = "a broker that starts after a kill gives up the whole log dir over it, and one of 4.4 may empty sound \
                       segments first; after a stop in order too, if no newer snapshot is here";
const AFTER_A_KILL: &str = "a broker that starts after a kill gives up the whole log dir over it; after a stop in order too, \
                            if it is the newest segment's";
const WAITS: &str = "a broker that starts waits at it for ever, or gives up the whole log dir";
const PASSES_OVER: &str = "a broker passes over it, and knows of no aborted transaction there";

/// What a broker makes of it. None for a file, and for what a broker does not look for: an index without its segment, a
/// snapshot behind the log's end.
pub(super) fn of(segments: &HashSet<i64>, other: &OtherFile, log_end: i64) -> Option<Finding> {
    let base = base_offset(&other.name);
    let of_segment = base.is_some_and(|base| segments.contains(&base));
    let is_pipe = other.shape == Shape::Special;
    let verdict = match (other.kind, other.shape) {
        (_, Shape::File) => return None,
        (OtherKind::LeaderEpochs, Shape::Folder | Shape::DeadLink) => GIVES_UP,
        (OtherKind::PartitionMetadata, Shape::Folder) => GIVES_UP,
        (OtherKind::PartitionMetadata, Shape::DeadLink) => SET_ASIDE,
        (OtherKind::OffsetIndex, _) if of_segment && !is_pipe => GIVES_UP,
        (OtherKind::TimeIndex, _) if of_segment && !is_pipe => AFTER_A_KILL,
        (OtherKind::TransactionIndex, Shape::DeadLink) if of_segment => PASSES_OVER,
        (OtherKind::TransactionIndex, _) if of_segment => GIVES_UP,
        (OtherKind::ProducerSnapshot, _) if base.is_some_and(|base| base <= log_end) && !is_pipe => EMPTIES,
        (OtherKind::LeaderEpochs | OtherKind::PartitionMetadata, _) => WAITS,
        (OtherKind::OffsetIndex | OtherKind::TimeIndex, _) if of_segment => WAITS,
        (OtherKind::ProducerSnapshot, _) if base.is_some_and(|base| base <= log_end) => WAITS,
        // Checkpoints are written to a draft, which then takes the place of the file.
        (OtherKind::Folder, _) if other.name == "leader-epoch-checkpoint.tmp" => GIVES_UP,
        _ => return None,
    };
    let severity = if verdict == PASSES_OVER { Severity::Warning } else { Severity::Error };
    let message = format!("{} is {}: {verdict}", other.name, other.shape.words());
    Some(Finding::new(Code::NotAFile, message).severity(severity).file(&other.name))
}

/// A folder or a dead link in the place of a checkpoint of the log dir.
pub(super) fn of_log_dir(log_dir: &Path, name: &str) -> Option<Finding> {
    let path = log_dir.join(name);
    let shape = match (path.is_dir(), path.exists()) {
        (true, _) => Shape::Folder,
        (_, false) => Shape::DeadLink,
        _ => return None,
    };
    let is_checkpoint = name.ends_with("-offset-checkpoint");
    let message = format!("{name} is {}: {GIVES_UP}, or does not start", shape.words());
    is_checkpoint.then(|| Finding::new(Code::NotAFile, message).file(name))
}
