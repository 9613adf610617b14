//! What `salvage` did, for people: a line a stretch, a line a lost key.
//!
//! Must not know: how any of it was found.

use super::name::{visible, visible_path};
use super::salvage::{Told, Totals, flat_key, marker_message, value_of};
use crate::cli::time::rfc3339;
use crate::model::losses::{Kept, LostKey, Word};
use crate::rewrite::plan::Role;
use crate::rewrite::report::{Incident, Outcome};
use crate::schema::{Key, RecordType};
use crate::words::counted;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// Writes all of a partition.
///
/// # Errors
/// If `to` cannot be written to.
pub fn write(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let salvage = told.salvage;
    head(told, to)?;
    for incident in &salvage.log.incidents {
        stretch(told, incident, to)?;
    }
    for from in &salvage.joined {
        let whose = match from.role {
            Role::Leftover => format!("a leftover file in {}", told.copy_path(from.role)),
            _ => told.copy_path(from.role),
        };
        if from.damaged > 0 {
            writeln!(to, "  {whose} is damaged too: {}", counted(from.damaged, "damaged stretch"))?;
        }
        for (first, last) in &from.joined.added {
            writeln!(to, "  offsets {first} to {last} added from {whose}")?;
        }
        if let Some((offset, theirs_win)) = from.joined.diverged {
            let wins = if theirs_win { whose.as_str() } else { "this log" };
            writeln!(
                to,
                "  {whose} tells another story from offset {offset} on; {wins} wins, by its higher leader epoch"
            )?;
        }
        if from.joined.is_stranger {
            writeln!(
                to,
                "  {whose} says other things at most offsets that both have, so that it is no copy of this partition; \
                 nothing is taken from it"
            )?;
        }
        if from.guarded > 0 {
            writeln!(
                to,
                "  {} of {whose} left out again: what took their place there is already cleaned away here",
                counted(from.guarded, "record")
            )?;
        }
        for conflict in &from.joined.conflicts {
            let side = |content: &Option<crate::rewrite::report::Content>| {
                content.as_ref().map_or("nothing".to_owned(), |it| {
                    let key = it.key.as_deref().unwrap_or_default();
                    let value = value_of(key, it.value.as_deref());
                    format!("epoch {}: {} = {}", it.epoch, key_words(key), value_words(key, &value))
                })
            };
            let taken = if conflict.theirs_wins { "the second is taken" } else { "the first is taken" };
            let (ours, theirs) = (side(&conflict.ours), side(&conflict.theirs));
            writeln!(to, "  conflict at offset {}: {ours} | {whose}, {theirs}; {taken}", conflict.offset)?;
        }
        let more = from.joined.conflicts_in_all - from.joined.conflicts.len() as u64;
        if more > 0 {
            writeln!(to, "  {more} more conflicts with {whose}")?;
        }
    }
    losses(told, to)
}

/// Writes which markers and keys are lost.
///
/// # Errors
/// If `to` cannot be written to.
pub fn losses(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    for marker in &told.salvage.markers {
        writeln!(to, "  offset {}: {}", marker.offset, marker_message(marker))?;
        for key in &marker.hanging {
            let verb = if marker.ended_by.is_some() { "waited" } else { "hangs" };
            writeln!(to, "    {verb}: {}", key_words(key))?;
        }
    }
    for open in &told.salvage.open {
        writeln!(
            to,
            "  offset {}: a transaction of producer {} has no end in the new log: it hangs, unless the producer ends it",
            open.first, open.producer_id
        )?;
    }
    for from in told.salvage.joined.iter().filter(|from| !from.revived.is_empty()) {
        let (keys, path) = (from.revived.len() as u64, visible_path(Path::new(&told.copy_path(from.role))));
        let them = if keys == 1 { "it" } else { "them" };
        writeln!(
            to,
            "  {} may be alive again: {path} went on for longer and no longer has {them}, for what removed {them} is cleaned \
             away there",
            counted(keys, "key"),
        )?;
        for key in &from.revived {
            writeln!(to, "    {} (offset {})", key_words(&key.key), key.offset)?;
        }
    }
    lost_keys(told, to)
}

