//! JSON by hand, into one buffer: the hot path of `dump`. `serde_json` is the oracle in the tests.
//!
//! Must not know: what is written. Strings are bytes; [`Style`] says what becomes of those that are not UTF-8.

use crate::base64::{self, STANDARD, URL_SAFE};
use crate::digits::{self, Digits};

/// Whose JSON it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Ours, which loses nothing: bytes that are not UTF-8 appear as `\xNN` (four characters of text), so that two
    /// different ids never look alike; unknown tagged fields are shown.
    #[default]
    Lossless,
    /// Like Kafka's tools: odd bytes become U+FFFD, unknown tagged fields are left out.
    Kafka,
}

/// A growing piece of JSON text.
///
/// The buffer is kept filled to its whole length, and what is written counted apart: then a piece is one check and one
/// copy of a size that the compiler mostly knows.
#[derive(Debug, Default)]
pub struct Json {
    out: Vec<u8>,
    len: usize,
    style: Style,
    digits: Digits,
}

impl Json {
    /// An empty buffer.
    pub fn new(style: Style) -> Self {
        Json { out: vec![0; 1 << 12], style, ..Json::default() }
    }

    /// Whose JSON this is.
    pub fn style(&self) -> Style {
        self.style
    }

    /// What has been written so far.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.out.get(..self.len).unwrap_or_default()
    }

    /// Forgets what has been written, and keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets what has been written behind the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.out.resize((self.out.len() * 2).max(self.len + more), 0);
    }

    /// Room for `n` more bytes, if it is there.
    #[inline(always)]
    fn room(&mut self, n: usize) -> Option<&mut [u8]> {
        self.out.get_mut(self.len..)?.get_mut(..n)
    }

    /// Room for `N` more bytes, a number known when the program is compiled, if it is there.
    #[inline(always)]
    fn fixed_room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        self.out.get_mut(self.len..)?.first_chunk_mut()
    }

    /// Bytes as they stand: text that is not JSON, or is already.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        match self.room(bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => return self.extend_beyond(bytes),
        }
        self.len += bytes.len();
    }

    /// Bytes for which there was no room.
    #[cold]
    #[inline(never)]
    fn extend_beyond(&mut self, bytes: &[u8]) {
        self.grow(bytes.len());
        if let Some(room) = self.room(bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.len += bytes.len();
    }

    /// As [`Self::extend`], for pieces of a size known when the program is compiled.
    #[inline(always)]
    pub fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        match self.fixed_room() {
            Some(room) => *room = *bytes,
            None => return self.extend_beyond(bytes),
        }
        self.len += N;
    }

    /// Text as it stands: punctuation and field names.
    #[inline(always)]
    pub fn raw(&mut self, text: &str) {
        self.extend(text.as_bytes());
    }

    /// What another piece holds.
    #[inline]
    pub fn append(&mut self, other: &Json) {
        self.extend(other.bytes());
    }

    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.fixed(&[byte]);
    }

    /// Closes an object or array whose every member was followed by a comma.
    #[inline]
    pub fn close(&mut self, bracket: u8) {
        match self.out.get_mut(self.len.wrapping_sub(1)) {
            Some(last) if *last == b',' && self.len > 0 => *last = bracket,
            _ => self.push(bracket),
        }
    }

    /// An integer.
    #[inline]
    pub fn int(&mut self, n: impl Into<Int>) {
        self.extend_int(b"", n);
    }

    /// Text as it stands and an integer behind it: mostly a field.
    #[inline(always)]
    pub fn raw_int(&mut self, text: &str, n: impl Into<Int>) {
        self.extend_int(text.as_bytes(), n);
    }

    /// Bytes as they stand and an integer behind them.
    #[inline(always)]
    pub fn extend_int(&mut self, bytes: &[u8], n: impl Into<Int>) {
        let n = n.into();
        let room = self.out.get_mut(self.len..).and_then(|room| room.split_at_mut_checked(bytes.len()));
        let Some((room, Some(digits))) = room.map(|(room, behind)| (room, behind.first_chunk_mut())) else {
            return self.extend_int_beyond(bytes, n);
        };
        if n.0 {
            return self.extend_negative(bytes, n.1);
        }
        room.copy_from_slice(bytes);
        self.len += bytes.len() + self.digits.write(n.1, digits);
    }

    #[cold]
    #[inline(never)]
    fn extend_int_beyond(&mut self, bytes: &[u8], n: Int) {
        self.grow(bytes.len() + digits::ROOM);
        self.extend_int(bytes, n);
    }

    #[cold]
    #[inline(never)]
    fn extend_negative(&mut self, bytes: &[u8], magnitude: u64) {
        self.extend(bytes);
        self.extend_int(b"-", magnitude);
    }

    /// `true` or `false`.
    #[inline]
    pub fn bool(&mut self, b: bool) {
        self.raw(if b { "true" } else { "false" });
    }

    /// A string in quotes.
    #[inline(always)]
    pub fn string(&mut self, text: &[u8]) {
        if text.is_empty() { self.fixed(b"\"\"") } else { self.string_of_some(text) }
    }

    #[inline(never)]
    fn string_of_some(&mut self, text: &[u8]) {
        let plain = is_plain(text);
        match self.room(text.len() + 2) {
            Some([open, room @ .., close]) if plain => {
                (*open, *close) = (b'"', b'"');
                room.copy_from_slice(text);
            }
            _ => return self.string_slowly(text),
        }
        self.len += text.len() + 2;
    }

    #[cold]
    #[inline(never)]
    fn string_slowly(&mut self, text: &[u8]) {
        self.push(b'"');
        self.escaped(text);
        self.push(b'"');
    }

    /// Padded standard base64, in quotes.
    pub fn base64(&mut self, bytes: &[u8]) {
        let len = bytes.len().div_ceil(3) * 4 + 2;
        if self.room(len).is_none() {
            self.grow(len);
        }
        if let Some([open, room @ .., close]) = self.room(len) {
            (*open, *close) = (b'"', b'"');
            base64::encode(&STANDARD, bytes, room);
        }
        self.len += len;
    }

    /// A topic id as Kafka prints it: 22 characters of URL-safe base64 without padding, in quotes.
    #[inline]
    pub fn uuid(&mut self, id: &[u8; 16]) {
        let Some(room) = self.fixed_room::<25>() else {
            self.grow(25);
            return self.uuid(id);
        };
        // 16 bytes make 22 characters; the closing quote takes the place of the first padding.
        let [open, text @ ..] = room;
        *open = b'"';
        base64::encode(&URL_SAFE, id, text);
        room[23] = b'"';
        self.len += 24;
    }

    fn escaped(&mut self, text: &[u8]) {
        let mut decoder = JavaReplacement::default();
        for chunk in text.utf8_chunks() {
            let mut rest = chunk.valid().as_bytes();
            // Bytes of longer characters are all above these.
            while let Some(at) = rest.iter().position(|&byte| byte < b' ' || byte == b'"' || byte == b'\\') {
                let (plain, behind) = rest.split_at(at);
                self.extend(plain);
                let Some((&odd, behind)) = behind.split_first() else { break };
                self.escape(odd);
                rest = behind;
            }
            self.extend(rest);
            let invalid = chunk.invalid();
            match self.style {
                _ if invalid.is_empty() => {}
                Style::Kafka if decoder.swallows(chunk.valid(), invalid) => {}
                Style::Kafka => self.raw("\u{fffd}"),
                Style::Lossless => invalid.iter().for_each(|b| self.raw(&format!("\\\\x{b:02x}"))),
            }
        }
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'"' => self.raw("\\\""),
            b'\\' => self.raw("\\\\"),
            0x08 => self.raw("\\b"),
            0x09 => self.raw("\\t"),
            0x0a => self.raw("\\n"),
            0x0c => self.raw("\\f"),
            0x0d => self.raw("\\r"),
            // As Jackson does it: four hexadecimal digits, capitals.
            _ => self.raw(&format!("\\u{byte:04X}")),
        }
    }
}

