//! Rows by group, and by group, topic and partition: made of what was counted by key.
//!
//! Must not know: batches.

use super::slot::KeySum;
use crate::model::stats::{Counted, KeyRow, Live, NamedSum, Sum, TYPES};
use crate::rewrite::compact::keys::{KeyPlace, Keys};
use crate::rewrite::compact::slot::{NONE, Slot, Winner};
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
    /// By the number of group and topic: where its rows begin.
    starts: Vec<u32>,
    /// The partition of every row, ascending within those of a group and topic.
    partitions: Vec<i32>,
    /// What stays of rows, and of groups besides.
    live_of_rows: Vec<Live>,
    live_of_groups: Vec<Live>,
    /// Whose the last records of keys are, by offset: as far as that can be told by keys as they stand.
    owners: Vec<Option<Owner>>,
}

impl Rows {
    /// Numbers the rows of all commits, and adds what was counted of other keys, by type too. The last records of keys, by
    /// offset.
    pub(super) fn number(&mut self, keys: &Keys<KeySum>, counted: &mut Counted) -> Vec<Winner> {
        let mut owners = Vec::with_capacity(keys.len());
        let mut known = |last: Winner, owner| {
            if last != NONE {
                owners.push((last, owner));
            }
        };
        for (number, _, partition, slot) in keys.commits() {
            let mut owner = None;
            if slot.records() > 0 {
                if number as usize >= self.starts.len() {
                    self.starts.resize(number as usize + 1, self.partitions.len() as u32);
                }
                owner = Some(Owner::Row(self.partitions.len() as u32));
                self.partitions.push(partition);
            }
            known(slot.last(), owner);
        }
        for (key, slot) in keys.others() {
            let sum = slot.sum();
            let owner = if sum.records > 0 { Some(self.owner_of_other(key)) } else { None };
            known(slot.last(), owner);
            let Some(owner) = owner else { continue };
            self.of_owner(owner, counted).add(&sum);
            if let Some(of_type) = counted.types.get_mut(type_of(key)) {
                of_type.add(&sum);
            }
        }
        owners.sort_unstable_by_key(|(last, _)| last.offset);
        self.owners = owners.iter().map(|(_, owner)| *owner).collect();
        let mut winners: Vec<_> = owners.into_iter().map(|(last, _)| last).collect();
        // They took the room over.
        winners.shrink_to_fit();
        winners
    }

    /// What is counted of whoever has no rows.
    fn of_owner<'r>(&'r mut self, owner: Owner, counted: &'r mut Counted) -> &'r mut Sum {
        let group = if let Owner::Group(group) = owner { self.groups.get_mut(group as usize) } else { None };
        group.map_or(&mut counted.ungrouped, |(_, sum)| sum)
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

    /// Forgets whose the last records are.
    pub(super) fn forget_owners(&mut self) {
        self.owners = Vec::new();
    }

    /// Whose the record is that is the last of its key, of so many before it.
    #[inline]
    pub(super) fn owner_of_last(&self, number: usize) -> Option<Owner> {
        *self.owners.get(number)?
    }

    /// The groups and the rows, and all commits by type, as if all were of type 1: when all is counted.
    pub(super) fn finish(mut self, keys: &Keys<KeySum>, counted: &mut Counted) -> Sum {
        let mut commits = Sum::default();
        let mut rows: Vec<KeyRow> = Vec::with_capacity(self.partitions.len());
        self.forget_owners();
        let mut lives = std::mem::take(&mut self.live_of_rows).into_iter();
        let mut at: (u32, u32, Arc<[u8]>) = (u32::MAX, 0, Arc::default());
        for (number, bytes, partition, slot) in keys.commits().filter(|(.., slot)| slot.records() > 0) {
            if number != at.0 {
                let texts = bytes.get(2..).and_then(counted_text);
                let texts = texts.and_then(|(group, rest)| Some((group, counted_text(rest)?.0)));
                let (group, topic) = texts.unwrap_or_default();
                at = (number, self.group(group), topic.into());
            }
            let mut sum = slot.sum();
            sum.add_live(lives.next().unwrap_or_default());
            commits.add(&sum);
            if let Some((_, of_group)) = self.groups.get_mut(at.1 as usize) {
                of_group.add(&sum);
            }
            rows.push(KeyRow { group: at.1, topic: at.2.clone(), partition, sum });
        }
        for ((_, of_group), live) in self.groups.iter_mut().zip(self.live_of_groups) {
            of_group.add_live(live);
        }
        (counted.groups, counted.keys) = (self.groups, rows);
        commits
    }

    /// Whose a committed offset is, by the number of its group and topic.
    pub(super) fn owner_of_commit(&self, (number, partition): KeyPlace) -> Option<Owner> {
        let from = *self.starts.get(number as usize)? as usize;
        let to = self.starts.get(number as usize + 1).map_or(self.partitions.len(), |next| *next as usize);
        let at = self.partitions.get(from..to)?.binary_search(&partition).ok()?;
        Some(Owner::Row((from + at) as u32))
    }

    /// Whose a record of any other key is: every key that can be read begins with its group, behind the type.
    pub(super) fn owner_of_other(&mut self, key: &[u8]) -> Owner {
        let can_be_read = Key::type_of_whole(key).is_some() || Key::decode(key).is_ok();
        match key.get(2..).filter(|_| can_be_read).and_then(counted_text) {
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
