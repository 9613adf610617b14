//! `audit`: what is wrong or stale.

use super::Outcome;
use super::origin::may_be_copies;
use super::verify::{least, log_dir_of, log_dirs};
use crate::audit::commands::{Commands, word};
use crate::audit::judge::{self, Counting, Ground, Subject, Survey, Surveyed};
use crate::audit::log_ends::LogEnds;
use crate::audit::settings::{DAY, Settings};
use crate::audit::topic_list::TopicList;
use crate::audit::watch::{Watch, Watching};
use crate::audit::{Code, Fact, Finding, Room, Severity};
use crate::cli::Usage;
use crate::cli::args::{AuditArgs, AuditFormat, TextFormat};
use crate::cli::baseline::Baseline;
use crate::cli::input::{self, Partition};
use crate::cli::render::audit::{Listing, Looked};
use crate::cli::render::findings::{LogDirs, finding_json};
use crate::cli::render::{self, sarif};
use crate::cli::select::GroupFilter;
use crate::cli::state::{in_parallel, start_of};
use crate::cli::talk::Context;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::dir::{OFFSETS_TOPIC, PartitionName, Variant};
use crate::log::log_dir::LogDirFiles;
use crate::model::assemble::Groups;
use crate::model::load::{Loading, Until, load_beside};
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::words::{counted, span};
use anyhow::{Context as _, Result};
use std::cell::Cell;
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
    can_be_listed(args)?;
    let settings = settings(args)?;
    if let Some(skipped @ 1..) = settings.log_ends.as_ref().map(LogEnds::without_end) {
        context.note(&format!("--log-ends: {} without an end skipped", counted(skipped, "partition")));
    }
    let wanted = Wanted::new(args)?;
    context.keep_unreadable_folders();
    let partitions = input::open_once(&args.input, context)?;
    // Read before the segments, so that it is not newer than they are.
    let log_dirs = log_dirs(&partitions)?;
    let log_dir_count = crate::cli::state::log_dirs(partitions.iter()).len();
    let (read, unreadable) = read(args, &settings, partitions, context)?;
    say_age(&read, &settings, args, context);
    say_other_topics(&read, &settings, context);
    if !args.choice.is_empty() && !any_group(&read, &wanted.groups) {
        context.note("--group: no such group is in what was given");
    }
    say_other_ends(&read, &settings, context);
    let topics = topics(&read, &settings);
    let survey = survey(&read, &topics, &settings);
    let ground = Ground { settings: &settings, topics: &topics, survey: &survey };
    let listing = listing(args, context);
    // A program is told all; of a table the first ones are seen.
    let is_short = args.format == AuditFormat::Table && listing == Listing::First;
    let room = if is_short { Room::ForTheFirst } else { Room::ForAll };
    let asked_for = |finding: &Finding| wanted.has(finding);
    let mut all: Vec<_> = judge::everywhere(&ground).into_iter().chain(unreadable).filter(asked_for).collect();
    for it in &read {
        let path = it.partition.path();
        let found = judge::partition(&subject(it, &log_dirs), &ground, room, &asked_for);
        all.extend(found.into_iter().map(|finding| finding.path(path)));
    }
    let is_more = |finding: &Finding| finding.code == Code::More;
    all.sort_by_key(|finding| (Reverse(finding.severity), of(finding), is_more(finding), finding.partition));
    let looked = Looked {
        partitions: read.len() as u64,
        groups: survey.groups,
        bytes: read.iter().map(|it| it.watch.shape.bytes).sum(),
        log_dirs: log_dir_count,
    };
    let text = text(&all, args, looked, listing, context);
    context.out.all(text.as_bytes())?;
    wanted.say_known(context);
    Ok(if all.iter().any(|it| it.severity > Severity::Info) { Outcome::Findings } else { Outcome::Clean })
}

fn any_group(read: &[Read], wanted: &GroupFilter) -> bool {
    read.iter().any(|it| Groups::of(&it.state).names().any(|name| wanted.matches(name)))
}

/// Refuses to be asked only for what cannot be found: nothing found would look like nothing wrong.
fn can_be_listed(args: &AuditArgs) -> Result<(), Usage> {
    let why_not = |code: &&Code| Some((code.name(), why_not_listed(**code, args)?));
    match args.only.iter().find_map(|code| why_not(&code)) {
        None => Ok(()),
        Some((code, why)) => Err(Usage(format!("--only {code}: {why}"))),
    }
}

