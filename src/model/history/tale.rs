//! The story of one group while it grows: records become steps, commits become spans.
//!
//! Must not know: batches and segments, beyond which records stand in the same batch.

use super::event::{
    CommitStep, Commits, Event, Flag, Forgotten, Move, Presence, Removed, Span, Turn, Unfinished, What, Why,
};
use super::now::{Before, Now};
use super::stored::{Stored, StoredOffsets};
use super::storm::{Folder, Storms};
use crate::model::view::Commit;
use crate::schema::{Key, RecordType, Value};
use std::collections::BTreeMap;

/// Batches whose times lie this far apart at most, in milliseconds, were written together.
const TOGETHER: i64 = 5;

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// Its log offset.
    pub offset: i64,
    /// Its time, in milliseconds since 1970; -1 for none.
    pub timestamp: i64,
    /// The number of its batch.
    pub batch: u64,
    /// Whether it lies in the stretch that was asked for.
    pub inside: bool,
}

/// How commits are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitsTold {
    /// Between two other events they are summed up.
    Summed,
    /// Every batch of them.
    Each,
}

/// How a story is told.
#[derive(Debug, Clone, Copy)]
pub struct Telling {
    /// Commits.
    pub commits: CommitsTold,
    /// Storms.
    pub storms: Storms,
    /// Offsets older than this are taken to have expired when they go, in milliseconds.
    pub retention: i64,
}

/// A commit that waits for the end of its transaction.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Whose it is, and where it stands.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// What it says.
    pub commit: Commit,
    /// Where it stands.
    pub site: Site,
    /// Whether anyone was in the group when it was written.
    pub presence: Presence,
}

/// The story of one group.
#[derive(Debug)]
pub struct Tale {
    telling: Telling,
    now: Now,
    stored: StoredOffsets,
    step: Option<OpenStep>,
    span: Option<OpenSpan>,
    /// Commits and removals of the present batch.
    batch: Vec<CommitStep>,
    batch_sites: Option<(Site, Site)>,
    gone: Vec<(Removed, Option<i64>)>,
    /// Whether the present batch removed the group.
    group_gone: bool,
    /// How many events there were when the present batch began.
    events_before: usize,
    events: Folder,
    last: Option<Site>,
    damage_seen: usize,
}

#[derive(Debug)]
struct OpenStep {
    before: Before,
    from: Site,
    to: Site,
    /// A value of a classic group is in it: nothing can be added but what converts the group.
    classic: bool,
    /// The epoch of the group is in it.
    epoch: bool,
    /// What a member has now is in it: a member's own record begins another step.
    current: bool,
}

#[derive(Debug)]
struct OpenSpan {
    from: Site,
    to: Site,
    commits: u64,
    batches: u64,
    presence: Presence,
    moves: BTreeMap<Vec<u8>, BTreeMap<i32, Move>>,
    producers: BTreeMap<i64, (i16, u64)>,
}

impl Tale {
    /// Nothing yet.
    pub fn new(group: &[u8], telling: Telling) -> Self {
        Tale {
            telling,
            now: Now::new(group),
            stored: StoredOffsets::default(),
            step: None,
            span: None,
            batch: Vec::new(),
            batch_sites: None,
            gone: Vec::new(),
            group_gone: false,
            events_before: 0,
            events: Folder::new(telling.storms),
            last: None,
            damage_seen: 0,
        }
    }

    /// Whether anyone is in the group.
    pub fn presence(&self) -> Presence {
        match self.now.kind() {
            None => Presence::NoGroup,
            Some(_) if self.now.has_members() => Presence::Members,
            Some(_) => Presence::NoMembers,
        }
    }

    /// The group as it is now.
    pub fn now(&self) -> &Now {
        &self.now
    }

    /// A record comes: what lay on the other side of a border of the stretch, or of damage, ends here.
    pub fn arrive(&mut self, site: Site, damage: usize) {
        let other_side = self.last.is_some_and(|last| last.inside != site.inside);
        if other_side || damage != self.damage_seen {
            self.settle();
        }
        if self.last.is_none_or(|last| last.batch != site.batch) {
            self.events_before = self.events.len();
        }
        self.damage_seen = damage;
        self.last = Some(site);
    }

    /// A record of the group itself.
    pub fn record(&mut self, site: Site, key: &Key<'_>, value: Option<&Value<'_>>) {
        self.settle_batch();
        self.end_span();
        if self.step.as_ref().is_some_and(|step| !step.takes(site, key.record_type, value.is_some())) {
            self.end_step();
        }
        let step = self.step.get_or_insert_with(|| OpenStep {
            before: self.now.begin(),
            from: site,
            to: site,
            classic: false,
            epoch: false,
            current: false,
        });
        step.to = site;
        step.note(key.record_type, value.is_some());
        let was = self.now.kind();
        self.now.apply(key, value, &mut step.before);
        self.group_gone |= was.is_some() && self.now.kind().is_none();
    }

