//! Integers as decimal digits, three at a look-up: the hot path of `dump`. The standard library is the oracle in the
//! tests.
//!
//! Must not know: what stands around the digits, and signs.

/// Bytes that are asked for to write a number of at most twenty digits.
pub const ROOM: usize = 24;

const THOUSAND: u64 = 1_000;
const MILLION: u64 = 1_000_000;
const BILLION: u64 = 1_000_000_000;
const TRILLION: u64 = 1_000_000_000_000;

/// The three digits of each number below 1000, the first in the lowest byte; in the highest, how many zeros are in
/// front, of which the last digit is none.
static THREES: [u32; 1000] = {
    let mut threes = [0; 1000];
    let mut n = 0;
    while n < 1000 {
        let (a, b, c) = (n as u32 / 100, n as u32 / 10 % 10, n as u32 % 10);
        let zeros = if n < 10 { 2 } else { (n < 100) as u32 };
        threes[n] = 0x30_3030 | a | b << 8 | c << 16 | zeros << 24;
        n += 1;
    }
    threes
};

/// Writes numbers. It remembers the first digits of long ones: times of neighbours share theirs.
#[derive(Debug, Default)]
pub struct Digits {
    memo: [Start; Self::SLOTS],
}

/// The digits of a number but for its last six.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    /// The number they make; 0 for none.
    number: u64,
    text: [u8; 16],
    len: usize,
}

impl Digits {
    const SLOTS: usize = 32;

    /// Writes `n`, and says how many digits it has. What is behind them in `room` is not kept.
    ///
    /// Whatever is rare here ends in a call, so that the common paths need no stack.
    #[inline(never)]
    pub fn write(&mut self, n: u64, room: &mut [u8; ROOM]) -> usize {
        if n < THOUSAND {
            return put_first(room, n);
        }
        if n < MILLION {
            let len = put_first(room, n / THOUSAND);
            put(room, len, n % THOUSAND);
            return len + 3;
        }
        if n < BILLION {
            let len = put_first(room, n / MILLION);
            put(room, len, n / THOUSAND % THOUSAND);
            put(room, len + 3, n % THOUSAND);
            return len + 6;
        }
        if n < TRILLION {
            let len = put_first(room, n / BILLION);
            put(room, len, n / MILLION % THOUSAND);
            put(room, len + 3, n / THOUSAND % THOUSAND);
            put(room, len + 6, n % THOUSAND);
            return len + 9;
        }
        self.write_long(n, room)
    }

    #[inline(always)]
    fn write_long(&mut self, n: u64, room: &mut [u8; ROOM]) -> usize {
        let number = n / MILLION;
        let start = &self.memo[number as usize % Self::SLOTS];
        if start.number != number {
            return self.remember(n, room);
        }
        if let Some(room) = room.first_chunk_mut() {
            *room = start.text;
        }
        // No start has more than 14 digits.
        let len = start.len % 16;
        put(room, len, n / THOUSAND % THOUSAND);
        put(room, len + 3, n % THOUSAND);
        len + 6
    }

    #[cold]
    #[inline(never)]
    fn remember(&mut self, n: u64, room: &mut [u8; ROOM]) -> usize {
        let number = n / MILLION;
        let digits = number.to_string();
        let mut text = [0; 16];
        text.iter_mut().zip(digits.as_bytes()).for_each(|(to, from)| *to = *from);
        self.memo[number as usize % Self::SLOTS] = Start { number, text, len: digits.len() };
        self.write(n, room)
    }
}

/// Puts down a number below 1000 without zeros in front. Says how many digits it has.
#[inline(always)]
fn put_first(room: &mut [u8; ROOM], n: u64) -> usize {
    let three = THREES.get(n as usize).copied().unwrap_or_default();
    let zeros = three >> 24 & 3;
    if let Some(room) = room.first_chunk_mut() {
        *room = (three >> (8 * zeros)).to_le_bytes();
    }
    3 - zeros as usize
}

/// Puts down a number below 1000 with zeros in front.
#[inline(always)]
fn put(room: &mut [u8; ROOM], at: usize, n: u64) {
    let three = THREES.get(n as usize).copied().unwrap_or_default();
    if let Some(room) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *room = three.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(digits: &mut Digits, n: u64) -> String {
        let mut room = [0; ROOM];
        let len = digits.write(n, &mut room);
        String::from_utf8(room[..len].to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn as_the_library_has_it(n in any::<u64>(), shift in 0u32..64) {
            let mut digits = Digits::default();
            // Again, and others in the same and in another place: first digits are remembered.
            for n in [n, n, n ^ 0xfff, n.wrapping_add(MILLION << 5)].map(|n| n >> shift) {
                prop_assert_eq!(text(&mut digits, n), n.to_string());
            }
        }
    }

    #[test]
    fn where_lengths_change() {
        let mut digits = Digits::default();
        for power in (0..20).map(|exponent| 10u64.pow(exponent)) {
            for n in [power - 1, power, power + 1] {
                assert_eq!(text(&mut digits, n), n.to_string());
            }
        }
        assert_eq!(text(&mut digits, 0), "0");
        assert_eq!(text(&mut digits, u64::MAX), u64::MAX.to_string());
    }
}
