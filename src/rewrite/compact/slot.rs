//! What is kept of a key: its last record, and for who counts besides his figures.
//!
//! Must not know: keys.

use std::fmt::Debug;

/// The record that a key has last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Winner {
    /// Its offset.
    pub offset: i64,
    /// Where its batch begins: the byte, counted through all segments.
    pub place: u64,
}

/// No record.
pub const NONE: Winner = Winner { offset: -1, place: 0 };

impl Default for Winner {
    fn default() -> Self {
        NONE
    }
}

/// What is kept of a key. The default is that of one without records.
pub trait Slot: Copy + Default + Debug {
    /// What is to be noted of a record besides; the default is nothing.
    type Note: Copy + Default + Debug;
    /// The same for keys that are no commits.
    type Other: Slot<Note = Self::Note>;
    /// Partitions up to this number stand in a run, whatever it costs.
    const DENSE: usize;
    /// Takes up a record, which may be [`NONE`] where one is only to be noted; whether it is the key's first.
    fn put(&mut self, record: Winner, note: Self::Note) -> bool;
    /// The greatest record.
    fn last(&self) -> Winner;
}

impl Winner {
    /// Takes the later of both; whether it is the first.
    #[inline(always)]
    pub fn raise(&mut self, record: Winner) -> bool {
        let is_new = self.offset == NONE.offset;
        if record.offset <= self.offset {
            return false;
        }
        *self = record;
        is_new
    }
}

impl Slot for Winner {
    type Note = ();
    type Other = Winner;
    const DENSE: usize = 64;

    #[inline(always)]
    fn put(&mut self, record: Winner, (): ()) -> bool {
        self.raise(record)
    }

    #[inline(always)]
    fn last(&self) -> Winner {
        *self
    }
}
