//! The verbs that judge what a log says: `audit`, and `explain` for every code of a finding.
//!
//! Must not know: how a verb does its work.

use super::check::SeverityChoice;
use super::common::{GroupChoice, Input, Moments};
use super::tools::SchemaFormat;
use crate::audit::Code;
use crate::cli::time::millis_lasting;
use crate::rewrite::codes;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `audit`
#[derive(Debug, Args)]
#[command(after_help = "\
Each finding has a code that scripts may depend on, a severity, its place, the numbers behind it, and mostly the command of
Kafka's tools that puts it right. 'grouplog explain CODE' tells what it means. Errors and warnings among what is listed make
the exit status 3.

Ages count from now: of an old copy give --now, or everything in it is stale.

Examples:
  grouplog audit --retention 7d /var/lib/kafka
  grouplog audit --format jsonl /var/lib/kafka > last-week.jsonl
  grouplog audit --baseline last-week.jsonl --min-severity warning /var/lib/kafka
  grouplog audit --only expired-offsets,long-empty-group --retention 7d -v /var/lib/kafka
  kafka-get-offsets.sh --bootstrap-server BROKER:9092 > ends.txt && grouplog audit --log-ends ends.txt COPY
                        (the log is copied before: what is committed in between would lie beyond the ends)")]
pub struct AuditArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// How to print
    #[arg(long, value_enum, default_value_t = AuditFormat::Table, value_name = "FORMAT")]
    pub format: AuditFormat,
    /// List only findings of this code; repeatable, or several with commas
    #[arg(long, value_name = "CODE", value_parser = code, value_delimiter = ',', help_heading = "Selection")]
    pub only: Vec<Code>,
    /// List no findings of this code; repeatable, or several with commas
    #[arg(long, value_name = "CODE", value_parser = code, value_delimiter = ',', help_heading = "Selection")]
    pub ignore: Vec<Code>,
    /// List only findings at least this bad; what is not listed does not make the exit status 3
    #[arg(
        long,
        value_enum,
        default_value_t = SeverityChoice::Info,
        value_name = "SEVERITY",
        help_heading = "Selection"
    )]
    pub min_severity: SeverityChoice,
    /// List only what an earlier run did not: its output with --format jsonl. The same are findings of one code on the same
    /// partition, group, topic and partitions, member, transaction, which are not worse and no more than they were. How many were left out is said on stderr
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    /// Silence for so long is long: empty groups, members that do not commit, migrations that stand still
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, default_value = "30d")]
    pub stale_after: i64,
    /// How long a broker keeps offsets (offsets.retention.minutes); without it only commits that say so themselves expire
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting)]
    pub retention: Option<i64>,
    /// The longest timeout a producer may ask for (transaction.max.timeout.ms): a transaction that is open longer hangs
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, default_value = "15m")]
    pub max_transaction_timeout: i64,
    /// Where the logs of topics begin and end: lines of topic,partition,start,end or of kafka-get-offsets.sh
    #[arg(long, value_name = "FILE")]
    pub log_ends: Option<PathBuf>,
    /// How many partitions __consumer_offsets has (offsets.topic.num.partitions), if it cannot be told from the folders
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub offsets_partitions: Option<i32>,
    /// What the commands in the findings name as broker
    #[arg(long, value_name = "HOST:PORT", default_value = "BROKER:9092")]
    pub bootstrap_server: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub moments: Moments,
}

/// How `audit` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Text for people: totals, then the worst first.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a header line.
    Csv,
    /// SARIF 2.1.0, for viewers and code scanning.
    Sarif,
}

/// `explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Codes of findings; without one, all are listed by area
    #[arg(value_name = "CODE", value_parser = code)]
    pub codes: Vec<Code>,
    /// How to print
    #[arg(long, value_enum, default_value_t = SchemaFormat::Table, value_name = "FORMAT")]
    pub format: SchemaFormat,
}

/// Reads a code. Of one that is none, the error names the likest.
fn code(text: &str) -> Result<Code, String> {
    if let Some(code) = Code::of_name(&text.to_ascii_lowercase()) {
        return Ok(code);
    }
    if let Some(meaning) = codes::meaning(&text.to_ascii_lowercase()) {
        return Err(format!("'{text}' is a code of 'salvage', not of a finding: {meaning}"));
    }
    let shared = |code: &&Code| text.split('-').filter(|word| code.name().split('-').any(|it| it == *word)).count();
    let likest = Code::ALL.iter().max_by_key(|code| shared(code)).filter(|code| shared(code) > 0);
    let hint = likest.map_or(String::new(), |code| format!("; is it '{}'?", code.name()));
    Err(format!("'{text}' is no code of a finding{hint} ('grouplog explain' lists all)"))
}
