//! One segment file, mapped.
//!
//! Must not know: the other files of its folder.

use super::scan::Spans;
use crate::machine::map::Mapping;
use std::io;
use std::path::{Path, PathBuf};

/// A broker opens no segment of more bytes: it ends when it meets one as it starts (seen with 3.9.2, 4.0.0 and 4.4.0).
pub const MOST_BYTES: u64 = i32::MAX as u64;

/// One segment file, mapped read-only. Its length is taken when it is opened.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    name: String,
    base_offset: Option<i64>,
    mapping: Mapping,
}

impl Segment {
    /// Maps a file as a segment, whatever it holds.
    ///
    /// # Errors
    /// See [`Mapping::open`].
    pub fn open(path: &Path) -> io::Result<Segment> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let base_offset = base_offset_of_name(&name);
        Ok(Segment { path: path.to_owned(), name, base_offset, mapping: Mapping::open(path)? })
    }

    /// As given to [`Segment::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The base offset that the name says (`00000000000000000042.log`, also with `.deleted`, `.cleaned` or `.swap`
    /// behind it). None for any other name.
    pub fn base_offset(&self) -> Option<i64> {
        self.base_offset
    }

    /// Bytes of the file when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "bytes of a file, which `bytes().is_empty()` tells as well")]
    pub fn len(&self) -> u64 {
        self.mapping.bytes().len() as u64
    }

    /// All of its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    /// Lets go of the pages of a stretch: they are read again if they are looked at again.
    pub fn release(&self, range: std::ops::Range<usize>) {
        self.mapping.release(range);
    }

    /// Makes the window ready that a byte lies in: for who goes to many places in it.
    pub fn prepare(&self, at: usize) {
        self.mapping.prepare(at);
    }

    /// Whether the file was cut since it was opened (or the disk could not read a page): asks the file system.
    pub fn was_cut(&self) -> bool {
        self.mapping.was_cut()
    }

    /// All spans, in file order.
    pub fn spans(&self) -> Spans<'_> {
        self.spans_from(0)
    }

    /// The spans from a byte on at which a batch begins.
    pub fn spans_from(&self, position: u64) -> Spans<'_> {
        Spans::new(self.mapping.bytes(), Some(&self.mapping), position, self.base_offset)
    }
}

/// The base offset in a segment file's name: 20 digits before `.log`, and nothing behind it but the suffix of a file
/// that is on its way in or out.
pub fn base_offset_of_name(name: &str) -> Option<i64> {
    let (digits, suffix) = name.split_once('.')?;
    let is_log = matches!(suffix, "log" | "log.deleted" | "log.cleaned" | "log.swap");
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_log && is_number { digits.parse().ok() } else { None }
}
