//! JSON by hand, into one buffer: the hot path of `dump`. `serde_json` is the oracle in the tests.
//!
//! Must not know: what is written. Strings are bytes; [`Style`] says what becomes of those that are not UTF-8.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

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

/// Room that is always there behind the text, so that small pieces of fixed size are written without asking.
const SLACK: usize = 64;

/// A growing piece of JSON text.
///
/// The buffer is kept filled to its whole length, and what is written counted apart: then a piece is one check and one
/// copy of a size that the compiler mostly knows.
#[derive(Debug, Default)]
pub struct Json {
    out: Vec<u8>,
    len: usize,
    style: Style,
    /// The topic id written last, and its text: neighbours are mostly alike.
    last_uuid: ([u8; 16], [u8; 24]),
    /// The long number written last, without its last four digits: itself, its text, how long that is.
    last_high: (u64, [u8; 16], usize),
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

    #[inline]
    fn need(&mut self, more: usize) {
        if self.out.len() < self.len + more + SLACK {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        self.out.resize((self.out.len() * 2).max(self.len + more + SLACK), 0);
    }

    /// Bytes as they stand: text that is not JSON, or is already.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.need(bytes.len());
        // The room is there, so this always copies.
        if let Some(room) = self.out.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.len += bytes.len();
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

    #[inline]
    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
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
        let Int(negative, magnitude) = n.into();
        if negative {
            self.push(b'-');
        }
        self.digits(magnitude);
    }

    #[inline]
    fn digits(&mut self, n: u64) {
        match n {
            0..100 => self.tail(n, usize::from(n < 10) + 2),
            100..10_000 => self.tail(n, usize::from(n < 1000)),
            10_000..100_000_000 => {
                self.digits_of_four(n / 10_000);
                self.tail(n % 10_000, 0);
            }
            _ => self.long(n),
        }
    }

    #[inline]
    fn digits_of_four(&mut self, n: u64) {
        let leading = usize::from(n < 10) + usize::from(n < 100) + usize::from(n < 1000);
        self.tail(n, leading);
    }

    /// Writes a number below 10000 as four digits, without the first `leading` ones.
    #[inline]
    fn tail(&mut self, n: u64, leading: usize) {
        let [a, b] = pair(n / 100);
        let [c, d] = pair(n % 100);
        let digits = u32::from_le_bytes([a, b, c, d]) >> (8 * leading);
        self.need(4);
        if let Some(room) = self.out.get_mut(self.len..self.len + 4) {
            room.copy_from_slice(&digits.to_le_bytes());
        }
        self.len += 4 - leading;
    }

    /// Numbers of more than eight digits are mostly times, which differ from their neighbours in the last four digits.
    #[inline]
    fn long(&mut self, n: u64) {
        let high = n / 10_000;
        if high != self.last_high.0 {
            let start = self.len;
            self.digits(high);
            let mut text = [0; 16];
            let len = self.len - start;
            if let (Some(to), Some(from)) = (text.get_mut(..len), self.out.get(start..self.len)) {
                to.copy_from_slice(from);
            }
            self.last_high = (high, text, len);
        } else {
            let (_, text, len) = self.last_high;
            self.need(text.len());
            if let Some(room) = self.out.get_mut(self.len..self.len + text.len()) {
                room.copy_from_slice(&text);
            }
            self.len += len;
        }
        self.tail(n % 10_000, 0);
    }

    /// `true` or `false`.
    #[inline]
    pub fn bool(&mut self, b: bool) {
        self.raw(if b { "true" } else { "false" });
    }

    /// A string in quotes.
    #[inline]
    pub fn string(&mut self, text: &[u8]) {
        self.push(b'"');
        if is_plain(text) {
            self.extend(text);
        } else {
            self.escaped(text);
        }
        self.push(b'"');
    }

    /// Padded standard base64, in quotes.
    pub fn base64(&mut self, bytes: &[u8]) {
        self.push(b'"');
        let most = bytes.len().div_ceil(3) * 4;
        self.need(most);
        let room = self.out.get_mut(self.len..self.len + most).unwrap_or_default();
        // The room is the padded length, so it always fits.
        self.len += STANDARD.encode_slice(bytes, room).unwrap_or(0);
        self.push(b'"');
    }

    /// A topic id as Kafka prints it: 22 characters of URL-safe base64 without padding, in quotes.
    #[inline]
    pub fn uuid(&mut self, id: &[u8; 16]) {
        if self.last_uuid.0 != *id || self.last_uuid.1[0] == 0 {
            let mut text = [b'"'; 24];
            // 16 bytes make 22 characters.
            let _ = URL_SAFE_NO_PAD.encode_slice(id, text.get_mut(1..23).unwrap_or_default());
            self.last_uuid = (*id, text);
        }
        let text = self.last_uuid.1;
        self.extend(&text);
    }

    #[cold]
    fn escaped(&mut self, text: &[u8]) {
        let mut decoder = JavaReplacement::default();
        for chunk in text.utf8_chunks() {
            for part in chunk.valid().split_inclusive(|c: char| c < ' ' || c == '"' || c == '\\') {
                let (plain, last) = match part.as_bytes().split_last() {
                    Some((last, plain)) if *last < b' ' || *last == b'"' || *last == b'\\' => (plain, Some(*last)),
                    _ => (part.as_bytes(), None),
                };
                self.extend(plain);
                if let Some(byte) = last {
                    self.escape(byte);
                }
            }
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

/// The two digits of a number below 100.
#[inline]
fn pair(n: u64) -> [u8; 2] {
    const PAIRS: [[u8; 2]; 100] = {
        let mut pairs = [[0; 2]; 100];
        let mut n = 0;
        while n < 100 {
            pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
            n += 1;
        }
        pairs
    };
    PAIRS.get(n as usize).copied().unwrap_or_default()
}

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
    if words.iter().fold(0, |acc, word| acc | odd(u64::from_ne_bytes(*word))) != 0 {
        return false;
    }
    rest.iter().all(|&b| (0x20..0x80).contains(&b) && b != b'"' && b != b'\\')
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
            let oracle = format!("{}{}{}", n >> shift, (n as u64) >> shift, (n >> shift) as i16);
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
