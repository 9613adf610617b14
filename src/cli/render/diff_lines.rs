//! What `diff` has to say about a partition, one line a difference: its stable kind, whom it concerns, what stands in
//! both copies, and a sentence.
//!
//! Must not know: in which format the lines are shown.

use super::diff::Compared;
use super::group_json::{assignment, text, uuid};
use super::name::visible;
use crate::cli::time::rfc3339;
use crate::model::compare::{Difference, FieldValue, GroupDifferences, differing_parts};
use crate::model::compare_logs::{BatchSite, Divergence, LogComparison, LogSum};
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
    fn new(kind: &'static str, severity: Severity, message: String) -> Line {
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

    fn warning(kind: &'static str, message: String) -> Line {
        Line::new(kind, Severity::Warning, message)
    }

    fn info(kind: &'static str, message: String) -> Line {
        Line::new(kind, Severity::Info, message)
    }

    fn fact(mut self, name: &str, value: Value) -> Line {
        self.facts.insert(name.to_owned(), value);
        self
    }

    fn values(mut self, values: Pair<Value>) -> Line {
        self.values = values;
        self
    }

    fn shown(mut self, shown: Pair<String>) -> Line {
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

fn severity(matters: bool) -> Severity {
    if matters { Severity::Warning } else { Severity::Info }
}

fn of_log(log: &LogComparison, watermarks: &Pair<Option<i64>>, lines: &mut Vec<Line>) {
    if let Some(divergence) = &log.divergence {
        lines.push(diverged(log, divergence));
    }
    if let Some(tail) = &log.tail {
        let (short, long) = (letter(tail.lacking), letter(tail.lacking.other()));
        let message = format!(
            "{short} lacks offsets from {} on: {long} has {} more records, up to offset {}",
            tail.from,
            tail.records,
            tail.until - 1
        );
        let line = Line::warning("log-behind", message)
            .fact("side", json!(tail.lacking.name()))
            .fact("firstMissingOffset", json!(tail.from))
            .fact("lastOffset", json!(tail.until - 1))
            .fact("records", json!(tail.records));
        lines.push(Line { ahead: Some(tail.lacking.other()), ..line });
    }
    for side in [Side::A, Side::B] {
        one_sided(log, side, lines);
        if let Some(watermark) = watermarks.of(side).filter(|watermark| *watermark < log.sums.of(side).end) {
            let end = log.sums.of(side).end;
            let message = format!(
                "{} holds offsets {watermark} to {} above its high watermark: not known to be committed",
                letter(side),
                end - 1
            );
            let line = Line::info("above-high-watermark", message);
            lines.push(line.fact("side", json!(side.name())).fact("highWatermark", json!(watermark)));
        }
    }
    alike_but(log, lines);
}

fn site_json(site: &BatchSite) -> Value {
    json!({
        "segment": site.segment,
        "position": site.position,
        "baseOffset": site.base_offset,
        "partitionLeaderEpoch": site.leader_epoch,
        "crc": site.crc,
    })
}

fn diverged(log: &LogComparison, divergence: &Divergence) -> Line {
    let site = |site: &BatchSite| {
        let epoch = site.leader_epoch.map_or("none".to_owned(), |epoch| epoch.to_string());
        format!("leader epoch {epoch}, CRC {}, {} at byte {}", site.crc, site.segment, site.position)
    };
    let epochs = log.sums.each_ref().map(|sum| sum.last_epoch);
    let verdict = match log.safer() {
        Some(side) if !epochs.is_alike() => format!(
            "{} is the safer copy by leader epoch: a broker would keep it, and cut {} back to here",
            letter(side),
            letter(side.other())
        ),
        _ => "both end in the same leader epoch, so neither is safer by that".to_owned(),
    };
    let parts: Vec<_> = divergence.parts.iter().map(|part| part.name()).collect();
    let message = format!(
        "the logs diverge at offset {} ({} differ; {} offsets that both have differ). A: {}. B: {}. {verdict}",
        divergence.offset,
        parts.join(", "),
        divergence.count,
        site(&divergence.at.a),
        site(&divergence.at.b)
    );
    Line::warning("log-diverged", message)
        .fact("offset", json!(divergence.offset))
        .fact("parts", json!(parts))
        .fact("differing", json!(divergence.count))
        .fact("safer", json!(log.safer().filter(|_| !epochs.is_alike()).map(Side::name)))
        .values(divergence.at.each_ref().map(site_json))
}

fn one_sided(log: &LogComparison, side: Side, lines: &mut Vec<Line>) {
    let (here, there) = (letter(side), letter(side.other()));
    let only_in = log.only_in.of(side);
    let mut push = |kind, matters, count: u64, message: String| {
        if count > 0 {
            let line = Line::new(kind, severity(matters), message);
            lines.push(line.fact("side", json!(side.other().name())).fact("records", json!(count)));
        }
    };
    let n = only_in.compacted;
    push("compacted", false, n, format!("{there} lacks {n} records of {here} that compaction takes away"));
    let (n, start) = (only_in.before_start, log.sums.of(side.other()).start);
    push("log-start", false, n, format!("{there} begins at offset {start}: {n} records of {here} lie before it"));
    let n = only_in.unreadable;
    push("record-unreadable", true, n, format!("{n} records of {here} stand where {there} cannot be read"));
    if only_in.missing > 0 {
        let offsets: Vec<_> = only_in.missing_offsets.iter().map(i64::to_string).collect();
        let more = if only_in.missing > offsets.len() as u64 { ", ..." } else { "" };
        let message = format!(
            "{there} lacks {} records of {here} that compaction does not explain (or the later record of their key is \
             cleaned away too), at offsets {}{more}",
            only_in.missing,
            offsets.join(", ")
        );
        let line = Line::warning("record-missing", message)
            .fact("side", json!(side.other().name()))
            .fact("records", json!(only_in.missing))
            .fact("offsets", json!(only_in.missing_offsets));
        lines.push(line);
    }
}

/// What differs in how the logs are written, and means nothing.
fn alike_but(log: &LogComparison, lines: &mut Vec<Line>) {
    let framing = log.sums.each_ref().map(framing);
    let only = |side: Side| {
        let only_in = log.only_in.of(side);
        only_in.compacted + only_in.before_start + only_in.unreadable + only_in.missing
    };
    let whole = only(Side::A) + only(Side::B) == 0 && log.tail.is_none();
    if whole && framing.a != framing.b {
        let message = format!("the same records in other batches: A {}; B {}", framing.a, framing.b);
        lines.push(Line::info("framing", message).values(log.sums.each_ref().map(|sum| json!(self::framing(sum)))));
    }
    if log.other_times > 0 {
        let message = format!("{} records differ in their time, which means nothing to a group", log.other_times);
        lines.push(Line::info("record-times", message).fact("records", json!(log.other_times)));
    }
    let repeated = log.sums.each_ref().map(|sum| sum.repeated);
    if repeated.a + repeated.b > 0 {
        let message = format!(
            "offsets stand twice or out of order, and were passed over here: {} records in A, {} in B",
            repeated.a, repeated.b
        );
        let line = Line::new("repeated-offsets", severity(!repeated.is_alike()), message);
        lines.push(line.values(repeated.map(|n| json!(n))));
    }
}

/// `12 batches of magic 2 zstd`.
fn framing(sum: &LogSum) -> String {
    let kinds: Vec<_> =
        sum.framing.iter().map(|((magic, codec), n)| format!("{n} batches of magic {magic}, codec {codec}")).collect();
    kinds.join(" and ")
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
