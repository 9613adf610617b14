//! `compact`.
//!
//! Must not know: how a verb does its work.

use super::common::{Clock, Input};
use super::salvage::ReportFormat;
use crate::cli::time::millis_lasting;
use clap::Args;
use std::path::PathBuf;

/// `compact`
#[derive(Debug, Args)]
#[command(after_help = "\
What stays is what the broker's own cleaner would leave: the last record of every key, tombstones and end markers until
their time is over, whole transactions while they are open, nothing of aborted ones, and what brokers remember producers
by. Offsets do not change. Batches of which all stays are copied byte for byte. There is no limit on the number of keys.

DIR becomes a log dir with a folder __consumer_offsets-N for every partition, and the report in compact.txt and
compact.jsonl. It is written under another name, read back, and renamed at the very end: it is there whole or not at all.
Index files and snapshots are left to the broker, which makes them anew. Segments are merged up to --segment-bytes. The
report names the checkpoint lines to set where the new folders are put in place of the old ones.

Tombstones: a first cleaning only writes down when they may go (a day later, unless --delete-retention says otherwise); a
cleaning after that moment takes them out. End markers go in three steps: with the records of their transaction gone, the
next cleaning writes the moment down, and one after it takes them out.

Damage is what 'grouplog verify' calls an error of segments, batches and the framing of records, here as for rewrite and
salvage; what it only warns of is carried over, and so are keys and values that cannot be read.
Without --skip-damage it ends the work with status 1; with it the exit status is 3, and what is left out is listed with its
lost keys. That needs room for a copy meanwhile: in DIR, or in the folder for temporary files with --dry-run.

Examples:
  grouplog compact --dry-run /var/lib/kafka
  grouplog compact --out /backup/compacted /var/lib/kafka/__consumer_offsets-12
  grouplog compact --include-active --out /backup/compacted /var/lib/kafka
  grouplog compact --now 2026-01-31T12:00:00Z --delete-retention 1h --out new /var/lib/kafka")]
pub struct CompactArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// The new log dir, which must not exist
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Say what would stay and go, and write nothing; of --out only whether it could be made
    #[arg(long)]
    pub dry_run: bool,
    /// Compact the last segment too, which a broker would go on writing: for a broker that is stopped
    #[arg(long, help_heading = "Compaction")]
    pub include_active: bool,
    /// Compact what lies behind an open transaction too; its own records stay
    #[arg(long, help_heading = "Compaction")]
    pub force_past_open_transactions: bool,
    /// How long tombstones and end markers stay behind the cleaning that meets them first (delete.retention.ms): 1d, 12h
    #[arg(long, value_name = "SPAN", default_value = "1d", value_parser = millis_lasting, help_heading = "Compaction")]
    pub delete_retention: i64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clock: Clock,
    /// Let segments grow to this many bytes (segment.bytes; suffixes K, M, G)
    #[arg(long, value_name = "BYTES", default_value = "100M", value_parser = segment_bytes, help_heading = "Compaction")]
    pub segment_bytes: u64,
    /// Leave damaged stretches out, and list them
    #[arg(long, help_heading = "Compaction")]
    pub skip_damage: bool,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
}

/// A segment's positions have 31 bits.
pub(super) fn segment_bytes(text: &str) -> Result<u64, String> {
    match crate::cli::span::parse_bytes(text)? {
        0 => Err("a segment must be able to grow".to_owned()),
        bytes if bytes > i32::MAX as usize => Err("no segment is larger than 2147483647 bytes".to_owned()),
        bytes => Ok(bytes as u64),
    }
}
