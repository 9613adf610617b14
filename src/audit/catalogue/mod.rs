//! The catalogue of findings, an area a file. Each file declares its codes and hands them on; [`super::code`] makes one
//! enum of all.
//!
//! An entry reads `Name "code" Severity { means … comes … next … since … }`: what it means, how it comes about, what to do,
//! and since which release or where it applies (every release, if it does not say). With `normal` behind the severity
//! sound logs have it, too.
//! Must not know: how anything is found.

#[macro_use]
mod batches;
#[macro_use]
mod broker;
#[macro_use]
mod bytes;
#[macro_use]
mod groups;
#[macro_use]
mod log;
#[macro_use]
mod members;
#[macro_use]
mod offsets;
#[macro_use]
mod partitions;
#[macro_use]
mod privacy;
#[macro_use]
mod records;
#[macro_use]
mod side;
#[macro_use]
mod transactions;
