//! An audit for people: totals, then code by code, the worst first, with the first findings of each and what to do.
//!
//! Must not know: any one code.

use super::findings::{LogDirs, place, severity};
use super::table::{Looking, Looks};
use super::wrap;
use crate::audit::{Code, Fact, Finding, Severity};
use crate::words::counted;
use std::collections::BTreeSet;

/// How many findings of a code are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The first ones, so that all fits on a screen.
    First,
    /// Every one.
    All,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Looked {
    /// Partitions.
    pub partitions: u64,
    /// Groups in them.
    pub groups: u64,
    /// Bytes of their segments.
    pub bytes: u64,
    /// Folders that the partitions lie in: if there are several, each finding says in which it lies.
    pub log_dirs: usize,
}

/// Of a warning or an error, so many are listed; of an info one.
const FIRST: usize = 3;

/// The text. Findings must be in the order in which they are to stand, those of one code and severity together.
pub fn text(findings: &[Finding], looked: Looked, listing: Listing, looks: Looks) -> String {
    let count = |severity| findings.iter().filter(|it| it.severity == severity).map(number).sum::<u64>();
    let sums = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "info")];
    let sums: Vec<_> = sums.iter().map(|(it, name)| (count(*it), *name)).filter(|(n, _)| *n > 0).collect();
    let sums: Vec<_> = sums.iter().map(|(n, name)| counted(*n, name)).collect();
    let said = if sums.is_empty() { "nothing to report".to_owned() } else { sums.join(", ") };
    let totals = format!(
        "{} in {}, {} bytes: {said}",
        counted(looked.groups, "group"),
        counted(looked.partitions, "partition"),
        looked.bytes
    );
    let mut out = format!("{}\n", wrap::line(&totals, looks));
    for run in findings.chunk_by(|a, b| kind(a) == kind(b)) {
        block(run, looked, listing, looks, &mut out);
    }
    if !findings.is_empty() {
        let more = match listing {
            Listing::All => "'grouplog explain CODE' tells more.",
            Listing::First => "'grouplog explain CODE' tells more; -v or --format jsonl lists every finding.",
        };
        out.push_str(&format!("\n{}\n", wrap::line(more, looks)));
    }
    out
}

/// The code that a finding counts for, and its severity.
fn kind(finding: &Finding) -> (&str, Severity) {
    let of = finding.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Text(of) if *name == "of" && finding.code == Code::More => Some(of.as_str()),
        _ => None,
    });
    (of.unwrap_or(finding.code.name()), finding.severity)
}

/// How many findings it stands for.
fn number(finding: &Finding) -> u64 {
    let more = finding.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Int(n) if *name == "count" && finding.code == Code::More => u64::try_from(*n).ok(),
        _ => None,
    });
    more.unwrap_or(1)
}

fn block(run: &[Finding], looked: Looked, listing: Listing, looks: Looks, out: &mut String) {
    let Some(first) = run.first() else { return };
    let (name, how_bad) = kind(first);
    let all: u64 = run.iter().map(number).sum();
    let shown = match (listing, how_bad) {
        (Listing::All, _) => run.len(),
        (Listing::First, Severity::Info) => 1,
        (Listing::First, _) => FIRST,
    };
    let title = match looks.color {
        Looking::Bright => format!("\x1b[1m{name}\x1b[0m"),
        Looking::Plain => name.to_owned(),
    };
    let times = if all > 1 { format!(" ({all})") } else { String::new() };
    out.push_str(&format!("\n{} {title}{times}\n", severity(how_bad, looks)));
    for finding in run.iter().take(shown) {
        let place = place(finding, LogDirs::of(looked.log_dirs));
        let place = if place.is_empty() { place } else { format!("{place}: ") };
        out.push_str(&format!("{}\n", wrap::line(&format!("    {place}{}", finding.message), looks)));
        if let Some(command) = command(finding).filter(|_| listing == Listing::All) {
            out.push_str(&format!("        $ {command}\n"));
        }
    }
    let listed: u64 = run.iter().take(shown).map(number).sum();
    if all > listed {
        out.push_str(&format!("    and {} more\n", all - listed));
    }
    let commands: BTreeSet<_> = run.iter().filter_map(command).collect();
    let done = run.iter().find_map(command).filter(|_| how_bad > Severity::Info);
    match done {
        Some(command) if listing == Listing::First => {
            out.push_str(&format!("    $ {command}\n"));
            if commands.len() > 1 {
                out.push_str(&format!("    and {} more: -v\n", counted(commands.len() as u64 - 1, "command")));
            }
        }
        None if how_bad > Severity::Info => {
            let code = Code::of_name(name).unwrap_or(first.code);
            out.push_str(&format!("    -> {}\n", wrap::behind(code.next_step(), 7, 7, looks)));
        }
        _ => {}
    }
}

fn command(finding: &Finding) -> Option<&str> {
    finding.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Text(command) if *name == "command" => Some(command.as_str()),
        _ => None,
    })
}
