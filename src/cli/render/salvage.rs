//! What `salvage` did, as JSON: one object a stretch, a lost key, a lost marker, a conflict, and a summary.
//!
//! Must not know: how any of it was found.

use super::name::{lossless, lossless_path};
use crate::json::{Json, Style};
use crate::log::dir::OFFSETS_TOPIC;
use crate::log::mend::Change;
use crate::model::losses::{Fallback, Kept, LostKey, Word};
use crate::model::preflight::Verdict;
use crate::rewrite::apply::Done;
use crate::rewrite::hanging::LostMarker;
use crate::rewrite::plan::{Role, SourceId};
use crate::rewrite::report::{Conflict, Content, Incident, Outcome};
use crate::rewrite::salvage::{JoinedFrom, Salvage};
use crate::schema::Key;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// A salvaged partition, to be told.
#[derive(Debug)]
pub struct Told<'t> {
    /// Its number.
    pub partition: i32,
    /// Where it came from.
    pub path: &'t Path,
    /// What stays and what does not.
    pub salvage: &'t Salvage,
    /// Why the folder could not be listed, if so.
    pub unlisted: Option<&'t str>,
    /// Files beside the segments that are not carried over, and why.
    pub broken: Vec<(&'static str, String)>,
    /// Names of `.swap` files that a broker would put into the log, and that were left out.
    pub set_aside: Vec<String>,
    /// Names of the segments that were read in their place.
    pub back: Vec<String>,
    /// Files of segments that cannot be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
    /// What was written; None if nothing was.
    pub done: Option<Done>,
    /// Whether a broker would load what was written.
    pub verdict: Option<Verdict>,
}

impl Told<'_> {
    /// Whether nothing is lost.
    pub fn is_whole(&self) -> bool {
        let files = self.unlisted.is_none() && self.broken.is_empty() && self.unreadable.is_empty();
        files && self.back.is_empty() && !self.salvage.is_damaged()
    }
}

/// Shows every object of a partition to `each`, the summary last.
///
/// # Errors
/// Those of `each`.
pub fn objects(told: &Told<'_>, each: &mut dyn FnMut(&Value) -> io::Result<()>) -> io::Result<()> {
    let salvage = told.salvage;
    for incident in &salvage.log.incidents {
        each(&told.stretch(incident))?;
    }
    if let Some(why) = told.unlisted {
        each(&json!({
            "partition": told.partition,
            "kind": "unreadable-partition",
            "path": lossless_path(told.path),
            "why": why,
        }))?;
    }
    for (file, why) in &told.broken {
        each(&json!({ "partition": told.partition, "kind": "unreadable-file", "file": file, "why": why }))?;
    }
    if !told.back.is_empty() {
        each(&json!({
            "partition": told.partition,
            "kind": "swap-set-aside",
            "swaps": told.set_aside,
            "instead": told.back,
        }))?;
    }
    for (path, why) in &told.unreadable {
        each(&json!({
            "partition": told.partition,
            "kind": "unreadable-segment",
            "segment": path.file_name().map(|name| lossless(name.as_encoded_bytes())),
            "path": lossless_path(path),
            "why": why,
        }))?;
    }
    for lost in told.losses() {
        each(&lost)?;
    }
    for from in &salvage.joined {
        each(&told.copy(from))?;
        if let Some((offset, theirs_win)) = from.joined.diverged {
            each(&json!({
                "partition": told.partition,
                "kind": "diverged",
                "path": told.copy_path(from.role),
                "offset": offset,
                "taken": if theirs_win { "theirs" } else { "ours" },
            }))?;
        }
        for conflict in &from.joined.conflicts {
            each(&told.conflict(conflict))?;
        }
    }
    each(&told.summary())
}

