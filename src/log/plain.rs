//! The records of an uncompressed magic 2 batch that is in order: the shortest way through one.
//!
//! Must not know: what to say where one is not in order; [`super::record`] goes the long way then.

use super::batch::Batch;
use super::fields::{self, nullable, outer, varlong};

/// A record, as far as it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct PlainRecord<'s> {
    /// Of no use so far.
    pub attributes: u8,
    /// What to add to the batch's base timestamp, in ms.
    pub timestamp_delta: i64,
    /// What to add to the batch's base offset.
    pub offset_delta: i32,
    /// None for null.
    pub key: Option<&'s [u8]>,
    /// None for null.
    pub value: Option<&'s [u8]>,
    /// Its bytes as framed, the length in front included.
    pub length: usize,
}

/// Looks at record after record. A trait in place of a closure, so that it can be told to be inlined.
pub trait Look<'s> {
    /// Whether to go on.
    fn look(&mut self, record: PlainRecord<'s>) -> bool;
}

impl<'a> Batch<'a> {
    /// Whether this is an uncompressed magic 2 batch whose body holds as many records as its head says, without headers
    /// and to the last byte, and `look` holds of all of them. Stops at the first that is otherwise.
    #[inline(always)]
    pub fn all_plain(&self, look: &mut impl Look<'a>) -> bool {
        let header = self.header();
        if header.magic != 2 || header.attributes & 7 != 0 {
            return false;
        }
        let mut rest = self.body();
        for _ in 0..header.count {
            let Some((record, next)) = split(rest) else { return false };
            if !look.look(record) {
                return false;
            }
            rest = next;
        }
        rest.is_empty()
    }
}

#[inline(always)]
fn split(rest: &[u8]) -> Option<(PlainRecord<'_>, &[u8])> {
    quick(rest).or_else(|| slow(rest))
}

/// The record at the start of what is left, and what is behind it, if it has the shape of almost all: no headers, and
/// numbers and lengths of one or two bytes, those up to the key's length eight bytes in all.
#[inline(always)]
pub(super) fn quick(rest: &[u8]) -> Option<(PlainRecord<'_>, &[u8])> {
    let head = u64::from_le_bytes(*rest.first_chunk()?);
    let (length, taken, head) = varint(head)?;
    let (record, next) = rest.split_at_checked(taken + (length >> 1) as usize)?;
    let (attributes, head) = (head as u8, head >> 8);
    let (timestamp_delta, offset_delta, more, head) = deltas(head)?;
    let taken = taken + 1 + more;
    // Groups differ in it from one batch to the next: without a branch, nothing is guessed wrong.
    let long = head >> 7 & 1;
    let key_length = head & 0x7f | (head >> 1) & (long << 14).wrapping_sub(long << 7);
    let is_longer = head >> 15 & long;
    let taken = taken + 1 + long as usize;
    // No length is below zero.
    if taken > size_of::<u64>() || (length | key_length | is_longer) & 1 != 0 {
        return None;
    }
    let (key, tail) = record.get(taken..)?.split_at_checked((key_length >> 1) as usize)?;
    let [a, ref behind @ .., 0] = *tail else { return None };
    let value = if a < 0x80 && usize::from(a) == 2 * behind.len() { Some(behind) } else { long_value(a, behind)? };
    let length = record.len();
    Some((PlainRecord { attributes, timestamp_delta, offset_delta, key: Some(key), value, length }, next))
}

/// A value behind a length of two bytes, or null.
#[inline(always)]
fn long_value(a: u8, behind: &[u8]) -> Option<Option<&[u8]>> {
    match *behind {
        [] if a == 1 => Some(None),
        [b, ref value @ ..] if a >= 0x80 && b < 0x80 && two(a, b) == 2 * value.len() => Some(Some(value)),
        _ => None,
    }
}

