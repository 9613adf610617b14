//! From options to edits: what they depend on is looked up in the logs.
//!
//! Must not know: how edits are carried out.

use super::selectors::{Unmet, refuse_two_offsets, rename_hint};
use super::{Job, partition_count};
use crate::cli::Usage;
use crate::cli::input::Partition;
use crate::cli::render::name::visible;
use crate::cli::time;
use crate::model::assemble::Groups;
use crate::model::expiry::Expiries;
use crate::model::load::{Loading, Until, load};
use crate::model::partitioner::partition_of;
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::model::view::{Commit, Group, GroupType, Offset};
use crate::rewrite::edit::Edits;
use crate::rewrite::edit::cluster::Cluster;
use crate::rewrite::edit::drops::{Drops, Expired};
use crate::rewrite::edit::redact::Redact;
use crate::rewrite::edit::rename::Renames;
use crate::rewrite::edit::set_offset::{Wishes, lives};
use crate::rewrite::edit::target::Target;
use crate::rewrite::edit::wish::Wish;
use crate::schema::names::Kind;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::sync::Arc;

impl Job<'_> {
    /// All edits of records: what they depend on is looked up in the logs.
    pub(super) fn edits(&mut self, partitions: &[Partition]) -> Result<Edits> {
        let args = self.args;
        let dropping = &args.dropping;
        let renames = Renames::new(args.naming.rename_group.clone(), args.naming.rename_topic.clone());
        let mut edits = Edits {
            drops: Drops {
                groups: self.selectors.groups("--drop-group", &dropping.drop_group)?,
                keep: self.selectors.groups("--keep-group", &dropping.keep_group)?,
                topics: self.selectors.topics("--drop-topic", &dropping.drop_topic),
                types: dropping.drop_type.iter().map(|number| (*number, Arc::default())).collect(),
                log_starts: partitions.iter().map(|partition| self.log_start(partition)).collect(),
                ..Drops::default()
            },
            renames: renames.map_err(Usage)?,
            target: args.framing.target.map(Target),
            cluster: if args.naming.new_cluster { Cluster::Other } else { Cluster::Same },
            redact: self.redact()?,
            ..Edits::default()
        };
        for (number, met) in &edits.drops.types {
            self.selectors.watch("--drop-type", &number.to_string(), met.clone(), "");
        }
        for (kind, old, met) in edits.renames.met() {
            let option = if kind == Kind::Group { "--rename-group" } else { "--rename-topic" };
            self.selectors.watch(option, &visible(old), met, rename_hint(old));
        }
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
            self.set_in_vain(&state, &wishes, &edits.renames);
        }
        for wish in &wishes.pending {
            self.context.note(&format!(
                "{}: a transaction that has not ended holds a commit; if it is committed, that replaces the offset {} that \
                 is set",
                wish.words(),
                wish.offset
            ));
        }
        for group in wishes.strangers() {
            let group = visible(group);
            self.unmet.push(Unmet {
                kind: "unmatched",
                option: "--set-offset",
                message: format!("nothing of group {group} is in the log: commits of a new group are written"),
                value: group,
            });
        }
        for (group, topic) in wishes.new_topics() {
            self.context.note(&format!(
                "group {} has no commit of topic {}: one is appended",
                visible(group),
                visible(topic)
            ));
        }
        let count = self.args.framing.partitions;
        edits.set_offsets = wishes.settle(self.now(), |group| match count {
            Some(_) => Ok(0),
            None => home(group, partitions),
        })?;
        Ok(edits)
    }

    /// Offsets that come to nothing: of share groups, and such as a broker would remove again as soon as it has loaded them.
    fn set_in_vain(&mut self, state: &State, wishes: &Wishes, renames: &Renames) {
        let mut topics = Topics::default();
        let groups = Groups::of(state);
        groups.learn_topics(&mut topics);
        for name in groups.names().filter(|name| wishes.has_group(renames.group(name))) {
            let Some(group) = groups.group(name, &topics) else { continue };
            let name = renames.group(name);
            match group.kind {
                GroupType::Share => self.of_share_group(name),
                _ => self.expire_at_once(name, &group, wishes, renames),
            }
        }
    }

    /// By the group's name in the output.
    fn of_share_group(&mut self, name: &[u8]) {
        let value = visible(name);
        let message = format!(
            "{value}: a share group, whose offsets are in __share_group_state: what is set here, no broker reads \
             (kafka-share-groups.sh --reset-offsets sets them)"
        );
        self.unmet.push(Unmet { kind: "share-group", option: "--set-offset", value, message });
    }

    /// By the group's name in the output, and as it stands in the log.
    fn expire_at_once(&mut self, name: &[u8], group: &Group, wishes: &Wishes, renames: &Renames) {
        let (now, retention) = (self.now(), self.args.dropping.retention);
        let expiries = Expiries::of(group, retention);
        for (topic, partition, _) in wishes.of_group(name) {
            let is_it = |it: &&Offset| it.partition == partition && renames.topic(&it.topic) == topic;
            let mut offset = match group.offsets.iter().find(is_it) {
                Some(offset) => offset.clone(),
                None => Offset { topic: topic.to_vec(), partition, committed: None, pending: Vec::new() },
            };
            let before = offset.committed.take();
            offset.committed = Some(set_commit(before, now));
            let expiry = expiries.expiry(&offset);
            let Some((at, rule)) = expiry.and_then(|it| Some((it.at?, it.rule))) else { continue };
            if at > now {
                continue;
            }
            let value = format!("{}/{}/{partition}", visible(name), visible(topic));
            let message = format!(
                "{value}: a broker would remove the offset that is set at once: it expired at {} ({}, {} days by \
                 default); start a member of the group before the broker looks, or raise offsets.retention.minutes",
                time::rfc3339(at),
                rule.words(),
                retention / 86_400_000
            );
            self.unmet.push(Unmet { kind: "expires-at-once", option: "--set-offset", value, message });
        }
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

    /// What stands on the command line overrules the file.
    fn wishes(&mut self) -> Result<Vec<Wish>> {
        let naming = &self.args.naming;
        let mut wishes = Vec::new();
        if let Some(path) = &naming.offsets_from {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            let listed = Wish::read_all(&text).and_then(|all| refuse_two_offsets(&all).map(|()| all));
            wishes = listed.map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
            self.look_at_list(path, &wishes);
        }
        wishes.extend(naming.set_offset.iter().cloned());
        Ok(wishes)
    }

    /// Tells if a file lists nothing, and of what the command line overrules.
    fn look_at_list(&mut self, path: &Path, listed: &[Wish]) {
        if listed.is_empty() {
            let message = format!("--offsets-from {}: it lists no offset", path.display());
            let value = path.display().to_string();
            self.unmet.push(Unmet { kind: "unmatched", option: "--offsets-from", value, message });
        }
        for set in &self.args.naming.set_offset {
            let is_other = |it: &&Wish| it.key() == set.key() && it.offset != set.offset;
            if let Some(other) = listed.iter().find(is_other) {
                self.context.note(&format!(
                    "--set-offset {}={} overrules {}, which lists {}",
                    set.words(),
                    set.offset,
                    path.display(),
                    other.offset
                ));
            }
        }
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

/// A commit as it is set at a moment.
fn set_commit(before: Option<Commit>, now: i64) -> Commit {
    let expire_timestamp = before.as_ref().and_then(|it| lives(it.commit_timestamp, it.expire_timestamp?));
    Commit {
        offset: 0,
        leader_epoch: -1,
        metadata: Vec::new(),
        commit_timestamp: now,
        expire_timestamp: expire_timestamp.map(|lives| now.saturating_add(lives)),
        topic_id: None,
        version: 3,
        log_offset: 0,
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
