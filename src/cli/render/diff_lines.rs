//! What `diff` has to say about a partition, one line a difference: its stable kind, whom it concerns, what stands in
//! both copies, and a sentence.
//!
//! Must not know: in which format the lines are shown.

use super::diff::Compared;
use super::diff_log_lines::of_log;
use super::group_json::{assignment, text, uuid};
use super::name::visible;
use crate::cli::time::rfc3339;
use crate::model::compare::{Difference, FieldValue, GroupDifferences, differing_parts};
use crate::model::fate::Fate;
use crate::model::side::{Pair, Side};
use crate::model::view::{Commit, Pending};
use serde_json::{Map, Value, json};

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The state or the logs differ: exit status 3.
    Warning,
    /// Good to know; no difference.
    Info,
}

impl Severity {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// One thing that differs.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its stable kind.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The group.
    pub group: Option<Vec<u8>>,
    /// The topic and partition of a committed offset.
    pub topic: Option<(Vec<u8>, i32)>,
    /// The member.
    pub member: Option<Vec<u8>>,
    /// The field of the group or member.
    pub field: Option<&'static str>,
    /// What stands in each copy.
    pub values: Pair<Value>,
    /// The same on one line.
    pub shown: Pair<String>,
    /// The copy that is ahead.
    pub ahead: Option<Side>,
    /// More facts.
    pub facts: Map<String, Value>,
    /// A sentence.
    pub message: String,
}

/// `A` or `B`.
pub fn letter(side: Side) -> &'static str {
    match side {
        Side::A => "A",
        Side::B => "B",
    }
}

impl Line {
    pub(super) fn new(kind: &'static str, severity: Severity, message: String) -> Line {
        Line {
            kind,
            severity,
            group: None,
            topic: None,
            member: None,
            field: None,
            values: Pair { a: Value::Null, b: Value::Null },
            shown: Pair::default(),
            ahead: None,
            facts: Map::new(),
            message,
        }
    }

    pub(super) fn warning(kind: &'static str, message: String) -> Line {
        Line::new(kind, Severity::Warning, message)
    }

    pub(super) fn info(kind: &'static str, message: String) -> Line {
        Line::new(kind, Severity::Info, message)
    }

    pub(super) fn fact(mut self, name: &str, value: Value) -> Line {
        self.facts.insert(name.to_owned(), value);
        self
    }

    pub(super) fn values(mut self, values: Pair<Value>) -> Line {
        self.values = values;
        self
    }

    pub(super) fn shown(mut self, shown: Pair<String>) -> Line {
        self.shown = shown;
        self
    }

    /// Whether it is about the log rather than the state.
    pub fn is_of_log(&self) -> bool {
        self.group.is_none()
    }
}

/// All lines of a partition: of its log, then of its groups by id.
pub fn lines(compared: &Compared) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(alone) = &compared.only_in {
        let (side, records) = (alone.side, alone.records);
        let message = format!("only {} has this partition ({records} records)", letter(side));
        let line = Line::new("partition-only", severity(records > 0), message);
        lines.push(line.fact("side", json!(side.name())).fact("records", json!(records)));
    }
    if let Some(log) = &compared.log {
        of_log(log, &compared.watermarks, &mut lines);
    }
    for side in [Side::A, Side::B].into_iter().filter(|side| *compared.uncertain.of(*side)) {
        let message = format!("{} is damaged: what was not replayed is said on stderr", letter(side));
        lines.push(Line::warning("uncertain", message).fact("side", json!(side.name())));
    }
    for group in compared.state.iter().flat_map(|state| &state.groups) {
        of_group(group, &mut lines);
    }
    lines
}

pub(super) fn severity(matters: bool) -> Severity {
    if matters { Severity::Warning } else { Severity::Info }
}

fn of_group(group: &GroupDifferences, lines: &mut Vec<Line>) {
    for difference in &group.differences {
        lines.push(Line { group: Some(group.group.clone()), ..of_difference(&group.group, difference) });
    }
}

