//! Commits that are in no old log: they go to the ends of new ones.
//!
//! Must not know: who asked for them.

use super::{Engine, Routing};
use crate::log::build::Entry;
use crate::log::{Codec, Header, Headers, TimestampType};
use crate::model::partitioner::partition_of;
use crate::rewrite::edit::Note;
use crate::rewrite::edit::drops::group_of;
use crate::rewrite::edit::feed::Feed;
use crate::rewrite::edit::tally::{Action, Edited};
use std::collections::BTreeMap;
use std::io;

/// Commits share a batch, so many at most.
const TOGETHER: usize = 500;

/// Bytes of a record that is made here.
type KeyValue = (Vec<u8>, Vec<u8>);

impl Engine<'_> {
    /// Writes them.
    pub(super) fn append(&mut self, feeds: &[Feed]) -> io::Result<()> {
        for (target, records) in self.appended() {
            if !self.renumbers()
                && let (Some(feed), Some(place)) = (feeds.get(target), self.targets.get_mut(target))
            {
                place.next = place.next.max(feed.end);
            }
            for together in records.chunks(TOGETHER) {
                self.append_to(target, together)?;
            }
        }
        Ok(())
    }

    /// By the new logs that they go to.
    fn appended(&self) -> BTreeMap<usize, Vec<KeyValue>> {
        let how = self.how;
        let mut by_target: BTreeMap<usize, Vec<KeyValue>> = BTreeMap::new();
        for (feed, wishes) in &how.edits.set_offsets.appended {
            let Some(own) = self.origins.iter().position(|place| place == feed) else { continue };
            for wish in wishes {
                let record = |version| how.edits.finish(wish.record(version, how.edits.set_offsets.now));
                let (mut key, mut value) = record(3);
                let target = match how.routing {
                    Routing::Stay => own,
                    Routing::Shard(n) => partition_of(group_of(&key).unwrap_or_default(), n) as usize,
                };
                // What reads magic 0 and 1 only reads version 1.
                if self.magic_at(target) < 2 {
                    (key, value) = record(1);
                }
                by_target.entry(target).or_default().push((key, value));
            }
        }
        by_target
    }

    /// The magic at the end of a new log.
    fn magic_at(&self, target: usize) -> u8 {
        if self.how.shape.upgrade { 2 } else { self.targets.get(target).map_or(2, |place| place.magic) }
    }

    fn append_to(&mut self, target: usize, records: &[KeyValue]) -> io::Result<()> {
        let now = self.how.edits.set_offsets.now;
        let magic = self.magic_at(target);
        let Some(place) = self.targets.get(target) else { return Ok(()) };
        let (partition, first) = (place.partition, place.next);
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
        let head = head(magic, first..first + entries.len() as i64, place.epoch, now);
        let mut out = Vec::new();
        // A message holds one record.
        for together in entries.chunks(if magic == 2 { TOGETHER } else { 1 }) {
            self.builder.batch(&head, together, &mut out)?;
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
fn head(magic: u8, offsets: std::ops::Range<i64>, epoch: i32, now: i64) -> Header {
    Header {
        magic,
        base_offset: offsets.start,
        last_offset: offsets.end - 1,
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
        count: (offsets.end - offsets.start) as i32,
        transactional: false,
        control: false,
    }
}
