//! Commits in the order of the log: which go back, which leap, which repeat what stands there.
//!
//! Commits of a transaction count when it is committed, in the place of its marker. Of a key only the last commit is kept,
//! of a group sums and the worst step of each kind. Must not know: what is odd.

use crate::log::Record;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A commit or its tombstone.
pub struct Said<'r> {
    /// The group.
    pub group: &'r [u8],
    /// The key without its type: types 0 and 1 name the same thing.
    pub key: &'r [u8],
    /// The record.
    pub record: &'r Record<'r>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its commits count.
    Commit,
    /// They do not.
    Abort,
}

/// What a commit says, as far as it is watched.
#[derive(Debug, Clone, Copy)]
struct What {
    offset: i64,
    /// -1 unknown.
    leader_epoch: i32,
    /// Of its record, in the log.
    log_offset: i64,
    /// Of its record, in ms since 1970; -1 for none.
    timestamp: i64,
    /// Of key and value.
    bytes: u64,
}

/// The last commit of a key, and how far its commits have come.
#[derive(Debug, Clone, Copy)]
struct Track {
    last: What,
    /// Commits that went forward, and how far in all.
    forward: (u32, u64),
    /// The highest leader epoch of any, and the lowest offset committed under it. -1 for none.
    highest: (i32, i64),
}

impl Track {
    fn sees(&mut self, what: &What) {
        let (epoch, offset) = self.highest;
        if what.leader_epoch > epoch {
            self.highest = (what.leader_epoch, what.offset);
        } else if what.leader_epoch == epoch {
            self.highest.1 = offset.min(what.offset);
        }
    }
}

/// A step from one commit of a key to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The key, without its type: group, topic, partition.
    pub key: Vec<u8>,
    /// The offsets before and after.
    pub offsets: (i64, i64),
    /// The leader epochs before and after.
    pub leader_epochs: (i32, i32),
    /// Of the later record, in the log.
    pub log_offset: i64,
    /// Of the later record, in ms since 1970; -1 for none.
    pub timestamp: i64,
}

impl Step {
    /// Topic and partition.
    pub fn topic_partition(&self) -> Option<(&[u8], i32)> {
        let (names, partition) = self.key.split_last_chunk::<4>()?;
        let (len, rest) = names.split_first_chunk::<2>()?;
        let topic = rest.get(usize::from(u16::from_be_bytes(*len)) + 2..)?;
        Some((topic, i32::from_be_bytes(*partition)))
    }

    /// How far it goes.
    pub fn width(&self) -> u64 {
        self.offsets.0.abs_diff(self.offsets.1)
    }
}

/// Steps of one kind: how many, and the widest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    /// How many.
    pub count: u64,
    /// The widest, the first of those.
    pub worst: Option<Box<Step>>,
}

impl Steps {
    fn add(&mut self, step: Step) {
        self.count += 1;
        if self.worst.as_ref().is_none_or(|worst| worst.width() < step.width()) {
            self.worst = Some(Box::new(step));
        }
    }
}

/// What a group's commits come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupCommits {
    /// Keys that have a commit now.
    keys: u64,
    /// Commits met.
    pub commits: u64,
    /// Those that said again what stood there.
    pub unchanged: u64,
    /// Bytes of keys and values of those.
    pub unchanged_bytes: u64,
    /// Times of the first and the last, in ms since 1970.
    pub times: Option<(i64, i64)>,
    /// Commits that went back while the group had no members.
    pub rewinds: Steps,
    /// Commits that went back while it had.
    pub live_rewinds: Steps,
    /// Commits that leapt.
    pub jumps: Steps,
    /// Commits that went forward under a lower leader epoch.
    pub epochs_behind: Steps,
}

/// A step this wide may be a leap.
const LEAP: u64 = 1_000_000;
/// It is one if it is so many times what the key's steps were before.
const LEAP_TIMES: u64 = 1000;

/// Commits of one transaction, by key.
type Pending = HashMap<Box<[u8]>, What, FixedState>;

/// All of them.
#[derive(Debug, Default)]
pub struct Commits {
    keys: HashMap<Box<[u8]>, Track, FixedState>,
    groups: HashMap<Box<[u8]>, GroupCommits, FixedState>,
    pending: HashMap<i64, Pending, FixedState>,
}

impl Commits {
    /// What the commits of a group come to, if any is left.
    pub fn group(&self, name: &[u8]) -> Option<&GroupCommits> {
        self.groups.get(name)
    }

    /// The leader epoch of a key's last commit, and the higher one of a commit that stood below it. None unless there was
    /// such a one: epochs only rise along a log.
    pub fn epoch_behind(&self, group: &[u8], topic: &[u8], partition: i32) -> Option<(i32, i32)> {
        let mut key = Vec::new();
        for name in [group, topic] {
            key.extend_from_slice(&u16::try_from(name.len()).ok()?.to_be_bytes());
            key.extend_from_slice(name);
        }
        key.extend_from_slice(&partition.to_be_bytes());
        let track = self.keys.get(key.as_slice())?;
        let ((highest, below), last) = (track.highest, track.last);
        let behind = last.leader_epoch >= 0 && last.leader_epoch < highest && last.offset > below;
        behind.then_some((last.leader_epoch, highest))
    }

