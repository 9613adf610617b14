//! A segment tiled into spans: batches and holes, whose lengths add up to the file's.
//!
//! Must not know: files and folders. The scan keeps the order of the file; offsets that do not ascend are for others
//! to judge.

use super::batch::Batch;
use super::frame::sound;
use super::map::{Mapping, WINDOW, prefetch};
use super::resync::{Decision, Offsets, Resync};
use crate::fault::FaultKind;

/// How far ahead of the scan bytes are called into the processor's cache. Without it, hopping over small batches
/// costs more than checking every CRC.
const LOOK_AHEAD: usize = 3 << 10;
const CACHE_LINE: usize = 64;

/// A stretch of a segment.
#[derive(Debug, Clone)]
pub enum Span<'a> {
    /// A batch whose frame holds. Its CRC may still be wrong.
    Batch(Batch<'a>),
    /// Bytes that are no batch.
    Hole(Hole),
}

/// Bytes that are no batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// Where they begin in the segment file, in bytes.
    pub position: u64,
    /// How many, at least one.
    pub length: u64,
    /// What is wrong with them.
    pub fault: FaultKind,
    /// The base offset that stands there, if it could be one: above the batch before, and not far above.
    pub base_offset: Option<i64>,
    /// The bytes are exactly one magic 2 batch (or magic 0 or 1 message) whose CRC holds over all it covers: only the
    /// length field or the magic byte is damaged, and both can be told.
    pub is_whole_batch: bool,
}

/// What a scan will look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Everything,
    Heads,
}

/// Walks a segment in file order.
#[derive(Debug)]
pub struct Spans<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The length of the sound batch at `at`; 0 where none was seen.
    frame: usize,
    /// Where the window ends for which the kernel was told.
    window_end: usize,
    /// Up to where bytes were called into the cache.
    fetched: usize,
    reading: Reading,
    mapping: Option<&'a Mapping>,
    offsets: Offsets,
    resync: Resync,
}

impl<'a> Spans<'a> {
    /// Over bytes in memory, from a byte on at which a batch should begin. The base offset is that of the file's
    /// name, if there is one: it helps to tell batches from what looks like one.
    pub fn over(bytes: &'a [u8], from: u64, base_offset: Option<i64>) -> Spans<'a> {
        Spans::new(bytes, None, from, base_offset, Reading::Everything)
    }

    pub(super) fn new(
        bytes: &'a [u8],
        mapping: Option<&'a Mapping>,
        from: u64,
        base: Option<i64>,
        reading: Reading,
    ) -> Spans<'a> {
        let at = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
        let mut spans = Spans {
            bytes,
            at,
            frame: 0,
            window_end: at,
            fetched: at,
            reading,
            mapping,
            offsets: Offsets { base, previous: None },
            resync: Resync::new(bytes.len()),
        };
        spans.look_ahead(at);
        spans.frame = sound(bytes, at);
        spans
    }

    /// The byte the next span begins at.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// The next span, if it is a sound batch of magic 2 with a sound one behind it, as nearly all are. None is not the
    /// end: ask [`Iterator::next`] then.
    ///
    /// For loops over heads that live on few instructions a batch: all of it is inlined, so that only those fields of
    /// a head are read that are used.
    #[inline(always)]
    pub fn next_plain(&mut self) -> Option<Batch<'a>> {
        let end = self.at + self.frame;
        let next_frame = sound(self.bytes, end);
        if self.frame == 0 || next_frame == 0 {
            return None;
        }
        let batch = Batch::magic2(self.bytes.get(self.at..end)?, self.at as u64)?;
        self.look_ahead(end);
        self.at = end;
        self.frame = next_frame;
        self.offsets.previous = Some(batch.header().last_offset);
        Some(batch)
    }

    /// Hands out `length` bytes as a batch.
    #[inline(always)]
    fn batch(&mut self, length: usize, next_frame: usize) -> Option<Span<'a>> {
        let position = self.at;
        let end = position + length;
        let batch = Batch::new(self.bytes.get(position..end)?, position as u64)?;
        self.at = end;
        self.frame = next_frame;
        self.offsets.previous = Some(batch.header().last_offset);
        Some(Span::Batch(batch))
    }

    #[inline(always)]
    fn look_ahead(&mut self, end: usize) {
        if self.reading == Reading::Heads {
            let until = end + LOOK_AHEAD;
            // Behind a long batch only what comes next matters.
            self.fetched = self.fetched.max(end);
            while self.fetched < until {
                prefetch(self.bytes, self.fetched);
                self.fetched += CACHE_LINE;
            }
        } else {
            prefetch(self.bytes, end + LOOK_AHEAD);
        }
        if end >= self.window_end {
            self.advance(end);
        }
    }

    #[cold]
    fn advance(&mut self, to: usize) {
        if let Some(mapping) = self.mapping {
            mapping.advance(to);
        }
        self.window_end = to - to % WINDOW + WINDOW;
    }

    /// Where the frame at hand does not hold, or nothing sound follows it.
    #[cold]
    fn next_in_doubt(&mut self) -> Option<Span<'a>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let is_last = self.frame > 0 && self.at + self.frame == self.bytes.len();
        let decision = match is_last {
            true => Decision::Batch(self.frame),
            false => self.resync.decide(self.bytes, self.at, self.offsets),
        };
        let (length, hole) = match decision {
            Decision::Batch(length) => (length, None),
            Decision::Hole { length, fault, is_whole_batch } => (length, Some((fault, is_whole_batch))),
        };
        let end = self.at + length;
        self.look_ahead(end);
        if self.mapping.is_some_and(|mapping| mapping.length_now() < (end as u64).min(mapping.bytes().len() as u64)) {
            return Some(self.hole(self.bytes.len() - self.at, FaultKind::FileCut, false));
        }
        match hole {
            None => self.batch(length, sound(self.bytes, end)),
            Some((fault, is_whole_batch)) => Some(self.hole(length, fault, is_whole_batch)),
        }
    }

    fn hole(&mut self, length: usize, fault: FaultKind, is_whole_batch: bool) -> Span<'a> {
        let position = self.at;
        let stands = self.bytes.get(position..).and_then(|rest| rest.first_chunk()).map(|b| i64::from_be_bytes(*b));
        let zeros = matches!(fault, FaultKind::ZeroTail | FaultKind::ZeroHole | FaultKind::FileCut);
        let base_offset = stands.filter(|&offset| !zeros && self.offsets.fit(offset));
        self.at += length;
        self.frame = sound(self.bytes, self.at);
        Span::Hole(Hole { position: position as u64, length: length as u64, fault, base_offset, is_whole_batch })
    }
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    #[inline]
    fn next(&mut self) -> Option<Span<'a>> {
        let end = self.at + self.frame;
        let next_frame = sound(self.bytes, end);
        if self.frame == 0 || next_frame == 0 {
            return self.next_in_doubt();
        }
        self.look_ahead(end);
        self.batch(self.frame, next_frame)
    }
}

impl Drop for Spans<'_> {
    fn drop(&mut self) {
        // The last two windows, which nothing came after to release.
        if let Some(mapping) = self.mapping {
            if let Some(before) = self.at.checked_sub(WINDOW) {
                mapping.release(before);
            }
            mapping.release(self.at.saturating_sub(1));
        }
    }
}
