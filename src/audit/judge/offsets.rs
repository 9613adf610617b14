//! Committed offsets that expire, that nobody wants, that point nowhere.
//!
//! Of a group, offsets of one topic that share a trouble are one finding. Must not know: how offsets moved.

use super::members::shown;
use super::{Ground, OneGroup};
use crate::audit::settings::DAY;
use crate::audit::{Code, Fact, Finding, List, Severity};
use crate::model::expiry::{Expiries, Rule};
use crate::model::view::{Commit, GroupType};
use crate::schema::wire::Uuid;
use crate::words::{counted, old, span};
use std::collections::BTreeMap;

/// No topic has so many records.
const ABSURD: i64 = 1_000_000_000_000_000;
/// A retention that no clock reaches stands for one that is not known.
const UNKNOWN_RETENTION: i64 = i64::MAX / 4;
/// So many partitions are named in a message and a command.
const NAMED: usize = 20;
/// A topic with more partitions than this is not made anew to be rid of its offsets.
const MOST_REMADE: u32 = 1000;

/// What is wrong with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Expired(&'static str),
    Expiring(&'static str),
    Unsubscribed,
    TopicGone,
    PartitionGone,
    OtherId(Uuid),
    BelowStart,
    AboveEnd,
    Negative,
    Absurd,
}

/// Commits of one topic with one trouble.
#[derive(Debug)]
struct Case<'g> {
    /// Partitions and commits.
    commits: Vec<(i32, &'g Commit)>,
    /// When the first of them expires, in ms since 1970.
    at: Option<i64>,
    rule: Option<Rule>,
}

type Cases<'g> = BTreeMap<(&'g [u8], Trouble), Case<'g>>;

pub(super) fn judge(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let mut cases = Cases::new();
    let settings = ground.settings;
    let expiries = Expiries::of(one.group, settings.retention.unwrap_or(UNKNOWN_RETENTION));
    let subscribed = one.group.subscribed_topics().filter(|_| tells_subscriptions(one));
    for offset in &one.group.offsets {
        let Some(commit) = &offset.committed else { continue };
        let mut add = |trouble, at, rule| {
            let new = || Case { commits: Vec::new(), at, rule };
            let case = cases.entry((offset.topic.as_slice(), trouble)).or_insert_with(new);
            case.commits.push((offset.partition, commit));
            case.at = case.at.min(at);
        };
        if let Some((trouble, at, rule)) = expires(&expiries, offset, ground) {
            add(trouble, Some(at), Some(rule));
        }
        if subscribed.as_ref().is_some_and(|topics| !topics.contains(offset.topic.as_slice())) {
            add(Trouble::Unsubscribed, None, None);
        }
        for trouble in nowhere(&offset.topic, offset.partition, commit, ground) {
            add(trouble, None, None);
        }
    }
    for ((topic, trouble), case) in &cases {
        list.push(finding(one, topic, *trouble, case, ground));
    }
}

/// Whether the members' subscriptions are known: an expression that no record resolves may stand for anything.
fn tells_subscriptions(one: &OneGroup<'_>) -> bool {
    let group = one.group;
    let resolved = |expression: &Vec<u8>| group.regexes.iter().any(|regex| regex.expression == *expression);
    !group.members.is_empty() && group.members.iter().filter_map(|it| it.subscribed_regex.as_ref()).all(resolved)
}

fn expires(
    expiries: &Expiries<'_>,
    offset: &crate::model::view::Offset,
    ground: &Ground<'_>,
) -> Option<(Trouble, i64, Rule)> {
    let expiry = expiries.expiry(offset)?;
    let (at, settings) = (expiry.at?, ground.settings);
    // A commit that says its own end had so much time in all.
    let own = offset.committed.as_ref().and_then(|it| Some(it.expire_timestamp?.saturating_sub(it.commit_timestamp)));
    let soon = own.or(settings.retention).map_or(DAY, |time| (time / 10).min(DAY));
    let trouble = if at <= settings.now {
        Trouble::Expired(expiry.rule.code())
    } else if at.saturating_sub(settings.now) <= soon {
        Trouble::Expiring(expiry.rule.code())
    } else {
        return None;
    };
    Some((trouble, at, expiry.rule))
}

