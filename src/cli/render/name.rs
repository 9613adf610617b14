//! Names for people and for scripts.
//!
//! Must not know: whose name it is.

pub use crate::escape::{lossless, visible};

/// [`visible`], or `-` where there is none.
pub fn visible_or_dash(name: Option<&[u8]>) -> String {
    name.map_or_else(|| "-".to_owned(), visible)
}
