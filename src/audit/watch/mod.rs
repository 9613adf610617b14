//! What only the way through the log shows, not its end: how often groups rebalance, whose commits go back, which
//! transactions are open, what the segments hold. It looks at the same scan that the replay does.
//!
//! Memory grows with the live keys: what a tombstone takes away is forgotten here, too. Records of damaged batches are
//! passed over. Must not know: what is odd about any of it.

pub mod commits;
pub mod open;
pub mod shape;
pub mod turns;

use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Control, Header, Hole, Record, Segment};
use crate::model::walk::{Step, Visitor};
use crate::schema::{Key, KeyFields};
use commits::{Commits, Said};
use open::Open;
use shape::Shape;
use std::io;
use turns::Turns;

/// Watches a partition go by.
#[derive(Debug, Default)]
pub struct Watch {
    /// Commits, by key and by group.
    pub commits: Commits,
    /// Rebalances and members, by group.
    pub turns: Turns,
    /// Transactions that have not ended.
    pub open: Open,
    /// Segments, versions, horizons, and what does not belong here.
    pub shape: Shape,
    /// Whether the records of the batch at hand cannot be believed.
    damaged: bool,
}

impl Watch {
    /// Nothing yet. `now` is in milliseconds since 1970: horizons before it have passed.
    pub fn new(now: i64) -> Self {
        Watch { shape: Shape::new(now), ..Watch::default() }
    }

    fn control(&mut self, header: &Header, record: &Record<'_>) {
        let (marker, ending) = match Control::parse(record) {
            Ok(Control::Commit(marker)) => (marker, commits::Ending::Commit),
            Ok(Control::Abort(marker)) => (marker, commits::Ending::Abort),
            _ => return,
        };
        self.open.end(header.producer_id, marker.coordinator_epoch);
        let turns = &self.turns;
        self.commits.end(header.producer_id, ending, &|group| turns.has_members(group));
    }

    fn data(&mut self, segment: &Segment, batch: &Batch<'_>, header: &Header, record: &Record<'_>) {
        let place = shape::Place { segment: segment.name(), position: batch.position(), offset: record.offset };
        let Some(bytes) = record.key else { return self.shape.null_key(&place) };
        let key = match Key::decode(bytes) {
            Ok(key) => key,
            Err(bad) => return self.shape.odd_key(bad.number, &bad.fault.kind, &place),
        };
        self.shape.record(key.record_type, record.value, header, &place);
        if !matches!(key.fields, KeyFields::Offset(_)) {
            return self.turns.record(&key, bytes, record);
        }
        let said = Said { group: key.group(), key: bytes.get(2..).unwrap_or_default(), record };
        let turns = &self.turns;
        self.commits.record(&said, header.producer_id, &|group| turns.has_members(group));
    }
}

impl Visitor for Watch {
    fn segment(&mut self, segment: &Segment) -> io::Result<Step> {
        self.shape.segment(segment);
        Ok(Step::On)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        if hole.fault != FaultKind::ZeroTail {
            self.shape.damage(segment.name(), hole.position);
        }
        self.shape.torn_tail = hole.is_torn_write() && hole.position + hole.length == segment.len();
        Ok(Step::On)
    }

    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        self.damaged = crc.is_some();
        if self.damaged {
            self.shape.damage(segment.name(), batch.position());
            return Ok(Step::On);
        }
        let header = batch.header();
        let before = self.shape.batch(&header, batch.position());
        if header.transactional && !header.control && header.count > 0 {
            self.open.batch(&header, before);
        }
        Ok(Step::On)
    }

    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        if !self.damaged {
            let header = batch.header();
            if header.control {
                self.control(&header, record);
            } else {
                self.data(segment, batch, &header, record);
            }
        }
        Ok(Step::On)
    }

    fn bad_record(&mut self, _: &Segment, _: &Batch<'_>, _: &BadRecord<'_>) -> io::Result<Step> {
        Ok(Step::On)
    }

    fn batch_end(&mut self, _: &Segment, _: &Batch<'_>, _: Option<&Fault>) -> io::Result<Step> {
        Ok(Step::On)
    }
}
