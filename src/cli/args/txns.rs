//! `txns`.
//!
//! Must not know: how a verb does its work.

use super::common::{GroupChoice, Input, TextFormat, WholeLog};
use crate::cli::time::millis_lasting;
use clap::Args;

/// `txns`
#[derive(Debug, Args)]
#[command(after_help = "\
A transaction that is still open keeps the last stable offset where it began: consumers in it wait (\"unstable offset\"),
and the cleaner goes no further, so that the partition grows. It hangs if it is open for longer than any producer may ask
for (--max-transaction-timeout): the coordinator of the transaction should have ended it. The command that ends it is shown
with it; look at 'kafka-transactions.sh describe' of its transactional id first, if you know it.

The time it is open for is counted up to now: give --now for a copy that was made earlier. What --open shows may also be
\"unknown\": damage may have held its end. Aborted transactions are looked up in .txnindex, open ones in .snapshot.

Exit status 3 if a transaction hangs, the log is damaged, or a .txnindex or .snapshot does not agree with it; an open
transaction that does not hang is no reason.

Examples:
  grouplog txns --hanging /var/lib/kafka
  grouplog txns --open --format jsonl /var/lib/kafka | jq -r .abortCommand
  grouplog txns --group my-group --last 100 /var/lib/kafka/__consumer_offsets-12
  grouplog txns --producers /backup/__consumer_offsets-12")]
pub struct TxnsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// Only those that are still open
    #[arg(long)]
    pub open: bool,
    /// Only those that are open for longer than a producer may ask for
    #[arg(long)]
    pub hanging: bool,
    /// The longest that the broker lets a producer ask for (transaction.max.timeout.ms)
    #[arg(long, value_name = "SPAN", default_value = "15m", value_parser = millis_lasting)]
    pub max_transaction_timeout: i64,
    /// Of the transactions that ended, show the last N of a partition [default: 20 in the table, else all]
    #[arg(long, value_name = "N", conflicts_with_all = ["open", "hanging"])]
    pub last: Option<usize>,
    /// Show what a broker remembers of producers instead, as kafka-transactions.sh describe-producers does; not by group
    #[arg(long, conflicts_with_all = ["open", "hanging", "last", "group", "group_regex", "bootstrap_server"])]
    pub producers: bool,
    /// The broker to name in the commands that are shown
    #[arg(long, value_name = "HOST:PORT", default_value = "BROKER:9092")]
    pub bootstrap_server: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = TextFormat::Table, value_name = "FORMAT")]
    pub format: TextFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub choice: GroupChoice,
    /// Only those of this producer id; with --producers, only these
    #[arg(long, value_name = "ID", help_heading = "Selection")]
    pub producer_id: Vec<i64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub whole: WholeLog,
}
