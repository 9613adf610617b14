//! `txns`: transactions, which of them hang, and the command that ends them.

use super::Outcome;
use crate::audit::commands::Commands;
use crate::audit::transactions::{Audited, Looking, audit};
use crate::cli::args::{TextFormat, TxnsArgs};
use crate::cli::input::{self, Partition};
use crate::cli::render::txns::{self, Told};
use crate::cli::render::txns_json;
use crate::cli::select::GroupFilter;
use crate::cli::state::{in_parallel, threads};
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::model::load::log_start;
use crate::model::transactions::Transaction;
use crate::words::counted;
use anyhow::{Context as _, Result};

/// How many disagreements of a partition's files are named on stderr.
const MOST_NAMED: usize = 5;

/// Runs it.
pub fn run(args: &TxnsArgs, context: &mut Context) -> Result<Outcome> {
    let filter = GroupFilter::new(&args.choice)?;
    context.keep_unreadable_folders();
    let partitions = input::open_once(&args.input, context)?;
    let clock = time::now();
    let now = args.clock.now.map_or(clock, |moment| moment.millis(clock));
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let audited = in_parallel(&partitions, threads(args.threads), context, |partition, progress| {
        Ok(look(args, partition, now, progress).with_context(|| partition.path().display().to_string()))
    })?;
    context.end();
    let (partitions, mut audited, unreadable) = input::readable(partitions, audited, context)?;
    if !args.choice.is_empty() || !args.producer_id.is_empty() {
        audited.iter_mut().for_each(|it| select(args, &filter, it));
    }
    let commands = Commands { bootstrap: args.bootstrap_server.clone(), ..Commands::default() };
    let told: Vec<_> = partitions
        .iter()
        .zip(&audited)
        .map(|(partition, audited)| {
            let all = audited.transactions.all.iter().enumerate();
            let shown = all.filter(|(_, it)| asked_for(args, &filter, audited, it, now));
            let partition_number = partition.number;
            Told {
                partition: partition_number,
                path: partition.path(),
                audited,
                shown: shown.map(|(number, _)| number).collect(),
                max_timeout_ms: args.max_transaction_timeout,
                now,
                commands: &commands,
            }
        })
        .collect();
    let text = match (args.format, args.producers) {
        (TextFormat::Table, false) => txns::text(&told, context.looks()),
        (TextFormat::Table, true) => txns::producers(&told).text(context.looks()),
        (TextFormat::Csv, false) => txns::table(&told).csv(),
        (TextFormat::Csv, true) => txns::producers(&told).csv(),
        (TextFormat::Json, _) => txns_json::document(&told),
        (TextFormat::Jsonl, false) => txns_json::lines(&told),
        (TextFormat::Jsonl, true) => txns_json::producer_lines(&told),
    };
    context.out.all(text.as_bytes())?;
    Ok(say(&told, context).or(unreadable))
}

fn look(args: &TxnsArgs, partition: &Partition, now: i64, progress: &mut dyn FnMut(u64)) -> Result<Audited> {
    let start = partition.dir.as_ref().and_then(|dir| log_start(&dir.path, partition.number?));
    let narrow = args.format == TextFormat::Table && args.choice.is_empty() && args.producer_id.is_empty();
    let how = Looking {
        dir: partition.dir.as_ref(),
        log_start: start.filter(|start| *start > 0 && !args.ignore_log_start),
        max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
        // What is not shown is not kept.
        most_ended: match args.open || args.hanging || args.producers {
            true if args.choice.is_empty() && args.producer_id.is_empty() => 0,
            true => usize::MAX,
            false if narrow => args.last,
            false => usize::MAX,
        },
        now,
    };
    Ok(audit(&partition.paths(), &how, progress)?)
}

/// Leaves only the transactions of the groups and producers that are asked for, so that totals, what hangs and the exit
/// status are of those. What is pinned stays: that is the partition's.
fn select(args: &TxnsArgs, filter: &GroupFilter, audited: &mut Audited) {
    let found = &audited.transactions;
    let of_producer = |it: &Transaction| args.producer_id.is_empty() || args.producer_id.contains(&it.producer_id);
    let of_group = |it: &Transaction| args.choice.is_empty() || found.groups_of(it).any(|group| filter.matches(group));
    let keep: Vec<bool> = found.all.iter().map(|it| of_producer(it) && of_group(it)).collect();
    let mut kept = keep.iter();
    audited.transactions.all.retain(|_| kept.next().is_some_and(|keep| *keep));
    let mut kept = keep.iter();
    audited.agreements.retain(|_| kept.next().is_some_and(|keep| *keep));
    audited.transactions.count_anew();
}

fn asked_for(args: &TxnsArgs, filter: &GroupFilter, audited: &Audited, it: &Transaction, now: i64) -> bool {
    (!args.open || it.pins)
        && (!args.hanging || txns::hangs(it, now, args.max_transaction_timeout))
        && (args.producer_id.is_empty() || args.producer_id.contains(&it.producer_id))
        && (args.choice.is_empty() || audited.transactions.groups_of(it).any(|group| filter.matches(group)))
}

/// Says on stderr what makes the exit status 3.
fn say(told: &[Told<'_>], context: &Context) -> Outcome {
    let mut outcome = Outcome::Clean;
    for it in told {
        let path = it.path.display();
        if it.hanging() > 0 {
            outcome = Outcome::Findings;
            context.note(&format!("{path}: {} hanging", counted(it.hanging(), "transaction")));
        }
        let damaged = it.audited.transactions.damaged;
        if damaged > 0 {
            outcome = Outcome::Findings;
            context.note(&format!(
                "{path}: {} not read; an end that stood there is not known",
                counted(damaged, "damaged stretch")
            ));
        }
        if it.audited.disagrees() {
            outcome = Outcome::Findings;
        }
        for finding in it.audited.findings.iter().take(MOST_NAMED) {
            context.note(&format!("{path}: {} ({})", finding.message, finding.code.name()));
        }
        if let Some(more @ 1..) = it.audited.findings.len().checked_sub(MOST_NAMED) {
            context.note(&format!("{path}: {more} more disagreements; 'grouplog verify' lists them"));
        }
    }
    outcome
}
