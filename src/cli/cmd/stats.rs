//! `stats`: who fills the log, what of it is dead, and why it was not cleaned.

use super::Outcome;
use crate::audit::stats::why::{Known, Settings, Why, why};
use crate::audit::stats::{After, Reading, Stats, Window, after_cleaner, stats};
use crate::cli::Usage;
use crate::cli::args::{By, StatsArgs, TextFormat};
use crate::cli::input::{self, Partition};
use crate::cli::render::stats::{self as render, Told, View};
use crate::cli::render::stats_json;
use crate::cli::state::in_parallel;
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::log_dir::{CheckpointKind, LogDirFiles};
use crate::rewrite::compact::{Aim, BeyondOpen, Extent};
use crate::words::counted;
use anyhow::{Context as _, Result};

/// Runs it.
pub fn run(args: &StatsArgs, context: &mut Context) -> Result<Outcome> {
    let reading = reading(args)?;
    let by = by(args)?;
    context.keep_unreadable_folders();
    let partitions = input::open_once(&args.input, context)?;
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let now = args.whole.now();
    let found = in_parallel(&partitions, args.whole.threads(), context, |partition, progress| {
        Ok(one(args, reading, partition, now, progress).with_context(|| partition.path().display().to_string()))
    })?;
    context.end();
    let (partitions, found, unreadable) = input::readable(partitions, found, context)?;
    let told: Vec<_> = partitions
        .iter()
        .zip(&found)
        .map(|(partition, found)| Told {
            partition: partition.number,
            path: partition.path(),
            stats: &found.stats,
            cleaner: found.cleaner.as_ref(),
            why: found.why.as_ref(),
            scale: found.stats.scale(reading),
        })
        .collect();
    let settings = settings(args, now);
    let view = View { by: &by, top: args.top, reading, extent: extent(args), settings: &settings, now };
    let text = match args.format {
        TextFormat::Table => render::text(&told, &view, context.looks()),
        TextFormat::Csv => render::csv(&told, &view),
        TextFormat::Json => stats_json::document(&told, &view),
        TextFormat::Jsonl => stats_json::lines(&told, &view),
    };
    context.out.all(text.as_bytes())?;
    Ok(say_damage(&told, context).or(unreadable))
}

struct Found {
    stats: Stats,
    cleaner: Option<After>,
    why: Option<Why>,
}

fn one(
    args: &StatsArgs,
    reading: Reading,
    partition: &Partition,
    now: i64,
    progress: &mut dyn FnMut(u64),
) -> Result<Found> {
    let aim = Aim {
        now,
        delete_retention_ms: args.delete_retention,
        segment_bytes: args.segment_bytes as u64,
        extent: extent(args),
        beyond_open: BeyondOpen::Never,
        log_start: args.whole.start_of(partition),
        max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
    };
    let paths = partition.paths();
    let stats = stats(&paths, reading, &aim, progress)?;
    if !args.why_not_cleaned {
        return Ok(Found { stats, cleaner: None, why: None });
    }
    let known = known(partition, aim.log_start, stats.counted.segments.first().map_or(0, |it| it.base_offset))?;
    let why = why(&stats, &known, &settings(args, now));
    Ok(Found { cleaner: Some(after_cleaner(&paths, &aim)?), stats, why })
}

/// What the log dir says of a partition.
fn known(partition: &Partition, log_start: Option<i64>, first: i64) -> Result<Known> {
    let log_start = log_start.unwrap_or(first).max(first);
    let (Some(folder), Some(number)) = (partition.folder(), partition.number) else {
        return Ok(Known { log_start, ..Known::default() });
    };
    let files = LogDirFiles::around(folder).with_context(|| folder.display().to_string())?;
    for (name, why) in files.iter().flat_map(|files| &files.unreadable) {
        anyhow::ensure!(*name != "cleaner-offset-checkpoint", "{}: {why}", folder.with_file_name(name).display());
    }
    let has = |files: &LogDirFiles| files.checkpoints.iter().any(|file| file.kind == CheckpointKind::Cleaner);
    Ok(Known {
        checkpoint: files.as_ref().and_then(|files| files.offset(CheckpointKind::Cleaner, number)),
        has_checkpoints: files.as_ref().is_some_and(has),
        log_start,
    })
}