/// Java's decoder replaces the three bytes of a surrogate (or as many as are left of them) by one U+FFFD, where UTF-8's
/// own rules, which it follows otherwise, ask for one each.
#[derive(Default)]
struct JavaReplacement {
    /// Bytes of a surrogate that were met.
    met: usize,
}

impl JavaReplacement {
    /// Whether this invalid piece belongs to the replacement before it.
    fn swallows(&mut self, valid_before: &str, invalid: &[u8]) -> bool {
        let met = if valid_before.is_empty() { self.met } else { 0 };
        self.met = match (met, invalid) {
            (1, [0xa0..=0xbf]) => 2,
            (2, [0x80..=0xbf]) => 3,
            (_, [0xed]) => 1,
            _ => 0,
        };
        self.met > 1
    }
}

/// An integer as sign and magnitude.
#[derive(Debug, Clone, Copy)]
pub struct Int(bool, u64);

macro_rules! ints {
    (signed $($signed:ident)+; unsigned $($unsigned:ident)+) => {
        $(impl From<$signed> for Int {
            #[inline]
            fn from(n: $signed) -> Int {
                Int(n < 0, (n as i64).unsigned_abs())
            }
        })+
        $(impl From<$unsigned> for Int {
            #[inline]
            fn from(n: $unsigned) -> Int {
                Int(false, n as u64)
            }
        })+
    };
}
ints!(signed i8 i16 i32 i64; unsigned u8 u16 u32 u64 usize);