fn of_difference(group: &[u8], difference: &Difference) -> Line {
    match difference {
        Difference::GroupOnly { side, kind, state, members, offsets, last_commit, fate } => {
            let what = format!("{} {}, {members} members, {offsets} offsets", kind.name(), state.name());
            let value = json!({
                "type": kind.name(), "state": state.name(), "members": members, "offsets": offsets,
                "lastCommitTimestamp": last_commit,
            });
            one_has("group-only", *side, value, what, fate, &format!("group {}", visible(group)))
        }
        Difference::Field { member, field, values } => {
            let kind = if member.is_some() { "member-field" } else { "group-field" };
            let whose = match member {
                Some(member) => format!("member {} of group {}", visible(member), visible(group)),
                None => format!("group {}", visible(group)),
            };
            let shown = values.each_ref().map(field_text);
            let message = format!("{whose}: {field} is {} in A, {} in B", shown.a, shown.b);
            let ahead = match (&values.a, &values.b) {
                (FieldValue::Number(a), FieldValue::Number(b)) if field.ends_with("poch") || *field == "generation" => {
                    Pair { a: *a, b: *b }.greater(|n| *n)
                }
                (FieldValue::Time(a), FieldValue::Time(b)) => Pair { a: *a, b: *b }.greater(|n| *n),
                _ => None,
            };
            let line = Line::warning(kind, message).values(values.each_ref().map(field_json)).shown(shown);
            Line { member: member.clone(), field: Some(*field), ahead, ..line }
        }
        Difference::MemberOnly { side, member } => {
            let message = format!("only {} has member {} of group {}", letter(*side), visible(member), visible(group));
            let line = Line::warning("member-only", message).fact("side", json!(side.name()));
            Line { member: Some(member.clone()), ..line.shown(on(*side, visible(member))) }
        }
        Difference::OffsetOnly { side, topic, partition, commit, fate } => {
            let whose = format!("the offset of group {}, {}-{partition}", visible(group), visible(topic));
            let line = one_has("offset-only", *side, commit_json(commit), commit_text(commit, &[]), fate, &whose);
            Line { topic: Some((topic.clone(), *partition)), ..line }
        }
        Difference::Offset { topic, partition, commits } => offset(group, topic, *partition, commits),
        Difference::Pending { topic, partition, pending } => {
            let shown = pending.each_ref().map(|pending| pending_text(pending));
            let message = format!(
                "pending commits of group {}, {}-{partition}: {} in A, {} in B",
                visible(group),
                visible(topic),
                shown.a,
                shown.b
            );
            let values = pending.each_ref().map(|pending| pending.iter().map(pending_json).collect());
            let line = Line::warning("pending-differs", message).values(values).shown(shown);
            Line { topic: Some((topic.clone(), *partition)), ..line }
        }
        Difference::Record { record_type, held, .. } => {
            let shown = held.map(|held| if held { "a record" } else { "-" }.to_owned());
            let message = format!("group {}: {} differs", visible(group), record_type.name());
            let line = Line::warning("record-differs", message).values(held.map(|held| json!(held))).shown(shown);
            Line { field: Some(record_type.name()), ..line }
        }
    }
}

fn offset(group: &[u8], topic: &[u8], partition: i32, commits: &Pair<Commit>) -> Line {
    let parts = differing_parts(&commits.a, &commits.b);
    let ahead = commits.greater(|commit| commit.offset);
    let newer = commits.greater(|commit| (commit.log_offset, commit.commit_timestamp));
    let difference = commits.a.offset.abs_diff(commits.b.offset);
    let verdict = match ahead {
        Some(side) => format!("{} is ahead by {difference}", letter(side)),
        None => format!("{} differ", parts.join(", ")),
    };
    let shown = commits.each_ref().map(|commit| commit_text(commit, &parts));
    let message = format!(
        "group {}, {}-{partition}: {} in A, {} in B; {verdict}",
        visible(group),
        visible(topic),
        shown.a,
        shown.b
    );
    let line = Line::warning("offset-differs", message)
        .fact("fields", json!(parts))
        .fact("newer", json!(newer.map(Side::name)))
        .values(commits.each_ref().map(commit_json))
        .shown(shown);
    Line { topic: Some((topic.to_vec(), partition)), ahead, ..line }
}

fn on<T: Default>(side: Side, value: T) -> Pair<T> {
    let mut pair = Pair::default();
    *pair.of_mut(side) = value;
    pair
}

