//! Batches whose records are edited, or go to several new logs.
//!
//! Must not know: what an edit is.

use super::{Engine, Routing, unreadable};
use crate::log::{Batch, Header, Inflater, Record};
use crate::model::partitioner::partition_of;
use crate::rewrite::edit::drops::group_of;
use crate::rewrite::edit::reframe::{Placed, Shape, moved, rebuild};
use crate::rewrite::edit::tally::{Action, Edited};
use crate::rewrite::edit::{Decision, Item, Note, Origin};
use std::collections::BTreeMap;
use std::io;

/// A batch, and what becomes of its records.
struct Decided<'d> {
    /// The old log that it is in.
    feed: usize,
    batch: &'d Batch<'d>,
    header: Header,
    /// What becomes of the batch, whatever its records.
    changes: &'d [&'static str],
    records: Vec<(Record<'d>, Decision)>,
}

impl Decided<'_> {
    /// Whether these, of its records, are all of them, and all as they were.
    fn is_whole(&self, places: &[usize]) -> bool {
        self.changes.is_empty()
            && places.len() == self.records.len()
            && self.records.iter().all(|(_, decision)| decision.is_keep())
    }

    /// Whether its offsets have no gaps.
    fn is_dense(&self) -> bool {
        let span = self.header.last_offset.wrapping_sub(self.header.base_offset).wrapping_add(1);
        self.header.magic < 2 || span == self.records.len() as i64
    }
}

impl Engine<'_> {
    pub(super) fn records(
        &mut self,
        feed: usize,
        batch: &Batch<'_>,
        changes: &[&'static str],
        inflater: &mut Inflater,
    ) -> io::Result<()> {
        let header = batch.header();
        let mut records = batch.records(inflater);
        let mut all = Vec::new();
        for record in records.by_ref() {
            let Ok(record) = record else { return Err(unreadable(batch, "a record that does not parse")) };
            let item = Item { origin: self.origin(feed, record.offset), key: record.key, value: record.value };
            all.push((record, self.how.edits.decide(&item)?));
        }
        if let Some(fault) = records.fault() {
            return Err(unreadable(batch, &fault.kind.to_string()));
        }
        let decided = Decided { feed, batch, header, changes, records: all };
        self.ran.tally.records += decided.records.len() as u64;
        let by_target = self.by_target(&decided);
        if header.transactional {
            by_target.keys().for_each(|target| self.open.data(feed, header.producer_id, *target));
        }
        if self.shards() {
            let producer = header.transactional.then_some(header.producer_id);
            for (record, _) in decided.records.iter().filter(|(_, decision)| decision.drop.is_none()) {
                self.ran.copies.record(feed, record.key);
                self.watch.record(feed, record.key, producer);
            }
        }
        let mut rebuilt = false;
        for (target, places) in &by_target {
            rebuilt |= self.part(&decided, *target, places)?;
        }
        match (by_target.is_empty(), rebuilt) {
            (true, _) => self.ran.tally.dropped += 1,
            (_, true) => self.ran.tally.rebuilt += 1,
            (_, false) if self.renumbers() || self.is_of_old_cluster(&header) => self.ran.tally.moved += 1,
            (_, false) => self.ran.tally.copied += 1,
        }
        if !changes.is_empty() && !by_target.is_empty() {
            let notes: Vec<_> = changes.iter().map(|code| Note::new(code)).collect();
            self.tell_batch(Action::Reframe, feed, header.base_offset, &notes)?;
        }
        for (record, decision) in decided.records.iter().filter(|(_, decision)| decision.drop.is_some()) {
            self.tell_record(feed, record, decision, None)?;
        }
        Ok(())
    }

    /// The places of the records that stay, by the new log that they go to.
    fn by_target(&self, decided: &Decided<'_>) -> BTreeMap<usize, Vec<usize>> {
        let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, (record, decision)) in decided.records.iter().enumerate() {
            if decision.drop.is_none() {
                by_target.entry(self.target_of(decided.feed, record, decision)).or_default().push(i);
            }
        }
        by_target
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

    /// What of a batch goes to one new log. Says whether it was written anew.
    fn part(&mut self, decided: &Decided<'_>, target: usize, places: &[usize]) -> io::Result<bool> {
        let renumbers = self.renumbers();
        let next = self.targets.get(target).map_or(0, |place| place.next);
        let stays = places.iter().filter_map(|place| decided.records.get(*place)).enumerate();
        let placed: Vec<_> = stays
            .map(|(i, (record, decision))| Placed {
                record,
                decision,
                offset: if renumbers { next + i as i64 } else { record.offset },
            })
            .collect();
        let Decided { batch, .. } = *decided;
        let is_whole = decided.is_whole(places);
        let mut rebuilt = false;
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let done = if is_whole && !renumbers {
            self.emit(target, batch)
        } else if is_whole && decided.is_dense() && moved(batch, next, &mut out).is_some() {
            self.emit_bytes(target, &mut out)
        } else {
            rebuilt = true;
            let shape = Shape { renumber: renumbers, ..self.how.shape };
            rebuild(batch, &placed, &shape, &mut self.builder, &mut out)
                .map_err(|error| unreadable(batch, &error.to_string()))
                .and_then(|()| self.emit_bytes(target, &mut out))
        };
        self.out = out;
        done?;
        for Placed { record, decision, offset } in placed {
            if self.asked.contains(&(target, offset)) {
                let origin = self.origin(decided.feed, record.offset);
                self.ran.origins.insert((target, offset), origin);
            }
            if !decision.is_keep() || !decision.notes.is_empty() {
                self.tell_record(decided.feed, record, decision, Some((target, offset)))?;
            }
        }
        Ok(rebuilt)
    }

    fn origin(&self, feed: usize, offset: i64) -> Origin {
        Origin { feed: self.origins.get(feed).copied().unwrap_or(feed), offset }
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
}
