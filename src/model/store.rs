//! The latest value of every key: what replay fills and the view reads.
//!
//! During replay, values stay undecoded where they lie; a slot only says where. At the end those that lived are gathered in
//! one go, in the order of the log. So memory grows with the live keys, not with the log, and no value is copied twice.
//! Must not know: in which order records are applied, and by which rules ([`super::replay`] does).

use crate::log::Segment;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a segment, as it stands there.
    InSegment {
        /// Which: a number that [`Values::add_segment`] gave.
        segment: u32,
        /// At which byte.
        position: u64,
        /// How many bytes.
        len: u32,
    },
    /// Taken out of a compressed batch.
    Kept(u32),
    /// Gathered when the replay had ended.
    Gathered {
        /// At which byte of what was gathered.
        at: usize,
        /// How many bytes.
        len: u32,
    },
}

/// Bytes of a segment after which its pages are let go.
const WINDOW: u64 = 4 << 20;

impl Place {
    /// The bytes in a segment's.
    fn within(self, bytes: &[u8]) -> Option<&[u8]> {
        match self {
            Place::InSegment { position, len, .. } => {
                let from = usize::try_from(position).ok()?;
                bytes.get(from..from.checked_add(len as usize)?)
            }
            _ => None,
        }
    }
}

/// The latest value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The record's offset in the log.
    pub log_offset: i64,
    /// Where its value lies.
    pub place: Place,
}

/// The segments that slots point into, and the values that were taken out of compressed batches.
#[derive(Debug, Default)]
pub struct Values {
    gathered: Vec<u8>,
    segments: Vec<Segment>,
    kept: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Values {
    /// Adds a segment; its map stays as long as this does.
    pub fn add_segment(&mut self, segment: Segment) -> u32 {
        self.segments.push(segment);
        (self.segments.len() - 1) as u32
    }

    /// The number that the next segment will get.
    pub fn next_segment(&self) -> u32 {
        self.segments.len() as u32
    }

    /// A segment that was added.
    pub fn segment(&self, number: u32) -> Option<&Segment> {
        self.segments.get(number as usize)
    }

    /// All of them, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes of a value; none if its file was cut meanwhile.
    pub fn get(&self, place: Place) -> Option<&[u8]> {
        match place {
            Place::InSegment { segment, .. } => place.within(self.segments.get(segment as usize)?.bytes()),
            Place::Kept(number) => self.kept.get(number as usize).map(AsRef::as_ref),
            Place::Gathered { at, len } => self.gathered.get(at..at + len as usize),
        }
    }

    /// Copies the values of these slots out of their segments, in the order of the log, and lets the pages go: a look at
    /// each value where it lies would call in most of the log again, and keep it.
    pub fn gather<'s>(&mut self, slots: impl Iterator<Item = &'s mut Slot>) {
        let mut slots: Vec<_> = slots
            .filter_map(|slot| match slot.place {
                Place::InSegment { segment, position, .. } => Some(((segment, position), slot)),
                _ => None,
            })
            .collect();
        slots.sort_unstable_by_key(|(place, _)| *place);
        let mut behind = (0, 0);
        for ((segment, position), slot) in slots {
            let at = self.gathered.len();
            // A value whose file was cut meanwhile stays empty, which reads as unreadable.
            let value =
                self.segments.get(segment as usize).and_then(|it| slot.place.within(it.bytes())).unwrap_or_default();
            self.gathered.extend_from_slice(value);
            slot.place = Place::Gathered { at, len: value.len() as u32 };
            if behind.0 != segment || position > behind.1 + WINDOW {
                self.let_go(behind);
                behind = (segment, position);
            }
        }
        self.let_go(behind);
        self.gathered.shrink_to_fit();
    }

    /// Lets go of the pages of a window, and of what was called in around it.
    fn let_go(&self, (segment, from): (u32, u64)) {
        if let Some(segment) = self.segments.get(segment as usize) {
            let from = from.saturating_sub(WINDOW) as usize;
            let to = (from + 3 * WINDOW as usize).min(segment.bytes().len());
            segment.release(from..to);
        }
    }

    /// Keeps a value that lies in no segment.
    pub fn keep(&mut self, value: &[u8]) -> Place {
        if let Some(number) = self.free.pop()
            && let Some(room) = self.kept.get_mut(number as usize)
        {
            *room = value.into();
            return Place::Kept(number);
        }
        self.kept.push(value.into());
        Place::Kept((self.kept.len() - 1) as u32)
    }

    /// Lets go of a value that no slot names any more.
    #[inline]
    pub fn release(&mut self, place: Place) {
        if let Place::Kept(number) = place {
            if let Some(value) = self.kept.get_mut(number as usize) {
                *value = Box::default();
            }
            self.free.push(number);
        }
    }
}

/// Names a slot of an offset commit: the group and topic, and the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffsetKey {
    /// From [`Offsets::prefix`].
    pub prefix: u32,
    /// The topic's partition.
    pub partition: i32,
}

