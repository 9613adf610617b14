//! What a broker's start would take from the log: records of segments that `.swap` files replace, if nothing supersedes
//! them.
//!
//! Of a whole `.swap` file that is nothing: the cleaner leaves out what a later record supersedes, what was aborted, and
//! tombstones. Only a folder with segments that are replaced pays for this. Must not know: what anyone does about it.

use super::losses::{Losses, LostKey};
use crate::log::dir::{PartitionDir, SegmentFile};
use crate::log::{Batch, Control, Inflater, Segment, Span};
use crate::model::losses::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// Offsets of the ABORT (true) and COMMIT markers of each producer.
type Ends = BTreeMap<i64, BTreeMap<i64, bool>>;

/// The keys whose latest record stands in a replaced segment and nowhere in the log that is left; records below `start` do
/// not count. The segments are numbered as [`PartitionDir::replaced`] has them. One that cannot be read tells nothing.
///
/// # Errors
/// If a segment that counts can be opened no more.
pub fn taken(dir: &PartitionDir, start: i64, max_inflated: usize) -> io::Result<Vec<LostKey>> {
    let opened = dir.replaced().zip(0..).filter_map(|(file, number)| Some((Segment::open(&file.path).ok()?, number)));
    let replaced: Vec<(Segment, u32)> = opened.collect();
    if replaced.is_empty() {
        return Ok(Vec::new());
    }
    let mut inflater = Inflater::with_limit(max_inflated);
    let ends = ends(&replaced, &mut inflater);
    let mut losses = Losses::new();
    for (segment, number) in &replaced {
        for batch in sound(segment).filter(|batch| batch.header().last_offset >= start) {
            match batch.header().control {
                // It ends what is taken with it.
                true => losses.survivors(&batch, &mut inflater),
                false if is_aborted(&batch, &ends) => {}
                false => drop(losses.lost_batch(*number, &batch, &mut inflater)),
            }
        }
    }
    losses.resolve(&readable(dir.segments.iter()), max_inflated)?;
    let mut keys = losses.finish();
    keys.retain(|key| {
        let is_told = key.superseded_by.is_some() || key.aborted_by.is_some() || key.key.is_empty();
        !is_told && key.value != Kept::Tombstone && key.offset >= start
    });
    Ok(keys)
}

fn readable<'f>(files: impl Iterator<Item = &'f SegmentFile>) -> Vec<PathBuf> {
    files.filter(|file| Segment::open(&file.path).is_ok()).map(|file| file.path.clone()).collect()
}

fn sound(segment: &Segment) -> impl Iterator<Item = Batch<'_>> {
    segment.spans().filter_map(|span| match span {
        Span::Batch(batch) => Some(batch).filter(|batch| batch.check_crc().is_ok()),
        Span::Hole(_) => None,
    })
}

fn ends(segments: &[(Segment, u32)], inflater: &mut Inflater) -> Ends {
    let mut ends = Ends::new();
    for batch in segments.iter().flat_map(|(segment, _)| sound(segment)).filter(|batch| batch.header().control) {
        for record in batch.records(inflater).by_ref().flatten() {
            let aborts = match Control::parse(&record) {
                Ok(Control::Abort(_)) => true,
                Ok(Control::Commit(_)) => false,
                _ => continue,
            };
            ends.entry(batch.header().producer_id).or_default().insert(record.offset, aborts);
        }
    }
    ends
}

fn is_aborted(batch: &Batch<'_>, ends: &Ends) -> bool {
    let header = batch.header();
    let of_producer = ends.get(&header.producer_id).filter(|_| header.transactional);
    of_producer.and_then(|ends| ends.range(header.last_offset..).next()).is_some_and(|(_, aborts)| *aborts)
}

/// The groups that keys name.
pub fn groups(keys: &[LostKey]) -> BTreeSet<&[u8]> {
    keys.iter().filter_map(|key| key.group.as_deref()).collect()
}
