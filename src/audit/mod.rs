//! From records to judgement: findings, each with a code that scripts may depend on.
//!
//! Must not know: how findings are printed.

#[macro_use]
mod catalogue;
pub mod code;
pub mod commands;
pub mod finding;
pub mod judge;
mod list;
pub mod log_ends;
pub mod settings;
pub mod side;
pub mod stats;
pub mod topic_list;
pub mod transactions;
pub mod verify;
pub mod watch;

pub use code::{Area, Code};
pub use finding::{Fact, Finding, Severity};
pub use list::{List, Room};
