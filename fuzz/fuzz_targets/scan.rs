//! A segment file: spans, batches, records, the lines of `dump`.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut scratch = targets::schema::Scratch::new();
    targets::scan::run(bytes, Some(0), &mut |key, value| targets::schema::record(key, value, &mut scratch));
});
