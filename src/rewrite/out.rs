//! The one place that creates files (with [`super::out_file`]): a new log dir, under another name until it is whole.
//!
//! Nothing is ever written over: the folder must not exist, and is made beside itself as `NAME.grouplog-partial-PID`,
//! flushed to disk file by file and folder by folder, and renamed at the very end. If that does not come, for whatever
//! reason but a kill that cannot be caught, the unfinished folder is removed. Must not know: what the files hold.

use crate::log::batch::CRC_FROM;
use crate::log::dir::OFFSETS_TOPIC;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What stands behind the name of an unfinished folder, before the process id.
const PARTIAL: &str = ".grouplog-partial-";
/// Pieces of this many bytes go to a file.
const ROOM: usize = 64 << 10;
/// The option that names the folder.
const OPTION: &str = "--out";
/// Partitions that are written at the same time share as many.
const SHARED: usize = 32 << 20;
/// But each has as many at least.
const SMALLEST_ROOM: usize = 16 << 10;

/// A log dir in the making.
#[derive(Debug)]
pub struct OutDir {
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
}

impl OutDir {
    /// Whether a folder could be begun, as far as that is seen without making it; its path and its name.
    ///
    /// # Errors
    /// If something of that name exists, or the folder around it does not, or may not be written to.
    pub fn check(path: &Path) -> io::Result<(PathBuf, OsString)> {
        // Of a name no `/.` is left behind, which a new folder cannot have.
        let path: PathBuf = path.components().collect();
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path, OPTION));
        }
        let Some(name) = path.file_name().map(OsStr::to_owned) else {
            let why = "no name for a new folder; pass the path of one that does not exist";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", path.display())));
        };
        let parent = around(&path);
        if !parent.is_dir() {
            let why = "no such folder; make it first, or pass --out in one that exists";
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: {why}", parent.display())));
        }
        #[cfg(unix)]
        {
            use rustix::fs::{Access, access};
            access(parent, Access::WRITE_OK | Access::EXEC_OK)
                .map_err(|error| explained(&path, error.into(), OPTION))?;
        }
        Ok((path, name))
    }

    /// Begins a folder.
    ///
    /// # Errors
    /// As [`OutDir::check`], or if the folder around it cannot be written to.
    pub fn create(path: &Path) -> io::Result<OutDir> {
        let (path, name) = &OutDir::check(path)?;
        let parent = around(path);
        let pid = std::process::id();
        // A number may come again; what stands there then is another run's, and is left alone.
        for attempt in 0..100 {
            let mut temporary = name.clone();
            let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
            temporary.push(format!("{PARTIAL}{pid}{again}"));
            let temporary = parent.join(temporary);
            match std::fs::create_dir(&temporary) {
                Ok(()) => return Ok(OutDir { temporary, path: path.to_owned(), published: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(explained(&temporary, error, OPTION)),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{}: too many unfinished folders", path.display())))
    }

    /// Unfinished folders of this name that stand beside it: left by runs that were killed.
    pub fn left_behind(path: &Path) -> Vec<PathBuf> {
        let Some(name) = path.file_name() else { return Vec::new() };
        let start = format!("{}{PARTIAL}", name.to_string_lossy());
        let entries = std::fs::read_dir(around(path)).into_iter().flatten().flatten();
        entries.filter(|it| it.file_name().to_string_lossy().starts_with(&start)).map(|it| it.path()).collect()
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is for now.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Begins a partition's folder in it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn partition(&self, number: i32) -> io::Result<PartitionOut> {
        let path = self.temporary.join(format!("{OFFSETS_TOPIC}-{number}"));
        std::fs::create_dir(&path).map_err(|error| explained(&path, error, OPTION))?;
        Ok(PartitionOut { path, room: ROOM })
    }

    /// Begins a folder in it for what is needed for a while: it must be removed before it all gets its name.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn scratch(&self, number: i32) -> io::Result<PartitionOut> {
        let path = self.temporary.join(format!("sound-{number}"));
        std::fs::create_dir(&path).map_err(|error| explained(&path, error, OPTION))?;
        Ok(PartitionOut { path, room: ROOM })
    }

    /// As [`OutDir::partition`], one of several that are written at the same time: they share the room.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn one_of(&self, many: usize, number: i32) -> io::Result<PartitionOut> {
        let room = (SHARED / many.max(1)).clamp(SMALLEST_ROOM, ROOM);
        self.partition(number).map(|it| PartitionOut { room, ..it })
    }

    /// Writes a file in it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_file(&self.temporary.join(name), bytes)
    }

    /// Begins a file in it that is written piece by piece.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(&self, name: &str) -> io::Result<FileOut> {
        let path = self.temporary.join(name);
        let file = File::create_new(&path).map_err(|error| explained(&path, error, OPTION))?;
        Ok(FileOut { to: BufWriter::with_capacity(ROOM, file), path })
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// If something of that name has come to exist, or it cannot be renamed.
    pub fn publish(mut self) -> io::Result<()> {
        sync_folder(&self.temporary)?;
        rename(&self.temporary, &self.path, OPTION)?;
        self.published = true;
        sync_folder(around(&self.path))
    }
}

impl Drop for OutDir {
    fn drop(&mut self) {
        if !self.published {
            let _ = std::fs::remove_dir_all(&self.temporary);
        }
    }
}

