//! What is told while the work goes on: the list of edits, and how far it is.
//!
//! Must not know: how the work is done.

use crate::cli::render::rewrite::edit;
use crate::cli::talk::Context;
use crate::rewrite::edit::tally::Edited;
use crate::rewrite::edit::write::Listener;
use crate::rewrite::out_file::SingleFile;
use std::io;

/// Lists edits, and says how far the work is.
pub(super) struct Listing<'l> {
    pub log: Option<&'l mut SingleFile>,
    pub context: &'l Context,
    /// Bytes that were read before.
    pub before: u64,
    /// Bytes that were read since.
    pub read: u64,
    /// Why the list is not whole.
    pub broken: Option<io::Error>,
}

impl Listener for Listing<'_> {
    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.append(format!("{}\n", edit(edited)).as_bytes())
    }

    fn again(&mut self) -> io::Result<()> {
        self.read = 0;
        self.log.as_mut().map_or(Ok(()), |log| log.take_back())
    }

    fn done(&mut self) {
        self.broken = self.log.as_mut().and_then(|log| log.hold().err());
    }

    fn read(&mut self, bytes: u64) {
        self.read += bytes;
        self.context.at(self.before + self.read);
    }
}
