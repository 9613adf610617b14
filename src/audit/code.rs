//! The catalogue of findings: each code with its severity, what it means and what to do.
//!
//! Must not know: how a finding is found. A code is declared once; tests and man pages go through [`Code::ALL`].

use super::finding::Severity;
use crate::fault::FaultKind;

/// Declares codes: `Name "code" Severity { "what it means" "what to do" }`; with `normal` behind the severity where sound
/// logs have it, too.
macro_rules! codes {
    (@normal normal) => { true };
    (@normal) => { false };
    ($($name:ident $code:literal $severity:ident $($normal:ident)? { $meaning:literal $next:literal })+) => {
        /// A kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $meaning] $name,)+ }

        impl Code {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The stable name, which scripts may depend on.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $code,)+ }
            }

            /// How bad it is, unless where it stands makes it better or worse.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)+ }
            }

            /// Whether sound logs have it, too, so that it is told only to who asks for more.
            pub fn is_normal(self) -> bool {
                match self { $(Code::$name => codes!(@normal $($normal)?),)+ }
            }

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning,)+ }
            }

            /// What to do.
            pub fn next_step(self) -> &'static str {
                match self { $(Code::$name => $next,)+ }
            }
        }
    };
}

codes! {
    // Bytes that are no batch.
    TornBatch "torn-batch" Error {
        "The file ends inside a batch. On the last segment that is a write that a stop cut short, which a broker cuts off when it starts; on an older one records are missing."
        "On the last segment nothing: it was never acknowledged by a flush. Elsewhere: 'grouplog salvage', with --also and a replica that has the records."
    }
    ZeroTail "zero-tail" Info {
        "Zeros up to the end of the file: space that was allocated in advance, or a file system that kept the length but lost the data after a power loss."
        "Nothing. A broker cuts them off when it starts."
    }
    ZeroHole "zero-hole" Error {
        "Zeros with records behind them: pages that the disk or file system lost."
        "'grouplog salvage' keeps what is behind them; with --also REPLICA also what was in them. Check the disk."
    }
    BadMagic "bad-magic" Error {
        "The magic byte is none of 0, 1 and 2: damage, or foreign data."
        "'grouplog salvage'; check the disk."
    }
    BadBatchLength "bad-batch-length" Error {
        "A length field that no batch can have, with sound batches behind it."
        "'grouplog salvage'; check the disk."
    }
    NotABatch "not-a-batch" Error {
        "Bytes that are no batch, before sound ones or the end of the file."
        "'grouplog salvage'; check the disk."
    }
    FileCut "file-cut" Warning {
        "The file was cut while it was read: a broker is working on it."
        "Run again on a copy, or when the broker is stopped."
    }
    // Whole partitions.
    NoSegments "no-segments" Warning {
        "A partition folder without a segment that counts: it is empty, or what was in it is deleted or has another name."
        "Look at what is in the folder ('-v' lists it). 'grouplog salvage --include-leftovers' takes what .deleted files still hold."
    }
    SegmentUnreadable "segment-unreadable" Error {
        "What has the name of a segment cannot be read: a broken link, no regular file, no permission, or a failing disk. What it held is missing from everything else that is said."
        "Run as the broker's user; look at the file and the disk ('dmesg'). Take a replica's copy if it stays unreadable."
    }
    // Batches.
    CrcMismatch "crc-mismatch" Error {
        "The bytes of a batch are not those that its CRC was made of: the disk or memory changed them."
        "'grouplog salvage' leaves the batch out and lists its keys; with --also REPLICA it takes them from there. Check the disk."
    }
    OffsetOrder "offset-order" Error {
        "A batch begins at or below an offset that stands before it: a damaged base offset (which no CRC covers), or a range that was written twice."
        "Compare with a replica ('grouplog diff'). 'grouplog salvage' leaves out what goes back."
    }
    OffsetRange "offset-range" Error {
        "A batch has offsets outside of its segment's: below the number in the file's name, or at or above the next one's."
        "'grouplog salvage'; compare with a replica ('grouplog diff')."
    }
    OffsetGap "offset-gap" Info normal {
        "Offsets are missing between two batches, as compaction and aborted writes leave them."
        "Nothing."
    }
    UnknownCodec "unknown-codec" Error {
        "A batch is compressed by a codec that no release knows."
        "'grouplog salvage' leaves the batch out."
    }
    Inflate "inflate-failed" Error {
        "A compressed batch does not inflate, although its CRC is right: its writer was broken, or the CRC was made after the damage."
        "'grouplog salvage' keeps the records in front of the fault."
    }
    InflatedTooLarge "inflated-too-large" Error {
        "A compressed batch inflates to more than the limit: a decompression bomb, or a very large batch."
        "If the batch is wanted, raise --max-inflated."
    }
    Lz4Checksum "lz4-header-checksum" Error {
        "An lz4 frame in magic 1 or 2 has its header checksum over the wrong bytes, which brokers accept in magic 0 only: they stop at it when they start."
        "'grouplog salvage' writes the batch anew."
    }
    CountMismatch "count-mismatch" Error {
        "The header counts other records than the batch holds."
        "'grouplog salvage' writes the batch anew with the records that are there."
    }
    BadTimestamps "timestamp-mismatch" Warning {
        "The greatest timestamp of a batch's header is not that of its records: searches by time can miss records."
        "Nothing for this topic: no coordinator searches it by time."
    }
    EmptyBatch "empty-batch" Info normal {
        "A batch without records, which the cleaner keeps to remember a producer's last sequence number or the end offset."
        "Nothing."
    }
    EpochOrder "leader-epoch-order" Warning {
        "A batch has a lower leader epoch than one before it: a damaged epoch (which no CRC covers), or logs that were put together."
        "Compare with a replica ('grouplog diff')."
    }
    BadControlRecord "bad-control-record" Error {
        "A control batch whose record is no control record: a broker that stopped uncleanly does not start with it."
        "'grouplog salvage' leaves it out."
    }
    NestedWrapper "nested-wrapper" Error {
        "A compressed message inside a compressed message, which no writer makes."
        "'grouplog salvage' leaves it out."
    }
    // Records.
    BadRecord "bad-record" Error {
        "A record whose fields do not fit its length, in a batch whose CRC is right: its writer was broken."
        "'grouplog salvage' leaves it out and keeps the batch's others."
    }
    NullKey "null-key" Error {
        "A record without a key: no broker loads the partition while it is there."
        "'grouplog salvage --drop-unloadable 4.4' takes it out. Find who writes to this topic."
    }
    BadKey "bad-key" Error {
        "A key that cannot be decoded: no broker that knows its type loads the partition."
        "'grouplog salvage --drop-unloadable 4.4' takes it out."
    }
    BadValue "bad-value" Error {
        "A value that cannot be decoded: no broker that knows its type loads the partition."
        "'grouplog verify --broker X.Y' says what your release does with it; 'grouplog salvage --drop-unloadable X.Y' takes it out."
    }
    UnknownVersion "unknown-version" Error {
        "A value of a version that this release of grouplog does not know: written by a newer broker. Older ones do not load it."
        "'grouplog verify --broker X.Y' says what your release does with it."
    }
    UnknownType "unknown-type" Info {
        "A record of a type that this release of grouplog does not know: written by a newer broker. Older ones skip it."
        "Nothing; 'grouplog verify --broker X.Y' says what your release does with it."
    }
    NotUtf8 "not-utf8" Warning {
        "A name that is not UTF-8: a broker reads the odd bytes as U+FFFD, so that two names can become one."
        "Nothing, unless the group cannot be reached by its name."
    }
    TrailingBytes "trailing-bytes" Warning {
        "Bytes behind the last field, which brokers pass over: another writer than a broker, or damage under a right CRC."
        "Nothing; if there are many, find who writes to this topic."
    }
    LatestLost "latest-record-lost" Error {
        "The latest record of one or more keys of a group lies in damage: whoever loads the log falls back to an older value, or to none. A consumer group reads again what it had read; what an older group record says of members is outdated."
        "'grouplog describe GROUP' shows what is left. 'grouplog salvage --also REPLICA' brings the record back where a replica has it; else ask the application where it stood. What the finding says was committed may itself be damaged, unless the CRC told which byte was changed."
    }
    MarkerLost "marker-lost" Error {
        "The record that ended a transaction lies in damage: a broker sees the transaction open, answers 'unstable offset' for its keys, and its cleaner stops there."
        "'grouplog salvage --also REPLICA' brings it back; else end it with 'kafka-transactions.sh abort' once the broker has loaded the partition."
    }
    // What a broker would make of it.
    Unloadable "unloadable" Error {
        "The group coordinator of a release does not load this partition. Up to 3.9 the old coordinator then serves it as if it were empty, so that every group of it starts over; the new one leaves it without a coordinator (NOT_COORDINATOR, error 16)."
        "The findings of broker-refuses name the records. 'grouplog salvage --drop-unloadable X.Y' writes a copy without them."
    }
    BrokerRefuses "broker-refuses" Error {
        "A record at which the group coordinator of a release stops when it loads the partition. All groups of the partition share the fate."
        "'grouplog salvage --drop-unloadable X.Y' writes a copy without it; what the record said is then lost for its group only."
    }
    BrokerSkips "broker-skips" Info {
        "Records of types that a release does not know, which its coordinator passes over."
        "Nothing; what they say is not there for that release."
    }
    More "more" Info {
        "Findings of one code that are not listed one by one."
        "'grouplog dump' shows every one."
    }
    // Side files.
    IndexMismatch "index-mismatch" Warning {
        "An entry of an offset index names a position at which no batch begins, or an offset that is not there: reads that begin with it miss records. A broker makes an index anew only for segments that it did not flush before it stopped; others it believes."
        "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
    }
    IndexOrder "index-order" Warning {
        "The entries of an offset index do not ascend: a damaged entry, or the remains of an older index."
        "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
    }
    IndexBeyondEnd "index-beyond-end" Warning {
        "An offset index names positions behind the end of its segment: the end of the segment was lost, or the index is that of another copy."
        "Compare the segment's end with a replica ('grouplog diff'). Remove the .index file while the broker is stopped: it makes a new one."
    }
    IndexCut "index-cut" Warning {
        "An offset index is not a whole number of entries long: it was cut. A broker makes an index anew only for segments that it did not flush before it stopped; others it reads without the last entries, which makes reads slower."
        "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
    }
    TimeIndexMismatch "time-index-mismatch" Warning {
        "An entry of a time index names an offset that is not there, or a time that is not the greatest up to that offset."
        "Nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
    }
    TimeIndexOrder "time-index-order" Warning {
        "The entries of a time index do not ascend: a damaged entry, or the remains of an older index."
        "Nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
    }
    TimeIndexCut "time-index-cut" Warning {
        "A time index is not a whole number of entries long: it was cut."
        "Nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
    }
    IndexMissing "index-missing" Info normal {
        "A segment has no offset or time index, as in copies of .log files alone, and before Kafka 0.10.1 for times."
        "Nothing: a broker makes an offset index when it starts, and the time index with it."
    }
    IndexUntrimmed "index-untrimmed" Info normal {
        "An index ends in zeros: space that a broker allocates for the segment it writes to, and cuts off when it stops in order or begins another one."
        "Nothing: the broker runs or was killed."
    }
    TxnIndexMismatch "txn-index-mismatch" Warning {
        "An entry of a transaction index disagrees with the log: the transaction was committed, is another producer's, or lies elsewhere. Consumers that read committed records only would leave out the wrong ones; coordinators go by the log."
        "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
    }
    TxnIndexIncomplete "txn-index-incomplete" Warning {
        "A transaction that the log shows as aborted is not in its segment's transaction index. Consumers that read committed records only would see its records; coordinators go by the log."
        "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
    }
    TxnIndexBeyondEnd "txn-index-beyond-end" Warning {
        "A transaction index names offsets behind the end of the log: its end was lost, or the file is that of another copy."
        "Compare the log's end with a replica ('grouplog diff'). Remove the .txnindex and .index files of the segment while the broker is stopped."
    }
    TxnIndexOrder "txn-index-order" Warning {
        "The entries of a transaction index do not ascend by the end of the transaction: a damaged entry. A broker that finds one below its segment makes the index anew when it starts."
        "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
    }
    TxnIndexCut "txn-index-cut" Warning {
        "A transaction index is not a whole number of entries long: its last entry was cut short. Consumers that read committed records only would see the records of that transaction; coordinators go by the log."
        "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
    }
    TxnIndexVersion "txn-index-version" Error {
        "An entry of a transaction index has a version that no release knows: a broker does not start with it."
        "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
    }
    SnapshotCrc "snapshot-crc" Warning {
        "The bytes of a producer state snapshot are not those that its CRC was made of. A broker removes it when it starts, and takes an older one or the log."
        "Nothing: a broker puts it right. Check the disk."
    }
    SnapshotMalformed "snapshot-malformed" Warning {
        "A producer state snapshot was cut, or counts other entries than it has. A broker removes it when it starts, and takes an older one or the log."
        "Nothing: a broker puts it right."
    }
    SnapshotVersion "snapshot-version" Warning {
        "A producer state snapshot of a version that this release of grouplog does not know. Older brokers remove it, and take an older one or the log."
        "Nothing, if a newer broker wrote it."
    }
    SnapshotMismatch "snapshot-mismatch" Warning {
        "A producer state snapshot disagrees with the log about a producer that the log still shows: it is that of another copy. A broker that believes it refuses sound commits of that producer, or holds a transaction open that has ended."
        "Remove that .snapshot file while the broker is stopped: it takes the one before it, and the log. Do not remove all of them: a broker that stopped in order would then know no producers."
    }
    SnapshotBeyondEnd "snapshot-beyond-end" Warning {
        "A producer state snapshot of an offset behind the end of the log: its end was lost, or the file is that of another copy. A broker removes it when it starts."
        "Compare the log's end with a replica ('grouplog diff')."
    }
    EpochsMissing "leader-epochs-missing" Info normal {
        "No leader-epoch-checkpoint, as before Kafka 0.11."
        "Nothing."
    }
    EpochsMalformed "leader-epochs-malformed" Error {
        "A leader-epoch-checkpoint that cannot be read whole: it was cut, or is no such file. A broker gives up the whole log dir over it when it starts (one whose last line alone has no end it reads, though a number may be cut there)."
        "Remove the file while the broker is stopped: it makes another one. Take it from a replica if the epochs are wanted."
    }
    EpochsOrder "leader-epochs-order" Warning {
        "The entries of a leader-epoch-checkpoint do not ascend. A broker drops those that do not, and may cut the wrong records when it follows a leader."
        "Take the file from a replica, or remove it while the broker is stopped."
    }
    EpochsMismatch "leader-epochs-mismatch" Warning {
        "A leader-epoch-checkpoint disagrees with the leader epochs of the batches. A broker goes by the file, and may cut too much or too little when it follows a leader."
        "Take the file from a replica with the same log, or remove it while the broker is stopped."
    }
    EpochsBeyondEnd "leader-epochs-beyond-end" Warning {
        "A leader-epoch-checkpoint has an epoch that begins behind the end of the log: its end was lost, or the file is that of another copy. A broker drops such entries when it starts."
        "Compare the log's end with a replica ('grouplog diff')."
    }
    MetadataMissing "partition-metadata-missing" Info normal {
        "No partition.metadata, as before Kafka 2.8. Brokers with KRaft need it: from 3.7 on they set a partition without it aside as stray, and delete it."
        "Nothing with ZooKeeper. For a broker with KRaft write one with the id of the cluster's topic."
    }
    MetadataLost "partition-metadata-lost" Warning {
        "No partition.metadata, in the log dir of a broker with KRaft. From Kafka 3.7 on it sets the partition aside as stray, and deletes it."
        "Write one with the topic id of the cluster before the broker starts: two lines, 'version: 0' and 'topic_id: ' with the id."
    }
    MetadataMalformed "partition-metadata-malformed" Error {
        "A partition.metadata that cannot be read: a broker does not start with it."
        "Write it anew with the topic id of the cluster: two lines, 'version: 0' and 'topic_id: ' with the id."
    }
    CheckpointMalformed "checkpoint-malformed" Error {
        "A checkpoint file of the log dir that cannot be read whole: it was cut, or is no such file. A broker gives up the whole log dir over it when it starts (one whose last line alone has no end it reads, though a number may be cut there)."
        "Remove the file while the broker is stopped: it makes another one."
    }
    CheckpointRepeated "checkpoint-repeated" Warning {
        "A checkpoint file of the log dir names a partition twice: the last one counts."
        "Remove the wrong line, and lower the count in the second line, while the broker is stopped."
    }
    CheckpointBeyondEnd "checkpoint-beyond-end" Warning {
        "A checkpoint of the log dir is behind the end of the partition's log: its end was lost (a high watermark says that replicas had it), or the file is that of another copy."
        "Compare the log's end with a replica ('grouplog diff'); a broker lowers the checkpoint when it starts."
    }
    CheckpointBelowStart "checkpoint-below-start" Warning {
        "The cleaner's checkpoint is below the start of the partition's log. A broker says so at each cleaning, and begins at the start."
        "Nothing; remove the line from the file, and lower the count in its second line, to be rid of the warnings."
    }
    LeftoverDeleted "leftover-deleted" Info normal {
        "A file that was removed from the log, and not yet from the disk. It may hold history that nothing else holds."
        "Nothing: a broker removes it."
    }
    LeftoverCleaning "leftover-cleaning" Info {
        "A file of a cleaning that a crash cut short. A broker finishes or undoes it when it starts; 'grouplog' reads what the broker would."
        "Nothing: a broker puts it right."
    }
    OrphanIndex "orphan-index" Info {
        "An index without its segment, which was removed or never copied. A broker removes it when it starts."
        "Nothing, unless the segment should be here: then copy it."
    }
    UnknownFile "unknown-file" Info {
        "A file that no broker makes in a partition folder."
        "Nothing: brokers pass over it."
    }
    SideUnreadable "side-file-unreadable" Warning {
        "A file beside the segments could not be read, and so was not checked."
        "Run as the broker's user, or on a copy."
    }
}

