//! One file beside the segments, whatever its kind, read whole: what stands in it, entry by entry, and what does not fit.
//!
//! Must not know: whether it agrees with a log, and how it is printed.

use super::checkpoint::{self, Checkpoint, EpochStart, Oddity, PartitionMetadata, PartitionOffset};
use super::index::{self, Index, OffsetEntry, TimeEntry};
use super::producer_state::{self, Snapshot, TxnIndex};
use crate::fault::{Fault, FaultKind};
use std::borrow::Cow;

/// What a file beside the segments is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SideKind {
    /// `.index`, and the base offset in its name.
    OffsetIndex(i64),
    /// `.timeindex`, and the base offset in its name.
    TimeIndex(i64),
    /// `.txnindex`, and the base offset in its name.
    TxnIndex(i64),
    /// `.snapshot`, and the offset in its name.
    Snapshot(i64),
    /// `leader-epoch-checkpoint`.
    LeaderEpochs,
    /// `partition.metadata`.
    PartitionMetadata,
    /// `replication-offset-checkpoint` and its three kin of the log dir.
    Offsets,
    /// `meta.properties` of the log dir.
    Properties,
}

impl SideKind {
    /// From a file's name, also with `.deleted`, `.cleaned` or `.swap` behind it. None for any other file.
    pub fn of(name: &str) -> Option<SideKind> {
        match name {
            "leader-epoch-checkpoint" => return Some(SideKind::LeaderEpochs),
            "partition.metadata" => return Some(SideKind::PartitionMetadata),
            "meta.properties" => return Some(SideKind::Properties),
            "replication-offset-checkpoint"
            | "recovery-point-offset-checkpoint"
            | "log-start-offset-checkpoint"
            | "cleaner-offset-checkpoint" => return Some(SideKind::Offsets),
            _ => {}
        }
        let (digits, suffix) = name.split_once('.')?;
        if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let offset = digits.parse().ok()?;
        let on_its_way = [".deleted", ".cleaned", ".swap"];
        match on_its_way.iter().find_map(|end| suffix.strip_suffix(end)).unwrap_or(suffix) {
            "index" => Some(SideKind::OffsetIndex(offset)),
            "timeindex" => Some(SideKind::TimeIndex(offset)),
            "txnindex" => Some(SideKind::TxnIndex(offset)),
            "snapshot" => Some(SideKind::Snapshot(offset)),
            _ => None,
        }
    }
}

/// What stands in a file beside the segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideContent {
    /// Of an offset index.
    OffsetIndex(Index<OffsetEntry>),
    /// Of a time index.
    TimeIndex(Index<TimeEntry>),
    /// Of a transaction index.
    TxnIndex(TxnIndex),
    /// Of a producer state snapshot.
    Snapshot(Snapshot),
    /// Of `leader-epoch-checkpoint`.
    LeaderEpochs(Checkpoint<EpochStart>),
    /// Of a checkpoint of the log dir.
    Offsets(Checkpoint<PartitionOffset>),
    /// Of `partition.metadata`.
    PartitionMetadata(PartitionMetadata),
    /// Of `meta.properties`: names and values.
    Properties(Vec<(String, String)>),
}

/// Something that does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFault {
    /// In bytes from the start of the file.
    pub at: u64,
    /// A stable name.
    pub code: &'static str,
    /// For people.
    pub message: Cow<'static, str>,
}

/// A file beside the segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFile {
    /// What it is.
    pub kind: SideKind,
    /// What stands in it.
    pub content: SideContent,
    /// What does not fit.
    pub faults: Vec<SideFault>,
    /// Of text: where the line of each entry begins, in bytes.
    lines: Vec<u64>,
}

