//! From an old log to a new one: a plan of what stays, and the one way to carry it out.
//!
//! [`plan`] is what a new log is made of: pieces of old files, copied byte for byte unless they say otherwise. Policies
//! make plans ([`salvage`]), or hand a new log on batch by batch ([`compact`]); [`edit`] changes what a plan's batches hold
//! on their way; [`apply`] writes it through [`out`], reads it back and compares. Must not know: how anything is printed.

pub mod apply;
mod bounds;
pub mod codes;
pub mod compact;
mod contradicted;
mod edges;
pub mod edit;
pub mod epochs;
mod guard;
pub mod hanging;
pub mod interrupt;
mod lineage;
pub mod look;
mod misnamed;
mod missing;
mod names;
pub mod order;
pub mod out;
pub mod out_file;
pub mod plan;
pub mod reached;
pub mod report;
pub mod revived;
pub mod salvage;
pub mod survey;
mod tower;
pub mod union;
mod vouched;
mod walk;
