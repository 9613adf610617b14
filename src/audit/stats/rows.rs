//! Rows by group, and by group, topic and partition: made of what was counted by key.
//!
//! Must not know: batches.

use super::slot::KeySum;
use crate::model::stats::{Counted, KeyRow, Live, NamedSum, Sum, TYPES};
use crate::rewrite::compact::keys::{Keys, Known, NONE, Slot, Winner};
use crate::schema::Key;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Whose a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The row of a committed offset.
    Row(u32),
    /// A group.
    Group(u32),
    /// No group that can be told.
    Nobody,
}

/// All rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hasher: RandomState,
    groups: Vec<NamedSum>,
    by_name: HashTable<u32>,
    /// By the number of group and topic, and by partition.
    keys: Vec<KeyRow>,
    /// By the number of group and topic: where its rows begin.
    starts: Vec<u32>,
    /// What stays of rows, and of groups besides: apart from the rest, which is large, until all of it is known.
    live_of_rows: Vec<Live>,
    live_of_groups: Vec<Live>,
    /// The last records of keys, by offset, and whose they are, if that can be told by their key as it stands.
    pub owners: Vec<(Winner, Option<Owner>)>,
}

impl Rows {
    /// Takes up what was counted by key, by type too: all commits for type 1.
    pub(super) fn fold(&mut self, keys: &Keys<KeySum>, counted: &mut Counted) {
        self.owners.reserve(keys.len());
        self.keys.reserve(keys.len());
        let mut at = At { number: u32::MAX, group: 0, topic: Arc::default() };
        keys.show(|key, slot| {
            if slot.records() == 0 {
                if slot.last() != NONE {
                    self.owners.push((slot.last(), None));
                }
                return;
            }
            let (owner, of_type, sum) = match key {
                Known::Commit { number, bytes, partition } => {
                    if number != at.number {
                        at = self.begin(number, bytes);
                    }
                    (self.add_row(&at, partition), 1, slot.of_commits())
                }
                Known::Other(key) => (self.owner_of_other(key), type_of(key), slot.of_others()),
            };
            self.add(owner, &sum, counted);
            if let Some(of_type) = counted.types.get_mut(of_type) {
                of_type.add(&sum);
            }
            if slot.last() != NONE {
                self.owners.push((slot.last(), Some(owner)));
            }
        });
        self.owners.sort_unstable_by_key(|(record, _)| record.offset);
    }

    /// The rows of another group and topic begin.
    fn begin(&mut self, number: u32, prefix: &[u8]) -> At {
        self.starts.resize(number as usize + 1, self.keys.len() as u32);
        let texts = prefix.get(2..).and_then(counted_text);
        let (group, topic) = texts.and_then(|(group, rest)| Some((group, counted_text(rest)?.0))).unwrap_or_default();
        At { number, group: self.group(group), topic: topic.into() }
    }

    fn add_row(&mut self, at: &At, partition: i32) -> Owner {
        let row = self.keys.len() as u32;
        self.keys.push(KeyRow { group: at.group, topic: at.topic.clone(), partition, sum: Sum::default() });
        Owner::Row(row)
    }

    /// Adds to all that is counted by owner.
    fn add(&mut self, owner: Owner, sum: &Sum, counted: &mut Counted) {
        let group = match owner {
            Owner::Nobody => return counted.ungrouped.add(sum),
            Owner::Group(group) => group,
            Owner::Row(row) => {
                let Some(row) = self.keys.get_mut(row as usize) else { return };
                row.sum.add(sum);
                row.group
            }
        };
        if let Some((_, of_group)) = self.groups.get_mut(group as usize) {
            of_group.add(sum);
        }
    }

    /// Adds what stays of somebody's.
    #[inline]
    pub(super) fn add_live(&mut self, owner: Owner, more: Live, counted: &mut Counted) {
        let (lives, number) = match owner {
            Owner::Nobody => return counted.ungrouped.add_live(more),
            Owner::Group(group) => (&mut self.live_of_groups, group as usize),
            Owner::Row(row) => (&mut self.live_of_rows, row as usize),
        };
        if number >= lives.len() {
            lives.resize(number + 1, Live::default());
        }
        if let Some(live) = lives.get_mut(number) {
            live.add(more);
        }
    }

    /// The groups and the rows, when all is counted.
    pub(super) fn finish(mut self) -> (Vec<NamedSum>, Vec<KeyRow>) {
        for (row, live) in self.keys.iter_mut().zip(self.live_of_rows) {
            row.sum.add_live(live);
            if let Some((_, of_group)) = self.groups.get_mut(row.group as usize) {
                of_group.add_live(live);
            }
        }
        for ((_, of_group), live) in self.groups.iter_mut().zip(self.live_of_groups) {
            of_group.add_live(live);
        }
        (self.groups, self.keys)
    }

    /// Whose a committed offset is, by the number of its group and topic.
    pub(super) fn owner_of_commit(&self, (number, partition): (u32, i32)) -> Option<Owner> {
        let from = *self.starts.get(number as usize)? as usize;
        let to = self.starts.get(number as usize + 1).map_or(self.keys.len(), |next| *next as usize);
        let at = self.keys.get(from..to)?.binary_search_by_key(&partition, |row| row.partition).ok()?;
        Some(Owner::Row((from + at) as u32))
    }

    /// Whose a record of any other key is: every key that can be read begins with its group, behind the type.
    pub(super) fn owner_of_other(&mut self, key: &[u8]) -> Owner {
        match Key::decode(key).ok().and_then(|_| counted_text(key.get(2..)?)) {
            Some((group, _)) => Owner::Group(self.group(group)),
            None => Owner::Nobody,
        }
    }

    /// The number of a group, which is made if it is not there.
    fn group(&mut self, name: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(name);
        let groups = &self.groups;
        let same = |number: &u32| groups.get(*number as usize).is_some_and(|(it, _)| **it == *name);
        if let Some(found) = self.by_name.find(hash, same) {
            return *found;
        }
        let number = self.groups.len() as u32;
        self.groups.push((name.into(), Sum::default()));
        let (hasher, groups) = (&self.hasher, &self.groups);
        let hash_of = |number: &u32| hasher.hash_one(groups.get(*number as usize).map_or(&[][..], |(it, _)| it));
        self.by_name.insert_unique(hash, number, hash_of);
        number
    }
}

/// The group and topic at hand.
struct At {
    number: u32,
    group: u32,
    topic: Arc<[u8]>,
}

/// The place of a key's type in [`Counted::types`].
#[inline(always)]
pub(super) fn type_of(key: &[u8]) -> usize {
    match key {
        [0, number, ..] => usize::from(*number).min(TYPES - 1),
        _ => TYPES - 1,
    }
}

/// A string behind its length of two bytes, and what follows.
fn counted_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))
}
