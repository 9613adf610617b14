//! What the state verbs share: from paths and options to replayed partitions and their groups.
//!
//! Must not know: how groups are printed.

use super::args::{Input, Moments, Reading, WholeLog};
use super::input::{self, Partition};
use super::render::name::visible;
use super::talk::Context;
use super::time;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::model::assemble::Groups;
use crate::model::load::{Loading, Until, load, log_start};
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::model::view::Group;
use anyhow::{Context as _, Result, anyhow};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A replayed partition.
pub struct Loaded {
    /// Where it came from.
    pub partition: Partition,
    /// What it held.
    pub state: State,
    /// Where the replay began, if the log dir says that the log was cut in front.
    pub log_start: Option<i64>,
}

/// Everything a state verb works on.
pub struct States {
    /// The partitions, in the order of the paths.
    pub loaded: Vec<Loaded>,
    /// Names of topics by id.
    pub topics: Topics,
    /// What now is, in milliseconds since 1970.
    pub now: i64,
}

/// Opens and replays what the paths name.
pub fn load_all(
    input: &Input,
    moments: &Moments,
    wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    context: &mut Context,
) -> Result<States> {
    load_paths(&input.paths, &input.reading, moments, wanted, context)
}

/// As [`load_all`].
pub fn load_paths(
    paths: &[PathBuf],
    reading: &Reading,
    moments: &Moments,
    wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    context: &mut Context,
) -> Result<States> {
    load_until(paths, reading, moments, moments.until(moments.now()), wanted, context)
}

/// As [`load_paths`], up to a point that `moments` need not name.
pub fn load_until(
    paths: &[PathBuf],
    reading: &Reading,
    moments: &Moments,
    until: Until,
    wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    context: &mut Context,
) -> Result<States> {
    let partitions = input::open_paths(paths, reading, context)?;
    let now = moments.now();
    let mut topics = topics_of_file(moments)?;
    context.begin(partitions.iter().map(Partition::bytes).sum());
    // Threads that no partition of its own keeps busy help with one.
    let helper = if moments.threads() > partitions.len() { Helper::ChecksCrcs } else { Helper::None };
    let states = in_parallel(&partitions, moments.threads(), context, |partition, progress| {
        let start = start_of(partition, moments);
        let how = Loading {
            rules: Rules::of(moments.as_broker.unwrap_or(Release::NEWEST)),
            until,
            log_start: start,
            max_inflated: reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
            helper,
            wanted,
        };
        let paths = partition.paths();
        Ok((load(&paths, &how, progress).with_context(|| partition.path().display().to_string())?, start))
    })?;
    context.end();
    let loaded: Vec<_> = partitions
        .into_iter()
        .zip(states)
        .map(|(partition, (state, log_start))| Loaded { partition, state, log_start })
        .collect();
    for dir in log_dirs(loaded.iter().map(|it| &it.partition)) {
        topics.learn_from_log_dir(&dir);
    }
    for it in &loaded {
        let groups = Groups::of(&it.state);
        groups.learn_topics(&mut topics);
        say_doubts(it, context);
        say_lost(it, &groups, context);
        if until != Until::End {
            say_history(it, context);
        }
    }
    Ok(States { loaded, topics, now })
}

/// The names of topics that the user gave.
pub fn topics_of_file(moments: &Moments) -> Result<Topics> {
    let mut topics = Topics::default();
    if let Some(path) = &moments.topics {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        topics.learn_from_text(&text).with_context(|| path.display().to_string())?;
    }
    Ok(topics)
}

/// Where the log of a partition begins, as its log dir says, if that is not at 0.
pub fn start_of(partition: &Partition, moments: &Moments) -> Option<i64> {
    if moments.ignore_log_start { None } else { start_by_log_dir(partition) }
}

fn start_by_log_dir(partition: &Partition) -> Option<i64> {
    // Also for a partition folder given by itself inside its log dir, but not for a single segment.
    log_start(&partition.dir.as_ref()?.path, partition.number?).filter(|start| *start > 0)
}

