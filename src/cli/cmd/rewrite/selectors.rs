//! Options that name something: whether anything in the logs is what they name, and whether they contradict each other.
//!
//! Must not know: what becomes of what they name.

use crate::cli::Usage;
use crate::cli::args::RewriteArgs;
use crate::cli::render::name::visible;
use crate::cli::select::GroupPattern;
use crate::escape::{is_wildcard, named};
use crate::rewrite::edit::drops::Names;
use crate::rewrite::edit::wish::Wish;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An option's value that names something.
pub(super) struct Selector {
    option: &'static str,
    value: String,
    /// More to say if it met nothing.
    hint: &'static str,
    met: Arc<AtomicBool>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Selectors(Vec<Selector>);

/// An option that met nothing, or will come to nothing, and what that means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// What is the matter: `unmatched`, `expires-at-once`, or `share-group`.
    pub kind: &'static str,
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// In words.
    pub message: String,
}

impl Selectors {
    /// One more, of which it is noted whether it met something.
    pub fn watch(&mut self, option: &'static str, value: &str, met: Arc<AtomicBool>, hint: &'static str) {
        let value = if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        self.0.push(Selector { option, value, hint, met });
    }

    /// Groups by name or glob.
    pub fn groups(&mut self, option: &'static str, patterns: &[OsString]) -> Result<Option<Names>> {
        let patterns = patterns
            .iter()
            .map(|text| {
                let pattern = GroupPattern::name_or_glob(text).map_err(Usage)?;
                Ok((pattern, self.of_text(option, &text.to_string_lossy())))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(any_of(patterns, |pattern, name| pattern.matches(name)))
    }

    /// Topics by name.
    pub fn topics(&mut self, option: &'static str, topics: &[OsString]) -> Option<Names> {
        let topics = topics
            .iter()
            .map(|text| (named(text.as_encoded_bytes()), self.of_text(option, &text.to_string_lossy())))
            .collect();
        any_of(topics, |topic: &Vec<u8>, name| topic == name)
    }

    fn of_text(&mut self, option: &'static str, text: &str) -> Arc<AtomicBool> {
        let met = Arc::<AtomicBool>::default();
        let hint = match (option, text.bytes().any(is_wildcard)) {
            (_, false) => "",
            ("--drop-topic", true) => "; a topic is taken by its name, not as a glob",
            (_, true) => "; it is a glob: a backslash takes one of * ? [ ] { } as it is",
        };
        self.watch(option, text, met.clone(), hint);
        met
    }

    /// Whether none of an option's values met anything, and there is one.
    pub fn all_unmet(&self, option: &str) -> bool {
        let mut of_it = self.0.iter().filter(|it| it.option == option).peekable();
        of_it.peek().is_some() && of_it.all(|it| !it.met.load(Ordering::Relaxed))
    }

    /// Those that met nothing.
    pub fn unmet(&self) -> impl Iterator<Item = Unmet> {
        self.0.iter().filter(|it| !it.met.load(Ordering::Relaxed)).map(|it| Unmet {
            kind: "unmatched",
            option: it.option,
            value: it.value.clone(),
            message: format!("{} {}: nothing in the log is called that{}", it.option, it.value, it.hint),
        })
    }
}

/// Whether any of several names is meant; each that is, is noted.
fn any_of<P: Send + Sync + 'static>(
    all: Vec<(P, Arc<AtomicBool>)>,
    is: impl Fn(&P, &[u8]) -> bool + Send + Sync + 'static,
) -> Option<Names> {
    if all.is_empty() {
        return None;
    }
    Some(Box::new(move |name: &[u8]| {
        let mut any = false;
        for (pattern, met) in &all {
            let was_met = met.load(Ordering::Relaxed);
            if !(any && was_met) && is(pattern, name) {
                any = true;
                met.store(true, Ordering::Relaxed);
            }
        }
        any
    }))
}

/// What a rename means that met nothing.
pub(super) fn rename_hint(old: &[u8]) -> &'static str {
    if old.iter().copied().any(is_wildcard) { "; a rename takes a name, not a glob" } else { "" }
}

/// Options that want two things at once.
pub(super) fn refuse_contradictions(args: &RewriteArgs) -> Result<()> {
    let (dropping, naming) = (&args.dropping, &args.naming);
    let refuse = |text: String| -> Result<()> { bail!(Usage(text)) };
    let names = |all: &[OsString]| all.iter().map(|it| named(it.as_encoded_bytes())).collect::<BTreeSet<_>>();
    let (dropped, kept) = (names(&dropping.drop_group), names(&dropping.keep_group));
    if let Some(group) = dropped.intersection(&kept).next() {
        return refuse(format!("the group '{}' cannot be dropped and kept at once", visible(group)));
    }
    if let (Some(out), Some(log)) = (&args.out, &args.log)
        && log.starts_with(out)
    {
        return refuse(format!("--log {}: it cannot be in the new log dir; put it beside", log.display()));
    }
    let topics = names(&dropping.drop_topic);
    let renamed = |pairs: &[(Vec<u8>, Vec<u8>)], dropped: &BTreeSet<Vec<u8>>| {
        pairs.iter().find(|(old, _)| dropped.contains(old)).map(|(old, _)| visible(old))
    };
    if let Some(group) = renamed(&naming.rename_group, &dropped) {
        return refuse(format!("the group '{group}' cannot be dropped and renamed at once"));
    }
    if let Some(topic) = renamed(&naming.rename_topic, &topics) {
        return refuse(format!("the topic '{topic}' cannot be dropped and renamed at once"));
    }
    refuse_two_offsets(&naming.set_offset).map_err(|text| Usage(text).into())
}

/// Of one key, two offsets.
pub(super) fn refuse_two_offsets(wishes: &[Wish]) -> std::result::Result<(), String> {
    let mut seen: BTreeMap<(&[u8], &[u8], i32), i64> = BTreeMap::new();
    for wish in wishes {
        let before = seen.insert(wish.key(), wish.offset);
        if let Some(before) = before.filter(|before| *before != wish.offset) {
            return Err(format!("two offsets for {}: {before} and {}", wish.words(), wish.offset));
        }
    }
    Ok(())
}
