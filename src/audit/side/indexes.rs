//! Offset and time indexes, entry by entry, as the batches they name come by.
//!
//! An entry of an offset index is good if a batch begins at its position whose first offset is not above the entry's, and
//! the next entry's batch begins above it: then no read that begins with it misses a record. That covers the first
//! offset of an append (up to Kafka 1.1), the last one (since 2.0), and one in a later message of the append (older
//! formats, and the cleaner).
//! Must not know: folders.

use super::{First, Seen, Twin};
use crate::audit::code::Code;
use crate::audit::finding::{Finding, Severity};
use crate::log::dir::SegmentFile;
use crate::log::index::{self, Index, OFFSET_ENTRY, OffsetEntry, TIME_ENTRY, TimeEntry};
use std::ops::Range;
use std::path::Path;

/// How a segment ends.
pub(super) struct End {
    /// Behind its last batch, in bytes.
    pub position: u64,
    /// The greatest so far.
    pub last_offset: i64,
    /// More was appended meanwhile.
    pub grew: bool,
    /// Some of its batches cannot be believed.
    pub damaged: bool,
    /// By another segment.
    pub is_followed: bool,
}

/// An offset index against the batches of its segment.
#[derive(Default)]
pub(super) struct OffsetCheck {
    name: String,
    entries: Vec<OffsetEntry>,
    /// Entries whose position was reached.
    done: usize,
    /// The last one at whose position a batch began.
    held: Option<(usize, OffsetEntry)>,
    mismatch: First,
}

impl OffsetCheck {
    pub(super) fn new(twin: &Twin, segment: &SegmentFile, findings: &mut Vec<Finding>) -> Self {
        let mut check = OffsetCheck { name: twin.name.clone(), ..OffsetCheck::default() };
        let Some(bytes) = present(twin, segment, findings) else { return check };
        let index = index::offset_index(bytes, twin.base_offset);
        tail(&check.name, &index, OFFSET_ENTRY, Code::IndexCut, findings);
        check.entries = index.entries;
        let order = |a: &OffsetEntry, b: &OffsetEntry| a.offset < b.offset && a.position < b.position;
        if let Some(at) = out_of_order(&check.entries, order) {
            let (before, entry) = (check.entries.get(at - 1), check.entries.get(at));
            if let (Some(before), Some(entry)) = (before, entry) {
                findings.push(order_finding(&check.name, before, entry, at));
            }
            // What stands behind cannot be met in the order of the log.
            check.entries.truncate(at);
        }
        check
    }

    pub(super) fn next_position(&self) -> u64 {
        self.entries.get(self.done).map_or(u64::MAX, |entry| entry.position.into())
    }

    pub(super) fn batch(&mut self, seen: &Seen<'_>) {
        while let Some(entry) = self.entries.get(self.done).filter(|it| u64::from(it.position) <= seen.position) {
            let (entry, number) = (*entry, self.done);
            self.done += 1;
            if u64::from(entry.position) < seen.position {
                self.bad(number, &entry, "no batch begins there");
                continue;
            }
            if let Some((number, held)) = self.held.replace((number, entry))
                && seen.begins_at_or_before(held.offset)
            {
                self.bad(number, &held, "that offset lies behind the next entry's batch");
            }
            if !seen.begins_at_or_before(entry.offset) {
                self.bad(number, &entry, "the batch there begins above that offset");
            }
        }
    }

    /// Entries that point into damage say nothing about the index.
    pub(super) fn damage(&mut self, range: &Range<u64>) {
        while let Some(entry) = self.entries.get(self.done).filter(|it| u64::from(it.position) < range.end) {
            let (entry, number) = (*entry, self.done);
            self.done += 1;
            self.held = None;
            if u64::from(entry.position) < range.start {
                self.bad(number, &entry, "no batch begins there");
            }
        }
    }

    fn bad(&mut self, number: usize, entry: &OffsetEntry, why: &str) {
        let name = &self.name;
        self.mismatch.add(|| {
            let text = format!("{name} says offset {} at byte {}: {why}", entry.offset, entry.position);
            let finding = Finding::new(Code::IndexMismatch, text).file(name).position((number * OFFSET_ENTRY) as u64);
            finding.offset(entry.offset).fact("segmentPosition", entry.position).fact("why", why)
        });
    }

    /// The segment ends.
    pub(super) fn end(mut self, path: &Path, end: &End, findings: &mut Vec<Finding>) {
        let &End { position: end, last_offset, grew, damaged, is_followed } = end;
        let last = self.held.filter(|(_, entry)| entry.offset > last_offset && !grew && !damaged);
        if let Some((number, entry)) = last.filter(|_| self.done == self.entries.len()) {
            self.bad(number, &entry, "the segment ends below that offset");
        }
        let left = self.entries.get(self.done..).unwrap_or_default();
        if let Some(entry) = left.first().filter(|_| !grew) {
            let segment = path.file_name().unwrap_or_default().to_string_lossy();
            let text = format!(
                "{} says offset {} at byte {}: {segment} ends at byte {end}",
                self.name, entry.offset, entry.position
            );
            let finding = Finding::new(Code::IndexBeyondEnd, text).file(&self.name).offset(entry.offset);
            // The last segment may lose its end to an unclean stop: a replica has it. Others were on the disk before.
            let severity = if is_followed { Severity::Error } else { finding.severity };
            let finding = finding.severity(severity);
            findings.push(
                finding
                    .position((self.done * OFFSET_ENTRY) as u64)
                    .fact("segmentPosition", entry.position)
                    .fact("segmentLength", end)
                    .fact("entries", left.len() as u64),
            );
        }
        findings.extend(self.mismatch.into_finding());
    }
}

