//! Names for people: a group id may hold anything, so what could disturb a terminal or a table is escaped.
//!
//! Must not know: whose name it is.

/// A name on one line: `""` for the empty one, `\n`, `\x1b`, `\xff` for what is not plain text.
pub fn visible(name: &[u8]) -> String {
    if name.is_empty() {
        return "\"\"".to_owned();
    }
    let mut shown = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                c if c.is_control() && (c as u32) < 0x100 => shown.push_str(&format!("\\x{:02x}", c as u32)),
                // Marks that turn the direction of what follows.
                '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{2028}'
                | '\u{2029}' => {
                    shown.push_str(&format!("\\u{{{:x}}}", c as u32));
                }
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    // Blanks at either end, or nothing but blanks, would not be seen.
    if shown.starts_with(' ') || shown.ends_with(' ') { format!("\"{shown}\"") } else { shown }
}

/// Text as it is, with `\\xNN` for the bytes that are not UTF-8.
pub fn lossless(text: &[u8]) -> String {
    text.utf8_chunks().fold(String::new(), |mut out, chunk| {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
        out
    })
}

/// [`visible`], or `-` where there is none.
pub fn visible_or_dash(name: Option<&[u8]>) -> String {
    name.map_or_else(|| "-".to_owned(), visible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_seen() {
        assert_eq!(visible(b""), "\"\"");
        assert_eq!(visible(b" "), "\" \"");
        assert_eq!(visible(b"a\x1b[31m\n\xff"), "a\\x1b[31m\\n\\xff");
        assert_eq!(visible("grp-🚀".as_bytes()), "grp-🚀");
        assert_eq!(visible_or_dash(None), "-");
    }
}
