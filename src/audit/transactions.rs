//! Transactions and the files beside the log that know of them: aborted ones in `.txnindex`, open ones in `.snapshot`.
//!
//! Must not know: how anything is printed.

use super::code::Code;
use super::finding::{Finding, Severity};
use super::side::SideFacts;
use crate::fault::{Fault, FaultKind};
use crate::log::dir::{OtherKind, PartitionDir};
use crate::log::producer_state::{ABORTED_VERSION, ProducerEntry, snapshot, txn_index};
use crate::log::{BadRecord, Batch, Hole, Inflater, Record, Segment};
use crate::model::ahead::CheckNow;
use crate::model::transactions::{Ending, Fold, Transaction, Transactions};
use crate::model::walk::{Step, Visitor, walk_segment};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::io;
use std::path::PathBuf;

/// How to look at a partition.
#[derive(Debug, Clone, Copy)]
pub struct Looking<'d> {
    /// Its folder, whose files are compared; None for a single segment.
    pub dir: Option<&'d PartitionDir>,
    /// What lies below does not count.
    pub log_start: Option<i64>,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
    /// How many transactions that ended are kept.
    pub most_ended: usize,
    /// What now is, in ms since 1970.
    pub now: i64,
}

/// How long a transaction has been open, in ms; below 0 if it begins ahead of now. None if it ended, or nothing tells when it
/// began.
pub fn age(it: &Transaction, now: i64) -> Option<i64> {
    (it.pins && it.first_timestamp >= 0).then(|| now.saturating_sub(it.first_timestamp))
}

/// Whether a transaction is open for longer than any producer may ask for (`transaction.max.timeout.ms`).
pub fn hangs(it: &Transaction, now: i64, max_timeout_ms: i64) -> bool {
    age(it, now).is_some_and(|age| age > max_timeout_ms)
}

/// What the files beside the log say of one transaction. None: there is no file that would have to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Of an aborted one: whether an entry of a transaction index names its producer and its marker.
    pub in_txn_index: Option<bool>,
    /// Of an open one: whether the newest snapshot behind its first offset has it open from there.
    pub in_snapshot: Option<bool>,
}

/// The files beside the log that were compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SideFiles {
    /// Transaction indexes.
    pub txn_indexes: u64,
    /// Entries in them.
    pub aborted: u64,
    /// Producer snapshots.
    pub snapshots: u64,
}

/// Transactions of a partition, and what the files beside it say.
#[derive(Debug)]
pub struct Audited {
    /// As the log has them.
    pub transactions: Transactions,
    /// For each of [`Transactions::all`].
    pub agreements: Vec<Agreement>,
    /// What was compared.
    pub side: SideFiles,
    /// Where transaction indexes and snapshots do not agree with the log.
    pub findings: Vec<Finding>,
}

impl Audited {
    /// Whether a finding is worse than worth knowing.
    pub fn disagrees(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity > Severity::Info)
    }
}

/// Looks at the segments of a partition, which must be in order. `progress` is told of bytes read.
///
/// # Errors
/// If a segment cannot be read.
pub fn audit(segments: &[PathBuf], how: &Looking<'_>, progress: &mut dyn FnMut(u64)) -> io::Result<Audited> {
    // Read before the log is, so that they are not newer.
    let known = Known::of(how.dir);
    let mut watched = Watched {
        fold: Fold::new(how.log_start, how.most_ended, how.now),
        side: how.dir.map(SideFacts::new),
        before: 0,
        progress,
    };
    let mut inflater = Inflater::with_limit(how.max_inflated);
    let mut end_by_name = None;
    for (number, path) in segments.iter().enumerate() {
        if let (Some(side), Some(file)) = (&mut watched.side, how.dir.and_then(|dir| dir.segments.get(number))) {
            side.segment(file);
        }
        let segment = Segment::open(path).map_err(|error| crate::files::named(path, &error))?;
        watched.segment(&segment)?;
        walk_segment(&segment, segment.spans(), &mut inflater, &mut CheckNow, &mut watched)?;
        watched.before += segment.len();
        end_by_name = segment.base_offset().or(end_by_name);
    }
    let Watched { fold, side, .. } = watched;
    let transactions = fold.finish(end_by_name);
    let agreements = transactions.all.iter().map(|it| known.agreement(it)).collect();
    let mut findings = side.map(|side| side.finish(None)).unwrap_or_default();
    findings.retain(|finding| is_of_transactions(finding.code));
    Ok(Audited { transactions, agreements, side: known.files, findings })
}

