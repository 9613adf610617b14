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

/// A growing piece of JSON text.
#[derive(Debug, Default)]
pub struct Json {
    out: Vec<u8>,
    style: Style,
}

impl Json {
    /// An empty buffer.
    pub fn new(style: Style) -> Self {
        Json { out: Vec::with_capacity(1 << 17), style }
    }

    /// Whose JSON this is.
    pub fn style(&self) -> Style {
        self.style
    }

    /// What has been written so far.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The buffer itself, for text that is not JSON.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Forgets what has been written, and keeps the room.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Text as it stands: punctuation and field names.
    #[inline]
    pub fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// What another piece holds.
    #[inline]
    pub fn append(&mut self, other: &Json) {
        self.out.extend_from_slice(&other.out);
    }

    /// Closes an object or array whose every member was followed by a comma.
    #[inline]
    pub fn close(&mut self, bracket: u8) {
        match self.out.last_mut() {
            Some(last) if *last == b',' => *last = bracket,
            _ => self.out.push(bracket),
        }
    }

    /// An integer.
    #[inline]
    pub fn int(&mut self, n: impl itoa::Integer) {
        self.out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    }

    /// `true` or `false`.
    #[inline]
    pub fn bool(&mut self, b: bool) {
        self.raw(if b { "true" } else { "false" });
    }

    /// A string in quotes.
    #[inline]
    pub fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        if is_plain(text) {
            self.out.extend_from_slice(text);
        } else {
            self.escaped(text);
        }
        self.out.push(b'"');
    }

    /// Padded standard base64, in quotes.
    pub fn base64(&mut self, bytes: &[u8]) {
        self.encoded(&STANDARD, bytes);
    }

    /// A topic id as Kafka prints it: 22 characters of URL-safe base64 without padding, in quotes.
    pub fn uuid(&mut self, id: &[u8; 16]) {
        self.encoded(&URL_SAFE_NO_PAD, id);
    }

    fn encoded(&mut self, engine: &impl Engine, bytes: &[u8]) {
        self.out.push(b'"');
        let start = self.out.len();
        self.out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        let room = self.out.get_mut(start..).unwrap_or_default();
        // The room is the padded length, so it always fits.
        let written = engine.encode_slice(bytes, room).unwrap_or(0);
        self.out.truncate(start + written);
        self.out.push(b'"');
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
                self.out.extend_from_slice(plain);
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

    proptest! {
        #[test]
        fn strings_read_back(text in ".*") {
            let back: String = serde_json::from_str(&string(text.as_bytes(), Style::Lossless)).unwrap();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn any_bytes_give_what_lossy_gives(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let back: String = serde_json::from_str(&string(&bytes, Style::Kafka)).unwrap();
            prop_assert_eq!(back, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn plain_is_what_needs_no_escape(bytes in proptest::collection::vec(0u8..=255, 0..40)) {
            let plain = bytes.iter().all(|&b| (0x20..0x80).contains(&b) && b != b'"' && b != b'\\');
            prop_assert_eq!(is_plain(&bytes), plain);
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
