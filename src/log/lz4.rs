//! The LZ4 frame format, into the scratch: frames walked here, blocks inflated by `lz4_flex`.
//!
//! Must not know: what is inside. Walked here because brokers write the header checksum of magic 0 over the wrong
//! bytes, which must be read, and because a damaged frame should still give the blocks before the damage.

use super::codec::Scratch;
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use twox_hash::XxHash32;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const LINKED_BLOCKS_REACH: usize = 64 << 10;

/// What a frame's descriptor says.
struct Frame {
    linked: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_size: Option<u64>,
    greatest_block: usize,
}

/// Inflates all frames. What came out before a fault stays in the scratch.
pub(super) fn inflate(body: &[u8], scratch: &mut Scratch, checksum_wrong: &mut bool) -> Result<(), FaultKind> {
    let mut cursor = Cursor::new(body);
    loop {
        if skip_skippable(&mut cursor)? {
            if cursor.remaining() == 0 {
                return Ok(());
            }
            continue;
        }
        let start = scratch.length();
        let (frame, header) = read_header(&mut cursor)?;
        match header {
            HeaderChecksum::Right => {}
            HeaderChecksum::Wrong => *checksum_wrong = true,
            // A damaged header is a fault, but the blocks may well be sound.
            HeaderChecksum::Other => {
                inflate_frame(&mut cursor, &frame, start, scratch)?;
                return Err(fault("the frame header's checksum differs"));
            }
        }
        inflate_frame(&mut cursor, &frame, start, scratch)?;
        if cursor.remaining() == 0 {
            return Ok(());
        }
    }
}

enum HeaderChecksum {
    Right,
    /// Over the frame magic too: magic 0.
    Wrong,
    Other,
}

#[cold]
fn fault(why: &str) -> FaultKind {
    FaultKind::Inflate(format!("lz4: {why}").into())
}

#[cold]
fn cut(_: Fault) -> FaultKind {
    fault("the frame is cut")
}

fn u32_le(cursor: &mut Cursor<'_>) -> Result<u32, FaultKind> {
    Ok(u32::from_le_bytes(*cursor.array().map_err(cut)?))
}

fn skip_skippable(cursor: &mut Cursor<'_>) -> Result<bool, FaultKind> {
    match cursor.rest() {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            cursor.take(4).map_err(cut)?;
            let length = u32_le(cursor)?;
            cursor.take(length as usize).map_err(cut)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<(Frame, HeaderChecksum), FaultKind> {
    let (whole, start) = (cursor.rest(), cursor.at());
    if *cursor.array::<4>().map_err(cut)? != MAGIC {
        return Err(fault("no frame header"));
    }
    let [flags, block] = *cursor.array::<2>().map_err(cut)?;
    if flags >> 6 != 1 {
        return Err(fault("a frame version that is not 1"));
    }
    let content_size = match flags & 8 {
        0 => None,
        _ => Some(u64::from_le_bytes(*cursor.array().map_err(cut)?)),
    };
    if flags & 1 != 0 {
        return Err(fault("needs a dictionary"));
    }
    let end = cursor.at() - start;
    let stored = cursor.u8().map_err(cut)?;
    let frame = Frame {
        linked: flags & 0x20 == 0,
        block_checksums: flags & 0x10 != 0,
        content_checksum: flags & 4 != 0,
        content_size,
        greatest_block: match block >> 4 & 7 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            _ => return Err(fault("a block size that is none")),
        },
    };
    let sum = |from: usize| (XxHash32::oneshot(0, whole.get(from..end).unwrap_or_default()) >> 8) as u8;
    let header = match stored {
        stored if stored == sum(4) => HeaderChecksum::Right,
        stored if stored == sum(0) => HeaderChecksum::Wrong,
        _ => HeaderChecksum::Other,
    };
    Ok((frame, header))
}

fn inflate_frame(cursor: &mut Cursor<'_>, frame: &Frame, start: usize, scratch: &mut Scratch) -> Result<(), FaultKind> {
    loop {
        let word = u32_le(cursor)?;
        if word == 0 {
            return finish_frame(cursor, frame, scratch.filled().get(start..).unwrap_or_default());
        }
        let length = (word & 0x7fff_ffff) as usize;
        if length > frame.greatest_block {
            return Err(fault("a block is longer than its frame allows"));
        }
        let block = cursor.take(length).map_err(cut)?;
        if frame.block_checksums && u32_le(cursor)? != XxHash32::oneshot(0, block) {
            return Err(fault("a block's checksum differs"));
        }
        if word >> 31 == 1 {
            scratch.append(block)?;
        } else {
            inflate_block(block, frame, start, scratch)?;
        }
    }
}

fn inflate_block(block: &[u8], frame: &Frame, start: usize, scratch: &mut Scratch) -> Result<(), FaultKind> {
    // A byte of a block stands for at most 255.
    let greatest = frame.greatest_block.min(block.len().saturating_mul(255));
    let (before, room) = match scratch.split(greatest) {
        Ok(split) => split,
        // Near the limit: with what room there is, for the block may be shorter than it could be.
        Err(too_large) => match scratch.split(1) {
            Ok(split) => split,
            Err(_) => return Err(too_large),
        },
    };
    let short = room.len() < greatest;
    let room = match room.len() {
        n if n > greatest => room.get_mut(..greatest).unwrap_or_default(),
        _ => room,
    };
    let outcome = if frame.linked {
        let reach = before.len().saturating_sub(LINKED_BLOCKS_REACH).max(start);
        lz4_flex::block::decompress_into_with_dict(block, room, before.get(reach..).unwrap_or_default())
    } else {
        lz4_flex::block::decompress_into(block, room)
    };
    match outcome {
        Ok(written) => {
            scratch.fill(written);
            Ok(())
        }
        Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if short => Err(scratch.too_large()),
        Err(why) => Err(fault(&why.to_string())),
    }
}

fn finish_frame(cursor: &mut Cursor<'_>, frame: &Frame, content: &[u8]) -> Result<(), FaultKind> {
    if frame.content_checksum && u32_le(cursor)? != XxHash32::oneshot(0, content) {
        return Err(fault("the content's checksum differs"));
    }
    if frame.content_size.is_some_and(|size| size != content.len() as u64) {
        return Err(fault("the content's length differs"));
    }
    Ok(())
}
