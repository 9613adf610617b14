//! The history of groups: the records of a partition, in log order, told as what happened to each group.
//!
//! A [`Teller`] is shown the partition and gives a [`Story`] for each group asked for. Memory grows with what is told,
//! with the groups' present state, and with open transactions, not with the log.
//! Must not know: how a story is printed.

pub mod event;
mod now;
mod stored;
mod storm;
mod tale;

pub use storm::Storms;
pub use tale::{CommitsTold, Telling};

use self::event::{Damage, Event, Gap, MemberStep, Story, What};
use self::tale::{Site, Tale, Waiting};
use super::ahead::CheckNow;
use super::assemble::{commit_of, learn};
use super::event::{Content, Subject, content_of};
use super::replay::Extent;
use super::rules::{PendingUnderTombstone, Rules};
use super::topics::Topics;
use super::view::{Assignment, TopicPartitions};
use super::walk::{Step, Visitor, walk_segment};
use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Control, Hole, Inflater, Record, Segment};
use crate::schema::{Key, KeyFields};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::ops::Range;

/// Damage that may concern any group is told up to this many times; the rest is counted.
const MOST_DAMAGE: usize = 1000;

/// Which stretch of the log is told.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Log offsets.
    pub offsets: Range<i64>,
    /// Times in milliseconds since 1970; records without a time are outside.
    pub times: Option<Range<i64>>,
}

impl Stretch {
    fn holds(&self, offset: i64, timestamp: i64) -> bool {
        self.offsets.contains(&offset) && self.times.as_ref().is_none_or(|times| times.contains(&timestamp))
    }
}

/// Tells the stories of one partition.
pub struct Teller<'w> {
    telling: Telling,
    rules: Rules,
    extent: Extent,
    stretch: Stretch,
    /// Whether a group is asked for.
    wanted: &'w (dyn Fn(&[u8]) -> bool + Sync),
    tales: HashMap<Vec<u8>, Tale>,
    topics: Topics,
    /// Commits that wait for the end of their transaction, by producer.
    open: BTreeMap<i64, Open>,
    damage: Vec<Event>,
    /// Damage to records of a group that is named.
    own_damage: HashMap<Vec<u8>, Vec<Event>>,
    faults: u64,
    counter: Counter,
    batch: Present,
    log_start: Option<i64>,
}

/// A transaction that has not ended.
#[derive(Debug, Default)]
struct Open {
    epoch: i16,
    groups: BTreeMap<Vec<u8>, WaitingByKey>,
}

/// By topic and partition.
type WaitingByKey = BTreeMap<(Vec<u8>, i32), Waiting>;

/// The batch at hand.
#[derive(Debug, Default)]
struct Present {
    number: u64,
    damaged: Option<FaultKind>,
    /// The groups that it has records of.
    groups: HashSet<Vec<u8>>,
    /// Topics of which offsets were removed: of which group, or of more than one.
    lost: BTreeMap<Vec<u8>, Losers>,
}

/// Which groups lost offsets of a topic.
#[derive(Debug)]
enum Losers {
    One(Vec<u8>),
    Many,
}

/// Counts the offsets that are missing.
#[derive(Debug, Default)]
struct Counter {
    first: Option<i64>,
    next: i64,
    missing: i64,
    before: i64,
    /// What is missing next has another reason: bytes that are no batch.
    excused: bool,
}

impl Counter {
    fn met(&mut self, offset: i64) {
        if self.first.is_none() || std::mem::take(&mut self.excused) {
            self.next = offset;
        }
        self.first.get_or_insert(offset);
        if offset > self.next {
            self.missing = self.missing.saturating_add(offset.saturating_sub(self.next));
            self.before = offset;
        }
        self.next = self.next.max(offset.saturating_add(1));
    }

    /// What is missing here has another reason.
    fn excuse(&mut self, until: i64) {
        self.next = self.next.max(until);
    }
}

/// What a [`Teller`] gives.
pub struct Told {
    /// By group.
    pub stories: Vec<Story>,
    /// Places that could not be read.
    pub faults: u64,
}

impl<'w> Teller<'w> {
    /// Nothing told yet. With a log start, what lies before it was deleted and is not told.
    pub fn new(
        telling: Telling,
        rules: Rules,
        (log_start, last): (Option<i64>, i64),
        stretch: Stretch,
        wanted: &'w (dyn Fn(&[u8]) -> bool + Sync),
    ) -> Self {
        Teller {
            telling,
            rules,
            extent: Extent { from: log_start.unwrap_or(i64::MIN), last },
            stretch,
            wanted,
            tales: HashMap::new(),
            topics: Topics::default(),
            open: BTreeMap::new(),
            damage: Vec::new(),
            own_damage: HashMap::new(),
            faults: 0,
            counter: Counter::default(),
            batch: Present::default(),
            log_start,
        }
    }

