//! The text of Kafka 4.4's `kafka-dump-log.sh` for indexes, producer snapshots and transaction indexes.
//!
//! What the tool says on stderr (mismatches, many of them false) is left out: `verify` says what is wrong. Where the tool
//! ends with an exception a line says what does not fit, and it goes on. Text files the tool passes over.
//! Must not know: which files are shown.

use super::side::{RenderSide, Shown};
use crate::json::{Int, Json, Style};
use crate::log::index::{OFFSET_ENTRY, OffsetEntry, TIME_ENTRY, TimeEntry};
use crate::log::producer_state::{AbortedTxn, ProducerEntry};
use crate::log::side_file::{SideContent, SideFile, SideKind};

/// Whether the tool knows files of a kind.
pub fn knows(kind: SideKind) -> bool {
    matches!(kind, SideKind::OffsetIndex(_) | SideKind::TimeIndex(_) | SideKind::TxnIndex(_) | SideKind::Snapshot(_))
}

/// Entries as Kafka's dump tool prints them.
pub struct SideKafka {
    json: Json,
}

impl SideKafka {
    /// An empty output.
    pub fn new() -> Self {
        SideKafka { json: Json::new(Style::Kafka) }
    }

    fn name_int(&mut self, name: &str, number: impl Into<Int>) {
        self.json.raw(name);
        self.json.int(number);
    }

    fn offset(&mut self, entry: &OffsetEntry) {
        self.name_int("offset: ", entry.offset);
        self.name_int(" position: ", entry.position);
        self.json.raw("\n");
    }

    fn time(&mut self, entry: &TimeEntry) {
        self.name_int("timestamp: ", entry.timestamp);
        self.name_int(" offset: ", entry.offset);
        self.json.raw("\n");
    }

    fn aborted(&mut self, txn: &AbortedTxn) {
        self.name_int("version: ", txn.version);
        self.name_int(" producerId: ", txn.producer_id);
        self.name_int(" firstOffset: ", txn.first_offset);
        self.name_int(" lastOffset: ", txn.last_offset);
        self.name_int(" lastStableOffset: ", txn.last_stable_offset);
        self.json.raw("\n");
    }

    fn producer(&mut self, entry: &ProducerEntry) {
        self.name_int("producerId: ", entry.producer_id);
        self.name_int(" producerEpoch: ", entry.producer_epoch);
        self.name_int(" coordinatorEpoch: ", entry.coordinator_epoch);
        match entry.current_txn_first_offset {
            -1 => self.json.raw(" currentTxnFirstOffset: OptionalLong.empty"),
            offset => {
                self.name_int(" currentTxnFirstOffset: OptionalLong[", offset);
                self.json.raw("]");
            }
        }
        self.name_int(" lastTimestamp: ", entry.timestamp);
        if entry.last_offset >= 0 {
            self.name_int(" firstSequence: ", entry.first_sequence());
            self.name_int(" lastSequence: ", entry.last_sequence);
            self.name_int(" lastOffset: ", entry.last_offset);
            self.name_int(" offsetDelta: ", entry.offset_delta);
            self.name_int(" timestamp: ", entry.timestamp);
        }
        self.json.raw("\n");
    }

    /// The tool shows the first entry whatever it is: zeros, in an index without entries that is not trimmed.
    fn padding(&mut self, file: &SideFile) {
        if !file.is_empty() {
            return;
        }
        match file.kind {
            SideKind::OffsetIndex(offset) if file.padding() >= OFFSET_ENTRY as u64 => {
                self.offset(&OffsetEntry { offset, position: 0 });
            }
            SideKind::TimeIndex(offset) if file.padding() >= TIME_ENTRY as u64 => {
                self.time(&TimeEntry { timestamp: 0, offset });
            }
            _ => {}
        }
    }
}

impl Default for SideKafka {
    fn default() -> Self {
        SideKafka::new()
    }
}

impl RenderSide for SideKafka {
    fn file(&mut self, shown: &Shown, limit: u64) {
        let file = &shown.file;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.json.raw("Dumping ");
        self.json.raw(&shown.path);
        self.json.raw("\n");
        match &file.content {
            SideContent::OffsetIndex(index) if index.entries.is_empty() && index.padding < OFFSET_ENTRY as u64 => {
                self.json.raw(&shown.path);
                self.json.raw(" is empty.\n");
            }
            SideContent::OffsetIndex(index) => index.entries.iter().take(limit).for_each(|entry| self.offset(entry)),
            SideContent::TimeIndex(index) => index.entries.iter().take(limit).for_each(|entry| self.time(entry)),
            SideContent::TxnIndex(index) => index.entries.iter().take(limit).for_each(|txn| self.aborted(txn)),
            SideContent::Snapshot(snapshot) => {
                snapshot.entries.iter().take(limit).for_each(|entry| self.producer(entry));
            }
            _ => {}
        }
        self.padding(file);
        for fault in &file.faults {
            self.name_int("Error at byte ", fault.at);
            self.json.raw(": ");
            self.json.raw(&fault.message);
            self.json.raw("\n");
        }
    }

    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }
}
