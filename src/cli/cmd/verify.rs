//! `verify`: is every byte sound?

use super::Outcome;
use crate::audit::side::of_log_dir;
use crate::audit::verify::brokers::of_verdicts;
use crate::audit::verify::{Counts, Depth, Verified, Verifying, verify};
use crate::audit::{Code, Finding, Severity};
use crate::cli::args::{SeverityChoice, TextFormat, VerifyArgs};
use crate::cli::input::{self, Partition};
use crate::cli::render::findings::{LogDirs, findings, verdict_lines};
use crate::cli::state::{self, in_parallel, threads};
use crate::cli::talk::{Context, EmptyFolders};
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::log_dir::LogDirFiles;
use crate::model::load::log_start;
use crate::model::preflight::{Coordinator, Verdict, preflight};
use crate::model::replay::Helper;
use crate::words::counted;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// Runs it.
pub fn run(args: &VerifyArgs, context: &mut Context) -> Result<Outcome> {
    context.keep_unreadable_folders();
    context.keep_empty_folders(EmptyFolders::Kept);
    if !args.fast {
        context.tell_of_files();
    }
    let partitions = input::open(&args.input, context)?;
    let log_dirs = log_dirs(&partitions)?;
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let threads = threads(args.threads);
    let helper = if threads > partitions.len() { Helper::ChecksCrcs } else { Helper::None };
    let brokers = brokers(args);
    let judged = in_parallel(&partitions, threads, context, |partition, progress| {
        let verified = one(partition, log_dir_of(partition, &log_dirs), args, helper, progress);
        let judged = verified.and_then(|verified| Ok((verified, verdicts(partition, &brokers, args)?)));
        let judged = judged.with_context(|| partition.path().display().to_string());
        Ok(partition.check_listed().and(judged))
    })?;
    context.end();
    let judged = if judged.iter().all(Result::is_err) {
        // Nothing could be read: that is no finding, but a failure.
        judged.into_iter().collect::<Result<Vec<_>>>()?
    } else {
        judged
            .into_iter()
            .zip(&partitions)
            .map(|(it, partition)| it.unwrap_or_else(|e| unreadable(partition, &e)))
            .collect()
    };
    let (verified, verdicts): (Vec<_>, Vec<_>) = judged.into_iter().unzip();
    say_counts(&verified, context);
    let least = least(args.min_severity);
    let asked_for = |it: &Finding| it.severity >= least && (context.is_verbose() || !it.code.is_normal());
    let of_log_dirs = log_dirs.iter().filter(|_| !args.fast).flat_map(|(_, files)| of_log_dir(files));
    let of_partitions = partitions.iter().zip(verified).zip(&verdicts).flat_map(|((partition, verified), verdicts)| {
        let found = verified.findings.into_iter().chain(of_verdicts(partition.number, verdicts));
        found.map(|finding| finding.path(partition.path()))
    });
    let all: Vec<_> = of_log_dirs.chain(of_partitions).filter(asked_for).collect();
    let mut text = findings(&all, args.format, LogDirs::of(state::log_dirs(partitions.iter()).len()), context.looks());
    if args.format == TextFormat::Table && !brokers.is_empty() {
        let numbers: Vec<_> = partitions.iter().map(|partition| partition.number).collect();
        text.push_str(&verdict_lines(&numbers, &verdicts, context.looks()));
    }
    context.out.all(text.as_bytes())?;
    Ok(if all.iter().any(|it| it.severity > Severity::Info) { Outcome::Findings } else { Outcome::Clean })
}

/// A partition that cannot be read takes nothing away from the others.
fn unreadable(partition: &Partition, error: &anyhow::Error) -> (Verified, Vec<Verdict>) {
    let why = format!("not read, nor anything of the partition: {}", error.root_cause());
    let finding = Finding::new(Code::SegmentUnreadable, why);
    let findings = vec![Finding { partition: partition.number, ..finding }];
    (Verified { findings, counts: Counts::default() }, Vec::new())
}

fn one(
    partition: &Partition,
    log_dir: Option<&LogDirFiles>,
    args: &VerifyArgs,
    helper: Helper,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified> {
    let how = Verifying {
        partition: partition.number,
        dir: partition.dir.as_ref(),
        log_dir,
        depth: if args.fast { Depth::Batches } else { Depth::Records },
        max_inflated: max_inflated(args),
        helper,
    };
    Ok(verify(&partition.paths(), &how, progress)?)
}

/// The coordinators asked about, each once.
fn brokers(args: &VerifyArgs) -> Vec<Coordinator> {
    let mut brokers = Vec::new();
    for broker in args.broker.iter().flat_map(|them| &them.0) {
        if !brokers.contains(broker) {
            brokers.push(*broker);
        }
    }
    brokers
}

fn verdicts(partition: &Partition, brokers: &[Coordinator], args: &VerifyArgs) -> Result<Vec<Verdict>> {
    if brokers.is_empty() {
        return Ok(Vec::new());
    }
    let start = partition.dir.as_ref().zip(partition.number).and_then(|(dir, number)| log_start(&dir.path, number));
    Ok(preflight(&partition.paths(), brokers, start, max_inflated(args), &mut |_| {})?)
}

fn max_inflated(args: &VerifyArgs) -> usize {
    args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED)
}

/// What stands around the partitions, once for each log dir, before anything else is read.
pub(super) fn log_dirs(partitions: &[Partition]) -> Result<Vec<(PathBuf, LogDirFiles)>> {
    let mut found: Vec<(PathBuf, LogDirFiles)> = Vec::new();
    for dir in partitions.iter().filter_map(|partition| partition.dir.as_ref()) {
        if found.iter().any(|(path, _)| dir.path.parent() == Some(path)) {
            continue;
        }
        if let Some(files) = LogDirFiles::around(&dir.path).with_context(|| dir.path.display().to_string())? {
            found.push((dir.path.parent().unwrap_or(Path::new("")).to_owned(), files));
        }
    }
    Ok(found)
}

pub(super) fn log_dir_of<'f>(partition: &Partition, log_dirs: &'f [(PathBuf, LogDirFiles)]) -> Option<&'f LogDirFiles> {
    let parent = partition.dir.as_ref()?.path.parent()?;
    log_dirs.iter().find(|(path, _)| path == parent).map(|(_, files)| files)
}

pub(super) fn least(choice: SeverityChoice) -> Severity {
    match choice {
        SeverityChoice::Info => Severity::Info,
        SeverityChoice::Warning => Severity::Warning,
        SeverityChoice::Error => Severity::Error,
    }
}

/// With -v: what was looked at.
fn say_counts(verified: &[Verified], context: &Context) {
    let mut all = Counts::default();
    verified.iter().for_each(|it| all += it.counts);
    let Counts { segments, bytes, batches, records } = all;
    let read = verified.iter().filter(|it| it.counts.segments > 0);
    let partitions = counted(read.count() as u64, "partition");
    let records = if records > 0 { format!(", {}", counted(records, "record")) } else { String::new() };
    context.detail(&format!(
        "verified {partitions}: {}, {bytes} bytes, {}{records}",
        counted(segments, "segment"),
        counted(batches, "batch")
    ));
}
