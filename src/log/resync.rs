//! Where the next batch begins after bytes that are none.
//!
//! Must not know: mappings and iteration. Judges by structure first, by CRC last, and within a budget, so that no
//! file takes more than a fixed multiple of its length.

use super::batch::{Batch, CRC_FROM, HEADER_LENGTH, LAST_OFFSET_DELTA_AT, MAGIC_AT, PREFIX_LENGTH};
use super::codec::Codec;
use super::frame::{Shape, shape, sound, zeros};
use super::inside::{RecordWalk, is_filled_batch};
use super::legacy;
use super::swallow::{is_filled_message, swallows};
use crate::fault::FaultKind;
use crate::machine::crc::crc32c;
use std::ops::Range;

/// Fewer zeros than this could be the start of a sound batch: base offset 0 and a short length.
const FEWEST_ZEROS: usize = 17;
/// The most zeros a sound batch begins with: eight of the base offset, three of the length.
const MOST_LEADING_ZEROS: usize = 11;
/// How far behind a damaged head its own end is looked for although a later batch was found: twice the greatest
/// batch a broker accepts by default (1 MiB).
const WINDOW: usize = 2 << 20;
/// So many sound batches in a row are no accident.
const LONG_CHAIN: usize = 6;
/// Most batches of this topic are shorter.
const SMALL: usize = 4 << 10;
/// Bytes that may be looked at, as a multiple of the file's length, before resyncing gets less careful.
const BUDGET_PER_BYTE: u64 = 32;
/// No append spans more offsets than this.
const GREATEST_OFFSET_STEP: i64 = 1 << 31;

/// What to make of the bytes at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A batch of so many bytes.
    Batch(usize),
    /// No batch for so many bytes.
    Hole {
        length: usize,
        fault: FaultKind,
        /// The bytes are one batch whose CRC holds: only length or magic, which it does not cover, are damaged.
        is_whole_batch: bool,
    },
}

/// What is known besides the bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Offsets {
    /// The segment's base offset.
    pub base: Option<i64>,
    /// The last offset of the batch before.
    pub previous: Option<i64>,
    /// Its magic.
    pub previous_magic: Option<u8>,
    /// Where what stands since the last damage may be of another place: the last offset of what stood before that.
    pub earlier: Option<Option<i64>>,
}

impl Offsets {
    /// Whether a batch that begins with this offset could stand next.
    pub(super) fn fit(&self, base_offset: i64) -> bool {
        self.fit_behind(self.previous, base_offset)
    }

    /// As [`Offsets::fit`]; also where the batches before may be what does not belong there.
    fn may_fit(&self, base_offset: i64) -> bool {
        self.fit(base_offset) || self.earlier.is_some_and(|earlier| self.fit_behind(earlier, base_offset))
    }

    fn fit_behind(&self, previous: Option<i64>, base_offset: i64) -> bool {
        let floor = previous.map(|previous| previous.saturating_add(1)).or(self.base).unwrap_or(0);
        let floor = floor.max(0);
        base_offset >= floor && (self.unknown() || base_offset - floor <= GREATEST_OFFSET_STEP)
    }

    fn unknown(&self) -> bool {
        self.base.is_none() && self.previous.is_none()
    }
}

/// Decides what the bytes at a place are, and remembers how much looking that took.
#[derive(Debug)]
pub(super) struct Resync {
    budget: u64,
}

/// Whether a CRC-32C is right.
enum Holds {
    Yes,
    No,
}

/// Where a damaged stretch ends.
enum Found {
    /// Here: the CRC of the damaged head says so.
    End(usize),
    /// Here, because a good batch begins.
    Candidate(usize),
    Nothing,
}

impl Resync {
    pub(super) fn new(file_length: usize) -> Resync {
        Resync { budget: (file_length as u64).saturating_mul(BUDGET_PER_BYTE).saturating_add(1 << 20) }
    }

