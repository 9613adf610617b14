//! Less than everything: the heads of batches, stretches of a log, or a window of time.
//!
//! A stretch begins in the middle of a batch; the scan finds the next one by itself. Must not know: what is counted.

use super::counter::{Counter, Waiting, Window};
use super::slot::KeySum;
use super::{Stats, open, open_all, partly};
use crate::log::batch::head_length;
use crate::log::index::{offset_index, position_for_offset, position_for_time, time_index};
use crate::log::{Batch, Inflater, Segment, Span};
use crate::model::stats::Counted;
use crate::rewrite::compact::Aim;
use crate::rewrite::compact::keys::Keys;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// Bytes of a stretch, unless the log is too small for some.
const STRETCH: u64 = 256 << 10;
/// At least so many stretches are taken, however short.
const LEAST_STRETCHES: u64 = 16;
/// Ends of a segment that are looked at for the last offset, one after the other, where no index tells where the last batch
/// begins.
const TAILS: [u64; 3] = [64 << 10, 1 << 20, u64::MAX];
/// No stretch is shorter, in bytes.
const SHORTEST: u64 = 4 << 10;

/// A share of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    share: f64,
}

impl Sample {
    /// A share above 0 and up to 1.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Sample { share })
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.share
    }

    /// The stretches of a log: where each begins, in bytes, and how long they all are.
    fn stretches(self, bytes: u64) -> (Vec<u64>, u64) {
        let wanted = (bytes as f64 * self.share).ceil() as u64;
        let length = STRETCH.min(wanted / LEAST_STRETCHES).max(SHORTEST).min(bytes.max(1));
        let number = wanted.div_ceil(length).max(1);
        // Each in the middle of its part, so that neither end of the log counts more than the rest.
        let start = |i: u64| {
            let (from, to) = (part(bytes, i, number), part(bytes, i + 1, number));
            from + (to - from).saturating_sub(length) / 2
        };
        ((0..number).map(start).collect(), length)
    }
}

fn part(bytes: u64, i: u64, number: u64) -> u64 {
    (u128::from(bytes) * u128::from(i) / u128::from(number.max(1))) as u64
}

/// Progress is told of so many bytes at a time.
const PROGRESS_STEP: u64 = 1 << 20;

/// Counts by heads alone.
pub(super) fn heads(paths: &[PathBuf], aim: &Aim, progress: &mut dyn FnMut(u64)) -> io::Result<Stats> {
    let segments = open_all(paths)?;
    let mut counter = Counter::new(aim.log_start);
    let (mut before, mut read) = (0, 0);
    for segment in &segments {
        counter.segment(segment);
        let mut told = 0;
        for span in segment.spans() {
            match span {
                Span::Batch(batch) => {
                    if batch.position() >= told {
                        progress(before + batch.position());
                        told = batch.position() + PROGRESS_STEP;
                    }
                    let header = batch.header();
                    read += head_length(header.magic) as u64;
                    counter.head(&header);
                }
                Span::Hole(hole) => counter.hole(&hole),
            }
        }
        before += segment.len();
    }
    let counted = counter.finish();
    let holes = counted.hole_bytes();
    Ok(partly(counted, before, read + holes))
}

/// Counts batches without learning more of them.
struct Reader {
    counter: Counter,
    keys: Keys<KeySum>,
    inflater: Inflater,
}

impl Reader {
    fn new(counter: Counter, aim: &Aim) -> Self {
        Reader { counter, keys: Keys::default(), inflater: Inflater::with_limit(aim.max_inflated) }
    }

    fn batch<'b>(&mut self, batch: &Batch<'b>, waiting: &mut Waiting<'b>) {
        match batch.check_crc() {
            Ok(()) => self.counter.batch(batch, &mut self.keys, waiting, &mut self.inflater),
            Err(_) => self.counter.left_out(&batch.header()),
        }
    }

    fn finish(mut self) -> Counted {
        self.counter.end_log(self.keys);
        self.counter.finish()
    }
}

