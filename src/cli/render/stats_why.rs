//! Why a partition is not cleaned, in words for whoever was woken up by it.
//!
//! Must not know: how the verdict came about.

use super::history_words::span_of_time;
use super::name::visible_path;
use super::stats::{Told, View, percent};
use crate::audit::stats::why::{CheckpointOddity, LARGEST_BATCH, MOST_KEYS, Verdict, Why};
use crate::cli::time::rfc3339;
use serde_json::{Value, json};

/// A block of lines.
pub fn text(told: &Told<'_>, why: &Why, view: &View<'_>) -> String {
    let path = || visible_path(told.path);
    let name = told.partition.map_or_else(path, |number| format!("partition {number}"));
    let mut text = format!("{name} ({}): {}\n", why.verdict.code(), verdict(told, why, view));
    for line in lines(told, why, view) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// The same for programs.
pub fn json(told: &Told<'_>, why: &Why, view: &View<'_>) -> Value {
    json!({
        "code": why.verdict.code(),
        "message": verdict(told, why, view),
        "more": lines(told, why, view),
        "cleanerCheckpoint": why.checkpoint,
        "checkpointOddity": why.oddity.map(CheckpointOddity::code),
        "firstDirtyOffset": why.first_dirty,
        "firstUncleanableOffset": why.first_uncleanable,
        "activeSegmentBaseOffset": why.active_base,
        "activeSegmentBytes": why.active_bytes,
        "activeSegmentDeadBytes": why.active_dead_bytes,
        "cleanBytes": why.clean_bytes,
        "cleanableBytes": why.cleanable_bytes,
        "dirtyRatio": why.dirty_ratio,
        "minCleanableDirtyRatio": view.settings.min_cleanable_ratio,
        "oldestDirtyMs": why.oldest_dirty_ms,
        "openTransactionOffset": why.open_from,
        "pinnedBytes": why.pinned_bytes,
        "damageBehindOffset": why.damage_behind,
    })
}

fn verdict(told: &Told<'_>, why: &Why, view: &View<'_>) -> String {
    let ratio = why.dirty_ratio.unwrap_or(0.0);
    let least = view.settings.min_cleanable_ratio;
    match why.verdict {
        Verdict::UpToDate => {
            "healthy: every closed segment is clean; what is dead lies in the last segment, which a broker \
                              never cleans until it begins a new one"
                .to_owned()
        }
        Verdict::ActiveOnly => {
            "healthy: there is one segment, the one that the broker writes to, which is never cleaned; \
                                nothing can shrink before it begins a new one"
                .to_owned()
        }
        Verdict::OpenTransaction => format!(
            "a transaction that began at offset {} is still open: the cleaner goes no further than offset {}",
            why.open_from.unwrap_or(-1),
            why.first_uncleanable
        ),
        Verdict::Damaged => format!(
            "the log is damaged behind offset {}: a cleaner that meets that gives the partition up until the broker \
             restarts, and meets it again then",
            why.damage_behind.unwrap_or(-1)
        ),
        Verdict::MinLag => format!(
            "what is dirty is younger than min.compaction.lag.ms ({}) from offset {} on",
            span_of_time(view.settings.min_lag_ms),
            why.first_uncleanable
        ),
        Verdict::BelowRatio => format!(
            "normal: {ratio:.3} of it is dirty, and a cleaner waits for more than {least} (min.cleanable.dirty.ratio)"
        ),
        Verdict::Due => format!("{}; a cleaner that is at work takes it soon", due(why, least)),
        Verdict::CannotTell => format!("cannot tell: no cleaner-offset-checkpoint in {}", log_dir(told)),
        Verdict::CleanerStuck => format!(
            "the cleaner should have taken it: {}, and what waits is {} old; it does not run, or it has given this partition \
             up{}",
            due(why, least),
            why.newest_dirty
                .map_or_else(|| "-".to_owned(), |newest| span_of_time(view.now.saturating_sub(newest).max(0))),
            would_free(told),
        ),
    }
}

/// The folder around the partition's.
fn log_dir(told: &Told<'_>) -> String {
    let folder = if told.path.extension().is_some_and(|it| it == "log") { told.path.parent() } else { Some(told.path) };
    let absolute = folder.and_then(|folder| std::path::absolute(folder).ok());
    visible_path(absolute.as_deref().and_then(std::path::Path::parent).unwrap_or(told.path))
}

fn due(why: &Why, least: f64) -> String {
    if why.over_max_lag {
        return "what is dirty has waited longer than max.compaction.lag.ms".to_owned();
    }
    format!("{:.3} of it is dirty, more than {least} (min.cleanable.dirty.ratio)", why.dirty_ratio.unwrap_or(0.0))
}

fn would_free(told: &Told<'_>) -> String {
    let Some(after) = told.cleaner else { return String::new() };
    let gone = told.stats.bytes.saturating_sub(after.bytes);
    format!("; it would free {gone} of {} bytes ({})", told.stats.bytes, percent(gone, told.stats.bytes))
}

fn lines(told: &Told<'_>, why: &Why, view: &View<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        "dirty from offset {}, cleanable up to {}: {} clean and {} cleanable bytes{}",
        why.first_dirty,
        why.first_uncleanable,
        why.clean_bytes,
        why.cleanable_bytes,
        why.oldest_dirty_ms
            .map_or_else(String::new, |age| format!("; the oldest of it waits for {}", span_of_time(age.max(0)))),
    )];
    lines.extend(oddity(why));
    if why.active_bytes > 0 {
        lines.push(active(told, why, view));
    }
    if let (Some(open), true) = (why.open_from, why.verdict != Verdict::OpenTransaction) {
        lines.push(format!(
            "a transaction is open from offset {open} on; when the cleaner comes to it, it goes no further ('grouplog txns' \
             shows it)"
        ));
    }
    if told.stats.counted.largest > LARGEST_BATCH {
        lines.push(format!(
            "its largest batch has {} bytes, more than max.message.bytes has by itself ({LARGEST_BATCH}): old cleaners give \
             up there",
            told.stats.counted.largest
        ));
    }
    if told.stats.after.as_ref().is_some_and(|after| after.keys > MOST_KEYS) {
        lines.push(format!(
            "it has more keys than the {MOST_KEYS} that a cleaner's map of 128 MiB takes at once \
             (log.cleaner.dedupe.buffer.size): it needs several passes, and a larger map helps"
        ));
    }
    lines.extend(next_step(told, why));
    lines
}

