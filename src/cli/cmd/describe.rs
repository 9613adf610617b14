//! `describe`: groups whole.

use super::Outcome;
use crate::cli::args::{DescribeArgs, GroupChoice, Named, TextFormat};
use crate::cli::render::group_table::{self, Detail, OffsetColumns};
use crate::cli::render::name::visible;
use crate::cli::render::{document, group_json};
use crate::cli::select::GroupFilter;
use crate::cli::state::{Loaded, States, load_paths};
use crate::cli::talk::Context;
use crate::escape::named;
use crate::model::partitioner::partition_of;
use crate::model::view::Group;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// Runs it.
pub fn run(args: &DescribeArgs, context: &mut Context) -> Result<Outcome> {
    let (choice, paths) = groups_and_paths(&args.named, &args.choice)?;
    let filter = GroupFilter::new(&choice)?;
    let wanted = |group: &[u8]| filter.matches(group);
    let states = load_paths(&paths, &args.named.reading, &args.moments, &wanted, context)?;
    let mut groups = Vec::new();
    states.each_group(|loaded, group| {
        groups.push((loaded.partition.number, group));
        Ok(())
    })?;
    if groups.is_empty() && !args.named.all {
        let read: Vec<_> = states.loaded.iter().filter_map(|it| it.partition.number).collect();
        bail!("{}", not_found(&choice, &read));
    }
    print(args, &groups, &states, context)?;
    Ok(if states.in_doubt() { Outcome::Findings } else { Outcome::Clean })
}

/// `GROUP... -- PATH...`, or `PATH...` with `--group`, `--group-regex` or `--all`.
pub fn groups_and_paths(named: &Named, choice: &GroupChoice) -> Result<(GroupChoice, Vec<PathBuf>)> {
    let Named { words, paths, .. } = named;
    let chosen = named.all || !choice.group.is_empty() || !choice.group_regex.is_empty();
    match (paths.is_empty(), chosen) {
        (false, false) => Ok((GroupChoice { group: words.to_vec(), ..GroupChoice::default() }, paths.to_vec())),
        (false, true) => bail!(crate::cli::Usage(
            "give the groups either in front of -- or with --group, --group-regex or --all, not both".to_owned()
        )),
        (true, true) => Ok((choice.clone(), words.iter().map(PathBuf::from).collect())),
        (true, false) => bail!(crate::cli::Usage(
            "say which groups and which paths: GROUP... -- PATH..., or --group GROUP PATH..., or --all PATH..."
                .to_owned()
        )),
    }
}

/// Why a group may not be here: it hashes to another partition than those that were read.
pub fn not_found(choice: &GroupChoice, read: &[i32]) -> String {
    let Some(group) = choice.group.first() else { return "no such group here".to_owned() };
    let group = &named(group.as_encoded_bytes());
    let of_fifty = partition_of(group, crate::model::partitioner::DEFAULT_PARTITIONS);
    let hint = if read.contains(&of_fifty) || read.is_empty() {
        String::new()
    } else {
        format!("; of 50 partitions it would be in {of_fifty}, which was not read ('grouplog partition-of' tells)")
    };
    format!("no group {} here{hint}", visible(group))
}

fn print(args: &DescribeArgs, groups: &[(Option<i32>, Group)], states: &States, context: &mut Context) -> Result<()> {
    let text = match args.format {
        TextFormat::Json | TextFormat::Jsonl => {
            let values = groups.iter().map(|(partition, group)| group_json::group(*partition, group, args.retention));
            document(args.format, values)
        }
        TextFormat::Csv => csv(args, groups, states, context),
        TextFormat::Table => tables(args, groups, states, context),
    };
    context.out.all(text.as_bytes())?;
    if args.partition_summary {
        states.loaded.iter().for_each(|loaded| context.note(&summary(loaded)));
    }
    Ok(())
}

/// What a broker's own line would count: "Loaded … records which total to … bytes".
fn summary(loaded: &Loaded) -> String {
    let load = loaded.state.load;
    format!(
        "{}: a broker would load {} records which total to {} bytes",
        loaded.partition.path().display(),
        load.records,
        load.bytes
    )
}

fn columns(args: &DescribeArgs, states: &States, context: &Context) -> OffsetColumns {
    OffsetColumns { detail: detail(context), retention: args.retention, now: states.now }
}

fn detail(context: &Context) -> Detail {
    if context.is_verbose() { Detail::Verbose } else { Detail::Usual }
}

/// CSV has one kind of row: members if they alone are asked for, else offsets.
fn csv(args: &DescribeArgs, groups: &[(Option<i32>, Group)], states: &States, context: &Context) -> String {
    let all = groups.iter().map(|(partition, group)| (*partition, group));
    if args.state && !args.members && !args.offsets {
        return group_table::list(groups).csv();
    }
    if args.members && !args.offsets {
        return group_table::members(all, detail(context)).csv();
    }
    group_table::offsets(all, columns(args, states, context)).csv()
}

fn tables(args: &DescribeArgs, groups: &[(Option<i32>, Group)], states: &States, context: &Context) -> String {
    let everything = !args.state && !args.members && !args.offsets;
    let mut text = String::new();
    for (i, (partition, group)) in groups.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        text.push_str(&format!("GROUP {}\n", visible(&group.name)));
        let one = || std::iter::once((*partition, group));
        if everything || args.state {
            let lines = group_table::state(*partition, group);
            let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            lines.iter().for_each(|(name, value)| text.push_str(&format!("  {name:width$}  {value}\n")));
        }
        if (everything && !group.members.is_empty()) || args.members {
            text.push('\n');
            text.push_str(&group_table::members(one(), detail(context)).text(context.looks()));
        }
        if (everything && !group.offsets.is_empty()) || args.offsets {
            text.push('\n');
            text.push_str(&group_table::offsets(one(), columns(args, states, context)).text(context.looks()));
        }
    }
    text
}
