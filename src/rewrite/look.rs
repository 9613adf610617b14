//! What the records of one batch are like: how many are good, which are not, and which offsets they span.
//!
//! Must not know: what stands around the batch.

use super::plan::Thin;
use crate::fault::FaultKind;
use crate::log::{Batch, Codec, Control, Header, Inflater, Record};
use crate::model::losses::believable_count;
use crate::schema::Key;
use std::ops::ControlFlow;

/// What is wrong with an lz4 frame that only magic 0 may have.
pub(super) const LZ4_CHECKSUM: &str =
    "an lz4 header checksum over the wrong bytes, which no broker reads from magic 1 on";

/// The bit of the attributes.
const LOG_APPEND_TIME: i16 = 8;

/// What the records of a batch are like.
pub struct Look {
    /// The first offset it spans.
    pub first: i64,
    /// The last offset it spans.
    pub last: i64,
    /// Good ones.
    pub records: u64,
    /// Bad ones.
    pub lost: u64,
    /// What is wrong, if anything is: with the body, or with the first bad record.
    pub fault: Option<FaultKind>,
    /// The greatest timestamp of good ones, where a head can be held to it.
    pub(super) max_timestamp: Option<i64>,
    /// Places of bad ones.
    pub(super) dropped: Vec<u32>,
    /// Places of good ones whose key or value cannot be decoded.
    pub(super) undecodable: Vec<u32>,
    /// Whether it is only the checksum of an lz4 header.
    pub(super) lz4_checksum: bool,
    /// Whether it is to be written anew whatever is found.
    pub(super) needs_writing: bool,
}

impl Look {
    /// What to leave out, if it must be written anew.
    pub(super) fn thin(&self) -> Option<Thin> {
        let needed = self.needs_writing || self.fault.is_some() || self.lost > 0;
        needed.then(|| Thin { dropped: self.dropped.as_slice().into(), ..Thin::nothing() })
    }

    fn bad(&mut self, place: u32, fault: FaultKind) {
        self.dropped.push(place);
        self.lost += 1;
        self.fault.get_or_insert(fault);
    }
}

/// Looks at the records of a batch.
pub fn look(batch: &Batch<'_>, inflater: &mut Inflater) -> Look {
    let header = batch.header();
    let mut look = Look {
        first: header.base_offset,
        last: header.last_offset,
        records: 0,
        lost: 0,
        fault: None,
        max_timestamp: None,
        dropped: Vec::new(),
        undecodable: Vec::new(),
        lz4_checksum: false,
        needs_writing: false,
    };
    let is_old = header.magic < 2;
    // The offsets inside a wrapper of magic 0 are the log's own, and under its CRC; its own offset is not.
    let tells_inside = header.magic == 0 && header.codec != Codec::None;
    let mut inside: Option<(i64, i64)> = None;
    let mut records = batch.records(inflater);
    let mut place = 0;
    let mut previous = i64::MIN;
    let tells_times = !is_old && header.attributes & LOG_APPEND_TIME == 0;
    for item in records.by_ref() {
        match item {
            Ok(record) => {
                if let Some(fault) = misfit(&header, previous, &record) {
                    look.bad(place, fault);
                    place += 1;
                    continue;
                }
                look.records += 1;
                previous = record.offset;
                if tells_times {
                    look.max_timestamp = look.max_timestamp.max(Some(record.timestamp));
                }
                if is_old {
                    let (first, last) = inside.unwrap_or((record.offset, record.offset));
                    inside = Some((first.min(record.offset), last.max(record.offset)));
                }
                if !header.control && !decodes(&record) {
                    look.undecodable.push(place);
                }
            }
            Err(bad) => look.bad(place, bad.fault.kind.clone()),
        }
        place += 1;
    }
    if let Some(fault) = records.fault() {
        look.fault = Some(fault.kind.clone());
        // Records that were never met, because the body breaks off.
        let missing = believable_count(batch).saturating_sub(i64::from(place)).max(0);
        look.lost += missing as u64;
    }
    match inside {
        Some((first, last)) if tells_inside => {
            (look.first, look.last) = (first, last);
            if last != header.base_offset && look.fault.is_none() {
                look.fault = Some(FaultKind::OffsetOrder { previous: last });
            }
        }
        Some((first, last)) => (look.first, look.last) = (look.first.min(first), look.last.max(last)),
        None => {}
    }
    if records.lz4_checksum_wrong() && header.magic > 0 && look.fault.is_none() {
        look.lz4_checksum = true;
        look.fault = Some(FaultKind::Inflate(LZ4_CHECKSUM.into()));
    }
    look
}

/// Whether every record of a batch reads to its end, key and value too, and there are as many as its head says.
pub fn reads_whole(batch: &Batch<'_>, inflater: &mut Inflater) -> bool {
    let look = look(batch, inflater);
    look.fault.is_none() && look.lost == 0 && look.undecodable.is_empty() && look.first <= look.last
}

/// The first thing that is wrong with the body of a batch, if anything is.
pub fn fault_of(batch: &Batch<'_>, inflater: &mut Inflater) -> Option<FaultKind> {
    let header = batch.header();
    let mut previous = i64::MIN;
    let mut records = batch.records(inflater);
    let found = records.each(
        &mut previous,
        |previous, record| match misfit(&header, *previous, record) {
            None => {
                *previous = record.offset;
                ControlFlow::Continue(())
            }
            Some(fault) => ControlFlow::Break(fault),
        },
        |_, bad| ControlFlow::Break(bad.fault.kind.clone()),
    );
    found.break_value().or_else(|| records.fault().map(|fault| fault.kind.clone()))
}

/// Why a record cannot stand where it does, behind one of an offset in its batch.
fn misfit(header: &Header, previous: i64, record: &Record<'_>) -> Option<FaultKind> {
    // Of an old batch only the last offset is known.
    if header.magic >= 2 && !(header.base_offset..=header.last_offset).contains(&record.offset) {
        return Some(FaultKind::BadRecord("its offset lies outside of its batch".into()));
    }
    if record.offset <= previous {
        return Some(FaultKind::OffsetOrder { previous });
    }
    (header.control && !is_harmless_marker(header, record)).then_some(FaultKind::BadControlRecord)
}

/// A broker that starts on anything but COMMIT or ABORT of a producer stops.
fn is_harmless_marker(header: &Header, record: &Record<'_>) -> bool {
    match Control::parse(record) {
        Ok(Control::Commit(_) | Control::Abort(_)) => true,
        Ok(_) => header.producer_id < 0,
        Err(_) => false,
    }
}

fn decodes(record: &Record<'_>) -> bool {
    match record.key.map(Key::decode) {
        Some(Ok(key)) => record.value.is_none_or(|value| key.record_type.check_value(value).is_ok()),
        // A type of a newer release is no damage.
        Some(Err(bad)) => matches!(bad.fault.kind, FaultKind::UnknownType(_)),
        None => false,
    }
}
