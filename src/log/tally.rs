//! The small sums that [`super::inventory`] is made of: counts, times, producers.
//!
//! Must not know: where batches lie.

use super::batch::{DELETE_HORIZON, Header, LOG_APPEND_TIME};
use hashbrown::HashMap;

/// How many producer ids are told apart; what comes behind them is counted as one.
const MOST_PRODUCERS: usize = 1 << 18;

/// Batches (or holes) and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many.
    pub number: u64,
    /// Their length in the file, heads included.
    pub bytes: u64,
}

impl Count {
    #[inline(always)]
    pub(super) fn add(&mut self, bytes: u64) {
        self.number += 1;
        self.bytes += bytes;
    }

    pub(super) fn merge(&mut self, other: Count) {
        self.number += other.number;
        self.bytes += other.bytes;
    }
}

/// The times that heads name, in ms since 1970. Records between may lie outside, and of magic 0 there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The least, as an unsigned number: so no time (-1) is the greatest of all.
    first: u64,
    last: i64,
}

impl Times {
    pub(super) const NONE: Times = Times { first: u64::MAX, last: -1 };

    #[inline(always)]
    pub(super) fn add(&mut self, header: &Header) {
        // Where the broker set the time, or the cleaner put its horizon in the place of the first time, the greatest
        // is the only one.
        let first = match header.attributes & (LOG_APPEND_TIME | DELETE_HORIZON) {
            0 => header.base_timestamp,
            _ => header.max_timestamp,
        };
        self.first = self.first.min(first as u64);
        self.last = self.last.max(header.max_timestamp);
    }

    pub(super) fn merge(&mut self, other: Times) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    /// The least; None where no head has a time.
    pub fn first(&self) -> Option<i64> {
        i64::try_from(self.first).ok()
    }

    /// The greatest; None where no head has a time.
    pub fn last(&self) -> Option<i64> {
        (self.last >= 0).then_some(self.last)
    }
}

/// A producer that wrote here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// Its id, 0 or more.
    pub id: i64,
    /// Its batches, end markers included.
    pub count: Count,
}

/// Producers told apart. Their batches come in runs, so the last one is remembered.
#[derive(Debug, Default)]
pub(super) struct Producers {
    pub(super) list: Vec<Producer>,
    by_id: HashMap<i64, u32, foldhash::fast::RandomState>,
    last: usize,
    pub(super) more: Count,
}

impl Producers {
    #[inline(always)]
    pub(super) fn add(&mut self, id: i64, bytes: u64) {
        match self.list.get_mut(self.last) {
            Some(producer) if producer.id == id => producer.count.add(bytes),
            _ => self.add_other(id, bytes),
        }
    }

    #[inline(never)]
    fn add_other(&mut self, id: i64, bytes: u64) {
        let next = self.list.len();
        if next >= MOST_PRODUCERS && !self.by_id.contains_key(&id) {
            self.more.add(bytes);
            return;
        }
        self.last = *self.by_id.entry(id).or_insert(next as u32) as usize;
        if self.last == next {
            self.list.push(Producer { id, count: Count::default() });
        }
        if let Some(producer) = self.list.get_mut(self.last) {
            producer.count.add(bytes);
        }
    }
}
