//! What the files beside the segments prove of records that are not there: how far the log went, how far each segment, and
//! which segments are gone.
//!
//! Must not know: whose records those were, and where they can be had from.

use super::codes::LOG_CUT;
use super::plan::{Role, Source, SourceId, Sources};
use super::report::{Incident, Outcome};
use super::union::Log;
use crate::log::dir::{OtherFile, OtherKind, PartitionDir, Variant};
use crate::log::producer_state::{self, ABORTED_VERSION, AbortedTxn};
use crate::log::{checkpoint, index};
use crate::model::load::checkpoint_offset;
use std::path::Path;

/// Files of the log dir that name an offset for each partition that its log had come to: what is replicated, flushed, clean.
const CHECKPOINTS: [&str; 3] =
    ["replication-offset-checkpoint", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"];

/// Something that was in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// What.
    pub what: Proved,
    /// The name of the file that proves it.
    pub file: String,
}

impl Proof {
    /// The offset that the log had come to at least.
    pub(super) fn end(&self) -> i64 {
        match self.what {
            Proved::Log(end) | Proved::Segment { end, .. } | Proved::Gone(end) => end,
        }
    }
}

/// What a file proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proved {
    /// The log ended at this offset, or behind it.
    Log(i64),
    /// A segment did.
    Segment {
        /// By its base offset.
        base: i64,
        /// The offset it ended at, or behind.
        end: i64,
        /// Where the batch is that proves it.
        at: At,
    },
    /// There was a segment of this base offset.
    Gone(i64),
}

/// Where a batch is that an index knows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// It begins at this byte.
    Byte(u64),
    /// It begins with this offset.
    Offset(i64),
    /// The index does not say.
    Somewhere,
}

/// What the files of a folder prove. What cannot be read, or makes no sense, proves nothing.
pub fn proofs(dir: &PartitionDir) -> Vec<Proof> {
    let mut proofs: Vec<Proof> = dir.others.iter().filter(|it| it.is_file()).filter_map(of_file).collect();
    // An index beside a segment that a .swap file replaces is that of the one that goes.
    let goes = |proof: &Proof| match proof.what {
        Proved::Segment { base, .. } => dir.replaced().any(|file| file.base_offset == base),
        _ => false,
    };
    proofs.retain(|proof| !goes(proof));
    proofs.extend(CHECKPOINTS.iter().filter_map(|name| {
        let number = dir.partition.filter(|_| dir.variant == Variant::Normal)?;
        let offset = checkpoint_offset(&dir.path, name, number)?;
        Some(Proof { what: Proved::Log(offset), file: (*name).to_owned() })
    }));
    proofs.extend(dir.segments_gone().into_iter().map(|(base, file)| Proof { what: Proved::Gone(base), file }));
    proofs
}

fn of_file(file: &OtherFile) -> Option<Proof> {
    let base = file.name.split_once('.').and_then(|(digits, _)| digits.parse().ok());
    let bytes = || crate::files::read(&file.path).ok();
    let what = match file.kind {
        OtherKind::ProducerSnapshot => Proved::Log(base?),
        OtherKind::LeaderEpochs => leader_epochs(&bytes()?)?,
        OtherKind::OffsetIndex => offset_index(&bytes()?, base?)?,
        OtherKind::TimeIndex => time_index(&bytes()?, base?)?,
        OtherKind::TransactionIndex => aborted(&bytes()?, base?)?,
        _ => return None,
    };
    Some(Proof { what, file: file.name.clone() })
}

fn leader_epochs(bytes: &[u8]) -> Option<Proved> {
    let read = checkpoint::leader_epochs(bytes);
    let ascends = read.entries.is_sorted_by_key(|entry| (entry.epoch, entry.start_offset));
    let last = read.entries.last().filter(|_| read.oddities.is_empty() && ascends)?;
    Some(Proved::Log(last.start_offset))
}

