//! Ends of transactions that are lost, and what hangs on them.
//!
//! A transaction without its end looks open for ever; or the producer's next marker ends it, which may commit what was
//! aborted. Must not know: why a marker is lost.

use super::plan::SourceId;
use super::report::Incident;
use crate::log::{Batch, Control, Inflater};
use crate::model::losses::{Ended, Losses, LostAt, LostRecord, Word};
use std::collections::HashMap;

/// Of a lost marker, so many keys that hang on it are named.
const MOST_HANGING: usize = 10_000;

/// An end of a transaction that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostMarker {
    /// Where the marker stood.
    pub incident: usize,
    /// The producer it named.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The marker's offset.
    pub offset: i64,
    /// Whether it was COMMIT, as far as its bytes tell.
    pub was_commit: Option<bool>,
    /// Keys whose commits wait for it, the first so many.
    pub hanging: Vec<Vec<u8>>,
    /// The producer's next marker, which ends their transaction in place of the lost one: its offset, and whether it is
    /// COMMIT. None: the transaction stays open.
    pub ended_by: Option<(i64, bool)>,
    /// Whether compaction is said to have taken it in another copy: then only what hangs on it is worth a word.
    pub was_compacted: bool,
}

/// Transactions whose end is lost, and what hangs on it.
#[derive(Debug, Default)]
pub(super) struct Hanging {
    markers: Vec<LostMarker>,
    /// By producer, its lost markers that are not settled yet, by place in `markers`.
    of_producer: HashMap<i64, Vec<usize>>,
    /// By producer, keys of commits whose transaction has not ended.
    waiting: HashMap<i64, Vec<Commit>>,
    /// By marker, what waits for it.
    held: HashMap<usize, Vec<Commit>>,
    /// By producer, its lost markers that were passed, and whose transactions nothing ended since.
    passed: HashMap<i64, Vec<usize>>,
    /// Whether `of_producer` is in order.
    sorted: bool,
}

/// A commit of a transaction that has not ended.
#[derive(Debug, Clone)]
struct Commit {
    at: LostAt,
    offset: i64,
    timestamp: i64,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Hanging {
    pub(super) fn is_empty(&self) -> bool {
        self.markers.is_empty()
    }

    pub(super) fn lost(&mut self, number: usize, incident: &Incident, batch: &Batch<'_>, inflater: &mut Inflater) {
        let header = batch.header();
        let was_commit = batch.records(inflater).by_ref().flatten().find_map(|record| match Control::parse(&record) {
            Ok(Control::Commit(_)) => Some(true),
            Ok(Control::Abort(_)) => Some(false),
            _ => None,
        });
        self.of_producer.entry(header.producer_id).or_default().push(self.markers.len());
        self.markers.push(LostMarker {
            incident: number,
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            offset: incident.first.unwrap_or(header.base_offset),
            was_commit,
            hanging: Vec::new(),
            ended_by: None,
            was_compacted: !incident.compacted.is_empty(),
        });
    }

    /// Shows a batch of the new log.
    pub(super) fn batch(&mut self, source: SourceId, batch: &Batch<'_>, inflater: &mut Inflater) {
        let header = batch.header();
        if !self.of_producer.contains_key(&header.producer_id) {
            return;
        }
        self.sort();
        let at = LostAt { segment: source, position: batch.position() };
        self.pass(header.producer_id, header.base_offset);
        if !header.control {
            let waiting = self.waiting.entry(header.producer_id).or_default();
            for record in batch.records(inflater).by_ref().flatten() {
                if let Some(key) = record.key.filter(|_| header.transactional && waiting.len() < MOST_HANGING) {
                    waiting.push(Commit {
                        at,
                        offset: record.offset,
                        timestamp: record.timestamp,
                        key: key.to_vec(),
                        value: record.value.map(<[u8]>::to_vec),
                    });
                }
            }
            return;
        }
        let ended = batch.records(inflater).by_ref().flatten().find_map(|record| match Control::parse(&record) {
            Ok(Control::Commit(_)) => Some(Ended::Committed),
            Ok(Control::Abort(_)) => Some(Ended::Aborted),
            _ => None,
        });
        let Some(ended) = ended else { return };
        self.waiting.remove(&header.producer_id);
        // Those that were passed are the last ones; what was ended before is behind them.
        for place in std::mem::take(self.passed.entry(header.producer_id).or_default()) {
            if let Some(marker) = self.markers.get_mut(place).filter(|marker| !marker.hanging.is_empty()) {
                marker.ended_by = Some((header.base_offset, ended == Ended::Committed));
            }
        }
    }

    /// The markers of each producer, the last first, so that what is passed can be taken from the end.
    fn sort(&mut self) {
        if !std::mem::replace(&mut self.sorted, true) {
            let markers = &self.markers;
            for places in self.of_producer.values_mut() {
                places.sort_by_key(|place| std::cmp::Reverse(markers.get(*place).map(|marker| marker.offset)));
            }
        }
    }

    /// What waits when the place of a lost marker is passed hangs on it; on one marker only.
    fn pass(&mut self, producer_id: i64, offset: i64) {
        let Some(places) = self.of_producer.get_mut(&producer_id) else { return };
        while let Some(place) = places.last().copied() {
            let Some(marker) = self.markers.get_mut(place).filter(|marker| marker.offset < offset) else { return };
            places.pop();
            let waiting = self.waiting.get_mut(&producer_id).map(std::mem::take).unwrap_or_default();
            let (before, behind): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|it| it.offset < marker.offset);
            if !behind.is_empty() {
                self.waiting.insert(producer_id, behind);
            }
            marker.hanging = before.iter().map(|commit| commit.key.clone()).collect();
            marker.hanging.sort();
            marker.hanging.dedup();
            self.held.insert(place, before);
            self.passed.entry(producer_id).or_default().push(place);
        }
    }

    /// The lost markers. What one may have committed, and the next one of its producer aborts, is as good as lost.
    pub(super) fn finish(mut self, losses: &mut Losses) -> Vec<LostMarker> {
        self.sort();
        let producers: Vec<i64> = self.of_producer.keys().copied().collect();
        producers.into_iter().for_each(|producer| self.pass(producer, i64::MAX));
        losses.vouched_by(Word::Sound);
        for (place, marker) in self.markers.iter().enumerate() {
            if marker.was_commit == Some(false) || !matches!(marker.ended_by, Some((_, false))) {
                continue;
            }
            for commit in self.held.get(&place).into_iter().flatten() {
                losses.lost(&LostRecord {
                    at: commit.at,
                    offset: commit.offset,
                    said: None,
                    timestamp: commit.timestamp,
                    producer_id: -1,
                    key: Some(&commit.key),
                    value: Some(commit.value.as_deref()),
                });
            }
        }
        self.markers.retain(|marker| !marker.was_compacted || !marker.hanging.is_empty());
        self.markers
    }
}
