//! What `dump` shows, and the formats' common face.
//!
//! Must not know: any one format.

use crate::fault::{Fault, FaultKind};
use crate::json::Json;
use crate::log::{BadRecord, Batch, Hole, Record};
use crate::model::event::Meaning;

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
    /// What it says.
    pub meaning: &'r Meaning<'s>,
    /// What is wrong with it, if anything.
    pub fault: Option<(Piece, &'r Fault)>,
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
    /// A record.
    fn record(&mut self, site: &Site, shown: &Shown<'_, '_>);
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
        "each stands in the output at its place (look for \"fault\" and \"hole\")"
    }
}
