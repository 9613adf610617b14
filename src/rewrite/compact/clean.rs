//! The second pass of a compaction: hands on what stays, batch by batch.
//!
//! Only batches that may stay are looked at: those that hold the last record of some key, control batches, and what
//! producers are remembered by. Must not know: where they go to.

use super::keys::{Keys, hash_of};
use super::rebuild::Rebuild;
use super::roll::Roll;
use super::route::{stops, visit};
use super::slot::Winner;
use super::survey::{Place, Remedy, Survey};
use super::tally::Tally;
use super::{Aim, base_of};
use crate::log::batch::{DELETE_HORIZON, HEADER_LENGTH, Header};
use crate::log::build::{Entry, framed_length};
use crate::log::{Batch, Codec, Control, Inflater, Record, Segment, Span};
use crate::rewrite::interrupt::Interrupt;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use std::io;
use std::ops::ControlFlow;

/// Where batches go to.
pub trait Sink {
    /// A segment begins, with this base offset, which may grow to so many bytes.
    ///
    /// # Errors
    /// If it cannot be made.
    fn segment(&mut self, base_offset: i64, limit: u64) -> io::Result<()>;
    /// What of the batch at this place stays: it is handed on next.
    fn original(&mut self, _original: &Batch<'_>, _place: Place, _stays: Stays<'_>) {}
    /// A batch stays.
    ///
    /// # Errors
    /// If it cannot be written.
    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()>;
    /// What it makes of a batch.
    fn takes(&self) -> Takes {
        Takes::Bytes
    }
}

/// What a sink makes of the batches that it is handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It looks at them.
    Bytes,
    /// Nothing: they are only counted, and need not be handed to it, nor be made.
    Nothing,
}

/// What stays of a batch that stays.
#[derive(Debug, Clone, Copy)]
pub enum Stays<'s> {
    /// All of it.
    All,
    /// Its head.
    Head,
    /// Its head, and these records, framed as they are in it.
    Records(&'s [Entry<'s>]),
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What stays of what was cleaned.
    pub after: Tally,
    /// What lies behind it and stays as it is: batches, records and bytes.
    pub behind: Tally,
    /// Tombstones that went because their time was over.
    pub expired_tombstones: Roll,
    /// End markers that went because their time was over.
    pub expired_markers: u64,
    /// Batches that were written anew.
    pub rewritten: u64,
    /// Batches that got a delete horizon in this pass.
    pub new_horizons: u64,
}