/// The deltas of time and offset, how many bytes they take, and what is left of the register. They are seldom below zero.
#[inline(always)]
fn deltas(head: u64) -> Option<(i64, i32, usize, u64)> {
    // Of a byte each, as in all but long batches and such as lingered.
    if head & 0x8181 == 0 {
        return Some(((head & 0xff) as i64 >> 1, (head & 0xff00) as i32 >> 9, 2, head >> 16));
    }
    let (timestamp, taken, head) = varint(head)?;
    let (offset, more, head) = varint(head)?;
    ((timestamp | offset) & 1 == 0).then_some(((timestamp >> 1) as i64, (offset >> 1) as i32, taken + more, head))
}

/// The bits of a varint of one or two bytes, how many these are, and what is left of the register it stands in.
#[inline(always)]
fn varint(head: u64) -> Option<(u64, usize, u64)> {
    if head & 0x80 == 0 {
        Some((head & 0x7f, 1, head >> 8))
    } else if head & 0x8000 == 0 {
        Some((head & 0x7f | (head >> 1) & 0x3f80, 2, head >> 16))
    } else {
        None
    }
}

/// The bits of a varint of two bytes.
#[inline(always)]
fn two(a: u8, b: u8) -> usize {
    usize::from(a & 0x7f) | usize::from(b) << 7
}

#[cold]
#[inline(never)]
fn slow(rest: &[u8]) -> Option<(PlainRecord<'_>, &[u8])> {
    let (fields, next) = outer(rest)?;
    let (&attributes, fields) = fields.split_first()?;
    let (timestamp_delta, fields) = varlong(fields)?;
    let (offset_delta, fields) = fields::varint(fields)?;
    let (key, fields) = nullable(fields)?;
    let (value, fields) = nullable(fields)?;
    let length = rest.len() - next.len();
    (*fields == [0]).then_some((PlainRecord { attributes, timestamp_delta, offset_delta, key, value, length }, next))
}

#[cfg(test)]
mod tests {
    use super::super::Inflater;
    use super::super::tests::{Dice, batch, record, seal};
    use super::*;

    /// Offset, key and value.
    type Whole = (i64, Option<Vec<u8>>, Option<Vec<u8>>);

    #[derive(Default)]
    struct Met(Vec<Whole>);

    impl Look<'_> for Met {
        fn look(&mut self, it: PlainRecord<'_>) -> bool {
            self.0.push((i64::from(it.offset_delta) + 7, it.key.map(<[u8]>::to_vec), it.value.map(<[u8]>::to_vec)));
            true
        }
    }

    /// Wherever it says that all is in order, the long way says the same.
    #[test]
    fn it_agrees_with_the_long_way() {
        let mut dice = Dice(5);
        let mut in_order = 0;
        for _ in 0..20_000 {
            let count = dice.roll(4) as i32;
            let body: Vec<u8> = (0..count).flat_map(|i| record(i, b"key", &vec![b'v'; i as usize * 70])).collect();
            let mut bytes = batch(7, 0, count, &body);
            let at = 57 + dice.roll(bytes.len() - 57);
            if dice.roll(3) > 0 {
                bytes[at] ^= 1 << dice.roll(8);
                seal(&mut bytes);
            }
            let batch = Batch::new(&bytes, 0).unwrap();
            let mut met = Met::default();
            if batch.all_plain(&mut met) {
                in_order += 1;
                let mut inflater = Inflater::new();
                let mut records = batch.records(&mut inflater);
                let long: Vec<_> = records.by_ref().map(|it| it.unwrap()).collect();
                let long: Vec<_> = long
                    .iter()
                    .map(|it| (it.offset, it.key.map(<[u8]>::to_vec), it.value.map(<[u8]>::to_vec)))
                    .collect();
                assert_eq!(met.0, long);
                assert!(batch.header().count <= 0 || records.fault().is_none());
            }
        }
        assert!(in_order > 5000, "{in_order}");
    }
}
