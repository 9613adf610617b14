//! Commits in words: spans, single batches, transactions, removals.
//!
//! Must not know: tables, JSON, and members.

use super::history_words::{Names, ranges, span_of_time};
use super::name::visible;
use crate::model::history::event::{
    CommitStep, Commits, Event, Flag, Forgotten, Move, Presence, Span, Unfinished, Why,
};
use crate::words::counted;
use std::collections::BTreeMap;

/// Commits between two other events.
pub fn span(span: &Span, event: &Event, names: &Names) -> String {
    let time = event.last_timestamp.saturating_sub(event.timestamp);
    let over = match (span.batches, time) {
        (1, _) => String::new(),
        (_, ..0) => String::new(),
        (_, time) => format!(" in {}", span_of_time(time)),
    };
    let mut text = format!("{}{over}: {}", counted(span.commits, "commit"), moves(&span.moves, names));
    for (id, _, transactions) in span.producers.iter().take(names.most()) {
        text.push_str(&format!("; {} of producer {id}", counted(*transactions, "committed transaction")));
    }
    let producer = span.producers.first().map(|(id, epoch, _)| (*id, *epoch));
    if let Some(who) = nobody(span.presence, Flag::Usual, producer) {
        text.push_str(&format!(" {who}"));
    }
    text
}

/// Who may have written where nobody was in the group.
fn nobody(presence: Presence, flag: Flag, producer: Option<(i64, i16)>) -> Option<&'static str> {
    match (presence, flag) {
        (Presence::NoMembers, _) if producer.is_some() => Some("(no members: a producer that is not in the group)"),
        (Presence::NoMembers, _) => Some("(no members: an admin reset or a tool)"),
        (Presence::NoGroup, Flag::Rewind | Flag::Jump) if producer.is_none() => {
            Some("(no group record: a consumer that assigns itself, an admin reset or a tool)")
        }
        _ => None,
    }
}

/// Partitions that went the same way are told together.
fn moves(moves: &[Move], names: &Names) -> String {
    let told = moves.iter().map(|it| {
        let way = match (it.before, it.first, it.last) {
            (Some(before), _, last) if before == last => format!("stay at {last}"),
            (Some(before), _, last) => format!("{before} -> {last}"),
            (None, first, last) if first == last => format!("at {last} (first)"),
            (None, first, last) => format!("{first} (first) -> {last}"),
        };
        (it.topic.as_slice(), it.partition, way)
    });
    together(told, names)
}

/// `orders:0-2 5 -> 7; orders:3 stay at 1`.
fn together<'t>(told: impl Iterator<Item = (&'t [u8], i32, String)>, names: &Names) -> String {
    let mut order: Vec<(&[u8], String)> = Vec::new();
    let mut places: BTreeMap<(&[u8], String), Vec<i32>> = BTreeMap::new();
    for (topic, partition, way) in told {
        let key = (topic, way);
        if !places.contains_key(&key) {
            order.push(key.clone());
        }
        places.entry(key).or_default().push(partition);
    }
    let most = names.most();
    let mut texts: Vec<_> = order
        .iter()
        .take(most)
        .filter_map(|key| {
            let mut partitions = places.get(key)?.clone();
            partitions.sort_unstable();
            let one = partitions.len() == 1;
            let way = if one { key.1.replacen("stay at", "stays at", 1) } else { key.1.clone() };
            Some(format!("{}:{} {way}", visible(key.0), ranges(partitions.into_iter())).trim_end().to_owned())
        })
        .collect();
    let more: usize = order.iter().skip(most).filter_map(|key| Some(places.get(key)?.len())).sum();
    if more > 0 {
        texts.push(format!("and {} (-v lists them)", counted(more as u64, "more partition")));
    }
    texts.join("; ")
}

/// Commits written together, or by one transaction.
pub fn commits(it: &Commits, names: &Names) -> String {
    let flag = it.flag();
    let word = match (flag, it.producer) {
        (Flag::Rewind, _) => "REWIND",
        (Flag::Jump, _) => "JUMP",
        (_, None) => "commit",
        (_, Some(_)) => "transactional commit",
    };
    let whose = it.producer.map(|(id, epoch)| format!(" (producer {id} epoch {epoch})")).unwrap_or_default();
    let who = nobody(it.presence, flag, it.producer).map(|who| format!(" {who}")).unwrap_or_default();
    format!("{word}{whose}: {}{who}", steps(&it.steps, names))
}

fn steps(steps: &[CommitStep], names: &Names) -> String {
    let told = steps.iter().map(|step| {
        let way = match (step.before, step.step()) {
            (Some(before), Some(_)) if step.flag == Flag::Superseded => {
                format!("{} does not count: a later commit of {before} stands there", step.offset)
            }
            (Some(before), Some(by)) if by != 0 => format!("{before} -> {} ({by:+})", step.offset),
            (Some(_), _) => format!("stay at {}", step.offset),
            (None, _) => format!("at {} (first)", step.offset),
        };
        (step.topic.as_slice(), step.partition, way)
    });
    together(told, names)
}

/// Commits of a transaction that was aborted or is open.
pub fn unfinished(it: &Unfinished, names: &Names) -> String {
    let told = it.steps.iter().map(|step| (step.topic.as_slice(), step.partition, format!("at {}", step.offset)));
    let told = together(told, names);
    let (id, epoch) = (it.producer_id, it.producer_epoch);
    match it.aborted {
        true => {
            let at: Vec<_> = it.steps.iter().map(|step| step.log_offset).collect();
            let written = match (at.iter().min(), at.iter().max()) {
                (Some(first), Some(last)) if first == last => format!("written at {first}"),
                (Some(first), Some(last)) => format!("written at {first}-{last}"),
                _ => "written before".to_owned(),
            };
            format!("ABORTED transaction of producer {id} epoch {epoch}: {told} ({written})")
        }
        false => format!("OPEN transaction of producer {id} epoch {epoch}: {told}, not valid before it ends"),
    }
}

/// Offsets that were removed.
pub fn forgotten(it: &Forgotten, event: &Event, names: &Names) -> String {
    let told = it.offsets.iter().map(|removed| {
        let was = removed.offset.map_or_else(String::new, |offset| format!("was {offset}"));
        (removed.topic.as_slice(), removed.partition, was)
    });
    let told = together(told, names);
    let age = it.offsets.iter().filter_map(|removed| removed.commit_timestamp).max();
    let age = age.map(|at| span_of_time(event.timestamp.saturating_sub(at).max(0)));
    let age = age.map(|age| format!(", committed {age} before")).unwrap_or_default();
    let why = match it.why {
        Why::ExpireTimestamp => "expired at the time that the commit gave",
        Why::Expired => "likely expired: older than the retention",
        Why::GroupDeleted => "the group was deleted with them",
        Why::TopicDeleted => "likely the topic was deleted",
        Why::OffsetsDeleted => "younger than the retention: likely deleted by an admin, or with their topic",
        Why::Unknown => "what they were is not known here",
    };
    let pending: u64 = it.offsets.iter().map(|removed| removed.pending).sum();
    let pending = match pending {
        0 => String::new(),
        n => format!("; {} of open transactions went with them", counted(n, "commit")),
    };
    let count = counted(it.offsets.len() as u64, "offset");
    format!("{count} REMOVED: {told}{age} ({why}){pending}")
}