fn head(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let salvage = told.salvage;
    let totals = Totals::of(salvage);
    writeln!(to, "partition {}: {}", told.partition, visible_path(told.path))?;
    let kept = format!("{}, {}", counted(totals.batches, "batch"), counted(totals.records, "record"));
    let first = totals.first.map_or("-".to_owned(), |first| first.to_string());
    let verb = if told.done.is_some() { "kept" } else { "would be kept" };
    if told.unlisted.is_none() || totals.batches > 0 {
        writeln!(to, "  {verb}: {kept}; first offset {first}, end offset {}", salvage.end())?;
    }
    if let Some(why) = told.unlisted {
        writeln!(to, "  the folder cannot be read: {why}; what it held is lost unless another copy has it (--also)")?;
    }
    for (path, why) in &told.unreadable {
        writeln!(
            to,
            "  {}: {why}; what it held is lost unless it stands in another copy (--also)",
            visible_path(path),
        )?;
    }
    for (file, why) in &told.broken {
        let instead = match *file {
            "partition.metadata" => "unless another copy has a sound one (--also)",
            _ => "but made anew from the batches",
        };
        writeln!(to, "  {file} is not carried over, {instead}: {why}")?;
    }
    if !told.back.is_empty() {
        let (swaps, back) = (told.set_aside.join(", "), told.back.join(", "));
        writeln!(to, "  set aside, though a broker would put it into the log: {swaps}; read in its place: {back}")?;
    }
    if told.is_whole() {
        writeln!(to, "  nothing is lost")?;
    }
    Ok(())
}

fn stretch(told: &Told<'_>, incident: &Incident, to: &mut dyn Write) -> io::Result<()> {
    let offsets = match (incident.first, incident.last) {
        (Some(first), Some(last)) if first == last => format!("offset {first}"),
        (Some(first), Some(last)) => format!("offsets {first} to {last}"),
        (Some(first), None) => format!("offsets from {first} on"),
        _ => "no offset".to_owned(),
    };
    // What of a copy's own damage is missing in what was added from it, stands in its file.
    let name = match told.salvage.sources.get(incident.source) {
        Some(source) if source.role != Role::Own => visible_path(&source.path),
        _ => told.salvage.sources.name(incident.source).to_owned(),
    };
    let what = match &incident.outcome {
        Outcome::Normal => "left out, as a broker does when it starts".to_owned(),
        Outcome::Nothing => "left out; no offset is missing".to_owned(),
        Outcome::Lost => "LOST".to_owned(),
        Outcome::Partly { kept, lost } => format!("written anew, {kept} kept, {lost} LOST"),
        Outcome::Doubtful { kept, lost } => format!("kept in doubt: {kept}; {lost} LOST"),
        Outcome::Mended(changes) => {
            let change = |it: &crate::log::mend::Change| {
                format!("byte {} from {:#04x} to {:#04x}", incident.position + u64::from(it.at), it.old, it.new)
            };
            format!("mended: {}", changes.iter().map(change).collect::<Vec<_>>().join(", "))
        }
        Outcome::Repeated => "left out; all of it is kept".to_owned(),
        Outcome::Overruled => "LEFT OUT".to_owned(),
        Outcome::PartlyOverruled => "LEFT OUT in part".to_owned(),
        Outcome::Filled(sources) => {
            let path = |id: &u32| told.salvage.sources.get(*id).map_or(String::new(), |it| visible_path(&it.path));
            format!("filled from {}", sources.iter().map(path).collect::<Vec<_>>().join(", "))
        }
        Outcome::Unloadable => "TAKEN OUT".to_owned(),
        Outcome::Split => "kept; a new segment begins here, as a broker would begin one".to_owned(),
        Outcome::Renamed => "kept; the new segments are named after what they hold".to_owned(),
    };
    let hint = match &incident.would_mend {
        Some(_) => "; --mend would put it right",
        None => "",
    };
    let producer = match &incident.producer {
        Some(producer) if producer.ends => format!("; it ends a transaction of producer {}", producer.id),
        Some(producer) => format!("; part of a transaction of producer {}", producer.id),
        None => String::new(),
    };
    writeln!(
        to,
        "  {name} at byte {}, {}, {offsets}: {what}: {} ({}){producer}{hint}",
        incident.position,
        counted(incident.length, "byte"),
        incident.message,
        incident.code,
    )?;
    if incident.hides_keys() {
        writeln!(to, "    {}", hidden_keys(incident))?;
    }
    Ok(())
}