/// Counts a sample. Segments that no stretch touches are not opened.
pub(super) fn take(paths: &[PathBuf], sample: Sample, aim: &Aim) -> io::Result<Stats> {
    let lengths: Vec<u64> = paths.iter().map(|path| Ok(std::fs::metadata(path)?.len())).collect::<io::Result<_>>()?;
    let bytes = lengths.iter().sum();
    let mut read = 0;
    let (starts, length) = sample.stretches(bytes);
    let mut reader = Reader::new(Counter::new(aim.log_start), aim);
    let mut before = 0;
    for (path, len) in paths.iter().zip(&lengths) {
        let end = before + len;
        let first = starts.partition_point(|start| start + length <= before);
        let here = starts.get(first..).unwrap_or_default().iter().take_while(|start| **start < end);
        let local = |at: u64| at.clamp(before, end) - before;
        let here: Vec<_> = here.map(|start| (local(*start), local(start + length))).collect();
        before = end;
        if here.is_empty() {
            continue;
        }
        let segment = open(path)?;
        reader.counter.segment(&segment);
        // The first byte of a segment begins a batch, and so does what is behind the last one that was counted.
        let mut done = 0;
        for (from, to) in here {
            let (from, begin) = if from <= done { (done, Begin::AtBatch) } else { (from, Begin::Anywhere) };
            done = stretch(&segment, from..to, begin, &mut reader);
            read += done.saturating_sub(from);
        }
    }
    let mut counted = reader.finish();
    if counted.seen == 0 {
        // No stretch was long enough for the batches: the first ones stand for all.
        counted = beginning(paths, &lengths, length, aim)?;
        read += counted.seen;
    }
    let (counted, ends) = with_ends(counted, paths)?;
    Ok(partly(counted, bytes, read + ends))
}

/// Counts the beginning of the first segment that holds something.
fn beginning(paths: &[PathBuf], lengths: &[u64], length: u64, aim: &Aim) -> io::Result<Counted> {
    let mut reader = Reader::new(Counter::new(aim.log_start), aim);
    if let Some((path, _)) = paths.iter().zip(lengths).find(|(_, len)| **len > 0) {
        let segment = open(path)?;
        reader.counter.segment(&segment);
        stretch(&segment, 0..length.max(1), Begin::AtBatch, &mut reader);
    }
    Ok(reader.finish())
}

/// Where a stretch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    AtBatch,
    Anywhere,
}

/// Counts what begins in a stretch, and gives where that ends.
fn stretch(segment: &Segment, range: Range<u64>, begin: Begin, reader: &mut Reader) -> u64 {
    let mut at = range.start;
    let mut waiting = Waiting::default();
    for span in segment.spans_from(range.start) {
        if at >= range.end {
            break;
        }
        // What stands in the middle of a batch is neither a hole nor a batch with a wrong CRC.
        let counts = begin == Begin::AtBatch || at > range.start;
        match span {
            Span::Batch(batch) => {
                at = batch.position() + batch.len();
                if counts || batch.check_crc().is_ok() {
                    reader.batch(&batch, &mut waiting);
                }
            }
            Span::Hole(hole) => {
                at = hole.position + hole.length;
                if counts {
                    reader.counter.hole(&hole);
                }
            }
        }
    }
    reader.keys.settle(&mut waiting);
    at
}

/// So many batches at the beginning of a segment must lie behind a window for it to be left out: a clock may have stepped back.
const BEHIND: usize = 16;

/// Counts a window of time. Index files say where a segment's batches become young enough; a segment whose first sound
/// batches are behind the window is left out.
pub(super) fn within(paths: &[PathBuf], window: Window, aim: &Aim, progress: &mut dyn FnMut(u64)) -> io::Result<Stats> {
    let mut reader = Reader::new(Counter::new(aim.log_start).within(Some(window)), aim);
    let (mut before, mut read) = (0, 0);
    for path in paths {
        let segment = open(path)?;
        if !is_behind(&segment, window) {
            reader.counter.segment(&segment);
            let start = start(path, &segment, window);
            read += segment.len().saturating_sub(start);
            let mut waiting = Waiting::default();
            for span in segment.spans_from(start) {
                match span {
                    Span::Batch(batch) => {
                        progress(before + batch.position());
                        reader.batch(&batch, &mut waiting);
                    }
                    Span::Hole(hole) => reader.counter.hole(&hole),
                }
            }
            reader.keys.settle(&mut waiting);
        }
        before += segment.len();
    }
    let (counted, ends) = with_ends(reader.finish(), paths)?;
    Ok(partly(counted, before, read + ends))
}

