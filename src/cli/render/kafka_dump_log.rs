//! `dump --format kafka-dump-log`: the text of Kafka 4.4's `kafka-dump-log.sh --deep-iteration --print-data-log
//! --offsets-decoder`, so that what was written for that text works on ours.
//!
//! Must not know: what is selected.

use super::dump::{Render, Shown, Site, Soundness};
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Hole};

/// Whether records follow their batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iteration {
    /// Batches and records.
    Deep,
    /// Batches only.
    Shallow,
}

/// Batches and records as Kafka's dump tool prints them.
pub struct DumpLogText {
    json: Json,
    iteration: Iteration,
}

impl DumpLogText {
    /// An empty output.
    pub fn new(iteration: Iteration) -> Self {
        DumpLogText { json: Json::new(Style::Kafka), iteration }
    }
}

impl Render for DumpLogText {
    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }
    fn record(&mut self, _: &Site, _: &Shown<'_, '_>) -> Soundness {
        Soundness::Sound
    }
    fn segment(&mut self, _: &Site) {}
    fn hole(&mut self, _: &Site, _: &Hole) {}
    fn batch(&mut self, _: &Site, _: &Batch<'_>, _: Option<&FaultKind>) {}
    fn bad_record(&mut self, _: &Site, _: &Batch<'_>, _: &BadRecord<'_>) {}
    fn batch_fault(&mut self, _: &Site, _: &Batch<'_>, _: &Fault) {}
    fn segment_end(&mut self, _: &Site) {}
    fn end(&mut self) {}
}
