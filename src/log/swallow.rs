//! Whether a frame whose CRC is wrong is none: because batches stand in it that are sound and go up to its end.
//!
//! Bytes put into a log or taken out shift what stands behind them. Off by three or four bytes the head of a magic 2
//! batch reads as one of magic 0, whose size is the offset: its end falls on the start of a batch by chance, hundreds
//! of batches later. But sound batches also stand where they are none: in the value of a record.
//!
//! Must not know: what else could stand there instead of the frame.

use super::batch::{Batch, MAGIC_AT, PREFIX_LENGTH};
use super::frame::sound;
use super::inside::RecordWalk;
use super::legacy;
use super::resync::{Offsets, Resync, count_is_plausible};
use std::ops::Range;

/// A frame, whose CRC was seen to be wrong, and what is known of what stands around it.
struct Suspect<'a> {
    bytes: &'a [u8],
    frame: Range<usize>,
    offsets: Offsets,
    /// The base offset and the magic of the batch behind it, if that one's CRC holds.
    behind: Option<(i64, u8)>,
}

/// Whether a frame with a wrong CRC only covers sound batches, with offsets that go on from what stands before and
/// lead to what stands behind. When the budget is spent the frame is believed.
pub(super) fn swallows(bytes: &[u8], frame: Range<usize>, offsets: Offsets, resync: &mut Resync) -> bool {
    let behind = sound_batch(bytes, frame.end, resync).map(|batch| (batch.header().base_offset, batch.header().magic));
    let suspect = Suspect { bytes, frame, offsets, behind };
    if is_filled_message(suspect.head()) {
        return false;
    }
    if suspect.is_message() {
        return !suspect.is_likely_message() && suspect.last_inside(resync).is_some();
    }
    // Behind the value of a record stands at least the number of its headers: batches in a value never go up to the end.
    // (Those in the value of a header do.)
    suspect.last_inside(resync).is_some_and(|place| !suspect.has_record_over(place))
}

/// Whether bytes are a message by the lengths of its key and its value, whatever magic stands there: then what is
/// inside is theirs.
pub(super) fn is_filled_message(frame: &[u8]) -> bool {
    let size = frame.len().saturating_sub(PREFIX_LENGTH);
    (0..2).any(|magic| legacy::fills_its_size(frame, magic, size))
}

fn sound_batch<'a>(bytes: &'a [u8], at: usize, resync: &mut Resync) -> Option<Batch<'a>> {
    let length = sound(bytes, at);
    let batch = Batch::new(bytes.get(at..at + length).filter(|whole| !whole.is_empty())?, at as u64)?;
    resync.check_crc(bytes, at, length).ok().map(|()| batch)
}

impl Suspect<'_> {
    fn head(&self) -> &[u8] {
        self.bytes.get(self.frame.clone()).unwrap_or_default()
    }

    fn neighbours(&self) -> [Option<u8>; 2] {
        [self.offsets.previous_magic, self.behind.map(|(_, magic)| magic)]
    }

    /// Of magic 0 or 1. A magic that there is not was most likely that of its neighbours.
    fn is_message(&self) -> bool {
        match self.head().get(MAGIC_AT) {
            Some(&magic @ 0..=2) => magic < 2,
            _ => self.neighbours().into_iter().flatten().next().is_some_and(|magic| magic < 2),
        }
    }

    /// The value of a message goes up to its end, and so may what is in it. Where the lengths are damaged, it is still
    /// one if it has the magic and an offset that belong here.
    fn is_likely_message(&self) -> bool {
        let head = self.head();
        let mut magics = self.neighbours().into_iter().flatten().peekable();
        let magic_fits = magics.peek().is_none() || magics.any(|magic| head.get(MAGIC_AT) == Some(&magic));
        let is_bad = head.get(MAGIC_AT).is_none_or(|magic| *magic > 2);
        let offset = head.first_chunk().map(|chunk| i64::from_be_bytes(*chunk));
        (magic_fits || is_bad) && offset.is_some_and(|offset| self.fits(offset))
    }

    fn fits(&self, offset: i64) -> bool {
        self.offsets.fit(offset) && self.behind.is_none_or(|(behind, _)| offset < behind)
    }

    fn has_record_over(&self, place: usize) -> bool {
        RecordWalk::new(self.bytes, self.frame.start).is_over(place)
    }

    /// Where the last batch inside begins whose CRC holds and behind which heads that make sense tile the frame up to
    /// its end, with offsets that ascend. Lengths are compared first, CRCs last.
    fn last_inside(&self, resync: &mut Resync) -> Option<usize> {
        let mut end = self.frame.end;
        let mut ceiling = self.behind.map(|(base_offset, _)| base_offset);
        for place in (self.frame.start + 1..end).rev() {
            resync.spend(1);
            if resync.is_spent() {
                return None;
            }
            if !ends_at(self.bytes, place, end) || sound(self.bytes, place) != end - place {
                continue;
            }
            let Some(batch) = self.bytes.get(place..end).and_then(|whole| Batch::new(whole, place as u64)) else {
                continue;
            };
            let header = batch.header();
            let ascends = ceiling.is_none_or(|ceiling| header.last_offset < ceiling);
            if !ascends || !self.offsets.fit(header.base_offset) || !count_is_plausible(&batch) {
                continue;
            }
            if resync.check_crc(self.bytes, place, end - place).is_ok() {
                return Some(place);
            }
            // Damaged, too, but a batch by its head: what matters is what leads to it.
            (end, ceiling) = (place, Some(header.base_offset));
        }
        None
    }
}