    /// What stands at `at`, which lies before the end, and where no sound batch that another one (or the end) follows
    /// was seen.
    pub(super) fn decide(&mut self, bytes: &[u8], at: usize, offsets: Offsets) -> Decision {
        let rest = bytes.get(at..).unwrap_or_default();
        let run = zeros(rest);
        if run == rest.len() {
            return Decision::Hole { length: run, fault: FaultKind::ZeroTail, is_whole_batch: false };
        }
        if run >= FEWEST_ZEROS {
            let length = self.end_of_zeros(bytes, at + run, offsets) - at;
            return Decision::Hole { length, fault: FaultKind::ZeroHole, is_whole_batch: false };
        }
        match shape(rest) {
            Shape::Sound(length) => self.suspect(bytes, at, length, offsets),
            Shape::Loose(length) => self.loose(bytes, at, length, offsets),
            Shape::Torn { need } => {
                let torn = FaultKind::TornBatch { need: need as u64, have: rest.len() as u64 };
                let behind = FaultKind::BadBatchLength((need - PREFIX_LENGTH) as i32);
                // What a stop cut short begins as a batch does, and does not end as a whole one would.
                let last = if may_be_torn(rest) { torn } else { behind.clone() };
                self.hole(bytes, at, offsets, behind, last)
            }
            Shape::Bad(fault) => self.hole(bytes, at, offsets, fault.clone(), fault),
        }
    }

    /// The zeros from before up to `end` may reach into a batch that begins with some.
    fn end_of_zeros(&mut self, bytes: &[u8], end: usize, offsets: Offsets) -> usize {
        (end - MOST_LEADING_ZEROS..end)
            .find(|&at| !self.is_spent() && sound(bytes, at) > 0 && self.strength(bytes, at, offsets) != Strength::None)
            .unwrap_or(end)
    }

    /// A sound head with something else behind its end: is its length wrong, or is the damage behind it?
    fn suspect(&mut self, bytes: &[u8], at: usize, length: usize, offsets: Offsets) -> Decision {
        let mismatch = match self.can_check(length).then(|| self.check_crc(bytes, at, length)) {
            Some(Ok(())) => return Decision::Batch(length),
            Some(Err(mismatch)) => mismatch,
            None => FaultKind::NotABatch,
        };
        let (start, end) = (at, at + length);
        let limit = end.max(start.saturating_add(WINDOW));
        match self.search(bytes, at, offsets, limit) {
            Found::End(end) => whole_batch(at, end, FaultKind::BadBatchLength((length - PREFIX_LENGTH) as i32)),
            Found::Candidate(next) if next < end => {
                Decision::Hole { length: next - at, fault: mismatch, is_whole_batch: false }
            }
            _ => Decision::Batch(length),
        }
    }

    /// A head by magic and length only. The CRC decides, or that a batch (or the end) follows.
    fn loose(&mut self, bytes: &[u8], at: usize, length: usize, offsets: Offsets) -> Decision {
        let end = at + length;
        if self.can_check(length) && self.check_crc(bytes, at, length).is_ok() {
            return Decision::Batch(length);
        }
        if let Some(magic @ (0 | 1)) = bytes.get(at + MAGIC_AT)
            && let Some((end, Holds::Yes)) = self.declared_end(bytes, at)
        {
            // A batch of magic 2 to the last byte, but for the magic itself.
            return whole_batch(at, end, FaultKind::BadMagic(*magic as i8));
        }
        if (end == bytes.len() || sound(bytes, end) > 0) && !swallows(bytes, at..end, offsets, self) {
            return Decision::Batch(length);
        }
        self.hole(bytes, at, offsets, FaultKind::NotABatch, FaultKind::NotABatch)
    }

    /// No batch: up to the next one with the fault `behind`, or to the end with the fault `last`.
    fn hole(&mut self, bytes: &[u8], at: usize, offsets: Offsets, behind: FaultKind, last: FaultKind) -> Decision {
        match self.search(bytes, at, offsets, bytes.len()) {
            Found::End(end) => whole_batch(at, end, behind),
            Found::Candidate(next) => Decision::Hole { length: next - at, fault: behind, is_whole_batch: false },
            Found::Nothing => Decision::Hole { length: bytes.len() - at, fault: last, is_whole_batch: false },
        }
    }

