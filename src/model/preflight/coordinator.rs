//! Which coordinator is asked: a release, its patch, and which of its loaders; and the rules that follow.
//!
//! Must not know: records and groups.

use crate::model::rules::Release;
use std::fmt;
use std::str::FromStr;

/// The group coordinator of a release, as in `2.8`, `3.9`, `3.9-new`, `4.1`, `4.1.0`.
///
/// A release without a patch number means its latest patch that is known. Up to 3.9 a release runs the old (Scala)
/// coordinator by default; `-new` asks for the other one, which 3.9 runs where
/// `group.coordinator.rebalance.protocols` names `consumer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinator {
    release: Release,
    patch: Option<u16>,
    new_in_3: bool,
}

/// What tells the releases apart that are asked for by `all`: each differs from the one before.
const ALL: &[&str] =
    &["2.8", "3.4.0", "3.4", "3.8", "3.9", "3.9-new", "4.0.0", "4.0", "4.1.0", "4.1", "4.2.0", "4.2", "4.3", "4.4"];

impl Coordinator {
    /// Those that differ, oldest first, and the ones beside them that real brokers were asked about.
    pub fn all() -> Vec<Coordinator> {
        ALL.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Its release line.
    pub fn release(self) -> Release {
        self.release
    }

    /// Which loader it runs, with its rules.
    pub(super) fn rules(self) -> Rules {
        let patch = self.patch.unwrap_or(u16::MAX);
        match (self.release.major, self.release.minor) {
            (3, 9) if self.new_in_3 => Rules::New(Line::V39),
            (4, 0) if patch < 2 => Rules::New(Line::V40),
            (4, 0) => Rules::New(Line::V402),
            (4, 1) if patch < 2 => Rules::New(Line::V41),
            (4, 1) => Rules::New(Line::V412),
            (4, 2) if patch < 1 => Rules::New(Line::V42),
            (4, 2) => Rules::New(Line::V421),
            (4, 3) => Rules::New(Line::V43),
            (4, _) => Rules::New(Line::V44),
            (major, minor) => Rules::Old(OldRules::of((major, minor, patch))),
        }
    }
}

impl FromStr for Coordinator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "the rules of '{text}' are not known. Known are 2.8 to 3.9, 3.9-new (the new coordinator of 3.9) and 4.0 \
                 to 4.4; a patch can be named too, as in 4.1.0, else the latest one counts"
            )
        };
        let (number, new_in_3) = text.strip_suffix("-new").map_or((text, false), |number| (number, true));
        let numbers = number.split('.').map(|part| part.parse::<u16>().ok()).collect::<Option<Vec<_>>>();
        let (major, minor, patch) = match numbers.as_deref() {
            Some(&[major, minor]) => (major, minor, None),
            Some(&[major, minor, patch]) => (major, minor, Some(patch)),
            _ => return Err(unknown()),
        };
        let known = match (major, minor) {
            (2, 8) | (3, 0..=8) => !new_in_3,
            (3, 9) => true,
            (4, 0..=4) => !new_in_3,
            _ => false,
        };
        if known { Ok(Coordinator { release: Release { major, minor }, patch, new_in_3 }) } else { Err(unknown()) }
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.release)?;
        if let Some(patch) = self.patch {
            write!(f, ".{patch}")?;
        }
        if self.new_in_3 { f.write_str("-new") } else { Ok(()) }
    }
}

/// Which loader, and its rules. Coordinators with the same rules need one look at the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// The Scala one: it judges record by record.
    Old(OldRules),
    /// The one of KIP-848: it replays.
    New(Line),
}

/// What an unknown record type does to a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownTypes {
    /// It ends it.
    Refused,
    /// It is passed over (KIP-915).
    Skipped,
}

/// What a classic member's subscription does to a load whose reader finds it odd, other than too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OddSubscriptions {
    /// It ends it.
    Refused,
    /// The group's topics stay unknown, as with one that is too short.
    Forgiven,
}

/// How often an instance id may stand in a classic group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instances {
    /// As often as it likes: the last member has it.
    Any,
    /// Once, or the load ends.
    Once,
}

/// What sets the Scala loaders apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OldRules {
    /// See there.
    pub unknown_types: UnknownTypes,
    /// The greatest version of a committed offset that it reads.
    pub offset_versions: i16,
    /// The greatest version of a classic group that it reads.
    pub group_versions: i16,
    /// See there.
    pub instances: Instances,
}

