//! A segment tiled into spans: batches and holes, whose lengths add up to the file's.
//!
//! Must not know: files and folders. The scan keeps the order of the file; offsets that do not ascend are for others
//! to judge.

use super::batch::{Batch, MAGIC_AT, PREFIX_LENGTH};
use super::frame::sound;
use super::resync::{Decision, Offsets, Resync};
use crate::fault::FaultKind;
use crate::machine::cpu::prefetch;
use crate::machine::map::{HELD, Mapping, WINDOW};

/// How far ahead of the scan bytes are called into the processor's cache. Without it, hopping over small batches
/// costs more than checking every CRC.
const LOOK_AHEAD: usize = 3 << 10;
const CACHE_LINE: usize = 64;
/// A piece of another place, such as a sector that was written to a wrong one, is not longer.
const PIECE: usize = 16 << 10;
/// Lines called for behind every batch.
const FEWEST_LINES: usize = 4;
/// Lines called for behind a larger one.
const MOST_LINES: usize = 12;

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

impl Hole {
    /// Whether it can be the beginning of a batch that was cut short: an offset that comes next stands there, if it got as
    /// far as that. Anything else at the end of a log is junk.
    pub fn is_begun(&self) -> bool {
        self.base_offset.is_some() || self.length < 8
    }

    /// Whether it is a write that a stop cut short, if it is at the end of a log.
    pub fn is_torn_write(&self) -> bool {
        matches!(self.fault, FaultKind::TornBatch { .. }) && self.is_begun()
    }

    /// The batch that the bytes are, with its length and magic put right; `segment` is all bytes of the file. None unless
    /// [`Hole::is_whole_batch`].
    pub fn mended(&self, segment: &[u8]) -> Option<Vec<u8>> {
        let start = usize::try_from(self.position).ok()?;
        let length = usize::try_from(self.length).ok().filter(|_| self.is_whole_batch)?;
        let mut bytes = segment.get(start..start.checked_add(length)?)?.to_vec();
        let says = i32::try_from(length.checked_sub(PREFIX_LENGTH)?).ok()?;
        bytes.get_mut(8..PREFIX_LENGTH)?.copy_from_slice(&says.to_be_bytes());
        let holds = |bytes: &[u8]| Batch::new(bytes, self.position).is_some_and(|batch| batch.check_crc().is_ok());
        if !holds(&bytes) {
            *bytes.get_mut(MAGIC_AT)? = 2;
        }
        holds(&bytes).then_some(bytes)
    }
}

/// Walks a segment in file order. Who looks at the heads of batches only pays for these only.
#[derive(Debug)]
pub struct Spans<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The length of the sound batch at `at`; 0 where none was seen.
    frame: usize,
    /// Where the window ends for which the kernel was told.
    window_end: usize,
    /// From where on the kernel was not yet told that bytes may leave memory.
    held_from: usize,
    /// Up to where bytes were called into the cache.
    fetched: usize,
    mapping: Option<&'a Mapping>,
    base_offset: Option<i64>,
    /// Where the batch before stands.
    previous: Place,
    /// Where the one before that stands.
    before_previous: Place,
    /// The last offset and the magic of the last batch whose CRC was seen to hold, and the batch before at that time.
    believed: (Place, Option<(i64, u8)>),
    /// Where what stands since the last hole begins.
    run_from: usize,
    /// The last offset of what stood before that hole, as far as that was more than a piece; None before the first hole.
    earlier: Option<Option<i64>>,
    /// The hole that was just met, on its way out.
    hole: Option<Hole>,
    resync: Resync,
}

/// From the first byte of a batch to the first behind it.
type Place = (usize, usize);

/// What stands where the scan is: in a form that fits into registers.
enum Next {
    End,
    Batch(usize),
    /// In `Spans::hole`.
    Hole,
}

