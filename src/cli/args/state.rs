//! The verbs that show groups: `groups`, `describe`, `history`, `diff`.
//!
//! Must not know: how a verb does its work.

use super::common::{GroupChoice, Input, Moments, Named, Reading, Stretch, TextFormat};
use crate::cli::span::Point;
use crate::cli::time::millis_lasting;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

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
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, help_heading = "Selection")]
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
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting)]
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
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, default_value = "7d")]
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