fn why_not_listed(code: Code, args: &AuditArgs) -> Option<&'static str> {
    match code {
        _ if !judge::raises(code) => Some("an audit never raises it; 'grouplog verify' does"),
        _ if args.ignore.contains(&code) => Some("--ignore leaves it out"),
        Code::TopicGone | Code::PartitionGone if args.moments.topics.is_none() => {
            Some("which topics there are is told by --topics FILE only")
        }
        Code::Family | Code::Addresses if !args.choice.is_empty() => {
            Some("it is about all groups, and --group asks for some")
        }
        Code::OutOfRange if args.log_ends.is_none() => Some("where logs end is told by --log-ends FILE only"),
        _ => None,
    }
}

/// Which findings are listed.
struct Wanted<'a> {
    args: &'a AuditArgs,
    groups: GroupFilter,
    baseline: Option<Baseline>,
    /// How many were left out because the baseline has them.
    known: Cell<u64>,
}

impl<'a> Wanted<'a> {
    fn new(args: &'a AuditArgs) -> Result<Self> {
        let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
        Ok(Wanted { args, groups: GroupFilter::new(&args.choice)?, baseline, known: Cell::new(0) })
    }

    fn has(&self, finding: &Finding) -> bool {
        let args = self.args;
        finding.severity >= least(args.min_severity)
            && (args.only.is_empty() || args.only.contains(&finding.code))
            && !args.ignore.contains(&finding.code)
            && (args.choice.is_empty() || self.is_of_groups(finding))
            && !self.is_known(finding)
    }

    /// Whether a finding is about one of the groups that are asked for, or puts in doubt what is known of any.
    fn is_of_groups(&self, finding: &Finding) -> bool {
        let of_several = finding.facts.iter().filter(|(name, _)| *name == "groups").any(|(_, fact)| match fact {
            Fact::List(names) => names.iter().any(|it| matches!(it, Fact::Name(name) if self.groups.matches(name))),
            _ => false,
        });
        matches!(finding.code, Code::NotReplayed | Code::SegmentUnreadable)
            || of_several
            || finding.group.as_deref().is_some_and(|group| self.groups.matches(group))
    }

    fn is_known(&self, finding: &Finding) -> bool {
        let known = self.baseline.as_ref().is_some_and(|baseline| baseline.takes(&finding_json(finding)));
        self.known.set(self.known.get() + u64::from(known));
        known
    }

    fn say_known(&self, context: &Context) {
        if self.baseline.is_some() {
            context.note(&format!("{} left out that the baseline has", counted(self.known.get(), "finding")));
        }
    }
}

fn listing(args: &AuditArgs, context: &Context) -> Listing {
    if context.is_verbose() || !args.only.is_empty() { Listing::All } else { Listing::First }
}

/// The code by which a finding stands: what counts more of one code stands behind those.
fn of(finding: &Finding) -> Code {
    let of = finding.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Text(code) if *name == "of" => Code::of_name(code),
        _ => None,
    });
    of.unwrap_or(finding.code)
}

fn text(findings: &[Finding], args: &AuditArgs, looked: Looked, listing: Listing, context: &Context) -> String {
    let log_dirs = LogDirs::of(looked.log_dirs);
    let all = |format| render::findings::findings(findings, format, log_dirs, context.looks());
    match args.format {
        AuditFormat::Table => render::audit::text(findings, looked, listing, context.looks()),
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
    let now = args.moments.now();
    Ok(Settings {
        now,
        stale_after: args.stale_after,
        retention: args.retention,
        max_transaction_timeout: args.max_transaction_timeout,
        topics,
        log_ends,
        offsets_partitions: args.offsets_partitions,
        commands: Commands {
            bootstrap: args.bootstrap_server.clone(),
            paths: paths.join(" "),
            reading: reading(args, now),
        },
    })
}

/// The options by which the audit read what it judges, with moments as they came out, as words of a shell.
fn reading(args: &AuditArgs, now: i64) -> String {
    let (moments, reading) = (&args.moments, &args.input.reading);
    let mut words = vec![format!("--now {now}")];
    let mut add = |name: &str, value: Option<String>| words.extend(value.map(|value| format!("--{name} {value}")));
    add("partition", reading.partition.map(|n| n.to_string()));
    add("max-inflated", reading.max_inflated.map(|n| n.to_string()));
    match moments.until(now) {
        Until::Offset(offset) => add("at-offset", Some(offset.to_string())),
        Until::Time(at) => add("at-time", Some(at.to_string())),
        Until::End => {}
    }
    add("as-broker", moments.as_broker.map(|release| release.to_string()));
    add("topics", moments.topics.as_ref().map(|path| word(path.as_os_str().as_encoded_bytes())));
    let flags = [(reading.include_stray, "--include-stray"), (moments.ignore_log_start, "--ignore-log-start")];
    words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned()));
    words.join(" ")
}