fn offset_index(bytes: &[u8], base: i64) -> Option<Proved> {
    let index = index::offset_index(bytes, base);
    let ascends = index.entries.is_sorted_by_key(|entry| (entry.offset, entry.position));
    let last = index.entries.last().filter(|_| ascends && index.odd_bytes == 0)?;
    Some(Proved::Segment { base, end: last.offset.saturating_add(1), at: At::Byte(last.position.into()) })
}

fn time_index(bytes: &[u8], base: i64) -> Option<Proved> {
    let index = index::time_index(bytes, base);
    let ascends = index.entries.is_sorted_by_key(|entry| (entry.timestamp, entry.offset));
    let last = index.entries.last().filter(|_| ascends && index.odd_bytes == 0)?;
    Some(Proved::Segment { base, end: last.offset.saturating_add(1), at: At::Somewhere })
}

fn aborted(bytes: &[u8], base: i64) -> Option<Proved> {
    let read = producer_state::txn_index(bytes);
    let makes_sense = |it: &AbortedTxn| it.version == ABORTED_VERSION && it.first_offset <= it.last_offset;
    let ascends = read.entries.is_sorted_by_key(|entry| entry.last_offset);
    let last = read.entries.last().filter(|_| ascends && read.entries.iter().all(makes_sense))?;
    // That of the marker, which is a batch of its own.
    Some(Proved::Segment { base, end: last.last_offset.saturating_add(1), at: At::Offset(last.last_offset) })
}

/// Says what is missing of a log, which has the files of this role, by the word of the files beside it.
pub(super) fn tell(log: &mut Log, role: Role, sources: &Sources, proofs: &[Proof]) {
    let of_role = |id| sources.get(id).filter(|source| source.role == role);
    let own: Vec<Own> = (0..).zip(sources.all()).filter_map(|(id, _)| Own::of(id, log, of_role(id)?)).collect();
    let found: Vec<Incident> = (own.iter().enumerate())
        .filter_map(|(i, segment)| segment.cut(own.get(i + 1).map(|next| next.base), log, proofs))
        .chain(proofs.iter().filter_map(|proof| gone(&own, log, proof)))
        .collect();
    log.incidents.extend(found);
    log.incidents.extend(own.last().and_then(|last| log_cut(last, log, proofs)));
}

/// Says of a folder without a segment what is missing: a broker's has one at least.
pub(super) fn tell_all_gone(log: &mut Log, folder: &Path, sources: &mut Sources, proofs: &[Proof]) {
    let first = log.log_start.unwrap_or(0);
    let name = format!("{first:020}.log");
    let path = folder.join(&name);
    let id = sources.add(Source { path, name, base_offset: Some(first), len: 0, role: Role::Own });
    let farthest = proofs.iter().map(|proof| (proof.end(), &proof.file)).max().filter(|(end, _)| *end > first);
    let mut incident = Incident::of(id, 0, 0, "segment-missing", Outcome::Lost);
    incident.message = "no segment is here".to_owned();
    if let Some((end, file)) = farthest {
        incident.message.push_str(&format!("; by {file} the log went on to offset {} at least", end - 1));
    }
    incident.first = Some(first);
    log.incidents.push(incident);
}

/// A segment of the log's own, and what is known of its end.
struct Own {
    id: SourceId,
    base: i64,
    len: u64,
    /// The offset behind all that stays of it, and all that is known to be lost of it.
    end: i64,
}

impl Own {
    fn of(id: SourceId, log: &Log, source: &Source) -> Option<Own> {
        let base = source.base_offset?;
        let parts = log.parts.iter().map(|part| &part.piece).filter(|piece| piece.source == id);
        let lost = log.incidents.iter().filter(|it| it.source == id && it.outcome == Outcome::Lost);
        let last = parts.map(|piece| piece.last).chain(lost.filter_map(|it| it.last)).max();
        Some(Own { id, base, len: source.len, end: base.max(last.map_or(0, |last| last.saturating_add(1))) })
    }

