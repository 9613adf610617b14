//! Reads Kafka's `__consumer_offsets` log offline, from the segment files on disk.
//!
//! The way a byte takes, from file to line:
//!
//! 1. [`log`] maps a segment and tiles it into spans: batches and holes. A batch yields records.
//! 2. [`schema`] turns a record's key and value into typed, borrowed structs.
//! 3. [`model`] is where the two meet: events in log order, and what folds over them.
//! 4. [`audit`] stands on it: findings, each with a code.
//! 5. [`cli`] picks what to run and prints.
//!
//! `log` and `schema` know nothing of each other. Bad data is a value ([`fault::Fault`]), never a crash.

pub mod audit;
pub mod base64;
pub mod bytes;
pub mod cli;
pub mod digits;
pub mod escape;
pub mod fault;
pub mod files;
pub mod hash_index;
pub mod json;
pub mod log;
pub mod machine;
pub mod model;
pub mod rewrite;
pub mod schema;
pub mod words;
