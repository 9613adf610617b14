//! The first look at a file: which batches are sound, and what to do with the rest, each stretch on its own.
//!
//! Must not know: offsets that go back (see [`super::order`]), and other copies (see [`super::union`]).

use super::interrupt::Interrupt;
use super::look::{LZ4_CHECKSUM, Look, look, reads_whole};
use super::plan::{Edit, Piece, SourceId, Thin};
use super::report::{Incident, Outcome, Producer};
use crate::fault::FaultKind;
use crate::log::batch::{CRC_FROM, LAST_OFFSET_DELTA_AT, MAGIC_AT, PREFIX_LENGTH};
use crate::log::mend::{Change, likely};
use crate::log::{Batch, Codec, Hole, Inflater, Segment, Span};
use crate::model::losses::is_marker;
use std::io;

/// Where fields of a head of magic 2 stand.
const ATTRIBUTES_AT: usize = 21;
const MAX_TIMESTAMP_AT: usize = 35;
/// Fewer zeros are no sign of a disk that lost its writes.
const FEWEST_ZEROS: usize = 8;
/// The bit of the attributes' low byte.
const TRANSACTIONAL: u8 = 0x10;

/// What to do with what is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// Of batches whose CRC is wrong, keep the records that read whole.
    pub keep_doubtful: bool,
    /// Put right what one changed bit or byte explains.
    pub mend: bool,
}

/// A piece that stays, and the incident that it comes from, if there was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What stays.
    pub piece: Piece,
    /// By its place in [`Survey::incidents`].
    pub incident: Option<usize>,
}

/// What was seen, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// What stays.
    Part(Part),
    /// What does not, by its place in [`Survey::incidents`].
    Gap(usize),
}

/// What was seen of the files of one copy, in order.
#[derive(Debug, Default)]
pub struct Survey {
    /// Stretch by stretch.
    pub entries: Vec<Entry>,
    /// What is not simply copied.
    pub incidents: Vec<Incident>,
    /// Base offsets of the files, in order.
    pub bases: Vec<(SourceId, Option<i64>)>,
    /// Where the log ends by the name of its last file.
    pub end_by_name: i64,
    /// Sound batches in a row that do not belong where they stand, ascending by offset and without overlaps.
    pub displaced: Vec<Part>,
}

impl Survey {
    /// Nothing yet.
    pub fn new() -> Self {
        Survey::default()
    }

    fn part(&mut self, piece: Piece, incident: Option<usize>) {
        if let (Some(Entry::Part(last)), None) = (self.entries.last_mut(), incident)
            && last.incident.is_none()
            && last.piece.join(&piece)
        {
            return;
        }
        if let Some(incident) = incident.and_then(|place| self.incidents.get_mut(place)) {
            (incident.first, incident.last) = (Some(piece.first), Some(piece.last));
        }
        self.entries.push(Entry::Part(Part { piece, incident }));
    }

    fn incident(&mut self, incident: Incident) -> usize {
        self.incidents.push(incident);
        self.incidents.len() - 1
    }

    fn gap(&mut self, incident: Incident) {
        let place = self.incident(incident);
        self.entries.push(Entry::Gap(place));
    }
}

/// Whether a file is the last of its log, to whose end a stopped broker may have been writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It is.
    Yes,
    /// It is not.
    No,
}

/// Looks at files, one by one.
pub struct Surveyor<'s> {
    survey: Survey,
    wishes: Wishes,
    inflater: Inflater,
    interrupt: &'s Interrupt,
    source: SourceId,
}

impl<'s> Surveyor<'s> {
    /// With what to do, and a limit, in bytes, on what one batch may inflate to.
    pub fn new(wishes: Wishes, max_inflated: usize, interrupt: &'s Interrupt) -> Self {
        let inflater = Inflater::with_limit(max_inflated);
        Surveyor { survey: Survey::new(), wishes, inflater, interrupt, source: 0 }
    }

    /// What was seen.
    pub fn finish(self) -> Survey {
        self.survey
    }

