//! What a new log is made of: pieces of old files, in the order of their offsets.
//!
//! A plan is small where little changes: neighbouring batches that are copied as they are make one piece. A batch that
//! is not says how: patched, or with some records left out.
//! Must not know: why a batch stays or goes, and where the new log goes to.

use crate::log::batch::PREFIX_LENGTH;
use crate::log::build::{Builder, thinned};
use crate::log::{Batch, Inflater, Segment};
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// So many bytes of a file stay in memory behind the place that is read.
const HELD: u64 = 4 << 20;
/// So many files are mapped at once.
const MOST_MAPPED: usize = 4;

/// The number of a file among [`Sources`].
pub type SourceId = u32;

/// A file that pieces come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, without the folder.
    pub name: String,
    /// From its name.
    pub base_offset: Option<i64>,
    /// In bytes, when it was listed.
    pub len: u64,
    /// Whose it is.
    pub role: Role,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// A segment that counts.
    Own,
    /// A segment file of the same folder that does not count.
    Leftover,
    /// A segment of the replica with this number, from 0.
    Replica(u32),
}

/// The files that pieces come from. A few at a time are mapped, for where copies are joined it goes to and fro.
#[derive(Debug, Default)]
pub struct Sources {
    all: Vec<Source>,
    /// The last used is the last.
    open: Vec<(SourceId, Segment)>,
}

impl Sources {
    /// None yet.
    pub fn new() -> Self {
        Sources::default()
    }

    /// One more; its number.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.all.push(source);
        (self.all.len() - 1) as SourceId
    }

    /// By number.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.all.get(id as usize)
    }

    /// All, by number.
    pub fn all(&self) -> &[Source] {
        &self.all
    }

    /// The file's name; empty for a number that is none.
    pub fn name(&self, id: SourceId) -> &str {
        self.get(id).map_or("", |source| &source.name)
    }

    /// A file, mapped.
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn open(&mut self, id: SourceId) -> io::Result<&Segment> {
        match self.open.iter().position(|(open, _)| *open == id) {
            Some(place) if place + 1 == self.open.len() => {}
            Some(place) => {
                let found = self.open.remove(place);
                self.open.push(found);
            }
            None => {
                let path = &self.get(id).ok_or(io::ErrorKind::NotFound)?.path;
                let segment = Segment::open(path).map_err(|error| at_path(path, error))?;
                if self.open.len() >= MOST_MAPPED {
                    self.open.remove(0);
                }
                self.open.push((id, segment));
            }
        }
        self.open.last().map(|(_, segment)| segment).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// An error with the path it concerns.
pub fn at_path(path: &std::path::Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Neighbouring batches of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The file.
    pub source: SourceId,
    /// The byte its first batch begins at.
    pub from: u64,
    /// The byte behind its last batch.
    pub to: u64,
    /// The first offset it spans in the new log.
    pub first: i64,
    /// The last offset it spans in the new log.
    pub last: i64,
    /// The leader epoch of all its batches; -1 for none.
    pub epoch: i32,
    /// How many.
    pub batches: u64,
    /// Records in them, in the new log.
    pub records: u64,
    /// What is done to it: of more than one batch, nothing.
    pub edit: Edit,
}

/// What is done to a batch on its way. First it is patched, then thinned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    /// Bytes that are put in place of others, by their place in the batch.
    pub patch: Box<[(u32, u8)]>,
    /// Which records stay, if not all.
    pub thin: Option<Thin>,
}

/// Which records of a batch stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thin {
    /// What lies outside goes, and the batch spans no more than this.
    pub within: RangeInclusive<i64>,
    /// Places, among all records of the batch, of those that go; ascending.
    pub dropped: Box<[u32]>,
}

impl Thin {
    /// Everything stays that can be read.
    pub fn nothing() -> Thin {
        Thin { within: i64::MIN..=i64::MAX, dropped: Box::default() }
    }
}

impl Edit {
    /// Whether the bytes stay as they are.
    pub fn is_none(&self) -> bool {
        self.patch.is_empty() && self.thin.is_none()
    }
}

impl Piece {
    /// Bytes in the old file.
    pub fn len(&self) -> u64 {
        self.to - self.from
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.to <= self.from
    }

    /// Takes up the piece behind it, if both are copied as they are and nothing lies between.
    pub fn join(&mut self, next: &Piece) -> bool {
        let joins = self.source == next.source
            && self.to == next.from
            && self.epoch == next.epoch
            && self.last < next.first
            // An offset that jumps farther than a segment spans is looked at on its own.
            && next.last.saturating_sub(self.last) <= i64::from(i32::MAX)
            && self.edit.is_none()
            && next.edit.is_none();
        if joins {
            self.to = next.to;
            self.last = next.last;
            self.batches += next.batches;
            self.records += next.records;
        }
        joins
    }
}

