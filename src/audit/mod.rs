//! From records to judgement: findings, each with a code that scripts may depend on.
//!
//! Must not know: how findings are printed.

#[macro_use]
mod catalogue;
pub mod code;
pub mod finding;
mod list;
pub mod side;
pub mod verify;

pub use code::{Area, Code};
pub use finding::{Fact, Finding, Severity};
pub use list::List;