/// Committed offsets by group, topic and partition. Types 0 and 1 share their keys, as they do in a coordinator.
#[derive(Debug)]
pub struct Offsets {
    hasher: FixedState,
    by_bytes: HashTable<u32>,
    prefixes: Vec<Prefix>,
    free: Vec<u32>,
    /// The prefix that was looked up last: a batch mostly stays with one.
    last: u32,
}

/// A group and a topic.
#[derive(Debug, Default)]
struct Prefix {
    /// The key's bytes between its type and its partition: two counted strings.
    bytes: Box<[u8]>,
    /// By partition.
    slots: Vec<Option<Slot>>,
    /// Partitions that do not fit the run of slots; none of them is below its length.
    sparse: BTreeMap<i32, Slot>,
    /// How many slots are taken, of both kinds.
    live: u32,
    /// How many pending commits name it: it must not go while one does.
    pending: u32,
}

impl Prefix {
    /// Makes the run of slots longer. What stood apart and now falls into it moves there.
    #[cold]
    fn grow(&mut self, len: usize) {
        let from = self.slots.len();
        self.slots.resize(len, None);
        if self.sparse.is_empty() {
            return;
        }
        for (i, room) in self.slots.iter_mut().enumerate().skip(from) {
            *room = self.sparse.remove(&(i as i32));
        }
    }
}

/// Partitions up to this number stand in a run, whatever it costs.
const DENSE: usize = 64;

impl Default for Offsets {
    fn default() -> Self {
        let hasher = FixedState::default();
        Offsets { hasher, by_bytes: HashTable::new(), prefixes: Vec::new(), free: Vec::new(), last: u32::MAX }
    }
}

impl Offsets {
    /// The number of a prefix that is there.
    #[inline]
    pub fn find(&mut self, bytes: &[u8]) -> Option<u32> {
        if self.prefixes.get(self.last as usize).is_some_and(|prefix| *prefix.bytes == *bytes) {
            return Some(self.last);
        }
        let hash = self.hasher.hash_one(bytes);
        let prefixes = &self.prefixes;
        let same = |number: &u32| prefixes.get(*number as usize).is_some_and(|prefix| *prefix.bytes == *bytes);
        let found = self.by_bytes.find(hash, same).copied()?;
        self.last = found;
        Some(found)
    }

    /// The number of a prefix, which is made if it is not there.
    #[inline]
    pub fn prefix(&mut self, bytes: &[u8]) -> u32 {
        self.find(bytes).unwrap_or_else(|| self.add(bytes))
    }

    fn add(&mut self, bytes: &[u8]) -> u32 {
        let prefix = Prefix { bytes: bytes.into(), ..Prefix::default() };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.prefixes.push(Prefix::default());
                (self.prefixes.len() - 1) as u32
            }
        };
        if let Some(room) = self.prefixes.get_mut(number as usize) {
            *room = prefix;
        }
        let (hasher, prefixes) = (self.hasher.clone(), &self.prefixes);
        let hash_of = |number: &u32| hasher.hash_one(prefixes.get(*number as usize).map_or(&[][..], |p| &p.bytes));
        self.by_bytes.insert_unique(hasher.hash_one(bytes), number, hash_of);
        self.last = number;
        number
    }

    /// The slot of a key.
    #[inline]
    pub fn get(&self, key: OffsetKey) -> Option<Slot> {
        let prefix = self.prefixes.get(key.prefix as usize)?;
        match usize::try_from(key.partition).ok().and_then(|i| prefix.slots.get(i)) {
            Some(slot) => *slot,
            None => prefix.sparse.get(&key.partition).copied(),
        }
    }

    /// Fills the slot of a key, and gives what was in it.
    #[inline]
    pub fn put(&mut self, key: OffsetKey, slot: Slot) -> Option<Slot> {
        let prefix = self.prefixes.get_mut(key.prefix as usize)?;
        let i = usize::try_from(key.partition).unwrap_or(usize::MAX);
        // A run grows only as far as the slots in it bear out, so that a wild partition number costs nothing.
        if i >= prefix.slots.len() && i < DENSE.max(4 * prefix.live as usize) {
            prefix.grow(i + 1);
        }
        let before = match prefix.slots.get_mut(i) {
            Some(room) => room.replace(slot),
            None => prefix.sparse.insert(key.partition, slot),
        };
        prefix.live += u32::from(before.is_none());
        before
    }

    /// Empties the slot of a key, and gives what was in it.
    pub fn remove(&mut self, key: OffsetKey) -> Option<Slot> {
        let prefix = self.prefixes.get_mut(key.prefix as usize)?;
        let i = usize::try_from(key.partition).unwrap_or(usize::MAX);
        let before = match prefix.slots.get_mut(i) {
            Some(room) => room.take(),
            None => prefix.sparse.remove(&key.partition),
        };
        prefix.live -= u32::from(before.is_some());
        self.drop_if_unused(key.prefix);
        before
    }

    /// Says that a pending commit names a prefix.
    pub fn hold(&mut self, prefix: u32) {
        if let Some(prefix) = self.prefixes.get_mut(prefix as usize) {
            prefix.pending += 1;
        }
    }

    /// Says that a pending commit no longer names a prefix.
    pub fn let_go(&mut self, prefix: u32) {
        if let Some(held) = self.prefixes.get_mut(prefix as usize) {
            held.pending = held.pending.saturating_sub(1);
        }
        self.drop_if_unused(prefix);
    }

    /// Whether a pending commit names a prefix.
    #[inline]
    pub fn is_held(&self, prefix: u32) -> bool {
        self.prefixes.get(prefix as usize).is_some_and(|prefix| prefix.pending > 0)
    }

    fn drop_if_unused(&mut self, number: u32) {
        let Some(prefix) = self.prefixes.get_mut(number as usize) else { return };
        if prefix.live > 0 || prefix.pending > 0 {
            return;
        }
        let hash = self.hasher.hash_one(&*prefix.bytes);
        if let Ok(entry) = self.by_bytes.find_entry(hash, |found| *found == number) {
            entry.remove();
            *prefix = Prefix::default();
            self.free.push(number);
            self.last = u32::MAX;
        }
    }

    /// Every slot that is taken.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.prefixes.iter_mut().flat_map(|prefix| prefix.slots.iter_mut().flatten().chain(prefix.sparse.values_mut()))
    }

    /// Every prefix that is there: its number and its group and topic.
    pub fn prefixes(&self) -> impl Iterator<Item = (u32, &[u8], &[u8])> {
        self.by_bytes.iter().filter_map(|number| {
            let (group, topic) = split_prefix(&self.prefixes.get(*number as usize)?.bytes)?;
            Some((*number, group, topic))
        })
    }

    /// The slots of a prefix, by partition.
    pub fn slots(&self, prefix: u32) -> impl Iterator<Item = (i32, Slot)> {
        self.prefixes.get(prefix as usize).into_iter().flat_map(|found| {
            let sparse = |from, to| found.sparse.range(from..=to).map(|(partition, slot)| (*partition, *slot));
            let run = found.slots.iter().enumerate().filter_map(|(i, slot)| slot.map(|slot| (i as i32, slot)));
            sparse(i32::MIN, -1).chain(run).chain(sparse(0, i32::MAX))
        })
    }

    /// Group and topic of a prefix.
    pub fn names(&self, prefix: u32) -> Option<(&[u8], &[u8])> {
        split_prefix(&self.prefixes.get(prefix as usize)?.bytes)
    }
}

