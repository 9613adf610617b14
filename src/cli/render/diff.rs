//! `diff` in its formats: a summary a partition, and its differences.
//!
//! Must not know: how partitions are compared.

use super::diff_lines::{Line, Severity, letter, lines};
use super::document;
use super::group_json::text;
use super::name::visible;
use super::table::{Looks, Table};
use crate::cli::args::TextFormat;
use crate::model::compare::StateComparison;
use crate::model::compare_logs::LogComparison;
use crate::model::digest::Digests;
use crate::model::side::{Pair, Side};
use serde_json::{Map, Value, json};

/// What was compared, as the user named it.
#[derive(Debug, Clone)]
pub struct Names {
    /// The first.
    pub a: String,
    /// The second.
    pub b: String,
}

/// A partition that only one copy has.
#[derive(Debug)]
pub struct Alone {
    /// That one.
    pub side: Side,
    /// How many records it has there.
    pub records: u64,
    /// Digests of what they mean.
    pub digests: Digests,
}

/// A partition, compared.
#[derive(Debug)]
pub struct Compared {
    /// Which, if that is known.
    pub number: Option<i32>,
    /// The copy that alone has it, and how many records that holds.
    pub only_in: Option<Alone>,
    /// The logs; none if only one has it, or they are one log.
    pub log: Option<LogComparison>,
    /// The states; none if only one has it.
    pub state: Option<StateComparison>,
    /// High watermarks, where the log dir names them.
    pub watermarks: Pair<Option<i64>>,
    /// Whether damage may have cost something.
    pub uncertain: Pair<bool>,
}

impl Compared {
    /// Whether the states differ.
    pub fn state_differs(&self) -> bool {
        let only = self.only_in.as_ref().is_some_and(|alone| alone.records > 0);
        only || self.state.as_ref().is_some_and(StateComparison::differs)
    }

    /// Whether there is anything to report but infos.
    pub fn differs(&self) -> bool {
        self.state_differs() || lines(self).iter().any(|line| line.severity == Severity::Warning)
    }

    fn is_empty(&self) -> bool {
        let groups = self.state.as_ref().map_or(0, |state| state.same + state.groups.len());
        let records = self.log.as_ref().map_or(0, |log| log.sums.a.records + log.sums.b.records);
        self.only_in.is_none() && groups == 0 && records == 0
    }

    /// In a word, how the logs stand to each other.
    fn log_status(&self) -> &'static str {
        let Some(log) = &self.log else { return "-" };
        let only_in = |get: fn(&crate::model::compare_logs::OnlyIn) -> u64| get(&log.only_in.a) + get(&log.only_in.b);
        let framing = log.sums.each_ref().map(|sum| (sum.batches, sum.bytes, &sum.framing));
        if log.divergence.is_some() {
            "diverged"
        } else if only_in(|it| it.missing) > 0 {
            "missing"
        } else if log.tail.is_some() {
            "behind"
        } else if only_in(|it| it.compacted + it.before_start + it.unreadable) > 0 {
            "compacted"
        } else if !framing.is_alike() || log.other_times > 0 {
            "reframed"
        } else {
            "same"
        }
    }
}

/// The whole comparison.
pub fn comparison(compared: &[Compared], names: &Names, format: TextFormat, looks: Looks) -> String {
    match format {
        TextFormat::Table => tables(compared, names, looks),
        TextFormat::Json => format!("{:#}\n", whole_json(compared, names)),
        TextFormat::Jsonl => {
            let all = compared.iter().flat_map(|it| lines(it).into_iter().map(|line| line_json(it, &line)));
            document(format, all)
        }
        TextFormat::Csv => csv(compared),
    }
}

pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn tables(compared: &[Compared], names: &Names, looks: Looks) -> String {
    let mut out = format!("A  {}\nB  {}\n\n", names.a, names.b);
    let shown: Vec<_> = compared.iter().filter(|it| !it.is_empty()).collect();
    out.push_str(&overview(&shown).text(looks));
    for it in &shown {
        let all = lines(it);
        if !all.is_empty() {
            out.push_str(&format!("\npartition {}\n", or_dash(it.number)));
            out.push_str(&of_log(&all));
            out.push_str(&of_groups(&all, looks));
        }
    }
    out.push('\n');
    out.push_str(&verdict(&shown));
    out
}

