//! A record with its meaning: here, and only here, log and schema meet.
//!
//! Must not know: what anyone makes of it.

use crate::fault::{Fault, FaultKind};
use crate::log::{Batch, Control, Record};
use crate::schema::{Key, RecordType, VersionedValue};

/// What a record is about. Nothing is copied: it borrows from the record.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject<'s> {
    /// The key is one of those of `__consumer_offsets`; [`content_of`] reads the value.
    Key(Key<'s>),
    /// There is no key, or it cannot be decoded.
    BadKey {
        /// The number in its first two bytes, if it has as many.
        number: Option<i16>,
        /// What is wrong with it, at a byte of the key.
        fault: Fault,
    },
    /// A record of a control batch.
    Control(Result<Control, Fault>),
}

/// What a value says.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Content<'s> {
    /// Null: whatever the key names is gone.
    Tombstone,
    /// Decoded.
    Value(VersionedValue<'s>),
    /// Not decoded.
    Bad {
        /// The number in its first two bytes, if it has as many.
        version: Option<i16>,
        /// What is wrong with it, at a byte of the value.
        fault: Fault,
    },
}

impl<'s> Subject<'s> {
    /// Reads what a record is about. Whether it is a control record is the batch's to say, not the key's.
    #[inline]
    pub fn of(batch: &Batch<'_>, record: &Record<'s>) -> Self {
        if batch.header().control { Subject::Control(Control::parse(record)) } else { Subject::of_key(record.key) }
    }

    /// Reads the key of a data record.
    #[inline]
    pub fn of_key(key: Option<&'s [u8]>) -> Self {
        match key.map(Key::decode) {
            Some(Ok(key)) => Subject::Key(key),
            Some(Err(bad)) => Subject::BadKey { number: bad.number, fault: bad.fault },
            None => Subject::BadKey { number: None, fault: FaultKind::NullKey.at(0) },
        }
    }
}

/// Reads the value that goes with a key of this type.
#[inline]
pub fn content_of(record_type: RecordType, value: Option<&[u8]>) -> Content<'_> {
    let Some(bytes) = value else { return Content::Tombstone };
    match record_type.decode_value(bytes) {
        Ok(value) => Content::Value(value),
        Err(fault) => Content::Bad { version: bytes.first_chunk().map(|pair| i16::from_be_bytes(*pair)), fault },
    }
}
