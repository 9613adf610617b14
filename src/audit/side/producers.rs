//! Producer state snapshots against what the log shows of the same producers up to the same offset.
//!
//! Only what must hold is asked for: a snapshot may know producers whose batches were cleaned away, and lack those that
//! expired. What it must not do is to be behind the log.
//! Must not know: folders, beyond the names of snapshots.

use super::{First, unreadable};
use crate::audit::code::Code;
use crate::audit::finding::Finding;
use crate::fault::FaultKind;
use crate::log::Header;
use crate::log::dir::{OtherKind, PartitionDir};
use crate::log::producer_state::{self, ProducerEntry, Snapshot};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::path::PathBuf;

/// What the log has shown of a producer.
#[derive(Debug, Clone, Copy)]
struct Producer {
    epoch: i16,
    /// Of the last batch of this epoch that is no marker; -1 for none.
    last_sequence: i32,
    last_offset: i64,
    /// Where the open transaction has its first record that is left, and how much damage was met before it.
    open_from: Option<(i64, u64)>,
    /// The last end marker; -1 for none.
    ended_at: i64,
}

/// The producers of a log so far, and the snapshots that are still to come.
#[derive(Default)]
pub(super) struct Producers {
    known: HashMap<i64, Producer, foldhash::fast::RandomState>,
    /// How much damage was met: what began before the last one may have ended in it.
    damages: u64,
    /// By offset.
    snapshots: VecDeque<(i64, String, PathBuf)>,
}

impl Producers {
    pub(super) fn new(dir: &PartitionDir) -> Self {
        let of_kind = dir.others.iter().filter(|other| other.kind == OtherKind::ProducerSnapshot && other.is_file());
        let offset = |name: &str| name.get(..20).and_then(|digits| digits.parse().ok());
        let named = of_kind.filter_map(|other| Some((offset(&other.name)?, other.name.clone(), other.path.clone())));
        let mut snapshots: Vec<_> = named.collect();
        snapshots.sort();
        Producers { snapshots: snapshots.into(), ..Producers::default() }
    }

    pub(super) fn next_offset(&self) -> i64 {
        self.snapshots.front().map_or(i64::MAX, |(offset, ..)| *offset)
    }

    /// The log has come to an offset: snapshots at or below it are compared with what was before it.
    pub(super) fn reach(&mut self, offset: i64, findings: &mut Vec<Finding>) {
        while self.next_offset() <= offset {
            let Some((offset, name, path)) = self.snapshots.pop_front() else { return };
            match crate::files::read(&path) {
                Ok(bytes) => self.compare(offset, &name, &bytes, findings),
                // A running broker removes snapshots.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => findings.push(unreadable(&name, &error)),
            }
        }
    }

    /// Records of a producer.
    pub(super) fn data(&mut self, header: &Header) {
        let damages = self.damages;
        let producer = self.of(header);
        producer.last_sequence = header.last_sequence();
        producer.last_offset = header.last_offset;
        // An empty batch is what the cleaner keeps for the sequence number alone.
        if header.transactional && header.count > 0 {
            let began = producer.open_from.filter(|(_, before)| *before == damages);
            producer.open_from = Some(began.unwrap_or((header.base_offset, damages)));
        }
    }

    /// An end marker; gives where the transaction had its first record that is left.
    pub(super) fn marker(&mut self, header: &Header) -> Option<i64> {
        let damages = self.damages;
        let producer = self.of(header);
        producer.ended_at = header.last_offset;
        producer.open_from.take().filter(|(_, before)| *before == damages).map(|(began, _)| began)
    }

    fn of(&mut self, header: &Header) -> &mut Producer {
        let new = Producer {
            epoch: header.producer_epoch,
            last_sequence: -1,
            last_offset: -1,
            open_from: None,
            ended_at: -1,
        };
        let producer = self.known.entry(header.producer_id).or_insert(new);
        if producer.epoch != header.producer_epoch {
            *producer = Producer { open_from: producer.open_from, ended_at: producer.ended_at, ..new };
        }
        producer
    }

