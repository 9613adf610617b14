//! Half-open ranges on the command line, and sizes in bytes.
//!
//! Must not know: what is in the ranges.

use super::time::Moment;

/// Log offsets from `from` up to but not including `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetRange {
    /// First offset inside.
    pub from: i64,
    /// First offset behind.
    pub until: i64,
}

/// Moments from `from` up to but not including `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// First moment inside; none is the beginning.
    pub from: Option<Moment>,
    /// First moment behind; none is the end.
    pub until: Option<Moment>,
}

impl OffsetRange {
    /// Reads `A..B`, `A..`, `..B`, or `A` alone for one offset.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<i64>().map_err(|_| format!("'{text}' is no offset"));
        let Some((from, until)) = text.split_once("..") else {
            let one = number(text)?;
            return Ok(OffsetRange { from: one, until: one.saturating_add(1) });
        };
        let from = if from.is_empty() { i64::MIN } else { number(from)? };
        let until = if until.is_empty() { i64::MAX } else { number(until)? };
        if from > until {
            return Err(format!("{from} is above {until}"));
        }
        Ok(OffsetRange { from, until })
    }
}

impl TimeRange {
    /// Reads `A..B`, `A..`, `..B`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (from, until) =
            text.split_once("..").ok_or_else(|| format!("'{text}' is no range: give A..B, A.. or ..B"))?;
        let moment = |text: &str| if text.is_empty() { Ok(None) } else { Moment::parse(text).map(Some) };
        Ok(TimeRange { from: moment(from)?, until: moment(until)? })
    }
}

/// A point of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Behind the record at this log offset.
    Offset(i64),
    /// Behind the last record in log order whose time is at or before this moment.
    Moment(Moment),
}

impl Point {
    /// Reads `@4711` as a log offset, all else as a moment.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some(offset) => match offset.parse() {
                Ok(offset) if offset >= 0 => Ok(Point::Offset(offset)),
                _ => Err(format!("'{offset}' is no offset: give @N for the log offset N")),
            },
            None => Moment::parse(text).map(Point::Moment),
        }
    }
}

/// Reads `4096`, `64K`, `8M`, `1G` as bytes.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let n: usize = digits.parse().map_err(|_| format!("'{text}' is no size: give bytes, or a number and K, M or G"))?;
    n.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(OffsetRange::parse("5..9"), Ok(OffsetRange { from: 5, until: 9 }));
        assert_eq!(OffsetRange::parse("5"), Ok(OffsetRange { from: 5, until: 6 }));
        assert_eq!(OffsetRange::parse("..9"), Ok(OffsetRange { from: i64::MIN, until: 9 }));
        assert!(OffsetRange::parse("9..5").is_err());
        let from = Some(Moment::FromNow(-7_200_000));
        assert_eq!(TimeRange::parse("-2h.."), Ok(TimeRange { from, until: None }));
        assert!(TimeRange::parse("-2h").is_err());
        assert_eq!(Point::parse("@17"), Ok(Point::Offset(17)));
        assert_eq!(Point::parse("17"), Ok(Point::Moment(Moment::At(17))));
        assert!(Point::parse("@-1").is_err());
        assert_eq!(parse_bytes("8M"), Ok(8 << 20));
        assert!(parse_bytes("").is_err());
        assert!(parse_bytes("99999999999G").is_err());
    }
}