impl<'a> Spans<'a> {
    /// Over bytes in memory, from a byte on at which a batch should begin. The base offset is that of the file's
    /// name, if there is one: it helps to tell batches from what looks like one.
    pub fn over(bytes: &'a [u8], from: u64, base_offset: Option<i64>) -> Spans<'a> {
        Spans::new(bytes, None, from, base_offset)
    }

    pub(super) fn new(bytes: &'a [u8], mapping: Option<&'a Mapping>, from: u64, base: Option<i64>) -> Spans<'a> {
        let at = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
        let mut spans = Spans {
            bytes,
            at,
            frame: 0,
            window_end: at,
            held_from: at,
            fetched: at,
            mapping,
            base_offset: base,
            previous: (0, 0),
            before_previous: (0, 0),
            believed: ((0, 0), None),
            run_from: at,
            earlier: None,
            hole: None,
            resync: Resync::new(bytes.len()),
        };
        spans.look_ahead(at, 0);
        spans.frame = sound(bytes, at);
        spans
    }

    /// The byte the next span begins at.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// Hands out `length` bytes as a batch.
    #[inline(always)]
    fn batch(&mut self, length: usize, next_frame: usize) -> Option<Span<'a>> {
        let position = self.at;
        let end = position + length;
        let batch = Batch::new(self.bytes.get(position..end)?, position as u64)?;
        self.at = end;
        self.frame = next_frame;
        self.before_previous = std::mem::replace(&mut self.previous, (position, end));
        Some(Span::Batch(batch))
    }

    /// Calls for what follows `end`, where a batch of `frame` bytes stands.
    #[inline(always)]
    fn look_ahead(&mut self, end: usize, frame: usize) {
        if end >= self.window_end {
            self.advance(end);
        }
        if frame > LOOK_AHEAD {
            // The processor sees by itself that a long batch is read through. It does not see that the head behind it is
            // looked at before.
            prefetch(self.bytes, end + frame);
            return prefetch(self.bytes, end + frame + CACHE_LINE);
        }
        let until = end + LOOK_AHEAD;
        let from = self.fetched.max(end);
        // Always as many lines, some of them again, or as many more: the processor would guess wrong how many it takes.
        for line in 0..FEWEST_LINES {
            prefetch(self.bytes, from + line * CACHE_LINE);
        }
        if until - from > FEWEST_LINES * CACHE_LINE {
            for line in FEWEST_LINES..MOST_LINES {
                prefetch(self.bytes, from + line * CACHE_LINE);
            }
        }
        self.fetched = until.min(from + MOST_LINES * CACHE_LINE);
    }

    #[cold]
    fn advance(&mut self, to: usize) {
        if let Some(mapping) = self.mapping {
            mapping.prepare(to);
            mapping.release(self.held_from..to.saturating_sub(HELD));
        }
        self.held_from = self.held_from.max(to.saturating_sub(HELD));
        self.window_end = to - to % WINDOW + WINDOW;
    }

    /// Where the frame at hand does not hold, or nothing sound follows it.
    #[cold]
    #[inline(never)]
    fn next_in_doubt(&mut self) -> Next {
        if self.at >= self.bytes.len() {
            return Next::End;
        }
        let is_last = self.frame > 0 && self.at + self.frame == self.bytes.len();
        let offsets = self.offsets();
        let decision = match is_last {
            true => Decision::Batch(self.frame),
            false => self.resync.decide(self.bytes, self.at, offsets),
        };
        let (Decision::Batch(length) | Decision::Hole { length, .. }) = decision;
        let end = self.at + length;
        self.look_ahead(end, 0);
        if self.is_cut_before(end) {
            return self.put_hole(self.bytes.len() - self.at, FaultKind::FileCut, None, false);
        }
        match decision {
            Decision::Batch(length) => Next::Batch(length),
            Decision::Hole { length, fault, is_whole_batch } => {
                let base_offset = self.base_offset_at_hand(&fault, offsets);
                self.put_hole(length, fault, base_offset, is_whole_batch)
            }
        }
    }

    /// What a damaged batch says of its offsets is not believed; that of the one before it is still better than none.
    fn offsets(&mut self) -> Offsets {
        if self.believed.0 != self.previous {
            let mut places = [self.previous, self.before_previous].into_iter();
            let seen = places.find_map(|place| last_offset_and_magic(self.bytes, place));
            self.believed = (self.previous, seen.or(self.believed.1));
        }
        let (previous, previous_magic) = self.believed.1.unzip();
        let earlier = self.earlier.filter(|_| self.at - self.run_from <= PIECE);
        Offsets { base: self.base_offset, previous, previous_magic, earlier }
    }

    fn is_cut_before(&self, end: usize) -> bool {
        self.mapping.is_some_and(|mapping| mapping.length_now() < end as u64)
    }

    fn base_offset_at_hand(&self, fault: &FaultKind, offsets: Offsets) -> Option<i64> {
        let zeros = matches!(fault, FaultKind::ZeroTail | FaultKind::ZeroHole);
        let stands = i64::from_be_bytes(*self.bytes.get(self.at..)?.first_chunk()?);
        (!zeros && offsets.fit(stands)).then_some(stands)
    }

    fn put_hole(&mut self, length: usize, fault: FaultKind, base_offset: Option<i64>, is_whole_batch: bool) -> Next {
        let position = self.at as u64;
        if self.earlier.is_none() || self.at - self.run_from > PIECE {
            self.earlier = Some(self.offsets().previous);
        }
        self.at += length;
        self.run_from = self.at;
        self.frame = sound(self.bytes, self.at);
        self.hole = Some(Hole { position, length: length as u64, fault, base_offset, is_whole_batch });
        Next::Hole
    }
}

