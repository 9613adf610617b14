//! Ends of transactions that are lost, and what hangs on them.
//!
//! A transaction without its end looks open for ever; or the producer's next marker ends it, which may commit what was
//! aborted. Must not know: why a marker is lost.

use super::report::Incident;
use crate::log::{Batch, Control, Inflater};
use crate::model::losses::Ended;
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
}

/// Transactions whose end is lost, and what hangs on it.
#[derive(Debug, Default)]
pub(super) struct Hanging {
    markers: Vec<LostMarker>,
    /// By producer, its lost markers that are not settled yet, by place in `markers`.
    of_producer: HashMap<i64, Vec<usize>>,
    /// By producer, keys of commits whose transaction has not ended.
    waiting: HashMap<i64, Vec<(i64, Vec<u8>)>>,
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
        });
    }

    /// Shows a batch of the new log.
    pub(super) fn batch(&mut self, batch: &Batch<'_>, inflater: &mut Inflater) {
        let header = batch.header();
        if !self.of_producer.contains_key(&header.producer_id) {
            return;
        }
        self.pass(header.producer_id, header.base_offset);
        if !header.control {
            let waiting = self.waiting.entry(header.producer_id).or_default();
            for record in batch.records(inflater).by_ref().flatten() {
                if let Some(key) = record.key.filter(|_| header.transactional && waiting.len() < MOST_HANGING) {
                    waiting.push((record.offset, key.to_vec()));
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
        for place in self.of_producer.get(&header.producer_id).into_iter().flatten() {
            if let Some(marker) = self.markers.get_mut(*place)
                && !marker.hanging.is_empty()
                && marker.ended_by.is_none()
            {
                marker.ended_by = Some((header.base_offset, ended == Ended::Committed));
            }
        }
    }

    /// What waits when the place of a lost marker is passed hangs on it.
    fn pass(&mut self, producer_id: i64, offset: i64) {
        let waiting = self.waiting.get(&producer_id);
        for place in self.of_producer.get(&producer_id).into_iter().flatten() {
            let Some(marker) = self.markers.get_mut(*place) else { continue };
            if marker.offset < offset && marker.hanging.is_empty() && marker.ended_by.is_none() {
                let before = waiting.into_iter().flatten().filter(|(at, _)| *at < marker.offset);
                marker.hanging = before.map(|(_, key)| key.clone()).collect();
                marker.hanging.sort();
                marker.hanging.dedup();
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<LostMarker> {
        let producers: Vec<i64> = self.of_producer.keys().copied().collect();
        producers.into_iter().for_each(|producer| self.pass(producer, i64::MAX));
        self.markers
    }
}
