//! Why a partition is not cleaned: the broker's own arithmetic, and what follows from it.
//!
//! From its `cleaner-offset-checkpoint` a broker knows where the uncleaned part of a log begins; where that ends, from the
//! last segment, the last stable offset and the lag that is asked for. It cleans the log whose share of uncleaned bytes is
//! the greatest, if that is above `min.cleanable.dirty.ratio`, or has waited longer than `max.compaction.lag.ms` (KIP-58,
//! KIP-354; unchanged up to Kafka 4.4). Must not know: how anything is printed.

use super::Stats;
use crate::model::stats::SegmentRow;

/// How many keys fit into the cleaner's map: 90 % of `log.cleaner.dedupe.buffer.size` (128 MiB) at 24 bytes a key.
pub const MOST_KEYS: u64 = 5_033_164;
/// `max.message.bytes` unless it is set, with what stands in front of it.
pub const LARGEST_BATCH: u64 = 1_048_588;
/// A cleaner that is at work comes round to a log in this time, in ms: it looks every 15 s, but may be busy elsewhere.
const PATIENCE_MS: i64 = 3_600_000;

/// The broker's settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// `min.cleanable.dirty.ratio`.
    pub min_cleanable_ratio: f64,
    /// `min.compaction.lag.ms`.
    pub min_lag_ms: i64,
    /// `max.compaction.lag.ms`.
    pub max_lag_ms: i64,
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// What now is, in ms since 1970.
    pub now: i64,
}

/// What the broker's files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// What `cleaner-offset-checkpoint` says of the partition.
    pub checkpoint: Option<i64>,
    /// Whether there is such a file to look at.
    pub has_checkpoints: bool,
    /// The first offset that counts.
    pub log_start: i64,
}

/// What it comes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All that may be cleaned is clean; the rest is in the last segment, which is never cleaned.
    UpToDate,
    /// There is one segment with something in it, the one that the broker writes to.
    ActiveOnly,
    /// A transaction that is open keeps the cleaner from going on.
    OpenTransaction,
    /// Damage stands in its way.
    Damaged,
    /// What is uncleaned is too young.
    MinLag,
    /// Too little is uncleaned for it to begin.
    BelowRatio,
    /// It is due, and the cleaner may just not have come to it yet.
    Due,
    /// It would be due if all of it were uncleaned, but no checkpoint tells what is.
    CannotTell,
    /// It has been due for long: the cleaner does not run, or has given the partition up.
    CleanerStuck,
}

impl Verdict {
    /// As it stands in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Verdict::UpToDate => "up-to-date",
            Verdict::ActiveOnly => "active-only",
            Verdict::OpenTransaction => "open-transaction",
            Verdict::Damaged => "damaged",
            Verdict::MinLag => "min-lag",
            Verdict::BelowRatio => "below-ratio",
            Verdict::Due => "due",
            Verdict::CannotTell => "cannot-tell",
            Verdict::CleanerStuck => "cleaner-stuck",
        }
    }
}

/// What is odd about the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointOddity {
    /// The file does not name the partition: it was never cleaned.
    NoLine,
    /// No such file was given.
    NoFile,
    /// It lies below the log start; the broker begins at the log start instead.
    BelowStart,
    /// It lies above the log end; the broker begins at the log start instead.
    AboveEnd,
}

impl CheckpointOddity {
    /// As it stands in JSON.
    pub fn code(self) -> &'static str {
        match self {
            CheckpointOddity::NoLine => "no-line",
            CheckpointOddity::NoFile => "no-file",
            CheckpointOddity::BelowStart => "below-log-start",
            CheckpointOddity::AboveEnd => "above-log-end",
        }
    }
}

/// The arithmetic and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// What it comes down to.
    pub verdict: Verdict,
    /// As the checkpoint says.
    pub checkpoint: Option<i64>,
    /// What is odd about it.
    pub oddity: Option<CheckpointOddity>,
    /// Where the uncleaned part begins.
    pub first_dirty: i64,
    /// The first offset that may not be cleaned: where a segment begins.
    pub first_uncleanable: i64,
    /// Where the last segment begins.
    pub active_base: i64,
    /// Bytes of the last segment.
    pub active_bytes: u64,
    /// Of these, in dead records: what a new segment would let a cleaner take. None if not everything was read.
    pub active_dead_bytes: Option<u64>,
    /// Bytes of segments that are clean.
    pub clean_bytes: u64,
    /// Bytes of segments that may be cleaned.
    pub cleanable_bytes: u64,
    /// The second over both. None where both are 0: the broker does not look at such a log.
    pub dirty_ratio: Option<f64>,
    /// For how long the oldest batch that may be cleaned has waited, in ms; counted as the broker does, which takes what
    /// lies ahead of now for new.
    pub oldest_dirty_ms: Option<i64>,
    /// Whether that is longer than `max.compaction.lag.ms`.
    pub over_max_lag: bool,
    /// Where the first transaction begins that is open.
    pub open_from: Option<i64>,
    /// How many bytes lie in segments from there up to the last one.
    pub pinned_bytes: u64,
    /// The offset before which the first damage lies, if a cleaner would meet it.
    pub damage_behind: Option<i64>,
    /// Where the youngest of what waits stands in time, in ms since 1970.
    pub newest_dirty: Option<i64>,
}

