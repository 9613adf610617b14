//! A file beside the segments: the first byte says of which kind.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| targets::side::run_any(bytes));