fn oddity(why: &Why) -> Option<String> {
    let at = why.checkpoint.unwrap_or(-1);
    Some(match why.oddity? {
        CheckpointOddity::NoLine => {
            "cleaner-offset-checkpoint does not name it: it was never cleaned here, or its line was lost".to_owned()
        }
        CheckpointOddity::NoFile => {
            "without that file nothing tells what was cleaned, and all of it counts as dirty; give the folder inside its log \
             dir"
                .to_owned()
        }
        CheckpointOddity::BelowStart => {
            format!(
                "cleaner-offset-checkpoint says {at}, below the log start: the broker begins at the log start instead"
            )
        }
        CheckpointOddity::AboveEnd => {
            format!(
                "cleaner-offset-checkpoint says {at}, above the log end: the broker begins at the log start instead"
            )
        }
    })
}

/// What the last segment holds, and when it is closed.
fn active(told: &Told<'_>, why: &Why, view: &View<'_>) -> String {
    let limit = view.settings.segment_bytes;
    let dead = why.active_dead_bytes.map_or_else(String::new, |dead| {
        format!(", {} of them dead: what a new segment would let the cleaner take", percent(dead, why.active_bytes))
    });
    let left = limit.saturating_sub(why.active_bytes);
    let row = told.stats.counted.segments.last();
    let span = row.and_then(|row| Some(row.last_time?.saturating_sub(row.first_time?))).filter(|span| *span > 0);
    let when = match span {
        _ if left == 0 => " (now, with the next record)".to_owned(),
        Some(span) => {
            let millis = (left as f64 * span as f64 / why.active_bytes.max(1) as f64).min(i64::MAX as f64) as i64;
            format!(", in {} at its pace so far", span_of_time(millis))
        }
        None => String::new(),
    };
    format!(
        "the last segment, from offset {}, has {} bytes{dead}; it is closed at {limit} bytes (segment.bytes){when}, or by the \
         first record behind segment.ms (7 days)",
        why.active_base, why.active_bytes
    )
}

fn next_step(told: &Told<'_>, why: &Why) -> Vec<String> {
    match why.verdict {
        Verdict::OpenTransaction => {
            let (first, until) = (rfc3339(first_time(told)), why.pinned_bytes);
            vec![
                format!("{until} bytes of closed segments wait behind it; it began at {first}"),
                "next: 'grouplog txns --open' shows whose it is, and the command that ends it".to_owned(),
            ]
        }
        Verdict::Damaged => vec![
            "next: 'grouplog verify' says what is damaged; take the partition from a sound replica (stop this broker, move \
             the folder away, start it), or 'grouplog salvage' what is left"
                .to_owned(),
        ],
        Verdict::CleanerStuck => vec![
            "next: look for this partition, \"uncleanable\" and \"Error\" in the broker's log-cleaner.log, and at the metrics \
             uncleanable-partitions-count and DeadThreadCount; log.cleaner.enable must be true; a restart of the broker makes \
             it try again"
                .to_owned(),
            "with the broker stopped, 'grouplog compact' does the same offline".to_owned(),
        ],
        Verdict::ActiveOnly | Verdict::UpToDate => vec![
            "next: nothing; if the space is needed now, lower segment.bytes or segment.ms of __consumer_offsets for a while"
                .to_owned(),
        ],
        Verdict::BelowRatio => vec![
            "next: nothing; if the space is needed now, lower min.cleanable.dirty.ratio of __consumer_offsets for a while"
                .to_owned(),
        ],
        Verdict::MinLag | Verdict::Due | Verdict::CannotTell => Vec::new(),
    }
}

/// When the first open transaction began, in ms since 1970.
fn first_time(told: &Told<'_>) -> i64 {
    told.stats.open.first().map_or(-1, |open| open.first_timestamp)
}