fn extent(args: &StatsArgs) -> Extent {
    if args.closed_only { Extent::Closed } else { Extent::All }
}

fn settings(args: &StatsArgs, now: i64) -> Settings {
    Settings {
        min_cleanable_ratio: args.min_cleanable_dirty_ratio,
        min_lag_ms: args.min_compaction_lag,
        max_lag_ms: args.max_compaction_lag.unwrap_or(i64::MAX),
        segment_bytes: args.segment_bytes as u64,
        now,
    }
}

fn reading(args: &StatsArgs) -> Result<Reading, Usage> {
    if args.headers_only {
        return Ok(Reading::Heads);
    }
    if let Some(sample) = args.sample {
        return Ok(Reading::Sample(sample));
    }
    let Some(range) = args.time else { return Ok(Reading::All) };
    let now = args.whole.now();
    let millis = |moment: Option<time::Moment>, none| moment.map_or(none, |moment| moment.millis(now));
    let window = Window { from: millis(range.from, i64::MIN), until: millis(range.until, i64::MAX) };
    if window.from > window.until {
        let (from, until) = (time::rfc3339(window.from), time::rfc3339(window.until));
        return Err(Usage(format!("--time: {from} is after {until}")));
    }
    Ok(Reading::Window(window))
}

fn by(args: &StatsArgs) -> Result<Vec<By>, Usage> {
    let is_json = matches!(args.format, TextFormat::Json | TextFormat::Jsonl);
    let mut by = match (args.by.as_slice(), args.headers_only) {
        ([], true) => vec![By::Segment, By::Hour, By::Producer],
        ([], false) if is_json => By::ALL.to_vec(),
        ([], false) if args.format == TextFormat::Csv => vec![By::Group],
        ([], false) => vec![By::Type, By::Group],
        (some, _) => some.to_vec(),
    };
    let mut seen = Vec::new();
    by.retain(|it| {
        !seen.contains(it) && {
            seen.push(*it);
            true
        }
    });
    match by.iter().find(|it| args.headers_only && !it.is_of_heads()) {
        Some(it) => Err(Usage(format!(
            "--headers-only: the heads of batches do not tell the {}; count by segment, hour or producer",
            it.name()
        ))),
        None if args.format == TextFormat::Csv && args.why_not_cleaned => {
            Err(Usage("--format csv: the rows do not tell why; give --why-not-cleaned another format".to_owned()))
        }
        None if args.format == TextFormat::Csv && by.len() > 1 => {
            Err(Usage("--format csv: a table has one head; count by one thing only".to_owned()))
        }
        None => Ok(by),
    }
}

/// Says on stderr what was damaged.
fn say_damage(told: &[Told<'_>], context: &Context) -> Outcome {
    let mut outcome = Outcome::Clean;
    for it in told {
        let counted_all = &it.stats.counted;
        let is_damage = |code: &str| !matches!(code, "zero-tail" | "torn-batch");
        let holes =
            counted_all.holes.iter().filter(|(code, _)| is_damage(code)).map(|(_, count)| count.number).sum::<u64>();
        let batches = counted_all.damaged.batches;
        if holes + batches == 0 && counted_all.unreadable == 0 {
            continue;
        }
        outcome = Outcome::Findings;
        context.note(&format!(
            "{}: damaged: {}, {} and {} inside batches; 'grouplog verify' says what and where",
            it.path.display(),
            counted(holes, "hole"),
            counted(batches, "batch"),
            counted(counted_all.unreadable, "byte"),
        ));
    }
    outcome
}
