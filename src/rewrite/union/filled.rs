//! What became of what was missing, when other copies were asked: given, taken by compaction there, or lost in them too.
//!
//! Must not know: how the copies' batches got into the log.

use super::super::lineage::overlapping;
use super::super::plan::SourceId;
use super::super::report::{Incident, Outcome};
use super::super::survey::Part;
use super::Log;
use super::ranges::{Range, common, without};

/// Notes what was taken from a copy, and what of that it had: compaction took the rest.
pub(super) fn gain(incident: &mut Incident, taken: &[Range], given: &[Range], copy: &Log) {
    let lacks = incident.lacks();
    let gained = common(&lacks, taken);
    if gained.is_empty() {
        return;
    }
    let sources = gained.iter().flat_map(|range| overlapping(&copy.parts, *range)).map(|part| part.piece.source);
    incident.filled_from.extend(sources);
    incident.filled_from.dedup();
    incident.compacted.extend(gained.iter().flat_map(|range| without(*range, given)));
    incident.missing = Some(lacks.into_iter().flat_map(|range| without(range, &gained)).collect());
}

/// Takes over what a copy lost beyond the ends of the log: that is missing in what was added from it.
pub(super) fn lost_beyond(log: &mut Log, copy: &Log) {
    let in_front = (log.log_start.unwrap_or(i64::MIN), log.start.saturating_sub(1));
    let outside = [in_front, (log.end, i64::MAX)];
    let outside: Vec<Range> = outside.into_iter().filter(|(first, last)| first <= last).collect();
    for incident in copy.incidents.iter().filter(|it| it.outcome == Outcome::Lost) {
        for (first, last) in common(&incident.lacks(), &outside) {
            // Nobody knows that one without an end went on to there.
            if incident.last.is_none() && incident.first.is_some_and(|its| its < first) {
                continue;
            }
            let (first, last) = (Some(first), end((first, last)));
            log.incidents.push(Incident { first, last, missing: None, ..incident.clone() });
        }
    }
}

/// Notes that compaction left nothing of these ranges in a copy.
pub(in crate::rewrite) fn explain(incident: &mut Incident, ranges: &[Range], copy: &Log) {
    let lacks = incident.lacks();
    let explained = common(&lacks, ranges);
    let Some((first, _)) = explained.first().copied() else { return };
    incident.missing = Some(lacks.into_iter().flat_map(|lacks| without(lacks, &explained)).collect());
    incident.compacted.extend(explained);
    if incident.filled_from.is_empty() {
        incident.filled_from.extend(around(&copy.parts, first));
        incident.message.push_str("; compaction left nothing of it there");
    }
}

/// Says of each incident what became of it. One that is filled in part becomes one for each range that is missing still.
pub(in crate::rewrite) fn settle(incidents: &mut Vec<Incident>) {
    let mut more = Vec::new();
    for incident in incidents.iter_mut().filter(|it| !it.filled_from.is_empty()) {
        let (Some(mut missing), Some(first)) = (incident.missing.take(), incident.first) else { continue };
        // An end that nobody knows is filled as far as a copy goes.
        let known = incident.head_last.unwrap_or(first).max(first);
        if incident.last.is_none() && missing.last().is_some_and(|(from, last)| *last == i64::MAX && *from > known) {
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

fn end((_, last): Range) -> Option<i64> {
    Some(last).filter(|last| *last != i64::MAX)
}

/// The file that an offset belongs to, if there is one.
fn around(parts: &[Part], offset: i64) -> Option<SourceId> {
    let behind = parts.partition_point(|part| part.piece.last < offset);
    parts.get(behind).or(parts.last()).map(|part| part.piece.source)
}
