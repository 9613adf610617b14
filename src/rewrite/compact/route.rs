//! The way of the second pass: it goes to the batches that may stay, and passes over the others.
//!
//! Must not know: which of them stay, and what is done with them.

use super::slot::Winner;
use super::survey::Survey;
use crate::log::{Batch, Segment};
use crate::machine::cpu::prefetch;
use crate::machine::map::WINDOW;
use crate::rewrite::plan::frames;
use std::io;

/// So many stops before a batch is looked at, it is called into the processor's cache: as many lines as most have.
const AHEAD: usize = 4;
const LINES: usize = 8;

/// From so many stops in a window on, all of it is made ready at once: one by one, that would take longer.
const DENSE: usize = 256;

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
    let mut ahead = stops.iter().skip(AHEAD);
    for stop in stops {
        let position = stop - start;
        if let Some(next) = ahead.next() {
            let at = (next - start) as usize;
            if at >= ready_to {
                ready_to = at - at % WINDOW + WINDOW;
                let within = stops.partition_point(|stop| ((stop - start) as usize) < ready_to)
                    - stops.partition_point(|stop| stop < next);
                if within >= DENSE {
                    segment.prepare(at);
                }
            }
            for line in 0..LINES {
                prefetch(segment.bytes(), at + line * 64);
            }
        }
        let Some(batch) = frames(segment.bytes(), position, segment.len()).next() else { continue };
        look(&batch)?;
        if position >= held_from + WINDOW as u64 {
            segment.release(held_from as usize..position as usize);
            held_from = position;
        }
    }
    segment.release(held_from as usize..segment.bytes().len());
    Ok(())
}
