//! Groups that are dead, empty for long, never stable, in a storm, between two protocols, or too large.
//!
//! Must not know: families of groups (a group of one is not told by itself).

use super::families::pattern_of;
use super::members::shown;
use super::{Ground, OneGroup};
use crate::audit::watch::turns::GroupTurns;
use crate::audit::{Code, Fact, List};
use crate::model::assemble::kind_of_type;
use crate::model::view::{GroupState, GroupType, Member};
use crate::words::{counted, span};
use std::collections::BTreeSet;

/// More rebalances than this in a row are a storm.
const CALM: u64 = 20;
/// So many generations without members, and none with, are a group that does not form.
const BARREN: u64 = 3;
/// A broker looks for dead groups this often: `offsets.retention.check.interval.ms`.
const CHECK_INTERVAL: i64 = 600_000;
/// The default of `max.poll.interval.ms`, which the rebalance timeout is.
const REBALANCE_TIMEOUT: i64 = 300_000;
/// The default of `max.message.bytes`, and of `message.max.bytes`.
const MAX_MESSAGE: u64 = 1_048_588;
/// Of a batch around one record, at most.
const OVERHEAD: u64 = 80;
/// Near the limit is from so many hundredths of it on.
const NEAR: u64 = 80;

pub(super) fn judge(one: &OneGroup<'_>, partition: Option<i32>, ground: &Ground<'_>, list: &mut List) {
    empty(one, ground, list);
    unstable(one, ground, list);
    storm(one, list);
    mixed(one, ground, list);
    two_protocols(one, list);
    large(one, list);
    misplaced(one, partition, ground, list);
}

fn empty(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let (group, settings) = (one.group, ground.settings);
    if group.state != GroupState::Empty || !group.members.is_empty() {
        return;
    }
    let sign = one.last_sign();
    let age = settings.age(sign);
    let command = || settings.commands.delete(group.kind, &group.name);
    if group.offsets.is_empty() && !group.simple && group.share_topics.is_empty() {
        if age.is_none_or(|age| age > CHECK_INTERVAL) {
            let message = "no members and no offsets: nothing is left of it";
            let finding = one.finding(Code::DeadGroup, message);
            list.push(finding.age(age).command(command()));
        }
        return;
    }
    // What only waits for the end of a transaction is told with that.
    if !group.offsets.is_empty() && group.offsets.iter().all(|offset| offset.committed.is_none()) {
        return;
    }
    let in_family = || pattern_of(&group.name).is_some_and(|pattern| ground.survey.families.contains_key(&pattern));
    if !settings.is_stale(sign) || in_family() {
        return;
    }
    let age = age.unwrap_or_default();
    let offsets = counted(group.offsets.len() as u64, "offset");
    let message = format!("no members and {offsets}; the last sign of life is {} old", span(age));
    let finding = one.finding(Code::LongEmpty, message);
    let finding = finding.fact("lastSign", sign).age(Some(age)).fact("offsets", group.offsets.len() as u64);
    list.push(finding.fact("groupType", group.kind.name()).command(command()));
}

fn unstable(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let group = one.group;
    if group.kind == GroupType::Classic {
        let Some(turns) = one.turns.filter(|it| it.barren >= BARREN && it.fruitful == 0) else { return };
        let message = format!("{} and never a member in any of them", counted(turns.barren, "generation"));
        let finding = one.finding(Code::NeverStable, message);
        return list.push(finding.fact("generations", turns.barren).fact("generation", group.generation));
    }
    if !matches!(group.state, GroupState::Assigning | GroupState::Reconciling | GroupState::NotReady) {
        return;
    }
    let timeout = group.members.iter().filter_map(|member| member.rebalance_timeout_ms).max();
    let timeout = timeout.map_or(REBALANCE_TIMEOUT, |ms| i64::from(ms).max(REBALANCE_TIMEOUT));
    let Some(age) = ground.settings.age(one.changed()).filter(|age| *age > timeout.saturating_mul(2)) else { return };
    let message = format!(
        "{} for {} without a change, with a rebalance timeout of {}",
        group.state.name(),
        span(age),
        span(timeout)
    );
    let lagging =
        group.members.iter().filter(|it| it.state.as_deref() != Some("STABLE") || it.epoch != group.assignment_epoch);
    let lagging: Vec<_> = lagging.take(20).map(|member| Fact::Name(member.id.clone())).collect();
    let finding = one.finding(Code::NeverStable, message);
    list.push(finding.fact("state", group.state.name()).age(Some(age)).fact("members", Fact::List(lagging)));
}

