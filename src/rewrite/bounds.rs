//! What the neighbours of a stretch tell of it: which offsets it can have had, and whether its leader epoch can be right.
//!
//! Must not know: what is done about it beyond saying so.

use super::order::incident_of;
use super::plan::{Piece, Sources};
use super::report::{Incident, Outcome};
use super::survey::{Entry, Survey};
use crate::log::batch::MAGIC_AT;
use crate::log::mend::Change;
use std::collections::BTreeSet;
use std::io;

const EPOCH_CODE: &str = "leader-epoch-order";
/// At the end of a log, where nothing stands behind it, a damaged batch is believed to span no more offsets than this.
const MOST_AT_END: i64 = 1 << 20;

/// So far neighbours are looked for that ascend.
const MOST_NEIGHBOURS: usize = 16;

/// A batch that has none, such as all of magic 0 and 1, which a broker may write behind others when its message format is set
/// back, or a log that was merged may hold between them.
const NO_EPOCH: i32 = -1;

/// A leader epoch that only one batch has, above or below those around it, is damaged: no CRC covers it. It becomes that
/// of the batch before it, or behind it where fewer bits would be damaged.
///
/// # Errors
/// If a file cannot be read again.
pub(super) fn doubt_epochs(
    entries: &mut [Entry],
    incidents: &mut Vec<Incident>,
    sources: &mut Sources,
) -> io::Result<()> {
    let mut places = Vec::with_capacity(entries.len());
    for (place, entry) in entries.iter().enumerate() {
        if let Entry::Part(part) = entry
            && (part.piece.epoch != NO_EPOCH || lost_its_epoch(&part.piece, sources)?)
        {
            places.push(place);
        }
    }
    for (i, place) in places.iter().enumerate() {
        // Of what does not ascend, which is told apart later, nothing is concluded.
        let piece_at = |place: &usize| match entries.get(*place) {
            Some(Entry::Part(part)) => Some(&part.piece),
            _ => None,
        };
        let Some(this) = piece_at(place).filter(|piece| piece.batches == 1) else { continue };
        let (before, behind) = places.split_at_checked(i).unwrap_or_default();
        let mut before = before.iter().rev().take(MOST_NEIGHBOURS).filter_map(piece_at);
        let mut behind = behind.iter().skip(1).take(MOST_NEIGHBOURS).filter_map(piece_at);
        let before = before.find(|piece| piece.first < this.first).map(|piece| piece.epoch);
        let next = behind.find(|piece| piece.last > this.last).map(|piece| piece.epoch);
        let Some(Entry::Part(part)) = entries.get_mut(*place) else { continue };
        let epoch = part.piece.epoch;
        let odd = match (before, next) {
            (Some(before), Some(next)) => before <= next && (epoch < before || epoch > next),
            (None, Some(next)) => epoch > next,
            (Some(before), None) => epoch < before,
            (None, None) => false,
        };
        // No CRC covers it, and no broker starts a log with epochs that go back; nothing but the checkpoint is made of it.
        let right = nearest(epoch, before.or(next), next.or(before)).unwrap_or(epoch);
        if !odd {
            continue;
        }
        let mut incident = incident_of(&part.piece, EPOCH_CODE, Outcome::Normal);
        incident.message = format!("leader epoch {epoch} stands between others");
        let pairs = epoch.to_be_bytes().into_iter().zip(right.to_be_bytes()).enumerate();
        let changes: Vec<Change> = pairs
            .filter(|(_, (a, b))| a != b)
            .map(|(at, (old, new))| Change { at: at as u32 + 12, old, new })
            .collect();
        let patch = part.piece.edit.patch.iter().copied();
        part.piece.edit.patch = patch.chain(changes.iter().map(|change| (change.at, change.new))).collect();
        part.piece.epoch = right;
        incident.outcome = Outcome::Mended(changes);
        incidents.push(incident);
        part.incident.get_or_insert(incidents.len() - 1);
    }
    Ok(())
}

/// Whether a batch alone among others has no leader epoch and should: a broker gives one to all of magic 2.
fn lost_its_epoch(piece: &Piece, sources: &mut Sources) -> io::Result<bool> {
    if piece.batches > 1 {
        return Ok(false);
    }
    let segment = sources.open(piece.source)?;
    let magic = usize::try_from(piece.from).ok().and_then(|from| segment.bytes().get(from..)?.get(MAGIC_AT));
    Ok(magic == Some(&2))
}

/// Which of two leader epochs differs from a damaged one in fewer bits; the first if both do in as many.
fn nearest(damaged: i32, before: Option<i32>, next: Option<i32>) -> Option<i32> {
    [before, next].into_iter().flatten().min_by_key(|epoch| (epoch ^ damaged).count_ones())
}

/// Says which offsets each stretch that is left out can have had: its own where they fit between its neighbours.
pub(super) fn bound(survey: &mut Survey) {
    let Survey { entries, incidents, end_by_name, bases, .. } = survey;
    let mut floor = bases.first().and_then(|(_, base)| *base).unwrap_or(0);
    let mut group: Vec<usize> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Gap(place) => group.push(*place),
            Entry::Part(part) => {
                bound_group(incidents, &group, floor, Some(part.piece.first - 1));
                let kept =
                    part.incident.and_then(|incident| incidents.get_mut(incident)).filter(|it| is_kept_in_doubt(it));
                if let Some(incident) = kept {
                    incident.first = if group.is_empty() { Some(floor.min(part.piece.first)) } else { incident.first };
                    if let Some(Entry::Part(next)) = entries.get(place + 1) {
                        incident.last = Some(next.piece.first - 1);
                    }
                }
                group.clear();
                floor = part.piece.last.saturating_add(1);
            }
        }
    }
    // Behind the last batch only the name of a later segment tells how far the log went.
    let end = Some(*end_by_name - 1).filter(|end| *end >= floor);
    bound_group(incidents, &group, floor, end);
}