fn hidden_keys(incident: &Incident) -> String {
    let range = |(first, last): &(i64, i64)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    let at = match incident.dark_at.as_slice() {
        [] => "there".to_owned(),
        [(first, last)] if first == last => format!("at offset {first}"),
        ranges => format!("at offsets {}", ranges.iter().map(range).collect::<Vec<_>>().join(", ")),
    };
    format!("keys cannot be read {at}: any group may have had records")
}

fn lost_keys(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let salvage = told.salvage;
    if salvage.unreadable > 0 {
        writeln!(to, "  {} lost whose key cannot be read", counted(salvage.unreadable, "record"))?;
    }
    if salvage.lost.is_empty() {
        return Ok(());
    }
    let totals = Totals::of(salvage);
    let verb = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    write!(
        to,
        "  {} lost: {} back to an older value, {} gone, {} superseded by a later record",
        counted(salvage.lost.len() as u64, "key"),
        verb(totals.fallen_back, "goes", "go"),
        verb(totals.gone, "is", "are"),
        verb(totals.superseded, "is", "are"),
    )?;
    if totals.aborted > 0 {
        write!(to, ", {} never counted", verb(totals.aborted, "commit", "commits"))?;
    }
    if totals.doubtful > 0 {
        write!(to, ", {} by damaged bytes only", verb(totals.doubtful, "is named", "are named"))?;
    }
    writeln!(to)?;
    for lost in &salvage.lost {
        writeln!(to, "    {}", lost_line(lost))?;
    }
    if salvage.lost_beyond > 0 {
        writeln!(to, "    and {} of more keys, not listed", counted(salvage.lost_beyond, "record"))?;
    }
    Ok(())
}

fn lost_line(lost: &LostKey) -> String {
    let time = if lost.timestamp >= 0 { format!(", {}", rfc3339(lost.timestamp)) } else { String::new() };
    let value = |kept: &Kept| match kept {
        Kept::Unknown => "unknown".to_owned(),
        Kept::Tombstone => "removed".to_owned(),
        Kept::Value(bytes) => value_words(&lost.key, &value_of(&lost.key, Some(bytes))),
    };
    let offset = match lost.said.filter(|said| *said != lost.offset) {
        None => format!("offset {}", lost.offset),
        Some(said) => format!("offset {} or later, though its batch says {said}", lost.offset),
    };
    if let Some(marker) = lost.aborted_by {
        let (key, value) = (key_words(&lost.key), value(&lost.value));
        return format!("{key}: {value} ({offset}{time}): never counted: aborted at offset {marker}");
    }
    let word = match lost.word {
        Word::Sound => "",
        Word::Mended => ", with its changed byte put right",
        Word::Doubtful => ", as its damaged bytes say",
    };
    let now = match (lost.superseded_by, &lost.fallback) {
        (Some(offset), _) => format!("superseded at offset {offset}"),
        (None, Some(before)) => format!("goes back to {} of offset {}", value(&before.value), before.offset),
        (None, None) => "nothing of it is left".to_owned(),
    };
    format!("{}: {} ({offset}{time}{word}): {now}", key_words(&lost.key), value(&lost.value))
}

/// A key on one line: `group topic-partition` for an offset, else its type and fields.
fn key_words(bytes: &[u8]) -> String {
    let Ok(key) = Key::decode(bytes) else { return format!("unreadable key {}", flat_key(bytes)) };
    if let Some((topic, partition)) = key.topic_partition() {
        return format!("{} {}-{partition}", visible(key.group()), visible(topic));
    }
    if key.record_type == RecordType::GroupMetadata {
        return format!("{} (group)", visible(key.group()));
    }
    let member = key.member().map_or(String::new(), |member| format!(" {}", visible(member)));
    format!("{}{member} ({})", visible(key.group()), key.record_type.name())
}

/// A value in a few words: of an offset, the offset.
fn value_words(key: &[u8], value: &Value) -> String {
    if let Ok(key) = Key::decode(key)
        && key.topic_partition().is_some()
        && let Some(offset) = value.pointer("/data/offset")
    {
        return offset.to_string();
    }
    let text = value.to_string();
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
