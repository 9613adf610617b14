//! Base64 of small pieces, two characters a look-up: the hot path of `dump`. The `base64` crate is the oracle in the
//! tests, and what reads base64 elsewhere.
//!
//! Must not know: what the bytes are, and what stands around the text.

/// An alphabet: the two characters of every twelve bits.
pub type Pairs = [[u8; 2]; 4096];

/// The alphabet of RFC 4648, section 4.
pub static STANDARD: Pairs = pairs(b"+/");
/// The URL-safe one of section 5.
pub static URL_SAFE: Pairs = pairs(b"-_");

const fn pairs(last_two: &[u8; 2]) -> Pairs {
    let mut pairs = [[0; 2]; 4096];
    let mut n = 0;
    while n < 4096 {
        pairs[n] = [character(n >> 6, last_two), character(n & 63, last_two)];
        n += 1;
    }
    pairs
}

const fn character(n: usize, last_two: &[u8; 2]) -> u8 {
    match n as u8 {
        n @ 0..26 => b'A' + n,
        n @ 26..52 => b'a' + n - 26,
        n @ 52..62 => b'0' + n - 52,
        62 => last_two[0],
        _ => last_two[1],
    }
}

/// Writes the padded text of `bytes`, four characters for three bytes begun; as much of it as there is room for.
pub fn encode(pairs: &Pairs, bytes: &[u8], room: &mut [u8]) {
    let (threes, rest) = bytes.as_chunks::<3>();
    let mut fours = room.as_chunks_mut::<4>().0.iter_mut();
    for (&[a, b, c], four) in threes.iter().zip(&mut fours) {
        *four = characters(pairs, a, b, c);
    }
    let Some(last) = fours.next() else { return };
    match *rest {
        [a] => {
            let [first, second, ..] = characters(pairs, a, 0, 0);
            *last = [first, second, b'=', b'='];
        }
        [a, b] => {
            let [first, second, third, _] = characters(pairs, a, b, 0);
            *last = [first, second, third, b'='];
        }
        _ => {}
    }
}

#[inline(always)]
fn characters(pairs: &Pairs, a: u8, b: u8, c: u8) -> [u8; 4] {
    let bits = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    let ([first, second], [third, fourth]) = (pairs[bits >> 12], pairs[bits & 0xfff]);
    [first, second, third, fourth]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_crate_has_it(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for (pairs, engine) in [(&STANDARD, general_purpose::STANDARD), (&URL_SAFE, general_purpose::URL_SAFE)] {
                let mut text = vec![0; bytes.len().div_ceil(3) * 4];
                encode(pairs, &bytes, &mut text);
                prop_assert_eq!(String::from_utf8(text).unwrap(), engine.encode(&bytes));
            }
        }
    }
}
