//! What can be wrong with bytes: a value, never an early return and never a crash.
//!
//! Must not know: what the bytes mean to a group, and how a fault is printed beyond its one-line message.

use std::fmt;

/// Something wrong with bytes, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Where, in bytes from the start of what was being read: a key or a value for the schema, a segment file for
    /// the log.
    pub at: u64,
}

/// What is wrong. [`FaultKind::code`] is the stable name; the message is for people and may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes end before the field does.
    ShortBuffer {
        /// Bytes the field needs.
        need: u64,
        /// Bytes that are left.
        have: u64,
    },
    /// A length or count that no writer could have meant: below -1, or beyond the bytes that are left.
    BadLength(i64),
    /// A varint that does not end within its greatest size.
    BadVarint,
    /// Null where the schema allows none.
    UnexpectedNull,
    /// Tagged fields out of ascending order, which no writer produces (KIP-482).
    TagOrder(u32),
    /// Bytes are left over behind the last field.
    TrailingBytes(u64),
    /// A record without a key, which means nothing on this topic.
    NullKey,
    /// A key shorter than its type number.
    KeyTooShort,
    /// A value of zero bytes, which is not a tombstone.
    EmptyValue,
    /// A record type this release does not know.
    UnknownType(i16),
    /// A value version this release does not know for its type.
    UnknownVersion(i16),
    /// A string that is not UTF-8: the broker decodes the odd bytes to U+FFFD.
    NotUtf8,

    /// The file ends inside a batch, or in a few stray bytes too short for a header.
    TornBatch {
        /// Bytes the batch says it needs.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// Zeros to the end of the file: preallocated space or a lost tail.
    ZeroTail,
    /// Zeros with data behind them: lost pages.
    ZeroHole,
    /// A magic byte outside 0, 1 and 2.
    BadMagic(i8),
    /// A length field smaller than the smallest batch of its magic, or negative.
    BadBatchLength(i32),
    /// Bytes that are no batch, with a sound batch or the end of the file behind them.
    NotABatch,
    /// The stored CRC is not that of the bytes.
    CrcMismatch {
        /// As stored.
        stored: u32,
        /// As computed.
        computed: u32,
    },
    /// A batch whose first offset is not above the last one before it.
    OffsetOrder {
        /// The greatest offset met before.
        previous: i64,
    },
    /// A codec number that no release uses (or zstd in magic 0 and 1).
    UnknownCodec(u8),
    /// The compressed body does not inflate.
    Inflate(Box<str>),
    /// The compressed body inflates to more than the limit, in bytes.
    InflatedTooLarge(u64),
    /// An lz4 frame with its header checksum over the wrong bytes, which brokers read in magic 0 only. The records are
    /// all there.
    Lz4HeaderChecksum,
    /// The header's record count is not the number of records in the body.
    CountMismatch {
        /// As the header says.
        header: i64,
        /// As found.
        found: i64,
    },
    /// A record whose fields do not fit the length it gives.
    BadRecord(Box<str>),
    /// A wrapper message inside a wrapper message.
    NestedWrapper,
    /// A control batch whose record is no control record.
    BadControlRecord,
    /// The file was cut while it was read.
    FileCut,
}

impl FaultKind {
    /// Whether nothing is wrong but that no more was to be inflated.
    pub fn is_limit(&self) -> bool {
        matches!(self, FaultKind::InflatedTooLarge(_))
    }

