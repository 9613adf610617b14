//! Instructions of the processor: calling memory into its cache, and the CRC of what is short.
//!
//! Must not know: what the bytes are.

/// The CRC-32C (Castagnoli, RFC 3720) of some bytes.
///
/// Long ones are a crate's: crc-fast's where the processor multiplies without carries in wide registers, which takes a
/// third to two thirds of the time; elsewhere it is slower than crc32c. Of short ones, as most batches of this topic are,
/// either crate's way to whole words and out of them takes longer than the words.
#[inline(always)]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let (in_words, long): (_, fn(&[u8]) -> u32) = match multiplies_widely() {
            true => (8..384, crc32c_widely),
            false => (8..768, crc32c::crc32c),
        };
        if in_words.contains(&bytes.len()) && std::is_x86_feature_detected!("sse4.2") {
            // SAFETY: the processor was just seen to have the instruction.
            return unsafe { crc32c_in_words(bytes) };
        }
        long(bytes)
    }
    #[cfg(not(target_arch = "x86_64"))]
    crc32c::crc32c(bytes)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiplies_widely() -> bool {
    std::is_x86_feature_detected!("vpclmulqdq") && std::is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
fn crc32c_widely(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Of eight bytes or more. A CRC begins with all bits set, which is to flip the first four bytes and begin with none set;
/// and then zeros in front change nothing. So what is more than whole words goes first, behind as many zeros as make it
/// one, and nothing is left for the end.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn crc32c_in_words(bytes: &[u8]) -> u32 {
    use std::arch::x86_64::_mm_crc32_u64;
    const FLIPPED: u64 = 0xffff_ffff;
    let odd = bytes.len() % 8;
    let first = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) ^ FLIPPED;
    let crc = _mm_crc32_u64(0, first << 8 << (56 - 8 * odd));
    // Those of the four that did not go with it.
    let flipped = crc ^ FLIPPED >> (8 * odd);
    let words = bytes.get(odd..).unwrap_or_default().as_chunks().0;
    !(words.iter().fold(flipped, |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word))) as u32)
}

/// Asks the processor to fetch the line `at` bytes from the start into its cache. A hint, which may lie behind the end:
/// does nothing where no memory is, and nothing off x86_64.
#[inline(always)]
pub fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that can be seen, and never faults, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast::<i8>().wrapping_add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}

/// As [`prefetch`], for the item at `at`.
#[inline(always)]
pub fn prefetch_item<T>(items: &[T], at: usize) {
    prefetch(items, at.wrapping_mul(size_of::<T>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_the_crate_whatever_the_length_and_the_place() {
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for from in 0..9 {
            for to in from..bytes.len() {
                let piece = &bytes[from..to];
                assert_eq!(crc32c(piece), crc32c::crc32c(piece), "{from}..{to}");
                #[cfg(target_arch = "x86_64")]
                assert_eq!(crc32c_widely(piece), crc32c::crc32c(piece), "{from}..{to}, on any processor");
            }
        }
        // The check value of the catalogue of CRCs.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn prefetch_out_of_range_is_nothing() {
        prefetch(&[1u8, 2, 3], 2);
        prefetch::<u8>(&[], 100);
        prefetch_item(&[1u64], usize::MAX);
    }
}
