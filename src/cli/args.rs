//! The one declaration of the command line. Help, man pages and completions come from it.
//!
//! Must not know: how a verb does its work.

use super::select::{GroupPattern, TypeSelector};
use super::span::{OffsetRange, Point, TimeRange};
use super::time::Moment;
use crate::model::rules::Release;
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
    /// Which groups exist: type, state, members, offsets, last commit
    Groups(GroupsArgs),
    /// A group whole: its state, members and offsets, as a broker would show them, and what only the log tells
    Describe(DescribeArgs),
    /// What happened to a group, told in the order of the log: who came and went, who got what, commits, resets
    History(HistoryArgs),
    /// What differs between two logs: replicas, a backup and the live one, before and after compaction, or two points of
    /// one log
    Diff(DiffArgs),
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

/// Which state to show, and by whose rules.
#[derive(Debug, Clone, Args)]
pub struct Moments {
    /// The state after the record at log offset N
    #[arg(long, value_name = "N", conflicts_with = "at_time", help_heading = "Moment")]
    pub at_offset: Option<i64>,
    /// The state at a moment: after the last record in log order whose time is at or before it
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, help_heading = "Moment", allow_hyphen_values = true)]
    pub at_time: Option<Moment>,
    /// By the rules of this release where they differ from the newest
    #[arg(long, value_name = "X.Y", help_heading = "Moment")]
    pub as_broker: Option<Release>,
    /// Begin at the first record, whatever the log dir's log-start-offset-checkpoint says
    #[arg(long, help_heading = "Moment")]
    pub ignore_log_start: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clock: Clock,
    /// Names of topics that records hold only by id: lines of name,id,partitions
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    pub topics: Option<PathBuf>,
    /// How many threads to use; partitions are read in parallel
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Reading")]
    pub threads: Option<usize>,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err(format!("'{text}' is no number of threads from 1 to 1024")),
    }
}

/// Which groups.
#[derive(Debug, Clone, Default, Args)]
pub struct GroupChoice {
    /// Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. '' is the empty group id
    #[arg(long, value_name = "GROUP", help_heading = "Selection", allow_hyphen_values = true)]
    pub group: Vec<OsString>,
    /// Only groups that this regular expression matches whole
    #[arg(long, value_name = "REGEX", value_parser = GroupPattern::regex, help_heading = "Selection")]
    pub group_regex: Vec<GroupPattern>,
}

/// `groups`
#[derive(Debug, Args)]
#[command(after_help = "\
The state is the broker's: Empty, Stable, Assigning, Reconciling, NotReady. A rebalance in progress is never on disk: a
group caught in one shows its last finished generation.

Examples:
  grouplog groups /var/lib/kafka
  grouplog groups --state Empty --inactive-for 30d --sort last-commit /var/lib/kafka
  grouplog groups --at-time 2026-01-31T03:00:00Z --format jsonl /var/lib/kafka")]
pub struct GroupsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t = GroupOrder::Partition, value_name = "BY")]
    pub sort: GroupOrder,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    /// Only groups with an offset of this topic, or a member that subscribes to it
    #[arg(long, value_name = "TOPIC", help_heading = "Selection")]
    pub topic: Vec<OsString>,
    /// Only groups with this member id
    #[arg(long, value_name = "MEMBER", help_heading = "Selection", allow_hyphen_values = true)]
    pub member: Vec<OsString>,
    /// Only groups of this type
    #[arg(long = "type", value_enum, value_name = "TYPE", help_heading = "Selection")]
    pub kind: Vec<KindChoice>,
    /// Only groups in this state
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true, help_heading = "Selection")]
    pub state: Vec<StateChoice>,
    /// Only groups without a commit in this span before now (30d)
    #[arg(long, value_name = "SPAN", value_parser = super::time::millis_of_span, help_heading = "Selection")]
    pub inactive_for: Option<i64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub moments: Moments,
}

/// Order of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GroupOrder {
    /// By partition, then by name.
    Partition,
    /// By name.
    Name,
    /// Most members first.
    Members,
    /// Most offsets first.
    Offsets,
    /// Longest silent first.
    LastCommit,
}

/// A type of group, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum KindChoice {
    Classic,
    Consumer,
    Share,
    Streams,
}

/// A state, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum StateChoice {
    #[value(name = "Empty")]
    Empty,
    #[value(name = "Stable")]
    Stable,
    #[value(name = "Assigning")]
    Assigning,
    #[value(name = "Reconciling")]
    Reconciling,
    #[value(name = "NotReady")]
    NotReady,
}

/// Groups and paths in one line: `GROUP... -- PATH...`, or `PATH...` with `--group`, `--group-regex` or `--all`.
#[derive(Debug, Clone, Args)]
pub struct Named {
    /// Groups, with the paths behind --; or the paths, with --group or --all
    #[arg(value_name = "GROUP|PATH", required = true)]
    pub words: Vec<OsString>,
    /// A .log file, a partition folder __consumer_offsets-N, or a log dir that holds such folders
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: Reading,
    /// Every group
    #[arg(long)]
    pub all: bool,
}

