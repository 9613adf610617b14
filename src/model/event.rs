//! A record with its meaning: here, and only here, log and schema meet.
//!
//! Must not know: what anyone makes of it.

use crate::fault::{Fault, FaultKind};
use crate::log::{Batch, Control, Record};
use crate::schema::{Key, RecordType, VersionedValue};

/// What a record says. Nothing is copied: it borrows from the record.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // lives on the stack, one at a time
pub enum Meaning<'s> {
    /// The key is one of those of `__consumer_offsets`.
    Keyed(Key<'s>, Content<'s>),
    /// There is no key, or it cannot be decoded.
    BadKey {
        /// The number in its first two bytes, if it has as many.
        number: Option<i16>,
        /// What is wrong with it.
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

/// Reads the key of a data record.
#[inline]
pub fn key_of<'s>(key: Option<&'s [u8]>) -> Result<Key<'s>, (Option<i16>, Fault)> {
    let bytes = key.ok_or_else(|| (None, FaultKind::NullKey.at(0)))?;
    Key::decode(bytes).map_err(|bad| (bad.number, bad.fault))
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

impl<'s> Meaning<'s> {
    /// Reads a record. Whether it is a control record is the batch's to say, not the key's.
    pub fn of(batch: &Batch<'_>, record: &Record<'s>) -> Self {
        if batch.header().control {
            return Meaning::Control(Control::parse(record));
        }
        Meaning::of_data(record.key, record.value)
    }

    /// Reads a key and a value.
    pub fn of_data(key: Option<&'s [u8]>, value: Option<&'s [u8]>) -> Self {
        match key_of(key) {
            Ok(key) => {
                let content = content_of(key.record_type, value);
                Meaning::Keyed(key, content)
            }
            Err((number, fault)) => Meaning::BadKey { number, fault },
        }
    }
}