    /// The stable name of this kind of fault, which scripts may depend on.
    pub fn code(&self) -> &'static str {
        match self {
            FaultKind::ShortBuffer { .. } => "short-buffer",
            FaultKind::BadLength(_) => "bad-length",
            FaultKind::BadVarint => "bad-varint",
            FaultKind::UnexpectedNull => "unexpected-null",
            FaultKind::TagOrder(_) => "tag-order",
            FaultKind::TrailingBytes(_) => "trailing-bytes",
            FaultKind::NullKey => "null-key",
            FaultKind::KeyTooShort => "key-too-short",
            FaultKind::EmptyValue => "empty-value",
            FaultKind::UnknownType(_) => "unknown-type",
            FaultKind::UnknownVersion(_) => "unknown-version",
            FaultKind::NotUtf8 => "not-utf8",
            FaultKind::TornBatch { .. } => "torn-batch",
            FaultKind::ZeroTail => "zero-tail",
            FaultKind::ZeroHole => "zero-hole",
            FaultKind::BadMagic(_) => "bad-magic",
            FaultKind::BadBatchLength(_) => "bad-batch-length",
            FaultKind::NotABatch => "not-a-batch",
            FaultKind::CrcMismatch { .. } => "crc-mismatch",
            FaultKind::OffsetOrder { .. } => "offset-order",
            FaultKind::UnknownCodec(_) => "unknown-codec",
            FaultKind::Inflate(_) => "inflate-failed",
            FaultKind::InflatedTooLarge(_) => "inflated-too-large",
            FaultKind::Lz4HeaderChecksum => "lz4-header-checksum",
            FaultKind::CountMismatch { .. } => "count-mismatch",
            FaultKind::BadRecord(_) => "bad-record",
            FaultKind::NestedWrapper => "nested-wrapper",
            FaultKind::BadControlRecord => "bad-control-record",
            FaultKind::FileCut => "file-cut",
        }
    }

    /// Whether something is wrong indeed. Zeros to the end of a file are what preallocation leaves.
    pub fn is_damage(&self) -> bool {
        *self != FaultKind::ZeroTail
    }

    /// This kind of fault at a byte.
    pub fn at(self, at: u64) -> Fault {
        Fault { kind: self, at }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::ShortBuffer { need, have } => {
                write!(f, "ends too early: {need} bytes needed, {have} left")
            }
            FaultKind::BadLength(n) => write!(f, "impossible length {n}"),
            FaultKind::BadVarint => write!(f, "a varint does not end"),
            FaultKind::UnexpectedNull => write!(f, "null where none is allowed"),
            FaultKind::TagOrder(tag) => write!(f, "tagged field {tag} is out of order"),
            FaultKind::TrailingBytes(n) => write!(f, "{n} bytes are left over behind the last field"),
            FaultKind::NullKey => write!(f, "no key"),
            FaultKind::KeyTooShort => write!(f, "key is too short to hold a record type"),
            FaultKind::EmptyValue => write!(f, "value of zero bytes (not a tombstone)"),
            FaultKind::UnknownType(t) => write!(f, "unknown record type {t}"),
            FaultKind::UnknownVersion(v) => write!(f, "unknown value version {v}"),
            FaultKind::NotUtf8 => write!(f, "not UTF-8: a broker reads the odd bytes as U+FFFD"),
            FaultKind::TornBatch { need, have } => {
                write!(f, "batch is cut: {need} bytes needed, {have} there")
            }
            FaultKind::ZeroTail => write!(f, "zeros to the end of the file"),
            FaultKind::ZeroHole => write!(f, "zeros with data behind them"),
            FaultKind::BadMagic(m) => write!(f, "bad magic {m}"),
            FaultKind::BadBatchLength(n) => write!(f, "bad batch length {n}"),
            FaultKind::NotABatch => write!(f, "bytes that are no batch"),
            FaultKind::CrcMismatch { stored, computed } => {
                write!(f, "CRC is {computed}, stored is {stored}")
            }
            FaultKind::OffsetOrder { previous } => {
                write!(f, "offset is not above {previous}, which stands before it")
            }
            FaultKind::UnknownCodec(c) => write!(f, "unknown compression codec {c}"),
            FaultKind::Inflate(why) => write!(f, "does not inflate: {why}"),
            FaultKind::InflatedTooLarge(limit) => {
                write!(f, "inflates to more than {limit} bytes (see --max-inflated)")
            }
            FaultKind::Lz4HeaderChecksum => {
                write!(
                    f,
                    "the lz4 frame has its header checksum over the wrong bytes, which no broker reads in this magic"
                )
            }
            FaultKind::CountMismatch { header, found } => {
                write!(f, "header says {header} records, found {found}")
            }
            FaultKind::BadRecord(why) => write!(f, "bad record: {why}"),
            FaultKind::NestedWrapper => write!(f, "a compressed message inside a compressed message"),
            FaultKind::BadControlRecord => write!(f, "control batch without a control record"),
            FaultKind::FileCut => write!(f, "the file was cut while it was read"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.kind, self.at)
    }
}

impl std::error::Error for Fault {}