/// The last offset and the magic of a batch whose CRC holds.
fn last_offset_and_magic(bytes: &[u8], (start, end): Place) -> Option<(i64, u8)> {
    let batch = Batch::new(bytes.get(start..end)?, start as u64)?;
    batch.check_crc().ok().map(|()| (batch.header().last_offset, batch.header().magic))
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    // Called, it would hand the span over in memory.
    #[inline(always)]
    fn next(&mut self) -> Option<Span<'a>> {
        let end = self.at + self.frame;
        let next_frame = sound(self.bytes, end);
        if self.frame > 0 && next_frame > 0 {
            self.look_ahead(end, next_frame);
            return self.batch(self.frame, next_frame);
        }
        match self.next_in_doubt() {
            Next::End => None,
            Next::Batch(length) => self.batch(length, sound(self.bytes, self.at + length)),
            Next::Hole => self.hole.take().map(Span::Hole),
        }
    }
}

impl Drop for Spans<'_> {
    fn drop(&mut self) {
        // The last windows, behind which nothing came to release them.
        if let Some(mapping) = self.mapping {
            mapping.release(self.held_from..self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;

    /// Spans as (position, length, what), after checking that they tile the bytes.
    fn tile(bytes: &[u8]) -> Vec<(usize, usize, &'static str)> {
        tile_with(bytes, Some(0))
    }

    fn tile_with(bytes: &[u8], base: Option<i64>) -> Vec<(usize, usize, &'static str)> {
        let mut at = 0;
        let spans: Vec<_> = Spans::over(bytes, 0, base)
            .map(|span| match span {
                Span::Batch(batch) if batch.check_crc().is_ok() => (batch.position(), batch.len(), "batch"),
                Span::Batch(batch) => (batch.position(), batch.len(), "bad batch"),
                Span::Hole(hole) if hole.is_whole_batch => (hole.position, hole.length, "whole"),
                Span::Hole(hole) => (hole.position, hole.length, hole.fault.code()),
            })
            .map(|(position, length, what)| (position as usize, length as usize, what))
            .collect();
        for &(position, length, what) in &spans {
            assert_eq!(position, at, "{spans:?}");
            assert!(length > 0, "{what}");
            at += length;
        }
        assert_eq!(at, bytes.len(), "{spans:?}");
        spans
    }

    fn log() -> (Vec<u8>, Vec<usize>) {
        let mut starts = Vec::new();
        let mut bytes = Vec::new();
        for text in ALL {
            starts.push(bytes.len());
            bytes.extend(hex(text));
        }
        starts.push(bytes.len());
        (bytes, starts)
    }

    #[test]
    fn all_vectors_in_a_row() {
        let (bytes, starts) = log();
        let spans = tile(&bytes);
        assert_eq!(spans.len(), ALL.len());
        assert!(spans.iter().zip(&starts).all(|(span, start)| span.0 == *start && span.2 == "batch"));
        assert!(tile(&[]).is_empty());
    }

    #[test]
    fn a_log_cut_at_every_byte() {
        let (first, second) = (hex(GV1), hex(GV5));
        let whole = [first.clone(), second.clone()].concat();
        for n in 0..whole.len() {
            let spans = tile(&whole[..n]);
            let good = [0, first.len()].into_iter().filter(|end| *end > 0 && *end <= n).max().unwrap_or(0);
            let last = spans.last();
            if n == good {
                assert!(last.is_none_or(|span| span.2 == "batch"), "{n}");
                continue;
            }
            // The first bytes of a base offset of 0 or 1 are zeros.
            let zeros = whole[good..n].iter().all(|byte| *byte == 0);
            assert_eq!(last, Some(&(good, n - good, if zeros { "zero-tail" } else { "torn-batch" })), "{n}");
            assert_eq!(spans.len(), 1 + usize::from(good > 0));
        }
    }

    #[test]
    fn zeros_at_the_end_and_between() {
        let (first, second) = (hex(GV1), hex(GV5));
        let tail = [first.clone(), vec![0; 1 << 20]].concat();
        assert_eq!(tile(&tail), [(0, 111, "batch"), (111, 1 << 20, "zero-tail")]);
        let hole = [first.clone(), vec![0; 4096], second.clone()].concat();
        assert_eq!(tile(&hole), [(0, 111, "batch"), (111, 4096, "zero-hole"), (4207, 87, "batch")]);
        // Whether the zeros before a base offset of 0 are its own only the batch can tell.
        let hole = [vec![0; 4097], first.clone()].concat();
        assert_eq!(tile(&hole), [(0, 4097, "zero-hole"), (4097, 111, "batch")]);
        assert_eq!(tile(&[0; 5]), [(0, 5, "zero-tail")]);
        assert_eq!(tile(&[0; 100_003]), [(0, 100_003, "zero-tail")]);
        let junk = [first, vec![0; 4096], vec![7; 100], second].concat();
        let expected = [(0, 111, "batch"), (111, 4096, "zero-hole"), (4207, 100, "bad-magic"), (4307, 87, "batch")];
        assert_eq!(tile(&junk), expected);
    }

    #[test]
    fn a_zeroed_page_over_the_end_of_one_batch_and_the_head_of_the_next() {
        let batches: Vec<_> = (0..4).map(|i| batch(i, 0, 1, &record(0, b"key", &[b'v'; 200]))).collect();
        let length = batches[0].len();
        let mut bytes = batches.concat();
        bytes[length + 100..2 * length + 50].fill(0);
        let spans = tile(&bytes);
        assert_eq!(spans[..2], [(0, length, "batch"), (length, length, "bad batch")]);
        assert_eq!(spans.last(), Some(&(3 * length, length, "batch")));
        assert_eq!(spans[2].2, "zero-hole");
    }

    #[test]
    fn only_the_length_is_damaged() {
        let (mut bytes, starts) = log();
        // GV6, the sixth: upward beyond the file, upward inside it, downward, negative.
        for length in [0x7000_0000, 300, 60, 3, -5] {
            let at = starts[5];
            bytes[at + 8..at + 12].copy_from_slice(&i32::to_be_bytes(length));
            let spans = tile(&bytes);
            assert_eq!(spans[5], (at, 112, "whole"), "{length}");
            assert_eq!(spans.len(), ALL.len(), "{length}");
        }
        // The last, of magic 1.
        let (mut bytes, starts) = log();
        bytes[starts[11] + 8] = 0x10;
        assert_eq!(tile(&bytes)[11], (starts[11], 81, "whole"));
    }

    #[test]
    fn the_magic_is_damaged() {
        let (mut bytes, starts) = log();
        for magic in [3, 127, 0xff] {
            bytes[starts[3] + 16] = magic;
            let spans = tile(&bytes);
            assert_eq!((spans.len(), spans[3]), (ALL.len(), (starts[3], 111, "whole")), "{magic}");
        }
        // Labelled as another magic, its CRC tells what it is.
        for magic in [0, 1] {
            bytes[starts[3] + 16] = magic;
            let spans = tile(&bytes);
            assert_eq!((spans.len(), spans[3]), (ALL.len(), (starts[3], 111, "whole")), "{magic}");
            let hole = Spans::over(&bytes, 0, Some(0)).nth(3);
            let Some(Span::Hole(hole)) = hole else { panic!("{hole:?}") };
            assert_eq!(hole.mended(&bytes), Some(hex(ALL[3])));
        }
    }

    #[test]
    fn a_damaged_body_costs_one_batch() {
        let (clean, starts) = log();
        for at in 0..clean.len() {
            let mut bytes = clean.clone();
            bytes[at] ^= 0x55;
            let spans = tile(&bytes);
            let hit = starts.iter().rposition(|start| *start <= at).unwrap();
            for (i, start) in starts.windows(2).enumerate() {
                let intact = spans.contains(&(start[0], start[1] - start[0], "batch"));
                assert!(intact || i == hit, "byte {at}, batch {i}: {spans:?}");
            }
        }
    }

    #[test]
    fn a_batch_inside_a_value_is_not_one() {
        for inner_count in [1, 2, 5, 20] {
            let inner: Vec<u8> =
                (0..inner_count).flat_map(|i| batch(i64::from(i) + 2, 0, 1, &record(0, b"k", b"inner"))).collect();
            let outer = batch(1, 0, 1, &record(0, b"key", &inner));
            let before = batch(0, 0, 1, &record(0, b"key", b"value"));
            let after = batch(2, 0, 1, &record(0, b"key", b"value"));
            let at = before.len();
            for length in [0x7000_0000, 49, 3] {
                let mut bytes = [before.clone(), outer.clone(), after.clone()].concat();
                bytes[at + 8..at + 12].copy_from_slice(&i32::to_be_bytes(length));
                let expected = [(0, at, "batch"), (at, outer.len(), "whole"), (at + outer.len(), after.len(), "batch")];
                assert_eq!(tile(&bytes), expected, "{inner_count} {length}");
            }
        }
    }

    #[test]
    fn a_batch_that_goes_on_behind_a_damaged_one_is_one() {
        let one = |offset| batch(offset, 0, 1, &record(0, b"key", &[b'v'; 100]));
        let (front, next, last) = (one(0), one(2), one(3));
        // Of the first its last 60 bytes are missing, so that its frame and its record reach into the next.
        let kept = front.len() - 60;
        let bytes = [&front[..kept], &next, &last, &[b'x'; 80]].concat();
        let spans = tile(&bytes);
        assert_eq!(
            spans[..3].iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(),
            [(kept, "crc-mismatch"), (next.len(), "batch"), (last.len(), "batch")]
        );
    }

    #[test]
    fn a_batch_inside_the_value_of_a_torn_batch_is_not_one() {
        let inner = batch(2, 0, 1, &record(0, b"k", b"inner"));
        let outer = batch(1, 0, 1, &record(0, b"key", &[inner, vec![b'x'; 300]].concat()));
        let before = batch(50, 0, 1, &record(0, b"key", b"value"));
        let bytes = [before.clone(), outer[..outer.len() - 10].to_vec()].concat();
        assert_eq!(tile(&bytes), [(0, before.len(), "batch"), (before.len(), outer.len() - 10, "torn-batch")]);
    }

    #[test]
    fn offsets_that_go_back_are_no_reason_to_stop() {
        let one = |offset| batch(offset, 0, 1, &record(0, b"key", b"value"));
        let bytes = [one(9), one(3), one(3), one(1 << 40)].concat();
        assert!(tile(&bytes).iter().all(|span| span.2 == "batch"));
    }

    #[test]
    fn misplaced_and_odd_but_sound_batches_are_batches() {
        let mut negative = batch(0, 0, 1, &record(0, b"key", b"value"));
        negative[0] = 0x80;
        let mut odd = batch(5, 0x80, 1, &record(0, b"key", b"value"));
        odd[21] = 0x40;
        seal(&mut odd);
        let bytes = [odd, negative, batch(6, 0, 1, &record(0, b"a", b"b"))].concat();
        assert_eq!(tile(&bytes).iter().map(|span| span.2).collect::<Vec<_>>(), ["batch"; 3]);
    }

    #[test]
    fn a_hole_tells_its_base_offset() {
        let (bytes, starts) = log();
        let torn = &bytes[..starts[2] + 70];
        let Some(Span::Hole(hole)) = Spans::over(torn, 0, Some(0)).last() else { panic!("no hole") };
        assert_eq!(hole.base_offset, None, "GV3 repeats an offset");
        let torn = &bytes[..starts[6] + 70];
        let Some(Span::Hole(hole)) = Spans::over(torn, 0, Some(0)).last() else { panic!("no hole") };
        assert_eq!((hole.base_offset, hole.fault), (Some(3), FaultKind::TornBatch { need: 111, have: 70 }));
    }

    #[test]
    fn any_damage_still_tiles() {
        let (clean, _) = log();
        let mut dice = Dice(42);
        for _ in 0..4000 {
            let mut bytes = clean.clone();
            for _ in 0..=dice.roll(4) {
                let (a, b) = (dice.roll(bytes.len()), dice.roll(bytes.len()));
                let (from, to) = (a.min(b), a.max(b));
                match dice.roll(6) {
                    0 => bytes.truncate(a),
                    1 => bytes[from..to].fill(0),
                    2 => bytes.iter_mut().skip(a).take(1 + b % 8).for_each(|byte| *byte = dice.roll(256) as u8),
                    3 => drop(bytes.drain(from..to)),
                    4 => bytes = [&bytes[..a], &bytes[from..to], &bytes[a..]].concat(),
                    _ => bytes[a] ^= 1 << dice.roll(8),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let base = [None, Some(0), Some(100)][dice.roll(3)];
            tile_with(&bytes, base);
            let mut inflater = super::super::Inflater::with_limit(1 << 20);
            for span in Spans::over(&bytes, 0, base) {
                if let Span::Batch(batch) = span {
                    assert!(batch.records(&mut inflater).count() <= bytes.len());
                    let _ = batch.first_offset(&mut inflater);
                }
            }
        }
    }

    #[test]
    fn hostile_files_do_not_take_forever() {
        let started = std::time::Instant::now();
        let sound = batch(1, 0, 1, &record(0, b"key", b"value"));
        // Heads that look sound, all with a wrong CRC and something odd behind each.
        let mut wrong = sound.clone();
        wrong[70] ^= 1;
        let odd_ends = [wrong.clone(), vec![7]].concat().repeat(20_000);
        // Heads that overlap: each byte of a long run could begin a batch that spans the rest.
        let long = 1_000_000i32.to_be_bytes();
        let overlap = [&[0, 0, 0, 0, 0, 0, 0, 1], &long[..], &[0, 0, 0, 0, 2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 1]].concat();
        let overlaps = overlap.repeat(80_000);
        // Magic bytes everywhere.
        let twos = vec![2; 2 << 20];
        // Damaged and sound ones in turn.
        let turns = [sound.clone(), vec![9; 3]].concat().repeat(20_000);
        for bytes in [odd_ends, overlaps, twos, turns] {
            tile(&bytes);
        }
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}
