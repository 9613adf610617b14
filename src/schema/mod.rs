//! What keys and values mean: every record type of `__consumer_offsets`, every version, each declared once.
//!
//! [`define`] is the notation, [`wire`] the primitives, [`records`] the table of types; the declarations stand in
//! [`offsets`], [`classic`], [`consumer`], [`share`], [`streams`], and in [`preview`] the shapes that only early-access
//! releases wrote. [`embedded`] reads the payloads that clients put inside.
//! Must not know: what a file, a batch or an offset in a log is.

pub mod classic;
pub mod consumer;
pub(crate) mod define;
pub mod doc;
pub mod embedded;
pub mod names;
pub mod offsets;
pub mod preview;
pub mod records;
pub mod sample;
pub mod share;
pub mod skip;
pub mod streams;
pub mod wire;

pub use records::{Key, KeyFields, RecordType, Transcoded, Value, VersionedValue};

use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::json::Json;
use doc::MessageDoc;
use wire::{Field, Layout, Reading};

/// A declared message: a key, or one shape of a value.
pub trait Message<'a>: Field<'a> {
    /// First version of it.
    const FIRST: i16;
    /// Last version of it.
    const LAST: i16;
    /// First flexible version (KIP-482), if any is.
    const FLEXIBLE: Option<i16>;
    /// What it is.
    const ABOUT: &'static str;

    /// How a version is laid out.
    fn layout(version: i16) -> Layout {
        Layout { version, flexible: Self::FLEXIBLE.is_some_and(|first| version >= first), reading: Reading::Strict }
    }

    /// Its field table.
    fn message_doc() -> MessageDoc {
        MessageDoc {
            about: Self::ABOUT.trim().to_owned(),
            versions: (Self::FIRST, Self::LAST),
            flexible: Self::FLEXIBLE,
            fields: Self::doc().fields,
        }
    }
}

/// Reads the fields behind a version (or, in a key, behind the type), and what is left over behind them.
fn decode_body<'a, M: Message<'a>>(cursor: &mut Cursor<'a>, version: i16) -> Result<(M, &'a [u8]), Fault> {
    if !(M::FIRST..=M::LAST).contains(&version) {
        return Err(FaultKind::UnknownVersion(version).at(0));
    }
    let message = M::decode(cursor, M::layout(version))?;
    Ok((message, cursor.rest()))
}

/// As [`decode_body`], but shows the fields at once and gives only what is left over.
#[inline]
fn transcode_body<'a, M: Message<'a>>(
    cursor: &mut Cursor<'a>,
    version: i16,
    json: &mut Json,
) -> Result<&'a [u8], Fault> {
    if !(M::FIRST..=M::LAST).contains(&version) {
        return Err(FaultKind::UnknownVersion(version).at(0));
    }
    M::transcode(cursor, M::layout(version), json)?;
    Ok(cursor.rest())
}

/// How many bytes [`decode_body`] would leave over; None where it fails.
#[inline(always)]
fn skip_body<'a, M: Message<'a>>(bytes: &'a [u8], version: i16) -> Option<usize> {
    if !(M::FIRST..=M::LAST).contains(&version) {
        return None;
    }
    bytes.len().checked_sub(M::skip(bytes, 0, M::layout(version))?)
}

/// How a broker's own reader reads a version, where its release knows the tags below `known_tags`.
fn as_broker<'a, M: Message<'a>>(version: i16, known_tags: u32) -> Layout {
    Layout { reading: Reading::AsBroker { known_tags }, ..M::layout(version) }
}

/// Reads the fields of a value in one shape as a broker does: see [`Reading::AsBroker`]. Bytes behind the last field are
/// passed over. The version must be one that the shape has.
///
/// # Errors
/// What stops the broker, at a byte of `fields`.
pub fn decode_as_broker<'a, M: Message<'a>>(fields: &'a [u8], version: i16, known_tags: u32) -> Result<M, Fault> {
    M::decode(&mut Cursor::new(fields), as_broker::<M>(version, known_tags))
}

/// As [`decode_as_broker`], but makes nothing.
///
/// # Errors
/// As [`decode_as_broker`].
pub fn check_as_broker<'a, M: Message<'a>>(fields: &'a [u8], version: i16, known_tags: u32) -> Result<(), Fault> {
    decode_as_broker::<M>(fields, version, known_tags).map(|_| ())
}
