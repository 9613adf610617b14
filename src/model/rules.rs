//! Rules of replay that differed between broker releases, each with a name.
//!
//! Must not know: how replay works.

use std::fmt;
use std::str::FromStr;

/// A release line of Kafka: `3.9`, `4.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// Before the dot. 0.11 counts as 0 and 11.
    pub major: u16,
    /// Behind the dot.
    pub minor: u16,
}

impl Release {
    /// The newest release whose rules are known.
    pub const NEWEST: Release = Release { major: 4, minor: 4 };
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no Kafka release: give one such as 2.8, 3.9 or 4.4");
        let mut parts = text.split('.').map(|part| part.parse::<u16>().map_err(|_| bad()));
        let (Some(major), Some(minor)) = (parts.next(), parts.next()) else { return Err(bad()) };
        let release = Release { major: major?, minor: minor? };
        if parts.any(|part| part.is_err()) { Err(bad()) } else { Ok(release) }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a tombstone of an offset does to commits of the same key that wait for the end of their transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingUnderTombstone {
    /// They go, whatever their producer (the new coordinator: 4.0 and later).
    AllGo,
    /// A plain tombstone leaves them; a transactional one takes only those of its own producer (the old coordinator:
    /// 3.9 and earlier).
    OwnProducerOnly,
}

/// Which record types a coordinator reads; it skips the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTypes {
    /// The greatest type number it reads.
    pub greatest: i16,
}

/// The rules of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// See there.
    pub pending_under_tombstone: PendingUnderTombstone,
    /// See there.
    pub known_types: KnownTypes,
}

impl Rules {
    /// The rules of a release as it comes: 3.9 and earlier run the old coordinator unless told otherwise.
    pub fn of(release: Release) -> Self {
        let old = release < Release { major: 4, minor: 0 };
        Rules {
            pending_under_tombstone: if old {
                PendingUnderTombstone::OwnProducerOnly
            } else {
                PendingUnderTombstone::AllGo
            },
            known_types: KnownTypes {
                greatest: match (release.major, release.minor) {
                    (0..=3, _) => 2,
                    (4, 0) => 16,
                    _ => i16::MAX,
                },
            },
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Rules::of(Release::NEWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!("3.9.2".parse(), Ok(Release { major: 3, minor: 9 }));
        assert_eq!("0.11".parse(), Ok(Release { major: 0, minor: 11 }));
        assert!("4".parse::<Release>().is_err());
        assert!("4.x".parse::<Release>().is_err());
        assert_eq!(Release::NEWEST.to_string(), "4.4");
    }
}
