//! How committed offsets moved: back, in leaps, under a lower leader epoch, or not at all.
//!
//! Must not know: what stands there now.

use super::members::shown;
use super::{Ground, OneGroup};
use crate::audit::watch::Watch;
use crate::audit::watch::commits::{Step, Steps};
use crate::audit::{Code, Fact, Finding, List, Severity};
use crate::model::view::GroupType;
use crate::words::{counted, span};
use std::collections::BTreeMap;

/// Fewer repeated commits are not worth a word.
const REPEATED: u64 = 100;
/// What is read again after a rebalance or a crash is mostly less than this.
const WIDE: u64 = 1_000_000;

/// So many partitions are named in a message.
const NAMED: usize = 20;

/// Whether the group had members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lively {
    Members,
    Empty,
}

pub(super) fn judge(one: &OneGroup<'_>, watch: &Watch, ground: &Ground<'_>, list: &mut List) {
    let Some(commits) = one.commits else { return };
    rewinds(one, &commits.live_rewinds, Lively::Members, list);
    rewinds(one, &commits.rewinds, Lively::Empty, list);
    list.extend(steps_of(one, Code::Jump, &commits.jumps, "ahead"));
    epochs(one, &commits.epochs_behind, watch, ground, list);
    repeated(one, list);
}

fn rewinds(one: &OneGroup<'_>, steps: &Steps, lively: Lively, list: &mut List) {
    let widest = steps.worst.as_ref().map_or(0, |worst| worst.width());
    let (how, severity) = match lively {
        Lively::Members if widest >= WIDE => ("back while the group had members", Severity::Warning),
        Lively::Members => ("back while the group had members", Code::Rewind.severity()),
        Lively::Empty => ("back", Code::Rewind.severity()),
    };
    list.extend(
        steps_of(one, Code::Rewind, steps, how).map(|it| it.severity(severity).fact("live", lively == Lively::Members)),
    );
}

fn steps_of(one: &OneGroup<'_>, code: Code, steps: &Steps, how: &str) -> Option<Finding> {
    let worst = steps.worst.as_ref()?;
    let (topic, partition) = worst.topic_partition()?;
    let (from, to) = worst.offsets;
    let most = if steps.count > 1 { "; the widest: " } else { ": " };
    let message =
        format!("{} {how}{most}{}-{partition} from {from} to {to}", counted(steps.count, "commit"), shown(topic));
    let (from, to) = (from.into(), to.into());
    finding_of(one, code, message, steps, [("from", from), ("to", to)])
}

/// On all steps of a kind, at the one that stands for them, and between what it stepped.
fn finding_of(
    one: &OneGroup<'_>,
    code: Code,
    message: String,
    steps: &Steps,
    [before, after]: [(&'static str, Fact); 2],
) -> Option<Finding> {
    let worst = steps.worst.as_ref()?;
    let (topic, partition) = worst.topic_partition()?;
    Some(
        one.finding(code, message)
            .offset(worst.log_offset)
            .fact("commits", steps.count)
            .fact("topic", Fact::Name(topic.to_vec()))
            .fact("topicPartition", partition)
            .fact(before.0, before.1)
            .fact(after.0, after.1)
            .fact("timestamp", worst.timestamp),
    )
}

fn epochs(one: &OneGroup<'_>, steps: &Steps, watch: &Watch, ground: &Ground<'_>, list: &mut List) {
    let Some(worst) = &steps.worst else { return };
    let mut behind = BTreeMap::<&[u8], Vec<Behind>>::new();
    for offset in &one.group.offsets {
        if let Some(epochs) = watch.commits.epoch_behind(&one.group.name, &offset.topic, offset.partition) {
            behind.entry(&offset.topic).or_default().push(Behind { partition: offset.partition, epochs });
        }
    }
    if behind.is_empty() {
        return list.extend(epochs_once(one, steps, worst));
    }
    for (topic, partitions) in behind {
        list.push(epochs_now(one, topic, &partitions, ground));
    }
}

/// A partition whose last commit is behind: its leader epoch, and the higher one of a commit before it.
struct Behind {
    partition: i32,
    epochs: (i32, i32),
}

/// What was behind has been overtaken since.
fn epochs_once(one: &OneGroup<'_>, steps: &Steps, worst: &Step) -> Option<Finding> {
    let (topic, partition) = worst.topic_partition()?;
    let (before, after) = worst.leader_epochs;
    let message = format!(
        "{} forward under a lower leader epoch, such as {}-{partition} from epoch {before} to {after}; later commits are sound",
        counted(steps.count, "commit"),
        shown(topic)
    );
    let between = [("epochBefore", before.into()), ("epochAfter", after.into())];
    finding_of(one, Code::EpochBehind, message, steps, between).map(|finding| finding.severity(Severity::Info))
}

fn epochs_now(one: &OneGroup<'_>, topic: &[u8], behind: &[Behind], ground: &Ground<'_>) -> Finding {
    let words = |it: &Behind| format!("{} (epoch {}, {} before)", it.partition, it.epochs.0, it.epochs.1);
    let named: Vec<_> = behind.iter().take(NAMED).map(words).collect();
    let more = if behind.len() > NAMED { ", …" } else { "" };
    let message = format!(
        "the latest commit of {} is under a lower leader epoch than a lower offset before it: partition {}{more}. If the \
         leader-epoch-checkpoint of the partition ends below the higher epoch, the topic was made anew: reset",
        shown(topic),
        named.join(", "),
    );
    let fact = |it: &Behind| {
        let (epoch, before) = it.epochs;
        Fact::Object(vec![
            ("partition", it.partition.into()),
            ("epochBefore", before.into()),
            ("epochAfter", epoch.into()),
        ])
    };
    let is_last = |it: &&crate::model::view::Offset| it.topic == topic;
    let commits = one.group.offsets.iter().filter(is_last).filter_map(|offset| offset.committed.as_ref());
    let finding = one
        .finding(Code::EpochBehind, message)
        .offset(commits.map(|commit| commit.log_offset).max().unwrap_or(-1))
        .fact("topic", Fact::Name(topic.to_vec()))
        .fact("partitions", Fact::List(behind.iter().map(fact).collect()));
    let group = one.group;
    if group.kind == GroupType::Share {
        return finding;
    }
    let partitions: Vec<_> = behind.iter().map(|it| it.partition).collect();
    let command = ground.settings.commands.reset(group.kind, &group.name, topic, &partitions, "--to-earliest");
    one.with_reset(finding, command)
}

fn repeated(one: &OneGroup<'_>, list: &mut List) {
    let Some(commits) = one.commits.filter(|it| it.unchanged >= REPEATED && it.unchanged * 2 > it.commits) else {
        return;
    };
    let (first, last) = commits.times.unwrap_or_default();
    let length = last.saturating_sub(first).max(1);
    let an_hour = commits.unchanged.saturating_mul(3_600_000) / length.unsigned_abs();
    let message = format!(
        "{} of {} say again what stood there, {} bytes in {}",
        commits.unchanged,
        counted(commits.commits, "commit"),
        commits.unchanged_bytes,
        span(length)
    );
    list.push(
        one.finding(Code::IdleCommits, message)
            .fact("commits", commits.commits)
            .fact("unchanged", commits.unchanged)
            .fact("unchangedBytes", commits.unchanged_bytes)
            .fact("unchangedPerHour", an_hour),
    );
}
