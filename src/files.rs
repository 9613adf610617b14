//! Small files, read whole: checkpoints, indexes, snapshots.
//!
//! Must not know: what they hold.

use std::io;
use std::path::Path;

/// Reads a regular file. Whatever else has its name (a pipe, a folder) is refused: opening it could wait for ever.
///
/// # Errors
/// If it is not there, no regular file, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    std::fs::read(path)
}
