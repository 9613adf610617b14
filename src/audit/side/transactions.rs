//! A transaction index against the end markers of its segment.
//!
//! The cleaner removes aborted records and, later, their markers: an entry whose marker is gone is normal, and so is a
//! marker without an entry if none of its records is left.
//! Must not know: folders.

use super::{First, Twin};
use crate::audit::code::Code;
use crate::audit::finding::Finding;
use crate::fault::FaultKind;
use crate::log::Header;
use crate::log::producer_state::{self, ABORTED_VERSION, AbortedTxn, TxnIndex};

/// A transaction index against its segment.
#[derive(Default)]
pub(super) struct TxnCheck {
    name: String,
    base_offset: i64,
    /// In ascending order of their last offset, with where each stands.
    entries: Vec<(usize, AbortedTxn)>,
    /// Entries whose last offset was reached.
    done: usize,
    /// Whether there are entries that could not be read.
    unread: bool,
    /// The one whose end marker is at hand.
    current: Option<(usize, AbortedTxn)>,
    mismatch: First,
    incomplete: First,
}

impl TxnCheck {
    pub(super) fn new(twin: &Twin, findings: &mut Vec<Finding>) -> Self {
        let mut check = TxnCheck { name: twin.name.clone(), base_offset: twin.base_offset, ..TxnCheck::default() };
        let index = producer_state::txn_index(twin.bytes(findings).unwrap_or_default());
        faults(&check.name, &index, findings);
        let mut order = First::default();
        let mut before: Option<AbortedTxn> = None;
        for (number, txn) in index.entries.iter().enumerate().filter(|(_, txn)| txn.version == ABORTED_VERSION) {
            match before.filter(|before| before.last_offset >= txn.last_offset) {
                Some(before) => order.add(|| {
                    let text = format!(
                        "{}: a transaction that ends at {} stands behind one that ends at {}",
                        check.name, txn.last_offset, before.last_offset
                    );
                    of_entry(Code::TxnIndexOrder, &check.name, number, txn, text)
                }),
                None => before = Some(*txn),
            }
            check.entries.push((number, *txn));
        }
        check.entries.sort_by_key(|(_, txn)| txn.last_offset);
        check.unread = !index.faults.is_empty();
        findings.extend(order.into_finding());
        check
    }

    /// Of a segment without any index: a broker that finds none makes them all anew, so that nothing is missing.
    pub(super) fn of_none() -> Self {
        TxnCheck { unread: true, ..TxnCheck::default() }
    }

    pub(super) fn next_offset(&self) -> i64 {
        self.entries.get(self.done).map_or(i64::MAX, |(_, txn)| txn.last_offset)
    }

    fn bad(&mut self, number: usize, txn: &AbortedTxn, why: &str) {
        let name = &self.name;
        self.mismatch.add(|| {
            let text = format!(
                "{name} says that producer {} aborted offsets {} to {}: {why}",
                txn.producer_id, txn.first_offset, txn.last_offset
            );
            of_entry(Code::TxnIndexMismatch, name, number, txn, text).fact("why", why)
        });
    }

    /// The entry of the marker at an offset. Those before it were passed over.
    fn at(&self, offset: i64) -> Option<(usize, AbortedTxn)> {
        let rest = self.entries.get(self.done..).unwrap_or_default();
        let at = rest.partition_point(|(_, txn)| txn.last_offset < offset);
        rest.get(at).copied().filter(|(_, txn)| txn.last_offset == offset)
    }

