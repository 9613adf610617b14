//! Compression: what a batch's body may be squeezed with, and one reused place to inflate it into.
//!
//! Must not know: what the inflated bytes are. Grows as data inflates, never by a size that the data declares.

use super::{gzip, lz4, snappy};
use crate::fault::FaultKind;
use std::fmt;

/// The greatest inflated batch unless told otherwise: 256 MiB. Ten times the greatest one known from the field (a
/// group record of 25 MB), and small enough that a bomb does not exhaust a small machine.
pub const DEFAULT_MAX_INFLATED: usize = 256 << 20;

/// Scratch that is kept between batches; what one huge batch needed beyond this is given back.
const KEPT: usize = 16 << 20;
/// The first and smallest growth of the scratch.
const SMALLEST: usize = 64 << 10;

/// How a batch's records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not at all.
    None,
    /// Gzip members (RFC 1952).
    Gzip,
    /// Snappy, raw or in blocks as xerial's Java library frames it.
    Snappy,
    /// The LZ4 frame format.
    Lz4,
    /// Zstandard frames; magic 2 only (KIP-110, Kafka 2.1).
    Zstd,
    /// A number no release uses: 5, 6 or 7, or zstd's 4 in magic 0 and 1.
    Unknown(u8),
}

impl Codec {
    /// From the low three bits of a magic 2 batch's attributes.
    #[inline(always)]
    pub fn of_attributes(attributes: i16) -> Codec {
        match attributes & 7 {
            0 => Codec::None,
            1 => Codec::Gzip,
            2 => Codec::Snappy,
            3 => Codec::Lz4,
            4 => Codec::Zstd,
            n => Codec::Unknown(n as u8),
        }
    }

    /// Kafka's name, or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Gzip => "gzip",
            Codec::Snappy => "snappy",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
            Codec::Unknown(_) => "unknown",
        }
    }
}

/// Inflates batches, one after the other, into one reused scratch buffer. Making contexts and buffers per batch costs
/// several times the inflating itself.
pub struct Inflater {
    scratch: Scratch,
    deflate: flate2::Decompress,
    zstd: Option<zstd::stream::raw::Decoder<'static>>,
}

/// What came out of a compressed body: all that could be inflated, and what stopped it.
#[derive(Debug)]
pub struct Inflated<'s> {
    /// The inflated bytes, up to the damage if there is any.
    pub bytes: &'s [u8],
    /// What is wrong with the compressed body.
    pub fault: Option<FaultKind>,
    /// The lz4 frame header carries the checksum of the wrong bytes, as all brokers write it in magic 0. From magic 1
    /// on brokers refuse such a batch.
    pub lz4_checksum_wrong: bool,
}

impl Default for Inflater {
    fn default() -> Self {
        Inflater::new()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").field("limit", &self.scratch.limit).finish_non_exhaustive()
    }
}

impl Inflater {
    /// With [`DEFAULT_MAX_INFLATED`].
    pub fn new() -> Self {
        Inflater::with_limit(DEFAULT_MAX_INFLATED)
    }

    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn with_limit(limit: usize) -> Self {
        Inflater {
            scratch: Scratch { buffer: Vec::new(), filled: 0, limit },
            deflate: flate2::Decompress::new(false),
            zstd: None,
        }
    }

    /// Inflates a body. [`Codec::None`] is copied, which no caller needs.
    pub fn inflate(&mut self, codec: Codec, body: &[u8]) -> Inflated<'_> {
        self.scratch.clear();
        let scratch = &mut self.scratch;
        let mut lz4_checksum_wrong = false;
        let outcome = match codec {
            Codec::None => scratch.append(body),
            Codec::Gzip => gzip::inflate(&mut self.deflate, body, scratch),
            Codec::Snappy => snappy::inflate(body, scratch),
            Codec::Lz4 => lz4::inflate(body, scratch, &mut lz4_checksum_wrong),
            Codec::Zstd => inflate_zstd(&mut self.zstd, body, scratch),
            Codec::Unknown(number) => Err(FaultKind::UnknownCodec(number)),
        };
        Inflated { bytes: self.scratch.filled(), fault: outcome.err(), lz4_checksum_wrong }
    }
}

fn inflate_zstd(
    kept: &mut Option<zstd::stream::raw::Decoder<'static>>,
    body: &[u8],
    scratch: &mut Scratch,
) -> Result<(), FaultKind> {
    use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
    let failed = |why: std::io::Error| FaultKind::Inflate(format!("zstd: {why}").into());
    let decoder = match kept {
        Some(decoder) => decoder,
        None => kept.insert(Decoder::new().map_err(failed)?),
    };
    decoder.reinit().map_err(failed)?;
    let mut input = InBuffer::around(body);
    loop {
        let was = (input.pos, scratch.filled);
        let mut output = OutBuffer::around(scratch.room(1)?);
        // The hint is 0 exactly where a frame ends and everything of it has been handed out.
        let hint = decoder.run(&mut input, &mut output).map_err(failed)?;
        let written = output.pos();
        let full = written == output.capacity();
        scratch.filled += written;
        let finished = input.pos == body.len();
        match hint {
            0 if finished => return Ok(()),
            0 => decoder.reinit().map_err(failed)?,
            _ if finished && !full || was == (input.pos, scratch.filled) => {
                return Err(FaultKind::Inflate("zstd: the frame is cut".into()));
            }
            _ => {}
        }
    }
}

/// A growing buffer that keeps its room between uses, so that it is zeroed only when it grows.
#[derive(Debug)]
pub(super) struct Scratch {
    buffer: Vec<u8>,
    filled: usize,
    limit: usize,
}

impl Scratch {
    fn clear(&mut self) {
        self.filled = 0;
        if self.buffer.len() > KEPT {
            self.buffer.truncate(KEPT);
            self.buffer.shrink_to_fit();
        }
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Bytes filled so far.
    pub(super) fn length(&self) -> usize {
        self.filled
    }

    /// Declares the next `n` bytes of the room filled.
    pub(super) fn fill(&mut self, n: usize) {
        self.filled = self.buffer.len().min(self.filled.saturating_add(n));
    }

    /// Room behind what is filled: at least `n` bytes, an error if that goes beyond the limit.
    pub(super) fn room(&mut self, n: usize) -> Result<&mut [u8], FaultKind> {
        Ok(self.split(n)?.1)
    }

    /// What is filled, and room behind it of at least `n` bytes.
    pub(super) fn split(&mut self, n: usize) -> Result<(&[u8], &mut [u8]), FaultKind> {
        let needed = self.filled.saturating_add(n);
        if needed > self.buffer.len() {
            if needed > self.limit {
                return Err(self.too_large());
            }
            // Doubling, so that growing costs no more than inflating.
            self.buffer.resize(needed.max(self.buffer.len() * 2).max(SMALLEST).min(self.limit), 0);
        }
        let (filled, room) = self.buffer.split_at_mut_checked(self.filled).unwrap_or_default();
        Ok((filled, room))
    }

    pub(super) fn too_large(&self) -> FaultKind {
        FaultKind::InflatedTooLarge(self.limit as u64)
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), FaultKind> {
        let room = self.room(bytes.len())?;
        if let Some(room) = room.get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.fill(bytes.len());
        Ok(())
    }
}