impl Told<'_> {
    /// Lost keys and markers.
    pub fn losses(&self) -> impl Iterator<Item = Value> {
        let keys = self.salvage.lost.iter().map(|lost| self.lost_key(lost));
        let open = self.salvage.open.iter().map(|open| {
            json!({
                "partition": self.partition,
                "kind": "open-transaction",
                "offset": open.first,
                "producerId": open.producer_id,
                "producerEpoch": open.producer_epoch,
            })
        });
        let revived = self.salvage.joined.iter().flat_map(|from| {
            from.revived.iter().map(|key| {
                json!({
                    "partition": self.partition,
                    "kind": "revived-key",
                    "path": self.copy_path(from.role),
                    "offset": key.offset,
                    "revived": flat_key(&key.key),
                })
            })
        });
        keys.chain(self.salvage.markers.iter().map(|marker| self.marker(marker))).chain(open).chain(revived)
    }

    fn path_of(&self, source: SourceId) -> String {
        self.salvage.sources.get(source).map_or(String::new(), |source| lossless_path(&source.path))
    }

    /// Where another copy is.
    pub fn copy_path(&self, role: Role) -> String {
        let source = self.salvage.sources.all().iter().find(|source| source.role == role);
        let folder = source.and_then(|source| source.path.parent());
        folder.map_or(String::new(), lossless_path)
    }

    fn copy(&self, from: &JoinedFrom) -> Value {
        json!({
            "partition": self.partition,
            "kind": "copy",
            "path": self.copy_path(from.role),
            "role": if from.role == Role::Leftover { "leftover" } else { "replica" },
            "damagedStretches": from.damaged,
            "added": ranges(&from.joined.added),
            "leftOutAgain": from.guarded,
            "refused": from.joined.is_stranger,
            "conflicts": from.joined.conflicts_in_all,
        })
    }

    /// Where a stretch of a file is: its name, and the path where it is not the log's own.
    fn place(&self, kind: &str, source: SourceId, position: u64) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("partition".into(), json!(self.partition));
        object.insert("kind".into(), json!(kind));
        object.insert("segment".into(), json!(self.salvage.sources.name(source)));
        object.insert("position".into(), json!(position));
        if self.salvage.sources.get(source).is_some_and(|source| source.role != Role::Own) {
            object.insert("path".into(), json!(self.path_of(source)));
        }
        object
    }

    fn stretch(&self, incident: &Incident) -> Value {
        let mut object = self.place("stretch", incident.source, incident.position);
        object.insert("length".into(), json!(incident.length));
        object.insert("code".into(), json!(incident.code));
        object.insert("outcome".into(), json!(incident.outcome.name()));
        object.insert("firstOffset".into(), json!(incident.first));
        object.insert("lastOffset".into(), json!(incident.last));
        object.insert("leaderEpoch".into(), json!(incident.epoch));
        if let Some(producer) = incident.producer {
            object.insert("producerId".into(), json!(producer.id));
            object.insert("producerEpoch".into(), json!(producer.epoch));
            object.insert("control".into(), json!(producer.ends));
        }
        if incident.hides_keys() {
            object.insert("keysUnreadable".into(), json!(true));
        }
        if incident.dark_records > 0 {
            object.insert("unreadableRecords".into(), json!(incident.dark_records));
            object.insert("unreadableAt".into(), ranges(&incident.dark_at));
        }
        match &incident.outcome {
            Outcome::Partly { kept, lost } | Outcome::Doubtful { kept, lost } => {
                object.insert("recordsKept".into(), json!(kept));
                object.insert("recordsLost".into(), json!(lost));
            }
            Outcome::Mended(changes) => {
                object.insert("changes".into(), changes.iter().map(|it| change(incident, it)).collect());
            }
            Outcome::Filled(sources) => {
                object.insert("filledFrom".into(), sources.iter().map(|it| json!(self.path_of(*it))).collect());
            }
            _ => {}
        }
        if let Some(would) = &incident.would_mend {
            object.insert("mendable".into(), change(incident, would));
        }
        object.insert("message".into(), json!(incident.message));
        Value::Object(object)
    }

    fn lost_key(&self, lost: &LostKey) -> Value {
        let mut object = self.place("lost-key", lost.at.segment, lost.at.position);
        object.insert("lost".into(), flat_key(&lost.key));
        object.insert("group".into(), lost.group.as_deref().map_or(Value::Null, |group| json!(lossless(group))));
        object.insert("offset".into(), json!(lost.offset));
        if let Some(said) = lost.said.filter(|said| *said != lost.offset) {
            // The first that it can have had, and what its bytes say.
            object.insert("offsetEstimated".into(), json!(true));
            object.insert("offsetSaid".into(), json!(said));
        }
        object.insert("timestamp".into(), json!(lost.timestamp));
        object.insert("records".into(), json!(lost.records));
        if lost.producer_id != -1 {
            object.insert("producerId".into(), json!(lost.producer_id));
        }
        object.insert("lostValue".into(), kept(&lost.key, &lost.value));
        object.insert("superseded".into(), json!(lost.superseded_by.is_some()));
        object.insert("supersededBy".into(), json!(lost.superseded_by));
        object.insert("abortedBy".into(), json!(lost.aborted_by));
        match lost.word {
            Word::Sound => {}
            Word::Mended => drop(object.insert("byMend".into(), json!(true))),
            Word::Doubtful => drop(object.insert("doubtful".into(), json!(true))),
        }
        let fallback = |it: &Fallback| json!({"offset": it.offset, "timestamp": it.timestamp, "value": kept(&lost.key, &it.value)});
        object.insert("fallback".into(), lost.fallback.as_ref().map_or(Value::Null, fallback));
        Value::Object(object)
    }

    fn marker(&self, marker: &LostMarker) -> Value {
        let incident = self.salvage.log.incidents.get(marker.incident);
        let (source, position) = incident.map_or((0, 0), |it| (it.source, it.position));
        let mut object = self.place("marker-lost", source, position);
        object.insert("offset".into(), json!(marker.offset));
        object.insert("producerId".into(), json!(marker.producer_id));
        object.insert("producerEpoch".into(), json!(marker.producer_epoch));
        let end = |commit: bool| if commit { "COMMIT" } else { "ABORT" };
        object.insert("type".into(), json!(marker.was_commit.map(end)));
        object.insert("hanging".into(), marker.hanging.iter().map(|key| flat_key(key)).collect());
        let ended = marker.ended_by.map(|(offset, commit)| json!({"offset": offset, "type": end(commit)}));
        object.insert("endedBy".into(), json!(ended));
        object.insert("message".into(), json!(marker_message(marker)));
        Value::Object(object)
    }

    fn conflict(&self, conflict: &Conflict) -> Value {
        let side = |content: &Option<Content>| {
            content.as_ref().map_or(Value::Null, |content| {
                let key = content.key.as_deref().unwrap_or_default();
                json!({
                    "leaderEpoch": content.epoch,
                    "timestamp": content.timestamp,
                    "key": flat_key(key),
                    "value": value_of(key, content.value.as_deref()),
                })
            })
        };
        json!({
            "partition": self.partition,
            "kind": "conflict",
            "offset": conflict.offset,
            "path": self.path_of(conflict.source),
            "ours": side(&conflict.ours),
            "theirs": side(&conflict.theirs),
            "taken": if conflict.theirs_wins { "theirs" } else { "ours" },
        })
    }

    fn summary(&self) -> Value {
        let salvage = self.salvage;
        let totals = Totals::of(salvage);
        let mut outcomes = Map::new();
        for incident in &salvage.log.incidents {
            let count = outcomes.entry(incident.outcome.name()).or_insert_with(|| json!(0));
            *count = json!(count.as_u64().unwrap_or(0) + 1);
        }
        json!({
            "partition": self.partition,
            "kind": "summary",
            "topic": OFFSETS_TOPIC,
            "path": lossless_path(self.path),
            "written": self.done.is_some(),
            "segments": self.done.as_ref().map(|done| done.segments.len()),
            "bytes": self.done.as_ref().map(|done| done.bytes),
            "batches": totals.batches,
            "records": totals.records,
            "firstOffset": totals.first,
            "endOffset": salvage.end(),
            "stretches": outcomes,
            "lostKeys": salvage.lost.len(),
            "lostKeysSuperseded": totals.superseded,
            "lostKeysFallenBack": totals.fallen_back,
            "lostKeysGone": totals.gone,
            "lostKeysAborted": totals.aborted,
            "lostKeysDoubtful": totals.doubtful,
            "lostKeysBeyond": salvage.lost_beyond,
            "unreadableRecords": salvage.unreadable,
            "lostMarkers": salvage.markers.len(),
            "broker": self.verdict.as_ref().map(|verdict| json!({
                "release": verdict.coordinator.to_string(),
                "loads": verdict.loads(),
                "refused": verdict.refused,
            })),
            "conflicts": salvage.joined.iter().map(|it| it.joined.conflicts_in_all).sum::<u64>(),
        })
    }
}