fn is_of_transactions(code: Code) -> bool {
    use Code::*;
    matches!(
        code,
        TxnIndexMismatch
            | TxnIndexIncomplete
            | TxnIndexBeyondEnd
            | TxnIndexOrder
            | TxnIndexCut
            | TxnIndexVersion
            | SnapshotCrc
            | SnapshotMalformed
            | SnapshotVersion
            | SnapshotMismatch
            | SnapshotBeyondEnd
    )
}

/// What the files beside the log say.
#[derive(Default)]
struct Known {
    files: SideFiles,
    /// Whether there are index files at all: a broker that finds none makes them anew.
    has_indexes: bool,
    /// By producer and offset of the marker.
    aborted: HashMap<(i64, i64), i64, RandomState>,
    /// By offset, ascending.
    snapshots: Vec<(i64, Vec<ProducerEntry>)>,
}

impl Known {
    fn of(dir: Option<&PartitionDir>) -> Known {
        let mut known = Known::default();
        for other in dir.into_iter().flat_map(|dir| &dir.others) {
            match other.kind {
                OtherKind::OffsetIndex => known.has_indexes = true,
                // What cannot be read is a finding of the walk's.
                OtherKind::TransactionIndex => known.index(&crate::files::read(&other.path).unwrap_or_default()),
                OtherKind::ProducerSnapshot => known.snapshot(&other.name, &other.path),
                _ => {}
            }
        }
        known.snapshots.sort_by_key(|(offset, _)| *offset);
        known
    }

    fn index(&mut self, bytes: &[u8]) {
        self.has_indexes = true;
        self.files.txn_indexes += 1;
        for entry in txn_index(bytes).entries.iter().filter(|entry| entry.version == ABORTED_VERSION) {
            self.files.aborted += 1;
            self.aborted.insert((entry.producer_id, entry.last_offset), entry.first_offset);
        }
    }

    fn snapshot(&mut self, name: &str, path: &std::path::Path) {
        let Some(offset) = name.get(..20).and_then(|digits| digits.parse().ok()) else { return };
        let read = snapshot(&crate::files::read(path).unwrap_or_default());
        self.files.snapshots += 1;
        if read.faults.is_empty() {
            let open = read.entries.into_iter().filter(|entry| entry.current_txn_first_offset >= 0);
            self.snapshots.push((offset, open.collect()));
        }
    }

    fn agreement(&self, it: &Transaction) -> Agreement {
        let Some(first) = it.first_offset else { return Agreement::default() };
        match (it.ending, it.marker_offset) {
            (Ending::Aborted, Some(marker)) if self.has_indexes => Agreement {
                in_txn_index: Some(self.aborted.get(&(it.producer_id, marker)).is_some_and(|began| *began <= first)),
                in_snapshot: None,
            },
            (Ending::Open, _) => {
                let newest = self.snapshots.last().filter(|(offset, _)| *offset > first);
                let is_open = |entry: &ProducerEntry| {
                    entry.producer_id == it.producer_id && entry.current_txn_first_offset == first
                };
                Agreement { in_txn_index: None, in_snapshot: newest.map(|(_, open)| open.iter().any(is_open)) }
            }
            _ => Agreement::default(),
        }
    }
}

/// Shows the walk to the fold and to the comparison.
struct Watched<'d, 'p> {
    fold: Fold,
    side: Option<SideFacts<'d>>,
    before: u64,
    progress: &'p mut dyn FnMut(u64),
}

impl Visitor for Watched<'_, '_> {
    fn segment(&mut self, segment: &Segment) -> io::Result<Step> {
        self.fold.segment(segment)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        if let Some(side) = &mut self.side {
            match hole.fault {
                FaultKind::ZeroTail => side.zero_tail(hole.length),
                _ => side.damage(hole.position..hole.position + hole.length),
            }
        }
        self.fold.hole(segment, hole)
    }

    #[inline]
    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        (self.progress)(self.before + batch.position());
        if let Some(side) = &mut self.side {
            match crc {
                None => side.batch(batch, &batch.header()),
                Some(_) => side.damage(batch.position()..batch.position() + batch.len()),
            }
        }
        self.fold.batch(segment, batch, crc)
    }

    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        self.fold.record(segment, batch, record)
    }

    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        self.fold.bad_record(segment, batch, record)
    }

    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        self.fold.batch_end(segment, batch, body)
    }
}
