//! Members that are gone, double, half there, idle or silent.
//!
//! Must not know: offsets, beyond when the last was committed.

use super::{Ground, OneGroup};
use crate::audit::watch::Watch;
use crate::audit::{Code, Fact, Finding, List, Severity};
use crate::model::view::{Assignment, GroupState, GroupType, Member};
use crate::words::{ago, counted, span};
use std::collections::BTreeMap;

/// So many members are named in a message.
const NAMED: usize = 3;
/// A static member that is away may come back for as long as a session lasts at most: the broker's default of
/// `group.consumer.max.session.timeout.ms`.
const LONGEST_SESSION: i64 = 60_000;

pub(super) fn judge(one: &OneGroup<'_>, watch: &Watch, ground: &Ground<'_>, list: &mut List) {
    away(one, watch, ground, list);
    doubles(one, list);
    if one.group.kind != GroupType::Classic {
        parts(one, ground, list);
    }
    idle(one, list);
    silent(one, ground, list);
}

/// Type numbers of a member's own record, its target and its current assignment.
fn numbers(kind: GroupType) -> Option<(i16, i16, i16)> {
    match kind {
        GroupType::Classic => None,
        GroupType::Consumer => Some((5, 7, 8)),
        GroupType::Share => Some((10, 13, 14)),
        GroupType::Streams => Some((19, 21, 22)),
    }
}

fn away(one: &OneGroup<'_>, watch: &Watch, ground: &Ground<'_>, list: &mut List) {
    let Some((.., current)) = numbers(one.group.kind) else { return };
    for member in one.group.members.iter().filter(|member| member.epoch == Some(-2)) {
        let since = watch.turns.away_since(&one.group.name, &member.id, current).unwrap_or(-1);
        let age = ground.settings.age(since);
        let session = member.session_timeout_ms.map_or(LONGEST_SESSION, i64::from).max(LONGEST_SESSION);
        let severity = if age.is_some_and(|age| age > session) { Severity::Warning } else { Severity::Info };
        let instance = member.instance_id.clone().unwrap_or_default();
        let message = format!(
            "static member {} left {} and has not come back: {} wait for it",
            shown(&instance),
            age.map_or("at an unknown time".to_owned(), ago),
            counted(member.assignment.len() as u64, "partition"),
        );
        let finding = one.finding(Code::StaticAway, message).severity(severity).offset(member.log_offset);
        list.push(
            finding
                .fact("member", Fact::Name(member.id.clone()))
                .fact("instanceId", Fact::Name(instance))
                .fact("since", since)
                .age(age)
                .fact("partitions", member.assignment.len() as u64),
        );
    }
}

fn doubles(one: &OneGroup<'_>, list: &mut List) {
    let mut by_instance: BTreeMap<&[u8], Vec<&Member>> = BTreeMap::new();
    for member in &one.group.members {
        if let Some(instance) = &member.instance_id {
            by_instance.entry(instance).or_default().push(member);
        }
    }
    for (instance, members) in by_instance.into_iter().filter(|(_, members)| members.len() > 1) {
        let message = format!("{} have the instance id {}", counted(members.len() as u64, "member"), shown(instance));
        let finding = one.finding(Code::DuplicateInstance, message).fact("instanceId", Fact::Name(instance.to_vec()));
        list.push(finding.fact("members", names(members.into_iter())));
    }
}