/// One scan of every partition, for the replay and the watch; and a finding for each file that cannot be read, which takes
/// nothing away from the other partitions.
fn read(
    args: &AuditArgs,
    settings: &Settings,
    partitions: Vec<Partition>,
    context: &mut Context,
) -> Result<(Vec<Read>, Vec<Finding>)> {
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
        let mut watching = Watching::new(log_start, settings.now);
        let state = load_beside(&partition.paths(), &how, progress, &mut watching);
        Ok(state
            .map(|state| (state, watching.finish(), log_start))
            .with_context(|| partition.path().display().to_string()))
    })?;
    context.end();
    let loaded: Vec<_> = partitions.iter().zip(loaded).map(|(it, loaded)| it.check_listed().and(loaded)).collect();
    if !loaded.is_empty() && loaded.iter().all(Result::is_err) {
        // Nothing could be read: that is no finding, but a failure.
        loaded.into_iter().collect::<Result<Vec<_>>>()?;
        return Ok((Vec::new(), Vec::new()));
    }
    let mut unreadable: Vec<_> = partitions.iter().flat_map(unreadable_files).collect();
    let mut read = Vec::new();
    for (partition, loaded) in partitions.into_iter().zip(loaded) {
        match loaded {
            Ok((state, watch, log_start)) => read.push(Read { partition, state, watch, log_start }),
            Err(error) => unreadable.push(on(&partition, Finding::new(Code::SegmentUnreadable, reason(&error)))),
        }
    }
    Ok((read, unreadable))
}

/// Why a partition could not be read, without its path.
fn reason(error: &anyhow::Error) -> String {
    format!("not read, nor anything of the partition: {}", error.root_cause())
}

/// Files that have the name of a segment and are none.
fn unreadable_files(partition: &Partition) -> Vec<Finding> {
    let finding = |name: &str| {
        let message =
            "it has the name of a segment, and is no file that can be read: what it held is not in this audit";
        on(partition, Finding::new(Code::SegmentUnreadable, message).file(name))
    };
    partition.unreadable_names().map(finding).collect()
}

fn on(partition: &Partition, finding: Finding) -> Finding {
    Finding { partition: partition.number, ..finding }.path(partition.path())
}

/// Ages count from now, which makes everything in an old copy look stale.
fn say_age(read: &[Read], settings: &Settings, args: &AuditArgs, context: &Context) {
    let latest = read.iter().map(|it| it.watch.shape.latest).max().unwrap_or(-1);
    match settings.age(latest) {
        Some(age) if age > DAY && args.moments.clock.now.is_none() => context.note(&format!(
            "the newest record is {} old: ages count from now. If this is a copy, give --now {latest}",
            span(age)
        )),
        Some(age) if age < -DAY => context.note(&format!(
            "the newest record lies {} ahead of now, so that nothing looks old: is --now in milliseconds?",
            span(age.saturating_neg())
        )),
        _ => {}
    }
}

/// A list of none of the log's topics is the list of another cluster.
fn say_other_topics(read: &[Read], settings: &Settings, context: &Context) {
    let Some(list) = &settings.topics else { return };
    if knows_none(read, |topic| list.topic(topic).is_some()) {
        context.note("--topics: none of the topics of the log is in the list; is it of another cluster?");
    }
}

/// So are ends of none of them.
fn say_other_ends(read: &[Read], settings: &Settings, context: &Context) {
    let Some(ends) = &settings.log_ends else { return };
    if knows_none(read, |topic| ends.has(topic)) {
        context.note("--log-ends: none of the topics of the log is in the list; is it of another cluster?");
    }
}

/// Whether offsets are committed, and none of a topic that is known.
fn knows_none(read: &[Read], is_known: impl Fn(&[u8]) -> bool) -> bool {
    let offsets = read.iter().map(|it| &it.state.offsets);
    let names = offsets.flat_map(|them| them.prefixes().filter_map(|(number, ..)| Some(them.names(number)?.1)));
    let mut names = names.peekable();
    names.peek().is_some() && !names.any(is_known)
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
    for (i, it) in read.iter().enumerate() {
        // Of replicas one tells what groups there are.
        let before = read.get(..i).unwrap_or_default();
        let counting = match before.iter().any(|other| may_be_copies(&other.partition, &it.partition)) {
            true => Counting::Before,
            false => Counting::Anew,
        };
        survey.partition(it.partition.number, counting, &it.state, &it.watch, topics, settings);
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
