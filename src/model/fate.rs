//! Why one copy lacks what the other holds: deleted there, not there yet, gone without a trace.
//!
//! A copy that missed a tombstone brings back what was deleted (KAFKA-4529, KAFKA-8522): whoever restores it must know.
//! Must not know: what is looked for, beyond its key.

use super::replay::Extent;
use super::store::offset_key_parts;
use crate::log::{Inflater, Segment, Span};
use crate::schema::{Key, KeyFields};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The last tombstone of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// Its offset in the log.
    pub offset: i64,
    /// Its time, in milliseconds since 1970; -1 for none.
    pub timestamp: i64,
    /// From when on a cleaner may drop it, in milliseconds since 1970; none before a first cleaning.
    pub delete_horizon_ms: Option<i64>,
}

/// What became of something in the copy that lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The copy ends before it.
    NotReached,
    /// The copy begins behind it.
    BeforeStart,
    /// The logs have parted before it: the copy tells another story from there on.
    OtherHistory,
    /// It was deleted, and the tombstone is still there.
    Deleted(Tombstone),
    /// The copy goes further and holds neither record nor tombstone: it was deleted and its tombstone cleaned away, or
    /// it was lost.
    Gone,
}

impl Fate {
    /// As in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Fate::NotReached => "not-reached",
            Fate::BeforeStart => "before-start",
            Fate::OtherHistory => "other-history",
            Fate::Deleted(_) => "deleted",
            Fate::Gone => "gone",
        }
    }

    /// Whether it would come back from the dead if the copy that holds it took over.
    pub fn may_resurrect(&self) -> bool {
        matches!(self, Fate::Deleted(_) | Fate::Gone)
    }
}

/// Keys whose tombstones are looked for, and what was found.
#[derive(Debug, Default)]
pub struct Graves {
    offsets: HashMap<Box<[u8]>, Option<Tombstone>, FixedState>,
    groups: HashMap<Box<[u8]>, Option<Tombstone>, FixedState>,
}

impl Graves {
    /// Looks for tombstones of a committed offset, of whichever type its key is.
    pub fn ask_offset(&mut self, group: &[u8], topic: &[u8], partition: i32) {
        self.offsets.entry(offset_bytes(group, topic, partition)).or_default();
    }

    /// Looks for tombstones of any key of a group.
    pub fn ask_group(&mut self, group: &[u8]) {
        self.groups.entry(group.into()).or_default();
    }

    /// The last tombstone of a committed offset.
    pub fn offset(&self, group: &[u8], topic: &[u8], partition: i32) -> Option<Tombstone> {
        self.offsets.get(&offset_bytes(group, topic, partition)).copied().flatten()
    }

    /// The last tombstone of any key of a group.
    pub fn group(&self, group: &[u8]) -> Option<Tombstone> {
        self.groups.get(group).copied().flatten()
    }

    /// Looks through a log. Costs nothing where nothing was asked.
    pub fn search(&mut self, segments: &[Segment], extent: Extent, max_inflated: usize) {
        if self.offsets.is_empty() && self.groups.is_empty() {
            return;
        }
        let mut inflater = Inflater::with_limit(max_inflated);
        for span in segments.iter().flat_map(Segment::spans) {
            let Span::Batch(batch) = span else { continue };
            let header = batch.header();
            if header.control || header.last_offset < extent.from || batch.check_crc().is_err() {
                continue;
            }
            for record in batch.records(&mut inflater).by_ref().flatten() {
                let inside = (extent.from..=extent.last).contains(&record.offset);
                let (Some(key), None, true) = (record.key, record.value, inside) else { continue };
                let (offset, timestamp) = (record.offset, record.timestamp);
                self.found(key, Tombstone { offset, timestamp, delete_horizon_ms: header.delete_horizon_ms });
            }
        }
    }

    fn found(&mut self, bytes: &[u8], tombstone: Tombstone) {
        let Ok(key) = Key::decode(bytes) else { return };
        if let Some(room) = self.groups.get_mut(key.group()) {
            *room = Some(tombstone);
        }
        if let (KeyFields::Offset(_), Some((prefix, partition))) = (&key.fields, offset_key_parts(bytes)) {
            let mut bytes = prefix.to_vec();
            bytes.extend_from_slice(&partition.to_be_bytes());
            if let Some(room) = self.offsets.get_mut(bytes.as_slice()) {
                *room = Some(tombstone);
            }
        }
    }
}

/// The bytes of a key of type 0 or 1 behind its type.
fn offset_bytes(group: &[u8], topic: &[u8], partition: i32) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(group.len() + topic.len() + 8);
    for text in [group, topic] {
        bytes.extend_from_slice(&(text.len() as u16).to_be_bytes());
        bytes.extend_from_slice(text);
    }
    bytes.extend_from_slice(&partition.to_be_bytes());
    bytes.into()
}
