//! The greatest offset of every raw key: all that a compaction has to remember of the records it has read.
//!
//! Keys of commits share their front part, type, group and topic, of which there is one copy; behind it the records stand
//! by partition in a run, sixteen bytes each. All other keys stand whole in one room. So memory grows with the live keys,
//! and with nothing else. Must not know: values, batches, transactions.

use crate::schema::Key;
use foldhash::fast::FixedState;
use hashbrown::{HashSet, HashTable};
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// The record that a key has last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Winner {
    /// Its offset.
    pub offset: i64,
    /// Where its batch begins: the byte, counted through all segments.
    pub place: u64,
}

/// No record.
const NONE: Winner = Winner { offset: -1, place: 0 };
/// Partitions up to this number stand in a run, whatever it costs.
const DENSE: usize = 64;

/// Where bytes stand in the room.
#[derive(Debug, Clone, Copy)]
struct Text {
    at: usize,
    len: u32,
}

/// All bytes of keys, one behind the other.
#[derive(Debug, Default)]
struct Room(Vec<u8>);

impl Room {
    fn add(&mut self, bytes: &[u8]) -> Text {
        let at = self.0.len();
        self.0.extend_from_slice(bytes);
        Text { at, len: bytes.len() as u32 }
    }

    #[inline(always)]
    fn get(&self, text: Text) -> &[u8] {
        self.0.get(text.at..text.at + text.len as usize).unwrap_or_default()
    }
}

/// Type, group and topic of commits.
#[derive(Debug)]
struct Prefix {
    text: Text,
    /// How many partitions are there, in the run and apart.
    live: u32,
    /// Whether the coordinator may know its keys by other bytes too.
    odd: bool,
    /// By partition.
    run: Vec<Winner>,
    /// Partitions that do not fit the run.
    apart: BTreeMap<i32, Winner>,
}

impl Prefix {
    /// The room of a partition.
    #[inline(always)]
    fn room(&mut self, partition: i32) -> &mut Winner {
        let i = usize::try_from(partition).unwrap_or(usize::MAX);
        // A run grows only as far as what is in it bears out, so that a wild partition number costs nothing.
        if i >= self.run.len() && i < DENSE.max(4 * self.live as usize) {
            self.grow(i + 1);
        }
        match self.run.get_mut(i) {
            Some(room) => room,
            None => self.apart.entry(partition).or_insert(NONE),
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let from = self.run.len();
        self.run.resize(len, NONE);
        if self.apart.is_empty() {
            return;
        }
        for (i, room) in self.run.iter_mut().enumerate().skip(from) {
            *room = self.apart.remove(&(i as i32)).unwrap_or(NONE);
        }
    }
}

/// A key of another type.
#[derive(Debug, Clone, Copy)]
struct Other {
    text: Text,
    last: Winner,
}

/// By raw key, the greatest offset at which it was seen.
#[derive(Debug, Default)]
pub struct Keys {
    hasher: FixedState,
    room: Room,
    by_prefix: HashTable<u32>,
    prefixes: Vec<Prefix>,
    /// The prefix that was looked up last: a batch mostly stays with one.
    last: u32,
    others: HashTable<Other>,
    live: usize,
    pinned: HashSet<Box<[u8]>, FixedState>,
}

impl Keys {
    /// Notes that a key has a record.
    #[inline]
    pub fn put(&mut self, key: &[u8], record: Winner) {
        match split(key) {
            Some((prefix, partition)) => {
                let number = self.prefix(prefix);
                let Some(prefix) = self.prefixes.get_mut(number as usize) else { return };
                let room = prefix.room(partition);
                let is_new = *room == NONE;
                *room = record.max(*room);
                if is_new {
                    prefix.live += 1;
                    self.live += 1;
                    if prefix.odd {
                        self.pin(key);
                    }
                }
            }
            None => self.put_other(key, record),
        }
    }

    #[inline(always)]
    fn prefix(&mut self, bytes: &[u8]) -> u32 {
        let room = &self.room;
        if self.prefixes.get(self.last as usize).is_some_and(|prefix| room.get(prefix.text) == bytes) {
            return self.last;
        }
        self.last = self.find(bytes).unwrap_or_else(|| self.add(bytes));
        self.last
    }

    fn find(&self, bytes: &[u8]) -> Option<u32> {
        let same = |number: &u32| self.text(*number) == bytes;
        self.by_prefix.find(self.hasher.hash_one(bytes), same).copied()
    }

    #[inline(always)]
    fn text(&self, number: u32) -> &[u8] {
        self.prefixes.get(number as usize).map_or(&[], |prefix| self.room.get(prefix.text))
    }

    #[cold]
    fn add(&mut self, bytes: &[u8]) -> u32 {
        let number = self.prefixes.len() as u32;
        let odd = bytes.first_chunk() != Some(&[0, 1]) || !is_counted_twice(bytes.get(2..).unwrap_or_default());
        let text = self.room.add(bytes);
        self.prefixes.push(Prefix { text, live: 0, odd, run: Vec::new(), apart: BTreeMap::new() });
        let Keys { hasher, prefixes, room, by_prefix, .. } = self;
        let hash_of = |number: &u32| {
            hasher.hash_one(prefixes.get(*number as usize).map_or(&[][..], |prefix| room.get(prefix.text)))
        };
        by_prefix.insert_unique(hasher.hash_one(bytes), number, hash_of);
        number
    }