/// Appends a piece to a plan.
pub fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    if !pieces.last_mut().is_some_and(|last| last.join(&piece)) {
        pieces.push(piece);
    }
}

/// Batches that stand one behind the other, by their length fields alone: for stretches known to be sound.
pub fn frames(bytes: &[u8], from: u64, to: u64) -> impl Iterator<Item = Batch<'_>> {
    let mut at = from;
    std::iter::from_fn(move || {
        if at >= to {
            return None;
        }
        let rest = bytes.get(usize::try_from(at).ok()?..usize::try_from(to).ok()?)?;
        let length = i32::from_be_bytes(*rest.get(8..)?.first_chunk()?);
        let whole = usize::try_from(length).ok()?.checked_add(PREFIX_LENGTH)?;
        let batch = Batch::new(rest.get(..whole)?, at)?;
        at += whole as u64;
        Some(batch)
    })
}

/// The batches of a stretch, with what is to be changed of the only one, for which `room` is needed.
pub(super) fn patched_frames<'b>(
    bytes: &'b [u8],
    (from, to): (u64, u64),
    patch: &[(u32, u8)],
    room: &'b mut Vec<u8>,
) -> impl Iterator<Item = Batch<'b>> {
    let mut one = None;
    if !patch.is_empty()
        && let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to))
        && let Some(old) = bytes.get(start..end)
    {
        room.clear();
        room.extend_from_slice(old);
        for (at, byte) in patch {
            if let Some(place) = room.get_mut(*at as usize) {
                *place = *byte;
            }
        }
        one = Batch::new(room, from);
    }
    let rest = if patch.is_empty() { to } else { from };
    one.into_iter().chain(frames(bytes, from, rest))
}

/// Makes the batches of pieces as they stand in the new log.
#[derive(Debug)]
pub struct Reader {
    inflater: Inflater,
    builder: Builder,
    patched: Vec<u8>,
    built: Vec<u8>,
}

impl Reader {
    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn new(max_inflated: usize) -> Self {
        let inflater = Inflater::with_limit(max_inflated);
        Reader { inflater, builder: Builder::new(), patched: Vec::new(), built: Vec::new() }
    }

    /// Shows every batch of a piece, as it stands in the new log. Positions are those in the old file.
    ///
    /// # Errors
    /// Those of `each`, if the file cannot be mapped, and if it is not what it was when the plan was made.
    pub fn piece(
        &mut self,
        sources: &mut Sources,
        piece: &Piece,
        mut each: impl FnMut(&Batch<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let segment = sources.open(piece.source)?;
        let changed = || at_path(segment.path(), io::Error::other("it changed while it was read"));
        if piece.edit.is_none() {
            let mut batches = 0;
            let mut held_from = piece.from;
            for batch in frames(segment.bytes(), piece.from, piece.to) {
                each(&batch)?;
                batches += 1;
                // The file is read from front to back: its pages need not stay in memory.
                if batch.position() - held_from > HELD {
                    segment.release(held_from as usize..batch.position() as usize);
                    held_from = batch.position();
                }
            }
            segment.release(held_from as usize..piece.to as usize);
            return if batches == piece.batches { Ok(()) } else { Err(changed()) };
        }
        let old = segment.bytes().get(piece.from as usize..piece.to as usize).ok_or_else(changed)?;
        let edited = self.edited(old, piece).map_err(|error| at_path(segment.path(), error))?;
        each(&Batch::new(edited, piece.from).ok_or_else(changed)?)
    }

    /// The one batch of a piece that is not copied as it is, from its old bytes.
    ///
    /// # Errors
    /// If they are not what they were when the plan was made.
    pub(super) fn edited(&mut self, old: &[u8], piece: &Piece) -> io::Result<&[u8]> {
        self.patched.clear();
        self.patched.extend_from_slice(old);
        for (at, byte) in &piece.edit.patch {
            if let Some(room) = self.patched.get_mut(*at as usize) {
                *room = *byte;
            }
        }
        let Some(thin) = &piece.edit.thin else { return Ok(&self.patched) };
        self.built.clear();
        let batch = Batch::new(&self.patched, piece.from).ok_or(io::ErrorKind::InvalidData)?;
        let keep = |place: usize| thin.dropped.binary_search(&(place as u32)).is_err();
        let Reader { inflater, builder, built, .. } = self;
        let kept = thinned(&batch, &thin.within, inflater, builder, built, |place, _| keep(place))?;
        if kept != piece.records {
            return Err(io::Error::other(format!("{kept} records are kept of a batch, {} should be", piece.records)));
        }
        Ok(built)
    }
}