    /// Reads a segment. Ends with [`Step::Stop`] behind the last offset of the extent.
    pub fn segment(&mut self, segment: &Segment, inflater: &mut Inflater) -> io::Result<Step> {
        let step = walk_segment(segment, segment.spans(), inflater, &mut CheckNow, self)?;
        if segment.was_cut() {
            self.damaged(segment, segment.len(), FaultKind::FileCut);
        }
        Ok(step)
    }

    /// The names of topics that the log told.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// All stories, by group, with the names of topics put in.
    pub fn finish(mut self, topics: &Topics) -> Told {
        for (producer, open) in std::mem::take(&mut self.open) {
            for (group, waiting) in open.groups {
                let waiting = in_order(waiting);
                let (Some(from), Some(to)) = (waiting.first().map(|it| it.site), waiting.last().map(|it| it.site))
                else {
                    continue;
                };
                self.tale(&group).unfinished((from, to), (producer, open.epoch), false, waiting);
            }
        }
        let gap = self.gap();
        let names = |id| self.topics.name(id).or_else(|| topics.name(id)).map(<[u8]>::to_vec);
        let mut stories: Vec<_> = std::mem::take(&mut self.tales)
            .into_iter()
            .map(|(group, tale)| {
                let kind = tale.now().kind();
                let mut events = tale.finish();
                let own = self.own_damage.remove(&group).unwrap_or_default();
                events.extend(self.damage.iter().cloned().chain(own));
                events.sort_by_key(|event| event.offset);
                events.retain(|event| event.inside);
                events.iter_mut().for_each(|event| name_topics(event, &names));
                let kind = kind.or_else(|| last_kind(&events));
                if let (Some(gap), false) = (&gap, events.is_empty()) {
                    events.insert(0, gap.clone());
                }
                Story { group, kind, events }
            })
            .filter(|story| !story.events.is_empty())
            .collect();
        stories.sort_by(|a, b| a.group.cmp(&b.group));
        Told { stories, faults: self.faults }
    }

    /// What is missing in the log, if that is before the end of the stretch.
    fn gap(&self) -> Option<Event> {
        let begins = self.counter.first.unwrap_or(0).max(self.log_start.unwrap_or(0));
        let gap = Gap { begins, missing: self.counter.missing, before: self.counter.before.max(begins) };
        let concerns = gap.before > 0 && gap.before > self.stretch.offsets.start && begins < self.stretch.offsets.end;
        concerns.then_some(Event {
            offset: begins,
            last_offset: gap.before,
            timestamp: -1,
            last_timestamp: -1,
            inside: true,
            what: What::Gap(gap),
        })
    }

    fn tale(&mut self, group: &[u8]) -> &mut Tale {
        let telling = self.telling;
        self.tales.entry(group.to_vec()).or_insert_with(|| Tale::new(group, telling))
    }

    fn damaged(&mut self, segment: &Segment, position: u64, fault: FaultKind) {
        self.faults += 1;
        if self.damage.len() >= MOST_DAMAGE {
            if let Some(Event { what: What::Damage(last), .. }) = self.damage.last_mut() {
                last.more += 1;
            }
            return;
        }
        let event = self.damage_event(segment, position, fault, self.counter.next);
        self.damage.push(event);
    }

    /// Damage to a record of a group.
    fn damaged_record(
        &mut self,
        group: &[u8],
        segment: &Segment,
        batch: &Batch<'_>,
        (offset, fault): (i64, FaultKind),
    ) {
        self.faults += 1;
        if !(self.wanted)(group) {
            return;
        }
        let mut event = self.damage_event(segment, batch.position(), fault.clone(), offset);
        self.tale(group);
        let told = self.own_damage.entry(group.to_vec()).or_default();
        let told_already = told.len();
        match told.last_mut() {
            // One for all records of a batch.
            Some(Event { what: What::Damage(last), last_offset, .. })
                if (last.position == batch.position() && last.segment == segment.name() && last.fault == fault)
                    || told_already >= MOST_DAMAGE =>
            {
                last.more += 1;
                *last_offset = offset;
            }
            _ => {
                if let What::Damage(damage) = &mut event.what {
                    damage.own = true;
                }
                told.push(event);
            }
        }
    }

