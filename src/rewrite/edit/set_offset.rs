//! Committed offsets that are set: the latest commit of a key is replaced, or one is written where there is none.
//!
//! Must not know: where wishes come from.

use super::drops::Drops;
use super::rename::Renames;
use super::wish::Wish;
use super::{Draft, Item, Note, Origin};
use crate::model::replay::State;
use crate::model::store::OffsetKey;
use crate::schema::offsets::{OffsetCommitKey, OffsetCommitValue};
use crate::schema::wire::Text;
use crate::schema::{Key, KeyFields, RecordType, Value, VersionedValue};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Wish {
    /// Key and value of a record that says so, committed at a moment in milliseconds since 1970.
    pub fn record(&self, version: i16, now: i64) -> (Vec<u8>, Vec<u8>) {
        let mut value = Vec::new();
        let data = OffsetCommitValue { offset: self.offset, commit_timestamp: now, ..blank_commit() };
        let data = Value::OffsetCommit(data);
        VersionedValue { version, whose: None, data, trailing: &[] }.encode(&mut value);
        (key_bytes(RecordType::OffsetCommit, &self.group, &self.topic, self.partition), value)
    }
}

/// Offsets to set, once it is known where the commits are.
#[derive(Debug, Default, Clone)]
pub struct SetOffsets {
    /// Records that are replaced, and the offsets that they get.
    pub replaced: HashMap<Origin, i64>,
    /// Commits that are written, by the log whose end they go to.
    pub appended: BTreeMap<usize, Vec<Wish>>,
    /// What now is, in milliseconds since 1970.
    pub now: i64,
}

/// Wishes on their way: which commits they are about is found log by log.
#[derive(Debug, Default)]
pub struct Wishes {
    all: BTreeMap<(Vec<u8>, Vec<u8>, i32), i64>,
    found: HashMap<(Vec<u8>, Vec<u8>, i32), Vec<Origin>>,
    /// Logs that hold something of a group, by its name in the output.
    homes: HashMap<Vec<u8>, usize>,
    /// Topics of groups that are asked for, by their names in the output.
    topics: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// Keys that a transaction holds that has not ended.
    pub pending: Vec<Wish>,
}

impl Wishes {
    /// Of several for one key the last holds.
    pub fn new(wishes: Vec<Wish>) -> Self {
        let key = |wish: Wish| ((wish.group, wish.topic, wish.partition), wish.offset);
        Wishes { all: wishes.into_iter().map(key).collect(), ..Wishes::default() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a group is asked for, by its name in the output.
    pub fn has_group(&self, group: &[u8]) -> bool {
        self.all.range((group.to_vec(), Vec::new(), i32::MIN)..).next().is_some_and(|((name, ..), _)| name == group)
    }

    /// Looks for the latest commits in the state of a log. What goes before is not there.
    pub fn look(&mut self, feed: usize, state: &State, drops: &Drops, renames: &Renames) {
        for (prefix, group, topic) in state.offsets.prefixes() {
            let (new_group, new_topic) = (renames.group(group).to_vec(), renames.topic(topic).to_vec());
            if self.has_group(&new_group) {
                self.homes.insert(new_group.clone(), feed);
                self.topics.insert((new_group.clone(), new_topic.clone()));
            }
            for (partition, slot) in state.offsets.slots(prefix) {
                let place = (new_group.clone(), new_topic.clone(), partition);
                if !self.all.contains_key(&place) {
                    continue;
                }
                let origin = Origin { feed, offset: slot.log_offset };
                let key = key_bytes(RecordType::OffsetCommit, group, topic, partition);
                let value = state.values.get(slot.place);
                if drops.why(&Item { origin, key: Some(&key), value }).is_none() {
                    self.found.entry(place).or_default().push(origin);
                }
            }
        }
        for (bytes, _) in state.others.iter() {
            let Ok(key) = Key::decode(bytes) else { continue };
            let name = renames.group(key.group());
            if self.has_group(name) {
                self.homes.entry(name.to_vec()).or_insert(feed);
            }
        }
        self.look_at_open(state, renames);
    }

    fn look_at_open(&mut self, state: &State, renames: &Renames) {
        for key in state.open.values().flat_map(|open| open.commits.keys()) {
            let OffsetKey { prefix, partition } = *key;
            let Some((group, topic)) = state.offsets.names(prefix) else { continue };
            let place = (renames.group(group).to_vec(), renames.topic(topic).to_vec(), partition);
            if let Some(offset) = self.all.get(&place) {
                self.pending.push(Wish { group: place.0, topic: place.1, partition, offset: *offset });
            }
        }
    }

    /// What is asked for of a group, by its name in the output: topic, partition and offset.
    pub fn of_group<'w>(&'w self, group: &'w [u8]) -> impl Iterator<Item = (&'w [u8], i32, i64)> {
        let from = (group.to_vec(), Vec::new(), i32::MIN);
        let all = self.all.range(from..).take_while(move |((name, ..), _)| name == group);
        all.map(|((_, topic, partition), offset)| (topic.as_slice(), *partition, *offset))
    }

    /// Groups of which nothing is in any log, once all were looked at.
    pub fn strangers(&self) -> BTreeSet<&[u8]> {
        self.all.keys().map(|(group, ..)| group.as_slice()).filter(|group| !self.homes.contains_key(*group)).collect()
    }

    /// Topics of which a group that is there has no commit.
    pub fn new_topics(&self) -> BTreeSet<(&[u8], &[u8])> {
        let all = self.all.keys().filter(|(group, topic, _)| {
            self.homes.contains_key(group) && !self.topics.contains(&(group.clone(), topic.clone()))
        });
        all.map(|(group, topic, _)| (group.as_slice(), topic.as_slice())).collect()
    }

    /// What to do, at a moment in milliseconds since 1970. `home` says to which log a group goes that none holds, by its
    /// name in the output.
    ///
    /// # Errors
    /// Those of `home`.
    pub fn settle<E>(self, now: i64, home: impl Fn(&[u8]) -> Result<usize, E>) -> Result<SetOffsets, E> {
        let mut set = SetOffsets { now, ..SetOffsets::default() };
        for (place, offset) in self.all {
            if let Some(origins) = self.found.get(&place) {
                set.replaced.extend(origins.iter().map(|origin| (*origin, offset)));
                continue;
            }
            let feed = match self.homes.get(&place.0) {
                Some(feed) => *feed,
                None => home(&place.0)?,
            };
            let (group, topic, partition) = place;
            let wish = Wish { group, topic, partition, offset };
            set.appended.entry(feed).or_default().push(wish);
        }
        Ok(set)
    }
}

/// The key of a commit.
pub fn key_bytes(record_type: RecordType, group: &[u8], topic: &[u8], partition: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let fields =
        OffsetCommitKey { group: Text(group), topic: Text(topic), partition, unknown_tags: Default::default() };
    Key { record_type, fields: KeyFields::Offset(fields), trailing: &[] }.encode(&mut bytes);
    bytes
}

fn blank_commit() -> OffsetCommitValue<'static> {
    <OffsetCommitValue<'_> as crate::schema::wire::Field<'_>>::absent()
}

