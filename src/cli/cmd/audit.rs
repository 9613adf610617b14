//! `audit`: what is wrong or stale.

use super::Outcome;
use super::verify::{least, log_dir_of, log_dirs};
use crate::audit::commands::{Commands, word};
use crate::audit::judge::{self, Ground, Subject, Survey, Surveyed};
use crate::audit::log_ends::LogEnds;
use crate::audit::settings::{DAY, Settings};
use crate::audit::topic_list::TopicList;
use crate::audit::watch::Watch;
use crate::audit::{Finding, Severity};
use crate::cli::args::{AuditArgs, AuditFormat, TextFormat};
use crate::cli::baseline::Baseline;
use crate::cli::input::{self, Partition};
use crate::cli::render::audit::{Listing, Looked};
use crate::cli::render::findings::finding_json;
use crate::cli::render::{self, sarif};
use crate::cli::select::GroupFilter;
use crate::cli::state::{in_parallel, start_of};
use crate::cli::talk::Context;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::dir::{OFFSETS_TOPIC, PartitionName, Variant};
use crate::log::log_dir::LogDirFiles;
use crate::model::assemble::Groups;
use crate::model::load::{Loading, load_beside};
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::words::span;
use anyhow::{Context as _, Result};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// A partition that was read.
struct Read {
    partition: Partition,
    state: State,
    watch: Watch,
    log_start: Option<i64>,
}

/// Runs it.
pub fn run(args: &AuditArgs, context: &mut Context) -> Result<Outcome> {
    let settings = settings(args)?;
    let filter = GroupFilter::new(&args.choice)?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    let partitions = input::open(&args.input, context)?;
    // Read before the segments, so that it is not newer than they are.
    let log_dirs = log_dirs(&partitions)?;
    let read = read(args, &settings, partitions, context)?;
    say_age(&read, &settings, context);
    let topics = topics(&read, &settings);
    let survey = survey(&read, &topics, &settings);
    let ground = Ground { settings: &settings, topics: &topics, survey: &survey };
    let mut all = judge::everywhere(&ground);
    for it in &read {
        all.extend(judge::partition(&subject(it, &log_dirs), &ground));
    }
    let some_groups = !args.choice.group.is_empty() || !args.choice.group_regex.is_empty();
    all.retain(|finding| {
        finding.severity >= least(args.min_severity)
            && (args.only.is_empty() || args.only.contains(&finding.code))
            && !args.ignore.contains(&finding.code)
            && (!some_groups || finding.group.as_deref().is_some_and(|group| filter.matches(group)))
            && baseline.as_ref().is_none_or(|known| !known.knows(&finding_json(finding)))
    });
    all.sort_by_key(|finding| (Reverse(finding.severity), of(finding), finding.partition, finding.code));
    let looked = Looked {
        partitions: read.len() as u64,
        groups: survey.groups,
        bytes: read.iter().map(|it| it.watch.shape.bytes).sum(),
    };
    let text = text(&all, args, looked, context);
    context.out.all(text.as_bytes())?;
    Ok(if all.iter().any(|it| it.severity > Severity::Info) { Outcome::Findings } else { Outcome::Clean })
}

/// The code by which a finding stands: what counts more of one code stands behind those.
fn of(finding: &Finding) -> crate::audit::Code {
    let of = finding.facts.iter().find_map(|(name, fact)| match fact {
        crate::audit::Fact::Text(code) if *name == "of" => crate::audit::Code::of_name(code),
        _ => None,
    });
    of.unwrap_or(finding.code)
}

fn text(findings: &[Finding], args: &AuditArgs, looked: Looked, context: &Context) -> String {
    let all = |format| render::findings::findings(findings, format, context.looks());
    match args.format {
        AuditFormat::Table => {
            let listing = if context.is_verbose() || !args.only.is_empty() { Listing::All } else { Listing::First };
            render::audit::text(findings, looked, listing, context.looks())
        }
        AuditFormat::Json => all(TextFormat::Json),
        AuditFormat::Jsonl => all(TextFormat::Jsonl),
        AuditFormat::Csv => all(TextFormat::Csv),
        AuditFormat::Sarif => sarif::document(findings),
    }
}