/// What to say of a lost marker.
pub fn marker_message(marker: &LostMarker) -> String {
    let what = match marker.was_commit {
        Some(true) => "a COMMIT",
        Some(false) => "an ABORT",
        None => "the end of a transaction",
    };
    let hangs = marker.hanging.len();
    match (hangs, marker.ended_by) {
        (0, _) => format!("{what} of producer {} is lost; no commit in this log waits for it", marker.producer_id),
        (_, Some((offset, commit))) => format!(
            "{what} of producer {} is lost; {hangs} keys waited for it, and the {} at offset {offset} now ends their \
             transaction: check them",
            marker.producer_id,
            if commit { "COMMIT" } else { "ABORT" },
        ),
        (_, None) => format!(
            "{what} of producer {} is lost; {hangs} keys wait for it for ever: take the marker from a replica (--also), or \
             end the transaction on the broker (kafka-transactions.sh abort)",
            marker.producer_id
        ),
    }
}

/// Numbers of a partition.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Batches that stay.
    pub batches: u64,
    /// Records that stay.
    pub records: u64,
    /// The first offset that stays.
    pub first: Option<i64>,
    /// Lost keys of which a later record stays.
    pub superseded: usize,
    /// Lost keys that go back to an older value.
    pub fallen_back: usize,
    /// Lost keys of which nothing stays.
    pub gone: usize,
    /// Keys that damaged bytes name, and nothing else in the log: they need never have been.
    pub doubtful: usize,
    /// Lost keys whose record never counted, for its transaction was aborted.
    pub aborted: usize,
}