    /// A commit that counts at once.
    pub fn commit(&mut self, site: Site, topic: &[u8], partition: i32, commit: Commit) {
        self.end_step();
        self.settle_gone();
        let (before, flag) = self.stored.put(topic, partition, &commit);
        self.batch_sites = Some(self.batch_sites.map_or((site, site), |(from, _)| (from, site)));
        self.batch.push(commit_step(topic, partition, commit, before, flag));
    }

    /// The transaction of these commits was committed.
    pub fn committed(&mut self, site: Site, producer: (i64, i16), waiting: Vec<Waiting>) {
        self.end_step();
        self.settle_batch();
        let presence = waiting.first().map_or_else(|| self.presence(), |first| first.presence);
        let mut steps = Vec::new();
        for Waiting { topic, partition, commit, .. } in waiting {
            let later = self.stored.get(&topic, partition).map(|stored| (stored.log_offset, stored.offset));
            let (before, flag) = match later.filter(|(at, _)| *at > commit.log_offset) {
                Some((_, stored)) => (Some(stored), Flag::Superseded),
                None => self.stored.put(&topic, partition, &commit),
            };
            steps.push(commit_step(&topic, partition, commit, before, flag));
        }
        self.tell_commits(steps, (site, site), presence, Some(producer));
    }

    /// The transaction of these commits was aborted, or did not end.
    pub fn unfinished(&mut self, at: (Site, Site), producer: (i64, i16), aborted: bool, waiting: Vec<Waiting>) {
        self.settle();
        let steps = waiting.into_iter().map(|Waiting { topic, partition, commit, .. }| {
            let before = self.stored.get(&topic, partition).map(|stored| stored.offset);
            commit_step(&topic, partition, commit, before, Flag::Usual)
        });
        let steps = steps.collect();
        let (producer_id, producer_epoch) = producer;
        self.tell(at, What::Transaction(Box::new(Unfinished { producer_id, producer_epoch, aborted, steps })));
    }

    /// A tombstone of an offset, which took so many commits of open transactions with it.
    pub fn forget(&mut self, site: Site, topic: &[u8], partition: i32, stored_too: bool, pending: u64) {
        self.end_step();
        self.end_commits();
        self.end_span();
        let stored = if stored_too { self.stored.remove(topic, partition) } else { None };
        let base = stored.as_ref().map(|stored| self.now.empty_since().unwrap_or(stored.commit_timestamp));
        let of = |get: fn(&Stored) -> i64| stored.as_ref().map(get);
        let removed = Removed {
            topic: topic.to_vec(),
            partition,
            offset: of(|it| it.offset),
            commit_timestamp: of(|it| it.commit_timestamp),
            log_offset: of(|it| it.log_offset),
            pending,
        };
        let expired = stored.as_ref().and_then(|stored| stored.expire_timestamp).is_some_and(|at| at <= site.timestamp);
        self.batch_sites = Some(self.batch_sites.map_or((site, site), |(from, _)| (from, site)));
        // An expiry of its own needs no retention to be over.
        self.gone.push((removed, if expired { Some(i64::MIN) } else { base }));
    }

    /// The batch ends. `lost` says of which topics other groups lost offsets in it.
    pub fn end_batch(&mut self, lost: &dyn Fn(&[u8]) -> bool) {
        self.settle_batch();
        let (group_gone, subscribed) = (self.group_gone, &self.now);
        for event in self.events.since(self.events_before) {
            let What::Forgotten(forgotten) = &mut event.what else { continue };
            if !matches!(forgotten.why, Why::OffsetsDeleted) {
                continue;
            }
            let topic_gone = |it: &Removed| lost(&it.topic) || subscribed.subscribes(&it.topic);
            if group_gone {
                forgotten.why = Why::GroupDeleted;
            } else if forgotten.offsets.iter().all(topic_gone) {
                forgotten.why = Why::TopicDeleted;
            }
        }
        self.group_gone = false;
    }

    /// The log ends.
    pub fn finish(mut self) -> Vec<Event> {
        self.settle();
        self.events.finish()
    }

    fn settle(&mut self) {
        self.settle_batch();
        self.end_step();
        self.end_span();
    }

    fn settle_batch(&mut self) {
        self.end_commits();
        self.settle_gone();
    }

    /// Tells the commits of the present batch.
    fn end_commits(&mut self) {
        if !self.batch.is_empty() {
            let steps = std::mem::take(&mut self.batch);
            if let Some(at) = self.batch_sites.take() {
                self.tell_commits(steps, at, self.presence(), None);
            }
        }
    }

    /// Tells the removals of the present batch.
    fn settle_gone(&mut self) {
        if self.gone.is_empty() {
            return;
        }
        let gone = std::mem::take(&mut self.gone);
        let Some(at) = self.batch_sites.take() else { return };
        let youngest = gone.iter().filter_map(|(_, base)| *base).max();
        let why = match youngest {
            None => Why::Unknown,
            Some(i64::MIN) => Why::ExpireTimestamp,
            Some(base) if at.1.timestamp.saturating_sub(base) >= self.telling.retention => Why::Expired,
            // What stands around it may tell more.
            Some(_) => Why::OffsetsDeleted,
        };
        let offsets = gone.into_iter().map(|(removed, _)| removed).collect();
        self.tell(at, What::Forgotten(Box::new(Forgotten { offsets, why })));
    }

