//! A list of findings that does not grow without end: of each code the first are kept, the rest are counted.
//!
//! Must not know: any one code.

use super::{Code, Finding, Severity};
use std::collections::BTreeMap;

/// So many findings of one code are listed for a partition; the rest are counted.
const MOST_OF_A_CODE: u64 = 1000;

/// Findings of one partition.
#[derive(Debug, Default)]
pub struct List {
    partition: Option<i32>,
    findings: Vec<Finding>,
    /// How many of each code and severity there were.
    seen: BTreeMap<(Code, Severity), u64>,
}

impl List {
    /// Of a partition, if its number is known.
    pub fn of(partition: Option<i32>) -> Self {
        List { partition, ..List::default() }
    }

    /// Adds one.
    #[cold]
    pub fn push(&mut self, finding: Finding) {
        let seen = self.seen.entry((finding.code, finding.severity)).or_default();
        *seen += 1;
        if *seen <= MOST_OF_A_CODE {
            self.findings.push(Finding { partition: self.partition, ..finding });
        }
    }

    /// Adds several.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// The findings, with one more for each code that has too many to be listed.
    pub fn finish(mut self) -> Vec<Finding> {
        for ((code, severity), seen) in std::mem::take(&mut self.seen) {
            if let Some(more @ 1..) = seen.checked_sub(MOST_OF_A_CODE) {
                let message = format!("{more} more findings of {}", code.name());
                let finding = Finding::new(Code::More, message).severity(severity);
                self.findings
                    .push(Finding { partition: self.partition, ..finding.fact("of", code.name()).fact("count", more) });
            }
        }
        self.findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_are_counted() {
        let mut list = List::of(Some(3));
        for n in 0..MOST_OF_A_CODE + 7 {
            list.push(Finding::new(Code::CrcMismatch, "").position(n));
        }
        list.push(Finding::new(Code::ZeroTail, ""));
        let findings = list.finish();
        assert_eq!(findings.len() as u64, MOST_OF_A_CODE + 2);
        let last = findings.last().unwrap();
        assert_eq!((last.code, last.severity, last.partition), (Code::More, Severity::Error, Some(3)));
        assert_eq!(last.facts[1], ("count", 7i64.into()));
    }
}
