//! The one declaration of the command line. Help, man pages and completions come from it.
//!
//! Must not know: how a verb does its work.

mod audit;
mod check;
mod common;
mod compact;
mod records;
mod rewrite;
mod salvage;
mod state;
mod stats;
mod tools;
mod txns;

pub use audit::*;
pub use check::*;
pub use common::*;
pub use compact::*;
pub use records::*;
pub use rewrite::*;
pub use salvage::*;
pub use state::*;
pub use stats::*;
pub use tools::*;
pub use txns::*;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    /// A loadable copy of a damaged log with every record that can be read, and exactly what was lost
    Salvage(SalvageArgs),
    /// What the broker's own cleaner would leave, in a new folder: the last record of every key
    Compact(CompactArgs),
    /// An edited copy: groups dropped or renamed, offsets set, another partition count, codec, release or topic id
    Rewrite(RewriteArgs),
    /// Is every byte sound? Which damage is there, and whose offsets does it touch?
    Verify(VerifyArgs),
    /// What is wrong or stale: findings on members, groups, offsets, transactions and the log, and what to do
    Audit(AuditArgs),
    /// What the code of a finding means, how it comes about, what to do
    Explain(ExplainArgs),
    /// Who fills the log: by group, topic partition, type, hour, producer, segment; what is dead; why it was not cleaned
    Stats(StatsArgs),
    /// Transactions: open, committed, aborted; what hangs, and the command that ends it
    Txns(TxnsArgs),
    /// Which partition of __consumer_offsets a group hashes to
    PartitionOf(PartitionOfArgs),
    /// Record types, their versions and fields
    Schema(SchemaArgs),
    /// Write the man pages or shell completions
    Generate(GenerateArgs),
}