/// A time index against the batches of its segment.
#[derive(Default)]
pub(super) struct TimeCheck {
    name: String,
    entries: Vec<TimeEntry>,
    done: usize,
    mismatch: First,
}

impl TimeCheck {
    pub(super) fn new(twin: &Twin, segment: &SegmentFile, findings: &mut Vec<Finding>) -> Self {
        let mut check = TimeCheck { name: twin.name.clone(), ..TimeCheck::default() };
        let Some(bytes) = present(twin, segment, findings) else { return check };
        let index = index::time_index(bytes, twin.base_offset);
        tail(&check.name, &index, TIME_ENTRY, Code::TimeIndexCut, findings);
        check.entries = index.entries;
        let order = |a: &TimeEntry, b: &TimeEntry| a.timestamp <= b.timestamp && a.offset <= b.offset;
        if let Some(at) = out_of_order(&check.entries, order) {
            let (before, entry) = (check.entries.get(at - 1), check.entries.get(at));
            if let (Some(before), Some(entry)) = (before, entry) {
                findings.push(time_order_finding(&check.name, before, entry, at));
            }
            check.entries.truncate(at);
        }
        check
    }

    pub(super) fn next_offset(&self) -> i64 {
        self.entries.get(self.done).map_or(i64::MAX, |entry| entry.offset)
    }

    pub(super) fn batch(&mut self, seen: &Seen<'_>, damaged: bool) {
        while let Some(entry) = self.entries.get(self.done).filter(|it| it.offset <= seen.header.last_offset) {
            let (entry, number) = (*entry, self.done);
            self.done += 1;
            if damaged {
                // What was lost may have had that offset, or a greater time.
                continue;
            }
            if !seen.begins_at_or_before(entry.offset) {
                self.bad(number, &entry, "no batch has that offset", None);
            } else if entry.timestamp != seen.max_timestamp {
                self.bad(number, &entry, "that is not the greatest time up to there", Some(seen.max_timestamp));
            }
        }
    }

    fn bad(&mut self, number: usize, entry: &TimeEntry, why: &str, greatest: Option<i64>) {
        let name = &self.name;
        self.mismatch.add(|| {
            let text = format!("{name} says time {} at offset {}: {why}", entry.timestamp, entry.offset);
            let text = greatest.map_or(text.clone(), |greatest| format!("{text}, which is {greatest}"));
            let finding = Finding::new(Code::TimeIndexMismatch, text).file(name).offset(entry.offset);
            let finding = finding.position((number * TIME_ENTRY) as u64).fact("timestamp", entry.timestamp);
            finding.fact("greatestTimestamp", greatest).fact("why", why)
        });
    }

    /// The segment ends.
    pub(super) fn end(mut self, grew: bool, damaged: bool, findings: &mut Vec<Finding>) {
        let left: Vec<_> = self.entries.get(self.done..).unwrap_or_default().to_vec();
        if !grew && !damaged {
            for (i, entry) in left.iter().enumerate() {
                self.bad(self.done + i, entry, "the segment ends below that offset", None);
            }
        }
        findings.extend(self.mismatch.into_finding());
    }
}

/// The bytes of an index. That there is none is normal, and told where the segment holds something.
fn present<'t>(twin: &'t Twin, segment: &SegmentFile, findings: &mut Vec<Finding>) -> Option<&'t [u8]> {
    let bytes = twin.bytes(findings);
    if twin.is_absent() && segment.len > 0 {
        let text = format!("{} has no {}", segment.name, twin.name);
        findings.push(Finding::new(Code::IndexMissing, text).file(&twin.name));
    }
    bytes
}

/// What stands behind the entries.
fn tail<T>(name: &str, index: &Index<T>, entry: usize, cut: Code, findings: &mut Vec<Finding>) {
    let whole = (index.entries.len() * entry) as u64;
    if index.odd_bytes > 0 {
        let text = format!("{name}: {} bytes behind the last whole entry of {entry} bytes", index.odd_bytes);
        let finding = Finding::new(cut, text).file(name).position(whole + index.padding);
        findings.push(finding.fact("oddBytes", index.odd_bytes));
    } else if index.padding > 0 {
        let text = format!("{name}: {} bytes of zeros behind {} entries", index.padding, index.entries.len());
        let finding = Finding::new(Code::IndexUntrimmed, text).file(name).position(whole);
        findings.push(finding.fact("padding", index.padding));
    }
}

/// The first entry that does not come behind the one before it.
fn out_of_order<T>(entries: &[T], in_order: impl Fn(&T, &T) -> bool) -> Option<usize> {
    entries.windows(2).position(|pair| matches!(pair, [a, b] if !in_order(a, b))).map(|at| at + 1)
}

fn order_finding(name: &str, before: &OffsetEntry, entry: &OffsetEntry, number: usize) -> Finding {
    let text = format!(
        "{name}: offset {} at byte {} stands behind offset {} at byte {}",
        entry.offset, entry.position, before.offset, before.position
    );
    let finding = Finding::new(Code::IndexOrder, text).file(name).position((number * OFFSET_ENTRY) as u64);
    let finding = finding.offset(entry.offset).fact("segmentPosition", entry.position);
    finding.fact("previousOffset", before.offset).fact("previousSegmentPosition", before.position)
}

fn time_order_finding(name: &str, before: &TimeEntry, entry: &TimeEntry, number: usize) -> Finding {
    let text = format!(
        "{name}: time {} at offset {} stands behind time {} at offset {}",
        entry.timestamp, entry.offset, before.timestamp, before.offset
    );
    let finding = Finding::new(Code::TimeIndexOrder, text).file(name).position((number * TIME_ENTRY) as u64);
    let finding = finding.offset(entry.offset).fact("timestamp", entry.timestamp);
    finding.fact("previousTimestamp", before.timestamp).fact("previousOffset", before.offset)
}
