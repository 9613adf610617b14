//! Instructions of the processor: calling memory into its cache, and looking at 16 bytes at a time.
//!
//! Must not know: what the bytes are.

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

/// Whether no byte of 16 to 96 has its highest bit set. Takes as long for any of them; of others it is slower.
#[inline(always)]
pub fn is_ascii(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(places) = sixteens(bytes.len()) {
        use std::arch::x86_64::{_mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128};
        // SAFETY: from every place on are 16 bytes, as its maker says, and every x86_64 has SSE2.
        return unsafe {
            let all = places.into_iter().fold(_mm_setzero_si128(), |all, at| _mm_or_si128(all, load(bytes, at)));
            _mm_movemask_epi8(all) == 0
        };
    }
    bytes.is_ascii()
}

/// Whether 16 to 96 bytes are the same as others. Takes as long for any of them; of others it is slower.
#[inline(always)]
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(places) = sixteens(a.len()).filter(|_| a.len() == b.len()) {
        use std::arch::x86_64::{_mm_and_si128, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: from every place on are 16 bytes of either, as its maker says, and every x86_64 has SSE2.
        return unsafe {
            let same = |at| _mm_cmpeq_epi8(load(a, at), load(b, at));
            let all = places.into_iter().fold(_mm_set1_epi8(-1), |all, at| _mm_and_si128(all, same(at)));
            _mm_movemask_epi8(all) == 0xffff
        };
    }
    a == b
}

/// Places from which 16 bytes each cover a length of 16 to 96 bytes, some of them again. None for any other length.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sixteens(length: usize) -> Option<[usize; 6]> {
    let last = length.checked_sub(16).filter(|last| *last <= 80)?;
    Some([0, 16.min(last), 32.min(last), 48.min(last), 64.min(last), last])
}

/// # Safety
/// From `at` on there must be 16 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load(bytes: &[u8], at: usize) -> std::arch::x86_64::__m128i {
    // SAFETY: as above, and this load asks for no alignment.
    unsafe { std::arch::x86_64::_mm_loadu_si128(bytes.as_ptr().add(at).cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn places_of_sixteen_cover_every_byte() {
        for length in 0..200 {
            let Some(places) = sixteens(length) else {
                assert!(!(16..=96).contains(&length), "{length}");
                continue;
            };
            assert!(places.iter().all(|at| at + 16 <= length), "{length}: {places:?}");
            let is_covered = |byte: usize| places.iter().any(|at| (*at..at + 16).contains(&byte));
            assert!((0..length).all(is_covered), "{length}: {places:?}");
        }
    }

    #[test]
    fn prefetch_out_of_range_is_nothing() {
        prefetch(&[1u8, 2, 3], 2);
        prefetch::<u8>(&[], 100);
        prefetch_item(&[1u64], usize::MAX);
    }
}
