//! What damage may have cost: which groups may be older than the log once said, and why.
//!
//! Must not know: how damage is found.

use crate::fault::FaultKind;
use std::collections::BTreeMap;

/// Groups are named up to this many times; damage beyond it puts all in doubt.
const MOST_NAMED: usize = 100_000;

/// What damage may have cost.
#[derive(Debug, Clone, Default)]
pub struct Doubts {
    /// Stretches that could not be read. Any group may have had records there.
    pub holes: u64,
    /// The greatest offset that such a stretch may have reached: what stands behind it is not in doubt.
    pub holes_until: Option<i64>,
    /// Why the last of them could not be read.
    pub hole_reason: Option<String>,
    /// Batches that were not replayed because their CRC is wrong.
    pub damaged_batches: u64,
    /// Records whose key could not be read.
    pub bad_keys: u64,
    /// Records of types that this release does not know; a broker skips them too.
    pub unknown_types: u64,
    /// Records whose value could not be read.
    pub bad_values: u64,
    /// Groups with commits in a transaction whose end was lost, and the offset of that.
    pub ends_lost: BTreeMap<Vec<u8>, i64>,
    /// Groups that lost a record: the greatest offset of one, and why.
    pub groups: BTreeMap<Vec<u8>, (i64, String)>,
}

impl Doubts {
    /// A stretch that could not be read; what was read before it ends below `offset`.
    pub fn hole(&mut self, fault: &FaultKind, offset: i64) {
        // Zeros to the end are preallocated space, and hid nothing.
        if *fault == FaultKind::ZeroTail {
            return;
        }
        self.holes += 1;
        self.holes_until = self.holes_until.max(Some(offset));
        self.hole_reason = Some(format!("{}: {fault}", fault.code()));
    }

    /// A record whose key could not be read.
    pub fn bad_key(&mut self, _offset: i64, number: Option<i16>, fault: &FaultKind) {
        match (fault, number) {
            (FaultKind::UnknownType(_), Some(_)) => self.unknown_types += 1,
            _ => self.bad_keys += 1,
        }
    }

    /// A record of a group whose value could not be read.
    pub fn bad_value(&mut self, group: &[u8], offset: i64, fault: &FaultKind) {
        self.bad_values += 1;
        self.lost(group, offset, &format!("a value that cannot be read ({})", fault.code()));
    }

    /// A record of a group that was not replayed.
    pub fn lost(&mut self, group: &[u8], offset: i64, why: &str) {
        if self.groups.len() < MOST_NAMED || self.groups.contains_key(group) {
            self.groups.insert(group.to_vec(), (offset, format!("{why} at offset {offset}")));
        } else {
            // Not known by name any more: then it may be any group that has nothing behind this.
            self.holes_until = self.holes_until.max(Some(offset));
            self.hole_reason = Some(format!("{why} at offset {offset}"));
        }
    }

    /// Why a group may be stale, given the least offset of the records that its state comes from.
    pub fn of_group(&self, group: &[u8], least_offset: i64) -> Option<String> {
        if let Some((_, why)) = self.groups.get(group) {
            return Some(why.clone());
        }
        let until = self.holes_until?;
        let why = self.hole_reason.as_deref().unwrap_or("damage");
        (least_offset <= until).then(|| format!("damage up to offset {until} may have held newer records ({why})"))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.holes == 0 && self.damaged_batches == 0 && self.bad_keys == 0 && self.groups.is_empty()
    }
}