/// What a commit points to that is not there.
fn nowhere(topic: &[u8], partition: i32, commit: &Commit, ground: &Ground<'_>) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    if commit.offset < 0 {
        troubles.push(Trouble::Negative);
    } else if commit.offset > ABSURD {
        troubles.push(Trouble::Absurd);
    } else if let Some(ends) = ground.settings.log_ends.as_ref().and_then(|ends| ends.of(topic, partition)) {
        if ends.start.is_some_and(|start| commit.offset < start) {
            troubles.push(Trouble::BelowStart);
        } else if commit.offset > ends.end {
            troubles.push(Trouble::AboveEnd);
        }
    }
    let known = ground.settings.topics.as_ref().map(|list| list.topic(topic));
    match known {
        Some(None) => troubles.push(Trouble::TopicGone),
        Some(Some(found)) if found.partitions.is_some_and(|n| !(0..n).contains(&partition)) => {
            troubles.push(Trouble::PartitionGone);
        }
        _ => {}
    }
    let listed = known.flatten().and_then(|topic| topic.id);
    let current = listed.or_else(|| ground.survey.ids.get(topic).copied());
    if let (Some(id), Some(current), false) = (commit.topic_id, current, matches!(known, Some(None)))
        && id != current
    {
        troubles.push(Trouble::OtherId(id));
    }
    troubles
}

fn finding(one: &OneGroup<'_>, topic: &[u8], trouble: Trouble, case: &Case<'_>, ground: &Ground<'_>) -> Finding {
    let settings = ground.settings;
    let newest = case.commits.iter().map(|(_, commit)| commit.commit_timestamp).max().unwrap_or(-1);
    let partitions: Vec<i32> = case.commits.iter().map(|(partition, _)| *partition).collect();
    let named = partitions.get(..NAMED.min(partitions.len())).unwrap_or_default();
    let what = format!("{} of {}", counted(partitions.len() as u64, "offset"), shown(topic));
    let first = case.commits.first().map_or(0, |(_, commit)| commit.offset);
    let rule = case.rule.map_or("", Rule::words);
    let ago = |at: i64| settings.now.saturating_sub(at);
    let at = case.at.unwrap_or_default();
    let (code, message) = match trouble {
        Trouble::Expired(_) => (Code::Expired, format!("{what} expired {} ago ({rule})", span(ago(at)))),
        Trouble::Expiring(_) => (Code::Expiring, format!("{what} will expire in {} ({rule})", span(-ago(at)))),
        Trouble::Unsubscribed => {
            let age = settings.age(newest).map_or(String::new(), |age| format!("; the last commit is {}", old(age)));
            (Code::Unsubscribed, format!("{what}, to which no member subscribes{age}"))
        }
        Trouble::TopicGone => (Code::TopicGone, format!("{what}, which is no topic of the cluster")),
        Trouble::PartitionGone => {
            (Code::PartitionGone, format!("{what}, whose partitions are not there: {}", numbers(named)))
        }
        Trouble::OtherId(_) => {
            (Code::TopicIdMismatch, format!("{what}, committed under another id than the current one"))
        }
        Trouble::BelowStart => {
            (Code::OutOfRange, format!("{what} below the start of its log: {}", ranges(topic, case, ground)))
        }
        Trouble::AboveEnd => {
            (Code::OutOfRange, format!("{what} above the end of its log: {}", ranges(topic, case, ground)))
        }
        Trouble::Negative => (Code::Negative, format!("{what} below 0, such as {first}")),
        Trouble::Absurd => (Code::Absurd, format!("{what} beyond what any topic has, such as {first}")),
    };
    let stale = settings.is_stale(newest);
    let severity = if trouble == Trouble::Unsubscribed && stale { Severity::Warning } else { code.severity() };
    let log_offset = case.commits.iter().map(|(_, commit)| commit.log_offset).max().unwrap_or(-1);
    let finding = one.finding(code, message).severity(severity).offset(log_offset);
    let finding = finding
        .fact("topic", Fact::Name(topic.to_vec()))
        .fact("partitions", Fact::List(partitions.iter().map(|n| Fact::from(*n)).collect()))
        .fact("committed", Fact::List(case.commits.iter().map(|(_, commit)| Fact::Int(commit.offset)).collect()))
        .fact("lastCommit", newest);
    let finding = of_trouble(finding, topic, trouble, case, ground);
    match command(one, topic, case, trouble, ground) {
        // Offsets of a topic are deleted while the group reads others.
        Some(command) if matches!(trouble, Trouble::Unsubscribed | Trouble::TopicGone) => {
            finding.fact("command", command)
        }
        Some(command) => one.with_reset(finding, command),
        None => finding,
    }
}

