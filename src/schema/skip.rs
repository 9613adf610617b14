//! Where the next piece of a message begins, without making the one at hand: the innermost loops of replay and
//! verification.
//!
//! Takes a position and gives the next. It may lie behind the end: what is only passed over is not looked at, and who asks
//! for the position at the end of it all compares. No faults are made here; who gets None, or comes out behind the end,
//! reads the message again with [`super::wire`]. Must not know: any message.

use super::wire::Layout;
use crate::bytes::Cursor;

/// Reads the length of an inflexible version.
type SkipLength = fn(&[u8], usize) -> Option<(i64, usize)>;

/// A length in front of something, and where that begins; None inside for null.
#[inline(always)]
pub(super) fn length(bytes: &[u8], at: usize, layout: Layout, plain: SkipLength) -> Option<(Option<usize>, usize)> {
    let (n, at) =
        if layout.flexible { uvarint(bytes, at).map(|(n, at)| (i64::from(n) - 1, at))? } else { plain(bytes, at)? };
    match usize::try_from(n) {
        Ok(n) => Some((Some(n), at)),
        Err(_) if n == -1 => Some((None, at)),
        Err(_) => None,
    }
}

#[inline(always)]
pub(super) fn uvarint(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    match bytes.get(at) {
        Some(&byte) if byte < 0x80 => Some((u32::from(byte), at + 1)),
        _ => long_uvarint(bytes, at),
    }
}

#[inline(never)]
fn long_uvarint(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let rest = bytes.get(at..)?;
    let mut cursor = Cursor::new(rest);
    let n = cursor.uvarint().ok()?;
    Some((n, bytes.len() - cursor.remaining()))
}

#[inline(always)]
pub(super) fn short_length(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let length = bytes.get(at..)?.first_chunk()?;
    Some((i64::from(i16::from_be_bytes(*length)), at + 2))
}

#[inline(always)]
pub(super) fn long_length(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let length = bytes.get(at..)?.first_chunk()?;
    Some((i64::from(i32::from_be_bytes(*length)), at + 4))
}

/// The tagged fields at the end of a flexible struct. `known` says whether it knows a tag, or None if what is inside is
/// not sound.
#[inline(always)]
pub fn tags<'a>(bytes: &'a [u8], at: usize, known: impl Fn(u32, &'a [u8]) -> Option<bool>) -> Option<usize> {
    let (n, mut at) = uvarint(bytes, at)?;
    let mut least = 0;
    for _ in 0..n {
        let (tag, behind) = uvarint(bytes, at)?;
        let (size, behind) = uvarint(bytes, behind)?;
        let inside = bytes.get(behind..)?.get(..size as usize)?;
        if u64::from(tag) < least {
            return None;
        }
        known(tag, inside)?;
        least = u64::from(tag) + 1;
        at = behind + inside.len();
    }
    Some(at)
}
