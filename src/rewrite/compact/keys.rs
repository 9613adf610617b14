//! The greatest offset of every raw key: all that a compaction has to remember of the records it has read. Who counts
//! besides has his figures beside it ([`Slot`]), so that keys are looked up once.
//!
//! Keys of commits share their front part, type, group and topic, of which there is one copy; behind it the records stand
//! by partition in a run, sixteen bytes each. All other keys stand whole in one room. So memory grows with the live keys,
//! and with nothing else. Must not know: values, batches, transactions.

use super::kept::{Other, Prefix, Room};
use super::roll::{Roll, mix};
use super::slot::{NONE, Slot, Winner};
use crate::bytes::is_same;
use crate::hash_index::Index;
use crate::machine::cpu::prefetch_item;
use crate::schema::Key;
use foldhash::fast::{FixedState, RandomState};
use hashbrown::HashSet;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};

/// So many records wait, so that what their keys are compared with is in the cache by then.
const WINDOW: usize = 128;
/// No number.
const NOBODY: u32 = u32::MAX;

/// Where a commit's key is kept: the number of its type, group and topic, and the partition.
pub type KeyPlace = (u32, i32);

/// By raw key, the greatest offset at which it was seen.
#[derive(Debug, Default)]
pub struct Keys<S: Slot = Winner> {
    hasher: RandomState,
    room: Room,
    prefixes: Vec<Prefix<S>>,
    by_prefix: Index,
    /// The prefix that was looked up last: a batch mostly stays with one.
    last: u32,
    /// That of which a place was asked last.
    placed: u32,
    others: Vec<Other<S::Other>>,
    by_key: Index,
    live: usize,
    pinned: HashSet<Box<[u8]>, RandomState>,
    /// The last records, where there is nothing else of the keys.
    winners: Option<Vec<Winner>>,
}

/// Records whose keys are yet to be looked up. Those of one key stay in order, which only notes depend on.
#[derive(Debug, Default)]
pub struct Window<'k, N = ()> {
    /// Of the commits, what they begin with: many follow each other that differ in the partition only.
    runs: Vec<Run<'k>>,
    /// In the order of these.
    commits: Vec<Commit<N>>,
    others: Vec<(Sought<'k>, Noted<N>)>,
}

/// Commits that follow each other and differ in the partition only.
#[derive(Debug, Clone, Copy)]
struct Run<'k> {
    /// Their prefix.
    sought: Sought<'k>,
    /// How many they are.
    length: usize,
}

/// A prefix or a key that is to be looked up.
#[derive(Debug, Clone, Copy)]
struct Sought<'k> {
    bytes: &'k [u8],
    hash: u32,
    /// Which it may be.
    number: u32,
}

/// What waits of a record.
#[derive(Debug, Clone, Copy)]
struct Noted<N> {
    record: Winner,
    note: N,
}

/// A commit that waits.
#[derive(Debug, Clone, Copy)]
struct Commit<N> {
    partition: i32,
    noted: Noted<N>,
}

/// Hands out commits run by run.
struct Runs<'w, N>(&'w [Commit<N>]);

impl<'w, N> Runs<'w, N> {
    #[inline(always)]
    fn next(&mut self, run: &Run<'_>) -> &'w [Commit<N>] {
        let (its, behind) = self.0.split_at_checked(run.length).unwrap_or_default();
        self.0 = behind;
        its
    }
}

impl<S: Slot> Keys<S> {
    /// Notes that a key has a record. What waits comes behind it; where the order of notes makes a difference, it must be
    /// looked up first ([`settle`](Keys::settle)).
    #[inline]
    pub fn put(&mut self, key: &[u8], record: Winner, note: S::Note) {
        match split(key) {
            Some((prefix, partition)) => {
                let number = if self.is_last(prefix) { self.last } else { self.prefix(prefix, self.hash(prefix)) };
                self.put_in(number, partition, record, note);
            }
            None => self.put_other(key, self.hash(key), record, note),
        }
    }

