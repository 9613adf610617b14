//! The way of the second pass: it goes to the batches that may stay, and passes over the others.
//!
//! Must not know: which of them stay, and what is done with them.

use super::slot::Winner;
use super::survey::Survey;
use crate::log::batch::PREFIX_LENGTH;
use crate::log::{Batch, Segment};
use crate::machine::cpu::prefetch;
use crate::machine::map::WINDOW;
use crate::rewrite::plan::frames;
use std::io;

/// So many stops before a batch is looked at, it is called into the processor's cache: first its head, and when that is
/// there to say how long it is, the rest.
const FAR: usize = 8;
const NEAR: usize = 4;
/// Of a longer one, the processor goes on by itself.
const MOST_AHEAD: usize = 4 << 10;

/// From so many stops in a window on, all of it is made ready at once: one by one, that would take longer.
const DENSE: usize = 96;

/// Where batches begin that may stay, in what is cleaned.
pub fn stops(survey: &Survey, winners: &[Winner], controls: &[(u64, bool)]) -> Vec<u64> {
    let mut all: Vec<u64> = winners.iter().map(|winner| winner.place).collect();
    all.extend(controls.iter().map(|(place, _)| *place));
    all.extend(survey.producers.places());
    all.extend(survey.newest.map(|(_, place)| place));
    let behind = survey.behind.unwrap_or(u64::MAX);
    all.retain(|place| *place < behind);
    // Few pieces, each in order: a stable sort finds them.
    all.sort();
    all.dedup();
    all
}

/// Looks at the batches of a segment that begin at `stops`, counted through all segments, of which so many bytes lie
/// before this one.
///
/// # Errors
/// Those of `look`.
pub fn visit(
    segment: &Segment,
    start: u64,
    stops: &[u64],
    look: &mut dyn FnMut(&Batch<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut held_from = 0;
    let mut ready_to = 0;
    let mut far = stops.iter().skip(FAR);
    let mut near = stops.iter().skip(NEAR);
    for stop in stops {
        let position = stop - start;
        if let Some(next) = far.next() {
            let at = (next - start) as usize;
            if at >= ready_to {
                ready_to = at - at % WINDOW + WINDOW;
                let within = stops.partition_point(|stop| ((stop - start) as usize) < ready_to)
                    - stops.partition_point(|stop| stop < next);
                if within >= DENSE {
                    segment.prepare(at);
                }
            }
            prefetch(segment.bytes(), at);
        }
        if let Some(next) = near.next() {
            call_ahead(segment.bytes(), (next - start) as usize);
        }
        let Some(batch) = frames(segment.bytes(), position, segment.len()).next() else { continue };
        look(&batch)?;
        // Not the window that it lies in, which was made ready.
        let window = position - position % WINDOW as u64;
        if window > held_from {
            segment.release(held_from as usize..window as usize);
            held_from = window;
        }
    }
    segment.release(held_from as usize..segment.bytes().len());
    Ok(())
}

/// Calls the batch at `at` into the cache, whose head is there.
#[inline(always)]
fn call_ahead(bytes: &[u8], at: usize) {
    let says = bytes.get(at + 8..).and_then(|rest| rest.first_chunk()).map_or(0, |says| u32::from_be_bytes(*says));
    let end = at + PREFIX_LENGTH + (says as usize).min(MOST_AHEAD);
    (at..end).step_by(64).for_each(|line| prefetch(bytes, line));
}