/// What there is of each member, and of the group itself.
fn parts(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let Some((own, target, current)) = numbers(one.group.kind) else { return };
    let group_number = match one.group.kind {
        GroupType::Share => 11,
        GroupType::Streams => 17,
        _ => 3,
    };
    let mut parts: BTreeMap<&[u8], [bool; 3]> = BTreeMap::new();
    let mut has_group = false;
    let mut others = 0u64;
    let mut has_target_epoch = false;
    for (key, _) in &one.records {
        let number = key.record_type.number();
        has_group |= number == group_number;
        has_target_epoch |= matches!(number, 6 | 12 | 20);
        // What early access or a retired type left says nothing.
        others += u64::from(number != group_number && !matches!(number, 2 | 4 | 9 | 18));
        if let (Some(member), Some(i)) = (key.member(), [own, target, current].iter().position(|it| *it == number))
            && let Some(there) = parts.entry(member).or_default().get_mut(i)
        {
            *there = true;
        }
    }
    if !has_group && others > 0 {
        let message =
            format!("{} of a group that has no record of its own (type {group_number})", counted(others, "record"));
        list.push(one.finding(Code::PartsWithoutGroup, message).fact("records", others));
    }
    let up_to_date = has_target_epoch && one.group.assignment_epoch >= one.group.group_epoch;
    // A group of leftovers alone can be deleted.
    let nobody = parts.values().all(|[own, ..]| !own);
    let log_offsets: BTreeMap<_, _> = one.group.members.iter().map(|it| (it.id.as_slice(), it.log_offset)).collect();
    for (member, there) in parts {
        let Some((code, message)) = of_parts(there, [own, target, current], up_to_date) else { continue };
        let log_offset = log_offsets.get(member).copied().unwrap_or(-1);
        let finding = one.finding(code, format!("member {}: {message}", shown(member))).offset(log_offset);
        let finding = finding.fact("member", Fact::Name(member.to_vec()));
        let dead = code == Code::OrphanMember && nobody;
        list.push(if dead {
            finding.command(ground.settings.commands.delete(one.group.kind, &one.group.name))
        } else {
            finding
        });
    }
}

fn of_parts([own, target, current]: [bool; 3], numbers: [i16; 3], up_to_date: bool) -> Option<(Code, String)> {
    let [own_number, target_number, current_number] = numbers;
    match (own, target, current) {
        (true, _, false) => {
            Some((Code::HalfRemoved, format!("a record of its own, but no current assignment (type {current_number})")))
        }
        (true, false, true) if up_to_date => Some((
            Code::NoTarget,
            format!("no target assignment (type {target_number}), though the target is up to date"),
        )),
        (false, ..) => {
            Some((Code::OrphanMember, format!("an assignment, but no record of its own (type {own_number})")))
        }
        _ => None,
    }
}

fn idle(one: &OneGroup<'_>, list: &mut List) {
    if one.group.state != GroupState::Stable {
        return;
    }
    let has_nothing = |member: &&Member| member.assignment.is_empty() && member.assignment != Assignment::Opaque;
    let idle: Vec<_> = one.group.members.iter().filter(has_nothing).collect();
    if idle.is_empty() {
        return;
    }
    let (n, of) = (idle.len() as u64, one.group.members.len() as u64);
    let named: Vec<_> = idle.iter().take(NAMED).map(|member| shown(&member.id)).collect();
    let more = if idle.len() > NAMED { ", …" } else { "" };
    let message = format!("nothing to read for {n} of {}: {}{more}", counted(of, "member"), named.join(", "));
    let finding = one.finding(Code::IdleMember, message).fact("idle", n).fact("memberCount", of);
    list.push(finding.fact("members", names(idle.into_iter())));
}

fn silent(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let group = one.group;
    if group.members.is_empty() {
        return;
    }
    let pending = group.offsets.iter().flat_map(|offset| &offset.pending).map(|it| it.commit.commit_timestamp);
    let Some(last) = group.last_commit().into_iter().chain(pending).max() else { return };
    if !ground.settings.is_stale(last) {
        return;
    }
    let age = ground.settings.age(last).unwrap_or_default();
    let members = group.members.len() as u64;
    let message = format!("{}, but the last commit is {} old", counted(members, "member"), span(age));
    list.push(silent_facts(one.finding(Code::SilentMembers, message), one, last, age));
}

fn silent_facts(finding: Finding, one: &OneGroup<'_>, last: i64, age: i64) -> Finding {
    let finding = finding.fact("lastCommit", last).age(Some(age));
    finding.fact("memberCount", one.group.members.len() as u64).fact("members", names(one.group.members.iter()))
}

/// The ids of members, not more than a list should have.
fn names<'m>(members: impl Iterator<Item = &'m Member>) -> Fact {
    Fact::List(members.take(20).map(|member| Fact::Name(member.id.clone())).collect())
}

/// A name in a sentence.
pub(super) fn shown(name: &[u8]) -> String {
    crate::escape::visible(name)
}
