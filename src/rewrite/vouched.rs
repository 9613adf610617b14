//! Base offsets that nothing in their own log vouches for: no CRC covers them. Another copy can tell, for a batch with the
//! same CRC stands there at its right place.
//!
//! Must not know: what is filled from other copies.

use super::look::look;
use super::order::incident_of;
use super::plan::{Piece, Sources, frames};
use super::reached::{Proof, Proved};
use super::report::{Incident, Outcome};
use super::survey::{Entry, Part};
use super::union::Log;
use super::union::ranges::common;
use crate::log::{Batch, Inflater};
use std::collections::HashMap;
use std::io;

/// No more batches are looked for in a copy.
const MOST_DOUBTED: usize = 1000;

/// A stretch of damage that ends in zeros, right in front of a batch whose base offset they may have reached.
#[derive(Debug)]
pub(super) struct Doubt {
    /// By its place among the incidents.
    incident: usize,
    /// The base offset that is not vouched for.
    first: i64,
    /// The last offset of that batch.
    last: i64,
    /// The first offset behind that batch, if there is one.
    next: Option<i64>,
}

impl Doubt {
    /// Says that more may be lost than the offsets in front of the batch.
    pub(super) fn tell(&self, incidents: &mut [Incident]) {
        let Some(incident) = incidents.get_mut(self.incident) else { return };
        incident.message.push_str(&format!(
            "; base offset {} of the batch behind it may be damaged too, so that other offsets can be lost",
            self.first
        ));
        if incident.outcome == Outcome::Nothing {
            incident.outcome = Outcome::Lost;
            let (from, to) = (self.last.saturating_add(1), self.next.map(|next| next.saturating_sub(1)));
            let is_free = to.is_none_or(|to| from <= to);
            (incident.first, incident.last) = if is_free { (Some(from), to) } else { (None, None) };
        }
    }
}

/// Finds batches right behind zeros that no neighbour bears out. Each becomes a part of its own.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn doubt_behind_holes(
    entries: Vec<Entry>,
    incidents: &mut [Incident],
    sources: &mut Sources,
    max_inflated: usize,
) -> io::Result<(Vec<Entry>, Vec<Doubt>)> {
    let mut inflater = Inflater::with_limit(max_inflated);
    let (mut out, mut doubts) = (Vec::with_capacity(entries.len()), Vec::new());
    let mut floor = 0;
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let hole = match out.last() {
            Some(Entry::Gap(place)) => incidents.get_mut(*place).filter(|it| it.doubts_next).map(|it| (*place, it)),
            _ => None,
        };
        let (part, (place, hole)) = match (entry, hole) {
            (Entry::Part(part), Some(hole)) => (part, hole),
            (entry, _) => {
                if let Entry::Part(part) = &entry {
                    floor = part.piece.last.saturating_add(1);
                }
                out.push(entry);
                continue;
            }
        };
        let touches = hole.source == part.piece.source && hole.position + hole.length == part.piece.from;
        let (head, rest) = split_first(part, sources, &mut inflater)?;
        let behind = match entries.peek() {
            Some(Entry::Part(next)) => Some(next.piece.first),
            _ => None,
        };
        let next = rest.as_ref().map(|rest| rest.piece.first).or(behind);
        let goes_on = head.piece.last.checked_add(1) == next;
        // Zeros in place of its upper bytes would hardly leave what comes next.
        let follows = floor > 0 && head.piece.first == floor;
        hole.doubts_next = touches && head.piece.edit.is_none() && !goes_on && !follows;
        if hole.doubts_next {
            doubts.push(Doubt { incident: place, first: head.piece.first, last: head.piece.last, next });
        }
        floor = rest.as_ref().unwrap_or(&head).piece.last.saturating_add(1);
        out.push(Entry::Part(head));
        out.extend(rest.map(Entry::Part));
    }
    Ok((out, doubts))
}

