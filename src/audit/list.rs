//! A list of findings that does not grow without end: of each code the first are kept, the rest are counted.
//!
//! Must not know: any one code.

use super::{Code, Finding, Severity};
use std::collections::BTreeMap;

/// So many findings of one code are listed for a partition; the rest are counted.
const MOST_OF_A_CODE: u64 = 1000;

/// How many findings of a code a list keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Room {
    /// The first ones; the rest are counted.
    #[default]
    ForTheFirst,
    /// Every one.
    ForAll,
}

/// Which findings are asked for.
pub type Wanted<'w> = &'w dyn Fn(&Finding) -> bool;

/// Findings of one partition.
#[derive(Default)]
pub struct List<'w> {
    partition: Option<i32>,
    findings: Vec<Finding>,
    room: Room,
    /// Others are not counted either.
    wanted: Option<Wanted<'w>>,
    /// How many of each code and severity there were.
    seen: BTreeMap<(Code, Severity), u64>,
}

impl<'w> List<'w> {
    /// Of a partition, if its number is known.
    pub fn of(partition: Option<i32>) -> Self {
        List { partition, ..List::default() }
    }

    /// Of a partition, and only of findings that are asked for.
    pub fn selected(partition: Option<i32>, room: Room, wanted: Wanted<'w>) -> Self {
        List { partition, room, wanted: Some(wanted), ..List::default() }
    }

    /// Adds one.
    #[cold]
    pub fn push(&mut self, finding: Finding) {
        let finding = Finding { partition: self.partition, ..finding };
        if self.wanted.is_some_and(|wanted| !wanted(&finding)) {
            return;
        }
        let seen = self.seen.entry((finding.code, finding.severity)).or_default();
        *seen += 1;
        if self.room == Room::ForAll || *seen <= MOST_OF_A_CODE {
            self.findings.push(finding);
        }
    }

    /// Adds several.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// The findings, with one more for each code that has too many to be listed.
    pub fn finish(mut self) -> Vec<Finding> {
        if self.room == Room::ForAll {
            return self.findings;
        }
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

    #[test]
    fn only_what_is_asked_for_takes_room() {
        let odd = |finding: &Finding| finding.position.is_some_and(|position| position % 2 == 1);
        for (room, kept) in [(Room::ForAll, 1500), (Room::ForTheFirst, 1001)] {
            let mut list = List::selected(None, room, &odd);
            (0..3000).for_each(|n| list.push(Finding::new(Code::CrcMismatch, "").position(n)));
            let findings = list.finish();
            assert_eq!(findings.len(), kept);
            assert!(findings.iter().all(|it| it.code == Code::More || odd(it)));
        }
    }
}
