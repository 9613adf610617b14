//! Who fills a partition's log, and what of it a compaction would take.
//!
//! The survey of [`crate::rewrite::compact`] reads the log, and what it reads is counted; the cleaning that follows looks
//! only at batches that may stay, and says whose that is. Of a sample or a window of time nothing can be said to stay, so
//! nothing is. Must not know: how anything is printed.

mod batches;
mod counter;
mod live;
mod rows;
pub mod sample;
mod slot;
pub mod why;

pub use counter::Window;

use crate::log::{Batch, Segment, Span};
use crate::model::stats::Counted;
use crate::rewrite::compact::clean::{Cleaned, Sink, Takes, clean};
use crate::rewrite::compact::survey::{Damage, OpenTransaction, Survey, survey, survey_with};
use crate::rewrite::compact::{Aim, Extent};
use crate::rewrite::interrupt::Interrupt;
use counter::Counter;
use live::add_live;
use sample::Sample;
use std::io;
use std::path::{Path, PathBuf};

/// What to read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Everything.
    All,
    /// The heads of batches only.
    Heads,
    /// Stretches, spread evenly.
    Sample(Sample),
    /// What is in a window of time.
    Window(Window),
}

/// What a compaction would leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// Bytes of the log, segments together.
    pub bytes: u64,
    /// Batches, empty ones too.
    pub batches: u64,
    /// Records, end markers too.
    pub records: u64,
    /// Distinct keys in what was compacted.
    pub keys: u64,
    /// The first offset that was not compacted: that of the last segment, of an open transaction, or the end.
    pub until: i64,
    /// Whether an open transaction keeps what lies behind from being compacted.
    pub is_pinned: bool,
}

/// A partition.
#[derive(Debug)]
pub struct Stats {
    /// Sums.
    pub counted: Counted,
    /// What a compaction would leave; only if everything was read.
    pub after: Option<After>,
    /// Transactions without an end; only if everything was read.
    pub open: Vec<OpenTransaction>,
    /// The first place of damage that a cleaner would meet, and the offset before which it lies; only if everything was read.
    pub damage: Option<(Damage, i64)>,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Of these, those that were looked at: of [`Reading::Heads`] what stands in the heads of batches.
    pub read: u64,
}

impl Stats {
    /// By how much figures of a sample are to be multiplied to stand for all. 1 where everything was read.
    pub fn scale(&self, reading: Reading) -> f64 {
        match (reading, self.counted.seen) {
            (Reading::Sample(_), seen @ 1..) => self.bytes as f64 / seen as f64,
            _ => 1.0,
        }
    }
}

/// Reads a partition, whose segments must be in order. `progress` is told of bytes read.
///
/// # Errors
/// If a file cannot be read, or more of it is damaged than can be remembered.
pub fn stats(paths: &[PathBuf], reading: Reading, aim: &Aim, progress: &mut dyn FnMut(u64)) -> io::Result<Stats> {
    match reading {
        Reading::All => whole(&open_all(paths)?, aim, progress),
        Reading::Heads => sample::heads(paths, aim, progress),
        Reading::Sample(sample) => sample::take(paths, sample, aim),
        Reading::Window(window) => sample::within(paths, window, aim, progress),
    }
}

fn partly(counted: Counted, bytes: u64, read: u64) -> Stats {
    Stats { counted, after: None, open: Vec::new(), damage: None, bytes, read: read.min(bytes) }
}

fn open_all(paths: &[PathBuf]) -> io::Result<Vec<Segment>> {
    paths.iter().map(|path| open(path)).collect()
}

fn open(path: &Path) -> io::Result<Segment> {
    Segment::open(path).map_err(|error| crate::files::named(path, &error))
}

fn bytes(segments: &[Segment]) -> u64 {
    segments.iter().map(Segment::len).sum()
}

fn whole(segments: &[Segment], aim: &Aim, progress: &mut dyn FnMut(u64)) -> io::Result<Stats> {
    let interrupt = Interrupt::default();
    let (mut survey, mut counter) = survey_with(Counter::new(aim.log_start), segments, aim, &interrupt, progress)?;
    let cleaned = add_live(segments, &survey, aim, &interrupt, &mut counter)?;
    let damage = survey.damage.first().map(|damage| (damage.clone(), offset_before(segments, damage)));
    let after = after(&survey, &cleaned);
    let open = std::mem::take(&mut survey.open);
    // Rows take its room.
    drop(survey);
    let bytes = bytes(segments);
    Ok(Stats { counted: counter.finish(), after: Some(after), open, damage, bytes, read: bytes })
}

fn after(survey: &Survey, cleaned: &Cleaned) -> After {
    let Cleaned { after, behind, .. } = cleaned;
    let first = survey.open.first().map(|open| open.first_offset);
    After {
        bytes: after.bytes + behind.bytes,
        batches: after.batches + behind.batches,
        records: after.records + behind.records,
        keys: survey.keys.len() as u64,
        until: survey.cleaned_until(),
        is_pinned: first == Some(survey.until),
    }
}

/// The last offset in front of a place of damage.
fn offset_before(segments: &[Segment], damage: &Damage) -> i64 {
    let (number, position) = damage.place;
    let Some(segment) = segments.get(number as usize) else { return -1 };
    let mut last = segment.base_offset().unwrap_or(0).saturating_sub(1);
    for span in segment.spans() {
        match span {
            Span::Batch(batch) if batch.position() < position => last = last.max(batch.header().last_offset),
            Span::Hole(hole) if hole.position < position => {}
            _ => break,
        }
    }
    last
}

/// What a compaction of less than everything would leave: for a broker's cleaner, which leaves the last segment alone.
///
/// # Errors
/// As [`stats`].
pub fn after_cleaner(paths: &[PathBuf], aim: &Aim) -> io::Result<After> {
    let segments = open_all(paths)?;
    let interrupt = Interrupt::default();
    let aim = Aim { extent: Extent::Closed, ..*aim };
    let surveyed = survey(&segments, &aim, &interrupt, &mut |_| {})?;
    let cleaned = clean(&segments, &surveyed, &aim, &interrupt, &mut Nowhere, &mut |_| {})?;
    Ok(after(&surveyed, &cleaned))
}

/// Takes what it is given, and forgets it.
struct Nowhere;

impl Sink for Nowhere {
    fn segment(&mut self, _: i64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch<'_>) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> Takes {
        Takes::Nothing
    }
}
