//! Goes through a log and takes up what a cleaner must know: the last record of every key, what producers are remembered
//! by, where transactions end, what is damaged.
//!
//! Of a record only its key is looked at. Records of a transaction wait until its end is met; then their batches are
//! looked at, if it was COMMIT. Must not know: how far a cleaner may go, and what is done with what goes.

use super::Aim;
use super::collect::{Collector, Waiting};
use super::keys::{Keys, Window};
use super::onlooker::{Nobody, NoteOf, Onlooker};
use super::places::Places;
use super::survey::{Damage, OpenTransaction, Place, Remedy, Survey};
use crate::fault::FaultKind;
use crate::log::batch::{Header, LOG_APPEND_TIME};
use crate::log::{Batch, Control, Hole, Inflater, Segment, Span};
use crate::machine::map::{HELD, WINDOW};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::look::fault_of;
use crate::rewrite::plan::frames;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::io;

/// Of more places of damage, the rest are only counted.
const MOST_DAMAGE: usize = 10_000;

/// With more damaged batches, a log is not compacted at all: which they are would fill the memory.
const MOST_REMEDIES: usize = 1 << 20;

/// Of more end markers, where they stand is not kept: the second pass then looks at the head of every batch.
const MOST_CONTROLS: usize = 1 << 20;

/// Progress is told of so many bytes at a time.
const PROGRESS_STEP: u64 = 1 << 20;

/// Batches of a producer whose transaction has not ended.
#[derive(Debug)]
struct Pending {
    epoch: i16,
    first_offset: i64,
    last_offset: i64,
    first_timestamp: i64,
    last_timestamp: i64,
    batches: u64,
    /// Where those begin that are to be cleaned, counted through all segments.
    places: Places,
}

/// Whether the onlooker is shown the records of a batch that are taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    /// It saw them before, or they are not to be counted.
    No,
}

/// Takes up a log, batch by batch.
pub struct Learner<'s, O: Onlooker<'s> = Nobody> {
    segments: &'s [Segment],
    onlooker: O,
    log_start: i64,
    until: i64,
    survey: Survey,
    /// Those of the survey, until the end.
    keys: Keys<O::Slot>,
    pending: HashMap<i64, Pending, RandomState>,
    window: Window<'s, NoteOf<'s, O>>,
    inflater: Inflater,
    behind: Behind<'s>,
    /// The last offset so far.
    last: i64,
    /// The number of the present segment.
    number: u32,
    /// How many bytes lie before it.
    start: u64,
    /// Where the present batch begins in it.
    position: u64,
}

