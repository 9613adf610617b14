//! A key, a value of any type, or a payload inside one: the first byte says which.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| targets::schema::run(bytes));
