//! What the verbs share that write a new log: the folder, the report beside it, the signals that end the work.
//!
//! Must not know: what any of them writes.

use crate::cli::Usage;
use crate::cli::args::{Input, ReportFormat};
use crate::cli::input::{self, Partition};
use crate::cli::render::damage::Found;
use crate::cli::talk::{Context, EmptyFolders};
use crate::log::checkpoint::partition_metadata;
use crate::log::dir::{OtherKind, PartitionDir, PartitionName};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::{FileOut, OutDir};
use crate::rewrite::report::Gravity;
use crate::rewrite::salvage::{FileIn, Manner, Salvage, Wreck, survey};
use crate::rewrite::survey::Wishes;
use crate::rewrite::union::Take;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the new folder, under another name until it is whole, and says what a run that was killed left behind.
pub(super) fn create(path: &Path, context: &Context) -> Result<OutDir> {
    let old = OutDir::left_behind(path);
    let out = OutDir::create(path)?;
    old.iter().for_each(|path| {
        context.note(&format!("{}: left by a run that was killed; it can be removed", path.display()));
    });
    Ok(out)
}

/// Gives the folder its name, and says so.
pub(super) fn publish(out: OutDir, context: &mut Context) -> Result<()> {
    let path = out.path().to_owned();
    out.publish()?;
    context.end();
    context.note(&format!("{}: written, read back and flushed to disk", path.display()));
    Ok(())
}

/// Prints the report. `stands` is the folder that has its name already: what is in it is whole, whatever comes now.
pub(super) fn print(stdout: &[u8], stands: Option<&Path>, context: &mut Context) -> Result<()> {
    let printed = context.out.all(stdout);
    let Some(path) = stands.filter(|_| printed.is_err()) else { return Ok(printed?) };
    printed.with_context(|| {
        format!("{}: complete and in its place, report and all; only stdout could not be written", path.display())
    })
}

/// Signals that ask to end set a flag, which is looked at between batches. The one that a limit on file sizes sends would
/// end the process on the spot: caught, it leaves the error of the write, as on a full disk.
pub(super) fn interrupt() -> Result<Interrupt> {
    let flag = Arc::new(AtomicBool::new(false));
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGXCPU] {
        signal_hook::flag::register(signal, flag.clone()).context("a signal cannot be caught")?;
    }
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("a signal cannot be caught")?;
    Ok(Interrupt::new(flag))
}

/// Where copies are not joined.
pub(super) const OTHER_COPIES: &str = " ('grouplog salvage --also' joins copies)";

/// Each partition may be given once; `otherwise` says what to do with other copies.
pub(super) fn check_numbers(partitions: &[Partition], otherwise: &str) -> Result<()> {
    let mut seen = BTreeSet::new();
    for partition in partitions {
        let path = partition.path().display();
        let Some(number) = partition.number else {
            return Err(Usage(format!("{path}: no partition in the folder's name; add --partition N")).into());
        };
        if !seen.insert(number) {
            return Err(Usage(format!("{path}: partition {number} was given before; pass one copy{otherwise}")).into());
        }
    }
    Ok(())
}

/// A new folder inside of what is read would change it.
pub(super) fn refuse_inside<'p>(
    out: &Path,
    given: impl Iterator<Item = &'p PathBuf>,
    partitions: impl Iterator<Item = &'p Partition>,
) -> Result<()> {
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(parent) = parent.canonicalize() else { return Ok(()) };
    let is_inside =
        |folder: &PathBuf| folder.is_dir() && folder.canonicalize().is_ok_and(|dir| parent.starts_with(dir));
    if given.into_iter().any(is_inside) {
        bail!("{}: lies inside of what is read, which is never changed; put it elsewhere", out.display());
    }
    for partition in partitions {
        let Some(folder) = partition.folder().and_then(|folder| folder.canonicalize().ok()) else { continue };
        let log_dir = folder.parent().filter(|_| partition.dir.is_some());
        let inside_log_dir = log_dir.is_some_and(|dir| {
            parent.starts_with(dir) && crate::log::log_dir::LogDirFiles::of(dir).is_ok_and(|files| files.is_some())
        });
        // A file somewhere may have a new folder beside it; one in a partition's folder may not.
        let is_partition = partition.dir.is_some() || PartitionName::of(&folder).is_some();
        if is_partition && parent.starts_with(&folder) || inside_log_dir {
            bail!("{}: lies inside of what is read, which is never changed; put it elsewhere", out.display());
        }
    }
    Ok(())
}

/// Opens what the paths name. A log of which a segment or a partition cannot be read is damaged, like one with a hole.
pub(super) fn open_whole(input: &Input, on_damage: OnDamage, context: &mut Context) -> Result<Vec<Partition>> {
    context.keep_empty_folders(EmptyFolders::Kept);
    context.keep_unreadable_folders();
    let mut partitions = input::open(input, context)?;
    let file = |it: &Partition, name: &str| format!("{}: no file that can be read", it.path().join(name).display());
    let files = partitions.iter().flat_map(|it| it.unreadable_names().map(move |name| file(it, name)));
    let folders = partitions.iter().filter_map(|it| it.check_listed().err()).map(|error| format!("{error:#}"));
    match files.chain(folders).next() {
        Some(what) if on_damage == OnDamage::Refuse => bail!(
            "{what}; a log of which a part is missing is not rewritten: take a replica's copy, 'grouplog salvage' makes a \
             log of the rest, or pass --skip-damage"
        ),
        _ => {}
    }
    input::listed(&mut partitions, context)?;
    Ok(partitions)
}

