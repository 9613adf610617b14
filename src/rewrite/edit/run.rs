//! Carries edits out, batch by batch: reads old logs side by side, and hands on what new ones are made of.
//!
//! One log becomes one, with its offsets kept; or many become as many as are asked for, each group in the one that it
//! hashes to. Then batches are taken by time (the greatest so far in their log), those of one time by offset; those of one
//! log stay in their order. The end of a transaction follows its data to wherever they went.
//! Must not know: where what it hands on goes to.

mod append;
pub mod copies;
mod open;
mod records;

use super::cluster::Cluster;
use super::feed::Feed;
use super::reframe::{Placed, Shape, moved, put_epoch, rebuild};
use super::tally::{Action, Edited, Tally};
use super::{Decision, Edits, Note, Origin};
use crate::log::build::Builder;
use crate::log::{Batch, Control, Header, Inflater};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::plan::frames;
use copies::{Copies, LastOf, Watch};
use open::Open;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io;

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
    pub edits: Edits,
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
    /// Where groups stood, if each goes to where it hashes to.
    pub copies: Copies,
}

/// Reads the logs, and hands on what becomes of them. `asked` names records by new log and new offset, of which it is
/// said where they come from.
///
/// # Errors
/// If a file cannot be read or is not what it was, a batch cannot be written, the sink fails, or the work is interrupted.
pub fn run(feeds: &mut [Feed], how: &How<'_>, asked: &BTreeSet<(usize, i64)>, sink: &mut dyn Sink) -> io::Result<Ran> {
    run_watching(feeds, how, asked, Watch::default(), sink).map(|(ran, _)| ran)
}

/// Reads the logs once more, to say from which of them each key of some groups has its last record.
///
/// # Errors
/// See [`run`].
pub fn last_of(feeds: &mut [Feed], how: &How<'_>, groups: BTreeSet<Vec<u8>>) -> io::Result<LastOf> {
    if groups.is_empty() {
        return Ok(LastOf::default());
    }
    let (_, watch) = run_watching(feeds, how, &BTreeSet::new(), Watch::new(groups), &mut Nowhere)?;
    Ok(watch.finish())
}

/// Takes everything, and keeps nothing.
pub(super) struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: usize, _: &Batch<'_>) -> io::Result<()> {
        Ok(())
    }

    fn edited(&mut self, _: &Edited<'_>) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self, _: u64) {}
}

