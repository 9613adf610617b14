//! The policy of `compact`: what the broker's own cleaner would leave (KIP-58, KIP-98, KIP-534), in one go.
//!
//! [`survey`] reads the log once and finds the last record of every key; [`clean`] goes through it again and hands on what
//! stays, batch by batch, so that memory grows with the live keys only. [`carry_out`] writes that to a new folder and
//! holds what it reads back against what was found. Must not know: how anything is printed.

pub mod carry_out;
pub mod clean;
pub mod collect;
pub mod hiding;
mod kept;
pub mod keys;
mod learn;
pub mod onlooker;
pub mod places;
pub mod producers;
pub mod rebuild;
pub mod roll;
mod route;
pub mod slot;
pub mod survey;
pub mod tally;

use crate::log::{Segment, Span};

/// What is cleaned, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aim {
    /// What now is, in ms since 1970.
    pub now: i64,
    /// How long tombstones and end markers stay behind the cleaning that meets them first, in ms (`delete.retention.ms`).
    pub delete_retention_ms: i64,
    /// Segments grow to so many bytes.
    pub segment_bytes: u64,
    /// Which segments.
    pub extent: Extent,
    /// Whether to go beyond an open transaction.
    pub beyond_open: BeyondOpen,
    /// The first offset that counts, if the log dir names one.
    pub log_start: Option<i64>,
    /// Inflated batches are limited to this many bytes.
    pub max_inflated: usize,
}

/// Which segments are cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All but the last, as a broker does.
    Closed,
    /// All.
    All,
}

/// Whether to go beyond an open transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeyondOpen {
    /// What lies behind its first record stays as it is, as with a broker.
    Never,
    /// What lies behind is cleaned too. The transaction's own records stay.
    Forced,
}

impl Aim {
    /// The offset at which the segments end that are cleaned.
    fn closed_until(&self, segments: &[Segment]) -> i64 {
        match (self.extent, segments.last()) {
            (Extent::Closed, Some(active)) => base_of(active),
            _ => i64::MAX,
        }
    }
}

/// Where a segment begins: as its name says, or as its first batch does.
fn base_of(segment: &Segment) -> i64 {
    let first = || match segment.spans().next() {
        Some(Span::Batch(batch)) => batch.header().base_offset,
        _ => 0,
    };
    segment.base_offset().unwrap_or_else(first)
}
