//! How a batch is framed behind the edits: codec, magic, offsets.
//!
//! Must not know: what records mean.

use super::Decision;
use crate::log::batch::{LOG_APPEND_TIME, MAGIC_AT};
use crate::log::build::{Builder, Entry};
use crate::log::{Batch, Codec, Header, Headers, Record};
use std::io;

/// The bits of the attributes that name the codec.
const CODEC_BITS: i16 = 0x07;

/// How batches are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// In place of the codec that they have; batches without records and control batches have none.
    pub codec: Option<Codec>,
    /// Magic 0 and 1 become 2.
    pub upgrade: bool,
    /// Offsets count from 0, without gaps.
    pub renumber: bool,
}

impl Shape {
    /// The names of what is done to a batch, but for new offsets.
    pub fn changes(&self, header: &Header) -> Vec<&'static str> {
        let mut changes = Vec::new();
        if header.control || header.count == 0 {
            return changes;
        }
        if self.upgrade && header.magic < 2 {
            changes.push("upgrade");
        }
        if self.codec.is_some_and(|codec| codec != header.codec) {
            changes.push("codec");
        }
        changes
    }
}

/// A record that stays, and the offset that it gets.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'p, 'r> {
    /// As it was.
    pub record: &'p Record<'r>,
    /// What becomes of it.
    pub decision: &'p Decision,
    /// Its new offset.
    pub offset: i64,
}

impl<'p> Placed<'p, '_> {
    fn entry(&self, framed: Option<&'p [u8]>) -> Entry<'p> {
        let Decision { key, value, without_headers, .. } = self.decision;
        Entry {
            offset: self.offset,
            timestamp: self.record.timestamp,
            key: key.as_deref().or(self.record.key),
            value: value.as_deref().or(self.record.value),
            headers: if *without_headers { Headers::default() } else { self.record.headers },
            framed,
        }
    }
}

/// The codec number of a codec that can be written.
pub fn codec_bits(codec: Codec) -> Option<i16> {
    match codec {
        Codec::None => Some(0),
        Codec::Gzip => Some(1),
        Codec::Snappy => Some(2),
        Codec::Lz4 => Some(3),
        Codec::Zstd => Some(4),
        Codec::Unknown(_) => None,
    }
}

/// Writes what stays of a batch anew, at least one record: one batch, or as many plain messages of magic 0 or 1 as there
/// are records. Whether offsets are new is told, since then the batch spans no more than its records.
///
/// # Errors
/// If it cannot be written: too long, or a codec that its magic does not have.
pub fn rebuild(
    batch: &Batch<'_>,
    placed: &[Placed<'_, '_>],
    shape: &Shape,
    builder: &mut Builder,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let (Some(first), Some(last)) = (placed.first(), placed.last()) else { return Ok(()) };
    let old = batch.header();
    let mut head = old;
    head.codec = shape.codec.unwrap_or(old.codec);
    if shape.upgrade && old.magic < 2 {
        head = upgraded(&head, placed);
    }
    let Some(bits) = codec_bits(head.codec) else {
        return Err(invalid("a codec that no release knows; --codec names another"));
    };
    if head.magic < 2 && head.codec == Codec::Zstd {
        let why =
            "zstd came with magic 2, and there are messages of magic 0 or 1; add --upgrade, or take another codec";
        return Err(invalid(why));
    }
    head.attributes = head.attributes & !CODEC_BITS | bits;
    if shape.renumber && head.magic == 2 {
        (head.base_offset, head.last_offset) = (first.offset, last.offset);
    }
    let entries: Vec<_> = placed.iter().map(|it| it.entry(framed(&old, &head, shape, it))).collect();
    if head.magic < 2 && head.codec == Codec::None {
        return entries.iter().try_for_each(|entry| {
            let head = Header { base_timestamp: entry.timestamp, max_timestamp: entry.timestamp, ..head };
            builder.batch(&head, std::slice::from_ref(entry), out)
        });
    }
    builder.batch(&head, &entries, out)
}

/// The bytes of a record that can be taken as they are.
fn framed<'p>(old: &Header, head: &Header, shape: &Shape, placed: &Placed<'p, '_>) -> Option<&'p [u8]> {
    if !placed.decision.is_keep() || old.magic != head.magic {
        return None;
    }
    let same_place = if head.magic == 2 {
        placed.offset.wrapping_sub(head.base_offset) == placed.record.offset.wrapping_sub(old.base_offset)
    } else {
        // Inside a wrapper, whose offsets the messages count from.
        !shape.renumber && old.codec != Codec::None && head.codec != Codec::None
    };
    same_place.then_some(placed.record.bytes)
}

/// The head of magic 2 for what was a message or wrapper of magic 0 or 1. Magic 0 has no times: they are -1.
fn upgraded(old: &Header, placed: &[Placed<'_, '_>]) -> Header {
    let of = |it: Option<&Placed<'_, '_>>| it.map_or(old.base_offset, |it| it.offset);
    let times = || placed.iter().map(|it| it.record.timestamp);
    Header {
        magic: 2,
        base_offset: of(placed.first()),
        last_offset: of(placed.last()),
        partition_leader_epoch: -1,
        attributes: if old.magic == 1 { old.attributes & LOG_APPEND_TIME } else { 0 },
        base_timestamp: times().next().unwrap_or(-1),
        max_timestamp: times().max().unwrap_or(-1),
        delete_horizon_ms: None,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        count: i32::try_from(placed.len()).unwrap_or(-1),
        transactional: false,
        control: false,
        ..*old
    }
}

/// Gives a whole batch another place, if that leaves everything that its CRC covers as it is: the new offsets must be as
/// far apart as the old ones. `first` is the new offset of its first record. None where it must be written anew.
pub fn moved(batch: &Batch<'_>, first: i64, out: &mut Vec<u8>) -> Option<()> {
    let header = batch.header();
    let base = match (header.magic, header.codec) {
        (2, _) | (_, Codec::None) => first,
        // Its offset is the last one's, and where those inside count from.
        _ => return None,
    };
    let start = out.len();
    out.extend_from_slice(batch.bytes());
    out.get_mut(start..start + 8)?.copy_from_slice(&base.to_be_bytes());
    Some(())
}

/// Puts a leader epoch into a batch of magic 2, whose CRC does not cover it.
pub fn put_epoch(batch: &mut [u8], epoch: i32) {
    if batch.get(MAGIC_AT) == Some(&2)
        && let Some(room) = batch.get_mut(12..16)
    {
        room.copy_from_slice(&epoch.to_be_bytes());
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
