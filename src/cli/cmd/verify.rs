//! `verify`: is every byte sound?

use super::Outcome;
use crate::audit::verify::{Counts, Depth, Verified, Verifying, verify};
use crate::audit::{Finding, Severity};
use crate::cli::args::{SeverityChoice, VerifyArgs};
use crate::cli::input::{self, Partition};
use crate::cli::render::findings::findings;
use crate::cli::state::{in_parallel, threads};
use crate::cli::talk::Context;
use crate::cli::words::counted;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::model::replay::Helper;
use anyhow::{Context as _, Result};

/// Runs it.
pub fn run(args: &VerifyArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = input::open(&args.input, context)?;
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let threads = threads(args.threads);
    let helper = if threads > partitions.len() { Helper::ChecksCrcs } else { Helper::None };
    let verified = in_parallel(&partitions, threads, context, |partition, progress| {
        one(partition, args, helper, progress).with_context(|| partition.path().display().to_string())
    })?;
    context.end();
    say_counts(&partitions, &verified, context);
    let least = least(args.min_severity);
    let asked_for = |it: &Finding| it.severity >= least && (context.is_verbose() || !it.code.is_normal());
    let all: Vec<_> = verified.into_iter().flat_map(|it| it.findings).filter(asked_for).collect();
    context.out.all(findings(&all, args.format, context.looks()).as_bytes())?;
    Ok(if all.iter().any(|it| it.severity > Severity::Info) { Outcome::Findings } else { Outcome::Clean })
}

fn one(partition: &Partition, args: &VerifyArgs, helper: Helper, progress: &mut dyn FnMut(u64)) -> Result<Verified> {
    let how = Verifying {
        partition: partition.number,
        depth: if args.fast { Depth::Batches } else { Depth::Records },
        max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
        helper,
    };
    let paths: Vec<_> = partition.segments.iter().map(|segment| segment.path.clone()).collect();
    Ok(verify(&paths, &how, progress)?)
}

fn least(choice: SeverityChoice) -> Severity {
    match choice {
        SeverityChoice::Info => Severity::Info,
        SeverityChoice::Warning => Severity::Warning,
        SeverityChoice::Error => Severity::Error,
    }
}

/// With -v: what was looked at.
fn say_counts(partitions: &[Partition], verified: &[Verified], context: &Context) {
    let mut all = Counts::default();
    verified.iter().for_each(|it| all += it.counts);
    let Counts { segments, bytes, batches, records } = all;
    let partitions = counted(partitions.len() as u64, "partition");
    let records = if records > 0 { format!(", {}", counted(records, "record")) } else { String::new() };
    context.detail(&format!(
        "verified {partitions}: {}, {bytes} bytes, {}{records}",
        counted(segments, "segment"),
        counted(batches, "batch")
    ));
}
