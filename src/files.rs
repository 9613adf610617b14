//! Small files, read whole: checkpoints, indexes, snapshots. And which file an error is of.
//!
//! Must not know: what they hold.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No such file is longer: a broker's index has 10 MiB, a snapshot of a million producers 44 MiB.
const GREATEST: u64 = 256 << 20;

/// An error with the name of its file; in which folder that lies is for others to say.
pub fn named(path: &Path, error: &io::Error) -> io::Error {
    let name = Path::new(path.file_name().unwrap_or(path.as_os_str()));
    io::Error::new(error.kind(), format!("{}: {error}", name.display()))
}

/// Reads a regular file. Whatever else has its name (a pipe, a folder) is refused: opening it could wait for ever.
///
/// # Errors
/// If it is not there, no regular file ([`is_no_file`] tells), longer than 256 MiB, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(no_file("not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
            return Err(no_file("a link that leads nowhere"));
        }
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(GREATEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > GREATEST {
        true => Err(io::Error::other("longer than 256 MiB, which no such file is")),
        false => Ok(bytes),
    }
}

fn no_file(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Whether an error of [`read`] says that something else than a file has the name.
pub fn is_no_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}
