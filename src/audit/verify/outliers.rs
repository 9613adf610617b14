//! Batches that stand where they cannot, because their base offset is damaged, which no CRC covers: their records are as
//! they were, but whoever reads by offset passes over them. Of which groups they hold the latest record.
//!
//! Must not know: how it was found that they cannot stand there.

use super::lost::Lost;
use crate::audit::{Code, Fact, Finding};
use crate::log::{Batch, Segment, Span};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Of more batches, the log is not one with a wrong offset here and there.
const MOST: usize = 1000;

/// Batches by segment and place.
pub(super) type Outliers = BTreeMap<(u32, u64), Right>;

/// Where a batch should stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// It begins at this offset, behind what stands before it.
    From(i64),
    /// It ends before this offset, at which the next one begins.
    Until(i64),
}

/// A finding for each group whose latest record is in such a batch.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn latest_in(found: &[Finding], segments: &[PathBuf], max_inflated: usize) -> io::Result<Vec<Finding>> {
    let outliers = outliers(found, segments);
    if outliers.is_empty() || outliers.len() > MOST {
        return Ok(Vec::new());
    }
    let mut lost = Lost::new(max_inflated);
    for ((number, position), right) in &outliers {
        let Some(path) = segments.get(*number as usize) else { continue };
        let segment = Segment::open(path)?;
        let Some(Span::Batch(batch)) = segment.spans_from(*position).next() else { continue };
        let header = batch.header();
        let span = header.last_offset.saturating_sub(header.base_offset).saturating_add(1);
        let first = match right {
            Right::From(first) => *first,
            Right::Until(end) => end.saturating_sub(span),
        };
        let mut bytes = batch.bytes().to_vec();
        if let Some(room) = bytes.get_mut(..8) {
            room.copy_from_slice(&first.to_be_bytes());
        }
        lost.begin_segment(u64::from(*number));
        // Older ones keep offsets inside, too.
        if let Some(batch) = Batch::new(&bytes, *position).filter(|_| header.magic >= 2) {
            lost.batch(&batch);
        }
    }
    lost.finish_without(segments, max_inflated, &outliers)
}

/// Those that are alone among others that fit: of a range that was written twice, nobody knows which is wrong.
fn outliers(found: &[Finding], segments: &[PathBuf]) -> Outliers {
    let number = |name: &str| segments.iter().position(|path| path.file_name().is_some_and(|it| it == name));
    let odd: Vec<_> =
        found.iter().filter(|it| it.code == Code::OffsetOrder && fact(it, "baseOffset").is_some()).collect();
    let mut outliers = Outliers::new();
    for finding in &odd {
        let (Some(name), Some(position)) = (&finding.segment, finding.position) else { continue };
        let (Some(number), Some(base)) = (number(name), fact(finding, "baseOffset")) else { continue };
        let length = fact(finding, "length").and_then(|it| u64::try_from(it).ok()).unwrap_or(0) + 12;
        let followed = odd.iter().any(|it| it.segment == finding.segment && it.position == Some(position + length));
        let place = (number as u32, position);
        match (fact(finding, "outlier").and_then(|it| u64::try_from(it).ok()), fact(finding, "previous")) {
            // The one before it stands too high: it ends where this one begins.
            (Some(outlier), _) => {
                outliers.insert((number as u32, outlier), Right::Until(base));
            }
            (None, Some(previous)) if !followed => {
                outliers.insert(place, Right::From(previous.saturating_add(1)));
            }
            _ => {}
        }
    }
    outliers
}

fn fact(finding: &Finding, name: &str) -> Option<i64> {
    match finding.facts.iter().find(|(it, _)| *it == name) {
        Some((_, Fact::Int(n))) => Some(*n),
        _ => None,
    }
}
