//! Groups whose names differ only in a UUID, a long hexadecimal number or a counter.
//!
//! Must not know: anything else of groups than their names, and whether they live.

use super::{Ground, OneGroup};
use crate::audit::settings::Settings;
use crate::audit::{Code, Fact, Finding, Severity};
use crate::model::view::GroupType;
use crate::words::counted;
use std::collections::BTreeMap;

/// Fewer are no family.
pub(super) const FAMILY: usize = 20;
/// So many names stand for all.
const EXAMPLES: usize = 3;

/// Groups of like names.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// How many.
    pub count: usize,
    /// Without members.
    empty: usize,
    /// Without members, and silent for long.
    silent: usize,
    /// Of these, such as kafka-consumer-groups.sh deletes.
    deletable: Vec<Vec<u8>>,
    /// Their offsets.
    offsets: usize,
    /// The first and the last sign of life of any, in ms since 1970.
    signs: Option<(i64, i64)>,
    /// The first names.
    examples: Vec<Vec<u8>>,
}

/// All names, by pattern.
#[derive(Debug, Default)]
pub(super) struct Names {
    families: BTreeMap<String, Family>,
    groups: u64,
}

impl Names {
    pub(super) fn add(&mut self, one: &OneGroup<'_>, settings: &Settings) {
        self.groups += 1;
        let Some(pattern) = pattern_of(&one.group.name) else { return };
        let family = self.families.entry(pattern).or_default();
        let sign = one.last_sign();
        let empty = one.group.members.is_empty();
        family.count += 1;
        family.empty += usize::from(empty);
        if empty && settings.is_stale(sign) {
            family.silent += 1;
            if matches!(one.group.kind, GroupType::Classic | GroupType::Consumer) {
                family.deletable.push(one.group.name.clone());
            }
        }
        family.offsets += one.group.offsets.len();
        if sign >= 0 {
            let (first, last) = family.signs.unwrap_or((sign, sign));
            family.signs = Some((first.min(sign), last.max(sign)));
        }
        if family.examples.len() < EXAMPLES {
            family.examples.push(one.group.name.clone());
        }
    }

    pub(super) fn groups(&self) -> u64 {
        self.groups
    }

    /// Those that are many.
    pub(super) fn finish(mut self) -> BTreeMap<String, Family> {
        self.families.retain(|_, family| family.count >= FAMILY);
        self.families
    }
}

/// One finding for each family, the largest first.
pub(super) fn judge(ground: &Ground<'_>) -> Vec<Finding> {
    let mut families: Vec<_> = ground.survey.families.iter().collect();
    families.sort_by_key(|(_, family)| std::cmp::Reverse(family.count));
    families.into_iter().map(|(pattern, family)| of_family(pattern, family, ground)).collect()
}

fn of_family(pattern: &str, family: &Family, ground: &Ground<'_>) -> Finding {
    let settings = ground.settings;
    let message = format!(
        "{} of the pattern {}: {} without members, {} of them silent for more than {}; {}",
        counted(family.count as u64, "group"),
        crate::escape::visible(pattern.as_bytes()),
        family.empty,
        family.silent,
        crate::words::span(settings.stale_after),
        counted(family.offsets as u64, "offset"),
    );
    let severity = if family.empty * 2 > family.count { Severity::Warning } else { Severity::Info };
    let names = |names: &[Vec<u8>]| Fact::List(names.iter().map(|name| Fact::Name(name.clone())).collect());
    let finding = Finding::new(Code::Family, message)
        .severity(severity)
        .fact("pattern", pattern)
        .fact("groups", family.count as u64)
        .fact("empty", family.empty as u64)
        .fact("silent", family.silent as u64)
        .fact("offsets", family.offsets as u64)
        .fact("firstSign", family.signs.map(|(first, _)| first))
        .fact("lastSign", family.signs.map(|(_, last)| last))
        .fact("examples", names(&family.examples))
        .fact("deletable", names(&family.deletable));
    // A command that takes lines for names would delete others than these.
    if family.deletable.is_empty() || pattern.contains(['\n', '\0']) {
        return finding;
    }
    finding.fact("command", settings.commands.delete_family(pattern, settings.stale_after))
}

/// The pattern of a name that holds a UUID, a long hexadecimal number or a counter: with `<uuid>`, `<hex>` or `<n>` in
/// their place. None if it holds none, or is not UTF-8.
pub(super) fn pattern_of(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let mut pattern = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    // Whether what stands before belongs to the same word: then digits are part of it only in numbers.
    while let Some(c) = rest.chars().next() {
        let (kind, len) = variable(rest);
        match kind {
            Some(kind) => {
                pattern.push_str(kind);
                found = true;
            }
            None => pattern.push_str(rest.get(..len).unwrap_or_default()),
        }
        rest = rest.get(len.max(c.len_utf8())..).unwrap_or_default();
    }
    found.then_some(pattern)
}

/// What stands at the beginning of a text that may vary, and how long it is; else how long the word is that does not.
fn variable(text: &str) -> (Option<&'static str>, usize) {
    if is_uuid(text) {
        return (Some("<uuid>"), 36);
    }
    let word = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let bytes = text.as_bytes();
    let hex = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_digit = bytes.iter().take(hex).any(u8::is_ascii_digit);
    if hex == word && hex >= 16 && has_digit && digits < hex {
        return (Some("<hex>"), hex);
    }
    if digits > 0 {
        return (Some("<n>"), digits);
    }
    let letters = text.bytes().take_while(|byte| byte.is_ascii_alphabetic()).count();
    (None, if letters > 0 { letters } else { text.chars().next().map_or(1, char::len_utf8) })
}

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = |(i, byte): (usize, &u8)| match i {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() >= 36
        && bytes.iter().take(36).enumerate().all(shape)
        && bytes.get(36).is_none_or(|byte| !byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (name, pattern) in [
            ("app-6f1ed002-ab5c-4cf5-9d1e-3a1f0c2b7d11", Some("app-<uuid>")),
            ("console-consumer-12345", Some("console-consumer-<n>")),
            ("job_deadbeefdeadbeef0123", Some("job_<hex>")),
            ("shard-7-of-64", Some("shard-<n>-of-<n>")),
            ("orders", None),
            ("facade", None),
            ("grp-🚀", None),
        ] {
            assert_eq!(pattern_of(name.as_bytes()).as_deref(), pattern, "{name}");
        }
        assert_eq!(pattern_of(b"\xff1"), None);
    }
}
