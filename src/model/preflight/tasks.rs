//! Which process runs a task of a streams group, as 4.1.0 and 4.1.1 kept it: any disagreement ended the load
//! (KAFKA-19862). Later releases only note it.
//!
//! Must not know: members.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// How a task is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Role {
    Active,
    Standby,
    Warmup,
}

/// A task of a member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Task {
    pub role: Role,
    pub subtopology: Box<[u8]>,
    pub partition: i32,
}

/// Two disagree on who runs a task.
pub(super) struct Disagreement;

/// The processes of all tasks: one of an active one, any number of the others.
#[derive(Debug, Default)]
pub(super) struct Processes {
    active: HashMap<Task, Box<[u8]>, FixedState>,
    others: HashSet<(Task, Box<[u8]>), FixedState>,
}

impl Processes {
    /// A process takes tasks; one that is not known yet takes none.
    pub fn take(&mut self, process: Option<&[u8]>, tasks: &[Task]) -> Result<(), Disagreement> {
        let Some(process) = process else { return Ok(()) };
        let mut sound = true;
        for task in tasks {
            if task.role == Role::Active {
                sound &= self.active.insert(task.clone(), process.into()).is_none();
            } else {
                self.others.insert((task.clone(), process.into()));
            }
        }
        if sound { Ok(()) } else { Err(Disagreement) }
    }

    /// A process gives up tasks, all of which it must run.
    pub fn release(&mut self, process: Option<&[u8]>, tasks: &[Task]) -> Result<(), Disagreement> {
        let mut sound = process.is_some() || tasks.is_empty();
        for task in tasks {
            let process = process.unwrap_or_default();
            if task.role == Role::Active {
                sound &= self.active.remove(task).is_some_and(|owner| *owner == *process);
            } else {
                sound &= self.others.remove(&(task.clone(), process.into()));
            }
        }
        if sound { Ok(()) } else { Err(Disagreement) }
    }
}