impl Cleaned {
    /// Counts a batch that would be written anew, where nobody takes it; whether it could be. Of what is compressed, the
    /// length is known only when it is done.
    fn count_unmade(&mut self, head: &Header, entries: &[Entry<'_>]) -> bool {
        if head.magic != 2 || head.codec != Codec::None {
            return false;
        }
        let mut bytes = HEADER_LENGTH;
        for it in entries {
            let length = framed_length(head, it);
            bytes += length;
            if !head.control {
                self.after.count(it.key, it.value.is_some(), length);
            }
        }
        self.after.batches += 1;
        self.after.bytes += bytes as u64;
        self.after.horizons += u64::from(head.delete_horizon_ms.is_some());
        self.rewritten += 1;
        true
    }
}

/// Goes through the log that was surveyed. `progress` is told of bytes read.
///
/// # Errors
/// Those of the sink, if a batch cannot be written anew, or the work is interrupted.
pub fn clean(
    segments: &[Segment],
    survey: &Survey,
    aim: &Aim,
    interrupt: &Interrupt,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Cleaned> {
    let winners = survey.winners();
    let stops = survey.controls.as_ref().map(|controls| stops(survey, &winners, controls));
    let mut cleaner = Cleaner {
        survey,
        aim,
        log_start: aim.log_start.unwrap_or(i64::MIN),
        winners: winners.iter(),
        here: Vec::new(),
        unended: HashSet::default(),
        inflater: Inflater::with_limit(aim.max_inflated),
        rebuild: Rebuild::new(aim.max_inflated),
        sink,
        cleaned: Cleaned::default(),
        closed_until: aim.closed_until(segments),
        base: None,
    };
    let closed_until = cleaner.closed_until;
    let first = first_segment(segments, cleaner.log_start);
    for (number, segment) in segments.iter().enumerate() {
        let base = base_of(segment);
        if number == first && base < closed_until {
            cleaner.segment(base, aim.segment_bytes)?;
        } else if base == closed_until {
            // The segment that a broker would go on writing keeps its place, and its size.
            cleaner.segment(base, u64::MAX)?;
        }
        let start = survey.starts.get(number).copied().unwrap_or(0);
        let mut look = |batch: &Batch<'_>| {
            interrupt.check()?;
            progress(start + batch.position());
            cleaner.batch(batch, (number as u32, batch.position()))
        };
        let every_from = match &stops {
            None => 0,
            Some(stops) => {
                let within = start..start + segment.len();
                let from = stops.partition_point(|stop| *stop < within.start);
                let to = stops.partition_point(|stop| *stop < within.end);
                visit(segment, start, stops.get(from..to).unwrap_or_default(), &mut look)?;
                survey.behind.map_or(u64::MAX, |behind| behind.saturating_sub(start))
            }
        };
        if every_from < segment.len() {
            for span in segment.spans_from(every_from) {
                let Span::Batch(batch) = span else { continue };
                look(&batch)?;
            }
        }
    }
    Ok(cleaner.cleaned)
}

/// The first segment that has something at or above the log start.
fn first_segment(segments: &[Segment], log_start: i64) -> usize {
    segments.iter().rposition(|segment| base_of(segment) <= log_start).unwrap_or(0)
}

struct Cleaner<'c> {
    survey: &'c Survey,
    aim: &'c Aim,
    log_start: i64,
    /// Last records of keys that are still to come, by offset.
    winners: std::slice::Iter<'c, Winner>,
    /// The offsets of those in the batch at hand.
    here: Vec<i64>,
    /// Producers of which a data batch was met since their last end marker: kept only where every batch is looked at.
    unended: HashSet<i64, RandomState>,
    inflater: Inflater,
    rebuild: Rebuild,
    sink: &'c mut dyn Sink,
    cleaned: Cleaned,
    /// Where the segment begins that a broker goes on writing.
    closed_until: i64,
    /// What the last segment was named after that was begun here.
    base: Option<i64>,
}

/// What is to be done with a marker.
enum End {
    Stays,
    /// It stays, and its time begins to run.
    Dated,
    Goes,
}

