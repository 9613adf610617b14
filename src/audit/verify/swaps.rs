//! `.swap` files that a broker would put into the log when it starts, to the log's harm.
//!
//! Must not know: what the cleaner made them of.

use crate::audit::{Code, Fact, Finding, Severity};
use crate::escape::visible;
use crate::log::Segment;
use crate::log::Span;
use crate::log::dir::{PartitionDir, SegmentFile};
use crate::model::losses::LostKey;
use crate::model::swapped::{groups, taken};
use crate::words::counted;
use std::io;

/// So many names of groups or files stand in the sentence; all are among the facts.
const MOST_NAMES: usize = 3;

/// What is said of a folder's `.swap` files. `start` is the first offset that counts.
pub(super) fn check(dir: &PartitionDir, start: i64, max_inflated: usize) -> io::Result<Vec<Finding>> {
    let keys = taken(dir, start, max_inflated)?;
    let mut findings: Vec<Finding> = dir.swaps().filter_map(|swap| misplaced(dir, swap)).collect();
    findings.extend(takes(dir, &keys));
    Ok(findings)
}

/// The names of the segments that a finding above tells of.
pub(super) fn is_told(findings: &[Finding], left_out: &Finding) -> bool {
    left_out.code == Code::LeftoverCleaning
        && findings.iter().any(|it| it.code == Code::HarmfulSwap && it.severity == Severity::Error)
        && left_out.segment.as_ref().is_some_and(|name| name.ends_with(".log"))
}

/// Records that are alive would be gone with the segments that `.swap` files replace.
fn takes(dir: &PartitionDir, keys: &[LostKey]) -> Option<Finding> {
    let first = keys.first()?;
    let replaced: Vec<&SegmentFile> = dir.replaced().collect();
    let holder = replaced.get(first.at.segment as usize)?;
    let swaps: Vec<&SegmentFile> = dir.swaps().collect();
    let what = match swaps.iter().all(|swap| swap.len == 0) {
        true => "which holds nothing",
        false => "which does not hold all of it",
    };
    let groups = groups(keys);
    let mut message = format!(
        "a broker that starts on this folder puts {}, {what}, in the place of {}: {} would be lost",
        named(&swaps),
        named(&replaced),
        counted(keys.len() as u64, "key"),
    );
    if !groups.is_empty() {
        let shown: Vec<_> = groups.iter().take(MOST_NAMES).map(|group| visible(group)).collect();
        let more = if groups.len() > shown.len() { ", ..." } else { "" };
        message.push_str(&format!(", of {}: {}{more}", counted(groups.len() as u64, "group"), shown.join(", ")));
    }
    let names = groups.iter().map(|group| Fact::Name(group.to_vec())).collect();
    let swaps = swaps.iter().map(|swap| Fact::from(swap.name.as_str())).collect();
    let finding = Finding::new(Code::HarmfulSwap, message).file(&holder.name).position(first.at.position);
    let finding = finding.offset(first.offset).fact("keys", keys.len() as u64).fact("groups", Fact::List(names));
    Some(finding.fact("swaps", Fact::List(swaps)))
}

fn named(files: &[&SegmentFile]) -> String {
    let shown: Vec<_> = files.iter().take(MOST_NAMES).map(|file| file.name.as_str()).collect();
    let more = if files.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// An empty `.swap` file of a name that no segment has: a broker makes an empty segment of it.
fn misplaced(dir: &PartitionDir, swap: &SegmentFile) -> Option<Finding> {
    if !swap.is_empty_swap() || dir.replaced().any(|file| file.base_offset == swap.base_offset) {
        return None;
    }
    let base = swap.base_offset;
    let before = dir.segments.iter().rfind(|segment| segment.base_offset < base && segment.len > 0)?;
    let end = end(before)?;
    let is_last = dir.segments.last().is_some_and(|last| last.base_offset == base);
    let harm = if end > base {
        format!("a reader that looks for offsets {base} to {} then looks there, and finds none of them", end - 1)
    } else if is_last && base > end {
        format!("the log, which ends at {end}, then goes on from offset {base}")
    } else {
        return None;
    };
    let message = format!("{} holds nothing, and a broker that starts makes a segment of it: {harm}", swap.name);
    let finding = Finding::new(Code::HarmfulSwap, message).severity(Severity::Warning);
    Some(finding.file(&swap.name).offset(base).fact("endBefore", end))
}

/// The offset behind a segment's last batch.
fn end(file: &SegmentFile) -> Option<i64> {
    let segment = Segment::open(&file.path).ok()?;
    let last = segment.spans().filter_map(|span| match span {
        Span::Batch(batch) => Some(batch.header().last_offset.saturating_add(1)),
        Span::Hole(_) => None,
    });
    last.max()
}