impl OldRules {
    /// Of a release and its patch, from 2.8 to 3.9.
    fn of(release: (u16, u16, u16)) -> Self {
        // KIP-915 came with 3.5.0 and 3.4.1.
        let patched = release >= (3, 4, 1);
        OldRules {
            unknown_types: if patched { UnknownTypes::Skipped } else { UnknownTypes::Refused },
            offset_versions: if patched { 4 } else { 3 },
            group_versions: if patched { 4 } else { 3 },
            instances: if release >= (3, 0, 0) { Instances::Once } else { Instances::Any },
        }
    }
}

/// The releases between which the rules of the new coordinator changed, in order. Each method is one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// 3.9 with the new coordinator.
    V39,
    /// 4.0.0 and 4.0.1.
    V40,
    /// 4.0.2.
    V402,
    /// 4.1.0 and 4.1.1.
    V41,
    /// 4.1.2.
    V412,
    /// 4.2.0.
    V42,
    /// 4.2.1.
    V421,
    /// 4.3.
    V43,
    /// 4.4.
    V44,
}

impl Line {
    /// Whether it reads a record type; it skips the others.
    pub fn knows(self, number: i16) -> bool {
        match self {
            Line::V39 => (0..=8).contains(&number),
            Line::V40 | Line::V402 => (0..=16).contains(&number),
            _ => matches!(number, 0..=8 | 10..=17 | 19..=23),
        }
    }

    /// Whether a value's version is checked before its fields are read. 3.9 reads them as if it were a known one.
    pub fn checks_versions(self) -> bool {
        self > Line::V39
    }

    /// Whether a type 0 key may have the values of type 1.
    pub fn reads_new_values_under_type_0(self) -> bool {
        self < Line::V41
    }

    /// Whether tombstones of consumer groups and members that are not there are passed over (KAFKA-17306), values of any
    /// type may create them, and a group that only commits made may become one.
    pub fn forgives_consumers(self) -> bool {
        self > Line::V39
    }

    /// The same for share groups, which never replace one that only commits made.
    pub fn forgives_shares(self) -> bool {
        self >= Line::V41
    }

    /// Whether a group that only commits made may become a streams group (KAFKA-20254).
    pub fn makes_streams_of_simple(self) -> bool {
        self >= Line::V421
    }

    /// Whether a partition may be taken from its owner at a greater epoch (KAFKA-19862).
    pub fn takes_at_greater_epoch(self) -> bool {
        !matches!(self, Line::V39 | Line::V40 | Line::V41)
    }

    /// Whether it asks that a streams task is run by one process.
    pub fn asks_who_runs(self) -> bool {
        self == Line::V41
    }

    /// Whether it checks the topics of type 4 (and 9), which later releases only read.
    pub fn checks_topics(self) -> bool {
        self < Line::V41
    }

    /// Whether a topic that stands twice in a member's current assignment (type 8) ends it.
    pub fn refuses_topic_twice(self) -> bool {
        self < Line::V43
    }

    /// Whether a subtopology that stands twice in a member's current tasks (type 22) ends it.
    pub fn refuses_tasks_twice(self) -> bool {
        self < Line::V42
    }

    /// Whether as many assignment epochs as partitions are asked for in a member's current tasks (type 22).
    pub fn counts_task_epochs(self) -> bool {
        matches!(self, Line::V42 | Line::V421)
    }

    /// See there.
    pub fn odd_subscriptions(self) -> OddSubscriptions {
        if self < Line::V44 { OddSubscriptions::Refused } else { OddSubscriptions::Forgiven }
    }

    /// Whether an OffsetFetch of version 1 gets no error from a partition that it did not load.
    pub fn hides_its_failure(self) -> bool {
        matches!(self, Line::V40 | Line::V402)
    }

    /// How many tags of a value it has names for, counted from 0.
    pub fn known_tags(self, number: i16) -> u32 {
        let from = |line: Line, tags: u32| if self >= line { tags } else { 0 };
        match number {
            0 | 1 | 3 => from(Line::V41, 1),
            5 => 1,
            6 | 8 | 12 | 20 => from(Line::V43, 1),
            17 => from(Line::V42, 2) + from(Line::V44, 2),
            22 => from(Line::V42, 1),
            _ => 0,
        }
    }
}
