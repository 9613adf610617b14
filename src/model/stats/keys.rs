//! Rows by group, and by group, topic and partition: memory grows with them and with nothing else.
//!
//! Must not know: batches.

use super::Sum;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;

/// Partitions up to this number stand in a run, whatever it costs.
const DENSE: usize = 16;
/// No row.
const NOBODY: u32 = u32::MAX;

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
    by_prefix: HashTable<u32>,
    last: u32,
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

    /// The number of the row of a committed offset: of the two counted strings in its key, and its partition.
    #[inline(always)]
    pub(super) fn key(&mut self, prefix: &[u8], partition: i32) -> u32 {
        if self.prefixes.get(self.last as usize).is_none_or(|last| *last.bytes != *prefix) {
            self.last = self.prefix(prefix);
        }
        let number = self.last;
        let run = self.prefixes.get(number as usize).map_or(&[][..], |it| &it.run);
        match usize::try_from(partition).ok().and_then(|i| run.get(i)) {
            Some(row) if *row != NOBODY => *row,
            _ => self.apart_or_new(number, partition),
        }
    }

    fn prefix(&mut self, bytes: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(bytes);
        let prefixes = &self.prefixes;
        let same = |number: &u32| prefixes.get(*number as usize).is_some_and(|it| *it.bytes == *bytes);
        match self.by_prefix.find(hash, same) {
            Some(found) => *found,
            None => self.new_prefix(bytes, hash),
        }
    }

    #[cold]
    fn new_prefix(&mut self, bytes: &[u8], hash: u64) -> u32 {
        let group = self.group(group_of(bytes));
        let number = self.prefixes.len() as u32;
        self.prefixes.push(Prefix { bytes: bytes.into(), group, run: Vec::new(), live: 0 });
        let (hasher, prefixes) = (&self.hasher, &self.prefixes);
        let hash_of = |number: &u32| hasher.hash_one(prefixes.get(*number as usize).map_or(&[][..], |it| &it.bytes));
        self.by_prefix.insert_unique(hash, number, hash_of);
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
    use super::*;

    #[test]
    fn rows_are_found_again() {
        let mut rows = Rows::default();
        let prefix = |group: &str, topic: &str| {
            let text = |text: &str| [&[0, text.len() as u8][..], text.as_bytes()].concat();
            [text(group), text(topic)].concat()
        };
        let partitions = [0, 15, 16, 400, -1, i32::MAX, i32::MIN];
        let mut numbers = Vec::new();
        for round in 0..2 {
            let mut found = Vec::new();
            for (group, topic) in [("a", "t"), ("a", "u"), ("b", "t"), ("", "")] {
                partitions.iter().for_each(|partition| found.push(rows.key(&prefix(group, topic), *partition)));
            }
            if round == 1 {
                assert_eq!(found, numbers);
            }
            numbers = found;
        }
        // Where a run has grown over one that stands apart, that is still found.
        let first = rows.key(&prefix("c", "t"), 40);
        for partition in 0..30 {
            rows.key(&prefix("c", "t"), partition);
        }
        assert_eq!(rows.key(&prefix("c", "t"), 40), first);
        let (groups, rows) = rows.finish();
        assert_eq!(groups.len(), 4);
        assert_eq!(rows.len(), 28 + 31);
        assert_eq!((&*rows[7].topic, rows[7].group, rows[7].partition), (&b"u"[..], 0, 0));
    }
}
