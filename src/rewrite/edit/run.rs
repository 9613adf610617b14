//! Carries edits out, batch by batch: reads old logs side by side, and hands on what new ones are made of.
//!
//! One log becomes one, with its offsets kept; or many become as many as are asked for, each group in the one that it
//! hashes to. Then batches are taken by time (the greatest so far in their log), those of one time by offset; those of one
//! log stay in their order. The end of a transaction follows its data to wherever they went.
//! Must not know: where what it hands on goes to.

use super::drops::group_of;
use super::feed::Feed;
use super::reframe::{Placed, Shape, moved, put_epoch, rebuild};
use super::set_offset::Append;
use super::tally::{Action, Edited, Tally};
use super::{Decision, Edits, Item, Note, Origin};
use crate::log::build::{Builder, Entry};
use crate::log::{Batch, Codec, Control, Header, Headers, Inflater, Record, TimestampType};
use crate::model::partitioner::partition_of;
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::plan::frames;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::io;

/// Commits that are written at the end share a batch, so many at most.
const APPENDED_TOGETHER: usize = 500;

/// Bytes of a record that is made here.
type KeyValue = (Vec<u8>, Vec<u8>);

/// Where records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// Each log's to one of its own.
    Stay,
    /// Each group's to the one of so many that it hashes to.
    Shard(i32),
}

/// Takes what new logs are made of.
pub trait Sink {
    /// A batch of the log with this place.
    ///
    /// # Errors
    /// If it cannot be taken.
    fn batch(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()>;
    /// What was done.
    ///
    /// # Errors
    /// If it cannot be taken.
    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()>;
    /// So many bytes more were read.
    fn read(&mut self, bytes: u64);
}

/// How it is done.
pub struct How<'h> {
    /// To the records.
    pub edits: &'h Edits,
    /// To the batches.
    pub shape: Shape,
    /// Where records go.
    pub routing: Routing,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
    /// Whether to go on.
    pub interrupt: &'h Interrupt,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Ran {
    /// What was done, counted.
    pub tally: Tally,
    /// Where each new log ends.
    pub ends: Vec<i64>,
    /// Where records come from that were asked for by their new places.
    pub origins: BTreeMap<(usize, i64), Origin>,
}

/// Reads the logs, and hands on what becomes of them. `asked` names records by new log and new offset, of which it is
/// said where they come from.
///
/// # Errors
/// If a file cannot be read or is not what it was, a batch cannot be written, the sink fails, or the work is interrupted.
pub fn run(feeds: &mut [Feed], how: &How<'_>, asked: &BTreeSet<(usize, i64)>, sink: &mut dyn Sink) -> io::Result<Ran> {
    feeds.iter_mut().for_each(Feed::rewind);
    let targets = match how.routing {
        Routing::Stay => feeds.iter().map(|feed| Place::new(feed.partition)).collect(),
        Routing::Shard(n) => (0..n).map(Place::new).collect(),
    };
    let mut engine = Engine {
        how,
        asked,
        sink,
        targets,
        partitions: feeds.iter().map(|feed| feed.partition).collect(),
        origins: feeds.iter().map(|feed| feed.place).collect(),
        open: Open::default(),
        builder: Builder::new(),
        out: Vec::new(),
        ran: Ran::default(),
    };
    engine.merge(feeds, &mut Inflater::with_limit(how.max_inflated))?;
    engine.open.settle()?;
    engine.append(feeds)?;
    let mut ran = engine.ran;
    ran.ends = match how.routing {
        Routing::Stay if !how.shape.renumber => {
            feeds.iter().zip(&engine.targets).map(|(feed, target)| feed.end.max(target.next)).collect()
        }
        _ => engine.targets.iter().map(|target| target.next).collect(),
    };
    Ok(ran)
}

/// A new log.
struct Place {
    partition: i32,
    /// The offset behind the last record.
    next: i64,
    /// The greatest leader epoch so far.
    epoch: i32,
    /// The magic of the last batch.
    magic: u8,
}

impl Place {
    fn new(partition: i32) -> Self {
        Place { partition, next: 0, epoch: -1, magic: 2 }
    }
}

struct Engine<'e> {
    how: &'e How<'e>,
    asked: &'e BTreeSet<(usize, i64)>,
    sink: &'e mut dyn Sink,
    targets: Vec<Place>,
    /// Of the old logs.
    partitions: Vec<i32>,
    /// Their places among all, by which edits know them.
    origins: Vec<usize>,
    open: Open,
    builder: Builder,
    out: Vec<u8>,
    ran: Ran,
}

