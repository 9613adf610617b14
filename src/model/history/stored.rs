//! The committed offsets of a group, one by one: where each stood before, and whether a new one is out of the ordinary.
//!
//! Must not know: how commits are told.

use super::event::Flag;
use crate::model::view::Commit;
use std::collections::BTreeMap;

/// A jump is farther than this many times the median of the steps before it, ...
const JUMP_TIMES: i64 = 10;
/// ... farther than this, ...
const JUMP_LEAST: i64 = 1000;
/// ... and has at least this many steps before it to be measured by.
const FEWEST_STEPS: usize = 3;
/// The median is that of the last forward steps, up to this many.
const MOST_STEPS: usize = 31;

/// A committed offset.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The commit.
    pub offset: i64,
    /// When, in milliseconds since 1970.
    pub commit_timestamp: i64,
    /// When it expires by itself.
    pub expire_timestamp: Option<i64>,
    /// Its record.
    pub log_offset: i64,
    /// The last forward steps, the oldest overwritten first.
    steps: Vec<i64>,
    next: usize,
}

/// All of a group.
#[derive(Debug, Default)]
pub struct StoredOffsets {
    topics: BTreeMap<Vec<u8>, BTreeMap<i32, Stored>>,
}

impl StoredOffsets {
    /// What is stored.
    pub fn get(&self, topic: &[u8], partition: i32) -> Option<&Stored> {
        self.topics.get(topic)?.get(&partition)
    }

    /// Removes one.
    pub fn remove(&mut self, topic: &[u8], partition: i32) -> Option<Stored> {
        let partitions = self.topics.get_mut(topic)?;
        let removed = partitions.remove(&partition);
        if partitions.is_empty() {
            self.topics.remove(topic);
        }
        removed
    }

    /// Stores a commit: the offset that stood there, and what is remarkable.
    pub fn put(&mut self, topic: &[u8], partition: i32, commit: &Commit) -> (Option<i64>, Flag) {
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.to_vec(), BTreeMap::new());
        }
        let Some(partitions) = self.topics.get_mut(topic) else { return (None, Flag::Usual) };
        let Some(stored) = partitions.get_mut(&partition) else {
            let first = Stored {
                offset: commit.offset,
                commit_timestamp: commit.commit_timestamp,
                expire_timestamp: commit.expire_timestamp,
                log_offset: commit.log_offset,
                steps: Vec::new(),
                next: 0,
            };
            partitions.insert(partition, first);
            return (None, Flag::Usual);
        };
        let before = stored.offset;
        let flag = stored.judge(commit.offset);
        stored.offset = commit.offset;
        stored.commit_timestamp = commit.commit_timestamp;
        stored.expire_timestamp = commit.expire_timestamp;
        stored.log_offset = commit.log_offset;
        (Some(before), flag)
    }
}

impl Stored {
    fn judge(&mut self, offset: i64) -> Flag {
        let step = offset.saturating_sub(self.offset);
        if step < 0 {
            return Flag::Rewind;
        }
        let jump = step > JUMP_LEAST && self.median().is_some_and(|median| step > median.saturating_mul(JUMP_TIMES));
        if step > 0 {
            match self.steps.get_mut(self.next) {
                Some(room) => *room = step,
                None => self.steps.push(step),
            }
            self.next = (self.next + 1) % MOST_STEPS;
        }
        if jump { Flag::Jump } else { Flag::Usual }
    }

    fn median(&self) -> Option<i64> {
        if self.steps.len() < FEWEST_STEPS {
            return None;
        }
        let mut steps = self.steps.clone();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(offset: i64) -> Commit {
        Commit {
            offset,
            leader_epoch: -1,
            metadata: Vec::new(),
            commit_timestamp: 0,
            expire_timestamp: None,
            topic_id: None,
            version: 3,
            log_offset: 0,
        }
    }

    #[test]
    fn rewinds_and_jumps() {
        let mut all = StoredOffsets::default();
        let mut put = |offset| all.put(b"t", 0, &commit(offset));
        assert_eq!(put(10), (None, Flag::Usual));
        assert_eq!(put(20), (Some(10), Flag::Usual));
        assert_eq!(put(20), (Some(20), Flag::Usual));
        // Only one step to measure by.
        assert_eq!(put(5000), (Some(20), Flag::Usual));
        assert_eq!(put(5), (Some(5000), Flag::Rewind));
        assert_eq!(put(115), (Some(5), Flag::Usual));
        // The steps were 10, 4980 and 110: ten times their median is 1100.
        assert_eq!(put(1215), (Some(115), Flag::Usual));
        assert_eq!(put(12_216), (Some(1215), Flag::Jump));
    }
}
