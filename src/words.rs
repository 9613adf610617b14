//! Words that messages share: counted things.
//!
//! Must not know: what is counted.

/// `1 file`, `2 files`, `3 batches`.
pub fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ if what.ends_with('h') => format!("{number} {what}es"),
        _ => format!("{number} {what}s"),
    }
}

/// A span in milliseconds, in its two greatest units: `3 d 4 h`, `90 ms`.
pub fn span(ms: i64) -> String {
    const UNITS: [(i64, &str); 5] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")];
    let Some(i) = UNITS.iter().position(|(unit, _)| ms >= *unit) else { return format!("{ms} ms") };
    let mut rest = ms;
    let parts = UNITS.iter().skip(i).take(2).filter_map(|(unit, name)| {
        let count = rest / unit;
        rest %= unit;
        (count > 0).then(|| format!("{count} {name}"))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// How long ago something was: `3 d 4 h ago`, `3 d 4 h in the future`.
pub fn ago(age: i64) -> String {
    if age < 0 { format!("{} in the future", span(age.saturating_neg())) } else { format!("{} ago", span(age)) }
}

/// How old something is: `3 d 4 h old`, `3 d 4 h in the future`.
pub fn old(age: i64) -> String {
    if age < 0 { ago(age) } else { format!("{} old", span(age)) }
}

/// For how long something has lasted: `for 3 d 4 h`, `since 3 d 4 h in the future`.
pub fn lasting(age: i64) -> String {
    if age < 0 { format!("since {}", ago(age)) } else { format!("for {}", span(age)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        assert_eq!(span(30 * 86_400_000), "30 d");
        assert_eq!(span(3_600_000 + 60_000 + 1), "1 h 1 min");
        assert_eq!(span(90), "90 ms");
        assert_eq!(span(-5), "-5 ms");
        assert_eq!(span(0), "0 ms");
        assert_eq!((ago(60_000), ago(-60_000)), ("1 min ago".to_owned(), "1 min in the future".to_owned()));
        assert_eq!((old(0), old(i64::MIN)), ("0 ms old".to_owned(), ago(i64::MIN)));
        assert_eq!((lasting(5), lasting(-5)), ("for 5 ms".to_owned(), "since 5 ms in the future".to_owned()));
    }

    #[test]
    fn one_and_many() {
        assert_eq!(counted(1, "batch"), "1 batch");
        assert_eq!(counted(0, "batch"), "0 batches");
        assert_eq!(counted(2, "other topic"), "2 other topics");
    }
}
