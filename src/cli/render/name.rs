//! Names for people and for scripts.
//!
//! Must not know: whose name it is.

pub use crate::escape::{lossless, visible};

use std::path::Path;

/// A path for people.
pub fn visible_path(path: &Path) -> String {
    visible(path.as_os_str().as_encoded_bytes())
}

/// A path for scripts.
pub fn lossless_path(path: &Path) -> String {
    lossless(path.as_os_str().as_encoded_bytes())
}

/// [`visible`], or `-` where there is none.
pub fn visible_or_dash(name: Option<&[u8]>) -> String {
    name.map_or_else(|| "-".to_owned(), visible)
}