impl SetOffsets {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.replaced.is_empty() && self.appended.is_empty()
    }

    /// Replaces what the latest commit of a key says: the offset; no leader epoch and no metadata, which belong to the old
    /// one; committed now. A time to live of its own counts from now.
    pub(super) fn apply(&self, origin: Origin, draft: &mut Draft<'_>) {
        let Some(offset) = self.replaced.get(&origin) else { return };
        let Some((record_type, value)) = self.changed(draft, *offset) else { return };
        let Changed { old, expiry, new } = value;
        draft.value = Some(Cow::Owned(new));
        draft.notes.push(Note::saying("set-offset", format!("{record_type}: {old} becomes {offset}{expiry}")));
    }

    fn changed(&self, draft: &Draft<'_>, offset: i64) -> Option<(&'static str, Changed)> {
        let record_type = Key::decode(&draft.key).ok()?.record_type;
        let mut value = record_type.decode_value(draft.value.as_deref()?).ok()?;
        let old;
        let mut expiry = String::new();
        match &mut value.data {
            Value::OffsetCommit(data) => {
                old = data.offset;
                expiry = set(data, offset, self.now);
            }
            Value::LegacyOffsetCommitOfLaterVersion(data) => {
                old = data.offset;
                expiry = set(data, offset, self.now);
            }
            Value::LegacyOffsetCommit(data) => {
                old = data.offset;
                (data.offset, data.commit_timestamp) = (offset, self.now);
                data.metadata = Text(b"");
            }
            _ => return None,
        }
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        Some((record_type.name(), Changed { old, expiry, new: bytes }))
    }
}

/// Sets a commit at a moment; says in words what became of a time to live of its own.
fn set(data: &mut OffsetCommitValue<'_>, offset: i64, now: i64) -> String {
    let before = data.expire_timestamp;
    let lives = lives(data.commit_timestamp, before);
    (data.offset, data.commit_timestamp, data.leader_epoch) = (offset, now, -1);
    data.metadata = Text(b"");
    data.expire_timestamp = lives.map_or(-1, |lives| now.saturating_add(lives));
    match lives {
        Some(_) => format!("; expireTimestamp: {before} becomes {}", data.expire_timestamp),
        None if before == -1 => String::new(),
        None => format!("; expireTimestamp {before} is dropped: it was over when it was committed"),
    }
}

/// A commit that is set.
struct Changed {
    /// The offset that it had.
    old: i64,
    /// What became of a time to live of its own, in words; empty if it had none.
    expiry: String,
    /// The new value.
    new: Vec<u8>,
}

/// How long a commit lives that says so itself, in ms; None if it does not, or was over when it was committed.
pub fn lives(commit_timestamp: i64, expire_timestamp: i64) -> Option<i64> {
    let lives = expire_timestamp.saturating_sub(commit_timestamp);
    (expire_timestamp != -1 && lives > 0).then_some(lives)
}
