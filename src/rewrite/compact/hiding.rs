//! Tombstones that must stay because of open transactions that are gone past.
//!
//! Must not know: how the keys of open transactions were found.

use super::keys::Winner;
use super::survey::{Remedy, Survey};
use crate::log::{Inflater, Segment, Span};
use crate::rewrite::interrupt::Interrupt;
use std::io;

/// Tombstones behind the first open transaction whose keys have records in one: a coordinator forgets what waits when it
/// meets them.
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
    let mut found = Vec::new();
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
            let records = batch.records(&mut inflater).flatten();
            let tombstones = records.filter(|it| it.value.is_none() && it.offset >= first);
            let hide = tombstones.filter(|it| it.key.is_some_and(|key| survey.keys.is_pinned(key)));
            let place = survey.starts.get(number).copied().unwrap_or(0) + batch.position();
            found.extend(hide.map(|it| Winner { offset: it.offset, place }));
        }
    }
    found.sort_unstable();
    Ok(found)
}