    /// The end marker of an aborted transaction, and where its first record that is left stands.
    pub(super) fn aborted(&mut self, header: &Header, began: Option<i64>) {
        let (offset, producer_id) = (header.last_offset, header.producer_id);
        self.current = self.at(offset);
        match (self.current, began) {
            (Some((number, txn)), _) if txn.producer_id != producer_id => {
                self.bad(number, &txn, &format!("the marker there is that of producer {producer_id}"));
            }
            (Some((number, txn)), Some(began)) if txn.first_offset > began => {
                self.bad(number, &txn, &format!("its first record is at {began}"));
            }
            (None, Some(began)) if !self.unread => {
                let name = &self.name;
                self.incomplete.add(|| {
                    let text =
                        format!("{name} lacks the transaction of producer {producer_id} that was aborted at {offset}");
                    let finding = Finding::new(Code::TxnIndexIncomplete, text).file(name).offset(offset);
                    finding.fact("producerId", producer_id).fact("firstOffset", began).fact("lastOffset", offset)
                });
            }
            _ => {}
        }
    }

    /// The end marker of a committed transaction.
    pub(super) fn committed(&mut self, header: &Header) {
        self.current = self.at(header.last_offset);
        if let Some((number, txn)) = self.current {
            self.bad(number, &txn, "the marker there is a commit");
        }
    }

    /// Any batch, after its marker, if it is one.
    pub(super) fn batch(&mut self, header: &Header) {
        let marker = self.current.take();
        while let Some((number, txn)) = self.entries.get(self.done).filter(|it| it.1.last_offset <= header.last_offset)
        {
            let (number, txn) = (*number, *txn);
            self.done += 1;
            let spanned = header.base_offset <= txn.last_offset && header.count > 0;
            if txn.last_offset < self.base_offset {
                self.bad(number, &txn, "that is below this segment");
            } else if txn.first_offset > txn.last_offset || txn.last_stable_offset > txn.last_offset.saturating_add(1) {
                self.bad(number, &txn, "its offsets do not ascend");
            } else if spanned && marker.is_none_or(|(marker, _)| marker != number) {
                self.bad(number, &txn, "no end marker is there");
            }
        }
    }

    /// The segment ends below an offset: the next segment's first, or the end of the log.
    pub(super) fn end(mut self, end: i64, has_next: bool, findings: &mut Vec<Finding>) {
        let mut beyond = First::default();
        for (number, txn) in self.entries.split_off(self.done.min(self.entries.len())) {
            if txn.last_offset < end {
                // Its marker was cleaned away.
            } else if has_next {
                self.bad(number, &txn, "that is above this segment");
            } else {
                beyond.add(|| {
                    let text = format!(
                        "{} says that producer {} aborted offsets {} to {}: the log ends at {end}",
                        self.name, txn.producer_id, txn.first_offset, txn.last_offset
                    );
                    of_entry(Code::TxnIndexBeyondEnd, &self.name, number, &txn, text).fact("logEnd", end)
                });
            }
        }
        findings.extend(beyond.into_finding());
        findings.extend(self.mismatch.into_finding());
        findings.extend(self.incomplete.into_finding());
    }
}

fn of_entry(code: Code, name: &str, number: usize, txn: &AbortedTxn, text: String) -> Finding {
    let finding = Finding::new(code, text).file(name).position(TxnIndex::position(number)).offset(txn.last_offset);
    finding
        .fact("producerId", txn.producer_id)
        .fact("firstOffset", txn.first_offset)
        .fact("lastOffset", txn.last_offset)
}

fn faults(name: &str, index: &TxnIndex, findings: &mut Vec<Finding>) {
    let mut versions = First::default();
    for fault in &index.faults {
        match fault.kind {
            FaultKind::UnknownVersion(version) => versions.add(|| {
                let text = format!("{name}: an entry of version {version}, known is {ABORTED_VERSION}");
                Finding::new(Code::TxnIndexVersion, text)
                    .file(name)
                    .position(fault.at)
                    .fact("version", i32::from(version))
            }),
            _ => {
                let text = format!("{name}: its last entry is cut: {}", fault.kind);
                findings.push(Finding::new(Code::TxnIndexCut, text).file(name).position(fault.at));
            }
        }
    }
    findings.extend(versions.into_finding());
}
