//! From records to judgement: findings, each with a code that scripts may depend on.
//!
//! Must not know: how findings are printed.

pub mod code;
pub mod finding;
mod list;
pub mod side;
pub mod stats;
pub mod transactions;
pub mod verify;

pub use code::Code;
pub use finding::{Fact, Finding, Severity};
pub use list::List;
