//! What else lies in a partition folder: its metadata, what crashes left, what does not belong there.
//!
//! Must not know: batches.

use super::{no_file, read_other};
use crate::audit::code::Code;
use crate::audit::finding::Finding;
use crate::log::checkpoint::partition_metadata;
use crate::log::dir::{LeftOut, OtherFile, OtherKind, PartitionDir, Reason, Variant};
use crate::log::log_dir::{CheckpointKind, LogDirFiles};
use std::collections::{BTreeMap, HashSet};

/// Everything that is not checked against batches. `ends` has the base offset of each segment, and the offset it ends at;
/// `log_end` is that of the last one.
pub(super) fn check(
    dir: &PartitionDir,
    log_dir: Option<&LogDirFiles>,
    ends: &BTreeMap<i64, i64>,
    log_end: i64,
    findings: &mut Vec<Finding>,
) {
    metadata(dir, log_dir, findings);
    findings.extend(dir.left_out.iter().map(left_out));
    let segments = dir.segments.iter().chain(dir.left_out.iter().map(|left_out| &left_out.file));
    let mut segments: HashSet<i64> = segments.map(|segment| segment.base_offset).collect();
    let of_dir = log_dir.zip(dir.partition.filter(|_| dir.variant == Variant::Normal));
    let start = of_dir.and_then(|(files, partition)| files.offset(CheckpointKind::LogStart, partition)).unwrap_or(0);
    // An empty .swap file holds nothing of what is gone.
    let mut holders = ends.clone();
    holders.retain(|base, _| !dir.swaps().any(|swap| swap.base_offset == *base && swap.is_empty_swap()));
    for (base, file) in dir.segments_gone() {
        if let Some(missing) = missing(base, &file, &holders, start) {
            findings.push(missing);
            segments.insert(base);
        }
    }
    findings.extend(dir.others.iter().filter_map(|other| match no_file::of(&segments, other, log_end) {
        Some(finding) => Some(finding),
        None => of_other(&segments, other),
    }));
}

/// A segment of which only other files are left, if no other segment holds its offsets, and they count: what is below the
/// log's start does not.
fn missing(base: i64, file: &str, ends: &BTreeMap<i64, i64>, start: i64) -> Option<Finding> {
    let next = ends.range(base..).next().map(|(next, _)| *next);
    let is_held = ends.range(..base).next_back().is_some_and(|(_, end)| *end > base);
    if is_held || ends.is_empty() || next.is_some_and(|next| next <= start) {
        return None;
    }
    let base = base.max(start);
    let offsets = match next {
        Some(next) if next - 1 > base => format!("offsets {base} to {} are missing", next - 1),
        Some(_) => format!("offset {base} is missing"),
        None => format!("the offsets from {base} on are missing"),
    };
    let name = format!("{}.log", file.get(..20).unwrap_or_default());
    let finding = Finding::new(Code::SegmentMissing, format!("{name} is gone, though {file} is here: {offsets}"));
    Some(finding.file(name).offset(base).fact("lastOffset", next.map(|next| next - 1)))
}

fn metadata(dir: &PartitionDir, log_dir: Option<&LogDirFiles>, findings: &mut Vec<Finding>) {
    if let Some((name, bytes)) = read_other(dir, OtherKind::PartitionMetadata, findings) {
        if let Some(why) = partition_metadata(&bytes).malformed {
            let finding = Finding::new(Code::MetadataMalformed, format!("{name}: {why}")).file(name);
            findings.push(finding.fact("why", why));
        }
    } else if dir.other(OtherKind::PartitionMetadata).is_none() {
        // Version 1 of meta.properties is that of KRaft.
        let kraft = log_dir.and_then(|files| files.meta.as_ref()).is_some_and(|meta| meta.version == Some(1));
        let code = if kraft { Code::MetadataLost } else { Code::MetadataMissing };
        findings.push(Finding::new(code, "no partition.metadata beside the segments"));
    }
}

fn left_out(left_out: &LeftOut) -> Finding {
    let (name, code) = (&left_out.file.name, left_out.reason);
    let (code, why) = match code {
        Reason::Deleted => (Code::LeftoverDeleted, "deleted, not read".to_owned()),
        Reason::Unfinished => (Code::LeftoverCleaning, "left by a cleaning that did not finish, not read".to_owned()),
        Reason::SwapOfUnfinished { cleaned } => {
            (Code::LeftoverCleaning, format!("part of a cleaning that did not finish (see {cleaned:020}), not read"))
        }
        Reason::Replaced { from, to } => {
            let last = to.saturating_sub(1);
            (Code::LeftoverCleaning, format!("replaced by .swap files that hold offsets {from} to {last}, not read"))
        }
    };
    let finding = Finding::new(code, format!("{name}: {why}")).file(name).offset(left_out.file.base_offset);
    finding.fact("bytes", left_out.file.len)
}

fn of_other(segments: &HashSet<i64>, other: &OtherFile) -> Option<Finding> {
    let name = &other.name;
    let is_index = matches!(other.kind, OtherKind::OffsetIndex | OtherKind::TimeIndex | OtherKind::TransactionIndex);
    let (code, why) = match other.kind {
        OtherKind::Leftover if name.ends_with(".deleted") => (Code::LeftoverDeleted, "deleted, not read"),
        OtherKind::Leftover => (Code::LeftoverCleaning, "left by a cleaning"),
        // Written beside the file they replace, then renamed.
        OtherKind::Unknown if name.ends_with(".tmp") => (Code::LeftoverDeleted, "the draft of a file, not read"),
        // Told with the segments.
        _ if other.is_named_segment() => return None,
        OtherKind::Unknown => (Code::UnknownFile, "no broker makes such a file here"),
        OtherKind::Folder => (Code::UnknownFile, "no broker makes a folder here"),
        _ if !other.is_file() => (Code::UnknownFile, "a broker looks for no such file here"),
        _ if is_index && base_offset(name).is_none_or(|base| !segments.contains(&base)) => {
            (Code::OrphanIndex, "its segment is not here")
        }
        _ => return None,
    };
    Some(Finding::new(code, format!("{name}: {why}")).file(name).fact("bytes", other.len))
}

pub(super) fn base_offset(name: &str) -> Option<i64> {
    name.get(..20)?.parse().ok()
}
