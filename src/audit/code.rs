//! The catalogue of findings: each code with its severity, what it means and what to do.
//!
//! Must not know: how a finding is found. A code is declared once; tests and man pages go through [`Code::ALL`].

use super::finding::Severity;
use crate::fault::FaultKind;

/// Declares codes: `Name "code" Severity { "what it means" "what to do" }`.
macro_rules! codes {
    ($($name:ident $code:literal $severity:ident { $meaning:literal $next:literal })+) => {
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
    OffsetGap "offset-gap" Info {
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
    EmptyBatch "empty-batch" Info {
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
    More "more" Info {
        "Findings of one code that are not listed one by one."
        "'grouplog dump' shows every one."
    }
}

impl Code {
    /// Whether it says only that something is as it should be: told when more is asked for.
    pub fn is_normal(self) -> bool {
        matches!(self, Code::OffsetGap | Code::EmptyBatch)
    }

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