fn settings(args: &AuditArgs) -> Result<Settings> {
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let named = |path: &Path, error: std::io::Error| anyhow::Error::new(error).context(path.display().to_string());
    let topics = match &args.moments.topics {
        Some(path) => Some(TopicList::parse(&read(path)?).map_err(|error| named(path, error))?),
        None => None,
    };
    let log_ends = match &args.log_ends {
        Some(path) => Some(LogEnds::parse(&read(path)?).map_err(|error| named(path, error))?),
        None => None,
    };
    let paths: Vec<_> = args.input.paths.iter().map(|path| word(path.as_os_str().as_encoded_bytes())).collect();
    Ok(Settings {
        now: args.moments.now(),
        stale_after: args.stale_after,
        retention: args.retention,
        max_transaction_timeout: args.max_transaction_timeout,
        topics,
        log_ends,
        offsets_partitions: args.offsets_partitions,
        commands: Commands { bootstrap: args.bootstrap_server.clone(), paths: paths.join(" ") },
    })
}

/// One scan of every partition, for the replay and the watch.
fn read(args: &AuditArgs, settings: &Settings, partitions: Vec<Partition>, context: &mut Context) -> Result<Vec<Read>> {
    let moments = &args.moments;
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let helper = if moments.threads() > partitions.len() { Helper::ChecksCrcs } else { Helper::None };
    let loaded = in_parallel(&partitions, moments.threads(), context, |partition, progress| {
        let log_start = start_of(partition, moments);
        let how = Loading {
            rules: Rules::of(moments.as_broker.unwrap_or(Release::NEWEST)),
            until: moments.until(settings.now),
            log_start,
            max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
            helper,
            wanted: &|_| true,
        };
        let mut watch = Watch::new(settings.now);
        let state = load_beside(&partition.paths(), &how, progress, &mut watch);
        Ok((state.with_context(|| partition.path().display().to_string())?, watch, log_start))
    })?;
    context.end();
    let read = |(partition, (state, watch, log_start))| Read { partition, state, watch, log_start };
    Ok(partitions.into_iter().zip(loaded).map(read).collect())
}

/// Ages count from now, which makes everything in an old copy look stale.
fn say_age(read: &[Read], settings: &Settings, context: &Context) {
    let latest = read.iter().map(|it| it.watch.shape.latest).max().unwrap_or(-1);
    if let Some(age) = settings.age(latest).filter(|age| *age > DAY) {
        context.note(&format!(
            "the newest record is {} old: ages count from now. If this is a copy, give --now {latest}",
            span(age)
        ));
    }
}

fn topics(read: &[Read], settings: &Settings) -> Topics {
    let mut topics = Topics::default();
    if let Some(list) = &settings.topics {
        list.teach(&mut topics);
    }
    for dir in around(read) {
        topics.learn_from_log_dir(&dir);
    }
    read.iter().for_each(|it| Groups::of(&it.state).learn_topics(&mut topics));
    topics
}

/// The log dirs.
fn around(read: &[Read]) -> Vec<PathBuf> {
    crate::cli::state::log_dirs(read.iter().map(|it| &it.partition))
}

fn survey(read: &[Read], topics: &Topics, settings: &Settings) -> Surveyed {
    let mut survey = Survey::default();
    for dir in around(read) {
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| PartitionName::of(&entry.path()));
        survey.folders(
            names.filter(|it| it.topic == OFFSETS_TOPIC && it.variant == Variant::Normal).map(|it| it.partition),
        );
    }
    for it in read {
        survey.partition(it.partition.number, &it.state, &it.watch, topics, settings);
    }
    survey.finish(settings)
}

fn subject<'r>(read: &'r Read, log_dirs: &'r [(PathBuf, LogDirFiles)]) -> Subject<'r> {
    Subject {
        partition: read.partition.number,
        state: &read.state,
        watch: &read.watch,
        dir: read.partition.dir.as_ref(),
        log_dir: log_dir_of(&read.partition, log_dirs),
        log_start: read.log_start,
    }
}
