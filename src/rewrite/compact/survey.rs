//! The first pass of a compaction: which record of every key is the last, and how far a cleaner may go.
//!
//! [`Learner`] goes through the log; where an open transaction pins what lies behind it, it does so once more. Must not
//! know: what is done with what goes, and where the new log goes to.

use super::hiding::hiding;
use super::keys::Keys;
use super::learn::Learner;
use super::onlooker::{Nobody, Onlooker};
use super::producers::Producers;
use super::slot::Winner;
use super::tally::Tally;
use super::{Aim, BeyondOpen};
use crate::fault::FaultKind;
use crate::log::Segment;
use crate::log::batch::Header;
use crate::rewrite::interrupt::Interrupt;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::io;

/// A place in the log: the number of its segment, and the byte.
pub type Place = (u32, u64);

/// Something that a sound log has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What.
    pub fault: FaultKind,
}

/// What to do with a batch that is damaged, if damage is not to end the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// None of it stays.
    LeaveOut,
    /// Only the records that can be read stay.
    Rebuild,
}

/// A transaction without an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Whose.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The first offset of its first batch.
    pub first_offset: i64,
    /// The last offset of its last batch.
    pub last_offset: i64,
    /// How many batches it has.
    pub batches: u64,
    /// The time of its first record, in ms since 1970.
    pub first_timestamp: i64,
    /// The time of its last batch, in ms since 1970.
    pub last_timestamp: i64,
}

/// What the first pass found.
#[derive(Debug)]
pub struct Survey {
    /// The last offset of every key, in what is to be cleaned.
    pub keys: Keys,
    /// What must stay for the sake of producers.
    pub producers: Producers,
    /// Transactions without an end, by first offset.
    pub open: Vec<OpenTransaction>,
    /// By producer, the first offset of its open transaction.
    pub open_from: HashMap<i64, i64, RandomState>,
    /// Tombstones that stay although a later record of their key may stand there, by offset, one of a key at most: they
    /// hide records of an open transaction, which stay too.
    pub hiding: Vec<Winner>,
    /// Where control batches begin below `until`, and whether a batch of their transaction was met; None if there are too
    /// many of them, or batches of open transactions between them, all of which stay: then every batch is looked at.
    pub controls: Option<Vec<(u64, bool)>>,
    /// Where the first batch begins that is not to be cleaned, if there is one.
    pub behind: Option<u64>,
    /// How many bytes lie before each segment.
    pub starts: Vec<u64>,
    /// The first offset that is not to be cleaned.
    pub until: i64,
    /// The last offset of the last batch below that, and where it begins; None if there is none.
    pub newest: Option<(i64, u64)>,
    /// The offset behind the last.
    pub end: i64,
    /// What was read below `until`; batches only where somebody looked on.
    pub before: Tally,
    /// Records of aborted transactions in it.
    pub aborted: u64,
    /// Records in it that lie below the log start.
    pub before_start: u64,
    /// Damage, the first so much.
    pub damage: Vec<Damage>,
    /// Damage in all.
    pub damage_in_all: u64,
    /// What the end of the last segment holds that a broker cuts off when it starts: a torn write, or zeros.
    pub torn: Option<Damage>,
    /// Batches that are damaged, and what is to be done with them.
    pub remedies: HashMap<Place, Remedy, RandomState>,
}

impl Survey {
    /// Of nothing yet, to be cleaned below `until`.
    pub(super) fn new(segments: &[Segment], now: i64, until: i64) -> Self {
        Survey {
            keys: Keys::default(),
            producers: Producers::new(now),
            open: Vec::new(),
            open_from: HashMap::default(),
            hiding: Vec::new(),
            controls: Some(Vec::new()),
            behind: None,
            starts: starts(segments),
            until,
            newest: None,
            end: 0,
            before: Tally::default(),
            aborted: 0,
            before_start: 0,
            damage: Vec::new(),
            damage_in_all: 0,
            torn: None,
            remedies: HashMap::default(),
        }
    }

    /// Whether a batch is part of a transaction without an end.
    pub fn is_open(&self, header: &Header) -> bool {
        let first = if self.open.is_empty() { None } else { self.open_from.get(&header.producer_id) };
        first.is_some_and(|first| *first <= header.base_offset)
    }

    /// All records that stay for their keys' sake, by offset.
    pub fn winners(&self) -> Cow<'_, [Winner]> {
        let mut all = self.keys.winners();
        if !self.hiding.is_empty() {
            let all = all.to_mut();
            all.extend(&self.hiding);
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// The offset at which the cleaned part ends.
    pub fn cleaned_until(&self) -> i64 {
        self.until.min(self.end)
    }
}

/// Reads a log. `progress` is told of bytes read.
///
/// # Errors
/// If the work is interrupted, or more batches are damaged than can be remembered.
pub fn survey(
    segments: &[Segment],
    aim: &Aim,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Survey> {
    survey_with(Nobody, segments, aim, interrupt, progress).map(|(survey, _)| survey)
}

/// As [`survey`], while somebody looks on, who is given back.
///
/// # Errors
/// As [`survey`].
pub fn survey_with<'s, O: Onlooker<'s>>(
    onlooker: O,
    segments: &'s [Segment],
    aim: &Aim,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
) -> io::Result<(Survey, O)> {
    let until = aim.closed_until(segments);
    let (mut survey, onlooker) = Learner::new(segments, aim, until, onlooker).learn(interrupt, progress)?;
    let pinned = survey.open.first().map(|open| open.first_offset).filter(|first| *first < until);
    if let (Some(first), BeyondOpen::Never) = (pinned, aim.beyond_open) {
        // What lies behind it must not count as the last of its key. All that is forgotten before it is learned anew.
        drop(survey);
        survey = Learner::new(segments, aim, first, Nobody).learn(interrupt, &mut |_| {})?.0;
    } else if let Some(first) = pinned {
        survey.hiding = hiding(segments, &survey, first, aim.max_inflated, interrupt)?;
    }
    survey.producers.expire();
    Ok((survey, onlooker))
}

/// How many bytes lie before each segment.
fn starts(segments: &[Segment]) -> Vec<u64> {
    let mut end = 0;
    let start = |segment: &Segment| {
        end += segment.len();
        end - segment.len()
    };
    segments.iter().map(start).collect()
}
