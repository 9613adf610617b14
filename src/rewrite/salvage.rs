//! The policy of `salvage`: everything that can be read stays, in order; what cannot is told by key.
//!
//! Must not know: where the new log goes to, and how anything is printed.

mod gather;
mod lose;
mod sides;

use super::apply::PartitionPlan;
use super::hanging::{Hanging, LostMarker};
use super::interrupt::Interrupt;
use super::plan::{Reader, Role, SourceId, Sources, Thin, frames, patched_frames};
use super::reached::Proof;
use super::report::{Incident, Outcome};
use super::revived::Revived;
use super::survey::{Wishes, patched};
use super::union::{Joined, Log, Take};
use crate::log::{Batch, Inflater};
use crate::model::losses::{Losses, LostKey, Word, is_marker};
use gather::Gathering;
use lose::{Kept, Lost, Stays};
pub use sides::{Sides, sides};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// A segment file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileIn {
    /// Where it is.
    pub path: PathBuf,
    /// From its name.
    pub base_offset: Option<i64>,
    /// In bytes.
    pub len: u64,
}

/// What is salvaged, and out of what.
#[derive(Debug, Clone, Default)]
pub struct Wreck {
    /// The segments that count, in order.
    pub own: Vec<FileIn>,
    /// The folder they are in, if it could be read.
    pub folder: Option<PathBuf>,
    /// Segment files beside them that do not count.
    pub leftovers: Vec<FileIn>,
    /// Other copies.
    pub replicas: Vec<Replica>,
    /// The first offset that counts, if the log dir names one.
    pub log_start: Option<i64>,
    /// What was in the log, as files beside it tell.
    pub proofs: Vec<Proof>,
}

/// Another copy of a log.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    /// Its segments, in order.
    pub files: Vec<FileIn>,
    /// What was in it, as files beside it tell.
    pub proofs: Vec<Proof>,
}

impl Wreck {
    /// Whether there is anything to read.
    pub fn has_files(&self) -> bool {
        !self.own.is_empty() || !self.leftovers.is_empty() || self.replicas.iter().any(|it| !it.files.is_empty())
    }
}

/// How to salvage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// What to do with what is in doubt.
    pub wishes: Wishes,
    /// How much to take from leftover files.
    pub leftovers: Take,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
}

/// What joining another copy showed, and whose it is.
#[derive(Debug)]
pub struct JoinedFrom {
    /// Whose.
    pub role: Role,
    /// What it showed.
    pub joined: Joined,
    /// Records that were left out again, because they would have come back from the dead.
    pub guarded: u64,
    /// Damaged stretches of the copy itself.
    pub damaged: u64,
    /// Keys that may be alive again.
    pub revived: Vec<Revived>,
}

/// A transaction without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// Whose.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The log offset of its first batch.
    pub first: i64,
}

/// A salvaged partition, on paper.
#[derive(Debug, Default)]
pub struct Salvage {
    /// The files.
    pub sources: Sources,
    /// What stays, and what was found.
    pub log: Log,
    /// What other copies gave.
    pub joined: Vec<JoinedFrom>,
    /// Keys of lost records, by place.
    pub lost: Vec<LostKey>,
    /// Lost records whose keys are not in `lost`, because there are too many.
    pub lost_beyond: u64,
    /// Lost records whose keys cannot be read.
    pub unreadable: u64,
    /// Ends of transactions that are lost.
    pub markers: Vec<LostMarker>,
    /// Transactions that are open in the new log, if anything was lost or came from elsewhere: their ends may be lost.
    pub open: Vec<Open>,
    /// Base offsets of the old segments.
    rolls: Vec<i64>,
    max_inflated: usize,
}