    /// As [`put`](Keys::put), some time before [`settle`](Keys::settle) returns. What is put so of a key stays in order.
    #[inline(always)]
    pub fn put_soon<'k>(&mut self, key: &'k [u8], record: Winner, note: S::Note, window: &mut Window<'k, S::Note>) {
        let Some((prefix, partition)) = split(key) else { return self.put_other_soon(key, record, note, window) };
        match window.runs.last_mut() {
            Some(last) if is_same(last.sought.bytes, prefix) => last.length += 1,
            None if self.is_last(prefix) => return self.put_in(self.last, partition, record, note),
            _ => {
                let hash = self.hash(prefix);
                self.by_prefix.prefetch(hash);
                let sought = Sought { bytes: prefix, hash, number: NOBODY };
                window.runs.push(Run { sought, length: 1 });
            }
        }
        window.commits.push(Commit { partition, noted: Noted { record, note } });
        if window.commits.len() >= WINDOW {
            self.settle_commits(window);
        }
    }

    #[inline(never)]
    fn put_other_soon<'k>(&mut self, key: &'k [u8], record: Winner, note: S::Note, window: &mut Window<'k, S::Note>) {
        let hash = self.hash(key);
        self.by_key.prefetch(hash);
        window.others.push((Sought { bytes: key, hash, number: NOBODY }, Noted { record, note }));
        if window.others.len() >= WINDOW {
            self.settle_others(window);
        }
    }

    /// Looks up all that wait.
    pub fn settle(&mut self, window: &mut Window<'_, S::Note>) {
        self.settle_commits(window);
        self.settle_others(window);
    }

    /// One step for all of them, and then the next, while what that needs is on its way.
    #[inline(never)]
    fn settle_commits(&mut self, window: &mut Window<'_, S::Note>) {
        let Window { runs, commits, .. } = window;
        for Run { sought, .. } in &mut *runs {
            sought.number = self.by_prefix.find(sought.hash, |_| true).unwrap_or(NOBODY);
            prefetch_item(&self.prefixes, sought.number as usize);
        }
        for Run { sought, .. } in &*runs {
            if let Some(prefix) = self.prefixes.get(sought.number as usize) {
                self.room.prefetch(prefix.text);
            }
        }
        let mut rest = Runs(commits);
        for run in &*runs {
            let its = rest.next(run);
            if let Some(prefix) = self.prefixes.get(run.sought.number as usize) {
                its.iter().for_each(|commit| prefix.prefetch(commit.partition));
            }
        }
        for Run { sought, .. } in &mut *runs {
            let found = self.prefixes.get(sought.number as usize);
            if !found.is_some_and(|prefix| is_same(self.room.get(prefix.text), sought.bytes)) {
                sought.number = self.prefix(sought.bytes, sought.hash);
            }
            self.last = sought.number;
        }
        let mut rest = Runs(commits);
        for run in &*runs {
            self.put_run(run.sought.number, rest.next(run));
        }
        runs.clear();
        commits.clear();
    }

    /// As [`settle_commits`](Keys::settle_commits).
    #[inline(never)]
    fn settle_others(&mut self, window: &mut Window<'_, S::Note>) {
        let waiting = &mut window.others;
        for (it, _) in &mut *waiting {
            it.number = self.by_key.find(it.hash, |_| true).unwrap_or(NOBODY);
            prefetch_item(&self.others, it.number as usize);
            // It may end on another line.
            if size_of::<Other<S::Other>>() > 32 {
                prefetch_item(&self.others, (it.number as usize).wrapping_add(1));
            }
        }
        for (it, _) in &*waiting {
            if let Some(other) = self.others.get(it.number as usize) {
                self.room.prefetch(other.text);
            }
        }
        for (it, Noted { record, note }) in waiting.drain(..) {
            match self.others.get(it.number as usize).is_some_and(|other| is_same(self.room.get(other.text), it.bytes))
            {
                true => self.put_in_other(it.number, it.bytes, record, note),
                false => self.put_other(it.bytes, it.hash, record, note),
            }
        }
    }

    #[inline(always)]
    fn hash(&self, bytes: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes);
        hasher.finish() as u32
    }

    #[inline(always)]
    fn is_last(&self, prefix: &[u8]) -> bool {
        self.is_of(self.last, prefix)
    }

    /// Whether a number is that of a prefix.
    #[inline(always)]
    fn is_of(&self, number: u32, prefix: &[u8]) -> bool {
        self.prefixes.get(number as usize).is_some_and(|it| is_same(self.room.get(it.text), prefix))
    }

    #[inline(always)]
    fn put_in(&mut self, number: u32, partition: i32, record: Winner, note: S::Note) {
        self.put_run(number, &[Commit { partition, noted: Noted { record, note } }]);
    }

    /// Puts commits of one prefix.
    #[inline(always)]
    fn put_run(&mut self, number: u32, commits: &[Commit<S::Note>]) {
        let Some(prefix) = self.prefixes.get_mut(number as usize) else { return };
        for Commit { partition, noted } in commits {
            if prefix.room(*partition).put(noted.record, noted.note) {
                prefix.live += 1;
                self.live += 1;
                if prefix.odd {
                    let key = [self.room.get(prefix.text), &partition.to_be_bytes()].concat();
                    self.pinned.insert(as_meant(&key));
                }
            }
        }
    }

    /// The number of a prefix, which is made if it is not there.
    #[inline(always)]
    fn prefix(&mut self, bytes: &[u8], hash: u32) -> u32 {
        self.last = self.find(bytes, hash).unwrap_or_else(|| self.add(bytes, hash));
        self.last
    }

    #[inline(always)]
    fn find(&self, bytes: &[u8], hash: u32) -> Option<u32> {
        let is = |number: u32| self.prefixes.get(number as usize).is_some_and(|it| self.room.get(it.text) == bytes);
        self.by_prefix.find(hash, is)
    }

    #[cold]
    fn add(&mut self, bytes: &[u8], hash: u32) -> u32 {
        let number = self.prefixes.len() as u32;
        let odd = bytes.first_chunk() != Some(&[0, 1]) || !is_counted_twice(bytes.get(2..).unwrap_or_default());
        let text = self.room.add(bytes);
        self.prefixes.push(Prefix::new(text, odd));
        self.by_prefix.add(hash, number);
        number
    }

    #[inline(always)]
    fn put_other(&mut self, key: &[u8], hash: u32, record: Winner, note: S::Note) {
        let number = self.find_other(key, hash).unwrap_or_else(|| self.add_other(key, hash));
        self.put_in_other(number, key, record, note);
    }

    #[inline(always)]
    fn put_in_other(&mut self, number: u32, key: &[u8], record: Winner, note: S::Note) {
        if self.others.get_mut(number as usize).is_some_and(|other| other.slot.put(record, note)) {
            self.first_of_other(key);
        }
    }

    #[cold]
    fn first_of_other(&mut self, key: &[u8]) {
        self.live += 1;
        if Key::decode(key).is_ok_and(|key| !key.trailing.is_empty()) {
            self.pin(key);
        }
    }

    #[inline(always)]
    fn find_other(&self, key: &[u8], hash: u32) -> Option<u32> {
        let is = |number: u32| self.others.get(number as usize).is_some_and(|it| self.room.get(it.text) == key);
        self.by_key.find(hash, is)
    }

    #[cold]
    fn add_other(&mut self, key: &[u8], hash: u32) -> u32 {
        let number = self.others.len() as u32;
        self.by_key.add(hash, number);
        let text = self.room.add(key);
        self.others.push(Other { text, slot: S::Other::default() });
        number
    }

    /// The number of a commit's group and topic, which is made if it is not there, and the partition; None for any other
    /// key. What waits stays in order.
    pub fn place(&mut self, key: &[u8]) -> Option<KeyPlace> {
        let (prefix, partition) = split(key)?;
        if self.is_of(self.placed, prefix) {
            return Some((self.placed, partition));
        }
        let hash = self.hash(prefix);
        let number = match self.find(prefix, hash) {
            Some(number) => number,
            None => {
                // The first is not the one that was looked up last, which it may be waiting to be.
                if self.prefixes.is_empty() {
                    self.last = NOBODY;
                }
                self.add(prefix, hash)
            }
        };
        self.placed = number;
        Some((number, partition))
    }

    /// As [`place`](Keys::place), of a key that was put.
    pub fn find_place(&self, key: &[u8]) -> Option<KeyPlace> {
        let (prefix, partition) = split(key)?;
        Some((self.find(prefix, self.hash(prefix))?, partition))
    }

    /// What is kept of a commit's key.
    pub fn slot(&self, (number, partition): KeyPlace) -> Option<&S> {
        self.prefixes.get(number as usize)?.slot(partition)
    }

    /// Notes something of a commit's key, without a record.
    #[inline]
    pub fn note(&mut self, (number, partition): KeyPlace, note: S::Note) {
        self.put_in(number, partition, NONE, note);
    }

    /// All commits' keys that are kept, by the number of type, group and topic, with the bytes of these, and by partition;
    /// and such that nothing was put of.
    pub fn commits(&self) -> impl Iterator<Item = (u32, &[u8], i32, &S)> {
        self.prefixes.iter().enumerate().flat_map(|(number, prefix)| {
            let bytes = self.room.get(prefix.text);
            prefix.by_partition().map(move |(partition, slot)| (number as u32, bytes, partition, slot))
        })
    }

    /// All other keys that are kept.
    pub fn others(&self) -> impl Iterator<Item = (&[u8], &S::Other)> {
        self.others.iter().map(|it| (self.room.get(it.text), &it.slot))
    }

    /// Takes out all that a cleaner asks for: how many keys there are, which are pinned, and their last records, by
    /// offset, which the caller has.
    pub fn take_records(&mut self, winners: Vec<Winner>) -> Keys {
        let pinned = std::mem::take(&mut self.pinned);
        Keys { live: self.live, pinned, winners: Some(winners), ..Keys::default() }
    }

    /// The greatest offset of a key; None if it was never put.
    pub fn get(&self, key: &[u8]) -> Option<i64> {
        let Some((bytes, partition)) = split(key) else {
            let number = self.find_other(key, self.hash(key))?;
            return self
                .others
                .get(number as usize)
                .map(|other| other.slot.last().offset)
                .filter(|it| *it != NONE.offset);
        };
        let found = self.slot((self.find(bytes, self.hash(bytes))?, partition)).map(Slot::last);
        found.filter(|record| *record != NONE).map(|record| record.offset)
    }

    /// The last record of every key.
    pub fn roll(&self) -> Roll {
        let mut roll = Roll::default();
        for prefix in &self.prefixes {
            let hash = hash_part(self.room.get(prefix.text));
            let records = prefix.by_partition().map(|(partition, slot)| (partition, slot.last()));
            for (partition, record) in records.filter(|(_, record)| *record != NONE) {
                roll.add(mix(hash, partition as u64), record.offset);
            }
        }
        for other in self.others.iter().filter(|other| other.slot.last() != NONE) {
            roll.add(hash_part(self.room.get(other.text)), other.slot.last().offset);
        }
        roll
    }

    /// Says that tombstones of a key must stay, whatever the clock says: something that they hide stays too.
    pub fn pin(&mut self, key: &[u8]) {
        self.pinned.insert(as_meant(key));
    }

    /// Whether tombstones of a key must stay: the coordinator knows it by other bytes too, or it was pinned.
    #[inline]
    pub fn is_pinned(&self, key: &[u8]) -> bool {
        self.pinned(key).is_some()
    }

    /// A key as the coordinator means it, if it is pinned.
    #[inline]
    pub fn pinned(&self, key: &[u8]) -> Option<&[u8]> {
        if self.pinned.is_empty() { None } else { self.pinned.get(&as_meant(key)).map(|key| &**key) }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The last records that [`take_records`](Keys::take_records) was given; None where they are yet to be found, as when
    /// an open transaction had the log learned anew.
    pub fn counted_winners(&self) -> Option<&[Winner]> {
        self.winners.as_deref()
    }

    /// The last record of every key, by offset.
    pub fn winners(&self) -> Cow<'_, [Winner]> {
        if let Some(winners) = &self.winners {
            return Cow::Borrowed(winners);
        }
        let mut all = Vec::with_capacity(self.live);
        self.prefixes.iter().for_each(|prefix| all.extend(prefix.all()));
        all.extend(self.others.iter().map(|other| other.slot.last()).filter(|record| *record != NONE));
        all.sort_unstable_by_key(|record| record.offset);
        Cow::Owned(all)
    }
}

