//! Gzip members (RFC 1952), one or several, into the scratch.
//!
//! Must not know: what is inside. The deflate state is the caller's, so that it is made once.

use super::codec::Scratch;
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use flate2::{Decompress, FlushDecompress, Status};

const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

/// Inflates all members. What came out before a fault stays in the scratch.
pub(super) fn inflate(deflate: &mut Decompress, body: &[u8], scratch: &mut Scratch) -> Result<(), FaultKind> {
    let mut cursor = Cursor::new(body);
    loop {
        skip_header(&mut cursor)?;
        let start = scratch.length();
        let used = inflate_member(deflate, cursor.rest(), scratch)?;
        let trailer = cursor.take(used).and_then(|_| cursor.array::<8>()).map_err(cut)?;
        check_trailer(trailer, scratch.filled().get(start..).unwrap_or_default())?;
        if cursor.remaining() == 0 {
            return Ok(());
        }
    }
}

fn fault(why: &str) -> FaultKind {
    FaultKind::Inflate(format!("gzip: {why}").into())
}

fn cut(_: Fault) -> FaultKind {
    fault("the stream is cut")
}

fn skip_header(cursor: &mut Cursor<'_>) -> Result<(), FaultKind> {
    let head = cursor.array::<10>().map_err(cut)?;
    if head[..3] != [0x1f, 0x8b, 8] {
        return Err(fault("no gzip header"));
    }
    let flags = head[3];
    if flags & EXTRA != 0 {
        let length = cursor.array::<2>().map_err(cut)?;
        cursor.take(usize::from(u16::from_le_bytes(*length))).map_err(cut)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let length = memchr::memchr(0, cursor.rest()).ok_or_else(|| fault("the stream is cut"))?;
            cursor.take(length + 1).map_err(cut)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        cursor.take(2).map_err(cut)?;
    }
    Ok(())
}

/// Returns how many bytes of input the deflate stream took.
fn inflate_member(deflate: &mut Decompress, input: &[u8], scratch: &mut Scratch) -> Result<usize, FaultKind> {
    deflate.reset(false);
    loop {
        let (read, wrote) = (deflate.total_in(), deflate.total_out());
        let rest = input.get(read as usize..).unwrap_or_default();
        let room = scratch.room(1)?;
        let status = deflate.decompress(rest, room, FlushDecompress::None);
        let written = (deflate.total_out() - wrote) as usize;
        let full = written == room.len();
        scratch.fill(written);
        match status {
            Ok(Status::StreamEnd) => return Ok(deflate.total_in() as usize),
            Ok(_) if full => {}
            Ok(_) if deflate.total_in() == read && written == 0 => return Err(fault("the stream is cut")),
            Ok(_) => {}
            Err(why) => return Err(fault(&why.to_string())),
        }
    }
}

fn check_trailer(trailer: &[u8; 8], inflated: &[u8]) -> Result<(), FaultKind> {
    let [a, b, c, d, e, f, g, h] = *trailer;
    if u32::from_le_bytes([a, b, c, d]) != crc32fast::hash(inflated) {
        return Err(fault("its checksum differs"));
    }
    if u32::from_le_bytes([e, f, g, h]) != inflated.len() as u32 {
        return Err(fault("its length differs"));
    }
    Ok(())
}
