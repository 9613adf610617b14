//! Keeps the dead from coming back: of what was filled from another copy, records whose successor only that copy has.
//!
//! Where this log was compacted and the copy was not, the copy has values whose tombstones (or later values) are gone
//! here; and commits of transactions whose end markers are gone here, which would stay open for ever. Must not know:
//! where damage was.

use super::interrupt::Interrupt;
use super::plan::{Piece, Reader, Role, Sources, Thin};
use super::survey::Part;
use super::union::Log;
use crate::log::{Batch, Inflater};
use crate::model::losses::identity;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;

/// Of more keys than these, the rest are not looked at.
const MOST_KEYS: usize = 2_000_000;

/// What is known of a key of which records were filled in.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// The last offset in the copy.
    in_copy: i64,
    /// The last offset in the new log.
    in_log: i64,
}

/// What is known of a producer of which transactional records were filled in.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    /// The last of its records that was filled in.
    filled: i64,
    /// Its first marker behind it in the copy.
    marker: Option<i64>,
    /// Whether the new log has that marker.
    is_there: bool,
}

/// Takes out of a log what was filled from a copy and would come back from the dead; says how many records.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub fn guard(
    log: &mut Log,
    copy: &Log,
    role: Role,
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<u64> {
    let mut guard = Guard {
        keys: HashMap::default(),
        producers: HashMap::default(),
        scratch: Vec::new(),
        reader: Reader::new(max_inflated),
        inflater: Inflater::with_limit(max_inflated),
        interrupt,
    };
    let is_filled = |log: &Log, sources: &Sources, piece: &Piece| {
        let from_copy = sources.get(piece.source).is_some_and(|source| source.role == role);
        from_copy && log.filled.range(..=piece.first).next_back().is_some_and(|(_, source)| *source == piece.source)
    };
    let filled: Vec<Piece> =
        log.parts.iter().map(|part| &part.piece).filter(|piece| is_filled(log, sources, piece)).cloned().collect();
    if filled.is_empty() {
        return Ok(0);
    }
    guard.each(&filled, sources, Guard::learn)?;
    guard.each(copy.parts.iter().map(|part| &part.piece), sources, Guard::in_copy)?;
    guard.each(log.parts.iter().map(|part| &part.piece), sources, Guard::in_log)?;
    if !guard.keys.values().any(is_dead) && !guard.producers.values().any(hangs) {
        return Ok(0);
    }
    let mut taken_out = 0;
    let mut parts = Vec::new();
    for part in std::mem::take(&mut log.parts) {
        if !is_filled(log, sources, &part.piece) {
            parts.push(part);
            continue;
        }
        let (thinned, gone) = guard.thin(&part.piece, sources)?;
        taken_out += gone;
        parts.extend(thinned.into_iter().map(|piece| Part { piece, incident: part.incident }));
    }
    log.parts = parts;
    Ok(taken_out)
}

fn is_dead(seen: &Seen) -> bool {
    seen.in_log < seen.in_copy
}

fn hangs(ends: &Ends) -> bool {
    ends.marker.is_some() && !ends.is_there
}

struct Guard<'g> {
    keys: HashMap<Box<[u8]>, Seen, FixedState>,
    producers: HashMap<i64, Ends, FixedState>,
    scratch: Vec<u8>,
    reader: Reader,
    inflater: Inflater,
    interrupt: &'g Interrupt,
}

