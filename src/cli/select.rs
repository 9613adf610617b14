//! Which records the user asked for: groups by name, glob or regular expression, topics, types, members, producers.
//!
//! Must not know: where records come from, and how they are printed.

use super::args::{GroupChoice, Selection};
use crate::escape::{escape, is_wildcard, named};
use crate::schema::{Key, RecordType};
use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};
use std::ffi::OsString;

/// A group name as the user gave it.
#[derive(Debug, Clone)]
pub enum GroupPattern {
    /// These bytes.
    Exact(Vec<u8>),
    /// A glob or a regular expression that must match the whole id.
    Regex(Regex),
}

impl GroupPattern {
    /// A regular expression, which must match a group id whole.
    pub fn regex(text: &str) -> Result<Self, String> {
        whole(&format!("^(?:{text})$"))
    }

    /// A name, or a glob if it holds any of `* ? [ ] { }`. A backslash takes one of these as it is, and `\xNN` and `\u{..}`
    /// name a byte and a character, as our output shows those that are odd (see [`crate::escape`]).
    pub fn name_or_glob(text: &OsString) -> Result<Self, String> {
        let bytes = text.as_encoded_bytes();
        let name = unescaped(bytes);
        match name {
            Some(name) => Ok(GroupPattern::Exact(name)),
            None => {
                let text = text.to_str().ok_or("a glob must be UTF-8")?;
                whole(&of_glob(text)?)
            }
        }
    }

    /// Whether a group id is meant.
    pub fn matches(&self, group: &[u8]) -> bool {
        match self {
            GroupPattern::Exact(name) => name == group,
            GroupPattern::Regex(regex) => regex.is_match(group),
        }
    }
}

/// Group ids are no lines: a wildcard stands for a line feed, too.
fn whole(regex: &str) -> Result<GroupPattern, String> {
    let regex = RegexBuilder::new(regex).dot_matches_new_line(true).build();
    regex.map(GroupPattern::Regex).map_err(|e| e.to_string())
}

/// The name that a pattern without wildcards stands for.
fn unescaped(pattern: &[u8]) -> Option<Vec<u8>> {
    let mut rest = pattern;
    while let Some((&byte, behind)) = rest.split_first() {
        if is_wildcard(byte) {
            return None;
        }
        rest = escape(rest).map_or(behind, |(_, after)| after);
    }
    Some(named(pattern))
}

/// A byte that is no text stands in a glob as one of so many characters that are nobody's.
const STAND_INS: u32 = 0xF_0000;

/// The regular expression of a glob in which `\xNN` and `\u{..}` stand for bytes and characters.
fn of_glob(text: &str) -> Result<String, String> {
    let mut glob = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (bytes, after) = match escape(rest.as_bytes()) {
            Some((bytes, after)) => (bytes, rest.get(rest.len() - after.len()..).unwrap_or_default()),
            None => {
                glob.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
                continue;
            }
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) => text.chars().for_each(|c| {
                if c == '\\' || c.is_ascii() && is_wildcard(c as u8) {
                    glob.push('\\');
                }
                glob.push(c);
            }),
            Err(_) => glob.extend(bytes.iter().filter_map(|byte| char::from_u32(STAND_INS + u32::from(*byte)))),
        }
        rest = after;
    }
    let glob = GlobBuilder::new(&glob).backslash_escape(true).build().map_err(|e| e.to_string())?;
    let mut regex = glob.regex().to_owned();
    for byte in 0x80..=0xff_u32 {
        let stand_in = char::from_u32(STAND_INS + byte).map_or(String::new(), |c| {
            let mut room = [0; 4];
            c.encode_utf8(&mut room).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        });
        for stand_in in [stand_in.to_uppercase().replace("\\X", "\\x"), stand_in] {
            regex = regex.replace(&stand_in, &format!("\\x{byte:02x}"));
        }
    }
    Ok(regex)
}

/// A record type as the user gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeSelector {
    /// By its number, known or not.
    Number(i16),
    /// Control records.
    Control,
}

impl TypeSelector {
    /// Reads a number, a name (in any case), or `control`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("control") {
            return Ok(TypeSelector::Control);
        }
        if let Ok(number) = text.parse() {
            return Ok(TypeSelector::Number(number));
        }
        RecordType::ALL
            .iter()
            .find(|known| known.name().eq_ignore_ascii_case(text))
            .map(|known| TypeSelector::Number(known.number()))
            .ok_or_else(|| format!("'{text}' is no record type: 'grouplog schema' lists them"))
    }
}

/// Which groups are asked for: all, if none is named.
#[derive(Debug, Clone, Default)]
pub struct GroupFilter {
    patterns: Vec<GroupPattern>,
}

