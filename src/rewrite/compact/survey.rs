//! The first pass of a compaction: which record of every key is the last, and how far a cleaner may go.
//!
//! Of a record only its key is looked at. Records of a transaction wait until its end is met; then their batches are
//! looked at, if it was COMMIT. Must not know: what is done with what goes, and where the new log goes to.

use super::collect::{Collector, Waiting};
use super::hiding::hiding;
use super::keys::{Keys, Window, Winner};
use super::producers::Producers;
use super::tally::Tally;
use super::{Aim, BeyondOpen};
use crate::fault::FaultKind;
use crate::log::batch::Header;
use crate::log::map::WINDOW;
use crate::log::{Batch, Control, Inflater, Segment, Span};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::plan::frames;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;
use std::ops::ControlFlow;

/// Of more places of damage, the rest are only counted.
const MOST_DAMAGE: usize = 10_000;

/// Of more end markers, where they stand is not kept: the second pass then looks at the head of every batch.
const MOST_CONTROLS: usize = 1 << 20;

/// A place in the log: the number of its segment, and the byte.
pub type Place = (u32, u64);

/// Something that a sound log has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What.
    pub fault: FaultKind,
}

/// What to do with a batch that is damaged, if damage is not to end the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// None of it stays.
    LeaveOut,
    /// Only the records that can be read stay.
    Rebuild,
}

/// A transaction without an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Whose.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The first offset of its first batch.
    pub first_offset: i64,
    /// The last offset of its last batch.
    pub last_offset: i64,
    /// How many batches it has.
    pub batches: u64,
    /// The time of its last batch, in ms since 1970.
    pub last_timestamp: i64,
}

/// What the first pass found.
#[derive(Debug, Default)]
pub struct Survey {
    /// The last offset of every key, in what is to be cleaned.
    pub keys: Keys,
    /// What must stay for the sake of producers.
    pub producers: Producers,
    /// Transactions without an end, by first offset.
    pub open: Vec<OpenTransaction>,
    /// By producer, the first offset of its open transaction.
    pub open_from: HashMap<i64, i64, FixedState>,
    /// Tombstones that stay although a later record of their key stands there, by offset: they hide records of an open
    /// transaction, which stay too.
    pub hiding: Vec<Winner>,
    /// Where control batches begin below `until`, and whether a batch of their transaction was met; None if there are too
    /// many of them.
    pub controls: Option<Vec<(u64, bool)>>,
    /// Where batches of open transactions begin below `until`.
    pub open_places: Vec<u64>,
    /// Where the first batch begins that is not to be cleaned, if there is one.
    pub behind: Option<u64>,
    /// How many bytes lie before each segment.
    pub starts: Vec<u64>,
    /// The first offset that is not to be cleaned.
    pub until: i64,
    /// The last offset of the last batch below that, and where it begins; None if there is none.
    pub newest: Option<(i64, u64)>,
    /// The offset behind the last.
    pub end: i64,
    /// What was read below `until`.
    pub before: Tally,
    /// Records of aborted transactions in it.
    pub aborted: u64,
    /// Records in it that lie below the log start.
    pub before_start: u64,
    /// Damage, the first so much.
    pub damage: Vec<Damage>,
    /// Damage in all.
    pub damage_in_all: u64,
    /// What the end of the last segment holds that a broker cuts off when it starts: a torn write, or zeros.
    pub torn: Option<Damage>,
    /// Batches that are damaged, and what is to be done with them.
    pub remedies: HashMap<Place, Remedy, FixedState>,
}

impl Survey {
    /// Whether a batch is part of a transaction without an end.
    pub fn is_open(&self, header: &Header) -> bool {
        let first = if self.open.is_empty() { None } else { self.open_from.get(&header.producer_id) };
        first.is_some_and(|first| *first <= header.base_offset)
    }

