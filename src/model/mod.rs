//! Where log and schema meet: records with their meaning, in log order, and what folds over them.
//!
//! Must not know: how anything is printed.

pub mod ahead;
pub mod assemble;
mod assemble_classic;
mod assemble_modern;
pub mod compare;
mod compare_fields;
pub mod compare_logs;
pub mod digest;
pub mod doubt;
pub mod event;
pub mod expiry;
pub mod fate;
pub mod history;
pub mod load;
pub mod losses;
pub mod partitioner;
pub mod preflight;
pub mod replay;
pub mod rules;
pub mod side;
pub mod stats;
pub mod store;
pub mod swapped;
pub mod topics;
pub mod transactions;
pub mod view;
pub mod walk;
