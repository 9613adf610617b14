//! The one loop over a partition: segments in order, spans in order, records in order, each shown to a visitor.
//!
//! Must not know: what the visitor makes of it.

use super::ahead::CrcCheck;
use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Hole, Inflater, Record, Segment, Span, Spans};
use std::io;
use std::ops::ControlFlow;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Go on.
    On,
    /// Leave out what is inside: the spans of this segment, the records of this batch.
    Over,
    /// End the walk.
    Stop,
}

/// Is shown a partition, piece by piece. Every piece is shown, damaged or not.
pub trait Visitor {
    /// A segment begins; its spans follow.
    fn segment(&mut self, segment: &Segment) -> io::Result<Step>;
    /// Whether a batch may concern the visitor: if not, it is passed over without its CRC.
    fn concerns(&mut self, _: &Batch<'_>) -> bool {
        true
    }
    /// Bytes that are no batch.
    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step>;
    /// A batch, and what its CRC says; its records follow.
    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step>;
    /// A record.
    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step>;
    /// A record that does not parse.
    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step>;
    /// The batch whose records were shown ends, with what is wrong with its body as a whole.
    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step>;
}

/// Looks at nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Visitor for Nobody {
    #[inline(always)]
    fn segment(&mut self, _: &Segment) -> io::Result<Step> {
        Ok(Step::On)
    }
    #[inline(always)]
    fn hole(&mut self, _: &Segment, _: &Hole) -> io::Result<Step> {
        Ok(Step::On)
    }
    #[inline(always)]
    fn batch(&mut self, _: &Segment, _: &Batch<'_>, _: Option<&FaultKind>) -> io::Result<Step> {
        Ok(Step::On)
    }
    #[inline(always)]
    fn record(&mut self, _: &Segment, _: &Batch<'_>, _: &Record<'_>) -> io::Result<Step> {
        Ok(Step::On)
    }
    #[inline(always)]
    fn bad_record(&mut self, _: &Segment, _: &Batch<'_>, _: &BadRecord<'_>) -> io::Result<Step> {
        Ok(Step::On)
    }
    #[inline(always)]
    fn batch_end(&mut self, _: &Segment, _: &Batch<'_>, _: Option<&Fault>) -> io::Result<Step> {
        Ok(Step::On)
    }
}

/// Shows a segment to a visitor, over the spans given (all of it, or from a position on).
pub fn walk_segment<'a, V: Visitor>(
    segment: &'a Segment,
    spans: Spans<'a>,
    inflater: &mut Inflater,
    crc: &mut impl CrcCheck,
    visitor: &mut V,
) -> io::Result<Step> {
    for span in spans {
        let step = match span {
            Span::Hole(hole) => visitor.hole(segment, &hole)?,
            Span::Batch(batch) if visitor.concerns(&batch) => walk_batch(segment, &batch, inflater, crc, visitor)?,
            Span::Batch(_) => Step::Over,
        };
        if step == Step::Stop {
            return Ok(Step::Stop);
        }
    }
    Ok(Step::On)
}

#[inline]
fn walk_batch<V: Visitor>(
    segment: &Segment,
    batch: &Batch<'_>,
    inflater: &mut Inflater,
    crc: &mut impl CrcCheck,
    visitor: &mut V,
) -> io::Result<Step> {
    let crc = crc.check(batch);
    match visitor.batch(segment, batch, crc.as_ref())? {
        Step::On => {}
        step => return Ok(step),
    }
    let mut records = batch.records(inflater);
    let ended = records.each(
        visitor,
        |visitor, record| go_on(visitor.record(segment, batch, record)),
        |visitor, record| go_on(visitor.bad_record(segment, batch, record)),
    );
    if let ControlFlow::Break(step) = ended {
        return step;
    }
    visitor.batch_end(segment, batch, records.fault())
}

#[inline(always)]
fn go_on(step: io::Result<Step>) -> ControlFlow<io::Result<Step>> {
    if matches!(step, Ok(Step::On | Step::Over)) { ControlFlow::Continue(()) } else { ControlFlow::Break(step) }
}
