//! Events in order, where many steps in a short time become one: a rebalance that never ends would drown everything else.
//!
//! Must not know: how events are found, and how they are printed.

use super::event::{Event, Fate, Storm, Turn, What};
use std::collections::HashMap;

/// More steps than this in a row are a storm.
const CALM: u64 = 20;
/// Steps are in a row while no more than this lies between two of them, in milliseconds.
const LULL: i64 = 60_000;

/// Whether storms are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storms {
    /// Into one event.
    Folded,
    /// Every step is told.
    Told,
}

/// Collects events.
#[derive(Debug)]
pub struct Folder {
    events: Vec<Event>,
    storms: Storms,
    /// Where the present row of steps begins.
    row_from: usize,
    /// Steps in it, and the time of the last one.
    turns: u64,
    last: i64,
    /// Whether the last event is a storm that goes on, and how often each client came or went in it.
    raging: Option<HashMap<Vec<u8>, u64>>,
}

impl Folder {
    /// Nothing yet.
    pub fn new(storms: Storms) -> Self {
        Folder { events: Vec::new(), storms, row_from: 0, turns: 0, last: -1, raging: None }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Events from a number on.
    pub fn since(&mut self, from: usize) -> &mut [Event] {
        self.events.get_mut(from..).unwrap_or_default()
    }

    /// Adds one.
    pub fn push(&mut self, event: Event) {
        if self.storms == Storms::Told {
            return self.events.push(event);
        }
        let same_side = self.events.last().is_none_or(|last| last.inside == event.inside);
        let fits = same_side
            && match &event.what {
                What::Turn(turn) => {
                    is_usual(turn) && (self.turns == 0 || event.timestamp.saturating_sub(self.last) <= LULL)
                }
                What::Commits(_) => true,
                _ => false,
            };
        if !fits {
            self.calm();
        }
        let (turn, usual) = match &event.what {
            What::Turn(turn) => (is_new(turn), is_usual(turn)),
            What::Commits(_) => (false, true),
            _ => (false, false),
        };
        if turn {
            self.turns += 1;
            self.last = event.last_timestamp;
        }
        if let (Some(clients), Some(storm)) = (&mut self.raging, self.events.last_mut()) {
            return absorb(storm, clients, &event);
        }
        self.events.push(event);
        if !usual {
            self.calm();
        } else if self.turns > CALM {
            self.rage();
        }
    }

    /// The row is over.
    fn calm(&mut self) {
        if let (Some(clients), Some(Event { what: What::Storm(storm), .. })) =
            (self.raging.take(), self.events.last_mut())
        {
            storm.clients = clients.into_iter().collect();
            storm.clients.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        self.row_from = self.events.len();
        self.turns = 0;
    }

    /// The row becomes a storm.
    fn rage(&mut self) {
        let row: Vec<_> = self.events.drain(self.row_from..).collect();
        // Commits before the first step stay what they are.
        let first = row.iter().position(|event| matches!(event.what, What::Turn(_))).unwrap_or(0);
        let mut clients = HashMap::new();
        let mut storm: Option<Event> = None;
        for (i, event) in row.into_iter().enumerate() {
            if i < first {
                self.events.push(event);
                continue;
            }
            let storm = storm.get_or_insert_with(|| Event {
                what: What::Storm(Box::new(Storm {
                    turns: 0,
                    before: match &event.what {
                        What::Turn(turn) => turn.before.clone(),
                        _ => None,
                    },
                    after: None,
                    members: (usize::MAX, 0),
                    joined: 0,
                    left: 0,
                    clients: Vec::new(),
                    commits: 0,
                })),
                ..event.clone()
            });
            absorb(storm, &mut clients, &event);
        }
        self.events.extend(storm);
        self.raging = Some(clients);
    }

    /// All of them, in the order of the log.
    pub fn finish(mut self) -> Vec<Event> {
        self.calm();
        self.events.sort_by_key(|event| event.offset);
        self.events
    }
}

/// Whether a step is one of many: the group was there and stays, with its protocol.
fn is_usual(turn: &Turn) -> bool {
    matches!((&turn.before, &turn.after), (Some(before), Some(after)) if before.kind == after.kind)
}

/// Whether a step begins a generation or an epoch.
fn is_new(turn: &Turn) -> bool {
    let number = |facts: &Option<super::event::Facts>| facts.as_ref().map(|it| (it.generation, it.group_epoch));
    number(&turn.before) != number(&turn.after)
}

fn absorb(storm: &mut Event, clients: &mut HashMap<Vec<u8>, u64>, event: &Event) {
    storm.last_offset = storm.last_offset.max(event.last_offset);
    storm.last_timestamp = event.last_timestamp;
    let What::Storm(storm) = &mut storm.what else { return };
    match &event.what {
        What::Commits(span) => storm.commits += span.commits,
        What::Turn(turn) => {
            storm.turns += u64::from(is_new(turn));
            storm.after.clone_from(&turn.after);
            let members = turn.after.as_ref().map_or(0, |after| after.members);
            storm.members = (storm.members.0.min(members), storm.members.1.max(members));
            for step in &turn.members {
                match step.fate() {
                    Fate::Joined => storm.joined += 1,
                    Fate::Left | Fate::LeftForNow => storm.left += 1,
                    Fate::Stayed => continue,
                }
                let Some(member) = step.after.as_ref().or(step.before.as_ref()) else { continue };
                let client = member.instance_id.as_ref().unwrap_or(&member.client_id);
                if clients.contains_key(client) || clients.len() < Storm::MOST_CLIENTS {
                    *clients.entry(client.clone()).or_default() += 1;
                }
            }
        }
        _ => {}
    }
}
