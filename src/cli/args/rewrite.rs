//! `rewrite`.
//!
//! Must not know: how a verb does its work.

use super::ReportFormat;
use super::common::{Clock, Input};
use crate::cli::select::TypeSelector;
use crate::cli::time::millis_lasting;
use crate::escape::named;
use crate::log::Codec;
use crate::model::preflight::Coordinator;
use crate::rewrite::edit::wish::Wish;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `rewrite`
#[derive(Debug, Args)]
#[command(after_help = "\
DIR becomes a log dir with a folder __consumer_offsets-N for every partition, and what was done in
rewrite.txt and rewrite.jsonl. It is written under another name, read back, and renamed at the very
end: it is there whole or not at all. Batches that no edit touches are copied byte for byte; the
others keep codec, times, producers, leader epochs and offsets, unless an option says otherwise.
Index files and snapshots are left to the broker, which makes them anew.

Options combine, in this order whatever the order on the command line: drops, by the names in the
input; renames; --new-cluster; offsets that are set, by the new names; what --target needs; --redact; framing
(--upgrade, --codec, --renumber, --partitions).

A damaged log is refused: 'grouplog salvage' makes a sound copy first. Damage is what 'grouplog
verify' calls an error of segments, batches and the framing of records; what it only warns of is put
right, and told. Keys and values that cannot be read are carried over (--target drops them).

Exit status 3 if something damaged was left out or put right, if an option names nothing in the log,
if a set offset comes to nothing (it would expire at once, or is of a share group), or if a group
stood where it does not hash to (--partitions): each is told. 0 otherwise: what an option drops or
--target cannot carry, and a torn end, which a broker leaves out too, are in the report only.

Examples:
  A group's offset set back, before the broker starts again:
    grouplog rewrite --set-offset my-group/orders/0=42 --out /backup/new /var/lib/kafka
  Groups of one team, for another cluster whose topic has another id and 60 partitions:
    grouplog rewrite --keep-group 'orders-*' --partitions 60 --topic-id 00YQRhQSSde_UAyBnyxN9g \\
      --new-cluster --out /backup/new /var/lib/kafka
  A log that 4.4 refuses to load, made loadable, with a list of every change:
    grouplog rewrite --target 4.4 --log changes.jsonl --out new __consumer_offsets-12
  A log to attach to a bug report:
    grouplog rewrite --redact --out shared __consumer_offsets-12")]
pub struct RewriteArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,
    /// The new log dir, which must not exist
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Say what would be done, and write nothing; of --out only whether it could be made
    #[arg(long)]
    pub dry_run: bool,
    /// List every edit in FILE, which must not exist: one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub log: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub dropping: Dropping,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub naming: Naming,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub framing: Framing,
    /// Replace the names of groups, topics, members, clients, hosts and own assignors, and commits' metadata, consistently and with
    /// their lengths kept, so that the log can be shown to others (but not what --log lists: it has the old names too)
    #[arg(long, help_heading = "Share")]
    pub redact: bool,
    /// The same text gives the same names again; without it, nobody can tell them, nor make them again
    #[arg(long, value_name = "TEXT", requires = "redact", help_heading = "Share")]
    pub seed: Option<String>,
    /// Leave out what is damaged, and list it, where otherwise the log would be refused
    #[arg(long, help_heading = "Reading")]
    pub skip_damage: bool,
    /// Keep records before the log start that the log dir's log-start-offset-checkpoint names
    #[arg(long, help_heading = "Reading")]
    pub ignore_log_start: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clock: Clock,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
}

/// What goes.
#[derive(Debug, Clone, Default, Args)]
pub struct Dropping {
    /// Drop a group, all of its records; with * ? [ ] { } a glob (repeatable)
    #[arg(long, value_name = "GROUP", help_heading = "Drop", allow_hyphen_values = true)]
    pub drop_group: Vec<OsString>,
    /// Drop every group but this; with * ? [ ] { } a glob (repeatable)
    #[arg(long, value_name = "GROUP", help_heading = "Drop", allow_hyphen_values = true)]
    pub keep_group: Vec<OsString>,
    /// Drop commits of a topic (repeatable)
    #[arg(long, value_name = "TOPIC", help_heading = "Drop")]
    pub drop_topic: Vec<OsString>,
    /// Drop records of a type: a number or a name from 'grouplog schema' (repeatable)
    #[arg(long, value_name = "TYPE", value_parser = data_type, help_heading = "Drop")]
    pub drop_type: Vec<i16>,
    /// Drop offsets that have expired under --retention, and empty groups with the last of theirs
    #[arg(long, help_heading = "Drop")]
    pub drop_expired: bool,
    /// How long the broker keeps offsets (offsets.retention.minutes), for --drop-expired
    #[arg(long, value_name = "SPAN", value_parser = millis_lasting, default_value = "7d", requires = "drop_expired",
          help_heading = "Drop")]
    pub retention: i64,
    /// Drop the records at which a group coordinator of this release would give up on the partition
    #[arg(long, value_name = "X.Y", help_heading = "Drop", conflicts_with = "target")]
    pub drop_unloadable: Option<Coordinator>,
}

