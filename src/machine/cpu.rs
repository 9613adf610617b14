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

/// Whether no byte of the pieces has its highest bit set.
#[inline(always)]
pub fn are_ascii<const N: usize>(pieces: [&[u8; 16]; N]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128};
        // SAFETY: every x86_64 has SSE2.
        unsafe {
            let all = pieces.into_iter().fold(_mm_setzero_si128(), |all, piece| _mm_or_si128(all, load(piece)));
            _mm_movemask_epi8(all) == 0
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    pieces.into_iter().all(|piece| piece.is_ascii())
}

/// Whether the pieces are the same, one by one.
#[inline(always)]
pub fn are_same<const N: usize>(a: [&[u8; 16]; N], b: [&[u8; 16]; N]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_and_si128, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: every x86_64 has SSE2.
        unsafe {
            let same = |a, b| _mm_cmpeq_epi8(load(a), load(b));
            let all = a.into_iter().zip(b).fold(_mm_set1_epi8(-1), |all, (a, b)| _mm_and_si128(all, same(a, b)));
            _mm_movemask_epi8(all) == 0xffff
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        a == b
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn load(piece: &[u8; 16]) -> std::arch::x86_64::__m128i {
    // SAFETY: as many bytes as are read are borrowed, and this load asks for no alignment.
    unsafe { std::arch::x86_64::_mm_loadu_si128(piece.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetch_out_of_range_is_nothing() {
        prefetch(&[1u8, 2, 3], 2);
        prefetch::<u8>(&[], 100);
        prefetch_item(&[1u64], usize::MAX);
    }
}
