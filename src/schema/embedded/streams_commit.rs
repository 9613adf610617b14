//! What Kafka Streams hides in the metadata of its commits: base64 of the partition's time (KAFKA-7994, 2.4) and, from
//! 3.2 on (KAFKA-13785), of its processors' metadata.
//!
//! Must not know: the commit around it.

use super::pieces::{Object, list};
use crate::bytes::Cursor;
use crate::json::Json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Metadata of a Streams commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMetadata {
    /// 1 or 2.
    pub version: u8,
    /// The greatest record time met on the partition, in epoch milliseconds, or -1 if none.
    pub partition_time: i64,
    /// What processors keep: names and numbers (version 2).
    pub processor_metadata: Vec<(Vec<u8>, i64)>,
}

/// The last millisecond of the year 9999. Words of twelve letters that happen to be base64 ("AgentRunner1") claim
/// times far beyond it.
const LAST_TIME: i64 = 253_402_300_799_999;

/// Reads the metadata of a commit, which is anybody's text: `None` unless it has the shape to the last byte and a time
/// between -1 and the end of the year 9999.
pub fn commit_metadata(text: &[u8]) -> Option<CommitMetadata> {
    // Most metadata is empty or short; 9 bytes make 12 characters.
    if text.len() < 12 {
        return None;
    }
    let bytes = STANDARD.decode(text).ok()?;
    let mut cursor = Cursor::new(&bytes);
    let version = cursor.u8().ok().filter(|version| matches!(version, 1 | 2))?;
    let partition_time = cursor.i64().ok().filter(|time| (-1..=LAST_TIME).contains(time))?;
    let processor_metadata = match version {
        2 if cursor.remaining() > 0 => processors(&mut cursor)?,
        _ => Vec::new(),
    };
    (cursor.remaining() == 0).then_some(CommitMetadata { version, partition_time, processor_metadata })
}

fn processors(cursor: &mut Cursor<'_>) -> Option<Vec<(Vec<u8>, i64)>> {
    let n = usize::try_from(cursor.i32().ok()?).ok().filter(|n| *n <= cursor.remaining() / 12)?;
    let mut entries = Vec::with_capacity(n);
    for _ in 0..n {
        let size = usize::try_from(cursor.i32().ok()?).ok()?;
        let key = cursor.take(size).ok()?.to_vec();
        entries.push((key, cursor.i64().ok()?));
    }
    Some(entries)
}

impl CommitMetadata {
    /// Writes it as an object.
    pub fn json(&self, json: &mut Json) {
        let mut object = Object::of_kind(json, "streams-commit");
        object.name("version").int(self.version);
        object.field("partitionTime", &self.partition_time);
        if !self.processor_metadata.is_empty() {
            list(object.name("processorMetadata"), &self.processor_metadata, |json, (key, value)| {
                let mut entry = Object::open(json);
                entry.field("key", &key.as_slice());
                entry.field("value", value);
                entry.close();
            });
        }
        object.close();
    }
}