    /// Looks for the end of what begins at `at`, up to `limit`.
    fn search(&mut self, bytes: &[u8], at: usize, offsets: Offsets, limit: usize) -> Found {
        let limit = limit.min(bytes.len());
        let mut own = OwnEnd::new(bytes, at);
        let mut records = RecordWalk::new(bytes, at);
        let own_end_matters = is_head_but_for_length(bytes.get(at..).unwrap_or_default());
        match self.declared_end(bytes, at) {
            Some((end, Holds::Yes)) => return Found::End(end),
            Some((end, Holds::No)) if self.leads_on(bytes, at..end, offsets) => return Found::Candidate(end),
            // The last message of the log: what stands in its value goes up to its end.
            Some((end, Holds::No)) if end == bytes.len() && is_filled_message(bytes.get(at..).unwrap_or_default()) => {
                return Found::Nothing;
            }
            _ => {}
        }
        let mut best: Option<(usize, Strength)> = None;
        // Up to where what is in a row behind a loose one says nothing new.
        let mut same_row = 0;
        let mut window = limit;
        let mut next = at + 1;
        while let Some(place) = next_sound(bytes, next, window) {
            self.spend(place + 1 - next);
            next = place + 1;
            if self.is_spent() {
                // Careful no more. What is skipped is never looked at again.
                match best {
                    Some((best, _)) => return Found::Candidate(best),
                    None if is_chained(bytes, place) || is_small_and_right(bytes, place) => {
                        return Found::Candidate(place);
                    }
                    None => continue,
                }
            }
            if place <= at + WINDOW && own.is_at(place, self) {
                return Found::End(place);
            }
            let replaceable = match best {
                None => true,
                Some((_, strength)) => strength == Strength::Loose,
            };
            if !replaceable || place < same_row {
                continue;
            }
            match (self.strength(bytes, place, offsets), best) {
                (Strength::None, _) => {}
                (Strength::Long | Strength::ToTheEnd, None) if !own_end_matters => return Found::Candidate(place),
                // By its lengths a record of the damaged batch holds it.
                (Strength::Loose, _) if records.covers(place..place + sound(bytes, place)) => {}
                // What leads nowhere is believed if the log can go on behind it; else it stood inside a value.
                (strength, Some((loose, _))) => {
                    if follows(bytes, loose, place) {
                        return Found::Candidate(loose);
                    }
                    if strength != Strength::Loose {
                        best = Some((place, strength));
                    }
                }
                (strength, None) => {
                    best = Some((place, strength));
                    same_row = if strength == Strength::Loose { self.end_of_row(bytes, place) } else { 0 };
                    window = window.min(place.saturating_add(WINDOW));
                }
            }
        }
        self.spend(window.saturating_sub(next));
        if window == bytes.len() && window - at <= WINDOW && own.is_at(window, self) {
            return Found::End(window);
        }
        best.map_or(Found::Nothing, |(place, _)| Found::Candidate(place))
    }

    /// Where the head says it ends, if that is in the file, and whether its CRC holds: then only its magic is damaged.
    fn declared_end(&mut self, bytes: &[u8], at: usize) -> Option<(usize, Holds)> {
        let rest = bytes.get(at..)?;
        let length = usize::try_from(i32::from_be_bytes(*rest.get(8..)?.first_chunk()?)).ok()?;
        let whole = rest.get(..length.checked_add(PREFIX_LENGTH)?).filter(|whole| whole.len() >= HEADER_LENGTH)?;
        let stored = u32::from_be_bytes(*whole.get(17..)?.first_chunk()?);
        if self.is_spent() {
            return None;
        }
        self.spend(whole.len());
        let holds = match crc32c(whole.get(CRC_FROM..)?) == stored {
            true => Holds::Yes,
            false => Holds::No,
        };
        Some((at + whole.len(), holds))
    }

    /// Whether a good batch begins where a damaged one says it ends, and none that it swallows leads there.
    fn leads_on(&mut self, bytes: &[u8], frame: Range<usize>, offsets: Offsets) -> bool {
        sound(bytes, frame.end) > 0
            && self.strength(bytes, frame.end, offsets) != Strength::None
            && !swallows(bytes, frame, offsets, self)
    }

