//! `salvage`.
//!
//! Must not know: how a verb does its work.

use super::common::Input;
use crate::model::preflight::Coordinator;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `salvage`
#[derive(Debug, Args)]
#[command(after_help = "\
DIR becomes a log dir with a folder __consumer_offsets-N for every partition, and what was lost in salvage.txt and
salvage.jsonl. It is written under another name, read back, and renamed at the very end: it is there whole or not at
all. Sound batches are copied byte for byte. Index files and snapshots are left to the broker, which makes them anew.

A batch whose CRC is wrong is left out, and its keys are listed: a wrong offset could make consumers skip data. --mend
puts back a single changed bit or byte that the CRC points to, where that cannot be chance (a bit in up to 5 KiB);
--keep-doubtful does too, and keeps the records of the log itself that still read whole where none is. A length or magic
is put back always, for the CRC proves it; a leader epoch that stands between others becomes that of a batch beside it.

Exit status 3 if anything was damaged, lost, added or put right; 0 if the log was sound.

Examples:
  grouplog salvage --out /backup/salvaged /var/lib/kafka/__consumer_offsets-12
  grouplog salvage --dry-run --mend /var/lib/kafka/__consumer_offsets-12
  grouplog salvage --also /mnt/broker-2/kafka --out /backup/salvaged /var/lib/kafka")]
pub struct SalvageArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// The new log dir, which must not exist
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Say what would be kept and lost, and write nothing; of --out only whether it could be made
    #[arg(long)]
    pub dry_run: bool,
    /// Fill what is lost from another copy: a partition folder, or a log dir that holds it (repeatable)
    #[arg(long, value_name = "REPLICA", help_heading = "Salvage")]
    pub also: Vec<PathBuf>,
    /// Put back a single changed bit or byte where the CRC says which, and base offsets where the neighbours do
    #[arg(long, help_heading = "Salvage")]
    pub mend: bool,
    /// Of batches of PATH whose CRC is wrong, keep the records that read whole; each is listed
    #[arg(long, help_heading = "Salvage")]
    pub keep_doubtful: bool,
    /// Take offsets that the log lacks from .deleted and other leftover files too, also where nothing is damaged
    #[arg(long, help_heading = "Salvage")]
    pub include_leftovers: bool,
    /// Take out the records at which a group coordinator of this release (as 'verify --broker' names it) would give up on
    /// the partition; each is listed
    #[arg(long, value_name = "X.Y", help_heading = "Salvage")]
    pub drop_unloadable: Option<Coordinator>,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Text for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    Jsonl,
}
