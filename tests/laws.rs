//! Laws of replay: made-up histories, written as segment files in many shapes, replayed by the program and by a naive
//! model that is written differently. Both must end in the same groups.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/histories.rs"]
mod histories;
#[path = "common/naive.rs"]
mod naive;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grouplog::cli::render::group_json;
use grouplog::model::assemble::Groups;
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::replay::{Helper, State};
use grouplog::model::rules::{Release, Rules};
use grouplog::model::topics::Topics;
use grouplog::schema::wire::Uuid;
use histories::*;
use naive::{Coordinator, Event, Naive, Strictness, Told, What};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Histories of records in any order.
const ANY_ORDER: u64 = 3_000;
/// Histories of groups that live by their protocols.
const BY_THE_RULES: u64 = 600;
/// In milliseconds.
const RETENTION: i64 = 1_000;

/// What the cleaner may leave: of every key the last record, and any of the others; tombstones may go once they have
/// nothing before them. Transactions are left alone.
fn cleaned(dice: &mut Dice, events: &[Event]) -> Vec<Event> {
    let key_of = |event: &Event| match &event.what {
        What::Data { key: Some(key), value, .. } => Some((key.clone(), value.is_some())),
        _ => None,
    };
    let upto = dice.below(events.len() + 1);
    let (head, tail) = events.split_at(upto);
    let mut last = BTreeMap::new();
    for (i, event) in head.iter().enumerate() {
        if let Some((key, _)) = key_of(event) {
            last.insert(key, i);
        }
    }
    let stays = |(i, event): (usize, &Event)| {
        let (key, has_value) = key_of(event)?;
        (last.get(&key) == Some(&i) && (has_value || dice.one_in(2))).then(|| event.clone())
    };
    head.iter().enumerate().filter_map(stays).chain(tail.iter().cloned()).collect()
}

// Reading them back.

struct Ask<'a> {
    until: Until,
    log_start: Option<i64>,
    coordinator: Coordinator,
    wanted: &'a (dyn Fn(&[u8]) -> bool + Sync),
}

const ALL: Ask<'static> = Ask { until: Until::End, log_start: None, coordinator: Coordinator::New, wanted: &|_| true };

fn replay(paths: &[PathBuf], ask: &Ask<'_>) -> State {
    let release = match ask.coordinator {
        Coordinator::New => Release::NEWEST,
        Coordinator::Old => Release { major: 3, minor: 9 },
    };
    let how = Loading {
        rules: Rules::of(release),
        until: ask.until,
        log_start: ask.log_start,
        max_inflated: 1 << 20,
        helper: Helper::None,
        wanted: ask.wanted,
    };
    load(paths, &how, &mut |_| {}).unwrap()
}

fn topics_of(state: &State) -> Topics {
    let mut topics = Topics::default();
    Groups::of(state).learn_topics(&mut topics);
    topics
}

/// As `describe --format json` shows them, without what the naive model does not look at.
fn shown(state: &State, topics: &Topics) -> BTreeMap<String, Value> {
    let groups = Groups::of(state);
    let shown = groups.names().filter_map(|name| groups.group(name, topics)).map(|group| {
        assert!(!group.is_shell(), "{group:?}");
        let mut json = group_json::group(None, &group, Some(RETENTION));
        let object = json.as_object_mut().unwrap();
        object.shift_remove("oddities");
        object["uncertain"] = Value::from(group.uncertain.is_some());
        for member in json["members"].as_array_mut().unwrap() {
            member.as_object_mut().unwrap().shift_remove("embedded");
        }
        (json["group"].as_str().unwrap().to_owned(), json)
    });
    shown.collect()
}

fn name_in<'t>(topics: &'t Topics) -> impl Fn(&str) -> Option<String> + 't {
    |id| {
        let id = URL_SAFE_NO_PAD.decode(id).unwrap().try_into().unwrap();
        topics.name(Uuid(id)).map(|name| String::from_utf8(name.to_vec()).unwrap())
    }
}

fn assert_same(ours: &BTreeMap<String, Value>, theirs: &BTreeMap<String, Value>, what: &str) {
    if ours == theirs {
        return;
    }
    for name in ours.keys().chain(theirs.keys()) {
        let (a, b) = (ours.get(name), theirs.get(name));
        let Some((a, b)) = a.zip(b) else { panic!("{what}: group {name:?}: ours {a:?}, naive {b:?}") };
        let fields = a.as_object().unwrap().keys().chain(b.as_object().unwrap().keys());
        for field in fields {
            assert_eq!(a.get(field), b.get(field), "{what}: {field} of {name:?} (left ours, right naive)");
        }
    }
    panic!("{what}: {ours:?} and {theirs:?}");
}

/// The laws, for one history.
struct Trial<'t> {
    dice: &'t mut Dice,
    events: &'t [Event],
    told: Vec<Told>,
    strictness: Strictness,
    what: String,
}

impl<'t> Trial<'t> {
    fn new(dice: &'t mut Dice, events: &'t [Event], strictness: Strictness, seed: u64) -> Self {
        let told = events.iter().map(Told::of).collect();
        Trial { dice, events, told, strictness, what: format!("seed {seed}") }
    }

    fn naive(&self, ask: &Ask<'_>, last: i64) -> Naive {
        let first = ask.log_start.unwrap_or(i64::MIN);
        let events = self.told.iter().filter(|event| event.offset >= first && event.offset <= last);
        // A cut in front takes away what the rules ask for.
        let strictness = if ask.log_start.is_some() { Strictness::AnyOrder } else { self.strictness };
        Naive::of(events, ask.coordinator, strictness)
    }

