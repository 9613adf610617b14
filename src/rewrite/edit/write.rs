//! Writes what edits leave to new folders, reads it back, and asks a coordinator whether it would load it.
//!
//! Must not know: which edits there are, and how anything is printed.

use super::feed::Feed;
use super::run::{How, Ran, Routing, Sink, run};
use super::tally::Edited;
use super::{Edits, Origin};
use crate::log::{Batch, Inflater};
use crate::model::preflight::{Coordinator, Verdict, preflight};
use crate::rewrite::apply::{Done, ReadBack, Rolls, Writing};
use crate::rewrite::edit::reframe::Shape;
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::{OutDir, PartitionOut};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

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

/// What to do, and with what.
pub struct Work<'w> {
    /// The old logs.
    pub feeds: Vec<Feed>,
    /// The new ones.
    pub new: Vec<NewLog>,
    /// What becomes of records.
    pub edits: &'w mut Edits,
    /// What becomes of batches.
    pub shape: Shape,
    /// Where records go.
    pub routing: Routing,
    /// Segments grow to so many bytes.
    pub segment_bytes: u64,
    /// Who is asked whether it would load the new logs.
    pub broker: Coordinator,
    /// What to do about records that it refuses.
    pub refused: Refused,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
    /// Whether to go on.
    pub interrupt: &'w Interrupt,
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
    /// What was written, new log by new log.
    pub done: Vec<Done>,
    /// What the broker says, new log by new log.
    pub verdicts: Vec<Verdict>,
}

/// Says what would be done.
///
/// # Errors
/// See [`run`].
pub fn rehearse(work: &mut Work<'_>, listener: &mut dyn Listener) -> io::Result<Outcome> {
    let Work { feeds, edits, shape, routing, max_inflated, interrupt, .. } = work;
    let how = How { edits, shape: *shape, routing: *routing, max_inflated: *max_inflated, interrupt };
    let ran = run(feeds, &how, &BTreeSet::new(), &mut Nowhere(Some(listener)))?;
    listener.done();
    Ok(Outcome { ran, ..Outcome::default() })
}

