//! Events in words: a headline each, and lines of particulars.
//!
//! Must not know: tables, and JSON.

use super::history::Fullness;
use super::history_commits as commits;
use super::name::visible;
use crate::model::history::event::{
    Damage, Difference, Event, Facts, Fate, Gap, MemberStep, Piece, Role, Storm, Turn, What, pieces,
};
use crate::model::view::{Assignment, GroupType, Member, ShareTopic};
use crate::words::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Names, partitions and members beyond this are counted, not listed.
const MOST_LISTED: usize = 8;

/// Short names for members.
#[derive(Debug)]
pub struct Names {
    names: BTreeMap<Vec<u8>, String>,
    fullness: Fullness,
}

impl Names {
    /// A, B, C, … in this order, unless all ids are short.
    pub fn new<'m>(ids: impl Iterator<Item = &'m [u8]>, short: usize, fullness: Fullness) -> Self {
        let ids: Vec<_> = ids.collect();
        let all_short = ids.iter().all(|id| id.len() <= short);
        let ids = if all_short { Vec::new() } else { ids };
        Names { names: ids.into_iter().enumerate().map(|(i, id)| (id.to_vec(), letter(i))).collect(), fullness }
    }

    /// What a member is called here.
    pub fn of(&self, id: &[u8]) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| visible(id))
    }

    /// How many things may be listed.
    pub fn most(&self) -> usize {
        if self.fullness == Fullness::Everything { usize::MAX } else { MOST_LISTED }
    }

    fn list(&self, ids: &[&[u8]]) -> String {
        match ids.len() {
            n if n > self.most() => format!("{n} members"),
            _ => ids.iter().map(|id| self.of(id)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// A to Z, then A2 to Z2, …
fn letter(i: usize) -> String {
    let letter = char::from(b'A' + (i % 26) as u8);
    match i / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

/// An event on one line.
pub fn headline(event: &Event, names: &Names) -> String {
    match &event.what {
        What::Turn(turn) => turn_headline(turn, names),
        What::Storm(storm) => storm_line(storm, event, names),
        What::Commits(span) => commits::span(span, event, names),
        What::Commit(it) => commits::commits(it, names),
        What::Transaction(it) => commits::unfinished(it, names),
        What::Forgotten(it) => commits::forgotten(it, event, names),
        What::Gap(gap) => gap_line(gap),
        What::Damage(damage) => damage_line(damage),
    }
}

/// What stands below it.
pub fn particulars(event: &Event, names: &Names) -> Vec<String> {
    match &event.what {
        What::Turn(turn) => {
            let mut lines = turn_lines(turn, names);
            if is_one_line(turn, &lines) {
                lines.clear();
            }
            lines
        }
        _ => Vec::new(),
    }
}

/// Whether a step is told by its only line.
fn is_one_line(turn: &Turn, lines: &[String]) -> bool {
    let (Some(before), Some(after)) = (&turn.before, &turn.after) else { return false };
    let same = before.kind == after.kind && after.kind != GroupType::Classic;
    let epochs = |it: &Facts| (it.group_epoch, it.assignment_epoch);
    let nobody_moved = turn.members.iter().all(|step| step.fate() == Fate::Stayed);
    same && epochs(before) == epochs(after) && nobody_moved && lines.len() == 1
}

fn turn_headline(turn: &Turn, names: &Names) -> String {
    let lines = turn_lines(turn, names);
    let text = match (&turn.before, &turn.after) {
        (None, None) => "tombstones of what is not known here: it was compacted away before".to_owned(),
        (Some(before), None) => format!("group DELETED; it was {} at {}", before.state.name(), number(before)),
        (None, Some(after)) if is_first(after) => format!("created: {}, {}", number(after), stand(after)),
        (None, Some(after)) => format!("first seen: {}, {}", number(after), stand(after)),
        (Some(before), Some(after)) if before.kind != after.kind => format!(
            "CONVERTED from the {} to the {} protocol: {} becomes {}, {}",
            before.kind.name(),
            after.kind.name(),
            number(before),
            number(after),
            stand(after)
        ),
        (Some(before), Some(after)) => match lines.first() {
            Some(line) if is_one_line(turn, &lines) && before.state != after.state => {
                format!("{line}; the group is {}", after.state.name())
            }
            Some(line) if is_one_line(turn, &lines) => line.clone(),
            _ => on(before, after),
        },
    };
    match moved(turn, names) {
        moved if moved.is_empty() => text,
        moved => format!("{text}: {moved}"),
    }
}

/// A step within one protocol.
fn on(before: &Facts, after: &Facts) -> String {
    let mut text = match (number(before), number(after)) {
        (old, new) if old == new && after.kind == GroupType::Classic => format!("{new} again"),
        (old, new) if old == new && before.assignment_epoch != after.assignment_epoch => format!(
            "assignment epoch {}",
            after.assignment_epoch.map_or_else(|| "removed".to_owned(), |it| it.to_string())
        ),
        (old, new) if old == new => format!("still {new}"),
        (_, new) => match (before.generation.or(before.group_epoch), new.split_once(' ')) {
            (Some(old), Some((word, new))) => format!("{word} {old} -> {new}"),
            _ => new,
        },
    };
    if after.kind != GroupType::Classic || before.protocol != after.protocol || before.state != after.state {
        text.push_str(&format!(", {}", stand(after)));
    }
    if before.generation.zip(after.generation).is_some_and(|(old, new)| new < old) {
        text.push_str(" (goes back: the group was deleted and made anew in between)");
    }
    let hash = |it: &Facts| Some(it.metadata_hash).filter(|hash| *hash != 0);
    if hash(before).zip(hash(after)).is_some_and(|(old, new)| old != new) {
        text.push_str(" (its topics or their partitions changed)");
    }
    if before.topology_epoch != after.topology_epoch {
        let epoch = after.topology_epoch.map_or_else(|| "removed".to_owned(), |it| it.to_string());
        text.push_str(&format!(" (topology epoch {epoch})"));
    }
    text
}

fn is_first(after: &Facts) -> bool {
    match after.kind {
        GroupType::Classic => after.generation.is_some_and(|it| it <= 1),
        _ => after.group_epoch.is_none_or(|it| it <= 2),
    }
}

fn number(facts: &Facts) -> String {
    match (facts.generation, facts.group_epoch) {
        (Some(generation), _) => format!("generation {generation}"),
        (_, Some(epoch)) => format!("epoch {epoch}"),
        _ => "no epoch yet".to_owned(),
    }
}

/// The state, and the assignor if there is one.
fn stand(facts: &Facts) -> String {
    let state = facts.state.name();
    match &facts.protocol {
        Some(protocol) if facts.protocol_type == b"consumer" => format!("{state}, {}", visible(protocol)),
        Some(protocol) => format!("{state}, {} {}", visible(&facts.protocol_type), visible(protocol)),
        None => state.to_owned(),
    }
}

/// Who came and who went.
fn moved(turn: &Turn, names: &Names) -> String {
    let of = |fate| turn.members.iter().filter(move |step| step.fate() == fate);
    let mut joined: Vec<_> = of(Fate::Joined).collect();
    let mut left: Vec<_> = of(Fate::Left).collect();
    let mut clauses = Vec::new();
    joined.retain(|new| {
        let Some(instance) = new.after.as_ref().and_then(|it| it.instance_id.as_ref()) else { return true };
        let was = |old: &&MemberStep| old.before.as_ref().and_then(|it| it.instance_id.as_ref()) == Some(instance);
        let Some(at) = left.iter().position(was) else { return true };
        let old = left.remove(at);
        clauses.push(format!("{} takes the place of {}", names.of(new.id()), names.of(old.id())));
        false
    });
    let mut say = |steps: Vec<&MemberStep>, what: &str| {
        if !steps.is_empty() {
            let mut ids: Vec<_> = steps.iter().map(|step| step.id()).collect();
            ids.sort_by_key(|id| names.of(id));
            clauses.push(format!("{} {what}", names.list(&ids)));
        }
    };
    say(joined, "joined");
    say(left, "left");
    say(of(Fate::LeftForNow).collect(), "left for now (static, epoch -2)");
    if let (Some(before), Some(after)) = (&turn.before, &turn.after)
        && let (Some(_), Some(leader)) = (&before.leader, &after.leader)
        && before.leader != after.leader
    {
        clauses.push(format!("{} leads", names.of(leader)));
    }
    let both = turn.before.as_ref().zip(turn.after.as_ref());
    if clauses.is_empty() && turn.members.is_empty() && both.is_some_and(|(_, it)| it.kind == GroupType::Classic) {
        clauses.push("no member came, went or got anything else".to_owned());
    }
    clauses.join("; ")
}

fn turn_lines(turn: &Turn, names: &Names) -> Vec<String> {
    let leader = turn.after.as_ref().and_then(|after| after.leader.as_deref());
    let mut steps: Vec<_> = turn.members.iter().collect();
    steps.sort_by_key(|step| (names.of(step.id()).chars().count(), names.of(step.id())));
    let mut lines: Vec<_> = steps
        .iter()
        .filter_map(|step| {
            let name = names.of(step.id());
            let name = if leader == Some(step.id()) { format!("{name} (leader)") } else { name };
            Some(format!("{name} {}", member_line(step, turn)?))
        })
        .collect();
    if lines.len() > names.most() {
        let more = lines.len() - names.most();
        lines.truncate(names.most());
        lines.push(format!("and {} (-v lists them)", counted(more as u64, "other member")));
    }
    if turn.unchanged > 0
        && !turn.members.is_empty()
        && turn.before.as_ref().is_some_and(|it| it.kind == GroupType::Classic)
    {
        lines.push(format!("{}: no change", counted(turn.unchanged as u64, "other member")));
    }
    for (expression, topics) in &turn.regexes {
        let expression = visible(expression);
        lines.push(match topics {
            Some(topics) if topics.is_empty() => format!("regular expression {expression} stands for no topic"),
            Some(topics) => format!("regular expression {expression} stands for {}", list(topics, names)),
            None => format!("regular expression {expression} is forgotten"),
        });
    }
    if let (Some(topics), Some(_)) = (&turn.share_topics, &turn.after) {
        lines.push(share_line(topics));
    }
    if let Some(topics) = &turn.reads {
        let topics: Vec<_> = topics.iter().map(|(name, n)| format!("{} ({n})", visible(name))).collect();
        lines.push(format!("reads the topics (partitions): {}", topics.join(", ")));
    }
    lines
}

fn list(topics: &[Vec<u8>], names: &Names) -> String {
    let shown: Vec<_> = topics.iter().take(names.most()).map(|it| visible(it)).collect();
    let more = topics.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn share_line(topics: &[ShareTopic]) -> String {
    let mut states: Vec<(&str, Vec<String>)> = Vec::new();
    for it in topics {
        let partitions = ranges(it.topic.partitions.iter().copied());
        let name = visible(&crate::model::history::event::name_of(&it.topic));
        let text = if partitions.is_empty() { name } else { format!("{name}:{partitions}") };
        match states.last_mut() {
            Some((state, texts)) if *state == it.state => texts.push(text),
            _ => states.push((it.state, vec![text])),
        }
    }
    let states: Vec<_> = states.into_iter().map(|(state, texts)| format!("{state} {}", texts.join(", "))).collect();
    if states.is_empty() {
        "share partitions: none".to_owned()
    } else {
        format!("share partitions: {}", states.join("; "))
    }
}

fn member_line(step: &MemberStep, turn: &Turn) -> Option<String> {
    let classic = |facts: &Option<Facts>| facts.as_ref().is_none_or(|it| it.kind == GroupType::Classic);
    // What a group converts to says how its members stand.
    if turn.after.is_some() && classic(&turn.after) || classic(&turn.before) && turn.after.is_none() {
        classic_line(step)
    } else {
        modern_line(step)
    }
}

fn classic_line(step: &MemberStep) -> Option<String> {
    let opaque = |member: &Option<Member>| member.as_ref().is_some_and(|it| it.assignment == Assignment::Opaque);
    let it = step.holdings();
    Some(match step.fate() {
        Fate::Joined if opaque(&step.after) => {
            "gets an assignment of its own protocol ('describe' shows it)".to_owned()
        }
        Fate::Joined => format!("gets {}", things(&it.gained)),
        Fate::Left if it.lost.is_empty() => return None,
        Fate::Left => format!("had {}", things(&it.lost)),
        _ if opaque(&step.after) => "gets another assignment of its own protocol ('describe' shows it)".to_owned(),
        _ => {
            let mut clauses = changes(&it, "gives up");
            clauses.extend(asked(step));
            clauses.join(", ")
        }
    })
}

/// What a member keeps, gives up and gets.
fn changes(it: &Difference, gives_up: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    say(&mut clauses, "keeps", &it.kept);
    say(&mut clauses, gives_up, &it.lost);
    say(&mut clauses, "gets", &it.gained);
    clauses
}

fn modern_line(step: &MemberStep) -> Option<String> {
    let held = step.holdings();
    let Some(after) = &step.after else {
        return (!held.lost.is_empty()).then(|| format!("had {}", things(&held.lost)));
    };
    let revoking: BTreeSet<_> = after.pending_revocation.iter().flat_map(pieces).collect();
    let has = pieces(&after.assignment);
    let target = after.target.as_ref().map(pieces).unwrap_or_default();
    let to_get: Vec<_> = target.difference(&has).cloned().collect();
    let to_lose: Vec<_> = has.difference(&target).filter(|it| !revoking.contains(*it)).cloned().collect();
    let keeps: Vec<_> = held.kept.iter().filter(|it| target.contains(*it)).cloned().collect();
    let target_changed = step.target().is_some_and(|it| !it.is_nothing());
    let mut clauses = Vec::new();
    let was_revoking: BTreeSet<_> =
        step.before.iter().filter_map(|it| it.pending_revocation.as_ref()).flat_map(pieces).collect();
    let now_gone: Vec<_> = was_revoking.into_iter().filter(|it| !revoking.contains(it) && !has.contains(it)).collect();
    let given_up = held.lost.iter().filter(|it| !revoking.contains(*it) && !now_gone.contains(it));
    let given_up: Vec<_> = given_up.cloned().collect();
    say(&mut clauses, "gets", &held.gained);
    say(&mut clauses, "gave up", &given_up);
    say(&mut clauses, "has given up", &now_gone);
    say(&mut clauses, "is giving up", &revoking.into_iter().collect::<Vec<_>>());
    if target_changed {
        say(&mut clauses, "is to give up", &to_lose);
        say(&mut clauses, "is to get", &to_get);
    }
    let holds = if clauses.is_empty() { "holds" } else { "keeps" };
    say(&mut clauses, holds, &keeps);
    if clauses.is_empty() {
        clauses.push("holds nothing".to_owned());
    }
    if !target_changed {
        say(&mut clauses, "waits for", &to_get);
    }
    clauses.extend(asked(step));
    let reached = |it: &Member| (it.state.clone(), it.epoch);
    let news = step.before.as_ref().is_none_or(|before| reached(before) != reached(after)) || !target_changed;
    let stands = match (&after.state, after.epoch) {
        (Some(state), Some(epoch)) if news => format!(" ({state} at epoch {epoch})"),
        _ => String::new(),
    };
    Some(format!("{}{stands}", clauses.join(", ")))
}

fn say(clauses: &mut Vec<String>, verb: &str, what: &[Piece]) {
    if !what.is_empty() {
        clauses.push(format!("{verb} {}", things(what)));
    }
}

/// What a member that stayed asks for now and did not before.
fn asked(step: &MemberStep) -> Vec<String> {
    let (Some(before), Some(after)) = (&step.before, &step.after) else { return Vec::new() };
    let mut clauses = Vec::new();
    if let (Some(old), Some(new)) = (&before.subscribed_topics, &after.subscribed_topics)
        && old != new
    {
        let names: Vec<_> = new.iter().map(|name| visible(name)).collect();
        clauses.push(format!(
            "subscribes to {} now",
            if names.is_empty() { "no topic".to_owned() } else { names.join(", ") }
        ));
    }
    let mut text = |what: &str, old: &Option<Vec<u8>>, new: &Option<Vec<u8>>| {
        if old != new {
            clauses.push(format!("{what} {} now", new.as_deref().map_or_else(|| "none".to_owned(), visible)));
        }
    };
    text("regular expression", &before.subscribed_regex, &after.subscribed_regex);
    text("rack", &before.rack_id, &after.rack_id);
    text("assignor", &before.server_assignor, &after.server_assignor);
    if before.client_host != after.client_host {
        clauses.push(format!("at {} now", visible(&after.client_host)));
    }
    if before.upgraded == Some(false) && after.upgraded == Some(true) {
        clauses.push("speaks the consumer protocol now".to_owned());
    }
    clauses
}

/// `orders:0-2,5`, or `active 0:0-2, standby 1:0`; `nothing` for none.
pub fn things(pieces: &[Piece]) -> String {
    let mut by_name: BTreeMap<(Role, &[u8]), Vec<i32>> = BTreeMap::new();
    for (role, name, partition) in pieces {
        by_name.entry((*role, name)).or_default().push(*partition);
    }
    let each = |((role, name), partitions): ((Role, &[u8]), Vec<i32>)| {
        let role = match role {
            Role::Partition => "",
            Role::Active => "active ",
            Role::Standby => "standby ",
            Role::Warmup => "warmup ",
        };
        format!("{role}{}:{}", visible(name), ranges(partitions.into_iter()))
    };
    let things: Vec<_> = by_name.into_iter().map(each).collect();
    if things.is_empty() { "nothing".to_owned() } else { things.join(", ") }
}

/// `0-2,5` for ascending numbers.
pub fn ranges(numbers: impl Iterator<Item = i32>) -> String {
    let mut runs: Vec<(i32, i32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let runs: Vec<_> = runs
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    runs.join(",")
}

/// `300 ms`, `1.5 s`, `12 s`, `5 min`, `3 h`, `2 d`.
pub fn span_of_time(millis: i64) -> String {
    match millis.max(0) {
        0..1000 => format!("{millis} ms"),
        1000..10_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        10_000..120_000 => format!("{} s", millis / 1000),
        120_000..7_200_000 => format!("{} min", millis / 60_000),
        7_200_000..172_800_000 => format!("{} h", millis / 3_600_000),
        _ => format!("{} d", millis / 86_400_000),
    }
}

fn storm_line(storm: &Storm, event: &Event, names: &Names) -> String {
    let time = event.last_timestamp.saturating_sub(event.timestamp).max(1);
    let word = storm.after.as_ref().map_or("step", |it| if it.generation.is_some() { "generation" } else { "epoch" });
    let value = |facts: &Option<Facts>| {
        let facts = facts.as_ref();
        facts.and_then(|it| it.generation.or(it.group_epoch)).map_or_else(|| "-".to_owned(), |it| it.to_string())
    };
    let members = match storm.members {
        (least, most) if least == most => counted(most as u64, "member"),
        (least, most) => format!("{least} to {most} members"),
    };
    let mut text = format!(
        "STORM: {} ({} -> {}) in {}, {:.1} a minute; {members}, {} joined, {} left",
        counted(storm.turns, word),
        value(&storm.before),
        value(&storm.after),
        span_of_time(time),
        storm.turns as f64 * 60_000.0 / time as f64,
        storm.joined,
        storm.left,
    );
    let clients: Vec<_> =
        storm.clients.iter().take(3).map(|(client, n)| format!("{} {n} times", visible(client))).collect();
    if !clients.is_empty() {
        text.push_str(&format!("; most restless: {}", clients.join(", ")));
    }
    if storm.commits > 0 {
        text.push_str(&format!("; {}", counted(storm.commits, "commit")));
    }
    if names.most() == MOST_LISTED {
        text.push_str(" (-v tells each)");
    }
    text
}

fn gap_line(gap: &Gap) -> String {
    let mut clauses = Vec::new();
    if gap.begins > 0 {
        clauses.push(format!("the log begins at offset {} here: what was before is not told", gap.begins));
    }
    if gap.missing > 0 {
        clauses.push(format!(
            "{} before offset {} are gone (compacted): the history before it is incomplete, from there on whole",
            counted(gap.missing as u64, "record"),
            gap.before
        ));
    }
    format!("GAP: {}", clauses.join("; "))
}

fn damage_line(damage: &Damage) -> String {
    let more = if damage.more > 0 { format!(" (and {} more)", damage.more) } else { String::new() };
    let whose =
        if damage.own { "records of this group could not be read" } else { "what stood there may concern this group" };
    format!(
        "DAMAGE in {} at byte {}: {}: {}{more}; {whose}",
        damage.segment,
        damage.position,
        damage.fault.code(),
        damage.fault
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8].into_iter()), "0-2,5,7-8");
        assert_eq!(ranges([i32::MAX].into_iter()), "2147483647");
        assert_eq!(letter(27), "B2");
        assert_eq!(span_of_time(333), "333 ms");
        assert_eq!(span_of_time(1999), "1.9 s");
        assert_eq!(span_of_time(600_000), "10 min");
    }
}