fn split_first(part: Part, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<(Part, Option<Part>)> {
    if part.piece.batches <= 1 {
        return Ok((part, None));
    }
    let segment = sources.open(part.piece.source)?;
    let mut batches = frames(segment.bytes(), part.piece.from, part.piece.to);
    let (Some(one), Some(two)) = (batches.next(), batches.next()) else { return Ok((part, None)) };
    let (seen, next) = (look(&one, inflater), look(&two, inflater));
    let (mut head, mut rest) = (part.clone(), part);
    head.piece.to = head.piece.from + one.len();
    (head.piece.first, head.piece.last) = (seen.first, seen.last);
    (head.piece.batches, head.piece.records) = (1, seen.records);
    (rest.piece.from, rest.piece.first) = (head.piece.to, next.first);
    rest.piece.batches -= 1;
    rest.piece.records = rest.piece.records.saturating_sub(seen.records);
    Ok((head, Some(rest)))
}

/// What makes two batches one whatever their base offsets: the CRC that is stored, and the length.
type Print = (u32, u64);

fn print(batch: &Batch<'_>) -> Print {
    (batch.header().crc, batch.header().length)
}

/// Takes batches out that stand at another place in a copy, if nothing vouches for their own: the copy has them.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn prove_places(log: &mut Log, copy: &Log, sources: &mut Sources, max_inflated: usize) -> io::Result<()> {
    let mut doubted: HashMap<Print, Option<i64>> = HashMap::new();
    let mut places: Vec<(i64, Print)> = Vec::new();
    let mut inflater = Inflater::with_limit(max_inflated);
    if log.parts.last().is_some_and(|last| last.piece.last >= copy.end) {
        part_last(log, sources, &mut inflater)?;
    }
    for piece in unsure(log) {
        let segment = sources.open(piece.source)?;
        let Some(batch) = frames(segment.bytes(), piece.from, piece.to).next() else { continue };
        doubted.insert(print(&batch), None);
        places.push((piece.first, print(&batch)));
    }
    if places.is_empty() {
        return Ok(());
    }
    for part in copy.parts.iter().filter(|part| part.piece.edit.is_none()) {
        let segment = sources.open(part.piece.source)?;
        for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
            if let Some(found) = doubted.get_mut(&print(&batch)) {
                let seen = look(&batch, &mut inflater).first;
                // What stands there twice proves nothing.
                *found = if found.is_none() { Some(seen) } else { Some(i64::MIN) };
            }
        }
    }
    for (first, print) in places {
        if let Some(right) = doubted.get(&print).copied().flatten() {
            let message =
                format!("base offset {first} is damaged: in another copy the same batch stands at offset {right}");
            take_out(log, first, right, message);
        }
    }
    Ok(())
}

/// Takes a last batch out that others do not lead to, if a snapshot of producers says that the log ended where that batch
/// would end right behind them: a broker that stops writes one at the end of the log.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn believe_snapshots(
    log: &mut Log,
    proofs: &[Proof],
    sources: &mut Sources,
    max_inflated: usize,
) -> io::Result<()> {
    if !proofs.iter().any(|proof| proof.file.ends_with(".snapshot")) {
        return Ok(());
    }
    part_last(log, sources, &mut Inflater::with_limit(max_inflated))?;
    let [.., before, last] = log.parts.as_slice() else { return Ok(()) };
    let (first, right) = (last.piece.first, before.piece.last.saturating_add(1));
    let end = right.saturating_add(last.piece.last.saturating_sub(first)).saturating_add(1);
    let is_alone = last.piece.batches == 1 && last.piece.edit.is_none() && first > right;
    // Damage explains why there is nothing between, and another file may know of more.
    let is_explained = !common(&log.lost(), &[(right, first)]).is_empty();
    let goes_on = proofs.iter().any(|proof| proof.end() > end);
    let says_so = |proof: &&Proof| proof.what == Proved::Log(end) && proof.file.ends_with(".snapshot");
    if let Some(proof) = proofs.iter().find(says_so).filter(|_| is_alone && !is_explained && !goes_on) {
        let message = format!("base offset {first} is damaged: by {} the log ended at {end}", proof.file);
        take_out(log, first, right, message);
    }
    Ok(())
}