    /// What a segment's own files prove to have been behind its end.
    fn cut(&self, next: Option<i64>, log: &Log, proofs: &[Proof]) -> Option<Incident> {
        let here = || log.incidents.iter().filter(|it| it.source == self.id);
        let is_misnamed = here().any(|it| matches!(it.outcome, Outcome::Renamed | Outcome::Split));
        let farthest = next.unwrap_or(i64::MAX);
        let proof = |proof: &&Proof| match proof.what {
            Proved::Segment { base, end, at } => {
                // An index may know of a write that a stop cut short, which is normal.
                let is_torn = |it: &Incident| {
                    let is_it = match at {
                        At::Byte(at) => at == it.position,
                        At::Offset(at) => it.first.is_none_or(|first| first == at),
                        At::Somewhere => true,
                    };
                    it.code == "torn-batch" && it.outcome == Outcome::Normal && is_it
                };
                (base == self.base && !is_misnamed && (self.end + 1..=farthest).contains(&end) && !here().any(is_torn))
                    .then_some(end)
            }
            _ => None,
        };
        let (end, file) = proofs.iter().filter_map(|it| Some((proof(&it)?, &it.file))).max_by_key(|(end, _)| *end)?;
        let message = format!("by {file} the segment went on to offset {} at least", end - 1);
        // What was behind that, up to the next segment, nothing tells.
        Some(self.incident(LOG_CUT, message, self.first_lost(log, self.end), Some(next.unwrap_or(end) - 1)))
    }

    /// Where what is lost at its end begins: what was lost there already may have been all of it, or some.
    fn first_lost(&self, log: &Log, end: i64) -> i64 {
        let open =
            log.incidents.iter().filter(|it| it.source == self.id && it.outcome == Outcome::Lost && it.last.is_none());
        open.filter_map(|it| it.first).max().unwrap_or(end)
    }

    fn incident(&self, code: &'static str, message: String, first: i64, last: Option<i64>) -> Incident {
        Incident { message, first: Some(first), last, ..Incident::of(self.id, self.len, 0, code, Outcome::Lost) }
    }
}

/// What a file proves to have been behind the log's end.
fn log_cut(last: &Own, log: &Log, proofs: &[Proof]) -> Option<Incident> {
    let lost_end = log.incidents.iter().filter(|it| it.outcome == Outcome::Lost).filter_map(|it| it.last).max();
    let log_end = log.end.max(lost_end.map_or(0, |last| last.saturating_add(1)));
    let proof = |proof: &Proof| match proof.what {
        Proved::Log(end) => (end > log_end).then_some(end),
        _ => None,
    };
    let (end, file) = proofs.iter().filter_map(|it| Some((proof(it)?, &it.file))).max_by_key(|(end, _)| *end)?;
    let message = format!("by {file} the log went on to offset {} at least", end - 1);
    Some(last.incident(LOG_CUT, message, last.first_lost(log, log_end), Some(end - 1)))
}

/// A segment of which only other files are left, if no other segment holds its offsets.
fn gone(own: &[Own], log: &Log, proof: &Proof) -> Option<Incident> {
    let Proved::Gone(base) = proof.what else { return None };
    let next = own.iter().find(|segment| segment.base > base);
    let before = own.iter().rfind(|segment| segment.base < base);
    let holder = before.or(next)?;
    let is_told = |it: &Incident| {
        it.outcome == Outcome::Lost
            && it.first.is_some_and(|first| first <= base)
            && it.last.is_none_or(|last| last >= base)
    };
    let last = next.map(|next| next.base - 1);
    let counts = last.is_none_or(|last| log.log_start.is_none_or(|start| start <= last));
    if before.is_some_and(|before| before.end > base) || !counts || log.incidents.iter().any(is_told) {
        return None;
    }
    let message = format!("{base:020}.log is gone: {} is here", proof.file);
    let position = if before.is_some() { holder.len } else { 0 };
    let first = log.log_start.unwrap_or(base).max(base);
    Some(Incident { position, ..holder.incident("segment-missing", message, first, last) })
}