    fn put_other(&mut self, key: &[u8], record: Winner) {
        let Keys { hasher, room, others, .. } = self;
        let hash = hasher.hash_one(key);
        if let Some(other) = others.find_mut(hash, |other| room.get(other.text) == key) {
            other.last = record.max(other.last);
            return;
        }
        let text = room.add(key);
        others.insert_unique(hash, Other { text, last: record }, |other| hasher.hash_one(room.get(other.text)));
        self.live += 1;
        if Key::decode(key).is_ok_and(|key| !key.trailing.is_empty()) {
            self.pin(key);
        }
    }

    /// The greatest offset of a key; None if it was never put.
    pub fn get(&self, key: &[u8]) -> Option<i64> {
        let Some((bytes, partition)) = split(key) else {
            let same = |other: &Other| self.room.get(other.text) == key;
            return self.others.find(self.hasher.hash_one(key), same).map(|other| other.last.offset);
        };
        let prefix = self.prefixes.get(self.find(bytes)? as usize)?;
        let found = match usize::try_from(partition).ok().and_then(|i| prefix.run.get(i)) {
            Some(record) => Some(*record),
            None => prefix.apart.get(&partition).copied(),
        };
        found.filter(|record| *record != NONE).map(|record| record.offset)
    }

    /// Says that tombstones of a key must stay, whatever the clock says: something that they hide stays too.
    pub fn pin(&mut self, key: &[u8]) {
        self.pinned.insert(as_meant(key));
    }

    /// Whether tombstones of a key must stay: the coordinator knows it by other bytes too, or it was pinned.
    #[inline]
    pub fn is_pinned(&self, key: &[u8]) -> bool {
        !self.pinned.is_empty() && self.pinned.contains(&as_meant(key))
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The last record of every key, by offset.
    pub fn winners(&self) -> Vec<Winner> {
        let mut all = Vec::with_capacity(self.live);
        for prefix in &self.prefixes {
            all.extend(prefix.run.iter().chain(prefix.apart.values()).filter(|record| **record != NONE));
        }
        all.extend(self.others.iter().map(|other| other.last));
        all.sort_unstable();
        all
    }
}

/// Front part and partition of a commit's key.
#[inline(always)]
fn split(key: &[u8]) -> Option<(&[u8], i32)> {
    match key {
        [0, 0 | 1, ..] => {
            let (prefix, partition) = key.split_last_chunk::<4>()?;
            Some((prefix, i32::from_be_bytes(*partition)))
        }
        _ => None,
    }
}

/// Whether bytes are two counted strings and nothing else.
fn is_counted_twice(bytes: &[u8]) -> bool {
    skip_counted(bytes).and_then(skip_counted).is_some_and(<[u8]>::is_empty)
}

/// What is behind a counted string.
fn skip_counted(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    rest.get(usize::from(u16::from_be_bytes(*len))..)
}

/// A key as the coordinator means it: of type 1 where it is of type 0, and without what follows its fields.
fn as_meant(key: &[u8]) -> Box<[u8]> {
    let Ok(read) = Key::decode(key) else { return key.into() };
    let mut bytes = key.get(..key.len() - read.trailing.len()).unwrap_or(key).to_vec();
    if let [0, number @ 0, ..] = bytes.as_mut_slice() {
        *number = 1;
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(number: u8, group: &str, partition: i32) -> Vec<u8> {
        let mut key = vec![0, number, 0, group.len() as u8];
        key.extend_from_slice(group.as_bytes());
        key.extend_from_slice(b"\0\x01t");
        key.extend_from_slice(&partition.to_be_bytes());
        key
    }

    #[test]
    fn the_greatest_offset_of_every_key() {
        let mut keys = Keys::default();
        let mut naive = std::collections::HashMap::new();
        let mut state = 1u64;
        let mut roll = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let offset = roll(1 << 40) as i64;
            let group = format!("g{}", roll(20));
            let key = match roll(8) {
                0 => vec![0, 2, 0, roll(9) as u8],
                1 => (0..roll(6)).map(|_| roll(2) as u8).collect(),
                2 => commit(roll(2) as u8, &group, roll(1 << 32) as u32 as i32),
                _ => commit(1, &group, roll(400) as i32),
            };
            keys.put(&key, Winner { offset, place: offset as u64 / 2 });
            let room = naive.entry(key).or_insert(offset);
            *room = offset.max(*room);
        }
        assert_eq!(keys.len(), naive.len());
        naive.iter().for_each(|(key, offset)| assert_eq!(keys.get(key), Some(*offset), "{key:?}"));
        let mut all: Vec<_> = naive.into_values().map(|offset| Winner { offset, place: offset as u64 / 2 }).collect();
        all.sort_unstable();
        assert_eq!(keys.winners(), all);
        assert_eq!(keys.get(&commit(1, "nobody", 0)), None);
        assert_eq!(keys.get(&commit(1, "g1", 70_000)), None);
    }

    fn at(offset: i64) -> Winner {
        Winner { offset, place: 0 }
    }

    #[test]
    fn keys_that_have_other_bytes_too_are_pinned() {
        let mut keys = Keys::default();
        keys.put(&commit(1, "g", 0), at(1));
        keys.put(&[0, 2, 0, 1, b'g'], at(2));
        assert!(!keys.is_pinned(&commit(1, "g", 0)));
        keys.put(&commit(0, "g", 0), at(3));
        assert!(keys.is_pinned(&commit(1, "g", 0)) && !keys.is_pinned(&commit(1, "g", 1)));
        let more = [commit(1, "g", 1), b"more".to_vec()].concat();
        keys.put(&more, at(4));
        assert!(keys.is_pinned(&commit(1, "g", 1)) && keys.is_pinned(&more));
        assert!(!keys.is_pinned(&[0, 2, 0, 1, b'g']));
        keys.put(&[0, 2, 0, 1, b'g', b'!'], at(5));
        assert!(keys.is_pinned(&[0, 2, 0, 1, b'g']));
    }
}
