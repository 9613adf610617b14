//! Two copies held against each other: where they tell the same story, where another, and where they part.
//!
//! Must not know: what is taken from which.

use super::super::edges::Edges;
use super::super::lineage::{Divergence, divergence, overlapping, overlaps};
use super::super::plan::{Piece, SourceId, frames, patched_frames};
use super::super::report::{Conflict, Content};
use super::super::survey::Part;
use super::{Cursor, Joined, Log, MOST_CONFLICTS, Union};
use crate::log::{Batch, Inflater, Segment};
use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;

impl Union<'_> {
    /// The first offset at which both logs have batches of different leader epochs. No CRC covers the epoch: where the
    /// batches are the same but for it, it is what is damaged. Nor does one cover the base offset: what stands beside
    /// damage is not believed; and logs that parted never meet again.
    pub(super) fn divergence(&mut self, log: &Log, replica: &Log) -> io::Result<Option<Divergence>> {
        let (edges, their_edges) = (Edges::of(&log.incidents), Edges::of(&replica.incidents));
        for (ours, theirs) in overlaps(&log.parts, &replica.parts) {
            let Some(found) = divergence(ours, theirs) else { continue };
            let (ours, theirs) = (&ours.piece, &theirs.piece);
            if edges.touch(ours) && ours.batches == 1 || their_edges.touch(theirs) && theirs.batches == 1 {
                continue;
            }
            let told = self.both_tell(ours, theirs)?;
            if told && !self.is_same_but_for_the_epoch(ours, theirs)? && !self.meet_again(log, replica, found.offset)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether two pieces have records at the same offsets.
    fn both_tell(&mut self, ours: &Piece, theirs: &Piece) -> io::Result<bool> {
        let both = (ours.first.max(theirs.first), ours.last.min(theirs.last));
        Ok(!self.slice(ours, both)?.is_empty() && !self.slice(theirs, both)?.is_empty())
    }

    /// Whether two logs have the same batch in the same leader epoch behind an offset.
    fn meet_again(&mut self, log: &Log, replica: &Log, offset: i64) -> io::Result<bool> {
        for (ours, theirs) in overlaps(&log.parts, &replica.parts) {
            let (ours, theirs) = (&ours.piece, &theirs.piece);
            let both = ours.first.max(theirs.first)..=ours.last.min(theirs.last);
            if *both.start() <= offset || ours.epoch != theirs.epoch {
                continue;
            }
            let (ours, theirs) = (self.prints(ours, &both)?, self.prints(theirs, &both)?);
            // Both ascend.
            if ours.iter().any(|print| theirs.binary_search(print).is_ok()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_same_but_for_the_epoch(&mut self, ours: &Piece, theirs: &Piece) -> io::Result<bool> {
        let both = ours.first.max(theirs.first)..=ours.last.min(theirs.last);
        let (ours, theirs) = (self.prints(ours, &both)?, self.prints(theirs, &both)?);
        Ok(!ours.is_empty() && ours == theirs)
    }

    /// What makes the batches of a piece what they are but for their epoch: base offset, CRC and length.
    fn prints(&mut self, piece: &Piece, within: &RangeInclusive<i64>) -> io::Result<Vec<(i64, u32, u64)>> {
        if piece.edit.thin.is_some() {
            return Ok(Vec::new());
        }
        let segment = self.sources.open(piece.source)?;
        let mut room = Vec::new();
        let batches = patched_frames(segment.bytes(), (piece.from, piece.to), &piece.edit.patch, &mut room);
        let headers = batches.map(|batch| batch.header()).filter(|it| within.contains(&it.base_offset));
        Ok(headers.map(|it| (it.base_offset, it.crc, it.length)).collect())
    }

    /// Compares what both logs have below an offset, batch by batch. Batches keep their base offsets in every copy.
    pub(super) fn compare(&mut self, log: &Log, copy: &Log, until: i64, joined: &mut Joined) -> io::Result<()> {
        let (edges, their_edges) = (Edges::of(&log.incidents), Edges::of(&copy.incidents));
        let mut theirs: Option<(SourceId, Segment)> = None;
        let (mut cursor, mut own_cursor) = (Cursor::default(), Cursor::default());
        for (ours, other) in overlaps(&log.parts, &copy.parts) {
            self.interrupt.check()?;
            let range = (ours.piece.first.max(other.piece.first), ours.piece.last.min(other.piece.last).min(until - 1));
            if ours.piece.edit.thin.is_some() || !other.piece.edit.is_none() || range.0 > range.1 {
                continue;
            }
            if theirs.as_ref().is_none_or(|(id, _)| *id != other.piece.source) {
                let Some(source) = self.sources.get(other.piece.source) else { continue };
                theirs = Some((other.piece.source, Segment::open(&source.path)?));
            }
            let Some((_, segment)) = &theirs else { continue };
            let mut there = frames(segment.bytes(), cursor.within(&other.piece), other.piece.to).peekable();
            let own = self.sources.open(ours.piece.source)?;
            let mut room = Vec::new();
            let mended = (own_cursor.within(&ours.piece), ours.piece.to);
            for here in patched_frames(own.bytes(), mended, &ours.piece.edit.patch, &mut room) {
                let offset = here.header().base_offset;
                if offset > range.1 {
                    break;
                }
                own_cursor.from = here.position() + here.len();
                while let Some(before) = there.next_if(|batch| batch.header().base_offset < offset) {
                    cursor.from = before.position() + before.len();
                }
                let Some(batch) = there.next_if(|batch| batch.header().base_offset == offset) else { continue };
                let (a, b) = (here.header(), batch.header());
                if (a.crc, a.length) == (b.crc, b.length) {
                    joined.equal += 1;
                } else {
                    let before = joined.conflicts_in_all;
                    compare_batches(&here, &batch, other.piece.source, &mut self.inflater, joined);
                    if edges.touch_batch(ours.piece.source, &here)
                        || their_edges.touch_batch(other.piece.source, &batch)
                    {
                        joined.conflicts_beside_damage += joined.conflicts_in_all - before;
                    }
                }
            }
        }
        Ok(())
    }

    /// Both contents of the offsets at which the two stories differ.
    pub(super) fn tell_divergence(
        &mut self,
        log: &Log,
        copy: &Log,
        at: Divergence,
        joined: &mut Joined,
    ) -> io::Result<()> {
        let range = (at.offset, log.end.min(copy.end).saturating_sub(1));
        let ours = self.contents(&log.parts, range)?;
        let mut theirs = self.contents(&copy.parts, range)?;
        let source = overlapping(&copy.parts, range).next().map_or(0, |part| part.piece.source);
        let offsets: Vec<i64> = ours.keys().chain(theirs.keys()).copied().collect();
        let mut ours = ours;
        let mut seen = std::collections::BTreeSet::new();
        for offset in offsets.into_iter().filter(|offset| seen.insert(*offset)) {
            joined.conflict(Conflict {
                offset,
                ours: ours.remove(&offset),
                theirs: theirs.remove(&offset),
                source,
                theirs_wins: at.theirs_win,
            });
        }
        joined.conflicts.sort_by_key(|conflict| conflict.offset);
        Ok(())
    }

    fn contents(&mut self, parts: &[Part], range: (i64, i64)) -> io::Result<BTreeMap<i64, Content>> {
        let mut out = BTreeMap::new();
        for part in overlapping(parts, range) {
            let segment = self.sources.open(part.piece.source)?;
            for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
                if out.len() > MOST_CONFLICTS {
                    return Ok(out);
                }
                let epoch = batch.header().partition_leader_epoch;
                for record in batch.records(&mut self.inflater).by_ref().flatten() {
                    if (range.0..=range.1).contains(&record.offset) {
                        out.insert(record.offset, content(epoch, record.timestamp, record.key, record.value));
                    }
                }
            }
        }
        Ok(out)
    }
}

impl Joined {
    fn conflict(&mut self, conflict: Conflict) {
        self.conflicts_in_all += 1;
        if self.conflicts.len() < MOST_CONFLICTS {
            self.conflicts.push(conflict);
        }
    }
}

fn content(epoch: i32, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Content {
    Content { epoch, timestamp, key: key.map(<[u8]>::to_vec), value: value.map(<[u8]>::to_vec) }
}

/// Batches of one base offset whose bytes differ: after compaction they hold other records, but never other contents.
fn compare_batches(ours: &Batch<'_>, theirs: &Batch<'_>, source: SourceId, inflater: &mut Inflater, to: &mut Joined) {
    let epoch = theirs.header().partition_leader_epoch;
    let there: BTreeMap<i64, Content> = (theirs.records(inflater).by_ref().flatten())
        .map(|it| (it.offset, content(epoch, it.timestamp, it.key, it.value)))
        .collect();
    let epoch = ours.header().partition_leader_epoch;
    for record in ours.records(inflater).by_ref().flatten() {
        let Some(other) = there.get(&record.offset) else { continue };
        if (other.key.as_deref(), other.value.as_deref()) == (record.key, record.value) {
            to.equal += 1;
        }
        if (other.key.as_deref(), other.value.as_deref()) != (record.key, record.value) {
            to.conflict(Conflict {
                offset: record.offset,
                ours: Some(content(epoch, record.timestamp, record.key, record.value)),
                theirs: Some(other.clone()),
                source,
                theirs_wins: false,
            });
        }
    }
}