/// Reads a wreck, and says what stays of it. `progress` is told of bytes read of its own segments.
///
/// # Errors
/// If a file cannot be read, or the work is interrupted.
pub fn survey(
    wreck: &Wreck,
    manner: &Manner,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Salvage> {
    let mut gathering = Gathering::new(manner, interrupt);
    gathering.own(wreck, progress)?;
    for (number, replica) in wreck.replicas.iter().enumerate() {
        gathering.replica(Role::Replica(number as u32), replica)?;
    }
    // The newest first: what replaced what stands in it. Each file is a log of its own, for they overlap.
    for file in wreck.leftovers.iter().rev() {
        if manner.leftovers == Take::Lost && !gathering.log.incidents.iter().any(Incident::loses_still) {
            break;
        }
        gathering.leftover(file)?;
    }
    gathering.explain()?;
    let mut rolls: Vec<i64> = wreck.own.iter().filter_map(|file| file.base_offset).collect();
    rolls.sort_unstable();
    let Gathering { sources, log, joined, .. } = gathering;
    Ok(Salvage { sources, log, joined, rolls, max_inflated: manner.max_inflated, ..Salvage::default() })
}

impl Salvage {
    /// What to write.
    pub fn plan(&self, metadata: Option<Vec<u8>>, leader_epochs: Option<Vec<u8>>) -> PartitionPlan {
        let pieces = self.log.parts.iter().map(|part| part.piece.clone()).collect();
        PartitionPlan { pieces, rolls: self.rolls.clone(), end: self.end(), metadata, leader_epochs }
    }

    /// Where the new log ends: also where the old one did, if its last records are lost but their offsets are known.
    pub fn end(&self) -> i64 {
        let losing = self.log.incidents.iter().filter(|it| matches!(it.outcome, Outcome::Lost) && it.is_batches);
        let lost_end =
            losing.filter_map(|it| it.last.or(it.head_last)).map(|last| last.saturating_add(1)).max().unwrap_or(0);
        let overruled = self.joined.iter().any(|it| it.joined.diverged.is_some_and(|(_, theirs_win)| theirs_win));
        if overruled { self.log.end } else { self.log.end.max(lost_end) }
    }

    /// Offsets of the log's own batches that stay, ascending, each with the leader epoch that the batch names: the first and
    /// the last of every run of one epoch.
    pub fn own_epochs(&self) -> impl Iterator<Item = (i64, i32)> {
        let is_own = |id: SourceId| self.sources.get(id).is_some_and(|it| it.role == Role::Own);
        let own = self.log.parts.iter().map(|part| &part.piece).filter(move |piece| is_own(piece.source));
        own.flat_map(|piece| [(piece.first, piece.epoch), (piece.last, piece.epoch)])
    }

    /// Whether there is anything to tell.
    pub fn is_damaged(&self) -> bool {
        self.log.incidents.iter().any(|incident| incident.outcome.is_damage())
            || self
                .joined
                .iter()
                .any(|it| it.joined.conflicts_in_all > 0 || it.joined.diverged.is_some() || !it.joined.added.is_empty())
    }

    /// Takes records out by their offsets; says of each what it was.
    ///
    /// # Errors
    /// If a file cannot be read again.
    pub fn drop_records(&mut self, offsets: &BTreeMap<i64, String>) -> io::Result<()> {
        let mut inflater = Inflater::with_limit(self.max_inflated);
        let mut parts = Vec::new();
        for part in std::mem::take(&mut self.log.parts) {
            if offsets.range(part.piece.first..=part.piece.last).next().is_none() {
                parts.push(part);
                continue;
            }
            let segment = self.sources.open(part.piece.source)?;
            for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
                let mut single = part.clone();
                let look = super::look::look(&batch, &mut inflater);
                single.piece.from = batch.position();
                single.piece.to = batch.position() + batch.len();
                single.piece.batches = 1;
                if part.piece.batches > 1 {
                    (single.piece.first, single.piece.last) = (look.first, look.last);
                    single.piece.records = look.records;
                }
                let thin = single.piece.edit.thin.clone().unwrap_or_else(Thin::nothing);
                let mut dropped = thin.dropped.to_vec();
                for (place, item) in batch.records(&mut inflater).enumerate() {
                    let Ok(record) = item else { continue };
                    let Some(why) = offsets.get(&record.offset) else { continue };
                    if !thin.within.contains(&record.offset) || dropped.contains(&(place as u32)) {
                        continue;
                    }
                    dropped.push(place as u32);
                    let mut incident = super::order::incident_of(&single.piece, "unloadable", Outcome::Unloadable);
                    (incident.first, incident.last) = (Some(record.offset), Some(record.offset));
                    incident.message = why.clone();
                    self.log.incidents.push(incident);
                    single.piece.records = single.piece.records.saturating_sub(1);
                }
                dropped.sort_unstable();
                if dropped.len() > thin.dropped.len() {
                    single.piece.edit.thin = Some(Thin { dropped: dropped.into(), ..thin });
                    single.incident = Some(self.log.incidents.len() - 1);
                    if single.piece.records == 0 {
                        continue;
                    }
                }
                parts.push(single);
            }
        }
        self.log.parts = parts;
        Ok(())
    }

    /// Says which keys are lost, and what stands in their place. Walks the new log once if any is.
    ///
    /// # Errors
    /// If a file cannot be read again, or the work is interrupted.
    pub fn settle_losses(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        let mut losses = Losses::new();
        let mut hanging = Hanging::default();
        self.collect(&mut losses, &mut hanging)?;
        let mut inflater = Inflater::with_limit(self.max_inflated);
        if !hanging.is_empty() || self.is_damaged() {
            let mut open: BTreeMap<i64, Open> = BTreeMap::new();
            self.each_batch(interrupt, |source, batch| {
                let header = batch.header();
                let (producer_id, producer_epoch) = (header.producer_id, header.producer_epoch);
                if header.control {
                    open.remove(&producer_id);
                } else if header.transactional {
                    open.entry(producer_id).or_insert(Open { producer_id, producer_epoch, first: header.base_offset });
                }
                hanging.batch(source, batch, &mut inflater);
            })?;
            self.open = open.into_values().collect();
        }
        self.markers = hanging.finish(&mut losses);
        let told: BTreeSet<i64> = self.markers.iter().map(|marker| marker.producer_id).collect();
        self.open.retain(|open| !told.contains(&open.producer_id));
        if !losses.is_empty() {
            self.each_batch(interrupt, |_, batch| losses.survivors(batch, &mut inflater))?;
        }
        self.lost_beyond = losses.beyond();
        self.lost = losses.finish();
        self.doubt_compaction();
        Ok(())
    }

    /// What compaction is said to have taken in another copy is lost after all where nothing came in its place.
    fn doubt_compaction(&mut self) {
        let incidents = &mut self.log.incidents;
        let mut places: Vec<(SourceId, u64, usize)> = (incidents.iter().enumerate())
            .filter(|(_, it)| !it.compacted.is_empty())
            .map(|(number, it)| (it.source, it.position, number))
            .collect();
        places.sort_unstable();
        self.lost.retain(|lost| {
            let at = (lost.at.segment, lost.at.position);
            let behind = places.partition_point(|(source, position, _)| (*source, *position) <= at);
            let before = behind.checked_sub(1).and_then(|place| places.get(place)).map(|(_, _, number)| *number);
            let Some(incident) = before.and_then(|number| incidents.get_mut(number)) else { return true };
            if incident.source != at.0 || incident.position + incident.length <= at.1 {
                return true;
            }
            let is_told = lost.superseded_by.is_none() && lost.aborted_by.is_none();
            if is_told && matches!(incident.outcome, Outcome::Filled(_)) {
                incident.outcome = Outcome::Lost;
                incident.message.push_str(", but nothing came in its place");
            }
            is_told
        });
    }

    /// Shows every batch of the new log, and which file it is from.
    fn each_batch(&mut self, interrupt: &Interrupt, mut see: impl FnMut(SourceId, &Batch<'_>)) -> io::Result<()> {
        let mut reader = Reader::new(self.max_inflated);
        for part in &self.log.parts {
            reader.piece(&mut self.sources, &part.piece, |batch| {
                interrupt.check()?;
                see(part.piece.source, batch);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Every record of a stretch that is not simply copied, and that the new log lacks.
    fn collect(&mut self, losses: &mut Losses, hanging: &mut Hanging) -> io::Result<()> {
        let mut inflater = Inflater::with_limit(self.max_inflated);
        let kept = Kept::of(&self.log);
        let mut seen: BTreeSet<(SourceId, u64)> = BTreeSet::new();
        let mut room = Vec::new();
        let log_end = self.log.end;
        let mut dark = Vec::new();
        for (number, incident) in self.log.incidents.iter().enumerate() {
            let may_lose = incident.outcome.loses() || !incident.compacted.is_empty();
            if !may_lose || !incident.is_batches {
                continue;
            }
            let segment = self.sources.open(incident.source)?;
            let end = incident.position + incident.length;
            let stretch = (incident.position, end);
            for batch in patched_frames(segment.bytes(), stretch, &incident.patch, &mut room) {
                let place = (incident.source, batch.position());
                if !seen.insert(place) {
                    continue;
                }
                let stays = kept.batch(place);
                // Damaged bytes may name a group that never was.
                let mend = incident.would_mend.filter(|_| batch.check_crc().is_err());
                let mended = mend.map(|change| patched(&batch, &change));
                let mended = mended.as_deref().and_then(|bytes| Batch::new(bytes, batch.position()));
                losses.vouched_by(match (&mended, batch.check_crc()) {
                    (Some(_), _) => Word::Mended,
                    (None, Ok(())) => Word::Sound,
                    (None, Err(_)) => Word::Doubtful,
                });
                let batch = mended.unwrap_or(batch);
                if is_marker(&batch, &mut inflater) {
                    if stays == Stays::Nothing {
                        hanging.lost(number, incident, &batch, &mut inflater);
                    }
                    continue;
                }
                let lost = Lost { incident, batch, stays, log_end };
                let unseen = lost.lose(losses, &mut inflater);
                if !incident.outcome.loses() {
                    continue;
                }
                self.unreadable += unseen.records;
                dark.push((number, unseen));
            }
        }
        for (number, unseen) in dark {
            if let Some(incident) = self.log.incidents.get_mut(number) {
                incident.may_be_more |= unseen.may_be_more;
                incident.dark_records += unseen.records;
                incident.dark_at.extend(unseen.at);
            }
        }
        Ok(())
    }
}