    /// Looks at a file. `progress` is told of the bytes done in it.
    ///
    /// # Errors
    /// If the work is interrupted.
    pub fn segment(
        &mut self,
        source: SourceId,
        segment: &Segment,
        last: Last,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<()> {
        self.source = source;
        self.survey.bases.push((source, segment.base_offset()));
        self.survey.end_by_name = self.survey.end_by_name.max(segment.base_offset().unwrap_or(0));
        for span in segment.spans() {
            self.interrupt.check()?;
            match span {
                Span::Hole(hole) => {
                    progress(hole.position);
                    self.hole(segment, &hole, last);
                }
                Span::Batch(batch) => {
                    progress(batch.position());
                    self.batch(&batch);
                }
            }
        }
        if segment.was_cut() {
            return Err(super::plan::at_path(
                segment.path(),
                io::Error::other("the file was cut while it was read: stop the broker, or take a copy"),
            ));
        }
        Ok(())
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole, last: Last) {
        if hole.is_whole_batch && self.mend_frame(segment, hole) {
            return;
        }
        let normal = match hole.fault {
            FaultKind::ZeroTail => true,
            FaultKind::TornBatch { .. } => last == Last::Yes && hole.is_begun(),
            _ => false,
        };
        let outcome = if normal { Outcome::Normal } else { Outcome::Lost };
        self.survey.gap(Incident {
            message: hole.fault.to_string(),
            first: hole.base_offset,
            doubts_next: ends_in_zeros(hole_bytes(segment, hole)),
            ..Incident::of(self.source, hole.position, hole.length, hole.fault.code(), outcome)
        });
    }

    /// Puts length and magic right, which the CRC does not cover; it holds over the rest.
    fn mend_frame(&mut self, segment: &Segment, hole: &Hole) -> bool {
        let bytes = (hole.position as usize).checked_add(hole.length as usize);
        let Some(old) = bytes.and_then(|end| segment.bytes().get(hole.position as usize..end)) else { return false };
        let Some(length) = old.len().checked_sub(PREFIX_LENGTH).and_then(|n| i32::try_from(n).ok()) else {
            return false;
        };
        let mut mended = old.to_vec();
        if let Some(room) = mended.get_mut(8..PREFIX_LENGTH) {
            room.copy_from_slice(&length.to_be_bytes());
        }
        let holds = |bytes: &[u8]| Batch::new(bytes, 0).is_some_and(|batch| batch.check_crc().is_ok());
        if !holds(&mended) {
            match mended.get_mut(MAGIC_AT) {
                Some(magic) => *magic = 2,
                None => return false,
            }
            if !holds(&mended) {
                return false;
            }
        }
        let changes = differences(old, &mended);
        let Some(batch) = Batch::new(&mended, hole.position) else { return false };
        let message = hole.fault.to_string();
        self.mended(&batch, hole.fault.code(), message, changes)
    }

    /// Takes up a batch that was put right, unless something else is wrong with it.
    fn mended(&mut self, batch: &Batch<'_>, code: &'static str, message: String, changes: Vec<Change>) -> bool {
        let look = look(batch, &mut self.inflater);
        if look.records == 0 && batch.header().count != 0 {
            return false;
        }
        let patch = changes.iter().map(|change| (change.at, change.new)).collect();
        let outcome = match look.lost {
            0 => Outcome::Mended(changes),
            lost => Outcome::Partly { kept: look.records, lost },
        };
        let mut incident = self.incident_of(batch, code, message, outcome);
        let piece = self.piece(batch, &look, Edit { patch, thin: look.thin() });
        incident.patch = piece.edit.patch.clone();
        let place = self.survey.incident(incident);
        self.survey.part(piece, Some(place));
        true
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        if let Err(fault) = batch.check_crc() {
            return self.damaged(batch, &fault);
        }
        let look = look(batch, &mut self.inflater);
        if look.first > look.last && self.widened(batch) {
            return;
        }
        if look.first > look.last || look.first < 0 {
            let message = format!("offsets {} to {}", look.first, look.last);
            let mut incident = self.incident_of(batch, "offset-order", message, Outcome::Lost);
            // A wrapper names its last offset only, which is what is wrong.
            incident.last = incident.last.filter(|_| incident.first.is_some());
            return self.survey.gap(incident);
        }
        let Some(fault) = &look.fault else {
            if let Some(right) = look.max_timestamp.filter(|right| *right != batch.header().max_timestamp) {
                return self.greatest_time(batch, &look, right);
            }
            let piece = self.piece(batch, &look, Edit::default());
            return self.survey.part(piece, None);
        };
        let (code, message) = (fault.code(), fault.to_string());
        if fault.is_limit() {
            // What nobody can look into, no broker should be given.
            let message = format!("{message}; a higher --max-inflated would show it");
            let incident = self.incident_of(batch, code, message, Outcome::Lost);
            return self.survey.gap(incident);
        }
        if look.records == 0 {
            let incident = self.incident_of(batch, code, message, Outcome::Lost);
            return self.survey.gap(incident);
        }
        let outcome = Outcome::Partly { kept: look.records, lost: look.lost };
        let message = if look.lz4_checksum { LZ4_CHECKSUM.to_owned() } else { message };
        let code = if look.lz4_checksum { "lz4-header-checksum" } else { code };
        let incident = self.incident_of(batch, code, message, outcome);
        let place = self.survey.incident(incident);
        let piece = self.piece(batch, &look, Edit { thin: look.thin(), ..Edit::default() });
        self.survey.part(piece, Some(place));
    }

    /// A batch whose last offset lies before its first, though its records are sound: it is written anew to span them.
    fn widened(&mut self, batch: &Batch<'_>) -> bool {
        let header = batch.header();
        let records = batch.records(&mut self.inflater).by_ref().flatten().map(|record| record.offset).max();
        let delta = records.and_then(|last| i32::try_from(last.checked_sub(header.base_offset)?).ok());
        let Some(delta) = delta.filter(|delta| header.magic >= 2 && header.base_offset >= 0 && *delta >= 0) else {
            return false;
        };
        let changes = changes_at(batch, LAST_OFFSET_DELTA_AT, &delta.to_be_bytes());
        let bytes = changes.iter().fold(batch.bytes().to_vec(), changed);
        let Some(wider) = Batch::new(&bytes, batch.position()) else { return false };
        let mut look = look(&wider, &mut self.inflater);
        if look.records == 0 {
            return false;
        }
        look.needs_writing = true;
        let message = format!("its last offset, {}, lies before its first", header.last_offset);
        let outcome = Outcome::Partly { kept: look.records, lost: look.lost };
        let incident = self.incident_of(&wider, "offset-order", message, outcome);
        let place = self.survey.incident(incident);
        let patch = changes.iter().map(|change| (change.at, change.new)).collect();
        let piece = self.piece(&wider, &look, Edit { patch, thin: look.thin() });
        self.survey.part(piece, Some(place));
        true
    }

    /// A batch whose head names another greatest timestamp than its records have: it gets theirs.
    fn greatest_time(&mut self, batch: &Batch<'_>, look: &Look, right: i64) {
        let changes = changes_at(batch, MAX_TIMESTAMP_AT, &right.to_be_bytes());
        let said = batch.header().max_timestamp;
        let message = format!("its greatest timestamp is {right}, not {said} as its head says");
        let patch = changes.iter().map(|change| (change.at, change.new)).collect();
        let incident = self.incident_of(batch, "timestamp-mismatch", message, Outcome::Mended(changes));
        let place = self.survey.incident(incident);
        let piece = self.piece(batch, look, Edit { patch, thin: Some(Thin::nothing()) });
        self.survey.part(piece, Some(place));
    }

    /// A batch whose CRC is wrong.
    fn damaged(&mut self, batch: &Batch<'_>, fault: &FaultKind) {
        let change = self.likely_change(batch);
        // What the CRC vouches for is better than what nothing does.
        if let Some(change) = change.filter(|_| self.wishes.mend || self.wishes.keep_doubtful) {
            let mended = patched(batch, &change);
            if let Some(mended) = Batch::new(&mended, batch.position())
                && self.mended(&mended, fault.code(), fault.to_string(), vec![change])
            {
                return;
            }
        }
        let mut incident = self.incident_of(batch, fault.code(), fault.to_string(), Outcome::Lost);
        incident.would_mend = change;
        if let Some(mended) = change.map(|change| patched(batch, &change)) {
            incident.producer = Batch::new(&mended, batch.position()).and_then(|mended| self.producer_of(&mended));
        }
        let doubtful = if self.wishes.keep_doubtful { self.doubtful(batch) } else { None };
        match doubtful {
            Some(look) => {
                incident.outcome = Outcome::Doubtful { kept: look.records, lost: look.lost };
                let place = self.survey.incident(incident);
                let piece = self.piece(batch, &look, Edit { patch: sane_head(batch, &look), thin: look.thin() });
                self.survey.part(piece, Some(place));
            }
            None => {
                incident.doubts_next = change.is_none() && ends_in_zeros(batch.bytes());
                self.survey.gap(incident);
            }
        }
    }

    /// The one change that makes the CRC right and the batch read whole.
    fn likely_change(&mut self, batch: &Batch<'_>) -> Option<Change> {
        likely(batch, |mended| reads_whole(mended, &mut self.inflater))
    }

    /// What of a damaged batch reads whole: frame, key and value. Nothing of a marker, which ends a transaction.
    fn doubtful(&mut self, batch: &Batch<'_>) -> Option<Look> {
        if batch.header().control {
            return None;
        }
        let mut look = look(batch, &mut self.inflater);
        look.lost += look.undecodable.len() as u64;
        look.records -= look.undecodable.len() as u64;
        look.dropped.append(&mut look.undecodable);
        look.dropped.sort_unstable();
        look.needs_writing = true;
        // Of a head that nothing vouches for, the last offset is that of its records.
        let last = batch.records(&mut self.inflater).by_ref().flatten().map(|record| record.offset).max();
        look.last = last.unwrap_or(look.last);
        (look.records > 0 && look.first <= look.last).then_some(look)
    }

    /// Whose transaction a batch is part of, or ends.
    fn producer_of(&mut self, batch: &Batch<'_>) -> Option<Producer> {
        let (header, ends) = (batch.header(), is_marker(batch, &mut self.inflater));
        let (id, epoch) = (header.producer_id, header.producer_epoch);
        (header.transactional || ends).then_some(Producer { id, epoch, ends })
    }

    fn incident_of(&mut self, batch: &Batch<'_>, code: &'static str, message: String, outcome: Outcome) -> Incident {
        let header = batch.header();
        // The offset of a wrapper is that of its last record.
        let is_wrapper = header.magic < 2 && header.codec != Codec::None;
        Incident {
            message,
            first: (!is_wrapper).then_some(header.base_offset),
            last: Some(header.last_offset),
            epoch: (header.partition_leader_epoch >= 0).then_some(header.partition_leader_epoch),
            is_batches: true,
            producer: self.producer_of(batch),
            ..Incident::of(self.source, batch.position(), batch.len(), code, outcome)
        }
    }

    fn piece(&self, batch: &Batch<'_>, look: &Look, edit: Edit) -> Piece {
        Piece {
            source: self.source,
            from: batch.position(),
            to: batch.position() + batch.len(),
            first: look.first,
            last: look.last,
            epoch: batch.header().partition_leader_epoch,
            batches: 1,
            records: look.records,
            edit,
        }
    }
}

/// What to change of a head that nothing vouches for, before it is sealed anew: its greatest timestamp and its last offset
/// are those of its records, and a batch without a producer is part of no transaction.
fn sane_head(batch: &Batch<'_>, look: &Look) -> Box<[(u32, u8)]> {
    let header = batch.header();
    let mut changes = Vec::new();
    if let Some(right) = look.max_timestamp {
        changes.extend(changes_at(batch, MAX_TIMESTAMP_AT, &right.to_be_bytes()));
    }
    if let Some(delta) = look.last.checked_sub(header.base_offset).and_then(|delta| i32::try_from(delta).ok())
        && header.magic >= 2
    {
        changes.extend(changes_at(batch, LAST_OFFSET_DELTA_AT, &delta.to_be_bytes()));
    }
    if header.magic >= 2 && header.transactional && header.producer_id < 0 {
        let low = batch.bytes().get(ATTRIBUTES_AT + 1).copied().unwrap_or_default();
        changes.extend(changes_at(batch, ATTRIBUTES_AT + 1, &[low & !TRANSACTIONAL]));
    }
    changes.iter().map(|change| (change.at, change.new)).collect()
}

/// Whether a stretch ends in so many zeros that they may reach into what stands behind it.
fn ends_in_zeros(bytes: &[u8]) -> bool {
    bytes.last_chunk::<FEWEST_ZEROS>().is_some_and(|tail| tail.iter().all(|byte| *byte == 0))
}

fn hole_bytes<'s>(segment: &'s Segment, hole: &Hole) -> &'s [u8] {
    let (from, end) = (usize::try_from(hole.position), usize::try_from(hole.position + hole.length));
    from.ok().zip(end.ok()).and_then(|(from, end)| segment.bytes().get(from..end)).unwrap_or_default()
}

/// What differs of a batch from what should stand at a place.
fn changes_at(batch: &Batch<'_>, at: usize, right: &[u8]) -> Vec<Change> {
    let old = batch.bytes().get(at..at + right.len()).unwrap_or_default();
    let pairs = old.iter().zip(right).enumerate().filter(|(_, (old, new))| old != new);
    pairs.map(|(i, (&old, &new))| Change { at: (at + i) as u32, old, new }).collect()
}

pub(super) fn patched(batch: &Batch<'_>, change: &Change) -> Vec<u8> {
    changed(batch.bytes().to_vec(), change)
}

fn changed(mut bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    if let Some(room) = bytes.get_mut(change.at as usize) {
        *room = change.new;
    }
    bytes
}

/// Where a head was changed: what the CRC covers is the same.
fn differences(old: &[u8], new: &[u8]) -> Vec<Change> {
    let pairs = old.iter().zip(new).take(CRC_FROM).enumerate();
    pairs.filter(|(_, (old, new))| old != new).map(|(at, (&old, &new))| Change { at: at as u32, old, new }).collect()
}
