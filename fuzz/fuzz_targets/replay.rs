//! A segment of a partition: replayed, told, verified, judged for brokers.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;

thread_local! {
    static FOLDER: targets::replay::Folder = targets::replay::Folder::new();
}

fuzz_target!(|bytes: &[u8]| FOLDER.with(|folder| targets::replay::run_bytes(bytes, folder)));