/// Whether the length field of what begins at `place` says that it ends at `end`.
#[inline(always)]
fn ends_at(bytes: &[u8], place: usize, end: usize) -> bool {
    let length = bytes.get(place + 8..).and_then(|rest| rest.first_chunk()).map(|chunk| i32::from_be_bytes(*chunk));
    length.is_some_and(|length| i64::from(length) + PREFIX_LENGTH as i64 == (end - place) as i64)
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Span, Spans};
    use super::super::tests::*;
    use super::*;

    /// Where sound batches begin, after checking that the spans tile the bytes.
    fn sound_starts(bytes: &[u8], base: i64) -> Vec<usize> {
        let mut at = 0;
        let mut starts = Vec::new();
        for span in Spans::over(bytes, 0, Some(base)) {
            let (position, length) = match &span {
                Span::Batch(batch) => (batch.position() as usize, batch.len() as usize),
                Span::Hole(hole) => (hole.position as usize, hole.length as usize),
            };
            assert_eq!(position, at);
            assert!(length > 0);
            if matches!(span, Span::Batch(batch) if batch.check_crc().is_ok()) {
                starts.push(at);
            }
            at += length;
        }
        assert_eq!(at, bytes.len());
        starts
    }

    /// Commits of 109 bytes each.
    fn commits(offsets: Range<i64>, leader_epoch: i32) -> Vec<Vec<u8>> {
        offsets
            .map(|offset| {
                let value = [&[0, 3][..], &offset.to_be_bytes(), &(offset * 7919).to_be_bytes()[2..]].concat();
                let mut bytes = batch(offset, 0, 1, &record(0, b"a group and a topic", &value[..14]));
                bytes[12..16].copy_from_slice(&leader_epoch.to_be_bytes());
                bytes
            })
            .collect()
    }

    fn starts_of(batches: &[Vec<u8>]) -> Vec<usize> {
        batches.iter().scan(0, |at, batch| Some(std::mem::replace(at, *at + batch.len()))).collect()
    }

    fn inserted(clean: &[u8], at: usize, what: &[u8]) -> Vec<u8> {
        [&clean[..at], what, &clean[at..]].concat()
    }

    /// Every batch is found where it stands now, but for the one that was hit.
    fn assert_one_lost(batches: &[Vec<u8>], base: i64, at: usize, what: &[u8]) {
        let starts = starts_of(batches);
        let bytes = inserted(&batches.concat(), at, what);
        let hit = starts.iter().rposition(|start| *start < at).filter(|&i| at < starts[i] + batches[i].len());
        let kept = starts.iter().enumerate().filter(|(i, _)| Some(*i) != hit);
        let expected: Vec<_> = kept.map(|(_, &start)| if start < at { start } else { start + what.len() }).collect();
        let found = sound_starts(&bytes, base);
        let missed: Vec<_> = expected.iter().filter(|start| !found.contains(start)).collect();
        assert!(missed.is_empty(), "{what:?} at {at}, batch {hit:?}, base {base}: missed {}: {missed:?}", missed.len());
        let more: Vec<_> = found.iter().filter(|start| !expected.contains(start)).collect();
        // Where the bytes put in are those of the batch there is more than one way to read them.
        assert!(more.len() <= 1, "{what:?} at {at}: {more:?}");
    }

    /// Behind four bytes put into the batch at `hit`, of batches that count from 0: where the next one ends if its offset
    /// is read as the size, in bytes from where it truly begins.
    fn misread_to(hit: usize) -> usize {
        hit + 1 + PREFIX_LENGTH - 4
    }

    #[test]
    fn an_offset_read_as_a_size_swallows_nothing() {
        // Off by four bytes, each offset is a size: that which is a multiple of the length ends on a start.
        let batches = commits(0..600, 0);
        let length = batches[0].len();
        let mut misread = 0;
        for hit in 0..599 {
            misread += usize::from(misread_to(hit).is_multiple_of(length));
            assert_one_lost(&batches, 0, hit * length + 60, &[0; 4]);
        }
        assert!(misread > 3);
    }

    #[test]
    fn an_offset_times_256_read_as_a_size_swallows_nothing() {
        // Off by three bytes, a size is 256 times the offset: up to the end of the log, for most.
        let batches = commits(0..900, 0);
        for hit in 0..899 {
            assert_one_lost(&batches, 0, hit * batches[0].len() + 60, &[0; 3]);
        }
    }

    #[test]
    fn the_first_batch_of_a_log_is_hit() {
        // Nothing sound stands before, to go on from.
        for base in 1..400 {
            let batches = commits(base..base + 300, 0);
            assert_one_lost(&batches, base, 60, &[0; 3]);
            assert_one_lost(&batches, base, 60, &[0; 4]);
            assert_one_lost(&batches, base, 0, &[0; 4]);
        }
    }

    #[test]
    fn small_insertions_cost_one_batch_at_most() {
        let mut dice = Dice(3);
        for round in 0..6000 {
            let base = [0, 1, 329, 12_544, 70_000, 1 << 24, 1 << 33][dice.roll(7)] + dice.roll(500) as i64;
            let epoch = [0, 0, 1, 2, 7, 256, 1 << 16][dice.roll(7)];
            let batches = commits(base..base + 20 + dice.roll(300) as i64, epoch);
            let at = dice.roll(batches.len() * batches[0].len());
            let count = 1 + dice.roll(7);
            let what: Vec<u8> = (0..count).map(|_| if round % 2 == 0 { 0 } else { dice.roll(256) as u8 }).collect();
            assert_one_lost(&batches, base, at, &what);
        }
    }

    #[test]
    fn damage_inside_of_what_is_swallowed() {
        // The last of the batches that are swallowed has a wrong CRC, too; the others lead to it.
        let batches = commits(0..1000, 0);
        let length = batches[0].len();
        let clean = batches.concat();
        let mut misread = 0;
        for hit in 0..900 {
            let swallowed = misread_to(hit);
            if !swallowed.is_multiple_of(length) || swallowed < 2 * length {
                continue;
            }
            misread += 1;
            let mut bytes = inserted(&clean, hit * length + 60, &[0; 4]);
            bytes[(hit + 1) * length + 4 + swallowed - 20] ^= 1;
            assert_eq!(sound_starts(&bytes, 0).len(), batches.len() - 2, "{hit}");
        }
        assert!(misread > 3);
    }

    /// A batch with one record that has the value.
    fn around(magic: u8, offset: i64, value: &[u8]) -> Vec<u8> {
        match magic {
            2 => batch(offset, 0, 1, &record(0, b"key", value)),
            _ => message(offset, magic, 0, Some(b"key"), Some(value)),
        }
    }

    #[test]
    fn sound_batches_in_a_value_stay_there_whatever_bit_is_flipped() {
        for outer_magic in [0, 1, 2] {
            for inner_magic in [0, 1, 2] {
                // A wide gap, as in a compacted log: what is inside has offsets that go on, and lead to what is behind.
                let inner: Vec<u8> = (11..14).flat_map(|offset| around(inner_magic, offset, b"inner")).collect();
                let outer = around(outer_magic, 10, &inner);
                let plain = |offset| around(outer_magic, offset, b"value");
                let before = plain(9);
                let behind = [plain(20), plain(21)].concat();
                for (lead, tail) in [(&before[..], &behind[..]), (&before, &[]), (&[], &behind)] {
                    let clean = [lead, &outer, tail].concat();
                    let (from, end) = (lead.len(), lead.len() + outer.len());
                    for bit in from * 8..end * 8 {
                        let mut bytes = clean.clone();
                        bytes[bit / 8] ^= 1 << (bit % 8);
                        // With another length it is no frame that ends there: that is for resyncing to tell.
                        if (8..12).contains(&(bit / 8 - from)) {
                            continue;
                        }
                        let found = sound_starts(&bytes, 0);
                        let wrong = found.iter().filter(|start| (from + 1..end).contains(start)).count();
                        let what = format!(
                            "{inner_magic} in {outer_magic}, bit {}, {} {}",
                            bit - from * 8,
                            lead.len(),
                            tail.len()
                        );
                        assert_eq!(wrong, 0, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn heads_that_all_swallow_the_rest_do_not_take_forever() {
        let started = std::time::Instant::now();
        // Sound ones in turn with heads whose frames go up to the end of the file.
        let count = 12_000usize;
        let length = commits(0..1, 0)[0].len();
        let whole = count * (length + 26);
        let mut bytes = Vec::new();
        for (i, batch) in commits(0..count as i64, 0).into_iter().enumerate() {
            bytes.extend(batch);
            let size = (whole - bytes.len() - PREFIX_LENGTH) as i32;
            let head =
                [&(i as i64 + 1).to_be_bytes()[..], &size.to_be_bytes(), &[1, 2, 3, 4, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9]];
            bytes.extend(head.concat());
        }
        assert_eq!(bytes.len(), whole);
        sound_starts(&bytes, 0);
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }
}