/// Names and offsets.
#[derive(Debug, Clone, Default, Args)]
pub struct Naming {
    /// Rename a group, by name (repeatable); \xNN stands for a byte, also of an equals sign in a name (\x3d)
    #[arg(long, value_name = "OLD=NEW", value_parser = pair, help_heading = "Edit", allow_hyphen_values = true)]
    pub rename_group: Vec<Pair>,
    /// Rename a topic in commits, subscriptions and assignments (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = topics, help_heading = "Edit")]
    pub rename_topic: Vec<Pair>,
    /// For another cluster: take out what only the old one knows. Topic ids and leader epochs go from commits, with which
    /// consumers would find no offset or wait for ever; batches get leader epoch 0, since followers copy none of a later
    /// epoch than theirs
    #[arg(long, help_heading = "Edit")]
    pub new_cluster: bool,
    /// Set a committed offset (repeatable): its latest commit is replaced, or one is appended where there is none; \xNN
    /// stands for a byte, also of a slash in a topic (\x2f)
    #[arg(long, value_name = "GROUP/TOPIC/PARTITION=N", value_parser = wish, help_heading = "Edit",
          allow_hyphen_values = true)]
    pub set_offset: Vec<Wish>,
    /// Set the offsets that a file lists: lines group,topic,partition,offset (as kafka-consumer-groups exports them), or
    /// JSON objects of the four; --set-offset overrules it
    #[arg(long, value_name = "FILE", help_heading = "Edit")]
    pub offsets_from: Option<PathBuf>,
}

/// How the output is framed, and for whom.
#[derive(Debug, Clone, Default, Args)]
pub struct Framing {
    /// Spread the groups over N partitions, each to the one that it hashes to; logs are merged by time, and offsets
    /// count from 0
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=10_000), help_heading = "Frame",
          conflicts_with = "partition")]
    pub partitions: Option<i32>,
    /// Make it loadable by a release: values are converted to what it reads, and what it refuses all the same is dropped
    #[arg(long, value_name = "X.Y", help_heading = "Frame")]
    pub target: Option<Coordinator>,
    /// Compress batches with another codec
    #[arg(long, value_enum, value_name = "CODEC", help_heading = "Frame")]
    pub codec: Option<CodecName>,
    /// Turn messages of magic 0 and 1 (before 0.11) into batches of magic 2
    #[arg(long, help_heading = "Frame")]
    pub upgrade: bool,
    /// Number offsets from 0, without gaps
    #[arg(long, help_heading = "Frame")]
    pub renumber: bool,
    /// The topic's id in the new cluster, as 'kafka-topics --describe' shows it: written to partition.metadata
    #[arg(long, value_name = "ID", value_parser = topic_id, help_heading = "Frame", allow_hyphen_values = true)]
    pub topic_id: Option<TopicId>,
    /// Begin a new segment before one grows beyond so many bytes (suffixes K, M, G); else segments begin where they did
    #[arg(long, value_name = "BYTES", value_parser = super::compact::segment_bytes, help_heading = "Frame")]
    pub segment_bytes: Option<u64>,
}

/// A codec that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum CodecName {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl From<CodecName> for Codec {
    fn from(name: CodecName) -> Codec {
        match name {
            CodecName::None => Codec::None,
            CodecName::Gzip => Codec::Gzip,
            CodecName::Snappy => Codec::Snappy,
            CodecName::Lz4 => Codec::Lz4,
            CodecName::Zstd => Codec::Zstd,
        }
    }
}

/// An old name and a new one.
pub type Pair = (Vec<u8>, Vec<u8>);

/// An id, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicId(pub String);

fn data_type(text: &str) -> Result<i16, String> {
    match TypeSelector::parse(text)? {
        TypeSelector::Number(number) => Ok(number),
        TypeSelector::Control => Err("without their ends, transactions would stay open for ever".to_owned()),
    }
}

fn pair(text: &str) -> Result<Pair, String> {
    let bad = || format!("'{text}' is not OLD=NEW, with one equals sign (write one that is in a name as \\x3d)");
    let (old, new) = text.split_once('=').filter(|(_, new)| !new.contains('=')).ok_or_else(bad)?;
    let (old, new) = (named(old.as_bytes()), named(new.as_bytes()));
    if new.len() > i16::MAX as usize {
        return Err("a name has 32767 bytes at most".to_owned());
    }
    if old == new { Err(format!("'{text}' renames nothing")) } else { Ok((old, new)) }
}

/// A broker that is asked for a group with a commit of any other topic answers with an error for all of the group.
fn topics(text: &str) -> Result<Pair, String> {
    let (old, new) = pair(text)?;
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    if (1..=249).contains(&new.len()) && new.iter().all(is_legal) && !matches!(&*new, b"." | b"..") {
        return Ok((old, new));
    }
    Err(format!("'{text}': a topic has a name of 1 to 249 letters, digits, '.', '_' and '-', but not '.' or '..'"))
}

/// Reads `GROUP/TOPIC/PARTITION=N`. A group may hold slashes and equals signs, a topic cannot.
fn wish(text: &str) -> Result<Wish, String> {
    let bad = || format!("'{text}' is not GROUP/TOPIC/PARTITION=OFFSET, as in my-group/orders/0=42");
    let (key, offset) = text.rsplit_once('=').ok_or_else(bad)?;
    let (rest, partition) = key.rsplit_once('/').ok_or_else(bad)?;
    let (group, topic) = rest.rsplit_once('/').ok_or_else(bad)?;
    let wish = Wish {
        group: named(group.as_bytes()),
        topic: named(topic.as_bytes()),
        partition: partition.parse().map_err(|_| bad())?,
        offset: offset.parse().map_err(|_| bad())?,
    };
    wish.checked()
}

fn topic_id(text: &str) -> Result<TopicId, String> {
    let file = format!("version: 0\ntopic_id: {text}");
    match crate::log::checkpoint::partition_metadata(file.as_bytes()).malformed {
        None => Ok(TopicId(text.to_owned())),
        Some(why) => Err(format!("{why}: 'kafka-topics --describe --topic __consumer_offsets' shows it as TopicId")),
    }
}
