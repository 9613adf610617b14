//! Reads a small file whole: one beside the segments, a checkpoint.
//!
//! Must not know: what stands in it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No such file is longer: a broker's index has 10 MiB, a snapshot of a million producers 44 MiB.
pub const GREATEST: u64 = 256 << 20;

/// All bytes of a regular file. A pipe, which would be waited for, or a device, which may never end, is an error.
///
/// # Errors
/// If it cannot be read, is no regular file, or is longer than [`GREATEST`] bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    must_be_regular(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(GREATEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > GREATEST {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "longer than 256 MiB, which no such file is")),
        false => Ok(bytes),
    }
}

/// Asked before a file is opened, for opening a pipe waits for its other end.
pub(super) fn must_be_regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_some_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read(&path).unwrap(), b"abc");
        assert_eq!(read(dir.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        #[cfg(unix)]
        {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
            assert_eq!(read(&link).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        File::create(&path).unwrap().set_len(GREATEST + 1).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
