//! How things look: names, tables, and the formats of `dump`.

pub mod audit;
pub mod batches;
pub mod compact;
pub mod compact_text;
pub mod damage;
pub mod diff;
pub mod diff_lines;
mod diff_log_lines;
pub mod digests;
pub mod dump;
pub mod explain;
pub mod findings;
pub mod group_json;
pub mod group_table;
pub mod history;
pub mod history_commits;
pub mod history_json;
pub mod history_words;
pub mod info;
pub mod info_json;
pub mod jsonl;
pub mod kafka_dump_log;
pub mod kafka_formatter;
pub mod name;
pub mod records;
pub mod rewrite;
pub mod salvage;
pub mod salvage_text;
pub mod sarif;
pub mod side;
pub mod side_kafka;
pub mod stats;
pub mod stats_json;
pub mod stats_why;
pub mod table;
pub mod txns;
pub mod txns_json;
pub mod wrap;

use super::args::TextFormat;
use serde_json::Value;

/// Values as one JSON array, or one a line.
pub fn document(format: TextFormat, values: impl Iterator<Item = Value>) -> String {
    match format {
        TextFormat::Jsonl => values.map(|value| format!("{value}\n")).collect(),
        _ => format!("{:#}\n", values.collect::<Value>()),
    }
}
