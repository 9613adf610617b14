//! The verbs that judge a log: `verify`.
//!
//! Must not know: how a verb does its work.

use super::common::{Input, TextFormat};
use crate::model::preflight::Coordinator;
use clap::{Args, ValueEnum};

/// `verify`
#[derive(Debug, Args)]
#[command(after_help = "\
No output and exit status 0: every byte is sound. What compaction, preallocation and a stop in the middle of a write leave
behind is normal; -v lists that too, and what was looked at.

Each finding has a code that scripts may depend on, a severity, its place, and the numbers behind it. Errors and warnings
make the exit status 3.

Examples:
  grouplog verify /var/lib/kafka
  grouplog verify --fast --threads 8 /var/lib/kafka
  grouplog verify --broker 3.9 --broker 4.4 /var/lib/kafka
  grouplog verify --format jsonl /backup/__consumer_offsets-12 | jq -r 'select(.severity == \"error\") | .code'")]
pub struct VerifyArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// Check frames, CRCs and heads of batches only, not what is inside
    #[arg(long)]
    pub fast: bool,
    /// Would the group coordinator of this release load it? X.Y, X.Y.Z, 3.9-new (3.9's new coordinator), or all; repeatable
    #[arg(long, value_name = "X.Y", value_parser = Brokers::parse)]
    pub broker: Vec<Brokers>,
    /// List only findings at least this bad; what is not listed does not make the exit status 3
    #[arg(long, value_enum, default_value_t = SeverityChoice::Info, value_name = "SEVERITY")]
    pub min_severity: SeverityChoice,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    /// How many threads to use; partitions are read in parallel
    #[arg(long, value_name = "N", value_parser = super::common::threads, help_heading = "Reading")]
    pub threads: Option<usize>,
}

/// One coordinator, or all that are known.
#[derive(Debug, Clone)]
pub struct Brokers(pub Vec<Coordinator>);

impl Brokers {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Brokers(Coordinator::all())) } else { text.parse().map(|one| Brokers(vec![one])) }
    }
}

/// A severity, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityChoice {
    /// Everything.
    Info,
    /// What is off, and what is broken.
    Warning,
    /// What is lost or wrong.
    Error,
}
