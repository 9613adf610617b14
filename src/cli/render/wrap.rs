//! Text that is broken at blanks where the width is limited: that of a terminal, or what COLUMNS says. Piped text stays on
//! the lines that scripts read.
//!
//! Must not know: what the text says. A command that is to be pasted must not come here.

use super::table::Looks;

/// No line is broken to less than this, however narrow the terminal is.
const NARROWEST: usize = 40;

/// Columns for text; none is no limit.
pub fn width(looks: Looks) -> Option<usize> {
    looks.width.map(|width| usize::from(width).max(NARROWEST))
}

/// A line, with what goes on two columns deeper than it began.
pub fn line(text: &str, looks: Looks) -> String {
    let words = text.trim_start_matches(' ');
    let indent = text.len() - words.len();
    format!("{:indent$}{}", "", behind(words, indent, indent + 2, looks))
}

/// Text that begins behind `begin` columns which stand there already; further lines begin at `indent`.
pub fn behind(text: &str, begin: usize, indent: usize, looks: Looks) -> String {
    match width(looks) {
        Some(width) => lines(text, begin, indent, width).join(&format!("\n{:indent$}", "")),
        None => text.to_owned(),
    }
}

/// The lines of a text, without what they begin behind: `begin` columns the first, `indent` the others. A word that is wider
/// than the width has a line of its own.
pub fn lines(text: &str, begin: usize, indent: usize, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = begin;
    let mut is_empty = true;
    for word in text.split(' ') {
        let letters = word.chars().count();
        if !is_empty && length + 1 + letters > width {
            lines.push(std::mem::take(&mut line));
            length = indent;
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += letters;
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::super::table::Looking;
    use super::*;

    fn looks(width: Option<u16>) -> Looks {
        Looks { width, color: Looking::Plain }
    }

    #[test]
    fn only_where_the_width_is_limited() {
        let text = "    twelve letters and some more of them, up to the end";
        assert_eq!(line(text, looks(None)), text);
        assert_eq!(line(text, looks(Some(55))), text);
        assert_eq!(line(text, looks(Some(54))), "    twelve letters and some more of them, up to the\n      end");
        assert_eq!(line(text, looks(Some(1))), line(text, looks(Some(40))));
    }

    #[test]
    fn long_words_stay_whole() {
        let word = "x".repeat(60);
        assert_eq!(behind(&format!("a {word} b"), 0, 4, looks(Some(40))), format!("a\n    {word}\n    b"));
        assert_eq!(behind(&word, 30, 4, looks(Some(40))), word, "no empty line in front of it");
    }
}