    /// How much damage was met that a group's story tells of.
    fn damage_met(&self, group: &[u8]) -> usize {
        self.damage.len() + self.own_damage.get(group).map_or(0, Vec::len)
    }

    fn damage_event(&self, segment: &Segment, position: u64, fault: FaultKind, offset: i64) -> Event {
        let damage = Damage { segment: segment.name().to_owned(), position, fault, more: 0, own: false };
        Event {
            offset,
            last_offset: offset,
            timestamp: -1,
            last_timestamp: -1,
            inside: self.stretch.offsets.contains(&offset),
            what: What::Damage(Box::new(damage)),
        }
    }

    fn data(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) {
        let key = match Subject::of_key(record.key) {
            Subject::Key(key) => key,
            // A broker skips types that it does not know.
            Subject::BadKey { fault, .. } if matches!(fault.kind, FaultKind::UnknownType(_)) => return,
            Subject::BadKey { fault, .. } => return self.damaged(segment, batch.position(), fault.kind),
            Subject::Control(_) => return,
        };
        if key.record_type.number() > self.rules.known_types.greatest {
            return;
        }
        let group = key.group();
        if let (Some((topic, _)), None, None) = (key.topic_partition(), record.value, &self.batch.damaged) {
            let losers = self.batch.lost.entry(topic.to_vec()).or_insert_with(|| Losers::One(group.to_vec()));
            if matches!(losers, Losers::One(one) if one != group) {
                *losers = Losers::Many;
            }
        }
        if let Some(fault) = self.batch.damaged.clone() {
            return self.damaged_record(group, segment, batch, (record.offset, fault));
        }
        if !(self.wanted)(group) {
            return;
        }
        let site = self.site(record);
        let content = content_of(key.record_type, record.value);
        if let Content::Bad { fault, .. } = content {
            return self.damaged_record(group, segment, batch, (record.offset, fault.kind));
        }
        let damage = self.damage_met(group);
        self.tale(group).arrive(site, damage);
        if !self.batch.groups.contains(group) {
            self.batch.groups.insert(group.to_vec());
        }
        match &key.fields {
            KeyFields::Offset(fields) => {
                self.offset(batch, record, site, (group, fields.topic.0, fields.partition));
            }
            _ => {
                let value = match &content {
                    Content::Value(value) => Some(&value.data),
                    _ => None,
                };
                if let Some(value) = value {
                    learn(&mut self.topics, value);
                }
                self.tale(group).record(site, &key, value);
            }
        }
    }

    fn offset(
        &mut self,
        batch: &Batch<'_>,
        record: &Record<'_>,
        site: Site,
        (group, topic, partition): (&[u8], &[u8], i32),
    ) {
        let header = batch.header();
        let Some(bytes) = record.value else {
            let old = self.rules.pending_under_tombstone == PendingUnderTombstone::OwnProducerOnly;
            let own = (old, header.producer_id);
            let pending = self.forget_pending((group, topic, partition), own);
            let stored_too = !old || header.producer_id == -1;
            return self.tale(group).forget(site, topic, partition, stored_too, pending);
        };
        let Some(commit) = commit_of(bytes, record.offset) else { return };
        if let Some(id) = commit.topic_id {
            self.topics.learn(id, topic);
        }
        if header.producer_id == -1 {
            return self.tale(group).commit(site, topic, partition, commit);
        }
        let presence = self.tale(group).presence();
        let open = self.open.entry(header.producer_id).or_default();
        open.epoch = header.producer_epoch;
        let waiting = open.groups.entry(group.to_vec()).or_default();
        let it = Waiting { topic: topic.to_vec(), partition, commit, site, presence };
        waiting.insert((topic.to_vec(), partition), it);
    }

    /// Commits of open transactions that a tombstone takes: all, or by older rules only those of its own producer.
    fn forget_pending(&mut self, (group, topic, partition): (&[u8], &[u8], i32), (old, own): (bool, i64)) -> u64 {
        let mut gone = 0;
        let key = (topic.to_vec(), partition);
        for (producer, open) in &mut self.open {
            if old && (own == -1 || *producer != own) {
                continue;
            }
            if let Some(waiting) = open.groups.get_mut(group) {
                gone += u64::from(waiting.remove(&key).is_some());
            }
        }
        gone
    }

    fn site(&self, record: &Record<'_>) -> Site {
        Site {
            offset: record.offset,
            timestamp: record.timestamp,
            batch: self.batch.number,
            inside: self.stretch.holds(record.offset, record.timestamp),
        }
    }

