//! Names as people see and write them: a name may hold any bytes, and each is shown in one way that no other name has.
//!
//! A plain name is shown as it is, and so is what is not special in an option. `\xNN` is a byte that is no text, or a
//! control character; `\u{..}` a character that would disturb what stands around it; `\x5c` a backslash, where what
//! follows it would be taken for one of these. An empty name, and one with blanks at its ends, stands in double quotes.
//! Must not know: whose name it is, and where it is shown.

use std::borrow::Cow;

/// What a pattern gives a meaning; a backslash before one takes it as it is.
const WILDCARDS: &[u8] = b"*?[]{}";

/// A name on one line. [`named`] reads it back.
pub fn visible(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut at = 0;
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' if is_ambiguous(name.get(at..).unwrap_or_default()) => shown.push_str("\\x5c"),
                c if c.is_ascii_control() => shown.push_str(&format!("\\x{:02x}", c as u32)),
                c if disturbs(c) => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
                c => shown.push(c),
            }
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
            at += 1;
        }
    }
    if has_blank_ends(&shown) {
        return format!("\"{shown}\"");
    }
    match quoted(shown.as_bytes()) {
        // It would be taken for another one in quotes.
        Some(_) => format!("\\x22{}", shown.get(1..).unwrap_or_default()),
        None => shown,
    }
}

/// Whether a backslash at the beginning of a name, shown as it is, would be taken for an escape with what is shown behind
/// it.
fn is_ambiguous(name: &[u8]) -> bool {
    // No character is longer than four bytes.
    let behind = name.get(1..name.len().min(5)).unwrap_or_default();
    let next_is_escaped = behind.utf8_chunks().next().is_some_and(|chunk| match chunk.valid().chars().next() {
        Some(c) => c.is_control() || turns(c),
        None => !chunk.invalid().is_empty(),
    });
    next_is_escaped || escape(name).is_some()
}

/// The name that stands on a command line or in a table.
pub fn named(text: &[u8]) -> Vec<u8> {
    let text = quoted(text).unwrap_or(text);
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        match escape(rest) {
            Some((bytes, after)) => {
                name.extend_from_slice(&bytes);
                rest = after;
            }
            None => {
                name.push(byte);
                rest = behind;
            }
        }
    }
    name
}

/// What an escape at the beginning of a text stands for, and what follows it. None where no escape begins.
pub fn escape(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    match text {
        [b'\\', b'x', high, low, after @ ..] => Some((vec![digit(*high)? << 4 | digit(*low)?], after)),
        [b'\\', b'u', b'{', rest @ ..] => {
            let end = rest.iter().take(7).position(|byte| *byte == b'}')?;
            let (digits, after) = (rest.get(..end)?, rest.get(end + 1..)?);
            let number = digits.iter().try_fold(0_u32, |all, it| Some(all << 4 | u32::from(digit(*it)?)))?;
            let c = char::from_u32(number).filter(|_| !digits.is_empty())?;
            Some((c.to_string().into_bytes(), after))
        }
        [b'\\', next, after @ ..] if *next == b'\\' || WILDCARDS.contains(next) => Some((vec![*next], after)),
        _ => None,
    }
}

/// Whether a byte is one that a pattern gives a meaning.
pub fn is_wildcard(byte: u8) -> bool {
    WILDCARDS.contains(&byte)
}

/// Text as it is, with `\\xNN` for the bytes that are not UTF-8: for JSON, in which text stands as it is.
pub fn lossless(text: &[u8]) -> String {
    text.utf8_chunks().fold(String::new(), |mut out, chunk| {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
        out
    })
}

/// A line of talk, which a path or a name in it may have broken.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(disturbs) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 8), |mut out, c| {
        match c {
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if disturbs(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
        out
    }))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Whether a character disturbs what stands around it: it controls a terminal, turns the direction, or breaks a line.
pub fn disturbs(c: char) -> bool {
    c.is_control() || turns(c)
}

/// Marks that turn the direction of what follows, or break a line.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// What stands in double quotes that are put there because its ends would not be seen.
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (inside.is_empty() || inside.first() == Some(&b' ') || inside.last() == Some(&b' ')).then_some(inside)
}

fn has_blank_ends(text: &str) -> bool {
    text.is_empty() || text.starts_with(' ') || text.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn odd_names_are_seen() {
        for (name, shown) in [
            (&b""[..], "\"\""),
            (b" ", "\" \""),
            (b"\"\"", "\\x22\""),
            (b"\" \"", "\\x22 \""),
            (b"a\x1b[31m\n\xff", "a\\x1b[31m\\x0a\\xff"),
            (b"\\xff", "\\x5cxff"),
            (b"\\u{e9}", "\\x5cu{e9}"),
            (b"\\\\", "\\x5c\\"),
            (b"a\\*", "a\\x5c*"),
            (b"\\\xff", "\\x5c\\xff"),
            (b"\\\n", "\\x5c\\x0a"),
            ("\u{85}\u{202e}".as_bytes(), "\\u{85}\\u{202e}"),
        ] {
            assert_eq!(visible(name), shown);
            assert_eq!(named(shown.as_bytes()), name);
        }
        for plain in ["grp-🚀", "CORP\\team", "C:\\new", "a*b", "\"quoted\"", "x=y/z", "\\xf", "\\u{}", "a\\"] {
            assert_eq!(visible(plain.as_bytes()), plain);
            assert_eq!(named(plain.as_bytes()), plain.as_bytes());
        }
        assert_eq!(named(b"\\u{1F680}"), "🚀".as_bytes());
        assert_eq!(lossless(b"a\xffb"), "a\\xffb");
        assert_eq!(one_line("new\nline \u{202e}\\"), "new\\x0aline \\u{202e}\\");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(parts in prop::collection::vec(
            prop_oneof![
                Just(b"\\".to_vec()), Just(b"x5c".to_vec()), Just(b"ff".to_vec()), Just(b"\"".to_vec()),
                Just(b" ".to_vec()), Just(b"u{e9}".to_vec()), Just(b"*".to_vec()), Just(b"\xff".to_vec()),
                prop::collection::vec(any::<u8>(), 0..3),
            ], 0..8)) {
            let name = parts.concat();
            prop_assert_eq!(named(visible(&name).as_bytes()), name);
        }
    }

    #[test]
    fn two_names_never_look_alike() {
        let bytes = [b'\\', b'x', b'f', b'"', b' ', 0xff];
        let mut all: Vec<Vec<u8>> = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..5 {
            last = last.iter().flat_map(|it| bytes.map(|byte| [&it[..], &[byte]].concat())).collect();
            all.extend(last.iter().cloned());
        }
        let shown: BTreeSet<_> = all.iter().map(|name| visible(name)).collect();
        assert_eq!(shown.len(), all.len());
    }
}
