//! A single new file, under another name until it is whole; what was written last can be taken back.
//!
//! Must not know: what it holds.

use super::out::{around, exists, explained, rename};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// The option that names it.
const OPTION: &str = "--log";

/// A file in the making. Removed again if it is not published.
#[derive(Debug)]
pub struct SingleFile {
    to: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
    /// Up to where it holds.
    mark: u64,
}

impl SingleFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If something of that name exists, or the folder around it cannot be written to.
    pub fn create(path: &Path) -> io::Result<SingleFile> {
        let path: &Path = &path.components().collect::<PathBuf>();
        if path.symlink_metadata().is_ok() {
            return Err(exists(path, OPTION));
        }
        let name = path.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{}: no name for a new file", path.display()))
        })?;
        let mut temporary = name.to_owned();
        temporary.push(format!(".grouplog-partial-{}", std::process::id()));
        let temporary = around(path).join(temporary);
        let file = File::create_new(&temporary).map_err(|error| explained(&temporary, error, OPTION))?;
        Ok(SingleFile { to: BufWriter::new(file), temporary, path: path.to_owned(), published: false, mark: 0 })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes).map_err(|error| explained(&self.temporary, error, OPTION))
    }

    /// What was written so far is not taken back any more.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn hold(&mut self) -> io::Result<()> {
        self.mark = self.to.stream_position().map_err(|error| explained(&self.temporary, error, OPTION))?;
        Ok(())
    }

    /// Takes back what was written since.
    ///
    /// # Errors
    /// If it cannot be cut.
    pub fn take_back(&mut self) -> io::Result<()> {
        let cut = |to: &mut BufWriter<File>, mark| {
            to.seek(io::SeekFrom::Start(mark))?;
            to.get_ref().set_len(mark)
        };
        cut(&mut self.to, self.mark).map_err(|error| explained(&self.temporary, error, OPTION))
    }

    /// Flushes it to disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush().and_then(|()| self.to.get_ref().sync_all());
        flushed.map_err(|error| explained(&self.temporary, error, OPTION))
    }

    /// Flushes it to disk and gives it its name.
    ///
    /// # Errors
    /// If something of that name has come to exist, or it cannot be written.
    pub fn publish(mut self) -> io::Result<()> {
        self.flush()?;
        rename(&self.temporary, &self.path, OPTION)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for SingleFile {
    fn drop(&mut self) {
        if !self.published {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