fn storm(one: &OneGroup<'_>, list: &mut List) {
    // In the newer protocols each member that comes or goes is a turn: a deployment stops and starts all of them.
    let deployed = |turns: &GroupTurns| match one.group.kind {
        GroupType::Classic => 0,
        _ => turns.range.map_or(0, |(_, most)| most.saturating_mul(3)),
    };
    let Some(turns) = one.turns.filter(|turns| turns.longest.turns > CALM + deployed(turns)) else { return };
    let row = turns.longest;
    let length = row.to.saturating_sub(row.from).max(1);
    let an_hour = (row.turns - 1).saturating_mul(3_600_000) / length.unsigned_abs();
    let (least, most) = turns.range.unwrap_or_default();
    let message = format!(
        "{} rebalances in a row within {}, {an_hour} an hour; {least} to {most} members, {} bytes of group records",
        row.turns,
        span(length),
        turns.bytes
    );
    let finding = one.finding(Code::Storm, message).offset(row.last_offset);
    list.push(
        finding
            .fact("rebalances", row.turns)
            .fact("from", row.from)
            .fact("to", row.to)
            .fact("perHour", an_hour)
            .fact("fewestMembers", least)
            .fact("mostMembers", most)
            .fact("bytes", turns.bytes)
            .fact("allRebalances", turns.turns),
    );
}

fn mixed(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    if one.group.kind != GroupType::Consumer {
        return;
    }
    let speaks = |upgraded: bool| move |member: &&Member| member.upgraded == Some(upgraded);
    let classic: Vec<_> = one.group.members.iter().filter(speaks(false)).collect();
    let new = one.group.members.iter().filter(speaks(true)).count();
    if classic.is_empty() || new == 0 {
        return;
    }
    let changed = one.changed();
    let stuck = ground.settings.is_stale(changed);
    let code = if stuck { Code::StuckMigration } else { Code::Mixed };
    let since = match ground.settings.age(changed) {
        Some(age) if stuck => format!("; nothing has changed for {}", span(age)),
        _ => String::new(),
    };
    let message =
        format!("{} of the classic protocol and {new} of the new one{since}", counted(classic.len() as u64, "member"));
    let names = classic.iter().take(20).map(|member| Fact::Name(member.id.clone())).collect();
    let finding = one.finding(code, message).fact("classic", classic.len() as u64);
    list.push(finding.fact("consumer", new as u64).fact("lastChange", changed).fact("members", Fact::List(names)));
}

fn two_protocols(one: &OneGroup<'_>, list: &mut List) {
    let kinds: BTreeSet<_> = one.records.iter().filter_map(|(key, _)| kind_of_type(key.record_type)).collect();
    if kinds.len() < 2 {
        return;
    }
    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    let message = format!("records of the protocols {}; taken for {}", names.join(" and "), one.group.kind.name());
    let finding = one.finding(Code::TwoProtocols, message);
    list.push(finding.fact("protocols", Fact::List(names.into_iter().map(Fact::from).collect())));
}

fn large(one: &OneGroup<'_>, list: &mut List) {
    for (key, value) in one.records.iter().filter(|(key, _)| key.record_type.number() == 2) {
        let bytes = value.len() as u64 + key.group().len() as u64 + OVERHEAD;
        if bytes.saturating_mul(100) < MAX_MESSAGE * NEAR {
            continue;
        }
        let members = one.group.members.len() as u64;
        let message = format!(
            "its record has {bytes} bytes, {} % of the default limit of {MAX_MESSAGE}; {}",
            bytes.saturating_mul(100) / MAX_MESSAGE,
            counted(members, "member")
        );
        let finding = one.finding(Code::LargeRecord, message);
        list.push(finding.fact("bytes", bytes).fact("limit", MAX_MESSAGE).fact("memberCount", members));
    }
}

fn misplaced(one: &OneGroup<'_>, partition: Option<i32>, ground: &Ground<'_>, list: &mut List) {
    let (Some(partition), Some((partitions, how))) = (partition, ground.survey.partitions) else { return };
    let home = crate::model::partitioner::partition_of(&one.group.name, partitions);
    if home == partition {
        return;
    }
    let name = shown(&one.group.name);
    let message = format!("{name} belongs into partition {home} of {partitions} ({how}): no broker finds it here");
    let finding = one.finding(Code::Misplaced, message).fact("home", home).fact("partitions", partitions);
    list.push(finding.fact("lastSign", one.last_sign()));
}
