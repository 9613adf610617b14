//! What a log is made of: its segments, the versions of its values, tombstones whose time has come, and what does not
//! belong in it.
//!
//! Must not know: groups, and what is odd.

use crate::fault::FaultKind;
use crate::log::{Header, Segment};
use crate::schema::RecordType;
use std::collections::BTreeMap;

/// So many versions are told apart: there are a few for each type, unless the log is not sound.
const MOST_VERSIONS: usize = 1000;

/// Where a record lies.
#[derive(Debug, Clone, Copy)]
pub struct Place<'s> {
    /// The name of its segment.
    pub segment: &'s str,
    /// Of its batch, in bytes.
    pub position: u64,
    /// Its own, in the log.
    pub offset: i64,
}

/// Records of one kind: how many, and where the first one lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How many.
    pub count: u64,
    /// The segment of the first.
    pub segment: String,
    /// The position of its batch.
    pub position: u64,
    /// Its offset in the log.
    pub offset: i64,
}

impl Found {
    fn add(found: &mut Option<Found>, place: &Place<'_>) {
        match found {
            Some(found) => found.count += 1,
            None => *found = Some(Found::first(place)),
        }
    }

    fn first(place: &Place<'_>) -> Found {
        Found { count: 1, segment: place.segment.to_owned(), position: place.position, offset: place.offset }
    }
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentShape {
    /// Its name.
    pub name: String,
    /// From its name, if that says one.
    pub base_offset: Option<i64>,
    /// In bytes.
    pub len: u64,
    /// Its first and last offset that a batch spans.
    pub offsets: Option<(i64, i64)>,
    /// Offsets that are missing between or in its batches.
    pub missing: u64,
    /// The greatest time in it, in ms since 1970; -1 unknown.
    pub latest: i64,
}

/// Tombstones whose delete horizon has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastHorizon {
    /// How many.
    pub tombstones: u64,
    /// The earliest horizon, in ms since 1970.
    pub earliest: i64,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Shape {
    now: i64,
    /// In order.
    pub segments: Vec<SegmentShape>,
    /// Bytes of all segments.
    pub bytes: u64,
    /// Records of data batches.
    pub records: u64,
    /// The greatest time, in ms since 1970; -1 unknown.
    pub latest: i64,
    /// Values by type and version.
    pub versions: BTreeMap<(RecordType, i16), u64>,
    /// Values in a shape of an early-access release, by type and whose.
    pub previews: BTreeMap<(RecordType, &'static str), Found>,
    /// Records without a key.
    pub null_keys: Option<Found>,
    /// Records of types that are not known, by number.
    pub unknown_types: BTreeMap<i16, Found>,
    /// Tombstones whose horizon has passed.
    pub past_horizon: PastHorizon,
    /// The first damage: the segment's name and the position.
    pub first_damage: Option<(String, u64)>,
    /// Whether the log ends in a write that a stop cut short: a broker cuts it off when it starts, nothing of it counted.
    pub torn_tail: bool,
}

impl Shape {
    /// Nothing yet.
    pub fn new(now: i64) -> Self {
        Shape { now, latest: -1, ..Shape::default() }
    }

    /// A segment begins.
    pub fn segment(&mut self, segment: &Segment) {
        self.bytes += segment.len();
        self.torn_tail = false;
        self.segments.push(SegmentShape {
            name: segment.name().to_owned(),
            base_offset: segment.base_offset(),
            len: segment.len(),
            offsets: None,
            missing: 0,
            latest: -1,
        });
    }

    /// A batch.
    pub fn batch(&mut self, header: &Header) {
        self.latest = self.latest.max(header.max_timestamp);
        let Some(segment) = self.segments.last_mut() else { return };
        let spanned = header.last_offset.saturating_sub(header.base_offset).saturating_add(1);
        let inside = spanned.saturating_sub(i64::from(header.count.max(1)));
        // A wrapper of the old magics names its last offset only, and does not count.
        let inside = if header.magic >= 2 { inside.max(0) } else { 0 };
        let between = match segment.offsets {
            Some((_, last)) if header.magic >= 2 => header.base_offset.saturating_sub(last).saturating_sub(1).max(0),
            _ => 0,
        };
        segment.missing = segment.missing.saturating_add((inside as u64).saturating_add(between as u64));
        let first = segment.offsets.map_or(header.base_offset, |(first, _)| first);
        segment.offsets = Some((first, header.last_offset));
        segment.latest = segment.latest.max(header.max_timestamp);
    }

    /// A stretch or a batch that is damaged.
    pub fn damage(&mut self, segment: &str, position: u64) {
        self.first_damage.get_or_insert_with(|| (segment.to_owned(), position));
    }

    /// A record without a key.
    pub fn null_key(&mut self, place: &Place<'_>) {
        self.records += 1;
        Found::add(&mut self.null_keys, place);
    }

    /// A record whose key cannot be read.
    pub fn odd_key(&mut self, number: Option<i16>, fault: &FaultKind, place: &Place<'_>) {
        self.records += 1;
        if let (Some(number), FaultKind::UnknownType(_)) = (number, fault) {
            self.unknown_types
                .entry(number)
                .and_modify(|found| found.count += 1)
                .or_insert_with(|| Found::first(place));
        }
    }

    /// A record whose key can be read.
    pub fn record(&mut self, record_type: RecordType, value: Option<&[u8]>, header: &Header, place: &Place<'_>) {
        self.records += 1;
        let Some(value) = value else {
            if let Some(horizon) = header.delete_horizon_ms.filter(|horizon| *horizon <= self.now) {
                let past = &mut self.past_horizon;
                past.earliest = if past.tombstones == 0 { horizon } else { past.earliest.min(horizon) };
                past.tombstones += 1;
            }
            return;
        };
        let version = value.first_chunk().map_or(-1, |two| i16::from_be_bytes(*two));
        let room = self.versions.len() < MOST_VERSIONS;
        match self.versions.get_mut(&(record_type, version)) {
            Some(count) => *count += 1,
            None if room => drop(self.versions.insert((record_type, version), 1)),
            None => {}
        }
        if let Some(whose) = preview(record_type, value) {
            let found = self.previews.entry((record_type, whose));
            found.and_modify(|found| found.count += 1).or_insert_with(|| Found::first(place));
        }
    }
}

/// Which early-access release wrote a value in this shape, if only such a one did.
fn preview(record_type: RecordType, value: &[u8]) -> Option<&'static str> {
    match record_type.number() {
        4 | 5 | 7 | 8 | 11 | 15 => record_type.decode_value(value).ok()?.whose,
        9 => Some(record_type.decode_value(value).ok()?.whose.unwrap_or("4.0")),
        18 => Some(record_type.decode_value(value).ok()?.whose.unwrap_or("before 4.1")),
        _ => None,
    }
}