/// Whether a segment begins behind a window. A damaged time says nothing.
fn is_behind(segment: &Segment, window: Window) -> bool {
    let sound = segment.spans().filter_map(|span| match span {
        Span::Batch(batch) if batch.check_crc().is_ok() => Some(batch.header().max_timestamp),
        _ => None,
    });
    let mut first = sound.take(BEHIND).peekable();
    first.peek().is_some() && first.all(|time| time >= window.until)
}

fn start(path: &std::path::Path, segment: &Segment, window: Window) -> u64 {
    let Some(base_offset) = segment.base_offset() else { return 0 };
    let twin = |extension| crate::files::read(&path.with_extension(extension)).unwrap_or_default();
    let times = time_index(&twin("timeindex"), base_offset);
    let offsets = offset_index(&twin("index"), base_offset);
    position_for_time(segment, &times, &offsets, window.from)
}

/// The first offset and the end of a log of which not all was read: of the first segment its first batch, of the last what
/// its index leaves to read. With the bytes that were read for that; what was read before counts again.
fn with_ends(counted: Counted, paths: &[PathBuf]) -> io::Result<(Counted, u64)> {
    let (mut first, mut read) = (None, 0);
    for path in paths {
        let segment = open(path)?;
        first = segment.spans().find_map(|span| match span {
            Span::Batch(batch) => Some(batch.header().base_offset),
            Span::Hole(_) => None,
        });
        if first.is_some() {
            break;
        }
    }
    let mut end = counted.end_offset;
    if let Some(path) = paths.last() {
        let segment = open(path)?;
        let base_offset = segment.base_offset().unwrap_or(0);
        let index = offset_index(&crate::files::read(&path.with_extension("index")).unwrap_or_default(), base_offset);
        end = end.max(base_offset);
        let known = Some(position_for_offset(&segment, &index, i64::MAX)).filter(|known| *known > 0);
        let starts = known.into_iter().chain(TAILS.map(|tail| segment.len().saturating_sub(tail)));
        let found = starts.into_iter().find_map(|from| {
            read += segment.len().saturating_sub(from);
            last_offset(&segment, from)
        });
        end = end.max(found.map_or(0, |last| last.saturating_add(1)));
    }
    Ok((Counted { first_offset: first.or(counted.first_offset), end_offset: end, ..counted }, read))
}

/// The greatest offset from a byte on, of batches whose CRC holds.
fn last_offset(segment: &Segment, from: u64) -> Option<i64> {
    let sound = segment.spans_from(from).filter_map(|span| match span {
        Span::Batch(batch) if batch.check_crc().is_ok() => Some(batch.header().last_offset),
        _ => None,
    });
    sound.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_spread_and_do_not_overlap() {
        assert!(Sample::new(0.0).is_none() && Sample::new(1.1).is_none() && Sample::new(f64::NAN).is_none());
        for (bytes, share) in [(1u64 << 30, 0.01), (100 << 20, 0.5), (3000, 0.1), (1 << 20, 1.0), (0, 0.5)] {
            let (starts, length) = Sample::new(share).unwrap().stretches(bytes);
            assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{bytes} {share}");
            assert!(starts.iter().all(|start| *start <= bytes));
            let read = starts.len() as u64 * length;
            if bytes > 1 << 20 {
                assert!((read as f64) < bytes as f64 * share * 1.1 + length as f64, "{bytes} {share}: {read}");
                assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= length));
            }
        }
    }
}
