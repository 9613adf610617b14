//! A second thread for one partition: it checks CRCs ahead of whoever walks, and calls the pages in on the way.
//!
//! CRCs take a third of a replay's time and need nothing of it, so this is worth as much as splitting the log in two, and
//! no state has to be merged.
//! Must not know: what the walk is for.

use crate::fault::FaultKind;
use crate::log::{Batch, Segment, Span};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Who says whether a batch's CRC is right.
pub trait CrcCheck {
    /// What is wrong with the CRC of a batch, if anything.
    fn check(&mut self, batch: &Batch<'_>) -> Option<FaultKind>;
}

/// Computes it when asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckNow;

impl CrcCheck for CheckNow {
    #[inline(always)]
    fn check(&mut self, batch: &Batch<'_>) -> Option<FaultKind> {
        batch.check_crc().err()
    }
}

/// How many bytes are checked between two messages.
const STRIDE: u64 = 256 << 10;

/// How many bytes the checking may be ahead of the walk.
const LEAD: u64 = 8 << 20;

/// What the checking thread has found in one segment so far.
#[derive(Debug, Default)]
pub struct Checked {
    found: Mutex<Found>,
    more: Condvar,
    /// How far the walk is known to be: what lies far ahead of it would only fill memory.
    walked: AtomicU64,
    /// Whether the walk has ended, so that nobody waits for more.
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Found {
    /// Batches that begin below this position have been checked.
    until: u64,
    /// Batches whose CRC is wrong, by position.
    wrong: HashMap<u64, FaultKind>,
}

impl Checked {
    /// Checks every batch of a segment. Runs on the second thread.
    pub fn run(&self, segment: &Segment) {
        let mut told = 0;
        for span in segment.spans() {
            let Span::Batch(batch) = span else { continue };
            if batch.position() >= told + STRIDE {
                if self.ended.load(Ordering::Relaxed) {
                    break;
                }
                told = batch.position();
                self.tell(told);
                self.wait_for_the_walk(told);
            }
            if let Err(fault) = batch.check_crc() {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.wrong.insert(batch.position(), fault);
            }
        }
        self.tell(u64::MAX);
    }

    /// Waits while the walk is far behind. The walk says where it is whenever it has used up what it was told, so that
    /// the two never wait for each other.
    fn wait_for_the_walk(&self, position: u64) {
        let far = || position > self.walked.load(Ordering::Relaxed).saturating_add(LEAD);
        while far() && !self.ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Says that nobody waits for more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn tell(&self, until: u64) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).until = until;
        self.more.notify_one();
    }
}

/// Asks the second thread, and waits for it where it is not there yet.
#[derive(Debug)]
pub struct AskAhead<'c> {
    checked: &'c Checked,
    /// As far as is known without asking again.
    until: u64,
    /// Whether any wrong CRC was found below that.
    any_wrong: bool,
}

impl<'c> AskAhead<'c> {
    /// Begins at the segment's first batch.
    pub fn new(checked: &'c Checked) -> Self {
        AskAhead { checked, until: 0, any_wrong: false }
    }

    #[cold]
    fn wait(&mut self, position: u64) {
        self.checked.walked.store(position, Ordering::Relaxed);
        let mut found = self.checked.found.lock().unwrap_or_else(PoisonError::into_inner);
        while found.until <= position {
            found = self.checked.more.wait(found).unwrap_or_else(PoisonError::into_inner);
        }
        self.until = found.until;
        self.any_wrong = !found.wrong.is_empty();
    }

    #[cold]
    fn look_up(&self, position: u64) -> Option<FaultKind> {
        self.checked.found.lock().unwrap_or_else(PoisonError::into_inner).wrong.get(&position).cloned()
    }
}

impl CrcCheck for AskAhead<'_> {
    #[inline(always)]
    fn check(&mut self, batch: &Batch<'_>) -> Option<FaultKind> {
        let position = batch.position();
        if position >= self.until {
            self.wait(position);
        }
        if self.any_wrong { self.look_up(position) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_second_thread_says_what_the_first_would() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/example3/log/__consumer_offsets-18");
        let mut bytes = std::fs::read(fixture.join("00000000000000000000.log")).unwrap();
        // Somewhere in the first batch's value.
        bytes[90] ^= 1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000000000000000000.log");
        std::fs::write(&path, bytes).unwrap();
        let segment = Segment::open(&path).unwrap();
        let checked = Checked::default();
        let (mut wrong, mut batches) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| checked.run(&segment));
            let mut ask = AskAhead::new(&checked);
            for span in segment.spans() {
                let Span::Batch(batch) = span else { continue };
                assert_eq!(ask.check(&batch), CheckNow.check(&batch));
                batches += 1;
                wrong += u32::from(ask.check(&batch).is_some());
            }
        });
        assert_eq!((wrong, batches > 10), (1, true));
    }
}
