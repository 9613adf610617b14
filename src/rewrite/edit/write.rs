//! Writes what edits leave to new folders, reads it back, and asks a coordinator whether it would load it; or only says
//! what would come of it.
//!
//! Must not know: which edits there are, and how anything is printed.

use super::Origin;
use super::feed::Feed;
use super::run::{How, Nowhere, Ran, Sink, run};
use super::tally::Edited;
use crate::log::{Batch, Inflater};
use crate::model::preflight::{Coordinator, Preflight, Verdict};
use crate::rewrite::apply::{Done, ReadBack, Rolls, Writing};
use crate::rewrite::out::{OutDir, PartitionOut};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Taking out a record can make another one unloadable: after so many rounds it is given up.
const MOST_ROUNDS: usize = 100;

/// A new log.
#[derive(Debug, Clone, Default)]
pub struct NewLog {
    /// Its partition.
    pub partition: i32,
    /// Offsets at which a segment begins; ascending.
    pub rolls: Vec<i64>,
    /// `partition.metadata`.
    pub metadata: Option<Vec<u8>>,
    /// The old `leader-epoch-checkpoint`.
    pub leader_epochs: Option<Vec<u8>>,
}

/// From what to what.
pub struct Work {
    /// The old logs.
    pub feeds: Vec<Feed>,
    /// The new ones.
    pub new: Vec<NewLog>,
    /// Segments grow to so many bytes.
    pub segment_bytes: u64,
    /// Who is asked whether it would load the new logs.
    pub broker: Coordinator,
    /// What to do about records that it refuses.
    pub refused: Refused,
}

/// What to do about records that a coordinator refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They stay; it is told.
    Stay,
    /// They go, until it refuses none.
    Go,
}

/// Is told what happens.
pub trait Listener {
    /// An edit.
    ///
    /// # Errors
    /// If it cannot be noted.
    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()>;
    /// All edits since the last call of [`Listener::done`] are told anew.
    ///
    /// # Errors
    /// If what was noted cannot be taken back.
    fn again(&mut self) -> io::Result<()>;
    /// What was told holds.
    fn done(&mut self);
    /// So many bytes more were read.
    fn read(&mut self, bytes: u64);
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done.
    pub ran: Ran,
    /// What was written, new log by new log; nothing, if nothing was to be.
    pub done: Vec<Done>,
    /// What the broker says, new log by new log.
    pub verdicts: Vec<Verdict>,
}

/// Does it, or without a folder says what would be done; where that is asked for, again and again without the records
/// that the broker refuses.
///
/// # Errors
/// See [`run`]; if a file cannot be written, what was written is not what was to be, or the broker would still refuse it
/// after many rounds.
pub fn carry_out(
    work: &mut Work,
    how: &mut How<'_>,
    out: Option<&OutDir>,
    listener: &mut dyn Listener,
) -> io::Result<Outcome> {
    for _ in 0..MOST_ROUNDS {
        let outcome = once(work, how, out, listener)?;
        if work.refused == Refused::Stay || outcome.verdicts.iter().all(Verdict::loads) {
            listener.done();
            return Ok(outcome);
        }
        let more = origins(work, how, &outcome.verdicts)?;
        if more.is_empty() {
            return Err(beyond_records(work.broker, &outcome.verdicts));
        }
        how.edits.drops.refused.extend(more);
        listener.again()?;
        if let Some(out) = out {
            work.new.iter().try_for_each(|new| PartitionOut::remove(&out.temporary().join(folder(new.partition))))?;
        }
    }
    Err(io::Error::other(format!(
        "{} would still not load it after {MOST_ROUNDS} rounds of taking out what it refuses",
        work.broker
    )))
}

fn folder(partition: i32) -> String {
    format!("{}-{partition}", crate::log::dir::OFFSETS_TOPIC)
}

fn beyond_records(broker: Coordinator, verdicts: &[Verdict]) -> io::Error {
    let first = verdicts.iter().find_map(|verdict| verdict.refusals.first());
    let why = first.map_or(String::new(), |it| format!(" (offset {}: {})", it.at.offset, it.reason));
    io::Error::other(format!("{broker} would not load it because of what is no record of a group{why}"))
}

