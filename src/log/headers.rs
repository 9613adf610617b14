//! The headers of a record (KIP-82, Kafka 0.11).
//!
//! Must not know: what they say. Nothing on the offsets topic has any, so that speed does not matter here.

use super::fields::{nullable, varint};

/// The headers of a record (KIP-82, Kafka 0.11), parsed when asked for.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Headers<'s> {
    count: u32,
    bytes: &'s [u8],
}

impl PartialEq for Headers<'_> {
    /// No bytes are compared where there are none: they lie where no memory is, and that takes some processors longer than
    /// the record.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && (self.is_empty() || self.bytes == other.bytes)
    }
}

impl<'s> Headers<'s> {
    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Key and value of each; a null value is None.
    pub fn iter(&self) -> impl Iterator<Item = (&'s [u8], Option<&'s [u8]>)> + use<'s> {
        let mut rest = self.bytes;
        // The record was only handed out because all of this parses.
        (0..self.count).map_while(move |_| {
            let (header, after) = header(rest)?;
            rest = after;
            Some(header)
        })
    }
}

/// The headers, which must be all that is left of their record.
#[inline(never)]
pub(super) fn headers(rest: &[u8]) -> Option<Headers<'_>> {
    let (count, bytes) = varint(rest)?;
    let count = u32::try_from(count).ok()?;
    let mut rest = bytes;
    for _ in 0..count {
        (_, rest) = header(rest)?;
    }
    rest.is_empty().then_some(Headers { count, bytes })
}

/// Key and value of a header.
type Header<'s> = (&'s [u8], Option<&'s [u8]>);

fn header(rest: &[u8]) -> Option<(Header<'_>, &[u8])> {
    let (key, rest) = nullable(rest)?;
    let (value, rest) = nullable(rest)?;
    Some(((key?, value), rest))
}