/// Judges a partition.
pub fn why(stats: &Stats, known: &Known, settings: &Settings) -> Option<Why> {
    let segments = &stats.counted.segments;
    let (active, closed) = segments.split_last()?;
    let end = stats.counted.end_offset.max(active.base_offset);
    let (first_dirty, oddity) = first_dirty(known, end);
    let open_from = stats.open.first().map(|open| open.first_offset);
    // What is clean up to the last segment leaves nothing that could wait.
    let waiting = if first_dirty < active.base_offset { closed } else { &[] };
    let by_lag = too_young(waiting, first_dirty, settings).map(|segment| segment.base_offset);
    let bounds = [open_from, by_lag].into_iter().flatten();
    let offset = bounds.fold(active.base_offset, i64::min);
    let first_uncleanable = segment_of(segments, offset).map_or(active.base_offset, |it| it.base_offset);
    let to = first_uncleanable.max(first_dirty);
    let clean_bytes = below(segments, first_dirty).map(|it| it.len).sum();
    let cleanable = between(segments, first_dirty, to);
    let cleanable_bytes: u64 = cleanable.iter().map(|it| it.len).sum();
    let oldest = from(waiting, first_dirty).filter_map(|it| it.first_time).filter(|it| *it > 0).min();
    let oldest_dirty_ms = oldest.map(|oldest| settings.now.saturating_sub(oldest).max(0));
    let all = clean_bytes + cleanable_bytes;
    let dirty_ratio = (all > 0).then(|| cleanable_bytes as f64 / all as f64);
    let damage = stats.damage.as_ref().map(|(_, behind)| *behind);
    let mut why = Why {
        verdict: Verdict::Due,
        checkpoint: known.checkpoint,
        oddity,
        first_dirty,
        first_uncleanable,
        active_base: active.base_offset,
        active_bytes: active.len,
        active_dead_bytes: stats.after.as_ref().map(|_| active.sum.dead_bytes()),
        clean_bytes,
        cleanable_bytes,
        dirty_ratio,
        oldest_dirty_ms,
        over_max_lag: oldest_dirty_ms.is_some_and(|age| age > settings.max_lag_ms.max(0)),
        open_from,
        pinned_bytes: open_from.map_or(0, |open| {
            let from = segment_of(segments, open).map_or(open, |it| it.base_offset);
            closed.iter().filter(|it| it.base_offset >= from).map(|it| it.len).sum()
        }),
        damage_behind: damage.filter(|behind| *behind < to),
        newest_dirty: cleanable.iter().filter_map(|it| it.last_time).max(),
    };
    why.verdict = verdict(&why, closed, by_lag, settings);
    Some(why)
}

fn verdict(why: &Why, closed: &[SegmentRow], by_lag: Option<i64>, settings: &Settings) -> Verdict {
    let is_pinned = why.open_from.is_some_and(|open| open < why.active_base);
    if closed.iter().all(|segment| segment.len == 0) {
        return Verdict::ActiveOnly;
    }
    if why.damage_behind.is_some() {
        return Verdict::Damaged;
    }
    let is_due = why.cleanable_bytes > 0
        && (why.over_max_lag || why.dirty_ratio.is_some_and(|ratio| ratio > settings.min_cleanable_ratio));
    if is_due && why.oddity == Some(CheckpointOddity::NoFile) {
        return Verdict::CannotTell;
    }
    if is_due {
        // What is younger than that may just be waiting for its turn.
        let rested =
            why.newest_dirty.map(|newest| settings.now.saturating_sub(newest).saturating_sub(settings.min_lag_ms));
        return if rested.is_some_and(|rested| rested > PATIENCE_MS) { Verdict::CleanerStuck } else { Verdict::Due };
    }
    if is_pinned && why.first_uncleanable < why.active_base {
        return Verdict::OpenTransaction;
    }
    if by_lag.is_some_and(|base| base <= why.first_uncleanable) && why.first_uncleanable < why.active_base {
        return Verdict::MinLag;
    }
    if why.cleanable_bytes == 0 { Verdict::UpToDate } else { Verdict::BelowRatio }
}

/// Where a broker begins, and what is odd about its checkpoint.
fn first_dirty(known: &Known, end: i64) -> (i64, Option<CheckpointOddity>) {
    let start = known.log_start;
    match known.checkpoint {
        None if known.has_checkpoints => (start, Some(CheckpointOddity::NoLine)),
        None => (start, Some(CheckpointOddity::NoFile)),
        Some(at) if at < start => (start, Some(CheckpointOddity::BelowStart)),
        Some(at) if at > end => (start, Some(CheckpointOddity::AboveEnd)),
        Some(at) => (at, None),
    }
}

/// The first closed segment whose youngest batch is younger than the lag that is asked for.
fn too_young<'s>(closed: &'s [SegmentRow], first_dirty: i64, settings: &Settings) -> Option<&'s SegmentRow> {
    let since = settings.now.saturating_sub(settings.min_lag_ms);
    let is_young = |it: &&SegmentRow| it.last_time.is_some_and(|last| last > since);
    if settings.min_lag_ms <= 0 { None } else { from(closed, first_dirty).find(is_young) }
}

/// The segment that holds an offset: the last that does not begin above it.
fn segment_of(segments: &[SegmentRow], offset: i64) -> Option<&SegmentRow> {
    segments.iter().rev().find(|it| it.base_offset <= offset).or(segments.first())
}

/// Segments from the one on that holds an offset.
fn from(segments: &[SegmentRow], offset: i64) -> impl Iterator<Item = &SegmentRow> {
    let first = segment_of(segments, offset).map_or(offset, |it| it.base_offset);
    segments.iter().filter(move |it| it.base_offset >= first)
}

/// Segments from the one on that holds an offset, up to another offset: none if both are the same.
fn between(segments: &[SegmentRow], first: i64, to: i64) -> Vec<&SegmentRow> {
    if to <= first { Vec::new() } else { from(segments, first).filter(|it| it.base_offset < to).collect() }
}

/// Segments that begin below an offset.
fn below(segments: &[SegmentRow], offset: i64) -> impl Iterator<Item = &SegmentRow> {
    segments.iter().filter(move |it| it.base_offset < offset)
}
