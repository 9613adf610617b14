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

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.scratch.limit
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

/// A decoder keeps its buffers, and what a damaged frame gives depends on their size. So that it does not depend on what
/// was inflated before, a frame that fails is tried again by a new one.
fn inflate_zstd(
    kept: &mut Option<zstd::stream::raw::Decoder<'static>>,
    body: &[u8],
    scratch: &mut Scratch,
) -> Result<(), FaultKind> {
    let was_used = kept.is_some();
    match inflate_frames(kept, body, scratch) {
        Err(FaultKind::Inflate(_)) if was_used => {
            *kept = None;
            scratch.filled = 0;
            inflate_frames(kept, body, scratch)
        }
        outcome => outcome,
    }
}

fn inflate_frames(
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
        // What comes out of a damaged frame depends on the room: it must not depend on what was inflated before.
        let mut output = OutBuffer::around(scratch.step()?);
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

    /// Room behind what is filled: always as much, but for the limit.
    fn step(&mut self) -> Result<&mut [u8], FaultKind> {
        let size = SMALLEST.min(self.limit.saturating_sub(self.filled)).max(1);
        Ok(self.room(size)?.get_mut(..size).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::super::tests::Dice;
    use super::*;
    use std::io::Write;
    use twox_hash::XxHash32;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::GzBuilder::new()
            .filename("a")
            .comment("b")
            .extra(b"xyz".to_vec())
            .write(Vec::new(), Default::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn snappy(data: &[u8]) -> Vec<u8> {
        snap::raw::Encoder::new().compress_vec(data).unwrap()
    }

    fn xerial(data: &[u8]) -> Vec<u8> {
        let mut out = [&b"\x82SNAPPY\0"[..], &1i32.to_be_bytes(), &1i32.to_le_bytes()].concat();
        for block in data.chunks(32 << 10) {
            let block = snappy(block);
            out.extend_from_slice(&(block.len() as u32).to_be_bytes());
            out.extend_from_slice(&block);
        }
        out
    }

    fn lz4(data: &[u8], linked: bool, checksums: bool) -> Vec<u8> {
        use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
        let info = FrameInfo::new()
            .block_size(BlockSize::Max64KB)
            .block_mode(if linked { BlockMode::Linked } else { BlockMode::Independent })
            .block_checksums(checksums)
            .content_checksum(checksums)
            .content_size(checksums.then_some(data.len() as u64));
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// As brokers write it in magic 0: the header checksum over the frame magic too.
    fn lz4_of_magic_0(data: &[u8]) -> Vec<u8> {
        let mut frame = lz4(data, false, false);
        frame[6] = (XxHash32::oneshot(0, &frame[..6]) >> 8) as u8;
        frame
    }

    fn zstd_streamed(data: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        for piece in data.chunks(1000) {
            encoder.write_all(piece).unwrap();
            encoder.flush().unwrap();
        }
        encoder.finish().unwrap()
    }

    type Case = (&'static str, Codec, Vec<u8>);

    fn cases(data: &[u8]) -> Vec<Case> {
        vec![
            ("gzip", Codec::Gzip, gzip(data)),
            ("gzip members", Codec::Gzip, [gzip(&data[..data.len() / 3]), gzip(&data[data.len() / 3..])].concat()),
            ("snappy", Codec::Snappy, snappy(data)),
            ("xerial", Codec::Snappy, xerial(data)),
            ("lz4", Codec::Lz4, lz4(data, false, false)),
            ("lz4 linked", Codec::Lz4, lz4(data, true, false)),
            ("lz4 checksums", Codec::Lz4, lz4(data, true, true)),
            (
                "lz4 frames",
                Codec::Lz4,
                [lz4(&data[..data.len() / 2], true, true), lz4(&data[data.len() / 2..], true, true)].concat(),
            ),
            ("lz4 of magic 0", Codec::Lz4, lz4_of_magic_0(data)),
            ("zstd", Codec::Zstd, zstd::bulk::compress(data, 1).unwrap()),
            ("zstd without size", Codec::Zstd, zstd_streamed(data)),
            (
                "zstd frames",
                Codec::Zstd,
                [zstd_streamed(&data[..data.len() / 2]), zstd_streamed(&data[data.len() / 2..])].concat(),
            ),
        ]
    }

    /// Compressible, but not all the same.
    fn data(length: usize) -> Vec<u8> {
        let mut dice = Dice(7);
        let words: Vec<Vec<u8>> =
            (0..100).map(|_| (0..5 + dice.roll(20)).map(|_| dice.roll(256) as u8).collect()).collect();
        let mut out = Vec::new();
        while out.len() < length {
            out.extend_from_slice(&words[dice.roll(words.len())]);
        }
        out.truncate(length);
        out
    }

    #[test]
    fn every_codec_and_framing_comes_back() {
        let mut inflater = Inflater::new();
        for length in [1, 100, 5_000, 400_000] {
            let data = data(length);
            for (name, codec, body) in cases(&data) {
                let inflated = inflater.inflate(codec, &body);
                assert_eq!(inflated.fault, None, "{name} {length}");
                assert!(inflated.bytes == data, "{name} {length}");
                assert_eq!(inflated.lz4_checksum_wrong, name == "lz4 of magic 0");
            }
        }
    }

    #[test]
    fn a_cut_body_gives_what_came_before() {
        let data = data(400_000);
        let mut inflater = Inflater::new();
        for (name, codec, body) in cases(&data) {
            for part in 1..10 {
                let inflated = inflater.inflate(codec, &body[..body.len() * part / 10]);
                // Two members or frames in a row may be cut exactly between, which does not happen here.
                assert!(matches!(inflated.fault, Some(FaultKind::Inflate(_))), "{name} {part}: {:?}", inflated.fault);
                assert!(data.starts_with(inflated.bytes), "{name} {part}");
            }
            let half = inflater.inflate(codec, &body[..body.len() / 2]).bytes.len();
            assert!(half > 100_000 || name == "snappy", "{name}: {half}");
        }
    }

    #[test]
    fn a_damaged_body_is_no_panic() {
        let data = data(20_000);
        let mut inflater = Inflater::with_limit(1 << 20);
        let mut dice = Dice(3);
        for (_, codec, body) in cases(&data) {
            for _ in 0..300 {
                let mut body = body.clone();
                for _ in 0..=dice.roll(3) {
                    let at = dice.roll(body.len());
                    body[at] = dice.roll(256) as u8;
                }
                inflater.inflate(codec, &body);
            }
            assert!(inflater.inflate(codec, &[]).fault.is_some());
        }
        // The damage left nothing behind in the reused contexts.
        for (name, codec, body) in cases(&data) {
            assert_eq!(inflater.inflate(codec, &body).bytes, data, "{name}");
        }
    }

    #[test]
    fn what_was_inflated_before_changes_nothing() {
        let data = data(300_000);
        let mut used = Inflater::new();
        used.inflate(Codec::Gzip, &gzip(&vec![0; 4 << 20]));
        let mut dice = Dice(5);
        for (name, codec, body) in cases(&data) {
            for _ in 0..100 {
                let mut body = body.clone();
                let at = dice.roll(body.len());
                body[at] ^= 1 << dice.roll(8);
                let mut fresh = Inflater::new();
                let (first, again) = (fresh.inflate(codec, &body), used.inflate(codec, &body));
                assert!(first.bytes == again.bytes && first.fault == again.fault, "{name} {at}");
            }
        }
    }

    #[test]
    fn checksums_are_checked() {
        let data = data(1000);
        let mut inflater = Inflater::new();
        let broken = |mut body: Vec<u8>, from_end: usize| {
            let at = body.len() - from_end;
            body[at] ^= 1;
            body
        };
        for (codec, body) in [
            (Codec::Gzip, broken(gzip(&data), 8)),
            (Codec::Gzip, broken(gzip(&data), 1)),
            (Codec::Lz4, broken(lz4(&data, false, true), 1)),
        ] {
            let inflated = inflater.inflate(codec, &body);
            assert!(inflated.fault.is_some());
            assert_eq!(inflated.bytes, data);
        }
        let mut header = lz4(&data, false, false);
        header[6] ^= 1;
        let inflated = inflater.inflate(Codec::Lz4, &header);
        assert_eq!((inflated.bytes, inflated.lz4_checksum_wrong), (&data[..], false));
        assert!(inflated.fault.is_some());
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        let zeros = vec![0; 64 << 20];
        let limit = 1 << 20;
        let mut inflater = Inflater::with_limit(limit);
        for (name, codec, body) in cases(&zeros) {
            let inflated = inflater.inflate(codec, &body);
            assert_eq!(inflated.fault, Some(FaultKind::InflatedTooLarge(limit as u64)), "{name}");
            assert!(inflated.bytes.iter().all(|byte| *byte == 0) && inflated.bytes.len() <= limit);
            assert!(inflater.scratch.buffer.len() <= limit);
        }
        // A declared size that no body can reach allocates nothing.
        let mut inflater = Inflater::new();
        assert!(inflater.inflate(Codec::Snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]).fault.is_some());
        assert!(inflater.scratch.buffer.is_empty());
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        let data = data(100_000);
        let mut inflater = Inflater::with_limit(data.len());
        for (name, codec, body) in cases(&data) {
            let inflated = inflater.inflate(codec, &body);
            assert_eq!(inflated.fault, None, "{name}");
            assert_eq!(inflated.bytes.len(), data.len(), "{name}");
        }
    }

    #[test]
    fn unknown_codecs_are_named() {
        let mut inflater = Inflater::new();
        assert_eq!(Codec::of_attributes(6), Codec::Unknown(6));
        assert_eq!(inflater.inflate(Codec::Unknown(6), b"abc").fault, Some(FaultKind::UnknownCodec(6)));
    }
}
