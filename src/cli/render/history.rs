//! Stories as tables: a legend of the members, then what happened, one line each and the particulars below it.
//!
//! Must not know: how events are told in words ([`super::history_words`]).

use super::history_words::{Names, headline, particulars};
use super::name::visible;
use super::table::{Looks, Table};
use super::wrap::lines;
use crate::cli::time::rfc3339;
use crate::model::history::event::{Event, Story, What};
use crate::model::view::Member;
use std::collections::BTreeMap;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fullness {
    /// Long lists are cut.
    Usual,
    /// All.
    Everything,
}

/// However narrow the terminal is, what happened has this many columns.
const LEAST_WIDTH: usize = 24;
/// Ids up to this long stand for themselves.
const SHORT: usize = 12;

/// Stories for people.
pub fn tables(stories: &[(Option<i32>, Story)], fullness: Fullness, looks: Looks) -> String {
    let mut text = String::new();
    for (i, (partition, story)) in stories.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        let members = members_of(story);
        let names = Names::new(members.iter().map(|member| member.id.as_slice()), SHORT, fullness);
        text.push_str(&head(*partition, story));
        text.push_str(&legend(&members, &names, looks));
        text.push('\n');
        text.push_str(&table(story, &names, looks).text(looks));
    }
    text
}

fn head(partition: Option<i32>, story: &Story) -> String {
    let partition = partition.map_or_else(String::new, |it| format!(", partition {it}"));
    let kind = story.kind.map_or("offsets only", |kind| kind.name());
    format!("GROUP {}  ({kind}{partition})\n", visible(&story.group))
}

/// Every member that a story names, in the order of their coming.
fn members_of(story: &Story) -> Vec<&Member> {
    let mut known: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut members: Vec<&Member> = Vec::new();
    for event in &story.events {
        let What::Turn(turn) = &event.what else { continue };
        let mut steps: Vec<_> = turn.members.iter().filter_map(|it| it.after.as_ref().or(it.before.as_ref())).collect();
        // Those that come together, by what people call them.
        steps.sort_by(|a, b| (&a.client_id, &a.id).cmp(&(&b.client_id, &b.id)));
        for member in steps {
            match known.get(member.id.as_slice()).and_then(|at| members.get_mut(*at)) {
                // A record of its own may come after others about it.
                Some(at) if at.client_id.is_empty() => *at = member,
                Some(_) => {}
                None => {
                    known.insert(&member.id, members.len());
                    members.push(member);
                }
            }
        }
    }
    members
}

fn legend(members: &[&Member], names: &Names, looks: Looks) -> String {
    let most = looks.width.map_or(usize::MAX, usize::from);
    let rows: Vec<_> = members.iter().map(|member| (names.of(&member.id), about(member, names))).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = rows.iter().flat_map(|(name, about)| wrapped(&format!("{name:width$}  {about}"), 2, most));
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn about(member: &Member, names: &Names) -> String {
    let mut about = Vec::new();
    if names.of(&member.id) != visible(&member.id) {
        about.push(visible(&member.id));
    }
    if let Some(instance) = &member.instance_id {
        about.push(format!("static {}", visible(instance)));
    }
    if !member.client_id.is_empty() {
        about.push(format!("client {}", visible(&member.client_id)));
    }
    if !member.client_host.is_empty() {
        about.push(format!("at {}", visible(&member.client_host)));
    }
    if let Some(rack) = &member.rack_id {
        about.push(format!("rack {}", visible(rack)));
    }
    about.join("  ")
}

fn table(story: &Story, names: &Names, looks: Looks) -> Table {
    let mut table = Table::new(&["TIME (UTC)", "OFFSET", "WHAT"]);
    let rest = width_of_what(story, looks);
    let mut day = String::new();
    for event in &story.events {
        let (date, time) = day_and_time(event.timestamp);
        if !date.is_empty() && date != day {
            table.row(vec![date.clone(), String::new(), String::new()]);
            day = date;
        }
        let mut first = Some((time, offsets(event)));
        let mut lines = wrapped(&headline(event, names), 0, rest);
        particulars(event, names).iter().for_each(|line| lines.extend(wrapped(line, 2, rest)));
        for line in lines {
            let (time, offsets) = first.take().unwrap_or_default();
            table.row(vec![time, offsets, line]);
        }
    }
    table
}

/// Columns that are left for what happened.
fn width_of_what(story: &Story, looks: Looks) -> usize {
    let Some(width) = looks.width else { return usize::MAX };
    let longest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let times = longest(&mut story.events.iter().map(|event| day_and_time(event.timestamp).1)).max("TIME (UTC)".len());
    let offsets = longest(&mut story.events.iter().map(offsets)).max("OFFSET".len());
    // Two blanks behind each column.
    usize::from(width).saturating_sub(times + offsets + 6).max(LEAST_WIDTH)
}

/// Breaks a line at blanks, so that what goes on stands deeper than where it began.
fn wrapped(line: &str, indent: usize, width: usize) -> Vec<String> {
    let indents = std::iter::once(indent).chain(std::iter::repeat(indent + 2));
    indents.zip(lines(line, indent, indent + 2, width)).map(|(indent, line)| format!("{:indent$}{line}", "")).collect()
}

/// `2026-11-29` and `21:44:36.568`; no day where there is no time.
fn day_and_time(millis: i64) -> (String, String) {
    let text = rfc3339(millis);
    match text.strip_suffix('Z').and_then(|text| text.split_once('T')) {
        Some((day, time)) => (day.to_owned(), time.to_owned()),
        None => (String::new(), text),
    }
}

fn offsets(event: &Event) -> String {
    match event.what {
        What::Gap(_) => "-".to_owned(),
        _ if event.offset == event.last_offset => event.offset.to_string(),
        _ => format!("{}-{}", event.offset, event.last_offset),
    }
}

/// Stories for programs: an event a row, members by their full ids.
pub fn csv(stories: &[(Option<i32>, Story)]) -> String {
    let head = ["PARTITION", "GROUP", "TIME", "LAST-TIME", "OFFSET", "LAST-OFFSET", "EVENT", "WHAT"];
    let mut table = Table::new(&head);
    let names = Names::new(std::iter::empty(), SHORT, Fullness::Everything);
    for (partition, story) in stories {
        for event in &story.events {
            let mut what = vec![headline(event, &names)];
            what.extend(particulars(event, &names));
            table.row(vec![
                partition.map_or_else(|| "-".to_owned(), |it| it.to_string()),
                visible(&story.group),
                rfc3339(event.timestamp),
                rfc3339(event.last_timestamp),
                event.offset.to_string(),
                event.last_offset.to_string(),
                super::history_json::name(&event.what).to_owned(),
                what.join("; "),
            ]);
        }
    }
    table.csv()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(wrapped("one two three", 2, 9), ["  one two", "    three"]);
        assert_eq!(wrapped("longer-than-it-may-be x", 0, 9), ["longer-than-it-may-be", "  x"]);
        assert_eq!(wrapped("", 0, 9), [""]);
    }
}
