//! `history`: what happened to groups, told in the order of the log.

use super::Outcome;
use super::describe::{groups_and_paths, not_found};
use crate::cli::args::{HistoryArgs, TextFormat};
use crate::cli::input::{self, Partition};
use crate::cli::render::history::{self, Fullness};
use crate::cli::render::{document, history_json};
use crate::cli::select::GroupFilter;
use crate::cli::state::{in_parallel, log_dirs, start_of, topics_of_file};
use crate::cli::talk::Context;
use crate::cli::time::Moment;
use crate::escape::named;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::Segment;
use crate::model::history::event::{Event, Story, What};
use crate::model::history::{CommitsTold, Storms, Stretch, Teller, Telling, Told};
use crate::model::load::{Until, last_offset_at};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::model::walk::Step;
use crate::words::counted;
use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;

/// Runs it.
pub fn run(args: &HistoryArgs, context: &mut Context) -> Result<Outcome> {
    let (choice, paths) = groups_and_paths(&args.named, &args.choice)?;
    let filter = GroupFilter::new(&choice)?;
    let wanted = |group: &[u8]| filter.matches(group);
    let partitions = input::open_paths(&paths, &args.named.reading, context)?;
    let mut topics = topics_of_file(&args.moments)?;
    log_dirs(partitions.iter()).iter().for_each(|dir| topics.learn_from_log_dir(dir));
    let told = tell(args, &partitions, &topics, &wanted, context)?;
    let faults: u64 = told.iter().map(|told| told.faults).sum();
    let mut stories: Vec<_> = partitions
        .iter()
        .zip(told)
        .flat_map(|(partition, told)| told.stories.into_iter().map(|story| (partition.number, story)))
        .collect();
    if stories.is_empty() && !args.named.all {
        let read: Vec<_> = partitions.iter().filter_map(|it| it.number).collect();
        match is_whole(args) {
            true => bail!("{}", not_found(&choice, &read)),
            false => context.note("nothing of such a group in this stretch"),
        }
    }
    stories.iter_mut().for_each(|(_, story)| select(story, args));
    print(args, &stories, context)?;
    if faults > 0 {
        context.note(&format!("not told, because it could not be read: {}", counted(faults, "place")));
        return Ok(Outcome::Findings);
    }
    Ok(Outcome::Clean)
}

/// Whether the whole log is asked for.
fn is_whole(args: &HistoryArgs) -> bool {
    let cut = args.moments.at_offset.is_some() || args.moments.at_time.is_some();
    args.stretch.offset.is_none() && args.stretch.time.is_none() && !cut
}

fn tell(
    args: &HistoryArgs,
    partitions: &[Partition],
    topics: &Topics,
    wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    context: &mut Context,
) -> Result<Vec<Told>> {
    let telling = Telling {
        commits: if args.commits { CommitsTold::Each } else { CommitsTold::Summed },
        storms: if context.is_verbose() { Storms::Told } else { Storms::Folded },
        retention: args.retention,
    };
    let rules = Rules::of(args.moments.as_broker.unwrap_or(Release::NEWEST));
    let stretch = stretch(args);
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let told = in_parallel(partitions, args.moments.threads(), context, |partition, progress| {
        let last = last_offset(args, partition).with_context(|| partition.path().display().to_string())?;
        let extent = (start_of(partition, &args.moments), last);
        let mut teller = Teller::new(telling, rules, extent, stretch.clone(), wanted);
        let mut inflater = args.named.reading.inflater();
        let mut before = 0;
        for file in &partition.segments {
            let named = || file.path.display().to_string();
            let segment = Segment::open(&file.path).with_context(named)?;
            if teller.segment(&segment, &mut inflater).with_context(named)? == Step::Stop {
                break;
            }
            before += segment.len();
            progress(before);
        }
        Ok(teller.finish(topics))
    })?;
    context.end();
    Ok(told)
}

fn last_offset(args: &HistoryArgs, partition: &Partition) -> Result<i64> {
    Ok(match args.moments.until(args.moments.now()) {
        Until::End => i64::MAX,
        Until::Offset(offset) => offset,
        Until::Time(time) => {
            let paths = partition.paths();
            let max_inflated = args.named.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED);
            last_offset_at(&paths, time, max_inflated)?.unwrap_or(i64::MIN)
        }
    })
}

fn stretch(args: &HistoryArgs) -> Stretch {
    let now = args.moments.now();
    let millis = |moment: Option<Moment>, none| moment.map_or(none, |moment| moment.millis(now));
    Stretch {
        offsets: args.stretch.offset.map_or(i64::MIN..i64::MAX, |range| range.from..range.until),
        times: args.stretch.time.map(|range| millis(range.from, i64::MIN)..millis(range.until, i64::MAX)),
    }
}

/// Leaves out what --topic and --member do not ask for.
fn select(story: &mut Story, args: &HistoryArgs) {
    let any = |names: &[OsString], name: &[u8]| {
        names.is_empty() || names.iter().any(|it| named(it.as_encoded_bytes()) == name)
    };
    let topic = |name: &[u8]| any(&args.topic, name);
    story.events.retain_mut(|Event { what, .. }| match what {
        What::Turn(turn) => args.member.is_empty() || turn.members.iter().any(|step| any(&args.member, step.id())),
        What::Commits(span) => {
            span.moves.retain(|it| topic(&it.topic));
            if !args.topic.is_empty() {
                span.commits = span.moves.iter().map(|it| it.commits).sum();
            }
            args.member.is_empty() && !span.moves.is_empty()
        }
        What::Commit(commits) => {
            commits.steps.retain(|it| topic(&it.topic));
            args.member.is_empty() && !commits.steps.is_empty()
        }
        What::Transaction(unfinished) => {
            unfinished.steps.retain(|it| topic(&it.topic));
            args.member.is_empty() && !unfinished.steps.is_empty()
        }
        What::Forgotten(forgotten) => {
            forgotten.offsets.retain(|it| topic(&it.topic));
            args.member.is_empty() && !forgotten.offsets.is_empty()
        }
        What::Storm(_) | What::Gap(_) | What::Damage(_) => true,
    });
}

fn print(args: &HistoryArgs, stories: &[(Option<i32>, Story)], context: &mut Context) -> Result<()> {
    let fullness = if context.is_verbose() { Fullness::Everything } else { Fullness::Usual };
    let text = match args.format {
        TextFormat::Json | TextFormat::Jsonl => {
            let events = stories.iter().flat_map(|(partition, story)| {
                story.events.iter().map(|event| history_json::event(*partition, &story.group, event))
            });
            document(args.format, events)
        }
        TextFormat::Csv => history::csv(stories),
        TextFormat::Table => history::tables(stories, fullness, context.looks()),
    };
    context.out.all(text.as_bytes())?;
    Ok(())
}
