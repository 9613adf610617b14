//! What is left behind a piece of a message, without making it: the innermost loops of replay and verification.
//!
//! Takes what is left and gives what is left then, by value: a pointer to it would force it through memory at every field.
//! No faults are made here; who gets None reads the message again with [`super::wire`]. Must not know: any message.

use super::wire::Layout;
use crate::bytes::Cursor;

/// Reads the length of an inflexible version.
type SkipLength = fn(&[u8]) -> Option<(i64, &[u8])>;

/// A length in front of something, which the bytes that are left bear out; None inside for null.
#[inline(always)]
pub(super) fn length(rest: &[u8], layout: Layout, plain: SkipLength) -> Option<(Option<usize>, &[u8])> {
    let (n, rest) =
        if layout.flexible { uvarint(rest).map(|(n, rest)| (i64::from(n) - 1, rest))? } else { plain(rest)? };
    match usize::try_from(n) {
        Ok(n) if n <= rest.len() => Some((Some(n), rest)),
        Err(_) if n == -1 => Some((None, rest)),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn uvarint(rest: &[u8]) -> Option<(u32, &[u8])> {
    match *rest {
        [a, ref rest @ ..] if a < 0x80 => Some((u32::from(a), rest)),
        _ => long_uvarint(rest),
    }
}

#[inline(never)]
fn long_uvarint(rest: &[u8]) -> Option<(u32, &[u8])> {
    let mut cursor = Cursor::new(rest);
    let n = cursor.uvarint().ok()?;
    Some((n, cursor.rest()))
}

#[inline(always)]
pub(super) fn short_length(rest: &[u8]) -> Option<(i64, &[u8])> {
    rest.split_first_chunk().map(|(length, rest)| (i64::from(i16::from_be_bytes(*length)), rest))
}

#[inline(always)]
pub(super) fn long_length(rest: &[u8]) -> Option<(i64, &[u8])> {
    rest.split_first_chunk().map(|(length, rest)| (i64::from(i32::from_be_bytes(*length)), rest))
}

/// The tagged fields at the end of a flexible struct. `known` says whether it knows a tag, or None if what is inside is not sound.
#[inline(always)]
pub fn tags<'a>(rest: &'a [u8], known: impl Fn(u32, &'a [u8]) -> Option<bool>) -> Option<&'a [u8]> {
    let (n, mut rest) = uvarint(rest)?;
    let mut least = 0;
    for _ in 0..n {
        let (tag, behind) = uvarint(rest)?;
        let (size, behind) = uvarint(behind)?;
        let (inside, behind) = behind.split_at_checked(size as usize)?;
        if u64::from(tag) < least {
            return None;
        }
        known(tag, inside)?;
        least = u64::from(tag) + 1;
        rest = behind;
    }
    Some(rest)
}
