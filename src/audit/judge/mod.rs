//! The judgement: what the state at the end, the way there and the files around it come to, as findings.
//!
//! Some things show only over all partitions: families of groups, how many partitions there are, the newest id of a topic.
//! So all groups are looked over once ([`Survey`]), then each partition is judged ([`partition`]).
//! Must not know: how findings are printed, and which of them are asked for.

mod families;
mod groups;
mod log;
mod members;
mod offsets;
mod places;
mod privacy;
mod secrets;
mod steps;
mod survey;
mod transactions;

use super::list::{Room, Wanted};
use super::settings::Settings;
use super::watch::Watch;
use super::{Area, Code, Finding, List};
use crate::log::dir::PartitionDir;
use crate::log::log_dir::LogDirFiles;
use crate::model::assemble::Groups;
use crate::model::replay::State;
use crate::model::topics::Topics;
use crate::words::counted;

pub use survey::{Counting, Survey, Surveyed};

/// One partition, and what is known of it.
pub struct Subject<'s> {
    /// Its number, if it is known.
    pub partition: Option<i32>,
    /// What it holds at the end.
    pub state: &'s State,
    /// What was met on the way.
    pub watch: &'s Watch,
    /// Its folder, if one was given.
    pub dir: Option<&'s PartitionDir>,
    /// The log dir around it, if there is one.
    pub log_dir: Option<&'s LogDirFiles>,
    /// Where the log begins, if that is known and not at the first segment.
    pub log_start: Option<i64>,
}

/// What holds for all partitions.
pub struct Ground<'g> {
    /// What the audit goes by.
    pub settings: &'g Settings,
    /// Names of topics by id.
    pub topics: &'g Topics,
    /// What all partitions come to.
    pub survey: &'g Surveyed,
}

/// Whether an audit raises a code at all; the others are those of `verify`.
pub fn raises(code: Code) -> bool {
    match code.area() {
        Area::Members | Area::Groups | Area::Offsets | Area::Transactions | Area::Log | Area::Privacy => true,
        Area::Bytes | Area::Partitions | Area::Batches | Area::Records | Area::Broker | Area::Side => {
            matches!(code, Code::NullKey | Code::UnknownType | Code::SegmentUnreadable)
        }
    }
}

/// Findings on one partition, area by area: those that are asked for, by what stands in them but the segment and the
/// position, which are looked up behind that.
pub fn partition(subject: &Subject<'_>, ground: &Ground<'_>, room: Room, wanted: Wanted<'_>) -> Vec<Finding> {
    let mut list = List::selected(subject.partition, room, wanted);
    log::judge(subject, ground, &mut list);
    transactions::judge(subject, ground, &mut list);
    let all = Groups::of(subject.state);
    for name in all.names() {
        let Some(group) = all.group(name, ground.topics).filter(|group| !group.is_shell()) else { continue };
        let watch = subject.watch;
        let one = OneGroup {
            group: &group,
            records: all.records(name).collect(),
            turns: watch.turns.group(name),
            commits: watch.commits.group(name),
        };
        members::judge(&one, watch, ground, &mut list);
        groups::judge(&one, subject.partition, ground, &mut list);
        offsets::judge(&one, ground, &mut list);
        steps::judge(&one, watch, ground, &mut list);
        privacy::judge(&one, &mut list);
    }
    let mut findings = list.finish();
    places::fill(&mut findings, subject.state.values.segments());
    findings
}

/// Findings that concern no one partition.
pub fn everywhere(ground: &Ground<'_>) -> Vec<Finding> {
    families::judge(ground).into_iter().chain(privacy::addresses(&ground.survey.hosts)).collect()
}

/// A group with all that is known of it.
struct OneGroup<'g> {
    group: &'g crate::model::view::Group,
    /// Its records but for commits: keys and values.
    records: Vec<(&'g crate::schema::Key<'g>, &'g [u8])>,
    turns: Option<&'g super::watch::turns::GroupTurns>,
    commits: Option<&'g super::watch::commits::GroupCommits>,
}

impl OneGroup<'_> {
    /// A finding on the group, at its last record.
    fn finding(&self, code: Code, message: impl Into<String>) -> Finding {
        Finding::new(code, message).group(&self.group.name).offset(self.group.log_offsets.1)
    }

    /// With a command that resets offsets. The tool refuses while the group has members, and the group commits over it.
    fn with_reset(&self, finding: Finding, command: String) -> Finding {
        let finding = finding.fact("command", command);
        let members = self.group.members.len() as u64;
        if members == 0 {
            return finding;
        }
        let message = format!("{}; stop the group first, it has {}", finding.message, counted(members, "member"));
        Finding { message, ..finding.fact("stopFirst", true) }
    }

    /// When a record of group or members was last written, in ms since 1970; -1 unknown.
    fn changed(&self) -> i64 {
        self.turns.map_or(-1, |turns| turns.changed)
    }

    /// The last sign of life that the log shows, in ms since 1970; -1 if none has a time.
    fn last_sign(&self) -> i64 {
        let group = self.group;
        let pending = group.offsets.iter().flat_map(|offset| &offset.pending).map(|it| it.commit.commit_timestamp);
        [group.last_commit(), group.state_timestamp, Some(self.changed())]
            .into_iter()
            .flatten()
            .chain(pending)
            .max()
            .unwrap_or(-1)
    }
}
