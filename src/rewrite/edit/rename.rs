//! New names for groups and topics, wherever they stand: in keys, in values, in the payloads of classic members.
//!
//! Regular expressions, and ids of topics, are left as they are: the id in a commit, which would be that of the old topic,
//! goes. Must not know: which partition a name hashes to.

use super::cluster::drop_topic_id_of;
use super::{Draft, Note};
use crate::escape::visible;
use crate::schema::Key;
use crate::schema::embedded::copy::{self, Copied, Unreadable};
use crate::schema::names::{Kind, Names, Payload, in_key, in_value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// New names by old.
#[derive(Debug, Default, Clone)]
pub struct Renames {
    /// Old names, of which it is noted when they are met.
    met: BTreeMap<(Kind, Vec<u8>), Arc<AtomicBool>>,
    /// Of groups.
    pub groups: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of topics.
    pub topics: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Names that groups get and that no other may have.
    new_groups: BTreeSet<Vec<u8>>,
    /// Names that topics get and that no other may have.
    new_topics: BTreeSet<Vec<u8>>,
}

impl Renames {
    /// From pairs of old and new.
    ///
    /// # Errors
    /// If a name is renamed twice, or two get one name, in words.
    pub fn new(groups: Vec<(Vec<u8>, Vec<u8>)>, topics: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Self, String> {
        let (groups, new_groups) = checked("group", groups)?;
        let (topics, new_topics) = checked("topic", topics)?;
        let of = |kind: Kind, names: &BTreeMap<Vec<u8>, Vec<u8>>| -> Vec<_> {
            names.keys().map(|old| ((kind, old.clone()), Arc::default())).collect()
        };
        let met = [of(Kind::Group, &groups), of(Kind::Topic, &topics)].concat().into_iter().collect();
        Ok(Renames { met, groups, topics, new_groups, new_topics })
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.groups.is_empty() && self.topics.is_empty()
    }

    /// The new name of a group.
    pub fn group<'n>(&'n self, name: &'n [u8]) -> &'n [u8] {
        self.groups.get(name).map_or(name, Vec::as_slice)
    }

    /// The new name of a topic.
    pub fn topic<'n>(&'n self, name: &'n [u8]) -> &'n [u8] {
        self.topics.get(name).map_or(name, Vec::as_slice)
    }

    fn of(&self, kind: Kind, name: &[u8]) -> Option<&[u8]> {
        let names = match kind {
            Kind::Group => &self.groups,
            Kind::Topic => &self.topics,
            _ => return None,
        };
        let new = names.get(name)?;
        if let Some(met) = self.met.get(&(kind, name.to_vec())) {
            met.store(true, Ordering::Relaxed);
        }
        Some(new)
    }

    /// Old names, and whether they were met.
    pub fn met(&self) -> impl Iterator<Item = (Kind, &[u8], Arc<AtomicBool>)> {
        self.met.iter().map(|((kind, old), met)| (*kind, old.as_slice(), met.clone()))
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>) -> io::Result<()> {
        if self.is_none() {
            return Ok(());
        }
        let bytes = draft.key.clone();
        let Ok(mut key) = Key::decode(&bytes) else { return Ok(()) };
        self.refuse_taken(&key)?;
        let record_type = key.record_type;
        let topic_renamed = key.topic_partition().is_some_and(|(topic, _)| self.topics.contains_key(topic));
        let mut pass = Pass::new(self);
        in_key(&mut key, &mut pass);
        let group_renamed = self.groups.contains_key(key.group());
        if pass.any {
            let new = pass.new;
            in_key(&mut key, &mut Put::new(&new));
            let mut out = Vec::new();
            key.encode(&mut out);
            let code = if group_renamed { "rename-group" } else { "rename-topic" };
            draft.notes.push(Note::new(code));
            if group_renamed && topic_renamed {
                draft.notes.push(Note::new("rename-topic"));
            }
            draft.key = Cow::Owned(out);
        }
        if !self.topics.is_empty() {
            self.value(draft, record_type, topic_renamed);
        }
        Ok(())
    }

    fn value(&self, draft: &mut Draft<'_>, record_type: crate::schema::RecordType, topic_renamed: bool) {
        let Some(bytes) = draft.value.clone() else { return };
        let Ok(mut value) = record_type.decode_value(&bytes) else {
            if self.stands_in(&bytes) {
                draft.notes.push(Note::saying("topic-name-left", "the value cannot be decoded".to_owned()));
            }
            return;
        };
        let mut pass = Pass::new(self);
        in_value(&mut value.data, &mut pass);
        let any = pass.any;
        let new = pass.new;
        in_value(&mut value.data, &mut Put::new(&new));
        let id = if topic_renamed { drop_topic_id_of(&mut value.data) } else { false };
        if any || id {
            let mut out = Vec::new();
            value.encode(&mut out);
            if any {
                draft.notes.push(Note::new("rename-topic"));
            }
            if id {
                let lost = vec!["topicId"];
                draft
                    .notes
                    .push(Note { lost, ..Note::saying("topic-id-dropped", "it was the old topic's".to_owned()) });
            }
            draft.value = Some(Cow::Owned(out));
        }
        if draft.value.as_deref().is_some_and(|bytes| self.stands_in(bytes)) {
            let text = "a member's own bytes still name the old topic".to_owned();
            draft.notes.push(Note::saying("topic-name-left", text));
        }
    }

    /// Whether an old name still stands in a value as a counted text.
    fn stands_in(&self, bytes: &[u8]) -> bool {
        self.topics.keys().filter(|name| !self.new_topics.contains(*name)).any(|name| {
            let mut text = (name.len() as u16).to_be_bytes().to_vec();
            text.extend_from_slice(name);
            memchr::memmem::find(bytes, &text).is_some()
        })
    }

    /// A name that is given must not be there already.
    fn refuse_taken(&self, key: &Key<'_>) -> io::Result<()> {
        let taken = |what: &str, name: &[u8]| {
            let name = visible(name);
            Err(io::Error::other(format!(
                "the {what} '{name}' is in the log already, and its records would be mixed with those of the renamed one; \
                 --drop-{what} '{name}' takes it out first"
            )))
        };
        let (group, topic) = (key.group(), key.topic_partition().map(|(topic, _)| topic));
        if self.new_groups.contains(group) && !self.groups.contains_key(group) {
            return taken("group", group);
        }
        match topic {
            Some(topic) if self.new_topics.contains(topic) && !self.topics.contains_key(topic) => taken("topic", topic),
            _ => Ok(()),
        }
    }
}

type Checked = (BTreeMap<Vec<u8>, Vec<u8>>, BTreeSet<Vec<u8>>);

fn checked(what: &str, pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Checked, String> {
    let (mut names, mut new) = (BTreeMap::new(), BTreeSet::new());
    for (from, to) in pairs {
        let text = |name: &[u8]| visible(name);
        if !new.insert(to.clone()) {
            return Err(format!("two {what}s get the name '{}'", text(&to)));
        }
        if names.insert(from.clone(), to).is_some() {
            return Err(format!("the {what} '{}' gets two names", text(&from)));
        }
    }
    Ok((names, new))
}

/// Collects new names in the order in which the old ones stand.
struct Pass<'r> {
    renames: &'r Renames,
    new: Vec<Option<Vec<u8>>>,
    any: bool,
}

impl<'r> Pass<'r> {
    fn new(renames: &'r Renames) -> Self {
        Pass { renames, new: Vec::new(), any: false }
    }

    fn push(&mut self, new: Option<Vec<u8>>) {
        self.any |= new.is_some();
        self.new.push(new);
    }
}

impl<'a> Names<'a> for Pass<'_> {
    fn text(&mut self, kind: Kind, text: &mut &'a [u8]) {
        self.push(self.renames.of(kind, text).map(<[u8]>::to_vec));
    }

    fn payload(&mut self, payload: Payload<'a>, bytes: &mut &'a [u8]) {
        let renames = self.renames;
        let mut rename = |kind: Kind, name: &[u8]| renames.of(kind, name).map(<[u8]>::to_vec);
        self.push(match copied(payload, bytes, Unreadable::Stay, &mut rename) {
            Copied::New(new) => Some(new),
            Copied::Same | Copied::Opaque => None,
        });
    }
}

/// Copies a payload.
pub(super) fn copied(
    payload: Payload<'_>,
    bytes: &[u8],
    unreadable: Unreadable,
    rename: &mut copy::Rename<'_>,
) -> Copied {
    match payload {
        Payload::Subscription { protocol_type, protocol } => {
            copy::subscription(protocol_type, protocol, bytes, unreadable, rename)
        }
        Payload::Assignment { protocol_type, protocol } => {
            copy::assignment(protocol_type, protocol, bytes, unreadable, rename)
        }
    }
}

/// Puts collected names in their places: shown in the same order.
struct Put<'n> {
    new: std::slice::Iter<'n, Option<Vec<u8>>>,
}

impl<'n> Put<'n> {
    fn new(new: &'n [Option<Vec<u8>>]) -> Self {
        Put { new: new.iter() }
    }

    fn put<'a>(&mut self, bytes: &mut &'a [u8])
    where
        'n: 'a,
    {
        if let Some(Some(new)) = self.new.next() {
            *bytes = new;
        }
    }
}

impl<'a, 'n: 'a> Names<'a> for Put<'n> {
    fn text(&mut self, _: Kind, text: &mut &'a [u8]) {
        self.put(text);
    }

    fn payload(&mut self, _: Payload<'a>, bytes: &mut &'a [u8]) {
        self.put(bytes);
    }
}
