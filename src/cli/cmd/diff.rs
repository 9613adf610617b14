//! `diff`: two logs, or two points of one.

use super::Outcome;
use crate::cli::Usage;
use crate::cli::args::DiffArgs;
use crate::cli::render::diff::{self as render, Alone, Compared, Names};
use crate::cli::render::digests::{DigestRow, digests_of_one, digests_of_two};
use crate::cli::select::GroupFilter;
use crate::cli::span::Point;
use crate::cli::state::{Loaded, States, load_until};
use crate::cli::talk::Context;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::model::compare::{Copy, compare_states};
use crate::model::compare_logs::{Log, compare_logs};
use crate::model::digest::{Digest, Digests};
use crate::model::load::{Until, checkpoint_offset};
use crate::model::replay::Extent;
use crate::model::side::{Pair, Side};
use crate::model::topics::Topics;
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs it.
pub fn run(args: &DiffArgs, context: &mut Context) -> Result<Outcome> {
    let pointed = args.from.is_some() || args.to.is_some();
    match args.paths.as_slice() {
        [one] if pointed => points(args, one, context),
        [one] if args.digest => of_one(args, one, context),
        [_] => bail!(Usage("give two paths, or one with --from, --to or --digest".to_owned())),
        [_, _] if pointed => bail!(Usage("--from and --to are for two points of one log: give one path".to_owned())),
        [a, b] => {
            let until = args.moments.until(args.moments.now());
            let states = Pair { a: load(args, a, until, context)?, b: load(args, b, until, context)? };
            let names = Names { a: a.display().to_string(), b: b.display().to_string() };
            compare(args, states, &names, Logs::Compared, context)
        }
        _ => bail!(Usage("give one path or two".to_owned())),
    }
}

/// Whether the logs are compared, beside what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logs {
    Compared,
    /// They are one and the same.
    Same,
}

fn load(args: &DiffArgs, path: &PathBuf, until: Until, context: &mut Context) -> Result<States> {
    let filter = GroupFilter::new(&args.choice)?;
    let wanted = |group: &[u8]| filter.matches(group);
    load_until(std::slice::from_ref(path), &args.reading, &args.moments, until, &wanted, context)
}

fn points(args: &DiffArgs, path: &PathBuf, context: &mut Context) -> Result<Outcome> {
    let now = args.moments.now();
    let until = |point: Point| match point {
        Point::Offset(offset) => Until::Offset(offset),
        Point::Moment(moment) => Until::Time(moment.millis(now)),
    };
    let from = args.from.map_or(Until::Offset(-1), until);
    let to = args.to.map_or(Until::End, until);
    let names = Names { a: point_name(path, from), b: point_name(path, to) };
    let states = Pair { a: load(args, path, from, context)?, b: load(args, path, to, context)? };
    compare(args, states, &names, Logs::Same, context)
}

fn point_name(path: &std::path::Path, until: Until) -> String {
    let path = path.display();
    match until {
        Until::End => format!("{path} at its end"),
        Until::Offset(-1) => format!("{path} before its first record"),
        Until::Offset(offset) => format!("{path} behind offset {offset}"),
        Until::Time(at) => format!("{path} at {}", crate::cli::time::rfc3339(at)),
    }
}

fn of_one(args: &DiffArgs, path: &PathBuf, context: &mut Context) -> Result<Outcome> {
    let states = load(args, path, args.moments.until(args.moments.now()), context)?;
    let digests =
        in_parallel(states.loaded.len(), args.moments.threads(), |i| Some(Digests::of(&states.loaded.get(i)?.state)));
    let mut rows = Vec::new();
    for (loaded, digests) in states.loaded.iter().zip(digests) {
        let digests = digests.flatten().ok_or_else(|| anyhow!("a thread ended early"))?;
        let row = |group: Option<Vec<u8>>, digest: Digest| DigestRow {
            partition: loaded.partition.number,
            group,
            digests: Pair { a: Some(digest), b: None },
        };
        rows.push(row(None, digests.whole));
        rows.extend(digests.groups.into_iter().map(|(name, digest)| row(Some(name), digest)));
    }
    context.out.all(digests_of_one(&rows, args.format, context.looks()).as_bytes())?;
    Ok(if states.in_doubt() { Outcome::Findings } else { Outcome::Clean })
}

fn compare(args: &DiffArgs, states: Pair<States>, names: &Names, logs: Logs, context: &mut Context) -> Result<Outcome> {
    let in_doubt = states.a.in_doubt() || states.b.in_doubt();
    let mut topics = Topics::default();
    topics.learn_all(&states.a.topics);
    topics.learn_all(&states.b.topics);
    let pairs = matched(states.map(|states| states.loaded))?;
    let compared =
        in_parallel(pairs.len(), args.moments.threads(), |i| Some(of_partition(args, pairs.get(i)?, &topics, logs)));
    let compared: Option<Vec<_>> = compared.into_iter().map(Option::flatten).collect();
    let compared = compared.ok_or_else(|| anyhow!("a thread ended early"))?;
    let text = if args.digest {
        digests_of_two(&compared, args.format, context.looks())
    } else {
        render::comparison(&compared, names, args.format, context.looks())
    };
    context.out.all(text.as_bytes())?;
    let differs = compared.iter().any(|it| if args.digest { it.state_differs() } else { it.differs() });
    Ok(if differs || in_doubt { Outcome::Findings } else { Outcome::Clean })
}

