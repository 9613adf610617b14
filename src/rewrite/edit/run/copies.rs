//! In which old logs a group stands, while logs are merged: it should be one, the one that it hashes to; and of which of
//! them each key has its last record.
//!
//! Must not know: where groups go to.

use crate::model::partitioner::partition_of;
use crate::rewrite::edit::drops::group_of;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What of a group stands in one old log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copy {
    /// Records of it that stay.
    pub records: u64,
    /// Keys of it whose last record is from there; as many as it has, where nobody else has any.
    pub keys: u64,
}

/// A group that stands where it does not hash to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// Its name in the input.
    pub group: Vec<u8>,
    /// The partition that it hashes to among the old ones; None if their count is not known.
    pub home: Option<i32>,
    /// What stands where, by old partition.
    pub copies: BTreeMap<i32, Copy>,
}

/// Groups, and the old logs in which they stand.
#[derive(Debug, Default)]
pub struct Copies {
    groups: HashMap<Box<[u8]>, BTreeMap<usize, u64>, RandomState>,
}

impl Copies {
    /// A record that stays.
    pub(super) fn record(&mut self, feed: usize, key: Option<&[u8]>) {
        let Some(group) = key.and_then(group_of) else { return };
        match self.groups.get_mut(group) {
            Some(logs) => *logs.entry(feed).or_default() += 1,
            None => drop(self.groups.insert(group.into(), BTreeMap::from([(feed, 1)]))),
        }
    }

    /// Groups that stand in several logs.
    pub fn in_several(&self) -> BTreeSet<Vec<u8>> {
        self.groups.iter().filter(|(_, logs)| logs.len() > 1).map(|(group, _)| group.to_vec()).collect()
    }

    /// Groups that stand where they do not hash to, if the old topic had `count` partitions. That count is not believed if
    /// most groups disagree; then only those are told that stand in several.
    pub fn misplaced(&self, partitions: &[i32], count: i32, last: &LastOf) -> Vec<Misplaced> {
        let number = |feed: &usize| partitions.get(*feed).copied().unwrap_or_default();
        let pairs = || self.groups.iter().flat_map(|(group, logs)| logs.keys().map(move |feed| (group, feed)));
        let fits = pairs().filter(|(group, feed)| partition_of(group, count) == number(feed)).count();
        let is_known = 2 * fits >= pairs().count();
        let mut all: Vec<Misplaced> = Vec::new();
        for (group, logs) in &self.groups {
            let home = is_known.then(|| partition_of(group, count));
            // Two copies of one partition are no two places.
            let places: BTreeSet<i32> = logs.keys().map(number).collect();
            if places.len() == 1 && home.is_none_or(|home| places.contains(&home)) {
                continue;
            }
            let keys = |feed: &usize| last.counts.get(&group[..]).and_then(|it| it.get(feed)).copied().unwrap_or(0);
            let mut copies: BTreeMap<i32, Copy> = BTreeMap::new();
            for (feed, records) in logs {
                let copy = copies.entry(number(feed)).or_default();
                (copy.records, copy.keys) = (copy.records + records, copy.keys + keys(feed));
            }
            all.push(Misplaced { group: group.to_vec(), home, copies });
        }
        all.sort_by(|a, b| a.group.cmp(&b.group));
        all
    }
}

/// By group and old log, how many keys have their last record from there.
#[derive(Debug, Default)]
pub struct LastOf {
    counts: BTreeMap<Vec<u8>, BTreeMap<usize, u64>>,
}

/// Watches some groups for it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    groups: BTreeSet<Vec<u8>>,
    last: HashMap<Vec<u8>, usize, RandomState>,
    /// Keys of transactions that have not ended, by old log and producer.
    waiting: HashMap<(usize, i64), Vec<Vec<u8>>, RandomState>,
}

impl Watch {
    pub(super) fn new(groups: BTreeSet<Vec<u8>>) -> Self {
        Watch { groups, ..Watch::default() }
    }

    /// A record that stays; of a producer, if it is part of a transaction.
    pub(super) fn record(&mut self, feed: usize, key: Option<&[u8]>, producer: Option<i64>) {
        let Some(key) = key.filter(|key| group_of(key).is_some_and(|group| self.groups.contains(group))) else {
            return;
        };
        match producer {
            Some(producer) => self.waiting.entry((feed, producer)).or_default().push(key.to_vec()),
            None => drop(self.last.insert(key.to_vec(), feed)),
        }
    }

    /// A transaction ends.
    pub(super) fn end(&mut self, feed: usize, producer: i64, is_commit: bool) {
        let keys = self.waiting.remove(&(feed, producer)).unwrap_or_default();
        if is_commit {
            self.last.extend(keys.into_iter().map(|key| (key, feed)));
        }
    }

    pub(super) fn finish(self) -> LastOf {
        let mut last_of = LastOf::default();
        for (key, feed) in self.last {
            if let Some(group) = group_of(&key) {
                *last_of.counts.entry(group.to_vec()).or_default().entry(feed).or_default() += 1;
            }
        }
        last_of
    }
}