/// The folders around the partition folders, each once.
pub fn log_dirs<'p>(partitions: impl Iterator<Item = &'p Partition>) -> Vec<PathBuf> {
    let mut dirs: Vec<_> = partitions
        .filter_map(|it| std::path::absolute(&it.dir.as_ref()?.path).ok()?.parent().map(Path::to_owned))
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

type Work<'w, T> = &'w (dyn Fn(&Partition, &mut dyn FnMut(u64)) -> Result<T> + Sync);

/// Runs the work for every partition, on so many threads; the results keep the order.
pub fn in_parallel<T: Send>(
    partitions: &[Partition],
    threads: usize,
    context: &Context,
    work: impl Fn(&Partition, &mut dyn FnMut(u64)) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = AtomicU64::new(0);
    let results = Mutex::new(partitions.iter().map(|_| None).collect::<Vec<Option<Result<T>>>>());
    let bar = context.progress();
    let one = |work: Work<'_, T>| {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < partitions.len()) {
            let Some(partition) = partitions.get(i) else { break };
            let mut told = 0;
            let result = work(partition, &mut |position| {
                // The bar is told of a megabyte at a time.
                if position > told + (1 << 20) {
                    bar.at(done.fetch_add(position - told, Ordering::Relaxed) + position - told);
                    told = position;
                }
            });
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(room) = results.get_mut(i) {
                *room = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(partitions.len()) {
            scope.spawn(|| one(&work));
        }
        one(&work);
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|result| result.ok_or_else(|| anyhow!("a thread ended early"))?).collect()
}

fn say_doubts(loaded: &Loaded, context: &Context) {
    let doubts = &loaded.state.doubts;
    let path = loaded.partition.path().display();
    if doubts.unknown_types > 0 {
        context.note(&format!(
            "{path}: {} records of unknown types were left out, as a broker does",
            doubts.unknown_types
        ));
    }
    if doubts.is_empty() {
        return;
    }
    let mut what = Vec::new();
    let mut count = |n: u64, name: &str| {
        if n > 0 {
            what.push(format!("{n} {name}"));
        }
    };
    count(doubts.holes, "unreadable stretches");
    count(doubts.damaged_batches, "batches with a wrong CRC");
    count(doubts.bad_keys, "records with an unreadable key");
    count(doubts.bad_values, "records with an unreadable value");
    context.note(&format!(
        "{path}: not replayed: {}; groups that may be stale because of it are marked uncertain",
        what.join(", ")
    ));
}

/// Groups of which nothing is left but damaged records are in no list, so they are named here.
fn say_lost(loaded: &Loaded, groups: &Groups<'_>, context: &Context) {
    const SHOWN: usize = 5;
    let lost: Vec<_> = loaded.state.doubts.groups.keys().filter(|name| !groups.has(name)).collect();
    if lost.is_empty() {
        return;
    }
    let names: Vec<_> = lost.iter().take(SHOWN).map(|name| visible(name)).collect();
    let more = if lost.len() > SHOWN { ", ..." } else { "" };
    context.note(&format!(
        "{}: not listed, because only records name them that were not replayed: {} groups ({}{more})",
        loaded.partition.path().display(),
        lost.len(),
        names.join(", ")
    ));
}

/// Says that compaction took history away, if it did: then what a later record replaced cannot be seen any more.
fn say_history(loaded: &Loaded, context: &Context) {
    let state = &loaded.state;
    let Some(first) = state.first_offset else { return };
    let span = state.end_offset.saturating_sub(first.min(loaded.log_start.unwrap_or(first)));
    let gone = span.saturating_sub(state.load.records as i64);
    if gone > 0 {
        context.note(&format!(
            "{}: {gone} of {span} records up to this point are gone (compacted), so values that later ones replaced are \
             missing: what you see may be less than what was there",
            loaded.partition.path().display()
        ));
    }
}

impl States {
    /// Shows every group to `each`, partition by partition, by name; shells of simple groups without offsets are left
    /// out.
    pub fn each_group(&self, mut each: impl FnMut(&Loaded, Group) -> Result<()>) -> Result<()> {
        for loaded in &self.loaded {
            let groups = Groups::of(&loaded.state);
            for name in groups.names() {
                if let Some(group) = groups.group(name, &self.topics).filter(|group| !group.is_shell()) {
                    each(loaded, group)?;
                }
            }
        }
        Ok(())
    }

    /// Whether damage may have cost something.
    pub fn in_doubt(&self) -> bool {
        self.loaded.iter().any(|it| !it.state.doubts.is_empty())
    }
}

impl Moments {
    /// What now is, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        let clock = time::now();
        self.clock.now.map_or(clock, |now| now.millis(clock))
    }

    /// Up to where logs are replayed.
    pub fn until(&self, now: i64) -> Until {
        match (self.at_offset, self.at_time) {
            (Some(offset), _) => Until::Offset(offset),
            (None, Some(at)) => Until::Time(at.millis(now)),
            (None, None) => Until::End,
        }
    }

    /// How many threads to use.
    pub fn threads(&self) -> usize {
        threads(self.threads)
    }
}

impl WholeLog {
    /// What now is, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        let clock = time::now();
        self.clock.now.map_or(clock, |now| now.millis(clock))
    }

    /// Where the log of a partition begins, as its log dir says, if that is not at 0.
    pub fn start_of(&self, partition: &Partition) -> Option<i64> {
        if self.ignore_log_start { None } else { start_by_log_dir(partition) }
    }

    /// How many threads to use.
    pub fn threads(&self) -> usize {
        threads(self.threads)
    }
}

/// How many threads to use: what is asked for, or as many as there are processors.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
