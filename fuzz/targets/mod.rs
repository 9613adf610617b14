//! What is done with hostile bytes, and what must hold of it: bodies of the fuzz targets, which `tests/mutants.rs` drives
//! on stable Rust, too.
//!
//! A law that does not hold is a panic. Must not know: where the bytes come from.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "laws, and of the targets each uses some"
)]

pub mod codec;
pub mod replay;
pub mod scan;
pub mod schema;
pub mod side;

/// What a batch may inflate to here: small, so that many bombs are met in little time.
pub const MAX_INFLATED: usize = 1 << 20;

/// Asserts that bytes are JSON.
pub fn assert_json(bytes: &[u8]) {
    if let Err(why) = serde_json::from_slice::<serde_json::Value>(bytes) {
        panic!("no JSON: {why}: {}", String::from_utf8_lossy(bytes));
    }
}
