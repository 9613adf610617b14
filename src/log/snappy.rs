//! Snappy, raw or in xerial's framing, into the scratch.
//!
//! Must not know: what is inside. The two framings share one codec number; the first eight bytes tell them apart.

use super::codec::Scratch;
use crate::bytes::Cursor;
use crate::fault::FaultKind;

const XERIAL: [u8; 8] = *b"\x82SNAPPY\0";
/// Behind the magic stand a version and a compatible version, which some clients write in the wrong byte order.
const XERIAL_HEADER: usize = 16;
/// Three bytes of a copy element stand for at most 64: no honest block expands more than this.
const GREATEST_RATIO: usize = 22;

/// Inflates all blocks. What came out before a fault stays in the scratch.
pub(super) fn inflate(body: &[u8], scratch: &mut Scratch) -> Result<(), FaultKind> {
    if !body.starts_with(&XERIAL) {
        return inflate_block(body, scratch);
    }
    let mut cursor = Cursor::new(body);
    cursor.take(XERIAL_HEADER).map_err(|_| fault("the header is cut"))?;
    while cursor.remaining() > 0 {
        // Streams may be concatenated: a block length can not be negative, and the magic's first four bytes are.
        if cursor.rest().starts_with(&XERIAL) {
            cursor.take(XERIAL_HEADER).map_err(|_| fault("the header is cut"))?;
            continue;
        }
        let length = cursor.i32().map_err(|_| fault("a block length is cut"))?;
        let length = usize::try_from(length).map_err(|_| fault("a block length is negative"))?;
        let block = cursor.take(length).map_err(|_| fault("a block is cut"))?;
        inflate_block(block, scratch)?;
    }
    Ok(())
}

fn fault(why: &str) -> FaultKind {
    FaultKind::Inflate(format!("snappy: {why}").into())
}

fn inflate_block(block: &[u8], scratch: &mut Scratch) -> Result<(), FaultKind> {
    let declared = snap::raw::decompress_len(block).map_err(|why| fault(&why.to_string()))?;
    if declared > block.len().saturating_mul(GREATEST_RATIO) {
        return Err(fault("a block declares more than it can hold"));
    }
    let room = scratch.room(declared)?.get_mut(..declared).unwrap_or_default();
    // Making this decoder costs nothing: it holds no state.
    let written = snap::raw::Decoder::new().decompress(block, room).map_err(|why| fault(&why.to_string()))?;
    scratch.fill(written);
    Ok(())
}
