//! The pieces that magic 2 records are made of: varints, and bytes behind their length.
//!
//! Must not know: what the pieces are. These are the innermost loops: no faults are made here; who gets None reads the
//! record again, slowly, with a [`Cursor`](crate::bytes::Cursor).
//!
//! The readers take what is left and give back what is left then, by value: a pointer to it would force it through
//! memory at every field.

/// What the length at the start of a record frames, and what is behind it.
#[inline(always)]
pub(super) fn outer(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = varint(rest)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[inline(always)]
pub(super) fn varint(rest: &[u8]) -> Option<(i32, &[u8])> {
    let (bits, rest) = match *rest {
        [a, ref rest @ ..] if a < 0x80 => (u32::from(a), rest),
        [a, b, ref rest @ ..] if b < 0x80 => (u32::from(a & 0x7f) | u32::from(b) << 7, rest),
        _ => {
            let (bits, rest) = long_varint::<5>(rest)?;
            (u32::try_from(bits).ok()?, rest)
        }
    };
    Some(((bits >> 1) as i32 ^ -((bits & 1) as i32), rest))
}

#[inline(always)]
pub(super) fn varlong(rest: &[u8]) -> Option<(i64, &[u8])> {
    let (bits, rest) = match *rest {
        [a, ref rest @ ..] if a < 0x80 => (u64::from(a), rest),
        _ => long_varint::<10>(rest)?,
    };
    Some(((bits >> 1) as i64 ^ -((bits & 1) as i64), rest))
}

#[inline(never)]
fn long_varint<const GREATEST: usize>(rest: &[u8]) -> Option<(u64, &[u8])> {
    let mut bits = 0u64;
    for (i, &byte) in rest.iter().take(GREATEST).enumerate() {
        // The tenth byte of 64 bits holds one bit only.
        if i == 9 && byte > 1 {
            return None;
        }
        bits |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((bits, rest.get(i + 1..)?));
        }
    }
    None
}

/// Bytes behind a length, of which -1 is null.
#[inline(always)]
pub(super) fn nullable(rest: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = varint(rest)?;
    if length == -1 {
        return Some((None, rest));
    }
    let (piece, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Some(piece), rest))
}

/// Whether bytes are records to the last one, by their lengths.
pub(super) fn are_records(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some((length, after)) = varint(rest) else { return false };
        // The shortest record has an attributes byte and five varints.
        match after.get(usize::try_from(length).unwrap_or(usize::MAX)..) {
            Some(after) if length >= 6 => rest = after,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tests::Dice;
    use super::*;
    use crate::bytes::Cursor;

    #[test]
    fn varints_agree_with_the_cursor() {
        let mut dice = Dice(11);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..dice.roll(12)).map(|_| (dice.roll(256) | dice.roll(2) << 7) as u8).collect();
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(varint(&bytes), cursor.varint().ok().map(|n| (n, cursor.rest())), "{bytes:?}");
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(varlong(&bytes), cursor.varlong().ok().map(|n| (n, cursor.rest())), "{bytes:?}");
        }
    }
}