impl Cleaner<'_> {
    #[inline]
    fn batch(&mut self, batch: &Batch<'_>, place: Place) -> io::Result<()> {
        let header = batch.header();
        let remedy = if self.survey.remedies.is_empty() { None } else { self.survey.remedies.get(&place).copied() };
        if remedy == Some(Remedy::LeaveOut) {
            return Ok(());
        }
        if header.last_offset < self.log_start {
            return Ok(());
        }
        if header.base_offset >= self.survey.until {
            return self.behind(batch, place);
        }
        if header.control {
            return self.control(batch, &header, place);
        }
        if header.producer_id != -1 {
            if self.survey.is_open(&header) {
                return self.as_it_is(batch, place);
            }
            if self.survey.controls.is_none() {
                self.unended.insert(header.producer_id);
            }
        }
        match self.has_winners(header.last_offset) {
            true => self.thin(batch, &header, place, remedy),
            false => self.emptied(batch, &header, place),
        }
    }

    /// Takes the winners up to an offset; whether there is one.
    #[inline]
    fn has_winners(&mut self, last: i64) -> bool {
        let mut any = false;
        while let Some(offset) = self.winners.as_slice().first().map(|it| it.offset).filter(|offset| *offset <= last) {
            if !any {
                self.here.clear();
            }
            any = true;
            self.here.push(offset);
            self.winners.next();
        }
        any
    }

    fn segment(&mut self, base_offset: i64, limit: u64) -> io::Result<()> {
        self.base = Some(base_offset);
        self.sink.segment(base_offset, limit)
    }

    /// Begins a segment with the first batch of the first open transaction. A broker's cleaner takes segments whole: so it
    /// can go over what lies before.
    fn part(&mut self, header: &Header) -> io::Result<()> {
        let Some(pin) = self.survey.open.first().map(|open| open.first_offset) else { return Ok(()) };
        let is_behind = (pin..self.closed_until).contains(&header.base_offset);
        if is_behind && self.base.is_some_and(|base| base < pin) {
            self.segment(pin, self.aim.segment_bytes)?;
        }
        Ok(())
    }

    /// A batch behind what is cleaned.
    fn behind(&mut self, batch: &Batch<'_>, place: Place) -> io::Result<()> {
        let header = batch.header();
        self.part(&header)?;
        let behind = &mut self.cleaned.behind;
        behind.batches += 1;
        behind.bytes += batch.len();
        behind.records += match u64::try_from(header.count) {
            Ok(count) => count,
            // A wrapper does not say.
            Err(_) => batch.records(&mut self.inflater).by_ref().filter(Result::is_ok).count() as u64,
        };
        self.sink.original(batch, place, Stays::All);
        self.sink.batch(batch)
    }

    /// A batch of which all stays.
    fn as_it_is(&mut self, batch: &Batch<'_>, place: Place) -> io::Result<()> {
        self.part(&batch.header())?;
        let after = &mut self.cleaned.after;
        batch.records(&mut self.inflater).by_ref().flatten().for_each(|record| after.record(&record));
        self.sink.original(batch, place, Stays::All);
        self.put(batch)
    }

    fn put(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let header = batch.header();
        let after = &mut self.cleaned.after;
        after.batches += 1;
        after.bytes += batch.len();
        after.empty += u64::from(header.count == 0);
        after.horizons += u64::from(header.delete_horizon_ms.is_some());
        self.sink.batch(batch)
    }

    /// A batch that was written anew.
    fn put_built(&mut self, position: u64) -> io::Result<()> {
        let built = self.rebuild.take();
        let batch = Batch::new(&built, position).ok_or(io::ErrorKind::InvalidData)?;
        self.cleaned.rewritten += 1;
        self.put(&batch)?;
        self.rebuild.give_back(built);
        Ok(())
    }

    /// A batch of whose records none stays.
    #[inline]
    fn emptied(&mut self, batch: &Batch<'_>, header: &Header, place: Place) -> io::Result<()> {
        let is_needed = self.survey.newest.is_some_and(|(last, _)| last == header.last_offset)
            || self.survey.producers.needs(header);
        if !is_needed || header.magic < 2 {
            return Ok(());
        }
        self.sink.original(batch, place, Stays::Head);
        let attributes = header.attributes & !DELETE_HORIZON;
        let head = Header { attributes, delete_horizon_ms: None, base_timestamp: -1, ..*header };
        self.rebuild.batch(&head, &[], |_| {})?;
        if self.rebuild.bytes() == batch.bytes() {
            return self.put(batch);
        }
        self.put_built(batch.position())
    }

    /// A batch that has the last record of some key.
    fn thin(&mut self, batch: &Batch<'_>, header: &Header, place: Place, remedy: Option<Remedy>) -> io::Result<()> {
        let expired = header.delete_horizon_ms.is_some_and(|horizon| horizon <= self.aim.now);
        let Cleaner { survey, here, cleaned, inflater, rebuild, sink, .. } = self;
        let entries = Vec::with_capacity(here.len());
        let mut thinned = Thinned {
            keys: &survey.keys,
            here,
            expired,
            entries,
            all: remedy.is_none(),
            gone: &mut cleaned.expired_tombstones,
        };
        let _: ControlFlow<()> =
            batch.records(inflater).each(&mut thinned, Thinned::record, |_, _| ControlFlow::Continue(()));
        let Thinned { mut entries, all, .. } = thinned;
        let tombstones = entries.iter().any(|entry| entry.value.is_none());
        let dated = tombstones && header.magic >= 2 && header.delete_horizon_ms.is_none();
        if entries.is_empty() {
            return self.emptied(batch, header, place);
        }
        sink.original(batch, place, Stays::Records(&entries));
        if all && !dated {
            for it in &entries {
                cleaned.after.count(it.key, it.value.is_some(), it.framed.map_or(0, <[u8]>::len));
            }
            return self.put(batch);
        }
        let head = match dated {
            true => with_horizon(header, self.aim),
            false => rebased(header, &entries),
        };
        if head.base_timestamp != header.base_timestamp {
            entries.iter_mut().for_each(|entry| entry.framed = None);
        }
        if sink.takes() == Takes::Nothing && cleaned.count_unmade(&head, &entries) {
            cleaned.new_horizons += u64::from(dated);
            return Ok(());
        }
        // Counted as it now stands there: with another first time, records are not as long as they were.
        rebuild.batch(&head, &entries, |record| cleaned.after.record(record))?;
        cleaned.new_horizons += u64::from(dated);
        self.put_built(batch.position())
    }

    fn control(&mut self, batch: &Batch<'_>, header: &Header, place: Place) -> io::Result<()> {
        let end = self.end(batch, header, place);
        if !matches!(end, End::Goes) {
            self.sink.original(batch, place, Stays::All);
        }
        match end {
            End::Stays => {
                self.count_control(batch);
                self.put(batch)
            }
            End::Goes => {
                self.cleaned.expired_markers += u64::from(header.count > 0);
                self.emptied(batch, header, place)
            }
            End::Dated => {
                let head = with_horizon(header, self.aim);
                self.count_control(batch);
                let Cleaner { inflater, rebuild, cleaned, sink, .. } = self;
                cleaned.new_horizons += 1;
                let entries: Vec<_> =
                    batch.records(inflater).by_ref().flatten().map(|record| Entry::anew(&record)).collect();
                if sink.takes() == Takes::Nothing && cleaned.count_unmade(&head, &entries) {
                    return Ok(());
                }
                rebuild.batch(&head, &entries, |_| {})?;
                self.put_built(batch.position())
            }
        }
    }

    /// What is to be done with a control batch. A marker never goes before the records that it ends.
    fn end(&mut self, batch: &Batch<'_>, header: &Header, place: Place) -> End {
        if header.count == 0 {
            return End::Goes;
        }
        let control = batch.records(&mut self.inflater).by_ref().flatten().next().map(|it| Control::parse(&it));
        let Some(Ok(Control::Commit(_) | Control::Abort(_))) = control else { return End::Stays };
        let has_data = self.has_data(header, place);
        match header.delete_horizon_ms {
            _ if has_data => End::Stays,
            Some(horizon) if horizon <= self.aim.now => End::Goes,
            Some(_) => End::Stays,
            None => End::Dated,
        }
    }

    /// Whether records of a marker's transaction were met in this pass.
    fn has_data(&mut self, header: &Header, place: Place) -> bool {
        let Some(controls) = &self.survey.controls else { return self.unended.remove(&header.producer_id) };
        let place = self.survey.starts.get(place.0 as usize).copied().unwrap_or(0) + place.1;
        let found = controls.binary_search_by_key(&place, |control| control.0);
        found.ok().and_then(|at| controls.get(at)).is_some_and(|(_, has_data)| *has_data)
    }

    fn count_control(&mut self, batch: &Batch<'_>) {
        let after = &mut self.cleaned.after;
        for record in batch.records(&mut self.inflater).by_ref().flatten() {
            after.records += 1;
            match Control::parse(&record) {
                Ok(Control::Commit(_)) => after.commits += 1,
                Ok(Control::Abort(_)) => after.aborts += 1,
                _ => {}
            }
        }
    }
}