impl<'s, O: Onlooker<'s>> Learner<'s, O> {
    /// Of nothing yet, to be cleaned below `until`.
    pub fn new(segments: &'s [Segment], aim: &Aim, until: i64, onlooker: O) -> Self {
        Learner {
            segments,
            onlooker,
            log_start: aim.log_start.unwrap_or(i64::MIN),
            until,
            survey: Survey::new(segments, aim.now, until),
            keys: Keys::default(),
            pending: HashMap::default(),
            window: Window::default(),
            inflater: Inflater::with_limit(aim.max_inflated),
            behind: Behind { segments, held: (0, 0), touched: None },
            last: -1,
            number: 0,
            start: 0,
            position: 0,
        }
    }

    /// Reads all of it, and gives back who looked on. `progress` is told of bytes read.
    ///
    /// # Errors
    /// If the work is interrupted, or more batches are damaged than can be remembered.
    pub fn learn(mut self, interrupt: &Interrupt, progress: &mut dyn FnMut(u64)) -> io::Result<(Survey, O)> {
        for (number, segment) in self.segments.iter().enumerate() {
            self.number = number as u32;
            self.start = self.through((self.number, 0));
            self.onlooker.segment(segment);
            // As `verify` has it, the segment before may not go on behind the name of this one.
            if segment.base_offset().is_some_and(|base| base <= self.last) {
                self.damage((self.number, 0), FaultKind::OffsetOrder { previous: self.last });
            }
            // A segment that is empty still says where it begins.
            self.last = self.last.max(segment.base_offset().unwrap_or(0).saturating_sub(1));
            let mut told = 0;
            for span in segment.spans() {
                match span {
                    Span::Batch(batch) => {
                        if batch.position() >= told {
                            interrupt.check()?;
                            progress(self.start + batch.position());
                            told = batch.position() + PROGRESS_STEP;
                            self.let_go();
                        }
                        self.batch(&batch);
                    }
                    Span::Hole(hole) => self.hole(hole),
                }
            }
            self.refuse_ruin(segment)?;
            if segment.was_cut() {
                self.damage((self.number, segment.len()), FaultKind::FileCut);
            }
        }
        self.finish()
    }

    fn finish(mut self) -> io::Result<(Survey, O)> {
        let counts = self.pending.iter().filter(|(_, pending)| pending.last_offset >= self.log_start);
        let open = counts.map(|(id, pending)| OpenTransaction {
            producer_id: *id,
            producer_epoch: pending.epoch,
            first_offset: pending.first_offset,
            last_offset: pending.last_offset,
            batches: pending.batches,
            first_timestamp: pending.first_timestamp,
            last_timestamp: pending.last_timestamp,
        });
        self.survey.open = open.collect();
        self.survey.open.sort_by_key(|open| open.first_offset);
        self.survey.open_from = self.survey.open.iter().map(|it| (it.producer_id, it.first_offset)).collect();
        // What is open stays as it is, and what hides it must stay too.
        for pending in std::mem::take(&mut self.pending).into_values() {
            if pending.places.iter().next().is_some() {
                self.survey.controls = None;
            }
            self.visit(&pending.places, Waiting::Open);
        }
        self.let_go();
        self.survey.keys = self.onlooker.finish(self.keys);
        self.survey.end = self.last.saturating_add(1);
        Ok((self.survey, self.onlooker))
    }

    /// The place of a byte that is counted through all segments.
    #[inline]
    fn place(&self, through: u64) -> Place {
        if through >= self.start {
            return (self.number, through - self.start);
        }
        let number = self.survey.starts.partition_point(|start| *start <= through).saturating_sub(1);
        (number as u32, through - self.survey.starts.get(number).copied().unwrap_or(0))
    }

    /// A place, counted through all segments.
    fn through(&self, (number, position): Place) -> u64 {
        self.survey.starts.get(number as usize).copied().unwrap_or(0) + position
    }

    fn hole(&mut self, hole: Hole) {
        self.onlooker.hole(&hole);
        let place = (self.number, hole.position);
        let is_last = self.number as usize + 1 == self.segments.len();
        let torn = is_last && hole.is_begun();
        let fault = hole.fault;
        match fault {
            FaultKind::TornBatch { .. } if torn => self.survey.torn = Some(Damage { place, fault }),
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

    /// An error if so much is damaged that which batches could not be remembered.
    fn refuse_ruin(&self, segment: &Segment) -> io::Result<()> {
        if self.survey.remedies.len() <= MOST_REMEDIES {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{}: up to here more than {MOST_REMEDIES} batches are damaged; that much is not skipped: 'grouplog salvage' \
             makes a sound log of what is left",
            segment.path().display()
        )))
    }

    #[cold]
    fn damaged_batch(&mut self, place: Place, fault: FaultKind, remedy: Remedy) {
        self.damage(place, fault);
        // Of more, none is remembered, and an error is what comes of it.
        if self.survey.remedies.len() <= MOST_REMEDIES {
            self.survey.remedies.insert(place, remedy);
        }
    }

    #[inline(always)]
    fn batch(&mut self, batch: &Batch<'s>) {
        match batch.header_magic2() {
            Some(header) => self.batch_of(batch, &header),
            None => self.old_batch(batch),
        }
    }

    #[inline(never)]
    fn old_batch(&mut self, batch: &Batch<'s>) {
        self.batch_of(batch, &batch.header());
    }

    #[inline(always)]
    fn batch_of(&mut self, batch: &Batch<'s>, header: &Header) {
        let place = (self.number, batch.position());
        self.position = batch.position();
        if let Err(fault) = batch.check_crc() {
            self.onlooker.left_out(header);
            return self.damaged_batch(place, fault, Remedy::LeaveOut);
        }
        // Of a wrapper, the base offset is that of its last record.
        if header.base_offset <= self.last || header.last_offset < header.base_offset {
            let fault = FaultKind::OffsetOrder { previous: self.last };
            self.onlooker.left_out(header);
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
        match (header.producer_id == -1 && !header.control, counts) {
            (true, true) if self.onlooker.begin(header) => {
                self.collect(batch, header, place, from, Waiting::Committed, Shown::Yes);
                self.onlooker.end(header);
            }
            (true, true) if O::NOTES => self.collect_unseen(batch, header, place, from),
            (true, true) => self.collect(batch, header, place, from, Waiting::Committed, Shown::No),
            (true, false) => self.apart(batch),
            (false, _) => self.of_producer(batch, counts),
        }
        if !counts {
            self.judge(batch, place);
        }
    }

    /// Takes up the keys of a batch that is not to be counted.
    #[inline(never)]
    fn collect_unseen(&mut self, batch: &Batch<'s>, header: &Header, place: Place, from: i64) {
        self.collect(batch, header, place, from, Waiting::Committed, Shown::No);
    }

    /// What is not cleaned is copied as it is, but not with damage in it.
    #[inline(never)]
    fn judge(&mut self, batch: &Batch<'s>, place: Place) {
        let is_new = self.survey.damage.last().is_none_or(|it| it.place != place);
        if let Some(fault) = fault_of(batch, &mut self.inflater).filter(|_| is_new) {
            self.damage(place, fault);
        }
    }

    /// A batch that a producer with an id wrote, or an end marker.
    #[inline(never)]
    fn of_producer(&mut self, batch: &Batch<'s>, counts: bool) {
        let header = batch.header();
        let place = (self.number, batch.position());
        self.survey.producers.batch(&header, self.start + place.1);
        match header.control {
            true => self.control(batch, place, counts),
            false => {
                self.apart(batch);
                self.wait(&header, counts);
            }
        }
    }

    /// Shows a batch whose records are not taken up now.
    #[inline(always)]
    fn apart(&mut self, batch: &Batch<'s>) {
        let Learner { onlooker, keys, window, inflater, .. } = self;
        onlooker.apart(batch, keys, window, inflater);
    }

    fn wait(&mut self, header: &Header, counts: bool) {
        let place = self.start + self.position;
        let pending = self.pending.entry(header.producer_id).or_insert_with(|| Pending {
            epoch: header.producer_epoch,
            first_offset: header.base_offset,
            last_offset: header.last_offset,
            first_timestamp: first_time(header),
            last_timestamp: header.max_timestamp,
            batches: 0,
            places: Places::default(),
        });
        // A broker that starts at the log start never meets what lies wholly below it.
        if pending.last_offset < self.log_start {
            (pending.first_offset, pending.batches) = (header.base_offset, 0);
            pending.first_timestamp = first_time(header);
        }
        pending.epoch = header.producer_epoch;
        pending.last_offset = header.last_offset;
        pending.last_timestamp = pending.last_timestamp.max(header.max_timestamp);
        pending.batches += 1;
        if counts {
            pending.places.push(place);
        }
    }

    fn control(&mut self, batch: &Batch<'s>, place: Place, counts: bool) {
        let header = batch.header();
        let mut ended = None;
        let mut bad = None;
        for item in batch.records(&mut self.inflater).by_ref() {
            match item.as_ref().map_err(|bad| bad.fault.kind.clone()).and_then(|record| {
                let control = Control::parse(record).map_err(|fault| fault.kind)?;
                let ends = matches!(control, Control::Commit(_) | Control::Abort(_));
                let fits = (header.base_offset..=header.last_offset).contains(&record.offset);
                // A broker that starts on anything else of a producer stops.
                if fits && (ends || header.producer_id < 0) {
                    Ok((control, record.offset))
                } else {
                    Err(FaultKind::BadControlRecord)
                }
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
        match bad {
            Some(fault) => {
                self.onlooker.left_out(&header);
                self.damaged_batch(place, fault, Remedy::LeaveOut);
            }
            None => self.apart(batch),
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
    fn visit(&mut self, places: &Places, ended: Waiting) {
        let segments = self.segments;
        let held = (self.position - self.position % WINDOW as u64).saturating_sub(HELD as u64);
        self.behind.held = (self.number, held);
        for through in places.iter() {
            let place = self.place(through);
            let Some(segment) = segments.get(place.0 as usize) else { continue };
            let Some(batch) = frames(segment.bytes(), place.1, segment.len()).next() else { continue };
            self.touch(place, batch.len());
            self.collect_at(&batch, place, ended);
        }
    }

    /// A batch is looked at that may have left memory.
    fn touch(&mut self, place: Place, len: u64) {
        if place < self.behind.held && !self.behind.grow(place, len) {
            self.let_go();
            self.behind.grow(place, len);
        }
    }

    /// Lets go of what was touched. Nothing may wait there: looked at later, it would come back to stay.
    fn let_go(&mut self) {
        self.keys.settle(&mut self.window);
        self.behind.let_go();
    }

    /// Takes up the keys of a batch of a transaction that has ended, or never will.
    #[inline(never)]
    fn collect_at(&mut self, batch: &Batch<'s>, place: Place, ended: Waiting) {
        let header = batch.header();
        self.collect(batch, &header, place, header.base_offset.saturating_sub(1), ended, Shown::No);
    }

    /// Takes up the keys of a batch whose offsets lie above `from`.
    #[inline(always)]
    fn collect(&mut self, batch: &Batch<'s>, header: &Header, place: Place, from: i64, ended: Waiting, shown: Shown) {
        let at = self.through(place);
        let Learner { survey, keys, inflater, window, onlooker, .. } = self;
        let Survey { before, aborted, before_start, .. } = survey;
        let collector = Collector {
            onlooker: (shown == Shown::Yes).then_some(onlooker),
            keys,
            window,
            at,
            base_offset: header.base_offset,
            before,
            aborted,
            before_start,
            log_start: self.log_start,
            first: from.saturating_add(1).max(self.log_start),
            last: header.last_offset,
            ended,
            taken: 0,
            bad: None,
        };
        if let Some(fault) = collector.collect(batch, inflater) {
            self.damaged_batch(place, fault, Remedy::Rebuild);
        }
    }
}

/// The time of a batch's first record, in ms since 1970.
fn first_time(header: &Header) -> i64 {
    if header.attributes & LOG_APPEND_TIME != 0 { header.max_timestamp } else { header.base_timestamp }
}

/// Pages that had left memory before batches of a transaction were looked at, and are to leave it again.
struct Behind<'s> {
    segments: &'s [Segment],
    /// What begins here or behind it is still in memory: the scan holds its window and some before, and lets go of them
    /// itself.
    held: Place,
    /// Of one segment, from a byte to another: no more than a scan holds, so that memory stays bounded.
    touched: Option<(u32, u64, u64)>,
}

impl Behind<'_> {
    /// So many bytes at a place are looked at. False if that is too far from what was touched, which is to be let go first.
    #[inline]
    fn grow(&mut self, (number, at): Place, len: u64) -> bool {
        let (its, from, to) = self.touched.unwrap_or((number, at, at + len));
        let (from, to) = (from.min(at), to.max(at + len));
        let fits = its == number && to - from <= (HELD as u64).max(len);
        if fits {
            self.touched = Some((number, from, to));
        }
        fits
    }

    fn let_go(&mut self) {
        let Some((number, from, to)) = self.touched.take() else { return };
        let to = if number == self.held.0 { to.min(self.held.1) } else { to };
        if let Some(segment) = self.segments.get(number as usize) {
            segment.release(from as usize..to as usize);
        }
    }
}
