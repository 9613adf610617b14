//! Groups as tables: the columns of Kafka's own group commands, and what only the log tells.
//!
//! Must not know: which groups are shown.

use super::group_json::uuid;
use super::name::{visible, visible_or_dash};
use super::table::Table;
use crate::cli::time::rfc3339;
use crate::model::expiry::Expiries;
use crate::model::view::{Assignment, Group, GroupType, Member, Offset, Tasks, TopicPartitions};
use std::collections::HashMap;

/// How many columns are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Those that Kafka's commands show.
    Usual,
    /// All.
    Verbose,
}

/// How offsets are shown.
#[derive(Debug, Clone, Copy)]
pub struct OffsetColumns {
    /// How many columns.
    pub detail: Detail,
    /// With a retention in milliseconds, also when each offset expires.
    pub retention: Option<i64>,
    /// What now is, in milliseconds since 1970.
    pub now: i64,
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// One row a group.
pub fn list(groups: &[(Option<i32>, Group)]) -> Table {
    let mut table =
        Table::new(&["PARTITION", "GROUP", "TYPE", "STATE", "PROTOCOL", "MEMBERS", "OFFSETS", "LAST COMMIT", "NOTE"]);
    for (partition, group) in groups {
        table.row(vec![
            or_dash(*partition),
            visible(&group.name),
            group.kind.name().to_owned(),
            group.state.name().to_owned(),
            protocol(group),
            group.members.len().to_string(),
            group.offsets.len().to_string(),
            group.last_commit().map_or("-".to_owned(), rfc3339),
            notes(group).join(", "),
        ]);
    }
    table
}

fn protocol(group: &Group) -> String {
    match (group.kind, group.protocol_type.as_slice()) {
        (GroupType::Classic, b"") => "-".to_owned(),
        (GroupType::Classic, kind) => match &group.protocol {
            Some(protocol) => format!("{}/{}", visible(kind), visible(protocol)),
            None => visible(kind),
        },
        (kind, _) => kind.name().to_owned(),
    }
}

fn notes(group: &Group) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if group.offsets.iter().any(|offset| !offset.pending.is_empty()) {
        notes.push("open transaction");
    }
    if group.uncertain.is_some() {
        notes.push("uncertain");
    }
    if !group.oddities.is_empty() {
        notes.push("odd records");
    }
    notes
}

/// What is known of a group as a whole, a line each.
pub fn state(partition: Option<i32>, group: &Group) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("partition", or_dash(partition)),
        ("type", group.kind.name().to_owned()),
        ("state", group.state.name().to_owned()),
    ];
    if group.kind == GroupType::Classic {
        lines.push(("protocol", protocol(group)));
        if let Some(generation) = group.generation {
            lines.push(("generation", generation.to_string()));
            lines.push(("leader", visible_or_dash(group.leader.as_deref())));
        }
        if let Some(since) = group.state_timestamp {
            lines.push(("in this state since", rfc3339(since)));
        }
        if group.simple {
            lines.push(("note", "offsets alone, without a group record (a simple group)".to_owned()));
        }
    } else {
        lines.push(("group epoch", or_dash(group.group_epoch)));
        lines.push(("assignment epoch", or_dash(group.assignment_epoch)));
        if group.kind == GroupType::Streams {
            lines.push(("topology epoch", or_dash(group.topology_epoch)));
        }
    }
    lines.push(("members", group.members.len().to_string()));
    lines.push(("last commit", group.last_commit().map_or("-".to_owned(), rfc3339)));
    let of_regex = |it: &crate::model::view::Regex| {
        let topics: Vec<_> = it.topics.iter().map(|topic| visible(topic)).collect();
        format!("{} = {}", visible(&it.expression), topics.join(", "))
    };
    lines.extend(group.regexes.iter().map(|regex| ("regular expression", of_regex(regex))));
    lines.extend(
        group.share_topics.iter().map(|share| ("share partitions", format!("{} {}", share.state, topic(&share.topic)))),
    );
    lines.extend(group.oddities.iter().map(|oddity| ("odd", oddity.clone())));
    lines.extend(group.uncertain.iter().map(|why| ("uncertain", why.clone())));
    lines
}

