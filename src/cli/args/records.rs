//! The verbs that show files as they are: `dump`, `info`.
//!
//! Must not know: how a verb does its work.

use super::common::{Clock, Input, Selection, Stretch, TextFormat};
use clap::{Args, ValueEnum};

/// `dump`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  grouplog dump /var/lib/kafka/__consumer_offsets-12
  grouplog dump --group my-group --time -2h.. /var/lib/kafka | jq .value.data.offset
  grouplog dump --batches --format table 00000000000000000000.log
  grouplog dump --format table 00000000000000000000.index
  grouplog dump --side-files /var/lib/kafka/__consumer_offsets-12")]
pub struct DumpArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// How to print
    #[arg(long, value_enum, default_value_t = DumpFormat::Jsonl, value_name = "FORMAT")]
    pub format: DumpFormat,
    /// Print batch headers instead of records
    #[arg(long)]
    pub batches: bool,
    /// Print the files beside the segments instead: indexes, producer snapshots, checkpoints (one can also be given as PATH)
    #[arg(long)]
    pub side_files: bool,
    /// Add the bytes of key and value (base64)
    #[arg(long)]
    pub raw: bool,
    /// Stop after N records (or batches, or entries)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub selection: Selection,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub stretch: Stretch,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clock: Clock,
}

/// How `dump` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// One JSON object a line.
    Jsonl,
    /// One JSON array.
    Json,
    /// A table for people.
    Table,
    /// Comma-separated values with a header line.
    Csv,
    /// The text of kafka-dump-log.sh --deep-iteration --offsets-decoder.
    KafkaDumpLog,
    /// The JSON of Kafka's console consumer formatters for this topic.
    KafkaFormatter,
}

/// `info`
#[derive(Debug, Args)]
#[command(after_help = "\
Only the heads of batches are read, so it is quick and sees holes between batches; whether what is inside a batch is \
sound, it does not see: 'grouplog dump' checks CRCs.

Examples:
  grouplog info /var/lib/kafka
  grouplog info --format json /var/lib/kafka/__consumer_offsets-12 | jq '.[0].endOffset'")]
pub struct InfoArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
}