    /// A batch could not be read: which transactions are open is not known any more.
    pub(super) fn damage(&mut self) {
        self.damages += 1;
    }

    fn compare(&self, offset: i64, name: &str, bytes: &[u8], findings: &mut Vec<Finding>) {
        let snapshot = producer_state::snapshot(bytes);
        let sound = snapshot.faults.is_empty();
        findings.extend(snapshot.faults.iter().map(|fault| {
            let code = match fault.kind {
                FaultKind::CrcMismatch { .. } => Code::SnapshotCrc,
                FaultKind::UnknownVersion(_) => Code::SnapshotVersion,
                _ => Code::SnapshotMalformed,
            };
            let what = match &fault.kind {
                FaultKind::UnknownVersion(version) => format!("version {version}, known is 1"),
                kind => kind.to_string(),
            };
            Finding::new(code, format!("{name}: {what}")).file(name).position(fault.at).offset(offset)
        }));
        if !sound {
            return;
        }
        let mut mismatch = First::default();
        for (number, entry) in snapshot.entries.iter().enumerate() {
            if let Some(why) = self.disagreement(offset, entry) {
                mismatch.add(|| {
                    let text = format!("{name}, producer {}: {why}", entry.producer_id);
                    let finding = Finding::new(Code::SnapshotMismatch, text).file(name).offset(offset);
                    finding
                        .position(Snapshot::position(number))
                        .fact("producerId", entry.producer_id)
                        .fact("producerEpoch", i32::from(entry.producer_epoch))
                        .fact("lastOffset", entry.last_offset)
                        .fact("currentTxnFirstOffset", entry.current_txn_first_offset)
                        .fact("why", why.as_str())
                });
            }
        }
        findings.extend(mismatch.into_finding());
    }

    /// What an entry of a snapshot at an offset says that cannot be.
    fn disagreement(&self, offset: i64, entry: &ProducerEntry) -> Option<String> {
        let open_from = (entry.current_txn_first_offset >= 0).then_some(entry.current_txn_first_offset);
        if entry.last_offset >= offset {
            return Some(format!("its last offset is {}, at or above the snapshot's", entry.last_offset));
        }
        if let Some(from) = open_from.filter(|from| *from >= offset) {
            return Some(format!("its transaction began at {from}, at or above the snapshot's offset"));
        }
        let log = self.known.get(&entry.producer_id)?;
        if log.epoch > entry.producer_epoch {
            return Some(format!("epoch {}, the log had {} before", entry.producer_epoch, log.epoch));
        }
        if log.epoch < entry.producer_epoch {
            // What raised it was cleaned away.
            return None;
        }
        if log.last_offset > entry.last_offset {
            return Some(format!("last offset {}, the log had {} before", entry.last_offset, log.last_offset));
        }
        if log.last_offset == entry.last_offset && log.last_sequence != entry.last_sequence {
            return Some(format!("last sequence {}, the log has {}", entry.last_sequence, log.last_sequence));
        }
        let began = log.open_from.filter(|(_, before)| *before == self.damages).map(|(began, _)| began);
        match (open_from, began) {
            (Some(from), _) if log.ended_at >= from => {
                Some(format!("a transaction open from {from}, which ended at {}", log.ended_at))
            }
            (None, Some(began)) => Some(format!("no open transaction, the log has one from {began}")),
            (Some(from), Some(began)) if from > began => {
                Some(format!("a transaction open from {from}, the log has it from {began}"))
            }
            _ => None,
        }
    }

    /// The log ends at an offset.
    pub(super) fn finish(&mut self, end: i64, findings: &mut Vec<Finding>) {
        self.reach(end, findings);
        for (offset, name, _) in std::mem::take(&mut self.snapshots) {
            let text = format!("{name} is of offset {offset}: the log ends at {end}");
            let finding = Finding::new(Code::SnapshotBeyondEnd, text).file(name).offset(offset);
            findings.push(finding.fact("snapshotOffset", offset).fact("logEnd", end));
        }
    }
}
