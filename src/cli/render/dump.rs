//! What `dump` shows, and the formats' common face.
//!
//! Must not know: any one format.

use crate::fault::{Fault, FaultKind};
use crate::json::Json;
use crate::log::{BadRecord, Batch, Hole, Record};
use crate::model::event::{Content, Subject, content_of};
use crate::schema::Key;

/// Where a piece stands.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// The partition of `__consumer_offsets`, if it is known.
    pub partition: Option<i32>,
    /// The segment's file name.
    pub segment: String,
    /// The segment's path, as the user gave it or as it follows from that.
    pub path: String,
    /// The segment's length in bytes.
    pub length: u64,
}

/// In which piece of a record a fault lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// At a byte of the key.
    Key,
    /// At a byte of the value.
    Value,
    /// At a byte of the segment.
    Batch,
}

impl Piece {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Piece::Key => "key",
            Piece::Value => "value",
            Piece::Batch => "batch",
        }
    }
}

/// A record as it is to be shown.
pub struct Shown<'r, 's> {
    /// Its batch.
    pub batch: &'r Batch<'r>,
    /// Itself.
    pub record: &'r Record<'s>,
    /// What it is about.
    pub subject: &'r Subject<'s>,
    /// What is wrong with its batch's CRC, if anything.
    pub crc: Option<&'r Fault>,
}

/// Whether something is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    /// Nothing.
    Sound,
    /// Something, which the format shows if it can.
    Faulty,
}

impl<'s> Shown<'_, 's> {
    /// Reads the value.
    pub fn content(&self, key: &Key<'_>) -> Content<'s> {
        content_of(key.record_type, self.record.value)
    }

    /// What is wrong with the record, given what is wrong with its value: the batch comes first, then the key.
    #[inline]
    pub fn fault(&self, value: Option<Fault>) -> Option<(Piece, Fault)> {
        if let Some(fault) = self.crc {
            return Some((Piece::Batch, fault.clone()));
        }
        let in_key = match self.subject {
            Subject::Key(key) => self.fault_in_key(key),
            Subject::BadKey { fault, .. } | Subject::Control(Err(fault)) => Some(fault.clone()),
            Subject::Control(Ok(_)) => None,
        };
        in_key.map(|fault| (Piece::Key, fault)).or(value.map(|fault| (Piece::Value, fault)))
    }

    #[inline]
    fn fault_in_key(&self, key: &Key<'_>) -> Option<Fault> {
        let bytes = self.record.key.unwrap_or_default();
        if !key.trailing.is_empty() {
            return Some(trailing(bytes, key.trailing));
        }
        (!bytes.is_ascii() && !key.is_utf8()).then(|| FaultKind::NotUtf8.at(0))
    }

    /// What is wrong with the record, given its decoded value.
    pub fn fault_with(&self, content: &Content<'_>) -> Option<(Piece, Fault)> {
        self.fault(match content {
            Content::Bad { fault, .. } => Some(fault.clone()),
            Content::Value(value) if !value.trailing.is_empty() => {
                Some(trailing(self.record.value.unwrap_or_default(), value.trailing))
            }
            _ => None,
        })
    }
}

/// That bytes are left over at the end.
pub fn trailing(whole: &[u8], rest: &[u8]) -> Fault {
    FaultKind::TrailingBytes(rest.len() as u64).at((whole.len() - rest.len()) as u64)
}

impl Soundness {
    /// Of a record with this fault.
    pub fn of<T>(fault: &Option<T>) -> Self {
        if fault.is_some() { Soundness::Faulty } else { Soundness::Sound }
    }
}

/// A format of `dump`.
pub trait Render {
    /// Where the format collects what is to go out.
    fn buffer(&mut self) -> &mut Json;
    /// A segment begins.
    fn segment(&mut self, site: &Site);
    /// Bytes that are no batch.
    fn hole(&mut self, site: &Site, hole: &Hole);
    /// A batch of which something is shown; the CRC may be wrong.
    fn batch(&mut self, site: &Site, batch: &Batch<'_>, crc: Option<&FaultKind>);
    /// A record of a batch whose CRC is right, if the format knows its key from records before it and need not be told
    /// what it is about. None if it does not, and nothing was shown.
    fn record_at_sight(&mut self, batch: &Batch<'_>, record: &Record<'_>) -> Option<Soundness> {
        let _ = (batch, record);
        None
    }
    /// A record.
    fn record(&mut self, site: &Site, shown: &Shown<'_, '_>) -> Soundness;
    /// A record that does not parse.
    fn bad_record(&mut self, site: &Site, batch: &Batch<'_>, record: &BadRecord<'_>);
    /// The batch ends, and something is wrong with it as a whole.
    fn batch_fault(&mut self, site: &Site, batch: &Batch<'_>, fault: &Fault);
    /// A segment ends.
    fn segment_end(&mut self, site: &Site);
    /// Nothing more comes.
    fn end(&mut self);
    /// Where one finds the faults that were met, for people.
    fn where_faults_stand(&self) -> &'static str {
        "in the output, at its place (look for \"fault\" and \"hole\")"
    }
}