fn once(work: &mut Work, how: &How<'_>, out: Option<&OutDir>, listener: &mut dyn Listener) -> io::Result<Outcome> {
    let Work { feeds, new, segment_bytes, broker, .. } = work;
    let folders = match out {
        Some(out) => new.iter().map(|it| out.one_of(new.len(), it.partition)).collect::<io::Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let log = |(i, new): (usize, &'_ NewLog)| {
        let to = folders.get(i);
        let writing = to.map(|to| Writing::begin(to, new.leader_epochs.clone(), how.max_inflated));
        One { writing, preflight: Preflight::new(*broker), batches: 0, records: 0 }
    };
    let mut logs = Logs {
        all: new.iter().enumerate().map(log).collect(),
        rolls: new.iter().map(|new| Rolls(&new.rolls)).collect(),
        segment_bytes: *segment_bytes,
        inflater: Inflater::with_limit(how.max_inflated),
        listener,
    };
    let ran = run(feeds, how, &BTreeSet::new(), &mut logs)?;
    let mut outcome = Outcome::default();
    let mut planned = Vec::new();
    for (One { writing, preflight, batches, records }, end) in logs.all.into_iter().zip(&ran.ends) {
        outcome.verdicts.extend(preflight.verdict());
        if let Some(writing) = writing {
            let done = writing.finish(*end)?;
            outcome.done.push(Done { records, ..done });
            planned.push(ReadBack { batches, records, copies_from: i64::MAX, max_inflated: how.max_inflated });
        }
    }
    for ((new, to), (done, planned)) in new.iter().zip(folders).zip(outcome.done.iter().zip(planned)) {
        if let Some(metadata) = &new.metadata {
            to.file("partition.metadata", metadata)?;
        }
        to.finish()?;
        planned.check(done, how.interrupt, &mut |_, _, _| {})?;
    }
    outcome.ran = ran;
    Ok(outcome)
}

/// Where the refused records come from, and why they are refused.
fn origins(work: &mut Work, how: &How<'_>, verdicts: &[Verdict]) -> io::Result<BTreeMap<Origin, String>> {
    let mut why = BTreeMap::new();
    for (target, verdict) in verdicts.iter().enumerate() {
        for refusal in &verdict.refusals {
            let text = format!("{} refuses it: {}", verdict.coordinator, refusal.reason);
            why.entry((target, refusal.at.offset)).or_insert(text);
        }
    }
    let asked = why.keys().copied().collect();
    let ran = run(&mut work.feeds, how, &asked, &mut Nowhere)?;
    Ok(ran.origins.into_iter().filter_map(|(place, origin)| Some((origin, why.remove(&place)?))).collect())
}

/// All new logs.
struct Logs<'w, 'l> {
    all: Vec<One<'w>>,
    rolls: Vec<Rolls<'w>>,
    segment_bytes: u64,
    inflater: Inflater,
    listener: &'l mut dyn Listener,
}

/// A new log on its way.
struct One<'w> {
    /// Unless nothing is to be written.
    writing: Option<Writing<'w>>,
    preflight: Preflight,
    batches: u64,
    records: u64,
}

impl Sink for Logs<'_, '_> {
    fn batch(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        let (Some(one), Some(rolls)) = (self.all.get_mut(target), self.rolls.get_mut(target)) else {
            return Err(io::Error::other("a partition that is not there"));
        };
        one.records += one.preflight.batch(batch, &mut self.inflater);
        one.batches += 1;
        let Some(writing) = &mut one.writing else { return Ok(()) };
        let first = writing.first_offset(batch);
        if let Some(base) = rolls.before(first).or((one.batches == 1).then_some(first)) {
            writing.roll(base, self.segment_bytes)?;
        }
        let epoch = batch.header().partition_leader_epoch;
        writing.batch(batch, (epoch >= 0).then_some(epoch))
    }

    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        self.listener.edited(edited)
    }

    fn read(&mut self, bytes: u64) {
        self.listener.read(bytes);
    }
}