/// The prefix of an offset commit's key, and its partition: what lies between the type and the last four bytes.
#[inline]
pub fn offset_key_parts(key: &[u8]) -> Option<(&[u8], i32)> {
    let (front, partition) = key.split_last_chunk::<4>()?;
    Some((front.get(2..)?, i32::from_be_bytes(*partition)))
}

fn split_prefix(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    let group = rest.get(..usize::from(u16::from_be_bytes(*len)))?;
    let topic = rest.get(group.len() + 2..)?;
    Some((group, topic))
}

/// The latest values of all other keys, by the key's bytes.
#[derive(Debug, Default)]
pub struct Others {
    slots: HashMap<Box<[u8]>, Slot, FixedState>,
}

impl Others {
    /// Fills the slot of a key, and gives what was in it.
    #[inline]
    pub fn put(&mut self, key: &[u8], slot: Slot) -> Option<Slot> {
        match self.slots.get_mut(key) {
            Some(room) => Some(std::mem::replace(room, slot)),
            None => self.slots.insert(key.into(), slot),
        }
    }

    /// Empties the slot of a key, and gives what was in it.
    pub fn remove(&mut self, key: &[u8]) -> Option<Slot> {
        self.slots.remove(key)
    }

    /// Every slot.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.values_mut()
    }

    /// Every key and its slot, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Slot)> {
        self.slots.iter().map(|(key, slot)| (&**key, *slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(log_offset: i64) -> Slot {
        Slot { log_offset, place: Place::Kept(0) }
    }

    #[test]
    fn a_run_that_grows_takes_in_what_stood_apart() {
        let mut offsets = Offsets::default();
        let prefix = offsets.prefix(b"\0\x01g\0\x01t");
        let key = |partition| OffsetKey { prefix, partition };
        for apart in [100, -1, i32::MAX] {
            assert_eq!(offsets.put(key(apart), slot(i64::from(apart))), None);
        }
        for partition in 0..40 {
            offsets.put(key(partition), slot(i64::from(partition)));
        }
        // 43 slots bear out a run up to 171, which covers 100.
        offsets.put(key(101), slot(101));
        assert_eq!(offsets.get(key(100)), Some(slot(100)));
        assert_eq!(offsets.put(key(100), slot(7)), Some(slot(100)));
        let partitions: Vec<_> = offsets.slots(prefix).map(|(partition, _)| partition).collect();
        assert_eq!(partitions, [-1].into_iter().chain(0..40).chain([100, 101, i32::MAX]).collect::<Vec<_>>());
        for partition in partitions {
            assert!(offsets.remove(key(partition)).is_some(), "{partition}");
        }
        assert_eq!(offsets.prefixes().count(), 0);
    }
}