impl GroupFilter {
    /// From the options.
    pub fn new(choice: &GroupChoice) -> anyhow::Result<Self> {
        let names = choice.group.iter().map(GroupPattern::name_or_glob);
        let patterns: Result<_, String> = names.chain(choice.group_regex.iter().cloned().map(Ok)).collect();
        Ok(GroupFilter { patterns: patterns.map_err(super::Usage)? })
    }

    /// Whether a group is asked for.
    #[inline]
    pub fn matches(&self, group: &[u8]) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(group))
    }
}

/// Which records are asked for.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    groups: Vec<GroupPattern>,
    topics: Vec<Vec<u8>>,
    types: Vec<TypeSelector>,
    members: Vec<Vec<u8>>,
    producers: Vec<i64>,
}

impl Selector {
    /// From the options; fails on a glob that is none.
    pub fn new(options: &Selection) -> Result<Self, String> {
        let names = options.group.iter().map(GroupPattern::name_or_glob);
        let groups = names.chain(options.group_regex.iter().cloned().map(Ok)).collect::<Result<_, _>>()?;
        let bytes = |texts: &[OsString]| texts.iter().map(|text| named(text.as_encoded_bytes())).collect();
        Ok(Selector {
            groups,
            topics: bytes(&options.topic),
            types: options.record_type.clone(),
            members: bytes(&options.member),
            producers: options.producer_id.clone(),
        })
    }

    /// Whether everything is asked for.
    pub fn is_all(&self) -> bool {
        self.producers.is_empty() && self.types.is_empty() && self.names_nothing()
    }

    fn names_nothing(&self) -> bool {
        self.groups.is_empty() && self.topics.is_empty() && self.members.is_empty()
    }

    /// Whether batches of this producer are asked for.
    pub fn producer(&self, producer_id: i64) -> bool {
        self.producers.is_empty() || self.producers.contains(&producer_id)
    }

    /// Whether a group is asked for.
    pub fn group(&self, group: &[u8]) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|pattern| pattern.matches(group))
    }

    /// Whether a topic is asked for.
    pub fn topic(&self, topic: &[u8]) -> bool {
        self.topics.is_empty() || self.topics.iter().any(|name| name == topic)
    }

    /// Whether control records are asked for.
    pub fn control(&self) -> bool {
        self.names_nothing() && (self.types.is_empty() || self.types.contains(&TypeSelector::Control))
    }

    /// Whether records with this key are asked for.
    #[inline]
    pub fn key(&self, key: &Key<'_>) -> bool {
        self.is_all() || self.key_in_detail(key)
    }

    fn key_in_detail(&self, key: &Key<'_>) -> bool {
        self.number(Some(key.record_type.number()))
            && self.group(key.group())
            && (self.topics.is_empty() || key.topic_partition().is_some_and(|(topic, _)| self.topic(topic)))
            && (self.members.is_empty() || key.member().is_some_and(|id| self.members.iter().any(|name| name == id)))
    }

    /// Whether records whose key could not be decoded, but for the number of its type, are asked for.
    pub fn unreadable_key(&self, number: Option<i16>) -> bool {
        self.names_nothing() && self.number(number)
    }

    fn number(&self, number: Option<i16>) -> bool {
        self.types.is_empty() || number.is_some_and(|number| self.types.contains(&TypeSelector::Number(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, group: &str) -> bool {
        GroupPattern::name_or_glob(&pattern.into()).unwrap().matches(group.as_bytes())
    }

    #[test]
    fn names_and_globs() {
        assert!(matches("orders-*", "orders-eu/west"));
        assert!(!matches("orders-*", "my-orders-1"));
        assert!(matches("a.b", "a.b"));
        assert!(!matches("a.b", "axb"));
        assert!(matches("*", "two\nlines"));
        assert!(GroupPattern::regex("two.*").unwrap().matches(b"two\nlines"));
        assert!(matches("", ""));
        assert!(!matches("", "x"));
        assert!(matches(r"a\*b", "a*b"));
        assert!(!matches(r"a\*b", "axb"));
        assert!(matches(r"back\slash", r"back\slash"));
        assert!(matches("grp-🚀", "grp-🚀"));
        for pattern in [r"bad\xff", r"b*\xff", r"?ad\xff", r"bad[\x80-\xff]"] {
            assert!(GroupPattern::name_or_glob(&pattern.into()).unwrap().matches(b"bad\xff"), "{pattern}");
        }
        assert!(!GroupPattern::name_or_glob(&r"b*\xff".into()).unwrap().matches(br"bad\xff"));
        assert!(matches(r"a\x2a*", "a*bc") && !matches(r"a\x2a*", "abc"));
        assert!(matches(r"caf\u{e9}*", "café au lait"));
    }

    #[test]
    fn types() {
        assert_eq!(TypeSelector::parse("offsetcommit"), Ok(TypeSelector::Number(1)));
        assert_eq!(TypeSelector::parse("99"), Ok(TypeSelector::Number(99)));
        assert!(TypeSelector::parse("nothing").is_err());
    }
}
