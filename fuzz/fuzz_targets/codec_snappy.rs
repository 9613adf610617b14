//! The compressed body of a batch: snappy.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| targets::codec::fresh(grouplog::log::Codec::Snappy, bytes));
