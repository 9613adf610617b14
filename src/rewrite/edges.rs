//! Where the damage of a log begins and ends: what stands right beside it says less than the rest.
//!
//! Must not know: what is made of that.

use super::plan::{Piece, SourceId};
use super::report::{Incident, Outcome};
use crate::log::Batch;
use std::collections::HashSet;

/// A place in a file, in bytes.
pub(super) type Place = (SourceId, u64);

/// Where damage begins and ends.
pub(super) struct Edges {
    begins: HashSet<Place>,
    ends: HashSet<Place>,
}

impl Edges {
    /// Of all that was lost, or seen to hold nothing.
    pub(super) fn of(incidents: &[Incident]) -> Edges {
        let lost = || incidents.iter().filter(|it| matches!(it.outcome, Outcome::Lost | Outcome::Nothing));
        Edges {
            begins: lost().map(|it| (it.source, it.position)).collect(),
            ends: lost().map(|it| (it.source, it.position + it.length)).collect(),
        }
    }

    /// Whether damage begins at a place.
    pub(super) fn begin_at(&self, place: Place) -> bool {
        self.begins.contains(&place)
    }

    /// Whether damage ends at a place.
    pub(super) fn end_at(&self, place: Place) -> bool {
        self.ends.contains(&place)
    }

    /// Whether a piece stands right beside damage, or is damaged itself.
    pub(super) fn touch(&self, piece: &Piece) -> bool {
        piece.edit.thin.is_none() && (!piece.edit.is_none() || self.touch_bytes(piece.source, piece.from, piece.to))
    }

    /// Whether a batch stands right beside damage.
    pub(super) fn touch_batch(&self, source: SourceId, batch: &Batch<'_>) -> bool {
        self.touch_bytes(source, batch.position(), batch.position() + batch.len())
    }

    fn touch_bytes(&self, source: SourceId, from: u64, to: u64) -> bool {
        self.begin_at((source, to)) || self.end_at((source, from))
    }
}
