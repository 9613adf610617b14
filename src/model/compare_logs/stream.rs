//! One log on its way: batch by batch, and where it must be, record by record.
//!
//! Must not know: the other log.

use super::{BatchSite, Log, LogSum};
use crate::log::{Batch, Codec, Header, Inflater, Segment, Span, Spans};
use std::collections::VecDeque;

/// A batch and the segment it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing<'a> {
    batch: Batch<'a>,
    segment: &'a Segment,
}

impl Standing<'_> {
    pub fn header(&self) -> Header {
        self.batch.header()
    }

    pub fn site(&self) -> BatchSite {
        let header = self.batch.header();
        BatchSite {
            segment: self.segment.name().to_owned(),
            position: self.batch.position(),
            base_offset: header.base_offset,
            leader_epoch: Some(header.partition_leader_epoch).filter(|epoch| *epoch >= 0),
            crc: header.crc,
        }
    }
}

/// A record taken out of its batch.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Box<[u8]>>,
    pub value: Option<Box<[u8]>>,
    pub site: Standing<'a>,
    /// Something between the record before and this one could not be read.
    gap_before: bool,
}

/// A log on its way.
pub(super) struct Stream<'a> {
    log: Log<'a>,
    /// The segment that comes next.
    next: usize,
    spans: Option<(&'a Segment, Spans<'a>)>,
    inflater: Inflater,
    /// A batch that was met and not looked into.
    closed: Option<Standing<'a>>,
    /// What is left of the batch that was opened last.
    opened: VecDeque<Opened<'a>>,
    /// The last offset that was handed out.
    last: i64,
    /// Something behind the record handed out last could not be read.
    gap: bool,
    sum: LogSum,
}

impl<'a> Stream<'a> {
    pub fn new(log: Log<'a>) -> Self {
        let named = || log.segments.first().and_then(Segment::base_offset);
        let first = || {
            log.segments.iter().flat_map(Segment::spans).find_map(|span| match span {
                Span::Batch(batch) => Some(batch.header().base_offset),
                Span::Hole(_) => None,
            })
        };
        let from = Some(log.extent.from).filter(|from| *from > i64::MIN);
        let start = from.or_else(named).or_else(first).unwrap_or(0);
        Stream {
            log,
            next: 0,
            spans: None,
            inflater: Inflater::with_limit(log.max_inflated),
            closed: None,
            opened: VecDeque::new(),
            last: i64::MIN,
            gap: false,
            sum: LogSum { start, end: start, ..LogSum::default() },
        }
    }

    /// Goes on to the next batch, unless one is at hand.
    pub fn fill(&mut self) {
        while self.opened.is_empty() && self.closed.is_none() {
            let Some((segment, span)) = self.next_span() else { return };
            let batch = match span {
                Span::Batch(batch) => batch,
                Span::Hole(hole) => {
                    self.unreadable(hole.fault.is_damage());
                    continue;
                }
            };
            let header = batch.header();
            if header.last_offset < self.log.extent.from || header.base_offset > self.log.extent.last {
                continue;
            }
            let standing = Standing { batch, segment };
            if batch.check_crc().is_err() {
                self.unreadable(true);
                self.count(&standing);
                continue;
            }
            self.closed = Some(standing);
            if header.magic < 2 && header.codec != Codec::None {
                // Its head says the last offset only.
                self.open();
            }
        }
    }

    fn next_span(&mut self) -> Option<(&'a Segment, Span<'a>)> {
        loop {
            if let Some((segment, spans)) = &mut self.spans
                && let Some(span) = spans.next()
            {
                return Some((*segment, span));
            }
            let segment = self.log.segments.get(self.next)?;
            self.next += 1;
            self.spans = Some((segment, segment.spans()));
        }
    }

    fn unreadable(&mut self, is_damage: bool) {
        self.gap |= is_damage;
        self.sum.unreadable += u64::from(is_damage);
    }

    fn count(&mut self, standing: &Standing<'_>) {
        let header = standing.header();
        self.sum.batches += 1;
        self.sum.bytes += header.length;
        self.sum.end = self.sum.end.max(header.last_offset.saturating_add(1));
        *self.sum.framing.entry((header.magic, header.codec.name())).or_default() += 1;
        if header.partition_leader_epoch >= 0 {
            self.sum.last_epoch = Some(header.partition_leader_epoch);
        }
    }

    /// The offset at which the next record or batch stands; none at the end.
    pub fn next_offset(&self) -> Option<i64> {
        match (self.opened.front(), &self.closed) {
            (Some(record), _) => Some(record.offset),
            (None, Some(standing)) => Some(standing.header().base_offset),
            (None, None) => None,
        }
    }

    /// Whether the next thing is a batch that was not looked into.
    pub fn is_closed(&self) -> bool {
        self.opened.is_empty() && self.closed.is_some()
    }

    /// The batch that was not looked into, if that is the next thing.
    pub fn closed(&self) -> Option<Batch<'a>> {
        if self.opened.is_empty() { self.closed.map(|standing| standing.batch) } else { None }
    }

    /// Whether all of a batch counts: none of it lies outside the extent, none repeats what was handed out.
    pub fn counts_whole(&self, batch: &Batch<'_>) -> bool {
        let (header, extent) = (batch.header(), self.log.extent);
        header.base_offset > self.last && header.base_offset >= extent.from && header.last_offset <= extent.last
    }

    /// Passes over the batch at hand.
    pub fn pass(&mut self) {
        let Some(standing) = self.closed.take() else { return };
        self.count(&standing);
        let header = standing.header();
        self.sum.records += u64::try_from(header.count).unwrap_or(0);
        self.last = self.last.max(header.last_offset);
        self.gap = false;
    }

    /// Looks into the batch at hand.
    pub fn open(&mut self) {
        let Some(standing) = self.closed.take() else { return };
        self.count(&standing);
        let (mut gap_before, mut last) = (false, self.last);
        let mut records = standing.batch.records(&mut self.inflater);
        for record in records.by_ref() {
            let Ok(record) = record else {
                gap_before = true;
                self.sum.unreadable += 1;
                continue;
            };
            if record.offset < self.log.extent.from || record.offset > self.log.extent.last {
                continue;
            }
            if record.offset <= last {
                self.sum.repeated += 1;
                continue;
            }
            last = record.offset;
            self.opened.push_back(Opened {
                offset: record.offset,
                timestamp: record.timestamp,
                key: record.key.map(Box::from),
                value: record.value.map(Box::from),
                site: standing,
                gap_before,
            });
            gap_before = false;
        }
        let fault = records.fault().is_some();
        self.sum.unreadable += u64::from(fault);
        self.sum.records += self.opened.len() as u64;
        if let (true, Some(first)) = (self.gap, self.opened.front_mut()) {
            first.gap_before = true;
        }
        // Once the batch is used up, this is what lies behind it.
        self.gap = gap_before || fault || (self.gap && self.opened.is_empty());
    }

    /// Whether something in front of the next record could not be read.
    pub fn gap_is_unreadable(&self) -> bool {
        self.opened.front().map_or(self.gap, |record| record.gap_before)
    }

    /// Takes the next record of the batch that was opened.
    pub fn take(&mut self) -> Option<Opened<'a>> {
        let record = self.opened.pop_front()?;
        self.last = record.offset;
        Some(record)
    }

    pub fn sum(&self) -> &LogSum {
        &self.sum
    }

    pub fn finish(self) -> LogSum {
        self.sum
    }
}