    pub(super) fn check_crc(&mut self, bytes: &[u8], at: usize, length: usize) -> Result<(), FaultKind> {
        self.spend(length);
        let batch = bytes.get(at..at + length).and_then(|whole| Batch::new(whole, at as u64));
        batch.map_or(Err(FaultKind::NotABatch), |batch| batch.check_crc())
    }

    /// How far a sound head at `at` can be believed.
    fn strength(&mut self, bytes: &[u8], at: usize, offsets: Offsets) -> Strength {
        let mut place = at;
        let mut chain = 0;
        let is_message = bytes.get(at + MAGIC_AT).is_some_and(|magic| *magic < 2);
        let (mut fits, mut later_fits) = (false, false);
        while chain < LONG_CHAIN {
            let length = sound(bytes, place);
            let batch = bytes.get(place..place + length).and_then(|whole| Batch::new(whole, place as u64));
            let Some(batch) = batch.filter(|_| length > 0) else { break };
            if !count_is_plausible(&batch) || self.check_crc(bytes, place, length).is_err() {
                break;
            }
            let fit = offsets.may_fit(batch.header().base_offset);
            fits |= fit && chain == 0;
            later_fits |= fit;
            chain += 1;
            place += length;
        }
        match (chain, place == bytes.len() || sound(bytes, place) > 0) {
            (0, _) => Strength::None,
            // The last message inside a wrapper that its codec stored as it was: the log goes on behind it.
            _ if is_message && !fits && later_fits => Strength::None,
            (LONG_CHAIN.., _) if fits => Strength::Long,
            (_, true) if fits && place == bytes.len() => Strength::ToTheEnd,
            (1, true) if !fits && place < bytes.len() => Strength::None,
            (_, true) => Strength::Chained,
            (_, false) if fits => Strength::Loose,
            _ => Strength::None,
        }
    }

    /// Where the good batches in a row that begin at a place end.
    fn end_of_row(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut place = at;
        for _ in 0..LONG_CHAIN {
            match sound(bytes, place) {
                0 => break,
                length if self.check_crc(bytes, place, length).is_err() => break,
                length => place += length,
            }
        }
        place
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes as u64);
    }

    /// Whether a CRC over so many bytes may be computed at any place of the file.
    fn can_check(&self, length: usize) -> bool {
        length <= SMALL || !self.is_spent()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.budget == 0
    }
}

/// How far a candidate can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// Not at all.
    None,
    /// Its CRC and its offsets are right, and perhaps more such follow; but then comes what is no batch.
    Loose,
    /// Its CRC is right, and another batch or the end follows.
    Chained,
    /// Its offsets are right, and all that follows is sound.
    ToTheEnd,
    /// So many sound batches follow that it needs no more proof.
    Long,
}

fn whole_batch(at: usize, end: usize, fault: FaultKind) -> Decision {
    Decision::Hole { length: end - at, fault, is_whole_batch: true }
}

/// The next place from `from` to `limit` where a head makes sense.
fn next_sound(bytes: &[u8], from: usize, limit: usize) -> Option<usize> {
    let magics = bytes.get(from.checked_add(MAGIC_AT)?..)?;
    let places = magics.iter().take(limit.saturating_sub(from)).enumerate();
    places.filter(|(_, magic)| **magic <= 2).map(|(i, _)| from + i).find(|&place| sound(bytes, place) > 0)
}

fn is_chained(bytes: &[u8], at: usize) -> bool {
    match sound(bytes, at) {
        0 => false,
        length => at + length == bytes.len() || sound(bytes, at + length) > 0,
    }
}

/// Whether the batch at `later` can stand in a log behind the one at `earlier`.
fn follows(bytes: &[u8], earlier: usize, later: usize) -> bool {
    let at = |place: usize| Batch::new(bytes.get(place..place + sound(bytes, place))?, place as u64);
    match (at(earlier), at(later)) {
        (Some(a), Some(b)) => a.position() + a.len() <= b.position() && a.header().last_offset < b.header().base_offset,
        _ => false,
    }
}

/// Whether a short batch stands at a place, by its CRC: so short that asking at every place does not take long.
fn is_small_and_right(bytes: &[u8], at: usize) -> bool {
    let length = sound(bytes, at);
    let whole = bytes.get(at..at + length).filter(|_| (1..=SMALL).contains(&length));
    whole.and_then(|whole| Batch::new(whole, at as u64)).is_some_and(|batch| batch.check_crc().is_ok())
}