/// `describe`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --offsets, --members or --state all three are shown; -v adds columns.

Examples:
  grouplog describe my-group -- /var/lib/kafka
  grouplog describe --group 'orders-*' --offsets /var/lib/kafka
  grouplog describe --all --format json /var/lib/kafka
  grouplog describe my-group --retention 7d -v -- /var/lib/kafka")]
pub struct DescribeArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub named: Named,
    /// Show the offsets
    #[arg(long)]
    pub offsets: bool,
    /// Show the members
    #[arg(long)]
    pub members: bool,
    /// Show the state
    #[arg(long)]
    pub state: bool,
    /// Show what a broker would count on loading each partition, too
    #[arg(long)]
    pub partition_summary: bool,
    /// How long a broker keeps offsets (offsets.retention.minutes): with it, when each offset will expire is shown
    #[arg(long, value_name = "SPAN", value_parser = super::time::millis_of_span)]
    pub retention: Option<i64>,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub moments: Moments,
}

/// `history`
#[derive(Debug, Args)]
#[command(after_help = "\
Records that were written together are one step. Commits between two steps are summed up, unless one of them goes back
(REWIND) or jumps (JUMP: more than 1000 and more than 10 times the median of up to 31 forward steps before it, of which
there must be 3). More than 20 generations or epochs in a row, each within a minute of the one before, are one line
(STORM); -v tells them all, and every member and partition. Transactional commits stand where their transaction was
committed.

Examples:
  grouplog history my-group -- /var/lib/kafka
  grouplog history my-group --commits --topic orders --time -12h.. -- /var/lib/kafka
  grouplog history --group 'orders-*' --format jsonl /var/lib/kafka")]
pub struct HistoryArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub named: Named,
    /// Tell every commit, with how far it went
    #[arg(long)]
    pub commits: bool,
    /// How long the broker kept offsets (offsets.retention.minutes): older ones are taken to have expired when they go
    #[arg(long, value_name = "SPAN", value_parser = super::time::millis_of_span, default_value = "7d")]
    pub retention: i64,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    /// Of commits and removed offsets, only those of this topic
    #[arg(long, value_name = "TOPIC", help_heading = "Selection")]
    pub topic: Vec<OsString>,
    /// Only the steps of this member id, and no commits
    #[arg(long, value_name = "MEMBER", help_heading = "Selection", allow_hyphen_values = true)]
    pub member: Vec<OsString>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub stretch: Stretch,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub moments: Moments,
}

/// `diff`
#[derive(Debug, Args)]
#[command(after_help = "\
Partitions are matched by number. Compaction, batch boundaries, codecs and magics may differ while the state is the
same: that is said, and is no difference. Exit status 3 if the state differs, the logs diverge, or one lacks records.

A point is @N, behind the record at log offset N, or a moment, behind the last record in log order at or before it:
RFC 3339, epoch milliseconds, or a span before now. Without --from the log is taken from before its first record.

--digest prints SHA-256 digests of the state, of each partition and each group. They cover committed offsets (leader
epoch, metadata, commit and expire time, topic id), pending commits, group records and members; not offsets or times of
log records, versions of values, or simple groups without offsets. Logs that mean the same have the same digests.

Examples:
  grouplog diff broker-1/__consumer_offsets-12 broker-2/__consumer_offsets-12
  grouplog diff --group 'orders-*' /backup/kafka /var/lib/kafka
  grouplog diff --from 2026-01-31T03:00:00Z --to @81920 /var/lib/kafka/__consumer_offsets-12
  grouplog diff --digest /var/lib/kafka")]
pub struct DiffArgs {
    /// Two logs A and B, each a .log file, a partition folder or a log dir; or one, with --from, --to or --digest
    #[arg(required = true, num_args = 1..=2, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: Reading,
    /// Of one log: the earlier point, @N or a moment
    #[arg(
        long,
        value_name = "POINT",
        value_parser = Point::parse,
        help_heading = "Moment",
        allow_hyphen_values = true,
        conflicts_with_all = ["at_offset", "at_time"],
    )]
    pub from: Option<Point>,
    /// Of one log: the later point, @N or a moment; without it, the end
    #[arg(
        long,
        value_name = "POINT",
        value_parser = Point::parse,
        help_heading = "Moment",
        allow_hyphen_values = true,
        conflicts_with_all = ["at_offset", "at_time"],
    )]
    pub to: Option<Point>,
    /// Print digests of the state of each partition and group, and whether they are alike
    #[arg(long)]
    pub digest: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub moments: Moments,
}

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
    #[arg(required = true, value_name = "GROUP")]
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
