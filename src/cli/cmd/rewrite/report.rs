//! What is told of the work: the report, on stdout and beside the partitions; the list of edits; how far it is.
//!
//! Must not know: how the work is done.

use crate::cli::args::ReportFormat;
use crate::cli::render::rewrite::{Told, edit, objects, text};
use crate::cli::talk::Context;
use crate::rewrite::edit::tally::Edited;
use crate::rewrite::edit::write::Listener;
use crate::rewrite::out::{FileOut, OutDir};
use crate::rewrite::out_file::SingleFile;
use anyhow::Result;
use std::io::{self, Write};

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

/// The report, on its way to stdout and to the files beside the partitions.
pub(super) struct Report {
    format: ReportFormat,
    stdout: Vec<u8>,
    files: Option<(FileOut, FileOut)>,
    any: bool,
}

impl Report {
    pub fn new(format: ReportFormat, out: Option<&OutDir>) -> Result<Self> {
        let files = match out {
            Some(out) => Some((out.open("rewrite.txt")?, out.open("rewrite.jsonl")?)),
            None => None,
        };
        Ok(Report { format, stdout: Vec::new(), files, any: false })
    }

    pub fn told(&mut self, told: &Told<'_>) -> Result<()> {
        if self.format == ReportFormat::Table {
            text(told, &mut self.stdout)?;
        }
        if let Some((file, _)) = &mut self.files {
            text(told, file)?;
        }
        let Report { format, stdout, files, any } = self;
        objects(told, &mut |object| {
            if let Some((_, lines)) = files {
                writeln!(lines, "{object}")?;
            }
            match format {
                ReportFormat::Table => {}
                ReportFormat::Jsonl => writeln!(stdout, "{object}")?,
                ReportFormat::Json => {
                    let before = if *any { "," } else { "[" };
                    write!(stdout, "{before}\n{object}")?;
                    *any = true;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.format == ReportFormat::Json {
            self.stdout.extend_from_slice(if self.any { b"\n]\n" } else { b"[]\n" });
        }
        if let Some((text, lines)) = self.files {
            text.finish()?;
            lines.finish()?;
        }
        Ok(self.stdout)
    }
}
