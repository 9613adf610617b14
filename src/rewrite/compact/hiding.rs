//! Tombstones that must stay because of open transactions that are gone past.
//!
//! Must not know: how the keys of open transactions were found.

use super::slot::Winner;
use super::survey::{Remedy, Survey};
use crate::log::{Inflater, Segment, Span};
use crate::rewrite::interrupt::Interrupt;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::io;

/// Of every key that has a record in an open transaction, the last tombstone behind the first of them: a coordinator
/// forgets what waits when it meets one. Of more tombstones only the last matters, which forgets what those before did.
///
/// # Errors
/// If the work is interrupted.
pub fn hiding(
    segments: &[Segment],
    survey: &Survey,
    first: i64,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Vec<Winner>> {
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut last: HashMap<&[u8], Winner, RandomState> = HashMap::default();
    for (number, segment) in segments.iter().enumerate() {
        for span in segment.spans() {
            let Span::Batch(batch) = span else { continue };
            interrupt.check()?;
            let header = batch.header();
            let inside = header.last_offset >= first && header.base_offset < survey.until && !header.control;
            let left_out = survey.remedies.get(&(number as u32, batch.position())) == Some(&Remedy::LeaveOut);
            if !inside || left_out || survey.is_open(&header) {
                continue;
            }
            let place = survey.starts.get(number).copied().unwrap_or(0) + batch.position();
            let records = batch.records(&mut inflater).flatten();
            for record in records.filter(|it| it.value.is_none() && it.offset >= first) {
                if let Some(key) = record.key.and_then(|key| survey.keys.pinned(key)) {
                    last.insert(key, Winner { offset: record.offset, place });
                }
            }
        }
    }
    let mut found: Vec<_> = last.into_values().collect();
    found.sort_unstable();
    Ok(found)
}