/// What only one trouble has.
fn of_trouble(finding: Finding, topic: &[u8], trouble: Trouble, case: &Case<'_>, ground: &Ground<'_>) -> Finding {
    match trouble {
        Trouble::Expired(rule) | Trouble::Expiring(rule) => {
            finding.fact("rule", rule).fact("at", case.at).fact("retentionMs", ground.settings.retention)
        }
        Trouble::OtherId(id) => finding.fact("topicId", crate::model::topics::format_id(id)),
        Trouble::BelowStart | Trouble::AboveEnd => {
            let ends = |it: &(i32, &Commit)| {
                let ends = ground.settings.log_ends.as_ref().and_then(|ends| ends.of(topic, it.0));
                Fact::Object(vec![
                    ("partition", it.0.into()),
                    ("start", ends.and_then(|ends| ends.start).into()),
                    ("end", ends.map(|ends| ends.end).into()),
                ])
            };
            let side = if trouble == Trouble::BelowStart { "below" } else { "above" };
            finding.fact("side", side).fact("logs", Fact::List(case.commits.iter().map(ends).collect()))
        }
        _ => finding,
    }
}

fn command(one: &OneGroup<'_>, topic: &[u8], case: &Case<'_>, trouble: Trouble, ground: &Ground<'_>) -> Option<String> {
    let (group, commands) = (one.group, &ground.settings.commands);
    // Of a topic that is gone, a broker takes no command but that which makes it anew.
    let is_gone = ground.settings.topics.as_ref().is_some_and(|list| list.topic(topic).is_none());
    if group.kind == GroupType::Share || is_gone && trouble != Trouble::TopicGone {
        return None;
    }
    let all: Vec<i32> = case.commits.iter().map(|(partition, _)| *partition).collect();
    let reset = |to: &str| Some(commands.reset(group.kind, &group.name, topic, &all, to));
    match trouble {
        // It goes by itself; to have it stay, the same is committed again.
        Trouble::Expired(_) | Trouble::Expiring(_) => {
            let offsets: Vec<_> = case.commits.iter().map(|(partition, commit)| (*partition, commit.offset)).collect();
            commands.commit_anew(group.kind, &group.name, topic, &offsets)
        }
        Trouble::Unsubscribed => Some(commands.delete_offsets(group.kind, &group.name, topic, &[])),
        Trouble::TopicGone => {
            let most = u32::try_from(*all.iter().max()?).ok().filter(|most| *most < MOST_REMADE)?;
            Some(commands.forget_topic(topic, most + 1))
        }
        // No broker deletes an offset of a partition that is not there.
        Trouble::PartitionGone => None,
        Trouble::OtherId(_) | Trouble::BelowStart | Trouble::Negative => reset("--to-earliest"),
        Trouble::AboveEnd | Trouble::Absurd => reset("--to-latest"),
    }
}

/// `0 (committed 9, log from 10 to 100)`.
fn ranges(topic: &[u8], case: &Case<'_>, ground: &Ground<'_>) -> String {
    let words = |(partition, commit): &(i32, &Commit)| {
        let ends = ground.settings.log_ends.as_ref().and_then(|ends| ends.of(topic, *partition));
        let start = ends.and_then(|ends| ends.start).map_or(String::new(), |start| format!(" from {start}"));
        let end = ends.map_or(String::new(), |ends| format!(" to {}", ends.end));
        format!("{partition} (committed {}, log{start}{end})", commit.offset)
    };
    let named: Vec<_> = case.commits.iter().take(NAMED).map(words).collect();
    format!("{}{}", named.join(", "), if case.commits.len() > NAMED { ", …" } else { "" })
}

fn numbers(partitions: &[i32]) -> String {
    partitions.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}
