//! Verdicts of coordinators as findings: what each refuses, what becomes of the partition then, and what it passes over.
//!
//! Must not know: how a verdict comes about.

use crate::audit::{Code, Fact, Finding, List};
use crate::model::preflight::{At, Coordinator, Refusal, Verdict};
use crate::words::counted;

/// The findings of one partition's verdicts.
pub fn of_verdicts(partition: Option<i32>, verdicts: &[Verdict]) -> Vec<Finding> {
    let mut list = List::of(partition);
    list.extend(verdicts.iter().filter(|verdict| !verdict.loads()).map(unloadable));
    list.extend(refusals(verdicts));
    list.extend(skipped(verdicts));
    list.finish()
}

fn unloadable(verdict: &Verdict) -> Finding {
    let (broker, refused, consequence) = (verdict.coordinator, verdict.refused, verdict.consequence());
    let why = match &verdict.ends_at {
        Some(segment) => format!("the size of {segment}"),
        None => counted(refused, "record"),
    };
    let mut message = format!("{broker} does not load this partition, because of {why}: {consequence}");
    let unchecked = verdict.unchecked;
    if unchecked.wrong_crc > 0 {
        message.push_str(&format!(
            " ({} with a wrong CRC: judged as it reads, but a broker that did not stop in order cuts the log there)",
            counted(unchecked.wrong_crc, "batch")
        ));
    }
    let first = verdict.refusals.first().map(|first| first.at.offset);
    let finding = Finding::new(Code::Unloadable, message).fact("broker", broker.to_string()).fact("refused", refused);
    finding.fact("firstOffset", first).fact("consequence", consequence.code())
}

/// One finding a record and reason, whoever refuses it.
fn refusals(verdicts: &[Verdict]) -> Vec<Finding> {
    let mut all: Vec<(&Refusal, Vec<Coordinator>)> = Vec::new();
    for verdict in verdicts {
        for refusal in &verdict.refusals {
            let known = all.iter_mut().find(|(known, _)| {
                known.at == refusal.at && known.reason == refusal.reason && known.member == refusal.member
            });
            match known {
                Some((_, brokers)) => brokers.push(verdict.coordinator),
                None => all.push((refusal, vec![verdict.coordinator])),
            }
        }
    }
    // The sort keeps the order of the log within a segment, and segments are named by their offsets.
    all.sort_by(|(a, _), (b, _)| {
        (&a.at.segment, a.at.position, a.at.offset).cmp(&(&b.at.segment, b.at.position, b.at.offset))
    });
    all.into_iter().map(|(refusal, brokers)| of_refusal(refusal, &brokers)).collect()
}

fn of_refusal(refusal: &Refusal, brokers: &[Coordinator]) -> Finding {
    let names: Vec<_> = brokers.iter().map(Coordinator::to_string).collect();
    let message = format!("refused by {}: {}", names.join(", "), refusal.reason);
    let mut finding = at(Finding::new(Code::BrokerRefuses, message), &refusal.at);
    finding.group = refusal.group.clone();
    let finding = finding.fact("brokers", Fact::List(names.into_iter().map(Fact::Text).collect()));
    let finding = finding.fact("reason", refusal.reason.code()).fact("type", refusal.record_type.map(i32::from));
    finding.fact("member", refusal.member.clone().map_or(Fact::Null, Fact::Name))
}

/// One finding a type, with who passes over it.
fn skipped(verdicts: &[Verdict]) -> Vec<Finding> {
    let mut all: Vec<(i16, u64, &At, Vec<Coordinator>)> = Vec::new();
    for verdict in verdicts {
        for skipped in &verdict.skipped {
            match all.iter_mut().find(|(number, count, ..)| *number == skipped.record_type && *count == skipped.count) {
                Some((.., brokers)) => brokers.push(verdict.coordinator),
                None => {
                    all.push((skipped.record_type, skipped.count, &skipped.first, vec![verdict.coordinator]));
                }
            }
        }
    }
    let of = |(number, count, first, brokers): (i16, u64, &At, Vec<Coordinator>)| {
        let names: Vec<_> = brokers.iter().map(Coordinator::to_string).collect();
        let message = format!("passed over by {}: {} of type {number}", names.join(", "), counted(count, "record"));
        let finding = at(Finding::new(Code::BrokerSkips, message), first).fact("type", i32::from(number));
        finding.fact("count", count).fact("brokers", Fact::List(names.into_iter().map(Fact::Text).collect()))
    };
    all.into_iter().map(of).collect()
}

fn at(finding: Finding, at: &At) -> Finding {
    finding.file(at.segment.clone()).position(at.position).offset(at.offset)
}
