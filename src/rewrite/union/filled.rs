//! What became of what was missing, when other copies were asked: given, taken by compaction there, or lost in them too.
//!
//! Must not know: how the copies' batches got into the log.

use super::super::lineage::overlapping;
use super::super::plan::{Piece, SourceId};
use super::super::report::{Incident, Outcome};
use super::super::survey::Part;
use super::Log;
use super::ranges::{Range, common, without};

/// The shortest message of magic 0, in bytes.
const LEAST_BATCH: u64 = 26;

/// Notes what a copy gave of what was asked for, and of what it has nothing.
pub(super) fn gain(incident: &mut Incident, taken: &[Range], given: &[Range], copy: &Log) {
    let lacks = incident.lacks();
    let of = |range: &Range| overlapping(&copy.parts, *range).map(|part| part.piece.source);
    // What is kept in doubt stays where compaction took it.
    if !is_kept_in_doubt(incident) {
        let silent = common(&lacks, taken).into_iter().flat_map(|range| without(range, given));
        incident.silent.extend(silent.filter_map(|range| Some((range, of(&range).next()?))));
    }
    let gained = common(&lacks, given);
    if gained.is_empty() {
        return;
    }
    incident.filled_from.extend(gained.iter().flat_map(of));
    incident.filled_from.dedup();
    incident.missing = Some(lacks.into_iter().flat_map(|range| without(range, &gained)).collect());
}

/// Takes over what a copy lost beyond the ends of the log: that is missing in what was added from it.
pub(super) fn lost_beyond(log: &mut Log, copy: &Log) {
    let in_front = (log.log_start.unwrap_or(i64::MIN), log.start.saturating_sub(1));
    let outside = [in_front, (log.end, i64::MAX)];
    let outside: Vec<Range> = outside.into_iter().filter(|(first, last)| first <= last).collect();
    let lost = log.lost();
    for incident in copy.incidents.iter().filter(|it| matches!(it.outcome, Outcome::Lost | Outcome::Partly { .. })) {
        let is_whole = incident.outcome == Outcome::Lost && incident.is_batches;
        // What batches tell of their keys is worth more than that something is lost.
        let told: &[Range] = if is_whole { &[] } else { &lost };
        let lacks = common(&incident.lacks(), &outside);
        for (first, last) in lacks.into_iter().flat_map(|range| without(range, told)) {
            // Nobody knows that one without an end went on to there.
            if incident.last.is_none() && incident.first.is_some_and(|its| its < first) {
                continue;
            }
            let (first, last) = (Some(first), end((first, last)));
            let (outcome, is_batches) = (Outcome::Lost, is_whole);
            log.incidents.push(Incident { first, last, missing: None, outcome, is_batches, ..incident.clone() });
        }
    }
}

/// Tells of the offsets between a copy and the log, where they share none: a segment of each would have held them.
pub(super) fn nothing_between(log: &mut Log, copy: &Log) {
    let log_start = log.log_start.unwrap_or(i64::MIN);
    let between = [(copy.end.max(log_start), log.start.saturating_sub(1)), (log.end, copy.start.saturating_sub(1))];
    let Some(source) = log.parts.first().map(|part| part.piece.source) else { return };
    let lost = log.lost();
    for range in between.into_iter().filter(|(first, last)| first <= last).flat_map(|range| without(range, &lost)) {
        let mut incident = Incident::of(source, 0, 0, "segment-missing", Outcome::Lost);
        (incident.first, incident.last) = (Some(range.0), Some(range.1));
        incident.message = "another copy stands apart from this log: no segment tells what was between them".to_owned();
        log.incidents.push(incident);
    }
}

/// Notes that compaction left nothing of these ranges in a copy.
pub(in crate::rewrite) fn explain(incident: &mut Incident, ranges: &[Range], copy: &Log) {
    for range in common(&incident.lacks(), ranges) {
        if let Some(source) = around(&copy.parts, range.0).filter(|_| !is_kept_in_doubt(incident)) {
            take_as_compacted(incident, range, source);
        }
    }
}

/// Of what no copy gave, takes as compaction's what one tells of and has nothing of.
pub(in crate::rewrite) fn explain_silence(incidents: &mut [Incident]) {
    for incident in incidents {
        for (range, source) in std::mem::take(&mut incident.silent) {
            take_as_compacted(incident, range, source);
        }
    }
}

fn take_as_compacted(incident: &mut Incident, range: Range, source: SourceId) {
    let lacks = incident.lacks();
    let explained = common(&lacks, &[range]);
    if explained.is_empty() {
        return;
    }
    incident.missing = Some(lacks.into_iter().flat_map(|lacks| without(lacks, &explained)).collect());
    incident.compacted.extend(explained);
    if incident.filled_from.is_empty() {
        incident.filled_from.push(source);
        incident.message.push_str("; compaction left nothing of it there");
    }
}

/// Says of each incident what became of it. One that is filled in part becomes one for each range that is missing still.
pub(in crate::rewrite) fn settle(log: &mut Log) {
    let mut more = Vec::new();
    let Log { incidents, parts, filled, .. } = log;
    // Bytes of other copies from an offset on.
    let given = |first: i64| -> u64 {
        let from = parts.partition_point(|part| part.piece.last < first);
        let pieces = parts.get(from..).unwrap_or_default().iter().map(|part| &part.piece);
        pieces.filter(|piece| filled.contains_key(&piece.first)).map(Piece::len).sum()
    };
    for incident in incidents.iter_mut().filter(|it| !it.filled_from.is_empty()) {
        let (Some(mut missing), Some(first)) = (incident.missing.take(), incident.first) else { continue };
        // An end that nobody knows is filled as far as a copy goes, if that is as much as was there.
        let known = incident.head_last.unwrap_or(first).max(first);
        let is_open = missing.last().is_some_and(|(from, last)| *last == i64::MAX && *from > known);
        if incident.last.is_none() && is_open && incident.length < given(first).saturating_add(slack(incident)) {
            missing.pop();
        }
        let mut sources = std::mem::take(&mut incident.filled_from);
        sources.sort_unstable();
        sources.dedup();
        let Some((one, others)) = missing.split_first() else {
            incident.outcome = Outcome::Filled(sources);
            continue;
        };
        let whole = match incident.last {
            Some(last) => format!("offsets {first} to {last}"),
            None => format!("the offsets from {first} on"),
        };
        incident.message.push_str(&format!("; the rest of {whole} is filled"));
        more.extend(others.iter().map(|range| Incident {
            first: Some(range.0),
            last: end(*range),
            ..incident.clone()
        }));
        (incident.first, incident.last) = (Some(one.0), end(*one));
    }
    incidents.extend(more);
}

fn is_kept_in_doubt(incident: &Incident) -> bool {
    matches!(incident.outcome, Outcome::Doubtful { .. })
}

/// Of so few bytes more than another copy gave, nothing is missing: no batch is shorter, and zeros may have been allocated
/// in advance.
fn slack(incident: &Incident) -> u64 {
    if incident.code == "zero-tail" { u64::MAX } else { LEAST_BATCH }
}

fn end((_, last): Range) -> Option<i64> {
    Some(last).filter(|last| *last != i64::MAX)
}

/// The file that an offset belongs to, if there is one.
fn around(parts: &[Part], offset: i64) -> Option<SourceId> {
    let behind = parts.partition_point(|part| part.piece.last < offset);
    parts.get(behind).or(parts.last()).map(|part| part.piece.source)
}
