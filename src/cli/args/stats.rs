//! `stats`.
//!
//! Must not know: how a verb does its work.

use super::common::{Input, TextFormat, WholeLog};
use crate::audit::stats::sample::Sample;
use crate::cli::span::TimeRange;
use crate::cli::time::millis_lasting;
use clap::{Args, ValueEnum};

/// `stats`
#[derive(Debug, Args)]
#[command(after_help = "\
Every byte is somebody's: a compressed batch's bytes are shared out over its records by their size, and heads of batches,
holes, and what is damaged have rows of their own, so that the rows add up to the size of the files. By segment, hour and
producer whole batches are counted, heads included; an hour is that of a batch's latest record.

Live is what a compaction of the whole log would leave now, dead is the rest ('grouplog compact --dry-run --include-active'
says the same); with --closed-only, what a broker's cleaner would leave, which never takes the last segment. A commit is
unchanged if its offset is the one that was committed before: an idle consumer that goes on committing.

--headers-only, --sample and --time do not read everything, and do not know what is live. What --sample says of records is
an estimate: stretches of the log are read, and multiplied.

Exit status 3 if something was damaged and left out.

Examples:
  grouplog stats /var/lib/kafka
  grouplog stats --by group --top 5 --time -1h.. /var/lib/kafka/__consumer_offsets-12
  grouplog stats --why-not-cleaned /var/lib/kafka/__consumer_offsets-12
  grouplog stats --sample 1% --by group /var/lib/kafka
  grouplog stats --format json /var/lib/kafka | jq '.partitions[] | {partition, bytes, deadBytes}'")]
pub struct StatsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// Count by this; repeatable [default: type and group; in JSON all]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Vec<By>,
    /// Show the N largest; 0 is all [default: 20, of types all]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Read only the heads of batches: by segment, hour and producer
    #[arg(
        long,
        conflicts_with_all = ["sample", "time", "why_not_cleaned", "closed_only", "delete_retention", "segment_bytes"],
        help_heading = "Reading"
    )]
    pub headers_only: bool,
    /// Read only a share of the log (1%, 1/50, 0.02), and estimate
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        conflicts_with_all = ["time", "why_not_cleaned", "closed_only", "delete_retention", "segment_bytes"],
        help_heading = "Reading"
    )]
    pub sample: Option<Sample>,
    /// Only batches whose latest record is from A up to but not including B: RFC 3339, epoch milliseconds, or a span before
    /// now (-2h)
    #[arg(
        long,
        value_name = "A..B",
        value_parser = TimeRange::parse,
        conflicts_with_all = ["why_not_cleaned", "closed_only", "delete_retention", "segment_bytes"],
        help_heading = "Reading",
        allow_hyphen_values = true
    )]
    pub time: Option<TimeRange>,
    /// Count as dead only what a broker's cleaner would take: nothing of the last segment
    #[arg(long, help_heading = "Compaction")]
    pub closed_only: bool,
    /// Say why each partition is not cleaned, by the broker's own arithmetic
    #[arg(long, help_heading = "Compaction")]
    pub why_not_cleaned: bool,
    /// min.cleanable.dirty.ratio, for --why-not-cleaned
    #[arg(
        long,
        value_name = "RATIO",
        default_value_t = 0.5,
        value_parser = ratio,
        requires = "why_not_cleaned",
        help_heading = "Compaction"
    )]
    pub min_cleanable_dirty_ratio: f64,
    /// min.compaction.lag.ms, for --why-not-cleaned
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "0s",
        value_parser = millis_lasting,
        requires = "why_not_cleaned",
        help_heading = "Compaction"
    )]
    pub min_compaction_lag: i64,
    /// max.compaction.lag.ms, for --why-not-cleaned [default: none]
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, requires = "why_not_cleaned", help_heading = "Compaction")]
    pub max_compaction_lag: Option<i64>,
    /// delete.retention.ms
    #[arg(long, value_name = "SPAN", default_value = "1d", value_parser = millis_lasting, help_heading = "Compaction")]
    pub delete_retention: i64,
    /// segment.bytes (suffixes K, M, G)
    #[arg(long, value_name = "BYTES", default_value = "100M", value_parser = crate::cli::span::parse_bytes, help_heading = "Compaction")]
    pub segment_bytes: usize,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub whole: WholeLog,
}

/// What to count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Record type, and what is no record.
    Type,
    /// Group.
    Group,
    /// Group, topic and partition that offsets are committed for.
    Partition,
    /// Hour.
    Hour,
    /// Producer id.
    Producer,
    /// Segment.
    Segment,
}

impl By {
    /// All, in the order in which they are shown.
    pub const ALL: [By; 6] = [By::Type, By::Group, By::Partition, By::Producer, By::Hour, By::Segment];

    /// As on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Group => "group",
            By::Partition => "partition",
            By::Hour => "hour",
            By::Producer => "producer",
            By::Segment => "segment",
        }
    }

    /// Whether the heads of batches tell.
    pub fn is_of_heads(self) -> bool {
        matches!(self, By::Hour | By::Producer | By::Segment)
    }
}

fn share(text: &str) -> Result<Sample, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match (text.strip_suffix('%'), text.split_once('/')) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (None, Some((part, whole))) => number(part).zip(number(whole)).map(|(part, whole)| part / whole),
        (None, None) => number(text),
    };
    share.and_then(Sample::new).ok_or_else(|| format!("'{text}' is no share: give 1%, 1/50 or 0.02"))
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err(format!("'{text}' is no ratio from 0 to 1")),
    }
}
