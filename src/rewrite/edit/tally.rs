//! What was done, counted; and each edit as it happens, for whoever lists them.
//!
//! Must not know: how it is printed.

use super::Note;
use std::collections::BTreeMap;

/// What became of a record or a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A record went.
    Drop,
    /// A record has another key or value.
    Replace,
    /// A record that was not there.
    Append,
    /// A batch is framed otherwise.
    Reframe,
    /// A batch without records, or a marker, went.
    DropBatch,
}

impl Action {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Action::Drop => "drop",
            Action::Replace => "replace",
            Action::Append => "append",
            Action::Reframe => "reframe",
            Action::DropBatch => "drop-batch",
        }
    }
}

/// One edit.
#[derive(Debug, Clone, Copy)]
pub struct Edited<'e> {
    /// What became of it.
    pub action: Action,
    /// The partition that it comes from; none for what was not there.
    pub from_partition: Option<i32>,
    /// Its offset there; of a batch, the first.
    pub from_offset: Option<i64>,
    /// The partition that it goes to, if it does.
    pub to_partition: Option<i32>,
    /// Its offset there; of a batch, the first.
    pub to_offset: Option<i64>,
    /// Its key as it was, or of what was not there, as it is.
    pub key: Option<&'e [u8]>,
    /// Its value as it was, where the record is dropped or replaced.
    pub value: Option<&'e [u8]>,
    /// Its new key, if it has another.
    pub new_key: Option<&'e [u8]>,
    /// Its new value, if it has another.
    pub new_value: Option<&'e [u8]>,
    /// What was done, and what is lost by it.
    pub notes: &'e [Note],
}

/// What was done, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Batches that were read.
    pub batches: u64,
    /// Of these, those whose bytes stay as they are.
    pub copied: u64,
    /// Of these, those whose bytes stay but for base offset and leader epoch, which no CRC covers.
    pub moved: u64,
    /// Of these, those that were written anew, perhaps to several partitions.
    pub rebuilt: u64,
    /// Of these, those of which nothing stays.
    pub dropped: u64,
    /// Data records that were read.
    pub records: u64,
    /// Data records that went.
    pub dropped_records: u64,
    /// Data records with another key or value.
    pub replaced_records: u64,
    /// Records that were not there.
    pub appended_records: u64,
    /// How often each thing was done, by [`Note::code`].
    pub codes: BTreeMap<&'static str, u64>,
    /// How often each field was lost.
    pub lost: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts one edit.
    pub fn count(&mut self, edited: &Edited<'_>) {
        match edited.action {
            Action::Drop => self.dropped_records += 1,
            Action::Replace => self.replaced_records += 1,
            Action::Append => self.appended_records += 1,
            Action::Reframe | Action::DropBatch => {}
        }
        for note in edited.notes {
            *self.codes.entry(note.code).or_default() += 1;
            for field in &note.lost {
                *self.lost.entry(field).or_default() += 1;
            }
        }
    }

    /// A batch that was put right before it came here counts as written anew: so many were copied and moved before it.
    pub(super) fn count_mended(&mut self, before: Option<(u64, u64)>) {
        let Some((copied, moved)) = before else { return };
        self.rebuilt += (self.copied - copied) + (self.moved - moved);
        (self.copied, self.moved) = (copied, moved);
    }

    /// Whether anything differs from the input.
    pub fn is_untouched(&self) -> bool {
        self.copied == self.batches && self.appended_records == 0
    }
}
