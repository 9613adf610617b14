//! How committed offsets moved: back, in leaps, under a lower leader epoch, or not at all.
//!
//! Must not know: what stands there now.

use super::members::shown;
use super::{Ground, OneGroup};
use crate::audit::watch::commits::Steps;
use crate::audit::{Code, Fact, Finding, List, Severity};
use crate::words::{counted, span};

/// Fewer repeated commits are not worth a word.
const REPEATED: u64 = 100;
/// What is read again after a rebalance or a crash is mostly less than this.
const WIDE: u64 = 1_000_000;

/// Whether the group had members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lively {
    Members,
    Empty,
}

pub(super) fn judge(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let Some(commits) = one.commits else { return };
    rewinds(one, &commits.live_rewinds, Lively::Members, list);
    rewinds(one, &commits.rewinds, Lively::Empty, list);
    list.extend(steps_of(one, Code::Jump, &commits.jumps, "ahead"));
    epochs(one, &commits.epochs_behind, ground, list);
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
    Some(
        one.finding(code, message)
            .offset(worst.log_offset)
            .fact("commits", steps.count)
            .fact("topic", Fact::Name(topic.to_vec()))
            .fact("topicPartition", partition)
            .fact("from", from)
            .fact("to", to)
            .fact("timestamp", worst.timestamp),
    )
}

fn epochs(one: &OneGroup<'_>, steps: &Steps, ground: &Ground<'_>, list: &mut List) {
    let Some(worst) = &steps.worst else { return };
    let Some((topic, partition)) = worst.topic_partition() else { return };
    let (before, after) = worst.leader_epochs;
    let message = format!(
        "{} forward under a lower leader epoch: {}-{partition} went from epoch {before} to {after}",
        counted(steps.count, "commit"),
        shown(topic)
    );
    let group = one.group;
    let command = ground.settings.commands.reset(group.kind, &group.name, topic, &[partition], "--to-earliest");
    list.push(
        one.finding(Code::EpochBehind, message)
            .offset(worst.log_offset)
            .fact("commits", steps.count)
            .fact("topic", Fact::Name(topic.to_vec()))
            .fact("topicPartition", partition)
            .fact("epochBefore", before)
            .fact("epochAfter", after)
            .fact("timestamp", worst.timestamp)
            .fact("command", command),
    );
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
