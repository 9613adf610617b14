//! Which records go, by the names that stand in the input.
//!
//! Must not know: what becomes of those that stay.

use super::{Item, Note, Origin};
use crate::model::assemble::Groups;
use crate::model::expiry::Expiries;
use crate::model::replay::State;
use crate::model::topics::Topics;
use crate::model::view::{GroupState, Offset};
use crate::schema::Key;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a name is meant.
pub type Names = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Which records go.
#[derive(Default)]
pub struct Drops {
    /// Groups that go.
    pub groups: Option<Names>,
    /// Groups that stay: the others go.
    pub keep: Option<Names>,
    /// Topics whose commits go.
    pub topics: Option<Names>,
    /// Types that go, by number; each is noted when it is met.
    pub types: BTreeMap<i16, Arc<AtomicBool>>,
    /// What has expired, by log; none if nobody asked.
    pub expired: Vec<Expired>,
    /// The first offset that counts, by log.
    pub log_starts: Vec<Option<i64>>,
    /// Records that a coordinator refuses, and why.
    pub refused: BTreeMap<Origin, String>,
}

/// What has expired in a log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expired {
    /// Group, topic and partition of offsets.
    pub offsets: HashSet<(Vec<u8>, Vec<u8>, i32)>,
    /// Groups that are empty, and all of whose offsets have expired: a broker deletes them with the last one.
    pub groups: HashSet<Vec<u8>>,
}

impl Expired {
    /// Under a retention, at a moment; both in milliseconds. By the rules that [`Expiries`] knows: nothing that a member
    /// subscribes to, nothing that a transaction holds.
    pub fn of(state: &State, topics: &Topics, retention: i64, now: i64) -> Expired {
        let mut expired = Expired::default();
        let groups = Groups::of(state);
        for name in groups.names() {
            let Some(group) = groups.group(name, topics) else { continue };
            let expiries = Expiries::of(&group, retention);
            let is_over =
                |offset: &&Offset| expiries.expiry(offset).and_then(|expiry| expiry.at).is_some_and(|at| at <= now);
            let over: Vec<_> = group.offsets.iter().filter(is_over).collect();
            let all = !over.is_empty() && over.len() == group.offsets.len();
            if all && !group.simple && group.state == GroupState::Empty {
                expired.groups.insert(name.to_vec());
            }
            let key = |offset: &Offset| (name.to_vec(), offset.topic.clone(), offset.partition);
            expired.offsets.extend(over.into_iter().map(key));
        }
        expired
    }
}

impl Drops {
    /// Whether nothing goes.
    pub fn is_none(&self) -> bool {
        let Drops { groups, keep, topics, types, expired, log_starts, refused } = self;
        groups.is_none()
            && keep.is_none()
            && topics.is_none()
            && types.is_empty()
            && expired.is_empty()
            && refused.is_empty()
            && log_starts.iter().all(Option::is_none)
    }

    /// Why a record goes, if it does.
    pub fn why(&self, item: &Item<'_>) -> Option<Note> {
        let Origin { feed, offset } = item.origin;
        if self.log_starts.get(feed).copied().flatten().is_some_and(|start| offset < start) {
            return Some(Note::new("before-log-start"));
        }
        let number = item.key.and_then(|key| key.first_chunk()).map(|pair| i16::from_be_bytes(*pair));
        // Names are looked at all the same, so that it is known which of them are there.
        let by_name = self.by_name(item);
        if let Some(met) = number.and_then(|number| self.types.get(&number)) {
            met.store(true, Ordering::Relaxed);
            return Some(Note::new("drop-type"));
        }
        if by_name.is_some() {
            return by_name;
        }
        self.refused.get(&item.origin).map(|why| Note::saying("unloadable", why.clone()))
    }

    fn by_name(&self, item: &Item<'_>) -> Option<Note> {
        let group = item.key.and_then(group_of);
        let meant = |names: &Option<Names>| names.as_ref().is_some_and(|names| group.is_some_and(names));
        if meant(&self.groups) {
            return Some(Note::new("drop-group"));
        }
        if self.keep.is_some() && !meant(&self.keep) {
            return Some(Note::new("not-kept"));
        }
        if self.topics.is_none() && self.expired.is_empty() {
            return None;
        }
        let key = Key::decode(item.key?).ok()?;
        let place = key.topic_partition();
        if place.is_some_and(|(topic, _)| self.topics.as_ref().is_some_and(|is_meant| is_meant(topic))) {
            return Some(Note::new("drop-topic"));
        }
        let expired = self.expired.get(item.origin.feed)?;
        let is_over = |(topic, partition): (&[u8], i32)| {
            expired.offsets.contains(&(key.group().to_vec(), topic.to_vec(), partition))
        };
        let over = place.is_some_and(is_over) || expired.groups.contains(key.group());
        over.then(|| Note::new("expired"))
    }
}

/// The group that a key belongs to. Of a type that is not known, its first field, which is the group in all that are.
pub fn group_of(key: &[u8]) -> Option<&[u8]> {
    if let Ok(key) = Key::decode(key) {
        return Some(key.group());
    }
    let (len, rest) = key.get(2..)?.split_first_chunk()?;
    rest.get(..usize::try_from(i16::from_be_bytes(*len)).ok()?)
}