impl SideFile {
    /// Reads a file of a kind. Takes any bytes.
    pub fn read(kind: SideKind, bytes: &[u8]) -> SideFile {
        let (content, faults) = match kind {
            SideKind::OffsetIndex(base) => {
                let index = index::offset_index(bytes, base);
                let faults = odd_bytes(index.odd_bytes, index::OFFSET_ENTRY, bytes);
                (SideContent::OffsetIndex(index), faults)
            }
            SideKind::TimeIndex(base) => {
                let index = index::time_index(bytes, base);
                let faults = odd_bytes(index.odd_bytes, index::TIME_ENTRY, bytes);
                (SideContent::TimeIndex(index), faults)
            }
            SideKind::TxnIndex(_) => {
                let index = producer_state::txn_index(bytes);
                let faults = index.faults.iter().map(of_fault).collect();
                (SideContent::TxnIndex(index), faults)
            }
            SideKind::Snapshot(_) => {
                let snapshot = producer_state::snapshot(bytes);
                let faults = snapshot.faults.iter().map(of_fault).collect();
                (SideContent::Snapshot(snapshot), faults)
            }
            SideKind::LeaderEpochs => return SideFile::text(kind, bytes, checkpoint::leader_epochs(bytes)),
            SideKind::Offsets => return SideFile::text(kind, bytes, checkpoint::partition_offsets(bytes)),
            SideKind::PartitionMetadata => {
                let metadata = checkpoint::partition_metadata(bytes);
                let malformed = |message| SideFault { at: 0, code: "malformed", message: Cow::Borrowed(message) };
                let faults = metadata.malformed.map(malformed).into_iter().collect();
                (SideContent::PartitionMetadata(metadata), faults)
            }
            SideKind::Properties => return SideFile::properties(bytes),
        };
        SideFile { kind, content, faults, lines: Vec::new() }
    }

    fn text<T>(kind: SideKind, bytes: &[u8], read: Checkpoint<T>) -> SideFile
    where
        Checkpoint<T>: Into<SideContent>,
    {
        let starts = line_starts(bytes);
        let start = |line: usize| starts.get(line - 1).copied().unwrap_or(0);
        let faults = read.oddities.iter().filter_map(|oddity| of_oddity(oddity, bytes, start)).collect();
        let unread = |line: usize| read.oddities.contains(&Oddity::Line(line));
        // Version and count stand in front; blank lines are none.
        let lines = bytes.split(|byte| *byte == b'\n').zip(&starts).enumerate().skip(2);
        let lines = lines.filter(|(i, (line, _))| !line.trim_ascii().is_empty() && !unread(i + 1));
        let lines = lines.map(|(_, (_, start))| *start).collect();
        SideFile { kind, content: read.into(), faults, lines }
    }

    fn properties(bytes: &[u8]) -> SideFile {
        let mut properties = Vec::new();
        let mut lines = Vec::new();
        let mut faults = Vec::new();
        for (line, start) in bytes.split(|byte| *byte == b'\n').zip(line_starts(bytes)) {
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            match line.split_once('=') {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some((name, value)) => {
                    properties.push((name.trim().to_owned(), value.trim().to_owned()));
                    lines.push(start);
                }
                None => faults.push(SideFault { at: start, code: "bad-line", message: Cow::Borrowed("no name=value") }),
            }
        }
        SideFile { kind: SideKind::Properties, content: SideContent::Properties(properties), faults, lines }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match &self.content {
            SideContent::OffsetIndex(index) => index.entries.len(),
            SideContent::TimeIndex(index) => index.entries.len(),
            SideContent::TxnIndex(index) => index.entries.len(),
            SideContent::Snapshot(snapshot) => snapshot.entries.len(),
            SideContent::LeaderEpochs(epochs) => epochs.entries.len(),
            SideContent::Offsets(offsets) => offsets.entries.len(),
            SideContent::PartitionMetadata(metadata) => {
                usize::from(metadata.version.is_some() || metadata.topic_id.is_some())
            }
            SideContent::Properties(properties) => properties.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where an entry begins, in bytes.
    pub fn position(&self, index: usize) -> u64 {
        match self.kind {
            SideKind::OffsetIndex(_) => (index * index::OFFSET_ENTRY) as u64,
            SideKind::TimeIndex(_) => (index * index::TIME_ENTRY) as u64,
            SideKind::TxnIndex(_) => TxnIndex::position(index),
            SideKind::Snapshot(_) => Snapshot::position(index),
            _ => self.lines.get(index).copied().unwrap_or(0),
        }
    }

    /// Bytes of zeros behind the entries: of an index that is not trimmed.
    pub fn padding(&self) -> u64 {
        match &self.content {
            SideContent::OffsetIndex(index) => index.padding,
            SideContent::TimeIndex(index) => index.padding,
            _ => 0,
        }
    }
}

impl From<Checkpoint<EpochStart>> for SideContent {
    fn from(read: Checkpoint<EpochStart>) -> Self {
        SideContent::LeaderEpochs(read)
    }
}

impl From<Checkpoint<PartitionOffset>> for SideContent {
    fn from(read: Checkpoint<PartitionOffset>) -> Self {
        SideContent::Offsets(read)
    }
}

fn line_starts(bytes: &[u8]) -> Vec<u64> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(i, _)| i as u64 + 1)).collect()
}