/// A partition of both, or of one.
struct Matched {
    number: Option<i32>,
    loaded: Pair<Option<Loaded>>,
}

/// Matches partitions by number. One alone on each side is matched if either has none.
fn matched(loaded: Pair<Vec<Loaded>>) -> Result<Vec<Matched>> {
    let unnumbered = |side: &[Loaded]| side.iter().any(|it| it.partition.number.is_none());
    if unnumbered(&loaded.a) || unnumbered(&loaded.b) {
        if loaded.a.len() != 1 || loaded.b.len() != 1 {
            bail!(Usage("which partition a copy is of cannot be told: add --partition N".to_owned()));
        }
        let number = |side: &[Loaded]| side.first().and_then(|it| it.partition.number);
        let number = number(&loaded.a).or(number(&loaded.b));
        let loaded = loaded.map(|side| side.into_iter().next());
        return Ok(vec![Matched { number, loaded }]);
    }
    // Of a partition that stands in a log dir more than once, the first is met with the first, and so on.
    let mut by_number: BTreeMap<(Option<i32>, usize), Pair<Option<Loaded>>> = BTreeMap::new();
    for (side, loaded) in [(Side::A, loaded.a), (Side::B, loaded.b)] {
        let mut seen: BTreeMap<Option<i32>, usize> = BTreeMap::new();
        for it in loaded {
            let number = it.partition.number;
            let times = seen.entry(number).or_default();
            *by_number.entry((number, *times)).or_default().of_mut(side) = Some(it);
            *times += 1;
        }
    }
    Ok(by_number.into_iter().map(|((number, _), loaded)| Matched { number, loaded }).collect())
}

fn of_partition(args: &DiffArgs, matched: &Matched, topics: &Topics, logs: Logs) -> Compared {
    let max_inflated = args.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED);
    let watermark = |loaded: &Option<Loaded>| {
        let partition = &loaded.as_ref()?.partition;
        checkpoint_offset(&partition.dir.as_ref()?.path, "replication-offset-checkpoint", partition.number?)
    };
    let mut compared = Compared {
        number: matched.number,
        only_in: None,
        log: None,
        state: None,
        watermarks: matched.loaded.each_ref().map(watermark),
        uncertain: matched.loaded.each_ref().map(|it| it.as_ref().is_some_and(|it| !it.state.doubts.is_empty())),
    };
    let (Some(a), Some(b)) = (&matched.loaded.a, &matched.loaded.b) else {
        let alone = |side: Side, loaded: &Loaded| Alone {
            side,
            records: loaded.state.load.records,
            digests: Digests::of(&loaded.state),
        };
        let a = matched.loaded.a.as_ref().map(|a| alone(Side::A, a));
        compared.only_in = a.or_else(|| matched.loaded.b.as_ref().map(|b| alone(Side::B, b)));
        return compared;
    };
    let both = Pair { a, b };
    let extents = both.map(|loaded| extent(args, loaded));
    let log = (logs == Logs::Compared).then(|| {
        let log = |side: Side| Log {
            segments: both.of(side).state.values.segments(),
            extent: *extents.of(side),
            max_inflated,
        };
        compare_logs(Pair { a: log(Side::A), b: log(Side::B) })
    });
    let copy = |side: Side| Copy {
        state: &both.of(side).state,
        extent: *extents.of(side),
        start: log.as_ref().map_or(i64::MIN, |log| log.sums.of(side).start),
        max_inflated,
    };
    let parted = log.as_ref().and_then(|log| log.divergence.as_ref()).map(|it| it.offset);
    compared.state = Some(compare_states(Pair { a: copy(Side::A), b: copy(Side::B) }, topics, parted));
    compared.log = log;
    compared
}

/// What of a log counts: from its log start on, up to the point that was asked for.
fn extent(args: &DiffArgs, loaded: &Loaded) -> Extent {
    let moments = &args.moments;
    let pointed = args.from.is_some() || args.to.is_some() || moments.at_offset.is_some() || moments.at_time.is_some();
    let last = if pointed { loaded.state.end_offset.saturating_sub(1) } else { i64::MAX };
    Extent { from: loaded.log_start.unwrap_or(i64::MIN), last }
}

/// Does so many pieces of work on so many threads; the results keep the order. None where a thread ended early.
fn in_parallel<T: Send>(pieces: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((0..pieces).map(|_| None).collect::<Vec<Option<T>>>());
    let one = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < pieces) {
            let result = work(i);
            if let Some(room) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(i) {
                *room = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(pieces) {
            scope.spawn(one);
        }
        one();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