fn overview(compared: &[&Compared]) -> Table {
    let mut table = Table::new(&[
        "PARTITION",
        "STATE",
        "LOG",
        "GROUPS",
        "DIFFER",
        "A END",
        "B END",
        "A HW",
        "B HW",
        "A EPOCH",
        "B EPOCH",
        "AHEAD",
        "SAFER",
    ]);
    for it in compared {
        let end = |side: Side| it.log.as_ref().map(|log| log.sums.of(side).end);
        let epoch = |side: Side| it.log.as_ref().and_then(|log| log.sums.of(side).last_epoch);
        let side = |side: Option<Side>| side.map_or("-", letter).to_owned();
        table.row(vec![
            or_dash(it.number),
            if it.state_differs() { "differs" } else { "same" }.to_owned(),
            it.log_status().to_owned(),
            it.state.as_ref().map_or("-".to_owned(), |state| (state.same + state.groups.len()).to_string()),
            it.state.as_ref().map_or("-".to_owned(), |state| state.groups.len().to_string()),
            or_dash(end(Side::A)),
            or_dash(end(Side::B)),
            or_dash(it.watermarks.a),
            or_dash(it.watermarks.b),
            or_dash(epoch(Side::A)),
            or_dash(epoch(Side::B)),
            side(it.log.as_ref().and_then(LogComparison::ahead)),
            side(it.log.as_ref().and_then(LogComparison::safer)),
        ]);
    }
    table
}

fn of_log(all: &[Line]) -> String {
    let of_log = all.iter().filter(|line| line.is_of_log());
    of_log.map(|line| format!("  {}: {}\n", line.kind, line.message)).collect()
}

