//! Where keys are kept: the bytes of all of them in one room, and what is known of each on one line of the processor's
//! cache.
//!
//! Must not know: how a key is found.

use super::slot::{NONE, Slot, Winner};
use crate::machine::cpu::{prefetch, prefetch_item};
use std::collections::BTreeMap;

/// Where bytes stand in the room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    at: usize,
    len: u32,
}

/// All bytes of keys, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Room(Vec<u8>);

impl Room {
    pub(super) fn add(&mut self, bytes: &[u8]) -> Text {
        let at = self.0.len();
        self.0.extend_from_slice(bytes);
        Text { at, len: bytes.len() as u32 }
    }

    /// Calls the bytes of a key into the cache, as many as most have.
    #[inline(always)]
    pub(super) fn prefetch(&self, text: Text) {
        prefetch(&self.0, text.at);
        prefetch(&self.0, text.at + 64);
    }

    #[inline(always)]
    pub(super) fn get(&self, text: Text) -> &[u8] {
        self.0.get(text.at..text.at + text.len as usize).unwrap_or_default()
    }
}

/// Type, group and topic of commits. On one line of the processor's cache.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Prefix<S> {
    pub(super) text: Text,
    /// How many partitions are there, in the run and apart.
    pub(super) live: u32,
    /// Whether the coordinator may know its keys by other bytes too.
    pub(super) odd: bool,
    /// By partition.
    run: Vec<S>,
    /// Partitions that do not fit the run. Few have any.
    #[expect(clippy::box_collection, reason = "it would push the rest over the end of the line")]
    apart: Box<BTreeMap<i32, S>>,
}

impl<S: Slot> Prefix<S> {
    pub(super) fn new(text: Text, odd: bool) -> Self {
        Prefix { text, live: 0, odd, run: Vec::new(), apart: Box::default() }
    }

    /// Calls what is known of a partition into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, partition: i32) {
        prefetch_item(&self.run, partition as usize);
    }

    /// What is known of a partition, if there is room for it.
    pub(super) fn slot(&self, partition: i32) -> Option<&S> {
        match usize::try_from(partition).ok().and_then(|i| self.run.get(i)) {
            Some(slot) => Some(slot),
            None => self.apart.get(&partition),
        }
    }

    /// The room of a partition.
    #[inline(always)]
    pub(super) fn room(&mut self, partition: i32) -> &mut S {
        let i = usize::try_from(partition).unwrap_or(usize::MAX);
        // A run grows only as far as what is in it bears out, so that a wild partition number costs nothing.
        if i >= self.run.len() && i < S::DENSE.max(4 * self.live as usize) {
            self.grow(i + 1);
        }
        match self.run.get_mut(i) {
            Some(room) => room,
            None => self.apart.entry(partition).or_default(),
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let from = self.run.len();
        self.run.resize(len, S::default());
        for (i, room) in self.run.iter_mut().enumerate().skip(from) {
            *room = self.apart.remove(&(i as i32)).unwrap_or_default();
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Winner> {
        self.run.iter().chain(self.apart.values()).map(Slot::last).filter(|record| *record != NONE)
    }

    /// By partition, ascending; rooms that nothing was put in too.
    pub(super) fn by_partition(&self) -> impl Iterator<Item = (i32, &S)> {
        let apart = |(partition, slot): (&i32, _)| (*partition, slot);
        let run = self.run.iter().enumerate().map(|(i, slot)| (i as i32, slot));
        self.apart.range(..0).map(apart).chain(run).chain(self.apart.range(0..).map(apart))
    }
}

/// A key of another type. On one line of the processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Other<S> {
    pub(super) text: Text,
    pub(super) slot: S,
}
