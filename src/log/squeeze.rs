//! Compression, as Kafka's own clients write it: what [`super::codec`] undoes.
//!
//! Must not know: what the bytes are. Writes only what every broker reads: no checksums or sizes that are optional, no
//! blocks that depend on one another.

use super::codec::Codec;
use std::io::{self, Write};

/// xerial's magic, version 1, readable from version 1 on.
const XERIAL_HEADER: &[u8; 16] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
/// xerial's greatest block.
const XERIAL_BLOCK: usize = 32 << 10;

/// Compresses bytes and appends them to `out`. [`Codec::None`] copies them.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] for a codec that no release knows; otherwise none is known.
pub(super) fn squeeze(codec: Codec, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    match codec {
        Codec::None => out.extend_from_slice(bytes),
        Codec::Gzip => {
            let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            gzip.write_all(bytes)?;
            gzip.finish()?;
        }
        Codec::Snappy => xerial(bytes, out)?,
        Codec::Lz4 => lz4(bytes, out)?,
        Codec::Zstd => zstd::stream::copy_encode(bytes, out, 0)?,
        Codec::Unknown(number) => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, format!("codec {number} is unknown")));
        }
    }
    Ok(())
}

fn xerial(bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(XERIAL_HEADER);
    for block in bytes.chunks(XERIAL_BLOCK) {
        let block = snap::raw::Encoder::new().compress_vec(block).map_err(io::Error::other)?;
        out.extend_from_slice(&(block.len() as u32).to_be_bytes());
        out.extend_from_slice(&block);
    }
    Ok(())
}

/// Kafka reads independent blocks only, and knows no checksum of the content.
fn lz4(bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    let mut frame = FrameEncoder::with_frame_info(info, out);
    frame.write_all(bytes)?;
    frame.finish().map_err(io::Error::other)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::codec::Inflater;
    use super::*;

    #[test]
    fn what_is_squeezed_inflates() {
        let bytes: Vec<u8> = (0..200_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            for bytes in [&bytes[..], &bytes[..10], &[]] {
                let mut out = Vec::new();
                squeeze(codec, bytes, &mut out).unwrap();
                let mut inflater = Inflater::new();
                let inflated = inflater.inflate(codec, &out);
                assert_eq!((inflated.fault, inflated.lz4_checksum_wrong), (None, false), "{codec:?}");
                assert_eq!(inflated.bytes, bytes, "{codec:?}");
            }
        }
        assert!(squeeze(Codec::Unknown(7), b"", &mut Vec::new()).is_err());
    }
}
