//! What the head of a batch must be like, next to the ones before it.
//!
//! Must not know: what the batch holds.

use crate::log::{Batch, Header};

/// The batch that was met last, and what is needed to tell an outlier from a step back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Met {
    /// Where it begins.
    pub position: u64,
    /// Its base offset.
    pub base_offset: i64,
    /// Its last offset.
    pub last_offset: i64,
    /// Its leader epoch.
    pub epoch: i32,
}

/// What a batch is like, next to the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// It follows.
    Ascends,
    /// It begins at or below where the one before it ends.
    GoesBack,
    /// The one before it stands too high: this one follows what was before that.
    BeforeWasOutlier,
}

/// Batches in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The last two, this segment's or an earlier one's, in turn: so that none is ever moved.
    met: [Option<Met>; 2],
    /// Which of them is the last.
    at: usize,
    /// Gaps between batches, and how many offsets are missing in them.
    pub gaps: u64,
    pub missing: u64,
    /// Batches without records.
    pub empty: u64,
}

impl Row {
    #[inline(always)]
    pub(super) fn last(&self) -> Option<Met> {
        self.met[self.at & 1]
    }

    fn before(&self) -> Option<Met> {
        self.met[!self.at & 1]
    }

    /// Whether the offsets of a batch follow; counts gaps.
    #[inline(always)]
    pub(super) fn order(&mut self, header: &Header) -> Order {
        let Some(last) = self.last() else { return Order::Ascends };
        // The head of a wrapper of magic 0 or 1 names its last offset only.
        if header.base_offset.checked_sub(1) == Some(last.last_offset) {
            return Order::Ascends;
        }
        self.order_apart(header.base_offset, header.magic, last)
    }

    #[cold]
    fn order_apart(&mut self, base_offset: i64, magic: u8, last: Met) -> Order {
        if base_offset > last.last_offset {
            if magic >= 2 {
                self.gaps += 1;
                let missing = base_offset.saturating_sub(last.last_offset).saturating_sub(1);
                self.missing = self.missing.saturating_add(missing as u64);
            }
            return Order::Ascends;
        }
        match self.before() {
            Some(before) if base_offset > before.last_offset => Order::BeforeWasOutlier,
            // Nothing stands before it to tell; but all that follows would be blamed for one wrong offset.
            None if base_offset < last.base_offset => Order::BeforeWasOutlier,
            _ => Order::GoesBack,
        }
    }

    /// Whether the leader epoch follows.
    #[inline(always)]
    pub(super) fn epoch_order(&self, header: &Header) -> Order {
        match self.last() {
            Some(last) if header.partition_leader_epoch < last.epoch => match self.before() {
                Some(before) if header.partition_leader_epoch < before.epoch => Order::GoesBack,
                _ => Order::BeforeWasOutlier,
            },
            _ => Order::Ascends,
        }
    }

    /// Takes a batch in. One that goes back moves nothing.
    #[inline(always)]
    pub(super) fn add(&mut self, batch: &Batch<'_>, header: &Header, order: Order) {
        if order == Order::GoesBack {
            return;
        }
        // An outlier is written over.
        self.at ^= usize::from(order == Order::Ascends);
        self.met[self.at & 1] = Some(Met {
            position: batch.position(),
            base_offset: header.base_offset,
            last_offset: header.last_offset.max(header.base_offset),
            epoch: header.partition_leader_epoch,
        });
        if header.count == 0 {
            self.empty += 1;
        }
    }
}
