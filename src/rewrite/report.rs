//! What was found and done: one incident for every stretch that is not simply copied.
//!
//! Must not know: how it is printed.

use super::plan::SourceId;
use crate::log::mend::Change;

/// A stretch of a file that is not simply copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The file.
    pub source: SourceId,
    /// Where the stretch begins, in bytes.
    pub position: u64,
    /// In bytes.
    pub length: u64,
    /// The stable name of what is wrong.
    pub code: &'static str,
    /// What is wrong, in words.
    pub message: String,
    /// The first offset concerned, if it is known; else the first it can be.
    pub first: Option<i64>,
    /// The last offset concerned, if it is known; else the last it can be.
    pub last: Option<i64>,
    /// The leader epoch, as its bytes say or as its neighbours do.
    pub epoch: Option<i32>,
    /// Whether the stretch is made of batches whose frames hold.
    pub is_batches: bool,
    /// Whether those may have had more records than can be counted.
    pub may_be_more: bool,
    /// Records in it that are lost and have no key that can be read, as far as they can be counted.
    pub dark_records: u64,
    /// Where those stood, if it is known: offsets between which no other record can be read.
    pub dark_at: Vec<(i64, i64)>,
    /// The producer of a batch that is part of a transaction or ends one.
    pub producer: Option<Producer>,
    /// What was done.
    pub outcome: Outcome,
    /// A change of one bit or byte that would make the CRC right, and was not made because nobody asked.
    pub would_mend: Option<Change>,
    /// Of what is left out, the offset behind all that stands before it.
    pub stands: Option<i64>,
    /// The last offset by the head of a damaged batch, where nothing behind it bears that out.
    pub head_last: Option<i64>,
    /// What of its offsets other copies did not give; None: all of them.
    pub missing: Option<Vec<(i64, i64)>>,
    /// What of its offsets compaction took in another copy.
    pub compacted: Vec<(i64, i64)>,
    /// What of its offsets other copies tell of and have nothing of, and a file of each: compaction's, if none gives them.
    pub silent: Vec<((i64, i64), SourceId)>,
    /// The files of other copies that gave some.
    pub filled_from: Vec<SourceId>,
    /// What to change of the bytes for them to be a batch, by place: its length, and what else its head has wrong.
    pub patch: Box<[(u32, u8)]>,
    /// Zeros at the end of the stretch may reach into the base offset of the batch behind it, and nothing else vouches
    /// for that.
    pub doubts_next: bool,
}

/// How bad it is for every verb that writes a new log, by the severities of `verify`. What a record says is no matter here:
/// what no broker would load is told apart, and is copied unless it is asked to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gravity {
    /// What a stop leaves at the end of a sound log; a broker cuts it off.
    Normal,
    /// Of what `verify` warns nothing is lost: it is put right, or carried over.
    Warning,
    /// What `verify` calls an error: without leave the log is not taken.
    Damage,
}

/// What `verify` only warns of.
const WARNINGS: [&str; 2] = ["timestamp-mismatch", "leader-epoch-order"];

impl Incident {
    /// Of a stretch of a file, in bytes, of which nothing more is known.
    pub(super) fn of(source: SourceId, position: u64, length: u64, code: &'static str, outcome: Outcome) -> Incident {
        Incident {
            source,
            position,
            length,
            code,
            message: String::new(),
            first: None,
            last: None,
            epoch: None,
            is_batches: false,
            may_be_more: false,
            dark_records: 0,
            dark_at: Vec::new(),
            producer: None,
            outcome,
            would_mend: None,
            stands: None,
            head_last: None,
            missing: None,
            compacted: Vec::new(),
            silent: Vec::new(),
            filled_from: Vec::new(),
            patch: Box::default(),
            doubts_next: false,
        }
    }

    /// Whether records may be missing because of it, that other copies did not give.
    pub fn loses_still(&self) -> bool {
        self.outcome.loses() && self.missing.as_ref().is_none_or(|missing| !missing.is_empty())
    }