    fn tell_commits(
        &mut self,
        steps: Vec<CommitStep>,
        at: (Site, Site),
        presence: Presence,
        producer: Option<(i64, i16)>,
    ) {
        let remarkable = steps.iter().any(|step| step.flag != Flag::Usual);
        if remarkable || self.telling.commits == CommitsTold::Each {
            self.end_span();
            return self.tell(at, What::Commit(Box::new(Commits { steps, presence, producer })));
        }
        if self.span.as_ref().is_some_and(|span| span.presence != presence) {
            self.end_span();
        }
        let span = self.span.get_or_insert_with(|| OpenSpan {
            from: at.0,
            to: at.1,
            commits: 0,
            batches: 0,
            presence,
            moves: BTreeMap::new(),
            producers: BTreeMap::new(),
        });
        span.to = at.1;
        span.add(steps, producer);
    }

    fn end_span(&mut self) {
        let Some(span) = self.span.take() else { return };
        let what = Span {
            commits: span.commits,
            batches: span.batches,
            presence: span.presence,
            moves: span.moves.into_values().flat_map(BTreeMap::into_values).collect(),
            producers: span.producers.into_iter().map(|(id, (epoch, count))| (id, epoch, count)).collect(),
        };
        self.tell((span.from, span.to), What::Commits(Box::new(what)));
    }

    fn end_step(&mut self) {
        let Some(step) = self.step.take() else { return };
        let turn: Turn = self.now.end(step.before);
        self.tell((step.from, step.to), What::Turn(Box::new(turn)));
    }

    fn tell(&mut self, (from, to): (Site, Site), what: What) {
        self.events.push(Event {
            offset: from.offset,
            last_offset: to.offset,
            timestamp: from.timestamp,
            last_timestamp: to.timestamp,
            inside: from.inside,
            what,
        });
    }
}

impl OpenStep {
    /// Whether a record belongs to the step.
    fn takes(&self, site: Site, record_type: RecordType, is_value: bool) -> bool {
        let classic = record_type == RecordType::GroupMetadata;
        let group = matches!(
            record_type,
            RecordType::ConsumerGroupMetadata | RecordType::ShareGroupMetadata | RecordType::StreamsGroupMetadata
        );
        let member = matches!(
            record_type,
            RecordType::ConsumerGroupMemberMetadata
                | RecordType::ShareGroupMemberMetadata
                | RecordType::StreamsGroupMemberMetadata
        );
        if site.batch == self.to.batch {
            let another = is_value && (classic && self.classic || self.current && (group || member));
            return !another && (classic || !self.classic);
        }
        let together = site.timestamp.saturating_sub(self.to.timestamp) <= TOGETHER && site.timestamp >= 0;
        let another = classic || self.classic || self.epoch && group || self.current && member;
        together && !another && site.inside == self.to.inside
    }

    fn note(&mut self, record_type: RecordType, is_value: bool) {
        match record_type {
            RecordType::GroupMetadata => self.classic |= is_value,
            RecordType::ConsumerGroupMetadata | RecordType::ShareGroupMetadata | RecordType::StreamsGroupMetadata => {
                self.epoch = true;
            }
            RecordType::ConsumerGroupCurrentMemberAssignment
            | RecordType::ShareGroupCurrentMemberAssignment
            | RecordType::StreamsGroupCurrentMemberAssignment => self.current |= is_value,
            _ => {}
        }
    }
}

impl OpenSpan {
    fn add(&mut self, steps: Vec<CommitStep>, producer: Option<(i64, i16)>) {
        self.batches += 1;
        if let Some((id, epoch)) = producer {
            let (last_epoch, transactions) = self.producers.entry(id).or_default();
            *last_epoch = epoch;
            *transactions += 1;
        }
        for step in steps {
            self.commits += 1;
            let known = self.moves.get_mut(&step.topic).and_then(|partitions| partitions.get_mut(&step.partition));
            match known {
                Some(it) => {
                    it.last = step.offset;
                    it.commits += 1;
                    it.last_timestamp = step.commit_timestamp;
                    it.log_offset = step.log_offset;
                }
                None => {
                    let it = Move {
                        topic: step.topic.clone(),
                        partition: step.partition,
                        before: step.before,
                        first: step.offset,
                        last: step.offset,
                        commits: 1,
                        first_timestamp: step.commit_timestamp,
                        last_timestamp: step.commit_timestamp,
                        log_offset: step.log_offset,
                    };
                    self.moves.entry(step.topic).or_default().insert(step.partition, it);
                }
            }
        }
    }
}

fn commit_step(topic: &[u8], partition: i32, commit: Commit, before: Option<i64>, flag: Flag) -> CommitStep {
    CommitStep {
        topic: topic.to_vec(),
        partition,
        before,
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: commit.metadata,
        commit_timestamp: commit.commit_timestamp,
        expire_timestamp: commit.expire_timestamp,
        log_offset: commit.log_offset,
        flag,
    }
}
