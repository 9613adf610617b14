//! What `rewrite` did: text, JSON objects, and a line of JSON for each edit.
//!
//! Must not know: how it was done.

use super::damage::Found;
use super::name::visible;
use crate::cli::cmd::rewrite::selectors::Unmet;
use crate::json::{Json, Style};
use crate::model::preflight::Verdict;
use crate::rewrite::apply::Done;
use crate::rewrite::edit::run::copies::{Copy, Misplaced};
use crate::rewrite::edit::tally::{Edited, Tally};
use crate::schema::Key;
use crate::words::counted;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Notes name so many refusals.
const MOST_REFUSALS: usize = 20;
/// Text names so many groups that stood where they do not hash to.
const MOST_MISPLACED: usize = 100;

/// A part of the work: one partition, or all of them together.
pub struct Told<'t> {
    /// The partition, unless several were made of several.
    pub partition: Option<i32>,
    /// What was read.
    pub paths: Vec<String>,
    /// What was done.
    pub tally: &'t Tally,
    /// What was left out or put right.
    pub found: &'t Found,
    /// Groups that stood where they do not hash to, by the names they have in the output.
    pub misplaced: &'t [Misplaced],
    /// What was written, if anything.
    pub written: Vec<Wrote<'t>>,
}

/// A new partition.
pub struct Wrote<'w> {
    /// Its number.
    pub partition: i32,
    /// What was written, unless nothing was to be.
    pub done: Option<&'w Done>,
    /// Where it ends.
    pub end: i64,
    /// Whether a broker would load it.
    pub verdict: Option<&'w Verdict>,
}

