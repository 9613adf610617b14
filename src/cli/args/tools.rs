//! The verbs that need no log: `schema`, `partition-of`, `generate`.
//!
//! Must not know: how a verb does its work.

use super::common::TextFormat;
use crate::cli::select::TypeSelector;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

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