    fn control(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) {
        let committed = match Control::parse(record) {
            Ok(Control::Commit(_)) => true,
            Ok(Control::Abort(_)) => false,
            Ok(_) => return,
            Err(fault) => return self.damaged(segment, batch.position(), fault.kind),
        };
        let producer = batch.header().producer_id;
        let Some(open) = self.open.remove(&producer) else { return };
        let site = self.site(record);
        for (group, waiting) in open.groups.into_iter().filter(|(_, waiting)| !waiting.is_empty()) {
            let waiting = in_order(waiting);
            let damage = self.damage_met(&group);
            let tale = self.tale(&group);
            tale.arrive(site, damage);
            if committed {
                tale.committed(site, (producer, open.epoch), waiting);
            } else {
                tale.unfinished((site, site), (producer, open.epoch), true, waiting);
            }
        }
    }
}

/// In the order of the log.
fn in_order(waiting: WaitingByKey) -> Vec<Waiting> {
    let mut waiting: Vec<_> = waiting.into_values().collect();
    waiting.sort_by_key(|it| it.site.offset);
    waiting
}

fn last_kind(events: &[Event]) -> Option<super::view::GroupType> {
    events.iter().rev().find_map(|event| match &event.what {
        What::Turn(turn) => turn.after.as_ref().or(turn.before.as_ref()).map(|facts| facts.kind),
        What::Storm(storm) => storm.after.as_ref().map(|facts| facts.kind),
        _ => None,
    })
}

type Names<'n> = &'n dyn Fn(crate::schema::wire::Uuid) -> Option<Vec<u8>>;

/// Puts in the names of topics that the log holds only as ids.
fn name_topics(event: &mut Event, names: Names<'_>) {
    let What::Turn(turn) = &mut event.what else { return };
    for MemberStep { before, after } in &mut turn.members {
        for member in [before, after].into_iter().flatten() {
            name_assignment(&mut member.assignment, names);
            member.target.iter_mut().chain(&mut member.pending_revocation).for_each(|it| name_assignment(it, names));
        }
    }
}

fn name_assignment(assignment: &mut Assignment, names: Names<'_>) {
    let Assignment::Topics(topics) = assignment else { return };
    for TopicPartitions { topic, topic_id, .. } in topics {
        if let (None, Some(id)) = (&topic, topic_id) {
            *topic = names(*id);
        }
    }
}

impl Visitor for Teller<'_> {
    fn segment(&mut self, _: &Segment) -> io::Result<Step> {
        Ok(Step::On)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        // Zeros to the end are preallocated space, and hid nothing.
        if hole.fault.is_damage() {
            self.damaged(segment, hole.position, hole.fault.clone());
            self.counter.excused = true;
        }
        Ok(Step::On)
    }

    fn batch(&mut self, _: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        let header = batch.header();
        if header.magic >= 2 && header.base_offset > self.extent.last {
            return Ok(Step::Stop);
        }
        if header.last_offset < self.extent.from {
            return Ok(Step::Over);
        }
        self.batch.number += 1;
        self.batch.damaged = crc.cloned();
        self.batch.lost.clear();
        Ok(Step::On)
    }

    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        if record.offset > self.extent.last {
            return Ok(Step::Stop);
        }
        if record.offset < self.extent.from {
            return Ok(Step::On);
        }
        self.counter.met(record.offset);
        if !batch.header().control {
            self.data(segment, batch, record);
        } else if self.batch.damaged.is_none() {
            self.control(segment, batch, record);
        }
        Ok(Step::On)
    }

    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        let at = record.offset.unwrap_or(self.counter.next);
        match record.key.map(Key::decode) {
            Some(Ok(key)) => self.damaged_record(key.group(), segment, batch, (at, record.fault.kind.clone())),
            _ => self.damaged(segment, batch.position(), record.fault.kind.clone()),
        }
        Ok(Step::On)
    }

    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        if let Some(fault) = body {
            self.damaged(segment, batch.position(), fault.kind.clone());
            self.counter.excuse(batch.header().last_offset.saturating_add(1));
        } else if self.batch.damaged.is_some() {
            self.faults += 1;
        }
        for group in std::mem::take(&mut self.batch.groups) {
            if let Some(tale) = self.tales.get_mut(&group) {
                let lost = &self.batch.lost;
                tale.end_batch(&|topic| match lost.get(topic) {
                    Some(Losers::One(one)) => *one != group,
                    Some(Losers::Many) => true,
                    None => false,
                });
            }
        }
        Ok(Step::On)
    }
}