    /// The offsets that it lacks, ascending. Without an end they go on to wherever the log ended.
    pub fn lacks(&self) -> Vec<(i64, i64)> {
        let lost = matches!(self.outcome, Outcome::Lost | Outcome::Partly { .. } | Outcome::Doubtful { .. });
        match (&self.missing, self.first) {
            (Some(missing), _) if lost => missing.clone(),
            (None, Some(first)) if lost => vec![(first, self.last.unwrap_or(i64::MAX))],
            _ => Vec::new(),
        }
    }

    /// Whether keys are lost here that nobody can name.
    pub fn hides_keys(&self) -> bool {
        self.outcome.loses() && (!self.is_batches || self.may_be_more || self.dark_records > 0)
    }

    /// How bad it is.
    pub fn gravity(&self) -> Gravity {
        match self.outcome {
            Outcome::Normal | Outcome::Split => Gravity::Normal,
            Outcome::Mended(_) if WARNINGS.contains(&self.code) => Gravity::Warning,
            _ => Gravity::Damage,
        }
    }
}

/// A producer, as a batch names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// Its id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Whether the batch ends its transaction.
    pub ends: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be: zeros or a torn write at the end of the log.
    Normal,
    /// Left out; no offset is missing, so that nothing can have been in it.
    Nothing,
    /// Left out.
    Lost,
    /// Written anew with what could be read.
    Partly {
        /// Records that stay.
        kept: u64,
        /// Records that could not be read.
        lost: u64,
    },
    /// Written anew with records that nothing vouches for.
    Doubtful {
        /// Records that stay.
        kept: u64,
        /// Records that could not be read whole.
        lost: u64,
    },
    /// Put right.
    Mended(Vec<Change>),
    /// Left out, because all of it stands elsewhere in the log too.
    Repeated,
    /// Left out, because something else stands at its offsets, which wins.
    Overruled,
    /// Left out in part, because something else stands at some of its offsets, which wins.
    PartlyOverruled,
    /// Taken from these files.
    Filled(Vec<SourceId>),
    /// Left out, because a broker would not load it.
    Unloadable,
    /// Taken over into a segment of the right name: its own segment's was wrong.
    Renamed,
    /// Taken over into a new segment: its own spans more than a broker can index, which then splits it too.
    Split,
}

impl Outcome {
    /// The stable name.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Normal => "normal",
            Outcome::Nothing => "nothing-missing",
            Outcome::Lost => "lost",
            Outcome::Partly { .. } => "partly-lost",
            Outcome::Doubtful { .. } => "kept-doubtful",
            Outcome::Mended(_) => "mended",
            Outcome::Repeated => "repeated",
            Outcome::Overruled => "overruled",
            Outcome::PartlyOverruled => "partly-overruled",
            Outcome::Filled(_) => "filled",
            Outcome::Unloadable => "dropped-unloadable",
            Outcome::Renamed => "renamed",
            Outcome::Split => "split",
        }
    }

    /// Whether records may be missing in the new log because of it.
    pub fn loses(&self) -> bool {
        match self {
            Outcome::Lost | Outcome::Overruled | Outcome::PartlyOverruled | Outcome::Unloadable => true,
            Outcome::Partly { lost, .. } | Outcome::Doubtful { lost, .. } => *lost > 0,
            _ => false,
        }
    }

    /// Whether it is worth more than a remark.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Outcome::Normal | Outcome::Split)
    }
}

/// The same offset with different contents in two copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The offset.
    pub offset: i64,
    /// What this log says.
    pub ours: Option<Content>,
    /// What the other copy says.
    pub theirs: Option<Content>,
    /// The other copy's file.
    pub source: SourceId,
    /// Whether the other copy's is taken.
    pub theirs_wins: bool,
}

/// A record in one of two copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The leader epoch of its batch.
    pub epoch: i32,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    /// None for null.
    pub key: Option<Vec<u8>>,
    /// None for null.
    pub value: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Code, Severity};

    #[test]
    fn warnings_are_those_of_verify() {
        for code in WARNINGS {
            assert_eq!(Code::of_name(code).map(Code::severity), Some(Severity::Warning), "{code}");
        }
    }
}
