//! Rows by group, and by group, topic and partition: memory grows with them and with nothing else.
//!
//! Must not know: batches.

use super::Sum;
use super::window::Window;
use crate::bytes::is_same;
use crate::hash_index::Index;
use crate::machine::cpu::{prefetch, prefetch_item};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;

/// Partitions up to this number stand in a run, whatever it costs.
const DENSE: usize = 16;
/// No row.
pub(super) const NOBODY: u32 = u32::MAX;

/// What was committed for one topic partition by one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Its number in [`Counted::groups`](super::Counted::groups).
    pub group: u32,
    /// Its number in what the group's topics are told apart by.
    pub(super) prefix: u32,
    /// The topic's name, which need not be UTF-8.
    pub topic: Box<[u8]>,
    /// The topic's partition.
    pub partition: i32,
    /// Its records.
    pub sum: Sum,
    /// The offset that was committed last; None behind a tombstone.
    pub committed: Option<i64>,
}

/// A group and a topic.
#[derive(Debug)]
struct Prefix {
    /// Two counted strings, as they stand in keys.
    bytes: Box<[u8]>,
    group: u32,
    /// Rows by partition.
    run: Vec<u32>,
    live: u32,
}

/// A group and its sum.
pub type NamedSum = (Box<[u8]>, Sum);

/// All rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hasher: RandomState,
    groups: Vec<NamedSum>,
    by_name: HashTable<u32>,
    prefixes: Vec<Prefix>,
    by_prefix: Index,
    rows: Vec<KeyRow>,
    apart: HashMap<(u32, i32), u32, RandomState>,
}

impl Rows {
    /// The groups, each with the sum of its rows and whatever else it got; and the rows.
    pub(super) fn finish(self) -> (Vec<NamedSum>, Vec<KeyRow>) {
        let Rows { mut groups, mut rows, prefixes, .. } = self;
        for row in &mut rows {
            if let Some((_, sum)) = groups.get_mut(row.group as usize) {
                sum.add(&row.sum);
            }
            if let Some(prefix) = prefixes.get(row.prefix as usize) {
                row.topic = topic_of(&prefix.bytes).into();
            }
        }
        (groups, rows)
    }

    pub(super) fn group_sum(&mut self, number: u32) -> Option<&mut Sum> {
        self.groups.get_mut(number as usize).map(|(_, sum)| sum)
    }

    pub(super) fn row(&mut self, number: u32) -> Option<&mut KeyRow> {
        self.rows.get_mut(number as usize)
    }

