//! stderr: what the program says about its work, never data. And what a verb needs besides its arguments.
//!
//! Must not know: any verb.

use super::args::{Talk, When};
use super::out::Out;
use super::render::table::{Looking, Looks};
use crate::escape::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::{IsTerminal, Write as _};

/// The bar moves by no less than this many bytes: asking it reads the clock.
const STEP: u64 = 1 << 20;

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loudness {
    Quiet,
    Normal,
    Verbose,
}

/// What every verb is given: where data and talk go, and how they look.
pub struct Context {
    /// Where data goes.
    pub out: Out,
    loudness: Loudness,
    color: Looking,
    progress: bool,
    bar: ProgressBar,
    /// Where the bar moves next, in bytes.
    next: Cell<u64>,
    /// Whether the verb's output tells of files that are left out.
    tells_of_files: bool,
    /// What becomes of partition folders without segments.
    empty_folders: EmptyFolders,
    /// Whether folders count in which no segment can be read.
    keeps_unreadable_folders: bool,
    /// Whether something was not read that should have been.
    missed: Cell<bool>,
}

/// What becomes of partition folders without segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyFolders {
    /// They are told, and left out.
    LeftOut,
    /// Those of a log dir are partitions that hold nothing.
    Kept,
    /// So are those that are given themselves, if there are other segment files in them.
    KeptWithLeftovers,
}

impl Context {
    /// From the options.
    pub fn new(talk: &Talk) -> Self {
        let out = Out::stdout();
        let color = match talk.color {
            When::Always => Looking::Bright,
            When::Never => Looking::Plain,
            When::Auto if out.is_terminal() && std::env::var_os("NO_COLOR").is_none() => Looking::Bright,
            When::Auto => Looking::Plain,
        };
        let loudness = match (talk.quiet, talk.verbose) {
            (true, _) => Loudness::Quiet,
            (_, true) => Loudness::Verbose,
            _ => Loudness::Normal,
        };
        let progress = !talk.no_progress && loudness > Loudness::Quiet && std::io::stderr().is_terminal();
        Context {
            out,
            loudness,
            color,
            progress,
            bar: ProgressBar::hidden(),
            next: Cell::new(0),
            tells_of_files: false,
            empty_folders: EmptyFolders::LeftOut,
            keeps_unreadable_folders: false,
            missed: Cell::new(false),
        }
    }

    /// How a table is to look: as wide as the terminal, or as COLUMNS says; without limit when piped.
    pub fn looks(&self) -> Looks {
        let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|width| *width > 0);
        let terminal = || self.out.is_terminal().then(console_width);
        Looks { width: given.or_else(terminal), color: self.color }
    }

    /// Says what the user should know.
    pub fn note(&self, text: &str) {
        if self.loudness >= Loudness::Normal {
            self.say(&format!("grouplog: {text}"));
        }
    }

    /// Notes that something was not read that should have been: what is told is not all.
    pub fn miss(&self) {
        self.missed.set(true);
    }

    /// Whether that is so.
    pub fn has_missed(&self) -> bool {
        self.missed.get()
    }

    /// Says which file was left out, unless the verb tells of such files itself.
    pub fn left_out(&self, text: &str) {
        if !self.tells_of_files {
            self.note(text);
        }
    }

    /// Whether the verb's output tells of what is left out, and of folders with nothing that counts.
    pub fn tells_of_files(&self) -> bool {
        self.tells_of_files
    }

    /// For a verb whose output tells of files that are left out.
    pub fn tell_of_files(&mut self) {
        self.tells_of_files = true;
    }

    /// Whether folders count that hold no segment but what has the name of one and cannot be read.
    pub fn keeps_unreadable_folders(&self) -> bool {
        self.keeps_unreadable_folders
    }

    /// For a verb that tells of segments that cannot be read.
    pub fn keep_unreadable_folders(&mut self) {
        self.keeps_unreadable_folders = true;
    }

    /// What becomes of partition folders without segments.
    pub fn empty_folders(&self) -> EmptyFolders {
        self.empty_folders
    }

    /// For a verb that makes something of folders without segments.
    pub fn keep_empty_folders(&mut self, how: EmptyFolders) {
        self.empty_folders = how;
    }

    /// Says what the user may want to know: with -v only.
    pub fn detail(&self, text: &str) {
        if self.loudness >= Loudness::Verbose {
            self.say(&format!("grouplog: {text}"));
        }
    }

    fn say(&self, text: &str) {
        // Nobody may be listening.
        self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{}", one_line(text))));
    }

    /// Begins long work of so many bytes. The bar shows only on a terminal, and only once the work has taken a while;
    /// not when data goes to the same terminal, which it would garble.
    pub fn begin(&mut self, bytes: u64) {
        self.next.set(u64::MAX);
        if self.progress && !self.out.is_terminal() {
            self.next.set(0);
            let style = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
            self.bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(5));
            self.bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
    }

    /// The bar, for threads that tell how far they are.
    pub fn progress(&self) -> Progress {
        Progress(self.progress.then(|| self.bar.clone()))
    }

    /// Whether more is asked for, in tables too.
    pub fn is_verbose(&self) -> bool {
        self.loudness == Loudness::Verbose
    }

    /// Says how far the work is.
    #[inline]
    pub fn at(&self, bytes: u64) {
        if bytes >= self.next.get() {
            self.bar.set_position(bytes);
            self.next.set(bytes.saturating_add(STEP));
        }
    }

    /// Ends long work.
    pub fn end(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }
}

/// A bar that may not be there.
#[derive(Debug, Clone)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Says how far the work is.
    pub fn at(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

/// How many columns the terminal has; 80 where it does not say, as a serial console.
fn console_width() -> u16 {
    comfy_table::Table::new().width().filter(|width| *width > 0).unwrap_or(80)
}