/// Parts the log's last batch from those before it.
fn part_last(log: &mut Log, sources: &mut Sources, inflater: &mut Inflater) -> io::Result<()> {
    let Some(part) = log.parts.last_mut().filter(|part| part.piece.batches > 1) else { return Ok(()) };
    let segment = sources.open(part.piece.source)?;
    let (mut before, mut last) = (None, None);
    for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
        before = last.replace(batch);
    }
    let (Some(before), Some(last)) = (before, last) else { return Ok(()) };
    let (seen, before) = (look(&last, inflater), look(&before, inflater));
    // Where nothing is missing in front of it, it stands well.
    if before.last.checked_add(1) == Some(seen.first) {
        return Ok(());
    }
    let mut single = part.clone();
    (single.piece.from, single.piece.batches, single.piece.records) = (last.position(), 1, seen.records);
    (single.piece.first, single.piece.last) = (seen.first, seen.last);
    (part.piece.to, part.piece.last) = (last.position(), before.last);
    part.piece.batches -= 1;
    part.piece.records = part.piece.records.saturating_sub(seen.records);
    log.parts.push(single);
    Ok(())
}

/// The batches behind a hole that may reach into them, and a last one that others do not lead to.
fn unsure(log: &Log) -> Vec<Piece> {
    let holes: HashMap<(u32, u64), ()> = (log.incidents.iter())
        .filter(|it| it.doubts_next)
        .map(|it| ((it.source, it.position + it.length), ()))
        .collect();
    let mut pieces: Vec<Piece> = (log.parts.iter())
        .map(|part| &part.piece)
        .filter(|piece| piece.batches == 1 && piece.edit.is_none() && holes.contains_key(&(piece.source, piece.from)))
        .take(MOST_DOUBTED)
        .cloned()
        .collect();
    if let [.., before, last] = log.parts.as_slice()
        && last.piece.batches == 1
        && last.piece.edit.is_none()
        && last.piece.first > before.piece.last.saturating_add(1)
    {
        pieces.push(last.piece.clone());
    }
    pieces
}

fn take_out(log: &mut Log, first: i64, right: i64, message: String) {
    let place = log.parts.partition_point(|part| part.piece.first < first);
    if log.parts.get(place).is_none_or(|part| part.piece.first != first) {
        return;
    }
    let before = place.checked_sub(1).and_then(|place| log.parts.get(place)).map(|part| part.piece.last);
    let next = log.parts.get(place + 1).map(|part| part.piece.first);
    let floor = before.map_or(log.start, |before| before.saturating_add(1));
    let Some(piece) = log.parts.get(place).map(|part| part.piece.clone()) else { return };
    let last = right.saturating_add(piece.last.saturating_sub(piece.first));
    if right == first || right < floor || next.is_some_and(|next| last >= next) {
        return;
    }
    log.parts.remove(place);
    let to = next.map(|next| next.saturating_sub(1));
    for hole in &mut log.incidents {
        if hole.doubts_next && hole.source == piece.source && hole.position + hole.length == piece.from {
            (hole.first, hole.last, hole.doubts_next) = (Some(floor), to, false);
            hole.missing = None;
        }
    }
    let mut incident = incident_of(&piece, "offset-order", Outcome::Lost);
    incident.message = message;
    (incident.first, incident.last) = (Some(floor), to);
    // Others are known by their place: what was said of where it stands is written over.
    let is_told = |it: &&mut Incident| {
        let moved = matches!(it.outcome, Outcome::Split | Outcome::Renamed);
        moved && it.source == piece.source && it.position == piece.from
    };
    match log.incidents.iter_mut().find(is_told) {
        Some(told) => *told = incident,
        None => log.incidents.push(incident),
    }
    if next.is_none() {
        log.end = last.saturating_add(1);
    }
}
