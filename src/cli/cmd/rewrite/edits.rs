//! From options to edits: what they depend on is looked up in the logs.
//!
//! Must not know: how edits are carried out.

use super::{Job, partition_count};
use crate::cli::Usage;
use crate::cli::input::Partition;
use crate::cli::render::name::visible;
use crate::cli::select::GroupPattern;
use crate::escape::named;
use crate::model::assemble::Groups;
use crate::model::load::{Loading, Until, load};
use crate::model::partitioner::partition_of;
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::rewrite::edit::Edits;
use crate::rewrite::edit::drops::{Drops, Expired, Names};
use crate::rewrite::edit::redact::Redact;
use crate::rewrite::edit::rename::Renames;
use crate::rewrite::edit::set_offset::{Wish, Wishes};
use crate::rewrite::edit::target::Target;
use anyhow::{Context as _, Result};
use std::ffi::OsString;

impl Job<'_> {
    /// All edits of records: what they depend on is looked up in the logs.
    pub(super) fn edits(&mut self, partitions: &[Partition]) -> Result<Edits> {
        let args = self.args;
        let dropping = &args.dropping;
        let renames = Renames::new(args.naming.rename_group.clone(), args.naming.rename_topic.clone());
        let mut edits = Edits {
            drops: Drops {
                groups: names(&dropping.drop_group)?,
                keep: names(&dropping.keep_group)?,
                topics: dropping.drop_topic.iter().map(|topic| named(topic.as_encoded_bytes())).collect(),
                types: dropping.drop_type.iter().copied().collect(),
                log_starts: partitions.iter().map(|partition| self.log_start(partition)).collect(),
                ..Drops::default()
            },
            renames: renames.map_err(Usage)?,
            target: args.framing.target.map(Target),
            redact: self.redact()?,
            ..Edits::default()
        };
        let mut wishes = Wishes::new(self.wishes()?);
        if !dropping.drop_expired && wishes.is_empty() {
            self.before += partitions.iter().map(Partition::bytes).sum::<u64>();
            return Ok(edits);
        }
        for (feed, partition) in partitions.iter().enumerate() {
            let state = self.state(partition, &edits, &wishes)?;
            if dropping.drop_expired {
                edits.drops.expired.push(self.expired(partition, &state));
            }
            wishes.look(feed, &state, &edits.drops, &edits.renames);
        }
        for wish in &wishes.pending {
            self.context.note(&format!(
                "group '{}', {}/{}: a transaction that has not ended holds a commit; if it is committed, that replaces the \
                 offset {} that is set",
                visible(&wish.group),
                visible(&wish.topic),
                wish.partition,
                wish.offset
            ));
        }
        let count = self.args.framing.partitions;
        edits.set_offsets = wishes.settle(self.now(), |group| match count {
            Some(_) => Ok(0),
            None => home(group, partitions),
        })?;
        Ok(edits)
    }

    fn redact(&self) -> Result<Option<Redact>> {
        if !self.args.redact {
            return Ok(None);
        }
        let seed = match &self.args.seed {
            Some(seed) => seed.as_bytes().to_vec(),
            None => random()?,
        };
        Ok(Some(Redact::new(&seed)))
    }

    fn wishes(&self) -> Result<Vec<Wish>> {
        let naming = &self.args.naming;
        let mut wishes = Vec::new();
        if let Some(path) = &naming.offsets_from {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            wishes.extend(Wish::read_all(&text).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?);
        }
        // What stands on the command line overrules the file.
        wishes.extend(naming.set_offset.iter().cloned());
        Ok(wishes)
    }

    fn state(&mut self, partition: &Partition, edits: &Edits, wishes: &Wishes) -> Result<State> {
        let all = self.args.dropping.drop_expired;
        let wanted = |group: &[u8]| all || wishes.has_group(edits.renames.group(group));
        let how = Loading {
            rules: Rules::of(Release::NEWEST),
            until: Until::End,
            log_start: self.log_start(partition),
            max_inflated: self.max_inflated(),
            helper: Helper::None,
            wanted: &wanted,
        };
        let (before, context) = (self.before, &*self.context);
        let state = load(&partition.paths(), &how, &mut |bytes| context.at(before + bytes))
            .with_context(|| partition.path().display().to_string())?;
        self.before += partition.bytes();
        self.interrupt.check()?;
        Ok(state)
    }

    fn expired(&self, partition: &Partition, state: &State) -> Expired {
        let mut topics = Topics::default();
        if let Some(log_dir) = partition.folder().and_then(|folder| folder.parent()) {
            topics.learn_from_log_dir(log_dir);
        }
        Groups::of(state).learn_topics(&mut topics);
        Expired::of(state, &topics, self.args.dropping.retention, self.now())
    }
}

/// The log of the partition that a group hashes to.
fn home(group: &[u8], partitions: &[Partition]) -> Result<usize> {
    let n = partition_count(partitions);
    let number = partition_of(group, n);
    partitions.iter().position(|partition| partition.number == Some(number)).ok_or_else(|| {
        let text = format!(
            "group '{}': nothing of it is in what was given, and partition {number} (of {n}), to which it hashes, was not \
             given either",
            visible(group)
        );
        Usage(text).into()
    })
}

/// A seed that nobody knows.
fn random() -> Result<Vec<u8>> {
    use std::io::Read;
    let mut seed = vec![0; 32];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
    read.context("no randomness from /dev/urandom; give a --seed")?;
    Ok(seed)
}

/// Names, or globs.
fn names(patterns: &[OsString]) -> Result<Option<Names>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let patterns = patterns.iter().map(GroupPattern::name_or_glob).collect::<Result<Vec<_>, _>>().map_err(Usage)?;
    Ok(Some(Box::new(move |group: &[u8]| patterns.iter().any(|pattern| pattern.matches(group)))))
}
