//! The log as a whole: whether it is cleaned and if not why, how it begins, and what in it does not belong there.
//!
//! Must not know: groups.

use super::{Ground, Subject};
use crate::audit::watch::empties::EmptyBatches;
use crate::audit::watch::shape::{Found, SegmentShape, Shape};
use crate::audit::{Code, Fact, Finding, List, Severity};
use crate::log::dir::Variant;
use crate::log::log_dir::CheckpointKind;
use crate::words::{counted, span};
use std::collections::BTreeMap;

/// A cleaner that works comes within an hour, in milliseconds.
const PATIENCE: i64 = 3_600_000;
/// Smaller partitions hold too little to speak of what they waste.
const WORTH_A_WORD: u64 = 1 << 20;
/// Fewer empty batches than this that could go are not worth a word: they take 61 bytes each.
const MANY_EMPTY: u64 = 100;
/// So many producers of empty batches are named in a message, and so many in the facts.
const PRODUCERS_NAMED: (usize, usize) = (3, 20);

pub(super) fn judge(subject: &Subject<'_>, ground: &Ground<'_>, list: &mut List) {
    let shape = &subject.watch.shape;
    list.extend(not_replayed(subject));
    list.extend(null_keys(shape));
    list.extend(unknown_types(shape));
    list.extend(previews(shape));
    list.extend(versions(shape));
    list.extend(past_horizon(shape, ground));
    list.extend(cleanup_policy(subject));
    list.extend(cleaner(subject, ground));
    list.extend(active_only(subject));
    list.extend(empty_batches(subject));
}

fn not_replayed(subject: &Subject<'_>) -> Option<Finding> {
    let doubts = &subject.state.doubts;
    // Records without a key are told by themselves.
    let null_keys = subject.watch.shape.null_keys.as_ref().map_or(0, |found| found.count);
    let bad_keys = doubts.bad_keys.saturating_sub(null_keys);
    if doubts.holes + doubts.damaged_batches + bad_keys == 0 && doubts.groups.is_empty() {
        return None;
    }
    let groups = doubts.groups.len() as u64;
    let unread =
        [(doubts.holes, "stretch"), (doubts.damaged_batches, "batch"), (bad_keys + doubts.bad_values, "record")];
    let unread = unread.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what));
    let unread = unread.collect::<Vec<_>>().join(", ");
    let doubtful = match groups {
        1 => "1 group may be older than it looks".to_owned(),
        _ => format!("{groups} groups may be older than they look"),
    };
    let message =
        if unread.is_empty() { doubtful } else { format!("of the log {unread} could not be read; {doubtful}") };
    // An unclean stop leaves that, and nothing is lost by it: as `verify` has it.
    let only_torn = subject.watch.shape.torn_tail && doubts.holes == 1;
    let only_torn = only_torn && doubts.damaged_batches + bad_keys + doubts.bad_values + groups == 0;
    let severity = if only_torn { Severity::Info } else { Code::NotReplayed.severity() };
    let message = if only_torn {
        "the log ends in a write that a stop cut short; no group is in doubt".to_owned()
    } else {
        message
    };
    let finding = Finding::new(Code::NotReplayed, message).severity(severity);
    let finding = match &subject.watch.shape.first_damage {
        Some((segment, position)) => finding.file(segment.as_str()).position(*position),
        None => finding,
    };
    let finding = finding.fact("holes", doubts.holes).fact("damagedBatches", doubts.damaged_batches);
    let finding = finding.fact("badKeys", bad_keys).fact("badValues", doubts.bad_values);
    Some(finding.fact("groups", groups))
}

fn placed(finding: Finding, found: &Found) -> Finding {
    let finding = finding.file(found.segment.as_str()).position(found.position).offset(found.offset);
    finding.fact("records", found.count)
}

fn null_keys(shape: &Shape) -> Option<Finding> {
    let found = shape.null_keys.as_ref()?;
    let message = format!("{} without a key", counted(found.count, "record"));
    Some(placed(Finding::new(Code::NullKey, message), found))
}

fn unknown_types(shape: &Shape) -> Vec<Finding> {
    let of_type = |(number, found): (&i16, &Found)| {
        let message = format!("{} of the unknown type {number}", counted(found.count, "record"));
        placed(Finding::new(Code::UnknownType, message), found).fact("type", i32::from(*number))
    };
    shape.unknown_types.iter().map(of_type).collect()
}