fn odd_bytes(odd: u64, entry: usize, bytes: &[u8]) -> Vec<SideFault> {
    let kind = FaultKind::ShortBuffer { need: entry as u64, have: odd };
    if odd == 0 { Vec::new() } else { vec![of_fault(&kind.at(bytes.len() as u64 - odd))] }
}

fn of_fault(fault: &Fault) -> SideFault {
    let message = match &fault.kind {
        FaultKind::UnknownVersion(version) => Cow::Owned(format!("unknown version {version}")),
        FaultKind::CountMismatch { header, found } => Cow::Owned(format!("says {header} entries, has {found}")),
        FaultKind::TrailingBytes(n) => Cow::Owned(format!("{n} bytes are left over behind the last entry")),
        kind => Cow::Owned(kind.to_string()),
    };
    SideFault { at: fault.at, code: fault.kind.code(), message }
}

/// A checkpoint that was never written is empty: that is no fault.
fn of_oddity(oddity: &Oddity, bytes: &[u8], start: impl Fn(usize) -> u64) -> Option<SideFault> {
    let (code, at) = match oddity {
        Oddity::Empty => return None,
        Oddity::NoVersion => ("no-version", 0),
        Oddity::Version(_) => ("unknown-version", 0),
        Oddity::NoCount => ("no-count", start(2)),
        Oddity::Count { .. } => ("count-mismatch", start(2)),
        Oddity::Line(line) => ("bad-line", start(*line)),
        Oddity::NoLineEnd => ("no-line-end", bytes.len() as u64),
        Oddity::Repeated(line) => ("repeated", start(*line)),
    };
    Some(SideFault { at, code, message: Cow::Owned(oddity.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_name() {
        assert_eq!(SideKind::of("00000000000000000042.index"), Some(SideKind::OffsetIndex(42)));
        assert_eq!(SideKind::of("00000000000000000042.timeindex.deleted"), Some(SideKind::TimeIndex(42)));
        assert_eq!(SideKind::of("00000000000000000042.txnindex.swap"), Some(SideKind::TxnIndex(42)));
        assert_eq!(SideKind::of("00000000000000000042.snapshot"), Some(SideKind::Snapshot(42)));
        assert_eq!(SideKind::of("cleaner-offset-checkpoint"), Some(SideKind::Offsets));
        for name in ["00000000000000000042.log", "42.index", ".lock", "00000000000000000042.index.bak"] {
            assert_eq!(SideKind::of(name), None, "{name}");
        }
    }

    #[test]
    fn entries_of_text_know_their_lines() {
        let file = SideFile::read(SideKind::Offsets, b"0\n3\na 0 1\nbroken\n\nb 1 22\n");
        assert_eq!((file.len(), file.position(0), file.position(1)), (2, 4, 18));
        let faults: Vec<_> = file.faults.iter().map(|fault| (fault.code, fault.at)).collect();
        assert_eq!(faults, [("bad-line", 10), ("count-mismatch", 2)]);
        let file = SideFile::read(SideKind::Properties, b"#\n#x\nnode.id=1\ncluster.id=a=b\nodd\n");
        assert_eq!((file.len(), file.position(1)), (2, 15));
        assert_eq!(file.faults.iter().map(|fault| (fault.code, fault.at)).collect::<Vec<_>>(), [("bad-line", 30)]);
    }

    #[test]
    fn cut_indexes() {
        let file = SideFile::read(SideKind::OffsetIndex(100), &[0, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 9, 7]);
        assert_eq!((file.len(), file.padding()), (1, 0));
        assert_eq!(file.faults.iter().map(|fault| (fault.code, fault.at)).collect::<Vec<_>>(), [("short-buffer", 8)]);
        let file = SideFile::read(SideKind::TimeIndex(100), &[0; 65532]);
        assert_eq!((file.len(), file.padding(), file.faults.len()), (0, 65532, 0));
    }
}
