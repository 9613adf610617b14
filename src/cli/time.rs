//! Moments on the command line and in tables: RFC 3339, epoch milliseconds, spans before now.
//!
//! Must not know: what the moments are for.

use jiff::{Timestamp, Unit, fmt::friendly::SpanParser};

/// A moment as the user gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Milliseconds since 1970.
    At(i64),
    /// Milliseconds before (negative) or after now.
    FromNow(i64),
}

impl Moment {
    /// Reads `2026-01-31T12:00:00Z`, `1767268800000`, `-2h`, `now`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "now" {
            return Ok(Moment::FromNow(0));
        }
        if text.starts_with(['-', '+']) {
            return millis_of_span(text).map(Moment::FromNow);
        }
        if let Ok(millis) = text.parse() {
            return Ok(Moment::At(millis));
        }
        match text.parse::<Timestamp>() {
            Ok(at) => Ok(Moment::At(at.as_millisecond())),
            Err(_) => Err(format!(
                "'{text}' is no moment: give RFC 3339 with a zone (2026-01-31T12:00:00Z), epoch milliseconds \
                 (1767268800000), or a span before now (-2h, -7d)"
            )),
        }
    }

    /// Milliseconds since 1970, given what now is.
    pub fn millis(self, now: i64) -> i64 {
        match self {
            Moment::At(millis) => millis,
            Moment::FromNow(millis) => now.saturating_add(millis),
        }
    }
}

/// Reads a span as milliseconds: `7d`, `-2h`, `90m`. A day has 24 hours.
pub fn millis_of_span(text: &str) -> Result<i64, String> {
    let bad = || format!("'{text}' is no span: give a number and a unit, as in 90m, 2h, 7d");
    let (sign, span) = match text.as_bytes().first() {
        Some(b'-') => (-1, text.get(1..).unwrap_or_default()),
        Some(b'+') => (1, text.get(1..).unwrap_or_default()),
        _ => (1, text),
    };
    let span = SpanParser::new().parse_span(span).map_err(|_| bad())?;
    let millis = span.total((Unit::Millisecond, jiff::SpanRelativeTo::days_are_24_hours())).map_err(|_| bad())?;
    Ok(sign * millis as i64)
}

/// As [`millis_of_span`], of how long something lasts: nothing lasts for less than no time.
pub fn millis_lasting(text: &str) -> Result<i64, String> {
    match millis_of_span(text) {
        Ok(millis) if millis < 0 => Err(format!("'{text}' lies in the past")),
        read => read,
    }
}

/// What the machine's clock says, in milliseconds since 1970.
pub fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// `2026-01-31T12:00:00.123Z`; -1 is `-`, what no calendar holds is the number itself.
pub fn rfc3339(millis: i64) -> String {
    if millis == -1 {
        return "-".to_owned();
    }
    Timestamp::from_millisecond(millis).map_or_else(|_| millis.to_string(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(Moment::parse("1700000000000"), Ok(Moment::At(1_700_000_000_000)));
        assert_eq!(Moment::parse("2023-11-14T22:13:20Z"), Ok(Moment::At(1_700_000_000_000)));
        assert_eq!(Moment::parse("2023-11-14T23:13:20+01:00"), Ok(Moment::At(1_700_000_000_000)));
        assert_eq!(Moment::parse("-2h"), Ok(Moment::FromNow(-7_200_000)));
        assert_eq!(Moment::parse("-7d").map(|m| m.millis(1_000_000_000_000)), Ok(1_000_000_000_000 - 604_800_000));
        assert_eq!(Moment::parse("-1d12h"), Ok(Moment::FromNow(-129_600_000)));
        assert!(Moment::parse("yesterday").is_err());
        assert!(Moment::parse("2023-11-14").is_err());
        assert_eq!(rfc3339(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(rfc3339(-1), "-");
        assert_eq!(rfc3339(i64::MAX), i64::MAX.to_string());
    }
}
