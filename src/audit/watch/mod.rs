//! What only the way through the log shows, not its end: how often groups rebalance, whose commits go back, which
//! transactions are open, what the segments hold. It looks at the same scan that the replay does.
//!
//! Memory grows with the live keys, with the transactions in flight, and with the names of groups that transactions touched:
//! what a tombstone takes away is forgotten here, too. Records of damaged batches are passed over. Must not know: what is odd
//! about any of it.

pub mod commits;
pub mod empties;
pub mod shape;
pub mod turns;

use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Control, Header, Hole, Record, Segment};
use crate::model::transactions::{Fold, Transactions};
use crate::model::walk::{Step, Visitor};
use crate::schema::{Key, KeyFields};
use commits::{Commits, Said};
use empties::{Empties, EmptyBatches};
use shape::Shape;
use std::io;
use turns::Turns;

/// What came of the way through a partition.
#[derive(Debug, Default)]
pub struct Watch {
    /// Commits, by key and by group.
    pub commits: Commits,
    /// Rebalances and members, by group.
    pub turns: Turns,
    /// Transactions that have not ended, as `txns` has them.
    pub transactions: Transactions,
    /// Batches without records, by producer.
    pub empties: Vec<EmptyBatches>,
    /// Segments, versions, horizons, and what does not belong here.
    pub shape: Shape,
}

/// Watches a partition go by.
#[derive(Debug)]
pub struct Watching {
    commits: Commits,
    turns: Turns,
    transactions: Fold,
    empties: Empties,
    shape: Shape,
    /// Whether the records of the batch at hand cannot be believed.
    damaged: bool,
    /// Whether the batch at hand is one of a transaction.
    in_transaction: bool,
}

impl Watching {
    /// Nothing yet. What lies below `log_start` does not count. `now` is in milliseconds since 1970: horizons before it have
    /// passed.
    pub fn new(log_start: Option<i64>, now: i64) -> Self {
        Watching {
            commits: Commits::default(),
            turns: Turns::default(),
            // Those that ended are nobody's trouble.
            transactions: Fold::new(log_start, 0, now),
            empties: Empties::new(now),
            shape: Shape::new(now),
            damaged: false,
            in_transaction: false,
        }
    }

    /// What came of it.
    pub fn finish(self) -> Watch {
        let end_by_name = self.shape.segments.iter().rev().find_map(|segment| segment.base_offset);
        Watch {
            commits: self.commits,
            turns: self.turns,
            transactions: self.transactions.finish(end_by_name),
            empties: self.empties.finish(),
            shape: self.shape,
        }
    }

    fn control(&mut self, header: &Header, record: &Record<'_>) {
        let ending = match Control::parse(record) {
            Ok(Control::Commit(_)) => commits::Ending::Commit,
            Ok(Control::Abort(_)) => commits::Ending::Abort,
            _ => return,
        };
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

impl Visitor for Watching {
    fn segment(&mut self, segment: &Segment) -> io::Result<Step> {
        self.shape.segment(segment);
        self.transactions.segment(segment)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        if hole.fault != FaultKind::ZeroTail {
            self.shape.damage(segment.name(), hole.position);
        }
        self.shape.torn_tail = hole.is_torn_write() && hole.position + hole.length == segment.len();
        self.transactions.hole(segment, hole)
    }

    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        self.in_transaction = self.transactions.batch(segment, batch, crc)? == Step::On;
        self.damaged = crc.is_some();
        if self.damaged {
            self.shape.damage(segment.name(), batch.position());
            return Ok(Step::On);
        }
        let header = batch.header();
        self.shape.batch(&header);
        self.empties.batch(&header);
        Ok(Step::On)
    }

    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        if self.in_transaction {
            self.transactions.record(segment, batch, record)?;
        }
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

    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        if self.in_transaction { self.transactions.bad_record(segment, batch, record) } else { Ok(Step::On) }
    }

    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        if self.in_transaction { self.transactions.batch_end(segment, batch, body) } else { Ok(Step::On) }
    }
}
