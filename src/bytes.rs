//! A cursor over borrowed bytes: big-endian integers, varints, counted pieces.
//!
//! Must not know: what the bytes mean. Never panics, never copies.

use crate::fault::{Fault, FaultKind};
use crate::machine::cpu;

/// Reads forward over borrowed bytes. Every read is checked; a failed read leaves the position where it was.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self) -> Result<$type, Fault> {
            Ok(<$type>::from_be_bytes(*self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// How many bytes have been read.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The bytes that are left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// A fault at the present position.
    #[cold]
    pub fn fault(&self, kind: FaultKind) -> Fault {
        kind.at(self.at as u64)
    }

    #[cold]
    fn short(&self, need: usize) -> Fault {
        self.fault(FaultKind::ShortBuffer { need: need as u64, have: self.remaining() as u64 })
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Fault> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(chunk) => {
                self.at += N;
                Ok(chunk)
            }
            None => Err(self.short(N)),
        }
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..n)) {
            Some(piece) => {
                self.at += n;
                Ok(piece)
            }
            None => Err(self.short(n)),
        }
    }

    fixed! {
        /// One byte, signed.
        i8: i8,
        /// One byte.
        u8: u8,
        /// Two bytes, big endian, signed.
        i16: i16,
        /// Two bytes, big endian.
        u16: u16,
        /// Four bytes, big endian, signed.
        i32: i32,
        /// Four bytes, big endian.
        u32: u32,
        /// Eight bytes, big endian, signed.
        i64: i64,
    }

    /// An unsigned varint of at most five bytes (32 bits), as in flexible schema versions (KIP-482).
    #[inline]
    pub fn uvarint(&mut self) -> Result<u32, Fault> {
        match self.varint_bits(5) {
            Ok(bits) => u32::try_from(bits).map_err(|_| self.fault(FaultKind::BadVarint)),
            Err(fault) => Err(fault),
        }
    }

    /// As [`Cursor::uvarint`], but a fifth byte's bits beyond the 32nd are dropped, as Kafka's own reader does.
    pub fn uvarint_of_low_bits(&mut self) -> Result<u32, Fault> {
        self.varint_bits(5).map(|bits| bits as u32)
    }

    /// A zigzag varint of at most five bytes (32 bits), as in magic 2 records.
    #[inline]
    pub fn varint(&mut self) -> Result<i32, Fault> {
        let n = self.uvarint()?;
        Ok(((n >> 1) as i32) ^ -((n & 1) as i32))
    }

    /// A zigzag varint of at most ten bytes (64 bits), as in magic 2 records.
    #[inline]
    pub fn varlong(&mut self) -> Result<i64, Fault> {
        let n = self.varint_bits(10)?;
        Ok(((n >> 1) as i64) ^ -((n & 1) as i64))
    }

    #[inline]
    fn varint_bits(&mut self, greatest: usize) -> Result<u64, Fault> {
        let rest = self.rest();
        match rest.first() {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.varint_bits_slow(rest, greatest),
        }
    }

    fn varint_bits_slow(&mut self, rest: &[u8], greatest: usize) -> Result<u64, Fault> {
        let mut bits = 0u64;
        for (i, &byte) in rest.iter().take(greatest).enumerate() {
            // The tenth byte of 64 bits holds one bit only.
            if i == 9 && byte > 1 {
                return Err(self.fault(FaultKind::BadVarint));
            }
            bits |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.at += i + 1;
                return Ok(bits);
            }
        }
        if rest.len() < greatest { Err(self.short(rest.len() + 1)) } else { Err(self.fault(FaultKind::BadVarint)) }
    }
}

/// Whether text is ASCII, quickly where it is as short as a name. How long it is decides nothing between 16 and 96 bytes:
/// the processor would guess wrong too often.
#[inline(always)]
pub fn is_ascii(text: &[u8]) -> bool {
    match text.len() {
        0..16 => is_ascii_below_16(text),
        16..=96 => cpu::is_ascii(text),
        _ => text.is_ascii(),
    }
}

#[inline(always)]
fn is_ascii_below_16(text: &[u8]) -> bool {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)) & HIGH == 0,
        _ => text.iter().fold(0, |all, byte| all | byte) < 0x80,
    }
}

/// Whether two texts are the same, quickly where they are as short as names: as in [`is_ascii`].
#[inline(always)]
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    match a.len() {
        _ if a.len() != b.len() => false,
        16..=96 => cpu::is_same(a, b),
        _ => a == b,
    }
}

/// Appends an unsigned varint, as in flexible schema versions.
pub fn put_uvarint(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a zigzag varint of up to 64 bits, as in magic 2 records.
pub fn put_varlong(out: &mut Vec<u8>, n: i64) {
    let mut bits = ((n << 1) ^ (n >> 63)) as u64;
    while bits >= 0x80 {
        out.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

/// How many bytes [`put_varlong`] appends: 1 to 10.
pub fn varlong_length(n: i64) -> usize {
    let bits = ((n << 1) ^ (n >> 63)) as u64;
    (64 - bits.leading_zeros() as usize).div_ceil(7).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varlongs_come_back() {
        for n in [0, -1, 1, 63, 64, -64, -65, i64::from(i32::MAX), i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            put_varlong(&mut out, n);
            assert_eq!(varlong_length(n), out.len(), "{n}");
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.varlong(), Ok(n));
            assert_eq!(cursor.remaining(), 0);
        }
    }

    #[test]
    fn ascii_is_ascii() {
        for n in 0..100 {
            let mut text = vec![b'a'; n];
            assert!(is_ascii(&text));
            for i in 0..n {
                text[i] = 0x80;
                assert!(!is_ascii(&text), "{i} of {n}");
                text[i] = b'a';
            }
        }
    }

    #[test]
    fn the_same_is_the_same() {
        for n in 0..100 {
            let text = vec![b'a'; n];
            let mut other = text.clone();
            assert!(is_same(&text, &other));
            assert!(!is_same(&text, &vec![b'a'; n + 1]));
            for i in 0..n {
                other[i] = b'b';
                assert!(!is_same(&text, &other), "{i} of {n}");
                other[i] = b'a';
            }
        }
    }

    #[test]
    fn a_failed_read_does_not_move() {
        let mut cursor = Cursor::new(&[0x80, 0x80]);
        assert!(cursor.uvarint().is_err());
        assert!(cursor.i32().is_err());
        assert_eq!(cursor.at(), 0);
        assert_eq!(cursor.i16(), Ok(-32640));
    }

    #[test]
    fn a_varint_of_six_bytes_is_none() {
        let mut cursor = Cursor::new(&[0xff; 16]);
        assert_eq!(cursor.uvarint().map_err(|f| f.kind), Err(FaultKind::BadVarint));
        assert_eq!(cursor.varlong().map_err(|f| f.kind), Err(FaultKind::BadVarint));
        let too_many_bits = [0xff, 0xff, 0xff, 0xff, 0x1f];
        assert_eq!(Cursor::new(&too_many_bits).uvarint().map_err(|f| f.kind), Err(FaultKind::BadVarint));
        assert_eq!(Cursor::new(&too_many_bits).uvarint_of_low_bits(), Ok(u32::MAX));
    }
}
