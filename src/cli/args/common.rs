//! What several verbs share: what to read, which records, groups and moments.
//!
//! Must not know: any one verb.

use crate::cli::select::{GroupPattern, TypeSelector};
use crate::cli::span::{OffsetRange, TimeRange};
use crate::cli::time::Moment;
use crate::model::rules::Release;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

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
    #[arg(long, value_name = "BYTES", value_parser = crate::cli::span::parse_bytes, help_heading = "Reading")]
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
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub now: Option<Moment>,
}

/// How a log is read from its beginning to its end, not up to a moment.
#[derive(Debug, Clone, Args)]
pub struct WholeLog {
    /// Begin at the first record, whatever the log dir's log-start-offset-checkpoint says
    #[arg(long, help_heading = "Reading")]
    pub ignore_log_start: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clock: Clock,
    /// How many threads to use; partitions are read in parallel
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Reading")]
    pub threads: Option<usize>,
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

pub(super) fn threads(text: &str) -> Result<usize, String> {
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

impl GroupChoice {
    /// Whether every group is asked for.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.group_regex.is_empty()
    }
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