/// Whether text can stand in a JSON string as it is: ASCII, no control character, no quote, no backslash.
#[inline]
pub fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    // A byte below n sets its high bit in (x - n) & !x, as long as no byte has its high bit set to begin with.
    let odd = |x: u64| {
        let control = x.wrapping_sub(ONES * 0x20) & !x;
        let quote = (x ^ (ONES * 0x22)).wrapping_sub(ONES);
        let backslash = (x ^ (ONES * 0x5c)).wrapping_sub(ONES);
        (x | control | quote | backslash) & HIGHS
    };
    let (words, rest) = text.as_chunks::<8>();
    let in_words = words.iter().fold(0, |acc, word| acc | odd(u64::from_ne_bytes(*word)));
    // The last eight bytes again, if there are as many, in place of a loop over what is left.
    let in_rest = match text.last_chunk::<8>() {
        Some(last) => odd(u64::from_ne_bytes(*last)),
        None => match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            // Two halves that overlap.
            (Some(first), Some(last)) => {
                odd(u64::from(u32::from_ne_bytes(*first)) << 32 | u64::from(u32::from_ne_bytes(*last)))
            }
            _ => odd(rest.iter().fold(0x2020_2020_2020_2020, |word, &byte| (word << 8) | u64::from(byte))),
        },
    };
    in_words | in_rest == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn string(text: &[u8], style: Style) -> String {
        let mut json = Json::new(style);
        json.string(text);
        String::from_utf8(json.bytes().to_vec()).unwrap()
    }

    /// By the rules of UTF-8, once each surrogate is one byte that is none.
    fn as_java(bytes: &[u8]) -> String {
        let surrogate = regex::bytes::Regex::new(r"(?-u)\xED[\xA0-\xBF][\x80-\xBF]?").unwrap();
        String::from_utf8_lossy(&surrogate.replace_all(bytes, &b"\xFF"[..])).into_owned()
    }

    /// As the dump tool of Kafka 4.4.0 showed group ids of these bytes.
    #[test]
    fn as_javas_decoder_does() {
        for (bytes, text) in [
            (&b"\xed\xa0\x80"[..], "\u{fffd}"),
            (b"\xed\xa0\x80\xed\xa0\x80", "\u{fffd}\u{fffd}"),
            (b"\xed\xa0", "\u{fffd}"),
            (b"\xed\xa0x", "\u{fffd}x"),
            (b"\xed\xa0\xed", "\u{fffd}\u{fffd}"),
            (b"\xed\xa0\xa0\xa0", "\u{fffd}\u{fffd}"),
            (b"\xed\x80", "\u{fffd}"),
            (b"\xf0\x9f\x9ax", "\u{fffd}x"),
            (b"\xf0\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(string(bytes, Style::Kafka), format!("\"{text}\""), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn strings_read_back(text in ".*") {
            let back: String = serde_json::from_str(&string(text.as_bytes(), Style::Lossless)).unwrap();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn any_bytes_give_what_lossy_gives(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let back: String = serde_json::from_str(&string(&bytes, Style::Kafka)).unwrap();
            prop_assert_eq!(back, as_java(&bytes));
        }

        #[test]
        fn surrogates_too(bytes in proptest::collection::vec(prop_oneof!(Just(0xed), 0x7eu8..=0xc3), 0..12)) {
            let back: String = serde_json::from_str(&string(&bytes, Style::Kafka)).unwrap();
            prop_assert_eq!(back, as_java(&bytes));
        }

        #[test]
        fn plain_is_what_needs_no_escape(bytes in proptest::collection::vec(0u8..=255, 0..40)) {
            let plain = bytes.iter().all(|&b| (0x20..0x80).contains(&b) && b != b'"' && b != b'\\');
            prop_assert_eq!(is_plain(&bytes), plain);
        }
    }

    proptest! {
        #[test]
        fn integers_are_those_of_the_crate(n in any::<i64>(), shift in 0u32..64) {
            let mut json = Json::default();
            json.int(n >> shift);
            json.int((n as u64) >> shift);
            json.int((n >> shift) as i16);
            // Again, and its neighbours: first digits are remembered.
            let near = ((n as u64) >> shift) ^ 0x3fff;
            json.int(near);
            json.int((n as u64) >> shift);
            let (signed, unsigned) = (n >> shift, (n as u64) >> shift);
            let oracle = format!("{signed}{unsigned}{}{near}{unsigned}", signed as i16);
            prop_assert_eq!(json.bytes(), oracle.as_bytes());
        }
    }

    #[test]
    fn odd_bytes_stay_apart() {
        assert_eq!(string(b"a\xffb", Style::Lossless), r#""a\\xffb""#);
        assert_eq!(string(b"a\xffb", Style::Kafka), "\"a\u{fffd}b\"");
    }

    #[test]
    fn bytes_and_ids() {
        let mut json = Json::new(Style::Lossless);
        json.base64(b"a");
        json.uuid(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(json.bytes(), br#""YQ==""AQIDBAUGBwgJCgsMDQ4PEA""#);
    }
}
