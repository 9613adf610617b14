//! How things look: names, tables, and the formats of `dump`.

pub mod batches;
pub mod dump;
pub mod info;
pub mod jsonl;
pub mod kafka_dump_log;
pub mod kafka_formatter;
pub mod name;
pub mod records;
pub mod table;
