//! The verbs, one file each: take the arguments, run the library, print.

pub mod audit;
pub mod compact;
pub mod describe;
pub mod diff;
pub mod dump;
pub mod dump_side;
pub mod explain;
pub mod generate;
pub mod groups;
pub mod history;
pub mod info;
mod new_log;
mod origin;
pub mod partition_of;
pub mod rewrite;
pub mod salvage;
pub mod schema;
pub mod stats;
pub mod txns;
pub mod verify;

/// How a verb ended, if it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report: exit status 0.
    Clean,
    /// Damage, loss or findings, each named in the output or on stderr: exit status 3.
    Findings,
}

impl Outcome {
    /// The worse of two.
    pub fn or(self, other: Outcome) -> Outcome {
        if self == Outcome::Clean { other } else { self }
    }
}