/// Whether bytes can be the front of a batch that goes on behind them.
fn may_be_torn(rest: &[u8]) -> bool {
    match rest.get(MAGIC_AT) {
        Some(2) => may_be_head(rest) && !is_filled_batch(rest),
        Some(magic) => legacy::may_be_head(rest, *magic),
        None => true,
    }
}

/// Whether what is there of a head of magic 2 makes sense behind its magic.
fn may_be_head(rest: &[u8]) -> bool {
    let word = |at: usize| rest.get(at..).and_then(|rest| rest.first_chunk()).map(|it| i32::from_be_bytes(*it));
    let (delta, count) = (word(LAST_OFFSET_DELTA_AT), word(HEADER_LENGTH - 4));
    let attributes = rest.get(CRC_FROM..).and_then(|rest| rest.first_chunk());
    attributes.is_none_or(|&[high, low]| high == 0 && low < 0x80 && low & 7 <= 4)
        && delta.is_none_or(|delta| delta >= 0)
        && count.is_none_or(|count| count >= 0 && delta.is_none_or(|delta| i64::from(count) <= i64::from(delta) + 1))
}

/// Whether only the length field can be wrong with a head: then its CRC tells where it ends, and nothing else does,
/// for the value of a record may hold a whole run of sound batches.
fn is_head_but_for_length(rest: &[u8]) -> bool {
    let attributes = match rest.get(MAGIC_AT) {
        Some(0 | 1) => rest.get(MAGIC_AT + 1).map(|&low| (0, low & 0x70)),
        Some(2) => rest.get(CRC_FROM..).and_then(|rest| rest.first_chunk()).map(|&[high, low]| (high, low & 0x80)),
        _ => None,
    };
    attributes == Some((0, 0)) && rest.first().is_some_and(|&byte| byte < 0x80)
}

/// A record has its own offset and takes at least seven bytes, if it is not compressed.
pub(super) fn count_is_plausible(batch: &Batch<'_>) -> bool {
    let header = batch.header();
    if header.magic < 2 {
        return true;
    }
    let span = header.last_offset.wrapping_sub(header.base_offset).saturating_add(1);
    let fits = header.codec != Codec::None || i64::from(header.count) * 7 <= batch.body().len() as i64;
    fits && i64::from(header.count) <= span
}

/// Runs the CRC of a damaged head forward, to see where it comes to what the head stores: the length field is not
/// covered by it, so that where only that is damaged the true end shows itself.
struct OwnEnd<'a> {
    bytes: &'a [u8],
    done: usize,
    start: usize,
    stored: u32,
    running: Running,
}

enum Running {
    Castagnoli(u32),
    Ieee(crc32fast::Hasher),
}

impl<'a> OwnEnd<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        let read = |at: usize| {
            let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk());
            chunk.map_or(0, |chunk| u32::from_be_bytes(*chunk))
        };
        // Whatever the magic was before it was damaged, it was most likely 2.
        let (from, stored, smallest, running) = match bytes.get(at + MAGIC_AT) {
            Some(magic @ (0 | 1)) => {
                let smallest = PREFIX_LENGTH + legacy::smallest_size(*magic) as usize;
                (MAGIC_AT, read(at + 12), smallest, Running::Ieee(crc32fast::Hasher::new()))
            }
            _ => (CRC_FROM, read(at + 17), HEADER_LENGTH, Running::Castagnoli(0)),
        };
        OwnEnd { bytes, done: at + from, start: at + smallest, stored, running }
    }

    fn is_at(&mut self, place: usize, resync: &mut Resync) -> bool {
        if place < self.start {
            return false;
        }
        let more = self.bytes.get(self.done..place).unwrap_or_default();
        resync.spend(more.len());
        self.done = place;
        match &mut self.running {
            Running::Castagnoli(crc) => {
                *crc = crc32c::crc32c_append(*crc, more);
                *crc == self.stored
            }
            Running::Ieee(hasher) => {
                hasher.update(more);
                hasher.clone().finalize() == self.stored
            }
        }
    }
}
