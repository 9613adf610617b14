//! `dump` of the files beside the segments: indexes, snapshots, checkpoints.

use super::Outcome;
use crate::cli::Usage;
use crate::cli::args::{DumpArgs, DumpFormat, Reading};
use crate::cli::input::{self, what_it_is};
use crate::cli::render::jsonl::Framing;
use crate::cli::render::side::{RenderSide, Shown, SideCsv, SideJson, SideTables};
use crate::cli::render::side_kafka::{self, SideKafka};
use crate::cli::select::Selector;
use crate::cli::talk::Context;
use crate::log::dir::{OFFSETS_TOPIC, PartitionDir, PartitionName, Variant};
use crate::log::place::{LogDir, Other, Place, classify};
use crate::log::side_file::{SideFile, SideKind};
use crate::words::counted;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

/// A file to show.
#[derive(Debug)]
pub struct SideInput {
    path: PathBuf,
    partition: Option<i32>,
    kind: SideKind,
}

/// The files to show, if such are asked for: by `--side-files`, or because the paths are such files.
pub fn asked_for(args: &DumpArgs, context: &Context) -> Result<Option<Vec<SideInput>>> {
    let reading = &args.input.reading;
    let mut files = Vec::new();
    let mut others = 0;
    for path in &args.input.paths {
        let place = classify(path).map_err(|error| input::not_there(error, path))?;
        match (&place, named(path, reading)) {
            (Place::Other(Other::SideFile(_) | Other::LogDirFile(_)), Some(file)) => files.push(file),
            _ if args.side_files => of_place(path, &place, reading, context, &mut files)?,
            _ => others += 1,
        }
    }
    match (files.is_empty(), others) {
        (true, _) if args.side_files => bail!("no file beside a segment is here"),
        (true, _) => Ok(None),
        (false, 0) => check_options(args).map(|()| Some(files)),
        (false, _) => Err(Usage(
            "segments and the files beside them have other fields: dump them in two calls, or a folder's files beside \
             the segments with --side-files"
                .to_owned(),
        )
        .into()),
    }
}

/// Options that ask for records mean nothing here.
fn check_options(args: &DumpArgs) -> Result<()> {
    let selector = Selector::new(&args.selection).map_err(Usage)?;
    let stretch = args.stretch.offset.is_some() || args.stretch.time.is_some();
    if args.batches || args.raw || stretch || !selector.is_all() {
        let what = "--batches, --raw and what selects records mean nothing for the files beside the segments";
        return Err(Usage(what.to_owned()).into());
    }
    Ok(())
}

/// A file that is called by its name.
fn named(path: &Path, reading: &Reading) -> Option<SideInput> {
    let kind = SideKind::of(&path.file_name()?.to_string_lossy())?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = PartitionName::of(parent).filter(|name| name.topic == OFFSETS_TOPIC);
    let in_partition = !matches!(kind, SideKind::Offsets | SideKind::Properties);
    let partition = reading.partition.or(name.map(|name| name.partition)).filter(|_| in_partition);
    Some(SideInput { path: path.to_owned(), partition, kind })
}

fn of_place(
    path: &Path,
    place: &Place,
    reading: &Reading,
    context: &Context,
    files: &mut Vec<SideInput>,
) -> Result<()> {
    match place {
        Place::Partition { .. } | Place::Copy => of_folder(path, reading, context, files),
        Place::LogDir(log_dir) => of_log_dir(path, log_dir, reading, context, files),
        Place::Segment(_) => bail!("{}: a segment; --side-files takes the folder it lies in", path.display()),
        Place::Other(other) => bail!("{}: {}", path.display(), what_it_is(other)),
    }
}

/// By name: that puts the files of a segment side by side.
fn of_folder(path: &Path, reading: &Reading, context: &Context, files: &mut Vec<SideInput>) -> Result<()> {
    let dir = PartitionDir::open(path).with_context(|| path.display().to_string())?;
    for other in &dir.others {
        match named(&other.path, reading) {
            Some(file) => files.push(file),
            None => context.detail(&format!("not shown: {}", other.path.display())),
        }
    }
    Ok(())
}

/// The log dir's own files, and those of its partitions.
fn of_log_dir(
    path: &Path,
    log_dir: &LogDir,
    reading: &Reading,
    context: &Context,
    files: &mut Vec<SideInput>,
) -> Result<()> {
    files.extend(log_dir.files.iter().filter_map(|path| named(path, reading)));
    let mut found = false;
    for place in &log_dir.partitions {
        let wanted = reading.partition.is_none_or(|wanted| wanted == place.partition);
        if wanted && (place.variant == Variant::Normal || reading.include_stray) {
            found = true;
            if let Err(error) = of_folder(&place.path, reading, context, files) {
                not_shown(&error, context);
            }
        }
    }
    match reading.partition.filter(|_| !found) {
        Some(wanted) => bail!("{}: no partition {wanted} of __consumer_offsets", path.display()),
        None => Ok(()),
    }
}

/// What cannot be read takes nothing away from the rest.
fn not_shown(error: &anyhow::Error, context: &Context) {
    context.note(&format!("not shown: {error:#}"));
    context.miss();
}

/// Shows them.
pub fn run(files: &[SideInput], args: &DumpArgs, context: &mut Context) -> Result<Outcome> {
    let mut render: Box<dyn RenderSide> = match args.format {
        DumpFormat::Jsonl => Box::new(SideJson::new(Framing::Lines)),
        DumpFormat::Json => Box::new(SideJson::new(Framing::Array)),
        DumpFormat::Table => Box::new(SideTables::new(context.looks())),
        DumpFormat::Csv => Box::new(SideCsv::new()),
        DumpFormat::KafkaDumpLog => Box::new(SideKafka::new()),
        DumpFormat::KafkaFormatter => {
            return Err(Usage("Kafka's formatters show records only: take another --format".to_owned()).into());
        }
    };
    let mut faults = 0;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut unread = Vec::new();
    for file in files {
        if left == 0 {
            break;
        }
        if args.format == DumpFormat::KafkaDumpLog && !side_kafka::knows(file.kind) {
            context.note(&format!("{}: Kafka's tool does not know it; take another --format", file.path.display()));
            continue;
        }
        let shown = match read(file) {
            Ok(shown) => shown,
            Err(error) => {
                unread.push(error);
                continue;
            }
        };
        faults += shown.file.faults.len() as u64;
        render.file(&shown, left);
        left = left.saturating_sub(shown.file.len() as u64);
        context.out.piece(render.buffer())?;
    }
    if unread.len() == files.len() {
        unread.into_iter().try_for_each(Err)?;
        return Ok(Outcome::Findings);
    }
    unread.iter().for_each(|error| not_shown(error, context));
    render.end();
    context.out.rest(render.buffer())?;
    if faults == 0 {
        return Ok(Outcome::Clean);
    }
    context.note(&format!("{}: in the output, at its place", counted(faults, "fault")));
    Ok(Outcome::Findings)
}

fn read(input: &SideInput) -> Result<Shown> {
    let path = input.path.display().to_string();
    let bytes = crate::files::read(&input.path).with_context(|| path.clone())?;
    let name = input.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Shown { partition: input.partition, path, name, file: SideFile::read(input.kind, &bytes) })
}
