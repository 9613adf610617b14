//! A look over all groups of all partitions, before any is judged.
//!
//! Must not know: what is odd.

use super::families::{Family, Names};
use super::privacy::Hosts;
use crate::audit::settings::Settings;
use crate::audit::watch::Watch;
use crate::model::assemble::Groups;
use crate::model::partitioner::{DEFAULT_PARTITIONS, partition_of};
use crate::model::replay::State;
use crate::model::topics::Topics;
use crate::schema::wire::Uuid;
use std::collections::{BTreeMap, BTreeSet};

/// The look, in the making.
#[derive(Debug, Default)]
pub struct Survey {
    names: Names,
    hosts: Hosts,
    /// Of the newest commit with an id, by topic: its time and log offset.
    ids: BTreeMap<Vec<u8>, ((i64, i64), Uuid)>,
    /// Groups and the partition each lies in.
    placed: Vec<(Vec<u8>, i32)>,
    /// Numbers of the partitions that lie in the log dirs.
    folders: BTreeSet<i32>,
}

/// Whether the groups of a partition were counted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// They were not.
    Anew,
    /// They were, in a copy of it.
    Before,
}

/// What came of it.
#[derive(Debug)]
pub struct Surveyed {
    /// Groups of like names.
    pub(super) families: BTreeMap<String, Family>,
    /// Hosts that members connect from.
    pub(super) hosts: Hosts,
    /// The current id of a topic, as the newest commit has it.
    pub(super) ids: BTreeMap<Vec<u8>, Uuid>,
    /// How many partitions there are, and how that is known.
    pub(super) partitions: Option<(i32, &'static str)>,
    /// How many groups there are.
    pub groups: u64,
}

/// To take the number of partitions from where groups lie, so many of ten must agree,
const MOST_OF_TEN: usize = 8;
/// and so many at least.
const AT_LEAST: usize = 5;
/// No cluster has more partitions of this topic.
const MOST_PARTITIONS: i32 = 2000;

impl Survey {
    /// The folders of `__consumer_offsets` in a log dir.
    pub fn folders(&mut self, numbers: impl IntoIterator<Item = i32>) {
        self.folders.extend(numbers);
    }

    /// Looks over the groups of a partition.
    pub fn partition(
        &mut self,
        partition: Option<i32>,
        counting: Counting,
        state: &State,
        watch: &Watch,
        topics: &Topics,
        settings: &Settings,
    ) {
        let all = Groups::of(state);
        let members_before = self.hosts.members();
        for name in all.names() {
            let Some(group) = all.group(name, topics).filter(|group| !group.is_shell()) else { continue };
            let one =
                super::OneGroup { group: &group, records: Vec::new(), turns: watch.turns.group(name), commits: None };
            if counting == Counting::Anew {
                self.names.add(&one, settings);
            }
            group.members.iter().for_each(|member| self.hosts.add(&member.client_host));
            if let Some(partition) = partition {
                self.placed.push((name.to_vec(), partition));
            }
            for offset in &group.offsets {
                let Some((commit, id)) = offset.committed.as_ref().and_then(|it| Some((it, it.topic_id?))) else {
                    continue;
                };
                let at = (commit.commit_timestamp, commit.log_offset);
                if self.ids.get(&offset.topic).is_none_or(|(newest, _)| *newest < at) {
                    self.ids.insert(offset.topic.clone(), (at, id));
                }
            }
        }
        self.hosts.end_partition(members_before);
    }

    /// What came of it.
    pub fn finish(self, settings: &Settings) -> Surveyed {
        Surveyed {
            partitions: settings.offsets_partitions.map(|n| (n, "as given")).or_else(|| self.partitions()),
            groups: self.names.groups(),
            families: self.names.finish(),
            hosts: self.hosts,
            ids: self.ids.into_iter().map(|(topic, (_, id))| (topic, id)).collect(),
        }
    }

    /// A broker need not have all partitions, so the folders tell only if none is missing and there are no fewer than the
    /// default. Else it is the number by which most groups lie where they belong.
    fn partitions(&self) -> Option<(i32, &'static str)> {
        let least = self.folders.last().map_or(0, |last| last.saturating_add(1));
        if least >= DEFAULT_PARTITIONS && self.folders.len() == least as usize && self.folders.first() == Some(&0) {
            return Some((least, "by the folders"));
        }
        let fits = |n: i32| self.placed.iter().filter(|(name, at)| partition_of(name, n) == *at).count();
        let candidates = [DEFAULT_PARTITIONS].into_iter().chain(1..=MOST_PARTITIONS).filter(|n| *n >= least.max(1));
        let mut best = (0, 0);
        // Only the first groups vote: each costs a hash for every candidate.
        for n in candidates {
            let fitting = self.vote(n);
            if fitting > best.0 {
                best = (fitting, n);
            }
        }
        let (_, n) = best;
        let fitting = if n > 0 { fits(n) } else { 0 };
        (fitting >= AT_LEAST && fitting * 10 >= self.placed.len() * MOST_OF_TEN)
            .then_some((n, "by where most groups lie"))
    }

    fn vote(&self, partitions: i32) -> usize {
        const VOTERS: usize = 200;
        // From all over the list, which is sorted by partition.
        let step = (self.placed.len() / VOTERS).max(1);
        let voters = self.placed.iter().step_by(step);
        voters.filter(|(name, at)| partition_of(name, partitions) == *at).count()
    }
}