impl Engine<'_> {
    /// Takes batches from all logs by time.
    fn merge(&mut self, feeds: &mut [Feed], inflater: &mut Inflater) -> io::Result<()> {
        let mut clocks = vec![i64::MIN; feeds.len()];
        let mut heads = BinaryHeap::new();
        let ask = |clocks: &mut [i64], heads: &mut BinaryHeap<_>, i: usize, feed: &mut Feed| -> io::Result<()> {
            if let (Some(batch), Some(clock)) = (feed.batch()?, clocks.get_mut(i)) {
                let header = batch.header();
                *clock = (*clock).max(header.max_timestamp);
                heads.push(Reverse((*clock, header.base_offset, i)));
            }
            Ok(())
        };
        for (i, feed) in feeds.iter_mut().enumerate() {
            ask(&mut clocks, &mut heads, i, feed)?;
        }
        while let Some(Reverse((.., i))) = heads.pop() {
            self.how.interrupt.check()?;
            let Some(feed) = feeds.get_mut(i) else { continue };
            if let Some(batch) = feed.batch()? {
                self.batch(i, &batch, inflater)?;
            }
            let read = feed.pass()?;
            self.sink.read(read);
            ask(&mut clocks, &mut heads, i, feed)?;
        }
        Ok(())
    }

    fn shards(&self) -> bool {
        matches!(self.how.routing, Routing::Shard(_))
    }

    fn renumbers(&self) -> bool {
        self.how.shape.renumber || self.shards()
    }

    fn batch(&mut self, feed: usize, batch: &Batch<'_>, inflater: &mut Inflater) -> io::Result<()> {
        let header = batch.header();
        self.ran.tally.batches += 1;
        if header.control {
            return self.control(feed, batch, inflater);
        }
        if header.magic == 2 && header.count == 0 {
            return self.empty(feed, batch, &header, "empty-batch");
        }
        let changes = self.how.shape.changes(&header);
        let is_same = self.how.edits.is_none() && changes.is_empty() && !self.renumbers();
        if is_same && self.asked.is_empty() {
            let count = u64::try_from(header.count).ok();
            self.ran.tally.records += count.unwrap_or_else(|| batch.records(inflater).count() as u64);
            return self.copy(feed, batch);
        }
        self.records(feed, batch, &header, &changes, inflater)
    }

    /// Hands on a batch as it is.
    fn copy(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        self.ran.tally.copied += 1;
        self.emit(target, batch)
    }

    fn emit(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        let header = batch.header();
        if let Some(place) = self.targets.get_mut(target) {
            place.next = place.next.max(header.last_offset.saturating_add(1));
            place.epoch = place.epoch.max(header.partition_leader_epoch);
            place.magic = header.magic;
        }
        self.sink.batch(target, batch)
    }

    /// A batch without records remembers a producer or the end of the log. Neither outlives new offsets.
    fn empty(&mut self, feed: usize, batch: &Batch<'_>, header: &Header, code: &'static str) -> io::Result<()> {
        if !self.renumbers() {
            return self.copy(feed, batch);
        }
        self.ran.tally.dropped += 1;
        self.tell_batch(Action::DropBatch, feed, header.base_offset, None, &[Note::new(code)])
    }

    fn tell_batch(
        &mut self,
        action: Action,
        feed: usize,
        from: i64,
        to: Option<(i32, i64)>,
        notes: &[Note],
    ) -> io::Result<()> {
        self.tell(&Edited {
            action,
            from_partition: self.partitions.get(feed).copied(),
            from_offset: Some(from),
            to_partition: to.map(|(partition, _)| partition),
            to_offset: to.map(|(_, offset)| offset),
            key: None,
            value: None,
            new_key: None,
            new_value: None,
            notes,
        })
    }

    fn tell(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        self.ran.tally.count(edited);
        self.sink.edited(edited)
    }

    /// The end of a transaction, or something that no transaction knows.
    fn control(&mut self, feed: usize, batch: &Batch<'_>, inflater: &mut Inflater) -> io::Result<()> {
        let header = batch.header();
        if header.count == 0 {
            return self.empty(feed, batch, &header, "empty-marker");
        }
        if !self.renumbers() {
            return self.copy(feed, batch);
        }
        let targets = if self.shards() {
            let kind = batch.records(inflater).flatten().next().and_then(|it| Control::parse(&it).ok());
            self.open.end(feed, header.producer_id, kind)?
        } else {
            vec![feed]
        };
        if targets.is_empty() {
            self.ran.tally.dropped += 1;
            let notes = [Note::new("marker-without-data")];
            return self.tell_batch(Action::DropBatch, feed, header.base_offset, None, &notes);
        }
        for target in targets {
            self.move_to(target, batch)?;
        }
        self.ran.tally.moved += 1;
        Ok(())
    }

    /// Hands on a batch with a new base offset, and if logs are merged with a leader epoch that does not go back.
    fn move_to(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let next = self.targets.get(target).map_or(0, |place| place.next);
        let done = match moved(batch, next, &mut out) {
            Some(()) => self.emit_bytes(target, &mut out),
            None => Err(io::Error::other("a control batch of magic 0 or 1")),
        };
        self.out = out;
        done
    }

    /// Hands on batches that were just made.
    fn emit_bytes(&mut self, target: usize, out: &mut [u8]) -> io::Result<()> {
        let lengths: Vec<_> = frames(out, 0, out.len() as u64).map(|batch| batch.len() as usize).collect();
        let mut rest = out;
        for length in lengths {
            let Some((bytes, behind)) = rest.split_at_mut_checked(length) else { break };
            rest = behind;
            if self.shards()
                && let Some(place) = self.targets.get(target)
                && let Some(batch) = Batch::new(bytes, 0)
            {
                let epoch = place.epoch.max(batch.header().partition_leader_epoch);
                put_epoch(bytes, epoch);
            }
            if let Some(batch) = Batch::new(bytes, 0) {
                self.emit(target, &batch)?;
            }
        }
        Ok(())
    }

    fn records(
        &mut self,
        feed: usize,
        batch: &Batch<'_>,
        header: &Header,
        changes: &[&'static str],
        inflater: &mut Inflater,
    ) -> io::Result<()> {
        let mut records = batch.records(inflater);
        let mut all = Vec::new();
        for record in records.by_ref() {
            let Ok(record) = record else { return Err(unreadable(batch, "a record that does not parse")) };
            let origin = self.origin(feed, record.offset);
            let item = Item { origin, key: record.key, value: record.value };
            let decision = self.how.edits.decide(&item)?;
            all.push((record, decision));
        }
        if let Some(fault) = records.fault() {
            return Err(unreadable(batch, &fault.kind.to_string()));
        }
        self.ran.tally.records += all.len() as u64;
        let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, (record, decision)) in all.iter().enumerate() {
            if decision.drop.is_none() {
                by_target.entry(self.target_of(feed, record, decision)).or_default().push(i);
            }
        }
        if header.transactional {
            by_target.keys().for_each(|target| self.open.data(feed, header.producer_id, *target));
        }
        let untouched = all.iter().all(|(_, decision)| decision.is_keep());
        let is_whole = by_target.len() == 1 && untouched;
        let mut rebuilt = false;
        for (target, places) in &by_target {
            rebuilt |= self.part((feed, *target), batch, changes, &all, places, is_whole)?;
        }
        match (by_target.is_empty(), rebuilt) {
            (true, _) => self.ran.tally.dropped += 1,
            (_, true) => self.ran.tally.rebuilt += 1,
            (_, false) if self.renumbers() => self.ran.tally.moved += 1,
            (_, false) => self.ran.tally.copied += 1,
        }
        if !changes.is_empty() && !by_target.is_empty() {
            let notes: Vec<_> = changes.iter().map(|code| Note::new(code)).collect();
            self.tell_batch(Action::Reframe, feed, header.base_offset, None, &notes)?;
        }
        for (record, decision) in all.iter().filter(|(_, decision)| decision.drop.is_some()) {
            self.tell_record(feed, record, decision, None)?;
        }
        Ok(())
    }

    /// What of a batch goes to one new log. Says whether it was written anew.
    fn part(
        &mut self,
        (feed, target): (usize, usize),
        batch: &Batch<'_>,
        changes: &[&'static str],
        all: &[(Record<'_>, Decision)],
        places: &[usize],
        is_whole: bool,
    ) -> io::Result<bool> {
        let renumbers = self.renumbers();
        let next = self.targets.get(target).map_or(0, |place| place.next);
        let stays = places.iter().filter_map(|place| all.get(*place)).enumerate();
        let placed: Vec<_> = stays
            .map(|(i, (record, decision))| Placed {
                record,
                decision,
                offset: if renumbers { next + i as i64 } else { record.offset },
            })
            .collect();
        let header = batch.header();
        let span = header.last_offset.wrapping_sub(header.base_offset).wrapping_add(1);
        let is_dense = header.magic < 2 || span == placed.len() as i64;
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let mut rebuilt = false;
        let done = if is_whole && changes.is_empty() && !renumbers {
            self.emit(target, batch)
        } else if is_whole && changes.is_empty() && is_dense && moved(batch, next, &mut out).is_some() {
            self.emit_bytes(target, &mut out)
        } else {
            rebuilt = true;
            out.clear();
            let shape = Shape { renumber: renumbers, ..self.how.shape };
            rebuild(batch, &placed, &shape, &mut self.builder, &mut out)
                .map_err(|error| unreadable(batch, &error.to_string()))
                .and_then(|()| self.emit_bytes(target, &mut out))
        };
        self.out = out;
        done?;
        for Placed { record, decision, offset } in placed {
            if self.asked.contains(&(target, offset)) {
                let origin = self.origin(feed, record.offset);
                self.ran.origins.insert((target, offset), origin);
            }
            if !decision.is_keep() || !decision.notes.is_empty() {
                self.tell_record(feed, record, decision, Some((target, offset)))?;
            }
        }
        Ok(rebuilt)
    }

    fn origin(&self, feed: usize, offset: i64) -> Origin {
        Origin { feed: self.origins.get(feed).copied().unwrap_or(feed), offset }
    }

    fn target_of(&self, feed: usize, record: &Record<'_>, decision: &Decision) -> usize {
        let Routing::Shard(n) = self.how.routing else { return feed };
        let key = decision.key.as_deref().or(record.key);
        match key.and_then(group_of) {
            Some(group) => partition_of(group, n) as usize,
            // Of nobody's: it stays where it was, as far as that is there.
            None => (self.partitions.get(feed).copied().unwrap_or(0).rem_euclid(n)) as usize,
        }
    }

    fn tell_record(
        &mut self,
        feed: usize,
        record: &Record<'_>,
        decision: &Decision,
        to: Option<(usize, i64)>,
    ) -> io::Result<()> {
        let dropped = decision.drop.as_ref().map(std::slice::from_ref);
        let to_partition = to.and_then(|(target, _)| self.targets.get(target)).map(|place| place.partition);
        self.tell(&Edited {
            action: if dropped.is_some() { Action::Drop } else { Action::Replace },
            from_partition: self.partitions.get(feed).copied(),
            from_offset: Some(record.offset),
            to_partition,
            to_offset: to.map(|(_, offset)| offset),
            key: record.key,
            value: record.value,
            new_key: decision.key.as_deref(),
            new_value: decision.value.as_deref(),
            notes: dropped.unwrap_or(&decision.notes),
        })
    }

    /// Commits that are not in any old log.
    fn append(&mut self, feeds: &[Feed]) -> io::Result<()> {
        let how = self.how;
        let now = how.edits.set_offsets.now;
        let mut by_target: BTreeMap<usize, Vec<KeyValue>> = BTreeMap::new();
        for (feed, appends) in &how.edits.set_offsets.appended {
            let own = self.origins.iter().position(|place| place == feed);
            for append in appends {
                let magic = own.and_then(|own| self.targets.get(own)).map_or(2, |place| place.magic);
                // What reads magic 0 and 1 only reads version 1.
                let version = if magic < 2 && !how.shape.upgrade { 1 } else { append.version };
                let (key, value) = how.edits.finish(Append { version, ..append.clone() }.record(now));
                let target = match (how.routing, own) {
                    (Routing::Stay, Some(own)) => own,
                    (Routing::Stay, None) => continue,
                    (Routing::Shard(n), _) => partition_of(group_of(&key).unwrap_or_default(), n) as usize,
                };
                by_target.entry(target).or_default().push((key, value));
            }
        }
        for (target, records) in by_target {
            if !self.renumbers()
                && let (Some(feed), Some(place)) = (feeds.get(target), self.targets.get_mut(target))
            {
                place.next = place.next.max(feed.end);
            }
            for together in records.chunks(APPENDED_TOGETHER) {
                self.append_to(target, together, now)?;
            }
        }
        Ok(())
    }

    fn append_to(&mut self, target: usize, records: &[KeyValue], now: i64) -> io::Result<()> {
        let Some(place) = self.targets.get(target) else { return Ok(()) };
        let (partition, first) = (place.partition, place.next);
        let magic = if self.how.shape.upgrade { 2 } else { place.magic };
        let entries: Vec<_> = (first..)
            .zip(records)
            .map(|(offset, (key, value))| Entry {
                offset,
                timestamp: now,
                key: Some(key),
                value: Some(value),
                headers: Headers::default(),
                framed: None,
            })
            .collect();
        let head = appended_head(magic, first, first + entries.len() as i64 - 1, place.epoch, now);
        let mut out = Vec::new();
        if magic == 2 {
            self.builder.batch(&head, &entries, &mut out)?;
        } else {
            for entry in &entries {
                self.builder.batch(&head, std::slice::from_ref(entry), &mut out)?;
            }
        }
        self.emit_bytes(target, &mut out)?;
        for entry in &entries {
            self.tell(&Edited {
                action: Action::Append,
                from_partition: None,
                from_offset: None,
                to_partition: Some(partition),
                to_offset: Some(entry.offset),
                key: entry.key,
                value: None,
                new_key: None,
                new_value: entry.value,
                notes: &[Note::saying("set-offset", "no commit of it was there".to_owned())],
            })?;
        }
        Ok(())
    }
}

/// As a coordinator frames commits: sequence 0 without a producer.
fn appended_head(magic: u8, first: i64, last: i64, epoch: i32, now: i64) -> Header {
    Header {
        magic,
        base_offset: first,
        last_offset: last,
        length: 0,
        partition_leader_epoch: epoch,
        crc: 0,
        attributes: 0,
        codec: Codec::None,
        timestamp_type: TimestampType::CreateTime,
        base_timestamp: now,
        max_timestamp: now,
        delete_horizon_ms: None,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: 0,
        count: (last - first + 1) as i32,
        transactional: false,
        control: false,
    }
}

fn unreadable(batch: &Batch<'_>, why: &str) -> io::Error {
    io::Error::other(format!("the batch at offset {} (byte {}): {why}", batch.header().base_offset, batch.position()))
}

/// Transactions that have not ended, while logs are merged.
#[derive(Default)]
struct Open {
    /// New logs that hold data of a producer's transaction, by the producer and the old log.
    data: HashMap<i64, BTreeMap<usize, BTreeSet<usize>>>,
    /// Old logs whose data of a producer's transaction were ended early in a new log, by the marker of another; and how.
    early: HashMap<(i64, usize, usize), bool>,
}

impl Open {
    fn data(&mut self, feed: usize, producer: i64, target: usize) {
        self.data.entry(producer).or_default().entry(feed).or_default().insert(target);
    }

    /// The new logs that a marker goes to. The marker of one old log also ends what came from another and stands in the
    /// same new log: right if the other's says the same, as it does for one transaction.
    fn end(&mut self, feed: usize, producer: i64, kind: Option<Control>) -> io::Result<Vec<usize>> {
        let is_commit = match kind {
            Some(Control::Commit(_)) => true,
            Some(Control::Abort(_)) => false,
            _ => return Ok(Vec::new()),
        };
        let Some(by_feed) = self.data.get_mut(&producer) else { return Ok(Vec::new()) };
        let targets = by_feed.remove(&feed).unwrap_or_default();
        for target in &targets {
            if self.early.remove(&(producer, feed, *target)).is_some_and(|said| said != is_commit) {
                return Err(overlap(producer));
            }
            for (other, _) in by_feed.iter().filter(|(_, to)| to.contains(target)) {
                self.early.insert((producer, *other, *target), is_commit);
            }
        }
        if by_feed.is_empty() {
            self.data.remove(&producer);
        }
        Ok(targets.into_iter().collect())
    }

    /// What was ended early must have ended at all.
    fn settle(&self) -> io::Result<()> {
        self.early.keys().min().map_or(Ok(()), |(producer, ..)| Err(overlap(*producer)))
    }
}

fn overlap(producer: i64) -> io::Error {
    io::Error::other(format!(
        "transactions of producer {producer} in several partitions overlap in time and end differently, or one never ends: \
         their commits cannot be told apart in one partition. --drop-group takes out the group that stands in two"
    ))
}