fn of_groups(all: &[Line], looks: Looks) -> String {
    let mut table = Table::new(&["DIFFERENCE", "GROUP", "TOPIC", "PARTITION", "FIELD", "A", "B", "AHEAD"]);
    for line in all.iter().filter(|line| !line.is_of_log()) {
        let member = line.member.as_ref().map(|member| format!("member {}", visible(member)));
        let field = [member, line.field.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let cell = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        table.row(vec![
            line.kind.to_owned(),
            visible(line.group.as_deref().unwrap_or_default()),
            line.topic.as_ref().map_or("-".to_owned(), |(topic, _)| visible(topic)),
            or_dash(line.topic.as_ref().map(|(_, partition)| *partition)),
            cell(&field),
            cell(&short(&line.shown.a)),
            cell(&short(&line.shown.b)),
            line.ahead.map_or("-", letter).to_owned(),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    // What became of what only one has takes a sentence.
    let fates: String = all
        .iter()
        .filter(|line| !line.is_of_log() && line.facts.contains_key("fate"))
        .map(|line| format!("  {}\n", line.message))
        .collect();
    let gap = if fates.is_empty() { "" } else { "\n" };
    format!("\n{}{gap}{fates}", table.text(looks))
}

/// What clients put into a group can be long: a table shows its beginning, the other formats all of it.
fn short(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn verdict(compared: &[&Compared]) -> String {
    let (all, differ) = (compared.len(), compared.iter().filter(|it| it.state_differs()).count());
    let groups: usize = compared.iter().filter_map(|it| it.state.as_ref()).map(|state| state.same).sum();
    let logs = compared.iter().filter(|it| it.differs() && !it.state_differs()).count();
    let partitions = if all == 1 { "1 partition".to_owned() } else { format!("{all} partitions") };
    match (differ, logs) {
        (0, 0) => format!("same state: {partitions}, {groups} groups\n"),
        (0, logs) => format!("same state: {partitions}, {groups} groups; but the logs of {logs} differ\n"),
        (differ, _) => format!("state differs in {differ} of {partitions}\n"),
    }
}

fn whole_json(compared: &[Compared], names: &Names) -> Value {
    let partitions: Vec<_> = compared
        .iter()
        .map(|it| {
            let lines: Vec<_> = lines(it).iter().map(|line| line_json(it, line)).collect();
            json!({
                "partition": it.number,
                "sameState": !it.state_differs(),
                "differs": it.differs(),
                "log": it.log.as_ref().map(|log| log_json(it, log)),
                "digests": it.state.as_ref().map(|state| {
                    json!({ "a": state.digests.a.whole.to_string(), "b": state.digests.b.whole.to_string() })
                }),
                "sameGroups": it.state.as_ref().map(|state| state.same),
                "differingGroups": it.state.as_ref().map(|state| state.groups.len()),
                "differences": lines,
            })
        })
        .collect();
    json!({
        "a": names.a,
        "b": names.b,
        "sameState": !compared.iter().any(Compared::state_differs),
        "differs": compared.iter().any(Compared::differs),
        "partitions": partitions,
    })
}

fn log_json(compared: &Compared, log: &LogComparison) -> Value {
    let side = |side: Side| {
        let (sum, only_in) = (log.sums.of(side), log.only_in.of(side));
        let framing = sum.framing.iter();
        json!({
            "startOffset": sum.start,
            "endOffset": sum.end,
            "highWatermark": compared.watermarks.of(side),
            "lastLeaderEpoch": sum.last_epoch,
            "batches": sum.batches,
            "records": sum.records,
            "bytes": sum.bytes,
            "framing": framing
                .map(|((magic, codec), n)| json!({ "magic": magic, "codec": codec, "batches": n }))
                .collect::<Value>(),
            "onlyHere": {
                "compacted": only_in.compacted,
                "beforeStart": only_in.before_start,
                "unreadable": only_in.unreadable,
                "missing": only_in.missing,
            },
        })
    };
    json!({
        "status": compared.log_status(),
        "common": log.common,
        "ahead": log.ahead().map(Side::name),
        "safer": log.safer().map(Side::name),
        "a": side(Side::A),
        "b": side(Side::B),
    })
}

/// One difference; fields that do not apply are left out, but for those that all have.
fn line_json(compared: &Compared, line: &Line) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("difference", json!(line.kind));
    put("severity", json!(line.severity.name()));
    put("partition", json!(compared.number));
    put("group", line.group.as_deref().map_or(Value::Null, text));
    if let Some((topic, partition)) = &line.topic {
        put("topic", text(topic));
        put("topicPartition", json!(partition));
    }
    if let Some(member) = &line.member {
        put("memberId", text(member));
    }
    if let Some(field) = line.field {
        put("field", json!(field));
    }
    put("a", line.values.a.clone());
    put("b", line.values.b.clone());
    put("ahead", json!(line.ahead.map(Side::name)));
    line.facts.iter().for_each(|(name, value)| {
        put(name, value.clone());
    });
    put("message", json!(line.message));
    Value::Object(object)
}

fn csv(compared: &[Compared]) -> String {
    let mut table = Table::new(&[
        "DIFFERENCE",
        "SEVERITY",
        "PARTITION",
        "GROUP",
        "TOPIC",
        "TOPIC-PARTITION",
        "MEMBER",
        "FIELD",
        "A",
        "B",
        "AHEAD",
        "MESSAGE",
    ]);
    for it in compared {
        for line in lines(it) {
            let name = |name: &Option<Vec<u8>>| name.as_ref().map_or(String::new(), |name| visible(name));
            table.row(vec![
                line.kind.to_owned(),
                line.severity.name().to_owned(),
                it.number.map_or(String::new(), |n| n.to_string()),
                name(&line.group),
                name(&line.topic.as_ref().map(|(topic, _)| topic.clone())),
                line.topic.as_ref().map_or(String::new(), |(_, partition)| partition.to_string()),
                name(&line.member),
                line.field.unwrap_or_default().to_owned(),
                line.shown.a.clone(),
                line.shown.b.clone(),
                line.ahead.map_or("", Side::name).to_owned(),
                line.message.clone(),
            ]);
        }
    }
    table.csv()
}