impl Code {
    /// The code of a name.
    pub fn of_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The code for what is wrong with a batch or a stretch of a segment.
    pub fn of_fault(fault: &FaultKind) -> Code {
        match fault {
            FaultKind::TornBatch { .. } => Code::TornBatch,
            FaultKind::ZeroTail => Code::ZeroTail,
            FaultKind::ZeroHole => Code::ZeroHole,
            FaultKind::BadMagic(_) => Code::BadMagic,
            FaultKind::BadBatchLength(_) => Code::BadBatchLength,
            FaultKind::NotABatch => Code::NotABatch,
            FaultKind::FileCut => Code::FileCut,
            FaultKind::CrcMismatch { .. } => Code::CrcMismatch,
            FaultKind::OffsetOrder { .. } => Code::OffsetOrder,
            FaultKind::UnknownCodec(_) => Code::UnknownCodec,
            FaultKind::Inflate(_) => Code::Inflate,
            FaultKind::InflatedTooLarge(_) => Code::InflatedTooLarge,
            FaultKind::Lz4HeaderChecksum => Code::Lz4Checksum,
            FaultKind::CountMismatch { .. } => Code::CountMismatch,
            FaultKind::BadControlRecord => Code::BadControlRecord,
            FaultKind::NestedWrapper => Code::NestedWrapper,
            FaultKind::NullKey => Code::NullKey,
            FaultKind::UnknownType(_) => Code::UnknownType,
            FaultKind::UnknownVersion(_) => Code::UnknownVersion,
            FaultKind::NotUtf8 => Code::NotUtf8,
            FaultKind::TrailingBytes(_) => Code::TrailingBytes,
            FaultKind::KeyTooShort => Code::BadKey,
            FaultKind::EmptyValue => Code::BadValue,
            FaultKind::ShortBuffer { .. }
            | FaultKind::BadLength(_)
            | FaultKind::BadVarint
            | FaultKind::UnexpectedNull
            | FaultKind::TagOrder(_)
            | FaultKind::BadRecord(_) => Code::BadRecord,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            assert_eq!(Code::of_name(code.name()), Some(*code));
            assert!(!code.meaning().is_empty() && !code.next_step().is_empty());
        }
    }
}
