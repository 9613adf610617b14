//! `groups`: which groups exist.

use super::Outcome;
use crate::cli::args::{GroupOrder, GroupsArgs, KindChoice, StateChoice, TextFormat};
use crate::cli::render::{document, group_json, group_table};
use crate::cli::select::GroupFilter;
use crate::cli::state::load_all;
use crate::cli::talk::Context;
use crate::escape::named;
use crate::model::view::{Group, GroupState, GroupType};
use anyhow::Result;

/// Runs it.
pub fn run(args: &GroupsArgs, context: &mut Context) -> Result<Outcome> {
    let filter = GroupFilter::new(&args.choice)?;
    let states = load_all(&args.input, &args.moments, &|group| filter.matches(group), context)?;
    let mut groups = Vec::new();
    states.each_group(|loaded, group| {
        if asked_for(args, &group, states.now) {
            groups.push((loaded.partition.number, group));
        }
        Ok(())
    })?;
    sort(&mut groups, args.sort);
    let text = match args.format {
        TextFormat::Table => group_table::list(&groups).text(context.looks()),
        TextFormat::Csv => group_table::list(&groups).csv(),
        TextFormat::Json | TextFormat::Jsonl => {
            document(args.format, groups.iter().map(|(partition, group)| group_json::group(*partition, group, None)))
        }
    };
    context.out.all(text.as_bytes())?;
    Ok(if states.in_doubt() { Outcome::Findings } else { Outcome::Clean })
}

fn asked_for(args: &GroupsArgs, group: &Group, now: i64) -> bool {
    let kind = |choice: &KindChoice| group.kind == kind_of(*choice);
    let state = |choice: &StateChoice| group.state == state_of(*choice);
    let topic = |name: &std::ffi::OsString| has_topic(group, &named(name.as_encoded_bytes()));
    let member = |id: &std::ffi::OsString| {
        let id = named(id.as_encoded_bytes());
        group.members.iter().any(|member| member.id == id)
    };
    let silent = |span: i64| group.last_commit().is_none_or(|last| last <= now.saturating_sub(span));
    (args.kind.is_empty() || args.kind.iter().any(kind))
        && (args.state.is_empty() || args.state.iter().any(state))
        && (args.topic.is_empty() || args.topic.iter().any(topic))
        && (args.member.is_empty() || args.member.iter().any(member))
        && args.inactive_for.is_none_or(silent)
}

fn has_topic(group: &Group, topic: &[u8]) -> bool {
    let subscribed = || group.members.iter().flat_map(|member| member.subscribed_topics.iter().flatten());
    group.offsets.iter().any(|offset| offset.topic == topic) || subscribed().any(|name| name == topic)
}

fn kind_of(choice: KindChoice) -> GroupType {
    match choice {
        KindChoice::Classic => GroupType::Classic,
        KindChoice::Consumer => GroupType::Consumer,
        KindChoice::Share => GroupType::Share,
        KindChoice::Streams => GroupType::Streams,
    }
}

fn state_of(choice: StateChoice) -> GroupState {
    match choice {
        StateChoice::Empty => GroupState::Empty,
        StateChoice::Stable => GroupState::Stable,
        StateChoice::Assigning => GroupState::Assigning,
        StateChoice::Reconciling => GroupState::Reconciling,
        StateChoice::NotReady => GroupState::NotReady,
    }
}

fn sort(groups: &mut [(Option<i32>, Group)], order: GroupOrder) {
    use std::cmp::Reverse;
    match order {
        GroupOrder::Partition => groups.sort_by(|(p, a), (q, b)| (p, &a.name).cmp(&(q, &b.name))),
        GroupOrder::Name => groups.sort_by(|(p, a), (q, b)| (&a.name, p).cmp(&(&b.name, q))),
        GroupOrder::Members => groups.sort_by_key(|(_, group)| Reverse(group.members.len())),
        GroupOrder::Offsets => groups.sort_by_key(|(_, group)| Reverse(group.offsets.len())),
        GroupOrder::LastCommit => groups.sort_by_key(|(_, group)| group.last_commit()),
    }
}