fn run_watching(
    feeds: &mut [Feed],
    how: &How<'_>,
    asked: &BTreeSet<(usize, i64)>,
    watch: Watch,
    sink: &mut dyn Sink,
) -> io::Result<(Ran, Watch)> {
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
        watch,
        builder: Builder::new(),
        out: Vec::new(),
        epochless: Vec::new(),
        ran: Ran::default(),
    };
    engine.merge(feeds, &mut Inflater::with_limit(how.max_inflated))?;
    engine.open.settle()?;
    engine.append(feeds)?;
    let (mut ran, watch) = (engine.ran, engine.watch);
    ran.ends = match how.routing {
        Routing::Stay if !how.shape.renumber => {
            feeds.iter().zip(&engine.targets).map(|(feed, target)| feed.end.max(target.next)).collect()
        }
        _ => engine.targets.iter().map(|target| target.next).collect(),
    };
    Ok((ran, watch))
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
    watch: Watch,
    builder: Builder,
    out: Vec<u8>,
    /// A batch with another leader epoch.
    epochless: Vec<u8>,
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
            let is_mended = feed.is_mended();
            if let Some(batch) = feed.batch()? {
                let before = (self.ran.tally.copied, self.ran.tally.moved);
                self.batch(i, &batch, inflater)?;
                self.ran.tally.count_mended(is_mended.then_some(before));
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
        self.records(feed, batch, &changes, inflater)
    }

    /// Hands on a batch as it is.
    fn copy(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        match self.is_of_old_cluster(&batch.header()) {
            true => self.ran.tally.moved += 1,
            false => self.ran.tally.copied += 1,
        }
        self.emit(target, batch)
    }

    /// Whether a batch has a leader epoch that another cluster has not come to.
    fn is_of_old_cluster(&self, header: &Header) -> bool {
        self.how.edits.cluster == Cluster::Other && header.magic == 2 && header.partition_leader_epoch > 0
    }

    fn emit(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        if !self.is_of_old_cluster(&batch.header()) {
            return self.hand_on(target, batch);
        }
        let mut bytes = std::mem::take(&mut self.epochless);
        bytes.clear();
        bytes.extend_from_slice(batch.bytes());
        put_epoch(&mut bytes, 0);
        let done = match Batch::new(&bytes, batch.position()) {
            Some(batch) => self.hand_on(target, &batch),
            None => Ok(()),
        };
        self.epochless = bytes;
        done
    }

    fn hand_on(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
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
        self.tell_batch(Action::DropBatch, feed, header.base_offset, &[Note::new(code)])
    }

    fn tell_batch(&mut self, action: Action, feed: usize, from: i64, notes: &[Note]) -> io::Result<()> {
        self.tell(&Edited {
            action,
            from_partition: self.partitions.get(feed).copied(),
            from_offset: Some(from),
            to_partition: None,
            to_offset: None,
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
            self.watch.end(feed, header.producer_id, matches!(kind, Some(Control::Commit(_))));
            self.open.end(feed, header.producer_id, kind)?
        } else {
            vec![feed]
        };
        if targets.is_empty() {
            self.ran.tally.dropped += 1;
            return self.tell_batch(Action::DropBatch, feed, header.base_offset, &[Note::new("marker-without-data")]);
        }
        for target in targets {
            self.move_to(target, batch, inflater)?;
        }
        self.ran.tally.moved += 1;
        Ok(())
    }

    /// Hands on the end of a transaction with a new offset, and if logs are merged with a leader epoch that does not go
    /// back.
    fn move_to(&mut self, target: usize, batch: &Batch<'_>, inflater: &mut Inflater) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let next = self.targets.get(target).map_or(0, |place| place.next);
        let header = batch.header();
        let done = if header.base_offset == header.last_offset {
            moved(batch, next, &mut out).ok_or_else(|| unreadable(batch, "a control batch of magic 0 or 1"))
        } else {
            // It spans offsets in front of its record.
            let record = batch.records(inflater).flatten().next();
            let record = record.ok_or_else(|| unreadable(batch, "a record that does not parse"))?;
            let placed = [Placed { record: &record, decision: &Decision::default(), offset: next }];
            rebuild(batch, &placed, &Shape { renumber: true, ..Shape::default() }, &mut self.builder, &mut out)
        };
        let done = done.and_then(|()| self.emit_bytes(target, &mut out));
        self.out = out;
        done
    }

    /// Hands on batches that were just made. One that has no leader epoch, because it had an older magic, takes that of
    /// the batch before it; where logs are merged, none goes back.
    fn emit_bytes(&mut self, target: usize, out: &mut [u8]) -> io::Result<()> {
        let lengths: Vec<_> = frames(out, 0, out.len() as u64).map(|batch| batch.len() as usize).collect();
        let mut rest = out;
        for length in lengths {
            let Some((bytes, behind)) = rest.split_at_mut_checked(length) else { break };
            rest = behind;
            let own = Batch::new(bytes, 0).map_or(-1, |batch| batch.header().partition_leader_epoch);
            if let Some(place) = self.targets.get(target).filter(|_| own < 0 || self.shards()) {
                put_epoch(bytes, place.epoch.max(own));
            }
            if let Some(batch) = Batch::new(bytes, 0) {
                self.emit(target, &batch)?;
            }
        }
        Ok(())
    }
}

fn unreadable(batch: &Batch<'_>, why: &str) -> io::Error {
    io::Error::other(format!("the batch at offset {} (byte {}): {why}", batch.header().base_offset, batch.position()))
}
