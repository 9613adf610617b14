//! Whether a place lies inside a record, by the lengths that stand behind a head.
//!
//! Must not know: whether a batch begins there.

use super::batch::{CRC_FROM, HEADER_LENGTH, MAGIC_AT};
use super::fields::{varint, varlong};
use std::ops::Range;

/// Where the number of records stands in a head.
const COUNT_AT: usize = HEADER_LENGTH - 4;
/// The shortest record has an attributes byte and five varints.
const SHORTEST: i32 = 6;

/// Follows the lengths of records behind a head of magic 2, for places that ascend.
pub(super) struct RecordWalk<'a> {
    bytes: &'a [u8],
    /// Where the next record begins; none if there is no telling.
    next: Option<usize>,
}

impl<'a> RecordWalk<'a> {
    /// Behind the head at `at`, if it is one of magic 2 whose records are not compressed.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        let byte = |from: usize| bytes.get(at.checked_add(from)?);
        let is_plain = byte(MAGIC_AT) == Some(&2) && byte(CRC_FROM + 1).is_some_and(|low| low & 7 == 0);
        RecordWalk { bytes, next: at.checked_add(HEADER_LENGTH).filter(|_| is_plain) }
    }

    /// Whether a stretch, at or behind all that were asked about before, lies in the key or value of a record. What only
    /// begins in one is no part of it: bytes are missing in front.
    pub(super) fn covers(&mut self, stretch: Range<usize>) -> bool {
        let holds = |piece: &Range<usize>| piece.contains(&stretch.start) && stretch.end <= piece.end;
        self.pieces_over(stretch.start).is_some_and(|pieces| pieces.iter().any(holds))
    }

    /// Whether a place, at or behind all that were asked about before, lies anywhere in a record.
    pub(super) fn is_over(&mut self, place: usize) -> bool {
        self.pieces_over(place).is_some()
    }

    /// Key and value of the record that begins before a place and ends behind it.
    fn pieces_over(&mut self, place: usize) -> Option<[Range<usize>; 2]> {
        while let Some(next) = self.next.filter(|next| *next < place) {
            match record_at(self.bytes, next) {
                Some((end, _)) if end <= place => self.next = Some(end),
                Some((_, pieces)) => return Some(pieces),
                None => self.next = None,
            }
        }
        None
    }
}

/// Whether bytes that begin with a head of magic 2 end with the last of as many records as it names.
pub(super) fn is_filled_batch(bytes: &[u8]) -> bool {
    let count =
        bytes.get(COUNT_AT..HEADER_LENGTH).and_then(|count| count.first_chunk()).map(|it| i32::from_be_bytes(*it));
    let mut next = RecordWalk::new(bytes, 0).next.filter(|_| count.is_some_and(|count| count > 0));
    for _ in 0..count.unwrap_or(0) {
        next = next.and_then(|at| record_at(bytes, at)).map(|(end, _)| end);
        if next.is_none_or(|end| end > bytes.len()) {
            return false;
        }
    }
    next == Some(bytes.len())
}

/// Where the record at a place ends, and where its key and value lie. All may reach beyond the end of the file.
fn record_at(bytes: &[u8], at: usize) -> Option<(usize, [Range<usize>; 2])> {
    let place = |rest: &[u8]| bytes.len() - rest.len();
    let piece = |rest| {
        let (length, rest) = varint(rest)?;
        let start = place(rest);
        Some(start..start.checked_add(usize::try_from(length.max(0)).ok()?)?)
    };
    let (length, rest) = varint(bytes.get(at..)?)?;
    let end = place(rest).checked_add(usize::try_from(length).ok()?)?;
    let (_, rest) = rest.split_first()?;
    let (_, rest) = varlong(rest)?;
    let (_, rest) = varint(rest)?;
    let key: Range<usize> = piece(rest)?;
    // A value that begins beyond the end of the file covers nothing in it.
    let value = bytes.get(key.end..).and_then(piece).unwrap_or(end..end);
    (length >= SHORTEST && key.end <= end && value.end <= end).then_some((end, [key, value]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batch, record};
    use super::*;

    #[test]
    fn keys_and_values_are_inside() {
        let records = [record(0, b"key", &[b'v'; 300]), record(1, b"k", b"")].concat();
        let bytes = batch(7, 0, 2, &records);
        let inside = |place: usize| RecordWalk::new(&bytes, 0).covers(place..place + 1);
        let (first, second) = (61, bytes.len() - record(1, b"k", b"").len());
        assert!(!inside(0) && !inside(first) && !inside(second) && !inside(bytes.len()));
        assert!(inside(second - 2) && inside(second - 301 + 100) && !inside(second - 1));
        let mut walk = RecordWalk::new(&bytes, 0);
        assert!(
            walk.covers(100..101)
                && walk.covers(150..second - 1)
                && !walk.covers(150..second)
                && !walk.covers(second..second)
        );
        // Cut inside the value.
        assert!(RecordWalk::new(&bytes[..200], 0).covers(150..200));
        let packed = batch(7, 1, 2, &records);
        assert!(!RecordWalk::new(&packed, 0).covers(150..160));
    }
}