fn previews(shape: &Shape) -> Vec<Finding> {
    let of_type = |((record_type, whose), found): (&(crate::schema::RecordType, &'static str), &Found)| {
        let message = format!(
            "{} of type {} ({}) in the shape of {whose}",
            counted(found.count, "value"),
            record_type.number(),
            record_type.name()
        );
        let finding = placed(Finding::new(Code::Preview, message), found);
        finding.fact("type", i32::from(record_type.number())).fact("shape", *whose)
    };
    shape.previews.iter().map(of_type).collect()
}

fn versions(shape: &Shape) -> Vec<Finding> {
    let mut by_type: BTreeMap<_, Vec<(i16, u64)>> = BTreeMap::new();
    for ((record_type, version), count) in &shape.versions {
        by_type.entry(*record_type).or_default().push((*version, *count));
    }
    let of_type = |(record_type, versions): (crate::schema::RecordType, Vec<(i16, u64)>)| {
        if versions.len() < 2 {
            return None;
        }
        let listed: Vec<_> = versions.iter().take(10).map(|(version, n)| format!("{n} of version {version}")).collect();
        let message = format!("type {} ({}): {}", record_type.number(), record_type.name(), listed.join(", "));
        let fact = |(version, n): &(i16, u64)| {
            Fact::Object(vec![("version", i32::from(*version).into()), ("values", (*n).into())])
        };
        let facts = versions.iter().take(100).map(fact).collect();
        let finding = Finding::new(Code::MixedVersions, message).fact("type", i32::from(record_type.number()));
        Some(finding.fact("versions", Fact::List(facts)))
    };
    by_type.into_iter().filter_map(of_type).collect()
}

fn past_horizon(shape: &Shape, ground: &Ground<'_>) -> Option<Finding> {
    let past = shape.past_horizon;
    if past.tombstones == 0 {
        return None;
    }
    let age = ground.settings.now.saturating_sub(past.earliest);
    let n = counted(past.tombstones, "tombstone");
    let message = format!("{n} could go at the next cleaning, the first for {}", span(age));
    let finding = Finding::new(Code::PastHorizon, message).fact("tombstones", past.tombstones);
    Some(finding.fact("earliestHorizon", past.earliest))
}

/// Compaction never takes the first segment's name away: only deletion does.
fn cleanup_policy(subject: &Subject<'_>) -> Option<Finding> {
    subject.dir.filter(|dir| dir.variant == Variant::Normal)?;
    let first = subject.watch.shape.segments.first()?;
    let base = first.base_offset.filter(|base| *base > 0)?;
    let dense = first.missing == 0;
    let how = if dense { "without a gap, so it was never compacted" } else { "with gaps, so it was compacted, too" };
    let message = format!("the log begins at offset {base} {how}: what stood before was deleted, or not copied");
    let finding = Finding::new(Code::CleanupPolicy, message).file(first.name.as_str()).position(0).offset(base);
    Some(finding.fact("firstOffset", base).fact("dense", dense).fact("logStart", subject.log_start))
}

/// Whether the cleaner comes, by its checkpoint. Where the log dir has none that is not known. What an open transaction holds
/// up does not wait for the cleaner: it is told with the transaction.
fn cleaner(subject: &Subject<'_>, ground: &Ground<'_>) -> Option<Finding> {
    let (files, partition) = (subject.log_dir?, subject.partition?);
    files.checkpoints.iter().find(|file| file.kind == CheckpointKind::Cleaner)?;
    let checkpoint = files.offset(CheckpointKind::Cleaner, partition);
    let (_, closed) = subject.watch.shape.segments.split_last()?;
    // The broker begins anew where the checkpoint makes no sense.
    let start = subject.log_start.or(closed.first()?.base_offset)?;
    let valid = checkpoint.filter(|at| (start..=subject.state.end_offset).contains(at));
    let from = valid.unwrap_or(start);
    let until = subject.watch.transactions.last_stable_offset;
    let may_be_cleaned = |segment: &&SegmentShape| segment.offsets.is_none_or(|(_, last)| last < until);
    let is_dirty = |segment: &&SegmentShape| segment.offsets.is_some_and(|(_, last)| last >= from);
    let closed: Vec<_> = closed.iter().filter(may_be_cleaned).collect();
    let dirty: Vec<_> = closed.iter().copied().filter(is_dirty).collect();
    let dirty_bytes: u64 = dirty.iter().map(|segment| segment.len).sum();
    // As the broker counts, a segment that the checkpoint lies in is on both sides.
    let is_clean = |segment: &&&SegmentShape| segment.base_offset.is_some_and(|base| base < from);
    let clean_bytes: u64 = closed.iter().filter(is_clean).map(|segment| segment.len).sum();
    let closed_bytes = clean_bytes + dirty_bytes;
    let latest = dirty.iter().map(|segment| segment.latest).max()?;
    let waiting = ground.settings.age(latest)?;
    if dirty_bytes * 2 <= closed_bytes || waiting <= PATIENCE {
        return None;
    }
    let (reason, why) = reason(subject, checkpoint, valid, &dirty);
    let message = format!(
        "{} with {dirty_bytes} of {closed_bytes} bytes wait for the cleaner, for {} at least: {why}",
        counted(dirty.len() as u64, "closed segment"),
        span(waiting)
    );
    let records = subject.watch.shape.records;
    let live = live_keys(subject);
    Some(
        Finding::new(Code::CleanerStuck, message)
            .offset(from)
            .fact("reason", reason)
            .fact("checkpoint", checkpoint)
            .fact("firstDirtyOffset", from)
            .fact("dirtySegments", dirty.len() as u64)
            .fact("dirtyBytes", dirty_bytes)
            .fact("closedBytes", closed_bytes)
            .fact("records", records)
            .fact("liveKeys", live)
            .fact("waitingMs", waiting),
    )
}

/// Why the cleaner does not come, as far as files show it: a code and a sentence.
fn reason(
    subject: &Subject<'_>,
    checkpoint: Option<i64>,
    valid: Option<i64>,
    dirty: &[&SegmentShape],
) -> (&'static str, String) {
    if let Some((segment, position)) = &subject.watch.shape.first_damage
        && dirty.iter().any(|it| it.name == *segment)
    {
        return ("damage", format!("{segment} is damaged at byte {position}, and the cleaner stops there"));
    }
    match (checkpoint, valid) {
        (None, _) => (
            "never-cleaned",
            "its checkpoint does not name the partition: it never came, or the line was lost".to_owned(),
        ),
        (Some(at), None) => ("bad-checkpoint", format!("its checkpoint says {at}, which lies outside of the log")),
        (Some(at), Some(_)) => ("checkpoint-behind", format!("its checkpoint stays at {at}, and no file shows why")),
    }
}

fn live_keys(subject: &Subject<'_>) -> u64 {
    let offsets = &subject.state.offsets;
    let commits: usize = offsets.prefixes().map(|(number, ..)| offsets.slots(number).count()).sum();
    (commits + subject.state.others.iter().count()) as u64
}

fn active_only(subject: &Subject<'_>) -> Option<Finding> {
    subject.dir?;
    let shape = &subject.watch.shape;
    let mut filled = shape.segments.iter().filter(|segment| segment.len > 0);
    let only = filled.next().filter(|segment| segment.len >= WORTH_A_WORD)?;
    let live = live_keys(subject);
    if filled.next().is_some() || live * 2 >= shape.records {
        return None;
    }
    let dead = shape.records.saturating_sub(live);
    let message = format!(
        "{dead} of {} are superseded, all in the active segment of {} bytes: nothing is wrong, it shrinks once it rolls",
        counted(shape.records, "record"),
        only.len
    );
    let finding = Finding::new(Code::ActiveOnly, message).fact("activeSegment", only.name.as_str());
    Some(finding.fact("records", shape.records).fact("liveKeys", live).fact("bytes", only.len))
}

/// What cleaners before KAFKA-8335 could not take: a batch for every sequence number, and a coordinator's is always 0.
fn empty_batches(subject: &Subject<'_>) -> Option<Finding> {
    let empties = &subject.watch.empties;
    let sum = |of: fn(&EmptyBatches) -> u64| empties.iter().map(of).sum::<u64>();
    let (batches, bytes) = (sum(|it| it.removable), sum(|it| it.bytes));
    if batches < MANY_EMPTY {
        return None;
    }
    let (in_message, in_facts) = PRODUCERS_NAMED;
    let named: Vec<_> =
        empties.iter().take(in_message).map(|it| format!("{} of producer {}", it.removable, it.producer_id)).collect();
    let more = if empties.len() > in_message { ", …" } else { "" };
    let message = format!("{batches} empty batches with {bytes} bytes could go: {}{more}", named.join(", "));
    let fact = |it: &EmptyBatches| {
        Fact::Object(vec![
            ("producerId", it.producer_id.into()),
            ("batches", it.removable.into()),
            ("bytes", it.bytes.into()),
        ])
    };
    let finding = Finding::new(Code::EmptyBatches, message).fact("batches", batches).fact("bytes", bytes);
    let finding = finding.fact("producers", empties.len() as u64);
    Some(finding.fact("most", Fact::List(empties.iter().take(in_facts).map(fact).collect())))
}