    /// That a replay of the files gives what the naive model says of the events up to `last`.
    fn holds(&self, paths: &[PathBuf], ask: &Ask<'_>, last: i64, law: &str) {
        let state = replay(paths, ask);
        let topics = topics_of(&state);
        let naive = self.naive(ask, last);
        let what = format!("{}, {law}", self.what);
        assert_same(&shown(&state, &topics), &naive.groups(RETENTION, &name_in(&topics)), &what);
        let known = naive.topic_names();
        assert_eq!(known.len(), topics.len(), "{what}");
        for (id, names) in known {
            assert!(names.contains(&name_in(&topics)(&id).unwrap()), "{what}: topic {id}");
        }
    }

    fn offset(&mut self) -> i64 {
        let (first, last) = (self.events[0].offset, self.events[self.events.len() - 1].offset);
        first - 1 + self.dice.below((last - first + 3) as usize) as i64
    }

    fn run(&mut self, transactions: bool) {
        let shapes: &[Shape] = if transactions {
            &[Shape::Magic(2), Shape::Magic(2)]
        } else {
            &[Shape::Magic(0), Shape::Magic(1), Shape::Mixed, Shape::Magic(2)]
        };
        for shape in shapes {
            let (_folder, paths) = write(self.dice, self.events, *shape);
            self.holds(&paths, &ALL, i64::MAX, &format!("{shape:?}"));
        }
        let (_folder, paths) = write(self.dice, self.events, Shape::Magic(2));
        self.old_rules(&paths);
        self.up_to_an_offset(&paths);
        self.up_to_a_time(&paths);
        self.behind_the_log_start(&paths);
        self.one_group(&paths);
    }

    fn old_rules(&mut self, paths: &[PathBuf]) {
        self.holds(paths, &Ask { coordinator: Coordinator::Old, ..ALL }, i64::MAX, "old rules");
    }

    fn up_to_an_offset(&mut self, paths: &[PathBuf]) {
        let last = self.offset();
        self.holds(paths, &Ask { until: Until::Offset(last), ..ALL }, last, &format!("up to {last}"));
        let before: Vec<_> = self.events.iter().filter(|event| event.offset <= last).cloned().collect();
        let (_folder, cut) = write(self.dice, &before, Shape::Magic(2));
        self.holds(&cut, &ALL, last, &format!("cut behind {last}"));
    }

    fn up_to_a_time(&mut self, paths: &[PathBuf]) {
        let time = 990 + self.dice.below(520) as i64;
        let last = self.events.iter().rfind(|event| event.timestamp <= time).map_or(i64::MIN, |event| event.offset);
        self.holds(paths, &Ask { until: Until::Time(time), ..ALL }, last, &format!("up to time {time}"));
    }

    fn behind_the_log_start(&mut self, paths: &[PathBuf]) {
        let start = self.offset();
        self.holds(paths, &Ask { log_start: Some(start), ..ALL }, i64::MAX, &format!("from {start}"));
    }

    fn one_group(&mut self, paths: &[PathBuf]) {
        let name = *self.dice.pick(GROUPS);
        let whole = replay(paths, &ALL);
        let topics = topics_of(&whole);
        let all = shown(&whole, &topics);
        let one = shown(&replay(paths, &Ask { wanted: &|group| group == name, ..ALL }), &topics);
        let name = grouplog::cli::render::name::lossless(name);
        let expected: BTreeMap<_, _> = all.into_iter().filter(|(group, _)| *group == name).collect();
        assert_same(&one, &expected, &format!("{}, group {name:?} alone", self.what));
    }
}

#[test]
fn records_in_any_order() {
    let (mut records, mut transactional) = (0, 0);
    for seed in 0..ANY_ORDER {
        let mut dice = Dice::new(seed);
        let (events, kind) = any_order(&mut dice);
        records += events.len();
        transactional += u64::from(kind.transactions);
        Trial::new(&mut dice, &events, Strictness::AnyOrder, seed).run(kind.transactions);
    }
    println!("{ANY_ORDER} histories of {records} records, {transactional} with transactions: all laws hold");
}

#[test]
fn groups_by_the_rules() {
    let mut records = 0;
    for seed in 0..BY_THE_RULES {
        let mut dice = Dice::new(seed);
        let (events, transactions) = by_the_rules(&mut dice);
        if events.is_empty() {
            continue;
        }
        records += events.len();
        Trial::new(&mut dice, &events, Strictness::ByTheRules, seed).run(transactions);
        if !transactions {
            cleaning_changes_nothing(&mut dice, &events, seed);
        }
    }
    println!("{BY_THE_RULES} histories of {records} records by the groups' own rules: all laws hold");
}

/// A cleaned log gives the groups of the whole one.
fn cleaning_changes_nothing(dice: &mut Dice, events: &[Event], seed: u64) {
    let cleaned = cleaned(dice, events);
    let (_folder, paths) = write(dice, &cleaned, Shape::Magic(2));
    let state = replay(&paths, &ALL);
    let topics = topics_of(&state);
    let told: Vec<_> = events.iter().map(Told::of).collect();
    let naive = Naive::of(told.iter(), Coordinator::New, Strictness::ByTheRules);
    assert_same(&shown(&state, &topics), &naive.groups(RETENTION, &name_in(&topics)), &format!("seed {seed}, cleaned"));
}