fn one_has(kind: &'static str, side: Side, value: Value, what: String, fate: &Fate, whose: &str) -> Line {
    let message = format!("only {} has {whose} ({what}): {}", letter(side), fate_text(side, fate));
    let line = Line::warning(kind, message)
        .fact("side", json!(side.name()))
        .fact("fate", json!(fate.name()))
        .fact("mayResurrect", json!(fate.may_resurrect()))
        .values(on(side, value))
        .shown(on(side, what));
    match fate {
        Fate::Deleted(tombstone) => line.fact(
            "tombstone",
            json!({
                "offset": tombstone.offset,
                "timestamp": tombstone.timestamp,
                "deleteHorizonMs": tombstone.delete_horizon_ms,
            }),
        ),
        _ => line,
    }
}

/// What became of it, for who thinks of putting the copy back that has it.
fn fate_text(has: Side, fate: &Fate) -> String {
    let (here, there) = (letter(has), letter(has.other()));
    match fate {
        Fate::NotReached => format!("{there} ends before it"),
        Fate::BeforeStart => format!("{there} begins behind it"),
        Fate::OtherHistory => format!("written after the logs parted, {there} never had it"),
        Fate::Deleted(tombstone) => {
            let horizon = match tombstone.delete_horizon_ms {
                Some(at) => format!(", a cleaner may drop it from {} on", rfc3339(at)),
                None => String::new(),
            };
            format!(
                "deleted in {there} by the tombstone at offset {}{horizon}; it would come back if {here} took over \
                 without that tombstone",
                tombstone.offset
            )
        }
        Fate::Gone => format!(
            "{there} goes further and has neither record nor tombstone: deleted there and its tombstone cleaned away \
             (then it would come back if {here} took over), or lost there"
        ),
    }
}

fn commit_json(commit: &Commit) -> Value {
    json!({
        "offset": commit.offset,
        "leaderEpoch": commit.leader_epoch,
        "metadata": text(&commit.metadata),
        "commitTimestamp": commit.commit_timestamp,
        "expireTimestamp": commit.expire_timestamp,
        "topicId": commit.topic_id.map(uuid),
        "logOffset": commit.log_offset,
    })
}

/// Offset, time and log offset, and what else differs.
fn commit_text(commit: &Commit, parts: &[&str]) -> String {
    let mut shown = format!("{} at {} log {}", commit.offset, rfc3339(commit.commit_timestamp), commit.log_offset);
    for part in parts {
        let more = match *part {
            "leaderEpoch" => format!("epoch {}", commit.leader_epoch),
            "metadata" => format!("metadata {}", visible(&commit.metadata)),
            "expireTimestamp" => format!("expires {}", commit.expire_timestamp.map_or("-".to_owned(), rfc3339)),
            "topicId" => format!("topic id {}", commit.topic_id.map_or("-".to_owned(), uuid)),
            _ => continue,
        };
        shown.push_str(", ");
        shown.push_str(&more);
    }
    shown
}

fn pending_json(pending: &Pending) -> Value {
    let mut value = json!({ "producerId": pending.producer_id, "producerEpoch": pending.producer_epoch });
    if let (Value::Object(object), Value::Object(commit)) = (&mut value, commit_json(&pending.commit)) {
        object.extend(commit);
    }
    value
}

fn pending_text(pending: &[Pending]) -> String {
    let each = pending.iter().map(|it| {
        let commit = &it.commit;
        format!(
            "{} (producer {} epoch {}, log {})",
            commit.offset, it.producer_id, it.producer_epoch, commit.log_offset
        )
    });
    let all: Vec<_> = each.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn field_json(value: &FieldValue) -> Value {
    match value {
        FieldValue::None => Value::Null,
        FieldValue::Number(n) | FieldValue::Time(n) => json!(n),
        FieldValue::Word(word) => json!(word),
        FieldValue::Name(name) => text(name),
        FieldValue::Names(names) => names.iter().map(|name| text(name)).collect(),
        FieldValue::Assignment(it) => assignment(it),
        FieldValue::Payload(json) => serde_json::from_str(json).unwrap_or_else(|_| json!(json)),
    }
}

fn field_text(value: &FieldValue) -> String {
    match value {
        FieldValue::None => "-".to_owned(),
        FieldValue::Number(n) => n.to_string(),
        FieldValue::Time(at) => rfc3339(*at),
        FieldValue::Word(word) => word.clone(),
        FieldValue::Name(name) => visible(name),
        FieldValue::Names(names) => {
            let shown: Vec<_> = names.iter().map(|name| visible(name)).collect();
            shown.join(", ")
        }
        FieldValue::Assignment(it) => super::group_table::assignment(it),
        FieldValue::Payload(json) => json.clone(),
    }
}
