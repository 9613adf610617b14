//! What was damaged in a log that is compacted or rewritten: text, and JSON objects.
//!
//! Must not know: how it was found, and what becomes of what is sound.

use super::salvage::Told;
use super::salvage_text;
use crate::log::mend::Change;
use crate::rewrite::report::{Gravity, Incident, Outcome};
use crate::rewrite::salvage::Salvage;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// What was found in a partition that is not simply taken over.
#[derive(Debug, Default)]
pub struct Found {
    /// Stretches, in the order of the log.
    pub stretches: Vec<Stretch>,
    /// Keys and markers that are lost, as `salvage` tells of them.
    objects: Vec<Value>,
    /// The same for people.
    lines: String,
}

/// A stretch that was left out or put right.
#[derive(Debug)]
pub struct Stretch {
    /// Its partition.
    pub partition: i32,
    /// Its file's name.
    pub segment: String,
    /// What is wrong.
    pub incident: Incident,
}

impl Found {
    /// Of what was found in a log, whose losses are settled.
    ///
    /// # Errors
    /// None: nothing is written.
    pub fn of(partition: i32, path: &Path, salvage: &Salvage) -> io::Result<Found> {
        let stretch = |it: &Incident| Stretch {
            partition,
            segment: salvage.sources.name(it.source).to_owned(),
            incident: it.clone(),
        };
        let told = Told {
            partition,
            path,
            salvage,
            unlisted: None,
            broken: Vec::new(),
            set_aside: Vec::new(),
            back: Vec::new(),
            unreadable: Vec::new(),
            done: None,
            verdict: None,
        };
        let mut lines = Vec::new();
        salvage_text::losses(&told, &mut lines)?;
        Ok(Found {
            stretches: salvage.log.incidents.iter().map(stretch).collect(),
            objects: told.losses().collect(),
            lines: String::from_utf8_lossy(&lines).into_owned(),
        })
    }

    /// Without keys, which name groups: for a log whose names nobody else should see.
    pub fn without_names(self) -> Found {
        Found { objects: Vec::new(), lines: String::new(), ..self }
    }

    /// Takes up what was found in another partition.
    pub fn extend(&mut self, other: Found) {
        self.stretches.extend(other.stretches);
        self.objects.extend(other.objects);
        self.lines.push_str(&other.lines);
    }

    /// Stretches so bad.
    pub fn of_gravity(&self, gravity: Gravity) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(move |it| it.incident.gravity() == gravity)
    }

    /// How many stretches are damaged.
    pub fn damaged(&self) -> usize {
        self.of_gravity(Gravity::Damage).count()
    }

    /// How many were put right, of which nothing is lost.
    pub fn put_right(&self) -> usize {
        self.of_gravity(Gravity::Warning).count()
    }

    /// Whether there is anything worth an exit status of its own.
    pub fn is_any(&self) -> bool {
        self.stretches.iter().any(|it| it.incident.gravity() != Gravity::Normal)
    }

    /// Whether the end of the log is torn, which a broker cuts off when it starts.
    pub fn is_torn(&self) -> bool {
        self.stretches.iter().any(|it| it.incident.outcome == Outcome::Normal)
    }

    /// Writes text for people.
    ///
    /// # Errors
    /// If `to` cannot be written to.
    pub fn text(&self, to: &mut dyn Write) -> io::Result<()> {
        for stretch in &self.stretches {
            let what = match stretch.incident.gravity() {
                Gravity::Normal if stretch.incident.outcome == Outcome::Split => {
                    "put into a new segment, as a broker would"
                }
                Gravity::Normal => "left out, as a broker does when it starts",
                Gravity::Warning => "put right",
                Gravity::Damage => "damaged",
            };
            let outcome = match stretch.incident.gravity() {
                Gravity::Damage => format!(", {}", stretch.incident.outcome.name()),
                _ => String::new(),
            };
            writeln!(to, "  {what}{outcome}: {}", stretch.words())?;
        }
        to.write_all(self.lines.as_bytes())
    }

    /// Shows an object for each stretch, lost key and lost marker.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn objects(&self, each: &mut dyn FnMut(Value) -> io::Result<()>) -> io::Result<()> {
        self.stretches.iter().try_for_each(|it| each(it.object()))?;
        self.objects.iter().try_for_each(|it| each(it.clone()))
    }
}

impl Stretch {
    /// In words.
    pub fn words(&self) -> String {
        let Incident { position, message, .. } = &self.incident;
        format!("partition {}, {} at byte {position}: {message}", self.partition, self.segment)
    }

    fn object(&self) -> Value {
        let Incident { position, length, code, message, first, last, outcome, .. } = &self.incident;
        let (kept, lost) = match outcome {
            Outcome::Partly { kept, lost } | Outcome::Doubtful { kept, lost } => (json!(kept), json!(lost)),
            _ => (Value::Null, Value::Null),
        };
        let change = |it: &Change| json!({"at": position + u64::from(it.at), "old": it.old, "new": it.new});
        let changes = match outcome {
            Outcome::Mended(changes) => changes.iter().map(change).collect(),
            _ => Value::Null,
        };
        let kind = match self.incident.gravity() {
            Gravity::Normal => "torn-tail",
            Gravity::Warning => "put-right",
            Gravity::Damage => "damage",
        };
        json!({
            "kind": kind,
            "partition": self.partition,
            "segment": self.segment,
            "position": position,
            "length": length,
            "code": code,
            "message": message,
            "firstOffset": first,
            "lastOffset": last,
            "outcome": outcome.name(),
            "keptRecords": kept,
            "lostRecords": lost,
            "changes": changes,
        })
    }
}
