//! Edits of a log: what becomes of each record, and of the batches around them.
//!
//! [`Edits`] is pure: from a record to what becomes of it, in one fixed order, whatever the order of the options:
//!
//! 1. drops, by the names that the input has ([`drops`]),
//! 2. renames ([`rename`]), and what only the old cluster knows ([`cluster`]),
//! 3. offsets that are set ([`set_offset`]),
//! 4. what a release needs to read it ([`target`]),
//! 5. names replaced for sharing ([`redact`]).
//!
//! [`reframe`] says how a batch is framed behind that, [`feed`] gives the batches of the old logs, [`run`] carries it out
//! and tells [`tally`] of every edit. Must not know: how anything is printed, and which options there are.

pub mod cluster;
pub mod drops;
pub mod feed;
pub mod redact;
pub mod reframe;
pub mod rename;
pub mod run;
pub mod set_offset;
pub mod tally;
pub mod target;
pub mod wish;
pub mod write;

use cluster::Cluster;
use drops::Drops;
use redact::Redact;
use rename::Renames;
use set_offset::SetOffsets;
use std::borrow::Cow;
use std::io;
use target::Target;

/// Where a record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The place of its log among those that are read together.
    pub feed: usize,
    /// Its offset in that log.
    pub offset: i64,
}

/// A data record on its way.
#[derive(Debug, Clone, Copy)]
pub struct Item<'r> {
    /// Where it comes from.
    pub origin: Origin,
    /// None for null.
    pub key: Option<&'r [u8]>,
    /// None for null.
    pub value: Option<&'r [u8]>,
}

/// Something that was done, or had to be left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The stable name.
    pub code: &'static str,
    /// More, for people; may be empty.
    pub text: String,
    /// What is lost by it: names of fields.
    pub lost: Vec<&'static str>,
}

impl Note {
    /// With nothing more to say.
    pub fn new(code: &'static str) -> Note {
        Note { code, text: String::new(), lost: Vec::new() }
    }

    /// With more to say.
    pub fn saying(code: &'static str, text: String) -> Note {
        Note { text, ..Note::new(code) }
    }
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// It goes, and why.
    pub drop: Option<Note>,
    /// In place of its key.
    pub key: Option<Vec<u8>>,
    /// In place of its value, which was none.
    pub value: Option<Vec<u8>>,
    /// Its headers go.
    pub without_headers: bool,
    /// What was done to it.
    pub notes: Vec<Note>,
}

impl Decision {
    /// Whether it stays as it is.
    pub fn is_keep(&self) -> bool {
        self.drop.is_none() && self.key.is_none() && self.value.is_none() && !self.without_headers
    }
}

/// All edits of records.
#[derive(Default)]
pub struct Edits {
    /// What goes.
    pub drops: Drops,
    /// New names.
    pub renames: Renames,
    /// Who is to have it.
    pub cluster: Cluster,
    /// New offsets.
    pub set_offsets: SetOffsets,
    /// Who is to read it.
    pub target: Option<Target>,
    /// Names that nobody else should see.
    pub redact: Option<Redact>,
}

/// Key and value while they change.
pub(super) struct Draft<'r> {
    pub key: Cow<'r, [u8]>,
    pub value: Option<Cow<'r, [u8]>>,
    pub notes: Vec<Note>,
}

impl Edits {
    /// Whether no record can change or go.
    pub fn is_none(&self) -> bool {
        self.drops.is_none()
            && self.renames.is_none()
            && self.cluster == Cluster::Same
            && self.set_offsets.is_none()
            && self.target.is_none()
            && self.redact.is_none()
    }

    /// What becomes of a record.
    ///
    /// # Errors
    /// If a new name is one that the log has already.
    pub fn decide(&self, item: &Item<'_>) -> io::Result<Decision> {
        if let Some(why) = self.drops.why(item) {
            return Ok(Decision { drop: Some(why), ..Decision::default() });
        }
        // What has no key names nothing; a coordinator refuses it, so that a target drops it.
        let Some(key) = item.key else {
            let hidden = self.redact.as_ref().map(|_| Note::new("redact-unreadable"));
            let drop = self.target.as_ref().map(Target::keyless).or(hidden);
            return Ok(Decision { drop, ..Decision::default() });
        };
        let mut draft = Draft { key: Cow::Borrowed(key), value: item.value.map(Cow::Borrowed), notes: Vec::new() };
        self.renames.apply(&mut draft)?;
        self.cluster.apply(&mut draft);
        self.set_offsets.apply(item.origin, &mut draft);
        if let Some(target) = &self.target
            && let Some(why) = target.apply(&mut draft)
        {
            return Ok(Decision { drop: Some(why), ..Decision::default() });
        }
        if let Some(redact) = &self.redact
            && let Some(why) = redact.apply(&mut draft)
        {
            return Ok(Decision { drop: Some(why), ..Decision::default() });
        }
        let Draft { key, value, notes } = draft;
        let changed = |new: Cow<'_, [u8]>| match new {
            Cow::Borrowed(_) => None,
            Cow::Owned(new) => Some(new),
        };
        Ok(Decision {
            drop: None,
            key: changed(key),
            value: value.and_then(changed),
            without_headers: self.redact.is_some(),
            notes,
        })
    }

    /// A record that was not in the log, by the names that it gets, as it is to be shown.
    fn finish(&self, (key, value): (Vec<u8>, Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
        let Some(redact) = &self.redact else { return (key, value) };
        let mut draft = Draft { key: Cow::Owned(key), value: Some(Cow::Owned(value)), notes: Vec::new() };
        // What was made here can be read.
        let _ = redact.apply(&mut draft);
        (draft.key.into_owned(), draft.value.unwrap_or_default().into_owned())
    }
}
