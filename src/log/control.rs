//! Control records: what a control batch says about transactions, leaders and versions.
//!
//! Must not know: which transaction a marker ends. Whether a batch is a control batch is the header's bit alone; the
//! key bytes of an ordinary record can look the same.

use super::record::Record;
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};

/// A control record (KIP-98; KIP-595 for the later ones). The raw bytes stay in the record's key and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The producer's transaction was aborted.
    Abort(EndMarker),
    /// The producer's transaction was committed.
    Commit(EndMarker),
    /// A new leader of a Raft quorum.
    LeaderChange,
    /// The first record of a Raft snapshot.
    SnapshotHeader,
    /// The last record of a Raft snapshot.
    SnapshotFooter,
    /// The Raft protocol version.
    KRaftVersion,
    /// The voters of a Raft quorum.
    KRaftVoters,
    /// A type no release uses, as newer ones may.
    Unknown(i16),
}

/// The value of an ABORT or COMMIT record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndMarker {
    /// Of the value's schema: 0.
    pub version: i16,
    /// The epoch of the transaction coordinator that wrote it: it rises with every move of the coordinator.
    pub coordinator_epoch: i32,
}

impl Control {
    /// Reads a record of a control batch.
    ///
    /// # Errors
    /// [`FaultKind::BadControlRecord`] if the key is not a version and a type, or an end marker's value not a version
    /// and an epoch. Fault positions are bytes of the key or the value.
    pub fn parse(record: &Record<'_>) -> Result<Control, Fault> {
        let bad = |fault: Fault| FaultKind::BadControlRecord.at(fault.at);
        let mut key = Cursor::new(record.key.ok_or_else(|| FaultKind::BadControlRecord.at(0))?);
        key.i16().map_err(bad)?;
        let end_marker = || {
            let mut value = Cursor::new(record.value.ok_or_else(|| FaultKind::BadControlRecord.at(0))?);
            let version = value.i16().map_err(bad)?;
            Ok(EndMarker { version, coordinator_epoch: value.i32().map_err(bad)? })
        };
        Ok(match key.i16().map_err(bad)? {
            0 => Control::Abort(end_marker()?),
            1 => Control::Commit(end_marker()?),
            2 => Control::LeaderChange,
            3 => Control::SnapshotHeader,
            4 => Control::SnapshotFooter,
            5 => Control::KRaftVersion,
            6 => Control::KRaftVoters,
            other => Control::Unknown(other),
        })
    }

    /// Its number in the record's key.
    pub fn number(&self) -> i16 {
        match self {
            Control::Abort(_) => 0,
            Control::Commit(_) => 1,
            Control::LeaderChange => 2,
            Control::SnapshotHeader => 3,
            Control::SnapshotFooter => 4,
            Control::KRaftVersion => 5,
            Control::KRaftVoters => 6,
            Control::Unknown(number) => *number,
        }
    }

    /// Kafka's name, or `UNKNOWN`.
    pub fn name(&self) -> &'static str {
        match self {
            Control::Abort(_) => "ABORT",
            Control::Commit(_) => "COMMIT",
            Control::LeaderChange => "LEADER_CHANGE",
            Control::SnapshotHeader => "SNAPSHOT_HEADER",
            Control::SnapshotFooter => "SNAPSHOT_FOOTER",
            Control::KRaftVersion => "KRAFT_VERSION",
            Control::KRaftVoters => "KRAFT_VOTERS",
            Control::Unknown(_) => "UNKNOWN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GV1, GV8, hex};
    use super::super::{Batch, Inflater};
    use super::*;

    fn parse(text: &str) -> Result<Control, Fault> {
        let bytes = hex(text);
        let mut inflater = Inflater::new();
        let record = Batch::new(&bytes, 0).unwrap().records(&mut inflater).next().unwrap().unwrap();
        Control::parse(&record)
    }

    #[test]
    fn a_commit_marker() {
        assert_eq!(parse(GV8), Ok(Control::Commit(EndMarker { version: 0, coordinator_epoch: 5 })));
    }

    #[test]
    fn only_the_bit_tells() {
        // A commit's key begins with its type, 1, where a control record has its version.
        assert_eq!(parse(GV1).map(|control| control.name()), Ok("UNKNOWN"));
    }

    #[test]
    fn a_short_key_is_bad() {
        let bytes = hex(GV8);
        let mut inflater = Inflater::new();
        let mut record = Batch::new(&bytes, 0).unwrap().records(&mut inflater).next().unwrap().unwrap();
        for n in 0..4 {
            record.key = record.key.and_then(|_| [0, 0, 0, 1].get(..n)).map(|key| &*key.to_vec().leak());
            assert_eq!(Control::parse(&record).map_err(|fault| fault.kind), Err(FaultKind::BadControlRecord));
        }
        record.key = Some(&[0, 0, 0, 1]);
        record.value = None;
        assert!(Control::parse(&record).is_err());
    }
}