/// Does it; where that is asked for, again and again without the records that the broker refuses.
///
/// # Errors
/// See [`run`]; if a file cannot be written, what was written is not what was to be, or the broker would still refuse it
/// after many rounds.
pub fn write(work: &mut Work<'_>, out: &OutDir, listener: &mut dyn Listener) -> io::Result<Outcome> {
    for _ in 0..MOST_ROUNDS {
        let mut outcome = write_once(work, out, listener)?;
        outcome.verdicts = judge(work, &outcome.done)?;
        if work.refused == Refused::Stay || outcome.verdicts.iter().all(Verdict::loads) {
            listener.done();
            return Ok(outcome);
        }
        let more = origins(work, &outcome.verdicts)?;
        if more.is_empty() {
            let verdict = outcome.verdicts.iter().find(|verdict| !verdict.loads());
            let first = verdict.and_then(|verdict| verdict.refusals.first());
            let why = first.map_or(String::new(), |it| format!(" (offset {}: {})", it.at.offset, it.reason));
            let why = format!("{} would not load it because of what is no record of a group{why}", work.broker);
            return Err(io::Error::other(why));
        }
        work.edits.drops.refused.extend(more);
        listener.again()?;
        for new in &work.new {
            PartitionOut::remove(&out.temporary().join(folder(new.partition)))?;
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

fn write_once(work: &mut Work<'_>, out: &OutDir, listener: &mut dyn Listener) -> io::Result<Outcome> {
    let Work { feeds, new, edits, shape, routing, segment_bytes, max_inflated, interrupt, .. } = work;
    let folders = new.iter().map(|it| out.one_of(new.len(), it.partition)).collect::<io::Result<Vec<_>>>()?;
    let mut sink = Writers {
        writers: new
            .iter()
            .zip(&folders)
            .map(|(new, to)| One {
                writing: Writing::begin(to, new.leader_epochs.clone(), *max_inflated),
                rolls: Rolls(&new.rolls),
                batches: 0,
                records: 0,
            })
            .collect(),
        segment_bytes: *segment_bytes,
        inflater: Inflater::with_limit(*max_inflated),
        listener,
    };
    let how = How { edits, shape: *shape, routing: *routing, max_inflated: *max_inflated, interrupt };
    let ran = run(feeds, &how, &BTreeSet::new(), &mut sink)?;
    let Writers { writers, .. } = sink;
    let mut all = Vec::new();
    for (one, end) in writers.into_iter().zip(&ran.ends) {
        let mut done = one.writing.finish(*end)?;
        done.records = one.records;
        all.push((done, one.batches));
    }
    for ((new, to), (done, batches)) in new.iter().zip(folders).zip(&all) {
        if let Some(metadata) = &new.metadata {
            to.file("partition.metadata", metadata)?;
        }
        to.finish()?;
        let planned = ReadBack { batches: *batches, records: done.records, max_inflated: *max_inflated };
        planned.check(done, interrupt, &mut |_, _, _| {})?;
    }
    let all = all.into_iter().map(|(done, _)| done).collect();
    Ok(Outcome { ran, done: all, verdicts: Vec::new() })
}

fn judge(work: &Work<'_>, done: &[Done]) -> io::Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    for done in done {
        work.interrupt.check()?;
        let paths: Vec<PathBuf> = done.segments.iter().map(|segment| segment.path.clone()).collect();
        verdicts.extend(preflight(&paths, &[work.broker], None, work.max_inflated, &mut |_| {})?);
    }
    Ok(verdicts)
}

/// Where the refused records come from, and why they are refused.
fn origins(work: &mut Work<'_>, verdicts: &[Verdict]) -> io::Result<BTreeMap<Origin, String>> {
    let mut why = BTreeMap::new();
    for (target, verdict) in verdicts.iter().enumerate() {
        for refusal in &verdict.refusals {
            let text = format!("{} refuses it: {}", verdict.coordinator, refusal.reason);
            why.entry((target, refusal.at.offset)).or_insert(text);
        }
    }
    let asked = why.keys().copied().collect();
    let Work { feeds, edits, shape, routing, max_inflated, interrupt, .. } = work;
    let how = How { edits, shape: *shape, routing: *routing, max_inflated: *max_inflated, interrupt };
    let ran = run(feeds, &how, &asked, &mut Nowhere(None))?;
    Ok(ran.origins.into_iter().filter_map(|(place, origin)| Some((origin, why.remove(&place)?))).collect())
}

/// Writes to folders.
struct Writers<'w, 'l> {
    writers: Vec<One<'w>>,
    segment_bytes: u64,
    inflater: Inflater,
    listener: &'l mut dyn Listener,
}

/// A new log on its way.
struct One<'w> {
    writing: Writing<'w>,
    rolls: Rolls<'w>,
    batches: u64,
    records: u64,
}

impl Sink for Writers<'_, '_> {
    fn batch(&mut self, target: usize, batch: &Batch<'_>) -> io::Result<()> {
        let header = batch.header();
        let records = match u64::try_from(header.count) {
            Ok(count) => count,
            Err(_) => batch.records(&mut self.inflater).filter(Result::is_ok).count() as u64,
        };
        let one = self.writers.get_mut(target).ok_or_else(|| io::Error::other("a partition that is not there"))?;
        let first = one.writing.first_offset(batch);
        if let Some(base) = one.rolls.before(first).or((one.batches == 0).then_some(first)) {
            one.writing.roll(base, self.segment_bytes)?;
        }
        one.batches += 1;
        one.records += records;
        one.writing.batch(batch, (header.partition_leader_epoch >= 0).then_some(header.partition_leader_epoch))
    }

    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        self.listener.edited(edited)
    }

    fn read(&mut self, bytes: u64) {
        self.listener.read(bytes);
    }
}

/// Writes nothing.
struct Nowhere<'l>(Option<&'l mut dyn Listener>);

impl Sink for Nowhere<'_> {
    fn batch(&mut self, _: usize, _: &Batch<'_>) -> io::Result<()> {
        Ok(())
    }

    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |listener| listener.edited(edited))
    }

    fn read(&mut self, bytes: u64) {
        if let Some(listener) = &mut self.0 {
            listener.read(bytes);
        }
    }
}