    /// All records that stay for their keys' sake, by offset.
    pub fn winners(&self) -> Vec<Winner> {
        let mut all = self.keys.winners();
        if !self.hiding.is_empty() {
            all.extend(&self.hiding);
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// The offset at which the cleaned part ends.
    pub fn cleaned_until(&self) -> i64 {
        self.until.min(self.end)
    }
}

/// Reads a log. `progress` is told of bytes read.
///
/// # Errors
/// If the work is interrupted.
pub fn survey(
    segments: &[Segment],
    aim: &Aim,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Survey> {
    let until = aim.closed_until(segments);
    let mut survey = Learner::new(segments, aim, until).learn(interrupt, progress)?;
    let pinned = survey.open.first().map(|open| open.first_offset).filter(|first| *first < until);
    if let (Some(first), BeyondOpen::Never) = (pinned, aim.beyond_open) {
        // What lies behind it must not count as the last of its key.
        survey = Learner::new(segments, aim, first).learn(interrupt, &mut |_| {})?;
    } else if let Some(first) = pinned {
        survey.hiding = hiding(segments, &survey, first, aim.max_inflated, interrupt)?;
    }
    let Survey { producers, open_from, .. } = &mut survey;
    producers.expire(aim.now, |id| open_from.contains_key(&id));
    Ok(survey)
}

/// Batches of a producer whose transaction has not ended.
#[derive(Debug)]
struct Pending {
    epoch: i16,
    first_offset: i64,
    last_offset: i64,
    last_timestamp: i64,
    batches: u64,
    /// Those that are to be cleaned.
    places: Vec<Place>,
}

struct Learner<'s> {
    segments: &'s [Segment],
    log_start: i64,
    until: i64,
    survey: Survey,
    pending: HashMap<i64, Pending, FixedState>,
    window: Window<'s>,
    inflater: Inflater,
    /// The last offset so far.
    last: i64,
    /// The number of the present segment.
    number: u32,
    /// How many bytes lie before it.
    start: u64,
    /// Where the present batch begins in it.
    position: u64,
}

impl<'s> Learner<'s> {
    fn new(segments: &'s [Segment], aim: &Aim, until: i64) -> Self {
        Learner {
            segments,
            log_start: aim.log_start.unwrap_or(i64::MIN),
            until,
            survey: Survey { until, starts: starts(segments), controls: Some(Vec::new()), ..Survey::default() },
            pending: HashMap::default(),
            window: Window::default(),
            inflater: Inflater::with_limit(aim.max_inflated),
            last: -1,
            number: 0,
            start: 0,
            position: 0,
        }
    }

    fn learn(mut self, interrupt: &Interrupt, progress: &mut dyn FnMut(u64)) -> io::Result<Survey> {
        for (number, segment) in self.segments.iter().enumerate() {
            self.number = number as u32;
            self.start = self.through((self.number, 0));
            // A segment that is empty still says where it begins.
            self.last = self.last.max(segment.base_offset().unwrap_or(0).saturating_sub(1));
            for span in segment.spans() {
                match span {
                    Span::Batch(batch) => {
                        interrupt.check()?;
                        progress(self.start + batch.position());
                        self.batch(&batch);
                    }
                    Span::Hole(hole) => self.hole(hole.position, hole.fault),
                }
            }
            if segment.was_cut() {
                self.damage((self.number, segment.len()), FaultKind::FileCut);
            }
        }
        self.finish()
    }

    fn finish(mut self) -> io::Result<Survey> {
        let open = self.pending.iter().map(|(id, pending)| OpenTransaction {
            producer_id: *id,
            producer_epoch: pending.epoch,
            first_offset: pending.first_offset,
            last_offset: pending.last_offset,
            batches: pending.batches,
            last_timestamp: pending.last_timestamp,
        });
        self.survey.open = open.collect();
        self.survey.open.sort_by_key(|open| open.first_offset);
        self.survey.open_from = self.survey.open.iter().map(|it| (it.producer_id, it.first_offset)).collect();
        // What is open stays as it is, and what hides it must stay too.
        for pending in std::mem::take(&mut self.pending).into_values() {
            let places: Vec<_> = pending.places.iter().map(|place| self.through(*place)).collect();
            self.survey.open_places.extend(places);
            self.visit(&pending.places, Waiting::Open);
        }
        self.survey.keys.settle(&mut self.window);
        self.survey.end = self.last.saturating_add(1);
        Ok(self.survey)
    }

    /// A place, counted through all segments.
    fn through(&self, (number, position): Place) -> u64 {
        self.survey.starts.get(number as usize).copied().unwrap_or(0) + position
    }

    fn hole(&mut self, position: u64, fault: FaultKind) {
        let place = (self.number, position);
        let is_last = self.number as usize + 1 == self.segments.len();
        match fault {
            FaultKind::TornBatch { .. } if is_last => self.survey.torn = Some(Damage { place, fault }),
            FaultKind::ZeroTail if is_last => self.survey.torn = Some(Damage { place, fault }),
            FaultKind::ZeroTail => {}
            _ => self.damage(place, fault),
        }
    }

    #[cold]
    fn damage(&mut self, place: Place, fault: FaultKind) {
        self.survey.damage_in_all += 1;
        if self.survey.damage.len() < MOST_DAMAGE {
            self.survey.damage.push(Damage { place, fault });
        }
    }

    #[cold]
    fn damaged_batch(&mut self, place: Place, fault: FaultKind, remedy: Remedy) {
        self.damage(place, fault);
        self.survey.remedies.insert(place, remedy);
    }

    #[inline]
    fn batch(&mut self, batch: &Batch<'_>) {
        let header = batch.header();
        let place = (self.number, batch.position());
        self.position = batch.position();
        if let Err(fault) = batch.check_crc() {
            return self.damaged_batch(place, fault, Remedy::LeaveOut);
        }
        // Of a wrapper, the base offset is that of its last record.
        if header.base_offset <= self.last || header.last_offset < header.base_offset {
            let fault = FaultKind::OffsetOrder { previous: self.last };
            return self.damaged_batch(place, fault, Remedy::LeaveOut);
        }
        let from = self.last;
        self.last = header.last_offset;
        let counts = header.base_offset < self.until;
        if counts {
            let before = &mut self.survey.before;
            before.batches += 1;
            before.bytes += batch.len();
            before.empty += u64::from(header.count == 0);
            before.horizons += u64::from(header.delete_horizon_ms.is_some());
            self.survey.newest = Some((header.last_offset, self.start + place.1));
        } else if self.survey.behind.is_none() {
            self.survey.behind = Some(self.start + place.1);
        }
        if header.producer_id == -1 && !header.control {
            if counts {
                self.collect(batch, place, from, Waiting::Committed);
            }
            return;
        }
        self.survey.producers.batch(&header, self.start + place.1);
        match header.control {
            true => self.control(batch, place, counts),
            false => self.wait(&header, place, counts),
        }
    }

    fn wait(&mut self, header: &Header, place: Place, counts: bool) {
        let pending = self.pending.entry(header.producer_id).or_insert_with(|| Pending {
            epoch: header.producer_epoch,
            first_offset: header.base_offset,
            last_offset: header.last_offset,
            last_timestamp: header.max_timestamp,
            batches: 0,
            places: Vec::new(),
        });
        pending.epoch = header.producer_epoch;
        pending.last_offset = header.last_offset;
        pending.last_timestamp = pending.last_timestamp.max(header.max_timestamp);
        pending.batches += 1;
        if counts {
            pending.places.push(place);
        }
    }

    fn control(&mut self, batch: &Batch<'_>, place: Place, counts: bool) {
        let header = batch.header();
        let mut ended = None;
        let mut bad = None;
        for item in batch.records(&mut self.inflater).by_ref() {
            match item.as_ref().map_err(|bad| bad.fault.kind.clone()).and_then(|record| {
                let control = Control::parse(record).map_err(|fault| fault.kind)?;
                Ok((control, record.offset))
            }) {
                Ok((control, offset)) => {
                    ended = match control {
                        Control::Commit(_) => Some(Waiting::Committed),
                        Control::Abort(_) => Some(Waiting::Aborted),
                        _ => ended,
                    };
                    if counts {
                        self.survey.before.records += 1;
                        self.survey.before_start += u64::from(offset < self.log_start);
                    }
                }
                Err(fault) => bad = Some(fault),
            }
        }
        if let Some(fault) = bad {
            self.damaged_batch(place, fault, Remedy::LeaveOut);
        }
        let has_data = ended.is_some() && self.pending.contains_key(&header.producer_id);
        if counts && let Some(controls) = &mut self.survey.controls {
            controls.push((self.start + place.1, has_data));
            if controls.len() > MOST_CONTROLS {
                self.survey.controls = None;
            }
        }
        let Some(ended) = ended else { return };
        if counts {
            self.survey.before.commits += u64::from(ended == Waiting::Committed);
            self.survey.before.aborts += u64::from(ended == Waiting::Aborted);
        }
        if let Some(pending) = self.pending.remove(&header.producer_id) {
            self.visit(&pending.places, ended);
        }
    }

    /// Looks at the batches of a transaction that has ended, or never will.
    fn visit(&mut self, places: &[Place], ended: Waiting) {
        let segments = self.segments;
        for place in places {
            let Some(segment) = segments.get(place.0 as usize) else { continue };
            let Some(batch) = frames(segment.bytes(), place.1, segment.len()).next() else { continue };
            self.collect(&batch, *place, batch.header().base_offset.saturating_sub(1), ended);
        }
        self.let_go(places);
    }

    /// Lets go of pages that had left memory when these places were looked at.
    fn let_go(&self, places: &[Place]) {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
        // The scan holds the window before the present one too.
        let window = WINDOW as u64;
        let held = (self.position - self.position % window).saturating_sub(window);
        for number in first.0..=last.0 {
            let Some(segment) = self.segments.get(number as usize) else { return };
            let start = if number == first.0 { first.1 } else { 0 };
            let end = if number == last.0 { last.1 + 1 } else { segment.len() };
            let end = if number == self.number { end.min(held) } else { end };
            if start < end {
                segment.release(start as usize..end as usize);
            }
        }
    }

    /// Takes up the keys of a batch whose offsets lie above `from`.
    #[inline]
    fn collect(&mut self, batch: &Batch<'_>, place: Place, from: i64, ended: Waiting) {
        let at = self.through(place);
        let segments = self.segments;
        let bytes = segments.get(place.0 as usize).map_or(&[][..], Segment::bytes);
        let Learner { survey, inflater, window, .. } = self;
        let Survey { keys, before, aborted, before_start, .. } = survey;
        let (log_start, last) = (self.log_start, batch.header().last_offset);
        let first = from.saturating_add(1).max(log_start);
        let mut collector = Collector {
            keys,
            window,
            bytes,
            at,
            before,
            aborted,
            before_start,
            log_start,
            first,
            last,
            ended,
            bad: None,
        };
        let mut records = batch.records(inflater);
        let _: ControlFlow<()> = records.each(&mut collector, Collector::record, Collector::bad);
        let fault = records.fault().map(|fault| fault.kind.clone());
        if let Some(fault) = collector.bad.or(fault) {
            self.damaged_batch(place, fault, Remedy::Rebuild);
        }
    }
}

/// How many bytes lie before each segment.
fn starts(segments: &[Segment]) -> Vec<u64> {
    let mut end = 0;
    let start = |segment: &Segment| {
        end += segment.len();
        end - segment.len()
    };
    segments.iter().map(start).collect()
}
