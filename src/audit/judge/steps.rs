//! How committed offsets moved: back, in leaps, under a lower leader epoch, or not at all.
//!
//! Must not know: what stands there now.

use super::members::shown;
use super::{Ground, OneGroup};
use crate::audit::watch::commits::Steps;
use crate::audit::{Code, Fact, List, Severity};
use crate::words::{counted, span};

/// Fewer repeated commits are not worth a word.
const REPEATED: u64 = 100;

pub(super) fn judge(one: &OneGroup<'_>, ground: &Ground<'_>, list: &mut List) {
    let Some(commits) = one.commits else { return };
    rewinds(one, &commits.live_rewinds, Severity::Warning, list);
    rewinds(one, &commits.rewinds, Severity::Info, list);
    steps(one, Code::Jump, &commits.jumps, "ahead", list);
    epochs(one, &commits.epochs_behind, ground, list);
    repeated(one, list);
}

fn rewinds(one: &OneGroup<'_>, steps: &Steps, severity: Severity, list: &mut List) {
    let how = if severity == Severity::Warning { "back while the group had members" } else { "back" };
    let before = Code::Rewind.severity();
    steps_of(one, Code::Rewind, steps, how, severity.max(before), list);
}

fn steps(one: &OneGroup<'_>, code: Code, steps: &Steps, how: &str, list: &mut List) {
    steps_of(one, code, steps, how, code.severity(), list);
}

fn steps_of(one: &OneGroup<'_>, code: Code, steps: &Steps, how: &str, severity: Severity, list: &mut List) {
    let Some(worst) = &steps.worst else { return };
    let Some((topic, partition)) = worst.topic_partition() else { return };
    let (from, to) = worst.offsets;
    let most = if steps.count > 1 { "; the widest: " } else { ": " };
    let message =
        format!("{} {how}{most}{}-{partition} from {from} to {to}", counted(steps.count, "commit"), shown(topic));
    list.push(
        one.finding(code, message)
            .severity(severity)
            .offset(worst.log_offset)
            .fact("commits", steps.count)
            .fact("topic", Fact::Name(topic.to_vec()))
            .fact("topicPartition", partition)
            .fact("from", from)
            .fact("to", to)
            .fact("timestamp", worst.timestamp)
            .fact("live", severity == Severity::Warning),
    );
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
            .offset(one.group.log_offsets.1)
            .fact("commits", commits.commits)
            .fact("unchanged", commits.unchanged)
            .fact("unchangedBytes", commits.unchanged_bytes)
            .fact("unchangedPerHour", an_hour),
    );
}
