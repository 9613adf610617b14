//! `dump --format kafka-formatter`: the JSON that Kafka's console consumer prints with the formatters for this topic.
//!
//! Kafka 4.1 and later write `{"key":{"type":1,"data":{…}},"value":{"version":4,"data":{…}}}` without anything between
//! two records; the line ends are ours. OffsetsMessageFormatter shows types 0 and 1, GroupMetadataMessageFormatter
//! type 2, ShareGroupMessageFormatter types 10 to 15; the other types have none and are left out, as are control records,
//! records without a key, and what cannot be decoded. What only early releases wrote, at which a formatter ends with an
//! exception, is shown. Records of aborted transactions are shown, as to a consumer that reads uncommitted.
//! Must not know: what is selected.

use super::dump::{Render, Shown, Site, Soundness};
use crate::fault::{Fault, FaultKind};
use crate::json::{Json, Style};
use crate::log::{BadRecord, Batch, Hole};
use crate::model::event::{Content, Subject};
use crate::schema::Key;

/// Records as Kafka's formatters print them.
pub struct FormatterJson {
    json: Json,
}

impl FormatterJson {
    /// An empty output.
    pub fn new() -> Self {
        FormatterJson { json: Json::new(Style::Kafka) }
    }

    fn line(&mut self, key: &Key<'_>, content: &Content<'_>) {
        let json = &mut self.json;
        let start = json.bytes().len();
        json.raw("{\"key\":{\"type\":");
        json.int(key.record_type.number());
        json.raw(",\"data\":");
        key.json(json);
        json.raw("},\"value\":");
        match content {
            Content::Tombstone => json.raw("null"),
            Content::Value(value) => {
                json.raw("{\"version\":");
                json.int(value.version);
                json.raw(",\"data\":");
                value.data.json(json, value.version);
                json.raw("}");
            }
            Content::Bad { .. } => return json.truncate(start),
        }
        json.raw("}\n");
    }
}

impl Default for FormatterJson {
    fn default() -> Self {
        Self::new()
    }
}

impl Render for FormatterJson {
    fn buffer(&mut self) -> &mut Json {
        &mut self.json
    }

    fn record(&mut self, _: &Site, shown: &Shown<'_, '_>) -> Soundness {
        let Subject::Key(key) = shown.subject else { return Soundness::of(&shown.fault(None)) };
        let content = shown.content(key);
        if matches!(key.record_type.number(), 0..=2 | 10..=15) {
            self.line(key, &content);
        }
        Soundness::of(&shown.fault_with(&content))
    }

    fn segment(&mut self, _: &Site) {}
    fn hole(&mut self, _: &Site, _: &Hole) {}
    fn batch(&mut self, _: &Site, _: &Batch<'_>, _: Option<&FaultKind>) {}
    fn bad_record(&mut self, _: &Site, _: &Batch<'_>, _: &BadRecord<'_>) {}
    fn batch_fault(&mut self, _: &Site, _: &Batch<'_>, _: &Fault) {}
    fn segment_end(&mut self, _: &Site) {}
    fn end(&mut self) {}

    fn where_faults_stand(&self) -> &'static str {
        "this format has no place for them; --format jsonl shows them"
    }
}