/// The records of a batch that stay.
struct Thinned<'t, 'b> {
    keys: &'t Keys,
    /// The offsets of those that are the last of their keys.
    here: &'t [i64],
    /// Whether tombstones go.
    expired: bool,
    entries: Vec<Entry<'b>>,
    /// Whether all so far stay.
    all: bool,
    /// Tombstones that went.
    gone: &'t mut Roll,
}

impl<'b> Thinned<'_, 'b> {
    #[inline(always)]
    fn record(&mut self, record: &Record<'b>) -> ControlFlow<()> {
        match record.key {
            Some(key) if self.here.binary_search(&record.offset).is_ok() => self.winner(record, key),
            _ => self.all = false,
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn winner(&mut self, record: &Record<'b>, key: &[u8]) {
        if record.value.is_none() && self.expired && !self.keys.is_pinned(key) {
            self.gone.add(hash_of(key), record.offset);
            self.all = false;
            return;
        }
        self.entries.push(Entry::as_framed(record));
    }
}

/// A head with the horizon that this pass gives.
fn with_horizon(header: &Header, aim: &Aim) -> Header {
    let horizon = aim.now.saturating_add(aim.delete_retention_ms);
    Header {
        attributes: header.attributes | DELETE_HORIZON,
        delete_horizon_ms: Some(horizon),
        base_timestamp: horizon,
        ..*header
    }
}

/// A head whose first time is that of the first record that stays, as a cleaner writes it, unless it is a horizon.
fn rebased(header: &Header, entries: &[Entry<'_>]) -> Header {
    let first = entries.first().map_or(header.base_timestamp, |entry| entry.timestamp);
    let keeps = header.delete_horizon_ms.is_some() || header.magic < 2;
    Header { base_timestamp: if keeps { header.base_timestamp } else { first }, ..*header }
}