impl Totals {
    /// Of a partition.
    pub fn of(salvage: &Salvage) -> Totals {
        let pieces = salvage.log.parts.iter().map(|part| &part.piece);
        let lost = &salvage.lost;
        let aborted = lost.iter().filter(|it| it.aborted_by.is_some()).count();
        let counted = || lost.iter().filter(|it| it.aborted_by.is_none());
        let superseded = counted().filter(|it| it.superseded_by.is_some()).count();
        let without_any = || counted().filter(|it| it.superseded_by.is_none() && it.fallback.is_none());
        let doubtful = without_any().filter(|it| it.word == Word::Doubtful).count();
        let gone = without_any().count() - doubtful;
        Totals {
            batches: pieces.clone().map(|piece| piece.batches).sum(),
            records: pieces.clone().map(|piece| piece.records).sum(),
            first: pieces.clone().map(|piece| piece.first).next(),
            superseded,
            fallen_back: lost.len() - aborted - superseded - gone - doubtful,
            gone,
            doubtful,
            aborted,
        }
    }
}

fn ranges(ranges: &[(i64, i64)]) -> Value {
    ranges.iter().map(|(first, last)| json!({"firstOffset": first, "lastOffset": last})).collect()
}

fn change(incident: &Incident, change: &Change) -> Value {
    json!({"at": incident.position + u64::from(change.at), "old": change.old, "new": change.new})
}

/// The fields of a key, with its type's number and name.
pub fn flat_key(bytes: &[u8]) -> Value {
    let Ok(key) = Key::decode(bytes) else {
        let number = bytes.first_chunk().map(|pair| i16::from_be_bytes(*pair));
        return json!({"type": number, "raw": STANDARD.encode(bytes)});
    };
    let mut object = Map::new();
    object.insert("type".into(), json!(key.record_type.number()));
    object.insert("name".into(), json!(key.record_type.name()));
    let mut json = Json::new(Style::Lossless);
    key.json(&mut json);
    if let Ok(Value::Object(fields)) = serde_json::from_slice(json.bytes()) {
        object.extend(fields);
    }
    Value::Object(object)
}

fn kept(key: &[u8], value: &Kept) -> Value {
    match value {
        Kept::Unknown => json!({"unknown": true}),
        Kept::Tombstone => Value::Null,
        Kept::Value(bytes) => value_of(key, Some(bytes)),
    }
}

/// A value as `dump` shows it: null for a tombstone.
pub fn value_of(key: &[u8], value: Option<&[u8]>) -> Value {
    let Some(bytes) = value else { return Value::Null };
    let version = bytes.first_chunk().map(|pair| i16::from_be_bytes(*pair));
    let mut json = Json::new(Style::Lossless);
    if let Ok(key) = Key::decode(key)
        && key.record_type.transcode_value(bytes, &mut json).is_ok()
        && let Ok(data) = serde_json::from_slice::<Value>(json.bytes())
    {
        return json!({"version": version, "data": data});
    }
    json!({"version": version, "raw": STANDARD.encode(bytes)})
}
