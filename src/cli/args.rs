//! The one declaration of the command line. Help, man pages and completions come from it.
//!
//! Must not know: how a verb does its work.

use super::select::{GroupPattern, TypeSelector};
use super::span::{OffsetRange, TimeRange};
use super::time::Moment;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT: &str = "\
Exit status: 0 done, nothing to report; 1 failed; 2 usage; 3 done, with damage or findings (named on stderr or in the \
output). A closed pipe is 0.";

/// Read, audit and repair Kafka's __consumer_offsets log offline, from the segment files on disk.
#[derive(Debug, Parser)]
#[command(
    name = "grouplog",
    version,
    max_term_width = 100,
    after_help = EXIT,
    after_long_help = EXIT,
    long_about = "Reads, audits and repairs Kafka's __consumer_offsets log offline, from the segment files on disk.\n\n\
        Every PATH is a .log file, a partition folder __consumer_offsets-N, or a log dir that holds such folders \
        (several, if the broker has several disks). Files are opened read-only and never changed."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How to talk.
    #[command(flatten)]
    pub talk: Talk,
}

/// How to talk on stderr, on every verb.
#[derive(Debug, Args)]
pub struct Talk {
    /// Colour: auto is a terminal without NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN", help_heading = "Talk")]
    pub color: When,
    /// Show no progress bar on long work
    #[arg(long, global = true, help_heading = "Talk")]
    pub no_progress: bool,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Talk")]
    pub quiet: bool,
    /// Say more on stderr: which files were read, and which were left out
    #[arg(short, long, global = true, help_heading = "Talk")]
    pub verbose: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // one at a time, once a run
pub enum Command {
    /// What is here: segments, offsets, times, bytes, codecs, magics; from batch headers only
    Info(InfoArgs),
    /// Print every record, decoded
    Dump(DumpArgs),
    /// Which partition of __consumer_offsets a group hashes to
    PartitionOf(PartitionOfArgs),
    /// Record types, their versions and fields
    Schema(SchemaArgs),
    /// Write the man pages or shell completions
    Generate(GenerateArgs),
}

/// What to read.
#[derive(Debug, Clone, Args)]
pub struct Input {
    /// A .log file, a partition folder __consumer_offsets-N, or a log dir that holds such folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: Reading,
}

/// How to read what PATH names.
#[derive(Debug, Clone, Args)]
pub struct Reading {
    /// Of a log dir, read only partition N; of any other folder or file, take it for partition N
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i32).range(0..),
        help_heading = "Reading",
        allow_negative_numbers = true
    )]
    pub partition: Option<i32>,
    /// Read folders named -delete, -future or -stray too
    #[arg(long, help_heading = "Reading")]
    pub include_stray: bool,
    /// Inflate a batch to at most this many bytes (suffixes K, M, G)
    #[arg(long, value_name = "BYTES", value_parser = super::span::parse_bytes, help_heading = "Reading")]
    pub max_inflated: Option<usize>,
}

/// Which records to show. Options of different kinds must all hold; of one kind, any.
#[derive(Debug, Clone, Default, Args)]
pub struct Selection {
    /// Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. '' is the empty group id
    #[arg(long, value_name = "GROUP", help_heading = "Selection", allow_hyphen_values = true)]
    pub group: Vec<OsString>,
    /// Only groups that this regular expression matches whole
    #[arg(long, value_name = "REGEX", value_parser = GroupPattern::regex, help_heading = "Selection")]
    pub group_regex: Vec<GroupPattern>,
    /// Only commits of this topic
    #[arg(long, value_name = "TOPIC", help_heading = "Selection")]
    pub topic: Vec<OsString>,
    /// Only records of this type: a number or a name from 'grouplog schema', or 'control'
    #[arg(long = "type", value_name = "TYPE", value_parser = TypeSelector::parse, help_heading = "Selection")]
    pub record_type: Vec<TypeSelector>,
    /// Only records of this member id
    #[arg(long, value_name = "MEMBER", help_heading = "Selection", allow_hyphen_values = true)]
    pub member: Vec<OsString>,
    /// Only records of this producer id; -1 is none
    #[arg(long, value_name = "ID", help_heading = "Selection", allow_hyphen_values = true)]
    pub producer_id: Vec<i64>,
}

/// Which stretch of the log to show.
#[derive(Debug, Clone, Default, Args)]
pub struct Stretch {
    /// Only log offsets from A up to but not including B; either may be left out
    #[arg(long, value_name = "A..B", value_parser = OffsetRange::parse, help_heading = "Selection")]
    pub offset: Option<OffsetRange>,
    /// Only record times from A up to but not including B: RFC 3339, epoch milliseconds, or a span before now (-2h)
    #[arg(long, value_name = "A..B", value_parser = TimeRange::parse, help_heading = "Selection", allow_hyphen_values = true)]
    pub time: Option<TimeRange>,
}

/// The clock.
#[derive(Debug, Clone, Args)]
pub struct Clock {
    /// What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub now: Option<Moment>,
}

/// `dump`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  grouplog dump /var/lib/kafka/__consumer_offsets-12
  grouplog dump --group my-group --time -2h.. /var/lib/kafka | jq .value.data.offset
  grouplog dump --batches --format table 00000000000000000000.log")]
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
    /// Add the bytes of key and value (base64)
    #[arg(long)]
    pub raw: bool,
    /// Stop after N records (or batches)
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

/// How most verbs print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// A table for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a header line.
    Csv,
}

/// `schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// A type: its number or its name; without one, all are listed
    #[arg(value_name = "TYPE", value_parser = TypeSelector::parse)]
    pub record_type: Option<TypeSelector>,
    /// How to print
    #[arg(long, value_enum, default_value_t = SchemaFormat::Table, value_name = "FORMAT")]
    pub format: SchemaFormat,
}

/// How `schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// Text for people.
    Table,
    /// One JSON document.
    Json,
}

/// `partition-of`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  grouplog partition-of my-group
  grouplog partition-of --log-dir /var/lib/kafka my-group other-group
  cut -f1 groups.tsv | grouplog partition-of --partitions 100 -")]
pub struct PartitionOfArgs {
    /// Group ids; - reads one a line from stdin
    #[arg(required = true, value_name = "GROUP", allow_hyphen_values = true)]
    pub groups: Vec<OsString>,
    /// How many partitions __consumer_offsets has (offsets.topic.num.partitions)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..), conflicts_with = "log_dir")]
    pub partitions: Option<i32>,
    /// Count the partitions in this log dir (repeat it for a broker with several disks)
    #[arg(long, value_name = "PATH")]
    pub log_dir: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
}

/// `generate`
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// What to write
    #[arg(value_enum)]
    pub what: Generated,
    /// The folder to write to; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// What `generate` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// One man page for the program, one a verb.
    Man,
    /// Completions for bash, zsh and fish.
    Completions,
}