fn bound_group(incidents: &mut [Incident], group: &[usize], floor: i64, ceiling: Option<i64>) {
    say_zeroed_tail(incidents, group);
    let mut low = floor;
    let mut open: Vec<usize> = Vec::new();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for &place in group {
        let Some(incident) = incidents.get_mut(place) else { continue };
        if is_elsewhere(incident) {
            continue;
        }
        let fits = |first: i64, last: i64| match ceiling {
            Some(ceiling) => first >= low && last >= first && last <= ceiling,
            None => first == low && (0..MOST_AT_END).contains(&(last.saturating_sub(first))),
        };
        // The head of a wrapper names its last offset only.
        let first = incident.first.or(incident.last.map(|_| low));
        match (first, incident.last) {
            (Some(first), Some(last)) if fits(first, last) => {
                incident.first = Some(first);
                close(incidents, &open, low, Some(first - 1));
                open.clear();
                low = last.saturating_add(1);
                kept.insert(place);
            }
            _ => open.push(place),
        }
    }
    close(incidents, &open, low, ceiling);
    widen(incidents, group, &kept, floor, ceiling);
}

/// Zeros at the end are what a broker leaves that allocates in advance; but where the batch right before them is damaged,
/// what made them zeros may have begun in it.
fn say_zeroed_tail(incidents: &mut [Incident], group: &[usize]) {
    let [.., before, last] = group else { return };
    let reach = incidents.get(*before).filter(|it| it.is_batches && it.outcome == Outcome::Lost);
    let Some((source, end)) = reach.map(|it| (it.source, it.position + it.length)) else { return };
    let is_behind = |it: &&mut Incident| (it.source, it.position) == (source, end) && it.code == "zero-tail";
    if let Some(tail) = incidents.get_mut(*last).filter(is_behind).filter(|it| it.outcome == Outcome::Normal) {
        tail.outcome = Outcome::Lost;
        tail.message.push_str(", right behind a damaged batch: what stood there may be lost");
    }
}

/// The head of a batch whose CRC is wrong may be what is damaged: such a batch may have had every offset up to its
/// neighbours. `fitted` are those of the group that stay where they say.
fn widen(incidents: &mut [Incident], group: &[usize], fitted: &BTreeSet<usize>, floor: i64, ceiling: Option<i64>) {
    let range_of = |incidents: &[Incident], place: usize| {
        let incident = incidents.get(place).filter(|_| fitted.contains(&place))?;
        Some((incident.first?, incident.last?))
    };
    let all: Vec<usize> = (group.iter().copied())
        .filter(|place| {
            incidents
                .get(*place)
                .is_some_and(|it| !is_elsewhere(it) && !matches!(it.outcome, Outcome::Nothing | Outcome::Normal))
        })
        .collect();
    for (i, &place) in all.iter().enumerate() {
        let before = match i.checked_sub(1).and_then(|i| all.get(i)) {
            Some(&before) => range_of(incidents, before).and_then(|(_, last)| last.checked_add(1)),
            None => Some(floor),
        };
        let behind = all.get(i + 1).map(|&next| range_of(incidents, next).and_then(|(first, _)| first.checked_sub(1)));
        let Some(incident) = incidents.get_mut(place).filter(|it| is_doubted(it) && fitted.contains(&place)) else {
            continue;
        };
        incident.first = before.or(incident.first);
        match behind {
            Some(behind) => incident.last = behind.or(incident.last),
            None if ceiling.is_some() => incident.last = ceiling,
            None => incident.head_last = incident.last.take(),
        }
    }
}

fn is_doubted(incident: &Incident) -> bool {
    incident.is_batches && incident.code == "crc-mismatch" && incident.outcome == Outcome::Lost
}

/// Its head is no better than that of one that is left out.
fn is_kept_in_doubt(incident: &Incident) -> bool {
    matches!(incident.outcome, Outcome::Doubtful { .. })
}

/// Whether what a stretch held is not missing.
fn is_elsewhere(incident: &Incident) -> bool {
    matches!(incident.outcome, Outcome::Repeated | Outcome::Overruled)
}

fn close(incidents: &mut [Incident], open: &[usize], low: i64, high: Option<i64>) {
    let nothing = high.is_some_and(|high| high < low);
    for (i, &place) in open.iter().enumerate() {
        let Some(incident) = incidents.get_mut(place) else { continue };
        incident.stands = Some(low);
        if i > 0 && !nothing {
            incident.message.push_str("; together with the stretch before it");
        }
        (incident.first, incident.last) = if nothing { (None, None) } else { (Some(low), high) };
        if incident.outcome == Outcome::Lost && nothing && !incident.is_batches {
            incident.outcome = Outcome::Nothing;
        } else if incident.outcome == Outcome::Normal && incident.code == "zero-tail" && !nothing && high.is_some() {
            incident.outcome = Outcome::Lost;
        }
    }
}