/// One row an offset.
pub fn offsets<'g>(groups: impl Iterator<Item = (Option<i32>, &'g Group)>, columns: OffsetColumns) -> Table {
    let mut head = vec!["GROUP", "TOPIC", "PARTITION"];
    if columns.detail == Detail::Verbose {
        head.push("LEADER-EPOCH");
    }
    head.extend(["CURRENT-OFFSET", "COMMITTED", "PENDING", "CONSUMER-ID", "HOST", "CLIENT-ID"]);
    if columns.retention.is_some() {
        head.extend(["EXPIRES", "RULE"]);
    }
    if columns.detail == Detail::Verbose {
        head.extend(["LOG-OFFSET", "TOPIC-ID", "METADATA"]);
    }
    let mut table = Table::new(&head);
    for (_, group) in groups {
        let owners = Owners::of(group);
        let expiries = columns.retention.map(|retention| Expiries::of(group, retention));
        for offset in &group.offsets {
            let owner = owners.of_offset(offset);
            let expires = expiries.as_ref().map(|it| expiry_cells(it, offset, columns.now));
            table.row(offset_row(group, offset, owner, expires, columns.detail));
        }
    }
    table
}

fn expiry_cells(expiries: &Expiries<'_>, offset: &Offset, now: i64) -> [String; 2] {
    match expiries.expiry(offset) {
        None => ["-".to_owned(), "-".to_owned()],
        Some(expiry) => [expires(expiry.at, now), expiry.rule.words().to_owned()],
    }
}

fn offset_row(
    group: &Group,
    offset: &Offset,
    owner: Option<&Member>,
    expires: Option<[String; 2]>,
    detail: Detail,
) -> Vec<String> {
    let commit = offset.committed.as_ref();
    let mut row = vec![visible(&group.name), visible(&offset.topic), offset.partition.to_string()];
    if detail == Detail::Verbose {
        row.push(or_dash(commit.map(|it| it.leader_epoch).filter(|epoch| *epoch >= 0)));
    }
    let pending = offset.pending.iter().map(|it| format!("{} (producer {})", it.commit.offset, it.producer_id));
    let pending: Vec<_> = pending.collect();
    row.extend([
        or_dash(commit.map(|it| it.offset)),
        commit.map_or("-".to_owned(), |it| rfc3339(it.commit_timestamp)),
        if pending.is_empty() { "-".to_owned() } else { pending.join(", ") },
        visible_or_dash(owner.map(|it| it.id.as_slice())),
        visible_or_dash(owner.map(|it| it.client_host.as_slice())),
        visible_or_dash(owner.map(|it| it.client_id.as_slice())),
    ]);
    row.extend(expires.into_iter().flatten());
    if detail == Detail::Verbose {
        row.push(or_dash(commit.map(|it| it.log_offset)));
        row.push(commit.and_then(|it| it.topic_id).map_or("-".to_owned(), uuid));
        row.push(
            commit.map_or(
                "-".to_owned(),
                |it| if it.metadata.is_empty() { String::new() } else { visible(&it.metadata) },
            ),
        );
    }
    row
}

/// Exactly at the moment counts as expired.
fn expires(at: Option<i64>, now: i64) -> String {
    match at {
        None => "never".to_owned(),
        Some(at) if at <= now => format!("{} (expired)", rfc3339(at)),
        Some(at) => rfc3339(at),
    }
}

/// Which member has which partition: of two, the first by id.
struct Owners<'g>(HashMap<(&'g [u8], i32), &'g Member>);

impl<'g> Owners<'g> {
    fn of(group: &'g Group) -> Self {
        let mut owners = HashMap::new();
        for member in &group.members {
            let Assignment::Topics(topics) = &member.assignment else { continue };
            for topic in topics {
                let Some(name) = topic.topic.as_deref() else { continue };
                topic.partitions.iter().for_each(|partition| {
                    owners.entry((name, *partition)).or_insert(member);
                });
            }
        }
        Owners(owners)
    }