    /// A commit or a tombstone. `lively` says whether a group has members now.
    pub fn record(&mut self, said: &Said<'_>, producer_id: i64, lively: &dyn Fn(&[u8]) -> bool) {
        let record = said.record;
        let Some(value) = record.value else { return self.forget(said) };
        let Some((offset, leader_epoch)) = read(value) else { return };
        let bytes = (said.key.len() + 2 + value.len()) as u64;
        let what = What { offset, leader_epoch, log_offset: record.offset, timestamp: record.timestamp, bytes };
        if producer_id == -1 {
            self.put(said.group, said.key, what, lively);
        } else {
            self.pending.entry(producer_id).or_default().insert(said.key.into(), what);
        }
    }

    /// The end of a transaction.
    pub fn end(&mut self, producer_id: i64, ending: Ending, lively: &dyn Fn(&[u8]) -> bool) {
        let Some(pending) = self.pending.remove(&producer_id).filter(|_| ending == Ending::Commit) else { return };
        let mut pending: Vec<_> = pending.into_iter().collect();
        pending.sort_unstable_by_key(|(_, what)| what.log_offset);
        for (key, what) in pending {
            // A later record of the key stands.
            let later = self.keys.get(&key).is_some_and(|track| track.last.log_offset > what.log_offset);
            if let (false, Some(group)) = (later, group_of(&key)) {
                self.put(group, &key, what, lively);
            }
        }
    }

    fn forget(&mut self, said: &Said<'_>) {
        if self.keys.remove(said.key).is_none() {
            return;
        }
        let empty = self.groups.get_mut(said.group).is_some_and(|group| {
            group.keys = group.keys.saturating_sub(1);
            group.keys == 0
        });
        if empty {
            self.groups.remove(said.group);
        }
    }

    fn put(&mut self, group: &[u8], key: &[u8], what: What, lively: &dyn Fn(&[u8]) -> bool) {
        let sums = match self.groups.get_mut(group) {
            Some(sums) => sums,
            None => self.groups.entry(group.into()).or_default(),
        };
        sums.commits += 1;
        if what.timestamp >= 0 {
            let (first, _) = sums.times.unwrap_or((what.timestamp, what.timestamp));
            sums.times = Some((first, what.timestamp));
        }
        let Some(track) = self.keys.get_mut(key) else {
            sums.keys += 1;
            let highest = (what.leader_epoch, what.offset);
            self.keys.insert(key.into(), Track { last: what, forward: (0, 0), highest });
            return;
        };
        step(sums, track, key, what, || lively(group));
        track.sees(&what);
        track.last = what;
    }
}

/// What a step from a key's last commit to this one is.
fn step(sums: &mut GroupCommits, track: &mut Track, key: &[u8], what: What, lively: impl Fn() -> bool) {
    let before = track.last;
    let step = || Step {
        key: key.to_vec(),
        offsets: (before.offset, what.offset),
        leader_epochs: (before.leader_epoch, what.leader_epoch),
        log_offset: what.log_offset,
        timestamp: what.timestamp,
    };
    if what.offset == before.offset {
        sums.unchanged += 1;
        sums.unchanged_bytes += what.bytes;
    } else if what.offset < before.offset {
        if lively() { sums.live_rewinds.add(step()) } else { sums.rewinds.add(step()) }
    } else {
        let width = what.offset.abs_diff(before.offset);
        let (steps, way) = track.forward;
        let usual = way / u64::from(steps.max(1));
        if steps > 0 && width >= LEAP && width / LEAP_TIMES >= usual.max(1) {
            sums.jumps.add(step());
        }
        track.forward = (steps.saturating_add(1), way.saturating_add(width));
        if what.leader_epoch >= 0 && what.leader_epoch < before.leader_epoch {
            sums.epochs_behind.add(step());
        }
    }
}

/// The group in a key without its type.
fn group_of(key: &[u8]) -> Option<&[u8]> {
    let (len, rest) = key.split_first_chunk::<2>()?;
    rest.get(..usize::from(u16::from_be_bytes(*len)))
}

/// Offset and leader epoch of a value: they stand in front in every version, the epoch from version 3 on.
fn read(value: &[u8]) -> Option<(i64, i32)> {
    let (version, rest) = value.split_first_chunk::<2>()?;
    let version = i16::from_be_bytes(*version);
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let epoch = match version {
        0..=2 => -1,
        3 | 4 => i32::from_be_bytes(*rest.first_chunk::<4>()?),
        _ => return None,
    };
    Some((i64::from_be_bytes(*offset), epoch))
}
