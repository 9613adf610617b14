//! Transactions that have not ended: whose, since when, and how much of the log lies behind their first record.
//!
//! Must not know: which keys they commit (the replay does), and how long is too long.

use crate::log::Header;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Coordinator epochs are remembered of so many producers.
const MOST_PRODUCERS: usize = 100_000;

/// A transaction that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// Whose.
    pub producer_id: i64,
    /// Its epoch, as the last batch has it.
    pub producer_epoch: i16,
    /// Base offset of the first batch.
    pub first_offset: i64,
    /// Last offset of the last batch.
    pub last_offset: i64,
    /// The greatest time of the first batch, in ms since 1970; -1 unknown.
    pub first_time: i64,
    /// The greatest time of the last batch.
    pub last_time: i64,
    /// Bytes of the log before the first batch.
    pub bytes_before: u64,
    /// The epoch of its coordinator, as the producer's last marker before it has it.
    pub coordinator_epoch: Option<i32>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Open {
    open: HashMap<i64, Transaction, FixedState>,
    coordinators: HashMap<i64, i32, FixedState>,
}

impl Open {
    /// A batch of a transaction; `bytes_before` of the log stand before it.
    pub fn batch(&mut self, header: &Header, bytes_before: u64) {
        let first = Transaction {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            first_offset: header.base_offset,
            last_offset: header.last_offset,
            first_time: header.max_timestamp,
            last_time: header.max_timestamp,
            bytes_before,
            coordinator_epoch: None,
        };
        let it = self.open.entry(header.producer_id).or_insert(first);
        it.producer_epoch = header.producer_epoch;
        it.last_offset = header.last_offset;
        it.last_time = header.max_timestamp;
    }

    /// An end marker.
    pub fn end(&mut self, producer_id: i64, coordinator_epoch: i32) {
        self.open.remove(&producer_id);
        if self.coordinators.len() < MOST_PRODUCERS || self.coordinators.contains_key(&producer_id) {
            self.coordinators.insert(producer_id, coordinator_epoch);
        }
    }

    /// What is open at the end, in the order of the log.
    pub fn all(&self) -> Vec<Transaction> {
        let coordinator_epoch = |producer_id| self.coordinators.get(&producer_id).copied();
        let mut all: Vec<_> = (self.open.values())
            .map(|it| Transaction { coordinator_epoch: coordinator_epoch(it.producer_id), ..*it })
            .collect();
        all.sort_unstable_by_key(|it| (it.first_offset, it.producer_id));
        all
    }
}