impl Guard<'_> {
    fn each<'p>(
        &mut self,
        pieces: impl IntoIterator<Item = &'p Piece>,
        sources: &mut Sources,
        see: fn(&mut Self, &Batch<'_>),
    ) -> io::Result<()> {
        let mut reader = std::mem::replace(&mut self.reader, Reader::new(0));
        for piece in pieces {
            reader.piece(sources, piece, |batch| {
                self.interrupt.check()?;
                see(self, batch);
                Ok(())
            })?;
        }
        self.reader = reader;
        Ok(())
    }

    fn learn(&mut self, batch: &Batch<'_>) {
        let header = batch.header();
        if header.control {
            return;
        }
        if header.transactional {
            let ends = self.producers.entry(header.producer_id).or_default();
            ends.filled = ends.filled.max(header.last_offset);
        }
        for record in batch.records(&mut self.inflater).by_ref().flatten() {
            let Some(key) = record.key else { continue };
            identity(key, &mut self.scratch);
            if self.keys.len() < MOST_KEYS && !self.keys.contains_key(self.scratch.as_slice()) {
                self.keys.insert(self.scratch.as_slice().into(), Seen { in_copy: -1, in_log: -1 });
            }
        }
    }

    fn in_copy(&mut self, batch: &Batch<'_>) {
        let header = batch.header();
        if header.control {
            if let Some(ends) = self.producers.get_mut(&header.producer_id)
                && header.base_offset > ends.filled
            {
                ends.marker.get_or_insert(header.base_offset);
            }
            return;
        }
        self.records(batch, |seen, offset| seen.in_copy = seen.in_copy.max(offset));
    }

    fn in_log(&mut self, batch: &Batch<'_>) {
        let header = batch.header();
        if header.control {
            if let Some(ends) = self.producers.get_mut(&header.producer_id) {
                ends.is_there |= ends.marker == Some(header.base_offset);
            }
            return;
        }
        self.records(batch, |seen, offset| seen.in_log = seen.in_log.max(offset));
    }

    fn records(&mut self, batch: &Batch<'_>, see: impl Fn(&mut Seen, i64)) {
        let Guard { keys, scratch, inflater, .. } = self;
        for record in batch.records(inflater).by_ref().flatten() {
            let Some(key) = record.key else { continue };
            identity(key, scratch);
            if let Some(seen) = keys.get_mut(scratch.as_slice()) {
                see(seen, record.offset);
            }
        }
    }

    /// A piece without the dead, and how many those are.
    fn thin(&mut self, piece: &Piece, sources: &mut Sources) -> io::Result<(Vec<Piece>, u64)> {
        let mut out = Vec::new();
        let mut gone = 0;
        let segment = sources.open(piece.source)?;
        for batch in super::plan::frames(segment.bytes(), piece.from, piece.to) {
            let header = batch.header();
            let before = piece.edit.thin.clone().unwrap_or_else(Thin::nothing);
            let hanging =
                header.transactional && !header.control && self.producers.get(&header.producer_id).is_some_and(hangs);
            let mut dropped = before.dropped.to_vec();
            let (mut stays, mut leaves) = (0, 0);
            let (mut first, mut last) = (header.base_offset, header.last_offset);
            for (place, item) in batch.records(&mut self.inflater).enumerate() {
                let Ok(record) = item else { continue };
                (first, last) = (first.min(record.offset), last.max(record.offset));
                let was_there =
                    before.within.contains(&record.offset) && before.dropped.binary_search(&(place as u32)).is_err();
                if !was_there {
                    continue;
                }
                identity(record.key.unwrap_or_default(), &mut self.scratch);
                let dead = !header.control && self.keys.get(self.scratch.as_slice()).is_some_and(is_dead);
                if dead || hanging {
                    dropped.push(place as u32);
                    leaves += 1;
                } else {
                    stays += 1;
                }
            }
            gone += leaves;
            if stays == 0 && header.count != 0 {
                continue;
            }
            let mut single = Piece {
                from: batch.position(),
                to: batch.position() + batch.len(),
                first: first.max(*before.within.start()),
                last: last.min(*before.within.end()),
                batches: 1,
                records: stays,
                ..piece.clone()
            };
            if leaves > 0 {
                dropped.sort_unstable();
                single.edit.thin = Some(Thin { dropped: dropped.into(), ..before });
            }
            super::plan::push(&mut out, single);
        }
        Ok((out, gone))
    }
}
