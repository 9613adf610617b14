//! Whether a batch could begin at a byte, judged by its head alone.
//!
//! Must not know: CRCs, and what stands elsewhere in the file.

use super::batch::{HEADER_LENGTH, MAGIC_AT, PREFIX_LENGTH};
use super::legacy;
use crate::fault::FaultKind;

/// The smallest value of the length field in magic 2: a head without records.
const SMALLEST_LENGTH: i32 = (HEADER_LENGTH - PREFIX_LENGTH) as i32;

/// What stands at a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// A batch of so many bytes, all of whose fields make sense.
    Sound(usize),
    /// A batch of so many bytes by magic and length, with fields that no broker writes.
    Loose(usize),
    /// The head of a batch that needs more bytes than there are.
    Torn {
        /// Bytes it says it needs, in all.
        need: usize,
    },
    /// No batch.
    Bad(FaultKind),
}

/// The length of the batch at `at` if every field of its head makes sense; else 0.
#[inline(always)]
pub(super) fn sound(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<HEADER_LENGTH>() {
        Some(head) if head[MAGIC_AT] == 2 => sound_magic2(head, rest.len()),
        // 26 bytes are the shortest message of magic 0.
        _ if matches!(rest.get(MAGIC_AT), Some(0 | 1)) => sound_legacy(rest),
        _ => 0,
    }
}

#[inline(always)]
fn sound_magic2(head: &[u8; HEADER_LENGTH], available: usize) -> usize {
    let length = i32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let whole = i64::from(length) + PREFIX_LENGTH as i64;
    let attributes_sound = head[21] == 0 && head[22] < 0x80 && head[22] & 7 <= 4;
    // The sign bits of the base offset, the last offset delta and the record count.
    let signs = (head[0] | head[23] | head[57]) & 0x80;
    if length >= SMALLEST_LENGTH && whole <= available as i64 && attributes_sound && signs == 0 {
        whole as usize
    } else {
        0
    }
}

#[inline(never)]
fn sound_legacy(rest: &[u8]) -> usize {
    let (Some(&[a, b, c, d]), Some(&magic), Some(&attributes)) =
        (rest.get(8..).and_then(|rest| rest.first_chunk()), rest.get(MAGIC_AT), rest.get(MAGIC_AT + 1))
    else {
        return 0;
    };
    let size = i32::from_be_bytes([a, b, c, d]);
    let whole = i64::from(size) + PREFIX_LENGTH as i64;
    let fits = size >= legacy::smallest_size(magic) && whole <= rest.len() as i64;
    let sound = fits
        && attributes & 0xf0 == 0
        && attributes & 7 <= 3
        && rest.first().is_some_and(|&byte| byte < 0x80)
        && legacy::fills_its_size(rest, magic, size as usize);
    if sound { whole as usize } else { 0 }
}

/// What stands at the start of `rest`, which goes to the end of the file and is not empty.
pub(super) fn shape(rest: &[u8]) -> Shape {
    let length = rest.get(8..).and_then(|rest| rest.first_chunk()).map(|chunk| i32::from_be_bytes(*chunk));
    let whole = |length: i32| usize::try_from(i64::from(length) + PREFIX_LENGTH as i64).unwrap_or(0);
    let (Some(length), Some(&magic)) = (length, rest.get(MAGIC_AT)) else {
        let need = length.map_or(0, whole).max(MAGIC_AT + 1);
        return Shape::Torn { need };
    };
    let smallest = match magic {
        0 | 1 => legacy::smallest_size(magic),
        2 => SMALLEST_LENGTH,
        _ => return Shape::Bad(FaultKind::BadMagic(magic as i8)),
    };
    if length < smallest {
        return Shape::Bad(FaultKind::BadBatchLength(length));
    }
    match whole(length) {
        need if need > rest.len() => Shape::Torn { need },
        _ => match sound(rest, 0) {
            0 => Shape::Loose(whole(length)),
            length => Shape::Sound(length),
        },
    }
}

/// How many zeros `rest` begins with.
pub(super) fn zeros(rest: &[u8]) -> usize {
    let blocks = rest.chunks_exact(4096).take_while(|block| is_zero(block)).count() * 4096;
    let tail = rest.get(blocks..).unwrap_or_default();
    blocks + tail.iter().position(|&byte| byte != 0).unwrap_or(tail.len())
}

fn is_zero(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<32>();
    words.iter().all(|word| *word == [0; 32]) && rest.iter().all(|&byte| byte == 0)
}