pub(super) fn files(partition: &Partition) -> Vec<FileIn> {
    let file = |it: &input::SegmentInput| FileIn { path: it.path.clone(), base_offset: it.base_offset, len: it.len };
    partition.segments.iter().map(file).collect()
}

pub(super) fn read_other(dir: Option<&PartitionDir>, kind: OtherKind) -> Result<Option<Vec<u8>>> {
    let Some(file) = dir.and_then(|dir| dir.other(kind)) else { return Ok(None) };
    Ok(Some(crate::files::read(&file.path).with_context(|| file.path.display().to_string())?))
}

/// `partition.metadata`, by which a broker knows the topic's id.
pub(super) enum Metadata {
    /// As a broker takes it.
    Sound(Vec<u8>),
    /// There is none.
    Missing,
    /// A broker stops at it, or it cannot be read, and why.
    Broken(String),
}

impl Metadata {
    pub fn of(partition: &Partition) -> Self {
        match read_other(partition.dir.as_ref(), OtherKind::PartitionMetadata) {
            Ok(None) => Metadata::Missing,
            Ok(Some(bytes)) => match partition_metadata(&bytes).malformed {
                None => Metadata::Sound(bytes),
                Some(why) => Metadata::Broken(format!("a broker stops at it: {why}")),
            },
            Err(error) => Metadata::Broken(error.root_cause().to_string()),
        }
    }

    /// What to carry over. What is broken is left out, which is told.
    pub fn sound(partition: &Partition, context: &Context) -> Option<Vec<u8>> {
        match Metadata::of(partition) {
            Metadata::Sound(bytes) => Some(bytes),
            Metadata::Missing => None,
            Metadata::Broken(why) => {
                let path = partition.path().join("partition.metadata");
                context.note(&format!("{}: left out ({why})", path.display()));
                context.miss();
                None
            }
        }
    }
}

/// What to do about damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDamage {
    /// Without leave the log is not taken.
    Refuse,
    /// It is left out, and told.
    Skip,
}

impl OnDamage {
    /// As --skip-damage has it.
    pub fn asked(skip_damage: bool) -> Self {
        if skip_damage { OnDamage::Skip } else { OnDamage::Refuse }
    }
}

/// How what is sound is looked for.
pub(super) struct Seeking<'s> {
    pub log_start: Option<i64>,
    pub max_inflated: usize,
    pub on_damage: OnDamage,
    pub interrupt: &'s Interrupt,
}

/// Finds what is sound in a partition, by the one measure that every verb has that writes a new log.
pub(super) fn find_sound(
    partition: &Partition,
    how: &Seeking<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(Salvage, Found)> {
    let wreck = Wreck { own: files(partition), log_start: how.log_start, ..Wreck::default() };
    let wishes = Wishes { keep_doubtful: false, mend: false };
    let manner = Manner { wishes, leftovers: Take::Lost, max_inflated: how.max_inflated };
    let mut salvage = survey(&wreck, &manner, how.interrupt, progress)?;
    salvage.settle_losses(how.interrupt)?;
    let found = Found::of(partition.number.unwrap_or_default(), partition.path(), &salvage)?;
    match how.on_damage {
        OnDamage::Refuse => refuse_damage(partition, &found)?,
        OnDamage::Skip => {}
    }
    Ok((salvage, found))
}

fn refuse_damage(partition: &Partition, found: &Found) -> Result<()> {
    let mut damaged = found.of_gravity(Gravity::Damage);
    let Some(first) = damaged.next() else { return Ok(()) };
    let more = match damaged.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    bail!(
        "{}: damaged: {}{more}; nothing was written. 'grouplog salvage' makes a sound copy and says what is lost; \
         --skip-damage leaves out what is damaged",
        partition.path().display(),
        first.words()
    )
}

/// The report, on its way to stdout and to the files beside the partitions.
pub(super) struct Report {
    format: ReportFormat,
    stdout: Vec<u8>,
    /// For people, and for scripts.
    files: Option<(FileOut, FileOut)>,
    any: bool,
}

impl Report {
    /// Of a verb, whose name the files beside the partitions bear.
    pub fn new(verb: &str, format: ReportFormat, out: Option<&OutDir>) -> Result<Self> {
        let files = match out {
            Some(out) => Some((out.open(&format!("{verb}.txt"))?, out.open(&format!("{verb}.jsonl"))?)),
            None => None,
        };
        Ok(Report { format, stdout: Vec::new(), files, any: false })
    }

    /// Says something to people.
    pub fn text(&mut self, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.format == ReportFormat::Table {
            write(&mut self.stdout)?;
        }
        self.files.as_mut().map_or(Ok(()), |(text, _)| write(text))
    }

    /// Says something to scripts.
    pub fn object(&mut self, object: &Value) -> io::Result<()> {
        if let Some((_, lines)) = &mut self.files {
            writeln!(lines, "{object}")?;
        }
        match self.format {
            ReportFormat::Table => Ok(()),
            ReportFormat::Jsonl => writeln!(self.stdout, "{object}"),
            ReportFormat::Json => {
                let before = if self.any { "," } else { "[" };
                self.any = true;
                write!(self.stdout, "{before}\n{object}")
            }
        }
    }

    /// Ends the files, and gives what stdout is to have.
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
