//! Rebalances in the order of the log: how many in a row, whether anyone was left, when a group last changed.
//!
//! Must not know: what is odd.

use crate::log::Record;
use crate::schema::{Key, Value};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// Steps are in a row while no more than this lies between two of them, in milliseconds.
pub const LULL: i64 = 60_000;

/// Rebalances in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row {
    /// How many.
    pub turns: u64,
    /// Time of the first, in ms since 1970.
    pub from: i64,
    /// Time of the last.
    pub to: i64,
    /// Log offset of the last.
    pub last_offset: i64,
}

/// What a group went through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupTurns {
    /// The generation or epoch it has.
    pub epoch: i32,
    /// Records of the group that began a generation or epoch.
    pub turns: u64,
    /// Bytes of the values of those.
    pub bytes: u64,
    /// The longest row of them.
    pub longest: Row,
    row: Row,
    /// Members that it has now.
    pub members: u64,
    /// The least and the most members at the beginning of a generation or epoch.
    pub range: Option<(u64, u64)>,
    /// Generations of a classic group that ended without members.
    pub barren: u64,
    /// Records of a classic group with members.
    pub fruitful: u64,
    /// When any record of group or members was last written, in ms since 1970; -1 unknown.
    pub changed: i64,
}

/// All groups.
#[derive(Debug, Default)]
pub struct Turns {
    groups: HashMap<Box<[u8]>, GroupTurns, FixedState>,
    /// Keys of the members that are there (types 5, 10, 19).
    members: HashSet<Box<[u8]>, FixedState>,
    /// Keys of current assignments whose member left for a while, and since when.
    away: HashMap<Box<[u8]>, i64, FixedState>,
}

impl Turns {
    /// What a group went through, if any record of it is left.
    pub fn group(&self, name: &[u8]) -> Option<&GroupTurns> {
        self.groups.get(name)
    }

    /// Whether a group has members now.
    pub fn has_members(&self, name: &[u8]) -> bool {
        self.groups.get(name).is_some_and(|group| group.members > 0)
    }

    /// Since when a static member is away (epoch -2), by its group, its id and the type of its assignment record; in ms
    /// since 1970, -1 unknown.
    pub fn away_since(&self, group: &[u8], member: &[u8], number: i16) -> Option<i64> {
        let mut key = number.to_be_bytes().to_vec();
        for text in [group, member] {
            key.extend_from_slice(&u16::try_from(text.len()).ok()?.to_be_bytes());
            key.extend_from_slice(text);
        }
        self.away.get(key.as_slice()).copied()
    }

    /// A record of a group, other than a commit.
    pub fn record(&mut self, key: &Key<'_>, bytes: &[u8], record: &Record<'_>) {
        match (key.record_type.number(), record.value) {
            (2 | 3 | 11 | 17, None) => drop(self.groups.remove(key.group())),
            (5 | 10 | 19, value) => self.member(key, bytes, record, value.is_some()),
            (8 | 14 | 22, value) => self.current(key, bytes, record, value),
            (_, None) => {}
            (_, Some(value)) => self.group_record(key, record, value),
        }
    }

    fn member(&mut self, key: &Key<'_>, bytes: &[u8], record: &Record<'_>, stays: bool) {
        let changed = if stays { self.members.insert(bytes.into()) } else { self.members.remove(bytes) };
        // A member's tombstone must not bring back a group that went before it.
        if !stays && !self.groups.contains_key(key.group()) {
            return;
        }
        let group = self.touched(key.group(), record);
        match (changed, stays) {
            (true, true) => group.members += 1,
            (true, false) => group.members = group.members.saturating_sub(1),
            _ => {}
        }
    }

    /// The member's epoch stands in front of every shape.
    fn current(&mut self, key: &Key<'_>, bytes: &[u8], record: &Record<'_>, value: Option<&[u8]>) {
        let epoch = value.and_then(|value| value.get(2..)?.first_chunk()).map(|four| i32::from_be_bytes(*four));
        if epoch == Some(-2) {
            self.away.insert(bytes.into(), record.timestamp);
        } else {
            self.away.remove(bytes);
        }
        if value.is_some() {
            self.touched(key.group(), record);
        }
    }

    fn touched(&mut self, name: &[u8], record: &Record<'_>) -> &mut GroupTurns {
        // Not `entry`: the name is copied only where it is new.
        if !self.groups.contains_key(name) {
            self.groups.insert(name.into(), GroupTurns { epoch: -1, changed: -1, ..GroupTurns::default() });
        }
        let group = self.groups.entry(name.into()).or_default();
        group.changed = group.changed.max(record.timestamp);
        group
    }

    fn group_record(&mut self, key: &Key<'_>, record: &Record<'_>, value: &[u8]) {
        let turn = match key.record_type.number() {
            2 | 3 | 11 | 17 => key.record_type.decode_value(value).ok().and_then(|decoded| match decoded.data {
                Value::GroupMetadata(value) => Some((value.generation, Some(value.members.len() as u64))),
                Value::ConsumerGroupMetadata(value) => Some((value.epoch, None)),
                Value::ShareGroupMetadata(value) => Some((value.epoch, None)),
                Value::ShareGroupMetadata40(value) => Some((value.epoch, None)),
                Value::StreamsGroupMetadata(value) => Some((value.epoch, None)),
                _ => None,
            }),
            _ => None,
        };
        let group = self.touched(key.group(), record);
        let Some((epoch, members)) = turn else { return };
        if let Some(members) = members {
            group.members = members;
            group.fruitful += u64::from(members > 0);
        }
        if epoch == group.epoch {
            return;
        }
        group.barren += u64::from(members == Some(0));
        group.epoch = epoch;
        group.turns += 1;
        group.bytes += value.len() as u64;
        let (least, most) = group.range.unwrap_or((group.members, group.members));
        group.range = Some((least.min(group.members), most.max(group.members)));
        group.in_row(record);
    }
}

impl GroupTurns {
    fn in_row(&mut self, record: &Record<'_>) {
        let at = record.timestamp;
        if self.row.turns == 0 || at.saturating_sub(self.row.to) > LULL {
            self.row = Row { from: at, ..Row::default() };
        }
        self.row = Row { turns: self.row.turns + 1, to: at, last_offset: record.offset, ..self.row };
        if self.row.turns > self.longest.turns {
            self.longest = self.row;
        }
    }
}
