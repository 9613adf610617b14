//! The catalogue of findings: for people, for programs, and as the section of a man page.
//!
//! Must not know: any one code.

use super::table::{Looking, Looks, Table};
use super::wrap::lines;
use crate::audit::{Area, Code};
use serde_json::{Value, json};

/// Text is no wider, however wide the terminal is.
const WIDEST: usize = 100;

/// All codes, by area.
pub fn list(looks: Looks) -> String {
    let mut out = String::new();
    for area in areas() {
        let mut table = Table::new(&["CODE", "SEVERITY", "MEANING"]);
        for code in codes_of(area) {
            table.row(vec![code.name().to_owned(), code.severity().name().to_owned(), first_sentence(code.meaning())]);
        }
        out.push_str(&format!("{}\n{}\n", bold(area.title(), looks), table.text(looks)));
    }
    out.push_str("'grouplog explain CODE' tells how it comes about and what to do.\n");
    out
}

/// Some codes, each whole.
pub fn codes(codes: &[Code], looks: Looks) -> String {
    codes.iter().map(|code| one(*code, looks)).collect::<Vec<_>>().join("\n")
}

fn one(code: Code, looks: Looks) -> String {
    let width = looks.width.map_or(WIDEST, |width| usize::from(width).clamp(40, WIDEST));
    let normal = if code.is_normal() { ", normal in sound logs" } else { "" };
    let head = format!("{}  {}{normal}; {}", bold(code.name(), looks), code.severity().name(), code.area().title());
    let mut out = format!("{head}\n");
    for (title, text) in sections(code) {
        out.push_str(&format!("\n{}\n{}", bold(title, looks), wrapped(text, width)));
    }
    out
}

fn sections(code: Code) -> [(&'static str, &'static str); 4] {
    [
        ("What it means", code.meaning()),
        ("How it comes about", code.cause()),
        ("What to do", code.next_step()),
        ("Where it applies", code.since()),
    ]
}

/// For programs: an array.
pub fn json(codes: &[Code]) -> String {
    let one = |code: &Code| {
        json!({
            "code": code.name(),
            "severity": code.severity().name(),
            "area": code.area().name(),
            "normal": code.is_normal(),
            "meaning": code.meaning(),
            "cause": code.cause(),
            "nextStep": code.next_step(),
            "since": code.since(),
        })
    };
    format!("{:#}\n", codes.iter().map(one).collect::<Value>())
}

/// The section of a man page, in roff.
pub fn man_section() -> String {
    let mut out = String::from(".SH FINDINGS\n");
    for area in areas() {
        out.push_str(&format!(".SS {}\n", roff(area.title())));
        for code in codes_of(area) {
            out.push_str(&format!(".TP\n\\fB{}\\fR ({})\n", roff(code.name()), code.severity().name()));
            let [(_, meaning), rest @ ..] = sections(code);
            out.push_str(&format!("{}\n", roff(meaning)));
            for (title, text) in rest {
                out.push_str(&format!(".br\n\\fI{}:\\fR {}\n", roff(title), roff(text)));
            }
        }
    }
    out
}

/// Text as roff takes it: no line of ours begins with a dot or a quote but by this.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// The areas, in the order of the catalogue.
fn areas() -> Vec<Area> {
    let mut areas: Vec<Area> = Code::ALL.iter().map(|code| code.area()).collect();
    areas.dedup();
    areas
}

fn codes_of(area: Area) -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(move |code| code.area() == area)
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text.get(..end).unwrap_or(text).to_owned()
}

fn bold(text: &str, looks: Looks) -> String {
    if looks.color == Looking::Bright { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// Lines of words, four blanks in front.
fn wrapped(text: &str, width: usize) -> String {
    lines(text, 4, 4, width).iter().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_stand_together() {
        let areas = areas();
        let mut once = areas.clone();
        once.sort();
        once.dedup();
        assert_eq!(areas.len(), once.len());
    }

    #[test]
    fn every_code_has_its_place_in_the_man_page() {
        let section = man_section();
        for code in Code::ALL {
            assert!(section.contains(&format!("\n\\fB{}\\fR (", roff(code.name()))), "{}", code.name());
        }
        assert!(section.lines().all(|line| !line.starts_with('\'')));
    }
}
