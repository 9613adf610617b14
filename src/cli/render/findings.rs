//! Findings, for people and for programs.
//!
//! Must not know: who found them.

use super::name::{lossless, lossless_path, visible, visible_path};
use super::table::{Looking, Looks, Table};
use super::wrap;
use crate::audit::{Code, Fact, Finding, Severity};
use crate::cli::args::TextFormat;
use crate::cli::render::document;
use crate::escape::one_line;
use crate::model::preflight::Verdict;
use crate::words::counted;
use serde_json::{Map, Value, json};

/// From how many log dirs findings are: from several, the number of a partition does not tell which is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDirs {
    /// One, or none.
    One,
    /// More.
    Several,
}

impl LogDirs {
    /// So many.
    pub fn of(count: usize) -> LogDirs {
        if count > 1 { LogDirs::Several } else { LogDirs::One }
    }
}

/// All of them, in their order.
pub fn findings(findings: &[Finding], format: TextFormat, log_dirs: LogDirs, looks: Looks) -> String {
    match format {
        TextFormat::Table => text(findings, log_dirs, looks),
        TextFormat::Csv => csv(findings),
        TextFormat::Json | TextFormat::Jsonl => document(format, findings.iter().map(finding_json)),
    }
}

/// One, with every field that the contract names.
pub fn finding_json(finding: &Finding) -> Value {
    json!({
        "code": finding.code.name(),
        "severity": finding.severity.name(),
        "partition": finding.partition,
        "path": finding.path.as_deref().map(lossless_path),
        "segment": finding.segment,
        "position": finding.position,
        "offset": finding.offset,
        "group": finding.group.as_deref().map(lossless),
        "message": finding.message,
        "facts": object(&finding.facts),
    })
}

fn object(facts: &[(&'static str, Fact)]) -> Value {
    Value::Object(facts.iter().map(|(name, fact)| ((*name).to_owned(), fact_json(fact))).collect::<Map<_, _>>())
}

fn fact_json(fact: &Fact) -> Value {
    match fact {
        Fact::Int(n) => json!(n),
        Fact::Bool(is) => json!(is),
        Fact::Text(text) => json!(text),
        Fact::Name(name) => json!(lossless(name)),
        Fact::List(facts) => facts.iter().map(fact_json).collect(),
        Fact::Object(facts) => object(facts),
        Fact::Null => Value::Null,
    }
}

fn csv(findings: &[Finding]) -> String {
    let mut table =
        Table::new(&["code", "severity", "partition", "path", "segment", "position", "offset", "group", "message"]);
    for it in findings {
        table.row(vec![
            it.code.name().to_owned(),
            it.severity.name().to_owned(),
            it.partition.map(|n| n.to_string()).unwrap_or_default(),
            it.path.as_deref().map(visible_path).unwrap_or_default(),
            it.segment.as_deref().map(|name| visible(name.as_bytes())).unwrap_or_default(),
            it.position.map(|n| n.to_string()).unwrap_or_default(),
            it.offset.map(|n| n.to_string()).unwrap_or_default(),
            it.group.as_deref().map(visible).unwrap_or_default(),
            one_line(&it.message).into_owned(),
        ]);
    }
    table.csv()
}

/// A block for each, then what to do, once for each code, and how many there are.
fn text(findings: &[Finding], log_dirs: LogDirs, looks: Looks) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    for it in findings {
        let name = it.code.name();
        // Seven columns for the severity, which may carry escapes for colour.
        let place = wrap::behind(&one_line(&place(it, log_dirs)), 7 + 1 + name.len() + 2, 8, looks);
        let message = wrap::behind(&one_line(&it.message), 4, 4, looks);
        out.push_str(&format!("{} {name}  {place}\n    {message}\n", severity(it.severity, looks)));
    }
    let mut codes: Vec<Code> = Vec::new();
    for it in findings.iter().filter(|it| it.severity > Severity::Info && it.code != Code::More) {
        if !codes.contains(&it.code) {
            codes.push(it.code);
        }
    }
    if !codes.is_empty() {
        out.push_str("\nWhat to do:\n");
    }
    for code in codes {
        out.push_str(&format!("{}\n", wrap::line(&format!("    {}: {}", code.name(), code.next_step()), looks)));
    }
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count() as u64;
    let sums = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "info")];
    let sums: Vec<_> = sums.iter().map(|(it, name)| (count(*it), *name)).filter(|(n, _)| *n > 0).collect();
    let sums: Vec<_> = sums.iter().map(|(n, name)| counted(*n, name)).collect();
    out.push_str(&format!("\n{}\n", sums.join(", ")));
    out
}

pub(super) fn severity(severity: Severity, looks: Looks) -> String {
    let name = severity.name();
    let colour = match severity {
        Severity::Error => "31",
        Severity::Warning => "33",
        Severity::Info => "36",
    };
    match looks.color {
        Looking::Bright => format!("\x1b[{colour}m{name:<7}\x1b[0m"),
        Looking::Plain => format!("{name:<7}"),
    }
}

pub(super) fn place(finding: &Finding, log_dirs: LogDirs) -> String {
    let path = finding.path.as_deref().filter(|_| log_dirs == LogDirs::Several).map(visible_path);
    let partition = finding.partition.map(|n| format!("partition {n}"));
    let position = finding.position.map(|n| format!("byte {n}"));
    let offset = finding.offset.map(|n| format!("offset {n}"));
    let group = finding.group.as_deref().map(|name| format!("group {}", visible(name)));
    let segment = finding.segment.as_deref().map(|name| visible(name.as_bytes()));
    let parts = [path, partition, segment, position, offset, group];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What each coordinator would do: a line each, with the partitions that it would not load.
pub fn verdict_lines(partitions: &[Option<i32>], verdicts: &[Vec<Verdict>], looks: Looks) -> String {
    let mut out = String::from("Would a broker load it?\n");
    for (i, coordinator) in verdicts
        .iter()
        .find(|them| !them.is_empty())
        .into_iter()
        .flatten()
        .map(|verdict| verdict.coordinator)
        .enumerate()
    {
        let of_all = || partitions.iter().zip(verdicts).filter_map(|(n, verdicts)| Some((n, verdicts.get(i)?)));
        let fails: Vec<_> = of_all().filter(|(_, verdict)| !verdict.loads()).collect();
        let says = match fails.first() {
            None => "loads".to_owned(),
            Some((_, verdict)) => {
                let numbers: Vec<_> = fails.iter().map(|(n, _)| n.map_or("-".to_owned(), |n| n.to_string())).collect();
                let which = if partitions.len() == 1 { String::new() } else { format!(" of {}", numbers.join(", ")) };
                let text = wrap::behind(&format!("FAILS{which}: {}", verdict.consequence()), 13, 13, looks);
                if looks.color == Looking::Bright { format!("\x1b[31m{text}\x1b[0m") } else { text }
            }
        };
        out.push_str(&format!("    {:<8} {says}\n", coordinator.to_string()));
    }
    out
}