/// A partition's folder in the making.
#[derive(Debug)]
pub struct PartitionOut {
    path: PathBuf,
    /// Pieces of so many bytes go to a file.
    room: usize,
}

impl PartitionOut {
    /// Takes back all that was written in it.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path).map_err(|error| explained(path, error, OPTION))
    }

    /// Where it is for now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file in it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_file(&self.path.join(name), bytes)
    }

    /// Begins a segment in it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn segment(&self, base_offset: i64) -> io::Result<SegmentOut> {
        let path = self.path.join(format!("{base_offset:020}.log"));
        let file = File::create_new(&path).map_err(|error| explained(&path, error, OPTION))?;
        Ok(SegmentOut {
            to: BufWriter::with_capacity(self.room, file),
            path,
            base_offset,
            len: 0,
            heads: Heads::default(),
        })
    }

    /// Flushes the folder to disk.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(self) -> io::Result<()> {
        sync_folder(&self.path)
    }
}

/// A file in the making.
#[derive(Debug)]
pub struct FileOut {
    to: BufWriter<File>,
    path: PathBuf,
}

impl FileOut {
    /// Flushes it to disk.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(self) -> io::Result<()> {
        let FileOut { to, path } = self;
        let file = to.into_inner().map_err(|error| explained(&path, error.into_error(), OPTION))?;
        file.sync_all().map_err(|error| explained(&path, error, OPTION))
    }
}

impl Write for FileOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|error| explained(&self.path, error, OPTION))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().map_err(|error| explained(&self.path, error, OPTION))
    }
}

/// A segment in the making.
#[derive(Debug)]
pub struct SegmentOut {
    to: BufWriter<File>,
    path: PathBuf,
    base_offset: i64,
    len: u64,
    heads: Heads,
}

/// A segment as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where it is for now.
    pub path: PathBuf,
    /// In bytes.
    pub len: u64,
    /// What the heads of its batches come to.
    pub heads: Heads,
}

/// A digest of what stands in front of batches and no CRC covers, and of the CRCs: with it, a batch whose CRC is right is
/// the one that was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heads(u64);

impl Heads {
    /// Takes in a batch, in the order of the file.
    #[inline]
    pub fn add(&mut self, batch: &[u8]) {
        // In magic 2 the CRC ends at byte 21, before that earlier: every message has 21 bytes.
        for from in [0, 8, CRC_FROM - 8] {
            let word =
                batch.get(from..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word));
            // An odd number with its bits well spread, so that every bit of a word comes to matter.
            self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

impl SegmentOut {
    /// The offset in its name.
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        self.to.write_all(batch).map_err(|error| explained(&self.path, error, OPTION))?;
        self.len += batch.len() as u64;
        self.heads.add(batch);
        Ok(())
    }

    /// Flushes it to disk.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(self) -> io::Result<Written> {
        let SegmentOut { to, path, len, heads, .. } = self;
        let file = to.into_inner().map_err(|error| explained(&path, error.into_error(), OPTION))?;
        file.sync_all().map_err(|error| explained(&path, error, OPTION))?;
        Ok(Written { path, len, heads })
    }
}

pub(super) fn around(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| explained(path, error, OPTION))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| explained(path, error, OPTION))
}

/// Never over anything, not even an empty folder, which a plain rename would replace.
pub(super) fn rename(from: &Path, to: &Path, option: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::EXIST) => return Err(exists(to, option)),
            // A file system that cannot do it; then as below.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
            Err(error) => return Err(explained(to, error.into(), option)),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(exists(to, option));
    }
    std::fs::rename(from, to).map_err(|error| explained(to, error, option))
}

pub(super) fn exists(path: &Path, option: &str) -> io::Error {
    let why = format!("exists; nothing is written over, so pass {option} with a name that is not taken");
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{}: {why}", path.display()))
}

/// An error with its path, and what to do about it: which option says where to write.
pub(super) fn explained(path: &Path, error: io::Error, option: &str) -> io::Error {
    use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let advice = match error.kind() {
        StorageFull => format!("; free some space, or pass {option} on another disk"),
        QuotaExceeded => format!("; the user's quota is used up: pass {option} elsewhere"),
        FileTooLarge => "; the limit on file sizes (ulimit -f) or the file system's is too low".to_owned(),
        PermissionDenied => format!("; pass {option} in a folder that you may write to"),
        ReadOnlyFilesystem => format!("; pass {option} on a disk that can be written to"),
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("{}: cannot be written: {error}{advice}; nothing was kept", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let out = OutDir::create(&path).unwrap();
        let partition = out.partition(7).unwrap();
        let mut segment = partition.segment(42).unwrap();
        segment.append(b"abc").unwrap();
        let written = segment.finish().unwrap();
        assert_eq!(written.len, 3);
        assert!(!path.exists());
        assert_eq!(OutDir::left_behind(&path), [out.temporary().to_owned()]);
        partition.finish().unwrap();
        out.publish().unwrap();
        let file = path.join("__consumer_offsets-7/00000000000000000042.log");
        assert_eq!(std::fs::read(file).unwrap(), b"abc");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

        let error = OutDir::create(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let other = dir.path().join("other");
        drop(OutDir::create(&other).unwrap());
        let out = OutDir::create(&other).unwrap();
        std::fs::create_dir(&other).unwrap();
        assert_eq!(out.publish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        assert_eq!(OutDir::create(&dir.path().join("a/b")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
