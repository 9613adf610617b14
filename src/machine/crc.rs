//! The CRC-32C of some bytes, as fast as the processor does it.
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
        use std::is_x86_feature_detected as has;
        match bytes.len() {
            // SAFETY: the processor was just seen to have the instruction.
            8..192 if has!("sse4.2") => return unsafe { x86_64::in_words(bytes) },
            // SAFETY: the processor was just seen to have the instructions.
            192..1024 if has!("sse4.2") && has!("pclmulqdq") => return unsafe { x86_64::in_lanes(bytes) },
            1024.. if has!("vpclmulqdq") && has!("avx512vl") => return x86_64::widely(bytes),
            _ => {}
        }
    }
    crc32c::crc32c(bytes)
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64};
    use std::hint::select_unpredictable;

    /// All bits of a CRC.
    const FLIPPED: u64 = 0xffff_ffff;

    pub(super) fn widely(bytes: &[u8]) -> u32 {
        crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
    }

    /// Of eight bytes or more: word after word, each waiting for the one before.
    #[target_feature(enable = "sse4.2")]
    pub(super) fn in_words(bytes: &[u8]) -> u32 {
        let (begun, words) = begin(bytes);
        !(words.iter().fold(begun, |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word))) as u32)
    }

    /// Of eight bytes or more, below 1 KiB: in three lanes, of which none waits for another. A CRC that begins with no bits
    /// set is linear, so that of the whole is that of each lane, moved past the lanes behind it, one upon the other.
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub(super) fn in_lanes(bytes: &[u8]) -> u32 {
        let (begun, words) = begin(bytes);
        let each = words.len() / 3;
        let (left, lanes) = words.split_at(words.len() - 3 * each);
        // Two of them or fewer, in as many steps whatever their number: the processor would guess it wrong.
        let mut a = begun;
        for at in 0..2 {
            let word = words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
            a = select_unpredictable(at < left.len(), _mm_crc32_u64(a, word), a);
        }
        if each == 0 {
            return !(a as u32);
        }
        let (first, lanes) = lanes.split_at(each);
        let (second, third) = lanes.split_at(each);
        let (mut b, mut c) = (0, 0);
        for ((first, second), third) in first.iter().zip(second).zip(third) {
            a = _mm_crc32_u64(a, u64::from_le_bytes(*first));
            b = _mm_crc32_u64(b, u64::from_le_bytes(*second));
            c = _mm_crc32_u64(c, u64::from_le_bytes(*third));
        }
        !((c ^ _mm_crc32_u64(0, times(a, past(2 * each)) ^ times(b, past(each)))) as u32)
    }

    /// The CRC as far as it takes to have whole words left, and those. A CRC begins with all bits set, which is to flip the
    /// first four bytes and begin with none set; and then zeros in front change nothing. So what is more than whole words
    /// goes first, behind as many zeros as make it one, and nothing is left for the end.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    fn begin(bytes: &[u8]) -> (u64, &[[u8; 8]]) {
        let odd = bytes.len() % 8;
        let first = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) ^ FLIPPED;
        let crc = _mm_crc32_u64(0, first << 8 << (56 - 8 * odd));
        // Those of the four that did not go with it.
        let flipped = crc ^ FLIPPED >> (8 * odd);
        (flipped, bytes.get(odd..).unwrap_or_default().as_chunks().0)
    }

    /// The product of two polynomials, without carries.
    #[inline]
    #[target_feature(enable = "sse2,pclmulqdq")]
    fn times(a: u64, b: u64) -> u64 {
        _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64))) as u64
    }

    /// What to multiply with to move a CRC past so many words: x^64 to that power. Less x^33: one for the bit that a product
    /// of mirrored polynomials is short of, the others for what the instruction does when it brings the product back to 32
    /// bits.
    #[inline(always)]
    fn past(words: usize) -> u64 {
        PAST.get(words).map_or(0, |past| u64::from(*past))
    }

    /// Two thirds of the words of 1 KiB.
    static PAST: [u32; 1024 / 8 * 2 / 3 + 1] = {
        /// The polynomial, mirrored: the bit of x^0 is the highest.
        const POLYNOMIAL: u32 = 0x82f6_3b78;
        let mut past = [0; _];
        let (mut power, mut is): (usize, u32) = (0, 1 << 31);
        let mut words = 1;
        while words < past.len() {
            while power < 64 * words - 33 {
                is = (is >> 1) ^ ((is & 1) * POLYNOMIAL);
                power += 1;
            }
            past[words] = is;
            words += 1;
        }
        past
    };
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
                assert_eq!(x86_64::widely(piece), crc32c::crc32c(piece), "{from}..{to}, on any processor");
            }
        }
        // The check value of the catalogue of CRCs.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn lanes_and_words_agree_wherever_both_can_be() {
        if !(std::is_x86_feature_detected!("sse4.2") && std::is_x86_feature_detected!("pclmulqdq")) {
            return;
        }
        let bytes: Vec<u8> = (0..1024u32).map(|i| (i.wrapping_mul(2_246_822_519) >> 24) as u8).collect();
        for from in 0..9 {
            for to in from + 8..bytes.len() {
                let piece = &bytes[from..to];
                // SAFETY: the processor was just seen to have the instructions.
                assert_eq!(unsafe { x86_64::in_lanes(piece) }, unsafe { x86_64::in_words(piece) }, "{from}..{to}");
            }
        }
    }
}
