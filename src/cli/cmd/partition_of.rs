//! `partition-of`: which partition of `__consumer_offsets` a group hashes to.

use super::Outcome;
use crate::cli::args::{PartitionOfArgs, TextFormat};
use crate::cli::render::name::visible;
use crate::cli::render::table::Table;
use crate::cli::talk::Context;
use crate::escape::named;
use crate::json::{Json, Style};
use crate::log::place::{Place, classify};
use crate::model::partitioner::{DEFAULT_PARTITIONS, partition_of};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::io::BufRead;

/// Runs it.
pub fn run(args: &PartitionOfArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = match args.partitions {
        Some(partitions) => partitions,
        None if args.log_dir.is_empty() => {
            context.note(&format!(
                "taking {DEFAULT_PARTITIONS} partitions, Kafka's default; --partitions or --log-dir says otherwise"
            ));
            DEFAULT_PARTITIONS
        }
        None => counted(args, context)?,
    };
    let mut rows = Vec::new();
    for group in &args.groups {
        if group == "-" {
            for line in std::io::stdin().lock().split(b'\n') {
                let mut line = line.context("stdin")?;
                line.pop_if(|byte| *byte == b'\r');
                rows.push(line);
            }
        } else {
            rows.push(named(group.as_encoded_bytes()));
        }
    }
    print(&rows, partitions, args.format, context)?;
    Ok(Outcome::Clean)
}

/// How many partitions the log dirs hold, taken together: one more than the greatest number. A dir that misses some is
/// normal on a cluster of several brokers, and said.
fn counted(args: &PartitionOfArgs, context: &mut Context) -> Result<i32> {
    let mut found = BTreeSet::new();
    for path in &args.log_dir {
        match classify(path).map_err(|error| crate::cli::input::not_there(error, path))? {
            Place::LogDir(log_dir) => found.extend(log_dir.partitions.iter().map(|place| place.partition)),
            other => bail!("{}: {}", path.display(), crate::cli::input::not_a_log_dir(&other)),
        }
    }
    let Some(greatest) = found.last() else {
        bail!("no folder __consumer_offsets-N in the log dirs given; say --partitions N");
    };
    let partitions = greatest + 1;
    let missing = (0..partitions).filter(|n| !found.contains(n)).count();
    if missing > 0 {
        context.note(&format!(
            "counted {partitions} partitions by the greatest number; {missing} of them are not in the log dirs given, \
             so there may be more: --partitions N makes sure"
        ));
    }
    Ok(partitions)
}

fn print(rows: &[Vec<u8>], partitions: i32, format: TextFormat, context: &mut Context) -> Result<()> {
    let mut json = Json::new(Style::Lossless);
    let mut table = Table::new(&["GROUP", "PARTITION"]);
    if format == TextFormat::Json {
        json.raw("[");
    }
    for group in rows {
        let partition = partition_of(group, partitions);
        match format {
            TextFormat::Table => table.row(vec![visible(group), partition.to_string()]),
            TextFormat::Csv => table.row(vec![visible(group), partition.to_string()]),
            TextFormat::Json | TextFormat::Jsonl => {
                json.raw("{\"group\":");
                json.string(group);
                json.raw(",\"partition\":");
                json.int(partition);
                json.raw(if format == TextFormat::Json { "}," } else { "}\n" });
            }
        }
    }
    match format {
        TextFormat::Table => json.raw(&table.text(context.looks())),
        TextFormat::Csv => json.raw(&table.csv()),
        TextFormat::Json => {
            json.close(b']');
            json.raw("\n");
        }
        TextFormat::Jsonl => {}
    }
    context.out.rest(&mut json)?;
    Ok(())
}