    fn of_offset(&self, offset: &Offset) -> Option<&'g Member> {
        self.0.get(&(offset.topic.as_slice(), offset.partition)).copied()
    }
}

/// One row a member.
pub fn members<'g>(groups: impl Iterator<Item = (Option<i32>, &'g Group)>, detail: Detail) -> Table {
    let mut head = vec!["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"];
    if detail == Detail::Verbose {
        head.extend(["EPOCH", "STATE", "TARGET-ASSIGNMENT", "SUBSCRIBED", "RACK", "UPGRADED", "LOG-OFFSET"]);
    }
    let mut table = Table::new(&head);
    for (_, group) in groups {
        group.members.iter().for_each(|member| table.row(member_row(group, member, detail)));
    }
    table
}

fn member_row(group: &Group, member: &Member, detail: Detail) -> Vec<String> {
    let mut row = vec![
        visible(&group.name),
        visible(&member.id),
        visible_or_dash(member.instance_id.as_deref()),
        visible(&member.client_host),
        visible(&member.client_id),
        match &member.assignment {
            Assignment::Opaque => "-".to_owned(),
            assignment => assignment.len().to_string(),
        },
        opaque_or(&member.assignment, member.payloads.as_ref().map(|(_, assignment)| assignment.as_str())),
    ];
    if detail == Detail::Verbose {
        row.push(or_dash(member.epoch));
        row.push(member.state.clone().unwrap_or_else(|| "-".to_owned()));
        row.push(member.target.as_ref().map_or("-".to_owned(), assignment));
        row.push(subscribed(member));
        row.push(visible_or_dash(member.rack_id.as_deref()));
        row.push(or_dash(member.upgraded));
        row.push(member.log_offset.to_string());
    }
    row
}

fn subscribed(member: &Member) -> String {
    let topics = member.subscribed_topics.iter().flatten().map(|topic| visible(topic));
    let regex = member.subscribed_regex.iter().map(|regex| format!("/{}/", visible(regex)));
    let all: Vec<_> = topics.chain(regex).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(",") }
}

/// What cannot be shown as partitions is shown as the payload's JSON.
fn opaque_or(it: &Assignment, payload: Option<&str>) -> String {
    match (it, payload) {
        (Assignment::Opaque, Some(payload)) => payload.to_owned(),
        _ => assignment(it),
    }
}

/// As Kafka's commands render it: `topic:0,1;topic2:0`, `ACTIVE: 0:[0,2]; 1:[0]; STANDBY: 1:[4]`.
pub fn assignment(it: &Assignment) -> String {
    let shown = match it {
        Assignment::Topics(topics) => topics.iter().map(topic).collect::<Vec<_>>().join(";"),
        Assignment::Tasks { active, standby, warmup } => {
            let kinds = [("ACTIVE", active), ("STANDBY", standby), ("WARMUP", warmup)];
            let kinds = kinds.iter().filter(|(_, tasks)| !tasks.is_empty());
            kinds.map(|(name, all)| format!("{name}: {}", tasks(all))).collect::<Vec<_>>().join("; ")
        }
        Assignment::Opaque => String::new(),
    };
    if shown.is_empty() { "-".to_owned() } else { shown }
}

fn tasks(tasks: &[Tasks]) -> String {
    let each = |it: &Tasks| format!("{}:[{}]", visible(&it.subtopology_id), numbers(&it.partitions));
    tasks.iter().map(each).collect::<Vec<_>>().join("; ")
}

fn topic(it: &TopicPartitions) -> String {
    let name = match (&it.topic, it.topic_id) {
        (Some(name), _) => visible(name),
        (None, Some(id)) => uuid(id),
        (None, None) => "?".to_owned(),
    };
    format!("{name}:{}", numbers(&it.partitions))
}

fn numbers(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}
