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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!(counted(1, "batch"), "1 batch");
        assert_eq!(counted(0, "batch"), "0 batches");
        assert_eq!(counted(2, "other topic"), "2 other topics");
    }
}
