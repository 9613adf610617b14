//! Names of topics that records hold only by id.
//!
//! Learnt from whatever carries both: commits with a topic id, group records with names and ids, `partition.metadata` of
//! the neighbours, the cluster's metadata log, a file of the user's.
//! Must not know: what the names are for.

use crate::bytes::Cursor;
use crate::log::checkpoint;
use crate::log::dir::PartitionName;
use crate::log::{Inflater, Segment, Span};
use crate::schema::wire::Uuid;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Names by id.
#[derive(Debug, Clone, Default)]
pub struct Topics {
    names: HashMap<Uuid, Vec<u8>>,
}

impl Topics {
    /// The name of a topic, if it is known.
    pub fn name(&self, id: Uuid) -> Option<&[u8]> {
        self.names.get(&id).map(Vec::as_slice)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Learns a name. An id of zeros, which means none, names nothing.
    pub fn learn(&mut self, id: Uuid, name: &[u8]) {
        if id != Uuid::default() && !self.names.contains_key(&id) {
            self.names.insert(id, name.to_vec());
        }
    }

    /// Learns all that another knows.
    pub fn learn_all(&mut self, other: &Topics) {
        other.names.iter().for_each(|(id, name)| self.learn(*id, name));
    }

    /// Learns from a log dir: `partition.metadata` of every partition in it, and the cluster's metadata log.
    pub fn learn_from_log_dir(&mut self, log_dir: &Path) {
        let Ok(entries) = std::fs::read_dir(log_dir) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let Some(name) = PartitionName::of(&path) else { continue };
            if name.topic == "__cluster_metadata" {
                self.learn_from_metadata_log(&path);
            } else if let Some(id) =
                crate::files::read(&path.join("partition.metadata")).ok().and_then(|b| checkpoint::topic_id(&b))
            {
                self.learn(Uuid(id), name.topic.as_bytes());
            }
        }
    }

    /// Learns from `__cluster_metadata-0`: the TopicRecords of its segments and snapshots (KIP-631).
    fn learn_from_metadata_log(&mut self, folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let mut inflater = Inflater::new();
        let is_log =
            |path: &Path| path.extension().is_some_and(|extension| extension == "log" || extension == "checkpoint");
        for path in files.into_iter().filter(|path| is_log(path)) {
            let Ok(segment) = Segment::open(&path) else { continue };
            for span in segment.spans() {
                let Span::Batch(batch) = span else { continue };
                if batch.header().control || batch.check_crc().is_err() {
                    continue;
                }
                for record in batch.records(&mut inflater).by_ref().flatten() {
                    if let Some((id, name)) = record.value.and_then(topic_record) {
                        self.learn(id, name);
                    }
                }
            }
        }
    }

    /// Learns from a text of lines `name,id[,partitions]`; blanks, empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// With [`io::ErrorKind::InvalidData`] and the line's number if a line has no id.
    pub fn learn_from_text(&mut self, text: &str) -> io::Result<()> {
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.split(',').map(str::trim);
            let (name, id) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            match parse_id(id) {
                Some(id) => self.learn(id, name.as_bytes()),
                None => {
                    let what = format!("line {}: '{id}' is no topic id; lines are name,id,partitions", i + 1);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        Ok(())
    }
}

/// Reads an id in the 22 characters that Kafka prints.
pub fn parse_id(text: &str) -> Option<Uuid> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).ok()?;
    bytes.try_into().ok().map(Uuid)
}

/// An id in the 22 characters that Kafka prints.
pub fn format_id(id: Uuid) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(id.0)
}

/// The id and name in a metadata record, if it is a TopicRecord: frame version, api key 2, version, name, id.
fn topic_record(value: &[u8]) -> Option<(Uuid, &[u8])> {
    let mut cursor = Cursor::new(value);
    let (_frame, api_key, _version) = (cursor.uvarint().ok()?, cursor.uvarint().ok()?, cursor.uvarint().ok()?);
    if api_key != 2 {
        return None;
    }
    let len = cursor.uvarint().ok()?.checked_sub(1)? as usize;
    let name = cursor.take(len).ok()?;
    let id = cursor.array().ok()?;
    Some((Uuid(*id), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_record() {
        let mut value = vec![1, 2, 0, 7];
        value.extend_from_slice(b"orders");
        value.extend_from_slice(&[9; 16]);
        value.push(0);
        assert_eq!(topic_record(&value), Some((Uuid([9; 16]), &b"orders"[..])));
        assert_eq!(topic_record(&value[..20]), None);
        assert_eq!(topic_record(&[1, 3, 0, 7]), None);
    }

    #[test]
    fn a_list_of_topics() {
        let mut topics = Topics::default();
        topics.learn_from_text("# name,id,partitions\norders, qglq2ZQmQBWRKay1Ntz9rg, 6\n\n").unwrap();
        assert_eq!(topics.name(parse_id("qglq2ZQmQBWRKay1Ntz9rg").unwrap()), Some(&b"orders"[..]));
        assert!(topics.learn_from_text("orders,6").is_err());
    }
}
