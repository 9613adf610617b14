//! The batches of an old log, one at a time, in order: pieces that were found sound before.
//!
//! Must not know: what becomes of them.

use crate::log::Batch;
use crate::log::batch::PREFIX_LENGTH;
use crate::rewrite::plan::{Piece, Reader, Sources, at_path};
use std::io;

/// So many bytes of a file stay in memory behind the place that is read.
const HELD: u64 = 4 << 20;

/// An old log.
#[derive(Debug)]
pub struct Feed {
    /// Its place among all old logs, which [`super::Origin`] names.
    pub place: usize,
    /// Its partition.
    pub partition: i32,
    /// Where it ends.
    pub end: i64,
    sources: Sources,
    pieces: Vec<Piece>,
    piece: usize,
    at: u64,
    held_from: u64,
    reader: Reader,
    /// The batch of a piece that is not copied as it is.
    edited: Option<Vec<u8>>,
    /// The length of the batch at hand; 0 before one was looked at.
    length: u64,
}

impl Feed {
    /// With a limit, in bytes, on what one batch may inflate to.
    pub fn new(
        place: usize,
        partition: i32,
        end: i64,
        sources: Sources,
        pieces: Vec<Piece>,
        max_inflated: usize,
    ) -> Self {
        let mut feed = Feed {
            place,
            partition,
            end,
            sources,
            pieces,
            piece: 0,
            at: 0,
            held_from: 0,
            reader: Reader::new(max_inflated),
            edited: None,
            length: 0,
        };
        feed.rewind();
        feed
    }

    /// Begins again.
    pub fn rewind(&mut self) {
        self.piece = 0;
        self.enter();
    }

    fn enter(&mut self) {
        self.at = self.pieces.get(self.piece).map_or(0, |piece| piece.from);
        self.held_from = self.at;
        self.edited = None;
        self.length = 0;
    }

    /// Whether the batch at hand is not as it was in the old file.
    pub fn is_mended(&self) -> bool {
        self.pieces.get(self.piece).is_some_and(|piece| !piece.edit.is_none())
    }

    /// The batch at hand; none at the end.
    ///
    /// # Errors
    /// If the file cannot be mapped, or is not what it was.
    pub fn batch(&mut self) -> io::Result<Option<Batch<'_>>> {
        let Some(piece) = self.pieces.get(self.piece) else { return Ok(None) };
        let segment = self.sources.open(piece.source)?;
        let changed = || at_path(segment.path(), io::Error::other("it changed while it was read"));
        if !piece.edit.is_none() {
            if self.edited.is_none() {
                let old = segment.bytes().get(piece.from as usize..piece.to as usize).ok_or_else(changed)?;
                self.edited = Some(self.reader.edited(old, piece)?.to_vec());
            }
            self.length = piece.len();
            let bytes = self.edited.as_deref().unwrap_or_default();
            return Ok(Some(Batch::new(bytes, piece.from).ok_or_else(changed)?));
        }
        let rest = segment.bytes().get(self.at as usize..piece.to as usize).ok_or_else(changed)?;
        let says = rest.get(8..).and_then(|rest| rest.first_chunk()).map(|length| i32::from_be_bytes(*length));
        let whole = says.and_then(|n| usize::try_from(n).ok()).and_then(|n| n.checked_add(PREFIX_LENGTH));
        let bytes = whole.and_then(|whole| rest.get(..whole)).ok_or_else(changed)?;
        self.length = bytes.len() as u64;
        Ok(Some(Batch::new(bytes, self.at).ok_or_else(changed)?))
    }

    /// Goes on to the next batch; says how many bytes of the old file the one before had.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub fn pass(&mut self) -> io::Result<u64> {
        let length = self.length;
        self.at += length;
        let Some(piece) = self.pieces.get(self.piece) else { return Ok(0) };
        let is_over = self.at >= piece.to;
        if is_over || self.at - self.held_from > HELD {
            let segment = self.sources.open(piece.source)?;
            segment.release(self.held_from as usize..self.at as usize);
            self.held_from = self.at;
        }
        if is_over {
            self.piece += 1;
            self.enter();
        }
        Ok(length)
    }
}