/// A hash of a key, as a roll takes it: the same in every run.
#[inline]
pub fn hash_of(key: &[u8]) -> u64 {
    match split(key) {
        Some((prefix, partition)) => mix(hash_part(prefix), partition as u64),
        None => hash_part(key),
    }
}

#[inline]
fn hash_part(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// Front part and partition of a commit's key.
#[inline(always)]
fn split(key: &[u8]) -> Option<(&[u8], i32)> {
    if matches!(key, [0, 0 | 1, _, _, _, _, ..]) { split_commit(key) } else { None }
}

/// Of a key that is known to be split.
#[inline(always)]
fn split_commit(key: &[u8]) -> Option<(&[u8], i32)> {
    let (prefix, partition) = key.split_last_chunk::<4>()?;
    Some((prefix, i32::from_be_bytes(*partition)))
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
        let mut keys = Keys::<Winner>::default();
        let mut naive = std::collections::HashMap::new();
        let mut state = 1u64;
        let mut roll = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        // Half of them look ahead.
        let all: Vec<_> = (0..20_000)
            .map(|_| {
                let offset = roll(1 << 40) as i64;
                let group = format!("g{}", roll(20));
                let key = match roll(8) {
                    0 => vec![0, 2, 0, roll(9) as u8],
                    1 => (0..roll(6)).map(|_| roll(2) as u8).collect(),
                    2 => commit(roll(2) as u8, &group, roll(1 << 32) as u32 as i32),
                    _ => commit(1, &group, roll(400) as i32),
                };
                (key, offset)
            })
            .collect();
        let mut window = Window::default();
        for (i, (key, offset)) in all.iter().enumerate() {
            let record = Winner { offset: *offset, place: *offset as u64 / 2 };
            match i / 100 % 2 {
                0 => keys.put(key, record, ()),
                _ => keys.put_soon(key, record, (), &mut window),
            }
            let room = naive.entry(key.clone()).or_insert(*offset);
            *room = (*offset).max(*room);
        }
        keys.settle(&mut window);
        assert_eq!(keys.len(), naive.len());
        naive.iter().for_each(|(key, offset)| assert_eq!(keys.get(key), Some(*offset), "{key:?}"));
        let mut all: Vec<_> = naive.into_values().map(|offset| Winner { offset, place: offset as u64 / 2 }).collect();
        all.sort_unstable();
        assert_eq!(*keys.winners(), all);
        assert_eq!(keys.get(&commit(1, "nobody", 0)), None);
        assert_eq!(keys.get(&commit(1, "g1", 70_000)), None);
    }

    fn at(offset: i64) -> Winner {
        Winner { offset, place: 0 }
    }

    #[test]
    fn keys_that_have_other_bytes_too_are_pinned() {
        let mut keys = Keys::<Winner>::default();
        keys.put(&commit(1, "g", 0), at(1), ());
        keys.put(&[0, 2, 0, 1, b'g'], at(2), ());
        assert!(!keys.is_pinned(&commit(1, "g", 0)));
        keys.put(&commit(0, "g", 0), at(3), ());
        assert!(keys.is_pinned(&commit(1, "g", 0)) && !keys.is_pinned(&commit(1, "g", 1)));
        let more = [commit(1, "g", 1), b"more".to_vec()].concat();
        keys.put(&more, at(4), ());
        assert!(keys.is_pinned(&commit(1, "g", 1)) && keys.is_pinned(&more));
        assert!(!keys.is_pinned(&[0, 2, 0, 1, b'g']));
        keys.put(&[0, 2, 0, 1, b'g', b'!'], at(5), ());
        assert!(keys.is_pinned(&[0, 2, 0, 1, b'g']));
    }
}
