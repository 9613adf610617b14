//! Records that one log lacks within its range: which of them its cleaner may have taken, and which are missing.
//!
//! Records come in log order, from both logs. Those of a transaction wait for its end marker: what was aborted explains
//! nothing, and need not be explained.
//! Must not know: how the logs are walked.

use super::stream::Opened;
use super::{Keyed, OnlyIn, Pair, Side};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The offsets of so many missing records are told.
const MOST_TOLD: usize = 10;

/// A record that only one log holds.
pub(super) struct Lone<'a> {
    pub side: Side,
    pub record: Opened<'a>,
}

/// What is yet to be explained.
#[derive(Default)]
pub(super) struct Missing {
    /// By key, the last record that only one log holds, as long as no later record has that key.
    unexplained: Keyed<(Side, i64)>,
    /// Records of transactions, by producer, until their end marker.
    held: HashMap<i64, Vec<Held>, FixedState>,
    /// By key of those: how many they are, and the greatest offset at which another record of that key was met since. A
    /// later record outdoes an earlier one, also where the earlier one's transaction ends behind it.
    outdone: Keyed<(u32, i64)>,
}

struct Held {
    key: Option<Box<[u8]>>,
    offset: i64,
    lone: Option<Side>,
    tombstone: bool,
}

impl Missing {
    /// Whether a record to come may explain something.
    pub fn is_waiting(&self) -> bool {
        !self.unexplained.is_empty() || !self.held.is_empty()
    }

    /// A record that both logs hold.
    pub fn common(&mut self, record: &Opened<'_>, only_in: &mut Pair<OnlyIn>) {
        if self.is_waiting() {
            self.note(record, None, only_in);
        }
    }

    /// A record behind the other log's end.
    pub fn later(&mut self, record: &Opened<'_>, only_in: &mut Pair<OnlyIn>) {
        self.common(record, only_in);
    }

    /// A record that the other log lacks within its range.
    pub fn lone(&mut self, lone: Lone<'_>, only_in: &mut Pair<OnlyIn>) {
        self.note(&lone.record, Some(lone.side), only_in);
    }

    fn note(&mut self, record: &Opened<'_>, lone: Option<Side>, only_in: &mut Pair<OnlyIn>) {
        let header = record.site.header();
        if header.control {
            // An end marker may go once the data of its transaction has gone.
            compacted(lone, only_in);
            let committed = record.key.as_deref().and_then(|key| key.get(2..4)) == Some(&[0, 1]);
            return self.end(header.producer_id, committed, only_in);
        }
        let held = Held { key: record.key.clone(), offset: record.offset, lone, tombstone: record.value.is_none() };
        if header.transactional {
            if let Some(key) = &held.key {
                self.outdone.entry(key.clone()).or_insert((0, i64::MIN)).0 += 1;
            }
            self.held.entry(header.producer_id).or_default().push(held);
        } else {
            self.apply(held, only_in);
        }
    }

    fn end(&mut self, producer_id: i64, committed: bool, only_in: &mut Pair<OnlyIn>) {
        for held in self.held.remove(&producer_id).unwrap_or_default() {
            let is_outdone = self.is_outdone(&held);
            if committed && !is_outdone {
                self.apply(held, only_in);
            } else {
                compacted(held.lone, only_in);
            }
        }
    }

    /// Takes a record's key off those that are held; whether a later record of it was met meanwhile.
    fn is_outdone(&mut self, record: &Held) -> bool {
        let Some(key) = &record.key else { return false };
        let Some((count, offset)) = self.outdone.get_mut(key) else { return false };
        let is_outdone = *offset > record.offset;
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.outdone.remove(key);
        }
        is_outdone
    }

    fn apply(&mut self, record: Held, only_in: &mut Pair<OnlyIn>) {
        // A record without a key means nothing, and the cleaner drops it.
        let Some(key) = record.key else { return compacted(record.lone, only_in) };
        if let Some((_, offset)) = self.outdone.get_mut(&key) {
            *offset = record.offset.max(*offset);
        }
        if let Some((side, offset)) = self.unexplained.get(&key).copied() {
            if offset > record.offset {
                return compacted(record.lone, only_in);
            }
            self.unexplained.remove(&key);
            compacted(Some(side), only_in);
        }
        match record.lone {
            Some(side) if !record.tombstone => {
                self.unexplained.insert(key, (side, record.offset));
            }
            lone => compacted(lone, only_in),
        }
    }

    /// What is left is missing; records of an open transaction too, which no cleaner takes.
    pub fn finish(&mut self, only_in: &mut Pair<OnlyIn>) {
        let held = self.held.drain().flat_map(|(_, held)| held);
        let open = held.filter_map(|record| Some((record.lone?, record.offset)));
        let mut left: Vec<_> = self.unexplained.drain().map(|(_, left)| left).chain(open).collect();
        left.sort_unstable();
        for (side, offset) in left {
            let only_in = only_in.of_mut(side);
            only_in.missing += 1;
            if only_in.missing_offsets.len() < MOST_TOLD {
                only_in.missing_offsets.push(offset);
            }
        }
    }
}

fn compacted(lone: Option<Side>, only_in: &mut Pair<OnlyIn>) {
    if let Some(side) = lone {
        only_in.of_mut(side).compacted += 1;
    }
}
