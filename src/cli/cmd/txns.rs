//! `txns`: transactions, which of them hang, and the command that ends them.

use super::Outcome;
use crate::audit::commands::Commands;
use crate::audit::transactions::{self, Audited, Looking, audit};
use crate::cli::args::{TextFormat, TxnsArgs};
use crate::cli::input::{self, Partition};
use crate::cli::render::txns::{self, Told};
use crate::cli::render::txns_json;
use crate::cli::select::GroupFilter;
use crate::cli::state::in_parallel;
use crate::cli::talk::Context;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::model::transactions::{Ending, Transaction};
use crate::words::counted;
use anyhow::{Context as _, Result};

/// How many disagreements of a partition's files are named on stderr.
const MOST_NAMED: usize = 5;
/// So many transactions that ended are shown of a partition in the table.
const LAST: usize = 20;
/// Clocks of machines differ by less than this, in ms.
const CLOCKS_DIFFER: i64 = 60_000;

/// Runs it.
pub fn run(args: &TxnsArgs, context: &mut Context) -> Result<Outcome> {
    let filter = GroupFilter::new(&args.choice)?;
    context.keep_unreadable_folders();
    let partitions = input::open_once(&args.input, context)?;
    let now = args.whole.now();
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let audited = in_parallel(&partitions, args.whole.threads(), context, |partition, progress| {
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
        .map(|(partition, audited)| Told {
            partition: partition.number,
            path: partition.path(),
            audited,
            shown: shown(args, &filter, audited, now),
            max_timeout_ms: args.max_transaction_timeout,
            now,
            commands: &commands,
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
    let is_chosen = !args.choice.is_empty() || !args.producer_id.is_empty();
    let how = Looking {
        dir: partition.dir.as_ref(),
        log_start: args.whole.start_of(partition),
        max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
        // What is not shown is not kept.
        most_ended: match args.open || args.hanging || args.producers {
            // Of those that are chosen all are counted.
            _ if is_chosen => usize::MAX,
            true => 0,
            false => most_ended(args),
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
    audited
        .transactions
        .producers
        .retain(|it| args.producer_id.is_empty() || args.producer_id.contains(&it.producer_id));
}

/// How many of the transactions that ended are shown of a partition.
fn most_ended(args: &TxnsArgs) -> usize {
    args.last.unwrap_or(if args.format == TextFormat::Table { LAST } else { usize::MAX })
}

/// Numbers of those that are shown.
fn shown(args: &TxnsArgs, filter: &GroupFilter, audited: &Audited, now: i64) -> Vec<usize> {
    let has_ended = |it: &Transaction| matches!(it.ending, Ending::Committed | Ending::Aborted);
    let all = audited.transactions.all.iter().enumerate();
    let asked_for: Vec<_> = all.filter(|(_, it)| asked_for(args, filter, audited, it, now)).collect();
    let ended = asked_for.iter().filter(|(_, it)| has_ended(it)).count();
    let mut too_many = ended.saturating_sub(most_ended(args));
    let mut is_among_last = |it: &Transaction| {
        let is_left_out = has_ended(it) && too_many > 0;
        too_many -= usize::from(is_left_out);
        !is_left_out
    };
    asked_for.into_iter().filter(|(_, it)| is_among_last(it)).map(|(number, _)| number).collect()
}

fn asked_for(args: &TxnsArgs, filter: &GroupFilter, audited: &Audited, it: &Transaction, now: i64) -> bool {
    (!args.open || it.pins)
        && (!args.hanging || transactions::hangs(it, now, args.max_transaction_timeout))
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
        let all = it.audited.transactions.all.iter();
        let ahead = all.filter(|one| it.ahead(one).is_some_and(|by| by > CLOCKS_DIFFER)).count();
        if ahead > 0 {
            context.note(&format!(
                "{path}: {} from ahead of now: nothing tells whether one hangs; is the clock of this machine (or --now) right?",
                counted(ahead as u64, "open transaction")
            ));
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
