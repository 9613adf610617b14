//! Tables for people: columns fitted to the terminal, plain when piped. CSV of the same rows for programs.
//!
//! Must not know: what stands in the cells.

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};
use std::borrow::Cow;

/// Words up to this many characters stay whole, even if the table gets wider than the terminal: a number or a time that
/// is broken over lines cannot be read.
const LONGEST_WORD: usize = 24;

/// So many characters of a cell stand in a table: more are of use to programs only, and comfy-table counts in 16 bits.
const LONGEST_CELL: usize = 1000;

/// How wide and how bright a table may be.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// Columns of the terminal; none is no limit.
    pub width: Option<u16>,
    /// Whether the head stands out.
    pub color: Looking,
}

/// Whether to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looking {
    /// With colour.
    Bright,
    /// Without.
    Plain,
}

/// Rows under a head.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &[&'static str]) -> Self {
        Table { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For people, as blocks where the columns do not fit: a column of numbers stands to the right, long cells wrap where the width is limited.
    pub fn text(&self, looks: Looks) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        match looks.width {
            Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(20)),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        if looks.color == Looking::Bright {
            table.enforce_styling();
        }
        table.set_header(self.head.iter().map(|name| match looks.color {
            Looking::Bright => Cell::new(name).add_attribute(Attribute::Bold),
            Looking::Plain => Cell::new(name),
        }));
        table.add_rows(self.rows.iter().map(|row| row.iter().map(|cell| shortened(cell))));
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            let cells =
                self.rows.iter().filter_map(|row| row.get(i)).map(String::as_str).chain(self.head.get(i).copied());
            let longest = cells.flat_map(str::split_whitespace).map(|word| word.chars().count()).max().unwrap_or(0);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest.min(LONGEST_WORD) as u16 + 2)));
            if self.rows.iter().all(|row| row.get(i).is_some_and(|cell| is_number(cell))) && !self.rows.is_empty() {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        // The head may carry escapes for colour; the rows tell the width.
        let fits = |width: u16| lines.iter().skip(1).all(|line| line.chars().count() <= usize::from(width.max(20)));
        if looks.width.is_some_and(|width| !fits(width)) {
            return self.blocks();
        }
        lines.join("\n") + "\n"
    }

    /// For people whose terminal is too narrow for the columns: a block a row, a line a cell.
    fn blocks(&self) -> String {
        let widest = self.head.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let block = |row: &Vec<String>| {
            let cells = self.head.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
            cells.map(|(name, cell)| format!("{name:widest$}  {cell}\n")).collect::<String>()
        };
        self.rows.iter().map(block).collect::<Vec<_>>().join("\n")
    }

    /// For programs: RFC 4180 with a header line in small letters, LF at line ends.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        csv_line(
            &mut out,
            self.head.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>().iter().map(String::as_str),
        );
        for row in &self.rows {
            csv_line(&mut out, row.iter().map(String::as_str));
        }
        out
    }
}

/// What of a cell stands in a table.
fn shortened(cell: &str) -> Cow<'_, str> {
    match cell.char_indices().nth(LONGEST_CELL) {
        None => Cow::Borrowed(cell),
        Some((end, _)) => {
            let left = cell.get(..end).unwrap_or_default();
            Cow::Owned(format!("{left}… ({} more characters)", cell.chars().count() - LONGEST_CELL))
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell == "-" || cell.parse::<i64>().is_ok()
}

/// Appends one CSV line; a field is quoted where it must be.
pub fn csv_line<'a>(out: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) || field.starts_with(' ') || field.ends_with(' ') {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_stands_in_blocks() {
        let mut table = Table::new(&["GROUP", "TIME"]);
        table.row(vec!["a-group-with-a-long-name".into(), "2026-11-29T21:46:30.448Z".into()]);
        table.row(vec!["g".into(), "-".into()]);
        let text = table.text(Looks { width: Some(40), color: Looking::Plain });
        assert_eq!(text, "GROUP  a-group-with-a-long-name\nTIME   2026-11-29T21:46:30.448Z\n\nGROUP  g\nTIME   -\n");
    }

    #[test]
    fn csv_quotes_what_must_be() {
        let mut table = Table::new(&["GROUP", "N"]);
        table.row(vec!["a,b \"c\"\nd".into(), "1".into()]);
        assert_eq!(table.csv(), "group,n\n\"a,b \"\"c\"\"\nd\",1\n");
    }

    #[test]
    fn a_cell_of_any_length_is_no_harm() {
        let mut table = Table::new(&["A", "B", "C"]);
        let long = "🚀".repeat(70_000);
        table.row(vec![long.clone(), long.clone(), long]);
        for width in [None, Some(80)] {
            let text = table.text(Looks { width, color: Looking::Plain });
            assert!(width.is_some() || text.contains("… (69000 more characters)"));
        }
    }

    #[test]
    fn numbers_stand_right_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["GROUP", "OFFSET"]);
        table.row(vec!["g".into(), "5".into()]);
        let text = table.text(Looks { width: None, color: Looking::Plain });
        assert_eq!(text, "GROUP  OFFSET\ng           5\n");
    }
}