/// Writes text for people.
pub fn text(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let tally = told.tally;
    match told.partition {
        Some(number) => writeln!(to, "partition {number} ({})", told.paths.join(", "))?,
        None => writeln!(to, "{} from {}", counted(told.written.len() as u64, "partition"), told.paths.join(", "))?,
    }
    let mut parts = Vec::new();
    for (count, what) in [
        (tally.copied, "copied as they are"),
        (tally.moved, "with another offset or leader epoch"),
        (tally.rebuilt, "written anew"),
        (tally.dropped, "dropped"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let how = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    writeln!(to, "  {}{how}", counted_batches(tally.batches))?;
    let mut parts = Vec::new();
    for (count, what) in
        [(tally.dropped_records, "dropped"), (tally.replaced_records, "changed"), (tally.appended_records, "added")]
    {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let how = if parts.is_empty() { ", none changed".to_owned() } else { format!(": {}", parts.join(", ")) };
    writeln!(to, "  {}{how}", counted(tally.records, "record"))?;
    for (code, count) in &tally.codes {
        writeln!(to, "    {code}: {count}")?;
    }
    for (field, count) in &tally.lost {
        writeln!(to, "    lost: {field} in {}", counted(*count, "record"))?;
    }
    told.found.text(to)?;
    for it in told.misplaced.iter().take(MOST_MISPLACED) {
        writeln!(to, "  {}", misplaced_words(it))?;
    }
    let more = told.misplaced.len().saturating_sub(MOST_MISPLACED) as u64;
    if more > 0 {
        writeln!(to, "  and {}", counted(more, "more such group"))?;
    }
    for wrote in &told.written {
        wrote_text(told, wrote, to)?;
    }
    Ok(())
}

/// Where a group stood, and which copy has the last word.
pub fn misplaced_words(it: &Misplaced) -> String {
    let places: Vec<_> = it.copies.keys().map(i32::to_string).collect();
    let many = if places.len() > 1 { "partitions" } else { "partition" };
    let mut text = format!("group {} stood in {many} {}", visible(&it.group), places.join(", "));
    if let Some(home) = it.home {
        text.push_str(&format!(", and hashes to {home}"));
    }
    if places.len() < 2 {
        text.push_str(", where a broker did not look for it; it does where it is now");
        return text;
    }
    let won = |(partition, copy): (&i32, &Copy)| format!("{} from {partition}", counted(copy.keys, "key"));
    let won: Vec<_> = it.copies.iter().map(won).collect();
    format!("{text}; the later record of a key holds: {}", won.join(", "))
}

fn misplaced_json(it: &Misplaced) -> Value {
    let copy = |(partition, copy): (&i32, &Copy)| {
        json!({
            "partition": partition,
            "records": copy.records,
            "keysWon": (it.copies.len() > 1).then_some(copy.keys),
        })
    };
    json!({
        "kind": "misplaced-group",
        "group": visible_lossless(&it.group),
        "hashesTo": it.home,
        "copies": it.copies.iter().map(copy).collect::<Vec<_>>(),
    })
}

/// Writes which options met nothing.
///
/// # Errors
/// If `to` cannot be written to.
pub fn unmet_text(unmet: &[Unmet], to: &mut dyn Write) -> io::Result<()> {
    unmet.iter().try_for_each(|it| writeln!(to, "{}", it.message))
}

/// An option that met nothing.
pub fn unmet_json(it: &Unmet) -> Value {
    let value = Some(&it.value).filter(|value| !value.is_empty());
    json!({"kind": it.kind, "option": it.option, "value": value, "message": it.message})
}

fn counted_batches(n: u64) -> String {
    if n == 1 { "1 batch".to_owned() } else { format!("{n} batches") }
}

fn wrote_text(told: &Told<'_>, wrote: &Wrote<'_>, to: &mut dyn Write) -> io::Result<()> {
    let name = if told.partition.is_none() { format!("partition {}: ", wrote.partition) } else { String::new() };
    match wrote.done {
        Some(Done { segments, batches, records, bytes, .. }) => writeln!(
            to,
            "  {name}written: {}, {}, {}, {bytes} bytes, ends at offset {}",
            counted(segments.len() as u64, "segment"),
            counted_batches(*batches),
            counted(*records, "record"),
            wrote.end
        )?,
        None => writeln!(to, "  {name}nothing was written; it would end at offset {}", wrote.end)?,
    }
    let Some(verdict) = wrote.verdict.filter(|verdict| !verdict.loads()) else { return Ok(()) };
    writeln!(to, "    {} would not load it:", verdict.coordinator)?;
    for refusal in verdict.refusals.iter().take(MOST_REFUSALS) {
        let group = refusal.group.as_deref().map_or(String::new(), |group| format!(" (group {})", visible(group)));
        writeln!(to, "      offset {}{group}: {}", refusal.at.offset, refusal.reason)?;
    }
    let more = verdict.refused.saturating_sub(MOST_REFUSALS as u64);
    if more > 0 { writeln!(to, "      and {more} more") } else { Ok(()) }
}

/// Gives one object for the work done, one for each damaged stretch, one for each new partition.
pub fn objects(told: &Told<'_>, each: &mut dyn FnMut(Value) -> io::Result<()>) -> io::Result<()> {
    let tally = told.tally;
    each(json!({
        "kind": "summary",
        "partition": told.partition,
        "paths": told.paths,
        "batches": {
            "read": tally.batches, "copied": tally.copied, "moved": tally.moved, "rebuilt": tally.rebuilt,
            "dropped": tally.dropped,
        },
        "records": {
            "read": tally.records, "dropped": tally.dropped_records, "replaced": tally.replaced_records,
            "appended": tally.appended_records,
        },
        "edits": tally.codes,
        "lost": tally.lost,
        "damaged": told.found.damaged(),
        "putRight": told.found.put_right(),
        "tornTail": told.found.is_torn(),
        "misplacedGroups": told.misplaced.len(),
    }))?;
    told.found.objects(each)?;
    told.misplaced.iter().try_for_each(|it| each(misplaced_json(it)))?;
    for wrote in &told.written {
        each(json!({
            "kind": "partition",
            "partition": wrote.partition,
            "segments": wrote.done.map(|done| done.segments.len()),
            "batches": wrote.done.map(|done| done.batches),
            "records": wrote.done.map(|done| done.records),
            "bytes": wrote.done.map(|done| done.bytes),
            "endOffset": wrote.end,
            "keptLeaderEpochs": wrote.done.map(|done| done.kept_epochs),
            "loads": wrote.verdict.map(verdict),
        }))?;
    }
    Ok(())
}

fn verdict(verdict: &Verdict) -> Value {
    let refusal = |it: &crate::model::preflight::Refusal| {
        json!({
            "offset": it.at.offset,
            "group": it.group.as_deref().map(visible_lossless),
            "code": it.reason.code(),
            "message": it.reason.to_string(),
        })
    };
    json!({
        "broker": verdict.coordinator.to_string(),
        "loads": verdict.loads(),
        "refused": verdict.refused,
        "refusals": verdict.refusals.iter().take(MOST_REFUSALS).map(refusal).collect::<Vec<_>>(),
    })
}

fn visible_lossless(text: &[u8]) -> Value {
    let mut json = Json::new(Style::Lossless);
    json.string(text);
    serde_json::from_slice(json.bytes()).unwrap_or(Value::Null)
}

/// One edit.
pub fn edit(edited: &Edited<'_>) -> Value {
    let mut object = Map::new();
    object.insert("action".to_owned(), json!(edited.action.name()));
    let place = |partition: Option<i32>, offset: Option<i64>| match (partition, offset) {
        (None, None) => Value::Null,
        (partition, offset) => json!({"partition": partition, "offset": offset}),
    };
    object.insert("from".to_owned(), place(edited.from_partition, edited.from_offset));
    object.insert("to".to_owned(), place(edited.to_partition, edited.to_offset));
    let record_type = |key: Option<&[u8]>| key.and_then(|key| Key::decode(key).ok()).map(|key| key.record_type);
    let (old, new) = (record_type(edited.key), record_type(edited.new_key.or(edited.key)));
    let values = [("value", old, edited.value), ("newValue", new, edited.new_value)];
    for (name, bytes) in [("key", edited.key), ("newKey", edited.new_key)] {
        if let Some(bytes) = bytes {
            object.insert(name.to_owned(), key_json(bytes));
        }
    }
    for (name, record_type, bytes) in values {
        if let Some(bytes) = bytes {
            object.insert(name.to_owned(), value_json(record_type, bytes));
        } else if name == "value" && edited.key.is_some() && edited.from_offset.is_some() {
            object.insert(name.to_owned(), Value::Null);
        }
    }
    let note = |note: &crate::rewrite::edit::Note| {
        let mut object = Map::new();
        object.insert("code".to_owned(), json!(note.code));
        if !note.text.is_empty() {
            object.insert("message".to_owned(), json!(note.text));
        }
        if !note.lost.is_empty() {
            object.insert("lost".to_owned(), json!(note.lost));
        }
        Value::Object(object)
    };
    object.insert("edits".to_owned(), edited.notes.iter().map(note).collect());
    Value::Object(object)
}

fn key_json(bytes: &[u8]) -> Value {
    let number = bytes.first_chunk().map(|pair| i16::from_be_bytes(*pair));
    let Ok(key) = Key::decode(bytes) else { return json!({"type": number, "raw": STANDARD.encode(bytes)}) };
    let mut json = Json::new(Style::Lossless);
    key.json(&mut json);
    let data: Value = serde_json::from_slice(json.bytes()).unwrap_or(Value::Null);
    json!({"type": number, "name": key.record_type.name(), "data": data})
}

fn value_json(record_type: Option<crate::schema::RecordType>, bytes: &[u8]) -> Value {
    let version = bytes.first_chunk().map(|pair| i16::from_be_bytes(*pair));
    let mut json = Json::new(Style::Lossless);
    if let Some(record_type) = record_type
        && record_type.transcode_value(bytes, &mut json).is_ok()
        && let Ok(data) = serde_json::from_slice::<Value>(json.bytes())
    {
        return json!({"version": version, "data": data});
    }
    json!({"version": version, "raw": STANDARD.encode(bytes)})
}