    /// The number of a group, which is made if it is not there.
    pub(super) fn group(&mut self, name: &[u8]) -> u32 {
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

    /// The hash of a group and a topic; what is known of them is called into the cache.
    #[inline(always)]
    pub(super) fn call(&self, prefix: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(prefix) as u32;
        self.by_prefix.prefetch(hash);
        hash
    }

    /// Looks up the rows of all that waits, which are made if they are not there: one step for all of them, and then the
    /// next, while what that needs is on its way.
    #[inline(never)]
    pub(super) fn find(&mut self, window: &mut Window) {
        for it in &mut window.waiting {
            it.prefix = self.by_prefix.find(it.hash, |_| true).unwrap_or(NOBODY);
            prefetch_item(&self.prefixes, it.prefix as usize);
        }
        for it in &window.waiting {
            if let Some(prefix) = self.prefixes.get(it.prefix as usize) {
                prefetch(&prefix.bytes, 0);
                prefetch(&prefix.bytes, 64);
                prefetch_item(&prefix.run, it.partition as usize);
            }
        }
        for i in 0..window.waiting.len() {
            let Some(&it) = window.waiting.get(i) else { break };
            let row = self.row_of(window.prefix(&it), it.hash, it.prefix, it.partition);
            // A row takes three lines.
            (0..3).for_each(|line| prefetch(&self.rows, row as usize * size_of::<KeyRow>() + 64 * line));
            if let Some(it) = window.waiting.get_mut(i) {
                it.row = row;
            }
        }
    }

    /// The row of a committed offset, of two counted strings and a partition, which are likely those of a number.
    #[inline(always)]
    fn row_of(&mut self, bytes: &[u8], hash: u32, likely: u32, partition: i32) -> u32 {
        let number = match self.prefixes.get(likely as usize) {
            Some(prefix) if is_same(&prefix.bytes, bytes) => likely,
            _ => self.prefix(bytes, hash),
        };
        let run = self.prefixes.get(number as usize).map_or(&[][..], |it| &it.run);
        match usize::try_from(partition).ok().and_then(|i| run.get(i)) {
            Some(row) if *row != NOBODY => *row,
            _ => self.apart_or_new(number, partition),
        }
    }

    fn prefix(&mut self, bytes: &[u8], hash: u32) -> u32 {
        let same = |number: u32| self.prefixes.get(number as usize).is_some_and(|it| *it.bytes == *bytes);
        match self.by_prefix.find(hash, same) {
            Some(found) => found,
            None => self.new_prefix(bytes, hash),
        }
    }

    #[cold]
    fn new_prefix(&mut self, bytes: &[u8], hash: u32) -> u32 {
        let group = self.group(group_of(bytes));
        let number = self.prefixes.len() as u32;
        self.prefixes.push(Prefix { bytes: bytes.into(), group, run: Vec::new(), live: 0 });
        self.by_prefix.add(hash, number);
        number
    }

    #[cold]
    fn apart_or_new(&mut self, number: u32, partition: i32) -> u32 {
        if let Some(row) = self.apart.get(&(number, partition)) {
            return *row;
        }
        let row = self.rows.len() as u32;
        let Some(prefix) = self.prefixes.get_mut(number as usize) else { return NOBODY };
        self.rows.push(KeyRow {
            group: prefix.group,
            prefix: number,
            topic: Box::default(),
            partition,
            sum: Sum::default(),
            committed: None,
        });
        prefix.live += 1;
        // A run grows only as far as what is in it bears out, so that a wild partition number costs nothing.
        match usize::try_from(partition).ok().filter(|i| *i < DENSE.max(4 * prefix.live as usize)) {
            Some(i) => {
                if i >= prefix.run.len() {
                    prefix.run.resize(i + 1, NOBODY);
                }
                if let Some(room) = prefix.run.get_mut(i) {
                    *room = row;
                }
            }
            None => drop(self.apart.insert((number, partition), row)),
        }
        row
    }
}

/// The first of two counted strings.
fn group_of(prefix: &[u8]) -> &[u8] {
    counted(prefix).map_or(&[], |(group, _)| group)
}

/// The second.
fn topic_of(prefix: &[u8]) -> &[u8] {
    counted(prefix).and_then(|(_, rest)| counted(rest)).map_or(&[], |(topic, _)| topic)
}

/// A string behind its length of two bytes, and what follows.
pub(super) fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))
}

#[cfg(test)]
mod tests {
    use super::super::window::Commit;
    use super::*;

    #[test]
    fn rows_are_found_again() {
        let mut rows = Rows::default();
        let key = |rows: &mut Rows, prefix: &[u8], partition: i32| {
            let mut window = Window::default();
            let commit = Commit {
                bytes: 0,
                live: false,
                time: 0,
                has_value: true,
                offset: None,
                record_type: 1,
                producer_id: -1,
            };
            window.push(prefix, partition, commit, |prefix| rows.call(prefix));
            rows.find(&mut window);
            window.waiting[0].row
        };
        let prefix = |group: &str, topic: &str| {
            let text = |text: &str| [&[0, text.len() as u8][..], text.as_bytes()].concat();
            [text(group), text(topic)].concat()
        };
        let partitions = [0, 15, 16, 400, -1, i32::MAX, i32::MIN];
        let mut numbers = Vec::new();
        for round in 0..2 {
            let mut found = Vec::new();
            for (group, topic) in [("a", "t"), ("a", "u"), ("b", "t"), ("", "")] {
                partitions.iter().for_each(|it| found.push(key(&mut rows, &prefix(group, topic), *it)));
            }
            if round == 1 {
                assert_eq!(found, numbers);
            }
            numbers = found;
        }
        // Where a run has grown over one that stands apart, that is still found.
        let first = key(&mut rows, &prefix("c", "t"), 40);
        for partition in 0..30 {
            key(&mut rows, &prefix("c", "t"), partition);
        }
        assert_eq!(key(&mut rows, &prefix("c", "t"), 40), first);
        let (groups, rows) = rows.finish();
        assert_eq!(groups.len(), 4);
        assert_eq!(rows.len(), 28 + 31);
        assert_eq!((&*rows[7].topic, rows[7].group, rows[7].partition), (&b"u"[..], 0, 0));
    }
}
